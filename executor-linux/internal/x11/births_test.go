package x11

import (
	"testing"

	"github.com/jezek/xgb/xproto"
)

func TestBirths(t *testing.T) {
	const w, other = xproto.Window(7), xproto.Window(8)
	tests := []struct {
		name  string
		story func(b *births)
		// same: the window is the one seen at the beginning.
		same bool
	}{
		{"nothing happens", func(*births) {}, true},
		{"another window comes and goes", func(b *births) { b.created(other, true); b.gone(other) }, true},
		{"destroyed and created", func(b *births) { b.gone(w); b.created(w, true) }, false},
		{"created without a seen end", func(b *births) { b.created(w, true) }, false},
		{"destroyed, then seen as a non-root child", func(b *births) { b.gone(w) }, false},
		{"framed while watched", func(b *births) { b.watch(w, b.of(w)); b.left(w) }, true},
		{"framed while unwatched", func(b *births) { b.left(w) }, false},
		{"watch of an earlier life does not count", func(b *births) {
			old := b.of(w)
			b.gone(w)
			b.created(w, false)
			b.watch(w, old)
			b.left(w)
		}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBirths()
			first := b.see(w).birth
			tt.story(&b)
			if now := b.see(w).birth; (now == first) != tt.same || now < first {
				t.Errorf("birth was %d, is %d", first, now)
			}
		})
	}
}

func TestFramedWindowKeepsItsBirthWhileTheWatchIsUnderWay(t *testing.T) {
	b := newBirths()
	n := b.created(1, true)
	b.left(1)
	if b.see(1).birth != n {
		t.Error("reparenting changed the birth")
	}
	if b.gone(1) != n || b.gone(1) != 0 {
		t.Error("an end counts once")
	}
}

func TestForgettingAtTheBoundMakesWindowsNew(t *testing.T) {
	b := newBirths()
	first := b.created(1, true)
	for w := range xproto.Window(birthsMax) {
		b.created(w+2, true)
	}
	if len(b.live) > birthsMax {
		t.Errorf("%d windows are kept", len(b.live))
	}
	if b.see(1).birth <= first {
		t.Error("a forgotten window must be new")
	}
}
