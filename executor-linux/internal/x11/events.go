package x11

import (
	"sync"

	"github.com/jezek/xgb/xproto"
)

// EventKind says what happened to a window.
type EventKind int

// Kinds of Event.
const (
	EventCreated    EventKind = iota + 1 // a child of the root was created
	EventDestroyed                       // a known window was destroyed
	EventConfigured                      // moved, resized or restacked
	EventMapped                          // became mapped
	EventUnmapped                        // became unmapped
	EventActive                          // _NET_ACTIVE_WINDOW changed; Window is zero
)

// Event is one fact from the server about a window. The same fact may be told twice.
// Events made by other clients with SendEvent are not reported, except synthetic
// configures: a window manager tells of a moved frame that way. Those are claims; a
// reader asks where the window is.
type Event struct {
	Kind   EventKind
	Window xproto.Window
	Birth  Birth // zero when the window is not known
	// Lagged: events before this one were dropped, because the reader of the
	// stream was slow. Whoever depends on them must ask anew.
	Lagged bool
}

// eventsMax is the depth of one subscription.
const eventsMax = 1024

// hub gives every event to all subscribers and never waits for one.
type hub struct {
	mu     sync.Mutex
	subs   map[*subscription]struct{}
	closed bool
}

type subscription struct {
	ch     chan Event
	lagged bool
}

func (h *hub) subscribe() *subscription {
	s := &subscription{ch: make(chan Event, eventsMax)}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		close(s.ch)
		return s
	}
	if h.subs == nil {
		h.subs = map[*subscription]struct{}{}
	}
	h.subs[s] = struct{}{}
	return s
}

func (h *hub) cancel(s *subscription) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := h.subs[s]; ok {
		delete(h.subs, s)
		close(s.ch)
	}
}

func (h *hub) send(e Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.subs {
		e.Lagged = s.lagged
		select {
		case s.ch <- e:
			s.lagged = false
		default:
			s.lagged = true
		}
	}
}

func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for s := range h.subs {
		close(s.ch)
	}
	clear(h.subs)
}

// Events subscribes to window events. The channel ends with the connection or with
// cancel. A consumer that falls more than 1024 events behind loses events and finds
// Lagged on the next one.
func (c *Conn) Events() (events <-chan Event, cancel func()) {
	s := c.hub.subscribe()
	return s.ch, func() { c.hub.cancel(s) }
}

// take handles one event of the server. It runs in the reader and must not block
// nor send a request.
func (c *Conn) take(buf []byte) {
	if e, ok := c.step(buf); ok {
		c.hub.send(e)
	}
	if c.onEvent != nil {
		c.onEvent(buf)
	}
}

// step feeds the birth tracker and translates.
func (c *Conn) step(buf []byte) (Event, bool) {
	sent := buf[0]&sentEvent != 0
	code := buf[0] &^ sentEvent
	window := xproto.Window(le.Uint32(buf[8:]))
	if sent && code != xproto.ConfigureNotify {
		return Event{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e := Event{Window: window}
	switch code {
	case xproto.CreateNotify:
		if xproto.Window(le.Uint32(buf[4:])) != c.Root {
			return Event{}, false
		}
		e.Kind, e.Birth = EventCreated, c.births.created(window, c.ask(window))
		return e, true
	case xproto.DestroyNotify:
		e.Kind, e.Birth = EventDestroyed, c.births.gone(window)
		// A root child's end is told twice: by the root and by itself.
		return e, e.Birth != 0
	case xproto.ReparentNotify:
		if xproto.Window(le.Uint32(buf[12:])) != c.Root {
			c.births.left(window)
		}
		return Event{}, false
	case xproto.ConfigureNotify:
		e.Kind = EventConfigured
	case xproto.MapNotify:
		e.Kind = EventMapped
	case xproto.UnmapNotify:
		e.Kind = EventUnmapped
	case xproto.PropertyNotify:
		root := xproto.Window(le.Uint32(buf[4:])) == c.Root
		active := xproto.Atom(le.Uint32(buf[8:])) == c.atoms.netActiveWindow
		return Event{Kind: EventActive}, root && active
	default:
		return Event{}, false
	}
	e.Birth = c.births.of(window)
	return e, true
}

// fail handles one error of the server, in the order of the stream: BadWindow for
// an attempt to watch means that the window was gone at this point.
func (c *Conn) fail(buf []byte) {
	const badWindow, changeWindowAttributes = 3, 2
	if buf[1] != badWindow || buf[10] != changeWindowAttributes {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.births.gone(xproto.Window(le.Uint32(buf[4:])))
}

// ask queues a request for the window's own destroy event; the reader itself must
// never wait for the server. False: not asked, the queue is full or it is our own.
func (c *Conn) ask(w xproto.Window) bool {
	if c.own(w) {
		return false
	}
	select {
	case c.watchQueue <- w:
		return true
	default:
		return false
	}
}
