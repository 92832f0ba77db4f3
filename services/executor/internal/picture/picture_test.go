package picture

import (
	"errors"
	"image"
	"image/color"
	"testing"
)

func plain(w, h int, c color.RGBA) *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			img.SetRGBA(x, y, c)
		}
	}
	return img
}

func TestPaintCoversTheRegionAndAPixelMore(t *testing.T) {
	white := color.RGBA{255, 255, 255, 255}
	img := plain(20, 20, white)
	n := Paint(img, []Region{{X: 5.5, Y: 5.5, W: 3, H: 3}, {X: 100, Y: 100, W: 5, H: 5}})
	if n != 1 {
		t.Fatalf("painted %d", n)
	}
	for y := range 20 {
		for x := range 20 {
			inside := x >= 4 && x < 10 && y >= 4 && y < 10
			if painted := img.RGBAAt(x, y) != white; painted != inside {
				t.Fatalf("pixel %d,%d painted %v", x, y, painted)
			}
		}
	}
}

func TestShrinkKeepsSizeAndMean(t *testing.T) {
	cases := []struct{ w, h, dw, dh int }{
		{1600, 10, 1600, 10}, {1601, 100, 1600, 100}, {3200, 10, 1600, 5}, {100, 4000, 40, 1600}, {5000, 1, 1600, 1},
	}
	c := color.RGBA{200, 100, 50, 255}
	for _, s := range cases {
		got := Shrink(plain(s.w, s.h, c))
		if got.Rect.Dx() != s.dw || got.Rect.Dy() != s.dh {
			t.Fatalf("%dx%d became %v", s.w, s.h, got.Rect)
		}
		for _, at := range []image.Point{{0, 0}, {s.dw - 1, s.dh - 1}, {s.dw / 2, s.dh / 2}} {
			if p := got.RGBAAt(at.X, at.Y); p != c {
				t.Fatalf("a plain picture has %v at %v", p, at)
			}
		}
	}
}

func TestShrinkMixesAreas(t *testing.T) {
	img := plain(3200, 2, color.RGBA{0, 0, 0, 255})
	for x := 0; x < 3200; x += 2 {
		img.SetRGBA(x, 0, color.RGBA{200, 200, 200, 255})
	}
	if got := Shrink(img).RGBAAt(800, 0); got.R != 50 || got.A != 255 {
		t.Fatalf("got %v, want a quarter of 200", got)
	}
}

func TestHardCap(t *testing.T) {
	img := image.NewRGBA(image.Rect(0, 0, 40, 40))
	seed := uint32(1)
	for i := range img.Pix {
		seed = seed*1664525 + 1013904223
		img.Pix[i] = byte(seed >> 24)
	}
	if _, err := encode(img, false, 4000); !errors.Is(err, ErrTooLarge) {
		t.Fatal(err)
	}
	if b, err := encode(img, true, 4000); err != nil || len(b) == 0 {
		t.Fatal(err)
	}
}
