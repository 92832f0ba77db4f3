package integration

import (
	"errors"
	"io"
	"syscall"
	"testing"
	"time"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	"fairlead.dev/services/shared/refusal"
	"fairlead.dev/test/harness"
)

// slow is how long an act takes in tests that stop it or let others wait for it. The
// settle bound is longer, so the act itself would still be confirmed.
const slow = 1500 * time.Millisecond

func TestStopEndsWhatWaitsAndTellsTheOutcomeOfWhatWasSent(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	user := s.User()
	a := ready(t, s, calculator, "Calculator")
	s.Must(s.Desk.Delay(calculator, slow))
	running := a.Start(a.Context(), on(a, press(a, "7")))
	s.AwaitReached(0, 1)
	waiting := []<-chan harness.Answer{
		a.Start(a.Context(), on(a, press(a, "8"))),
		a.Start(a.Context(), on(a, press(a, "9"))),
	}
	a.AwaitWaiting(s, 2)

	stopped := user.Stop(a.Session.GetSessionId())
	if !stopped.GetKnown() || !stopped.GetActInFlight() {
		t.Errorf("%v", stopped)
	}
	r := a.Wait(running)
	if r.GetOutcome() != commonv1.Outcome_OUTCOME_OK || r.GetRoute() == commonv1.Route_ROUTE_NONE ||
		r.GetVerified() || r.GetObservation() != nil || r.GetRefusal() != nil ||
		r.GetObservationMissing() != commonv1.ObservationMissing_OBSERVATION_MISSING_STOPPED {
		t.Errorf("the act that was sent: outcome %v, missing %v, %v",
			r.GetOutcome(), r.GetObservationMissing(), r.GetRefusal())
	}
	for _, w := range waiting {
		harness.NothingSent(t, a.Wait(w).ActResponse, refusal.UserStopped)
	}
	s.Touched(t, 0, "7")
}

func TestStopOfAnActThatTheAppDoesNotAnswerIsUnknown(t *testing.T) {
	s := hurried(t)
	user := s.User()
	a := ready(t, s, calculator, "Calculator")
	s.Must(s.Desk.FreezeNext(calculator))
	running := a.Start(a.Context(), on(a, press(a, "7")))
	s.AwaitReached(0, 1)
	user.Stop(a.Session.GetSessionId())
	r := a.Wait(running)
	harness.Unknown(t, r.ActResponse)
	if !r.GetMayStillHappen() || r.GetObservation() != nil ||
		r.GetObservationMissing() != commonv1.ObservationMissing_OBSERVATION_MISSING_STOPPED {
		t.Errorf("may still happen %v, missing %v", r.GetMayStillHappen(), r.GetObservationMissing())
	}
	s.Must(s.Desk.Thaw(calculator))
	s.Touched(t, 0, "7")
}

func TestStopOfAnActThatWaitsForItsWindowSendsNothing(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	user := s.User()
	a, b := ready(t, s, calculator, "Calculator"), ready(t, s, calculator, "Calculator")
	s.Must(s.Desk.Delay(calculator, slow))
	running := a.Start(a.Context(), on(a, press(a, "7")))
	s.AwaitReached(0, 1)
	waiting := b.Start(b.Context(), on(b, press(b, "8")))
	s.Await("the act waits for its window", func() bool { return user.LanesWaiting() == 1 })
	user.Stop(b.Session.GetSessionId())
	harness.NothingSent(t, b.Wait(waiting).ActResponse, refusal.UserStopped)
	harness.Verified(t, a.Wait(running).ActResponse, treeDelta)
	s.Touched(t, 0, "7")
}

func TestAgentCannotRestartWhatTheUserStopped(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	user := s.User()
	a, other := ready(t, s, calculator, "Calculator"), ready(t, s, form, "Form")
	user.Stop(a.Session.GetSessionId())
	user.Stop(a.Session.GetSessionId())
	harness.NothingSent(t, a.Do(press(a, "7")), refusal.UserStopped)
	harness.Refused(t, a.Look(harness.OfApp(calculator)).GetRefusal(), refusal.UserStopped)
	harness.Refused(t, a.Acquire(metadata, harness.App(calculator)).GetRefusal(), refusal.UserStopped)
	for range 2 {
		harness.Refused(t, a.TryBeginTurn(), refusal.UserStopped)
	}
	st := a.State()
	if st.GetBase() != hostv1.BaseStatus_BASE_STATUS_USER_STOPPED || len(st.GetHolds()) != 1 ||
		st.GetHolds()[0] != hostv1.Hold_HOLD_STOPPED || st.GetFrame() != nil {
		t.Errorf("%v", st)
	}
	harness.Verified(t, other.Do(press(other, "More")), windowSet)

	if !user.Resume(a.Session.GetSessionId()).GetResumed() || user.Resume(a.Session.GetSessionId()).GetResumed() {
		t.Error("a stop is resumed once")
	}
	// The turn that was stopped stays stopped; the next begins without a lease.
	harness.NothingSent(t, a.Do(press(a, "7")), refusal.UserStopped)
	a.BeginTurn()
	if got := a.State().GetLeases(); len(got) != 0 {
		t.Errorf("%d leases after resume", len(got))
	}
	harness.Refused(t, a.Look(harness.OfApp(calculator)).GetRefusal(), refusal.LeaseRequired)
	a.AcquireAll(calculator)
	a.See(calculator, "Calculator")
	harness.Verified(t, a.Do(press(a, "7")), treeDelta)
	s.Touched(t, 0, "More", "7")
}

// The fence of the last answer before the stop is stale; that is not a stop. A resume
// takes no authority away, so it ends no fence (C1.1).
func TestBeginTurnAfterResumeIsNotToldThatTheUserStopped(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	user := s.User()
	a := ready(t, s, calculator, "Calculator")
	user.Stop(a.Session.GetSessionId())
	user.Resume(a.Session.GetSessionId())
	harness.Refused(t, a.TryBeginTurn(), refusal.StaleGeneration)
	harness.Refused(t, a.TryBeginTurn(), 0)
}

// Stop, resume and the next turn reach policy in the order in which they happened.
func TestStopAndResumeInQuickSuccessionLeaveTheSessionUsable(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	user := s.User()
	a := s.Agent()
	for range 10 {
		user.Stop(a.Session.GetSessionId())
		user.Resume(a.Session.GetSessionId())
		a.Fence = a.State().GetFence()
		a.BeginTurn()
		harness.Refused(t, a.Acquire(metadata, harness.App(calculator)).GetRefusal(), 0)
		if got := len(a.State().GetLeases()); got != 1 {
			t.Fatalf("%d leases", got)
		}
	}
}

func TestStopOfAnUnknownSessionSaysSo(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	user := s.User()
	if r := user.Stop("s-nobody"); r.GetKnown() || r.GetActInFlight() {
		t.Errorf("%v", r)
	}
	if user.Resume("s-nobody").GetResumed() {
		t.Error("resumed what is not there")
	}
	a := s.Agent()
	if r := user.Stop(a.Session.GetSessionId()); !r.GetKnown() || r.GetActInFlight() {
		t.Errorf("%v", r)
	}
	a.EndSession()
	if r := user.Stop(a.Session.GetSessionId()); r.GetKnown() {
		t.Errorf("%v", r)
	}
}

func TestReadThatReturnsAfterAStopIsDiscarded(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	user := s.User()
	a := ready(t, s, calculator, "Calculator")
	window := a.Frame.GetWindow()
	s.Must(s.Desk.Freeze(calculator))
	look := func() <-chan *hostv1.ObserveResponse {
		req, out := harness.OfWindow(window), make(chan *hostv1.ObserveResponse, 1)
		req.Fence, req.Session, req.TurnId = a.Fence, a.Session, a.Turn
		go func() {
			r, _ := a.Observe.Observe(a.Context(), req)
			out <- r
		}()
		return out
	}
	reading := look()
	waiting := look()
	a.AwaitWaiting(s, 1)
	user.Stop(a.Session.GetSessionId())
	s.Must(s.Desk.Thaw(calculator))
	for _, c := range []<-chan *hostv1.ObserveResponse{reading, waiting} {
		r := <-c
		harness.Refused(t, r.GetRefusal(), refusal.UserStopped)
		if r.GetObservation() != nil {
			t.Error("an observation came after the stop")
		}
	}
	if a.State().GetFrame() != nil {
		t.Error("the session has a frame after the stop")
	}
}

func TestEndOfTheSessionDoesNotCallASentActRefused(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	a := ready(t, s, calculator, "Calculator")
	s.Must(s.Desk.Delay(calculator, slow))
	running := a.Start(a.Context(), on(a, press(a, "7")))
	s.AwaitReached(0, 1)
	waiting := a.Start(a.Context(), on(a, press(a, "8")))
	a.AwaitWaiting(s, 1)
	a.EndSession()
	r := a.Wait(running)
	if r.GetOutcome() == commonv1.Outcome_OUTCOME_REFUSED || r.GetObservation() != nil || r.GetVerified() {
		t.Errorf("outcome %v, refusal %v", r.GetOutcome(), r.GetRefusal().GetCode())
	}
	harness.NothingSent(t, a.Wait(waiting).ActResponse, refusal.SessionUnknown)
	s.Touched(t, 0, "7")
}

func TestEndOfTheTurnTellsTheOutcomeOfWhatWasSent(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	a := ready(t, s, calculator, "Calculator")
	s.Must(s.Desk.Delay(calculator, slow))
	running := a.Start(a.Context(), on(a, press(a, "7")))
	s.AwaitReached(0, 1)
	a.EndTurn()
	r := a.Wait(running)
	if r.GetOutcome() != commonv1.Outcome_OUTCOME_OK || r.GetObservation() != nil || r.GetVerified() {
		t.Errorf("outcome %v, observation %v", r.GetOutcome(), r.GetObservation() != nil)
	}
	harness.NothingSent(t, a.Do(press(a, "8")), refusal.TurnEnded)
	s.Touched(t, 0, "7")
}

func TestLockedScreenRefusesReadsAndActsUntilItIsUnlocked(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	a := ready(t, s, calculator, "Calculator")
	s.Must(s.Desk.Lock())
	for range 2 {
		harness.NothingSent(t, a.Do(press(a, "7")), refusal.ScreenLocked)
		harness.Refused(t, a.Look(harness.OfApp(calculator)).GetRefusal(), refusal.ScreenLocked)
		harness.NothingSent(t, a.Do(harness.Launch(notes)), refusal.ScreenLocked)
	}
	if h := a.State().GetHolds(); len(h) != 1 || h[0] != hostv1.Hold_HOLD_SCREEN_LOCKED {
		t.Errorf("holds %v", h)
	}
	s.Must(s.Desk.Unlock())
	// The unlock lifts the hold by itself (C5.3); the frame from before the lock is over.
	s.Await("the hold is lifted", func() bool { return len(a.State().GetHolds()) == 0 })
	a.Renewed()
	harness.NothingSent(t, a.Do(press(a, "7")), refusal.ReobserveRequired)
	s.Untouched(t, 0)
	a.See(calculator, "Calculator")
	harness.Verified(t, a.Do(press(a, "7")), treeDelta)
	harness.Verified(t, a.Do(press(a, "8")), treeDelta)
}

// C9.4: a stop ends the executor session, also when it comes twice; after Resume the
// session begins there anew.
func TestStopEndsTheExecutorSession(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	user := s.User()
	a := ready(t, s, calculator, "Calculator")
	s.AwaitExecutorSessions(1)
	user.Stop(a.Session.GetSessionId())
	user.Stop(a.Session.GetSessionId())
	s.AwaitExecutorSessions(0)
	user.Resume(a.Session.GetSessionId())
	a.Fence = a.State().GetFence()
	a.BeginTurn()
	a.AcquireAll(calculator)
	a.See(calculator, "Calculator")
	if r := a.Do(press(a, "7")); !r.GetVerified() {
		t.Errorf("%v", r)
	}
}

// C12.1: the user has to be able to name what to stop.
func TestTheUserSeesEverySession(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	user := s.User()
	a, b := ready(t, s, calculator, "Calculator"), s.Agent()
	user.Stop(b.Session.GetSessionId())
	list := user.Sessions()
	if len(list) != 2 {
		t.Fatalf("%v", list)
	}
	for _, one := range list {
		switch one.GetSessionId() {
		case a.Session.GetSessionId():
			if one.GetClientName() != "test" || one.GetAppId() != calculator || len(one.GetHolds()) != 0 {
				t.Errorf("%v", one)
			}
		case b.Session.GetSessionId():
			if len(one.GetHolds()) != 1 || one.GetHolds()[0] != hostv1.Hold_HOLD_STOPPED || one.GetAppId() != "" {
				t.Errorf("%v", one)
			}
		default:
			t.Errorf("a stranger: %v", one)
		}
	}
}

// C12.1: agents cannot use up what the user's stop needs.
func TestStopAnswersUnderAFloodOfAgentConnections(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	a := ready(t, s, calculator, "Calculator")
	closed := 0
	for range 400 {
		c := s.Raw(t, "agent")
		_, _ = c.Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"))
		_ = c.SetReadDeadline(time.Now().Add(5 * time.Millisecond))
		if _, err := c.Read(make([]byte, 1)); errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) {
			closed++
		}
	}
	if closed == 0 {
		t.Error("every connection was kept")
	}
	if r := s.User().Stop(a.Session.GetSessionId()); !r.GetKnown() {
		t.Errorf("%v", r)
	}
	harness.NothingSent(t, a.Do(press(a, "7")), refusal.UserStopped)
}
