// Package frame keeps the frames of one session and the claim on the current one
// (C2.5, C3). A frame is the only authority to act: what an act means by an element, by
// a pixel of a picture or by a role and a name is looked up in the frame it quotes and
// nowhere else (C0.1). A claim ends in exactly one of consumed, retired or returned.
//
// Everything here is a pure value and one step of the session: no clocks, no waits, no
// I/O, no goroutines. The session's goroutine owns the Book and its frames; nobody else
// changes either. Nothing here ever chooses another target than the one that was meant:
// what does not bind exactly is refused (C0.2).
package frame

import (
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/permit"
	"fairlead.dev/services/shared/refusal"
)

// Element is what an act needs of one element of a frame.
type Element struct {
	Token   ident.Token
	Digest  ident.Digest
	Role    int32
	Name    string
	Secure  bool
	Enabled bool
	Focused bool
	// Surface is the surface the element is on, Bounds its rectangle in points of it.
	Surface uint64
	Bounds  Rect
	// TakesKeys says that the element may own the keyboard after a click on it (C8.2). The
	// caller decides it from the role.
	TakesKeys bool
}

// Frame is one registered observation.
type Frame struct {
	ident.Frame
	Snapshot ident.SnapshotID
	Executor ident.Generation
	Window   ident.Window
	Root     uint64 // toplevel at the root of the surface group: the lane key (C4.2)
	Page     ident.Page
	// Destination is where the page is: scheme, host and port; empty without a page.
	Destination string
	Elements    map[uint32]Element // by stable id
	// Bounds is the toplevel in display-logical points; its corner is the origin of every
	// toplevel-local point.
	Bounds Rect
	// Surfaces are the toplevel and its popups, menus and sheets at capture (C2.1).
	Surfaces []Surface
	// Displays are those the window touches and whose layout is proven (C2.2).
	Displays []Display
	// KeysTo is the element that an act on the owned keyboard target was bound to in this
	// frame, so that the same act is known again when the session owns it no longer.
	KeysTo uint32
	// Wanted repeats how the frame was asked for; the observation after an act follows it.
	Wanted any

	pictures []Picture // the model copy first, then zooms, oldest first
	claim
}

// claim is a frame's single slot: free, taken, or spent; and the acts retired on it.
type claim struct {
	taken   bool
	spentBy *permit.Digest
	retired []permit.Digest
}

// Focus returns the one element that the frame shows focused. Two claimants are none (C2.3).
func (f *Frame) Focus() (id uint32, ok bool) {
	for i, e := range f.Elements {
		if e.Focused && ok {
			return 0, false
		}
		if e.Focused {
			id, ok = i, true
		}
	}
	return id, ok
}

// Unique returns the id of the one enabled element with this role and exactly this name:
// how a step of a sequence binds in a fresh frame (C3.9). Several are never chosen from.
func (f *Frame) Unique(role int32, name string) (id uint32, why *refusal.Error) {
	var candidates uint32
	for i, e := range f.Elements {
		if e.Enabled && e.Role == role && e.Name == name {
			id = i
			candidates++
		}
	}
	switch candidates {
	case 0:
		return 0, refusal.New(refusal.TargetMissing)
	case 1:
		return id, nil
	default:
		return 0, refusal.With(refusal.TargetAmbiguous, &refusal.Detail{Candidates: candidates})
	}
}
