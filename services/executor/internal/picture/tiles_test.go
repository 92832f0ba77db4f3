package picture

import (
	"hash/maphash"
	"image"
	"image/color"
	"testing"
)

// A pixel that changes is noticed by every point whose square it may lie in, and by no
// point that is far from it.
func TestTilesNoticeWhatChangedNearAPoint(t *testing.T) {
	seed, white := maphash.MakeSeed(), color.RGBA{255, 255, 255, 255}
	const w, h = 75, 41
	before := TilesOf(seed, plain(w, h, white))
	for _, spot := range []image.Point{{0, 0}, {16, 16}, {33, 20}, {74, 40}, {15, 32}} {
		img := plain(w, h, white)
		img.SetRGBA(spot.X, spot.Y, color.RGBA{255, 255, 254, 255})
		after := TilesOf(seed, img)
		for y := range h {
			for x := range w {
				dx, dy := spot.X-x, spot.Y-y
				near := dx >= -8 && dx < 8 && dy >= -8 && dy < 8
				far := dx < -24 || dx > 24 || dy < -24 || dy > 24
				if same := before.Same(after, x, y); near && same || far && !same {
					t.Fatalf("a change at %v is seen from %d,%d as the same %v", spot, x, y, same)
				}
			}
		}
	}
}

func TestTilesOfAnotherSizeOrPlaceAreNotTheSame(t *testing.T) {
	seed, white := maphash.MakeSeed(), color.RGBA{255, 255, 255, 255}
	a := TilesOf(seed, plain(64, 64, white))
	for name, same := range map[string]bool{
		"wider": a.Same(TilesOf(seed, plain(65, 64, white)), 5, 5), "taller": a.Same(TilesOf(seed, plain(64, 65, white)), 5, 5),
		"left": a.Same(a, -1, 5), "above": a.Same(a, 5, -1), "right": a.Same(a, 64, 5), "below": a.Same(a, 5, 64),
		"nothing": Tiles{}.Same(Tiles{}, 0, 0), "another seed": a.Same(TilesOf(maphash.MakeSeed(), plain(64, 64, white)), 5, 5),
	} {
		if same {
			t.Errorf("%s is the same", name)
		}
	}
	if !a.Same(TilesOf(seed, plain(64, 64, white)), 63, 0) {
		t.Error("the same picture is not the same")
	}
}

func TestCutIsThePart(t *testing.T) {
	img := plain(10, 8, color.RGBA{9, 9, 9, 255})
	img.SetRGBA(4, 3, color.RGBA{1, 2, 3, 255})
	got := Cut(img, image.Rect(3, 2, 7, 8))
	if got.Rect != image.Rect(0, 0, 4, 6) || got.RGBAAt(1, 1) != (color.RGBA{1, 2, 3, 255}) ||
		got.RGBAAt(0, 0) != (color.RGBA{9, 9, 9, 255}) {
		t.Fatalf("got %v", got)
	}
}
