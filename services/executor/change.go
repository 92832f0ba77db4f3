package executor

import (
	"slices"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/permit"
)

const (
	// elementLeast is no more than the bytes that an element takes in a message, keptMost no
	// less than those that a kept one does, changeFixed no less than what a change adds.
	elementLeast = 20
	keptMost     = 3
	changeFixed  = 128
)

// asChange turns a whole tree into a change against the one that the act quoted (C2.4):
// elements that are the same object and travel the same are named by their place there,
// and the digest of the whole tells whether the other end put it together right. A
// change that would not be smaller is left whole.
func (l *look) asChange(wire *executorv1.Snapshot, base *look, id ident.SnapshotID, key ident.ActKey) {
	kept, n := l.keptFrom(base)
	if n*elementLeast <= len(kept)*keptMost+changeFixed {
		return
	}
	whole := wire.Elements
	digest := permit.TreeDigest(key, whole, wire.Digests, wire.Objects)
	wire.BaseSnapshotId, wire.Kept, wire.TreeDigest = string(id), kept, digest[:]
	wire.Elements = make([]*commonv1.Element, 0, len(whole)-n)
	for i, el := range whole {
		if kept[i] == 0 {
			wire.Elements = append(wire.Elements, el)
		}
	}
}

// named is an object with the process that owns it.
type named struct {
	object   Object
	renderer uint64
}

// keptFrom says for each element which one of the base it is, counted from 1, or 0, and
// how many are.
func (l *look) keptFrom(base *look) (kept []uint32, n int) {
	kept = make([]uint32, len(l.nodes))
	if l.shown != base.shown || l.window.Identity != base.window.Identity {
		return kept, 0
	}
	there := make(map[named]int, len(base.nodes))
	for i := range base.nodes {
		there[named{base.nodes[i].Object, base.nodes[i].Renderer}] = i
	}
	for i := range l.nodes {
		j, ok := there[named{l.nodes[i].Object, l.nodes[i].Renderer}]
		if ok && l.travelsAs(i, base, j) {
			kept[i] = uint32(j) + 1
			n++
		}
	}
	return kept, n
}

// travelsAs reports whether everything that travels of two elements is the same, tokens,
// digests and objects aside, which are sent for all of them.
func (l *look) travelsAs(i int, base *look, j int) bool {
	a, b := &l.nodes[i], &base.nodes[j]
	text := func(x, y string) bool { return x == y || clean(x, l.shown) == clean(y, l.shown) }
	value, cut := valueShown(a, l.shown)
	valueWas, cutWas := valueShown(b, l.shown)
	return l.depths[i] == base.depths[j] && a.Role == b.Role && a.Bounds == b.Bounds &&
		l.states(i) == base.states(j) && l.surfaceIndex(i) == base.surfaceIndex(j) &&
		text(a.Name, b.Name) && text(a.Description, b.Description) && text(a.Identifier, b.Identifier) &&
		value == valueWas && cut == cutWas && sameRange(a.Range, b.Range) &&
		slices.Equal(a.Actions[:min(len(a.Actions), actionsMax)], b.Actions[:min(len(b.Actions), actionsMax)])
}

// sameRange compares what travels of a range: not its step.
func sameRange(a, b *Range) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Min == b.Min && a.Max == b.Max
}
