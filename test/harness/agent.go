package harness

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
)

// callMax bounds one call of a test.
const callMax = 15 * time.Second

// Agent is a client with one session. It copies the fence of each answer into the
// next request, as any client must.
type Agent struct {
	Lease   hostv1.LeaseServiceClient
	Observe hostv1.ObserveServiceClient
	Acts    hostv1.ActServiceClient
	Release hostv1.ReleaseServiceClient
	Session *commonv1.SessionRef
	Turn    string
	Fence   *commonv1.Fence
	// Frame is the latest observation.
	Frame *commonv1.Observation

	tb   testing.TB
	acts atomic.Int64
}

// NewAgent opens a session and begins a turn.
func NewAgent(tb testing.TB, cc grpc.ClientConnInterface) *Agent {
	tb.Helper()
	a := Connect(tb, cc)
	a.OpenSession(true)
	a.BeginTurn()
	return a
}

// Connect returns an agent without a session.
func Connect(tb testing.TB, cc grpc.ClientConnInterface) *Agent {
	return &Agent{
		tb: tb, Lease: hostv1.NewLeaseServiceClient(cc), Observe: hostv1.NewObserveServiceClient(cc),
		Acts: hostv1.NewActServiceClient(cc), Release: hostv1.NewReleaseServiceClient(cc),
	}
}

// Agent opens another session on the system's agent socket.
func (s *System) Agent() *Agent {
	s.tb.Helper()
	return NewAgent(s.tb, s.Dial("agent"))
}

// AgentOf opens another session whose failures are a subtest's.
func (s *System) AgentOf(tb testing.TB) *Agent {
	tb.Helper()
	return NewAgent(tb, s.Dial("agent"))
}

// Context is bounded by the test and by the longest call.
func (a *Agent) Context() context.Context {
	ctx, cancel := context.WithTimeout(a.tb.Context(), callMax)
	a.tb.Cleanup(cancel)
	return ctx
}

func (a *Agent) no(what string, r *commonv1.Refusal, err error) {
	a.tb.Helper()
	if err != nil {
		a.tb.Fatalf("%s: %v", what, err)
	}
	if r != nil {
		a.tb.Fatalf("%s: %v (%v)", what, r.GetCode(), r.GetDetail())
	}
}

// OpenSession opens the session.
func (a *Agent) OpenSession(vision bool) {
	a.tb.Helper()
	a.Open(&hostv1.OpenSessionRequest{
		ClientName: "test", Vision: vision, PictureDestination: hostv1.PictureDestination_PICTURE_DESTINATION_LOCAL,
	})
}

// Open opens the session as a client that declares what it likes.
func (a *Agent) Open(req *hostv1.OpenSessionRequest) {
	a.tb.Helper()
	r, err := a.Lease.OpenSession(a.Context(), req)
	a.no("OpenSession", r.GetRefusal(), err)
	a.Fence = r.GetFence()
	a.Session = &commonv1.SessionRef{SessionId: r.GetSessionId(), SessionSecret: r.GetSessionSecret()}
}

// BeginTurn begins a turn.
func (a *Agent) BeginTurn() {
	a.tb.Helper()
	r, err := a.Lease.BeginTurn(a.Context(), &hostv1.BeginTurnRequest{Fence: a.Fence, Session: a.Session})
	a.no("BeginTurn", r.GetRefusal(), err)
	a.Fence, a.Turn = r.GetFence(), r.GetTurnId()
}

// TryBeginTurn begins a turn if it may, and returns why not.
func (a *Agent) TryBeginTurn() *commonv1.Refusal {
	a.tb.Helper()
	r, err := a.Lease.BeginTurn(a.Context(), &hostv1.BeginTurnRequest{Fence: a.Fence, Session: a.Session})
	a.no("BeginTurn", nil, err)
	a.Fence = r.GetFence()
	if r.GetRefusal() == nil {
		a.Turn = r.GetTurnId()
	}
	return r.GetRefusal()
}

// GiveBack gives up a lease and reports whether it was live.
func (a *Agent) GiveBack(lease string) bool {
	a.tb.Helper()
	r, err := a.Release.Release(a.Context(), &hostv1.ReleaseRequest{Session: a.Session, LeaseId: lease})
	a.no("Release", r.GetRefusal(), err)
	return r.GetReleased()
}

// EndTurn ends the running turn.
func (a *Agent) EndTurn() {
	a.tb.Helper()
	r, err := a.Release.EndTurn(a.Context(), &hostv1.EndTurnRequest{Session: a.Session, TurnId: a.Turn})
	a.no("EndTurn", r.GetRefusal(), err)
	a.Fence = r.GetFence()
}

// EndSession ends the session.
func (a *Agent) EndSession() {
	a.tb.Helper()
	r, err := a.Release.EndSession(a.Context(), &hostv1.EndSessionRequest{Session: a.Session})
	a.no("EndSession", r.GetRefusal(), err)
}

// Acquire asks for a lease and returns the whole answer.
func (a *Agent) Acquire(class commonv1.LeaseClass, target *commonv1.Target) *hostv1.AcquireResponse {
	a.tb.Helper()
	r, err := a.Lease.Acquire(a.Context(), &hostv1.AcquireRequest{
		Fence: a.Fence, Session: a.Session, TurnId: a.Turn, Class: class, Target: target,
	})
	if err != nil {
		a.tb.Fatalf("Acquire: %v", err)
	}
	a.Fence = r.GetFence()
	return r
}

// AcquireAll leases everything the demo bundle gives on an app.
func (a *Agent) AcquireAll(app string) {
	a.tb.Helper()
	for _, c := range []commonv1.LeaseClass{
		commonv1.LeaseClass_LEASE_CLASS_METADATA_READ, commonv1.LeaseClass_LEASE_CLASS_SCREENSHOT_READ,
		commonv1.LeaseClass_LEASE_CLASS_SEMANTIC_MUTATION, commonv1.LeaseClass_LEASE_CLASS_KEYBOARD_MUTATION,
	} {
		if r := a.Acquire(c, App(app)); r.GetRefusal() != nil {
			a.tb.Fatalf("Acquire %v on %s: %v", c, app, r.GetRefusal().GetCode())
		}
	}
}

// Windows lists windows.
func (a *Agent) Windows(app string) []*hostv1.Window {
	a.tb.Helper()
	r, err := a.Observe.ListWindows(a.Context(), &hostv1.ListWindowsRequest{
		Fence: a.Fence, Session: a.Session, TurnId: a.Turn, AppId: app,
	})
	a.no("ListWindows", r.GetRefusal(), err)
	a.Fence = r.GetFence()
	return r.GetWindows()
}

// Look observes and returns the whole answer.
func (a *Agent) Look(req *hostv1.ObserveRequest) *hostv1.ObserveResponse {
	a.tb.Helper()
	req.Fence, req.Session, req.TurnId = a.Fence, a.Session, a.Turn
	if req.GetRender() == 0 {
		req.Render = commonv1.Render_RENDER_BOTH
	}
	r, err := a.Observe.Observe(a.Context(), req)
	if err != nil {
		a.tb.Fatalf("Observe: %v", err)
	}
	a.Fence = r.GetFence()
	if r.GetObservation() != nil {
		a.Frame = r.GetObservation()
	}
	return r
}

// See observes the window of an app that has one such title, or fails the test.
func (a *Agent) See(app, title string) *commonv1.Observation {
	a.tb.Helper()
	for _, w := range a.Windows(app) {
		if w.GetTitle() == title {
			r := a.Look(&hostv1.ObserveRequest{Target: &hostv1.ObserveRequest_Window{Window: w.GetWindow()}})
			a.no("Observe "+title, r.GetRefusal(), nil)
			return r.GetObservation()
		}
	}
	a.tb.Fatalf("no window %q of %s", title, app)
	return nil
}

// Do acts on the latest frame and returns the whole answer.
func (a *Agent) Do(act *commonv1.Act) *hostv1.ActResponse {
	a.tb.Helper()
	return a.DoOn(a.Frame.GetFrame(), act)
}

// DoOn acts on a frame.
func (a *Agent) DoOn(frame *commonv1.FrameRef, act *commonv1.Act) *hostv1.ActResponse {
	a.tb.Helper()
	r, err := a.Send(&hostv1.ActRequest{Frame: frame, Act: act})
	if err != nil {
		a.tb.Fatalf("Act: %v", err)
	}
	return r
}

// Send sends an act request with the agent's session, and an act id of its own when
// the request has none.
func (a *Agent) Send(req *hostv1.ActRequest) (*hostv1.ActResponse, error) {
	a.Fill(req)
	r, err := a.Acts.Act(a.Context(), req)
	a.Fence = orElse(r.GetFence(), a.Fence)
	if r.GetObservation() != nil {
		a.Frame = r.GetObservation()
	}
	return r, err
}

// Fill fills in the agent's session, turn, fence and a fresh act id.
func (a *Agent) Fill(req *hostv1.ActRequest) {
	req.Fence, req.Session, req.TurnId = a.Fence, a.Session, a.Turn
	if req.GetActId() == "" {
		req.ActId = "act-" + strconv.FormatInt(a.acts.Add(1), 10)
	}
	if req.GetAfter() == nil {
		req.After = &hostv1.After{Render: commonv1.Render_RENDER_BOTH}
	}
}

func orElse(f, other *commonv1.Fence) *commonv1.Fence {
	if f != nil {
		return f
	}
	return other
}

// Element finds the one element of a role and name in the latest frame.
func (a *Agent) Element(role commonv1.Role, name string) *commonv1.Element {
	a.tb.Helper()
	e, err := Find(a.Frame, role, name)
	if err != nil {
		a.tb.Fatal(err)
	}
	return e
}

// Find finds the one element of a role and name.
func Find(o *commonv1.Observation, role commonv1.Role, name string) (*commonv1.Element, error) {
	var found []*commonv1.Element
	for _, e := range o.GetElements() {
		if e.GetRole() == role && e.GetName() == name {
			found = append(found, e)
		}
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("%d elements of role %v and name %q in\n%s", len(found), role, name, o.GetOutline())
	}
	return found[0], nil
}

// Shows reports whether any element's name or value contains the text.
func Shows(o *commonv1.Observation, text string) bool {
	for _, e := range o.GetElements() {
		if strings.Contains(e.GetName(), text) || strings.Contains(e.GetValue(), text) {
			return true
		}
	}
	return false
}
