package integration

import (
	"fmt"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	"fairlead.dev/services/shared/refusal"
	"fairlead.dev/test/harness"
)

const (
	isRunning     = hostv1.ActState_ACT_STATE_RUNNING
	isEnded       = hostv1.ActState_ACT_STATE_ENDED
	isNotRecorded = hostv1.ActState_ACT_STATE_NOT_RECORDED

	// actsMax is how many answers are kept for a session (protocol.md, Limits).
	actsMax = 256
)

// named is a press under an act id.
func named(a *harness.Agent, id, button string) *hostv1.ActRequest {
	req := on(a, press(a, button))
	req.ActId = id
	return req
}

// protocol.md: the same id while the first runs joins it: both callers are answered the
// same, with the observation, and one act reaches the desk.
func TestSameActIDJoinsTheActThatRuns(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	a := ready(t, s, calculator, "Calculator")
	s.Must(s.Desk.Delay(calculator, slow))
	answers := []<-chan harness.Answer{a.Start(a.Context(), named(a, "one", "7"))}
	s.AwaitReached(0, 1)
	// Also over another connection, as after a lost one.
	other := a.Over(s.Dial("agent"))
	for range 3 {
		answers = append(answers, a.Start(a.Context(), named(a, "one", "7")), other.Start(a.Context(), named(a, "one", "7")))
	}
	if r := a.Recorded("one"); r.GetState() != isRunning || r.GetResult() != nil {
		t.Errorf("%v", r)
	}
	// With other parameters it is no such act.
	_, err := a.Send(named(a, "one", "8"))
	harness.Status(t, err, codes.InvalidArgument)
	first := a.Wait(answers[0])
	harness.Verified(t, first.ActResponse, treeDelta)
	for _, c := range answers[1:] {
		r := a.Wait(c)
		s.Must(r.Err)
		if !proto.Equal(r.ActResponse, first.ActResponse) || r.GetObservation() == nil {
			t.Errorf("another answer: %v, %v", r.GetOutcome(), r.GetRefusal())
		}
	}
	s.Touched(t, 0, "7")
	// After that it is answered from the record, which never holds an observation.
	again, err := a.Send(named(a, "one", "8"))
	harness.Status(t, err, codes.InvalidArgument)
	_ = again
	s.Touched(t, 0, "7")
}

// C0.5: an act id that was answered is answered again and does nothing; with other
// parameters it is unusable, whatever the state of the session.
func TestSameActIDIsAnsweredFromTheRecord(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	a := ready(t, s, calculator, "Calculator")
	req := named(a, "one", "7")
	first, err := a.Send(proto.CloneOf(req))
	s.Must(err)
	harness.Verified(t, first, treeDelta)
	for range 3 {
		again, err := a.Send(proto.CloneOf(req))
		s.Must(err)
		if again.GetObservation() != nil || !again.GetVerified() || again.GetOutcome() != first.GetOutcome() ||
			again.GetRoute() != first.GetRoute() || !proto.Equal(again.GetVerification(), first.GetVerification()) {
			t.Errorf("%v", again)
		}
		a.See(calculator, "Calculator")
	}
	for name, change := range map[string]func(*hostv1.ActRequest){
		"another element": func(r *hostv1.ActRequest) { r.Act.GetClickElement().ElementId++ },
		"another button":  func(r *hostv1.ActRequest) { r.Act.GetClickElement().Button = commonv1.Button_BUTTON_RIGHT },
		"another count":   func(r *hostv1.ActRequest) { r.Act.GetClickElement().Count = 2 },
		"another act":     func(r *hostv1.ActRequest) { r.Act = harness.Focus(1) },
		"another frame":   func(r *hostv1.ActRequest) { r.Frame = a.Frame.GetFrame() },
		"another hint":    func(r *hostv1.ActRequest) { r.Hint = &hostv1.TargetHint{AppId: calculator} },
	} {
		t.Run(name, func(t *testing.T) {
			other := proto.CloneOf(req)
			change(other)
			_, err := a.Send(other)
			harness.Status(t, err, codes.InvalidArgument)
		})
	}
	// Spelling out a default is the same act.
	same := proto.CloneOf(req)
	same.Act.GetClickElement().Button, same.Act.GetClickElement().Count = commonv1.Button_BUTTON_LEFT, 1
	again, err := a.Send(same)
	s.Must(err)
	if !again.GetVerified() || again.GetObservation() != nil {
		t.Errorf("%v", again)
	}
	s.Touched(t, 0, "7")
}

// C3.5: retired and consumed claims are recorded, returned ones are not: the same act may
// be sent again under its id.
func TestReturnedClaimRecordsNothing(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	a := lookedAt(t, s, calculator, "Calculator")
	req := named(a, "later", "7")
	for range 2 {
		r, err := a.Send(proto.CloneOf(req))
		s.Must(err)
		harness.NothingSent(t, r, refusal.LeaseRequired)
		if got := a.Recorded("later"); got.GetState() != isNotRecorded || got.GetResult() != nil {
			t.Errorf("%v", got)
		}
	}
	harness.Refused(t, a.Acquire(semantic, harness.App(calculator)).GetRefusal(), 0)
	r, err := a.Send(proto.CloneOf(req))
	s.Must(err)
	harness.Verified(t, r, treeDelta)
	if got := a.Recorded("later"); got.GetState() != isEnded || got.GetResult().GetObservation() != nil || !got.GetResult().GetVerified() {
		t.Errorf("%v", got)
	}
	s.Touched(t, 0, "7")

	// What the executor looked at and refused is an answer (C3.5, retired).
	button := s.Object("Calculator", isButton, "8")
	act := named(a, "refused", "8")
	s.Must(s.Desk.DisableElement(button, true))
	r, err = a.Send(proto.CloneOf(act))
	s.Must(err)
	harness.NothingSent(t, r, refusal.TargetChanged)
	s.Must(s.Desk.DisableElement(button, false))
	r, err = a.Send(proto.CloneOf(act))
	s.Must(err)
	harness.NothingSent(t, r, refusal.TargetChanged)
	if got := a.Recorded("refused"); got.GetState() != isEnded || got.GetResult().GetRefusal().GetCode() != refusal.TargetChanged {
		t.Errorf("%v", got)
	}
	s.Touched(t, 0, "7")
}

// protocol.md: 256 answers are kept for a session; the oldest makes room. One that is
// forgotten is still not done again: its frame is spent.
func TestOldestAnswerMakesRoom(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	a := ready(t, s, calculator, "Calculator")
	first := named(a, "act 0", "7")
	for i := range actsMax + 1 {
		req := first
		if i > 0 {
			req = named(a, fmt.Sprintf("act %d", i), "8")
		}
		r, err := a.Send(proto.CloneOf(req))
		s.Must(err)
		if r.GetOutcome() != commonv1.Outcome_OUTCOME_OK {
			t.Fatalf("act %d: %v", i, r.GetRefusal())
		}
	}
	for i, want := range map[int]hostv1.ActState{0: isNotRecorded, 1: isEnded, actsMax: isEnded} {
		if got := a.Recorded(fmt.Sprintf("act %d", i)).GetState(); got != want {
			t.Errorf("act %d: %v, want %v", i, got, want)
		}
	}
	r, err := a.Send(proto.CloneOf(first))
	s.Must(err)
	if r.GetOutcome() != commonv1.Outcome_OUTCOME_REFUSED || r.GetRefusal() == nil {
		t.Errorf("%v", r)
	}
	if got := s.Mark(); got != actsMax+1 {
		t.Errorf("%d acts reached the desk", got)
	}
}

// protocol.md: after a lost connection GetAct tells what became of an act, on another
// connection, under every hold, and it does nothing.
func TestGetActTellsWhatBecameOfAnActAfterALostConnection(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	user := s.User()
	cc := s.Dial("agent")
	a := harness.NewAgent(t, cc)
	a.AcquireAll(calculator)
	a.See(calculator, "Calculator")
	s.Must(s.Desk.Delay(calculator, slow))
	running := a.Start(t.Context(), named(a, "lost", "7"))
	s.AwaitReached(0, 1)
	s.Must(cc.Close())
	if r := <-running; r.Err == nil {
		t.Error("the call outlived its connection")
	}
	again := a.Over(s.Dial("agent"))
	if r := again.Recorded("lost"); r.GetState() != isRunning {
		t.Errorf("%v", r)
	}
	if r := again.Recorded("never sent"); r.GetState() != isNotRecorded {
		t.Errorf("%v", r)
	}
	s.Await("it ended", func() bool { return again.Recorded("lost").GetState() == isEnded })
	r := again.Recorded("lost").GetResult()
	if !r.GetVerified() || r.GetOutcome() != commonv1.Outcome_OUTCOME_OK || r.GetObservation() != nil || r.GetActId() != "lost" {
		t.Errorf("%v", r)
	}
	user.Stop(a.ID())
	if r := again.Recorded("lost"); r.GetState() != isEnded || !r.GetResult().GetVerified() {
		t.Errorf("after a stop: %v", r)
	}
	stranger := s.Agent()
	if r := stranger.Recorded("lost"); r.GetState() != isNotRecorded {
		t.Errorf("another session's: %v", r)
	}
	s.Touched(t, 0, "7")
}

// C0.5: nothing that any number of callers does under one id makes a second dispatch.
func TestOneActIDIsOneDispatchHoweverOftenItIsSent(t *testing.T) {
	tap := &harness.Tap{}
	s := harness.Start(t, harness.Options{Tap: tap})
	a := ready(t, s, calculator, "Calculator")
	for round := range 5 {
		req := named(a, fmt.Sprintf("round %d", round), "7")
		a.Fill(req)
		var answers []<-chan harness.Answer
		for range 8 {
			answers = append(answers, sent(a, proto.CloneOf(req)))
		}
		observed := 0
		for _, c := range answers {
			r := a.Wait(c)
			s.Must(r.Err)
			if !r.GetVerified() {
				t.Errorf("%v, %v", r.GetOutcome(), r.GetRefusal())
			}
			if r.GetObservation() != nil {
				observed++
			}
		}
		if observed == 0 {
			t.Error("nobody got the observation")
		}
		if n := len(tap.Of("Dispatch")); n != round+1 || s.Mark() != round+1 {
			t.Fatalf("%d dispatches, %d acts reached the desk after %d rounds", n, s.Mark(), round+1)
		}
		a.See(calculator, "Calculator")
	}
}
