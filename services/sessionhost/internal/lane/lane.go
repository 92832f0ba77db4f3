// Package lane is a keyed first-in first-out lock over bound windows: mutations run
// one at a time per window, and a slow window never delays another (C4.2). It starts
// no goroutines. Each lane's queue is bounded (C4.4).
package lane

import (
	"context"
	"sync"

	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
)

// waitingMax is how many acts may wait for one window.
const waitingMax = 32

// Key is what a lane is for: the toplevel at the root of a surface group, on one
// executor generation; or the lane that all launches share.
type Key struct {
	Executor ident.Generation
	Root     uint64
	Launch   bool
}

// Lanes is the set of lanes of a host.
type Lanes struct {
	mu    sync.Mutex
	lanes map[Key]*queue
}

// queue holds the waiters of a taken lane, oldest first.
type queue struct{ waiters []chan struct{} }

// New returns an empty set of lanes.
func New() *Lanes { return &Lanes{lanes: map[Key]*queue{}} }

// Take waits for the lane and returns how to let go of it. A full queue is BUSY; a
// caller that leaves while waiting has taken nothing.
func (l *Lanes) Take(ctx context.Context, k Key) (release func(), err error) {
	turn, err := l.enqueue(k)
	if err != nil {
		return nil, err
	}
	if turn == nil {
		return l.releaser(k), nil
	}
	select {
	case <-turn:
		return l.releaser(k), nil
	case <-ctx.Done():
		return nil, l.leave(k, turn)
	}
}

// enqueue takes a free lane (nil) or returns the channel that is closed at our turn.
func (l *Lanes) enqueue(k Key) (chan struct{}, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	q, taken := l.lanes[k]
	if !taken {
		l.lanes[k] = &queue{}
		return nil, nil
	}
	if len(q.waiters) >= waitingMax {
		return nil, refusal.New(refusal.Busy)
	}
	turn := make(chan struct{})
	q.waiters = append(q.waiters, turn)
	return turn, nil
}

func (l *Lanes) leave(k Key, turn chan struct{}) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if q := l.lanes[k]; q != nil {
		for i, w := range q.waiters {
			if w == turn {
				q.waiters = append(q.waiters[:i], q.waiters[i+1:]...)
				return refusal.New(refusal.Aborted)
			}
		}
	}
	// Our turn came at the same moment: pass it on.
	l.pass(k)
	return refusal.New(refusal.Aborted)
}

func (l *Lanes) releaser(k Key) func() {
	var once sync.Once
	return func() {
		once.Do(func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.pass(k)
		})
	}
}

// pass hands the lane to the oldest waiter, or frees it. The caller holds the mutex.
func (l *Lanes) pass(k Key) {
	q := l.lanes[k]
	if q == nil {
		return
	}
	if len(q.waiters) == 0 {
		delete(l.lanes, k)
		return
	}
	next := q.waiters[0]
	q.waiters = q.waiters[1:]
	close(next)
}

// Count returns how many lanes are held and how many acts wait.
func (l *Lanes) Count() (held, waiting int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, q := range l.lanes {
		waiting += len(q.waiters)
	}
	return len(l.lanes), waiting
}
