package picture

import (
	"hash/maphash"
	"image"
)

// TileEdge is the edge of a tile in pixels.
const TileEdge = 16

// Tiles is what is remembered of a picture to tell later whether it still shows the same
// at a point: a keyed hash of each square of TileEdge pixels, one part in 128 of the
// pixels themselves and nothing that can be looked at.
type Tiles struct {
	w, h   int
	across int
	hashes []uint64
}

// TilesOf hashes a picture.
func TilesOf(seed maphash.Seed, img *image.RGBA) Tiles {
	const pixel = 4
	w, h := img.Rect.Dx(), img.Rect.Dy()
	t := Tiles{w: w, h: h, across: (w + TileEdge - 1) / TileEdge}
	down := (h + TileEdge - 1) / TileEdge
	t.hashes = make([]uint64, 0, t.across*down)
	var m maphash.Hash
	m.SetSeed(seed)
	for row := range down {
		for col := range t.across {
			m.Reset()
			for y := row * TileEdge; y < min(h, (row+1)*TileEdge); y++ {
				line := img.Pix[y*img.Stride:]
				_, _ = m.Write(line[pixel*col*TileEdge : pixel*min(w, (col+1)*TileEdge)]) // It never fails.
			}
			t.hashes = append(t.hashes, m.Sum64())
		}
	}
	return t
}

// Same reports whether both pictures are of one size and show the same around a pixel:
// in every tile that a square of TileEdge pixels around it touches. A pixel outside of
// them shows nothing.
func (t Tiles) Same(o Tiles, x, y int) bool {
	if t.w != o.w || t.h != o.h || x < 0 || y < 0 || x >= t.w || y >= t.h {
		return false
	}
	const half = TileEdge / 2
	for row := max(0, y-half) / TileEdge; row <= min(t.h-1, y+half-1)/TileEdge; row++ {
		for col := max(0, x-half) / TileEdge; col <= min(t.w-1, x+half-1)/TileEdge; col++ {
			if t.hashes[row*t.across+col] != o.hashes[row*t.across+col] {
				return false
			}
		}
	}
	return true
}

// Cut returns a copy of a part of a picture. The part lies inside the picture.
func Cut(img *image.RGBA, part image.Rectangle) *image.RGBA {
	const pixel = 4
	out := image.NewRGBA(image.Rect(0, 0, part.Dx(), part.Dy()))
	for y := range part.Dy() {
		from := (part.Min.Y+y)*img.Stride + pixel*part.Min.X
		copy(out.Pix[y*out.Stride:(y+1)*out.Stride], img.Pix[from:from+out.Stride])
	}
	return out
}
