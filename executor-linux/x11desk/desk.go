package x11desk

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"fairlead.dev/executor-linux/internal/atspi"
	"fairlead.dev/executor-linux/internal/x11"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/telemetry"
)

var _ executor.Platform = (*Desk)(nil)

// Config says which desktop. Empty fields mean the one of this process's environment.
type Config struct {
	// Display is a local display such as ":0".
	Display string
	// XAuthority is the file with the display's cookie.
	XAuthority string
	// SessionBus is the D-Bus address of the desktop's session bus.
	SessionBus string
	// Env is the environment of launched programs; nil means this process's. The three
	// fields above are set in it.
	Env []string
	// Log takes one line per change of the desk's abilities; nil means none.
	Log *slog.Logger
}

// Desk is one X display with its accessibility bus. It lives as long as its connection
// to the X server; the accessibility bus may come and go.
type Desk struct {
	cfg   Config
	x     *x11.Conn
	apps  *x11.Apps
	ally  *ally
	lock  *lockProbe
	input *inputCounter
	hub   *hub
	hints hints

	lifetime context.Context // of the pumps
	stop     context.CancelFunc
	pumps    sync.WaitGroup

	// mu guards the capturer, which is connected at its first use.
	mu       sync.Mutex
	capturer *x11.Capturer
	closed   bool
}

// New connects to a desktop. The X server must be there; a missing accessibility bus is
// a missing ability, and dialled again later.
func New(ctx context.Context, cfg Config) (*Desk, error) {
	cfg = cfg.complete()
	input := &inputCounter{}
	x, err := x11.DialWith(x11.Options{
		Display: cfg.Display, Xauthority: cfg.XAuthority, OnEvent: input.note,
	})
	if err != nil {
		return nil, fmt.Errorf("connect to the desktop: %w", err)
	}
	lifetime, stop := context.WithCancel(context.WithoutCancel(ctx))
	d := &Desk{
		cfg: cfg, x: x, apps: x11.NewApps(x11.AppsConfig{}), input: input, hub: newHub(),
		ally: newAlly(cfg.SessionBus), lock: newLockProbe(cfg.SessionBus, os.Getenv("XDG_SESSION_ID")),
		lifetime: lifetime, stop: stop,
	}
	if err := input.listen(ctx, x); err != nil {
		cfg.Log.LogAttrs(ctx, slog.LevelWarn, "input of the user cannot be counted", telemetry.Kind("degraded"))
	}
	if _, err := d.ally.get(ctx); err != nil {
		cfg.Log.LogAttrs(ctx, slog.LevelWarn, "no accessibility bus", telemetry.Kind("degraded"))
	}
	d.startPumps()
	return d, nil
}

func (c Config) complete() Config {
	pick := func(field *string, key string) {
		if *field == "" {
			*field = os.Getenv(key)
		}
	}
	pick(&c.Display, "DISPLAY")
	pick(&c.XAuthority, "XAUTHORITY")
	pick(&c.SessionBus, "DBUS_SESSION_BUS_ADDRESS")
	if c.Env == nil {
		c.Env = os.Environ()
	}
	if c.Log == nil {
		c.Log = telemetry.Discard()
	}
	return c
}

// Name returns "x11".
func (d *Desk) Name() string { return "x11" }

// Done is closed when the X server is gone. A new connection would be a new incarnation
// with other birth numbers (C1.3), so the process ends and is started anew.
func (d *Desk) Done() <-chan struct{} { return d.x.Done() }

// Close lets go of everything. Programs that were launched stay.
func (d *Desk) Close() error {
	d.mu.Lock()
	capturer, again := d.capturer, d.closed
	d.capturer, d.closed = nil, true
	d.mu.Unlock()
	if again {
		return nil
	}
	d.stop()
	if capturer != nil {
		capturer.Close()
	}
	d.x.Close()
	err := errors.Join(d.ally.close(), d.lock.close())
	d.pumps.Wait()
	d.hub.close()
	return err
}

// camera returns the capturer, connected anew after it was lost.
func (d *Desk) camera() (*x11.Capturer, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, x11.ErrClosed
	}
	if d.capturer != nil {
		select {
		case <-d.capturer.Done():
			d.capturer.Close()
			d.capturer = nil
		default:
			return d.capturer, nil
		}
	}
	k, err := x11.NewCapturer(d.cfg.Display, d.cfg.XAuthority)
	if err != nil {
		return nil, err
	}
	d.capturer = k
	return k, nil
}

const (
	// dialMax bounds one attempt to reach the accessibility bus, which may have to start.
	dialMax = 3 * time.Second
	// dialEvery keeps a missing bus from being dialled at each call.
	dialEvery = 2 * time.Second
)

// ally is the connection to the accessibility bus, dialled again when it was lost.
type ally struct {
	address string
	// turn holds one token; who has it works with the fields below.
	turn   chan struct{}
	client *atspi.Client
	failed time.Time
	closed bool
}

func newAlly(address string) *ally {
	a := &ally{address: address, turn: make(chan struct{}, 1)}
	a.turn <- struct{}{}
	return a
}

// get returns a living connection, or why there is none.
func (a *ally) get(ctx context.Context) (*atspi.Client, error) {
	select {
	case <-a.turn:
		defer func() { a.turn <- struct{}{} }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if a.client != nil && !over(a.client.Done()) {
		return a.client, nil
	}
	if a.closed {
		return nil, atspi.ErrClosed
	}
	if a.client != nil {
		_ = a.client.Close() // it has ended already
		a.client = nil
	}
	if a.address == "" || time.Since(a.failed) < dialEvery {
		return nil, atspi.ErrNoBus
	}
	ctx, cancel := context.WithTimeout(ctx, dialMax)
	defer cancel()
	c, err := atspi.Dial(ctx, a.address)
	if err != nil {
		a.failed = time.Now()
		return nil, err
	}
	a.client = c
	return c, nil
}

func (a *ally) close() error {
	<-a.turn
	defer func() { a.turn <- struct{}{} }()
	a.closed = true
	if a.client == nil {
		return nil
	}
	err := a.client.Close()
	a.client = nil
	return err
}

func over(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}
