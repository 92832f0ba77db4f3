// Package revision gives elements the small ids the agent sees: stable over the
// revisions of one window, never reused within that chain (C2.3). Identity comes
// from the executor, which knows the element's own object; an id is presentation and
// never selects a target by itself.
package revision

import "fairlead.dev/services/shared/ident"

// Bounds of what a session remembers.
const (
	chainsMax  = 16     // windows
	objectsMax = 20_000 // elements of one window; then the chain starts over with fresh ids
)

// Book is the chains of one session, by window identity.
type Book struct {
	chains map[ident.Window]*chain
	order  []ident.Window // least recently used first
	next   uint32         // ids are unique in the session, so a chain that starts over cannot reuse one
}

type chain struct{ ids map[ident.Object]uint32 }

// Assign returns one id for each object of a window's tree, in order. An object
// without identity (zero) gets a fresh id each time.
func (b *Book) Assign(w ident.Window, objects []ident.Object) []uint32 {
	c := b.touch(w)
	if len(c.ids)+len(objects) > objectsMax {
		c.ids = make(map[ident.Object]uint32, len(objects))
	}
	out := make([]uint32, len(objects))
	seen := make(map[ident.Object]bool, len(objects))
	for i, o := range objects {
		id, known := c.ids[o]
		if !known || o == 0 || seen[o] {
			b.next++
			id = b.next
			if o != 0 && !seen[o] {
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
