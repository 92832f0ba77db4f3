package integration

import (
	"slices"
	"testing"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/shared/refusal"
	"fairlead.dev/test/harness"
)

const (
	isButton = commonv1.Role_ROLE_BUTTON
	isText   = commonv1.Role_ROLE_TEXT_FIELD
	isToggle = commonv1.Role_ROLE_TOGGLE_BUTTON
	isCheck  = commonv1.Role_ROLE_CHECK_BOX
)

// What happens between frame and act. Each row is one story; nothing is sent unless
// the target is provably the one that was shown.
func TestTargetIsCheckedAgainRightBeforeTheSend(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	window := func() uint64 { return s.Window("Form").ID }
	tests := []struct {
		name    string
		role    commonv1.Role
		element string
		act     func(uint32) *commonv1.Act
		change  func() error
		want    refusal.Code // zero: the act is sent
		detail  []commonv1.ElementProperty
	}{
		{
			name: "relabelled", role: isButton, element: "Submit", act: harness.Click, want: refusal.TargetChanged,
			detail: []commonv1.ElementProperty{commonv1.ElementProperty_ELEMENT_PROPERTY_NAME},
			change: func() error { return s.Desk.Relabel(s.Object("Form", isButton, "Submit"), "Delete all") },
		},
		{
			name: "redescribed", role: isButton, element: "Submit", act: harness.Click, want: refusal.TargetChanged,
			detail: []commonv1.ElementProperty{commonv1.ElementProperty_ELEMENT_PROPERTY_DESCRIPTION},
			change: func() error { return s.Desk.Redescribe(s.Object("Form", isButton, "Submit"), "Pays") },
		},
		{
			name: "disabled since", role: isButton, element: "Submit", act: harness.Click, want: refusal.TargetChanged,
			detail: []commonv1.ElementProperty{commonv1.ElementProperty_ELEMENT_PROPERTY_ENABLED},
			change: func() error { return s.Desk.DisableElement(s.Object("Form", isButton, "Submit"), true) },
		},
		{
			name: "made secure since", role: isText, element: "Name", act: harness.Value("x"), want: refusal.SecureField,
			change: func() error { return s.Desk.MakeSecure(s.Object("Form", isText, "Name"), true) },
		},
		{
			name: "removed", role: isButton, element: "More", act: harness.Click, want: refusal.TargetMissing,
			change: func() error { return s.Desk.RemoveElement(s.Object("Form", isButton, "More")) },
		},
		{
			name: "replaced by one that is the same in every respect", role: isButton, element: "More", act: harness.Click,
			change: func() error {
				_, err := s.Desk.ReplaceElement(s.Object("Form", isButton, "More"))
				return err
			},
		},
		{
			name: "replaced by two that are the same", role: isButton, element: "More", act: harness.Click,
			want: refusal.TargetAmbiguous, change: func() error {
				_, _, err := s.Desk.SplitElement(s.Object("Form", isButton, "More"))
				return err
			},
		},
		{
			name: "the user edits the field that set_value overwrites", role: isText, element: "Name",
			act: harness.Value("agent"), want: refusal.TargetChanged,
			detail: []commonv1.ElementProperty{commonv1.ElementProperty_ELEMENT_PROPERTY_VALUE},
			change: func() error { return s.Desk.SetValue(s.Object("Form", isText, "Name"), "user") },
		},
		{
			name: "the user edits the field that is typed into", role: isText, element: "Name",
			act: harness.Type("agent", commonv1.TextMode_TEXT_MODE_APPEND), want: refusal.TargetChanged,
			detail: []commonv1.ElementProperty{commonv1.ElementProperty_ELEMENT_PROPERTY_VALUE},
			change: func() error { return s.Desk.SetValue(s.Object("Form", isText, "Name"), "user") },
		},
		{
			name: "the user toggles what a press would toggle back", role: isToggle, element: "Pinned",
			act: harness.Click, want: refusal.TargetChanged,
			detail: []commonv1.ElementProperty{commonv1.ElementProperty_ELEMENT_PROPERTY_STATE},
			change: func() error { return s.Desk.ToggleByUser(s.Object("Form", isToggle, "Pinned")) },
		},
		{
			name: "the user checks the box that set_checked wants checked", role: isCheck, element: "Subscribe",
			act:    harness.SetChecked(true),
			change: func() error { return s.Desk.ToggleByUser(s.Object("Form", isCheck, "Subscribe")) },
		},
		{
			name: "only the order changed", role: isButton, element: "More", act: harness.Click,
			change: func() error { return s.Desk.Reorder(s.Object("Form", isButton, "More")) },
		},
		{
			name: "another element changed", role: isButton, element: "More", act: harness.Click,
			change: func() error { return s.Desk.Relabel(s.Object("Form", isButton, "Submit"), "Send") },
		},
		{
			name: "the window moved", role: isButton, element: "More", act: harness.Click,
			change: func() error { return s.Desk.Move(window(), 10, 10) },
		},
		{
			name: "the window is minimised", role: isButton, element: "More", act: harness.Click,
			change: func() error { return s.Desk.Minimize(window()) },
		},
		{
			name: "another app covers the window", role: isButton, element: "More", act: harness.Click,
			change: func() error { _, err := s.Desk.Cover(window(), calculator); return err },
		},
		{
			name: "the same app covers the window", role: isButton, element: "More", act: harness.Click,
			want: refusal.TargetOccluded, change: func() error { _, err := s.Desk.Cover(window(), form); return err },
		},
		{
			name: "a modal dialog blocks the window", role: isButton, element: "More", act: harness.Click,
			want: refusal.TargetOccluded, change: func() error { _, err := s.Desk.OpenModal(window()); return err },
		},
		{
			name: "the window closed", role: isButton, element: "More", act: harness.Click,
			want: refusal.TargetMissing, change: func() error { return s.Desk.CloseWindow(window()) },
		},
		{
			name: "another window took its place", role: isButton, element: "More", act: harness.Click,
			want: refusal.TargetMissing, change: func() error { _, err := s.Desk.ReplaceWindow(window()); return err },
		},
		{
			name: "another window took its place and its id", role: isButton, element: "More", act: harness.Click,
			want: refusal.TargetChanged, change: func() error { return s.Desk.RecycleWindow(window()) },
		},
		{
			name: "the process was replaced", role: isButton, element: "More", act: harness.Click,
			want: refusal.TargetMissing, change: func() error { return s.Desk.Relaunch(form) },
		},
		{
			name: "the app died", role: isButton, element: "More", act: harness.Click,
			want: refusal.TargetMissing, change: func() error { return s.Desk.Die(form) },
		},
		{
			name: "a permission was taken away", role: isButton, element: "More", act: harness.Click,
			want: refusal.PermissionMissing, change: func() error {
				return s.Desk.SetPermission(commonv1.AbilityKind_ABILITY_KIND_SEMANTIC, false)
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s.Must(s.Desk.SetPermission(commonv1.AbilityKind_ABILITY_KIND_SEMANTIC, true))
			s.Must(s.Desk.Relaunch(form))
			a := ready(t, s, form, "Form")
			act, mark := tt.act(a.Element(tt.role, tt.element).GetId()), s.Mark()
			s.Must(tt.change())
			r := a.Do(act)
			if tt.want == 0 {
				if r.GetOutcome() != commonv1.Outcome_OUTCOME_OK {
					t.Errorf("refused: %v", r.GetRefusal())
				}
				s.Touched(t, mark, tt.element)
				return
			}
			harness.NothingSent(t, r, tt.want)
			s.Untouched(t, mark)
			if got := r.GetRefusal().GetDetail().GetChanged(); !slices.Equal(got, tt.detail) {
				t.Errorf("changed: %v, want %v", got, tt.detail)
			}
			if !r.GetRefusal().GetFrameStillCurrent() {
				t.Error("a refused act spent its frame")
			}
		})
	}
}

func TestWhatTheUserTypedIsNotOverwritten(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	a := ready(t, s, form, "Form")
	act := harness.SetValue(a.Element(isText, "Name").GetId(), "agent")
	s.Must(s.Desk.SetValue(s.Object("Form", isText, "Name"), "what the user typed"))
	harness.NothingSent(t, a.Do(act), refusal.TargetChanged)
	if got := s.Value("Form", isText, "Name"); got != "what the user typed" {
		t.Errorf("the field holds %q", got)
	}
	// On a frame that shows what the user typed, it is the agent's to overwrite.
	a.See(form, "Form")
	harness.Verified(t, a.Do(harness.SetValue(a.Element(isText, "Name").GetId(), "agent")), valueReadback)
}

func TestPageThatReloadedIsAnotherPage(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	a := ready(t, s, form, "Log")
	s.Must(s.Desk.ReloadPage(s.Window("Log").ID))
	harness.NothingSent(t, a.Do(press(a, "Clear")), refusal.PageTargetChanged)
	a.See(form, "Log")
	s.Must(s.Desk.CrashRenderer(s.Window("Log").ID))
	harness.NothingSent(t, a.Do(press(a, "Clear")), refusal.PageTargetChanged)
	s.Untouched(t, 0)
}

func TestDisabledElementIsNotOffered(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	a := ready(t, s, form, "Form")
	harness.NothingSent(t, a.Do(press(a, "Delete")), refusal.UnsupportedAction)
	harness.NothingSent(t, a.Do(harness.SetValue(a.Element(commonv1.Role_ROLE_SLIDER, "Volume").GetId(), "101")),
		refusal.UnsupportedAction)
	harness.NothingSent(t, a.Do(harness.SetValue(button(a, "Submit"), "x")), refusal.UnsupportedAction)
	s.Untouched(t, 0)
}

func TestAppWithSeveralWindowsIsAmbiguousAndTheListIsGiven(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	a := s.Agent()
	a.AcquireAll(form)
	r := a.Look(harness.OfApp(form))
	harness.Refused(t, r.GetRefusal(), refusal.TargetAmbiguous)
	if d := r.GetRefusal().GetDetail(); d.GetCandidates() != 2 || len(d.GetWindows()) != 2 {
		t.Errorf("%v", d)
	}
	s.Must(s.Desk.CloseWindow(s.Window("Log").ID))
	harness.Refused(t, a.Look(harness.OfApp(form)).GetRefusal(), 0)
	s.Must(s.Desk.Die(form))
	harness.Refused(t, a.Look(harness.OfApp(form)).GetRefusal(), refusal.TargetMissing)
}
