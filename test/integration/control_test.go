package integration

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	policyv1 "fairlead.dev/gen/fairlead/policy/v1"
	"fairlead.dev/services/shared/refusal"
	"fairlead.dev/test/harness"
)

const (
	sessionCleared = hostv1.ReleaseReason_RELEASE_REASON_SESSION_CLEARED

	kindTurnBegun = hostv1.TimelineKind_TIMELINE_KIND_TURN_BEGUN
	kindActSent   = hostv1.TimelineKind_TIMELINE_KIND_ACT_SENT
	kindActEnded  = hostv1.TimelineKind_TIMELINE_KIND_ACT_ENDED
	kindStopped   = hostv1.TimelineKind_TIMELINE_KIND_STOPPED
	kindStopAll   = hostv1.TimelineKind_TIMELINE_KIND_STOPPED_ALL
	kindPaused    = hostv1.TimelineKind_TIMELINE_KIND_PAUSED
	kindTakenOver = hostv1.TimelineKind_TIMELINE_KIND_TAKEN_OVER
	kindResumed   = hostv1.TimelineKind_TIMELINE_KIND_RESUMED

	holdStopped = hostv1.Hold_HOLD_STOPPED
	holdPaused  = hostv1.Hold_HOLD_PAUSED
)

// word is one of the user's four words, and what has to be told of it (C12.1, C12.4).
type word struct {
	name  string
	say   func(*harness.User, *harness.Agent)
	hold  hostv1.Hold
	code  refusal.Code
	kind  hostv1.TimelineKind
	cause hostv1.EndCause
	fact  policyv1.SessionEventKind
	// gives says that leases, keyboard and the executor session are given up.
	gives bool
}

func words() []word {
	return []word{
		{
			name: "pause", say: func(u *harness.User, a *harness.Agent) { u.Pause(a.ID()) },
			hold: holdPaused, code: refusal.Paused, kind: kindPaused, cause: hostv1.EndCause_END_CAUSE_PAUSE,
			fact: policyv1.SessionEventKind_SESSION_EVENT_KIND_PAUSED,
		},
		{
			name: "take-over", say: func(u *harness.User, a *harness.Agent) { u.TakeOver(a.ID()) },
			hold: holdPaused, code: refusal.Paused, kind: kindTakenOver, cause: hostv1.EndCause_END_CAUSE_TAKE_OVER,
			fact: policyv1.SessionEventKind_SESSION_EVENT_KIND_TAKEN_OVER, gives: true,
		},
		{
			name: "stop", say: func(u *harness.User, a *harness.Agent) { u.Stop(a.ID()) },
			hold: holdStopped, code: refusal.UserStopped, kind: kindStopped, cause: hostv1.EndCause_END_CAUSE_USER_STOP,
			fact: policyv1.SessionEventKind_SESSION_EVENT_KIND_STOPPED, gives: true,
		},
		{
			name: "stop all", say: func(u *harness.User, _ *harness.Agent) { u.StopAll() },
			hold: holdStopped, code: refusal.UserStopped, kind: kindStopAll, cause: hostv1.EndCause_END_CAUSE_KILL_SWITCH,
			fact: policyv1.SessionEventKind_SESSION_EVENT_KIND_STOPPED_ALL, gives: true,
		},
	}
}

// C12.1, C12.4, C9.4: each word holds the session by its own hold, refuses with its own
// code, and is told once, however often it is said, to subscribers and the record.
func TestEachWordOfTheUserIsToldByItsOwnName(t *testing.T) {
	for _, w := range words() {
		t.Run(w.name, func(t *testing.T) {
			tap := &harness.Tap{}
			s := harness.Start(t, harness.Options{Tap: tap})
			user := s.User()
			a, never := ready(t, s, calculator, "Calculator"), s.Agent()
			facts, none := a.Watch(), never.Watch()
			for range 3 {
				w.say(user, a)
			}
			if got := a.State(); !slices.Equal(got.GetHolds(), []hostv1.Hold{w.hold}) || got.GetFrame() != nil {
				t.Errorf("holds %v, frame %v", got.GetHolds(), got.GetFrame())
			}
			// Agents hear the word itself, on every kind of call.
			harness.NothingSent(t, a.Do(press(a, "7")), w.code)
			harness.NothingSent(t, a.Do(harness.Launch(notes)), w.code)
			harness.Refused(t, a.Look(harness.OfApp(calculator)).GetRefusal(), w.code)
			harness.Refused(t, a.Acquire(metadata, harness.App(form)).GetRefusal(), w.code)
			s.Untouched(t, 0)

			fact := facts.Until(sessionCleared)
			if fact.GetCause() != w.cause || fact.GetGenerationReleased() || fact.GetOutcomesUnknown() ||
				!slices.Equal(fact.GetSessionIds(), []string{a.ID()}) {
				t.Errorf("%v", fact)
			}
			s.Await("the record has it", func() bool { return slices.Contains(tap.Facts(a.ID()), w.fact) })
			user.Resume(a.ID())
			s.Await("the record has the resume", func() bool { return slices.Contains(tap.Facts(a.ID()), resumedFact) })
			if got := count(tap.Facts(a.ID()), w.fact); got != 1 {
				t.Errorf("%d records of it", got)
			}
			// People see each pause they pressed; a stop is one stop.
			if got := count(user.Kinds(a.ID()), w.kind); got != 1 && (w.hold == holdStopped || got != 3) {
				t.Errorf("people are told %d times: %v", got, user.Kinds(a.ID()))
			}
			inOrder(t, user.Kinds(a.ID()), kindTurnBegun, w.kind, kindResumed)
			facts.NoneOf(sessionCleared)
			// A session that never began on the executor holds nothing to be let go of.
			none.NoneOf(sessionCleared)
		})
	}
}

const resumedFact = policyv1.SessionEventKind_SESSION_EVENT_KIND_RESUMED

func count[T comparable](list []T, one T) (n int) {
	for _, x := range list {
		if x == one {
			n++
		}
	}
	return n
}

// inOrder fails unless all that is wanted is in the list, in that order.
func inOrder[T comparable](t *testing.T, list []T, want ...T) {
	t.Helper()
	left := want
	for _, x := range list {
		if len(left) > 0 && x == left[0] {
			left = left[1:]
		}
	}
	if len(left) > 0 {
		t.Errorf("%v is not in its place in %v", left[0], list)
	}
}

// C12.1: a pause takes nothing but time: after the resume a look is all it takes.
func TestPauseKeepsLeasesAndNeedsOnlyALookAfterResume(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	user := s.User()
	a := ready(t, s, calculator, "Calculator")
	leases := len(a.State().GetLeases())
	s.AwaitExecutorSessions(1)
	if r := user.Pause(a.ID()); !r.GetKnown() || r.GetActInFlight() {
		t.Errorf("%v", r)
	}
	if got := len(a.State().GetLeases()); got != leases || leases == 0 {
		t.Errorf("%d leases, %d before", got, leases)
	}
	if !user.Resume(a.ID()).GetResumed() || user.Resume(a.ID()).GetResumed() {
		t.Error("a pause is resumed once")
	}
	s.AwaitExecutorSessions(1)
	harness.NothingSent(t, a.Do(press(a, "7")), refusal.StaleGeneration)
	harness.NothingSent(t, a.Do(press(a, "7")), refusal.ReobserveRequired)
	a.See(calculator, "Calculator")
	harness.Verified(t, a.Do(press(a, "7")), treeDelta)
	s.Touched(t, 0, "7")
}

// C12.1: a take-over, like a stop, gives up leases, keyboard and the executor session;
// resume gives none of it back.
func TestTakeOverGivesEverythingUpAndResumeGivesNothingBack(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	user := s.User()
	a := owned(t, s, "Form", isText, "Name")
	if got := user.Counts().GetKeyboards(); got != 1 {
		t.Fatalf("%d keyboards", got)
	}
	if r := user.TakeOver(a.ID()); !r.GetKnown() || r.GetActInFlight() {
		t.Errorf("%v", r)
	}
	if got := user.Counts().GetKeyboards(); got != 0 {
		t.Errorf("%d keyboards after the take-over", got)
	}
	s.AwaitExecutorSessions(0)
	s.Await("the leases are given up", func() bool { return len(a.State().GetLeases()) == 0 })
	if !user.Resume(a.ID()).GetResumed() {
		t.Error("there was nothing to resume")
	}
	a.Renewed()
	if got := a.State(); len(got.GetLeases()) != 0 || len(got.GetHolds()) != 0 {
		t.Errorf("%v", got)
	}
	mark := s.Mark()
	harness.Refused(t, a.Look(harness.OfWindow(a.Frame.GetWindow())).GetRefusal(), refusal.LeaseRequired)
	harness.NothingSent(t, a.Do(harness.Append("x")), refusal.ReobserveRequired)
	a.AcquireAll(form)
	a.See(form, "Form")
	// The field still looks focused; that is nobody's right to type.
	harness.NothingSent(t, a.Do(harness.Append("x")), refusal.KeyboardNotOwned)
	s.Untouched(t, mark)
	harness.Verified(t, a.Do(press(a, "More")), windowSet)
}

// C12.1, C12.6, C9.7: what is in flight is cancelled by its name, everything that is down
// goes up, a text is cut between two characters, and the answer says exactly how much of
// it arrived.
func TestWordCutsTypingShortAndTheCountIsTheTruth(t *testing.T) {
	for _, w := range words() {
		t.Run(w.name, func(t *testing.T) {
			tap := &harness.Tap{}
			s := harness.Start(t, harness.Options{Tap: tap})
			user := s.User()
			a := owned(t, s, "Form", commonv1.Role_ROLE_TEXT_AREA, "Notes")
			s.Must(s.Desk.Pace(form, 100*time.Millisecond))
			typing := a.Start(a.Context(), on(a, harness.Append(strings.Repeat("é東🦊 ", 400))))
			s.Await("some of it arrives", func() bool {
				return s.Value("Form", commonv1.Role_ROLE_TEXT_AREA, "Notes") != ""
			})
			began := time.Now()
			w.say(user, a)
			r := a.Wait(typing)
			if took := time.Since(began); took > time.Second {
				t.Errorf("it took %v", took)
			}
			harness.Unknown(t, r.ActResponse)
			got := s.Value("Form", commonv1.Role_ROLE_TEXT_AREA, "Notes")
			if n := utf8.RuneCountInString(got); n == 0 || int(r.GetDeliveredCount()) != n || !utf8.ValidString(got) {
				t.Errorf("delivered %d, the field holds %d characters", r.GetDeliveredCount(), n)
			}
			if r.GetObservation() != nil || r.GetVerified() ||
				r.GetObservationMissing() != commonv1.ObservationMissing_OBSERVATION_MISSING_STOPPED {
				t.Errorf("observation missing: %v", r.GetObservationMissing())
			}
			if held := s.Desk.Held(); len(held) != 0 {
				t.Errorf("still down: %v", held)
			}
			inOrder(t, user.Kinds(a.ID()), kindActSent, w.kind, kindActEnded)
			s.Await("it is cancelled by its name", func() bool { return cancelled(tap) })
		})
	}
}

// cancelled reports whether the latest dispatch was cancelled by its name.
func cancelled(tap *harness.Tap) bool {
	sent := tap.Of("Dispatch")
	d, _ := sent[len(sent)-1].Request.(*executorv1.DispatchRequest)
	return slices.ContainsFunc(tap.Of("Cancel"), func(c harness.Tapped) bool {
		req, _ := c.Request.(*executorv1.CancelRequest)
		return req.GetDispatchId() == d.GetDispatchId()
	})
}

// C12.6: an act that was sent whole is told as done; only the observation is withheld.
func TestPausedActThatWasSentIsToldAsItWas(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	user := s.User()
	a := ready(t, s, calculator, "Calculator")
	s.Must(s.Desk.Delay(calculator, slow))
	running := a.Start(a.Context(), on(a, press(a, "7")))
	s.AwaitReached(0, 1)
	if !user.Pause(a.ID()).GetActInFlight() {
		t.Error("no act was in flight")
	}
	r := a.Wait(running)
	if r.GetOutcome() != commonv1.Outcome_OUTCOME_OK || r.GetVerified() || r.GetObservation() != nil ||
		r.GetObservationMissing() != commonv1.ObservationMissing_OBSERVATION_MISSING_STOPPED {
		t.Errorf("outcome %v, missing %v, %v", r.GetOutcome(), r.GetObservationMissing(), r.GetRefusal())
	}
	s.Touched(t, 0, "7")
}

// C4.3, C12.4: an act that the executor had and had not sent yet was never sent, and it is
// the user's word that it is refused with.
func TestActThatWasNotSentYetIsRefusedWithTheUsersWord(t *testing.T) {
	for _, w := range words() {
		t.Run(w.name, func(t *testing.T) {
			s := harness.Start(t, harness.Options{})
			user := s.User()
			a := ready(t, s, calculator, "Calculator")
			s.Must(s.Desk.Freeze(calculator))
			running := a.Start(a.Context(), on(a, press(a, "7")))
			s.Await("it is with the executor", func() bool { return user.Counts().GetActsInFlight() == 1 })
			w.say(user, a)
			harness.NothingSent(t, a.Wait(running).ActResponse, w.code)
			s.Must(s.Desk.Thaw(calculator))
			s.Untouched(t, 0)
		})
	}
}

// C4.3: a stop covers every call that was admitted before it, whatever its turn.
func TestStopCoversWhatWaitsWhateverItsTurn(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	user := s.User()
	a := ready(t, s, calculator, "Calculator")
	s.Must(s.Desk.Delay(calculator, slow))
	running := a.Start(a.Context(), on(a, press(a, "7")))
	s.AwaitReached(0, 1)
	waiting := []<-chan harness.Answer{a.Start(a.Context(), on(a, press(a, "8")))}
	other := on(a, press(a, "9"))
	a.Fill(other)
	other.TurnId = "t-another"
	waiting = append(waiting, sent(a, other))
	began := make(chan *hostv1.BeginTurnResponse, 1)
	fence := a.Fence
	go func() {
		r, _ := a.Lease.BeginTurn(a.Context(), &hostv1.BeginTurnRequest{Fence: fence, Session: a.Session})
		began <- r
	}()
	a.AwaitWaiting(s, 3)
	user.Stop(a.ID())
	for _, w := range waiting {
		harness.NothingSent(t, a.Wait(w).ActResponse, refusal.UserStopped)
	}
	r := <-began
	harness.Refused(t, r.GetRefusal(), refusal.UserStopped)
	a.Wait(running)
	s.Touched(t, 0, "7")
}

// sent sends a request as it is.
func sent(a *harness.Agent, req *hostv1.ActRequest) <-chan harness.Answer {
	out := make(chan harness.Answer, 1)
	ctx := a.Context()
	go func() {
		r, err := a.Acts.Act(ctx, req)
		out <- harness.Answer{ActResponse: r, Err: err}
	}()
	return out
}

// C4.3, C12.1: the kill switch stops every session of every connection once, and nobody
// opens another until the user resumes all.
func TestStopAllStopsEverySessionOfEveryConnectionAndShutsTheDoor(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	user := s.User()
	a, b, idle := ready(t, s, calculator, "Calculator"), owned(t, s, "Form", isText, "Name"), s.Agent()
	all := []*harness.Agent{a, b, idle}
	s.Must(s.Desk.Delay(calculator, slow))
	running := a.Start(a.Context(), on(a, press(a, "7")))
	mark := s.Mark()
	s.AwaitReached(mark, 0)
	s.Await("it is in flight", func() bool { return user.Counts().GetActsInFlight() == 1 })
	if r := user.StopAll(); r.GetStopped() != 3 || r.GetActsInFlight() != 1 {
		t.Errorf("%v", r)
	}
	for range 3 {
		if r := user.StopAll(); r.GetStopped() != 0 {
			t.Errorf("pressed again: %v", r)
		}
	}
	a.Wait(running)
	status := user.Counts()
	if !status.GetStoppedAll() || user.Held(holdStopped) != 3 || status.GetFrames() != 0 || status.GetKeyboards() != 0 {
		t.Errorf("%v", status)
	}
	for _, one := range all {
		if got := count(user.Kinds(one.ID()), kindStopAll); got != 1 {
			t.Errorf("told %d times: %v", got, user.Kinds(one.ID()))
		}
		harness.Refused(t, one.TryBeginTurn(), refusal.UserStopped)
		s.Await("its leases ended", func() bool { return len(one.State().GetLeases()) == 0 })
	}
	s.AwaitExecutorSessions(0)
	closed := func(want refusal.Code) {
		t.Helper()
		c := harness.Connect(t, s.Dial("agent"))
		r, err := c.Lease.OpenSession(c.Context(), &hostv1.OpenSessionRequest{ClientName: "test"})
		s.Must(err)
		harness.Refused(t, r.GetRefusal(), want)
		if (r.GetSessionId() != "") != (want == 0) {
			t.Errorf("session %q", r.GetSessionId())
		}
	}
	closed(refusal.UserStopped)
	// One session's resume opens the door for no other.
	user.Resume(idle.ID())
	closed(refusal.UserStopped)
	harness.Refused(t, b.TryBeginTurn(), refusal.UserStopped)
	idle.Renewed()
	idle.BeginTurn()

	if !user.Resume("").GetResumed() || user.Resume("").GetResumed() {
		t.Error("everything is resumed once")
	}
	closed(0)
	for _, one := range all {
		one.Renewed()
		one.BeginTurn()
		if got := one.State(); len(got.GetHolds()) != 0 || len(got.GetLeases()) != 0 {
			t.Errorf("%v", got)
		}
	}
}

// C4.3, C1.2: what happened between OpenSession and the first turn is told as what it is:
// the fence of the previous answer was copied, as every client must.
func TestSessionHeldBeforeItsFirstTurnIsToldSo(t *testing.T) {
	for _, w := range words() {
		t.Run(w.name, func(t *testing.T) {
			s := harness.Start(t, harness.Options{})
			user := s.User()
			a := harness.Connect(t, s.Dial("agent"))
			a.OpenSession(true)
			w.say(user, a)
			want := w.code
			if w.hold == holdPaused {
				want = 0 // a pause holds what a turn would do, not the turn (C5.1)
			}
			harness.Refused(t, a.TryBeginTurn(), want)
			if got := a.State().GetHolds(); !slices.Equal(got, []hostv1.Hold{w.hold}) {
				t.Errorf("holds %v", got)
			}
			user.Resume("")
			if want != 0 {
				harness.Refused(t, a.TryBeginTurn(), 0)
			}
		})
	}
}

// C4.3: whatever races, a stop that came last stands, and no BeginTurn lifts it.
func TestStopThatCameLastStandsWhateverRacedBefore(t *testing.T) {
	tap := &harness.Tap{}
	s := harness.Start(t, harness.Options{Tap: tap})
	user := s.User()
	a := ready(t, s, calculator, "Calculator")
	for round := range 8 {
		var g errgroup.Group
		for range 4 {
			g.Go(func() error { user.Stop(a.ID()); return nil })
			g.Go(func() error { user.Resume(a.ID()); return nil })
		}
		if round%2 == 0 {
			g.Go(func() error { user.StopAll(); return nil })
			g.Go(func() error { user.Resume(""); return nil })
		}
		for range 3 {
			g.Go(func() error {
				// Whatever is answered: it may not lift what comes last.
				_, err := a.Lease.BeginTurn(a.Context(), &hostv1.BeginTurnRequest{Fence: a.State().GetFence(), Session: a.Session})
				return err
			})
		}
		s.Must(g.Wait())
		user.Stop(a.ID())
		a.Renewed()
		a.Turn = a.State().GetTurnId()
		for range 3 {
			harness.Refused(t, a.TryBeginTurn(), refusal.UserStopped)
			harness.Refused(t, a.Acquire(metadata, harness.App(calculator)).GetRefusal(), refusal.UserStopped)
		}
		if got := a.State().GetHolds(); !slices.Equal(got, []hostv1.Hold{holdStopped}) {
			t.Fatalf("holds %v", got)
		}
	}
	s.Untouched(t, 0)
	user.Resume("")
	user.Resume(a.ID())
	a.Renewed()
	a.BeginTurn()
	a.AcquireAll(calculator)
	a.See(calculator, "Calculator")
	harness.Verified(t, a.Do(press(a, "7")), treeDelta)
}

// C12.1: stop, resume, stop: the record ends with the stop, policy gives nothing.
func TestRecordOfStopAndResumeIsInTheOrderTheyWereSaid(t *testing.T) {
	tap := &harness.Tap{}
	s := harness.Start(t, harness.Options{Tap: tap})
	user := s.User()
	a := s.Agent()
	want := []policyv1.SessionEventKind{policyv1.SessionEventKind_SESSION_EVENT_KIND_TURN_BEGUN}
	for range 20 {
		user.Stop(a.ID())
		user.Resume(a.ID())
		want = append(want, policyv1.SessionEventKind_SESSION_EVENT_KIND_STOPPED, resumedFact)
	}
	user.Stop(a.ID())
	want = append(want, policyv1.SessionEventKind_SESSION_EVENT_KIND_STOPPED)
	s.Await("all of it is on record", func() bool { return len(tap.Facts(a.ID())) >= len(want) })
	if got := tap.Facts(a.ID()); !slices.Equal(got, want) {
		t.Errorf("recorded %v", got)
	}
	a.Renewed()
	harness.Refused(t, a.TryBeginTurn(), refusal.UserStopped)
}

// watchSessions subscribes to what happens to sessions.
func watchSessions(ctx context.Context, t *testing.T, u *harness.User, session string) hostv1.ControlService_WatchSessionsClient {
	t.Helper()
	w, err := u.Control.WatchSessions(ctx, &hostv1.WatchSessionsRequest{SessionId: session})
	if err == nil {
		_, err = w.Header()
	}
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// C12: the timeline is told as it happens, in the order of its numbers, and to who asked
// for one session only what happened to that one.
func TestWatchSessionsTellsTheSameAsTheTimeline(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	user := s.User()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	a, other := s.Agent(), s.Agent()
	one, every := watchSessions(ctx, t, user, a.ID()), watchSessions(ctx, t, user, "")
	a.AcquireAll(calculator)
	a.See(calculator, "Calculator")
	harness.Verified(t, a.Do(press(a, "7")), treeDelta)
	user.Pause(other.ID())
	user.Stop(a.ID())
	a.EndSession()
	ended := hostv1.TimelineKind_TIMELINE_KIND_SESSION_ENDED
	read := func(w hostv1.ControlService_WatchSessionsClient) (mine []*hostv1.TimelineEvent, others int) {
		last := uint64(0)
		for {
			e, err := w.Recv()
			s.Must(err)
			if e.GetEvent().GetSeq() <= last || e.GetLagged() {
				t.Errorf("%v after %d", e, last)
			}
			last = e.GetEvent().GetSeq()
			if e.GetEvent().GetSessionId() != a.ID() {
				others++
				continue
			}
			mine = append(mine, e.GetEvent())
			if e.GetEvent().GetKind() == ended {
				return mine, others
			}
		}
	}
	mine, others := read(one)
	if others != 0 {
		t.Errorf("%d events of others", others)
	}
	everyMine, others := read(every)
	if others == 0 || len(everyMine) != len(mine) {
		t.Errorf("%d of others, %d of mine, want %d", others, len(everyMine), len(mine))
	}
	line := user.Timeline(a.ID())
	line = line[len(line)-len(mine):]
	kinds := make([]hostv1.TimelineKind, len(mine))
	for i, e := range mine {
		kinds[i] = e.GetKind()
		if e.GetSeq() != line[i].GetSeq() || e.GetKind() != line[i].GetKind() || e.GetUnixMs() == 0 {
			t.Errorf("%v, the timeline says %v", e, line[i])
		}
	}
	inOrder(t, kinds, hostv1.TimelineKind_TIMELINE_KIND_LEASE_GRANTED, hostv1.TimelineKind_TIMELINE_KIND_OBSERVED,
		kindActSent, kindActEnded, kindStopped, ended)
	for _, e := range mine {
		if acts := e.GetKind() == kindActSent || e.GetKind() == kindActEnded; acts != (e.GetActId() != "") {
			t.Errorf("act id of %v", e)
		}
	}
}

// C4.4, protocol.md: who falls behind is told so and let go of; nobody waits for it.
func TestSubscriberThatDoesNotReadIsToldItLaggedAndLetGo(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	user := s.User()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	slowest := watchSessions(ctx, t, user, "")
	var g errgroup.Group
	for range 16 {
		a := s.Agent()
		g.Go(func() error {
			for range 300 {
				r, err := a.Lease.BeginTurn(ctx, &hostv1.BeginTurnRequest{Fence: a.Fence, Session: a.Session})
				if err != nil {
					return err
				}
				a.Fence = r.GetFence()
			}
			return nil
		})
	}
	s.Must(g.Wait())
	s.Await("the subscriber is let go", func() bool { return user.Counts().GetSubscribers() == 0 })
	events, lagged := 0, false
	for {
		e, err := slowest.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		s.Must(err)
		if lagged {
			t.Fatal("an event came after the last one")
		}
		if lagged = e.GetLagged(); !lagged {
			events++
		}
	}
	if !lagged || events >= 16*300 {
		t.Errorf("lagged %v after %d events", lagged, events)
	}
}

// C4.4, protocol.md: GetStatus shows queues, holds, frames, lanes, keyboards and acts in
// flight as counts, and the counts come back.
func TestStatusCountsWhatSessionsHold(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	user := s.User()
	a, b := ready(t, s, calculator, "Calculator"), ready(t, s, calculator, "Calculator")
	typist, paused, stopped := owned(t, s, "Form", isText, "Name"), s.Agent(), s.Agent()
	user.Pause(paused.ID())
	user.Stop(stopped.ID())
	s.Must(s.Desk.Delay(calculator, slow))
	answers := []<-chan harness.Answer{a.Start(a.Context(), on(a, press(a, "7")))}
	s.Await("it is in flight", func() bool { return user.Counts().GetActsInFlight() == 1 })
	answers = append(answers, a.Start(a.Context(), on(a, press(a, "8"))), a.Start(a.Context(), on(a, press(a, "9"))))
	inLane := b.Start(b.Context(), on(b, press(b, "8")))
	s.Await("all of them wait", func() bool { return user.Waiting() == 2 && user.LanesWaiting() == 1 })
	got := user.Counts()
	if got.GetSessions() != 5 || got.GetLanesHeld() != 1 || got.GetFrames() != 3 || got.GetKeyboards() != 1 ||
		got.GetActsInFlight() != 1 || got.GetStoppedAll() {
		t.Errorf("%v", got)
	}
	if user.Held(holdPaused) != 1 || user.Held(holdStopped) != 1 || user.Held(hostv1.Hold_HOLD_SCREEN_LOCKED) != 0 {
		t.Errorf("%v", got.GetHolds())
	}
	for _, c := range answers {
		a.Wait(c)
	}
	b.Wait(inLane)
	var ends sync.WaitGroup
	for _, one := range []*harness.Agent{a, b, typist, paused, stopped} {
		ends.Go(one.EndSession)
	}
	ends.Wait()
	nothingHeld(t, s, user)
}

// nothingHeld fails unless every count comes back to nothing.
func nothingHeld(t *testing.T, s *harness.System, user *harness.User) {
	t.Helper()
	s.Await("the queues are empty", func() bool {
		c := user.Counts()
		return c.GetCallsWaiting() == 0 && c.GetLanesWaiting() == 0 && c.GetLanesHeld() == 0 && c.GetActsInFlight() == 0
	})
	c := user.Counts()
	if c.GetSessions() != 0 || c.GetFrames() != 0 || c.GetKeyboards() != 0 {
		t.Errorf("%v", c)
	}
	for _, h := range c.GetHolds() {
		if h.GetSessions() != 0 {
			t.Errorf("%v", h)
		}
	}
	s.AwaitExecutorSessions(0)
	if held := s.Desk.Held(); len(held) != 0 {
		t.Errorf("still down: %v", held)
	}
}

// owned is a session with every lease that owns an element of the form as its keyboard
// target, because it put the focus there.
func owned(t *testing.T, s *harness.System, title string, role commonv1.Role, name string) *harness.Agent {
	t.Helper()
	a := ready(t, s, form, title)
	harness.Verified(t, a.Do(harness.Focus(a.Element(role, name).GetId())), stateReadback)
	return a
}
