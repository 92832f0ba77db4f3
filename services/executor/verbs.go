package executor

import (
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor/internal/readback"
	"fairlead.dev/services/shared/permit"
	"fairlead.dev/services/shared/refusal"
)

// planned is an act as the platform takes it, and what it wants to be true afterwards.
type planned struct {
	perf  Performance
	claim readback.Claim
	// typed is how many characters are to be delivered, 0 when none are.
	typed int
	// long says that the readback needs more of the element's text than a walk reads.
	long bool
}

// plan turns an act on a recorded element into a performance, or answers that it is
// not offered. The permit's routes come along; no other may be used.
func plan(act *commonv1.Act, n *Node, routes []commonv1.Route) (planned, refusal.Answer) {
	verb := permit.VerbOf(act)
	p := planned{
		perf:  Performance{Object: n.Object, Verb: verb, Routes: slices.Clone(routes)},
		claim: readback.Claim{May: mayConfirm(verb)},
	}
	switch verb {
	case commonv1.Verb_VERB_CLICK_ELEMENT:
		return p, p.click(act.GetClickElement(), n)
	case commonv1.Verb_VERB_SET_VALUE:
		return p, p.setValue(act.GetSetValue().GetValue(), n)
	case commonv1.Verb_VERB_TYPE_TEXT:
		return p, p.typeText(act.GetTypeText(), n)
	case commonv1.Verb_VERB_SET_CHECKED:
		on := act.GetSetChecked().GetChecked()
		p.claim.Wish, p.claim.On, p.perf.On = readback.Check, on, on
		return p, 0
	case commonv1.Verb_VERB_SET_EXPANDED:
		on := act.GetSetExpanded().GetExpanded()
		p.claim.Wish, p.claim.On, p.perf.On = readback.Expand, on, on
		return p, 0
	case commonv1.Verb_VERB_FOCUS_ELEMENT:
		p.claim.Wish = readback.Focus
		return p, 0
	case commonv1.Verb_VERB_SELECT_OPTION:
		p.perf.Text = act.GetSelectOption().GetOption()
		p.claim.Wish, p.claim.Text = readback.Option, p.perf.Text
		return p, 0
	case commonv1.Verb_VERB_PERFORM:
		return p, p.perform(act.GetPerform().GetAction(), n)
	default:
		return p, refusal.AnswerNotSupported
	}
}

// supported reports whether this executor offers a verb on elements.
func supported(v commonv1.Verb) bool {
	switch v {
	case commonv1.Verb_VERB_CLICK_ELEMENT, commonv1.Verb_VERB_SET_VALUE, commonv1.Verb_VERB_TYPE_TEXT,
		commonv1.Verb_VERB_SET_CHECKED, commonv1.Verb_VERB_SET_EXPANDED, commonv1.Verb_VERB_FOCUS_ELEMENT,
		commonv1.Verb_VERB_SELECT_OPTION, commonv1.Verb_VERB_PERFORM:
		return true
	default:
		return false
	}
}

// mayConfirm is the verb's rule as a set (protocol.md, "what may confirm what").
func mayConfirm(v commonv1.Verb) readback.Methods {
	var set readback.Methods
	for _, m := range permit.RuleOf(v).GetConfirmedBy() {
		set |= readback.Of(readback.Method(m))
	}
	return set
}

// click takes a plain single left press; anything else needs a pointer.
func (p *planned) click(c *commonv1.ClickElement, n *Node) refusal.Answer {
	left := c.GetButton() == commonv1.Button_BUTTON_UNSPECIFIED || c.GetButton() == commonv1.Button_BUTTON_LEFT
	if !left || c.GetCount() > 1 || len(c.GetModifiers()) != 0 {
		return refusal.AnswerNotSupported
	}
	p.claim.Wish = pressWish(n)
	return 0
}

// pressWish is what a press on an element changes: the state of a toggle, or something.
func pressWish(n *Node) readback.Wish {
	switch n.Role {
	case commonv1.Role_ROLE_RADIO_BUTTON, commonv1.Role_ROLE_RADIO_MENU_ITEM:
		return readback.Choose
	case commonv1.Role_ROLE_TOGGLE_BUTTON, commonv1.Role_ROLE_CHECK_BOX, commonv1.Role_ROLE_SWITCH,
		commonv1.Role_ROLE_CHECK_MENU_ITEM:
		return readback.Toggle
	}
	if n.States.Has(commonv1.ElementState_ELEMENT_STATE_CHECKABLE) {
		return readback.Toggle
	}
	return readback.Press
}

// setValue sets a number in C notation within the range, or a text.
func (p *planned) setValue(value string, n *Node) refusal.Answer {
	switch {
	case n.TakesNumber:
		number, ok := parseNumber(value)
		if !ok || n.Range != nil && n.Range.Max > n.Range.Min && (number < n.Range.Min || number > n.Range.Max) {
			return refusal.AnswerElementNotActionable
		}
		p.perf.Number = number
		p.claim.Wish, p.claim.Number = readback.Number, number
		if n.Range != nil {
			p.claim.Step = n.Range.Step
		}
	case n.TakesText:
		p.perf.Text = value
		p.claim.Wish, p.claim.Text, p.claim.TextKnown = readback.Text, value, true
		p.long = utf8.RuneCountInString(value) > textMax
	default:
		return refusal.AnswerElementNotActionable
	}
	return 0
}

// parseNumber reads a decimal number in C notation: no hexadecimal, no digit groups,
// no infinities.
func parseNumber(s string) (float64, bool) {
	for _, c := range []byte(s) {
		switch {
		case c >= '0' && c <= '9', c == '+', c == '-', c == '.', c == 'e', c == 'E':
		default:
			return 0, false
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil && !math.IsInf(f, 0) && !math.IsNaN(f)
}

// typeText types into the named element. The whole text is known beforehand when it
// replaces what is there, or adds to a text that was read in full.
func (p *planned) typeText(t *commonv1.TypeText, n *Node) refusal.Answer {
	if !n.TakesText {
		return refusal.AnswerElementNotActionable
	}
	p.perf.Text, p.perf.Mode, p.perf.Submit = t.GetText(), t.GetMode(), t.GetSubmit()
	if p.perf.Mode == commonv1.TextMode_TEXT_MODE_UNSPECIFIED {
		p.perf.Mode = commonv1.TextMode_TEXT_MODE_REPLACE
	}
	p.claim.Wish, p.claim.Submitted = readback.Type, t.GetSubmit()
	p.claim.Text, p.claim.TextKnown = t.GetText(), true
	if p.perf.Mode == commonv1.TextMode_TEXT_MODE_APPEND {
		p.claim.Text, p.claim.TextKnown = n.Value+t.GetText(), !n.ValueTruncated
	}
	p.typed = utf8.RuneCountInString(t.GetText())
	p.long = utf8.RuneCountInString(p.claim.Text) > textMax
	return 0
}

// perform does a secondary action that the element advertises. An action that names
// its end state is read back as that state would be, if the verb's rule allowed it;
// it does not, so the tree has to tell.
func (p *planned) perform(a commonv1.ElementAction, n *Node) refusal.Answer {
	if !slices.Contains(n.Actions, a) {
		return refusal.AnswerElementNotActionable
	}
	p.perf.Action, p.claim.Wish = a, readback.Press
	return 0
}

// comparedStates are the states that the user can change (C6.2).
var comparedStates = States(0).
	With(commonv1.ElementState_ELEMENT_STATE_CHECKED).
	With(commonv1.ElementState_ELEMENT_STATE_MIXED).
	With(commonv1.ElementState_ELEMENT_STATE_PRESSED).
	With(commonv1.ElementState_ELEMENT_STATE_SELECTED).
	With(commonv1.ElementState_ELEMENT_STATE_EXPANDED)

func stateOf(s States) readback.State {
	return readback.State{
		Checked:  s.Has(commonv1.ElementState_ELEMENT_STATE_CHECKED),
		Mixed:    s.Has(commonv1.ElementState_ELEMENT_STATE_MIXED),
		Pressed:  s.Has(commonv1.ElementState_ELEMENT_STATE_PRESSED),
		Selected: s.Has(commonv1.ElementState_ELEMENT_STATE_SELECTED),
		Expanded: s.Has(commonv1.ElementState_ELEMENT_STATE_EXPANDED),
		Focused:  s.Has(commonv1.ElementState_ELEMENT_STATE_FOCUSED),
	}
}
