package virtualdesk

import (
	"image/color"
	"strings"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
)

// Painters of the controls that can be used.

func (c *canvas) button(e *element, k palette) {
	s := look{radius: 6, width: 1, border: k.line, back: k.field}
	ink := inkOf(e, k)
	switch {
	case !e.has(commonv1.ElementState_ELEMENT_STATE_ENABLED):
		s.back = k.back
	case e.primary:
		s.border, s.back, ink = k.accent, k.accent, k.onAccent
	case e.has(commonv1.ElementState_ELEMENT_STATE_PRESSED):
		s.border, s.back, ink = k.accent, k.soft, k.accent
	}
	c.bordered(e.bounds, c.focused(e, s, k))
	c.text(e.bounds, e.name, lettering{face: regular(), color: ink, align: center})
}

// focused gives the look of the element that has the app's keyboard focus.
func (c *canvas) focused(e *element, s look, k palette) look {
	if e.win.focus == e {
		s.border, s.width = k.accent, 2
	}
	return s
}

func (c *canvas) field(e *element, k palette) {
	s := look{radius: 4, width: 1, border: k.line, back: k.field}
	l := lettering{face: regular(), color: inkOf(e, k), align: left}
	if e.has(commonv1.ElementState_ELEMENT_STATE_READ_ONLY) {
		l.face, l.align, l.size, s.back = bold(), right, 2, k.soft
	}
	c.bordered(e.bounds, c.focused(e, s, k))
	inner := rect(e.bounds.X+8, e.bounds.Y, e.bounds.W-16, e.bounds.H)
	switch {
	case e.secure:
		for i := range 8 {
			c.disc(inner.X+6+float64(i)*14, inner.Y+inner.H/2, 3.5, k.ink)
		}
	case e.role == commonv1.Role_ROLE_TEXT_AREA:
		inner.Y, inner.H = inner.Y+5, 20
		for _, line := range wrapped(e.value, int(inner.W/charW), int(e.bounds.H-8)/20) {
			c.text(inner, line, l)
			inner.Y += 20
		}
	default:
		if from, to := e.selected(characters(e.value)); from != to {
			c.fill(rect(inner.X+float64(from*charW), inner.Y+4, float64((to-from)*charW), inner.H-8), k.soft)
		}
		c.text(inner, e.value, l)
	}
}

// cell paints a cell of a table, or of a grid: what it holds, if it holds anything.
func (c *canvas) cell(e *element, k palette) {
	shown := e.name
	if e.parent != nil && e.parent.parent != nil && e.parent.parent.hooks.text != nil {
		shown = e.value
		if e.has(commonv1.ElementState_ELEMENT_STATE_SELECTED) {
			c.fill(inset(e.bounds, 1), k.soft)
		}
	}
	c.text(inset(e.bounds, 8), shown, lettering{face: regular(), color: inkOf(e, k), align: left})
}

// surfaceOf paints what is drawn or written on, and how far something is scrolled.
func (c *canvas) surfaceOf(e *element, k palette) {
	c.bordered(e.bounds, c.focused(e, look{radius: 2, width: 1, border: k.line, back: k.field}, k))
	l := lettering{face: regular(), color: k.ink, align: left}
	switch {
	case e.role == commonv1.Role_ROLE_SCROLL_BAR:
		part := 0.0
		if e.rng != nil && e.rng.Max > e.rng.Min {
			part = (e.number - e.rng.Min) / (e.rng.Max - e.rng.Min)
		}
		c.round(rect(e.bounds.X+3, e.bounds.Y+3+part*(e.bounds.H-36), e.bounds.W-6, 30), 3, k.faint)
	case e.role == commonv1.Role_ROLE_TERMINAL:
		lines := strings.Split(e.value, "\n")
		fits := int(e.bounds.H-8) / charH
		lines = lines[max(0, len(lines)-fits):]
		for i, s := range lines {
			c.text(rect(e.bounds.X+6, e.bounds.Y+4+float64(i*charH), e.bounds.W-12, charH), s, l)
		}
	case e.drawing != nil:
		c.limited(inset(e.bounds, 1)).sketch(e.drawing, e.bounds.X, e.bounds.Y, k.accent)
	default:
		c.text(inset(e.bounds, 6), e.value, l)
	}
}

// wrapped breaks a text into at most so many lines of at most so many characters.
func wrapped(s string, chars, lines int) []string {
	var out []string
	for _, line := range strings.Split(s, "\n") {
		for {
			if len(out) >= lines {
				return out
			}
			head := cutText(line, chars)
			out = append(out, head)
			line = line[len(head):]
			if line == "" || head == "" {
				break
			}
		}
	}
	return out
}

// marked paints a control whose mark stands left of its name.
func (c *canvas) marked(e *element, k palette) {
	b := e.bounds
	on := e.has(commonv1.ElementState_ELEMENT_STATE_CHECKED)
	mid, wide := b.Y+b.H/2, 18.0
	off := look{radius: 4, width: 1.5, border: k.faint, back: k.field}
	if on {
		off.border, off.back = k.accent, k.accent
	}
	switch e.role {
	case commonv1.Role_ROLE_CHECK_BOX:
		c.bordered(rect(b.X, mid-9, 18, 18), c.focused(e, off, k))
		if on {
			c.tick(b.X, mid-9, k.onAccent)
		}
	case commonv1.Role_ROLE_CHECK_MENU_ITEM:
		if on {
			c.tick(b.X+6, mid-9, k.accent)
		}
		wide = 26
	case commonv1.Role_ROLE_RADIO_BUTTON:
		off.radius = 9
		c.bordered(rect(b.X, mid-9, 18, 18), c.focused(e, off, k))
		if on {
			c.disc(b.X+9, mid, 3.5, k.onAccent)
		}
	case commonv1.Role_ROLE_SWITCH:
		c.switchTrack(e, on, k)
		wide = 36
	case commonv1.Role_ROLE_DISCLOSURE:
		c.arrow(b.X+9, mid, e.has(commonv1.ElementState_ELEMENT_STATE_EXPANDED), k.ink)
	}
	c.text(rect(b.X+wide+7, b.Y, b.W-wide-7, b.H), e.name, lettering{face: regular(), color: inkOf(e, k), align: left})
}

func (c *canvas) switchTrack(e *element, on bool, k palette) {
	x, mid := e.bounds.X, e.bounds.Y+e.bounds.H/2
	back, knob := k.faint, x+10
	if on {
		back, knob = k.accent, x+26
	}
	c.round(rect(x, mid-10, 36, 20), 10, back)
	c.disc(knob, mid, 7, k.onAccent)
}

func (c *canvas) tick(x, y float64, col color.RGBA) {
	c.stroke(2, col, [2]float64{x + 4, y + 9.5}, [2]float64{x + 7.5, y + 13}, [2]float64{x + 14, y + 5.5})
}

// arrow points right, or down.
func (c *canvas) arrow(x, y float64, down bool, col color.RGBA) {
	if down {
		c.stroke(2, col, [2]float64{x - 4, y - 2}, [2]float64{x, y + 3}, [2]float64{x + 4, y - 2})
		return
	}
	c.stroke(2, col, [2]float64{x - 2, y - 4}, [2]float64{x + 3, y}, [2]float64{x - 2, y + 4})
}

// track paints a slider or a progress bar, with its number.
func (c *canvas) track(e *element, k palette) {
	b := e.bounds
	bar := rect(b.X, b.Y+b.H/2-4, b.W-44, 8)
	part := 0.0
	if e.rng != nil && e.rng.Max > e.rng.Min {
		part = (e.number - e.rng.Min) / (e.rng.Max - e.rng.Min)
	}
	c.round(bar, 4, k.track)
	c.round(rect(bar.X, bar.Y, max(bar.W*part, 8), bar.H), 4, k.accent)
	if e.role == commonv1.Role_ROLE_SLIDER {
		x := bar.X + 9 + (bar.W-18)*part
		c.disc(x, bar.Y+4, 10, k.accent)
		c.disc(x, bar.Y+4, 8, k.onAccent)
	}
	c.text(rect(b.X+b.W-40, b.Y, 40, b.H), e.value, lettering{face: regular(), color: k.ink, align: right})
}

// chooser paints a field with arrows: a spin button or a combo box.
func (c *canvas) chooser(e *element, k palette) {
	b := e.bounds
	c.bordered(b, c.focused(e, look{radius: 4, width: 1, border: k.line, back: k.field}, k))
	c.text(rect(b.X+8, b.Y, b.W-40, b.H), e.value, lettering{face: regular(), color: inkOf(e, k), align: left})
	x, mid := b.X+b.W-14, b.Y+b.H/2
	if e.role == commonv1.Role_ROLE_COMBO_BOX {
		c.arrow(x, mid, true, k.ink)
		return
	}
	c.fill(rect(b.X+b.W-28, b.Y+1, 1, b.H-2), k.line)
	c.stroke(1.5, k.ink, [2]float64{x - 4, mid - 3}, [2]float64{x, mid - 8}, [2]float64{x + 4, mid - 3})
	c.stroke(1.5, k.ink, [2]float64{x - 4, mid + 3}, [2]float64{x, mid + 8}, [2]float64{x + 4, mid + 3})
}

// row paints a line of a list, table, menu or combo box.
func (c *canvas) row(e *element, k palette, name string) {
	if e.has(commonv1.ElementState_ELEMENT_STATE_SELECTED) {
		c.fill(inset(e.bounds, 1), k.soft)
	}
	l := lettering{face: regular(), color: inkOf(e, k), align: left}
	c.text(rect(e.bounds.X+8, e.bounds.Y, e.bounds.W-16, e.bounds.H), name, l)
}
