package integration

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	policyv1 "fairlead.dev/gen/fairlead/policy/v1"
	"fairlead.dev/services/shared/refusal"
	"fairlead.dev/test/harness"
)

const (
	holdLocked       = hostv1.Hold_HOLD_SCREEN_LOCKED
	holdIntervention = hostv1.Hold_HOLD_INTERVENTION

	// calm is how long the user must leave the window alone (protocol.md, Limits).
	calm = 1500 * time.Millisecond
	// clientGone is how long nobody may use a session (C9.3).
	clientGone = 10 * time.Second
)

func holdsAre(a *harness.Agent, want ...hostv1.Hold) func() bool {
	return func() bool { return slices.Equal(a.State().GetHolds(), want) }
}

// intervened is a session whose act yielded to the user before anything was sent.
func intervened(t *testing.T, s *harness.System, a *harness.Agent) (last time.Time) {
	t.Helper()
	user := s.User()
	s.Must(s.Desk.Freeze(calculator))
	running := a.Start(a.Context(), on(a, press(a, "7")))
	s.Await("the act is with the executor", func() bool { return user.Counts().GetActsInFlight() == 1 })
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		// The act may reach the executor only after the first of it.
		last = time.Now()
		s.Must(s.Desk.UserInput(s.Window("Calculator").ID))
		select {
		case r := <-running:
			s.Must(s.Desk.Thaw(calculator))
			harness.NothingSent(t, r.ActResponse, refusal.UserIntervened)
			return last
		case <-tick.C:
		}
	}
}

// C12.2, C5.5: the user's input into the bound window during an act makes it yield before
// it is sent; the session is held until the user has left the window alone for 1.5 s.
func TestActYieldsToTheUserAndTheHoldEndsByItself(t *testing.T) {
	tap := &harness.Tap{}
	s := harness.Start(t, harness.Options{Tap: tap})
	user := s.User()
	a := ready(t, s, calculator, "Calculator")
	facts := a.Watch()
	last := intervened(t, s, a)
	s.Await("the session is held", holdsAre(a, holdIntervention))
	harness.Refused(t, a.Look(harness.OfApp(calculator)).GetRefusal(), refusal.UserIntervened)
	harness.NothingSent(t, a.Do(press(a, "7")), refusal.UserIntervened)
	if user.Held(holdIntervention) != 1 {
		t.Errorf("%v", user.Counts().GetHolds())
	}
	// More of it extends the hold; the use of another window does not.
	extended := time.NewTimer(time.Until(last.Add(calm - 500*time.Millisecond)))
	defer extended.Stop()
	<-extended.C
	last = time.Now()
	s.Must(s.Desk.UserInput(s.Window("Calculator").ID))
	elsewhere := time.NewTicker(50 * time.Millisecond)
	defer elsewhere.Stop()
	for len(a.State().GetHolds()) > 0 {
		<-elsewhere.C
		s.Must(s.Desk.UserInput(s.Window("Form").ID))
		if time.Since(last) > 4*calm {
			t.Fatal("the hold does not end")
		}
	}
	if held := time.Since(last); held < calm {
		t.Errorf("the hold ended %v after the latest input", held)
	}
	harness.NothingSent(t, a.Do(press(a, "7")), refusal.ReobserveRequired)
	s.Untouched(t, 0)
	// Leases were suspended, not taken (C10.2).
	a.See(calculator, "Calculator")
	harness.Verified(t, a.Do(press(a, "7")), treeDelta)
	if fact := facts.Until(sessionCleared); fact.GetCause() != hostv1.EndCause_END_CAUSE_INTERVENTION {
		t.Errorf("%v", fact)
	}
	inOrder(t, user.Kinds(a.ID()), hostv1.TimelineKind_TIMELINE_KIND_INTERVENED,
		hostv1.TimelineKind_TIMELINE_KIND_INTERVENTION_OVER)
	s.Await("it is on record", func() bool {
		return slices.Contains(tap.Facts(a.ID()), policyv1.SessionEventKind_SESSION_EVENT_KIND_INTERVENED)
	})
}

// C12.2, C7.4: in the middle of a text the user's input cuts it, with the exact count, and
// the session is held like any other that the user intervened in.
func TestTypingYieldsToTheUserWithTheCountThatArrived(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	user := s.User()
	a := owned(t, s, "Form", isArea, "Notes")
	s.Must(s.Desk.Pace(form, 100*time.Millisecond))
	running := a.Start(a.Context(), on(a, harness.Append(strings.Repeat("é東🦊 ", 400))))
	s.Await("some of it arrives", func() bool { return s.Value("Form", isArea, "Notes") != "" })
	s.Must(s.Desk.UserInput(s.Window("Form").ID))
	r := a.Wait(running)
	harness.Refused(t, r.GetRefusal(), refusal.UserIntervened)
	if r.GetOutcome() != commonv1.Outcome_OUTCOME_UNKNOWN ||
		r.GetRefusal().GetClaimEnd() != commonv1.ClaimEnd_CLAIM_END_CONSUMED || r.GetObservation() != nil {
		t.Errorf("%v", r.ActResponse)
	}
	n := utf8.RuneCountInString(s.Value("Form", isArea, "Notes"))
	if int(r.GetDeliveredCount()) != n || n == 0 || n > 1000 {
		t.Errorf("delivered %d, the field holds %d characters", r.GetDeliveredCount(), n)
	}
	if user.Counts().GetKeyboards() != 0 {
		t.Error("the keyboard is still owned")
	}
	if got := a.State().GetHolds(); !slices.Equal(got, []hostv1.Hold{holdIntervention}) {
		t.Errorf("holds %v while the user uses the window", got)
	}
	s.Await("the hold ends", holdsAre(a))
}

// C12.2: the user's use of the desktop elsewhere aborts nothing.
func TestUsersInputElsewhereAbortsNothing(t *testing.T) {
	for _, tt := range []struct {
		name  string
		input func(s *harness.System) error
	}{
		{"into another app's window", func(s *harness.System) error { return s.Desk.UserInput(s.Window("Calculator").ID) }},
		{"into another window of the app", func(s *harness.System) error { return s.Desk.UserInput(s.Window("Log").ID) }},
		{"into no window at all", func(s *harness.System) error { return s.Desk.UserInput(0) }},
		{"the pointer", func(s *harness.System) error { return s.Desk.UserPointerMoves(10, 10) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := harness.Start(t, harness.Options{})
			user := s.User()
			a := owned(t, s, "Form", isArea, "Notes")
			s.Must(s.Desk.Pace(form, 30*time.Millisecond))
			running := a.Start(a.Context(), on(a, harness.Append(strings.Repeat("x", 320))))
			s.Await("some of it arrives", func() bool { return s.Value("Form", isArea, "Notes") != "" })
			for range 5 {
				s.Must(tt.input(s))
			}
			r := a.Wait(running)
			harness.Verified(t, r.ActResponse, textReadback)
			if len(a.State().GetHolds()) != 0 || user.Counts().GetKeyboards() != 1 {
				t.Errorf("holds %v, lost %v", a.State().GetHolds(), user.Losses(a.ID()))
			}
		})
	}
}

// C12.2: input into the bound window between acts ends keyboard ownership and nothing else.
func TestUsersInputBetweenActsTakesOnlyTheKeyboard(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	user := s.User()
	a := owned(t, s, "Form", isText, "Name")
	before := a.State()
	s.Must(s.Desk.UserInput(s.Window("Form").ID))
	s.Await("the keyboard is lost", func() bool { return user.Counts().GetKeyboards() == 0 })
	after := a.State()
	if len(after.GetHolds()) != 0 || after.GetFrame().GetFrameId() != before.GetFrame().GetFrameId() ||
		len(after.GetLeases()) != len(before.GetLeases()) || after.GetFence().GetSession() != before.GetFence().GetSession() {
		t.Errorf("before %v, after %v", before, after)
	}
	harness.Verified(t, a.Do(harness.SetValue(a.Element(isText, "Name").GetId(), "x")), valueReadback)
}

// C5.6, C2.7: content that changes by itself is nobody's intervention and changes nothing.
func TestContentThatChangesByItselfChangesNothing(t *testing.T) {
	for _, tt := range []struct {
		name  string
		times int
	}{{"now and then", 8}, {"as fast as it can", 2000}} {
		t.Run(tt.name, func(t *testing.T) {
			s := harness.Start(t, harness.Options{})
			user := s.User()
			a := owned(t, s, "Form", isText, "Name")
			before := a.State()
			label := s.Object("Form", commonv1.Role_ROLE_LABEL, "Ready")
			for i := range tt.times {
				s.Must(s.Desk.Relabel(label, strings.Repeat("busy ", i%7+1)))
			}
			// A wait sees it, so the host was told.
			r := a.WaitFor(&hostv1.WaitForRequest{
				Target:    &hostv1.WaitForRequest_Window{Window: a.Frame.GetWindow()},
				Condition: &hostv1.WaitForRequest_TextPresent{TextPresent: "busy"},
			})
			if !r.GetSatisfied() {
				t.Errorf("%v", r)
			}
			after := a.State()
			if after.GetFence().GetSession() != before.GetFence().GetSession() || after.GetBase() != before.GetBase() ||
				len(after.GetHolds()) != 0 || after.GetFrame().GetFrameId() != before.GetFrame().GetFrameId() {
				t.Errorf("before %v, after %v", before, after)
			}
			if user.Counts().GetKeyboards() != 1 {
				t.Errorf("lost by %v", user.Losses(a.ID()))
			}
			harness.Verified(t, a.Do(harness.Append("x")), textReadback)
		})
	}
}

// C12.3, C5.3: lock and unlock reach sessions that call nothing, and one that is opened
// under the lock; leases are suspended only.
func TestLockHoldsEverySessionAndUnlockLiftsIt(t *testing.T) {
	tap := &harness.Tap{}
	s := harness.Start(t, harness.Options{Tap: tap})
	user := s.User()
	a, fresh := owned(t, s, "Form", isText, "Name"), s.Agent()
	unbegun := harness.Connect(t, s.Dial("agent"))
	unbegun.OpenSession(true)
	facts := a.Watch()
	s.Must(s.Desk.Lock())
	for _, one := range []*harness.Agent{a, fresh, unbegun} {
		s.Await("it is locked", holdsAre(one, holdLocked))
	}
	if user.Held(holdLocked) != 3 || user.Counts().GetFrames() != 0 || user.Counts().GetKeyboards() != 0 {
		t.Errorf("%v", user.Counts())
	}
	if got := count(user.Kinds(a.ID()), hostv1.TimelineKind_TIMELINE_KIND_LOCKED); got != 1 {
		t.Errorf("locked %d times", got)
	}
	late := harness.Connect(t, s.Dial("agent"))
	late.OpenSession(true)
	late.BeginTurn()
	s.Await("it is locked from the beginning", holdsAre(late, holdLocked))
	harness.Refused(t, late.Acquire(metadata, harness.App(calculator)).GetRefusal(), refusal.ScreenLocked)
	harness.Refused(t, late.Look(harness.OfApp(calculator)).GetRefusal(), refusal.ScreenLocked)
	harness.Refused(t, late.Cursor().GetRefusal(), refusal.ScreenLocked)
	waited := late.WaitFor(&hostv1.WaitForRequest{Condition: &hostv1.WaitForRequest_DurationMs{DurationMs: 1}})
	harness.Refused(t, waited.GetRefusal(), refusal.ScreenLocked)
	// Another executor on the locked desk says so in its first word.
	s.RestartExecutor()
	s.Await("still locked", holdsAre(late, holdLocked))
	late.Renewed()
	harness.Refused(t, late.Acquire(metadata, harness.App(calculator)).GetRefusal(), refusal.ScreenLocked)
	s.Must(s.Desk.Unlock())
	for _, one := range []*harness.Agent{a, fresh, unbegun, late} {
		s.Await("it is unlocked", holdsAre(one))
	}
	if fact := facts.Until(sessionCleared); fact.GetCause() != hostv1.EndCause_END_CAUSE_LOCK {
		t.Errorf("%v", fact)
	}
	inOrder(t, user.Kinds(a.ID()), hostv1.TimelineKind_TIMELINE_KIND_LOCKED, hostv1.TimelineKind_TIMELINE_KIND_UNLOCKED)
	s.Await("the lock is on record", func() bool {
		return slices.Contains(tap.Facts(a.ID()), policyv1.SessionEventKind_SESSION_EVENT_KIND_LOCKED)
	})
	late.Renewed()
	late.AcquireAll(calculator)
	late.See(calculator, "Calculator")
	harness.Verified(t, late.Do(press(late, "7")), treeDelta)
}

// C10.2: a lock only suspends leases.
func TestLeasesLastThroughALock(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	a := ready(t, s, calculator, "Calculator")
	leases := len(a.State().GetLeases())
	s.Must(s.Desk.Lock())
	s.Await("it is locked", holdsAre(a, holdLocked))
	s.Must(s.Desk.Unlock())
	s.Await("it is unlocked", holdsAre(a))
	if got := len(a.State().GetLeases()); got != leases || leases == 0 {
		t.Errorf("%d leases, %d before", got, leases)
	}
	a.Renewed()
	harness.NothingSent(t, a.Do(press(a, "7")), refusal.ReobserveRequired)
	a.See(calculator, "Calculator")
	harness.Verified(t, a.Do(press(a, "7")), treeDelta)
}

// C9.3: when the last connection that used a session has been gone for 10 s its running
// call is cancelled by name and its keyboard is let go of; frames and leases keep their
// clocks. Whoever comes back in time finds everything as it was.
func TestSessionWhoseClientIsGoneLetsGoOfTheDesk(t *testing.T) {
	t.Parallel()
	tap := &harness.Tap{}
	s := harness.Start(t, harness.Options{Bundle: allBundle, Tap: tap})
	user := s.User()
	conns := map[*harness.Agent]*grpc.ClientConn{}
	open := func(app, title string) *harness.Agent {
		cc := s.Dial("agent")
		a := harness.NewAgent(t, cc)
		conns[a] = cc
		a.AcquireAll(app)
		a.See(app, title)
		return a
	}
	typist := open(form, "Form")
	harness.Verified(t, typist.Do(focus(typist, isArea, "Notes")), stateReadback)
	idle := open(calculator, "Calculator")
	s.Must(s.Desk.Start(notes))
	returns := open(notes, "Untitled note")
	harness.Verified(t, returns.Do(focus(returns, isArea, "Note")), stateReadback)
	leases := len(idle.State().GetLeases())

	s.Must(s.Desk.Pace(form, time.Second))
	running := typist.Start(t.Context(), on(typist, harness.Append(strings.Repeat("x", 3200))))
	s.Await("some of it arrives", func() bool { return s.Value("Form", isArea, "Notes") != "" })
	left := time.Now()
	for a, cc := range conns {
		s.Must(cc.Close())
		delete(conns, a)
	}
	if r := <-running; r.Err == nil {
		t.Errorf("the call outlived its connection: %v", r)
	}
	back := func(a *harness.Agent) *harness.Agent { return a.Over(s.Dial("agent")) }
	half := time.NewTimer(clientGone / 2)
	defer half.Stop()
	<-half.C
	returned := back(returns)
	if got := returned.State().GetFrame(); got.GetFrameId() != returns.Frame.GetFrame().GetFrameId() {
		t.Error("the frame is another one")
	}

	gone := hostv1.TimelineKind_TIMELINE_KIND_CLIENT_GONE
	told := func(a *harness.Agent) func() bool {
		return func() bool { return slices.Contains(user.Kinds(a.ID()), gone) }
	}
	s.Await("the client is gone", told(typist))
	if took := time.Since(left); took < clientGone {
		t.Errorf("gone after %v", took)
	}
	s.Await("the idle client is gone", told(idle))
	s.Await("its act ended", func() bool { return user.Counts().GetActsInFlight() == 0 })
	if user.Counts().GetKeyboards() != 1 || len(s.Desk.Held()) != 0 {
		t.Errorf("keyboards %d, down %v", user.Counts().GetKeyboards(), s.Desk.Held())
	}
	s.Await("it was cancelled by name", func() bool { return cancelled(tap) })
	s.Await("it is on record", func() bool {
		return slices.Contains(tap.Facts(idle.ID()), policyv1.SessionEventKind_SESSION_EVENT_KIND_CLIENT_GONE)
	})
	if told(returns)() {
		t.Error("a client that came back in time is told to be gone")
	}
	harness.Verified(t, returned.Do(harness.Append("here")), textReadback)
	// What it typed is on record for whoever comes back; the frame and leases of the idle one
	// are as they were.
	r := back(typist).Recorded("act-2")
	n := utf8.RuneCountInString(s.Value("Form", isArea, "Notes"))
	if r.GetState() != hostv1.ActState_ACT_STATE_ENDED || r.GetResult().GetOutcome() != commonv1.Outcome_OUTCOME_UNKNOWN ||
		int(r.GetResult().GetDeliveredCount()) != n || n == 0 || n >= 3200 {
		t.Errorf("%v, the field holds %d characters", r, n)
	}
	resumed := back(idle)
	if got := resumed.State(); len(got.GetLeases()) != leases || got.GetFrame().GetFrameId() != idle.Frame.GetFrame().GetFrameId() {
		t.Errorf("%v", got)
	}
	harness.Verified(t, resumed.Do(press(resumed, "7")), treeDelta)
}
