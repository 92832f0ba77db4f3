// Package lane is a keyed first-in first-out lock over bound windows: mutations run
// one at a time per window, and a slow window never delays another (C4.2). Table is
// the whole of the order, as a pure value; Lanes lets callers wait for it. Neither
// starts goroutines, and neither looks at what a lane is taken for. Each lane's queue
// is bounded (C4.4).
package lane

import (
	"context"
	"sync"

	"fairlead.dev/services/shared/refusal"
)

// Lanes is the set of lanes of a host. It is a Table with a mutex, and one channel for
// each act that waits.
type Lanes struct {
	mu    sync.Mutex
	table Table
	last  uint64                   // the number the latest act got
	turns map[uint64]chan struct{} // closed when a waiting act's turn comes
}

// New returns an empty set of lanes.
func New() *Lanes { return &Lanes{turns: map[uint64]chan struct{}{}} }

// Take waits for the lane and returns how to let go of it. A full queue is BUSY; a
// caller that leaves while waiting has taken nothing.
func (l *Lanes) Take(ctx context.Context, k Key) (release func(), err error) {
	who, turn, answer := l.enqueue(k)
	switch answer {
	case Held:
		return l.releaser(k, who), nil
	case Busy:
		return nil, refusal.New(refusal.Busy)
	}
	select {
	case <-turn:
		return l.releaser(k, who), nil
	case <-ctx.Done():
		l.leave(k, who)
		return nil, refusal.New(refusal.Aborted)
	}
}

// Count returns how many lanes are held and how many acts wait.
func (l *Lanes) Count() (held, waiting int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.table.Count()
}

func (l *Lanes) enqueue(k Key) (who uint64, turn chan struct{}, answer Answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	answer = l.table.Take(k, l.last)
	if answer == Waiting {
		turn = make(chan struct{})
		l.turns[l.last] = turn
	}
	return l.last, turn, answer
}

func (l *Lanes) leave(k Key, who uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.turns, who)
	l.wake(l.table.Leave(k, who))
}

func (l *Lanes) releaser(k Key, who uint64) func() {
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.wake(l.table.Release(k, who))
	}
}

// wake tells the act whose turn it is. The caller holds the mutex.
func (l *Lanes) wake(next uint64, ok bool) {
	if ok {
		close(l.turns[next])
		delete(l.turns, next)
	}
}
