package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"google.golang.org/grpc"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
)

// elementsMax is what an observation is asked to list at most.
const elementsMax = 5000

// client is an agent with one session that looks at one window. A session has one
// current frame, so windows that are measured in turns have a session each.
type client struct {
	lease   hostv1.LeaseServiceClient
	look    hostv1.ObserveServiceClient
	acts    hostv1.ActServiceClient
	fence   *commonv1.Fence
	session *commonv1.SessionRef
	turn    string
	window  *commonv1.WindowIdentity
	frame   *commonv1.FrameRef
	// check is the id of a check box; ids are stable over the revisions of a window.
	check uint32
	seen  uint32
	sent  int
}

// newClient opens a session and begins a turn.
func newClient(ctx context.Context, cc grpc.ClientConnInterface) (*client, error) {
	c := &client{
		lease: hostv1.NewLeaseServiceClient(cc), look: hostv1.NewObserveServiceClient(cc),
		acts: hostv1.NewActServiceClient(cc),
	}
	open, err := c.lease.OpenSession(ctx, &hostv1.OpenSessionRequest{ClientName: "bench"})
	if err := failed("OpenSession", open.GetRefusal(), err); err != nil {
		return nil, err
	}
	c.fence = open.GetFence()
	c.session = &commonv1.SessionRef{SessionId: open.GetSessionId(), SessionSecret: open.GetSessionSecret()}
	turn, err := c.lease.BeginTurn(ctx, &hostv1.BeginTurnRequest{Fence: c.fence, Session: c.session})
	if err := failed("BeginTurn", turn.GetRefusal(), err); err != nil {
		return nil, err
	}
	c.fence, c.turn = turn.GetFence(), turn.GetTurnId()
	return c, nil
}

func failed(call string, r *commonv1.Refusal, err error) error {
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", call, err)
	case r != nil:
		return fmt.Errorf("%s: %v", call, r.GetCode())
	}
	return nil
}

// onApp and onDesk are what a lease may be on.
func onApp(app string) *commonv1.Target {
	return &commonv1.Target{Target: &commonv1.Target_App{App: &commonv1.AppTarget{AppId: app}}}
}

func onDesk() *commonv1.Target {
	return &commonv1.Target{Target: &commonv1.Target_Desk{Desk: &commonv1.DeskTarget{}}}
}

// acquire leases classes on a target.
func (c *client) acquire(ctx context.Context, on *commonv1.Target, classes ...commonv1.LeaseClass) error {
	for _, class := range classes {
		r, err := c.lease.Acquire(ctx, &hostv1.AcquireRequest{
			Fence: c.fence, Session: c.session, TurnId: c.turn, Class: class, Target: on,
		})
		if err := failed("Acquire", r.GetRefusal(), err); err != nil {
			return err
		}
		c.fence = r.GetFence()
	}
	return nil
}

// list lists the windows.
func (c *client) list(ctx context.Context) ([]*hostv1.Window, error) {
	r, err := c.look.ListWindows(ctx, &hostv1.ListWindowsRequest{Fence: c.fence, Session: c.session, TurnId: c.turn})
	if err := failed("ListWindows", r.GetRefusal(), err); err != nil {
		return nil, err
	}
	c.fence = r.GetFence()
	return r.GetWindows(), nil
}

// find takes the window of an app and title, and the first check box in it.
func (c *client) find(ctx context.Context, app, title string) error {
	windows, err := c.list(ctx)
	if err != nil {
		return err
	}
	for _, w := range windows {
		if w.GetWindow().GetAppId() == app && w.GetTitle() == title {
			c.window = w.GetWindow()
		}
	}
	if c.window == nil {
		return fmt.Errorf("there is no window %q", title)
	}
	o, err := c.observe(ctx, commonv1.Render_RENDER_ELEMENTS)
	if err != nil {
		return err
	}
	for _, e := range o.GetElements() {
		if e.GetRole() == commonv1.Role_ROLE_CHECK_BOX && c.check == 0 {
			c.check = e.GetId()
		}
	}
	return nil
}

// observe looks at the window; the outline is what an agent gets that asks for nothing
// else.
func (c *client) observe(ctx context.Context, render commonv1.Render) (*commonv1.Observation, error) {
	r, err := c.look.Observe(ctx, &hostv1.ObserveRequest{
		Fence: c.fence, Session: c.session, TurnId: c.turn, Render: render, MaxElements: elementsMax,
		Target: &hostv1.ObserveRequest_Window{Window: c.window},
	})
	if err := failed("Observe", r.GetRefusal(), err); err != nil {
		return nil, err
	}
	c.fence, c.frame, c.seen = r.GetFence(), r.GetObservation().GetFrame(), r.GetObservation().GetElementCount()
	return r.GetObservation(), nil
}

func (c *client) outline(ctx context.Context) error {
	_, err := c.observe(ctx, commonv1.Render_RENDER_OUTLINE)
	return err
}

// toggle clicks the check box on the frame of the act before, or of an observation.
func (c *client) toggle(ctx context.Context) error {
	c.sent++
	r, err := c.acts.Act(ctx, &hostv1.ActRequest{
		Fence: c.fence, Session: c.session, TurnId: c.turn, ActId: "a" + strconv.Itoa(c.sent), Frame: c.frame,
		Act: &commonv1.Act{Act: &commonv1.Act_ClickElement{
			ClickElement: &commonv1.ClickElement{ElementId: c.check},
		}},
		After: &hostv1.After{Render: commonv1.Render_RENDER_OUTLINE, Picture: hostv1.PictureWish_PICTURE_WISH_WITHOUT},
	})
	if err := failed("Act", r.GetRefusal(), err); err != nil {
		return err
	}
	if !r.GetVerified() || r.GetObservation() == nil {
		return errors.New("an act was not verified")
	}
	c.fence, c.frame = r.GetFence(), r.GetObservation().GetFrame()
	return nil
}
