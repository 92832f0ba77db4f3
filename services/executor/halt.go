package executor

import (
	"context"
	"log/slog"
	"time"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
	"fairlead.dev/services/shared/telemetry"
)

// haltLink serves HaltService on the launcher's own link. It is never fenced, needs no
// attached host and waits for nobody's work.
type haltLink struct {
	executorv1.UnimplementedHaltServiceServer
	e *Executor
}

// Halt lets go of everything and refuses everything from then on. Done twice it does
// nothing more.
func (l *haltLink) Halt(ctx context.Context, _ *executorv1.HaltRequest) (*executorv1.HaltResponse, error) {
	fence, cancelled := l.e.halt()
	l.e.drain(ctx, haltMax)
	l.e.cfg.Log.LogAttrs(ctx, slog.LevelInfo, "halted", telemetry.Count(cancelled))
	return &executorv1.HaltResponse{Fence: fence, DispatchesCancelled: uint32(cancelled)}, nil
}

func (e *Executor) halt() (*commonv1.Fence, int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.state.halted = true
	cancelled := 0
	for _, r := range e.state.running {
		if !r.cancelled {
			cancelled++
		}
		r.cancel()
	}
	e.forgetSessions()
	return fromFence(e.state.fence), cancelled
}

// drain waits a bounded time for the running dispatches to end.
func (e *Executor) drain(ctx context.Context, most time.Duration) {
	const every = 10 * time.Millisecond
	ctx, stop := context.WithTimeout(ctx, most)
	defer stop()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for e.runningNow() > 0 {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (e *Executor) runningNow() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.state.running)
}

// GetHaltState says whether it is halted and what it still holds.
func (l *haltLink) GetHaltState(
	context.Context, *executorv1.GetHaltStateRequest,
) (*executorv1.GetHaltStateResponse, error) {
	l.e.mu.Lock()
	defer l.e.mu.Unlock()
	return &executorv1.GetHaltStateResponse{
		Fence: fromFence(l.e.state.fence), Halted: l.e.state.halted,
		Dispatches: uint32(len(l.e.state.running)), Sessions: uint32(len(l.e.state.sessions)),
	}, nil
}
