package sessionhost

import (
	"slices"
	"testing"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	"fairlead.dev/services/sessionhost/internal/frame"
	"fairlead.dev/services/sessionhost/internal/keyboard"
	machine "fairlead.dev/services/sessionhost/internal/session"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
)

// fields is a window with a button (element 1) and two text fields, of which those named
// have the focus.
func fields(t *testing.T, focused ...int) *seenWindow {
	t.Helper()
	s := snapshot(3)
	for i, e := range s.GetElements()[1:] {
		e.Role = commonv1.Role_ROLE_TEXT_FIELD
		e.States = append(e.States, commonv1.ElementState_ELEMENT_STATE_EDITABLE)
		if slices.Contains(focused, i+2) {
			e.States = append(e.States, commonv1.ElementState_ELEMENT_STATE_FOCUSED)
		}
	}
	w, err := readSnapshot(s)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// observing is a session that has observed the window.
func observing(t *testing.T) *state {
	t.Helper()
	st := newState("s", ident.NewActKey(), 1, newBooks())
	if _, why := st.begin("t"); why != nil {
		t.Fatal(why)
	}
	st.looked(fields(t), 1, wanted{})
	return st
}

// clicking is a click on an element of the current frame.
func clicking(t *testing.T, st *state, element uint32) *bound {
	t.Helper()
	req := &hostv1.ActRequest{ActId: ident.New("a"), Act: &commonv1.Act{
		Act: &commonv1.Act_ClickElement{ClickElement: &commonv1.ClickElement{ElementId: element}},
	}}
	if f := st.frames.Current(); f != nil {
		req.Frame = frameToWire(f.Frame)
	}
	b, err := (&session{actKey: st.actKey}).theAct(req)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// claiming is such a click that has the claim.
func claiming(t *testing.T, st *state, element uint32) *bound {
	t.Helper()
	b := clicking(t, st, element)
	if replay, err := st.claim(b); replay != nil || err != nil {
		t.Fatalf("%v, %v", replay, err)
	}
	return b
}

func codeOf(err error) refusal.Code {
	if err == nil {
		return 0
	}
	return refusal.As(err).Code
}

func yes() bool { return true }

func no() bool { return false }

// C4.5: whatever takes authority away between the ticket and the send has the last word.
func TestTheSendIsTheLastLook(t *testing.T) {
	for _, tc := range []struct {
		name           string
		then           func(*state, *bound)
		stopped, mayGo func() bool
		want           refusal.Code
	}{
		{"nothing happened", nil, no, yes, 0},
		{"the user paused", func(st *state, _ *bound) { st.suffer(mark{kind: markPause}) }, no, yes, refusal.Paused},
		{"the frame ended", func(st *state, _ *bound) { st.apply(refusal.OutcomeUnknown) }, no, yes, refusal.ReobserveRequired},
		{"a stop covers it", nil, yes, yes, refusal.UserStopped},
		{"its caller has left", nil, no, no, refusal.Aborted},
		{"the keyboard is lost", func(st *state, b *bound) {
			b.owned = true
			st.loseKeyboard(keyboard.ByInput)
		}, no, yes, refusal.KeyboardNotOwned},
	} {
		t.Run(tc.name, func(t *testing.T) {
			st := observing(t)
			b := claiming(t, st, 2)
			if tc.then != nil {
				tc.then(st, b)
			}
			in := &inflight{}
			if got := codeOf(st.send(b.ticket, b, in, tc.stopped, tc.mayGo)); got != tc.want {
				t.Errorf("%v, want %v", got, tc.want)
			}
			if sent := st.inflight == in; sent != (tc.want == 0) {
				t.Errorf("sent = %v", sent)
			}
		})
	}
}

// C2.6: what was read before a stop is not kept after it.
func TestWhatWasReadBeforeAStopIsNotKept(t *testing.T) {
	for _, tc := range []struct {
		name    string
		then    markKind
		stopped func() bool
		want    refusal.Code
	}{
		{"nothing happened", markContent, no, 0},
		{"the session was stopped", markStop, no, refusal.UserStopped},
		{"the screen was locked", markLocked, no, refusal.ScreenLocked},
		{"the executor is another", markExecutor, no, refusal.ReobserveRequired},
		{"a stop covers the read", markContent, yes, refusal.UserStopped},
	} {
		t.Run(tc.name, func(t *testing.T) {
			st := observing(t)
			ticket, why := machine.ObserveTicket(st.machine)
			if why != nil {
				t.Fatal(why)
			}
			st.suffer(mark{kind: tc.then})
			if got := codeOf(st.mayKeep(ticket, tc.stopped)); got != tc.want {
				t.Errorf("%v, want %v", got, tc.want)
			}
		})
	}
}

// C3.5: only an act of which nothing was sent leaves its frame.
func TestActThatWasSentIsConsumed(t *testing.T) {
	const consumed, retired, returned = commonv1.ClaimEnd_CLAIM_END_CONSUMED,
		commonv1.ClaimEnd_CLAIM_END_RETIRED, commonv1.ClaimEnd_CLAIM_END_RETURNED
	for _, tc := range []struct {
		name    string
		outcome commonv1.Outcome
		code    refusal.Code
		end     commonv1.ClaimEnd
		again   refusal.Code // what the same act gets under another id
	}{
		{"it was done", commonv1.Outcome_OUTCOME_OK, 0, consumed, refusal.DuplicateAction},
		{"it failed", commonv1.Outcome_OUTCOME_FAILED, 0, consumed, refusal.DuplicateAction},
		{"nobody knows", commonv1.Outcome_OUTCOME_UNKNOWN, refusal.OutcomeUnknown, consumed, refusal.DuplicateAction},
		{"its target was refused", commonv1.Outcome_OUTCOME_REFUSED, refusal.TargetChanged, retired, refusal.RetiredAction},
		{"it was given up", commonv1.Outcome_OUTCOME_REFUSED, refusal.Aborted, returned, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			st := observing(t)
			b := claiming(t, st, 2)
			same := clicking(t, st, 2)
			resp := &hostv1.ActResponse{Outcome: tc.outcome}
			if tc.code != 0 {
				resp.Refusal = refusal.New(tc.code).Wire()
			}
			st.conclude(b, yes, nil, resp)
			if got := resp.GetRefusal().GetClaimEnd(); tc.code != 0 && got != tc.end {
				t.Errorf("its claim was %v, want %v", got, tc.end)
			}
			if _, err := st.claim(same); codeOf(err) != tc.again {
				t.Errorf("the same again: %v, want %v", err, tc.again)
			}
			replay, err := st.acts.recorded(b.asked)
			if recorded := replay != nil; err != nil || recorded == (tc.end == returned) {
				t.Errorf("recorded = %v, %v", recorded, err)
			}
		})
	}
}

// C12.6: after a stop the outcome is told, and what the act left is not.
func TestNothingIsShownOfWhatAnActLeftAfterAStop(t *testing.T) {
	for _, k := range []markKind{markStop, markPause, markLocked} {
		st := observing(t)
		b := claiming(t, st, 2)
		st.suffer(mark{kind: k})
		resp := &hostv1.ActResponse{Outcome: commonv1.Outcome_OUTCOME_OK, Effect: commonv1.Effect_EFFECT_CONFIRMED}
		st.conclude(b, yes, fields(t, 2), resp)
		missing := resp.GetObservationMissing() == commonv1.ObservationMissing_OBSERVATION_MISSING_STOPPED
		if resp.GetObservation() != nil || !missing || st.frames.Current() != nil || resp.GetVerified() {
			t.Errorf("after mark %d: %v", k, resp)
		}
		if resp.GetOutcome() != commonv1.Outcome_OUTCOME_OK {
			t.Errorf("after mark %d the outcome is %v", k, resp.GetOutcome())
		}
	}
}

// C8.2: the keyboard comes only from the session's own verified act, and only for the
// element that the act put the focus into.
func TestTheKeyboardComesFromAVerifiedActOnItsTarget(t *testing.T) {
	for _, tc := range []struct {
		name      string
		click     uint32
		focused   []int
		effect    commonv1.Effect
		disturbed bool
		owns      bool
	}{
		{"its field has the focus", 2, []int{2}, commonv1.Effect_EFFECT_CONFIRMED, false, true},
		{"another field has it", 2, []int{3}, commonv1.Effect_EFFECT_CONFIRMED, false, false},
		{"nothing has it", 2, nil, commonv1.Effect_EFFECT_CONFIRMED, false, false},
		{"two claim to have it", 2, []int{2, 3}, commonv1.Effect_EFFECT_CONFIRMED, false, false},
		{"nothing confirms the act", 2, []int{2}, commonv1.Effect_EFFECT_UNVERIFIABLE, false, false},
		{"the user's input came between", 2, []int{2}, commonv1.Effect_EFFECT_CONFIRMED, true, false},
		{"a button was clicked", 1, []int{2}, commonv1.Effect_EFFECT_CONFIRMED, false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			st := observing(t)
			b := claiming(t, st, tc.click)
			st.disturbed = tc.disturbed
			st.conclude(b, yes, fields(t, tc.focused...), &hostv1.ActResponse{
				Outcome: commonv1.Outcome_OUTCOME_OK, Effect: tc.effect,
			})
			if o, owns := st.owner(); owns != tc.owns || owns && o.Element != tc.click {
				t.Errorf("owns %d: %v, want %v", o.Element, owns, tc.owns)
			}
			st.looked(fields(t, tc.focused...), 1, wanted{})
			if o, owns := st.owner(); owns {
				t.Errorf("owns %d after a look of its own (C8.3)", o.Element)
			}
		})
	}
}

// C3.6: a hint that contradicts the frame refuses the act, and selects nothing.
func TestAHintOnlyRefuses(t *testing.T) {
	for _, tc := range []struct {
		name string
		hint *hostv1.TargetHint
		want refusal.Code
	}{
		{"none", nil, 0},
		{"the app", &hostv1.TargetHint{AppId: "app"}, 0},
		{"the window", &hostv1.TargetHint{WindowId: 1}, 0},
		{"another app", &hostv1.TargetHint{AppId: "other"}, refusal.TargetMismatch},
		{"another window", &hostv1.TargetHint{AppId: "app", WindowId: 2}, refusal.TargetMismatch},
	} {
		t.Run(tc.name, func(t *testing.T) {
			st := observing(t)
			b := clicking(t, st, 2)
			b.hint = tc.hint
			if _, err := st.claim(b); codeOf(err) != tc.want {
				t.Errorf("%v, want %v", err, tc.want)
			}
		})
	}
}

// C4.2: two sessions that act on one window wait in one lane, whatever else differs.
func TestSessionsOnOneWindowShareItsLane(t *testing.T) {
	one, other := observing(t), newState("other", ident.NewActKey(), 1, newBooks())
	_, _ = other.begin("u")
	for range 3 {
		other.looked(fields(t), 1, wanted{})
	}
	if a, b := claiming(t, one, 2).lane, claiming(t, other, 3).lane; a != b {
		t.Errorf("lanes %+v and %+v", a, b)
	}
}

// C0.5: an act id stands for one act, whether that act still runs or is on record.
func TestAnActIDIsOneAct(t *testing.T) {
	st := observing(t)
	s := newSession(&Host{}, 0)
	first, other := clicking(t, st, 2).asked, clicking(t, st, 3).asked
	other.id = first.id
	if r, runs, err := s.join(first); r == nil || !runs || err != nil {
		t.Fatalf("%v, %v, %v", r, runs, err)
	}
	if r, runs, err := s.join(first); r == nil || runs || err != nil {
		t.Errorf("the same did not join: %v, %v", runs, err)
	}
	if r, _, err := s.join(other); r != nil || err == nil || refused(err) {
		t.Errorf("another act joined: %v", err)
	}
	st.acts.record(first, &hostv1.ActResponse{Outcome: commonv1.Outcome_OUTCOME_OK})
	if r, err := st.acts.recorded(first); r.GetOutcome() != commonv1.Outcome_OUTCOME_OK || err != nil {
		t.Errorf("the same is not answered from the record: %v, %v", r, err)
	}
	if r, err := st.acts.recorded(other); r != nil || err == nil || refused(err) {
		t.Errorf("another act is answered from the record: %v, %v", r, err)
	}
}

// C7.3: an act whose window could not be read afterwards is unknown, unless there is
// nothing to read by design.
func TestActWhoseWindowCannotBeReadIsUnknown(t *testing.T) {
	for missing, want := range map[commonv1.ObservationMissing]commonv1.Outcome{
		commonv1.ObservationMissing_OBSERVATION_MISSING_UNSPECIFIED:      commonv1.Outcome_OUTCOME_OK,
		commonv1.ObservationMissing_OBSERVATION_MISSING_CAPTURE_FAILED:   commonv1.Outcome_OUTCOME_UNKNOWN,
		commonv1.ObservationMissing_OBSERVATION_MISSING_TIMEOUT:          commonv1.Outcome_OUTCOME_UNKNOWN,
		commonv1.ObservationMissing_OBSERVATION_MISSING_TARGET_CLOSED:    commonv1.Outcome_OUTCOME_OK,
		commonv1.ObservationMissing_OBSERVATION_MISSING_TARGET_MINIMISED: commonv1.Outcome_OUTCOME_OK,
	} {
		resp := respond("a", &executorv1.DispatchResponse{
			Outcome: commonv1.Outcome_OUTCOME_OK, Effect: commonv1.Effect_EFFECT_CONFIRMED,
			Route: commonv1.Route_ROUTE_ACCESSIBILITY_ACTION, ObservationMissing: missing,
		})
		ok := want == commonv1.Outcome_OUTCOME_OK
		if resp.GetOutcome() != want || (resp.GetEffect() == commonv1.Effect_EFFECT_CONFIRMED) != ok || (resp.GetRefusal() == nil) != ok {
			t.Errorf("%v: %v", missing, resp)
		}
	}
}

// C3.8: a placeholder that comes back as an argument is refused before anything else.
func TestPlaceholderIsNoText(t *testing.T) {
	for text, want := range map[string]refusal.Code{
		"secret": 0, "[withheld: secure field]": refusal.WithheldValueReplayed,
	} {
		for name, a := range map[string]*commonv1.Act{
			"typed":  {Act: &commonv1.Act_TypeText{TypeText: &commonv1.TypeText{Text: text}}},
			"set":    {Act: &commonv1.Act_SetValue{SetValue: &commonv1.SetValue{Value: text}}},
			"pasted": {Act: &commonv1.Act_Paste{Paste: &commonv1.Paste{Text: text}}},
		} {
			if _, err := normalised(a); codeOf(err) != want {
				t.Errorf("%q, %s: %v", text, name, err)
			}
		}
	}
}

// C2.5: a mark that another session acted on a window ends every frame of that window
// and no other.
func TestFrameEndsWhenAnotherSessionActsOnItsWindow(t *testing.T) {
	for _, tc := range []struct {
		name string
		of   func(*frame.Frame) ident.Window
		ends bool
	}{
		{"its window", func(f *frame.Frame) ident.Window { return f.Window }, true},
		{"any window", func(*frame.Frame) ident.Window { return ident.Window{} }, true},
		{"another window", func(*frame.Frame) ident.Window { return window(9) }, false},
	} {
		st := observing(t)
		st.suffer(mark{kind: markWindowSpent, window: tc.of(st.frames.Current())})
		if ended := st.frames.Current() == nil; ended != tc.ends {
			t.Errorf("%s: ended = %v", tc.name, ended)
		}
	}
}
