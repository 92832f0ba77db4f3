package integration

import (
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	"fairlead.dev/services/shared/refusal"
	"fairlead.dev/test/harness"
)

// waitMax is the longest wait there is (protocol.md, sizes), in milliseconds.
const waitMax = 60_000

func textPresent(text string) *hostv1.WaitForRequest {
	return &hostv1.WaitForRequest{Condition: &hostv1.WaitForRequest_TextPresent{TextPresent: text}}
}

func textAbsent(text string) *hostv1.WaitForRequest {
	return &hostv1.WaitForRequest{Condition: &hostv1.WaitForRequest_TextAbsent{TextAbsent: text}}
}

func elementIs(role commonv1.Role, name string, state commonv1.ElementState, absent bool) *hostv1.WaitForRequest {
	return &hostv1.WaitForRequest{Condition: &hostv1.WaitForRequest_Element{Element: &hostv1.ElementCondition{
		Role: role, Name: name, State: state, Absent: absent,
	}}}
}

func durationOf(ms uint32) *hostv1.WaitForRequest {
	return &hostv1.WaitForRequest{Condition: &hostv1.WaitForRequest_DurationMs{DurationMs: ms}}
}

// C13.3: each condition is true at once, comes true, or runs out; running out is no
// failure. However it ends, the session's frame is what it was.
func TestEachConditionHoldsComesTrueOrRunsOut(t *testing.T) {
	checked := commonv1.ElementState_ELEMENT_STATE_CHECKED
	type made struct {
		req    *hostv1.WaitForRequest
		window bool // of the form, filled in
	}
	for _, tt := range []struct {
		name string
		wait func(s *harness.System, a *harness.Agent) made
		// comes makes it true; nil for what nobody can.
		comes func(s *harness.System) error
		// at says that it is true from the beginning.
		at bool
	}{
		{
			name: "text present", comes: func(s *harness.System) error {
				return s.Desk.Relabel(s.Object("Form", commonv1.Role_ROLE_LABEL, "Ready"), "Saved at last")
			},
			wait: func(*harness.System, *harness.Agent) made { return made{textPresent("at last"), true} },
		},
		{
			name: "text present in a value", comes: func(s *harness.System) error {
				return s.Desk.SetValue(s.Object("Form", isText, "Name"), "東京")
			},
			wait: func(*harness.System, *harness.Agent) made { return made{textPresent("東"), true} },
		},
		{
			name: "text present from the beginning", at: true,
			wait: func(*harness.System, *harness.Agent) made { return made{textPresent("Account"), true} },
		},
		{
			name: "text absent", comes: func(s *harness.System) error {
				return s.Desk.Relabel(s.Object("Form", commonv1.Role_ROLE_LABEL, "Ready"), "Busy")
			},
			wait: func(*harness.System, *harness.Agent) made { return made{textAbsent("Ready"), true} },
		},
		{
			name: "text absent from the beginning", at: true,
			wait: func(*harness.System, *harness.Agent) made { return made{textAbsent("nowhere to be seen"), true} },
		},
		{
			name: "an element in a state", comes: func(s *harness.System) error {
				return s.Desk.ToggleByUser(s.Object("Form", isCheck, "Subscribe"))
			},
			wait: func(*harness.System, *harness.Agent) made {
				return made{elementIs(isCheck, "Subscribe", checked, false), true}
			},
		},
		{
			name: "an element not in a state", comes: func(s *harness.System) error {
				return s.Desk.DisableElement(s.Object("Form", isButton, "Submit"), true)
			},
			wait: func(*harness.System, *harness.Agent) made {
				return made{elementIs(isButton, "Submit", commonv1.ElementState_ELEMENT_STATE_ENABLED, true), true}
			},
		},
		{
			name: "an element that is there", comes: func(s *harness.System) error {
				return s.Desk.ToggleByUser(s.Object("Form", commonv1.Role_ROLE_DISCLOSURE, "Details"))
			},
			wait: func(*harness.System, *harness.Agent) made {
				return made{elementIs(isCheck, "Advanced", 0, false), true}
			},
		},
		{
			name: "an element that is gone", comes: func(s *harness.System) error {
				return s.Desk.RemoveElement(s.Object("Form", isButton, "More"))
			},
			wait: func(*harness.System, *harness.Agent) made { return made{elementIs(isButton, "More", 0, true), true} },
		},
		{
			name: "a state of what is ambiguous", wait: func(s *harness.System, _ *harness.Agent) made {
				_, _, err := s.Desk.SplitElement(s.Object("Form", isCheck, "Subscribe"))
				s.Must(err)
				return made{elementIs(isCheck, "Subscribe", checked, true), true}
			},
		},
		{
			name: "a window that opens", comes: func(s *harness.System) error {
				_, err := s.Desk.OpenModal(s.Window("Form").ID)
				return err
			},
			wait: func(*harness.System, *harness.Agent) made {
				return made{&hostv1.WaitForRequest{Condition: &hostv1.WaitForRequest_WindowOpened{WindowOpened: form}}, false}
			},
		},
		{
			name: "a window that closes", comes: func(s *harness.System) error { return s.Desk.CloseWindow(s.Window("Form").ID) },
			wait: func(_ *harness.System, a *harness.Agent) made {
				return made{&hostv1.WaitForRequest{
					Condition: &hostv1.WaitForRequest_WindowClosed{WindowClosed: a.Frame.GetWindow()},
				}, false}
			},
		},
		{
			name: "a window whose id another one has now", comes: func(s *harness.System) error {
				return s.Desk.RecycleWindow(s.Window("Form").ID)
			},
			wait: func(_ *harness.System, a *harness.Agent) made {
				return made{&hostv1.WaitForRequest{
					Condition: &hostv1.WaitForRequest_WindowClosed{WindowClosed: a.Frame.GetWindow()},
				}, false}
			},
		},
		{
			name: "quiet", at: true, wait: func(*harness.System, *harness.Agent) made {
				return made{&hostv1.WaitForRequest{Condition: &hostv1.WaitForRequest_QuietMs{QuietMs: 200}}, true}
			},
		},
		{
			name: "a while", at: true, wait: func(*harness.System, *harness.Agent) made { return made{durationOf(80), false} },
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, happens := range []bool{true, false} {
				if tt.at && !happens || tt.comes == nil && !tt.at && happens {
					continue
				}
				s := harness.Start(t, harness.Options{})
				a := ready(t, s, form, "Form")
				before := a.State().GetFrame()
				m := tt.wait(s, a)
				if m.window {
					m.req.Target = &hostv1.WaitForRequest_Window{Window: a.Frame.GetWindow()}
				}
				m.req.TimeoutMs = 10_000
				if !happens {
					m.req.TimeoutMs = 300
				}
				began := time.Now()
				waiting := a.Wish(m.req)
				if happens && tt.comes != nil {
					pending(t, waiting)
					s.Must(tt.comes(s))
				}
				r := a.Waited(waiting)
				took := time.Since(began)
				harness.Refused(t, r.GetRefusal(), 0)
				if r.GetSatisfied() != happens || r.GetObservation() != nil {
					t.Errorf("satisfied %v, want %v, after %v", r.GetSatisfied(), happens, took)
				}
				if happens && took > 3*time.Second || !happens && (took < 300*time.Millisecond || r.GetWaitedMs() < 300) {
					t.Errorf("it took %v, %d ms by its own account", took, r.GetWaitedMs())
				}
				if opened := r.GetOpened() != nil; opened != (happens && m.req.GetWindowOpened() != "") {
					t.Errorf("opened %v", r.GetOpened())
				}
				if after := a.State().GetFrame(); after.GetFrameId() != before.GetFrameId() {
					t.Error("the frame is another one")
				}
			}
		})
	}
}

// pending fails the test when a wait is answered within some of its looks.
func pending(t *testing.T, waiting <-chan *hostv1.WaitForResponse) {
	t.Helper()
	timer := time.NewTimer(120 * time.Millisecond)
	defer timer.Stop()
	select {
	case r := <-waiting:
		t.Fatalf("answered before it was true: %v", r)
	case <-timer.C:
	}
}

// C2.4: looks of a wait supersede nothing, so an act on the frame of before still goes.
func TestWaitLeavesTheFrameToActOn(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	a := ready(t, s, form, "Form")
	req := textPresent("Account")
	req.Target = &hostv1.WaitForRequest_Window{Window: a.Frame.GetWindow()}
	for range 10 { // more than a session's snapshots
		if r := a.WaitFor(req); !r.GetSatisfied() {
			t.Fatalf("%v", r)
		}
	}
	harness.Verified(t, a.Do(harness.SetValue(a.Element(isText, "Name").GetId(), "x")), valueReadback)
}

// protocol.md: a wait registers a frame only when it returns a tree.
func TestWaitThatObservesRegistersTheFrameItReturns(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	a := ready(t, s, form, "Form")
	old := a.Frame.GetFrame()
	req := textPresent("done")
	req.Target = &hostv1.WaitForRequest_Window{Window: a.Frame.GetWindow()}
	req.Observe, req.Picture, req.Render = true, true, commonv1.Render_RENDER_BOTH
	req.TimeoutMs = 200
	if r := a.WaitFor(req); r.GetSatisfied() || r.GetObservation() != nil || a.State().GetFrame().GetFrameId() != old.GetFrameId() {
		t.Errorf("ran out: %v", r)
	}
	req.TimeoutMs = 0
	waiting := a.Wish(req)
	pending(t, waiting)
	s.Must(s.Desk.Relabel(s.Object("Form", commonv1.Role_ROLE_LABEL, "Ready"), "done"))
	r := a.Waited(waiting)
	o := r.GetObservation()
	if !r.GetSatisfied() || o == nil || o.GetPicture() == nil || !harness.Shows(o, "done") ||
		a.State().GetFrame().GetFrameId() != o.GetFrame().GetFrameId() {
		t.Fatalf("satisfied %v, observation %v", r.GetSatisfied(), o != nil)
	}
	harness.NothingSent(t, a.DoOn(old, press(a, "More")), refusal.StaleFrame)
	harness.Verified(t, a.Do(press(a, "More")), windowSet)
}

// C2.6, C4.5: a wait holds a ticket like every read: stop, pause and lock end it, whatever
// it would have seen.
func TestWaitThatIsStoppedTellsNothing(t *testing.T) {
	for _, tt := range []struct {
		name string
		stop func(*harness.System, *harness.User, *harness.Agent)
		want refusal.Code
	}{
		{"stop", func(_ *harness.System, u *harness.User, a *harness.Agent) { u.Stop(a.ID()) }, refusal.UserStopped},
		{"stop all", func(_ *harness.System, u *harness.User, _ *harness.Agent) { u.StopAll() }, refusal.UserStopped},
		{"pause", func(_ *harness.System, u *harness.User, a *harness.Agent) { u.Pause(a.ID()) }, refusal.Paused},
		{"the end of the turn", func(_ *harness.System, _ *harness.User, a *harness.Agent) { a.EndTurn() }, refusal.TurnEnded},
		{"the lock", func(s *harness.System, _ *harness.User, a *harness.Agent) {
			s.Must(s.Desk.Lock())
			s.Await("it is locked", holdsAre(a, holdLocked))
		}, refusal.ScreenLocked},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := harness.Start(t, harness.Options{})
			user := s.User()
			a := ready(t, s, form, "Form")
			req := textPresent("after the stop")
			req.Target = &hostv1.WaitForRequest_Window{Window: a.Frame.GetWindow()}
			req.Observe = true
			waiting := a.Wish(req)
			pending(t, waiting)
			tt.stop(s, user, a)
			s.Must(s.Desk.Relabel(s.Object("Form", commonv1.Role_ROLE_LABEL, "Ready"), "after the stop"))
			began := time.Now()
			r := a.Waited(waiting)
			harness.Refused(t, r.GetRefusal(), tt.want)
			if r.GetSatisfied() || r.GetObservation() != nil || a.State().GetFrame() != nil {
				t.Errorf("%v", r)
			}
			if took := time.Since(began); took > 2*time.Second {
				t.Errorf("it went on for %v", took)
			}
		})
	}
}

// protocol.md: waits of 0 to 60 s; a request above the limit is refused, not clamped.
func TestWaitsAreBounded(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	a := ready(t, s, form, "Form")
	window := &hostv1.WaitForRequest_Window{Window: a.Frame.GetWindow()}
	longest := textPresent("Account")
	longest.Target, longest.TimeoutMs = window, waitMax
	if r := a.WaitFor(longest); !r.GetSatisfied() {
		t.Errorf("%v", r)
	}
	// The longest duration is taken; it is ended by the stop.
	waiting := a.Wish(durationOf(waitMax))
	pending(t, waiting)
	s.User().Stop(a.ID())
	harness.Refused(t, a.Waited(waiting).GetRefusal(), refusal.UserStopped)

	b := ready(t, s, form, "Form")
	tooLong := textPresent("Account")
	tooLong.Target, tooLong.TimeoutMs = window, waitMax+1
	quiet := func(ms uint32) *hostv1.WaitForRequest {
		return &hostv1.WaitForRequest{Target: window, Condition: &hostv1.WaitForRequest_QuietMs{QuietMs: ms}}
	}
	nowhere, observed := textPresent("Account"), &hostv1.WaitForRequest{
		Condition: &hostv1.WaitForRequest_WindowOpened{WindowOpened: form}, Observe: true,
	}
	for _, req := range []*hostv1.WaitForRequest{
		tooLong, durationOf(waitMax + 1), durationOf(0), quiet(0), quiet(10_001),
		{Target: window},
		nowhere, observed,
		textPresent(""),
	} {
		req.Fence, req.Session, req.TurnId = b.Fence, b.Session, b.Turn
		r, err := b.Observe.WaitFor(b.Context(), req)
		if harness.Status(t, err, codes.InvalidArgument); t.Failed() {
			t.Fatalf("%v answered %v", req, r)
		}
	}
}

// C3.6: no window is ever picked.
func TestWaitOnAnAppWithSeveralWindowsIsAmbiguous(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	a := ready(t, s, form, "Form")
	of := func(app string) *hostv1.WaitForRequest {
		req := textPresent("0")
		req.Target = &hostv1.WaitForRequest_AppId{AppId: app}
		return req
	}
	harness.Refused(t, a.WaitFor(of(form)).GetRefusal(), refusal.TargetAmbiguous)
	// Metadata of another app is not this session's to read.
	harness.Refused(t, a.WaitFor(of(calculator)).GetRefusal(), refusal.LeaseRequired)
	a.AcquireAll(calculator)
	if r := a.WaitFor(of(calculator)); !r.GetSatisfied() {
		t.Errorf("%v", r)
	}
	s.Must(s.Desk.Die(calculator))
	harness.Refused(t, a.WaitFor(of(calculator)).GetRefusal(), refusal.TargetMissing)
}

// A window that keeps changing is not quiet until it stops.
func TestQuietBeginsWhenTheLastChangeIsOver(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	a := ready(t, s, form, "Form")
	label := s.Object("Form", commonv1.Role_ROLE_LABEL, "Ready")
	waiting := a.Wish(&hostv1.WaitForRequest{
		Target:    &hostv1.WaitForRequest_Window{Window: a.Frame.GetWindow()},
		Condition: &hostv1.WaitForRequest_QuietMs{QuietMs: 400},
	})
	tick := time.NewTicker(60 * time.Millisecond)
	defer tick.Stop()
	var last time.Time
	for i := range 20 {
		<-tick.C
		last = time.Now()
		s.Must(s.Desk.Relabel(label, []string{"tick", "tock"}[i%2]))
	}
	r := a.Waited(waiting)
	if quiet := time.Since(last); !r.GetSatisfied() || quiet < 350*time.Millisecond {
		t.Errorf("satisfied %v, %v after the last change", r.GetSatisfied(), quiet)
	}
}
