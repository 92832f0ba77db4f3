package virtualdesk

import (
	"fmt"
	"testing"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/ident"
)

// layouts are arrangements of the displays and of one window on them (C2.2).
func layouts() map[string]func(stage, ident.Window) error {
	return map[string]func(stage, ident.Window) error{
		"scale 1": func(s stage, w ident.Window) error { return s.Move(w.ID, 90, 70) },
		"scale 2, negative origin": func(s stage, w ident.Window) error {
			return s.Move(w.ID, -1270, -110)
		},
		"scale 1.25": func(s stage, w ident.Window) error {
			s.must(s.Move(w.ID, 90, 70))
			return s.SetScale(0, 1.25)
		},
		"scale 1.5, odd place": func(s stage, w ident.Window) error {
			s.must(s.Move(w.ID, 33.5, 21.25))
			return s.SetScale(0, 1.5)
		},
		"display moved": func(s stage, w ident.Window) error {
			s.must(s.Move(w.ID, 90, 70))
			return s.MoveDisplay(0, -3000, 2000)
		},
		"across two displays": func(s stage, w ident.Window) error { return s.SpanDisplays(w.ID) },
		"below the bottom":    func(s stage, w ident.Window) error { return s.Move(w.ID, 90, 850) },
	}
}

// pixelOf is where a point of the toplevel surface is in a picture, and back: what every
// reader of a picture does.
func pixelOf(c *executor.Capture, x, y float64) (px, py int) {
	return int((x - c.OffsetX) * c.Scale), int((y - c.OffsetY) * c.Scale)
}

func pointOf(c *executor.Capture, px, py int) (x, y float64) {
	return (float64(px)+0.5)/c.Scale + c.OffsetX, (float64(py)+0.5)/c.Scale + c.OffsetY
}

func TestEveryPixelOfAnElementLeadsBackToIt(t *testing.T) {
	for name, arrange := range layouts() {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			w := s.window("Form")
			s.must(arrange(s, w))
			s.must(s.Raise(w.ID))
			// A popup that reaches out of the window moves the picture's origin.
			_, err := s.OpenPopup(w.ID, rect(-40, -20, 60, 40))
			s.must(err)
			c, l := s.picture(w), s.listed(w.ID)
			if c.Scale != l.Scale || c.OffsetX != -40 || c.OffsetY != -20 {
				t.Fatalf("scale %v, listed %v, from %v, %v", c.Scale, l.Scale, c.OffsetX, c.OffsetY)
			}
			tried := 0
			for _, n := range s.tree(w).Nodes {
				if n.States.Has(commonv1.ElementState_ELEMENT_STATE_OFFSCREEN) || n.Role == commonv1.Role_ROLE_WINDOW ||
					n.Secure {
					continue
				}
				tried++
				s.leadsBack(w, l, c, n)
			}
			if tried < 30 {
				t.Errorf("only %d elements", tried)
			}
		})
	}
}

// leadsBack takes pixels of an element, and asks what input there would reach.
func (s stage) leadsBack(w ident.Window, l executor.Window, c *executor.Capture, n executor.Node) {
	s.t.Helper()
	surface := l.Surfaces[n.Surface]
	dx, dy := surface.Bounds.X-l.Bounds.X, surface.Bounds.Y-l.Bounds.Y
	for _, part := range [][2]float64{{0.02, 0.05}, {0.5, 0.5}, {0.97, 0.9}} {
		x, y := dx+n.Bounds.X+n.Bounds.W*part[0], dy+n.Bounds.Y+n.Bounds.H*part[1]
		if !holds(rect(0, 0, surface.Bounds.W, surface.Bounds.H), x-dx, y-dy) {
			continue // A caption may be wider than what shows of it.
		}
		px, py := pixelOf(c, x, y)
		if px < 0 || py < 0 || px >= c.Image.Rect.Dx() || py >= c.Image.Rect.Dy() {
			s.t.Errorf("%q: pixel %d, %d of %v", n.Name, px, py, c.Image.Rect)
			continue
		}
		bx, by := pointOf(c, px, py)
		if bx < x-1/c.Scale || bx > x+1/c.Scale || by < y-1/c.Scale || by > y+1/c.Scale {
			s.t.Errorf("%q: %v, %v came back as %v, %v", n.Name, x, y, bx, by)
		}
		var asked seen
		s.Deliver(s.t.Context(), pointAct(w, hoverPoint,
			executor.SurfacePoint{Surface: surface.ID, X: bx - dx, Y: by - dy}), asked.agree)
		if len(asked.was) != 1 || asked.was[0].Surface != surface.ID || !s.leadsTo(w, n, asked.was[0].Node, bx-dx, by-dy) {
			s.t.Errorf("%q at %v: %+v", n.Name, part, asked.was)
		}
		if p := s.desk().AgentPointer; fmt.Sprintf("%.3f %.3f", p.X, p.Y) !=
			fmt.Sprintf("%.3f %.3f", l.Bounds.X+bx, l.Bounds.Y+by) {
			s.t.Errorf("the pointer is at %v, not at %v, %v", p, l.Bounds.X+bx, l.Bounds.Y+by)
		}
	}
}

// leadsTo says whether what was hit at a point is the element, is below it or is drawn over it.
func (s stage) leadsTo(w ident.Window, n, hit executor.Node, x, y float64) bool {
	if n.Object == hit.Object {
		return true
	}
	nodes := s.tree(w).Nodes
	at := func(o executor.Object) int {
		for i := range nodes {
			if nodes[i].Object == o {
				return i
			}
		}
		return -1
	}
	for i := at(hit.Object); i >= 0; i = nodes[i].Parent {
		if nodes[i].Object == n.Object {
			return true
		}
	}
	return at(hit.Object) > at(n.Object) && holds(hit.Bounds, x, y)
}

func TestWindowAcrossTwoScalesHasTheOneItIsMostlyOn(t *testing.T) {
	s := newStage(t)
	w := s.window("Form")
	s.must(s.SpanDisplays(w.ID))
	touched := map[float64]bool{}
	ds, err := s.Displays(t.Context())
	s.must(err)
	for _, d := range ds {
		if overlap(d.Bounds, s.listed(w.ID).Bounds) > 0 {
			touched[d.Scale] = true
		}
	}
	if len(touched) != 2 {
		t.Fatalf("it touches %v", touched)
	}
	s.must(s.Move(w.ID, -100, 60))
	if c := s.picture(w); c.Scale != 1 || s.listed(w.ID).Scale != 1 {
		t.Errorf("scale %v", c.Scale)
	}
	s.must(s.Move(w.ID, -600, 60))
	if c := s.picture(w); c.Scale != 2 || c.Image.Rect.Dx() != 1280 || s.listed(w.ID).Scale != 2 {
		t.Errorf("scale %v", c.Scale)
	}
	s.must(s.SetScaleUnsure(1, true))
	if ds, err = s.Displays(t.Context()); err != nil || !ds[1].MixedOrUnsure {
		t.Errorf("%+v, %v", ds, err)
	}
}

func TestClickOnAPixelUsesTheElementInEveryLayout(t *testing.T) {
	for name, arrange := range layouts() {
		s := newStage(t)
		w := s.window("Calculator")
		s.must(arrange(s, w))
		s.must(s.Raise(w.ID))
		c := s.picture(w)
		for _, key := range []string{"7", "×", "6", "="} {
			n := s.node(w, commonv1.Role_ROLE_BUTTON, key)
			px, py := pixelOf(c, n.Bounds.X+n.Bounds.W/2, n.Bounds.Y+n.Bounds.H/2)
			x, y := pointOf(c, px, py)
			s.sent(clickAt(w, executor.SurfacePoint{Surface: w.ID, X: x, Y: y}))
		}
		if s.shown() != "42" {
			t.Errorf("%s: %s", name, s.shown())
		}
	}
}
