package integration

import (
	"testing"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	"fairlead.dev/services/shared/permit"
	"fairlead.dev/services/shared/refusal"
	"fairlead.dev/services/virtualdesk"
	"fairlead.dev/test/harness"
)

const foreign = "Zoë 東京 🦊 e\u0301 ßİ"

func TestActIsVerifiedByReadingBackWhatItChanges(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	text, area := isText, commonv1.Role_ROLE_TEXT_AREA
	replace, add := commonv1.TextMode_TEXT_MODE_REPLACE, commonv1.TextMode_TEXT_MODE_APPEND
	increment := harness.Perform(commonv1.ElementAction_ELEMENT_ACTION_INCREMENT)
	tests := []struct {
		name    string
		role    commonv1.Role
		element string
		before  string
		act     func(id uint32) *commonv1.Act
		by      commonv1.VerificationMethod
		after   string // the element's value afterwards
		shows   string
	}{
		{
			name: "click", role: commonv1.Role_ROLE_LINK, element: "Help",
			act: harness.Click, by: treeDelta, shows: "Help opened",
		},
		{
			name: "click opens a window", role: isButton, element: "Submit",
			act: harness.Click, by: windowSet,
		},
		{
			name: "click on a toggle", role: isToggle, element: "Pinned",
			act: harness.Click, by: stateReadback,
		},
		{
			name: "click on a check box", role: isCheck, element: "Subscribe",
			act: harness.Click, by: stateReadback,
		},
		{
			name: "click on a switch", role: commonv1.Role_ROLE_SWITCH, element: "Notifications",
			act: harness.Click, by: stateReadback,
		},
		{
			name: "click on a radio button", role: commonv1.Role_ROLE_RADIO_BUTTON, element: "Pro",
			act: harness.Click, by: stateReadback,
		},
		{
			name: "set_checked", role: isCheck, element: "Subscribe",
			act: harness.SetChecked(true), by: stateReadback,
		},
		{
			name: "set_checked to what it is", role: isCheck, element: "Subscribe",
			act: harness.SetChecked(false), by: stateReadback,
		},
		{
			name: "set_expanded", role: commonv1.Role_ROLE_DISCLOSURE, element: "Details",
			act: harness.SetExpanded(true), by: stateReadback, shows: "Created by the virtual desk",
		},
		{name: "focus_element", role: text, element: "Name", act: harness.Focus, by: stateReadback},
		{
			name: "select_option", role: commonv1.Role_ROLE_COMBO_BOX, element: "Color",
			act: harness.Select("Blue"), by: selectionReadback, after: "Blue",
		},
		{
			name: "perform", role: commonv1.Role_ROLE_SPIN_BUTTON, element: "Quantity",
			act: increment, by: treeDelta, after: "2",
		},
		{
			name: "set_value of a text", role: text, element: "Name",
			act: harness.Value(foreign), by: valueReadback, after: foreign,
		},
		{
			name: "set_value of an empty text", role: text, element: "Name", before: "old",
			act: harness.Value(""), by: valueReadback,
		},
		{
			name: "set_value of a slider", role: commonv1.Role_ROLE_SLIDER, element: "Volume",
			act: harness.Value("55"), by: valueReadback, after: "55",
		},
		{
			name: "type_text replaces", role: text, element: "Name", before: "old",
			act: harness.Type(foreign, replace), by: textReadback, after: foreign,
		},
		{
			name: "type_text replaces by default", role: area, element: "Notes", before: "old",
			act: harness.Type("new\nline", 0), by: textReadback, after: "new\nline",
		},
		{
			name: "type_text appends", role: text, element: "Name", before: "Zoë ",
			act: harness.Type("東京", add), by: textReadback, after: "Zoë 東京",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s.Must(s.Desk.Relaunch(form))
			if tt.before != "" {
				s.Must(s.Desk.SetValue(s.Object("Form", tt.role, tt.element), tt.before))
			}
			a := ready(t, s, form, "Form")
			spent, mark := a.Frame.GetFrame(), s.Mark()
			r := a.Do(tt.act(a.Element(tt.role, tt.element).GetId()))
			harness.Verified(t, r, tt.by)
			s.Touched(t, mark, tt.element)
			if got := s.Value("Form", tt.role, tt.element); tt.after != "" && got != tt.after {
				t.Errorf("it holds %q, want %q", got, tt.after)
			}
			if !harness.Shows(r.GetObservation(), tt.shows) || !harness.Shows(r.GetObservation(), tt.after) {
				t.Errorf("%q and %q are not both in\n%s", tt.shows, tt.after, r.GetObservation().GetOutline())
			}
			if f := r.GetObservation().GetFrame(); f.GetFrameId() == spent.GetFrameId() || f.GetEpoch() <= spent.GetEpoch() {
				t.Errorf("frame after: %v, before: %v", f, spent)
			}
			if tier, want := r.GetTier(), permit.RouteRuleOf(r.GetRoute()).GetTier(); tier != want || tier == 0 {
				t.Errorf("tier %v of route %v", tier, r.GetRoute())
			}
			undisturbed(t, r)
		})
	}
}

const (
	treeDelta         = commonv1.VerificationMethod_VERIFICATION_METHOD_TREE_DELTA
	windowSet         = commonv1.VerificationMethod_VERIFICATION_METHOD_WINDOW_SET_CHANGE
	stateReadback     = commonv1.VerificationMethod_VERIFICATION_METHOD_STATE_READBACK
	valueReadback     = commonv1.VerificationMethod_VERIFICATION_METHOD_VALUE_READBACK
	textReadback      = commonv1.VerificationMethod_VERIFICATION_METHOD_TEXT_READBACK
	selectionReadback = commonv1.VerificationMethod_VERIFICATION_METHOD_SELECTION_READBACK
)

func undisturbed(t *testing.T, r *hostv1.ActResponse) {
	t.Helper()
	d := r.GetDesk()
	for _, c := range []commonv1.DeskChange{
		d.GetPointer(), d.GetFocus(), d.GetActive(), d.GetStacking(), d.GetClipboard(),
	} {
		if c != commonv1.DeskChange_DESK_CHANGE_UNCHANGED {
			t.Errorf("the user's desk: %v", d)
			return
		}
	}
}

// C8.1, C8.2: a field that only looks focused is nobody's keyboard target; an act of the
// session that put the focus there makes it one.
func TestTypingWithoutAnElementNeedsAnOwnedKeyboardTarget(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	s.Must(s.Desk.UserFocuses(s.Object("Form", isText, "Name")))
	a := ready(t, s, form, "Form")
	mark := s.Mark()
	harness.NothingSent(t, a.Do(harness.TypeText(0, "nowhere")), refusal.KeyboardNotOwned)
	s.Untouched(t, mark)
	harness.Verified(t, a.Do(harness.Focus(a.Element(isText, "Name").GetId())), stateReadback)
	harness.Verified(t, a.Do(harness.TypeText(0, "here")), textReadback)
	if got := s.Value("Form", isText, "Name"); got != "here" {
		t.Errorf("the field holds %q", got)
	}
}

// Every member of the act vocabulary is offered where a window has something for it, and
// refused as UNSUPPORTED_ACTION where it has not.
func TestEveryVerbIsOfferedWhereTheWindowHasSomethingForIt(t *testing.T) {
	s := harness.Start(t, harness.Options{Bundle: allBundle, Desk: virtualdesk.Config{
		Running: []string{virtualdesk.WorkbenchID, virtualdesk.BrowserID},
	}})
	at := func(role commonv1.Role, name string) func(*harness.Agent) (float64, float64) {
		return func(a *harness.Agent) (float64, float64) {
			return harness.Centre(a.Frame, a.Frame.GetPicture(), a.Element(role, name))
		}
	}
	type place struct {
		app, title, element string
		role                commonv1.Role
	}
	fields := place{form, "Form", "Name", isText}
	bench := func(role commonv1.Role, name string) place {
		return place{virtualdesk.WorkbenchID, "Workbench", name, role}
	}
	shop := place{app: virtualdesk.BrowserID, title: "Browser"}
	window := place{app: form, title: "Form"}
	where := map[commonv1.Verb]place{
		commonv1.Verb_VERB_CLICK_ELEMENT: {form, "Form", "Help", commonv1.Role_ROLE_LINK},
		commonv1.Verb_VERB_SET_VALUE:     fields, commonv1.Verb_VERB_SELECT_TEXT: fields,
		commonv1.Verb_VERB_SELECT_OPTION:  {form, "Form", "Color", commonv1.Role_ROLE_COMBO_BOX},
		commonv1.Verb_VERB_PERFORM:        {form, "Form", "Help", commonv1.Role_ROLE_LINK},
		commonv1.Verb_VERB_SCROLL_ELEMENT: bench(commonv1.Role_ROLE_SCROLL_AREA, "Items"),
		commonv1.Verb_VERB_SET_EXPANDED:   {form, "Form", "Details", commonv1.Role_ROLE_DISCLOSURE},
		commonv1.Verb_VERB_SET_CHECKED:    {form, "Form", "Subscribe", isCheck},
		commonv1.Verb_VERB_FOCUS_ELEMENT:  fields, commonv1.Verb_VERB_TYPE_TEXT: fields, commonv1.Verb_VERB_PASTE: fields,
		commonv1.Verb_VERB_PRESS_KEYS: fields, commonv1.Verb_VERB_HOLD_KEYS: fields,
		commonv1.Verb_VERB_CLICK_POINT:  bench(commonv1.Role_ROLE_CANVAS, "Pad"),
		commonv1.Verb_VERB_HOVER_POINT:  bench(commonv1.Role_ROLE_CANVAS, "Pad"),
		commonv1.Verb_VERB_DRAG:         bench(commonv1.Role_ROLE_CANVAS, "Sketch"),
		commonv1.Verb_VERB_SCROLL_POINT: bench(commonv1.Role_ROLE_SCROLL_AREA, "Items"),
		commonv1.Verb_VERB_MOVE_WINDOW:  window, commonv1.Verb_VERB_RESIZE_WINDOW: window,
		commonv1.Verb_VERB_MINIMIZE_WINDOW: window, commonv1.Verb_VERB_CLOSE_WINDOW: window,
		commonv1.Verb_VERB_INVOKE_MENU: window, commonv1.Verb_VERB_NAVIGATE: shop,
		commonv1.Verb_VERB_GO_BACK: shop, commonv1.Verb_VERB_RELOAD: shop, commonv1.Verb_VERB_LAUNCH_APP: {app: notes},
	}
	seen := 0
	for _, act := range harness.EveryAct() {
		verb := permit.VerbOf(act)
		p, known := where[verb]
		if !known {
			t.Errorf("no story for %v", verb)
			continue
		}
		seen++
		t.Run(verb.String(), func(t *testing.T) {
			for _, app := range []string{form, virtualdesk.WorkbenchID, virtualdesk.BrowserID} {
				s.Must(s.Desk.Relaunch(app))
			}
			a := s.AgentOf(t)
			a.AcquireEvery(p.app)
			if p.title != "" {
				a.SeePicture(p.app, p.title)
			}
			if p.element != "" {
				harness.BindTo(act, a.Element(p.role, p.element).GetId())
			}
			switch x := act.GetAct().(type) {
			case *commonv1.Act_SelectText:
				x.SelectText.Start, x.SelectText.Length = 0, 0
			case *commonv1.Act_SelectOption:
				x.SelectOption.Option = "Blue"
			case *commonv1.Act_Perform:
				x.Perform.Action = commonv1.ElementAction_ELEMENT_ACTION_PRESS
			case *commonv1.Act_ScrollElement:
				x.ScrollElement.Direction, x.ScrollElement.Amount = commonv1.Direction_DIRECTION_DOWN, 5
			case *commonv1.Act_PressKeys, *commonv1.Act_HoldKeys:
				harness.Verified(t, a.Do(harness.Focus(a.Element(p.role, p.element).GetId())), stateReadback)
			case *commonv1.Act_ClickPoint:
				px, py := at(p.role, p.element)(a)
				x.ClickPoint.PictureId, x.ClickPoint.Point = pictureID(a), &commonv1.Point{X: px, Y: py}
			case *commonv1.Act_HoverPoint:
				px, py := at(p.role, p.element)(a)
				x.HoverPoint.PictureId, x.HoverPoint.Point = pictureID(a), &commonv1.Point{X: px, Y: py}
			case *commonv1.Act_Drag:
				px, py := at(p.role, p.element)(a)
				x.Drag.PictureId = pictureID(a)
				x.Drag.Path = []*commonv1.Point{{X: px, Y: py}, {X: px + 10, Y: py + 10}}
			case *commonv1.Act_ScrollPoint:
				px, py := at(p.role, p.element)(a)
				x.ScrollPoint.PictureId, x.ScrollPoint.Point = pictureID(a), &commonv1.Point{X: px, Y: py}
				x.ScrollPoint.Direction, x.ScrollPoint.Amount = commonv1.Direction_DIRECTION_DOWN, 5
			case *commonv1.Act_ResizeWindow:
				x.ResizeWindow.Width, x.ResizeWindow.Height = 700, 620
			case *commonv1.Act_InvokeMenu:
				x.InvokeMenu.Path, x.InvokeMenu.ElementId = []string{"File", "Clear form"}, 0
			case *commonv1.Act_Navigate:
				x.Navigate.Url = virtualdesk.ShopAddress
			case *commonv1.Act_GoBack:
				harness.Refused(t, a.Do(harness.Navigate(virtualdesk.ShopAddress)).GetRefusal(), 0)
			case *commonv1.Act_LaunchApp:
				x.LaunchApp.AppId = notes
			}
			mark := s.Mark()
			r := a.Do(act)
			if r.GetOutcome() != commonv1.Outcome_OUTCOME_OK || r.GetRoute() == commonv1.Route_ROUTE_NONE ||
				r.GetEffect() == commonv1.Effect_EFFECT_SUSPECTED_NOOP {
				t.Errorf("outcome %v, effect %v, route %v, %v", r.GetOutcome(), r.GetEffect(), r.GetRoute(), r.GetRefusal())
			}
			if got := s.Reached(mark); len(got) != 1 || got[0].Verb != verb {
				t.Errorf("reached: %+v", got)
			}
			undisturbed(t, r)
		})
	}
	if want := len(commonv1.Verb_name) - 1; seen != want {
		t.Errorf("%d verbs tried, want %d", seen, want)
	}
	// A window without a page has nothing for a page's verbs.
	a := s.Agent()
	a.AcquireEvery(form)
	for _, act := range harness.EveryAct() {
		if permit.RuleOf(permit.VerbOf(act)).GetBinding() != commonv1.Binding_BINDING_PAGE {
			continue
		}
		a.See(form, "Form")
		mark := s.Mark()
		harness.NothingSent(t, a.Do(act), refusal.UnsupportedAction)
		s.Untouched(t, mark)
	}
}

// pictureID is the id of the latest frame's own picture.
func pictureID(a *harness.Agent) string { return a.Frame.GetPicture().GetPictureId() }

// C7.5: pointer routes belong to the POINTER class. Without its lease nothing is sent, and
// no other route stands in; with it the same click goes.
func TestClickThatNeedsAPointerNeedsItsLease(t *testing.T) {
	s := harness.Start(t, harness.Options{Bundle: allBundle})
	a := ready(t, s, calculator, "Calculator")
	tests := []struct {
		name  string
		click *commonv1.ClickElement
	}{
		{"right button", &commonv1.ClickElement{Button: commonv1.Button_BUTTON_RIGHT}},
		{"double click", &commonv1.ClickElement{Count: 2}},
		{"with a modifier", &commonv1.ClickElement{Modifiers: []commonv1.Modifier{commonv1.Modifier_MODIFIER_SHIFT}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.click.ElementId = button(a, "7")
			harness.NothingSent(t, a.Do(&commonv1.Act{Act: &commonv1.Act_ClickElement{ClickElement: tt.click}}),
				refusal.NoPermittedRoute)
		})
	}
	s.Untouched(t, 0)
	harness.Refused(t, a.Acquire(pointer, harness.App(calculator)).GetRefusal(), 0)
	for _, tt := range tests {
		t.Run(tt.name+" with the lease", func(t *testing.T) {
			mark := s.Mark()
			a.See(calculator, "Calculator")
			tt.click.ElementId = button(a, "7")
			r := a.Do(&commonv1.Act{Act: &commonv1.Act_ClickElement{ClickElement: tt.click}})
			if r.GetOutcome() != commonv1.Outcome_OUTCOME_OK || r.GetRoute() != commonv1.Route_ROUTE_AGENT_SEAT {
				t.Errorf("outcome %v by %v, %v", r.GetOutcome(), r.GetRoute(), r.GetRefusal())
			}
			s.Touched(t, mark, "7")
		})
	}
}
