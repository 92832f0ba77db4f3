package executor

import (
	"bytes"
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
	"fairlead.dev/services/shared/permit"
)

// many is a desk whose editor has so many elements that a change is worth it.
func many() *fake {
	f := openFake()
	t := f.trees[editor.ID]
	for i := range 200 {
		t.Nodes = append(t.Nodes, Node{
			Object: Object(fmt.Sprintf("row%d", i)), Role: commonv1.Role_ROLE_LIST_ITEM, Name: fmt.Sprintf("Row %d", i),
			States: states(), Bounds: Rect{0, float64(20 * i), 100, 20},
		})
	}
	return f
}

// few is a desk whose editor has hardly anything.
func few() *fake {
	f := openFake()
	f.trees[editor.ID].Nodes = f.trees[editor.ID].Nodes[:nodeSlider]
	return f
}

// together puts a change together with its base, as the host does.
func together(t *testing.T, base, after *executorv1.Snapshot) []*commonv1.Element {
	t.Helper()
	if after.GetBaseSnapshotId() == "" {
		if len(after.GetKept()) != 0 || len(after.GetTreeDigest()) != 0 {
			t.Fatal("a whole tree that claims to be a change")
		}
		return after.GetElements()
	}
	if after.GetBaseSnapshotId() != base.GetSnapshotId() {
		t.Fatalf("base %q", after.GetBaseSnapshotId())
	}
	var out []*commonv1.Element
	next := 0
	for _, k := range after.GetKept() {
		if k > 0 {
			out = append(out, base.GetElements()[k-1])
			continue
		}
		out = append(out, after.GetElements()[next])
		next++
	}
	if next != len(after.GetElements()) {
		t.Fatalf("%d of %d elements were used", next, len(after.GetElements()))
	}
	return out
}

func sameElements(a, b []*commonv1.Element) bool {
	return proto.Equal(&executorv1.Snapshot{Elements: a}, &executorv1.Snapshot{Elements: b})
}

// A change put together with its base is the whole tree, and its digest says so (C2.4).
func TestChangeGivesTheWholeTree(t *testing.T) {
	lo := &Range{Min: 0, Max: 5}
	row := func(do func(*Node)) func(*fake) { return func(f *fake) { do(f.node("row7")) } }
	cases := []struct {
		name string
		does func(*fake)
		sent int
	}{
		{"nothing", func(*fake) {}, 0},
		{"name", row(func(n *Node) { n.Name = "x" }), 1},
		{"description", row(func(n *Node) { n.Description = "x" }), 1},
		{"identifier", row(func(n *Node) { n.Identifier = "x" }), 1},
		{"value", row(func(n *Node) { n.Value = "x" }), 1},
		{"value cut", row(func(n *Node) { n.ValueTruncated = true }), 1},
		{"role", row(func(n *Node) { n.Role = commonv1.Role_ROLE_ROW }), 1},
		{"states", row(func(n *Node) { n.States = n.States.With(commonv1.ElementState_ELEMENT_STATE_SELECTED) }), 1},
		{"focus", row(func(n *Node) { n.States = n.States.With(commonv1.ElementState_ELEMENT_STATE_FOCUSED) }), 1},
		{"actions", row(func(n *Node) { n.Actions = []commonv1.ElementAction{1} }), 1},
		{"bounds", row(func(n *Node) { n.Bounds.Y++ }), 1},
		{"depth", row(func(n *Node) { n.Parent = nodeCombo }), 1},
		{"range", row(func(n *Node) { n.Range = lo }), 1},
		{"object", row(func(n *Node) { n.Object = "other" }), 1},
		{"renderer", row(func(n *Node) { n.Renderer = 4 }), 1},
		{"secure", row(func(n *Node) { n.Secure, n.Value = true, "x" }), 0},
		{"a new one in front", func(f *fake) {
			nodes := f.trees[editor.ID].Nodes
			extra := Node{Object: "extra", Role: commonv1.Role_ROLE_LABEL, Name: "New", States: states()}
			f.trees[editor.ID].Nodes = append(append(append([]Node(nil), nodes[:nodeBlue+1]...), extra), nodes[nodeBlue+1:]...)
		}, 1},
		{"one gone", func(f *fake) {
			nodes := f.trees[editor.ID].Nodes
			f.trees[editor.ID].Nodes = append(append([]Node(nil), nodes[:20]...), nodes[21:]...)
		}, 0},
		{"two swapped", func(f *fake) {
			nodes := f.trees[editor.ID].Nodes
			nodes[20], nodes[21] = nodes[21], nodes[20]
		}, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			desk := many()
			desk.apply = func(f *fake, _ Performance, _ *Node) { c.does(f) }
			r := ready(t, desk)
			base := r.snapshot(editor)
			o := r.order(base, nodeButton, click())
			o.req.AsChange = true
			after := r.send(o).GetAfter()
			if after.GetBaseSnapshotId() == "" || len(after.GetElements()) != c.sent {
				t.Fatalf("base %q, sent %d", after.GetBaseSnapshotId(), len(after.GetElements()))
			}
			whole := together(t, base, after)
			now := r.snapshot(editor)
			if !sameElements(whole, now.GetElements()) {
				t.Fatal("the tree put together is another one")
			}
			want := permit.TreeDigest(r.actKey, whole, after.GetDigests(), after.GetObjects())
			if !bytes.Equal(after.GetTreeDigest(), want[:]) {
				t.Fatal("the digest of the whole is wrong")
			}
			if !bytes.Equal(after.GetDigests(), now.GetDigests()) || !bytes.Equal(after.GetObjects(), now.GetObjects()) ||
				len(after.GetTokens()) != 16*len(whole) {
				t.Fatal("tokens, digests and objects are not sent whole")
			}
		})
	}
}

// A tree is sent whole where nobody asked for a change, where it is no smaller, and where
// the base was told with other limits.
func TestWholeTreeIsSentWhereAChangeIsNoGain(t *testing.T) {
	cases := []struct {
		name string
		desk *fake
		ask  func(*executorv1.DispatchRequest)
		does func(*fake)
	}{
		{"not asked for", many(), func(q *executorv1.DispatchRequest) { q.AsChange = false }, func(*fake) {}},
		{"a small tree", few(), func(*executorv1.DispatchRequest) {}, func(f *fake) { f.node("button").Name = "x" }},
		{"all of it changed", many(), func(*executorv1.DispatchRequest) {}, func(f *fake) {
			for i := range f.trees[editor.ID].Nodes {
				f.trees[editor.ID].Nodes[i].Bounds.X++
			}
		}},
		{"other limits", many(), func(q *executorv1.DispatchRequest) {
			q.Limits = &executorv1.TreeLimits{Text: 3}
		}, func(*fake) {}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			c.desk.apply = func(f *fake, _ Performance, _ *Node) { c.does(f) }
			r := ready(t, c.desk)
			base := r.snapshot(editor)
			o := r.order(base, nodeButton, click())
			o.req.AsChange = true
			c.ask(o.req)
			after := r.send(o).GetAfter()
			if after.GetBaseSnapshotId() != "" || len(together(t, base, after)) != len(base.GetElements()) {
				t.Fatalf("base %q, sent %d", after.GetBaseSnapshotId(), len(after.GetElements()))
			}
		})
	}
}

// A chain of changes stays right: each is against the snapshot that its act quoted.
func TestChangesFollowEachOther(t *testing.T) {
	desk := many()
	n := 0
	desk.apply = func(f *fake, _ Performance, _ *Node) {
		n++
		f.node("row3").Name = fmt.Sprint("now ", n)
		nodes := f.trees[editor.ID].Nodes
		f.trees[editor.ID].Nodes = append(nodes[:len(nodes)-n:len(nodes)-n], nodes[len(nodes)-n+1:]...)
	}
	r := ready(t, desk)
	base := r.snapshot(editor)
	for range 5 {
		o := r.order(base, nodeButton, click())
		o.req.AsChange = true
		after := r.send(o).GetAfter()
		if after.GetBaseSnapshotId() == "" {
			t.Fatal("the tree came whole")
		}
		after.Elements = together(t, base, after)
		base = after
	}
	if !sameElements(base.GetElements(), r.snapshot(editor).GetElements()) {
		t.Fatal("the tree drifted away")
	}
}
