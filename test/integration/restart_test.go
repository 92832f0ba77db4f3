package integration

import (
	"context"
	"testing"
	"time"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	"fairlead.dev/services/shared/refusal"
	"fairlead.dev/test/harness"
)

func TestExecutorThatEndsWhileIdleIsToldAndItsSuccessorWorks(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	a, never := ready(t, s, calculator, "Calculator"), s.Agent()
	facts, none := a.Watch(), never.Watch()
	old, generation := a.Frame.GetFrame(), a.Fence.GetExecutor()
	s.StopExecutor()

	fact := facts.Next()
	if fact.GetExecutorGeneration() != generation || !fact.GetGenerationReleased() || fact.GetOutcomesUnknown() ||
		fact.GetReason() != hostv1.ReleaseReason_RELEASE_REASON_EXECUTOR_EXIT ||
		len(fact.GetSessionIds()) != 1 || fact.GetSessionIds()[0] != a.Session.GetSessionId() {
		t.Errorf("%v", fact)
	}
	// Without an executor nothing is sent; the fence of the last answer is stale.
	harness.NothingSent(t, a.Do(press(a, "7")), refusal.StaleGeneration)
	harness.Refused(t, a.Look(harness.OfApp(calculator)).GetRefusal(), refusal.ServiceUnavailable)

	s.StartExecutor()
	a.Fence = a.State().GetFence()
	if a.Fence.GetExecutor() <= generation {
		t.Errorf("executor generation %d after %d", a.Fence.GetExecutor(), generation)
	}
	harness.NothingSent(t, a.DoOn(old, press(a, "7")), refusal.ReobserveRequired)
	a.AcquireAll(calculator)
	a.See(calculator, "Calculator")
	harness.Verified(t, a.Do(press(a, "8")), treeDelta)
	s.Touched(t, 0, "8")
	// A session that had never begun on it is told nothing.
	user := s.User()
	user.Stop(never.Session.GetSessionId())
	none.None()
}

func TestExecutorThatEndsInAnActLeavesItUnknownAndNobodyRepeatsIt(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	a, idle := ready(t, s, calculator, "Calculator"), ready(t, s, form, "Form")
	facts, others := a.Watch(), idle.Watch()
	spent, act := a.Frame.GetFrame(), press(a, "7")
	s.Must(s.Desk.Delay(calculator, slow))
	req := on(a, act)
	req.ActId = "in flight"
	running := a.Start(a.Context(), req)
	s.AwaitReached(0, 1)
	s.StopExecutor()

	r := a.Wait(running)
	harness.Unknown(t, r.ActResponse)
	if fact := facts.Next(); !fact.GetOutcomesUnknown() || !fact.GetGenerationReleased() {
		t.Errorf("%v", fact)
	}
	if fact := others.Next(); fact.GetOutcomesUnknown() || !fact.GetGenerationReleased() {
		t.Errorf("a session without an act in flight: %v", fact)
	}
	s.StartExecutor()
	a.Fence = a.State().GetFence()
	// Under its own act id, under another one, on the frame it spent: never sent again.
	again, err := a.Send(&hostv1.ActRequest{ActId: "in flight", Frame: spent, Act: act})
	s.Must(err)
	harness.Unknown(t, again)
	harness.NothingSent(t, a.DoOn(spent, act), refusal.DuplicateAction)
	harness.NothingSent(t, a.DoOn(spent, press(a, "8")), refusal.ReobserveRequired)
	s.Touched(t, 0, "7")

	s.Must(s.Desk.Delay(calculator, 0))
	a.AcquireAll(calculator)
	a.See(calculator, "Calculator")
	harness.Verified(t, a.Do(press(a, "8")), treeDelta)
	s.Touched(t, 0, "7", "8")
}

func TestPolicyThatEndsTakesEveryLeaseAndItsSuccessorGivesNewOnes(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	a := ready(t, s, calculator, "Calculator")
	facts, generation := a.Watch(), a.Fence.GetPolicy()
	s.StopPolicy()
	fact := facts.Next()
	if fact.GetReason() != hostv1.ReleaseReason_RELEASE_REASON_POLICY_CHANGED || fact.GetGenerationReleased() ||
		fact.GetOutcomesUnknown() {
		t.Errorf("%v", fact)
	}
	a.Fence = a.State().GetFence()
	harness.Refused(t, a.Acquire(metadata, harness.App(calculator)).GetRefusal(), refusal.ServiceUnavailable)
	harness.Refused(t, a.Look(harness.OfApp(calculator)).GetRefusal(), refusal.ServiceUnavailable)
	harness.NothingSent(t, a.Do(press(a, "7")), refusal.ReobserveRequired)
	s.Untouched(t, 0)

	s.RestartPolicy()
	a.Fence = a.State().GetFence()
	if a.Fence.GetPolicy() <= generation {
		t.Errorf("policy generation %d after %d", a.Fence.GetPolicy(), generation)
	}
	a.AcquireAll(calculator)
	a.See(calculator, "Calculator")
	harness.Verified(t, a.Do(press(a, "7")), treeDelta)
}

func TestStopAndEndSessionTellOnceAndOnlyTheirOwnSession(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	user := s.User()
	a, other := ready(t, s, calculator, "Calculator"), ready(t, s, form, "Form")
	facts, others := a.Watch(), other.Watch()
	user.Stop(a.Session.GetSessionId())
	user.Stop(a.Session.GetSessionId())
	stopped := facts.Until(hostv1.ReleaseReason_RELEASE_REASON_SESSION_CLEARED)
	if stopped.GetCause() != hostv1.EndCause_END_CAUSE_USER_STOP || stopped.GetGenerationReleased() {
		t.Errorf("%v", stopped)
	}
	// The stop ended the executor session; the end of the session ends nothing more.
	s.AwaitExecutorSessions(1)
	a.EndSession()
	others.None()
	other.EndSession()
	ended := others.Until(hostv1.ReleaseReason_RELEASE_REASON_SESSION_CLEARED)
	facts.NoneOf(hostv1.ReleaseReason_RELEASE_REASON_SESSION_CLEARED)
	if ended.GetCause() != hostv1.EndCause_END_CAUSE_SESSION_END {
		t.Errorf("%v", ended)
	}
}

func TestLaunchedAppIsListedObservedAndActedOn(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	a := s.Agent()
	a.AcquireAll(notes)
	for range 2 {
		mark := s.Mark()
		r := a.Do(harness.Launch(notes))
		if r.GetOutcome() != commonv1.Outcome_OUTCOME_OK || !r.GetVerified() || r.GetObservation() != nil ||
			r.GetVerification().GetMethod() != windowSet || len(r.GetWindowChanges()) != 1 {
			t.Fatalf("%v", r)
		}
		undisturbed(t, r)
		harness.NothingSent(t, a.DoOn(&commonv1.FrameRef{FrameId: "f-none", Epoch: 1}, harness.Click(1)), noFrame(a))
		listed, err := a.Observe.ListApps(a.Context(), &hostv1.ListAppsRequest{
			Fence: a.Fence, Session: a.Session, TurnId: a.Turn, Filter: "Notes",
		})
		s.Must(err)
		if apps := listed.GetApps(); len(apps) != 1 || apps[0].GetAppId() != notes || !apps[0].GetRunning() {
			t.Errorf("listed: %v", apps)
		}
		a.See(notes, "Untitled note")
		note := a.Element(commonv1.Role_ROLE_TEXT_AREA, "Note").GetId()
		harness.Verified(t, a.Do(harness.SetValue(note, foreign)), valueReadback)
		harness.Verified(t, a.Do(press(a, "Save")), treeDelta)
		s.Touched(t, mark, "", "Note", "Save")
		// It dies; the next round launches it again, as another process.
		act := press(a, "Save")
		s.Must(s.Desk.Die(notes))
		harness.NothingSent(t, a.Do(act), refusal.TargetMissing)
	}
}

// noFrame is how an act on no frame of the session is refused: a first launch leaves
// the turn unobserved, a later one takes the frame away.
func noFrame(a *harness.Agent) refusal.Code {
	if a.State().GetBase() == hostv1.BaseStatus_BASE_STATUS_UNOBSERVED {
		return refusal.NoActiveFrame
	}
	return refusal.ReobserveRequired
}

func TestLaunchTakesTheFrameAndNeedsALeaseAndAnAppThatIsThere(t *testing.T) {
	s := harness.Start(t, harness.Options{Bundle: allBundle})
	a := ready(t, s, calculator, "Calculator")
	harness.NothingSent(t, a.Do(harness.Launch(notes)), refusal.LeaseRequired)
	harness.Refused(t, a.Acquire(semantic, harness.App("org.example.nothing")).GetRefusal(), 0)
	harness.NothingSent(t, a.Do(harness.Launch("org.example.nothing")), refusal.TargetMissing)
	s.Untouched(t, 0)
	// None of these was sent, so the frame is still there.
	harness.Verified(t, a.Do(press(a, "7")), treeDelta)

	a.AcquireAll(notes)
	old, act := a.Frame.GetFrame(), press(a, "8")
	if r := a.Do(harness.Launch(notes)); !r.GetVerified() {
		t.Fatalf("%v", r)
	}
	if got := a.State(); got.GetBase() != hostv1.BaseStatus_BASE_STATUS_REOBSERVE_REQUIRED || got.GetFrame() != nil {
		t.Errorf("%v", got)
	}
	harness.NothingSent(t, a.DoOn(old, act), refusal.ReobserveRequired)
}

func TestLaunchedTwiceUnderOneActIDStartsOnce(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	a := s.Agent()
	a.AcquireAll(notes)
	for range 2 {
		r, err := a.Send(&hostv1.ActRequest{ActId: "start", Act: harness.Launch(notes)})
		s.Must(err)
		if !r.GetVerified() {
			t.Errorf("%v", r)
		}
	}
	if n := s.Mark(); n != 1 {
		t.Errorf("started %d times", n)
	}
}

// Whoever connects and says nothing must not keep the host from ending within its
// shutdown grace.
func TestHostStopsAlthoughACallerSaysNothing(t *testing.T) {
	start := time.Now()
	t.Run("system", func(inner *testing.T) {
		s := harness.Start(inner, harness.Options{})
		for _, audience := range []string{"agent", "user"} {
			s.Raw(t, audience)
		}
		a := s.AgentOf(inner)
		a.AcquireAll(calculator)
		_ = a.WatchUntil(t.Context())
		start = time.Now()
	})
	if took := time.Since(start); took > 4*time.Second {
		t.Errorf("the system took %v to end", took)
	}
}

func TestLaunchOfAnAppThatHasItsWindowIsNotWaitedFor(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	a := s.Agent()
	a.AcquireAll(calculator)
	req := &hostv1.ActRequest{Act: harness.Launch(calculator)}
	a.Fill(req)
	// Far below the longest wait for a first window.
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	r, err := a.Acts.Act(ctx, req)
	if err != nil || r.GetOutcome() != commonv1.Outcome_OUTCOME_OK || len(r.GetWindowChanges()) != 0 {
		t.Fatalf("%v, %v", r, err)
	}
	if r.GetVerified() {
		t.Error("nothing changed, and it is said to be verified")
	}
}
