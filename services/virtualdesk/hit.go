package virtualdesk

import (
	"math"
	"slices"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/refusal"
)

// target is where one part of an input would go right now.
type target struct {
	win   *window
	under executor.Under
	// element is what the input is about: hit by the pointer, or named for the keys. It is
	// nil where the window has no elements.
	element *element
	// surface is the point's own surface, and x and y the point in it.
	surface uint64
	x, y    float64
	// bar is why nothing is sent there even if the check agrees.
	bar refusal.Answer
	// undo takes back what had to be prepared for the check.
	undo func()
}

// lookAt finds what is at a point of a surface of a window, whoever it belongs to.
func (d *Desk) lookAt(w *window, p executor.SurfacePoint) (target, refusal.Answer) {
	if w.hidden {
		return target{}, refusal.AnswerWindowHidden
	}
	bounds, ok := w.surfaceBounds(p.Surface)
	if !ok {
		return target{}, refusal.AnswerElementReleased
	}
	if math.IsNaN(p.X) || math.IsNaN(p.Y) || !holds(rect(0, 0, bounds.W, bounds.H), p.X, p.Y) {
		return target{}, refusal.AnswerInvalidPoint
	}
	t := target{win: w, surface: p.Surface, x: p.X, y: p.Y}
	over, surface, e := d.at(bounds.X+p.X, bounds.Y+p.Y)
	t.under.Surface = surface
	if over != nil {
		t.under.Bounds, _ = over.surfaceBounds(surface)
	}
	if e != nil && !over.treeHidden {
		t.under.Node, t.under.HasNode = e.reread(), true
		t.under.Focused = over.focus == e
	}
	switch {
	case surface != p.Surface:
		t.bar = refusal.AnswerWindowOccluded
		return t, 0
	case e != nil && e.secure:
		t.bar = refusal.AnswerElementSecure
	case d.blocked(w):
		t.bar = refusal.AnswerWindowOccluded
	}
	t.element = e
	return t, 0
}

// surfaceBounds is where a surface of the window is, in display-logical points.
func (w *window) surfaceBounds(id uint64) (executor.Rect, bool) {
	if id == w.id {
		return w.bounds, true
	}
	if p := w.popupByID(id); p != nil {
		return shift(p.bounds, w.bounds.X, w.bounds.Y), true
	}
	return executor.Rect{}, false
}

// popupByID is the popup that is a surface, nil for none.
func (w *window) popupByID(id uint64) *popup {
	for _, p := range w.popups {
		if p.id == id {
			return p
		}
	}
	return nil
}

// at is the topmost surface of any app at a display-logical point, and the deepest
// element that lies there. No window means the desk itself.
func (d *Desk) at(x, y float64) (*window, uint64, *element) {
	for _, w := range slices.Backward(d.stack) {
		if w.hidden {
			continue
		}
		lx, ly := x-w.bounds.X, y-w.bounds.Y
		for _, p := range slices.Backward(w.popups) {
			if holds(p.bounds, lx, ly) {
				return w, p.id, hit(p.root, lx-p.bounds.X, ly-p.bounds.Y)
			}
		}
		if holds(w.bounds, x, y) {
			return w, w.id, hit(w.root, lx, ly)
		}
	}
	return nil, 0, nil
}

// hit is the element that is drawn last at a point of its surface. Options of an open
// combo box lie over everything else; elements may reach out of their parents.
func hit(root *element, x, y float64) *element {
	if root == nil {
		return nil
	}
	found, option := root, (*element)(nil)
	root.visitShown(x, y, func(e *element) {
		switch {
		case !holds(e.bounds, x, y):
		case e.role == commonv1.Role_ROLE_OPTION:
			option = e
		default:
			found = e
		}
	})
	if option != nil {
		return option
	}
	return found
}

// visitShown visits the elements in the order they are drawn, those out of view and
// those that a scrolled container cuts off at the point left out.
func (e *element) visitShown(x, y float64, f func(*element)) {
	if e.has(commonv1.ElementState_ELEMENT_STATE_OFFSCREEN) {
		return
	}
	f(e)
	if e.scroll != nil && !holds(e.bounds, x, y) {
		return
	}
	for _, c := range e.children {
		c.visitShown(x, y, f)
	}
}

// up is the nearest of an element and its ancestors that answers a question with yes.
func (e *element) up(is func(*element) bool) *element {
	for p := e; p != nil; p = p.parent {
		if is(p) {
			return p
		}
	}
	return nil
}
