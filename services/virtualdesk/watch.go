package virtualdesk

import (
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/ident"
)

// watchBuffer is how many changes a subscriber may fall behind. The last place is kept
// for the one event that says that others did not fit.
const watchBuffer = 64

// Watch subscribes to changes. The channel is bounded: changes of content take up to half
// of it, and are dropped beyond; when all places but the last are taken by others, a
// ChangeLost takes that one, and what follows is dropped until the subscriber has read. So
// it is always told, and whatever was missed happened before the subscriber looks again.
// The channel is closed when the subscription or the desk ends. Ending it twice does
// nothing.
func (d *Desk) Watch() (<-chan executor.Change, func()) {
	ch := make(chan executor.Change, watchBuffer)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		close(ch)
		return ch, func() {}
	}
	d.watchers[ch] = struct{}{}
	return ch, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if _, ok := d.watchers[ch]; ok {
			delete(d.watchers, ch)
			close(ch)
		}
	}
}

// emit tells every watcher to look again, and waits for none.
func (d *Desk) emit(kind executor.ChangeKind, pid int32) {
	d.tell(executor.Change{Kind: kind, PID: pid})
}

// emitInput tells every watcher of hardware input into a window.
func (d *Desk) emitInput(w ident.Window) {
	d.tell(executor.Change{Kind: executor.ChangeInput, PID: w.PID, Window: w})
}

// tell puts a change into every channel. Only the desk sends, under its lock, so a
// place that is free stays free until it is taken here.
func (d *Desk) tell(c executor.Change) {
	for ch := range d.watchers {
		switch free := cap(ch) - len(ch); {
		case free == 0:
		case c.Kind == executor.ChangeTree && free <= cap(ch)/2:
			// Content that changes all the time is no news, and never crowds out what is (C2.7).
		case free == 1:
			ch <- executor.Change{Kind: executor.ChangeLost}
		default:
			ch <- c
		}
	}
}
