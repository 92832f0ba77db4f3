package virtualdesk

import (
	"math"
	"slices"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
)

// What an app makes of a pointer.

// gesture is a press as an element sees it that cares where and how it was pressed.
type gesture struct {
	x, y   float64
	button commonv1.Button
	count  int
}

// usable says whether something is made of a left press on the element.
func usable(e *element) bool {
	return e.offers(commonv1.ElementAction_ELEMENT_ACTION_PRESS) || e.takesText || e.takesNumber ||
		e.drawing != nil || e.has(commonv1.ElementState_ELEMENT_STATE_FOCUSABLE)
}

// clicked is what a window makes of a click: nothing, where nothing can be used.
func (d *Desk) clicked(t target, in executor.Input) {
	w, e := t.win, t.element
	on := w.popupByID(t.surface)
	if on == nil || !on.context {
		d.closeContext(w)
	}
	if e == nil {
		w.drawing.begin(t.x, t.y)
		return
	}
	g := gesture{x: t.x, y: t.y, button: in.Button, count: in.Count}
	if special := e.up(func(p *element) bool { return p.hooks.point != nil }); special != nil {
		d.focusInto(special)
		special.hooks.point(d, special, g)
		return
	}
	switch in.Button {
	case commonv1.Button_BUTTON_RIGHT:
		if box := e.up(func(p *element) bool { return p.hooks.context != nil }); box != nil {
			x, y := t.x, t.y
			if on != nil {
				x, y = x+on.bounds.X, y+on.bounds.Y
			}
			d.openContext(box, x, y)
		}
	case commonv1.Button_BUTTON_MIDDLE:
		if user := e.up(func(p *element) bool { return p.hooks.middle != nil }); user != nil {
			user.hooks.middle(d, user)
		}
	default:
		if user := e.up(usable); user != nil && user.has(commonv1.ElementState_ELEMENT_STATE_ENABLED) {
			d.leftClicked(user, g, in.Modifiers)
		}
	}
}

// focusInto gives an element its window's keyboard focus, if it can have it.
func (d *Desk) focusInto(e *element) {
	if e.has(commonv1.ElementState_ELEMENT_STATE_FOCUSABLE) {
		e.win.focus = e
	}
}

func (d *Desk) leftClicked(e *element, g gesture, held []commonv1.Modifier) {
	d.focusInto(e)
	switch {
	case e.takesText:
		d.textClicked(e, g, slices.Contains(held, commonv1.Modifier_MODIFIER_SHIFT))
	case e.drawing != nil:
		e.drawing.begin(g.x-e.bounds.X, g.y-e.bounds.Y)
		e.value = e.drawing.told()
		run(d, e, e.hooks.change)
	case e.takesNumber && e.role == commonv1.Role_ROLE_SLIDER:
		e.setNumber(e.numberAt(g.x))
		run(d, e, e.hooks.change)
	case e.takesNumber && g.x >= e.bounds.X+e.bounds.W-28:
		for range g.count {
			d.stepNumber(e, stepAt(e, g.y))
		}
	case e.has(commonv1.ElementState_ELEMENT_STATE_SELECTABLE) &&
		slices.Contains(held, commonv1.Modifier_MODIFIER_CONTROL):
		e.set(commonv1.ElementState_ELEMENT_STATE_SELECTED, !e.has(commonv1.ElementState_ELEMENT_STATE_SELECTED))
		run(d, e.parent, e.parent.hooks.change)
	default:
		for range g.count {
			if d.alive(e) {
				d.press(e)
			}
		}
		if g.count == 2 && d.alive(e) {
			run(d, e, e.hooks.double)
		}
	}
}

// stepAt is which of the two arrows of a spin button lies at a height.
func stepAt(e *element, y float64) float64 {
	if y < e.bounds.Y+e.bounds.H/2 {
		return 1
	}
	return -1
}

// textClicked puts the caret where it was clicked, selects a word or everything.
func (d *Desk) textClicked(e *element, g gesture, extend bool) {
	at := e.caretAt(g.x, g.y)
	switch g.count {
	case 2:
		e.selectRange(word(e.content(), at))
	case 3:
		e.selectAll()
	default:
		e.move(at, extend)
	}
}

// numberAt is what a slider says when its knob is at a place, whole steps only.
func (e *element) numberAt(x float64) float64 {
	// The knob's way is drawn by track.
	part := (x - e.bounds.X - 9) / (e.bounds.W - 44 - 18)
	n := e.rng.Min + min(max(part, 0), 1)*(e.rng.Max-e.rng.Min)
	if e.rng.Step > 0 {
		n = math.Round(n/e.rng.Step) * e.rng.Step
	}
	return n
}

// hovered is the pointer that came to rest: tooltips elsewhere in the window go.
func (d *Desk) hovered(t target) {
	for _, p := range slices.Clone(t.win.popups) {
		if p.kind == commonv1.SurfaceKind_SURFACE_KIND_TOOLTIP {
			d.closePopup(t.win, p)
		}
	}
	if user := t.element.up(func(p *element) bool { return p.hooks.hover != nil }); user != nil {
		user.hooks.hover(d, user)
	}
}

// scrolled scrolls what lies around the point and can be scrolled.
func (d *Desk) scrolled(t target, in executor.Input) {
	if t.element == nil {
		t.win.drawing.shift(in.Direction, in.Amount)
		return
	}
	if box := t.element.scrolls(); box != nil {
		d.scrollBy(box, in.Direction, in.Amount)
	}
}

// drag is what is dragged, from where, and where it is, in points of the surface it
// began on.
type drag struct {
	start target
	user  *element // what it is about, nil for a window without elements
	x, y  float64
	moved bool
}

func (d *Desk) grabbed(g *drag) {
	if g.start.element == nil {
		g.start.win.drawing.begin(g.x, g.y)
		return
	}
	g.user = g.start.element.up(func(p *element) bool {
		return p.takesText || p.takesNumber || p.drawing != nil || p.hooks.drop != nil
	})
	if g.user == nil || !g.user.has(commonv1.ElementState_ELEMENT_STATE_ENABLED) {
		g.user = nil
		return
	}
	d.focusInto(g.user)
	switch {
	case g.user.takesText:
		g.user.move(g.user.caretAt(g.x, g.y), false)
	case g.user.drawing != nil:
		g.user.drawing.begin(g.x-g.user.bounds.X, g.y-g.user.bounds.Y)
	}
}

func (d *Desk) pulled(g *drag, x, y float64) {
	g.x, g.y, g.moved = x, y, true
	switch {
	case g.start.element == nil:
		g.start.win.drawing.extend(x, y)
	case g.user == nil || !d.alive(g.user):
	case g.user.takesText:
		g.user.move(g.user.caretAt(x, y), true)
	case g.user.takesNumber && g.user.role == commonv1.Role_ROLE_SLIDER:
		g.user.setNumber(g.user.numberAt(x))
	case g.user.drawing != nil:
		g.user.drawing.extend(x-g.user.bounds.X, y-g.user.bounds.Y)
	}
}

// dropped ends a drag where it is, also when it did not come to its end.
func (d *Desk) dropped(g *drag) {
	if g.user == nil || !g.moved || !d.alive(g.user) {
		return
	}
	switch {
	case g.user.drawing != nil:
		g.user.value = g.user.drawing.told()
		run(d, g.user, g.user.hooks.change)
	case g.user.takesNumber:
		run(d, g.user, g.user.hooks.change)
	case g.user.hooks.drop != nil:
		g.user.hooks.drop(d, g.user, g.x, g.y)
	}
}
