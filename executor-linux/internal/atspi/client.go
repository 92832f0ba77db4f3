package atspi

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/godbus/dbus/v5"
)

const (
	// dialTime bounds Dial; the first call starts the accessibility bus, which takes up to a second.
	dialTime = 10 * time.Second
	// toolkitsMax bounds the memory of which application is built with what; beyond it, it is asked again.
	toolkitsMax = 512
)

// Client is a connection to the accessibility bus of one desktop session.
type Client struct {
	conn   *dbus.Conn
	events *fanout

	mu         sync.Mutex
	toolkits   map[string]Toolkit
	registered bool
}

// Dial finds the accessibility bus through the session bus at the given D-Bus address and connects to it. ctx bounds
// dialling only.
func Dial(ctx context.Context, sessionBusAddr string) (*Client, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	address, err := findBus(ctx, sessionBusAddr)
	if err != nil {
		return nil, err
	}
	c := &Client{events: newFanout(), toolkits: make(map[string]Toolkit)}
	if c.conn, err = connect(ctx, address, c.events); err != nil {
		return nil, err
	}
	// atk-bridge (GTK3, Chromium) has no Cache interface until somebody listens to some event. This one is rare.
	if err := c.register(ctx, "window:create"); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// findBus asks the session bus for the address of the accessibility bus, which starts it when needed.
func findBus(ctx context.Context, sessionBusAddr string) (string, error) {
	session, err := connect(ctx, sessionBusAddr, newFanout())
	if err != nil {
		return "", err
	}
	defer func() { _ = session.Close() }()
	call := session.Object("org.a11y.Bus", "/org/a11y/bus").CallWithContext(ctx, "org.a11y.Bus.GetAddress", 0)
	address, ok := asString(call.Body)
	if call.Err != nil || !ok || address == "" {
		return "", errors.Join(ErrNoBus, context.Cause(ctx))
	}
	return address, nil
}

// register tells the registry, and through it all applications, that an event class is listened to.
func (c *Client) register(ctx context.Context, event string) error {
	r := method(Ref{Bus: registryName, Path: registryPath}, "Registry.RegisterEvent", event, []string{}, "")
	object := c.conn.Object(r.ref.Bus, dbus.ObjectPath(r.ref.Path))
	// The registry is started by the bus on demand, so this one call may auto-start.
	call := object.CallWithContext(ctx, r.method, 0, r.args...)
	if call.Err != nil {
		return errors.Join(ErrNoBus, context.Cause(ctx))
	}
	return nil
}

// Close ends the connection; calls in flight end with ErrClosed and event streams are closed.
func (c *Client) Close() error {
	err := c.conn.Close()
	c.events.Terminate()
	if err != nil && !errors.Is(err, dbus.ErrClosed) {
		return ErrClosed
	}
	return nil
}

// Done is closed when the connection has ended, for whatever reason.
func (c *Client) Done() <-chan struct{} { return c.conn.Context().Done() }

// toolkitOf tells what the application on a connection is built with. A unique bus name is never reused while the bus
// lives, so the answer stays true (C0.9 allows it: its age does not matter).
func (c *Client) toolkitOf(ctx context.Context, patience time.Duration, bus string) (Toolkit, error) {
	c.mu.Lock()
	kit, ok := c.toolkits[bus]
	c.mu.Unlock()
	if ok {
		return kit, nil
	}
	app := Ref{Bus: bus, Path: rootPath}
	got := c.batch(ctx, patience, []request{
		get(app, "Application", "ToolkitName"), get(app, "Application", "Version"), get(app, "Accessible", "Name"),
	})
	if err := got[0].err; err != nil {
		return ToolkitUnknown, basic(err)
	}
	name, _ := asString(got[0].body)
	version, _ := asString(got[1].body)
	program, _ := asString(got[2].body)
	kit = toolkitNamed(name, version, program)
	c.remember(bus, kit)
	return kit, nil
}

func (c *Client) remember(bus string, kit Toolkit) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.toolkits) >= toolkitsMax {
		clear(c.toolkits)
	}
	c.toolkits[bus] = kit
}
