package integration

import (
	"testing"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	"fairlead.dev/services/shared/permit"
	"fairlead.dev/services/shared/refusal"
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

func TestTypingWithoutAnElementNeedsAnOwnedKeyboardTarget(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	a := ready(t, s, form, "Form")
	// Focusing a field gives no ownership in this part of the product (C8.2).
	harness.Verified(t, a.Do(harness.Focus(a.Element(commonv1.Role_ROLE_TEXT_FIELD, "Name").GetId())), stateReadback)
	mark := s.Mark()
	harness.NothingSent(t, a.Do(harness.TypeText(0, "nowhere")), refusal.KeyboardNotOwned)
	s.Untouched(t, mark)
}

// Every member of the act vocabulary is either offered or says so.
func TestVerbThatIsNotOfferedIsRefusedAsUnsupported(t *testing.T) {
	s := harness.Start(t, harness.Options{Bundle: "../testdata/bundles/all.cedar"})
	a := s.Agent()
	a.AcquireAll(form)
	r := a.Acquire(commonv1.LeaseClass_LEASE_CLASS_POINTER_MUTATION, harness.App(form))
	harness.Refused(t, r.GetRefusal(), 0)
	offered := map[commonv1.Verb]bool{
		commonv1.Verb_VERB_CLICK_ELEMENT: true, commonv1.Verb_VERB_SET_VALUE: true, commonv1.Verb_VERB_SELECT_OPTION: true,
		commonv1.Verb_VERB_PERFORM: true, commonv1.Verb_VERB_SET_EXPANDED: true, commonv1.Verb_VERB_SET_CHECKED: true,
		commonv1.Verb_VERB_FOCUS_ELEMENT: true, commonv1.Verb_VERB_TYPE_TEXT: true, commonv1.Verb_VERB_LAUNCH_APP: true,
	}
	seen := 0
	for _, act := range harness.EveryAct() {
		verb := permit.VerbOf(act)
		if offered[verb] {
			continue
		}
		seen++
		t.Run(verb.String(), func(t *testing.T) {
			a.See(form, "Form")
			harness.BindTo(act, a.Element(commonv1.Role_ROLE_TEXT_FIELD, "Name").GetId())
			harness.NothingSent(t, a.Do(act), refusal.UnsupportedAction)
		})
	}
	if want := len(commonv1.Verb_name) - 1 - len(offered); seen != want {
		t.Errorf("%d verbs tried, want %d", seen, want)
	}
	s.Untouched(t, 0)
}

func TestClickThatNeedsAPointerIsNotOffered(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	a := ready(t, s, calculator, "Calculator")
	for _, tt := range []struct {
		name  string
		click *commonv1.ClickElement
	}{
		{"right button", &commonv1.ClickElement{Button: commonv1.Button_BUTTON_RIGHT}},
		{"double click", &commonv1.ClickElement{Count: 2}},
		{"with a modifier", &commonv1.ClickElement{Modifiers: []commonv1.Modifier{commonv1.Modifier_MODIFIER_SHIFT}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.click.ElementId = button(a, "7")
			harness.NothingSent(t, a.Do(&commonv1.Act{Act: &commonv1.Act_ClickElement{ClickElement: tt.click}}),
				refusal.UnsupportedAction)
		})
	}
	s.Untouched(t, 0)
}
