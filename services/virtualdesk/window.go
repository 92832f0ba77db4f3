package virtualdesk

import (
	"slices"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/ident"
)

// window is one toplevel with the popups attributed to it.
type window struct {
	id, birth     uint64
	app           *app
	title         string
	bounds        executor.Rect // display-logical points
	hidden        bool
	dialog, modal bool
	owner         uint64
	page          ident.Page
	renderer      uint64
	root          *element // nil for a window without elements
	popups        []*popup // lowest first
	focus         *element // the app's own keyboard focus, never the user's (C8.4)
	menus         []*menu
	drawing       *drawing // what is drawn on a window without elements
	site          *site    // what a browser shows, nil for other windows
	destination   string
	fixed         bool                      // it cannot be resized
	kept          string                    // what a note pad saved
	closing       func(*Desk, *window) bool // asked to close: whether it does something else

	treeHidden bool
	notReady   int // reads left that find no tree built yet
	unsettled  int // captures left after which the geometry changes
	failing    int // captures left that fail
}

// popup is a menu, popup or sheet of a window.
type popup struct {
	id     uint64
	kind   commonv1.SurfaceKind
	bounds executor.Rect // points of the toplevel surface
	root   *element
	opener *element
	// context says that a press elsewhere closes it.
	context bool
}

// frame is what a new window starts with.
type frame struct {
	title  string
	bounds executor.Rect
	role   commonv1.Role
}

// openWindow makes a window on top of the stack, with nothing but its root.
func (d *Desk) openWindow(a *app, f frame) *window {
	w := &window{id: d.newWindowID(a), birth: d.newBirth(), app: a, title: f.title, bounds: f.bounds}
	w.root = &element{
		object: d.newObject(), win: w, role: f.role, name: f.title,
		states: enabled(), bounds: executor.Rect{W: f.bounds.W, H: f.bounds.H},
	}
	d.objects[w.root.object] = w.root
	d.stack = append(d.stack, w)
	d.emit(executor.ChangeWindows, a.pid)
	return w
}

// restack moves a window directly above another, or to the bottom when that is nil.
func (d *Desk) restack(w, above *window) {
	d.stack = slices.DeleteFunc(d.stack, func(o *window) bool { return o == w })
	at := 0
	if above != nil {
		at = slices.Index(d.stack, above) + 1
	}
	d.stack = slices.Insert(d.stack, at, w)
}

// dropWindow destroys a window and the dialogs it owns. What the user had in it goes
// to the top of the stack, as a window manager would do.
func (d *Desk) dropWindow(w *window) {
	d.stack = slices.DeleteFunc(d.stack, func(o *window) bool { return o == w })
	for _, p := range w.popups {
		d.forget(p.root)
	}
	d.forget(w.root)
	w.popups, w.root = nil, nil
	for _, o := range slices.Clone(d.stack) {
		if o.owner == w.id {
			d.dropWindow(o)
		}
	}
	if d.user.focus == w.id {
		d.user.focus = d.topVisible()
	}
	if d.user.active == w.id {
		d.user.active = d.topVisible()
	}
	d.emit(executor.ChangeWindows, w.app.pid)
}

func (d *Desk) topVisible() uint64 {
	for i := len(d.stack) - 1; i >= 0; i-- {
		if !d.stack[i].hidden {
			return d.stack[i].id
		}
	}
	return 0
}

// openPopup opens a surface of a window at a rectangle in points of the toplevel.
func (d *Desk) openPopup(w *window, kind commonv1.SurfaceKind, bounds executor.Rect, name string) *popup {
	role := commonv1.Role_ROLE_POPUP
	if kind == commonv1.SurfaceKind_SURFACE_KIND_MENU {
		role = commonv1.Role_ROLE_MENU
	}
	p := &popup{id: d.newID(), kind: kind, bounds: bounds}
	p.root = &element{
		object: d.newObject(), win: w, parent: w.root, role: role, name: name,
		states: enabled(), bounds: executor.Rect{W: bounds.W, H: bounds.H},
	}
	d.objects[p.root.object] = p.root
	w.popups = append(w.popups, p)
	d.emit(executor.ChangeWindows, w.app.pid)
	return p
}

// openedBy returns the popup an element opened, nil for none.
func (w *window) openedBy(opener *element) *popup {
	for _, p := range w.popups {
		if p.opener == opener {
			return p
		}
	}
	return nil
}

// closePopup closes a popup and says whether there was one. A menu it belongs to is
// collapsed with it.
func (d *Desk) closePopup(w *window, p *popup) bool {
	i := slices.Index(w.popups, p)
	if p == nil || i < 0 {
		return false
	}
	d.forget(p.root)
	w.popups = slices.Delete(w.popups, i, i+1)
	if p.opener != nil {
		p.opener.set(commonv1.ElementState_ELEMENT_STATE_EXPANDED, false)
	}
	d.emit(executor.ChangeWindows, w.app.pid)
	return true
}

// dismiss closes the popup an element lies on.
func (d *Desk) dismiss(e *element) {
	p, _ := e.win.popupOf(e)
	d.closePopup(e.win, p)
}

// popupOf returns the popup an element lies on, with its index among the window's
// surfaces; no popup and 0 mean the toplevel.
func (w *window) popupOf(e *element) (*popup, int) {
	for i, p := range w.popups {
		if e == p.root || e.inside(p.root) {
			return p, i + 1
		}
	}
	return nil, 0
}

func (w *window) identity() ident.Window {
	return ident.Window{ID: w.id, PID: w.app.pid, Start: w.app.start, App: w.app.id, Birth: w.birth}
}

// find returns the first element with an identifier.
func (w *window) find(identifier string) *element {
	var found *element
	w.each(func(e *element) bool {
		if e.ident == identifier {
			found = e
		}
		return found == nil
	})
	return found
}

// each visits every element of every surface in document order until f says no.
func (w *window) each(f func(*element) bool) {
	if w.root != nil && !w.root.visit(f) {
		return
	}
	for _, p := range w.popups {
		if !p.root.visit(f) {
			return
		}
	}
}

// scaleOf is the scale of the display that holds most of the rectangle.
func (d *Desk) scaleOf(r executor.Rect) float64 {
	if i := d.screenOf(r); i >= 0 {
		return d.screens[i].scale
	}
	return 1
}

// screenOf is the display that holds most of the rectangle, -1 for none.
func (d *Desk) screenOf(r executor.Rect) int {
	best, area := -1, 0.0
	for i, s := range d.screens {
		if a := overlap(r, s.bounds); a > area {
			best, area = i, a
		}
	}
	return best
}

func overlap(a, b executor.Rect) float64 {
	w := min(a.X+a.W, b.X+b.W) - max(a.X, b.X)
	h := min(a.Y+a.H, b.Y+b.H) - max(a.Y, b.Y)
	if w <= 0 || h <= 0 {
		return 0
	}
	return w * h
}

func holds(r executor.Rect, x, y float64) bool {
	return x >= r.X && y >= r.Y && x < r.X+r.W && y < r.Y+r.H
}

func shift(r executor.Rect, x, y float64) executor.Rect {
	r.X += x
	r.Y += y
	return r
}
