package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	"fairlead.dev/services/shared/ident"
)

// agent is the demo's agent: a client of the public services with one session. It copies
// the fence of each answer into its next request.
type agent struct {
	leases  hostv1.LeaseServiceClient
	observe hostv1.ObserveServiceClient
	acts    hostv1.ActServiceClient

	session *commonv1.SessionRef
	turn    string
	fence   *commonv1.Fence
	// seen is the latest observation that lists elements.
	seen *commonv1.Observation
}

func newAgent(conn grpc.ClientConnInterface) *agent {
	return &agent{
		leases: hostv1.NewLeaseServiceClient(conn), observe: hostv1.NewObserveServiceClient(conn),
		acts: hostv1.NewActServiceClient(conn),
	}
}

// refusedError is a no that did not belong there.
type refusedError struct{ refusal *commonv1.Refusal }

func (e *refusedError) Error() string {
	return fmt.Sprintf("%s: %s", code(e.refusal), e.refusal.GetSentence())
}

func code(r *commonv1.Refusal) string {
	return strings.TrimPrefix(r.GetCode().String(), "REFUSAL_CODE_")
}

// answer is what every response has.
type answer interface {
	GetFence() *commonv1.Fence
	GetRefusal() *commonv1.Refusal
}

// took keeps the fence and turns a refusal into an error.
func (a *agent) took(r answer, err error) error {
	if err != nil {
		return fmt.Errorf("the host did not answer: %w", err)
	}
	a.fence = r.GetFence()
	if no := r.GetRefusal(); no != nil {
		return &refusedError{no}
	}
	return nil
}

func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, callMax)
}

func (a *agent) open(ctx context.Context) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	r, err := a.leases.OpenSession(ctx, &hostv1.OpenSessionRequest{ClientName: "fairlead demo"})
	if err := a.took(r, err); err != nil {
		return err
	}
	a.session = &commonv1.SessionRef{SessionId: r.GetSessionId(), SessionSecret: r.GetSessionSecret()}
	return nil
}

func (a *agent) begin(ctx context.Context) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	r, err := a.leases.BeginTurn(ctx, &hostv1.BeginTurnRequest{Fence: a.fence, Session: a.session})
	a.turn = r.GetTurnId()
	return a.took(r, err)
}

// acquire asks for a lease on an app, or on the list of apps when app is empty.
func (a *agent) acquire(ctx context.Context, class commonv1.LeaseClass, app string) (*commonv1.Lease, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	target := &commonv1.Target{Target: &commonv1.Target_Desk{Desk: &commonv1.DeskTarget{}}}
	if app != "" {
		target = &commonv1.Target{Target: &commonv1.Target_App{App: &commonv1.AppTarget{AppId: app}}}
	}
	r, err := a.leases.Acquire(ctx, &hostv1.AcquireRequest{
		Fence: a.fence, Session: a.session, TurnId: a.turn, Class: class, Target: target,
		Reason: commonv1.AcquireReason_ACQUIRE_REASON_TASK,
	})
	return r.GetLease(), a.took(r, err)
}

// running reports whether an app runs with a window.
func (a *agent) running(ctx context.Context, app string) (bool, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	r, err := a.observe.ListApps(ctx, &hostv1.ListAppsRequest{Fence: a.fence, Session: a.session, TurnId: a.turn})
	if err := a.took(r, err); err != nil {
		return false, err
	}
	for _, x := range r.GetApps() {
		if x.GetAppId() == app {
			return x.GetWindows() > 0, nil
		}
	}
	return false, nil
}

// look observes the one window of an app.
func (a *agent) look(ctx context.Context, app string) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	r, err := a.observe.Observe(ctx, &hostv1.ObserveRequest{
		Fence: a.fence, Session: a.session, TurnId: a.turn,
		Target: &hostv1.ObserveRequest_AppId{AppId: app}, Render: commonv1.Render_RENDER_BOTH,
	})
	if err := a.took(r, err); err != nil {
		return err
	}
	a.seen = r.GetObservation()
	return nil
}

func (a *agent) launch(ctx context.Context, app string) (*hostv1.ActResponse, error) {
	return a.act(ctx, nil, &commonv1.Act{
		Act: &commonv1.Act_LaunchApp{LaunchApp: &commonv1.LaunchApp{AppId: app}},
	})
}

// press presses an element of a frame. What it returns may be a refusal too.
func (a *agent) press(ctx context.Context, frame *commonv1.FrameRef, id uint32) (*hostv1.ActResponse, error) {
	return a.act(ctx, frame, &commonv1.Act{
		Act: &commonv1.Act_ClickElement{ClickElement: &commonv1.ClickElement{ElementId: id}},
	})
}

func (a *agent) act(ctx context.Context, frame *commonv1.FrameRef, act *commonv1.Act) (*hostv1.ActResponse, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	r, err := a.acts.Act(ctx, &hostv1.ActRequest{
		Fence: a.fence, Session: a.session, TurnId: a.turn, ActId: ident.New("act"), Frame: frame, Act: act,
		After: &hostv1.After{
			Render: commonv1.Render_RENDER_BOTH, Picture: hostv1.PictureWish_PICTURE_WISH_WITHOUT,
		},
	})
	if err == nil && r.GetObservation() != nil {
		a.seen = r.GetObservation()
	}
	return r, a.took(r, err)
}

// errNoKey means that the window does not show what the demo needs.
var errNoKey = errors.New("the calculator does not show the key; close other calculators and try again")

// key finds the button of a key: by its name, or by the first word of its name, since
// some calculators name the key "7" "7 7".
func key(o *commonv1.Observation, want string) (uint32, error) {
	var exact, first []uint32
	for _, e := range o.GetElements() {
		if e.GetRole() != commonv1.Role_ROLE_BUTTON {
			continue
		}
		words := strings.Fields(e.GetName())
		switch {
		case e.GetName() == want:
			exact = append(exact, e.GetId())
		case len(words) > 0 && words[0] == want:
			first = append(first, e.GetId())
		}
	}
	for _, found := range [][]uint32{exact, first} {
		if len(found) == 1 {
			return found[0], nil
		}
	}
	return 0, errNoKey
}

// shows finds an element that shows a text, and says how.
func shows(o *commonv1.Observation, text string) (string, bool) {
	for _, e := range o.GetElements() {
		for _, s := range []string{e.GetValue(), e.GetName()} {
			if strings.Contains(s, text) {
				return fmt.Sprintf("%s %q", name(e.GetRole()), s), true
			}
		}
	}
	return "", false
}
