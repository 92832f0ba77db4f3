package x11

import (
	"context"
	"fmt"
	"image"
	"slices"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"
)

const (
	// windowsMax bounds the children of the root; a desk has about a hundred.
	windowsMax = 4096
	// nodesMax bounds the windows looked at inside frames, levelsMax their depth:
	// window managers nest a client one to three levels deep.
	nodesMax  = 8192
	levelsMax = 3
	// listTries is how often a listing is repeated because windows came and went.
	listTries = 3
)

// WM_STATE values (ICCCM 4.1.3.1).
const (
	stateNormal = 1
	stateIconic = 3
)

// Windows lists all toplevel windows from the lowest to the highest, as the server
// stacks them now. Minimised windows are listed, windows never shown are not. A
// window that is created or destroyed during three listings in a row is left out.
func (c *Conn) Windows(ctx context.Context) ([]Window, error) {
	for try := 1; ; try++ {
		l, err := Call(ctx, c, c.list)
		if err != nil {
			return nil, fmt.Errorf("list windows: %w", err)
		}
		if l.settled || try == listTries {
			starts := map[int]uint64{}
			for i := range l.windows {
				w := &l.windows[i]
				start, ok := starts[w.PID]
				if !ok {
					start = startOrZero(w.PID)
					starts[w.PID] = start
				}
				w.ProcessStart = start
			}
			return l.windows, nil
		}
	}
}

// listing is one attempt; settled means that no listed window died meanwhile.
type listing struct {
	windows []Window
	settled bool
}

// node is a child of the root during a listing.
type node struct {
	id       xproto.Window
	attr     *xproto.GetWindowAttributesReply
	geometry *xproto.GetGeometryReply
	children []xproto.Window
	client   xproto.Window // zero: none found yet
	state    uint32        // WM_STATE of the client
	birth    life
}

func (c *Conn) list(x *xgb.Conn) (listing, error) {
	tree := xproto.QueryTree(x, c.Root)
	active := xproto.GetProperty(x, false, c.Root, c.atoms.netActiveWindow, xproto.AtomWindow, 0, 1)
	check := xproto.GetProperty(x, false, c.Root, c.atoms.netSupportingWMCheck, xproto.AtomWindow, 0, 1)
	root := xproto.GetWindowAttributes(x, c.Root)
	t, err := tree.Reply()
	if err != nil {
		return listing{}, err
	}
	activeReply, err := active.Reply()
	if err != nil {
		return listing{}, err
	}
	checkReply, err := check.Reply()
	if err != nil {
		return listing{}, err
	}
	rootReply, err := root.Reply()
	if err != nil {
		return listing{}, err
	}
	if len(t.Children) > windowsMax {
		return listing{}, ErrLimit
	}
	managed := rootReply.AllEventMasks&xproto.EventMaskSubstructureRedirect != 0
	nodes, err := c.rootLevel(x, t.Children, managed)
	if err != nil {
		return listing{}, err
	}
	if managed {
		if err := c.findClients(x, nodes); err != nil {
			return listing{}, err
		}
	}
	wmCheck := xproto.Window(card32(checkReply, 0))
	nodes = slices.DeleteFunc(nodes, func(n *node) bool { return c.helper(n, wmCheck) })
	l, err := c.describe(x, nodes)
	if err != nil {
		return listing{}, err
	}
	current := xproto.Window(card32(activeReply, 0))
	for i := range l.windows {
		l.windows[i].Stack = i
		l.windows[i].Active = current != 0 && l.windows[i].ID == current
	}
	return l, nil
}

// rootLevel looks at all children of the root in one round trip. Windows that die
// meanwhile and windows that cannot have pixels are left out.
func (c *Conn) rootLevel(x *xgb.Conn, ids []xproto.Window, managed bool) ([]*node, error) {
	type pending struct {
		attr     xproto.GetWindowAttributesCookie
		geometry xproto.GetGeometryCookie
		state    xproto.GetPropertyCookie
		tree     xproto.QueryTreeCookie
	}
	asked := make([]pending, len(ids))
	for i, id := range ids {
		asked[i].attr = xproto.GetWindowAttributes(x, id)
		asked[i].geometry = xproto.GetGeometry(x, xproto.Drawable(id))
		asked[i].state = c.askState(x, id)
		if managed {
			asked[i].tree = xproto.QueryTree(x, id)
		}
	}
	nodes := make([]*node, 0, len(ids))
	for i, id := range ids {
		n := &node{id: id}
		var errs [4]error
		var state *xproto.GetPropertyReply
		n.attr, errs[0] = asked[i].attr.Reply()
		n.geometry, errs[1] = asked[i].geometry.Reply()
		state, errs[2] = asked[i].state.Reply()
		if managed {
			var tree *xproto.QueryTreeReply
			if tree, errs[3] = asked[i].tree.Reply(); errs[3] == nil {
				n.children = tree.Children
			}
		}
		skip, err := deadOrLost(errs[:]...)
		if err != nil {
			return nil, err
		}
		if skip || n.attr.Class == xproto.WindowClassInputOnly {
			continue
		}
		if s := card32(state, 0); s == stateNormal || s == stateIconic {
			n.client, n.state = id, s
		}
		nodes = append(nodes, n)
	}
	return nodes, nil
}

func (c *Conn) askState(x *xgb.Conn, w xproto.Window) xproto.GetPropertyCookie {
	return xproto.GetProperty(x, false, w, c.atoms.wmState, c.atoms.wmState, 0, 2)
}

// inner is a window inside a frame that may be its client or hold it.
type inner struct {
	frame *node
	id    xproto.Window
}

// findClients looks for the window with WM_STATE inside each frame, one level of all
// frames at a time. ICCCM: a window manager sets it on the windows it manages.
func (c *Conn) findClients(x *xgb.Conn, nodes []*node) error {
	var level []inner
	for _, n := range nodes {
		if n.client == 0 {
			for _, id := range n.children {
				level = append(level, inner{n, id})
			}
		}
	}
	seen := 0
	for depth := 1; len(level) > 0; depth++ {
		if seen += len(level); seen > nodesMax {
			return ErrLimit
		}
		// Most children of a frame are the window manager's own decorations, which
		// share the frame's resource base; the client is another program's window.
		var foreign, related []inner
		for _, in := range level {
			if c.base(in.id) == c.base(in.frame.id) {
				related = append(related, in)
			} else {
				foreign = append(foreign, in)
			}
		}
		for _, group := range [][]inner{foreign, related} {
			if err := c.askStates(x, group); err != nil {
				return err
			}
		}
		if depth == levelsMax {
			return nil
		}
		next, err := deeper(x, level)
		if err != nil {
			return err
		}
		level = next
	}
	return nil
}

// base tells which connection made a window.
func (c *Conn) base(w xproto.Window) uint32 { return uint32(w) &^ c.setup.ResourceIdMask }

// askStates reads WM_STATE of candidates in frames that have no client yet.
func (c *Conn) askStates(x *xgb.Conn, group []inner) error {
	group = slices.DeleteFunc(slices.Clone(group), func(in inner) bool { return in.frame.client != 0 })
	states := make([]xproto.GetPropertyCookie, len(group))
	for i, in := range group {
		states[i] = c.askState(x, in.id)
	}
	for i, in := range group {
		r, err := states[i].Reply()
		dead, err := deadOrLost(err)
		if err != nil {
			return err
		}
		// The last one is the highest, as a click would find it.
		if s := card32(r, 0); !dead && (s == stateNormal || s == stateIconic) {
			in.frame.client, in.frame.state = in.id, s
		}
	}
	return nil
}

// deeper lists the children of a level, for frames that have no client yet.
func deeper(x *xgb.Conn, level []inner) ([]inner, error) {
	var open, next []inner
	var trees []xproto.QueryTreeCookie
	for _, in := range level {
		if in.frame.client == 0 {
			open = append(open, in)
			trees = append(trees, xproto.QueryTree(x, in.id))
		}
	}
	for i, in := range open {
		t, err := trees[i].Reply()
		dead, err := deadOrLost(err)
		if err != nil {
			return nil, err
		}
		if dead {
			continue
		}
		for _, id := range t.Children {
			next = append(next, inner{in.frame, id})
		}
	}
	return next, nil
}

// pendingDetails are the requests about one client window.
type pendingDetails struct {
	watch                                            *xproto.ChangeWindowAttributesCookie
	attr                                             xproto.GetWindowAttributesCookie
	geometry                                         xproto.GetGeometryCookie
	origin                                           xproto.TranslateCoordinatesCookie
	name, oldName, shadow, kind, transient, netState xproto.GetPropertyCookie
	pid                                              *xgb.Cookie
}

// helper reports whether a child of the root is no window for anyone's eyes: never
// shown, withdrawn, or the window manager's mark of its presence. The mark is left
// out only where nobody can see it, since any program can name one.
func (c *Conn) helper(n *node, wmCheck xproto.Window) bool {
	if n.client != 0 {
		return false
	}
	if n.attr.MapState != xproto.MapStateViewable {
		return true
	}
	n.client, n.state = n.id, stateNormal
	return n.id == wmCheck && outerBounds(n.geometry).Intersect(image.Rect(0, 0, c.Width, c.Height)).Empty()
}

// describe asks for everything about all clients in one round trip.
func (c *Conn) describe(x *xgb.Conn, kept []*node) (listing, error) {
	// Births before the first question and after the last answer: if they are the
	// same, all answers are about one and the same window.
	c.mu.Lock()
	for _, n := range kept {
		n.birth = c.births.see(n.client)
	}
	c.mu.Unlock()
	asked := make([]pendingDetails, len(kept))
	for i, n := range kept {
		asked[i] = c.askDetails(x, n)
	}
	l := listing{settled: true}
	for i, n := range kept {
		w, ok, err := c.readDetails(n, &asked[i])
		if err != nil {
			return listing{}, err
		}
		if !ok {
			l.settled = false
			continue
		}
		l.windows = append(l.windows, w)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	same := l.windows[:0]
	for _, w := range l.windows {
		if c.births.of(w.ID) == w.Birth {
			same = append(same, w)
		} else {
			l.settled = false
		}
	}
	l.windows = same
	return l, nil
}

func (c *Conn) askDetails(x *xgb.Conn, n *node) pendingDetails {
	w := n.client
	property := func(a, typ xproto.Atom, longs uint32) xproto.GetPropertyCookie {
		return xproto.GetProperty(x, false, w, a, typ, 0, longs)
	}
	var p pendingDetails
	if !n.birth.watched && !c.own(w) {
		// First of all, so that no end of the window goes unseen from here on.
		mask := []uint32{xproto.EventMaskStructureNotify}
		cookie := xproto.ChangeWindowAttributesChecked(x, w, xproto.CwEventMask, mask)
		p.watch = &cookie
	}
	if w != n.id {
		p.attr = xproto.GetWindowAttributes(x, w)
		p.geometry = xproto.GetGeometry(x, xproto.Drawable(w))
	}
	p.origin = xproto.TranslateCoordinates(x, w, c.Root, 0, 0)
	p.name = property(c.atoms.netWMName, c.atoms.utf8String, titleMax/4)
	p.oldName = property(xproto.AtomWmName, xproto.GetPropertyTypeAny, titleMax/4)
	p.shadow = property(c.atoms.gtkFrameExtents, xproto.AtomCardinal, 4)
	p.kind = property(c.atoms.netWMWindowType, xproto.AtomAtom, 8)
	p.transient = property(xproto.AtomWmTransientFor, xproto.AtomWindow, 1)
	p.netState = property(c.atoms.netWMState, xproto.AtomAtom, 32)
	p.pid = c.askPID(x, w)
	return p
}

// readDetails reads all answers about one window; ok is false if it is gone.
func (c *Conn) readDetails(n *node, p *pendingDetails) (w Window, ok bool, err error) {
	attr, geometry := n.attr, n.geometry
	var errs [11]error
	if n.client != n.id {
		attr, errs[0] = p.attr.Reply()
		geometry, errs[1] = p.geometry.Reply()
	}
	origin, e := p.origin.Reply()
	errs[2] = e
	var props [6]*xproto.GetPropertyReply
	cookies := [6]xproto.GetPropertyCookie{p.name, p.oldName, p.shadow, p.kind, p.transient, p.netState}
	for i, cookie := range cookies {
		props[i], errs[3+i] = cookie.Reply()
	}
	w.PID, errs[9] = readPID(p.pid)
	if p.watch != nil {
		// All later answers are here, so this costs no round trip.
		errs[10] = p.watch.Check()
	}
	skip, err := deadOrLost(errs[:]...)
	if err != nil || skip {
		return Window{}, false, err
	}
	if p.watch != nil {
		c.mu.Lock()
		c.births.watch(n.client, n.birth.birth)
		c.mu.Unlock()
	}
	w.ID, w.Frame, w.Birth = n.client, n.id, n.birth.birth
	at := image.Pt(int(origin.DstX), int(origin.DstY))
	w.Bounds = image.Rectangle{Min: at, Max: at.Add(image.Pt(int(geometry.Width), int(geometry.Height)))}
	w.FrameBounds = outerBounds(n.geometry)
	w.Depth = int(geometry.Depth)
	w.Override = attr.OverrideRedirect
	w.Title = title(props[0], props[1], c.atoms.utf8String)
	if props[2].Format == 32 && props[2].ValueLen == 4 {
		w.Shadow = shadow(props[2], geometry)
	}
	w.Type = c.windowType(props[3])
	w.TransientFor = xproto.Window(card32(props[4], 0))
	w.Modal = hasAtom(props[5], c.atoms.stateModal)
	w.Mapped = attr.MapState == xproto.MapStateViewable
	w.Hidden = !w.Mapped || n.state == stateIconic || hasAtom(props[5], c.atoms.stateHidden)
	return w, true, nil
}

// deadOrLost sorts errors of requests about one window: any X error means that the
// window went away meanwhile, anything else that the connection did.
func deadOrLost(errs ...error) (dead bool, lost error) {
	for _, err := range errs {
		if err == nil {
			continue
		}
		if _, ok := err.(xgb.Error); !ok {
			return false, err
		}
		dead = true
	}
	return dead, nil
}

func outerBounds(g *xproto.GetGeometryReply) image.Rectangle {
	at := image.Pt(int(g.X), int(g.Y))
	b := 2 * int(g.BorderWidth)
	return image.Rectangle{Min: at, Max: at.Add(image.Pt(int(g.Width)+b, int(g.Height)+b))}
}
