// Package revision gives elements the small ids the agent sees, stable over the
// revisions of one window and never reused within that chain (C2.3), and compares two
// trees of one window by those ids (C2.4). Identity comes from the executor, which knows
// the element's own object; an id is presentation and never selects a target by itself.
//
// Everything here is a value of its caller: no goroutines, no clocks, no I/O. A
// difference, a change or a tree that makes no sense is told as such; none can panic.
package revision

import (
	"math"

	"fairlead.dev/services/shared/ident"
)

// Bounds of what a session remembers.
const (
	chainsMax  = 16     // windows; then the one not seen for longest gets fresh ids
	objectsMax = 20_000 // elements of one window; then those that are gone are forgotten
)

// Book is the chains of one session, by window identity.
type Book struct {
	chains map[ident.Window]*chain
	order  []ident.Window // least recently used first
	last   uint32         // ids are unique in the session, so no chain can reuse one
}

type chain struct{ ids map[ident.Object]uint32 }

// Assign returns one id for each object of a window's tree, in order. An object
// without identity (zero) gets a fresh id each time. An object that comes back has its
// id again unless it was forgotten; then its id is fresh, and never another object's.
//
// A session that has used up its ids gives zero, which no act can name: what is new can
// be read and not acted on.
func (b *Book) Assign(w ident.Window, objects []ident.Object) []uint32 {
	c := b.touch(w)
	c.makeRoom(objects)
	out := make([]uint32, len(objects))
	seen := make(map[ident.Object]bool, len(objects))
	for i, o := range objects {
		id, known := c.ids[o]
		if !known || seen[o] {
			id = b.fresh()
			if o != 0 && !seen[o] && len(c.ids) < objectsMax {
				c.ids[o] = id
			}
		}
		seen[o] = true
		out[i] = id
	}
	return out
}

// Forget drops all chains: object identities end with their executor incarnation.
func (b *Book) Forget() { b.chains, b.order = nil, nil }

// fresh returns the next id. It stops at the last one: a counter that starts over would
// give an element the id of another.
func (b *Book) fresh() uint32 {
	if b.last == math.MaxUint32 {
		return 0
	}
	b.last++
	return b.last
}

// makeRoom forgets the objects that are not in the tree when its new ones would not
// fit. What is shown keeps its ids.
func (c *chain) makeRoom(objects []ident.Object) {
	if len(c.ids)+len(objects) <= objectsMax {
		return
	}
	shown := make(map[ident.Object]uint32, len(objects))
	for _, o := range objects {
		if id, known := c.ids[o]; known {
			shown[o] = id
		}
	}
	c.ids = shown
}

func (b *Book) touch(w ident.Window) *chain {
	if b.chains == nil {
		b.chains = map[ident.Window]*chain{}
	}
	for i, o := range b.order {
		if o == w {
			b.order = append(b.order[:i], b.order[i+1:]...)
			break
		}
	}
	b.order = append(b.order, w)
	if c := b.chains[w]; c != nil {
		return c
	}
	if len(b.order) > chainsMax {
		delete(b.chains, b.order[0])
		b.order = b.order[1:]
	}
	c := &chain{ids: map[ident.Object]uint32{}}
	b.chains[w] = c
	return c
}
