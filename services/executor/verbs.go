package executor

import (
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor/internal/readback"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/permit"
	"fairlead.dev/services/shared/refusal"
)

// planned is an act as the platform takes it, and what it wants to be true afterwards.
type planned struct {
	// ways are tried in order; each has routes that the permit lists.
	ways   []way
	routes []commonv1.Route
	perf   Performance
	input  Input
	manage Management
	claim  readback.Claim
	// typed is how many characters or key presses are to be delivered, 0 when none are.
	typed int
	// submit says that Return follows a text that is typed by keys.
	submit bool
	// origin is where a page is sent, empty when the act does not say.
	origin string
	// long says that the readback needs more of the element's text than a walk reads.
	long bool
}

// plan turns an act, on a recorded element where it has one, into what the platform is to
// do, or answers that it is not offered. No route but the permit's is used.
func plan(act *commonv1.Act, n *Node, owned bool, routes []commonv1.Route) (planned, refusal.Answer) {
	verb := permit.VerbOf(act)
	p := planned{
		routes: routes,
		perf:   Performance{Verb: verb},
		input:  Input{Verb: verb, Focus: !owned, Count: 1},
		manage: Management{Verb: verb},
		claim:  readback.Claim{May: mayConfirm(verb)},
	}
	var a refusal.Answer
	switch permit.RuleOf(verb).GetBinding() {
	case commonv1.Binding_BINDING_ELEMENT:
		a = p.onElement(act, n)
	case commonv1.Binding_BINDING_KEYBOARD:
		a = p.onKeyboard(act, n, owned)
	case commonv1.Binding_BINDING_POINT:
		a = p.onPoints(act)
	case commonv1.Binding_BINDING_WINDOW, commonv1.Binding_BINDING_PAGE:
		a = p.onWindow(act)
	default:
		a = refusal.AnswerNotSupported
	}
	if a != 0 {
		return p, a
	}
	p.ways = slices.DeleteFunc(p.ways, func(w way) bool { return len(p.routesFor(w)) == 0 })
	if len(p.ways) == 0 {
		return p, refusal.AnswerNoPermittedRoute
	}
	return p, 0
}

// routesFor returns the permitted routes of a way. The document of a page sets, selects
// and reads, but never presses (C2.8).
func (p *planned) routesFor(w way) []commonv1.Route {
	routes := routesOf(p.routes, w.class())
	presses := p.perf.Verb == commonv1.Verb_VERB_CLICK_ELEMENT || p.perf.Verb == commonv1.Verb_VERB_PERFORM
	if w != byElement || !presses {
		return routes
	}
	return slices.DeleteFunc(routes, func(r commonv1.Route) bool { return r == commonv1.Route_ROUTE_PAGE_DOM })
}

// bind names the window and the element's object as it was last found.
func (p *planned) bind(w ident.Window, o Object) {
	p.perf.Window, p.input.Window, p.manage.Window = w, w, w
	p.perf.Object, p.input.Object, p.manage.Object = o, o, o
}

// onElement plans what is done to an element.
func (p *planned) onElement(act *commonv1.Act, n *Node) refusal.Answer {
	p.ways = []way{byElement}
	switch p.perf.Verb {
	case commonv1.Verb_VERB_CLICK_ELEMENT:
		p.click(act.GetClickElement(), n)
		return 0
	case commonv1.Verb_VERB_SET_VALUE:
		return p.setValue(act.GetSetValue().GetValue(), n)
	case commonv1.Verb_VERB_SELECT_TEXT:
		return p.selectText(act.GetSelectText(), n)
	case commonv1.Verb_VERB_SET_CHECKED:
		on := act.GetSetChecked().GetChecked()
		p.claim.Wish, p.claim.On, p.perf.On = readback.Check, on, on
		return 0
	case commonv1.Verb_VERB_SET_EXPANDED:
		on := act.GetSetExpanded().GetExpanded()
		p.claim.Wish, p.claim.On, p.perf.On = readback.Expand, on, on
		return 0
	case commonv1.Verb_VERB_FOCUS_ELEMENT:
		p.claim.Wish = readback.Focus
		return 0
	case commonv1.Verb_VERB_SELECT_OPTION:
		p.perf.Text = act.GetSelectOption().GetOption()
		p.claim.Wish, p.claim.Text = readback.Option, p.perf.Text
		return 0
	case commonv1.Verb_VERB_PERFORM:
		return p.perform(act.GetPerform().GetAction(), n)
	case commonv1.Verb_VERB_SCROLL_ELEMENT:
		s := act.GetScrollElement()
		p.scroll(s.GetDirection(), s.GetAmount())
		p.ways = append(p.ways, byPointer)
		return 0
	default:
		return refusal.AnswerNotSupported
	}
}

// onPoints plans what is done at points; aim says which.
func (p *planned) onPoints(act *commonv1.Act) refusal.Answer {
	p.ways = []way{byPointer}
	switch p.perf.Verb {
	case commonv1.Verb_VERB_CLICK_POINT:
		c := act.GetClickPoint()
		p.press(c.GetButton(), c.GetCount(), c.GetModifiers())
		p.claim.Wish = readback.Press
	case commonv1.Verb_VERB_HOVER_POINT:
		p.claim.Wish = readback.Maybe
	case commonv1.Verb_VERB_DRAG:
		c := act.GetDrag()
		p.press(c.GetButton(), 1, c.GetModifiers())
		p.claim.Wish = readback.Press
	case commonv1.Verb_VERB_SCROLL_POINT:
		s := act.GetScrollPoint()
		p.scroll(s.GetDirection(), s.GetAmount())
	default:
		return refusal.AnswerNotSupported
	}
	return 0
}

// onWindow plans what is done to a window or its page as a whole.
func (p *planned) onWindow(act *commonv1.Act) refusal.Answer {
	p.ways = []way{byWindow}
	m, c := &p.manage, &p.claim
	switch p.perf.Verb {
	case commonv1.Verb_VERB_MOVE_WINDOW:
		m.X, m.Y = act.GetMoveWindow().GetX(), act.GetMoveWindow().GetY()
		c.Wish, c.Place.X, c.Place.Y = readback.Move, m.X, m.Y
		return finite(m.X, m.Y)
	case commonv1.Verb_VERB_RESIZE_WINDOW:
		m.W, m.H = act.GetResizeWindow().GetWidth(), act.GetResizeWindow().GetHeight()
		c.Wish, c.Place.W, c.Place.H = readback.Size, m.W, m.H
		return finite(m.W, m.H)
	case commonv1.Verb_VERB_MINIMIZE_WINDOW:
		c.Wish = readback.Hide
	case commonv1.Verb_VERB_CLOSE_WINDOW:
		c.Wish = readback.Close
	case commonv1.Verb_VERB_INVOKE_MENU:
		m.Path = act.GetInvokeMenu().GetPath()
		c.Wish = readback.Press
	case commonv1.Verb_VERB_NAVIGATE:
		m.URL = act.GetNavigate().GetUrl()
		var ok bool
		if p.origin, ok = originOf(m.URL); !ok {
			return refusal.AnswerNotSupported
		}
		c.Wish = readback.Page
	case commonv1.Verb_VERB_GO_BACK, commonv1.Verb_VERB_RELOAD:
		c.Wish = readback.Page
	default:
		return refusal.AnswerNotSupported
	}
	return 0
}

func finite(values ...float64) refusal.Answer {
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return refusal.AnswerInvalidPoint
		}
	}
	return 0
}

// onlyOwned reports whether a verb goes to the owned keyboard target and no other.
func onlyOwned(v commonv1.Verb) bool {
	return v == commonv1.Verb_VERB_PRESS_KEYS || v == commonv1.Verb_VERB_HOLD_KEYS
}

// mayConfirm is the verb's rule as a set (protocol.md, "what may confirm what").
func mayConfirm(v commonv1.Verb) readback.Methods {
	var set readback.Methods
	for _, m := range permit.RuleOf(v).GetConfirmedBy() {
		set |= readback.Of(readback.Method(m))
	}
	return set
}

// click is a plain single left press, which the element can do by itself and a pointer
// only where it does not; anything else needs a pointer.
func (p *planned) click(c *commonv1.ClickElement, n *Node) {
	p.press(c.GetButton(), c.GetCount(), c.GetModifiers())
	if p.input.Button == commonv1.Button_BUTTON_LEFT && p.input.Count == 1 && len(c.GetModifiers()) == 0 {
		p.ways = []way{byElement, byPointer}
		p.claim.Wish = pressWish(n)
		return
	}
	p.ways = []way{byPointer}
	p.claim.Wish = readback.Press
	if p.input.Button == commonv1.Button_BUTTON_LEFT && n.TakesText {
		p.claim.Wish = readback.Focus
	}
}

// press fills in what a pointer presses. A middle click opens no window of the app and a
// right click no page, so that neither is confirmed by one (protocol.md).
func (p *planned) press(b commonv1.Button, count uint32, modifiers []commonv1.Modifier) {
	if b == commonv1.Button_BUTTON_UNSPECIFIED {
		b = commonv1.Button_BUTTON_LEFT
	}
	p.input.Button, p.input.Count, p.input.Modifiers = b, max(1, int(count)), modifiers
	switch b {
	case commonv1.Button_BUTTON_MIDDLE:
		p.claim.May &^= readback.Of(readback.WindowSetChange)
	case commonv1.Button_BUTTON_RIGHT:
		p.claim.May &^= readback.Of(readback.PageReadback)
	}
}

func (p *planned) scroll(d commonv1.Direction, tenths uint32) {
	p.perf.Direction, p.perf.Amount = d, int(tenths)
	p.input.Direction, p.input.Amount = d, int(tenths)
	p.claim.Wish = readback.Scroll
}

// selectText selects characters that are there.
func (p *planned) selectText(s *commonv1.SelectText, n *Node) refusal.Answer {
	start, length := int(s.GetStart()), int(s.GetLength())
	if !n.ValueTruncated && start+length > utf8.RuneCountInString(n.Value) {
		return refusal.AnswerElementNotActionable
	}
	p.perf.Selection = TextRange{Start: start, Length: length}
	p.claim.Wish, p.claim.Range = readback.Span, readback.Range{Start: start, Length: length}
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
	switch {
	case n.States.Has(commonv1.ElementState_ELEMENT_STATE_CHECKABLE):
		return readback.Toggle
	case n.TakesText:
		// What a press on text changes is where the keys go.
		return readback.Focus
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

// onKeyboard plans what goes to the keyboard target: the owned one, or an element that
// the act names. A named element is written by its own text interface where it has one,
// an owned one is typed into; each the other way round where that is all there is.
func (p *planned) onKeyboard(act *commonv1.Act, n *Node, owned bool) refusal.Answer {
	switch p.perf.Verb {
	case commonv1.Verb_VERB_TYPE_TEXT:
		p.typeText(act.GetTypeText(), n)
	case commonv1.Verb_VERB_PASTE:
		p.paste(act.GetPaste().GetText(), n)
	case commonv1.Verb_VERB_PRESS_KEYS:
		k := act.GetPressKeys()
		p.typed = max(1, int(k.GetRepeat()))
		p.input.Repeat = p.typed
		return p.chord(k.GetKeys())
	case commonv1.Verb_VERB_HOLD_KEYS:
		k := act.GetHoldKeys()
		p.input.Hold = time.Duration(k.GetDurationMs()) * time.Millisecond
		return p.chord(k.GetKeys())
	default:
		return refusal.AnswerNotSupported
	}
	p.ways = []way{byElement, byKeys}
	if owned {
		p.ways = []way{byKeys, byElement}
	}
	if !n.TakesText {
		p.ways = []way{byKeys}
	}
	switch {
	case !owned && !takesKeys(n):
		return refusal.AnswerElementNotActionable
	case p.submit && !p.claim.TextKnown:
		// What cannot be read back is never submitted by keys (C8.5).
		p.ways = slices.DeleteFunc(p.ways, func(w way) bool { return w == byKeys })
		if len(p.ways) == 0 {
			return refusal.AnswerNotSupported
		}
	}
	return 0
}

// takesKeys reports whether an element is one that text can be typed into (C8.2).
func takesKeys(n *Node) bool {
	if n.TakesText || n.States.Has(commonv1.ElementState_ELEMENT_STATE_EDITABLE) {
		return true
	}
	switch n.Role {
	case commonv1.Role_ROLE_TERMINAL, commonv1.Role_ROLE_DOCUMENT, commonv1.Role_ROLE_WEB_AREA,
		commonv1.Role_ROLE_CANVAS, commonv1.Role_ROLE_TABLE:
		return true
	default:
		return false
	}
}

func (p *planned) chord(keys string) refusal.Answer {
	c, err := permit.ParseChord(keys)
	if err != nil {
		return refusal.AnswerNotSupported
	}
	p.ways, p.input.Chord, p.claim.Wish = []way{byKeys}, c, readback.Maybe
	return 0
}

// typeText types a text. All of the element's text is known beforehand when it replaces
// what is there, or adds to a text that was read in full.
func (p *planned) typeText(t *commonv1.TypeText, n *Node) {
	mode := t.GetMode()
	if mode == commonv1.TextMode_TEXT_MODE_UNSPECIFIED {
		mode = commonv1.TextMode_TEXT_MODE_REPLACE
	}
	p.text(t.GetText(), mode, n)
	p.perf.Submit, p.submit, p.claim.Submitted = t.GetSubmit(), t.GetSubmit(), t.GetSubmit()
	p.claim.Text, p.claim.TextKnown = t.GetText(), n.TakesText
	if mode == commonv1.TextMode_TEXT_MODE_APPEND {
		p.claim.Text, p.claim.TextKnown = n.Value+t.GetText(), n.TakesText && !n.ValueTruncated
	}
}

// paste puts a text where the caret is, over what is selected. What comes of it is known
// when the selection is; expect reads it at the send.
func (p *planned) paste(text string, n *Node) {
	p.text(text, commonv1.TextMode_TEXT_MODE_UNSPECIFIED, n)
}

func (p *planned) text(text string, mode commonv1.TextMode, n *Node) {
	p.perf.Text, p.perf.Mode, p.input.Text, p.input.Mode = text, mode, text, mode
	p.claim.Wish, p.typed = readback.Type, utf8.RuneCountInString(text)
	p.long = p.typed+utf8.RuneCountInString(n.Value) > textMax
}

// expect completes what is wanted by what was read at the send.
func (p *planned) expect(now *Node) {
	if p.perf.Verb != commonv1.Verb_VERB_PASTE || now.Selection == nil || now.ValueTruncated || !now.TakesText {
		return
	}
	was, at := []rune(now.Value), *now.Selection
	if at.Start < 0 || at.Length < 0 || at.Start+at.Length > len(was) {
		return
	}
	p.claim.Text = string(was[:at.Start]) + p.perf.Text + string(was[at.Start+at.Length:])
	p.claim.TextKnown = true
}

// originOf is where a page is sent: scheme, host and port, empty for a place that has no
// host; false for what is no place at all.
func originOf(place string) (string, bool) {
	u, err := url.Parse(place)
	if err != nil || u.Scheme == "" {
		return "", false
	}
	if u.Host == "" {
		return "", true
	}
	scheme, port := strings.ToLower(u.Scheme), u.Port()
	switch {
	case port != "":
	case scheme == "https":
		port = "443"
	case scheme == "http":
		port = "80"
	}
	return scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port, true
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
