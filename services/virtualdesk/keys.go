package virtualdesk

import (
	"slices"
	"unicode/utf8"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/shared/permit"
)

// What an element makes of a key, when it has its window's keyboard focus.

// key lets the first that knows the chord take it: the app for this element, a menu's
// shortcut, the text, the control, the window.
func (d *Desk) key(e *element, c permit.Chord) {
	switch {
	case e.hooks.key != nil && e.hooks.key(d, e, c):
	case d.shortcut(e.win, c):
	case e.takesText && d.editKey(e, c):
	case d.controlKey(e, c):
	case c.Key == "Escape":
		d.escape(e)
	case c.Key == "Tab":
		d.moveFocus(e, holdsModifier(c, commonv1.Modifier_MODIFIER_SHIFT))
	}
}

func holdsModifier(c permit.Chord, ms ...commonv1.Modifier) bool {
	return slices.ContainsFunc(ms, func(m commonv1.Modifier) bool { return slices.Contains(c.Modifiers, m) })
}

// commands says whether a chord is a command and not a text.
func commands(c permit.Chord) bool {
	return holdsModifier(c, commonv1.Modifier_MODIFIER_COMMAND, commonv1.Modifier_MODIFIER_CONTROL,
		commonv1.Modifier_MODIFIER_OPTION, commonv1.Modifier_MODIFIER_SUPER)
}

// printable is the text a chord stands for, empty for none.
func printable(c permit.Chord) string {
	switch {
	case commands(c):
		return ""
	case c.Key == "Space":
		return " "
	case utf8.RuneCountInString(c.Key) == 1:
		return c.Key
	}
	return ""
}

// shortcut runs the menu entry that has the chord, if the window has one.
func (d *Desk) shortcut(w *window, c permit.Chord) bool {
	spelled := c.String()
	for _, m := range w.menus {
		for _, x := range m.entries {
			if x.keys == spelled {
				d.runEntry(w, m, x)
				return true
			}
		}
	}
	return false
}

// editKey edits a text and says whether the chord means anything there.
func (d *Desk) editKey(e *element, c permit.Chord) bool {
	before := string(e.content())
	if s := printable(c); s != "" {
		e.insert(s)
	} else if !d.caretKey(e, c) && !d.eraseKey(e, c) {
		return false
	}
	if string(e.content()) != before {
		run(d, e, e.hooks.change)
	}
	return true
}

// caretKey moves the caret or the selection.
func (d *Desk) caretKey(e *element, c permit.Chord) bool {
	text := e.content()
	caret := min(e.caret, len(text))
	from, to := line(text, caret)
	if commands(c) {
		from, to = 0, len(text)
	}
	extend := holdsModifier(c, commonv1.Modifier_MODIFIER_SHIFT)
	switch c.Key {
	case "Left":
		e.move(caret-1, extend)
	case "Right":
		e.move(caret+1, extend)
	case "Up", "PageUp":
		e.move(vertical(text, caret, false), extend)
	case "Down", "PageDown":
		e.move(vertical(text, caret, true), extend)
	case "Home":
		e.move(from, extend)
	case "End":
		e.move(to, extend)
	default:
		return false
	}
	return true
}

// eraseKey takes text away, breaks a line or submits, selects or copies everything.
func (d *Desk) eraseKey(e *element, c permit.Chord) bool {
	switch {
	case c.Key == "Backspace":
		e.erase(true)
	case c.Key == "ForwardDelete":
		e.erase(false)
	case c.Key == "Return" && e.has(commonv1.ElementState_ELEMENT_STATE_MULTILINE):
		e.insert("\n")
	case c.Key == "Return":
		run(d, e, e.hooks.submit)
	case commands(c) && c.Key == "a":
		e.selectAll()
	case commands(c) && (c.Key == "c" || c.Key == "x"):
		// The clipboard is the user's, and there is only one (C12.5).
		d.user.clipboard = e.win.id
		if c.Key == "x" {
			e.erase(true)
		}
	default:
		return false
	}
	return true
}

// controlKey uses a control and says whether the chord means anything there.
func (d *Desk) controlKey(e *element, c permit.Chord) bool {
	if len(c.Modifiers) != 0 {
		return false
	}
	switch c.Key {
	case "Space", "Return":
		toggle := e.has(commonv1.ElementState_ELEMENT_STATE_CHECKABLE)
		if !e.offers(commonv1.ElementAction_ELEMENT_ACTION_PRESS) || toggle && c.Key == "Return" {
			return false
		}
		d.press(e)
	case "Up", "Right":
		return d.stepKey(e, 1, c.Key == "Up")
	case "Down", "Left":
		return d.stepKey(e, -1, c.Key == "Down")
	case "Home", "End":
		if !e.takesNumber {
			return false
		}
		end := e.rng.Min
		if c.Key == "End" {
			end = e.rng.Max
		}
		e.setNumber(end)
		run(d, e, e.hooks.change)
	default:
		return false
	}
	return true
}

// stepKey is an arrow on a number, a choice or a radio button. Up is more of a number
// and the one before of a list.
func (d *Desk) stepKey(e *element, direction float64, vertical bool) bool {
	switch {
	case e.takesNumber:
		d.stepNumber(e, direction)
	case e.role == commonv1.Role_ROLE_COMBO_BOX && vertical:
		d.chooseNeighbour(e.children, -int(direction))
	case e.role == commonv1.Role_ROLE_LIST && vertical:
		d.chooseNeighbour(e.children, -int(direction))
	default:
		return false
	}
	return true
}

// chooseNeighbour selects the item next to the one that is selected.
func (d *Desk) chooseNeighbour(items []*element, by int) {
	i := slices.IndexFunc(items, func(c *element) bool { return c.has(commonv1.ElementState_ELEMENT_STATE_SELECTED) })
	if i < 0 && by < 0 {
		i = len(items)
	}
	if i += by; i >= 0 && i < len(items) {
		d.choose(items[i])
	}
}

// escape cancels the nearest thing that can be, or closes the popup it is on.
func (d *Desk) escape(e *element) {
	for p := e; p != nil; p = p.parent {
		if p.hooks.cancel != nil {
			p.hooks.cancel(d, p)
			return
		}
	}
	d.dismiss(e)
}

// moveFocus gives the keyboard focus to the next element that can have it, in document
// order and around.
func (d *Desk) moveFocus(e *element, back bool) {
	var stops []*element
	at := 0
	e.win.each(func(x *element) bool {
		focusable := x.has(commonv1.ElementState_ELEMENT_STATE_FOCUSABLE)
		if x == e {
			at = len(stops)
		}
		if x == e || focusable && x.has(commonv1.ElementState_ELEMENT_STATE_ENABLED) &&
			!x.has(commonv1.ElementState_ELEMENT_STATE_OFFSCREEN) {
			stops = append(stops, x)
		}
		return true
	})
	by := 1
	if back {
		by = len(stops) - 1
	}
	if len(stops) > 0 {
		e.win.focus = stops[(at+by)%len(stops)]
	}
}
