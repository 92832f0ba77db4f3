package revision

import (
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func entry(id, depth uint32, look byte) Entry {
	return Entry{ID: id, Depth: depth, Content: [16]byte{look}}
}

func TestCompareSaysWhatBecameOfEachElement(t *testing.T) {
	window := []Entry{entry(1, 0, 0), entry(2, 1, 0), entry(3, 2, 0), entry(4, 2, 0), entry(5, 1, 0)}
	for _, tc := range []struct {
		name string
		next []Entry
		want Difference
	}{
		{
			"nothing", window,
			Difference{Pieces: []Piece{{From: 0, Count: 5}}, Unchanged: true},
		},
		{
			"one looks different",
			[]Entry{window[0], window[1], entry(3, 2, 9), window[3], window[4]},
			Difference{
				Pieces:  []Piece{{From: 0, Count: 2}, {Put: 2}, {From: 3, Count: 2}},
				Changes: []Change{{At: 2, Kind: Changed, Under: 2}}, Changed: 1,
			},
		},
		{
			"one is gone, one is new",
			[]Entry{window[0], window[1], window[2], entry(6, 2, 0), window[4]},
			Difference{
				Pieces:  []Piece{{From: 0, Count: 3}, {Put: 3}, {From: 4, Count: 1}},
				Removed: []uint32{4}, Changes: []Change{{At: 3, Kind: Added, Under: 2, After: 3}}, Added: 1,
			},
		},
		{
			"a parent moves and takes its children along",
			[]Entry{window[0], window[4], window[1], window[2], window[3]},
			Difference{
				Pieces:  []Piece{{From: 0, Count: 1}, {From: 4, Count: 1}, {From: 1, Count: 3}},
				Changes: []Change{{At: 2, Kind: Moved, Under: 1, After: 5}}, Moved: 1,
			},
		},
		{
			"a parent is replaced under the same children",
			[]Entry{window[0], entry(7, 1, 0), window[2], window[3], window[4]},
			Difference{
				Pieces: []Piece{{From: 0, Count: 1}, {Put: 1}, {From: 2, Count: 3}}, Removed: []uint32{2},
				Changes: []Change{
					{At: 1, Kind: Added, Under: 1},
					{At: 2, Kind: Moved, Under: 7},
					{At: 3, Kind: Moved, Under: 7, After: 3},
				},
				Added: 1, Moved: 2,
			},
		},
		{
			"the same element deeper is in another place",
			[]Entry{window[0], window[1], window[2], entry(4, 3, 0), window[4]},
			Difference{
				Pieces:  []Piece{{From: 0, Count: 3}, {Put: 3}, {From: 4, Count: 1}},
				Changes: []Change{{At: 3, Kind: Moved, Under: 3}}, Moved: 1,
			},
		},
		{"everything is gone", nil, Difference{Removed: []uint32{1, 2, 3, 4, 5}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := Compare(window, tc.next); !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got  %+v\nwant %+v", got, tc.want)
			}
		})
	}
	if d := Compare(nil, nil); !d.Unchanged {
		t.Error("an empty tree that stays empty has changed")
	}
}

func TestWhatHasNoIdentityIsNeverKept(t *testing.T) {
	zero := []Entry{entry(0, 0, 0)}
	if d := Compare(zero, zero); d.Unchanged || d.Added != 1 || len(d.Removed) != 1 {
		t.Errorf("an element without an id: %+v", d)
	}
	twice := []Entry{entry(5, 0, 0), entry(5, 0, 0)}
	if d := Compare(twice, twice); d.Unchanged || d.Added != 1 || len(d.Removed) != 1 {
		t.Errorf("the second use of an id: %+v", d)
	}
}

// anyTree draws entries that need not make sense: ids twice or zero, depths that jump.
func anyTree(name string) *rapid.Generator[[]Entry] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Entry {
		return entry(rapid.Uint32Range(0, 12).Draw(t, name+" id"), rapid.Uint32Range(0, 4).Draw(t, name+" depth"),
			rapid.ByteRange(0, 2).Draw(t, name+" look"))
	}), 0, 16)
}

// windowTree draws a tree as a window has it: each id once, no depth that jumps.
func windowTree(t *rapid.T, name string) []Entry {
	ids := rapid.Permutation([]uint32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}).Draw(t, name+" ids")
	tree := make([]Entry, rapid.IntRange(0, len(ids)).Draw(t, name+" size"))
	deepest := uint32(0)
	for i := range tree {
		tree[i] = entry(ids[i], rapid.Uint32Range(0, deepest).Draw(t, name+" depth"),
			rapid.ByteRange(0, 1).Draw(t, name+" look"))
		deepest = tree[i].Depth + 1
	}
	return tree
}

func TestADifferenceAppliedToTheOldTreeGivesTheNewOne(t *testing.T) {
	check := func(t *rapid.T, old, next []Entry) {
		d := Compare(old, next)
		got, ok := Apply(old, d, func(i int) Entry { return next[i] })
		if !ok || !slices.Equal(got, next) {
			t.Fatalf("%v, %v after %+v", got, ok, d)
		}
		if d.Unchanged && !slices.Equal(old, next) {
			t.Fatalf("unchanged: %v and %v", old, next)
		}
		kept := 0
		for _, p := range d.Pieces {
			kept += p.Count
		}
		if len(d.Changes) != d.Added+d.Changed+d.Moved || len(old)-len(d.Removed) != len(next)-d.Added ||
			kept > len(old)-len(d.Removed) {
			t.Fatalf("the counts contradict: %+v", d)
		}
	}
	rapid.Check(t, func(t *rapid.T) { check(t, anyTree("old").Draw(t, "old"), anyTree("next").Draw(t, "next")) })
	rapid.Check(t, func(t *rapid.T) { check(t, windowTree(t, "old"), windowTree(t, "next")) })
}

func TestOnlyWhatIsEqualIsKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		old, next := windowTree(t, "old"), windowTree(t, "next")
		put := map[int]bool{}
		_, ok := Apply(old, Compare(old, next), func(i int) Entry { put[i] = true; return next[i] })
		if !ok {
			t.Fatal("refused")
		}
		for i, e := range next {
			if put[i] == slices.Contains(old, e) {
				t.Fatalf("element %d, put %v: %v to %v", e.ID, put[i], old, next)
			}
		}
	})
}

// reader is someone who saw the old tree and is shown a difference: what is in each
// element, in order, and what each looks like.
type reader struct {
	in   map[uint32][]uint32
	look map[uint32][16]byte
}

func readerOf(tree []Entry) reader {
	r := reader{in: map[uint32][]uint32{}, look: map[uint32][16]byte{}}
	for i, p := range parents(tree) {
		r.in[idAt(tree, p)] = append(r.in[idAt(tree, p)], tree[i].ID)
		r.look[tree[i].ID] = tree[i].Content
	}
	return r
}

func (r reader) take(id uint32) {
	for p, list := range r.in {
		r.in[p] = slices.DeleteFunc(list, func(x uint32) bool { return x == id })
	}
}

func (r reader) put(id uint32, c Change) bool {
	at := 0
	if c.After != 0 {
		if at = slices.Index(r.in[c.Under], c.After) + 1; at == 0 {
			return false
		}
	}
	r.in[c.Under] = slices.Insert(r.in[c.Under], at, id)
	return true
}

func (r reader) tree(under, depth uint32) []Entry {
	var out []Entry
	for _, id := range r.in[under] {
		out = append(out, Entry{ID: id, Depth: depth, Content: r.look[id]})
		out = append(out, r.tree(id, depth+1)...)
	}
	return out
}

func TestWhoeverSawTheOldTreeKnowsTheNewOneFromTheChanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		old, next := windowTree(t, "old"), windowTree(t, "next")
		d := Compare(old, next)
		r := readerOf(old)
		for _, id := range d.Removed {
			r.take(id)
		}
		for _, c := range d.Changes {
			e := next[c.At]
			r.look[e.ID] = e.Content
			if c.Kind == Changed {
				continue
			}
			r.take(e.ID)
			if !r.put(e.ID, c) {
				t.Fatalf("element %d is shown after %d, which is not in %d", e.ID, c.After, c.Under)
			}
		}
		if got := r.tree(0, 0); !slices.Equal(got, next) {
			t.Fatalf("read %v, is %v, from %+v", got, next, d)
		}
	})
}

func TestPiecesThatMakeNoSenseAreRefused(t *testing.T) {
	old := []int{10, 20, 30}
	for name, pieces := range map[string][]Piece{
		"a run before the start":   {{From: -1, Count: 1}},
		"a negative run":           {{From: 1, Count: -1}},
		"a run past the end":       {{From: 2, Count: 2}},
		"a run that overflows":     {{From: 1, Count: int(^uint(0) >> 1)}},
		"an element kept twice":    {{From: 0, Count: 2}, {From: 1, Count: 1}},
		"a put that skips one":     {{Put: 1}},
		"a put that goes backward": {{Put: 0}, {Put: 0}},
		"a negative put":           {{Put: -1}},
	} {
		if got, ok := Apply(old, Difference{Pieces: pieces}, func(i int) int { return i }); ok {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestPatchTakesExactlyWhatItIsGiven(t *testing.T) {
	base, fresh := []string{"a", "b", "c"}, []string{"x", "y"}
	for _, tc := range []struct {
		name  string
		kept  []uint32
		fresh []string
		want  []string
	}{
		{"kept, moved and fresh", []uint32{0, 3, 1, 0}, fresh, []string{"x", "c", "a", "y"}},
		{"all kept", []uint32{1, 2, 3}, nil, base},
		{"empty", nil, nil, []string{}},
		{"past the base", []uint32{4}, nil, nil},
		{"far past the base", []uint32{1<<32 - 1}, nil, nil},
		{"kept twice", []uint32{2, 2}, nil, nil},
		{"fresh left over", []uint32{1, 0}, fresh, nil},
		{"fresh missing", []uint32{0, 0, 0}, fresh, nil},
	} {
		got, ok := Patch(base, tc.kept, tc.fresh)
		if ok != (tc.want != nil) || !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, %v", tc.name, got, ok)
		}
	}
}

func TestAPatchFromADifferenceGivesTheNewTree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		old, next := anyTree("old").Draw(t, "old"), anyTree("next").Draw(t, "next")
		var kept []uint32
		var fresh []Entry
		for _, p := range Compare(old, next).Pieces {
			if p.Count == 0 {
				kept, fresh = append(kept, 0), append(fresh, next[p.Put])
			}
			for j := range p.Count {
				kept = append(kept, uint32(p.From+j+1))
			}
		}
		if got, ok := Patch(old, kept, fresh); !ok || !slices.Equal(got, next) {
			t.Fatalf("%v, %v", got, ok)
		}
	})
}

// FuzzApply holds Apply to its word for arbitrary pieces: an answer, no larger than what
// went in, made of old elements used once and of puts in order.
func FuzzApply(f *testing.F) {
	f.Add(3, []byte{0, 2, 0, 0, 0, 2})
	f.Add(0, []byte{})
	f.Add(4, []byte{255, 255, 255, 1, 127, 0})
	f.Fuzz(func(t *testing.T, size int, raw []byte) {
		old := make([]int, max(0, size%64))
		for i := range old {
			old[i] = i + 1
		}
		var d Difference
		for ; len(raw) >= 3; raw = raw[3:] {
			d.Pieces = append(d.Pieces, Piece{From: int(int8(raw[0])), Count: int(int8(raw[1])), Put: int(int8(raw[2]))})
		}
		got, ok := Apply(old, d, func(i int) int { return -1 - i })
		if !ok {
			if got != nil {
				t.Errorf("refused and %v", got)
			}
			return
		}
		seen := map[int]bool{}
		for i, x := range got {
			if x == 0 || x < 0 && x != -1-i || x > len(old) || seen[x] {
				t.Fatalf("%d at %d of %v from %+v", x, i, got, d.Pieces)
			}
			seen[x] = true
		}
	})
}

func FuzzPatch(f *testing.F) {
	f.Add(3, 2, []byte{0, 3, 1, 0})
	f.Add(0, 0, []byte{})
	f.Add(2, 1, []byte{255, 0})
	f.Fuzz(func(t *testing.T, size, added int, raw []byte) {
		base, fresh := make([]int, max(0, size%64)), make([]int, max(0, added%64))
		for i := range base {
			base[i] = i + 1
		}
		for i := range fresh {
			fresh[i] = -1 - i
		}
		kept := make([]uint32, len(raw))
		for i, b := range raw {
			kept[i] = uint32(b)
			if b == 255 {
				kept[i] = 1<<32 - 1
			}
		}
		got, ok := Patch(base, kept, fresh)
		if !ok {
			if got != nil {
				t.Errorf("refused and %v", got)
			}
			return
		}
		var rest []int
		seen := map[int]bool{}
		for i, x := range got {
			if seen[x] || (x > 0) != (kept[i] > 0) || x > 0 && x != int(kept[i]) {
				t.Fatalf("%d at %d of %v", x, i, got)
			}
			seen[x] = true
			if x < 0 {
				rest = append(rest, x)
			}
		}
		if len(got) != len(kept) || !slices.Equal(rest, fresh) {
			t.Fatalf("%v of %v from %v and %v", got, kept, base, fresh)
		}
	})
}
