package atspi

import (
	"strings"
	"time"
)

// Cut is a set of reasons why something is missing from a tree or a node. What was cut may exist but is not listed
// (C0.10).
type Cut uint16

// The reasons.
const (
	// CutElements: the limit of elements was reached.
	CutElements Cut = 1 << iota
	// CutDepth: the limit of depth was reached.
	CutDepth
	// CutTime: the time was up.
	CutTime
	// CutText: a name, description or text is longer than the limit.
	CutText
	// CutActions: there are more actions than the limit.
	CutActions
	// CutWide: the element claims more than a thousand children, none of which is listed.
	CutWide
	// CutManaged: the element manages its descendants, of which none or only the first are listed.
	CutManaged
	// CutForeign: children belong to another connection (another process) and are not entered.
	CutForeign
	// CutUnread: the application did not answer for some field or child.
	CutUnread
	cutEnd
)

// Has says whether c contains all of d.
func (c Cut) Has(d Cut) bool { return c&d == d }

// String lists the names of the reasons.
func (c Cut) String() string {
	names := [...]string{"elements", "depth", "time", "text", "actions", "wide", "managed", "foreign", "unread"}
	var list []string
	for i, name := range names {
		if c.Has(1 << i) {
			list = append(list, name)
		}
	}
	return strings.Join(list, " ")
}

// Limits bound a read. Zero fields take the default, larger ones than the maximum the maximum.
type Limits struct {
	Elements int
	Depth    int
	// Text is the limit in characters of every name, description and text.
	Text    int
	Actions int
	Time    time.Duration
}

const (
	elementsDefault = 1500
	// elementsMax keeps the worst tree at about 2 MB and two seconds.
	elementsMax = 5000
	// depthMax: browsers nest about 40 deep.
	depthMax   = 64
	textMax    = 500
	actionsMax = 20
	timeMax    = 6 * time.Second
	// childrenMax is the largest child count that is enumerated; LibreOffice sheets claim 2147483647.
	childrenMax = 1000
	// managedMax is how many children of an element that manages its descendants are fetched one by one.
	managedMax = 200
)

// normal fills in the defaults and applies the maxima.
func (l Limits) normal() Limits {
	pick := func(v, def, top int) int {
		if v <= 0 {
			return def
		}
		return min(v, top)
	}
	l.Elements = pick(l.Elements, elementsDefault, elementsMax)
	l.Depth = pick(l.Depth, depthMax, depthMax)
	l.Text = pick(l.Text, textMax, textMax)
	l.Actions = pick(l.Actions, actionsMax, actionsMax)
	if l.Time <= 0 || l.Time > timeMax {
		l.Time = timeMax
	}
	return l
}

// Value is a number with its range.
type Value struct{ Current, Min, Max, Step float64 }

// Node is one element.
type Node struct {
	Ref Ref
	// Parent is the index of the parent in Tree.Nodes, smaller than the node's own; -1 for the root and for a node
	// that was read alone.
	Parent int
	Depth  int
	Role   Role
	// ID is the application's own identifier of the element, empty where the toolkit has none.
	ID          string
	Name        string
	Description string
	States      State
	Interfaces  Interfaces
	Actions     []Action
	// UnknownActions counts the actions that are not in the vocabulary.
	UnknownActions int
	// Value is nil where there is none.
	Value *Value
	// Text is empty for a secure field, for an element whose text repeats its name, and where there is none.
	Text string
	// TextLen is the application's character count of the text, -1 where it was not asked for.
	TextLen int
	// Extents are relative to the toplevel, in the toolkit's pixels; Placed says whether they are known. Match turns
	// them into pixels of the window.
	Extents Rect
	Placed  bool
	// Children is the application's own count of children, -1 where it is not known.
	Children int
	Cut      Cut
}

// Can says whether the element offers the action.
func (n *Node) Can(a Action) bool {
	for _, b := range n.Actions {
		if a == b {
			return true
		}
	}
	return false
}

// Tree is what one toplevel looked like.
type Tree struct {
	Toolkit Toolkit
	// Nodes are in document order, each after its parent; the first is the toplevel.
	Nodes []Node
	// Cut holds every reason for which something is missing anywhere in the tree.
	Cut Cut
	// Took is how long the reading took; Cached says whether the application's cache served the structure.
	Took   time.Duration
	Cached bool
}

// Focused returns the index of the one node that claims the focus; none or several claimants are no answer (C2.3).
func (t *Tree) Focused() (int, bool) {
	found, count := -1, 0
	for i := range t.Nodes {
		if t.Nodes[i].States.Has(StateFocused) {
			found, count = i, count+1
		}
	}
	return found, count == 1
}
