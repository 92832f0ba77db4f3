package atspi

import "context"

// item is one element of Cache.GetItems, from either wire form.
type item struct {
	ref, parent Ref
	// index among the parent's children, -1 where the application does not know.
	index int
	// children is the child count, -1 where the application does not know.
	children int
	// kids is only in the old form.
	kids        []Ref
	interfaces  Interfaces
	name        string
	role        uint32
	description string
	bits        uint64
}

const (
	// itemsMax bounds how many items of one answer are looked at.
	itemsMax = 50_000
	// The two wire forms differ in length only: index and child count, or a list of children.
	newItemLen = 10
	oldItemLen = 9
)

// decodeItems reads the answer of Cache.GetItems. One malformed item makes the whole answer worthless, because the
// structure is then not known.
func decodeItems(body []any) ([]item, error) {
	if len(body) != 1 {
		return nil, ErrProtocol
	}
	list, ok := body[0].([][]any)
	if !ok {
		return nil, ErrProtocol
	}
	if len(list) > itemsMax {
		return nil, ErrProtocol
	}
	items := make([]item, 0, len(list))
	for _, fields := range list {
		it, ok := decodeItem(fields)
		if !ok {
			return nil, ErrProtocol
		}
		items = append(items, it)
	}
	return items, nil
}

func decodeItem(f []any) (item, bool) {
	var it item
	if len(f) != newItemLen && len(f) != oldItemLen {
		return it, false
	}
	var okRef, okParent bool
	it.ref, okRef = asRef(f[0])
	it.parent, okParent = asRef(f[2])
	if !okRef || !okParent {
		return it, false
	}
	rest := f[5:]
	if len(f) == newItemLen {
		index, okIndex := f[3].(int32)
		children, okChildren := f[4].(int32)
		if !okIndex || !okChildren {
			return it, false
		}
		it.index, it.children = int(index), int(children)
	} else {
		kids, ok := asRefs(f[3])
		if !ok {
			return it, false
		}
		it.index, it.children, it.kids = -1, len(kids), kids
		rest = f[4:]
	}
	return it, decodeItemRest(rest, &it)
}

// decodeItemRest reads what both forms end with.
func decodeItemRest(f []any, it *item) bool {
	names, okNames := f[0].([]string)
	name, okName := f[1].(string)
	role, okRole := f[2].(uint32)
	description, okDescription := f[3].(string)
	bits, okBits := asBits(f[4])
	it.interfaces, it.name, it.role, it.description, it.bits = interfacesOf(names), name, role, description, bits
	return okNames && okName && okRole && okDescription && okBits
}

// index is the cache of one application, by object.
type index struct {
	items map[Ref]item
	kids  map[Ref][]Ref
}

// newIndex sorts the items by their parents.
func newIndex(items []item) index {
	x := index{items: make(map[Ref]item, len(items)), kids: make(map[Ref][]Ref)}
	for _, it := range items {
		if !it.ref.valid() {
			continue
		}
		if _, twice := x.items[it.ref]; twice {
			continue
		}
		x.items[it.ref] = it
		x.kids[it.parent] = append(x.kids[it.parent], it.ref)
	}
	return x
}

// children returns the children of r in order if the cache is sure of them: as many as the application counts, with
// the indexes 0 to n-1. GTK3 keeps items of removed children, knows no counts of menus and no indexes in them.
func (x index) children(r Ref) ([]Ref, bool) {
	it, ok := x.items[r]
	if !ok || it.children < 0 {
		return nil, false
	}
	if it.kids != nil {
		return it.kids, true
	}
	kids := x.kids[r]
	if len(kids) != it.children {
		return nil, false
	}
	ordered := make([]Ref, len(kids))
	for _, k := range kids {
		i := x.items[k].index
		if i < 0 || i >= len(ordered) || !ordered[i].Zero() {
			return nil, false
		}
		ordered[i] = k
	}
	return ordered, true
}

// cacheOf asks an application for its cache. Without one, or with a malformed one, the index is empty and the tree is
// read call by call; only an application that does not answer at all is an error.
func (c *Client) cacheOf(ctx context.Context, bus string) (index, error) {
	got := c.one(ctx, callTime, method(Ref{Bus: bus, Path: cachePath}, "Cache.GetItems"))
	switch err := optional(got.err); err {
	case nil:
	case ErrUnsupported, ErrAnswered:
		return newIndex(nil), nil
	case ErrUnresponsive:
		// The answer may have been too large for messageMax; then the application answers other questions.
		return newIndex(nil), c.Alive(ctx, Ref{Bus: bus, Path: rootPath})
	default:
		return index{}, err
	}
	items, err := decodeItems(got.body)
	if err != nil {
		return newIndex(nil), nil
	}
	return newIndex(items), nil
}
