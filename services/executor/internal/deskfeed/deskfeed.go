// Package deskfeed holds what the host is still to be told about the desk. It is a pure
// value: time is passed in, and whoever owns a Feed serialises its use. It is bounded: a
// reader that is too slow is told the worst case once, that anything may have happened,
// and how the lock stands; nobody waits for it.
package deskfeed

import (
	"time"

	"fairlead.dev/services/shared/ident"
)

const (
	// QueueMax is how many events wait for the reader.
	QueueMax = 256
	// WindowsMax is how many windows are told apart whose content changed; above it any may have.
	WindowsMax = 64
	// ContentEvery is how often at most the change of one window's content is told.
	ContentEvery = 100 * time.Millisecond
)

// Kind is what happened; the numbers are those of the wire.
type Kind int

// What happened.
const (
	Input    Kind = 1
	Locked   Kind = 2
	Unlocked Kind = 3
	Ended    Kind = 4
	Content  Kind = 5
)

// Event is one thing that happened. The zero window may be any.
type Event struct {
	Kind   Kind
	Window ident.Window
}

// Feed is what is still to be told.
type Feed struct {
	queue []Event
	// lost says that events were lost, input that input may be among them.
	lost, input bool
	// lock is the last word about the lock, which is never lost.
	lock    Kind
	changed map[ident.Window]struct{}
	// told is when changed content was last told; zero for never.
	told    time.Duration
	telling bool
}

// Add adds an event. Input into one window that was not told yet is told once; content
// that changed is told when it is due.
func (f *Feed) Add(e Event) {
	switch e.Kind {
	case Content:
		f.content(e.Window)
		return
	case Locked, Unlocked:
		f.lock = e.Kind
	case Input:
		if f.waits(e) {
			return
		}
	}
	switch {
	case f.lost:
		f.input = f.input || e.Kind == Input
	case len(f.queue) == QueueMax:
		f.Lose(e.Kind == Input)
	default:
		f.queue = append(f.queue, e)
	}
}

// Lose says that events were lost: anything may have happened, and input too unless it is
// known that there was none. What was queued is told as part of it.
func (f *Feed) Lose(input bool) {
	for _, e := range f.queue {
		input = input || e.Kind == Input
	}
	f.queue, f.lost, f.input = nil, true, f.input || input
}

func (f *Feed) waits(e Event) bool {
	for i := len(f.queue) - 1; i >= 0; i-- {
		if f.queue[i] == e {
			return true
		}
	}
	return false
}

func (f *Feed) content(w ident.Window) {
	if f.changed == nil {
		f.changed = map[ident.Window]struct{}{}
	}
	all := ident.Window{}
	if _, is := f.changed[all]; is {
		return
	}
	if w == all || len(f.changed) >= WindowsMax {
		clear(f.changed)
		w = all
	}
	f.changed[w] = struct{}{}
}

// Take returns what is to be told now. What was lost is told as the worst case: input
// into any window if there may have been any, any window ended or changed, and the lock
// as it stands.
func (f *Feed) Take(now time.Duration) []Event {
	out := f.queue
	f.queue = nil
	if f.lost {
		if f.input {
			out = append(out, Event{Kind: Input})
		}
		f.lost, f.input = false, false
		out = append(out, Event{Kind: Ended})
		if f.lock != 0 {
			out = append(out, Event{Kind: f.lock})
		}
		f.content(ident.Window{})
	}
	if len(f.changed) > 0 && f.contentDue(now) == 0 {
		for w := range f.changed {
			out = append(out, Event{Kind: Content, Window: w})
		}
		clear(f.changed)
		f.told, f.telling = now, true
	}
	return out
}

// Due says how long it is until there is something to tell, false when there is nothing.
func (f *Feed) Due(now time.Duration) (time.Duration, bool) {
	switch {
	case f.lost || len(f.queue) > 0:
		return 0, true
	case len(f.changed) > 0:
		return f.contentDue(now), true
	default:
		return 0, false
	}
}

func (f *Feed) contentDue(now time.Duration) time.Duration {
	if !f.telling {
		return 0
	}
	return max(0, f.told+ContentEvery-now)
}
