package x11desk

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/godbus/dbus/v5"
)

// lockMax is how long the desk's own services may take to say whether it is locked.
const lockMax = 200 * time.Millisecond

// lockProbe asks whether the screen is locked (C12.3): the session's screen saver, and
// logind when this process belongs to one of its sessions. A desk that has none of
// them is not locked; one that does not answer is taken to be.
type lockProbe struct {
	address string
	// session is logind's id of the session of this process, empty for none.
	session string

	mu      sync.Mutex
	bus     *dbus.Conn
	system  *dbus.Conn
	waiting time.Time
	closed  bool
}

func newLockProbe(address, session string) *lockProbe {
	return &lockProbe{address: address, session: session}
}

// question is one way to ask.
type question struct {
	conn   *dbus.Conn
	name   string
	path   dbus.ObjectPath
	method string
	args   []any
}

func (l *lockProbe) locked(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, lockMax)
	defer cancel()
	questions := l.questions()
	answers := make(chan bool, len(questions))
	for _, q := range questions {
		go func() { answers <- ask(ctx, q) }()
	}
	locked := false
	for range questions {
		locked = <-answers || locked
	}
	return locked
}

func (l *lockProbe) questions() []question {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []question
	if bus := l.sessionBus(); bus != nil {
		out = append(out,
			question{
				conn: bus, name: "org.freedesktop.ScreenSaver", path: "/org/freedesktop/ScreenSaver",
				method: "org.freedesktop.ScreenSaver.GetActive",
			},
			question{
				conn: bus, name: "org.gnome.ScreenSaver", path: "/org/gnome/ScreenSaver",
				method: "org.gnome.ScreenSaver.GetActive",
			})
	}
	if bus := l.logind(); bus != nil {
		path := dbus.ObjectPath("/org/freedesktop/login1/session/" + escapePath(l.session))
		out = append(out, question{
			conn: bus, name: "org.freedesktop.login1", path: path,
			method: "org.freedesktop.DBus.Properties.Get",
			args:   []any{"org.freedesktop.login1.Session", "LockedHint"},
		})
	}
	return out
}

// ask asks one service, without starting it.
func ask(ctx context.Context, q question) bool {
	call := q.conn.Object(q.name, q.path).CallWithContext(ctx, q.method, dbus.FlagNoAutoStart, q.args...)
	if call.Err != nil {
		var said dbus.Error
		// An error is an answer: nobody there, or no such thing. Silence is none.
		return !errors.As(call.Err, &said) && errors.Is(call.Err, context.DeadlineExceeded)
	}
	if len(call.Body) != 1 {
		return false
	}
	switch v := call.Body[0].(type) {
	case bool:
		return v
	case dbus.Variant:
		on, _ := v.Value().(bool)
		return on
	}
	return false
}

// redialEvery keeps a missing bus from being dialled at each sample of the desk.
const redialEvery = 5 * time.Second

// sessionBus returns the connection to the session bus, nil when there is none.
func (l *lockProbe) sessionBus() *dbus.Conn {
	if l.bus != nil && l.bus.Connected() {
		return l.bus
	}
	if l.address == "" || l.closed || time.Since(l.waiting) < redialEvery {
		return nil
	}
	l.waiting = time.Now()
	l.bus = connect(l.address)
	return l.bus
}

func (l *lockProbe) logind() *dbus.Conn {
	if l.session == "" || l.closed {
		return nil
	}
	if l.system == nil || !l.system.Connected() {
		l.system = connect("unix:path=/run/dbus/system_bus_socket")
	}
	return l.system
}

func connect(address string) *dbus.Conn {
	c, err := dbus.Connect(address)
	if err != nil {
		return nil
	}
	return c
}

// escapePath escapes an id for an object path the way systemd does.
func escapePath(id string) string {
	const hex = "0123456789abcdef"
	var out []byte
	for i := range len(id) {
		c := id[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if letter || i > 0 && c >= '0' && c <= '9' {
			out = append(out, c)
		} else {
			out = append(out, '_', hex[c>>4], hex[c&15])
		}
	}
	return string(out)
}

func (l *lockProbe) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	var errs []error
	for _, c := range []*dbus.Conn{l.bus, l.system} {
		if c != nil && c.Connected() {
			errs = append(errs, c.Close())
		}
	}
	l.bus, l.system = nil, nil
	return errors.Join(errs...)
}
