// Package keyboard says who may type: at any moment one session per window group, or
// none (C8). A Board is a pure value: no clock, no I/O, no goroutine and no lock; the
// host calls it under a mutex of its own. Ownership is given whole and checked whole:
// nothing here looks at what has the focus now, fills in a field, or gives back what
// was taken. Whoever lost the keyboard gets it again only by another Grant.
package keyboard

import (
	"slices"
	"strings"

	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
)

// ownersMax is how many sessions may own a target at once: as many as a host has
// sessions. A full board grants nothing, so Check goes on refusing.
const ownersMax = 256

// Owner is one session's right to type, with everything it depends on (C8.1).
type Owner struct {
	Session        ident.SessionID
	Turn           ident.TurnID
	Host, Executor ident.Generation
	Window         ident.Window
	Root           uint64 // toplevel at the root of the window's surface group (C4.2)
	Page           ident.Page
	Frame          ident.Frame
	Element        uint32 // stable id of the element that takes the keys
}

// whole reports whether everything is there without which an owner means nothing. A
// page is there only for a web page, a root number is the window system's own.
func (o Owner) whole() bool {
	return o.Session != "" && o.Turn != "" && o.Host != 0 && o.Executor != 0 &&
		o.Window != ident.Window{} && o.Frame.ID != "" && o.Element != 0
}

// sharesFocus reports whether two owners are in one window group, which has one focus.
func (o Owner) sharesFocus(other Owner) bool {
	return o.Executor == other.Executor && o.Root == other.Root
}

// Board is who owns which target. The zero value is a board without owners. It is not
// safe for concurrent use.
type Board struct{ owners map[ident.SessionID]Owner }

// Grant makes o the owner of its window group, after a verified act that put the focus
// into its element (C8.2). Whoever had the group, and whatever other target the session
// had, is revoked and returned. An owner that is not whole revokes the same and gets
// nothing.
func (b *Board) Grant(o Owner) (revoked []Owner) {
	if had, ok := b.owners[o.Session]; ok && had == o {
		return nil
	}
	revoked = b.revoke(func(had Owner) bool { return had.Session == o.Session || had.sharesFocus(o) })
	if o.whole() && len(b.owners) < ownersMax {
		b.put(o)
	}
	return revoked
}

// Sight is what one observation of a session shows of its keyboard target.
type Sight struct {
	// Shown is who would own the keyboard by this observation alone: its frame, its
	// window and page, and the one element that it shows focused (C2.3).
	Shown Owner
	// By is the frame on which the act was made that returned this observation. It is
	// zero for every observation that no act returned.
	By ident.Frame
	// Verified says that this act was verified (C7.2).
	Verified bool
}

// Renew takes every new observation of a session. The session's ownership moves on to
// the new frame only when its own verified act on the owned frame returned it and the
// owner is still shown focused, nothing but the frame being different; any other
// observation revokes (C8.3). It returns what it revoked.
func (b *Board) Renew(s Sight) (revoked Owner, ok bool) {
	had, owned := b.owners[s.Shown.Session]
	if !owned {
		return Owner{}, false
	}
	still := s.Shown
	still.Frame = had.Frame
	forward := s.Shown.whole() && s.Shown.Frame.Epoch > had.Frame.Epoch
	if !s.Verified || s.By != had.Frame || still != had || !forward {
		return b.Revoke(had.Session)
	}
	b.put(s.Shown)
	return Owner{}, false
}

// Revoke takes a session's target away.
func (b *Board) Revoke(s ident.SessionID) (Owner, bool) {
	had, ok := b.owners[s]
	delete(b.owners, s)
	return had, ok
}

// Check says whether want is the current owner, down to the last field.
func (b *Board) Check(want Owner) *refusal.Error {
	if had, ok := b.owners[want.Session]; !ok || had != want {
		return refusal.New(refusal.KeyboardNotOwned)
	}
	return nil
}

// Of returns a session's target.
func (b *Board) Of(s ident.SessionID) (Owner, bool) {
	o, ok := b.owners[s]
	return o, ok
}

// Len returns how many sessions own a target.
func (b *Board) Len() int { return len(b.owners) }

func (b *Board) put(o Owner) {
	if b.owners == nil {
		b.owners = map[ident.SessionID]Owner{}
	}
	b.owners[o.Session] = o
}

// revoke takes the targets away that meet a condition, and returns them by session id,
// so that the same steps always give the same answer.
func (b *Board) revoke(meets func(Owner) bool) []Owner {
	var revoked []Owner
	for _, o := range b.owners {
		if meets(o) {
			revoked = append(revoked, o)
		}
	}
	for _, o := range revoked {
		b.Revoke(o.Session)
	}
	slices.SortFunc(revoked, func(x, y Owner) int { return strings.Compare(string(x.Session), string(y.Session)) })
	return revoked
}
