package virtualdesk

import (
	commonv1 "fairlead.dev/gen/fairlead/common/v1"
)

// scrolling is how far something is scrolled down, in points.
type scrolling struct{ at, most float64 }

func (s *scrolling) copied() *scrolling {
	if s == nil {
		return nil
	}
	c := *s
	return &c
}

// scrolls is the nearest of an element and its ancestors that scrolls, nil for none.
func (e *element) scrolls() *element { return e.up(func(p *element) bool { return p.scroll != nil }) }

// scrollTo brings a scrolled container to a position; its scroll bar says where that is.
func (d *Desk) scrollTo(e *element, at float64) {
	at = min(max(at, 0), e.scroll.most)
	by := at - e.scroll.at
	if by == 0 {
		return
	}
	e.scroll.at = at
	for _, c := range e.children {
		if c.role == commonv1.Role_ROLE_SCROLL_BAR {
			c.setNumber(at)
			continue
		}
		c.visit(func(x *element) bool {
			x.bounds.Y -= by
			x.set(commonv1.ElementState_ELEMENT_STATE_OFFSCREEN, overlap(x.bounds, e.bounds) == 0)
			return true
		})
	}
	run(d, e, e.hooks.change)
}

// scrollBy scrolls by tenths of what is in view.
func (d *Desk) scrollBy(e *element, direction commonv1.Direction, tenths int) {
	by := float64(tenths) / 10 * e.bounds.H
	switch direction {
	case commonv1.Direction_DIRECTION_DOWN:
		d.scrollTo(e, e.scroll.at+by)
	case commonv1.Direction_DIRECTION_UP:
		d.scrollTo(e, e.scroll.at-by)
	}
}

// scrollIntoView scrolls what an element lies in until it is all in view.
func (d *Desk) scrollIntoView(e *element) {
	box := e.scrolls()
	if box == nil {
		return
	}
	top, bottom := e.bounds.Y-box.bounds.Y, e.bounds.Y+e.bounds.H-box.bounds.Y-box.bounds.H
	switch {
	case top < 0:
		d.scrollTo(box, box.scroll.at+top)
	case bottom > 0:
		d.scrollTo(box, box.scroll.at+bottom)
	}
}

// vertically says whether anything here can be scrolled that way.
func vertically(direction commonv1.Direction) bool {
	return direction == commonv1.Direction_DIRECTION_UP || direction == commonv1.Direction_DIRECTION_DOWN
}
