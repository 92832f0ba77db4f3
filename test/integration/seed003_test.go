package integration

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	"fairlead.dev/services/shared/refusal"
	"fairlead.dev/services/virtualdesk"
	"fairlead.dev/test/harness"
)

// Seed 003 tells of seven defects of one runtime's life cycle. None of them is here.
func TestSeed003Defects(t *testing.T) { playAll(t, seed003()) }

func seed003() []required {
	var all []required
	for _, some := range [][]required{
		defectStop(), defectReads(), defectTerminal(), defectQueue(), defectAmbiguity(), defectCursor(), defectRelease(),
	} {
		all = append(all, some...)
	}
	return all
}

// stopStays is what the contract says of a stop and the next turn.
const stopStays = "C4.3: a stop also holds the session until a person resumes it; the agent cannot restart what the user stopped"

func (st *stage) id() string { return st.a.Session.GetSessionId() }

// waits has the session run a wait of some seconds, with another one behind it: when one
// waits in the queue, one runs. It returns where their answers come.
func (st *stage) waits() <-chan *commonv1.Refusal {
	st.t.Helper()
	req := &hostv1.WaitForRequest{
		Fence: st.a.Fence, Session: st.a.Session, TurnId: st.a.Turn,
		Condition: &hostv1.WaitForRequest_DurationMs{DurationMs: 9_000},
	}
	a, out := st.a, make(chan *commonv1.Refusal, 2)
	for range cap(out) {
		go func() {
			r, err := a.Observe.WaitFor(a.Context(), req)
			if err != nil {
				r = nil
			}
			out <- r.GetRefusal()
		}()
	}
	st.a.AwaitWaiting(st.System, 1)
	return out
}

func (st *stage) calls(call func() *commonv1.Refusal) <-chan *commonv1.Refusal {
	out := make(chan *commonv1.Refusal, 1)
	go func() { out <- call() }()
	return out
}

// looks has the session look at the target.
func (st *stage) looks(w *commonv1.WindowIdentity) <-chan *commonv1.Refusal {
	req := harness.OfWindow(w)
	req.Fence, req.Session, req.TurnId = st.a.Fence, st.a.Session, st.a.Turn
	return st.calls(func() *commonv1.Refusal {
		r, err := st.a.Observe.Observe(st.a.Context(), req)
		if err != nil || r.GetObservation() != nil {
			return nil
		}
		return r.GetRefusal()
	})
}

func (st *stage) told(from <-chan *commonv1.Refusal, want refusal.Code) {
	st.t.Helper()
	select {
	case r := <-from:
		harness.Refused(st.t, r, want)
	case <-st.a.Context().Done():
		st.t.Error("no answer")
	}
}

func defectStop() []required {
	unseen := set{unseen: true}
	return []required{
		{
			name: "1_stop_before_any_state", says: "1: stop where there is no record yet: the first call after it",
			code: refusal.UserStopped, run: func(st *stage, want refusal.Code) {
				st.a = harness.Connect(st.t, st.Dial("agent"))
				st.a.OpenSession(true)
				st.user.Stop(st.id())
				st.a.Fence = st.a.State().GetFence()
				harness.Refused(st.t, st.a.TryBeginTurn(), want)
				harness.Refused(st.t, st.a.TryBeginTurn(), want)
			},
		},
		{
			name: "1_stop_first_queued", says: "1: the first call is queued already when the stop comes",
			code: refusal.UserStopped, set: unseen, run: func(st *stage, want refusal.Code) {
				window := st.a.Windows(form)[0].GetWindow()
				running := st.waits()
				queued := st.looks(window)
				st.a.AwaitWaiting(st.System, 2)
				st.user.Stop(st.id())
				st.told(running, want)
				st.told(running, want)
				st.told(queued, want)
				if st.a.State().GetFrame() != nil {
					st.t.Error("it observed after the stop")
				}
			},
		},
		{
			name: "1_later_turn_queued", says: "1: a later turn was queued before the stop",
			code: refusal.UserStopped, run: func(st *stage, want refusal.Code) {
				running := st.waits()
				a, req := st.a, &hostv1.BeginTurnRequest{Fence: st.a.Fence, Session: st.a.Session}
				turn := st.calls(func() *commonv1.Refusal {
					r, err := a.Lease.BeginTurn(a.Context(), req)
					if err != nil || r.GetTurnId() != "" {
						return nil
					}
					return r.GetRefusal()
				})
				st.a.AwaitWaiting(st.System, 2)
				st.user.Stop(st.id())
				st.user.Resume(st.id()) // too late for what was queued when the stop came
				st.told(running, want)
				st.told(running, want)
				st.told(turn, want)
			},
		},
		{
			name: "1_resumed_meanwhile", says: "1: the user resumed before the queued call's turn came: the stop still covers it",
			code: refusal.UserStopped, run: func(st *stage, want refusal.Code) {
				running := st.waits()
				queued := st.looks(st.a.Frame.GetWindow())
				st.a.AwaitWaiting(st.System, 2)
				st.user.Stop(st.id())
				st.user.Resume(st.id())
				for range 2 {
					st.told(running, want)
				}
				st.told(queued, want)
				st.reopened()
			},
		},
		{
			name: "1_stop_after_idle_turn", says: "1: a stop after a turn that did nothing does not block the next turn",
			code: refusal.UserStopped, departs: stopStays, set: unseen, run: func(st *stage, want refusal.Code) {
				st.user.Stop(st.id())
				st.a.Fence = st.a.State().GetFence()
				harness.Refused(st.t, st.a.TryBeginTurn(), want)
				st.reopened()
			},
		},
		{
			name: "1_new_turn_reopens", says: "1: the stopped turn stays stopped; a new one can reopen the session",
			code: refusal.UserStopped, departs: stopStays, run: func(st *stage, want refusal.Code) {
				act := press(st.a, "Submit")
				st.user.Stop(st.id())
				st.refusedWith(act, want)
				st.user.Resume(st.id())
				st.a.Fence = st.a.State().GetFence()
				st.refusedWith(act, want)
				st.user.Stop(st.id())
				st.reopened()
			},
		},
		{
			name: "1_stop_all", says: "1: a stop of everything also covers sessions that are opened later",
			code: refusal.UserStopped, run: func(st *stage, want refusal.Code) {
				act := press(st.a, "Submit")
				st.user.StopAll()
				st.refusedWith(act, want)
				b := harness.Connect(st.t, st.Dial("agent"))
				r, err := b.Lease.OpenSession(b.Context(), &hostv1.OpenSessionRequest{ClientName: "late"})
				st.Must(err)
				harness.Refused(st.t, r.GetRefusal(), want)
			},
		},
	}
}

// reopened is the user's resume, and a turn in which everything works again.
func (st *stage) reopened() {
	st.t.Helper()
	st.user.Resume(st.id())
	st.a.Fence = st.a.State().GetFence()
	st.a.BeginTurn()
	for _, c := range everyClass {
		harness.Refused(st.t, st.a.Acquire(c, harness.App(st.set.app)).GetRefusal(), 0)
	}
	st.see()
	st.done(press(st.a, "More"))
}

// gate holds the executor's answer to one kind of call back until it is opened, and may
// make a failure of it.
type gate struct {
	method  string
	fails   bool
	armed   toggle
	arrived chan struct{}
	open    chan struct{}
}

func newGate(method string, fails bool) *gate {
	return &gate{method: method, fails: fails, arrived: make(chan struct{}, 64), open: make(chan struct{})}
}

func (g *gate) alter(method string, answer []byte) []byte {
	if method != g.method || !g.armed.isOn() {
		return answer
	}
	g.arrived <- struct{}{}
	<-g.open
	if g.fails {
		return failed(method)
	}
	return answer
}

// failed is an answer that says that the window is gone.
func failed(method string) []byte {
	name := strings.ReplaceAll(strings.TrimPrefix(method, "/"), "/", ".")
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name))
	if err != nil {
		return nil
	}
	out, err := protoregistry.GlobalTypes.FindMessageByName(d.(protoreflect.MethodDescriptor).Output().FullName())
	if err != nil {
		return nil
	}
	m := out.New()
	m.Set(m.Descriptor().Fields().ByName("code"), protoreflect.ValueOfEnum(protoreflect.EnumNumber(refusal.AnswerWindowGone)))
	b, err := proto.Marshal(m.Interface())
	if err != nil {
		return nil
	}
	return b
}

// reading is one read call, the executor's call it waits for, and what it answered: the
// refusal, and whether anything was told besides.
type reading struct {
	name, method string
	call         func(*stage) (*commonv1.Refusal, bool)
}

func readings() []reading {
	return []reading{
		{"ListApps", executorv1.ExecutorService_ListApps_FullMethodName, func(st *stage) (*commonv1.Refusal, bool) {
			r, err := st.a.Observe.ListApps(st.a.Context(), &hostv1.ListAppsRequest{
				Fence: st.a.Fence, Session: st.a.Session, TurnId: st.a.Turn,
			})
			return r.GetRefusal(), err != nil || len(r.GetApps()) > 0
		}},
		{"ListWindows", executorv1.ExecutorService_ListWindows_FullMethodName, func(st *stage) (*commonv1.Refusal, bool) {
			r, err := st.a.Observe.ListWindows(st.a.Context(), &hostv1.ListWindowsRequest{
				Fence: st.a.Fence, Session: st.a.Session, TurnId: st.a.Turn,
			})
			return r.GetRefusal(), err != nil || len(r.GetWindows()) > 0
		}},
		{"Observe", executorv1.ExecutorService_Snapshot_FullMethodName, func(st *stage) (*commonv1.Refusal, bool) {
			req := harness.OfWindow(st.a.Frame.GetWindow())
			req.Fence, req.Session, req.TurnId = st.a.Fence, st.a.Session, st.a.Turn
			r, err := st.a.Observe.Observe(st.a.Context(), req)
			return r.GetRefusal(), err != nil || r.GetObservation() != nil
		}},
		{"WaitFor", executorv1.ExecutorService_Snapshot_FullMethodName, func(st *stage) (*commonv1.Refusal, bool) {
			r, err := st.a.Observe.WaitFor(st.a.Context(), &hostv1.WaitForRequest{
				Fence: st.a.Fence, Session: st.a.Session, TurnId: st.a.Turn,
				Target:    &hostv1.WaitForRequest_Window{Window: st.a.Frame.GetWindow()},
				Condition: &hostv1.WaitForRequest_TextPresent{TextPresent: "Account"}, Observe: true,
			})
			return r.GetRefusal(), err != nil || r.GetObservation() != nil || r.GetSatisfied()
		}},
		{"Zoom", executorv1.ExecutorService_Capture_FullMethodName, func(st *stage) (*commonv1.Refusal, bool) {
			r, err := st.a.Observe.Zoom(st.a.Context(), &hostv1.ZoomRequest{
				Fence: st.a.Fence, Session: st.a.Session, TurnId: st.a.Turn, Frame: st.a.Frame.GetFrame(),
				PictureId: st.picture().GetPictureId(), From: &commonv1.Point{X: 1, Y: 1}, To: &commonv1.Point{X: 50, Y: 50},
			})
			return r.GetRefusal(), err != nil || r.GetPicture() != nil
		}},
		{"GetCursor", executorv1.ExecutorService_GetDesk_FullMethodName, func(st *stage) (*commonv1.Refusal, bool) {
			r, err := st.a.Observe.GetCursor(st.a.Context(), &hostv1.GetCursorRequest{
				Fence: st.a.Fence, Session: st.a.Session, TurnId: st.a.Turn,
			})
			return r.GetRefusal(), err != nil || r.GetUser() != nil || r.GetAgent() != nil
		}},
	}
}

func defectReads() []required {
	all := []required{{
		name: "2_GetPicture", says: "2: a read that waits its turn when the stop comes", code: refusal.UserStopped,
		set: set{pictured: true},
		run: func(st *stage, want refusal.Code) {
			running := st.waits()
			a, req := st.a, &hostv1.GetPictureRequest{
				Fence: st.a.Fence, Session: st.a.Session, TurnId: st.a.Turn, Frame: st.a.Frame.GetFrame(),
				PictureId: st.picture().GetPictureId(),
			}
			picture := st.calls(func() *commonv1.Refusal {
				s, err := a.Observe.GetPicture(a.Context(), req)
				if err != nil {
					return nil
				}
				r, err := s.Recv()
				if err != nil || len(r.GetData()) > 0 {
					return nil
				}
				return r.GetRefusal()
			})
			st.a.AwaitWaiting(st.System, 2)
			st.user.Stop(st.id())
			st.told(running, want)
			st.told(running, want)
			st.told(picture, want)
		},
	}}
	for _, one := range readings() {
		for _, fails := range []bool{false, true} {
			how, name := "succeeds", one.name
			if fails {
				how, name = "fails", one.name+"_failed"
			}
			g := newGate(one.method, fails)
			all = append(all, required{
				name: "2_" + name, says: "2: " + one.name + " that " + how + " after the stop is discarded",
				code: refusal.UserStopped, set: set{pictured: true, opts: harness.Options{Alter: g.alter}},
				run: func(st *stage, want refusal.Code) { st.held(g, one, want) },
			})
		}
	}
	return all
}

// held has a read come back after the stop.
func (st *stage) held(g *gate, one reading, want refusal.Code) {
	st.t.Helper()
	g.armed.set(true)
	type answer struct {
		r    *commonv1.Refusal
		more bool
	}
	out := make(chan answer, 1)
	go func() {
		r, more := one.call(st)
		out <- answer{r, more}
	}()
	select {
	case <-g.arrived:
	case got := <-out:
		close(g.open)
		st.t.Fatalf("the read did not ask the executor: %v", got.r)
	}
	g.armed.set(false)
	st.user.Stop(st.id())
	close(g.open)
	got := <-out
	harness.Refused(st.t, got.r, want)
	if got.more {
		st.t.Error("something was told after the stop")
	}
	if s := st.a.State(); s.GetFrame() != nil || s.GetBase() != hostv1.BaseStatus_BASE_STATUS_USER_STOPPED {
		st.t.Errorf("%v", s)
	}
}

func defectTerminal() []required {
	return []required{
		{
			name: "3_user_stopped_absorbs", says: "3: a fresh observation or an unlocked screen never overwrites a stop",
			code: refusal.UserStopped, run: func(st *stage, want refusal.Code) {
				window, act := st.a.Frame.GetWindow(), press(st.a, "Submit")
				st.user.Stop(st.id())
				for what, event := range map[string]func(){
					"lock":   func() { st.Must(st.Desk.Lock()); st.Must(st.Desk.Unlock()) },
					"pause":  func() { st.user.Pause(st.id()) },
					"resume": func() { st.user.Resume(st.id()) },
					"look":   func() { harness.Refused(st.t, st.a.Look(harness.OfWindow(window)).GetRefusal(), want) },
					"end":    func() { st.a.EndTurn() },
					"input":  func() { st.Must(st.Desk.UserInput(st.target)) },
				} {
					event()
					st.a.Fence = st.a.State().GetFence()
					st.refusedWith(act, want)
					if b := st.a.State().GetBase(); b != hostv1.BaseStatus_BASE_STATUS_USER_STOPPED {
						st.t.Errorf("after %s: %v", what, b)
					}
				}
			},
		},
		{
			name: "3_blocked_url_absorbs", says: "3: nothing lifts a blocked destination, not even another terminal state",
			code: refusal.BlockedURL,
			set:  set{app: browser, title: "Browser", opts: harness.Options{Bundle: strictBundle}},
			run: func(st *stage, want refusal.Code) {
				window := st.a.Frame.GetWindow()
				st.refusedWith(harness.Navigate(virtualdesk.BankAddress), want)
				for what, event := range map[string]func(){
					"stop":   func() { st.user.Stop(st.id()) },
					"resume": func() { st.user.Resume(st.id()) },
					"lock":   func() { st.Must(st.Desk.Lock()); st.Must(st.Desk.Unlock()) },
					"pause":  func() { st.user.Pause(st.id()) },
					"end":    func() { st.a.EndTurn() },
				} {
					event()
					st.a.Fence = st.a.State().GetFence()
					harness.Refused(st.t, st.a.TryBeginTurn(), want)
					harness.Refused(st.t, st.a.Look(harness.OfWindow(window)).GetRefusal(), want)
					held := false
					for _, h := range st.a.State().GetHolds() {
						held = held || h == hostv1.Hold_HOLD_BLOCKED_URL
					}
					if !held {
						st.t.Errorf("after %s the hold is gone", what)
					}
				}
			},
		},
	}
}

func defectQueue() []required {
	return []required{
		{
			name: "4_same_window", says: "4: two sessions on one window never interleave",
			code: refusal.ReobserveRequired, run: func(st *stage, want refusal.Code) {
				b := st.second(st.target)
				second := on(b, press(b, "More"))
				st.Must(st.Desk.Delay(form, slow))
				st.mark()
				running := st.a.Start(st.a.Context(), on(st.a, press(st.a, "More")))
				st.Await("the act is sent", func() bool { return len(st.Desk.Journal(st.target)) > 0 })
				waiting := b.Start(b.Context(), second)
				st.Await("the other waits for the window", func() bool { return st.user.LanesWaiting() == 1 })
				st.reached(1)
				if r := st.a.Wait(running); r.GetOutcome() != commonv1.Outcome_OUTCOME_OK {
					st.t.Errorf("%v", r.GetRefusal())
				}
				// What it was bound to is over: the window was acted on (C2.5).
				harness.NothingSent(st.t, b.Wait(waiting).ActResponse, want)
				st.reached(1)
			},
		},
		{
			name: "4_other_window", says: "4: sessions on other windows go on meanwhile", run: func(st *stage, _ refusal.Code) {
				b := st.AgentOf(st.t)
				b.AcquireAll(calculator)
				b.See(calculator, "Calculator")
				st.Must(st.Desk.Delay(form, slow))
				running := st.a.Start(st.a.Context(), on(st.a, press(st.a, "More")))
				st.Await("the act is sent", func() bool { return len(st.Desk.Journal(st.target)) > 0 })
				for _, key := range []string{"7", "8", "9"} {
					harness.Verified(st.t, b.Do(press(b, key)), treeDelta)
				}
				select {
				case r := <-running:
					st.t.Errorf("the slow act was over first: %v", r)
				default:
				}
				if r := st.a.Wait(running); r.GetOutcome() != commonv1.Outcome_OUTCOME_OK {
					st.t.Errorf("%v", r.GetRefusal())
				}
			},
		},
		{
			name: "4_unbound", says: "4: what is bound to no window shares one conservative queue",
			run: func(st *stage, _ refusal.Code) {
				b := st.AgentOf(st.t)
				harness.Refused(st.t, st.a.Acquire(semantic, harness.App(notes)).GetRefusal(), 0)
				harness.Refused(st.t, b.Acquire(metadata, harness.App(workbench)).GetRefusal(), 0)
				harness.Refused(st.t, b.Acquire(semantic, harness.App(workbench)).GetRefusal(), 0)
				st.Must(st.Desk.Delay(notes, 500*time.Millisecond))
				before := len(st.Desk.Events())
				first := st.a.Start(st.a.Context(), &hostv1.ActRequest{Act: harness.Launch(notes)})
				st.Await("the first is sent", func() bool { return len(st.Desk.Events()) > before })
				second := b.Start(b.Context(), &hostv1.ActRequest{Act: harness.Launch(workbench)})
				st.Await("the second waits", func() bool { return st.user.LanesWaiting() == 1 })
				if n := len(st.Desk.Events()) - before; n != 1 {
					st.t.Errorf("%d launches are sent", n)
				}
				for _, r := range []harness.Answer{st.a.Wait(first), b.Wait(second)} {
					if r.GetOutcome() != commonv1.Outcome_OUTCOME_OK {
						st.t.Errorf("%v", r.GetRefusal())
					}
				}
			},
		},
	}
}

// third is one more window like the target, for another session.
func (st *stage) third() uint64 {
	st.t.Helper()
	more, err := st.Desk.OpenAgain(st.set.app, 0, 1400)
	st.Must(err)
	return more[0]
}

// second is another session that has seen a window.
func (st *stage) second(window uint64) *harness.Agent {
	st.t.Helper()
	b := st.AgentOf(st.t)
	for _, c := range everyClass {
		harness.Refused(st.t, b.Acquire(c, harness.App(st.set.app)).GetRefusal(), 0)
	}
	st.seenBy(b, window)
	return b
}

func defectAmbiguity() []required {
	return []required{
		{
			name: "5_ephemeral_id", says: "5: another reference to the same control is not an ambiguity",
			run: func(st *stage, _ refusal.Code) {
				act := press(st.a, "More")
				_, err := st.Desk.ReplaceElement(st.object(isButton, "More"))
				st.Must(err)
				st.done(act)
			},
		},
		{
			name: "5_order", says: "5: the same control in another place is not an ambiguity",
			run: func(st *stage, _ refusal.Code) {
				act := press(st.a, "More")
				st.Must(st.Desk.Reorder(st.object(isButton, "More")))
				st.done(act)
			},
		},
		{
			name: "5_relabelled", says: "5: the same control with another label is told from an unchanged one",
			code: refusal.TargetChanged, run: func(st *stage, want refusal.Code) {
				act := press(st.a, "More")
				st.Must(st.Desk.Relabel(st.object(isButton, "More"), "Less"))
				st.refusedWith(act, want)
			},
		},
		{
			name: "5_two_candidates", says: "5: two candidates for one identity fail closed",
			code: refusal.TargetAmbiguous, run: func(st *stage, want refusal.Code) {
				act := press(st.a, "More")
				_, _, err := st.Desk.SplitElement(st.object(isButton, "More"))
				st.Must(err)
				st.refusedWith(act, want)
			},
		},
	}
}

func defectCursor() []required {
	return []required{{
		name: "6_cursor", says: "6: the cursor's place comes from the platform, and reading it moves nothing",
		set: set{pictured: true},
		run: func(st *stage, _ refusal.Code) {
			for _, at := range []*commonv1.Point{{X: 1200, Y: 300}, {X: -700, Y: 60}} {
				st.Must(st.Desk.UserPointerMoves(at.GetX(), at.GetY()))
				st.mark()
				r, err := st.a.Observe.GetCursor(st.a.Context(), &hostv1.GetCursorRequest{
					Fence: st.a.Fence, Session: st.a.Session, TurnId: st.a.Turn,
				})
				st.Must(err)
				harness.Refused(st.t, r.GetRefusal(), 0)
				if r.GetUser().GetX() != at.GetX() || r.GetUser().GetY() != at.GetY() {
					st.t.Errorf("told %v, it is at %v", r.GetUser(), at)
				}
				st.reached(0)
			}
			// The agent's own pointer is told where the last act left it.
			at := st.middle(isButton, "More")
			st.done(st.clickOn(isButton, "More"))
			r, err := st.a.Observe.GetCursor(st.a.Context(), &hostv1.GetCursorRequest{
				Fence: st.a.Fence, Session: st.a.Session, TurnId: st.a.Turn,
			})
			st.Must(err)
			b := st.bounds()
			if x, y := r.GetAgent().GetX()-b.X, r.GetAgent().GetY()-b.Y; x < at.X-2 || x > at.X+2 || y < at.Y-2 || y > at.Y+2 {
				st.t.Errorf("the agent's pointer is told at %v, %v of the window", x, y)
			}
		},
	}}
}

const cleared = hostv1.ReleaseReason_RELEASE_REASON_SESSION_CLEARED

func defectRelease() []required {
	return []required{
		{
			name: "7_session_only", says: "7: a release of one session leaves the frame and keyboard of the others",
			run: func(st *stage, _ refusal.Code) {
				a := st.a
				b := st.second(st.third())
				harness.Verified(st.t, b.Do(harness.Focus(b.Element(isText, "Name").GetId())), stateReadback)
				facts, others := a.Watch(), b.Watch()
				st.user.Stop(st.id())
				fact := facts.Until(cleared)
				if fact.GetGenerationReleased() || len(fact.GetSessionIds()) != 1 || fact.GetSessionIds()[0] != st.id() {
					st.t.Errorf("%v", fact)
				}
				if r := b.Do(harness.TypeText(0, "mine")); !r.GetVerified() {
					st.t.Errorf("the other session lost its keyboard: %v", r.GetRefusal().GetCode())
				}
				if r := b.Do(press(b, "More")); r.GetOutcome() != commonv1.Outcome_OUTCOME_OK {
					st.t.Errorf("the other session lost its frame: %v", r.GetRefusal().GetCode())
				}
				// The first that it is told of is its own end.
				b.EndSession()
				if fact := others.Until(cleared); fact.GetCause() != hostv1.EndCause_END_CAUSE_SESSION_END {
					st.t.Errorf("the other session was told: %v", fact)
				}
			},
		},
		{
			name: "7_executor_lost", says: "7: the end of the executor sweeps every session's frames and keyboards",
			code: refusal.StaleGeneration, run: func(st *stage, want refusal.Code) {
				a, b := st.a, st.second(st.third())
				generation := a.Fence.GetExecutor()
				harness.Verified(st.t, b.Do(harness.Focus(b.Element(isText, "Name").GetId())), stateReadback)
				watched := map[*harness.Agent]*harness.Facts{a: a.Watch(), b: b.Watch()}
				st.StopExecutor()
				for agent, facts := range watched {
					fact := facts.Next()
					if !fact.GetGenerationReleased() || fact.GetExecutorGeneration() != generation || fact.GetOutcomesUnknown() {
						st.t.Errorf("%v", fact)
					}
					if agent.State().GetFrame() != nil {
						st.t.Error("a frame is left")
					}
				}
				if n := st.user.Counts().GetKeyboards(); n != 0 {
					st.t.Errorf("%d keyboards are left", n)
				}
				st.StartExecutor()
				harness.NothingSent(st.t, a.Do(harness.Click(1)), want)
				harness.NothingSent(st.t, b.Do(harness.TypeText(0, "x")), want)
			},
		},
		{
			name: "7_unknown_cleanup", says: "7: cleaning up what never began, or twice, notifies nobody",
			run: func(st *stage, _ refusal.Code) {
				never := st.AgentOf(st.t)
				facts, none := st.a.Watch(), never.Watch()
				st.user.Stop("s-nobody")
				st.user.Stop(never.Session.GetSessionId())
				for range 3 {
					st.user.Stop(st.id())
				}
				facts.Until(cleared)
				// Nothing more is told until the sessions have begun anew and end.
				for agent, told := range map[*harness.Agent]*harness.Facts{st.a: facts, never: none} {
					st.user.Resume(agent.Session.GetSessionId())
					agent.Fence = agent.State().GetFence()
					agent.BeginTurn()
					harness.Refused(st.t, agent.Acquire(metadata, harness.App(form)).GetRefusal(), 0)
					st.seenBy(agent, st.target)
					agent.EndSession()
					if fact := told.Until(cleared); fact.GetCause() != hostv1.EndCause_END_CAUSE_SESSION_END {
						st.t.Errorf("%v", fact)
					}
				}
			},
		},
	}
}
