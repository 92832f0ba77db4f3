// Package readback says what reading a window again proves about an act (C7.2, and the
// table "what may confirm what" in protocol.md). It is a pure function: the caller
// gathers facts, this package decides. Only a method that reads the thing the act
// changes may say CONFIRMED or SUSPECTED_NOOP; whatever cannot be read proves nothing.
//
// Where the table leaves room:
//   - an act that names its end state (set_checked, set_expanded, focus, values, text,
//     options) is CONFIRMED when that state is read, also if it held before: then
//     nothing is reported as changed;
//   - a press without any visible consequence is SUSPECTED_NOOP only if both trees were
//     whole, so that "no change" was really read; else it is UNVERIFIABLE;
//   - a toggle that kept its state while windows opened or closed asks something first:
//     UNVERIFIABLE, not a suspicion; so does a window that was asked to close;
//   - a chord or a hover that shows nothing proves nothing: it need not have a consequence;
//   - a window or page that went elsewhere than asked for is UNVERIFIABLE: neither what was
//     wanted, nor nothing;
//   - in a page only what was read from the page itself says what a text is.
package readback

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Effect is what a readback says; the numbers are those of the wire.
type Effect int

// What a readback says.
const (
	Confirmed     Effect = 1
	Unverifiable  Effect = 2
	SuspectedNoop Effect = 3
)

// Method is what was read; the numbers are those of the wire.
type Method int

// What was read.
const (
	ActionResult       Method = 1
	ValueReadback      Method = 2
	TextReadback       Method = 3
	SelectionReadback  Method = 4
	StateReadback      Method = 5
	GeometryReadback   Method = 6
	TreeDelta          Method = 7
	WindowSetChange    Method = 8
	PageReadback       Method = 9
	methodsOnWireLimit        = 32
)

// Methods is a set of methods.
type Methods uint32

// Of returns a set.
func Of(methods ...Method) Methods {
	var s Methods
	for _, m := range methods {
		if m > 0 && m < methodsOnWireLimit {
			s |= 1 << uint(m)
		}
	}
	return s
}

// Has reports whether a method is in the set.
func (s Methods) Has(m Method) bool { return s&(1<<uint(m)) != 0 }

// Wish is what an act wants to be true afterwards.
type Wish int

// What an act may want.
const (
	// Press wants some consequence: a plain button, a secondary action.
	Press Wish = iota
	// Toggle wants the state to change.
	Toggle
	// Choose wants a radio button to be the chosen one.
	Choose
	// Check wants it checked or not.
	Check
	// Expand wants it expanded or not.
	Expand
	// Focus wants it focused.
	Focus
	// Number wants a number as value.
	Number
	// Text wants a text as value.
	Text
	// Type wants a text to have been typed.
	Type
	// Option wants an option to be selected.
	Option
	// Maybe wants nothing for certain: a chord, a hover.
	Maybe
	// Slide wants the value of a range to change.
	Slide
	// Scroll wants something else to be in view.
	Scroll
	// Span wants a part of the text to be selected.
	Span
	// Move and Size want the window to have a place, or a size.
	Move
	Size
	// Hide wants the window to be minimised, Close to be gone.
	Hide
	Close
	// Page wants another document in the page.
	Page
)

// Claim is one act and what may confirm it.
type Claim struct {
	Wish Wish
	// May is what the verb's rule lists.
	May Methods
	// On is the state wanted by Check and Expand.
	On bool
	// Text wanted by Text and Type; for Type all of the element's text.
	Text string
	// TextKnown is unset when the whole text cannot be predicted.
	TextKnown bool
	// Submitted says that Return was pressed after typing, so that the text may be gone.
	Submitted bool
	// Number wanted, and the step of its range.
	Number, Step float64
	// Range wanted by Span.
	Range Range
	// Place wanted by Move, which looks at X and Y, and by Size, which looks at W and H.
	Place Place
}

// Range is a part of a text, in characters.
type Range struct{ Start, Length int }

// Place is where a window is.
type Place struct{ X, Y, W, H float64 }

// State is what is true of an element.
type State struct{ Checked, Mixed, Pressed, Selected, Expanded, Focused bool }

// chosen leaves out the focus, which a press may move without any other consequence.
func (s State) chosen() State {
	s.Focused = false
	return s
}

// Facts is what was read before and after.
type Facts struct {
	// Found says that the element was read again.
	Found         bool
	Before, After State
	ValueBefore   string
	ValueAfter    string
	// ValueCut says that the value after is not the whole value.
	ValueCut bool
	// WindowsChanged says that toplevels of the app opened or closed.
	WindowsChanged bool
	// TreesWhole says that both trees were usable and not cut.
	TreesWhole bool
	// TreeChanged says that they differ in more than the focus.
	TreeChanged bool
	// OptionFound and OptionSelected are about the option named by select_option.
	OptionFound, OptionSelected bool
	// Selected is the selected part of the text before and after, nil where none was told.
	SelectedBefore, SelectedAfter *Range
	// InPage says that the element belongs to a page, FromPage that the page itself was read.
	InPage, FromPage bool

	// WindowSeen says that the window was seen again, WindowGone that it is gone for certain.
	WindowSeen, WindowGone    bool
	HiddenBefore, HiddenAfter bool
	PlaceBefore, PlaceAfter   Place
	// PageSeen says that the page of the window was read before and after, PageChanged that
	// it is another document.
	PageSeen, PageChanged bool
	// WasThere and IsThere say that the page was, or is, where it was sent. An act that
	// names no destination finds every document there.
	WasThere, IsThere bool
}

// Verdict is what the facts prove.
type Verdict struct {
	Effect  Effect
	Method  Method
	Changed bool
	// Partial is how many characters of a typed text arrived, when it was not all of them;
	// -1 otherwise (C7.4).
	Partial int
}

var nothing = Verdict{Effect: Unverifiable, Method: ActionResult, Partial: -1}

// Met reports whether the facts already show what was wanted, so that waiting can end.
func Met(c Claim, f Facts) bool { return Judge(c, f).Effect == Confirmed }

// Judge says what the facts prove.
func Judge(c Claim, f Facts) Verdict {
	switch c.Wish {
	case Press:
		return consequence(c, f)
	case Toggle, Choose, Check, Expand, Focus:
		return state(c, f)
	case Number, Text:
		return value(c, f)
	case Type:
		return typed(c, f)
	case Option:
		return option(c, f)
	case Maybe:
		return maybe(c, f)
	case Slide:
		return slide(c, f)
	case Scroll:
		return scroll(c, f)
	case Span:
		return span(c, f)
	case Move, Size, Hide, Close:
		return window(c, f)
	case Page:
		return page(c, f)
	default:
		return nothing
	}
}

func consequence(c Claim, f Facts) Verdict {
	switch {
	case f.WindowsChanged && c.May.Has(WindowSetChange):
		return said(WindowSetChange, true, true)
	case f.PageSeen && f.PageChanged && c.May.Has(PageReadback):
		return said(PageReadback, true, true)
	case !c.May.Has(TreeDelta):
		return nothing
	case f.TreeChanged:
		return said(TreeDelta, true, true)
	case f.TreesWhole:
		return said(TreeDelta, false, false)
	default:
		return nothing
	}
}

func state(c Claim, f Facts) Verdict {
	if !f.Found || !c.May.Has(StateReadback) {
		return nothing
	}
	changed := f.Before != f.After
	switch c.Wish {
	case Toggle:
		changed = f.Before.chosen() != f.After.chosen()
		if !changed && f.WindowsChanged {
			return nothing
		}
		return said(StateReadback, changed, changed)
	case Choose:
		return said(StateReadback, f.After.Checked || f.After.Selected, changed)
	case Check:
		holds := (f.After.Checked || f.After.Pressed) == c.On && !f.After.Mixed
		return said(StateReadback, holds, changed)
	case Expand:
		return said(StateReadback, f.After.Expanded == c.On, changed)
	default:
		return said(StateReadback, f.After.Focused, changed)
	}
}

func value(c Claim, f Facts) Verdict {
	if !f.Found || !c.May.Has(ValueReadback) {
		return nothing
	}
	changed := f.ValueBefore != f.ValueAfter
	if c.Wish == Number {
		got, err := strconv.ParseFloat(strings.TrimSpace(f.ValueAfter), 64)
		if err != nil {
			return nothing
		}
		return said(ValueReadback, near(got, c.Number, c.Step), changed)
	}
	if f.ValueCut {
		return nothing
	}
	if f.ValueAfter != c.Text && changed {
		// The app made something else of it: neither what was asked for, nor nothing.
		return elsewhere(ValueReadback)
	}
	return said(ValueReadback, f.ValueAfter == c.Text, changed)
}

func typed(c Claim, f Facts) Verdict {
	by := TextReadback
	if f.InPage {
		by = PageReadback
	}
	unread := !f.Found || f.ValueCut || f.InPage && !f.FromPage
	if unread || !c.May.Has(by) || !c.TextKnown {
		return nothing
	}
	changed := f.ValueBefore != f.ValueAfter
	switch {
	case f.ValueAfter == c.Text:
		return said(by, true, changed)
	case c.Submitted:
		// The text went where Return sent it; what is there now is not what was typed.
		return nothing
	case !changed:
		return said(by, false, false)
	case f.ValueAfter != "" && strings.HasPrefix(c.Text, f.ValueAfter):
		v := nothing
		v.Method, v.Changed = by, true
		v.Partial = max(0, utf8.RuneCountInString(f.ValueAfter)-kept(c, f))
		return v
	default:
		return elsewhere(by)
	}
}

// kept is how many characters of the text before are still at its beginning because
// the act only adds to it.
func kept(c Claim, f Facts) int {
	if f.ValueBefore != "" && strings.HasPrefix(c.Text, f.ValueBefore) && strings.HasPrefix(f.ValueAfter, f.ValueBefore) {
		return utf8.RuneCountInString(f.ValueBefore)
	}
	return 0
}

func option(c Claim, f Facts) Verdict {
	if !c.May.Has(SelectionReadback) || !f.Found && !f.OptionFound {
		return nothing
	}
	changed := f.ValueBefore != f.ValueAfter || f.TreeChanged
	switch {
	case f.OptionSelected || f.Found && !f.ValueCut && f.ValueAfter == c.Text:
		return said(SelectionReadback, true, changed)
	case f.OptionFound:
		return said(SelectionReadback, false, changed)
	default:
		return nothing
	}
}

func maybe(c Claim, f Facts) Verdict {
	if v := consequence(c, f); v.Effect == Confirmed {
		return v
	}
	return nothing
}

func slide(c Claim, f Facts) Verdict {
	if !f.Found || f.ValueCut || !c.May.Has(ValueReadback) {
		return nothing
	}
	changed := f.ValueBefore != f.ValueAfter
	return said(ValueReadback, changed, changed)
}

func scroll(c Claim, f Facts) Verdict {
	moved := f.Found && f.ValueBefore != f.ValueAfter && c.May.Has(ValueReadback)
	switch {
	case f.TreeChanged && c.May.Has(TreeDelta):
		return said(TreeDelta, true, true)
	case moved:
		return said(ValueReadback, true, true)
	case f.TreesWhole && c.May.Has(TreeDelta):
		return said(TreeDelta, false, false)
	default:
		return nothing
	}
}

func span(c Claim, f Facts) Verdict {
	if !f.Found || f.SelectedAfter == nil || !c.May.Has(SelectionReadback) {
		return nothing
	}
	changed := f.SelectedBefore == nil || *f.SelectedBefore != *f.SelectedAfter
	return said(SelectionReadback, *f.SelectedAfter == c.Range, changed)
}

// window judges what was wanted of the window itself.
func window(c Claim, f Facts) Verdict {
	if c.Wish == Close {
		switch {
		case !c.May.Has(WindowSetChange) || !f.WindowGone && !f.WindowSeen:
			return nothing
		case !f.WindowGone && f.WindowsChanged:
			return elsewhere(WindowSetChange)
		default:
			return said(WindowSetChange, f.WindowGone, f.WindowGone)
		}
	}
	if f.WindowGone || !f.WindowSeen || !c.May.Has(GeometryReadback) {
		return nothing
	}
	was, is, want := f.PlaceBefore, f.PlaceAfter, c.Place
	switch c.Wish {
	case Hide:
		return said(GeometryReadback, f.HiddenAfter, f.HiddenAfter != f.HiddenBefore)
	case Move:
		return placed(was.X, is.X, want.X, was.Y, is.Y, want.Y)
	default:
		return placed(was.W, is.W, want.W, was.H, is.H, want.H)
	}
}

// placed compares two lengths with what was wanted, to the point.
func placed(was1, is1, want1, was2, is2, want2 float64) Verdict {
	const point = 1
	holds := math.Abs(is1-want1) < point && math.Abs(is2-want2) < point
	changed := was1 != is1 || was2 != is2
	if changed && !holds {
		return elsewhere(GeometryReadback)
	}
	return said(GeometryReadback, holds, changed)
}

func page(c Claim, f Facts) Verdict {
	switch {
	case !f.PageSeen || !c.May.Has(PageReadback):
		return nothing
	case f.PageChanged && !f.IsThere:
		return elsewhere(PageReadback)
	case !f.PageChanged && f.WasThere:
		// It may have gone to another part of the same document.
		return nothing
	default:
		return said(PageReadback, f.PageChanged, f.PageChanged)
	}
}

// elsewhere is a change that is not the one that was wanted.
func elsewhere(by Method) Verdict {
	return Verdict{Effect: Unverifiable, Method: by, Changed: true, Partial: -1}
}

func said(m Method, holds, changed bool) Verdict {
	v := Verdict{Effect: SuspectedNoop, Method: m, Changed: changed, Partial: -1}
	if holds {
		v.Effect = Confirmed
	}
	return v
}

// near allows for a control that snaps to its steps.
func near(got, want, step float64) bool {
	tolerance := math.Abs(step) / 2
	if tolerance == 0 {
		tolerance = 1e-9 * max(1, math.Abs(want))
	}
	return math.Abs(got-want) <= tolerance
}
