package sessionhost

import (
	"context"
	"slices"
	"strings"
	"time"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
)

// Bounds of a wait.
const (
	waitDefault = 10 * time.Second
	waitMax     = 60 * time.Second
	// pollEvery is how often a wait looks when nothing tells it to look sooner.
	pollEvery = 250 * time.Millisecond
	// pollSoonest keeps a window that changes all the time from being read all the time.
	pollSoonest = 50 * time.Millisecond
)

// WaitFor waits for something to become true.
func (h *Host) WaitFor(ctx context.Context, req *hostv1.WaitForRequest) (*hostv1.WaitForResponse, error) {
	got, s, err := admitted(ctx, h, req, h.waitFor)
	resp := &hostv1.WaitForResponse{}
	if err == nil {
		resp = got
	}
	resp.Fence = h.fenceOf(s)
	resp.Refusal, err = s.told(err)
	return resp, err
}

// waitFor looks again and again, under one ticket. Looks of a wait are not kept and
// supersede nothing: the session's frame stays what it was, unless the caller asks for
// the window to be observed when the condition holds.
func (h *Host) waitFor(ctx context.Context, c *call, req *hostv1.WaitForRequest) (*hostv1.WaitForResponse, error) {
	l, err := c.looking(ctx)
	if err != nil {
		return nil, err
	}
	w := &waiting{c: c, l: l, req: req, began: time.Now()}
	if err := w.prepare(ctx); err != nil {
		return nil, c.failed(err)
	}
	for {
		stir := h.stirred()
		holds, err := w.holds(ctx)
		if err != nil {
			return nil, c.failed(err)
		}
		left := w.longest() - time.Since(w.began)
		if holds || left <= 0 {
			return w.answer(ctx, holds)
		}
		if err := w.pause(ctx, stir, left); err != nil {
			return nil, c.failed(err)
		}
	}
}

// waiting is one wait.
type waiting struct {
	c      *call
	l      looked
	req    *hostv1.WaitForRequest
	began  time.Time
	window ident.Window
	// before is the windows of the app when the wait began.
	before []ident.Window
	opened *commonv1.WindowIdentity
	// still is the latest tree and when it was first seen.
	still   []byte
	stillAt time.Time
}

func (w *waiting) longest() time.Duration {
	if d := w.req.GetDurationMs(); d != 0 {
		return time.Duration(d) * time.Millisecond
	}
	if t := w.req.GetTimeoutMs(); t != 0 {
		return time.Duration(t) * time.Millisecond
	}
	return waitDefault
}

// prepare finds the window a condition is about.
func (w *waiting) prepare(ctx context.Context) (err error) {
	named := w.req.GetWindow() != nil || w.req.GetAppId() != ""
	switch w.req.GetCondition().(type) {
	case *hostv1.WaitForRequest_WindowOpened:
		if w.before, err = w.windowsOf(ctx, w.req.GetWindowOpened()); err != nil {
			return err
		}
		if w.req.GetObserve() {
			return refusal.Unusable("observe goes with conditions on one window; observe the window that opened")
		}
		return nil
	case *hostv1.WaitForRequest_WindowClosed:
		if w.req.GetObserve() {
			return refusal.Unusable("observe goes with conditions on a window that is there")
		}
		return nil
	case *hostv1.WaitForRequest_DurationMs:
		if !named && !w.req.GetObserve() {
			return nil
		}
	}
	if !named {
		return refusal.Unusable("this wait needs a window or an app")
	}
	w.window, err = w.c.resolveWindow(ctx, w.l, w.req)
	return err
}

// holds looks once.
func (w *waiting) holds(ctx context.Context) (bool, error) {
	if err := w.c.still(ctx, w.l.ticket); err != nil {
		return false, err
	}
	switch x := w.req.GetCondition().(type) {
	case *hostv1.WaitForRequest_DurationMs:
		return time.Since(w.began) >= w.longest(), nil
	case *hostv1.WaitForRequest_WindowOpened:
		return w.openedSince(ctx, x.WindowOpened)
	case *hostv1.WaitForRequest_WindowClosed:
		now, err := w.windowsOf(ctx, x.WindowClosed.GetAppId())
		return err == nil && !slices.Contains(now, windowFromWire(x.WindowClosed)), err
	}
	seen, err := w.peek(ctx)
	if err != nil {
		return false, err
	}
	switch x := w.req.GetCondition().(type) {
	case *hostv1.WaitForRequest_TextPresent:
		return shows(seen, x.TextPresent), nil
	case *hostv1.WaitForRequest_TextAbsent:
		return !shows(seen, x.TextAbsent), nil
	case *hostv1.WaitForRequest_Element:
		return meets(seen, x.Element), nil
	case *hostv1.WaitForRequest_QuietMs:
		return w.quiet(seen, time.Duration(x.QuietMs)*time.Millisecond), nil
	}
	return false, refusal.Unusable("there is nothing to wait for")
}

func (w *waiting) openedSince(ctx context.Context, app string) (bool, error) {
	now, err := w.windowsOf(ctx, app)
	for _, one := range now {
		if !slices.Contains(w.before, one) {
			w.opened = windowToWire(one)
			return true, nil
		}
	}
	return false, err
}

func (w *waiting) windowsOf(ctx context.Context, app string) ([]ident.Window, error) {
	list, err := w.c.windows(ctx, w.l)
	if err != nil {
		return nil, err
	}
	var out []ident.Window
	for _, one := range list.GetWindows() {
		if one.GetWindow().GetAppId() == app {
			out = append(out, windowFromWire(one.GetWindow()))
		}
	}
	return out, nil
}

// peek reads the window without keeping what is read.
func (w *waiting) peek(ctx context.Context) (*seenWindow, error) {
	order, _, err := w.c.snapshotOrder(ctx, w.l, w.window, wish{})
	if err != nil {
		return nil, err
	}
	order.Peek = true
	return w.c.snapshot(ctx, w.l, order)
}

// quiet reports whether the tree has been the same for so long.
func (w *waiting) quiet(seen *seenWindow, long time.Duration) bool {
	now := seen.snap.GetContentDigest()
	if w.stillAt.IsZero() || !slices.Equal(now, w.still) {
		w.still, w.stillAt = slices.Clone(now), time.Now()
	}
	return time.Since(w.stillAt) >= long
}

// pause waits until it is worth looking again.
func (w *waiting) pause(ctx context.Context, stir <-chan struct{}, left time.Duration) error {
	ctx, cancel := w.c.patient(ctx)
	defer cancel()
	soon := time.NewTimer(min(pollSoonest, left))
	defer soon.Stop()
	late := time.NewTimer(min(pollEvery, left))
	defer late.Stop()
	select {
	case <-soon.C:
	case <-ctx.Done():
		return refusal.New(refusal.Aborted)
	}
	select {
	case <-stir:
	case <-late.C:
	case <-ctx.Done():
		return refusal.New(refusal.Aborted)
	}
	return nil
}

func (w *waiting) answer(ctx context.Context, holds bool) (*hostv1.WaitForResponse, error) {
	resp := &hostv1.WaitForResponse{
		Satisfied: holds, WaitedMs: uint32(time.Since(w.began).Milliseconds()), Opened: w.opened,
	}
	if !holds || !w.req.GetObserve() {
		return resp, w.c.still(ctx, w.l.ticket)
	}
	var err error
	resp.Observation, err = w.c.look(ctx, w.l, w.window, wish{
		limits: &executorv1.TreeLimits{}, picture: w.req.GetPicture(), format: w.req.GetFormat(),
		render: w.req.GetRender(),
	})
	return resp, err
}

// shows reports whether a text is in the name or value of an element.
func shows(seen *seenWindow, text string) bool {
	for _, e := range seen.snap.GetElements() {
		if strings.Contains(e.GetName(), text) || strings.Contains(e.GetValue(), text) {
			return true
		}
	}
	return false
}

// meets reports whether the one element of a role and name is in a state. None and
// several meet nothing but an absence without a state.
func meets(seen *seenWindow, want *hostv1.ElementCondition) bool {
	var found []*commonv1.Element
	for _, e := range seen.snap.GetElements() {
		if e.GetRole() == want.GetRole() && e.GetName() == want.GetName() {
			found = append(found, e)
		}
	}
	if want.GetState() == commonv1.ElementState_ELEMENT_STATE_UNSPECIFIED {
		return (len(found) > 0) != want.GetAbsent()
	}
	return len(found) == 1 && slices.Contains(found[0].GetStates(), want.GetState()) != want.GetAbsent()
}

// GetCursor tells where the pointers are. It reads and moves nothing.
func (h *Host) GetCursor(ctx context.Context, req *hostv1.GetCursorRequest) (*hostv1.GetCursorResponse, error) {
	got, s, err := admitted(ctx, h, req, h.cursor)
	resp := &hostv1.GetCursorResponse{Fence: h.fenceOf(s)}
	if err == nil {
		resp.User, resp.Agent = got.GetUserPointer(), got.GetAgentPointer()
	}
	resp.Refusal, err = s.told(err)
	return resp, err
}

func (h *Host) cursor(
	ctx context.Context, c *call, _ *hostv1.GetCursorRequest,
) (*executorv1.GetDeskResponse, error) {
	l, err := c.looking(ctx)
	if err != nil {
		return nil, err
	}
	class := commonv1.LeaseClass_LEASE_CLASS_METADATA_READ
	desk, err := c.readPermit(ctx, l.policy, l.executor, class, ident.Window{})
	if err != nil {
		return nil, c.failed(err)
	}
	got, err := l.executor.GetDesk(ctx, &executorv1.GetDeskRequest{SessionId: string(c.s.id), Permit: desk})
	if err != nil {
		return nil, c.failed(err)
	}
	return got, c.still(ctx, l.ticket)
}
