package virtualdesk

import (
	"context"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
)

// Defaults of a walk: elements, levels below and including the root, and characters
// of each text (protocol.md, limits).
const (
	elementsDefault = 1500
	depthDefault    = 64
	textDefault     = 500
	// clockEvery is how many elements a walk lists between two looks at the clock.
	clockEvery = 256
)

// ReadTree reads the elements of one window in document order, popups last. Every cut
// is a Truncation (C0.10). Slices inside the nodes are shared and must not be changed.
func (d *Desk) ReadTree(ctx context.Context, id ident.Window, limits executor.TreeLimits) (*executor.Tree, error) {
	w, a := d.enter(ctx, id, commonv1.AbilityKind_ABILITY_KIND_TREE)
	defer d.mu.Unlock()
	if a != 0 {
		return nil, failAt(a, commonv1.Stage_STAGE_WALK)
	}
	switch {
	case w.treeHidden:
		return &executor.Tree{Quality: commonv1.TreeQuality_TREE_QUALITY_NONE}, nil
	case w.notReady > 0:
		w.notReady--
		return &executor.Tree{Quality: commonv1.TreeQuality_TREE_QUALITY_NOT_READY}, nil
	}
	k := walk{limits: withDefaults(limits), expired: func() bool { return ctx.Err() != nil }}
	k.run(w)
	return &executor.Tree{
		Nodes: k.nodes, Truncations: k.truncations(), Quality: commonv1.TreeQuality_TREE_QUALITY_USABLE,
	}, nil
}

// Reread reads one element again. A reference that is gone is AnswerElementReleased.
func (d *Desk) Reread(ctx context.Context, id ident.Window, object executor.Object) (executor.Node, error) {
	w, a := d.enter(ctx, id, commonv1.AbilityKind_ABILITY_KIND_TREE)
	defer d.mu.Unlock()
	if a != 0 {
		return executor.Node{}, failAt(a, commonv1.Stage_STAGE_WALK)
	}
	e := d.reach(w, object)
	if e == nil {
		return executor.Node{}, executor.Fail(refusal.AnswerElementReleased)
	}
	return e.reread(), nil
}

// reach finds an element by its reference, in a window whose tree can be read.
func (d *Desk) reach(w *window, object executor.Object) *element {
	e := d.objects[object]
	if e == nil || e.win != w || w.treeHidden {
		return nil
	}
	return e
}

func (e *element) reread() executor.Node {
	var n executor.Node
	_, surface := e.win.popupOf(e)
	e.fill(&n, surface, textDefault)
	n.Parent = -1
	return n
}

func withDefaults(l executor.TreeLimits) executor.TreeLimits {
	if l.Elements <= 0 {
		l.Elements = elementsDefault
	}
	if l.Depth <= 0 {
		l.Depth = depthDefault
	}
	if l.Text <= 0 {
		l.Text = textDefault
	}
	return l
}

// walk lists elements until one of its limits is reached.
type walk struct {
	limits  executor.TreeLimits
	expired func() bool
	nodes   []executor.Node
	late    bool

	overElements, overDepth, overTime, outOfView int
}

func (k *walk) run(w *window) {
	if w.root == nil {
		return
	}
	total := w.root.size()
	for _, p := range w.popups {
		total += p.root.size()
	}
	k.nodes = make([]executor.Node, 0, min(total, k.limits.Elements))
	k.list(w.root, place{parent: -1})
	for i, p := range w.popups {
		k.list(p.root, place{parent: 0, depth: 1, surface: i + 1})
	}
}

// place is where in the tree an element is listed.
type place struct{ parent, depth, surface int }

func (k *walk) list(e *element, at place) {
	n := len(k.nodes)
	if n%clockEvery == clockEvery-1 && k.expired() {
		k.late = true
	}
	switch {
	case k.late:
		k.overTime += e.size()
		return
	case at.depth >= k.limits.Depth:
		k.overDepth += e.size()
		return
	case n >= k.limits.Elements:
		k.overElements += e.size()
		return
	}
	k.nodes = k.nodes[:n+1]
	node := &k.nodes[n]
	node.Parent = at.parent
	e.fill(node, at.surface, k.limits.Text)
	k.outOfView += e.unlisted
	below := place{parent: n, depth: at.depth + 1, surface: at.surface}
	for _, c := range e.children {
		k.list(c, below)
	}
}

func (k *walk) truncations() []executor.Truncation {
	var ts []executor.Truncation
	add := func(kind commonv1.TruncationKind, missing int) {
		if missing > 0 {
			ts = append(ts, executor.Truncation{Kind: kind, Missing: missing})
		}
	}
	add(commonv1.TruncationKind_TRUNCATION_KIND_ELEMENTS, k.overElements)
	add(commonv1.TruncationKind_TRUNCATION_KIND_DEPTH, k.overDepth)
	add(commonv1.TruncationKind_TRUNCATION_KIND_TIME, k.overTime)
	add(commonv1.TruncationKind_TRUNCATION_KIND_VIRTUAL, k.outOfView)
	return ts
}
