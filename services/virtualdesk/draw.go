package virtualdesk

import (
	"context"
	"image"
	"image/color"
	"math"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
)

// titleHeight is the height of a window's title bar in points.
const titleHeight = 30

// palette is the one look of the desk.
type palette struct {
	ink, faint, back, bar, line, field, accent, onAccent, soft, track color.RGBA
}

func colors() palette {
	rgb := func(v uint32) color.RGBA {
		return color.RGBA{R: uint8(v >> 16), G: uint8(v >> 8), B: uint8(v), A: 255}
	}
	return palette{
		ink: rgb(0x1C2330), faint: rgb(0x8A93A3), back: rgb(0xF7F8FA), bar: rgb(0xE3E7EE), line: rgb(0xBCC4D0),
		field: rgb(0xFFFFFF), accent: rgb(0x2458D3), onAccent: rgb(0xFFFFFF), soft: rgb(0xDCE6FB), track: rgb(0xD3D9E3),
	}
}

// Capture draws all surfaces of a window at its scale, covered or not, without a
// cursor (C2.9). Where no surface is, the picture is transparent. A hidden window has
// no picture. Secure fields show eight dots whatever they hold (C2.10).
func (d *Desk) Capture(ctx context.Context, id ident.Window) (*executor.Capture, error) {
	w, a := d.enter(ctx, id, commonv1.AbilityKind_ABILITY_KIND_CAPTURE)
	defer d.mu.Unlock()
	if a != 0 {
		return nil, failAt(a, commonv1.Stage_STAGE_CAPTURE)
	}
	if w.hidden {
		return nil, executor.Fail(refusal.AnswerWindowHidden)
	}
	if w.failing > 0 {
		w.failing--
		return nil, executor.Fail(refusal.AnswerCaptureFailed)
	}
	c := newCanvas(w, d.scaleOf(w.bounds))
	c.window(w)
	if w.unsettled > 0 {
		w.unsettled--
		w.bounds.X++
		d.emit(executor.ChangeWindows, w.app.pid)
	}
	return &executor.Capture{Image: c.img, Scale: c.scale, OffsetX: c.ox, OffsetY: c.oy}, nil
}

// newCanvas is large enough for all surfaces of the window.
func newCanvas(w *window, scale float64) *canvas {
	x0, y0, x1, y1 := 0.0, 0.0, w.bounds.W, w.bounds.H
	for _, p := range w.popups {
		x0, y0 = min(x0, p.bounds.X), min(y0, p.bounds.Y)
		x1, y1 = max(x1, p.bounds.X+p.bounds.W), max(y1, p.bounds.Y+p.bounds.H)
	}
	size := image.Rect(0, 0, int(math.Ceil((x1-x0)*scale)), int(math.Ceil((y1-y0)*scale)))
	return &canvas{img: image.NewRGBA(size), scale: scale, ox: x0, oy: y0}
}

func (c *canvas) window(w *window) {
	k := colors()
	whole := rect(0, 0, w.bounds.W, w.bounds.H)
	c.fill(whole, k.line)
	c.fill(inset(whole, 1), k.back)
	c.fill(rect(1, 1, w.bounds.W-2, titleHeight-2), k.bar)
	c.fill(rect(1, titleHeight-1, w.bounds.W-2, 1), k.line)
	c.text(rect(12, 0, w.bounds.W-24, titleHeight), w.title, lettering{face: bold(), color: k.ink, align: center})
	surface := c.limited(whole)
	if w.root != nil {
		for _, e := range w.root.children {
			surface.tree(e, k)
		}
		surface.openOptions(w.root, k)
	}
	if w.drawing != nil {
		surface.sketch(w.drawing, 0, 0, k.ink)
	}
	for _, p := range w.popups {
		c.dx, c.dy = p.bounds.X, p.bounds.Y
		own := rect(0, 0, p.bounds.W, p.bounds.H)
		c.bordered(own, look{radius: 6, width: 1, border: k.line, back: k.field})
		surface := c.limited(own)
		for _, e := range p.root.children {
			surface.tree(e, k)
		}
	}
	c.dx, c.dy = 0, 0
}

// limited is a canvas that draws only inside a rectangle of the same surface.
func (c *canvas) limited(r executor.Rect) *canvas {
	l := *c
	if part, ok := c.img.SubImage(c.box(r)).(*image.RGBA); ok {
		l.img = part
	}
	return &l
}

// tree paints an element and what is on it. Options of combo boxes come later.
func (c *canvas) tree(e *element, k palette) {
	if e.has(commonv1.ElementState_ELEMENT_STATE_OFFSCREEN) || e.role == commonv1.Role_ROLE_OPTION {
		return
	}
	c.element(e, k)
	if e.scroll != nil {
		c = c.limited(e.bounds)
	}
	for _, child := range e.children {
		c.tree(child, k)
	}
}

// openOptions paints the lists of open combo boxes over everything else.
func (c *canvas) openOptions(root *element, k palette) {
	root.visit(func(e *element) bool {
		if e.role != commonv1.Role_ROLE_COMBO_BOX || !e.has(commonv1.ElementState_ELEMENT_STATE_EXPANDED) {
			return true
		}
		list := rect(e.bounds.X, e.bounds.Y+e.bounds.H+1, e.bounds.W, float64(len(e.children))*optionHeight+2)
		c.bordered(list, look{radius: 2, width: 1, border: k.line, back: k.field})
		for _, o := range e.children {
			c.row(o, k, o.name)
		}
		return true
	})
}

// element paints one element by its role.
func (c *canvas) element(e *element, k palette) {
	switch e.role {
	case commonv1.Role_ROLE_BUTTON, commonv1.Role_ROLE_TOGGLE_BUTTON:
		c.button(e, k)
	case commonv1.Role_ROLE_TEXT_FIELD, commonv1.Role_ROLE_TEXT_AREA, commonv1.Role_ROLE_SECURE_FIELD:
		c.field(e, k)
	case commonv1.Role_ROLE_CHECK_BOX, commonv1.Role_ROLE_RADIO_BUTTON, commonv1.Role_ROLE_SWITCH,
		commonv1.Role_ROLE_CHECK_MENU_ITEM, commonv1.Role_ROLE_DISCLOSURE:
		c.marked(e, k)
	case commonv1.Role_ROLE_SLIDER, commonv1.Role_ROLE_PROGRESS_BAR:
		c.track(e, k)
	case commonv1.Role_ROLE_SPIN_BUTTON, commonv1.Role_ROLE_COMBO_BOX:
		c.chooser(e, k)
	case commonv1.Role_ROLE_MENU_ITEM, commonv1.Role_ROLE_LIST_ITEM:
		c.row(e, k, e.name)
	case commonv1.Role_ROLE_ROW:
		c.row(e, k, "")
	case commonv1.Role_ROLE_CANVAS, commonv1.Role_ROLE_TERMINAL, commonv1.Role_ROLE_SCROLL_BAR:
		c.surfaceOf(e, k)
	default:
		c.passive(e, k)
	}
}

// passive paints what only shows something.
func (c *canvas) passive(e *element, k palette) {
	plain := lettering{face: regular(), color: inkOf(e, k), align: left}
	switch e.role {
	case commonv1.Role_ROLE_LABEL, commonv1.Role_ROLE_PARAGRAPH:
		c.text(e.bounds, e.name, plain)
	case commonv1.Role_ROLE_CELL:
		c.cell(e, k)
	case commonv1.Role_ROLE_HEADING:
		c.text(e.bounds, e.name, lettering{face: bold(), color: k.ink, align: left})
		c.fill(rect(e.bounds.X, e.bounds.Y+e.bounds.H-2, float64(len(e.name)*charW), 2), k.accent)
	case commonv1.Role_ROLE_COLUMN_HEADER:
		c.fill(e.bounds, k.bar)
		c.text(inset(e.bounds, 8), e.name, lettering{face: bold(), color: k.ink, align: left})
	case commonv1.Role_ROLE_LINK:
		c.text(e.bounds, e.name, lettering{face: regular(), color: k.accent, align: left})
		c.fill(rect(e.bounds.X, e.bounds.Y+e.bounds.H-3, float64(len(e.name)*charW), 1), k.accent)
	case commonv1.Role_ROLE_MENU:
		if e.has(commonv1.ElementState_ELEMENT_STATE_EXPANDED) {
			c.round(inset(e.bounds, 2), 4, k.soft)
		}
		c.text(e.bounds, e.name, lettering{face: regular(), color: k.ink, align: center})
	case commonv1.Role_ROLE_MENU_BAR:
		c.fill(rect(e.bounds.X+1, e.bounds.Y+e.bounds.H-1, e.bounds.W-2, 1), k.track)
	case commonv1.Role_ROLE_TOOLBAR:
		c.fill(rect(e.bounds.X+1, e.bounds.Y, e.bounds.W-2, e.bounds.H), k.bar)
	case commonv1.Role_ROLE_STATUS_BAR:
		c.fill(inset(e.bounds, 1), k.bar)
		c.fill(rect(e.bounds.X+1, e.bounds.Y, e.bounds.W-2, 1), k.line)
	case commonv1.Role_ROLE_TABLE, commonv1.Role_ROLE_LIST, commonv1.Role_ROLE_SCROLL_AREA:
		c.bordered(e.bounds, c.focused(e, look{radius: 0, width: 1, border: k.line, back: k.field}, k))
	}
}

func inkOf(e *element, k palette) color.RGBA {
	if e.has(commonv1.ElementState_ELEMENT_STATE_ENABLED) {
		return k.ink
	}
	return k.faint
}
