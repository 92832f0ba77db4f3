package revision

// Entry is what a comparison looks at of one element. A tree is its elements in
// document order.
type Entry struct {
	ID      uint32
	Depth   uint32
	Content [16]byte // the caller's digest of everything shown of the element
}

// Piece is a run of the old tree that is kept, or one element of the new tree that is
// put there when Count is zero.
type Piece struct {
	From, Count int // the run of the old tree
	Put         int // index into the new tree
}

// Kind is what happened to an element of the new tree.
type Kind uint8

// The kinds.
const (
	// Added is an element that was not there.
	Added Kind = iota + 1
	// Changed is an element in its old place that looks different.
	Changed
	// Moved is an element in another place; it may look different, too.
	Moved
)

// Change is an element of the new tree that has to be shown, with its place: the element
// it is in, and the one before it there. Zero is no element: at the top, or first.
type Change struct {
	At           int // index into the new tree
	Kind         Kind
	Under, After uint32
}

// Difference is what became of an old tree. Pieces make the new one (Apply); Removed
// and Changes are what someone who saw the old one has to be shown.
type Difference struct {
	Pieces                []Piece
	Removed               []uint32 // in the order of the old tree; what was in them is named by itself
	Changes               []Change // in the order of the new tree
	Added, Changed, Moved int
	Unchanged             bool
}

// Compare compares two trees of one window by identity. An element is kept only if id,
// depth and content are equal. It is in its place if it is in the same element as
// before, and not before a sibling that came earlier in the old tree. The id zero is no
// identity, and neither is the second use of an id in one tree.
func Compare(old, next []Entry) Difference {
	at := make(map[uint32]int, len(old))
	for i := len(old) - 1; i >= 0; i-- {
		at[old[i].ID] = i
	}
	was, is := parents(old), parents(next)
	gone := make([]bool, len(old))
	for i := range gone {
		gone[i] = true
	}
	// Of the new tree: the element before each in the same parent, and the latest old index
	// among the parent's elements that are in their place. The last slot is the top.
	before := make([]uint32, len(next)+1)
	latest := make([]int, len(next)+1)
	var d Difference
	for i, e := range next {
		p := is[i]
		if p < 0 {
			p = len(next)
		}
		c := Change{At: i, Under: idAt(next, is[i]), After: before[p]}
		before[p] = e.ID
		j, known := at[e.ID]
		switch {
		case !known || e.ID == 0 || !gone[j]:
			c.Kind, j = Added, -1
		case idAt(old, was[j]) != c.Under || j < latest[p]:
			c.Kind = Moved
		default:
			latest[p] = j
			if old[j] != e {
				c.Kind = Changed
			}
		}
		if j >= 0 {
			gone[j] = false
		}
		d.add(c, j, j >= 0 && old[j] == e)
	}
	for j, e := range old {
		if gone[j] {
			d.Removed = append(d.Removed, e.ID)
		}
	}
	d.Unchanged = len(d.Removed) == 0 && len(d.Changes) == 0
	return d
}

// add appends one element of the new tree: old element j when it is kept.
func (d *Difference) add(c Change, j int, kept bool) {
	switch last := len(d.Pieces) - 1; {
	case !kept:
		d.Pieces = append(d.Pieces, Piece{Put: c.At})
	case last >= 0 && d.Pieces[last].Count > 0 && d.Pieces[last].From+d.Pieces[last].Count == j:
		d.Pieces[last].Count++
	default:
		d.Pieces = append(d.Pieces, Piece{From: j, Count: 1})
	}
	switch c.Kind {
	case Added:
		d.Added++
	case Changed:
		d.Changed++
	case Moved:
		d.Moved++
	default:
		return
	}
	d.Changes = append(d.Changes, c)
}

// parents returns the index of the element each element is in, -1 at the top: the
// nearest one before it that is less deep.
func parents(tree []Entry) []int {
	out := make([]int, len(tree))
	var open []int
	for i, e := range tree {
		for len(open) > 0 && tree[open[len(open)-1]].Depth >= e.Depth {
			open = open[:len(open)-1]
		}
		out[i] = -1
		if len(open) > 0 {
			out[i] = open[len(open)-1]
		}
		open = append(open, i)
	}
	return out
}

func idAt(tree []Entry, i int) uint32 {
	if i < 0 {
		return 0
	}
	return tree[i].ID
}

// Apply makes the new tree from the old one; put returns an element of the new tree by
// its index. It is total: pieces that are not those of a difference from such a tree are
// false. Each old element is used once at most, so the answer is no larger than the old
// tree and the pieces together.
func Apply[T any](old []T, d Difference, put func(i int) T) ([]T, bool) {
	used := make([]bool, len(old))
	var out []T
	for _, p := range d.Pieces {
		if p.Count == 0 {
			if p.Put != len(out) {
				return nil, false
			}
			out = append(out, put(p.Put))
			continue
		}
		if p.Count < 0 || p.From < 0 || p.From > len(old) || p.Count > len(old)-p.From {
			return nil, false
		}
		for j := p.From; j < p.From+p.Count; j++ {
			if used[j] {
				return nil, false
			}
			used[j] = true
		}
		out = append(out, old[p.From:p.From+p.Count]...)
	}
	return out, true
}

// Patch makes a tree from a change against base (C2.4). kept has one entry for each
// element of the tree: n > 0 is element n-1 of base, 0 is the next of fresh. It is
// total: an entry that base does not have, a base element used twice and fresh elements
// that are too few or too many are false.
func Patch[T any](base []T, kept []uint32, fresh []T) ([]T, bool) {
	used := make([]bool, len(base))
	out := make([]T, 0, len(kept))
	next := 0
	for _, n := range kept {
		switch {
		case n == 0 && next < len(fresh):
			out = append(out, fresh[next])
			next++
		case n > 0 && uint64(n) <= uint64(len(base)) && !used[n-1]:
			used[n-1] = true
			out = append(out, base[n-1])
		default:
			return nil, false
		}
	}
	if next < len(fresh) {
		return nil, false
	}
	return out, true
}
