package executor

import (
	"context"
	"log/slog"
	"sync"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
	"fairlead.dev/services/shared/telemetry"
)

// hostLink serves ExecutorService on the host's own link.
type hostLink struct {
	executorv1.UnimplementedExecutorServiceServer
	e *Executor
}

// gate lets a call in: the host is attached, and the generations it asserts are the
// current ones (C1.2). Whoever got in calls e.calls.Done when it is through.
func (e *Executor) gate(asserted *commonv1.Fence) (*commonv1.Fence, error) {
	return e.enterCall(func() error {
		f := e.state.fence
		// Policy's and the session's generations are theirs to check; the permit carries them.
		f.Policy, f.Session = ident.Generation(asserted.GetPolicy()), ident.Generation(asserted.GetSession())
		if !toFence(asserted).Holds(f) {
			return refusal.NotAllowed("stale fence")
		}
		return nil
	})
}

// pass lets in a call that is never fenced: it only takes away.
func (e *Executor) pass() (*commonv1.Fence, error) { return e.enterCall(func() error { return nil }) }

func (e *Executor) enterCall(fenced func() error) (*commonv1.Fence, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.state.ended:
		return nil, refusal.Unavailable("the incarnation ended")
	case !e.state.attached:
		return nil, refusal.NotAllowed("the host is not attached")
	}
	if err := fenced(); err != nil {
		return nil, err
	}
	e.calls.Add(1)
	return fromFence(e.state.fence), nil
}

// Attach is the link. Its first event is the handshake; its end, from either side, is
// the end of the incarnation (C9.3).
func (l *hostLink) Attach(req *executorv1.AttachRequest, stream executorv1.ExecutorService_AttachServer) error {
	fence, err := l.e.attach(req.GetFence())
	if err != nil {
		return err
	}
	defer l.e.calls.Done()
	defer l.e.end()
	ctx := stream.Context()
	l.e.cfg.Log.LogAttrs(ctx, slog.LevelInfo, "attached", telemetry.Generation(ident.Generation(fence.GetExecutor())))
	ctx, stop := context.WithCancel(ctx)
	changes, unsubscribe := l.e.cfg.Platform.Watch(0)
	defer unsubscribe()
	var reader sync.WaitGroup
	defer reader.Wait()
	defer stop()
	reader.Go(func() { l.e.follow(ctx, changes) })
	abilities := l.e.cfg.Platform.Abilities(ctx)
	l.e.lookAgain(ctx)
	hello := &executorv1.Handshake{
		Incarnation: l.e.incarnation[:], Version: clean(l.e.cfg.Version, 64),
		Platform: clean(l.e.cfg.Platform.Name(), 32), Abilities: fromAbilities(abilities),
		Locked: l.e.watch.isLocked(),
	}
	first := &executorv1.AttachResponse{Fence: fence, Event: &executorv1.AttachResponse_Handshake{Handshake: hello}}
	if err := stream.Send(first); err != nil {
		return err
	}
	return l.e.tell(ctx, fence, abilities, stream.Send)
}

func (e *Executor) abilitiesChanged(fence *commonv1.Fence, now []Ability) *executorv1.AttachResponse {
	return &executorv1.AttachResponse{Fence: fence, Event: &executorv1.AttachResponse_Abilities{
		Abilities: &executorv1.AbilitiesChanged{Abilities: fromAbilities(now)},
	}}
}

// attach takes the generation the host assigned. There is one Attach per incarnation.
func (e *Executor) attach(f *commonv1.Fence) (*commonv1.Fence, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.state.ended:
		return nil, refusal.Unavailable("the incarnation ended")
	case e.state.attached:
		return nil, refusal.NotAllowed("the host is attached already")
	case f.GetExecutor() == 0:
		return nil, refusal.Unusable("the fence assigns no executor generation")
	}
	e.state.attached = true
	e.state.fence = toFence(f)
	e.state.fence.Session = 0
	e.calls.Add(1)
	return fromFence(e.state.fence), nil
}

// BeginSession gives the executor a session's act key (C3.2).
func (l *hostLink) BeginSession(
	_ context.Context, req *executorv1.BeginSessionRequest,
) (*executorv1.BeginSessionResponse, error) {
	fence, err := l.e.gate(req.GetFence())
	if err != nil {
		return nil, err
	}
	defer l.e.calls.Done()
	a, err := l.e.begin(ident.SessionID(req.GetSessionId()), ident.ActKey(req.GetActKey()))
	if err != nil {
		return nil, err
	}
	return &executorv1.BeginSessionResponse{Fence: fence, Code: a}, nil
}

// EndSession forgets a session. It only takes away, so it is never fenced.
func (l *hostLink) EndSession(
	_ context.Context, req *executorv1.EndSessionRequest,
) (*executorv1.EndSessionResponse, error) {
	fence, err := l.e.pass()
	if err != nil {
		return nil, err
	}
	defer l.e.calls.Done()
	known := l.e.endSession(ident.SessionID(req.GetSessionId()))
	return &executorv1.EndSessionResponse{Fence: fence, Known: known}, nil
}

// Cancel cancels a dispatch by name; the dispatch answers with its outcome (C9.7).
func (l *hostLink) Cancel(_ context.Context, req *executorv1.CancelRequest) (*executorv1.CancelResponse, error) {
	fence, err := l.e.pass()
	if err != nil {
		return nil, err
	}
	defer l.e.calls.Done()
	running := l.e.cancelDispatch(runningID{ident.SessionID(req.GetSessionId()), req.GetDispatchId()})
	return &executorv1.CancelResponse{Fence: fence, Running: running}, nil
}

func (e *Executor) cancelDispatch(id runningID) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	r, ok := e.state.running[id]
	if ok {
		r.cancel()
	} else if s := e.state.sessions[id.session]; s != nil {
		s.cancelledEarly(id.dispatch)
	}
	return ok
}
