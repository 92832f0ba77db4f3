package x11

import (
	"context"
	"errors"
	"fmt"
	"image"
	"slices"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"
)

// Requests of XInput 2 and the ids of the master devices every server has. The
// user's hands are on these; an agent's seat has others.
const (
	xiQueryPointer = 40
	xiGetFocus     = 50
	corePointer    = 2
	coreKeyboard   = 3
)

// UserState is what an agent must not change (C0.3, C12.5), at one moment.
type UserState struct {
	// Pointer is the user's pointer in root pixels.
	Pointer image.Point
	// Focus is the user's keyboard focus: a window, 0 (none) or 1 (pointer root).
	Focus xproto.Window
	// Active is _NET_ACTIVE_WINDOW, zero without a window manager.
	Active xproto.Window
	// Stack holds the viewable children of the root that can have pixels, lowest first.
	Stack []xproto.Window
	// Clipboard is the window that owns the CLIPBOARD selection, zero when none does.
	Clipboard xproto.Window
}

// Changes says which parts of the user's state differ.
type Changes struct {
	Pointer, Focus, Active, Clipboard bool
	// Stacking: windows that are in both states are in another order.
	Stacking bool
	// Appeared and Vanished are windows that only the later or the earlier state has.
	Appeared, Vanished []xproto.Window
}

// Any reports whether anything differs.
func (d Changes) Any() bool {
	return d.Pointer || d.Focus || d.Active || d.Clipboard || d.Stacking || len(d.Appeared)+len(d.Vanished) > 0
}

// Diff compares an earlier state with a later one.
func (u UserState) Diff(later UserState) Changes {
	d := Changes{
		Pointer:   u.Pointer != later.Pointer,
		Focus:     u.Focus != later.Focus,
		Active:    u.Active != later.Active,
		Clipboard: u.Clipboard != later.Clipboard,
	}
	only := func(a, b []xproto.Window) (common, rest []xproto.Window) {
		for _, w := range a {
			if slices.Contains(b, w) {
				common = append(common, w)
			} else {
				rest = append(rest, w)
			}
		}
		return common, rest
	}
	before, vanished := only(u.Stack, later.Stack)
	after, appeared := only(later.Stack, u.Stack)
	d.Stacking = !slices.Equal(before, after)
	d.Appeared, d.Vanished = appeared, vanished
	return d
}

// UserState asks for the user's state. The answers are of one short moment but not
// atomic: what must be exact is compared before and after, and watched by events.
func (c *Conn) UserState(ctx context.Context) (UserState, error) {
	u, err := Call(ctx, c, c.userState)
	if err != nil {
		return UserState{}, fmt.Errorf("read user state: %w", err)
	}
	return u, nil
}

func (c *Conn) userState(x *xgb.Conn) (UserState, error) {
	var u UserState
	tree := xproto.QueryTree(x, c.Root)
	active := xproto.GetProperty(x, false, c.Root, c.atoms.netActiveWindow, xproto.AtomWindow, 0, 1)
	owner := xproto.GetSelectionOwner(x, c.atoms.clipboard)
	input := c.askInput(x)
	t, err := tree.Reply()
	if err != nil {
		return u, err
	}
	if len(t.Children) > windowsMax {
		return u, ErrLimit
	}
	attrs := make([]xproto.GetWindowAttributesCookie, len(t.Children))
	for i, w := range t.Children {
		attrs[i] = xproto.GetWindowAttributes(x, w)
	}
	for i, w := range t.Children {
		a, err := attrs[i].Reply()
		dead, err := deadOrLost(err)
		if err != nil {
			return u, err
		}
		viewable := !dead && a.MapState == xproto.MapStateViewable && a.Class == xproto.WindowClassInputOutput
		if viewable && !c.own(w) {
			u.Stack = append(u.Stack, w)
		}
	}
	a, err := active.Reply()
	if err != nil {
		return u, err
	}
	u.Active = xproto.Window(card32(a, 0))
	o, err := owner.Reply()
	if err != nil {
		return u, err
	}
	u.Clipboard = o.Owner
	u.Pointer, u.Focus, err = input()
	return u, err
}

// askInput asks for pointer and focus of the core pair, and returns the reader of
// the answers. With XInput 2 the devices are named, because the core requests answer
// for whichever pair the server assigned to this connection.
func (c *Conn) askInput(x *xgb.Conn) func() (image.Point, xproto.Window, error) {
	ext, ok := c.extensions[extXInput]
	if !ok {
		pointer, focus := xproto.QueryPointer(x, c.Root), xproto.GetInputFocus(x)
		return func() (image.Point, xproto.Window, error) {
			p, err := pointer.Reply()
			if err != nil {
				return image.Point{}, 0, err
			}
			f, err := focus.Reply()
			if err != nil {
				return image.Point{}, 0, err
			}
			return image.Pt(int(p.RootX), int(p.RootY)), f.Focus, nil
		}
	}
	query := make([]byte, 12)
	query[0], query[1] = ext.Major, xiQueryPointer
	le.PutUint32(query[4:], uint32(c.Root))
	le.PutUint16(query[8:], corePointer)
	get := make([]byte, 8)
	get[0], get[1] = ext.Major, xiGetFocus
	le.PutUint16(get[4:], coreKeyboard)
	pointer, focus := Send(x, query, true), Send(x, get, true)
	return func() (image.Point, xproto.Window, error) {
		p, err := pointer.Reply()
		if err != nil {
			return image.Point{}, 0, err
		}
		f, err := focus.Reply()
		if err != nil {
			return image.Point{}, 0, err
		}
		if len(p) < 32 || len(f) < 12 {
			return image.Point{}, 0, errors.New("short xinput reply")
		}
		// Root coordinates are 16.16 fixed point.
		at := image.Pt(int(int32(le.Uint32(p[16:]))>>16), int(int32(le.Uint32(p[20:]))>>16))
		return at, xproto.Window(le.Uint32(f[8:])), nil
	}
}

// hitDepthMax bounds the walk to the deepest window at a point.
const hitDepthMax = 32

// Hit is what is at a point of the root.
type Hit struct {
	// Top is the highest mapped child of the root there, Deepest the innermost
	// window below it; both zero when only the root is there.
	Top, Deepest xproto.Window
}

// TopAt finds the window a press at a root pixel would reach. The server decides, so
// bounding and input shapes are honoured. It is a fact of the past when it returns:
// a press needs it asked under the same server grab.
func (c *Conn) TopAt(ctx context.Context, x, y int) (Hit, error) {
	h, err := Call(ctx, c, func(conn *xgb.Conn) (Hit, error) {
		var h Hit
		w := c.Root
		for range hitDepthMax {
			r, err := xproto.TranslateCoordinates(conn, c.Root, w, int16(x), int16(y)).Reply()
			if err != nil {
				return Hit{}, err
			}
			if r.Child == 0 {
				return h, nil
			}
			w = r.Child
			if h.Top == 0 {
				h.Top = w
			}
			h.Deepest = w
		}
		return Hit{}, ErrLimit
	})
	if err != nil {
		return Hit{}, fmt.Errorf("find window at point: %w", err)
	}
	return h, nil
}
