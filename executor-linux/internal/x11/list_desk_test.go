//go:build desk

package x11

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestWindowsAreListedInTrueStacking(t *testing.T) {
	for _, wm := range []string{"", "openbox"} {
		t.Run("wm="+wm, func(t *testing.T) {
			d := newDesk(t, wm)
			c := d.dial()
			a := d.start("xclock", "-title", "low", "-geometry", "200x150+10+20")
			low := d.window(c, "low")
			d.start("xeyes", "-title", "high", "-geometry", "220x160+60+60")
			high := d.window(c, "high")
			if low.PID != a.Process.Pid || low.ProcessStart == 0 {
				t.Errorf("pid = %d, start %d, want pid %d", low.PID, low.ProcessStart, a.Process.Pid)
			}
			list := d.list(c)
			var order []string
			for _, w := range list {
				if w.Title != "" {
					order = append(order, w.Title)
				}
			}
			if !slices.Equal(order, []string{"low", "high"}) {
				t.Errorf("order = %q", order)
			}
			if framed := low.Frame != low.ID; framed != (wm != "") {
				t.Errorf("frame %#x of window %#x", low.Frame, low.ID)
			}
			compareWithXwininfo(t, d, high)
			d.output("xdotool", "windowraise", fmt.Sprint(low.ID))
			d.until("the raise", func() bool { return d.window(c, "low").Stack > d.window(c, "high").Stack })
			if high.Birth == low.Birth || d.window(c, "low").Birth != low.Birth {
				t.Error("births are wrong after a raise")
			}
		})
	}
}

func compareWithXwininfo(t *testing.T, d *desk, w Window) {
	t.Helper()
	info := d.output("xwininfo", "-id", fmt.Sprint(w.ID))
	value := func(label string) int {
		_, rest, _ := strings.Cut(info, label+":")
		line, _, _ := strings.Cut(rest, "\n")
		n, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil {
			t.Fatalf("%s of xwininfo: %v", label, err)
		}
		return n
	}
	// xwininfo's corner is the border's, ours is the window's.
	border := value("Border width")
	got := [4]int{w.Bounds.Min.X - border, w.Bounds.Min.Y - border, w.Bounds.Dx(), w.Bounds.Dy()}
	want := [4]int{value("Absolute upper-left X"), value("Absolute upper-left Y"), value("Width"), value("Height")}
	if got != want {
		t.Errorf("bounds = %v, xwininfo says %v", got, want)
	}
}

func TestFiftyWindowsAreListedQuickly(t *testing.T) {
	d := newDesk(t, "openbox")
	c := d.dial()
	for i := range 50 {
		d.start("xclock", "-title", fmt.Sprintf("clock %d", i), "-geometry", "150x100", "-update", "3600")
	}
	d.until("50 clocks", func() bool { return len(clocks(d.list(c))) == 50 })
	best, total := time.Hour, time.Duration(0)
	const rounds = 20
	for range rounds {
		begin := time.Now()
		d.list(c)
		took := time.Since(begin)
		best, total = min(best, took), total+took
	}
	t.Logf("50 windows under openbox: best %v, mean %v", best, total/rounds)
}

func clocks(list []Window) []Window {
	return slices.DeleteFunc(list, func(w Window) bool { return !strings.HasPrefix(w.Title, "clock ") })
}
