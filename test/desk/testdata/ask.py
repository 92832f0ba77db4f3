"""Asks Debian's pyatspi for one element: ask.py APP ROLE NAME checked|value|text.

The first element of the role that is showing answers (and enabled; editable for text).
"""
import sys

import pyatspi

app, role, name, what = sys.argv[1:5]


def fits(node):
    if node.getRoleName() != role or (name and node.name != name):
        return False
    states = node.getState()
    if not (states.contains(pyatspi.STATE_SHOWING) and states.contains(pyatspi.STATE_SENSITIVE)):
        return False
    return what != "text" or states.contains(pyatspi.STATE_EDITABLE)


def answer(node):
    if what == "checked":
        return str(node.getState().contains(pyatspi.STATE_CHECKED)).lower()
    if what == "value":
        return node.queryValue().currentValue
    text = node.queryText()
    return text.getText(0, text.characterCount)


for program in pyatspi.Registry.getDesktop(0):
    if program and program.name == app:
        node = pyatspi.findDescendant(program, fits)
        if node is not None:
            print(answer(node))
            sys.exit(0)
sys.exit("no such element")
