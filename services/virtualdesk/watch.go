package virtualdesk

import "fairlead.dev/services/executor"

// watchBuffer is how many changes a subscriber may fall behind. Above it changes are
// lost, which an event that says only "look again" can afford.
const watchBuffer = 64

// Watch subscribes to changes. The channel is bounded and lossy; it is closed when
// the subscription or the desk ends. Ending it twice does nothing.
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
	for ch := range d.watchers {
		select {
		case ch <- executor.Change{Kind: kind, PID: pid}:
		default:
		}
	}
}
