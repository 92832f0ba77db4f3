package revision

import (
	"testing"

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
