package x11

import "image"

// regionMax bounds the pieces of a region; real ones have a handful.
const regionMax = 1024

// region is a set of pixels as rectangles that do not overlap.
type region []image.Rectangle

// without gives the region minus one rectangle. At the bound the region is returned
// unchanged, which for a region of unproven pixels is the safe side.
func (g region) without(cut image.Rectangle) region {
	touched := false
	for _, r := range g {
		touched = touched || r.Overlaps(cut)
	}
	if !touched {
		return g
	}
	out := make(region, 0, len(g)+4)
	for _, r := range g {
		in := r.Intersect(cut)
		if in.Empty() {
			out = append(out, r)
			continue
		}
		pieces := [4]image.Rectangle{
			{Min: r.Min, Max: image.Pt(r.Max.X, in.Min.Y)},
			{Min: image.Pt(r.Min.X, in.Max.Y), Max: r.Max},
			{Min: image.Pt(r.Min.X, in.Min.Y), Max: image.Pt(in.Min.X, in.Max.Y)},
			{Min: image.Pt(in.Max.X, in.Min.Y), Max: image.Pt(r.Max.X, in.Max.Y)},
		}
		for _, p := range pieces {
			if !p.Empty() {
				out = append(out, p)
			}
		}
	}
	if len(out) > regionMax {
		return g
	}
	return out
}

// inside gives the part of the region within a rectangle.
func (g region) inside(r image.Rectangle) region {
	var out region
	for _, piece := range g {
		if in := piece.Intersect(r); !in.Empty() {
			out = append(out, in)
		}
	}
	return out
}
