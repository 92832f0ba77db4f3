package virtualdesk

import (
	"fmt"
	"image/color"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
)

// drawingMax bounds the points of a drawing; what is drawn beyond is not kept.
const drawingMax = 4096

// drawing is what was drawn on something: lines through points of it, in its own points.
// A line of one point is a dot. A drawing that is not there takes nothing.
type drawing struct {
	lines  [][]executor.Point
	points int
	offset float64 // how far it was scrolled
}

func (g *drawing) copied() *drawing {
	if g == nil {
		return nil
	}
	c := &drawing{points: g.points, offset: g.offset}
	for _, l := range g.lines {
		c.lines = append(c.lines, append([]executor.Point(nil), l...))
	}
	return c
}

// begin draws a dot, from which a line may go on.
func (g *drawing) begin(x, y float64) {
	if g != nil && g.points < drawingMax {
		g.points++
		g.lines = append(g.lines, []executor.Point{{X: x, Y: y + g.offset}})
	}
}

func (g *drawing) extend(x, y float64) {
	if g != nil && g.points < drawingMax && len(g.lines) > 0 {
		g.points++
		last := len(g.lines) - 1
		g.lines[last] = append(g.lines[last], executor.Point{X: x, Y: y + g.offset})
	}
}

// shift scrolls the drawing by tenths of a hundred points.
func (g *drawing) shift(direction commonv1.Direction, tenths int) {
	switch {
	case g == nil:
	case direction == commonv1.Direction_DIRECTION_DOWN:
		g.offset += float64(tenths) * 10
	case direction == commonv1.Direction_DIRECTION_UP:
		g.offset = max(0, g.offset-float64(tenths)*10)
	}
}

// told is what the tree says about a drawing.
func (g *drawing) told() string { return fmt.Sprintf("%d lines, %d points", len(g.lines), g.points) }

// sketch paints a drawing at a place of the surface.
func (c *canvas) sketch(g *drawing, x, y float64, ink color.RGBA) {
	for _, l := range g.lines {
		if len(l) == 1 {
			c.disc(x+l[0].X, y+l[0].Y-g.offset, 3, ink)
			continue
		}
		points := make([][2]float64, 0, len(l))
		for _, p := range l {
			points = append(points, [2]float64{x + p.X, y + p.Y - g.offset})
		}
		c.stroke(3, ink, points...)
	}
}

// buildCanvas opens a window that has pixels and no elements: where an act on it may go
// can only be told by what the picture showed there (C6.1).
func buildCanvas(d *Desk, a *app) {
	w := d.openWindow(a, frame{title: "Canvas", bounds: rect(1120, 80, 300, 390), role: commonv1.Role_ROLE_WINDOW})
	d.forget(w.root)
	w.root, w.treeHidden = nil, true
	w.drawing = &drawing{}
	w.drawing.begin(40, 80)
	w.drawing.extend(260, 80)
	w.drawing.begin(60, 200)
}
