package lane

import (
	"slices"

	"fairlead.dev/services/shared/ident"
)

// waitingMax is how many acts may wait for one window (C4.4).
const waitingMax = 32

// Key is what a lane is for: the toplevel at the root of a surface group, on one
// executor generation; or the lane that all launches share (C4.2).
type Key struct {
	Executor ident.Generation
	Root     uint64
	Launch   bool
}

// Answer is what an act gets that asks for a lane.
type Answer uint8

// The answers. Closed; zero is none of them.
const (
	Held    Answer = 1 // the lane is its own
	Waiting Answer = 2 // its turn comes with a Release or a Leave
	Busy    Answer = 3 // the queue is full, and it is not in it
)

// Table is who holds which lane and who waits for it. It is a pure value, not safe for
// concurrent use; the zero value has no lanes. Each act goes by a number of its own,
// which is never used for another.
type Table struct{ lanes map[Key]*queue }

// queue is one taken lane: its holder, and who waits, oldest first.
type queue struct {
	holder  uint64
	waiting []uint64
}

// Take asks for a lane.
func (t *Table) Take(k Key, who uint64) Answer {
	q := t.lanes[k]
	switch {
	case q == nil:
		if t.lanes == nil {
			t.lanes = map[Key]*queue{}
		}
		t.lanes[k] = &queue{holder: who}
		return Held
	case len(q.waiting) >= waitingMax:
		return Busy
	default:
		q.waiting = append(q.waiting, who)
		return Waiting
	}
}

// Leave gives a place in the queue up. Who leaves at the moment its turn came holds the
// lane without knowing it, and lets go of it like Release.
func (t *Table) Leave(k Key, who uint64) (next uint64, ok bool) {
	if q := t.lanes[k]; q != nil {
		if i := slices.Index(q.waiting, who); i >= 0 {
			q.waiting = slices.Delete(q.waiting, i, i+1)
			return 0, false
		}
	}
	return t.Release(k, who)
}

// Release lets go of a lane and returns whose turn it is: the oldest waiter's, who
// holds it from now on. Whoever does not hold the lane releases nothing.
func (t *Table) Release(k Key, who uint64) (next uint64, ok bool) {
	q := t.lanes[k]
	if q == nil || q.holder != who {
		return 0, false
	}
	if len(q.waiting) == 0 {
		delete(t.lanes, k)
		return 0, false
	}
	q.holder = q.waiting[0]
	q.waiting = slices.Delete(q.waiting, 0, 1)
	return q.holder, true
}

// Count returns how many lanes are held and how many acts wait.
func (t *Table) Count() (held, waiting int) {
	for _, q := range t.lanes {
		waiting += len(q.waiting)
	}
	return len(t.lanes), waiting
}
