package atspi

import (
	"context"
	"sync"

	"github.com/godbus/dbus/v5"
)

// eventsMax is how many events wait for a consumer; the next one is lost and the stream marked.
const eventsMax = 256

// EventKind is what an event says.
type EventKind uint8

// The kinds of events.
const (
	EventNone EventKind = iota
	EventChildren
	EventState
	EventProperty
	EventText
	EventWindow
	// EventAppGone: a connection left the bus; Source has no path.
	EventAppGone
)

// Event says that something changed; not what it is now, which is for a read to say (C0.9). It carries no words of
// the application.
type Event struct {
	Kind   EventKind
	Source Ref
	// State and On are set for EventState, if the state is in the vocabulary.
	State State
	On    bool
	// Window is set for EventWindow.
	Window WindowChange
	// Lagged: events before this one were lost.
	Lagged bool
}

// WindowChange is what happened to a toplevel, as far as anybody cares.
type WindowChange uint8

// The changes.
const (
	WindowOther WindowChange = iota
	WindowCreated
	WindowDestroyed
	WindowActivated
	WindowDeactivated
)

// fanout hands the signals of one connection to the subscribers. It runs on the reader of the connection and must
// not block it.
type fanout struct {
	mu     sync.Mutex
	closed bool
	subs   map[chan Event]bool // true: events were lost
}

func newFanout() *fanout { return &fanout{subs: make(map[chan Event]bool)} }

// DeliverSignal is called by the D-Bus library, in order.
func (f *fanout) DeliverSignal(iface, member string, signal *dbus.Signal) {
	e, ok := eventOf(iface, member, signal)
	if !ok {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for ch, lagged := range f.subs {
		e.Lagged = lagged
		select {
		case ch <- e:
			f.subs[ch] = false
		default:
			f.subs[ch] = true
		}
	}
}

// Terminate closes all streams; the D-Bus library calls it when the connection ends.
func (f *fanout) Terminate() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for ch := range f.subs {
		delete(f.subs, ch)
		close(ch)
	}
}

func (f *fanout) add() (chan Event, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	ch := make(chan Event, eventsMax)
	if f.closed {
		return nil, false
	}
	f.subs[ch] = false
	return ch, true
}

func (f *fanout) remove(ch chan Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.subs[ch]; ok {
		delete(f.subs, ch)
		close(ch)
	}
}

// Events subscribes to the changes of all applications until ctx ends; then, or when the connection ends, the stream
// is closed. Bounds changes are never subscribed to: one GTK3 progress bar sends 180 a second.
func (c *Client) Events(ctx context.Context) (<-chan Event, error) {
	if err := c.listen(ctx); err != nil {
		return nil, err
	}
	ch, ok := c.events.add()
	if !ok {
		return nil, ErrClosed
	}
	context.AfterFunc(ctx, func() { c.events.remove(ch) })
	return ch, nil
}

// listen registers the event classes and the match rules, once per client.
func (c *Client) listen(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	c.mu.Lock()
	done := c.registered
	c.mu.Unlock()
	if done {
		return nil
	}
	classes := [...]string{
		"object:children-changed", "object:state-changed", "object:property-change", "object:text-changed", "window",
	}
	for _, class := range classes {
		if err := c.register(ctx, class); err != nil {
			return err
		}
	}
	for _, rule := range matchRules() {
		if err := c.conn.AddMatchSignalContext(ctx, rule...); err != nil {
			return basic(classify(err))
		}
	}
	c.mu.Lock()
	c.registered = true
	c.mu.Unlock()
	return nil
}

// matchRules are narrow, so that the bus does not wake us for what we drop.
func matchRules() [][]dbus.MatchOption {
	const object = spi + "Event.Object"
	rules := [][]dbus.MatchOption{
		{dbus.WithMatchInterface(spi + "Event.Window")},
		{dbus.WithMatchInterface(busName), dbus.WithMatchMember("NameOwnerChanged"), dbus.WithMatchArg(2, "")},
	}
	for _, member := range [...]string{"ChildrenChanged", "StateChanged", "PropertyChange", "TextChanged"} {
		rules = append(rules, []dbus.MatchOption{dbus.WithMatchInterface(object), dbus.WithMatchMember(member)})
	}
	return rules
}

// eventOf reads a signal. What is malformed or unknown is no event.
func eventOf(iface, member string, s *dbus.Signal) (Event, bool) {
	e := Event{Source: Ref{Bus: s.Sender, Path: string(s.Path)}}
	switch iface {
	case spi + "Event.Object":
		switch member {
		case "ChildrenChanged":
			e.Kind = EventChildren
		case "PropertyChange":
			e.Kind = EventProperty
		case "TextChanged":
			e.Kind = EventText
		case "StateChanged":
			e.Kind = EventState
			e.State, e.On = stateChange(s.Body)
		}
	case spi + "Event.Window":
		e.Kind, e.Window = EventWindow, windowChange(member)
	case busName:
		return goneOf(member, s)
	}
	return e, e.Kind != EventNone
}

// goneOf reads NameOwnerChanged(name, old, new) of a connection that left.
func goneOf(member string, s *dbus.Signal) (Event, bool) {
	if member != "NameOwnerChanged" || s.Sender != busName || len(s.Body) != 3 {
		return Event{}, false
	}
	name, okName := s.Body[0].(string)
	owner, okOwner := s.Body[2].(string)
	if !okName || !okOwner || owner != "" || len(name) == 0 || name[0] != ':' {
		return Event{}, false
	}
	return Event{Kind: EventAppGone, Source: Ref{Bus: name}}, true
}

// stateChange reads the detail of a StateChanged signal: the state's name and 0 or 1.
func stateChange(body []any) (State, bool) {
	if len(body) < 2 {
		return 0, false
	}
	name, okName := body[0].(string)
	on, okOn := body[1].(int32)
	if !okName || !okOn {
		return 0, false
	}
	return stateNamed(name), on != 0
}

// stateNamed maps the names that occur in events: AT-SPI's, with dashes.
func stateNamed(name string) State {
	folded := fold(name)
	for one := State(1); one < stateEnd; one <<= 1 {
		if one != StateSecure && fold(stateName(one)) == folded {
			return one
		}
	}
	return 0
}

func windowChange(member string) WindowChange {
	switch member {
	case "Create":
		return WindowCreated
	case "Destroy", "Close":
		return WindowDestroyed
	case "Activate":
		return WindowActivated
	case "Deactivate":
		return WindowDeactivated
	}
	return WindowOther
}
