package integration

import (
	"context"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	policyv1 "fairlead.dev/gen/fairlead/policy/v1"
	"fairlead.dev/services/shared/refusal"
	"fairlead.dev/test/harness"
)

// keys are steps that press buttons of the calculator.
func keys(names ...string) []*hostv1.SequenceStep {
	var out []*hostv1.SequenceStep
	for _, n := range names {
		out = append(out, harness.Step(isButton, n, harness.Click(0)))
	}
	return out
}

// finished fails unless the events are those of so many steps, of which so many came out
// OK, and returns the last step's answer.
func finished(t *testing.T, events []*hostv1.ActSequenceResponse, steps, done int) *hostv1.ActResponse {
	t.Helper()
	if len(events) != steps+1 {
		t.Fatalf("%d events, want %d steps and the end: %v", len(events), steps, events[len(events)-1].GetRefusal())
	}
	for i, e := range events[:steps] {
		if e.GetStep() != uint32(i+1) || e.GetLast() || e.GetResult() == nil || e.GetRefusal() != nil {
			t.Errorf("event %d: %v", i, e)
		}
		// Only the last step that was begun shows what it left.
		if o := e.GetResult().GetObservation(); o != nil && i < steps-1 {
			t.Errorf("step %d shows an observation", i+1)
		}
	}
	end := events[steps]
	if !end.GetLast() || end.GetStep() != 0 || end.GetCompletedSteps() != uint32(done) || end.GetRefusal() != nil {
		t.Errorf("the end: %v, want %d completed", end, done)
	}
	return events[steps-1].GetResult()
}

// refusedWhole fails unless the sequence was refused before anything was begun.
func refusedWhole(t *testing.T, events []*hostv1.ActSequenceResponse, want refusal.Code, step uint32) {
	t.Helper()
	if len(events) != 1 || !events[0].GetLast() || events[0].GetResult() != nil || events[0].GetCompletedSteps() != 0 {
		t.Fatalf("%d events, the first: %v", len(events), events[0])
	}
	harness.Refused(t, events[0].GetRefusal(), want)
	if got := events[0].GetRefusal().GetDetail().GetStep(); got != step {
		t.Errorf("step %d, want %d", got, step)
	}
}

// C3.9: each step is bound in the frame the one before it left, with its own decision,
// permit, intent and dispatch; the observation comes with the last.
func TestSequenceDoesItsStepsEachAsAnActOfItsOwn(t *testing.T) {
	tap := &harness.Tap{}
	s := harness.Start(t, harness.Options{Tap: tap})
	user := s.User()
	a := ready(t, s, calculator, "Calculator")
	old := a.Frame.GetFrame()
	events := a.Sequence("sum", keys("7", "×", "6", "=")...)
	last := finished(t, events, 4, 4)
	for i, e := range events[:4] {
		if r := e.GetResult(); r.GetOutcome() != commonv1.Outcome_OUTCOME_OK || r.GetEffect() != commonv1.Effect_EFFECT_CONFIRMED {
			t.Errorf("step %d: %v, %v", i+1, r.GetOutcome(), r.GetEffect())
		}
	}
	if !last.GetVerified() || !harness.Shows(last.GetObservation(), "42") {
		t.Errorf("%v", last.GetObservation().GetOutline())
	}
	s.Touched(t, 0, "7", "×", "6", "=")
	if n := len(tap.Of("Foresee")); n != 1 {
		t.Errorf("policy was asked %d times about the whole", n)
	}
	intents, permits, snapshots := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, c := range tap.Of("Decide") {
		d, _ := c.Answer.(*policyv1.DecideResponse)
		req, _ := c.Request.(*policyv1.DecideRequest)
		intents[d.GetIntentId()], permits[string(d.GetPermit().GetSignature())] = true, true
		snapshots[req.GetSnapshotId()] = true
	}
	if len(intents) != 4 || len(permits) != 4 || len(snapshots) != 4 || len(tap.Of("Dispatch")) != 4 {
		t.Errorf("%d intents, %d permits, %d snapshots, %d dispatches",
			len(intents), len(permits), len(snapshots), len(tap.Of("Dispatch")))
	}
	s.Await("every intent is settled", func() bool { return len(tap.Of("Settle")) == 4 })
	if got := count(user.Kinds(a.ID()), kindActSent); got != 4 {
		t.Errorf("people are told of %d acts", got)
	}
	// The frame it left is there to act on; the one it began with is not.
	harness.NothingSent(t, a.DoOn(old, press(a, "7")), refusal.DuplicateAction)
	harness.Verified(t, a.Do(press(a, "C")), treeDelta)
}

// C3.9, C0.5: the id of a sequence is answered from the record, and nothing is done again.
func TestSequenceSentAgainDoesNothingAgain(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	a := ready(t, s, calculator, "Calculator")
	frame := a.Frame.GetFrame()
	request := func(steps ...*hostv1.SequenceStep) *hostv1.ActSequenceRequest {
		return &hostv1.ActSequenceRequest{ActId: "sum", Frame: frame, Steps: steps}
	}
	first, err := a.SequenceOf(a.Context(), request(keys("1", "2", "3")...), nil)
	s.Must(err)
	finished(t, first, 3, 3)
	for range 2 {
		again, err := a.SequenceOf(a.Context(), request(keys("1", "2", "3")...), nil)
		s.Must(err)
		last := finished(t, again, 3, 3)
		if last.GetObservation() != nil || last.GetOutcome() != commonv1.Outcome_OUTCOME_OK {
			t.Errorf("%v", last)
		}
	}
	_, err = a.SequenceOf(a.Context(), request(keys("1", "2", "4")...), nil)
	harness.Status(t, err, codes.InvalidArgument)
	_, err = a.SequenceOf(a.Context(), request(keys("9", "2", "3")...), nil)
	harness.Status(t, err, codes.InvalidArgument)
	s.Touched(t, 0, "1", "2", "3")
}

// C3.9: a step that is not bound by exactly one enabled element stops the sequence, with
// the frame it has.
func TestSequenceStopsWhereAStepDoesNotBind(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(s *harness.System) error
		step   *hostv1.SequenceStep
		want   refusal.Code
		// done is how many steps go before; the first step is one too.
		done int
	}{
		{"missing", nil, harness.Step(isButton, "Nowhere", harness.Click(0)), refusal.TargetMissing, 1},
		{"of another role", nil, harness.Step(isText, "More", harness.Click(0)), refusal.TargetMissing, 1},
		{"part of its name only", nil, harness.Step(isButton, "Mor", harness.Click(0)), refusal.TargetMissing, 1},
		{"disabled", nil, harness.Step(isButton, "Delete", harness.Click(0)), refusal.TargetMissing, 1},
		{"ambiguous", func(s *harness.System) error {
			_, _, err := s.Desk.SplitElement(s.Object("Form", isButton, "More"))
			return err
		}, harness.Step(isButton, "More", harness.Click(0)), refusal.TargetAmbiguous, 1},
		{"gone by what the step before did", nil, nil, refusal.TargetMissing, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := harness.Start(t, harness.Options{})
			if tt.change != nil {
				s.Must(tt.change(s))
			}
			a := ready(t, s, form, "Form")
			details := commonv1.Role_ROLE_DISCLOSURE
			open := harness.Step(details, "Details", harness.SetExpanded(true)(0))
			steps := []*hostv1.SequenceStep{open, tt.step}
			if tt.step == nil {
				shut := harness.Step(details, "Details", harness.SetExpanded(false)(0))
				steps = []*hostv1.SequenceStep{open, shut, harness.Step(isCheck, "Advanced", harness.Click(0))}
			}
			steps = append(steps, harness.Step(isCheck, "Subscribe", harness.Click(0)))
			mark := s.Mark()
			events := a.Sequence("some", steps...)
			last := finished(t, events, tt.done+1, tt.done)
			harness.Refused(t, last.GetRefusal(), tt.want)
			if last.GetOutcome() != commonv1.Outcome_OUTCOME_REFUSED || last.GetRefusal().GetDetail().GetStep() != uint32(tt.done+1) {
				t.Errorf("outcome %v, %v", last.GetOutcome(), last.GetRefusal())
			}
			if got := s.Reached(mark); len(got) != tt.done {
				t.Errorf("reached: %+v", got)
			}
			if s.Value("Form", isCheck, "Subscribe") != "" {
				t.Error("a later step was done")
			}
			// The frame it has is the session's current one, and can be acted on.
			if a.State().GetFrame() == nil {
				t.Error("the session has no frame")
			}
			again := a.Look(harness.OfWindow(a.Frame.GetWindow()))
			harness.Refused(t, again.GetRefusal(), 0)
			harness.Verified(t, a.Do(harness.Click(a.Element(isCheck, "Subscribe").GetId())), stateReadback)
		})
	}
}

// C3.9: a sequence is decided as a whole: a step that may not be done refuses all of them
// before anything is sent, and says which.
func TestSequenceOfWhichOneStepIsForbiddenSendsNothing(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	a := ready(t, s, form, "Form")
	click := harness.Step(isCheck, "Subscribe", harness.Click(0))
	for _, tt := range []struct {
		name string
		step *hostv1.SequenceStep
		want refusal.Code
	}{
		{"a verb the rules do not allow", harness.Step(isText, "Name", &commonv1.Act{
			Act: &commonv1.Act_SelectText{SelectText: &commonv1.SelectText{}},
		}), refusal.PolicyForbidden},
		{"a secure field", harness.Step(commonv1.Role_ROLE_SECURE_FIELD, "Password", harness.SetValue(0, "x")), refusal.SecureField},
	} {
		t.Run(tt.name, func(t *testing.T) {
			refusedWhole(t, a.Sequence("f "+tt.name, click, tt.step, click), tt.want, 2)
			refusedWhole(t, a.Sequence("g "+tt.name, tt.step, click), tt.want, 1)
			s.Untouched(t, 0)
			// Nothing was begun, so nothing is recorded and the frame is still there.
			if r := a.Recorded("f " + tt.name + ".1"); r.GetState() != isNotRecorded {
				t.Errorf("%v", r)
			}
		})
	}
	b := lookedAt(t, s, form, "Form")
	refusedWhole(t, b.Sequence("unleased", click, click), refusal.LeaseRequired, 1)
	old := &commonv1.FrameRef{FrameId: "f-none", Epoch: a.Frame.GetFrame().GetEpoch()}
	events, err := a.SequenceOf(a.Context(), &hostv1.ActSequenceRequest{
		ActId: "stale", Frame: old, Steps: []*hostv1.SequenceStep{click},
	}, nil)
	s.Must(err)
	refusedWhole(t, events, refusal.StaleFrame, 0)
	events, err = a.SequenceOf(a.Context(), &hostv1.ActSequenceRequest{
		ActId: "hint", Frame: a.Frame.GetFrame(), Steps: []*hostv1.SequenceStep{click},
		Hint: &hostv1.TargetHint{AppId: calculator},
	}, nil)
	s.Must(err)
	refusedWhole(t, events, refusal.TargetMismatch, 0)
	s.Untouched(t, 0)
	harness.Verified(t, a.Do(harness.Click(a.Element(isCheck, "Subscribe").GetId())), stateReadback)
}

// C3.9: it stops at the first step that does not come out OK.
func TestSequenceStopsAtTheStepThatFails(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fault func(s *harness.System) error
		want  commonv1.Outcome
		code  refusal.Code
	}{
		{"declined", func(s *harness.System) error {
			return s.Desk.DeclineNext(calculator)
		}, commonv1.Outcome_OUTCOME_FAILED, refusal.DispatchRefused},
		{"unanswered", func(s *harness.System) error {
			return s.Desk.UnansweredNext(calculator, false)
		}, commonv1.Outcome_OUTCOME_UNKNOWN, refusal.OutcomeUnknown},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := harness.Start(t, harness.Options{})
			a := ready(t, s, calculator, "Calculator")
			told := 0
			s.Must(tt.fault(s))
			events, err := a.SequenceOf(a.Context(), &hostv1.ActSequenceRequest{
				ActId: "fails", Frame: a.Frame.GetFrame(), Steps: keys("1", "2", "3"),
			}, func(*hostv1.ActSequenceResponse) { told++ })
			s.Must(err)
			last := finished(t, events, 1, 0)
			harness.Refused(t, last.GetRefusal(), tt.code)
			if last.GetOutcome() != tt.want {
				t.Errorf("outcome %v", last.GetOutcome())
			}
			if got := s.Mark(); got > 1 {
				t.Errorf("%d acts reached the desk", got)
			}
			// What it left was looked at, so it can be gone on from there.
			if last.GetObservation() == nil || a.State().GetFrame() == nil {
				t.Error("there is no frame to go on from")
			}
		})
	}
}

// C3.9, C4.3: a stop between two steps ends the sequence there: what was sent is told, the
// rest is not begun.
func TestStopBetweenStepsEndsTheSequence(t *testing.T) {
	for _, w := range words() {
		t.Run(w.name, func(t *testing.T) {
			s := harness.Start(t, harness.Options{})
			user := s.User()
			a := ready(t, s, calculator, "Calculator")
			s.Must(s.Desk.Delay(calculator, 150*time.Millisecond))
			said := false
			events, err := a.SequenceOf(a.Context(), &hostv1.ActSequenceRequest{
				ActId: "long", Frame: a.Frame.GetFrame(), Steps: keys("1", "2", "3", "4", "5", "6"),
			}, func(e *hostv1.ActSequenceResponse) {
				if e.GetStep() == 2 && !said {
					said = true
					w.say(user, a)
				}
			})
			s.Must(err)
			end := events[len(events)-1]
			reached := s.Mark()
			if !end.GetLast() || reached < 2 || reached > 4 || int(end.GetCompletedSteps()) > reached {
				t.Fatalf("%d events, %d acts reached the desk, the end: %v", len(events), reached, end)
			}
			last := events[len(events)-2].GetResult()
			if last.GetObservation() != nil {
				t.Error("an observation came after the stop")
			}
			if last.GetRefusal() != nil && last.GetRefusal().GetCode() != w.code {
				t.Errorf("refused with %v", last.GetRefusal().GetCode())
			}
			if a.State().GetFrame() != nil {
				t.Error("the session has a frame")
			}
			harness.NothingSent(t, a.Do(press(a, "9")), w.code)
			if s.Mark() != reached {
				t.Error("a step came after the end")
			}
		})
	}
}

// C9.7, C4.4: a caller that leaves in the middle leaves nothing running behind.
func TestCallerThatLeavesASequenceLeavesNothingRunning(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	user := s.User()
	a := ready(t, s, calculator, "Calculator")
	s.Must(s.Desk.Delay(calculator, 200*time.Millisecond))
	ctx, leave := context.WithCancel(t.Context())
	_, err := a.SequenceOf(ctx, &hostv1.ActSequenceRequest{
		ActId: "left", Frame: a.Frame.GetFrame(), Steps: keys("1", "2", "3", "4", "5", "6", "7", "8"),
	}, func(e *hostv1.ActSequenceResponse) {
		if e.GetStep() == 2 {
			leave()
		}
	})
	leave()
	harness.Status(t, err, codes.Canceled)
	s.Await("nothing runs", func() bool {
		c := user.Counts()
		return c.GetActsInFlight() == 0 && c.GetLanesHeld() == 0 && c.GetCallsWaiting() == 0
	})
	reached := s.Mark()
	if reached >= 8 {
		t.Error("it went on to its end")
	}
	a.See(calculator, "Calculator")
	harness.Verified(t, a.Do(press(a, "C")), treeDelta)
	if s.Mark() != reached+1 {
		t.Error("a step came after all")
	}
}

// A sequence that cannot be understood is a status, and nothing is begun.
func TestSequenceThatCannotBeUnderstoodIsAStatus(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	a := ready(t, s, calculator, "Calculator")
	many := keys(slices.Repeat([]string{"1"}, 13)...)
	for name, steps := range map[string][]*hostv1.SequenceStep{
		"no steps":                  nil,
		"more than 12":              many,
		"an element id":             {harness.Step(isButton, "1", press(a, "1"))},
		"an act on a window":        {harness.Step(isButton, "1", harness.CloseWindow())},
		"an act on a point":         {harness.Step(isButton, "1", harness.ClickPoint("p", 1, 1))},
		"a launch":                  {harness.Step(isButton, "1", harness.Launch(notes))},
		"keys for an owned target":  {harness.Step(isButton, "1", harness.PressKeys("a"))},
		"no role":                   {harness.Step(0, "1", harness.Click(0))},
		"no act":                    {{Role: isButton, Name: "1"}},
		"keys that are no chord":    {harness.Step(isButton, "1", harness.PressKeys("a+b"))},
		"one good step and one bad": append(keys("1"), harness.Step(isButton, "1", press(a, "1"))),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := a.SequenceOf(a.Context(), &hostv1.ActSequenceRequest{
				ActId: "bad", Frame: a.Frame.GetFrame(), Steps: steps,
			}, nil)
			harness.Status(t, err, codes.InvalidArgument)
		})
	}
	s.Untouched(t, 0)
	finished(t, a.Sequence("twelve", keys(slices.Repeat([]string{"1"}, 12)...)...), 12, 12)
}

// C5.1: what holds the session is what a sequence is refused with, as any other act.
func TestSequenceUnderAHoldIsToldTheHold(t *testing.T) {
	for _, w := range words() {
		t.Run(w.name, func(t *testing.T) {
			s := harness.Start(t, harness.Options{})
			user := s.User()
			a := ready(t, s, calculator, "Calculator")
			w.say(user, a)
			a.Fence = a.State().GetFence()
			events, err := a.SequenceOf(a.Context(), &hostv1.ActSequenceRequest{
				ActId: "held", Frame: a.Frame.GetFrame(), Steps: keys("1", "2"),
			}, func(*hostv1.ActSequenceResponse) {})
			s.Must(err)
			r := events[len(events)-1].GetRefusal()
			if len(events) != 1 || r.GetCode() != w.code || r.GetFrameStillCurrent() {
				t.Errorf("%v", events)
			}
			s.Untouched(t, 0)
		})
	}
}

// C3.9: a sequence stops with the frame it has, and the agent sees it.
func TestSequenceThatStopsShowsTheFrameItHas(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	a := ready(t, s, calculator, "Calculator")
	events, err := a.SequenceOf(a.Context(), &hostv1.ActSequenceRequest{
		ActId: "half", Frame: a.Frame.GetFrame(), Steps: keys("7", "no such key"),
	}, func(*hostv1.ActSequenceResponse) {})
	s.Must(err)
	end, last := events[len(events)-1], events[len(events)-2].GetResult()
	if end.GetCompletedSteps() != 1 || last.GetRefusal().GetCode() != refusal.TargetMissing ||
		last.GetRefusal().GetClaimEnd() != commonv1.ClaimEnd_CLAIM_END_NONE || !last.GetRefusal().GetFrameStillCurrent() {
		t.Fatalf("%v", events)
	}
	if !proto.Equal(end.GetObservation().GetFrame(), a.State().GetFrame()) {
		t.Fatalf("the end shows %v, the frame is %v", end.GetObservation().GetFrame(), a.State().GetFrame())
	}
	a.Frame = end.GetObservation()
	harness.Verified(t, a.Do(press(a, "8")), treeDelta)
	s.Touched(t, 0, "7", "8")
}
