package x11

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/jezek/xgb/xproto"
)

func text(typ xproto.Atom, s string) *xproto.GetPropertyReply {
	return &xproto.GetPropertyReply{Format: 8, Type: typ, ValueLen: uint32(len(s)), Value: []byte(s)}
}

func TestTitles(t *testing.T) {
	const utf8String, compound = 300, 301
	none := &xproto.GetPropertyReply{}
	tests := []struct {
		name     string
		new, old *xproto.GetPropertyReply
		want     string
	}{
		{"utf-8 wins", text(utf8String, "héllo ✓"), text(xproto.AtomString, "old"), "héllo ✓"},
		{"latin-1", none, text(xproto.AtomString, "h\xe9llo"), "héllo"},
		{"utf-8 in the old property", none, text(utf8String, "✓"), "✓"},
		{"compound text that is ascii", none, text(compound, "plain"), "plain"},
		{"not utf-8", text(utf8String, "a\xffb"), none, "a\uFFFDb"},
		{"ends at NUL", text(utf8String, "a\x00b"), none, "a"},
		{"none", none, none, ""},
		{"wrong format", &xproto.GetPropertyReply{Format: 32, Value: []byte("abcd"), ValueLen: 1}, none, ""},
		{"half a rune at the bound", text(utf8String, strings.Repeat("✓", 341)+"\xe2"), none, strings.Repeat("✓", 341)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := title(tt.new, tt.old, utf8String)
			if got != tt.want || !utf8.ValidString(got) {
				t.Errorf("title = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestPropertiesThatLieAreHarmless(t *testing.T) {
	short := &xproto.GetPropertyReply{Format: 32, ValueLen: 4, Value: make([]byte, 3)}
	if card32(short, 0) != 0 || card32(nil, 0) != 0 || hasAtom(short, 5) || hasAtom(nil, 5) {
		t.Error("a short property was read")
	}
	huge := &xproto.GetPropertyReply{Format: 32, ValueLen: 4, Value: make([]byte, 16)}
	le.PutUint32(huge.Value[4:], 1<<32-1)
	if shadow(huge, &xproto.GetGeometryReply{Width: 100, Height: 100}) != (Extents{}) {
		t.Error("a shadow larger than the window was believed")
	}
}

func TestUserStateDiff(t *testing.T) {
	u := UserState{Focus: 1, Stack: []xproto.Window{1, 2, 3}}
	later := UserState{Focus: 2, Active: 9, Clipboard: 4, Stack: []xproto.Window{1, 3, 5}}
	d := u.Diff(later)
	if d.Pointer || !d.Focus || !d.Active || !d.Clipboard || d.Stacking || len(d.Appeared) != 1 || len(d.Vanished) != 1 {
		t.Errorf("diff = %+v", d)
	}
	later = u
	later.Stack = []xproto.Window{2, 1, 3}
	if d := u.Diff(later); !d.Stacking || !d.Any() {
		t.Errorf("diff = %+v", d)
	}
	if u.Diff(u).Any() {
		t.Error("a state differs from itself")
	}
}

func TestFontResolutionIsRead(t *testing.T) {
	for s, want := range map[string]int{
		"Xft.dpi:\t192\nXft.hinting: 1\n": 192, "a: b\nXft.dpi: 143.9": 144,
		"xft.dpi: 96": 0, "Xft.dpi: 1e9": 0, "Xft.dpi: NaN": 0, "": 0,
	} {
		if got := xftDPI([]byte(s)); got != want {
			t.Errorf("%q = %d, want %d", s, got, want)
		}
	}
}
