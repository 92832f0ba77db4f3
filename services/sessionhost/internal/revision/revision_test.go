package revision

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"fairlead.dev/services/shared/ident"
)

func TestIDsAreStableAndNeverReused(t *testing.T) {
	var b Book
	w := ident.Window{ID: 1}
	first := b.Assign(w, []ident.Object{10, 20, 30})
	second := b.Assign(w, []ident.Object{30, 10, 40})
	if second[0] != first[2] || second[1] != first[0] {
		t.Errorf("ids moved: %v then %v", first, second)
	}
	for _, id := range first {
		if second[2] == id {
			t.Errorf("id %d was reused", id)
		}
	}
	if again := b.Assign(w, []ident.Object{20}); again[0] != first[1] {
		t.Errorf("an element that came back got id %d, had %d", again[0], first[1])
	}
}

func TestObjectsWithoutIdentityGetFreshIDs(t *testing.T) {
	var b Book
	ids := b.Assign(ident.Window{ID: 1}, []ident.Object{0, 0, 5, 5})
	seen := map[uint32]bool{}
	for _, id := range ids {
		if id == 0 || seen[id] {
			t.Fatalf("ids %v", ids)
		}
		seen[id] = true
	}
}

func TestAnotherWindowIsAnotherChain(t *testing.T) {
	var b Book
	a := b.Assign(ident.Window{ID: 1, Birth: 1}, []ident.Object{10})
	c := b.Assign(ident.Window{ID: 1, Birth: 2}, []ident.Object{10})
	if a[0] == c[0] {
		t.Error("a replaced window inherited an id")
	}
}

func TestForgottenChainsDoNotReuseIDs(t *testing.T) {
	var b Book
	before := b.Assign(ident.Window{ID: 1}, []ident.Object{10})
	b.Forget()
	if after := b.Assign(ident.Window{ID: 1}, []ident.Object{10}); after[0] <= before[0] {
		t.Errorf("id %d after %d", after[0], before[0])
	}
}

func TestWhatIsRememberedIsBounded(t *testing.T) {
	var b Book
	for i := range 100 {
		b.Assign(ident.Window{ID: uint64(i)}, []ident.Object{1})
	}
	if len(b.chains) > chainsMax || len(b.order) > chainsMax {
		t.Errorf("%d chains", len(b.chains))
	}
}

// numbers returns the objects from first on.
func numbers(first, n int) []ident.Object {
	out := make([]ident.Object, n)
	for i := range out {
		out[i] = ident.Object(first + i)
	}
	return out
}

func TestWhatIsShownKeepsItsIDsWhenTheGoneAreForgotten(t *testing.T) {
	var b Book
	w := ident.Window{ID: 1}
	stay := numbers(1, 10)
	first := b.Assign(w, stay)
	gone := b.Assign(w, numbers(100, 1))
	for i := range 6 {
		b.Assign(w, append(numbers(1000+5000*i, 4000), stay...))
		if n := len(b.chains[w].ids); n > objectsMax {
			t.Fatalf("%d objects are remembered", n)
		}
	}
	for i, id := range b.Assign(w, stay) {
		if id != first[i] {
			t.Errorf("an element that was always there had id %d and has %d", first[i], id)
		}
	}
	if back := b.Assign(w, numbers(100, 1)); back[0] != b.last || back[0] == gone[0] {
		t.Errorf("an element that was forgotten has id %d, and had %d", back[0], gone[0])
	}
	over := b.Assign(ident.Window{ID: 2}, numbers(1, objectsMax+5))
	if n := len(b.chains[ident.Window{ID: 2}].ids); n != objectsMax || over[objectsMax+4] == 0 {
		t.Errorf("%d objects of one tree are remembered", n)
	}
}

func TestIDsThatAreUsedUpDoNotStartOver(t *testing.T) {
	b := Book{last: math.MaxUint32 - 2}
	w := ident.Window{ID: 1}
	ids := b.Assign(w, []ident.Object{10, 20, 30, 0})
	if ids[0] != math.MaxUint32-1 || ids[1] != math.MaxUint32 || ids[2] != 0 || ids[3] != 0 {
		t.Errorf("ids %v", ids)
	}
	again := b.Assign(w, []ident.Object{30, 20, 10})
	if again[0] != 0 || again[1] != ids[1] || again[2] != ids[0] {
		t.Errorf("ids %v, then %v", ids, again)
	}
	b.Forget()
	if fresh := b.Assign(w, []ident.Object{10}); fresh[0] != 0 {
		t.Errorf("id %d was given again", fresh[0])
	}
}

// The book against the list of everything it ever said: an id means one object of one
// window of one incarnation, for good.
func TestIDsAreNeverReused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type owner struct {
			window      ident.Window
			object      ident.Object
			incarnation int
		}
		var b Book
		owners := map[uint32]owner{}
		shown := map[ident.Window]map[ident.Object]uint32{} // in the latest tree
		var recent []ident.Window                           // most recent first
		incarnation, flood, nobody := 1, 100, 0
		look := func(t *rapid.T, w ident.Window, objects []ident.Object) {
			ids := b.Assign(w, objects)
			last, seen, now := shown[w], map[uint32]bool{}, map[ident.Object]uint32{}
			for i, o := range objects {
				me := owner{w, o, incarnation}
				if _, twice := now[o]; o == 0 || twice {
					nobody--
					me.incarnation = nobody // an element of its own, for this look only
				} else {
					now[o] = ids[i]
				}
				if was, given := owners[ids[i]]; ids[i] == 0 || seen[ids[i]] || given && was != me {
					t.Fatalf("id %d of %v was given to %v", ids[i], was, me)
				}
				if id := last[o]; id != 0 && me.incarnation > 0 && id != ids[i] {
					t.Fatalf("id %d of %v became %d", id, me, ids[i])
				}
				owners[ids[i]], seen[ids[i]] = me, true
			}
			shown[w] = now
			rest := make([]ident.Window, 0, chainsMax)
			for _, x := range recent {
				if x == w {
					continue
				}
				if rest = append(rest, x); len(rest) == chainsMax {
					delete(shown, x) // seen too long ago to be remembered
				}
			}
			recent = append([]ident.Window{w}, rest[:min(len(rest), chainsMax-1)]...)
		}
		window := func(t *rapid.T) ident.Window {
			return ident.Window{ID: rapid.Uint64Range(1, chainsMax+3).Draw(t, "window"), Birth: rapid.Uint64Range(0, 1).Draw(t, "birth")}
		}
		t.Repeat(map[string]func(*rapid.T){
			"look": func(t *rapid.T) {
				objects := rapid.SliceOfN(rapid.Uint64Range(0, 12), 0, 10).Draw(t, "objects")
				tree := make([]ident.Object, len(objects))
				for i, o := range objects {
					tree[i] = ident.Object(o)
				}
				look(t, window(t), tree)
			},
			"flood": func(t *rapid.T) {
				n := rapid.IntRange(1, objectsMax/4).Draw(t, "how many")
				look(t, ident.Window{ID: 1}, append(numbers(flood, n), numbers(1, 5)...))
				flood += n
			},
			"forget": func(*rapid.T) {
				b.Forget()
				incarnation++
				shown, recent = map[ident.Window]map[ident.Object]uint32{}, nil
			},
			"": func(t *rapid.T) {
				if len(b.chains) > chainsMax || len(b.order) != len(b.chains) {
					t.Fatalf("%d chains in an order of %d", len(b.chains), len(b.order))
				}
				for w, c := range b.chains {
					if len(c.ids) > objectsMax {
						t.Fatalf("%d objects of %v", len(c.ids), w)
					}
				}
			},
		})
	})
}
