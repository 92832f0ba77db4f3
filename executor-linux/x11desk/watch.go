package x11desk

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"fairlead.dev/executor-linux/internal/atspi"
	"fairlead.dev/executor-linux/internal/x11"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/telemetry"
)

// watchBuffer is how many changes a subscriber may fall behind.
const watchBuffer = 64

// hub hands changes to subscribers and waits for none.
type hub struct {
	mu     sync.Mutex
	subs   map[chan executor.Change]int32 // by the process each is about, 0 for all
	closed bool
}

func newHub() *hub { return &hub{subs: map[chan executor.Change]int32{}} }

// Watch subscribes to the changes of a process, or with 0 to all, as executor.Offer says.
// The channel is closed when the subscription or the desk ends. Ending it twice does
// nothing.
func (d *Desk) Watch(pid int32) (<-chan executor.Change, func()) {
	h := d.hub
	ch := make(chan executor.Change, watchBuffer)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		close(ch)
		return ch, func() {}
	}
	h.subs[ch] = pid
	return ch, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if _, ok := h.subs[ch]; ok {
			delete(h.subs, ch)
			close(ch)
		}
	}
}

func (h *hub) emit(c executor.Change) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for ch, pid := range h.subs {
		executor.Offer(ch, pid, c)
	}
}

func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for ch := range h.subs {
		delete(h.subs, ch)
		close(ch)
	}
}

func (d *Desk) startPumps() {
	events, stop := d.x.Events()
	d.pumps.Go(func() {
		defer stop()
		d.pumpWindows(events)
	})
	d.pumps.Go(d.pumpElements)
}

// pumpWindows carries what the X server says, until the connection ends.
func (d *Desk) pumpWindows(events <-chan x11.Event) {
	for e := range events {
		c := executor.Change{Kind: executor.ChangeWindows, PID: d.hints.ofWindow(uint64(e.Window))}
		if e.Lagged || e.Kind == x11.EventCreated || e.Kind == x11.EventActive {
			c.PID = 0
		}
		d.hub.emit(c)
	}
	d.hub.emit(executor.Change{Kind: executor.ChangeAbilities})
}

// pumpElements carries what the accessibility bus says, and finds the bus again when it
// was lost.
func (d *Desk) pumpElements() {
	for d.lifetime.Err() == nil {
		if events, err := d.elementEvents(); err == nil {
			d.hub.emit(executor.Change{Kind: executor.ChangeAbilities})
			for e := range events {
				d.emitElement(e)
			}
			if d.lifetime.Err() != nil {
				return
			}
			d.cfg.Log.LogAttrs(d.lifetime, slog.LevelWarn, "the accessibility bus was lost", telemetry.Kind("degraded"))
			d.hub.emit(executor.Change{Kind: executor.ChangeAbilities})
		}
		select {
		case <-d.lifetime.Done():
			return
		case <-time.After(dialEvery):
		}
	}
}

func (d *Desk) elementEvents() (<-chan atspi.Event, error) {
	ctx, cancel := context.WithTimeout(d.lifetime, dialMax)
	defer cancel()
	client, err := d.ally.get(ctx)
	if err != nil {
		return nil, err
	}
	return client.Events(d.lifetime)
}

func (d *Desk) emitElement(e atspi.Event) {
	c := executor.Change{Kind: executor.ChangeTree, PID: d.hints.ofBus(e.Source.Bus)}
	if e.Kind == atspi.EventWindow || e.Kind == atspi.EventAppGone {
		c.Kind = executor.ChangeWindows
	}
	if e.Lagged {
		c.PID = 0
	}
	d.hub.emit(c)
}
