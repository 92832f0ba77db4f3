package integration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	"fairlead.dev/services/shared/refusal"
	"fairlead.dev/test/harness"
)

func TestActOfOneSessionEndsTheOthersFrameOfThatWindow(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	a, b, elsewhere := ready(t, s, form, "Form"), ready(t, s, form, "Form"), ready(t, s, form, "Log")
	// More opens a popup, which closes when it is pressed again.
	harness.Verified(t, a.Do(press(a, "More")), windowSet)
	harness.NothingSent(t, b.Do(press(b, "More")), refusal.ReobserveRequired)
	if b.State().GetFrame() != nil {
		t.Error("the other session kept its frame")
	}
	harness.Verified(t, elsewhere.Do(press(elsewhere, "Clear")), treeDelta)
	b.See(form, "Form")
	harness.Verified(t, b.Do(press(b, "More")), treeDelta)
	// A refused act ends nobody's frame.
	a.See(form, "Form")
	harness.NothingSent(t, b.Do(press(b, "Delete")), refusal.UnsupportedAction)
	harness.Verified(t, a.Do(press(a, "More")), windowSet)
	s.Touched(t, 0, "More", "Clear", "More", "More")
}

func TestSessionsOnDifferentWindowsActInParallel(t *testing.T) {
	const sessions, acts = 8, 3
	s := harness.Start(t, harness.Options{})
	agents := make([]*harness.Agent, sessions)
	for i := range agents {
		id, err := s.Desk.Cover(s.Window("Form").ID, calculator)
		s.Must(err)
		s.Must(s.Desk.Move(id, float64(2000+700*i), 0))
		s.Must(s.Desk.Populate(id, 8))
		a := s.Agent()
		a.AcquireAll(calculator)
		for _, w := range a.Windows(calculator) {
			if w.GetWindow().GetWindowId() == id {
				harness.Refused(t, a.Look(harness.OfWindow(w.GetWindow())).GetRefusal(), 0)
			}
		}
		agents[i] = a
	}
	var g errgroup.Group
	for _, a := range agents {
		g.Go(func() error { return pressOften(a, acts) })
	}
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
	for _, a := range agents {
		if n := len(s.Desk.Journal(a.Frame.GetWindow().GetWindowId())); n != acts {
			t.Errorf("%d acts reached one window", n)
		}
	}
	if n := s.Mark(); n != sessions*acts {
		t.Errorf("%d acts reached the desk", n)
	}
}

func pressOften(a *harness.Agent, times int) error {
	for range times {
		e, err := harness.Find(a.Frame, isButton, "Item 0")
		if err != nil {
			return err
		}
		r, err := a.Send(on(a, harness.Click(e.GetId())))
		if err != nil {
			return err
		}
		if r.GetOutcome() != commonv1.Outcome_OUTCOME_OK || r.GetObservation() == nil {
			return fmt.Errorf("outcome %v, refusal %v", r.GetOutcome(), r.GetRefusal().GetCode())
		}
	}
	return nil
}

func TestOfTwoActsRacingOnOneFrameExactlyOneIsSent(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	a := ready(t, s, calculator, "Calculator")
	for range 10 {
		mark := s.Mark()
		first := a.Start(a.Context(), on(a, press(a, "7")))
		second := a.Start(a.Context(), on(a, press(a, "8")))
		same := a.Start(a.Context(), on(a, press(a, "7")))
		sent := 0
		for _, c := range []<-chan harness.Answer{first, second, same} {
			r := a.Wait(c)
			switch code := r.GetRefusal().GetCode(); code {
			case 0:
				sent++
			case refusal.StaleEpoch, refusal.DuplicateAction:
			default:
				t.Errorf("refused with %v", code)
			}
		}
		if n := len(s.Reached(mark)); sent != 1 || n != 1 {
			t.Fatalf("%d answered as sent, %d reached the desk", sent, n)
		}
	}
}

func TestOfTwoSessionsRacingOnOneWindowExactlyOneActs(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	a, b := s.Agent(), s.Agent()
	a.AcquireAll(calculator)
	b.AcquireAll(calculator)
	for range 10 {
		a.See(calculator, "Calculator")
		b.See(calculator, "Calculator")
		mark := s.Mark()
		first, second := a.Start(a.Context(), on(a, press(a, "7"))), b.Start(b.Context(), on(b, press(b, "8")))
		x, y := a.Wait(first).GetRefusal().GetCode(), b.Wait(second).GetRefusal().GetCode()
		if n := len(s.Reached(mark)); n != 1 || x+y != refusal.ReobserveRequired || x*y != 0 {
			t.Fatalf("%v and %v, %d reached the desk", x, y, n)
		}
	}
}

func TestClientThatLeavesWhileItWaitsSendsNothing(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	user := s.User()
	a, b := ready(t, s, calculator, "Calculator"), ready(t, s, calculator, "Calculator")
	s.Must(s.Desk.Delay(calculator, slow))
	running := a.Start(a.Context(), on(a, press(a, "7")))
	s.AwaitReached(0, 1)

	leaving, leave := context.WithCancel(t.Context())
	defer leave()
	queued := a.Start(leaving, on(a, press(a, "8")))
	a.AwaitWaiting(s, 1)
	inLane := b.Start(leaving, on(b, press(b, "9")))
	s.Await("the act waits for its window", func() bool { return user.LanesWaiting() == 1 })
	leave()
	for _, c := range []<-chan harness.Answer{queued, inLane} {
		harness.Status(t, a.Wait(c).Err, codes.Canceled)
	}
	s.Await("nobody waits for the window", func() bool { return user.LanesWaiting() == 0 })
	harness.Verified(t, a.Wait(running).ActResponse, treeDelta)
	s.Await("nobody waits", func() bool { return user.Waiting() == 0 && user.Lanes() == 0 })
	s.Touched(t, 0, "7")
}

func TestFullQueueOfASessionIsBusyAndReturnsTheClaim(t *testing.T) {
	const waitingMax = 16
	s := harness.Start(t, harness.Options{})
	a := s.Agent()
	a.AcquireAll(form)
	frozen := a.See(form, "Form").GetWindow()
	a.AcquireAll(calculator)
	a.See(calculator, "Calculator")
	s.Must(s.Desk.Freeze(form))
	// One read that hangs, and as many behind it as may wait.
	var calls errgroup.Group
	ctx := a.Context()
	read := func() (*hostv1.ObserveResponse, error) {
		look := harness.OfWindow(frozen)
		look.Fence, look.Session, look.TurnId = a.Fence, a.Session, a.Turn
		return a.Observe.Observe(ctx, look)
	}
	codes := make(chan refusal.Code, waitingMax+1)
	for range waitingMax + 1 {
		calls.Go(func() error {
			r, err := read()
			codes <- r.GetRefusal().GetCode()
			return err
		})
	}
	a.AwaitWaiting(s, waitingMax)
	send := func() *hostv1.ActResponse {
		r, err := a.Send(&hostv1.ActRequest{ActId: "busy", Frame: a.Frame.GetFrame(), Act: press(a, "7")})
		s.Must(err)
		return r
	}
	r := send()
	harness.NothingSent(t, r, refusal.Busy)
	if r.GetRefusal().GetClaimEnd() != commonv1.ClaimEnd_CLAIM_END_RETURNED || !r.GetRefusal().GetFrameStillCurrent() {
		t.Errorf("%v", r.GetRefusal())
	}
	s.Must(s.Desk.Die(form))
	s.Must(calls.Wait())
	for range waitingMax + 1 {
		if code := <-codes; code == 0 {
			t.Error("a read of a window that is gone succeeded")
		}
	}
	s.Untouched(t, 0)
	harness.Verified(t, send(), treeDelta)
	s.Touched(t, 0, "7")
}

func TestFullQueueOfAWindowIsBusyAndReturnsTheClaim(t *testing.T) {
	const waitingMax = 32
	s := harness.Start(t, harness.Options{})
	user := s.User()
	agents := make([]*harness.Agent, waitingMax+2)
	for i := range agents {
		agents[i] = ready(t, s, calculator, "Calculator")
	}
	s.Must(s.Desk.Delay(calculator, slow))
	answers := make([]<-chan harness.Answer, waitingMax+1)
	for i, a := range agents[:waitingMax+1] {
		answers[i] = a.Start(a.Context(), on(a, press(a, "7")))
		if i == 0 {
			s.AwaitReached(0, 1)
		}
	}
	s.Await("the window's queue is full", func() bool { return user.LanesWaiting() == waitingMax })
	last := agents[waitingMax+1]
	r := last.Do(press(last, "8"))
	harness.NothingSent(t, r, refusal.Busy)
	if r.GetRefusal().GetClaimEnd() != commonv1.ClaimEnd_CLAIM_END_RETURNED || !r.GetRefusal().GetFrameStillCurrent() {
		t.Errorf("%v", r.GetRefusal())
	}
	harness.Verified(t, agents[0].Wait(answers[0]).ActResponse, treeDelta)
	for i, a := range agents[1 : waitingMax+1] {
		harness.NothingSent(t, a.Wait(answers[i+1]).ActResponse, refusal.ReobserveRequired)
	}
	s.Touched(t, 0, "7")
}

// C4.4: what waits is counted, and the count comes back whatever ends the session.
func TestNothingWaitsAfterSessionsEndedUnderTheirCalls(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	user := s.User()
	for range 60 {
		a := s.Agent()
		var calls sync.WaitGroup
		for range 6 {
			calls.Go(func() {
				// Whatever the answer is: the session ends meanwhile.
				_, _ = a.Observe.ListApps(a.Context(), &hostv1.ListAppsRequest{
					Fence: a.Fence, Session: a.Session, TurnId: a.Turn,
				})
			})
		}
		a.EndSession()
		calls.Wait()
	}
	s.Await("nothing waits", func() bool { return user.Waiting() == 0 })
}

// A subscription ends with its session, and no session takes more than its share.
func TestReleaseFactsEndWithTheirSession(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	a := s.Agent()
	stream, err := a.Release.WatchReleases(a.Context(), &hostv1.WatchReleasesRequest{Session: a.Session})
	s.Must(err)
	_, err = stream.Header()
	s.Must(err)
	a.EndSession()
	for err == nil {
		_, err = stream.Recv()
	}
	if !errors.Is(err, io.EOF) {
		t.Errorf("the stream ended with %v", err)
	}
}
