package virtualdesk

import (
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/ident"
)

// watchBuffer is how many changes a subscriber may fall behind.
const watchBuffer = 64

// Watch subscribes to the changes of a process, or with 0 to all, as executor.Offer says.
// The channel is closed when the subscription or the desk ends. Ending it twice does
// nothing.
func (d *Desk) Watch(pid int32) (<-chan executor.Change, func()) {
	ch := make(chan executor.Change, watchBuffer)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		close(ch)
		return ch, func() {}
	}
	d.watchers[ch] = pid
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

// tell offers a change to every watcher. Only the desk does, under its lock.
func (d *Desk) tell(c executor.Change) {
	for ch, pid := range d.watchers {
		executor.Offer(ch, pid, c)
	}
}
