package x11

import (
	"errors"
	"image"
	"image/color"
	"testing"
)

func TestPixelsAreConvertedByMasks(t *testing.T) {
	tests := []struct {
		name  string
		l     layout
		pixel uint32
		want  color.RGBA
	}{
		{"24 bit", layout{32, 4, 0xff0000, 0xff00, 0xff}, 0x00123456, color.RGBA{0x12, 0x34, 0x56, 0xff}},
		{"alpha is not looked at", layout{32, 4, 0xff0000, 0xff00, 0xff}, 0x80123456, color.RGBA{0x12, 0x34, 0x56, 0xff}},
		{"red last", layout{32, 4, 0xff, 0xff00, 0xff0000}, 0x563412, color.RGBA{0x12, 0x34, 0x56, 0xff}},
		{"30 bit white", layout{32, 4, 0x3ff00000, 0xffc00, 0x3ff}, 0x3fffffff, color.RGBA{0xff, 0xff, 0xff, 0xff}},
		{"30 bit half", layout{32, 4, 0x3ff00000, 0xffc00, 0x3ff}, 512<<20 | 0<<10 | 4, color.RGBA{0x80, 0, 1, 0xff}},
		{"565 white", layout{16, 2, 0xf800, 0x7e0, 0x1f}, 0xffff, color.RGBA{0xff, 0xff, 0xff, 0xff}},
		{"565 mixed", layout{16, 2, 0xf800, 0x7e0, 0x1f}, 16<<11 | 32<<5 | 1, color.RGBA{132, 130, 8, 0xff}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			data := make([]byte, 2*tt.l.stride+4)
			if tt.l.bitsPerPixel == 32 {
				le.PutUint32(data[tt.l.stride:], tt.pixel)
			} else {
				le.PutUint16(data[tt.l.stride:], uint16(tt.pixel))
			}
			m, err := toRGBA(data, image.Pt(1, 2), tt.l)
			if err != nil {
				t.Fatal(err)
			}
			if got := m.RGBAAt(0, 1); got != tt.want {
				t.Errorf("colour = %v, want %v", got, tt.want)
			}
			if m.RGBAAt(0, 0) != (color.RGBA{A: 0xff}) {
				t.Error("zero is not opaque black")
			}
		})
	}
}

func TestOddPixelFormatsAreRefused(t *testing.T) {
	data := make([]byte, 64)
	for name, l := range map[string]layout{
		"24 bits packed": {24, 4, 0xff0000, 0xff00, 0xff},
		"no mask":        {32, 4, 0, 0xff00, 0xff},
		"holes":          {32, 4, 0xf0f000, 0xff00, 0xff},
	} {
		if _, err := toRGBA(data, image.Pt(1, 1), l); !errors.Is(err, ErrUnsupported) {
			t.Errorf("%s: error = %v", name, err)
		}
	}
	if _, err := toRGBA(data, image.Pt(5, 5), layout{32, 20, 0xff0000, 0xff00, 0xff}); !errors.Is(err, errStream) {
		t.Errorf("short data: error = %v", err)
	}
}

func TestRegionWithoutRectanglesIsExact(t *testing.T) {
	g := region{image.Rect(0, 0, 10, 10), image.Rect(20, 0, 30, 10)}
	inside := func(g region, p image.Point) (n int) {
		for _, r := range g {
			if p.In(r) {
				n++
			}
		}
		return n
	}
	cuts := []image.Rectangle{
		image.Rect(2, 3, 5, 6), image.Rect(8, -5, 25, 4), image.Rect(40, 40, 50, 50), image.Rect(0, 9, 99, 99),
	}
	for _, cut := range cuts {
		before := g
		g = g.without(cut)
		for y := -1; y < 12; y++ {
			for x := -1; x < 32; x++ {
				p := image.Pt(x, y)
				want := inside(before, p)
				if p.In(cut) {
					want = 0
				}
				if inside(g, p) != want {
					t.Fatalf("cut %v at %v: %d, want %d", cut, p, inside(g, p), want)
				}
			}
		}
	}
	if len(g.without(image.Rect(-100, -100, 100, 100))) != 0 {
		t.Error("nothing should be left")
	}
}
