package x11desk

import (
	"context"
	"time"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"

	"fairlead.dev/executor-linux/internal/x11"
)

const (
	// guardMax is how long the focus is guarded while a launched program starts.
	guardMax = 10 * time.Second
	// guardEvery is how often it is looked at; without a window manager nothing tells.
	guardEvery = 40 * time.Millisecond
	// guardRest is how long after its first window a program may still take the focus.
	guardRest = 1500 * time.Millisecond
	// launchRest is how long the launch itself waits after the first window, so that its
	// report shows the desk as it stays; launchMax is the longest it waits for that window.
	launchRest = 300 * time.Millisecond
	launchMax  = 3 * time.Second
)

// guard gives the user's focus back when a launched program takes it: window managers
// focus new windows, and GTK4 focuses its own where there is none, whatever they were
// told at the start. It does so once per launch, only for the window that the user had,
// and never after any input since (C0.3, C12.5).
type guard struct {
	desk   *Desk
	app    string
	pid    int
	before x11.UserState
	input  uint64
	// known are the windows that were there before.
	known map[uint64]bool
	// top says that the user's window was the topmost; giving the focus back raises it.
	top bool
	// calm is closed when the program has shown a window and the focus has come to rest.
	calm chan struct{}
}

// newGuard remembers the desk before a launch.
func (d *Desk) newGuard(ctx context.Context, app string, windows []listed) (*guard, error) {
	input := d.input.count()
	before, err := d.x.UserState(ctx)
	if err != nil {
		return nil, err
	}
	g := &guard{
		desk: d, app: app, before: before, input: input, known: map[uint64]bool{}, calm: make(chan struct{}),
	}
	for i := range windows {
		w := &windows[i]
		g.known[w.Identity.ID] = true
		if !w.Hidden {
			g.top = w.Identity.ID == uint64(before.Active)
		}
	}
	return g, nil
}

// watch runs until the program has come to rest, or the time is up.
func (g *guard) watch(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, guardMax)
	defer cancel()
	events, stop := g.desk.x.Events()
	defer stop()
	tick := time.NewTicker(guardEvery)
	defer tick.Stop()
	var shown time.Time
	done, calm := false, false
	for ctx.Err() == nil && g.desk.input.count() == g.input {
		if own := g.own(ctx); len(own) > 0 {
			if shown.IsZero() {
				shown = time.Now()
			}
			if !done {
				done = g.giveBack(ctx, own)
			}
			if !calm && time.Since(shown) > launchRest {
				close(g.calm)
				calm = true
			}
			if time.Since(shown) > guardRest {
				return
			}
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		case e, open := <-events:
			if !open {
				return
			}
			_ = e // any event is a reason to look
		}
	}
}

// own lists the visible windows that the launched program has opened.
func (g *guard) own(ctx context.Context) []listed {
	windows, err := g.desk.list(ctx)
	if err != nil {
		return nil
	}
	var out []listed
	for _, w := range windows {
		theirs := int(w.Identity.PID) == g.pid || w.Identity.App == g.app
		if theirs && !w.Hidden && !g.known[w.Identity.ID] {
			out = append(out, w)
		}
	}
	return out
}

// giveBack gives the focus back if one of these windows has it, and says whether it did.
func (g *guard) giveBack(ctx context.Context, own []listed) bool {
	now, err := g.desk.x.UserState(ctx)
	if err != nil || now.Active == g.before.Active && now.Focus == g.before.Focus || !g.taken(ctx, now, own) {
		return false
	}
	managed := now.Active != 0
	if managed && (g.before.Active == 0 || !g.top) {
		// There was no window of the user's, or giving it the focus would raise it.
		return false
	}
	if g.desk.input.count() != g.input || g.input == 0 {
		return false
	}
	_, err = x11.Call(ctx, g.desk.x, func(x *xgb.Conn) (struct{}, error) {
		if managed {
			return struct{}{}, activate(x, g.desk.x.Root, g.before.Active)
		}
		return struct{}{}, xproto.SetInputFocusChecked(
			x, xproto.InputFocusPointerRoot, g.before.Focus, xproto.TimeCurrentTime).Check()
	})
	return err == nil
}

// taken reports whether the active or focused window is one of these.
func (g *guard) taken(ctx context.Context, now x11.UserState, own []listed) bool {
	holder := now.Active
	if holder == 0 {
		holder = now.Focus
	}
	ancestors, err := x11.Call(ctx, g.desk.x, func(x *xgb.Conn) ([]xproto.Window, error) {
		return upwards(x, holder)
	})
	if err != nil {
		return false
	}
	for i := range own {
		for _, a := range ancestors {
			if a == own[i].surfaces[0].ID {
				return true
			}
		}
	}
	return false
}

// levelsMax bounds the walk from a focused window to its toplevel.
const levelsMax = 16

func upwards(x *xgb.Conn, w xproto.Window) ([]xproto.Window, error) {
	var out []xproto.Window
	for range levelsMax {
		if w <= xproto.InputFocusPointerRoot {
			return out, nil
		}
		out = append(out, w)
		t, err := xproto.QueryTree(x, w).Reply()
		if err != nil {
			return nil, err
		}
		w = t.Parent
	}
	return out, nil
}

// activate asks the window manager to make a window the active one, the way a panel does.
func activate(x *xgb.Conn, root, w xproto.Window) error {
	const name, fromPanel = "_NET_ACTIVE_WINDOW", 2
	atom, err := xproto.InternAtom(x, true, uint16(len(name)), name).Reply()
	if err != nil {
		return err
	}
	m := xproto.ClientMessageEvent{
		Format: 32, Window: w, Type: atom.Atom,
		Data: xproto.ClientMessageDataUnionData32New([]uint32{fromPanel, xproto.TimeCurrentTime, 0, 0, 0}),
	}
	return xproto.SendEventChecked(x, false, root,
		xproto.EventMaskSubstructureRedirect|xproto.EventMaskSubstructureNotify, string(m.Bytes())).Check()
}

// guarded waits until a launch has come to rest, within its own bound.
func (g *guard) guarded(ctx context.Context) {
	select {
	case <-g.calm:
	case <-ctx.Done():
	case <-time.After(launchMax):
	}
}
