package frame

import (
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
)

// picturesMax is how many pictures of one frame points may be read from: the model copy
// and the latest zooms. A point in a zoom that was forgotten is refused like one in a
// picture the frame never had.
const picturesMax = 8

// visible is the least part of a pixel, across and down, that a surface must cover to be
// shown by it: less cannot change a colour of 8 bits and may be nothing but rounding.
const visible = 1.0 / 256

// AddPicture adds a picture of this frame. The first is the model copy, which is never
// forgotten; the others are zooms, of which the oldest makes room. An id keeps the
// transform it came with (C2.2): a picture under an id that is known, or one that maps to
// nothing, is not taken, and its points are refused.
func (f *Frame) AddPicture(p Picture) {
	if _, known := f.Picture(p.ID); known || !p.usable() {
		return
	}
	if len(f.pictures) == picturesMax {
		f.pictures = append(f.pictures[:1:1], f.pictures[2:]...)
	}
	f.pictures = append(f.pictures, p)
}

// HasPicture reports whether the frame carries a picture for the model.
func (f *Frame) HasPicture() bool { return len(f.pictures) > 0 }

// Picture returns a picture of this frame.
func (f *Frame) Picture(id ident.PictureID) (Picture, bool) {
	for _, p := range f.pictures {
		if p.ID == id {
			return p, true
		}
	}
	return Picture{}, false
}

// Resolve says which place of which surface each point of a picture means. It is computed
// here once, from the stored transform; what comes after sees surface points only (C2.2).
//
// A point names the pixel it falls into, and a pixel means its centre: what the agent saw
// there is the mean of the pixel's area, which its corner also shares with three others. A
// pixel at the rim of a surface may be covered in part, because pictures have whole pixels
// and surfaces need not; where its centre is beyond every surface, the middle of the
// covered part is meant. So a pixel that shows a surface of the frame resolves, at every
// scale, and always inside the surface that is on top there.
//
// All points of a drag bind to one window by construction (C3.3): only surfaces of this
// frame are looked at, and all of them belong to its toplevel.
//
// The first refusal that holds is told: NO_PICTURE; INVALID_BINDING for a picture that is
// not this frame's; INVALID_COORDINATE for no point at all, a point outside the picture, on
// no surface of the frame, or on no display that is proven. One refused point refuses all.
func (f *Frame) Resolve(picture ident.PictureID, at []Point) ([]SurfacePoint, *refusal.Error) {
	p, why := f.quoted(picture)
	if why != nil {
		return nil, why
	}
	if len(at) == 0 {
		return nil, refusal.New(refusal.InvalidCoordinate)
	}
	points := make([]SurfacePoint, len(at))
	for i, pixel := range at {
		area, ok := p.pixel(pixel)
		if ok {
			points[i], ok = f.hit(area.shift(f.Bounds.X, f.Bounds.Y))
		}
		if !ok {
			return nil, refusal.New(refusal.InvalidCoordinate)
		}
	}
	return points, nil
}

// Region returns the part of the toplevel that a zoom's two corners span, in points of the
// toplevel. Corners are places between pixels, in any order: (0,0) and (width,height) span
// the whole picture. The refusals are those of Resolve; a region that is empty or reaches
// out of the picture is INVALID_COORDINATE; no smaller one is taken in its place (C0.2).
func (f *Frame) Region(picture ident.PictureID, a, b Point) (Rect, *refusal.Error) {
	p, why := f.quoted(picture)
	if why != nil {
		return Rect{}, why
	}
	left, right := min(a.X, b.X), max(a.X, b.X)
	top, bottom := min(a.Y, b.Y), max(a.Y, b.Y)
	// Written so that a NaN, which min and max hand on, is outside.
	inside := left >= 0 && top >= 0 && right <= float64(p.Width) && bottom <= float64(p.Height)
	t := p.Transform
	r := Rect{
		X: left*t.ScaleX + t.OffsetX, Y: top*t.ScaleY + t.OffsetY,
		W: (right - left) * t.ScaleX, H: (bottom - top) * t.ScaleY,
	}
	if !inside || !positive(r.W) || !positive(r.H) || !finite(r.X) || !finite(r.Y) {
		return Rect{}, refusal.New(refusal.InvalidCoordinate)
	}
	return r, nil
}

// quoted returns the picture that points were read from.
func (f *Frame) quoted(id ident.PictureID) (Picture, *refusal.Error) {
	if !f.HasPicture() {
		return Picture{}, refusal.New(refusal.NoPicture)
	}
	p, ok := f.Picture(id)
	if !ok {
		return Picture{}, refusal.New(refusal.InvalidBinding)
	}
	return p, nil
}

// hit returns what a pixel means whose area is given in display-logical points.
func (f *Frame) hit(area Rect) (SurfacePoint, bool) {
	centre := area.centre()
	if s, ok := f.topmost(func(r Rect) bool { return r.Contains(centre) }); ok {
		return f.shown(s, Point{X: centre.X - s.Bounds.X, Y: centre.Y - s.Bounds.Y})
	}
	s, ok := f.topmost(func(r Rect) bool {
		part := r.overlap(area)
		return part.W > 0 && part.H > 0
	})
	if !ok {
		return SurfacePoint{}, false
	}
	// The middle is taken in the surface's own points, so that it is inside it as sent.
	own := Rect{W: s.Bounds.W, H: s.Bounds.H}
	part := own.overlap(area.shift(-s.Bounds.X, -s.Bounds.Y))
	if part.W < area.W*visible || part.H < area.H*visible {
		return SurfacePoint{}, false
	}
	return f.shown(s, part.centre())
}

// topmost returns the highest surface whose bounds, in display-logical points, are meant.
func (f *Frame) topmost(meant func(Rect) bool) (top Surface, found bool) {
	for _, s := range f.Surfaces {
		if meant(s.Bounds) && (!found || s.Order >= top.Order) {
			top, found = s, true
		}
	}
	return top, found
}

// shown returns the point of the surface if it is inside it and on a proven display.
func (f *Frame) shown(s Surface, at Point) (SurfacePoint, bool) {
	if !(Rect{W: s.Bounds.W, H: s.Bounds.H}).Contains(at) {
		return SurfacePoint{}, false
	}
	desk := Point{X: s.Bounds.X + at.X, Y: s.Bounds.Y + at.Y}
	for _, d := range f.Displays {
		if d.proven() && d.Bounds.Contains(desk) {
			return SurfacePoint{Surface: s.ID, At: at}, true
		}
	}
	return SurfacePoint{}, false
}
