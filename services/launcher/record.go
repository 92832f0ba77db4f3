package launcher

import (
	"context"
	"log/slog"
	"sync"
	"time"

	policyv1 "fairlead.dev/gen/fairlead/policy/v1"
	"fairlead.dev/services/shared/telemetry"
)

// recordsMax bounds the facts that wait for policy. A launcher gives up long before it
// has seen so many; beyond it the oldest are lost, and the log says so.
const recordsMax = 256

// recorder tells policy's record what happened to the processes, in order. While policy
// is gone the facts wait for the next one. A fact may be on record twice: when policy
// ended after writing it and before saying so.
type recorder struct {
	log     *slog.Logger
	timeout time.Duration

	mu      sync.Mutex
	pending []*policyv1.ProcessEvent
	// wake and told hold one token each: something was added, something was told.
	wake, told chan struct{}
}

func newRecorder(log *slog.Logger, timeout time.Duration) *recorder {
	return &recorder{log: log, timeout: timeout, wake: make(chan struct{}, 1), told: make(chan struct{}, 1)}
}

func (r *recorder) add(ctx context.Context, e *policyv1.ProcessEvent) {
	r.mu.Lock()
	if len(r.pending) == recordsMax {
		r.pending = r.pending[1:]
		r.log.LogAttrs(ctx, slog.LevelError, "a process event was lost", telemetry.Count(recordsMax))
	}
	r.pending = append(r.pending, e)
	r.mu.Unlock()
	nudge(r.wake)
}

func nudge(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

func (r *recorder) first() *policyv1.ProcessEvent {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.pending) == 0 {
		return nil
	}
	return r.pending[0]
}

// remove takes a fact off the list, if it is still there.
func (r *recorder) remove(e *policyv1.ProcessEvent) {
	r.mu.Lock()
	if len(r.pending) > 0 && r.pending[0] == e {
		r.pending = r.pending[1:]
	}
	r.mu.Unlock()
	nudge(r.told)
}

// serve tells one policy until it ends. The first fact is that policy's own start, so
// this is its handshake too: a policy that takes no record within the deadline is of no
// use and is ended (C9.1).
func (r *recorder) serve(ctx context.Context, c *child) {
	defer nudge(r.wake) // The next policy's turn may have begun already.
	client := policyv1.NewDecisionServiceClient(c.calls)
	for {
		e := r.first()
		if e == nil {
			select {
			case <-r.wake:
			case <-c.done:
				return
			case <-ctx.Done():
				return
			}
			continue
		}
		call, cancel := context.WithTimeout(ctx, r.timeout)
		_, err := client.Append(call, &policyv1.AppendRequest{Record: &policyv1.AppendRequest_Process{Process: e}})
		cancel()
		if err == nil {
			r.remove(e)
			continue
		}
		if ctx.Err() == nil && !c.ended() {
			r.log.LogAttrs(ctx, slog.LevelError, "policy did not take a record", telemetry.PID(c.pid))
			c.failed("record")
		}
		return
	}
}

// flush waits until policy was told everything, until it ends, or for the grace.
func (r *recorder) flush(ctx context.Context, c *child, grace time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	for r.first() != nil {
		select {
		case <-r.told:
		case <-c.done:
			return
		case <-ctx.Done():
			return
		}
	}
}
