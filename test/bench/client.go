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

const (
	// elementsMax is what an observation is asked to list at most.
	elementsMax = 5000
	// triesMax is how often an act is tried on a window that others act on.
	triesMax = 1000
)

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
	// checks are the ids of the check boxes, and check is the one that is clicked; ids are
	// stable over the revisions of a window.
	checks []uint32
	check  uint32
	seen   uint32
	sent   int
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
	return c, c.begin(ctx)
}

// begin begins a turn.
func (c *client) begin(ctx context.Context) error {
	turn, err := c.lease.BeginTurn(ctx, &hostv1.BeginTurnRequest{Fence: c.fence, Session: c.session})
	if err := failed("BeginTurn", turn.GetRefusal(), err); err != nil {
		return err
	}
	c.fence, c.turn = turn.GetFence(), turn.GetTurnId()
	return nil
}

// mayAct leases on an app what observing and clicking need.
func (c *client) mayAct(ctx context.Context, app string) error {
	return c.acquire(ctx, onApp(app), commonv1.LeaseClass_LEASE_CLASS_METADATA_READ,
		commonv1.LeaseClass_LEASE_CLASS_SEMANTIC_MUTATION)
}

// on is a new agent with a connection of its own that looks at one window of an app.
func (b *bed) on(ctx context.Context, app, title string) (*client, error) {
	cc, err := b.dial(b.agent)
	if err != nil {
		return nil, err
	}
	c, err := newClient(ctx, cc)
	if err == nil {
		err = c.mayAct(ctx, app)
	}
	if err == nil {
		err = c.find(ctx, app, title)
	}
	return c, err
}

// many are n such agents, on windows of one title numbered from 1.
func (b *bed) many(ctx context.Context, app, title string, n int) ([]*client, error) {
	cs := make([]*client, n)
	for i := range cs {
		var err error
		if cs[i], err = b.on(ctx, app, numbered(title, i+1)); err != nil {
			return nil, err
		}
	}
	return cs, nil
}

func numbered(title string, n int) string { return title + " " + strconv.Itoa(n) }

// errRefused is in every error that is a refusal.
var errRefused = errors.New("refused")

func failed(call string, r *commonv1.Refusal, err error) error {
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", call, err)
	case r != nil:
		return fmt.Errorf("%s: %w: %v", call, errRefused, r.GetCode())
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

// find takes the window of an app and title, and the check boxes in it.
func (c *client) find(ctx context.Context, app, title string) error {
	windows, err := c.list(ctx)
	if err != nil {
		return err
	}
	c.window, c.checks, c.check = nil, nil, 0
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
		if e.GetRole() == commonv1.Role_ROLE_CHECK_BOX {
			c.checks = append(c.checks, e.GetId())
		}
	}
	if len(c.checks) == 0 {
		return fmt.Errorf("window %q has no check box", title)
	}
	c.check = c.checks[0]
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

// request is the next act: a click on the check box, on the latest frame.
func (c *client) request() *hostv1.ActRequest {
	c.sent++
	return &hostv1.ActRequest{
		Fence: c.fence, Session: c.session, TurnId: c.turn, ActId: "a" + strconv.Itoa(c.sent), Frame: c.frame,
		Act: &commonv1.Act{Act: &commonv1.Act_ClickElement{
			ClickElement: &commonv1.ClickElement{ElementId: c.check},
		}},
		After: &hostv1.After{Render: commonv1.Render_RENDER_OUTLINE, Picture: hostv1.PictureWish_PICTURE_WISH_WITHOUT},
	}
}

// click acts and takes what the answer says of fence and frame.
func (c *client) click(ctx context.Context) (*hostv1.ActResponse, error) {
	r, err := c.acts.Act(ctx, c.request())
	if err != nil {
		return nil, failed("Act", nil, err)
	}
	if f := r.GetFence(); f != nil {
		c.fence = f
	}
	if o := r.GetObservation(); o != nil {
		c.frame = o.GetFrame()
	}
	return r, nil
}

// toggle clicks the check box on the frame of the act before, or of an observation, and
// wants it verified.
func (c *client) toggle(ctx context.Context) error {
	r, err := c.click(ctx)
	if err := failed("Act", r.GetRefusal(), err); err != nil {
		return err
	}
	if !r.GetVerified() || r.GetObservation() == nil {
		return errors.New("an act was not verified")
	}
	return nil
}

// afresh looks and toggles, and again as long as it is refused: where much changes at
// once, anybody's frame may end.
func (c *client) afresh(ctx context.Context) error {
	for range triesMax {
		if err := await(ctx, c.outline); err != nil {
			return err
		}
		if err := c.toggle(ctx); !errors.Is(err, errRefused) {
			return err
		}
	}
	return errors.New("an act was refused on every frame")
}

// insist toggles although others act on the same window, which ends this session's frame
// and discards what it is reading (C2.5): it looks and tries again until an act is
// verified, and says how often it tried.
func (c *client) insist(ctx context.Context) (tries int, err error) {
	for tries = 1; tries <= triesMax; tries++ {
		r, err := c.click(ctx)
		if err != nil || r.GetVerified() {
			return tries, err
		}
		if r.GetRefusal().GetCode() != commonv1.RefusalCode_REFUSAL_CODE_REOBSERVE_REQUIRED {
			return tries, failed("Act", r.GetRefusal(), nil)
		}
		if err := c.outline(ctx); err != nil && !errors.Is(err, errRefused) {
			return tries, err
		}
	}
	return tries, errors.New("others always came first")
}
