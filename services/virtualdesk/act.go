package virtualdesk

import (
	"math"
	"strings"
	"unicode/utf8"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/refusal"
)

// plan turns an act on an element into the step its app would take, or says that the
// element does not offer it. It changes nothing.
func (d *Desk) plan(e *element, p executor.Performance) (step, refusal.Answer) {
	action := step{route: commonv1.Route_ROUTE_ACCESSIBILITY_ACTION}
	switch p.Verb {
	case commonv1.Verb_VERB_CLICK_ELEMENT:
		action.do = func() { d.press(e) }
		return action, unless(e.offers(commonv1.ElementAction_ELEMENT_ACTION_PRESS))
	case commonv1.Verb_VERB_PERFORM:
		action.do = d.actionOf(e, p.Action)
		return action, unless(action.do != nil && e.offers(p.Action))
	case commonv1.Verb_VERB_SET_CHECKED:
		action.do = func() { d.check(e, p.On) }
		radio := e.role == commonv1.Role_ROLE_RADIO_BUTTON
		return action, unless(e.has(commonv1.ElementState_ELEMENT_STATE_CHECKABLE) && (p.On || !radio))
	case commonv1.Verb_VERB_SET_EXPANDED:
		action.do = func() { d.expand(e, p.On) }
		return action, unless(e.has(commonv1.ElementState_ELEMENT_STATE_EXPANDABLE))
	case commonv1.Verb_VERB_FOCUS_ELEMENT:
		action.do = func() { e.win.focus = e }
		return action, unless(e.has(commonv1.ElementState_ELEMENT_STATE_FOCUSABLE))
	case commonv1.Verb_VERB_SELECT_OPTION:
		return d.planSelect(e, p.Text)
	case commonv1.Verb_VERB_SET_VALUE:
		return d.planValue(e, p)
	case commonv1.Verb_VERB_TYPE_TEXT:
		return d.planTyping(e, p)
	case commonv1.Verb_VERB_SELECT_TEXT:
		return d.planSelection(e, p.Selection)
	case commonv1.Verb_VERB_SCROLL_ELEMENT:
		return d.planScroll(e, p)
	}
	return step{}, refusal.AnswerNotSupported
}

func unless(offered bool) refusal.Answer {
	if offered {
		return 0
	}
	return refusal.AnswerElementNotActionable
}

// actionOf is what a named action of the element does, nil when it means nothing here.
func (d *Desk) actionOf(e *element, a commonv1.ElementAction) func() {
	switch a {
	case commonv1.ElementAction_ELEMENT_ACTION_SHOW_MENU:
		if e.hooks.context != nil {
			return func() { d.openContext(e, e.bounds.X+e.bounds.W/2, e.bounds.Y+e.bounds.H/2) }
		}
		return func() { d.press(e) }
	case commonv1.ElementAction_ELEMENT_ACTION_PRESS, commonv1.ElementAction_ELEMENT_ACTION_ACTIVATE,
		commonv1.ElementAction_ELEMENT_ACTION_PICK, commonv1.ElementAction_ELEMENT_ACTION_OPEN,
		commonv1.ElementAction_ELEMENT_ACTION_TOGGLE:
		return func() { d.press(e) }
	case commonv1.ElementAction_ELEMENT_ACTION_CONFIRM:
		return func() { run(d, e, e.hooks.submit) }
	case commonv1.ElementAction_ELEMENT_ACTION_CANCEL:
		return func() { run(d, e, e.hooks.cancel) }
	case commonv1.ElementAction_ELEMENT_ACTION_INCREMENT:
		return func() { d.stepNumber(e, 1) }
	case commonv1.ElementAction_ELEMENT_ACTION_DECREMENT:
		return func() { d.stepNumber(e, -1) }
	case commonv1.ElementAction_ELEMENT_ACTION_SCROLL_DOWN:
		return d.scrolling(e, commonv1.Direction_DIRECTION_DOWN)
	case commonv1.ElementAction_ELEMENT_ACTION_SCROLL_UP:
		return d.scrolling(e, commonv1.Direction_DIRECTION_UP)
	case commonv1.ElementAction_ELEMENT_ACTION_SCROLL_TO_VISIBLE:
		return func() { d.scrollIntoView(e) }
	case commonv1.ElementAction_ELEMENT_ACTION_EXPAND:
		return func() { d.expand(e, true) }
	case commonv1.ElementAction_ELEMENT_ACTION_COLLAPSE:
		return func() { d.expand(e, false) }
	}
	return nil
}

// pageStep is how far a scroll action goes, in tenths of what is in view.
const pageStep = 10

func (d *Desk) scrolling(e *element, direction commonv1.Direction) func() {
	if e.scroll == nil {
		return nil
	}
	return func() { d.scrollBy(e, direction, pageStep) }
}

// planScroll scrolls the element or what it lies in.
func (d *Desk) planScroll(e *element, p executor.Performance) (step, refusal.Answer) {
	s := step{route: commonv1.Route_ROUTE_ACCESSIBILITY_ACTION, page: true}
	box := e.scrolls()
	if box == nil || p.Amount < 0 || !vertically(p.Direction) {
		return s, refusal.AnswerElementNotActionable
	}
	s.do = func() { d.scrollBy(box, p.Direction, p.Amount) }
	return s, 0
}

// planSelection selects a part of a text, which must be there.
func (d *Desk) planSelection(e *element, part executor.TextRange) (step, refusal.Answer) {
	s := step{
		route: commonv1.Route_ROUTE_ACCESSIBILITY_SELECTION, also: commonv1.Route_ROUTE_ACCESSIBILITY_TEXT, page: true,
		do: func() { e.selectRange(part.Start, part.Start+part.Length) },
	}
	n := len(e.content())
	inside := part.Start >= 0 && part.Length >= 0 && part.Start <= n && part.Length <= n-part.Start
	return s, unless(e.takesText && inside)
}

// planSelect selects an option of a container by name, or the named item itself. The
// name may be left out when the element is the item.
func (d *Desk) planSelect(e *element, name string) (step, refusal.Answer) {
	s := step{route: commonv1.Route_ROUTE_ACCESSIBILITY_SELECTION, page: true}
	if e.has(commonv1.ElementState_ELEMENT_STATE_SELECTABLE) && (name == "" || name == e.name) {
		s.do = func() { d.choose(e) }
		return s, 0
	}
	var option *element
	for _, c := range e.children {
		if c.name != name || !c.has(commonv1.ElementState_ELEMENT_STATE_SELECTABLE) {
			continue
		}
		if option != nil {
			return s, refusal.AnswerElementAmbiguous
		}
		option = c
	}
	if option == nil {
		return s, refusal.AnswerElementNotActionable
	}
	if !option.has(commonv1.ElementState_ELEMENT_STATE_ENABLED) {
		return s, refusal.AnswerElementDisabled
	}
	s.do = func() { d.choose(option) }
	return s, 0
}

// planValue sets a number by the value route or a text by the text route.
func (d *Desk) planValue(e *element, p executor.Performance) (step, refusal.Answer) {
	switch {
	case e.takesNumber:
		if math.IsNaN(p.Number) || math.IsInf(p.Number, 0) {
			return step{}, refusal.AnswerElementNotActionable
		}
		return step{route: commonv1.Route_ROUTE_ACCESSIBILITY_VALUE, page: true, do: func() {
			e.setNumber(p.Number)
			run(d, e, e.hooks.change)
		}}, 0
	case e.takesText:
		s := d.writing(e, false, p.Text)
		s.page = true
		return s, 0
	}
	return step{}, refusal.AnswerElementNotActionable
}

// planTyping focuses, types and, when all of it arrived, presses Return (C8.5).
func (d *Desk) planTyping(e *element, p executor.Performance) (step, refusal.Answer) {
	if !e.takesText {
		return step{}, refusal.AnswerElementNotActionable
	}
	s := d.writing(e, p.Mode == commonv1.TextMode_TEXT_MODE_APPEND, p.Text)
	write, writePart := s.do, s.partial
	s.do = func() {
		e.win.focus = e
		write()
		if p.Submit {
			run(d, e, e.hooks.submit)
		}
	}
	s.partial = func(n int) {
		e.win.focus = e
		writePart(n)
	}
	return s, 0
}

// writing puts text in the place of what is there, or after it. A one-line field keeps
// no line breaks.
func (d *Desk) writing(e *element, after bool, text string) step {
	if !e.has(commonv1.ElementState_ELEMENT_STATE_MULTILINE) {
		text = strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ").Replace(text)
	}
	put := func(s string) {
		if after {
			s = e.value + s
		}
		e.value = s
		e.caretEnd()
		run(d, e, e.hooks.change)
	}
	return step{
		route:   commonv1.Route_ROUTE_ACCESSIBILITY_TEXT,
		do:      func() { put(text) },
		count:   utf8.RuneCountInString(text),
		partial: func(n int) { put(cutText(text, n)) },
	}
}

// press is what a press means for the kind of control.
func (d *Desk) press(e *element) {
	switch {
	case e.role == commonv1.Role_ROLE_RADIO_BUTTON:
		d.check(e, true)
	case e.has(commonv1.ElementState_ELEMENT_STATE_CHECKABLE):
		d.check(e, !e.has(commonv1.ElementState_ELEMENT_STATE_CHECKED))
	case e.has(commonv1.ElementState_ELEMENT_STATE_EXPANDABLE):
		d.expand(e, !e.has(commonv1.ElementState_ELEMENT_STATE_EXPANDED))
	case e.has(commonv1.ElementState_ELEMENT_STATE_SELECTABLE):
		d.choose(e)
	}
	run(d, e, e.hooks.press)
}

// check brings a control into the wanted state; its neighbours give way to a radio button.
func (d *Desk) check(e *element, on bool) {
	if e.has(commonv1.ElementState_ELEMENT_STATE_CHECKED) == on {
		return
	}
	if e.role == commonv1.Role_ROLE_RADIO_BUTTON {
		for _, o := range e.parent.children {
			if o.role == e.role {
				o.set(commonv1.ElementState_ELEMENT_STATE_CHECKED, false)
			}
		}
	}
	e.set(commonv1.ElementState_ELEMENT_STATE_CHECKED, on)
	if e.role == commonv1.Role_ROLE_TOGGLE_BUTTON {
		e.set(commonv1.ElementState_ELEMENT_STATE_PRESSED, on)
	}
	run(d, e, e.hooks.change)
}

func (d *Desk) expand(e *element, on bool) {
	if e.has(commonv1.ElementState_ELEMENT_STATE_EXPANDED) == on {
		return
	}
	e.set(commonv1.ElementState_ELEMENT_STATE_EXPANDED, on)
	if e.hooks.expand != nil {
		e.hooks.expand(d, e, on)
	}
}

// choose selects one item and nothing else of its container.
func (d *Desk) choose(e *element) {
	box := e.parent
	for _, o := range box.children {
		o.set(commonv1.ElementState_ELEMENT_STATE_SELECTED, o == e)
	}
	if box.role == commonv1.Role_ROLE_COMBO_BOX {
		box.value = e.name
		d.expand(box, false)
	}
	run(d, box, box.hooks.change)
}

func (d *Desk) stepNumber(e *element, direction float64) {
	if e.rng == nil {
		return
	}
	e.setNumber(e.number + direction*e.rng.Step)
	run(d, e, e.hooks.change)
}

func run(d *Desk, e *element, hook func(*Desk, *element)) {
	if hook != nil {
		hook(d, e)
	}
}
