package virtualdesk

import (
	"slices"
	"strconv"
	"unicode/utf8"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/permit"
)

// element is one thing in a window. Slices it shares with nodes (actions) and the
// range are replaced, never changed in place.
type element struct {
	object      executor.Object
	win         *window
	parent      *element
	children    []*element
	role        commonv1.Role
	subrole     string
	ident       string
	name, desc  string
	value       string // never the value of a secure element
	secret      string // what a secure field holds; only painted as dots
	number      float64
	rng         *executor.Range
	takesText   bool
	takesNumber bool
	secure      bool
	primary     bool // drawn as the main button
	unlisted    int  // children that exist but are out of view (TRUNCATION_KIND_VIRTUAL)
	states      executor.States
	actions     []commonv1.ElementAction
	bounds      executor.Rect // points of its surface
	// anchor and caret are in characters of the text; what is between is selected.
	anchor, caret int
	told          *executor.TextRange // the selection as it was told last, replaced when it changes
	scroll        *scrolling          // nil for what does not scroll
	drawing       *drawing            // nil for what is not drawn on
	cursor        int                 // the current cell of a grid
	hooks         hooks
}

// hooks are what an app does about its element. Each runs under the desk's lock and
// gets the element it is about, so that an identical replacement works the same.
type hooks struct {
	press  func(*Desk, *element)       // pressed, confirmed, picked
	change func(*Desk, *element)       // its value, check or selection changed
	expand func(*Desk, *element, bool) // expanded or collapsed
	submit func(*Desk, *element)       // Return in a text
	cancel func(*Desk, *element)       // Escape

	double  func(*Desk, *element)                    // pressed twice
	middle  func(*Desk, *element)                    // pressed with the middle button
	hover   func(*Desk, *element)                    // the agent's pointer came to rest on it
	drop    func(*Desk, *element, float64, float64)  // dragged, and let go at a point of its surface
	point   func(*Desk, *element, gesture)           // pressed, for what cares where and how
	text    func(*Desk, *element, string, bool)      // typed into, and whether it replaces
	key     func(*Desk, *element, permit.Chord) bool // a key, and whether it meant something
	context func(*Desk, *element) []*element         // the items of its context menu
}

// attach makes an element the last child of another.
func (d *Desk) attach(parent, e *element) *element {
	d.adopt(parent, e)
	parent.children = append(parent.children, e)
	return e
}

// adopt gives an element and everything below it a place and objects of their own.
func (d *Desk) adopt(parent, e *element) {
	e.object, e.win, e.parent = d.newObject(), parent.win, parent
	d.objects[e.object] = e
	for _, c := range e.children {
		d.adopt(e, c)
	}
}

// detach takes an element out of the tree; its references and those below are gone.
func (d *Desk) detach(e *element) {
	if e.parent != nil {
		e.parent.children = slices.DeleteFunc(slices.Clone(e.parent.children),
			func(c *element) bool { return c == e })
	}
	d.forget(e)
}

// forget ends every reference into a subtree.
func (d *Desk) forget(e *element) {
	if e == nil {
		return
	}
	e.visit(func(x *element) bool {
		delete(d.objects, x.object)
		if x.win.focus == x {
			x.win.focus = nil
		}
		return true
	})
}

// alive says whether the element is still where its reference found it.
func (d *Desk) alive(e *element) bool { return d.objects[e.object] == e }

// visit walks in document order until f says no, and says whether it never did.
func (e *element) visit(f func(*element) bool) bool {
	if !f(e) {
		return false
	}
	for _, c := range e.children {
		if !c.visit(f) {
			return false
		}
	}
	return true
}

func (e *element) size() int {
	n := 1
	for _, c := range e.children {
		n += c.size()
	}
	return n
}

func (e *element) inside(ancestor *element) bool {
	for p := e.parent; p != nil; p = p.parent {
		if p == ancestor {
			return true
		}
	}
	return false
}

func (e *element) has(st commonv1.ElementState) bool { return e.states.Has(st) }

func (e *element) set(st commonv1.ElementState, on bool) {
	if on {
		e.states = e.states.With(st)
		return
	}
	e.states &^= executor.States(0).With(st)
}

func (e *element) offers(a commonv1.ElementAction) bool { return slices.Contains(e.actions, a) }

// setNumber keeps the number inside its range, as a real control does.
func (e *element) setNumber(n float64) {
	if e.rng != nil {
		n = min(max(n, e.rng.Min), e.rng.Max)
	}
	e.number, e.value = n, strconv.FormatFloat(n, 'g', -1, 64)
}

// parseNumber sets the number from C notation.
func (e *element) parseNumber(s string) error {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return ErrNotThere
	}
	e.setNumber(n)
	return nil
}

// fill writes the element as a platform reads it: no value of a secure element (C2.10).
func (e *element) fill(n *executor.Node, surface, text int) {
	n.Object, n.Role, n.Subrole = e.object, e.role, cutText(e.subrole, text)
	n.Identifier, n.Name, n.Description = cutText(e.ident, text), cutText(e.name, text), cutText(e.desc, text)
	n.TakesText, n.TakesNumber, n.Secure = e.takesText, e.takesNumber, e.secure
	n.States, n.Actions, n.Bounds, n.Surface, n.Range = e.states, e.actions, e.bounds, surface, e.rng
	n.Renderer, n.FromPage = e.win.renderer, e.win.renderer != 0
	if !e.secure {
		n.Value = cutText(e.value, text)
		n.ValueTruncated = len(n.Value) < len(e.value)
		n.Selection = e.selection()
	}
	if e.win.focus == e {
		n.States = n.States.With(commonv1.ElementState_ELEMENT_STATE_FOCUSED)
	}
}

// selection is what is selected of a text, or where its caret is; nil where there is no text.
func (e *element) selection() *executor.TextRange {
	if !e.takesText {
		return nil
	}
	from, to := e.selected(characters(e.value))
	if e.told == nil || e.told.Start != from || e.told.Length != to-from {
		e.told = &executor.TextRange{Start: from, Length: to - from}
	}
	return e.told
}

// cutText cuts at a number of characters, never inside one (C8.5).
func cutText(s string, limit int) string {
	if len(s) <= limit || utf8.RuneCountInString(s) <= limit {
		return s
	}
	for i := range s {
		if limit == 0 {
			return s[:i]
		}
		limit--
	}
	return s
}
