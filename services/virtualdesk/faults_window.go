package virtualdesk

import (
	"slices"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
)

// Faults of windows and displays. Windows are named by window id, displays by their
// index in Displays. Lengths are display-logical points.

// Move puts a window's top left corner somewhere else; popups move along.
func (d *Desk) Move(windowID uint64, x, y float64) error {
	return d.regeometry(windowID, func(w *window) { w.bounds.X, w.bounds.Y = x, y })
}

// Resize gives a window another size; its elements stay where they are.
func (d *Desk) Resize(windowID uint64, width, height float64) error {
	return d.regeometry(windowID, func(w *window) {
		w.bounds.W, w.bounds.H = max(width, 1), max(height, 1)
		if w.root != nil {
			w.root.bounds.W, w.root.bounds.H = w.bounds.W, w.bounds.H
		}
	})
}

// SpanDisplays puts a window half on each of the first two displays, whose scales differ.
func (d *Desk) SpanDisplays(windowID uint64) error {
	return d.regeometry(windowID, func(w *window) {
		first := d.screens[0].bounds
		w.bounds.X, w.bounds.Y = first.X-w.bounds.W/2, first.Y+20
	})
}

// Minimize hides a window (WINDOW_HIDDEN); it still takes semantic acts.
func (d *Desk) Minimize(windowID uint64) error {
	return d.regeometry(windowID, func(w *window) { w.hidden = true })
}

// Restore shows a minimised window again, where it was in the stack.
func (d *Desk) Restore(windowID uint64) error {
	return d.regeometry(windowID, func(w *window) { w.hidden = false })
}

// Raise puts a window on top of the stack, without focus.
func (d *Desk) Raise(windowID uint64) error {
	return d.regeometry(windowID, func(w *window) { d.restack(w, d.stack[len(d.stack)-1]) })
}

func (d *Desk) regeometry(windowID uint64, f func(*window)) error {
	return d.faultWindow(windowID, func(w *window) error {
		f(w)
		d.emit(executor.ChangeWindows, w.app.pid)
		return nil
	})
}

// CloseWindow destroys a window and the dialogs it owns; the app goes on running.
func (d *Desk) CloseWindow(windowID uint64) error {
	return d.faultWindow(windowID, func(w *window) error {
		d.dropWindow(w)
		return nil
	})
}

// ReplaceWindow puts another window with the same title, content and place in the
// window's stead, and returns its id (C0.2: it is never picked instead).
func (d *Desk) ReplaceWindow(windowID uint64) (uint64, error) {
	return d.replaceWindow(windowID, true)
}

// RecycleWindow is ReplaceWindow by a window that got the same window id again: only
// the birth number and the element references tell (C1.3, WINDOW_CHANGED).
func (d *Desk) RecycleWindow(windowID uint64) error {
	_, err := d.replaceWindow(windowID, false)
	return err
}

func (d *Desk) replaceWindow(windowID uint64, newID bool) (id uint64, err error) {
	err = d.faultWindow(windowID, func(w *window) error {
		for _, p := range slices.Clone(w.popups) {
			d.closePopup(w, p)
		}
		d.forget(w.root)
		w.focus = nil
		if newID {
			old := w.id
			w.id = d.newID()
			d.follow(old, w.id)
		}
		w.birth = d.newBirth()
		id = w.id
		if w.root != nil {
			d.readopt(w.root)
		}
		d.emit(executor.ChangeWindows, w.app.pid)
		return nil
	})
	return id, err
}

// follow keeps what pointed to a window pointing to its successor.
func (d *Desk) follow(old, successor uint64) {
	if d.user.focus == old {
		d.user.focus = successor
	}
	if d.user.active == old {
		d.user.active = successor
	}
	for _, o := range d.stack {
		if o.owner == old {
			o.owner = successor
		}
	}
}

// readopt gives every element of a subtree a new object.
func (d *Desk) readopt(e *element) {
	e.visit(func(x *element) bool {
		delete(d.objects, x.object)
		x.object = d.newObject()
		d.objects[x.object] = x
		return true
	})
}

// Cover opens an empty window of a running app exactly over another window and
// returns its id; CloseWindow uncovers. The same app's cover refuses acts below it,
// another app's does not (C6.2).
func (d *Desk) Cover(windowID uint64, byApp string) (id uint64, err error) {
	err = d.faultWindow(windowID, func(w *window) error {
		a := d.appByID(byApp)
		if a == nil || !a.running {
			return ErrNotThere
		}
		id = d.openWindow(a, frame{title: "Cover", bounds: w.bounds, role: commonv1.Role_ROLE_WINDOW}).id
		return nil
	})
	return id, err
}

// OpenModal opens a modal dialog "Notice" over a window and returns its id; acts on
// the app's other windows are refused until it closes (C6.2).
func (d *Desk) OpenModal(windowID uint64) (id uint64, err error) {
	err = d.faultWindow(windowID, func(w *window) error {
		id = d.openDialog(w, dialog{title: "Notice", question: "Something came up.", accept: "Notice read"}).id
		return nil
	})
	return id, err
}

// OpenPopup opens a popup surface with one item "Dismiss" over a window, at bounds in
// points of the window, and returns the surface's id (SURFACE_NOT_IN_FRAME).
func (d *Desk) OpenPopup(windowID uint64, bounds executor.Rect) (id uint64, err error) {
	err = d.faultWindow(windowID, func(w *window) error {
		if w.root == nil {
			return ErrNotThere
		}
		p := d.openPopup(w, commonv1.SurfaceKind_SURFACE_KIND_POPUP, bounds, "Popup")
		d.attach(p.root, button("Dismiss", rect(8, 8, bounds.W-16, 32), (*Desk).dismiss))
		id = p.id
		return nil
	})
	return id, err
}

// ReloadPage gives the window's page another document in place: same window, same
// elements by content, new references (C1.4, PAGE_TARGET_CHANGED).
func (d *Desk) ReloadPage(windowID uint64) error {
	return d.repage(windowID, false)
}

// CrashRenderer is ReloadPage with another renderer process as well (C2.8).
func (d *Desk) CrashRenderer(windowID uint64) error {
	return d.repage(windowID, true)
}

func (d *Desk) repage(windowID uint64, renderer bool) error {
	return d.faultWindow(windowID, func(w *window) error {
		if w.page.Document == "" {
			return ErrNotThere
		}
		w.page = d.newPage(w.page.Target)
		if renderer {
			d.next.renderer++
			w.renderer = d.next.renderer
		}
		for _, c := range w.root.children {
			d.readopt(c)
		}
		w.focus = nil
		d.emit(executor.ChangeTree, w.app.pid)
		return nil
	})
}

// HideTree makes the app give no usable tree for a window (TREE_QUALITY_NONE), or one
// again; without it no element can be acted on.
func (d *Desk) HideTree(windowID uint64, hidden bool) error {
	return d.retree(windowID, func(w *window) { w.treeHidden = hidden })
}

// NotReady makes the next n reads of a window find that its tree is not built yet.
func (d *Desk) NotReady(windowID uint64, n int) error {
	return d.retree(windowID, func(w *window) { w.notReady = max(n, 0) })
}

// FailCapture makes the next n pictures of a window fail (CAPTURE_FAILED).
func (d *Desk) FailCapture(windowID uint64, n int) error {
	return d.retree(windowID, func(w *window) { w.failing = max(n, 0) })
}

// UnsettleCapture makes a window move by one point after each of its next n pictures,
// so that its geometry before and after differs (C2.1, UNSETTLED).
func (d *Desk) UnsettleCapture(windowID uint64, n int) error {
	return d.retree(windowID, func(w *window) { w.unsettled = max(n, 0) })
}

func (d *Desk) retree(windowID uint64, f func(*window)) error {
	return d.faultWindow(windowID, func(w *window) error {
		f(w)
		d.emit(executor.ChangeTree, w.app.pid)
		return nil
	})
}

// SetScale gives a display another scale, in pixels per point, above 0.
func (d *Desk) SetScale(display int, scale float64) error {
	return d.rescreen(display, func(s *screen) {
		if scale > 0 {
			s.scale = scale
		}
	})
}

// SetScaleUnsure says that a display's scale cannot be proven, or can again (C2.2).
func (d *Desk) SetScaleUnsure(display int, unsure bool) error {
	return d.rescreen(display, func(s *screen) { s.unsure = unsure })
}

// MoveDisplay gives a display another origin; the windows on it move along.
func (d *Desk) MoveDisplay(display int, x, y float64) error {
	return d.rescreen(display, func(s *screen) {
		dx, dy := x-s.bounds.X, y-s.bounds.Y
		for _, w := range d.stack {
			if d.screenOf(w.bounds) == display {
				w.bounds = shift(w.bounds, dx, dy)
			}
		}
		s.bounds.X, s.bounds.Y = x, y
	})
}

func (d *Desk) rescreen(display int, f func(*screen)) error {
	return d.fault(func() error {
		if display < 0 || display >= len(d.screens) {
			return ErrNotThere
		}
		f(&d.screens[display])
		d.emit(executor.ChangeWindows, 0)
		return nil
	})
}
