//go:build desk

package x11

import (
	"fmt"
	"image"
	"image/color"
	"sync"
	"testing"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/composite"
	"github.com/jezek/xgb/xproto"
)

func TestNewPixelsOfACoveredWindowAreItsOwn(t *testing.T) {
	d := newDesk(t, "")
	c, k := d.dial(), d.capturer()
	d.start(painters[0].args...)
	w := d.window(c, painters[0].title)
	d.capture(k, w.ID)
	cover := d.cover(c)
	for _, change := range [][]string{
		{"xdotool", "windowsize", fmt.Sprint(w.ID), "520", "340"},
		{"xdotool", "windowunmap", fmt.Sprint(w.ID), "windowmap", fmt.Sprint(w.ID), "windowraise", fmt.Sprint(cover.ID)},
		{"xdotool", "windowmove", fmt.Sprint(w.ID), "900", "600"}, // partly beyond the edge
	} {
		d.output(change...)
		d.until("a settled window", func() bool { return d.window(c, painters[0].title).Stack < d.window(c, "cover").Stack })
		d.still(c)
		got := d.capture(k, w.ID)
		fresh := d.capturer()
		want := d.capture(fresh, w.ID)
		fresh.Close()
		if n := differing(want.Image, got.Image); n != 0 || colours(got.Image) < 50 {
			t.Errorf("after %v: %d pixels differ, %d colours", change, n, colours(got.Image))
		}
		if now := d.window(c, painters[0].title); got.Bounds != now.Bounds || got.Image.Rect.Size() != now.Bounds.Size() {
			t.Errorf("bounds = %v, window %v", got.Bounds, now.Bounds)
		}
	}
}

func TestAllWaysToReadPixelsAgree(t *testing.T) {
	d := newDesk(t, "openbox")
	c, k, plain := d.dial(), d.capturer(), d.capturer()
	plain.noShm = true
	d.start(painters[0].args...)
	w := d.window(c, painters[0].title)
	d.still(c)
	want := d.capture(k, w.ID)
	if k.noShm {
		t.Error("no shared memory on this machine")
	}
	if n := differing(want.Image, d.capture(plain, w.ID).Image); n != 0 {
		t.Errorf("%d pixels differ without shared memory", n)
	}
	screen := d.screen(c).SubImage(want.Bounds).(*image.RGBA)
	wrong := 0
	for y := range want.Bounds.Dy() {
		for x := range want.Bounds.Dx() {
			if screen.RGBAAt(want.Bounds.Min.X+x, want.Bounds.Min.Y+y) != want.Image.RGBAAt(x, y) {
				wrong++
			}
		}
	}
	if wrong != 0 {
		t.Errorf("%d pixels differ from the screen", wrong)
	}
	framed := d.capture(k, w.Frame)
	if framed.Bounds != w.FrameBounds {
		t.Errorf("frame's picture shows %v, frame is %v", framed.Bounds, w.FrameBounds)
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			id := []xproto.Window{w.ID, w.Frame}[i%2]
			for range 5 {
				if _, err := k.Capture(t.Context(), id); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// paint shows a window of one colour, of a visual of the given depth.
func (d *desk) paint(app *Conn, depth byte, pixel uint32) xproto.Window {
	d.t.Helper()
	var visual xproto.Visualid
	for _, allowed := range app.setup.Roots[0].AllowedDepths {
		if allowed.Depth == depth && len(allowed.Visuals) > 0 {
			visual = allowed.Visuals[0].VisualId
		}
	}
	if visual == 0 {
		d.t.Fatalf("no visual of depth %d", depth)
	}
	id, err := Call(d.t.Context(), app, func(x *xgb.Conn) (xproto.Window, error) {
		id, err := xproto.NewWindowId(x)
		if err != nil {
			return 0, err
		}
		cmap, err := xproto.NewColormapId(x)
		if err != nil {
			return 0, err
		}
		if err := xproto.CreateColormapChecked(x, xproto.ColormapAllocNone, cmap, app.Root, visual).Check(); err != nil {
			return 0, err
		}
		err = xproto.CreateWindowChecked(x, depth, id, app.Root, 50, 50, 101, 40, 3, xproto.WindowClassInputOutput, visual,
			xproto.CwBackPixel|xproto.CwBorderPixel|xproto.CwColormap, []uint32{pixel, 0, uint32(cmap)}).Check()
		if err != nil {
			return 0, err
		}
		return id, xproto.MapWindowChecked(x, id).Check()
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return id
}

func TestColourDepths(t *testing.T) {
	for _, tt := range []struct {
		screen string
		depth  byte
		pixel  uint32
		want   color.RGBA
	}{
		{"640x480x24", 24, 0x123456, color.RGBA{0x12, 0x34, 0x56, 0xff}},
		{"640x480x24", 32, 0x80123456, color.RGBA{0x12, 0x34, 0x56, 0xff}},
		{"640x480x16", 16, 16<<11 | 32<<5 | 1, color.RGBA{132, 130, 8, 0xff}},
		{"640x480x30", 30, 0x3ff<<20 | 512<<10, color.RGBA{0xff, 0x80, 0, 0xff}},
	} {
		t.Run(fmt.Sprintf("%s/%d", tt.screen, tt.depth), func(t *testing.T) {
			d := newDeskScreen(t, "", tt.screen)
			id := d.paint(d.dial(), tt.depth, tt.pixel)
			p := d.capture(d.capturer(), id)
			if p.Image.Rect != image.Rect(0, 0, 101, 40) || p.Depth != int(tt.depth) || p.Bounds.Min != image.Pt(53, 53) {
				t.Errorf("picture of %v at %v, depth %d", p.Image.Rect, p.Bounds, p.Depth)
			}
			for _, at := range []image.Point{{}, {100, 39}, {50, 20}} {
				if got := p.Image.RGBAAt(at.X, at.Y); got != tt.want {
					t.Errorf("pixel %v = %v, want %v", at, got, tt.want)
				}
			}
		})
	}
}

func TestMenusAreListedWithTheirProcess(t *testing.T) {
	d := newDesk(t, "openbox")
	c, k := d.dial(), d.capturer()
	d.start("mousepad", "--disable-server")
	var editor Window
	d.until("the editor", func() bool {
		for _, w := range d.list(c) {
			if w.Type == TypeNormal && w.Active {
				editor = w
				return true
			}
		}
		return false
	})
	d.output("xdotool", "key", "alt+f")
	var menu Window
	d.until("its menu", func() bool {
		for _, w := range d.list(c) {
			if w.Override && w.Mapped && w.PID == editor.PID && w.Type != TypeNormal {
				menu = w
				return true
			}
		}
		return false
	})
	isMenu := menu.Type == TypeDropdownMenu || menu.Type == TypePopupMenu || menu.Type == TypeMenu
	if !isMenu || menu.Stack <= editor.Stack || menu.ID != menu.Frame || menu.TransientFor != editor.ID {
		t.Errorf("menu = %+v", menu)
	}
	d.still(c)
	if p := d.capture(k, menu.ID); colours(p.Image) < 3 {
		t.Errorf("menu has %d colours", colours(p.Image))
	}
}

// A compositor redirects all windows itself and paints the screen from their pixels.
func TestCaptureBesideACompositor(t *testing.T) {
	d := newDesk(t, "openbox")
	c, compositor := d.dial(), d.dial()
	d.start(painters[0].args...)
	w := d.window(c, painters[0].title)
	d.still(c)
	k := d.capturer()
	want := d.capture(k, w.ID)
	k.Close()
	_, err := Call(t.Context(), compositor, func(x *xgb.Conn) (struct{}, error) {
		return struct{}{}, composite.RedirectSubwindowsChecked(x, compositor.Root, composite.RedirectManual).Check()
	})
	if err != nil {
		t.Fatal(err)
	}
	d.start("xclock", "-title", "cover", "-geometry", "1280x800+0+0", "-bg", "red", "-update", "3600")
	d.window(c, "cover")
	k = d.capturer()
	for range 2 {
		if n := differing(want.Image, d.capture(k, w.ID).Image); n != 0 {
			t.Errorf("%d pixels differ", n)
		}
	}
}
