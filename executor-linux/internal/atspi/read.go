package atspi

import (
	"context"
	"errors"
	"time"
)

// walk is one reading of one tree. Nodes are found breadth first, so that a limit cuts the deepest ones, and put into
// document order at the end.
type walk struct {
	client *Client
	kit    Toolkit
	limits Limits
	cache  index
	nodes  []Node
	seen   map[Ref]bool
	cut    Cut
}

// ReadTree reads the tree under top, which must be a toplevel of an application: the structure from the application's
// cache where it has one, the rest pipelined. It returns ErrGone if top does not exist and ErrUnresponsive if the
// application does not answer at all; an application that stops answering halfway yields a tree with a mark.
func (c *Client) ReadTree(ctx context.Context, top Ref, limits Limits) (*Tree, error) {
	if !top.valid() {
		return nil, ErrInvalid
	}
	began := time.Now()
	w := &walk{client: c, limits: limits.normal(), seen: map[Ref]bool{top: true}}
	inner, cancel := context.WithTimeoutCause(ctx, w.limits.Time, errTimeUp)
	defer cancel()
	var err error
	if w.kit, err = c.toolkitOf(inner, callTime, top.Bus); err != nil {
		return nil, ended(ctx, err)
	}
	w.cache = newIndex(nil)
	if quirkOf(w.kit).cache {
		if w.cache, err = c.cacheOf(inner, top.Bus); err != nil {
			return nil, ended(ctx, err)
		}
	}
	w.nodes = append(w.nodes, Node{Ref: top, Parent: -1, TextLen: -1, Children: -1})
	if err := w.discover(inner); err != nil {
		return nil, ended(ctx, err)
	}
	if err := w.client.fill(inner, w.kit, w.limits, w.nodes, top); err != nil {
		w.note(0, err)
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	t := &Tree{Toolkit: w.kit, Nodes: inOrder(w.nodes), Cut: w.cut, Cached: len(w.cache.items) > 0}
	for i := range t.Nodes {
		t.Cut |= t.Nodes[i].Cut
	}
	t.Took = time.Since(began)
	return t, nil
}

// errTimeUp is the cause when the time limit of a read has passed.
var errTimeUp = errors.New("atspi: time limit of the read")

// ended turns the time limit into what it says about the application, and prefers the caller's own reason.
func ended(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if errors.Is(err, errTimeUp) {
		return ErrUnresponsive
	}
	return err
}

// note records at node i why something of it is missing.
func (w *walk) note(i int, err error) {
	switch {
	case err == nil:
	case errors.Is(err, errTimeUp):
		w.nodes[i].Cut |= CutTime
	default:
		w.nodes[i].Cut |= CutUnread
	}
}

// discover finds the nodes level by level. Only a failure at the root is an error.
func (w *walk) discover(ctx context.Context) error {
	first, depth := 0, 0
	for first < len(w.nodes) {
		last := len(w.nodes)
		if err := w.describe(ctx, first, last); err != nil {
			return err
		}
		kids := w.children(ctx, first, last)
		for i, list := range kids {
			w.adopt(first+i, depth, list)
		}
		first, depth = last, depth+1
	}
	return nil
}

// describe reads what makes a node for those of one level that the cache does not hold.
func (w *walk) describe(ctx context.Context, first, last int) error {
	var missing []int
	for i := first; i < last; i++ {
		if it, ok := w.cache.items[w.nodes[i].Ref]; ok {
			w.fromItem(&w.nodes[i], it)
		} else {
			missing = append(missing, i)
		}
	}
	refs := make([]Ref, len(missing))
	for k, i := range missing {
		refs[k] = w.nodes[i].Ref
	}
	defer w.spread(first, last)
	q := question{kit: w.kit, patience: callTime, limit: w.limits.Text}
	for k, b := range w.client.basics(ctx, q, refs) {
		i := missing[k]
		parent, depth := w.nodes[i].Parent, w.nodes[i].Depth
		w.nodes[i] = b.node
		w.nodes[i].Parent, w.nodes[i].Depth = parent, depth
		if b.err == nil {
			continue
		}
		if i == 0 {
			return b.err
		}
		w.note(i, b.err)
	}
	return nil
}

// spread marks what an element is by where it lies: what is inside a secure field is secure, because GTK4 builds such
// fields of two elements (C2.10), and the button inside a GTK4 menu button opens a popup (C0.3).
func (w *walk) spread(first, last int) {
	for i := max(first, 1); i < last; i++ {
		parent := &w.nodes[w.nodes[i].Parent]
		if parent.States.Has(StateSecure) {
			w.nodes[i].States |= StateSecure
		}
		n := &w.nodes[i]
		if opensPopup(w.kit, n.Role, kin{parent.Role, parent.States}, kin{}) {
			n.States |= StateHasPopup
		}
		if opensPopup(w.kit, parent.Role, kin{}, kin{n.Role, n.States}) {
			parent.States |= StateHasPopup
		}
	}
}

// fromItem fills in a node from the cache.
func (w *walk) fromItem(n *Node, it item) {
	var cutName, cutDescription bool
	n.Role = roleOf(it.role)
	n.States = statesOf(w.kit, n.Role, it.bits)
	n.Interfaces = it.interfaces
	n.Children = it.children
	n.Name, cutName = cut(it.name, w.limits.Text)
	n.Description, cutDescription = cut(it.description, w.limits.Text)
	if cutName || cutDescription {
		n.Cut |= CutText
	}
}

// asking is a question about children on the way.
type asking struct {
	node int
	// at is the index of the one child that was asked for, -1 for all.
	at int
}

// children finds the children of the nodes of one level, from the cache or by asking.
func (w *walk) children(ctx context.Context, first, last int) [][]Ref {
	kids := make([][]Ref, last-first)
	w.countManaged(ctx, first, last)
	var asked []asking
	var requests []request
	for i := first; i < last; i++ {
		n := &w.nodes[i]
		switch list, ok := w.cache.children(n.Ref); {
		case n.Cut.Has(CutUnread) || n.Cut.Has(CutTime) || n.Children == 0:
		case n.States.Has(StateManagesDescendants):
			for k := range w.managed(n) {
				asked = append(asked, asking{node: i, at: k})
				requests = append(requests, method(n.Ref, "Accessible.GetChildAtIndex", int32(k)))
			}
		case n.Children > childrenMax:
			n.Cut |= CutWide
		case ok:
			kids[i-first] = list
		default:
			asked = append(asked, asking{node: i, at: -1})
			requests = append(requests, method(n.Ref, "Accessible.GetChildren"))
		}
	}
	for k, a := range w.client.batch(ctx, callTime, requests) {
		i := asked[k].node
		list, err := decodeChildren(a, asked[k].at >= 0)
		if err != nil {
			w.note(i, err)
			continue
		}
		kids[i-first] = append(kids[i-first], list...)
		if asked[k].at < 0 {
			w.nodes[i].Children = len(list)
		}
	}
	return kids
}

// decodeChildren reads the answer with one child or all of them.
func decodeChildren(a answer, single bool) ([]Ref, error) {
	if a.err != nil {
		return nil, a.err
	}
	if len(a.body) != 1 {
		return nil, ErrProtocol
	}
	if single {
		ref, ok := asRef(a.body[0])
		if !ok {
			return nil, ErrProtocol
		}
		if !ref.valid() {
			return nil, nil
		}
		return []Ref{ref}, nil
	}
	list, ok := asRefs(a.body[0])
	if !ok {
		return nil, ErrProtocol
	}
	return list, nil
}

// countManaged asks how many children there are where the cache does not say and that decides what may be asked.
func (w *walk) countManaged(ctx context.Context, first, last int) {
	if !quirkOf(w.kit).byIndex {
		return
	}
	var asked []int
	var requests []request
	for i := first; i < last; i++ {
		if n := &w.nodes[i]; n.States.Has(StateManagesDescendants) && n.Children < 0 {
			asked = append(asked, i)
			requests = append(requests, get(n.Ref, "Accessible", "ChildCount"))
		}
	}
	for k, a := range w.client.batch(ctx, callTime, requests) {
		if count, ok := asInt(a.body); ok && a.err == nil {
			w.nodes[asked[k]].Children = count
		}
	}
}

// managed decides how many children of n are fetched one by one; GetChildren is never an option there. What is not
// fetched is marked.
func (w *walk) managed(n *Node) int {
	if !quirkOf(w.kit).byIndex || n.Children < 0 || n.Children > childrenMax {
		n.Cut |= CutManaged
		return 0
	}
	if n.Children > managedMax {
		n.Cut |= CutManaged
	}
	return min(n.Children, managedMax)
}

// adopt adds the children of node i, within the limits.
func (w *walk) adopt(i, depth int, list []Ref) {
	if len(list) == 0 {
		return
	}
	if depth+1 > w.limits.Depth {
		w.nodes[i].Cut |= CutDepth
		return
	}
	for k, ref := range list {
		switch {
		case k >= childrenMax:
			w.nodes[i].Cut |= CutWide
			return
		case len(w.nodes) >= w.limits.Elements:
			w.nodes[i].Cut |= CutElements
			return
		case ref.Bus != w.nodes[0].Ref.Bus:
			w.nodes[i].Cut |= CutForeign
		case !w.seen[ref]:
			w.seen[ref] = true
			w.nodes = append(w.nodes, Node{Ref: ref, Parent: i, Depth: depth + 1, TextLen: -1, Children: -1})
		}
	}
}

// inOrder puts breadth-first nodes into document order. The nodes of one parent are contiguous and in order.
func inOrder(nodes []Node) []Node {
	kids := make([][]int, len(nodes))
	for i := 1; i < len(nodes); i++ {
		kids[nodes[i].Parent] = append(kids[nodes[i].Parent], i)
	}
	type place struct{ old, parent int }
	out := make([]Node, 0, len(nodes))
	stack := []place{{old: 0, parent: -1}}
	for len(stack) > 0 {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		node := nodes[at.old]
		node.Parent = at.parent
		out = append(out, node)
		for k := len(kids[at.old]) - 1; k >= 0; k-- {
			stack = append(stack, place{old: kids[at.old][k], parent: len(out) - 1})
		}
	}
	return out
}
