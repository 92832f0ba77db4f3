package executor

import (
	"context"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
	"fairlead.dev/services/shared/refusal"
)

// ListApps lists apps under a read permit for the desk.
func (l *hostLink) ListApps(
	ctx context.Context, req *executorv1.ListAppsRequest,
) (*executorv1.ListAppsResponse, error) {
	fence, err := l.e.gate(req.GetFence())
	if err != nil {
		return nil, err
	}
	defer l.e.calls.Done()
	out := &executorv1.ListAppsResponse{Fence: fence}
	apps, err := l.e.apps(ctx, req)
	if err != nil {
		out.Code, _ = l.e.told(err, commonv1.Stage_STAGE_WALK)
		return out, nil
	}
	out.Apps, out.Truncated = fromApps(apps)
	return out, nil
}

func (e *Executor) apps(ctx context.Context, req *executorv1.ListAppsRequest) ([]App, error) {
	s, a := e.session(req.GetSessionId())
	if a != 0 {
		return nil, Fail(a)
	}
	scopes, a := e.scopes(s, req.GetPermit())
	if a == 0 && !scopes[0].desk {
		a = refusal.AnswerPermitMismatch
	}
	if a != 0 {
		return nil, Fail(a)
	}
	if err := e.unlocked(ctx); err != nil {
		return nil, err
	}
	return e.cfg.Platform.Apps(ctx, req.GetFilter())
}

// scopes checks read permits; each must hold.
func (e *Executor) scopes(s *session, permits ...*commonv1.Permit) ([]scope, refusal.Answer) {
	out := make([]scope, 0, len(permits))
	for _, p := range permits {
		h, a := e.hold(p, commonv1.PermitKind_PERMIT_KIND_READ, s)
		if a != 0 {
			return nil, a
		}
		sc, a := h.scopeOf(commonv1.LeaseClass_LEASE_CLASS_METADATA_READ)
		if a != 0 {
			return nil, a
		}
		out = append(out, sc)
	}
	if len(out) == 0 {
		return nil, refusal.AnswerPermitMissing
	}
	return out, 0
}

// ListWindows lists windows under read permits: every identity when one of them is for
// the desk, titles and places only where one covers the app or the window (C10.4).
func (l *hostLink) ListWindows(
	ctx context.Context, req *executorv1.ListWindowsRequest,
) (*executorv1.ListWindowsResponse, error) {
	fence, err := l.e.gate(req.GetFence())
	if err != nil {
		return nil, err
	}
	defer l.e.calls.Done()
	out := &executorv1.ListWindowsResponse{Fence: fence}
	windows, scopes, err := l.e.windows(ctx, req)
	if err != nil {
		out.Code, _ = l.e.told(err, commonv1.Stage_STAGE_WALK)
		return out, nil
	}
	for i := range windows {
		facts := windowFacts(&windows[i], scopes)
		switch {
		case facts == nil:
		case len(out.Windows) == listMax:
			out.Truncated = true
		default:
			out.Windows = append(out.Windows, facts)
		}
	}
	return out, nil
}

func (e *Executor) windows(ctx context.Context, req *executorv1.ListWindowsRequest) ([]Window, []scope, error) {
	s, a := e.session(req.GetSessionId())
	if a != 0 {
		return nil, nil, Fail(a)
	}
	scopes, a := e.scopes(s, req.GetPermits()...)
	if a != 0 {
		return nil, nil, Fail(a)
	}
	if err := e.unlocked(ctx); err != nil {
		return nil, nil, err
	}
	windows, err := e.cfg.Platform.Windows(ctx)
	return windows, scopes, err
}

// windowFacts is a window as the scopes allow it to be shown, nil for not at all.
func windowFacts(w *Window, scopes []scope) *executorv1.WindowFacts {
	var listed, covered bool
	for _, s := range scopes {
		listed = listed || s.desk
		covered = covered || s.covers(w.Identity)
	}
	if !listed && !covered {
		return nil
	}
	f := &executorv1.WindowFacts{
		Window: fromWindow(w.Identity), Stacking: uint32(max(0, w.Stacking)),
		Hidden: w.Hidden, Dialog: w.Dialog, Modal: w.Modal,
	}
	if covered {
		f.Title, f.Bounds = clean(w.Title, nameMax), fromRect(w.Bounds)
	}
	return f
}

// debugSocket serves structure without content, and nothing that acts.
type debugSocket struct {
	executorv1.UnimplementedDebugServiceServer
	e *Executor
}

func (e *Executor) debugFence() (*commonv1.Fence, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.state.ended {
		return nil, refusal.Unavailable("the incarnation ended")
	}
	e.calls.Add(1)
	return fromFence(e.state.fence), nil
}

// ListWindowIdentities lists windows without titles.
func (d *debugSocket) ListWindowIdentities(
	ctx context.Context, _ *executorv1.ListWindowIdentitiesRequest,
) (*executorv1.ListWindowIdentitiesResponse, error) {
	fence, err := d.e.debugFence()
	if err != nil {
		return nil, err
	}
	defer d.e.calls.Done()
	windows, err := d.e.cfg.Platform.Windows(ctx)
	if err != nil {
		return nil, refusal.Unavailable("the windows could not be listed")
	}
	out := &executorv1.ListWindowIdentitiesResponse{Fence: fence}
	for i := range windows[:min(len(windows), listMax)] {
		out.Windows = append(out.Windows, fromWindow(windows[i].Identity))
	}
	return out, nil
}

// ReadRoles reads the roles and states of a window's tree.
func (d *debugSocket) ReadRoles(
	ctx context.Context, req *executorv1.ReadRolesRequest,
) (*executorv1.ReadRolesResponse, error) {
	fence, err := d.e.debugFence()
	if err != nil {
		return nil, err
	}
	defer d.e.calls.Done()
	windows, err := d.e.cfg.Platform.Windows(ctx)
	if err != nil {
		return nil, refusal.Unavailable("the windows could not be listed")
	}
	i := indexByID(windows, req.GetWindowId())
	if i < 0 {
		return nil, refusal.Unusable("no such window")
	}
	ask := wish{window: windows[i].Identity, limits: toLimits(nil), text: textMax}
	l, err := d.e.read(ctx, &windows[i], ask)
	if err != nil {
		return nil, refusal.Unavailable("the window could not be read")
	}
	return &executorv1.ReadRolesResponse{
		Fence: fence, Elements: roleFacts(l), Truncations: fromTruncations(l.truncations),
	}, nil
}

func indexByID(windows []Window, id uint64) int {
	for i := range windows {
		if windows[i].Identity.ID == id {
			return i
		}
	}
	return -1
}

func roleFacts(l *look) []*executorv1.RoleFacts {
	shared := map[States][]commonv1.ElementState{}
	out := make([]*executorv1.RoleFacts, 0, len(l.nodes))
	for i := range l.nodes {
		n := &l.nodes[i]
		out = append(out, &executorv1.RoleFacts{
			Depth: uint32(l.depths[i]), Role: n.Role, States: fromStates(shared, l.states(i)),
			Actions: n.Actions[:min(len(n.Actions), actionsMax)],
		})
	}
	return out
}
