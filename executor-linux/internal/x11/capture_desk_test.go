//go:build desk

package x11

import (
	"errors"
	"fmt"
	"image"
	"syscall"
	"testing"
	"time"

	"github.com/jezek/xgb/xproto"
)

func (d *desk) capturer() *Capturer {
	d.t.Helper()
	k, err := NewCapturer(d.display, d.auth)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(k.Close)
	return k
}

func (d *desk) capture(k *Capturer, w xproto.Window) *Picture {
	d.t.Helper()
	p, err := k.Capture(d.t.Context(), w)
	if err != nil {
		d.t.Fatal(err)
	}
	return p
}

// differing counts pixels that are not the same.
func differing(a, b *image.RGBA) int {
	if a.Rect != b.Rect {
		return -1
	}
	n := 0
	for i := 0; i < len(a.Pix); i += 4 {
		if a.Pix[i] != b.Pix[i] || a.Pix[i+1] != b.Pix[i+1] || a.Pix[i+2] != b.Pix[i+2] || a.Pix[i+3] != 0xff {
			n++
		}
	}
	return n
}

// colours counts different colours, to tell a real picture from a blank one.
func colours(m *image.RGBA) int {
	seen := map[[3]byte]bool{}
	for i := 0; i < len(m.Pix); i += 4 {
		seen[[3]byte(m.Pix[i:i+3])] = true
	}
	return len(seen)
}

// screen is what the user sees.
func (d *desk) screen(c *Conn) *image.RGBA {
	d.t.Helper()
	r, err := xproto.GetImage(c.x, xproto.ImageFormatZPixmap, xproto.Drawable(c.Root), 0, 0,
		uint16(c.Width), uint16(c.Height), 1<<32-1).Reply()
	if err != nil {
		d.t.Fatal(err)
	}
	l := layout{bitsPerPixel: 32, stride: 4 * c.Width, red: 0xff0000, green: 0xff00, blue: 0xff}
	m, err := toRGBA(r.Data, image.Pt(c.Width, c.Height), l)
	if err != nil {
		d.t.Fatal(err)
	}
	return m
}

// cover puts a window of another program above everything and waits for it.
func (d *desk) cover(c *Conn) Window {
	d.t.Helper()
	d.start("xclock", "-title", "cover", "-geometry", "1280x800+0+0", "-bg", "red", "-update", "3600")
	w := d.window(c, "cover")
	d.until("the cover's colour", func() bool { return d.screen(c).RGBAAt(5, 300).R == 0xff })
	return w
}

// still waits until the screen does not change.
func (d *desk) still(c *Conn) *image.RGBA {
	d.t.Helper()
	last := d.screen(c)
	d.until("a still screen", func() bool {
		time.Sleep(150 * time.Millisecond)
		now := d.screen(c)
		same := differing(last, now) == 0
		last = now
		return same
	})
	return last
}

var painters = []struct {
	title string
	args  []string
}{
	{"zed", []string{"zenity", "--info", "--title", "zed", "--text", "Some text that is covered", "--width", "400"}},
	{"clock", []string{"xclock", "-title", "clock", "-geometry", "300x300+80+60", "-update", "3600"}},
	{"eyes", []string{"xeyes", "-title", "eyes", "-geometry", "300x200+80+60", "+shape"}},
	{"shaped", []string{"xeyes", "-title", "shaped", "-geometry", "300x200+80+60", "-shape"}},
}

func TestCoveredCaptureEqualsUncoveredCapture(t *testing.T) {
	for _, wm := range []string{"", "openbox"} {
		for _, p := range painters {
			t.Run("wm="+wm+"/"+p.title, func(t *testing.T) {
				d := newDesk(t, wm)
				c := d.dial()
				d.start(p.args...)
				w := d.window(c, p.title)
				d.still(c)
				free := d.capturer()
				begin := time.Now()
				want := d.capture(free, w.ID)
				t.Logf("first uncovered capture: %v, %d colours", time.Since(begin), colours(want.Image))
				free.Close() // the server forgets the off-screen pixels
				d.cover(c)
				seen, state := d.still(c), d.state(c)
				// A new capturer meets the window covered before its first redirect.
				k := d.capturer()
				begin = time.Now()
				got := d.capture(k, w.ID)
				t.Logf("first covered capture: %v", time.Since(begin))
				if n := differing(want.Image, got.Image); n != 0 {
					t.Errorf("%d pixels differ (%d colours)", n, colours(got.Image))
				}
				begin = time.Now()
				again := d.capture(k, w.ID)
				t.Logf("second covered capture: %v", time.Since(begin))
				if n := differing(want.Image, again.Image); n != 0 {
					t.Errorf("%d pixels differ the second time", n)
				}
				if n := differing(seen, d.screen(c)); n != 0 {
					t.Errorf("%d pixels of the screen changed", n)
				}
				if ch := state.Diff(d.state(c)); ch.Any() {
					t.Errorf("user state changed: %+v", ch)
				}
				if colours(want.Image) < 2 || want.Bounds != w.Bounds {
					t.Errorf("picture has %d colours, bounds %v of %v", colours(want.Image), want.Bounds, w.Bounds)
				}
			})
		}
	}
}

func TestCaptureOfAWindowThatDoesNotPaintIsRefused(t *testing.T) {
	d := newDesk(t, "")
	c := d.dial()
	app := d.start(painters[0].args...)
	w := d.window(c, painters[0].title)
	d.still(c)
	d.cover(c)
	if err := app.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	k := d.capturer()
	p, err := k.Capture(t.Context(), w.ID)
	if !errors.Is(err, ErrUnsettled) {
		if p != nil {
			t.Logf("colours %d, first pixel %v", colours(p.Image), p.Image.RGBAAt(5, 5))
		}
		t.Errorf("error = %v, want ErrUnsettled", err)
	}
	if err := app.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	d.capture(k, w.ID)
}

func TestHiddenAndGoneWindowsAreTypedErrors(t *testing.T) {
	d := newDesk(t, "openbox")
	c, k := d.dial(), d.capturer()
	app := d.start("xclock", "-title", "clock", "-update", "3600")
	w := d.window(c, "clock")
	d.capture(k, w.ID)
	d.output("xdotool", "windowminimize", fmt.Sprint(w.ID))
	var hidden Window
	d.until("the minimised window", func() bool {
		for _, l := range d.list(c) {
			if l.ID == w.ID && l.Hidden {
				hidden = l
				return true
			}
		}
		return false
	})
	if hidden.Mapped || hidden.Birth != w.Birth || hidden.Title != "clock" {
		t.Errorf("minimised window is listed as %+v", hidden)
	}
	if _, err := k.Capture(t.Context(), w.ID); !errors.Is(err, ErrHidden) {
		t.Errorf("error = %v, want ErrHidden", err)
	}
	d.output("xdotool", "windowmap", fmt.Sprint(w.ID))
	// openbox rolls the frame down over a quarter of a second.
	d.until("the whole window", func() bool {
		w := d.window(c, "clock")
		return w.Bounds.In(w.FrameBounds)
	})
	d.capture(k, w.ID)
	if err := app.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	d.until("its end", func() bool { return len(clocksTitled(d.list(c), "clock")) == 0 })
	if _, err := k.Capture(t.Context(), w.ID); !errors.Is(err, ErrGone) {
		t.Errorf("error = %v, want ErrGone", err)
	}
}

func clocksTitled(list []Window, title string) (out []Window) {
	for _, w := range list {
		if w.Title == title {
			out = append(out, w)
		}
	}
	return out
}
