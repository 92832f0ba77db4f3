package executor

import (
	"sync"
	"testing"
	"time"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
)

// Kinds of desk events, short.
const (
	toldInput    = executorv1.DeskEventKind_DESK_EVENT_KIND_PHYSICAL_INPUT
	toldLocked   = executorv1.DeskEventKind_DESK_EVENT_KIND_LOCKED
	toldUnlocked = executorv1.DeskEventKind_DESK_EVENT_KIND_UNLOCKED
	toldEnded    = executorv1.DeskEventKind_DESK_EVENT_KIND_WINDOW_ENDED
	toldContent  = executorv1.DeskEventKind_DESK_EVENT_KIND_CONTENT_CHANGED
)

// told waits for the next desk event.
func (r *rig) told() (executorv1.DeskEventKind, ident.Window) {
	r.t.Helper()
	type event struct {
		resp *executorv1.AttachResponse
		err  error
	}
	got := make(chan event, 1)
	go func() {
		resp, err := r.events.Recv()
		got <- event{resp, err}
	}()
	select {
	case ev := <-got:
		if ev.err != nil {
			r.t.Fatal(ev.err)
		}
		if ev.resp.GetFence().GetExecutor() != 9 || ev.resp.GetDesk() == nil {
			r.t.Fatalf("got %v", ev.resp)
		}
		if ev.resp.GetDesk().GetWindow() == nil {
			return ev.resp.GetDesk().GetKind(), ident.Window{}
		}
		return ev.resp.GetDesk().GetKind(), toWindow(ev.resp.GetDesk().GetWindow())
	case <-time.After(5 * time.Second):
		r.t.Fatal("nothing was told")
		return 0, ident.Window{}
	}
}

func (r *rig) tells(kind executorv1.DeskEventKind, w ident.Window) {
	r.t.Helper()
	if k, on := r.told(); k != kind || on != w {
		r.t.Fatalf("told %v of %v, want %v of %v", k, on, kind, w)
	}
}

func TestWhatHappensOnTheDeskIsTold(t *testing.T) {
	all := ident.Window{}
	cases := []struct {
		name    string
		happens func(*fake)
		kind    executorv1.DeskEventKind
		window  ident.Window
	}{
		{"input into a window", func(f *fake) { f.emit(Change{Kind: ChangeInput, Window: editor}) }, toldInput, editor},
		{"input into any", func(f *fake) { f.emit(Change{Kind: ChangeInput}) }, toldInput, all},
		{"content of a window", func(f *fake) { f.emit(Change{Kind: ChangeTree, Window: editor}) }, toldContent, editor},
		{"content of a process", func(f *fake) { f.emit(Change{Kind: ChangeTree, PID: other.PID}) }, toldContent, other},
		{"content of a process without windows", func(f *fake) { f.emit(Change{Kind: ChangeTree, PID: 999}) }, toldContent, all},
		{"content of any", func(f *fake) { f.emit(Change{Kind: ChangeTree}) }, toldContent, all},
		{"a window ended", func(f *fake) {
			f.windows = f.windows[1:]
			f.emit(Change{Kind: ChangeWindows})
		}, toldEnded, editor},
		{"a window is another one", func(f *fake) {
			f.windows[0].Identity.Birth++
			f.emit(Change{Kind: ChangeWindows, PID: editor.PID})
		}, toldEnded, editor},
		{"locked", func(f *fake) {
			f.desk.Locked = true
			f.emit(Change{Kind: ChangeLock})
		}, toldLocked, all},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			desk := newFake()
			r := ready(t, desk)
			desk.change(c.happens)
			r.tells(c.kind, c.window)
		})
	}
}

// What says nothing that can be attributed is not told (C2.7).
func TestWindowsThatOpenOrMoveAreNotTold(t *testing.T) {
	desk := newFake()
	r := ready(t, desk)
	desk.change(func(f *fake) {
		f.lists = 0
		f.windows[0].Bounds.X++
		f.windows = append(f.windows, fakeWindow(editor2, "New", Rect{}, 2))
		f.emit(Change{Kind: ChangeWindows})
		f.emit(Change{Kind: ChangeLock})
	})
	for listed := 0; listed == 0; time.Sleep(5 * time.Millisecond) {
		desk.change(func(f *fake) { listed = f.lists })
	}
	desk.change(func(f *fake) { f.emit(Change{Kind: ChangeInput, Window: editor2}) })
	r.tells(toldInput, editor2)
	desk.change(func(f *fake) {
		f.windows = f.windows[:2]
		f.emit(Change{Kind: ChangeWindows})
	})
	r.tells(toldEnded, editor2)
}

// A window that came, was looked at and went between two listings is told all the same.
func TestEndOfAWindowThatWasLookedAtIsTold(t *testing.T) {
	desk := newFake()
	r := ready(t, desk)
	desk.change(func(f *fake) {
		f.windows = append(f.windows, fakeWindow(editor2, "New", Rect{}, 2))
		f.trees[editor2.ID] = f.trees[other.ID]
	})
	r.snapshot(editor2)
	desk.change(func(f *fake) {
		f.windows = f.windows[:2]
		f.emit(Change{Kind: ChangeWindows})
	})
	r.tells(toldEnded, editor2)
}

// Lost events may have been any: input anywhere, any window ended (C2.7 by the worst case).
func TestLostEventsAreToldAsTheWorstCase(t *testing.T) {
	desk := newFake()
	r := ready(t, desk)
	desk.change(func(f *fake) {
		f.windows = f.windows[1:]
		f.emit(Change{Kind: ChangeLost})
	})
	all := ident.Window{}
	r.tells(toldInput, all)
	r.tells(toldEnded, all)
	for range 2 {
		switch k, w := r.told(); {
		case k == toldContent && w == all, k == toldEnded && w == editor:
		default:
			t.Fatalf("told %v of %v", k, w)
		}
	}
}

// Input that the platform counts and did not count is known not to have been lost, so that
// content alone, however much, is nobody's input (C2.7, C5.6).
func TestLossWithoutInputIsNotToldAsInput(t *testing.T) {
	desk := newFake()
	desk.desk.Input = 5
	r := ready(t, desk)
	all := ident.Window{}
	desk.change(func(f *fake) { f.emit(Change{Kind: ChangeLost}) })
	r.tells(toldEnded, all)
	r.tells(toldContent, all)
	// Input that was told was counted at the next look.
	desk.change(func(f *fake) {
		f.desk.Input++
		f.emit(Change{Kind: ChangeInput, Window: editor})
	})
	r.tells(toldInput, editor)
	desk.change(func(f *fake) { f.emit(Change{Kind: ChangeLost}) })
	r.tells(toldEnded, all)
	r.tells(toldContent, all)
	desk.change(func(f *fake) {
		f.desk.Input++
		f.emit(Change{Kind: ChangeLost})
	})
	r.tells(toldInput, all)
}

// A look at the desk that was on its way when a call saw the lock is the older one.
func TestOlderLookDoesNotLiftTheLock(t *testing.T) {
	desk := newFake()
	r := ready(t, desk)
	reached, goOn := make(chan struct{}), make(chan struct{})
	first := sync.OnceFunc(func() { close(reached); <-goOn })
	desk.change(func(f *fake) {
		f.onDesk = first
		f.emit(Change{Kind: ChangeLock})
	})
	<-reached
	r.e.watch.sawLock()
	desk.change(func(f *fake) { f.desk.Locked = true })
	close(goOn)
	r.tells(toldLocked, ident.Window{})
	desk.change(func(f *fake) { f.emit(Change{Kind: ChangeInput, Window: editor}) })
	r.tells(toldInput, editor)
}

// A host that does not read keeps nobody waiting, and hears the worst case when it does.
func TestSlowHostBlocksNobody(t *testing.T) {
	desk := newFake()
	r := ready(t, desk)
	const many = 50_000
	for i := range many {
		r.e.watch.note(Change{Kind: ChangeInput, Window: ident.Window{ID: uint64(i + 100)}})
	}
	if c := r.trySnapshot(editor, r.read(forApp(editor.App)), nil).GetCode(); c != 0 {
		t.Fatal(c)
	}
	lost := false
	for i := 0; i < many && !lost; i++ {
		k, w := r.told()
		lost = k == toldInput && w == ident.Window{}
	}
	if !lost {
		t.Fatal("what did not fit was not told")
	}
}

func TestHandshakeSaysWhetherTheScreenIsLocked(t *testing.T) {
	for _, locked := range []bool{true, false} {
		desk := newFake()
		desk.desk.Locked = locked
		r := newRig(t, desk)
		r.attach()
		if r.hello.GetLocked() != locked {
			t.Errorf("locked %v, told %v", locked, r.hello.GetLocked())
		}
	}
}

// Unlocking is noticed also where the platform says nothing: after any call that was
// refused because of it, and after a lock that was told (C12.3).
func TestUnlockIsNoticedWithoutAnEvent(t *testing.T) {
	read := func(r *rig, _ *executorv1.Snapshot) refusal.Answer {
		return r.trySnapshot(editor, r.read(forApp(editor.App)), nil).GetCode()
	}
	cases := map[string]func(*rig, *executorv1.Snapshot) refusal.Answer{
		"snapshot": read,
		"dispatch": func(r *rig, s *executorv1.Snapshot) refusal.Answer {
			return r.act(s, nodeButton, click()).GetCode()
		},
		"the platform's own answer": func(r *rig, s *executorv1.Snapshot) refusal.Answer {
			f, _ := r.desk.(*fake)
			f.change(func(f *fake) {
				f.desk.Locked = false
				f.deliver = func(Performance) Delivery { return Refused(refusal.AnswerScreenLocked) }
			})
			return r.act(s, nodeButton, click()).GetCode()
		},
		"resolve": func(r *rig, _ *executorv1.Snapshot) refusal.Answer {
			resp, err := r.host.ResolveApp(r.ctx(), &executorv1.ResolveAppRequest{
				Fence: r.fence, SessionId: testSession, AppId: "exe:/new",
			})
			if err != nil {
				r.t.Fatal(err)
			}
			return resp.GetCode()
		},
		"desk": func(r *rig, _ *executorv1.Snapshot) refusal.Answer {
			resp, err := r.host.GetDesk(r.ctx(), &executorv1.GetDeskRequest{
				Fence: r.fence, SessionId: testSession, Permit: r.read(func(c *commonv1.PermitClaims) { c.Desk = true }),
			})
			if err != nil {
				r.t.Fatal(err)
			}
			return resp.GetCode()
		},
	}
	for name, call := range cases {
		t.Run(name, func(t *testing.T) {
			desk := newFake()
			r := ready(t, desk)
			snap := r.snapshot(editor)
			desk.change(func(f *fake) { f.desk.Locked = true })
			if a := call(r, snap); a != refusal.AnswerScreenLocked {
				t.Fatal(a)
			}
			r.tells(toldLocked, ident.Window{})
			desk.change(func(f *fake) { f.desk.Locked = false })
			r.tells(toldUnlocked, ident.Window{})
		})
	}
}

// While it stays locked nothing is told, and a lock that is over when it is looked at is
// told as over.
func TestLockIsToldOnce(t *testing.T) {
	desk := newFake()
	r := ready(t, desk)
	desk.change(func(f *fake) {
		f.desk.Locked = true
		f.emit(Change{Kind: ChangeLock})
	})
	r.tells(toldLocked, ident.Window{})
	r.trySnapshot(editor, r.read(forApp(editor.App)), nil)
	desk.change(func(f *fake) { f.emit(Change{Kind: ChangeLock}) })
	desk.change(func(f *fake) {
		f.desk.Locked = false
		f.emit(Change{Kind: ChangeLock})
	})
	r.tells(toldUnlocked, ident.Window{})
	desk.change(func(f *fake) { f.emit(Change{Kind: ChangeInput, Window: editor}) })
	r.tells(toldInput, editor)
}

// However many changes come, windows are listed and content is told at a bounded rate.
func TestLooksAreBounded(t *testing.T) {
	desk := newFake()
	ready(t, desk)
	desk.change(func(f *fake) { f.lists = 0 })
	start := time.Now()
	for time.Since(start) < 350*time.Millisecond {
		desk.change(func(f *fake) { f.emit(Change{Kind: ChangeWindows}) })
	}
	desk.mu.Lock()
	defer desk.mu.Unlock()
	if most := 2 + int(time.Since(start)/listEvery); desk.lists == 0 || desk.lists > most {
		t.Fatalf("listed %d times", desk.lists)
	}
}
