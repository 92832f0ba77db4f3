package x11desk

import (
	"context"
	"errors"
	"time"

	"fairlead.dev/executor-linux/internal/atspi"
	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
)

const (
	// readMax bounds one walk; elementsDefault and textWalk are what a walk takes.
	readMax         = 6 * time.Second
	elementsDefault = 1500
	textWalk        = 500
	// longTextsMax bounds how many texts longer than a walk reads are read in full.
	longTextsMax = 8
)

// ReadTree reads the elements of a window in document order, those of its popups last.
// A window without a tree has none of quality NONE, or NOT_READY while its process is
// new or has registered without a toplevel.
func (d *Desk) ReadTree(
	ctx context.Context, id ident.Window, limits executor.TreeLimits,
) (*executor.Tree, error) {
	ctx, cancel := context.WithTimeout(ctx, readMax)
	defer cancel()
	p, err := d.locate(ctx, id)
	if err != nil {
		return treeless(ctx, err)
	}
	if limits.Elements <= 0 {
		limits.Elements = elementsDefault
	}
	if limits.Text <= 0 {
		limits.Text = textWalk
	}
	w := &walk{place: p, limits: limits, cuts: map[commonv1.TruncationKind]bool{}}
	for i := range p.tops {
		if err := w.read(ctx, &p.tops[i]); err != nil {
			if i == 0 {
				return treeless(ctx, err)
			}
			// A popup that closed meanwhile takes its elements along.
			w.cut(commonv1.TruncationKind_TRUNCATION_KIND_TIME)
		}
	}
	if len(w.nodes) <= 1 && !w.placed {
		return treeless(ctx, missingTree(p.window))
	}
	return &executor.Tree{
		Nodes: w.nodes, Truncations: w.truncations(), Quality: commonv1.TreeQuality_TREE_QUALITY_USABLE,
	}, nil
}

// treeless is the answer when there is no tree: what kind of none, or a failure.
func treeless(ctx context.Context, err error) (*executor.Tree, error) {
	var none *noTree
	switch {
	case errors.As(err, &none):
		return &executor.Tree{Quality: none.quality}, nil
	case ctx.Err() == nil && errors.Is(err, atspi.ErrGone):
		// The toplevel went while it was read; a moment later the window is gone or has another.
		return &executor.Tree{Quality: commonv1.TreeQuality_TREE_QUALITY_NOT_READY}, nil
	}
	return nil, failure(ctx, err, commonv1.Stage_STAGE_WALK)
}

// Reread reads one element again. A reference that is gone, or that is no longer an
// element of this window, is AnswerElementReleased.
func (d *Desk) Reread(ctx context.Context, id ident.Window, object executor.Object) (executor.Node, error) {
	ctx, cancel := context.WithTimeout(ctx, readMax)
	defer cancel()
	p, err := d.locate(ctx, id)
	if err != nil {
		return executor.Node{}, released(ctx, err)
	}
	ref, t, ok := p.element(object)
	if !ok {
		return executor.Node{}, executor.Fail(refusal.AnswerElementReleased)
	}
	n, err := p.client.Reread(ctx, t.ref, ref)
	if err != nil {
		return executor.Node{}, released(ctx, err)
	}
	return toNode(&n, t), nil
}

// released is a failure to find one element: where there is no tree there is no element.
func released(ctx context.Context, err error) error {
	var none *noTree
	if errors.As(err, &none) {
		return executor.Fail(refusal.AnswerElementReleased)
	}
	return failure(ctx, err, commonv1.Stage_STAGE_WALK)
}

// walk collects the trees of the surfaces of one window.
type walk struct {
	place  *place
	limits executor.TreeLimits
	nodes  []executor.Node
	cuts   map[commonv1.TruncationKind]bool
	long   int
	placed bool
}

// read adds the tree of one surface.
func (w *walk) read(ctx context.Context, t *top) error {
	room := w.limits.Elements - len(w.nodes)
	if room <= 0 {
		w.cut(commonv1.TruncationKind_TRUNCATION_KIND_ELEMENTS)
		return nil
	}
	tree, err := w.place.client.ReadTree(ctx, t.ref, atspi.Limits{
		Elements: room, Depth: w.limits.Depth, Text: min(w.limits.Text, textWalk),
	})
	if err != nil {
		return err
	}
	w.placed = w.placed || len(tree.Nodes) > 1
	w.note(tree.Cut)
	// Where a surface of the tree was added before, its root is the first node.
	root := 0
	if len(w.nodes) == 0 {
		root = -1
	}
	parents := listedParents(tree, t.kit)
	at := make([]int, len(tree.Nodes))
	for i := range tree.Nodes {
		n := &tree.Nodes[i]
		at[i] = -1
		if parents[i] == notListed {
			continue
		}
		node := toNode(n, t)
		node.Parent = root
		if parents[i] >= 0 {
			node.Parent = at[parents[i]]
		}
		w.lengthen(ctx, n, &node)
		at[i] = len(w.nodes)
		w.nodes = append(w.nodes, node)
	}
	return nil
}

// lengthen reads the rest of a text when the caller wants more than a walk reads.
func (w *walk) lengthen(ctx context.Context, n *atspi.Node, node *executor.Node) {
	if w.limits.Text <= textWalk || !node.ValueTruncated || !node.TakesText || w.long >= longTextsMax {
		return
	}
	w.long++
	text, err := w.place.client.ReadText(ctx, n.Ref, w.limits.Text)
	if err == nil {
		node.Value, node.ValueTruncated = text.Text, !text.Whole()
	}
}

// notListed marks an element that is left out.
const notListed = -2

// listedParents decides which elements are listed (see the package's contract) and
// under which listed ancestor; -1 is the root.
func listedParents(t *atspi.Tree, kit atspi.Toolkit) []int {
	parents := make([]int, len(t.Nodes))
	scrolled := make([]bool, len(t.Nodes))
	// A window that is not on the screen as a whole shows nothing; then nothing is left out.
	whole := !kit.ReportsShowing() || !t.Nodes[0].States.Has(atspi.StateShowing)
	for i := range t.Nodes {
		n := &t.Nodes[i]
		if i == 0 {
			parents[i] = -1
			continue
		}
		up := n.Parent
		parentListed := parents[up] != notListed
		parent := up
		for parent > 0 && parents[parent] == notListed {
			parent = t.Nodes[parent].Parent
		}
		scrolled[i] = parentListed && t.Nodes[up].Role != atspi.RoleTab && (scrolled[up] || scrolls(t.Nodes[up].Role))
		inView := whole || n.States.Has(atspi.StateShowing)
		beyond := scrolled[i] && n.States.Has(atspi.StateVisible)
		if inView || beyond || parentListed && (inMenu(n.Role) || n.Role == atspi.RoleMenu) {
			parents[i] = parent
		} else {
			parents[i] = notListed
		}
	}
	return parents
}

func scrolls(r atspi.Role) bool { return r == atspi.RoleScrollPane || r == atspi.RoleViewport }

// note turns the cuts of a tree into truncations. Children that belong to another
// process, and those of an element with too many, could be anything, so they count as
// elements that are missing; what could not be read as time that was too short.
func (w *walk) note(c atspi.Cut) {
	if c.Has(atspi.CutElements) || c.Has(atspi.CutWide) || c.Has(atspi.CutForeign) {
		w.cut(commonv1.TruncationKind_TRUNCATION_KIND_ELEMENTS)
	}
	if c.Has(atspi.CutDepth) {
		w.cut(commonv1.TruncationKind_TRUNCATION_KIND_DEPTH)
	}
	if c.Has(atspi.CutTime) || c.Has(atspi.CutUnread) {
		w.cut(commonv1.TruncationKind_TRUNCATION_KIND_TIME)
	}
	if c.Has(atspi.CutManaged) {
		w.cut(commonv1.TruncationKind_TRUNCATION_KIND_VIRTUAL)
	}
}

// cut records a truncation; how much is missing is never known here.
func (w *walk) cut(k commonv1.TruncationKind) { w.cuts[k] = true }

func (w *walk) truncations() []executor.Truncation {
	var out []executor.Truncation
	for _, k := range []commonv1.TruncationKind{
		commonv1.TruncationKind_TRUNCATION_KIND_ELEMENTS, commonv1.TruncationKind_TRUNCATION_KIND_DEPTH,
		commonv1.TruncationKind_TRUNCATION_KIND_TIME, commonv1.TruncationKind_TRUNCATION_KIND_VIRTUAL,
	} {
		if w.cuts[k] {
			out = append(out, executor.Truncation{Kind: k})
		}
	}
	return out
}
