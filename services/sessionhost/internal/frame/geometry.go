package frame

import (
	"math"

	"fairlead.dev/services/shared/ident"
)

// Point is a point. Its space is said where it is used: pixels of a picture,
// display-logical points, or points local to the toplevel or to a surface.
type Point struct{ X, Y float64 }

// Rect is a rectangle, half open: it contains its left and top edge and not its right
// and bottom one.
type Rect struct{ X, Y, W, H float64 }

// Contains reports whether the rectangle contains the point. It looks at the distance
// from the corner, because that is what the point becomes inside the rectangle: no
// rounding lies between what is checked and what is sent. No rectangle contains a NaN.
func (r Rect) Contains(p Point) bool {
	x, y := p.X-r.X, p.Y-r.Y
	return x >= 0 && x < r.W && y >= 0 && y < r.H
}

// centre returns the point in the middle.
func (r Rect) centre() Point { return Point{X: r.X + r.W/2, Y: r.Y + r.H/2} }

// overlap returns what two rectangles share; it contains nothing if they share nothing.
func (r Rect) overlap(o Rect) Rect {
	x, y := max(r.X, o.X), max(r.Y, o.Y)
	return Rect{X: x, Y: y, W: min(r.X+r.W, o.X+o.W) - x, H: min(r.Y+r.H, o.Y+o.H) - y}
}

// shift returns the rectangle moved by a distance.
func (r Rect) shift(x, y float64) Rect { return Rect{X: r.X + x, Y: r.Y + y, W: r.W, H: r.H} }

// Transform maps the pixels of a picture to points of the toplevel:
// point = pixel*scale + offset (C2.2).
type Transform struct{ ScaleX, ScaleY, OffsetX, OffsetY float64 }

// usable reports whether the transform maps pixels to anything.
func (t Transform) usable() bool {
	return positive(t.ScaleX) && positive(t.ScaleY) && finite(t.OffsetX) && finite(t.OffsetY)
}

// Surface is the toplevel or one popup, menu or sheet attributed to it at capture.
type Surface struct {
	ID     uint64
	Bounds Rect // display-logical
	Order  int  // the highest is on top; of equals the later one is
}

// SurfacePoint is a point in a surface's own points: where an act goes.
type SurfacePoint struct {
	Surface uint64
	At      Point
}

// Display is a display the window touches.
type Display struct {
	Bounds         Rect // display-logical; negative origins are allowed
	PixelW, PixelH int
	Scale          float64 // pixels per point
}

// proven reports whether bounds, pixels and scale of the display tell the same story, to
// within the one point that rounding takes. A point on any other display could be
// anywhere, so it exposes nothing (C2.2).
func (d Display) proven() bool {
	const rounding = 1
	return positive(d.Scale) && positive(d.Bounds.W) && positive(d.Bounds.H) &&
		math.Abs(float64(d.PixelW)/d.Scale-d.Bounds.W) <= rounding &&
		math.Abs(float64(d.PixelH)/d.Scale-d.Bounds.H) <= rounding
}

// Picture is one picture of a frame: its size and where its pixels lie.
type Picture struct {
	ID            ident.PictureID
	Width, Height int
	Transform     Transform
}

func (p Picture) usable() bool {
	return p.ID != "" && p.Width > 0 && p.Height > 0 && p.Transform.usable()
}

// pixel returns the area of the pixel that a point falls into, in points of the
// toplevel; ok is false for a point that is not in the picture.
func (p Picture) pixel(at Point) (area Rect, ok bool) {
	if !(Rect{W: float64(p.Width), H: float64(p.Height)}).Contains(at) {
		return Rect{}, false
	}
	t := p.Transform
	return Rect{
		X: math.Floor(at.X)*t.ScaleX + t.OffsetX, Y: math.Floor(at.Y)*t.ScaleY + t.OffsetY,
		W: t.ScaleX, H: t.ScaleY,
	}, true
}

func positive(x float64) bool { return x > 0 && finite(x) }

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
