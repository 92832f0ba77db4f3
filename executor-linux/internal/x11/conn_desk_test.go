//go:build desk

package x11

import (
	"context"
	"errors"
	"fmt"
	"image"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"
)

func TestWrongCookieIsRefused(t *testing.T) {
	d := newDesk(t, "")
	other := filepath.Join(t.TempDir(), "auth")
	writeAuth(t, other)
	if _, err := Dial(d.display, other); !errors.Is(err, ErrRefused) {
		t.Errorf("error = %v, want ErrRefused", err)
	}
	if _, err := Dial(d.display, filepath.Join(t.TempDir(), "none")); !errors.Is(err, ErrRefused) {
		t.Errorf("error = %v, want ErrRefused", err)
	}
	if _, err := Dial(":65000", d.auth); err == nil {
		t.Error("a display that is not there was dialled")
	}
}

func TestStoppedServerGivesTimeoutsAndRecovers(t *testing.T) {
	d := newDesk(t, "")
	c := d.dial()
	if err := syscall.Kill(d.server, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range maxCalls + 4 {
		wg.Go(func() {
			begin := time.Now()
			_, err := c.Windows(context.Background())
			if took := time.Since(begin); !errors.Is(err, ErrTimeout) || took > 2*RoundTrip {
				t.Errorf("error = %v after %v", err, took)
			}
		})
	}
	if _, err := Dial(d.display, d.auth); !errors.Is(err, ErrTimeout) {
		t.Errorf("error of dialling = %v", err)
	}
	wg.Wait()
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errors.New("mine"))
	defer cancel()
	if _, err := c.UserState(ctx); err == nil || !strings.Contains(err.Error(), "mine") {
		t.Errorf("error = %v, want the caller's cause", err)
	}
	if err := syscall.Kill(d.server, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	d.until("an answer", func() bool { _, err := c.UserState(t.Context()); return err == nil })
}

func TestLostServerIsNoticedAndNothingIsLeftRunning(t *testing.T) {
	before := runtime.NumGoroutine()
	d := newDesk(t, "")
	c, k := d.dial(), d.capturer()
	events, _ := c.Events()
	if err := syscall.Kill(d.server, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for _, done := range []<-chan struct{}{c.Done(), k.Done()} {
		select {
		case <-done:
		case <-time.After(5 * time.Second):
			t.Fatal("the loss was not noticed")
		}
	}
	if _, err := c.Windows(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("error = %v, want ErrClosed", err)
	}
	if _, err := k.Capture(t.Context(), 1); !errors.Is(err, ErrClosed) {
		t.Errorf("error = %v, want ErrClosed", err)
	}
	if _, open := <-events; open {
		t.Error("events go on")
	}
	c.Close()
	k.Close()
	d.until("the goroutines' end", func() bool { return runtime.NumGoroutine() <= before+2 })
}

func TestUnknownErrorCodesReachTheirCaller(t *testing.T) {
	d := newDesk(t, "")
	c := d.dial()
	ext, ok := c.Extension(extXInput)
	if !ok {
		t.Fatal("no XInput")
	}
	_, err := Call(t.Context(), c, func(x *xgb.Conn) ([]byte, error) {
		req := make([]byte, 8)
		req[0], req[1], req[4] = ext.Major, xiGetFocus, 200 // no such device
		return Send(x, req, true).Reply()
	})
	var raw rawError
	if !errors.As(err, &raw) || raw.code != ext.FirstError {
		t.Errorf("error = %v", err)
	}
}

func TestGenericEventsDoNotBreakTheStream(t *testing.T) {
	d := newDesk(t, "")
	generic := make(chan int, 64)
	c, err := DialWith(Options{Display: d.display, Xauthority: d.auth, OnEvent: func(b []byte) {
		if b[0] == genericEvent {
			select {
			case generic <- len(b):
			default:
			}
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ext, _ := c.Extension(extXInput)
	const selectEvents, allMasters, motion = 46, 1, 6
	_, err = Call(t.Context(), c, func(x *xgb.Conn) (struct{}, error) {
		req := make([]byte, 20)
		req[0], req[1] = ext.Major, selectEvents
		le.PutUint32(req[4:], uint32(c.Root))
		le.PutUint16(req[8:], 1)
		le.PutUint16(req[12:], allMasters)
		le.PutUint16(req[14:], 1)
		req[16] = 1 << motion
		return struct{}{}, Send(x, req, false).Check()
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		d.output("xdotool", "mousemove", fmt.Sprint(100+i), "77")
		if u := d.state(c); u.Pointer != image.Pt(100+i, 77) {
			t.Fatalf("pointer = %v", u.Pointer)
		}
	}
	if n := <-generic; n <= 32 {
		t.Errorf("generic event of %d bytes", n)
	}
}

func TestUserStateIsTheDesks(t *testing.T) {
	d := newDesk(t, "openbox")
	c := d.dial()
	d.start("zenity", "--info", "--title", "one", "--text", "one")
	one := d.window(c, "one")
	d.start("zenity", "--info", "--title", "two", "--text", "two")
	two := d.window(c, "two")
	focus := func(w Window) {
		d.output("xdotool", "windowactivate", "--sync", fmt.Sprint(w.ID))
		d.until("activation", func() bool { u := d.state(c); return u.Active == w.ID && u.Focus > 1 })
	}
	focus(one)
	before := d.state(c)
	if got := strings.TrimSpace(d.output("xdotool", "getactivewindow")); got != fmt.Sprint(before.Active) {
		t.Errorf("active = %v, xdotool says %v", before.Active, got)
	}
	focus(two)
	ch := before.Diff(d.state(c))
	if !ch.Active || !ch.Focus || !ch.Stacking || ch.Pointer || ch.Clipboard {
		t.Errorf("changes = %+v", ch)
	}
	if !d.window(c, "two").Active || d.window(c, "one").Active {
		t.Error("the active window is not marked")
	}
	before = d.state(c)
	d.list(c)
	if _, err := c.TopAt(t.Context(), 5, 5); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Monitors(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.capture(d.capturer(), one.ID)
	if ch := before.Diff(d.state(c)); ch.Any() {
		t.Errorf("reading changed %+v", ch)
	}
}

func TestTopAtHonoursStackingAndShapes(t *testing.T) {
	d := newDesk(t, "")
	c := d.dial()
	d.start("xclock", "-title", "low", "-geometry", "400x400+0+0", "-update", "3600")
	low := d.window(c, "low")
	d.start("xeyes", "-title", "eyes", "-geometry", "300x300+50+50", "-shape")
	eyes := d.window(c, "eyes")
	for _, tt := range []struct {
		at   image.Point
		want xproto.Window
	}{
		{image.Pt(10, 10), low.ID},
		{image.Pt(125, 200), eyes.ID}, // in the left eye
		{image.Pt(53, 53), low.ID},    // in the corner, outside the shape
		{image.Pt(1000, 700), 0},
	} {
		d.until("the shape", func() bool {
			h, err := c.TopAt(t.Context(), tt.at.X, tt.at.Y)
			return err == nil && h.Top == tt.want
		})
	}
	h, err := c.TopAt(t.Context(), 10, 10)
	if err != nil || h.Deepest == 0 || h.Deepest == h.Top {
		t.Errorf("hit = %+v, %v: a clock has a window inside", h, err)
	}
}

func TestMonitorsAreListed(t *testing.T) {
	d := newDesk(t, "")
	c := d.dial()
	m, err := c.Monitors(t.Context())
	if err != nil || len(m) != 1 || m[0].Bounds != image.Rect(0, 0, 1280, 800) || m[0].Name == "" || m[0].Scale != 0 {
		t.Errorf("monitors = %+v, %v", m, err)
	}
}

func TestEventsTellWhatHappens(t *testing.T) {
	d := newDesk(t, "openbox")
	c := d.dial()
	events, cancel := c.Events()
	app := d.start("zenity", "--info", "--title", "box", "--text", "x")
	w := d.window(c, "box")
	d.until("its focus", func() bool { return d.state(c).Active == w.ID })
	if err := app.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	var kinds []EventKind
	deadline := time.After(5 * time.Second)
	for len(kinds) == 0 || kinds[len(kinds)-1] != EventDestroyed {
		select {
		case e := <-events:
			if e.Lagged {
				t.Error("lagged")
			}
			if e.Kind == EventActive {
				kinds = append(kinds, e.Kind)
			}
			if e.Window == w.ID {
				kinds = append(kinds, e.Kind)
				if e.Birth != w.Birth {
					t.Errorf("birth of event %d = %d, of window %d", e.Kind, e.Birth, w.Birth)
				}
			}
		case <-deadline:
			t.Fatalf("events = %v", kinds)
		}
	}
	for _, k := range []EventKind{EventCreated, EventConfigured, EventMapped, EventActive} {
		if !slices.Contains(kinds, k) {
			t.Errorf("no event %d in %v", k, kinds)
		}
	}
	cancel()
	cancel()
}

func TestLateReaderOfEventsIsToldThatItLags(t *testing.T) {
	var h hub
	s := h.subscribe()
	for range eventsMax + 5 {
		h.send(Event{Kind: EventActive})
	}
	for range eventsMax {
		if e := <-s.ch; e.Lagged {
			t.Fatal("marked too early")
		}
	}
	h.send(Event{Kind: EventMapped})
	h.send(Event{Kind: EventMapped})
	if e := <-s.ch; !e.Lagged {
		t.Error("not marked")
	}
	if e := <-s.ch; e.Lagged {
		t.Error("marked twice")
	}
	h.close()
	h.cancel(s)
}

// TestBirthsFollowRealWindows destroys and creates a window with one id.
func TestBirthsFollowRealWindows(t *testing.T) {
	for _, wm := range []string{"", "openbox"} {
		t.Run("wm="+wm, func(t *testing.T) {
			d := newDesk(t, wm)
			c, app := d.dial(), d.dial()
			id, err := xproto.NewWindowId(app.x)
			if err != nil {
				t.Fatal(err)
			}
			show := func() Window {
				_, err := Call(t.Context(), app, func(x *xgb.Conn) (struct{}, error) {
					err := xproto.CreateWindowChecked(x, 0, id, app.Root, 10, 10, 50, 50, 0,
						xproto.WindowClassInputOutput, 0, xproto.CwBackPixel, []uint32{0xff}).Check()
					if err != nil {
						return struct{}{}, err
					}
					name := []byte("reborn")
					xproto.ChangeProperty(x, xproto.PropModeReplace, id, xproto.AtomWmName, xproto.AtomString,
						8, uint32(len(name)), name)
					return struct{}{}, xproto.MapWindowChecked(x, id).Check()
				})
				if err != nil {
					t.Fatal(err)
				}
				return d.window(c, "reborn")
			}
			first := show()
			if again := d.window(c, "reborn"); again.Birth != first.Birth || first.Birth == 0 {
				t.Fatalf("births %d and %d of one window", first.Birth, again.Birth)
			}
			seen := map[Birth]bool{first.Birth: true}
			for range 20 {
				if err := xproto.DestroyWindowChecked(app.x, id).Check(); err != nil {
					t.Fatal(err)
				}
				w := show()
				if w.ID != id || seen[w.Birth] {
					t.Fatalf("window %#x has birth %d again", w.ID, w.Birth)
				}
				seen[w.Birth] = true
			}
			if wm != "" && d.window(c, "reborn").Frame == id {
				t.Error("the window manager made no frame, so nothing was tested")
			}
			// A connection that comes later counts for itself, and keeps counting.
			late := d.dial()
			n := d.window(late, "reborn").Birth
			if err := xproto.DestroyWindowChecked(app.x, id).Check(); err != nil {
				t.Fatal(err)
			}
			show()
			if d.window(late, "reborn").Birth == n {
				t.Error("a window from before the connection kept its birth")
			}
			c.mu.Lock()
			live := len(c.births.live)
			c.mu.Unlock()
			if live > 100 {
				t.Errorf("%d windows are kept", live)
			}
		})
	}
}

func TestIdentityIsTheSystems(t *testing.T) {
	d := newDesk(t, "openbox")
	c := d.dial()
	need(t, "mousepad", "gtk3-widget-factory", "xprop", "xdotool", "python3")
	d.start("gtk3-widget-factory")
	d.start("mousepad", "--disable-server")
	// A window that lies about its process and class.
	d.start("xclock", "-title", "liar", "-name", "org.xfce.mousepad", "-update", "3600")
	liar := d.window(c, "liar")
	d.output("xprop", "-id", fmt.Sprint(liar.ID), "-f", "_NET_WM_PID", "32c", "-set", "_NET_WM_PID", "1")
	apps := NewApps(AppsConfig{})
	wait := func(exe string) Window {
		var found Window
		d.until("a window of "+exe, func() bool {
			for _, w := range d.list(c) {
				if e, err := Executable(w.PID); err == nil && filepath.Base(e) == exe && w.Mapped && w.Title != "" {
					found = w
					return true
				}
			}
			return false
		})
		return found
	}
	known := map[string]AppID{"gtk3-widget-factory": "gtk3-widget-factory", "mousepad": "org.xfce.mousepad"}
	for exe, want := range known {
		w := wait(exe)
		if got := apps.ID(w.PID, w.ProcessStart); got != want {
			t.Errorf("id of %s = %q, want %q", exe, got, want)
		}
		prop := d.output("xprop", "-id", fmt.Sprint(w.ID), "_NET_WM_PID")
		tool := strings.TrimSpace(d.output("xdotool", "getwindowpid", fmt.Sprint(w.ID)))
		if !strings.Contains(prop, fmt.Sprintf("= %d\n", w.PID)) || tool != fmt.Sprint(w.PID) {
			t.Errorf("pid = %d, xprop says %q, xdotool %q", w.PID, prop, tool)
		}
		if apps.ID(w.PID, w.ProcessStart+1) != AppUnknown {
			t.Error("the start time is not looked at")
		}
	}
	liar = d.window(c, "liar")
	if id := apps.ID(liar.PID, liar.ProcessStart); liar.PID == 1 || id != "exe:/usr/bin/xclock" {
		t.Errorf("the liar is process %d, %q", liar.PID, id)
	}
	if got := apps.ID(os.Getpid(), startOrZero(os.Getpid())); !strings.HasPrefix(string(got), "exe:/") {
		t.Errorf("this test is %q", got)
	}
}
