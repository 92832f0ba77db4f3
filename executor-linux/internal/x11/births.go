package x11

import "github.com/jezek/xgb/xproto"

// Birth numbers the windows of one connection (C1.3). Two windows that had the same
// XID at different times have different births. Zero is no birth.
type Birth uint64

// birthsMax bounds the tracker. At the bound everything is forgotten, which can only
// make known windows new, never new windows known.
const birthsMax = 1 << 16

// births counts windows from the server's create and destroy events. It is a pure
// state machine; its input must be in the server's order.
//
// A root child's end is always seen (SubstructureNotify on the root). The end of a
// window that a window manager took into its frame is seen only if StructureNotify
// was asked for on the window itself, so a window that leaves the root without that
// is forgotten: its next sight counts as a birth.
type births struct {
	next Birth
	live map[xproto.Window]life
}

type life struct {
	birth Birth
	// asked: a request for the window's own destroy event is under way.
	asked bool
	// watched: the server confirmed that request.
	watched bool
}

func newBirths() births { return births{live: map[xproto.Window]life{}} }

func (b *births) add(w xproto.Window, asked bool) Birth {
	if len(b.live) >= birthsMax {
		clear(b.live)
	}
	b.next++
	b.live[w] = life{birth: b.next, asked: asked}
	return b.next
}

// created is a birth, whatever was known of the XID.
func (b *births) created(w xproto.Window, asked bool) Birth { return b.add(w, asked) }

// gone is a death: a destroy event, or the server saying that there is no such window.
func (b *births) gone(w xproto.Window) Birth {
	l := b.live[w]
	delete(b.live, w)
	return l.birth
}

// left says that a window is no longer a child of the root.
func (b *births) left(w xproto.Window) {
	if l, ok := b.live[w]; ok && !l.asked && !l.watched {
		delete(b.live, w)
	}
}

// see gives the birth of a window that is there now; an unknown one is new.
func (b *births) see(w xproto.Window) life {
	if l, ok := b.live[w]; ok {
		return l
	}
	b.add(w, false)
	return b.live[w]
}

// watch records that the server reports the end of this very window from now on.
func (b *births) watch(w xproto.Window, n Birth) {
	if l, ok := b.live[w]; ok && l.birth == n {
		l.watched = true
		b.live[w] = l
	}
}

// of is the birth of a known window, else zero.
func (b *births) of(w xproto.Window) Birth { return b.live[w].birth }
