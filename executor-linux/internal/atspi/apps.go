package atspi

import (
	"context"
	"sync"
	"time"
)

const (
	// appTime is how long one application may take to say what it is; the others do not wait for it.
	appTime = 400 * time.Millisecond
	// aliveTime is how long an application may take to answer the probe before an act (C7.7).
	aliveTime = 300 * time.Millisecond
	// topsTime is how long an application may take to list its toplevels.
	topsTime = 2 * time.Second
	// appsMax bounds how many applications are listed.
	appsMax = 256
	// toplevelsMax bounds how many toplevels of one application are listed.
	toplevelsMax = 256
)

// Application is one program on the accessibility bus.
type Application struct {
	Root Ref
	// PID is the process at the other end of the application's connection, as the bus daemon got it from the kernel.
	PID     uint32
	Name    string
	Toolkit Toolkit
	Version string
	// Unresponsive: it did not answer in time; Name, Toolkit and Version are then unknown.
	Unresponsive bool
}

// Toplevel is a child of an application's root: a window, dialog, or something that never has a window.
type Toplevel struct {
	Ref     Ref
	PID     uint32
	Toolkit Toolkit
	Role    Role
	Name    string
	States  State
	// Screen is where the toolkit says the toplevel is; Placed says whether the size is known. The position is only
	// meaningful where the toolkit knows screen coordinates (not GTK4).
	Screen Rect
	Placed bool
}

// Applications lists the applications of the session. Those that vanish meanwhile are left out, those that do not
// answer are listed as unresponsive. More than appsMax is ErrProtocol.
func (c *Client) Applications(ctx context.Context) ([]Application, error) {
	a := c.one(ctx, callTime, method(Ref{Bus: registryName, Path: rootPath}, "Accessible.GetChildren"))
	if a.err != nil {
		return nil, basic(a.err)
	}
	if len(a.body) != 1 {
		return nil, ErrProtocol
	}
	roots, ok := asRefs(a.body[0])
	if !ok || len(roots) > appsMax {
		return nil, ErrProtocol
	}
	apps := make([]Application, len(roots))
	var wait sync.WaitGroup
	for i, root := range roots {
		wait.Go(func() { apps[i] = c.application(ctx, root) })
	}
	wait.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	live := apps[:0]
	for _, app := range apps {
		if !app.Root.Zero() {
			live = append(live, app)
		}
	}
	return live, nil
}

// application describes one application, or returns the zero value if it has gone.
func (c *Client) application(ctx context.Context, root Ref) Application {
	ctx, cancel := context.WithTimeoutCause(ctx, appTime, ErrUnresponsive)
	defer cancel()
	app := Application{Root: root}
	bus := Ref{Bus: busName, Path: busPath}
	pid := c.one(ctx, appTime, request{ref: bus, method: busName + ".GetConnectionUnixProcessID", args: []any{root.Bus}})
	switch basic(pid.err) {
	case nil:
	case ErrUnresponsive:
		app.Unresponsive = true
		return app
	default:
		return Application{}
	}
	app.PID, _ = asUint(pid.body)
	got := c.batch(ctx, appTime, []request{
		get(root, "Accessible", "Name"), get(root, "Application", "ToolkitName"), get(root, "Application", "Version"),
	})
	for _, a := range got {
		switch basic(a.err) {
		case nil, ErrAnswered:
		case ErrGone:
			// A root without the Application interface is still an application; without a name it is gone.
			if got[0].err != nil {
				return Application{}
			}
		default:
			app.Unresponsive = true
			return app
		}
	}
	app.Name, _ = asString(got[0].body)
	app.Name, _ = cut(app.Name, textMax)
	name, _ := asString(got[1].body)
	app.Version, _ = asString(got[2].body)
	app.Version, _ = cut(app.Version, textMax)
	app.Toolkit = toolkitNamed(name, app.Version, app.Name)
	c.remember(root.Bus, app.Toolkit)
	return app
}

// Toplevels lists the children of the application's root; those that vanish meanwhile are left out.
func (c *Client) Toplevels(ctx context.Context, app Application) ([]Toplevel, error) {
	if !app.Root.valid() {
		return nil, ErrInvalid
	}
	ctx, cancel := context.WithTimeoutCause(ctx, topsTime, ErrUnresponsive)
	defer cancel()
	a := c.one(ctx, callTime, method(app.Root, "Accessible.GetChildren"))
	if a.err != nil {
		return nil, basic(a.err)
	}
	if len(a.body) != 1 {
		return nil, ErrProtocol
	}
	refs, ok := asRefs(a.body[0])
	if !ok || len(refs) > toplevelsMax {
		return nil, ErrProtocol
	}
	var tops []Toplevel
	var places []request
	var placed []int
	for _, b := range c.basics(ctx, question{kit: app.Toolkit, patience: callTime, limit: textMax}, refs) {
		switch b.err {
		case nil:
		case ErrGone:
			continue
		default:
			return nil, b.err
		}
		n := b.node
		if n.Ref.Bus != app.Root.Bus {
			continue
		}
		if n.Interfaces.Has(HasComponent) {
			// GTK4 has no screen coordinates and logs a warning when asked for them.
			coord := uint32(1)
			if quirkOf(app.Toolkit).screen {
				coord = 0
			}
			places = append(places, method(n.Ref, "Component.GetExtents", coord))
			placed = append(placed, len(tops))
		}
		tops = append(tops, Toplevel{
			Ref: n.Ref, PID: app.PID, Toolkit: app.Toolkit, Role: n.Role, Name: n.Name,
			States: n.States,
		})
	}
	for k, a := range c.batch(ctx, callTime, places) {
		if a.err == nil {
			tops[placed[k]].Screen, tops[placed[k]].Placed = asRect(a.body)
		}
	}
	return tops, nil
}

// Alive asks the application for its own role, which its main loop must answer, and waits 300 ms (C7.7). The answers
// that the D-Bus library of an application gives by itself would prove nothing.
func (c *Client) Alive(ctx context.Context, app Ref) error {
	if !uniqueName(app.Bus) {
		return ErrInvalid
	}
	a := c.one(ctx, aliveTime, method(Ref{Bus: app.Bus, Path: rootPath}, "Accessible.GetRole"))
	return basic(a.err)
}
