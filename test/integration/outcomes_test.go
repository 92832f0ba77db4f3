package integration

import (
	"testing"
	"time"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	"fairlead.dev/services/shared/refusal"
	"fairlead.dev/services/virtualdesk"
	"fairlead.dev/test/harness"
)

// hurried is a desk that waits only a moment for a frozen app.
func hurried(t *testing.T) *harness.System {
	t.Helper()
	return harness.Start(t, harness.Options{Desk: virtualdesk.Config{Unresponsive: 300 * time.Millisecond}})
}

func TestDeclinedActFailedAndSpentItsFrame(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	a := ready(t, s, calculator, "Calculator")
	spent, act := a.Frame.GetFrame(), press(a, "7")
	s.Must(s.Desk.DeclineNext(calculator))
	r := a.Do(act)
	harness.Refused(t, r.GetRefusal(), refusal.DispatchRefused)
	if r.GetOutcome() != commonv1.Outcome_OUTCOME_FAILED || r.GetVerified() ||
		r.GetEffect() == commonv1.Effect_EFFECT_CONFIRMED || r.GetRefusal().GetFrameStillCurrent() ||
		r.GetRefusal().GetClaimEnd() != commonv1.ClaimEnd_CLAIM_END_CONSUMED || r.GetObservation() == nil {
		t.Errorf("%v", r)
	}
	harness.NothingSent(t, a.DoOn(spent, act), refusal.DuplicateAction)
	s.Touched(t, 0, "7")
}

func TestActThatChangedNothingIsNotVerified(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	a := ready(t, s, form, "Form")
	for _, tt := range []struct {
		name string
		act  func() *commonv1.Act
	}{
		{"press", func() *commonv1.Act { return press(a, "More") }},
		{"toggle", func() *commonv1.Act { return harness.Click(a.Element(isToggle, "Pinned").GetId()) }},
		{"set_value", func() *commonv1.Act { return harness.SetValue(a.Element(isText, "Name").GetId(), "x") }},
		{"type_text", func() *commonv1.Act { return harness.TypeText(a.Element(isText, "Name").GetId(), "x") }},
		{"set_checked", func() *commonv1.Act { return harness.SetChecked(true)(a.Element(isCheck, "Subscribe").GetId()) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s.Must(s.Desk.NoOpNext(form))
			r := a.Do(tt.act())
			if r.GetOutcome() != commonv1.Outcome_OUTCOME_OK || r.GetVerified() || r.GetVerification().GetObservedChange() ||
				r.GetEffect() != commonv1.Effect_EFFECT_SUSPECTED_NOOP || r.GetObservation() == nil {
				t.Errorf("outcome %v, effect %v, %v", r.GetOutcome(), r.GetEffect(), r.GetVerification())
			}
		})
	}
}

func TestPartOfATextIsUnknownWithTheCountDelivered(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	a := ready(t, s, form, "Form")
	s.Must(s.Desk.PartialNext(form, 3))
	r := a.Do(harness.TypeText(a.Element(isText, "Name").GetId(), "東京🦊 tower"))
	harness.Unknown(t, r)
	if r.GetDeliveredCount() != 3 || s.Value("Form", isText, "Name") != "東京🦊" {
		t.Errorf("delivered %d, the field holds %q", r.GetDeliveredCount(), s.Value("Form", isText, "Name"))
	}
	// The observation that came along shows what arrived; the rest is a new act on it.
	rest := harness.Type(" tower", commonv1.TextMode_TEXT_MODE_APPEND)
	harness.Verified(t, a.Do(rest(a.Element(isText, "Name").GetId())), textReadback)
	if got := s.Value("Form", isText, "Name"); got != "東京🦊 tower" {
		t.Errorf("the field holds %q", got)
	}
}

func TestUnansweredActIsUnknownAndClosesTheAppUntilItIsObserved(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	for _, tt := range []struct {
		name    string
		happens bool
	}{{"it did not happen", false}, {"it happened", true}} {
		t.Run(tt.name, func(t *testing.T) {
			s.Must(s.Desk.Relaunch(form))
			a, b := ready(t, s, form, "Form"), ready(t, s, form, "Log")
			spent, act := a.Frame.GetFrame(), harness.SetValue(a.Element(isText, "Name").GetId(), "x")
			s.Must(s.Desk.UnansweredNext(form, tt.happens))
			r := a.Do(act)
			harness.Unknown(t, r)
			if !r.GetMayStillHappen() {
				t.Error("may_still_happen is not set")
			}
			mark := s.Mark()
			// Nobody repeats it, and nobody acts on the app before it was seen again.
			harness.NothingSent(t, a.DoOn(spent, act), refusal.DuplicateAction)
			harness.NothingSent(t, b.Do(press(b, "Clear")), refusal.TargetUnresponsive)
			s.Untouched(t, mark)
			b.See(form, "Log")
			harness.Verified(t, b.Do(press(b, "Clear")), treeDelta)
			s.Touched(t, mark, "Clear")
			if got := s.Value("Form", isText, "Name") == "x"; got != tt.happens {
				t.Errorf("happened: %v, want %v", got, tt.happens)
			}
		})
	}
}

func TestAppThatFreezesInTheActIsUnknownAndMayStillHappen(t *testing.T) {
	s := hurried(t)
	a := ready(t, s, calculator, "Calculator")
	s.Must(s.Desk.FreezeNext(calculator))
	r := a.Do(press(a, "7"))
	harness.Unknown(t, r)
	if !r.GetMayStillHappen() || r.GetObservation() != nil {
		t.Errorf("may still happen: %v, observation: %v", r.GetMayStillHappen(), r.GetObservation())
	}
	s.Must(s.Desk.Thaw(calculator))
	a.See(calculator, "Calculator")
	if !harness.Shows(a.Frame, "7") {
		t.Error("the late effect is not shown")
	}
	s.Touched(t, 0, "7")
}

func TestFrozenAppIsNotSentToAndDelaysNoOther(t *testing.T) {
	s := harness.Start(t, harness.Options{Desk: virtualdesk.Config{Unresponsive: 1500 * time.Millisecond}})
	a, b := ready(t, s, form, "Form"), ready(t, s, calculator, "Calculator")
	s.Must(s.Desk.Freeze(form))
	frozen := a.Start(a.Context(), on(a, press(a, "More")))
	user := s.User()
	s.Await("the act holds its window's lane", func() bool { return user.Lanes() == 1 })
	for range 3 {
		harness.Verified(t, b.Do(press(b, "7")), treeDelta)
	}
	select {
	case r := <-frozen:
		t.Fatalf("the frozen app answered first: %v", r)
	default:
	}
	harness.NothingSent(t, a.Wait(frozen).ActResponse, refusal.TargetUnresponsive)
	s.Touched(t, 0, "7", "7", "7")
	s.Must(s.Desk.Thaw(form))
}

func TestTargetThatTheActClosesIsGoneByDesign(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	a := ready(t, s, form, "Form")
	r := a.Do(press(a, "Submit"))
	harness.Verified(t, r, windowSet)
	if n := len(r.GetWindowChanges()); n != 1 ||
		r.GetWindowChanges()[0].GetKind() != commonv1.WindowChangeKind_WINDOW_CHANGE_KIND_OPENED {
		t.Errorf("window changes: %v", r.GetWindowChanges())
	}
	mark := s.Mark()
	harness.NothingSent(t, a.Do(press(a, "More")), refusal.TargetOccluded)
	s.Untouched(t, mark)

	a.See(form, "Confirm")
	r = a.Do(press(a, "OK"))
	if r.GetOutcome() != commonv1.Outcome_OUTCOME_OK || !r.GetVerified() || r.GetObservation() != nil ||
		r.GetObservationMissing() != commonv1.ObservationMissing_OBSERVATION_MISSING_TARGET_CLOSED {
		t.Errorf("outcome %v, verified %v, missing %v", r.GetOutcome(), r.GetVerified(), r.GetObservationMissing())
	}
	if got := a.State().GetBase(); got != hostv1.BaseStatus_BASE_STATUS_REOBSERVE_REQUIRED {
		t.Errorf("base %v", got)
	}
	harness.NothingSent(t, a.Do(harness.Click(1)), refusal.ReobserveRequired)
	a.See(form, "Form")
	harness.Verified(t, a.Do(press(a, "More")), windowSet)
}

func TestDelayedEffectIsWaitedFor(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	a := ready(t, s, form, "Form")
	s.Must(s.Desk.Delay(form, 300*time.Millisecond))
	harness.Verified(t, a.Do(harness.SetValue(a.Element(isText, "Name").GetId(), "late")), valueReadback)
	harness.Verified(t, a.Do(harness.Click(a.Element(isToggle, "Pinned").GetId())), stateReadback)
}

func TestWhatAnActDoesToTheUsersDeskIsReported(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	a := ready(t, s, calculator, "Calculator")
	all := virtualdesk.DisturbFocus | virtualdesk.DisturbActive | virtualdesk.DisturbStacking |
		virtualdesk.DisturbPointer | virtualdesk.DisturbClipboard
	s.Must(s.Desk.DisturbNext(calculator, all))
	r := a.Do(press(a, "7"))
	harness.Verified(t, r, treeDelta)
	for part, c := range map[string]commonv1.DeskChange{
		"pointer": r.GetDesk().GetPointer(), "focus": r.GetDesk().GetFocus(), "active": r.GetDesk().GetActive(),
		"stacking": r.GetDesk().GetStacking(), "clipboard": r.GetDesk().GetClipboard(),
	} {
		if c != commonv1.DeskChange_DESK_CHANGE_BY_ACT {
			t.Errorf("%s: %v", part, c)
		}
	}
	undisturbed(t, a.Do(press(a, "8")))
}

func TestObservationThatFailedMakesTheOutcomeUnknown(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	a := ready(t, s, calculator, "Calculator")
	s.Must(s.Desk.Delay(calculator, 200*time.Millisecond))
	act := a.Start(a.Context(), on(a, press(a, "7")))
	s.AwaitReached(0, 1)
	s.Must(s.Desk.SetPermission(commonv1.AbilityKind_ABILITY_KIND_TREE, false))
	r := a.Wait(act)
	harness.Unknown(t, r.ActResponse)
	if r.GetObservationMissing() != commonv1.ObservationMissing_OBSERVATION_MISSING_CAPTURE_FAILED {
		t.Errorf("missing: %v", r.GetObservationMissing())
	}
}
