package readback

import "testing"

var (
	press   = Of(StateReadback, TreeDelta, WindowSetChange)
	onState = Of(StateReadback)
	onValue = Of(ValueReadback)
	onText  = Of(TextReadback)
	onPick  = Of(SelectionReadback)
)

// What may confirm what (C7.2, protocol.md): the table, line by line.
func TestTable(t *testing.T) {
	on, off, focused := State{Checked: true}, State{}, State{Focused: true}
	cases := []struct {
		name   string
		claim  Claim
		facts  Facts
		effect Effect
		method Method
	}{
		{
			"press, tree changed",
			Claim{Wish: Press, May: press},
			Facts{TreesWhole: true, TreeChanged: true},
			Confirmed, TreeDelta,
		},
		{
			"press, window opened",
			Claim{Wish: Press, May: press},
			Facts{WindowsChanged: true},
			Confirmed, WindowSetChange,
		},
		{"press, nothing", Claim{Wish: Press, May: press}, Facts{TreesWhole: true}, SuspectedNoop, TreeDelta},
		{"press, cut tree", Claim{Wish: Press, May: press}, Facts{}, Unverifiable, ActionResult},
		{
			"press, no method",
			Claim{Wish: Press},
			Facts{TreesWhole: true, TreeChanged: true, WindowsChanged: true},
			Unverifiable, ActionResult,
		},

		{
			"toggle on",
			Claim{Wish: Toggle, May: press},
			Facts{Found: true, Before: off, After: on},
			Confirmed, StateReadback,
		},
		{
			"toggle, only focus",
			Claim{Wish: Toggle, May: press},
			Facts{Found: true, After: focused, TreeChanged: true},
			SuspectedNoop, StateReadback,
		},
		{
			"toggle, same",
			Claim{Wish: Toggle, May: press},
			Facts{Found: true, Before: on, After: on},
			SuspectedNoop, StateReadback,
		},
		{
			"toggle asks first",
			Claim{Wish: Toggle, May: press},
			Facts{Found: true, WindowsChanged: true},
			Unverifiable, ActionResult,
		},
		{"toggle gone", Claim{Wish: Toggle, May: press}, Facts{TreeChanged: true}, Unverifiable, ActionResult},
		{
			"radio chosen",
			Claim{Wish: Choose, May: press},
			Facts{Found: true, Before: on, After: on},
			Confirmed, StateReadback,
		},
		{"radio not chosen", Claim{Wish: Choose, May: press}, Facts{Found: true}, SuspectedNoop, StateReadback},

		{
			"checked",
			Claim{Wish: Check, May: onState, On: true},
			Facts{Found: true, After: on},
			Confirmed, StateReadback,
		},
		{"unchecked", Claim{Wish: Check, May: onState}, Facts{Found: true, Before: on}, Confirmed, StateReadback},
		{
			"mixed is not unchecked",
			Claim{Wish: Check, May: onState},
			Facts{Found: true, After: State{Mixed: true}},
			SuspectedNoop, StateReadback,
		},
		{
			"not checked",
			Claim{Wish: Check, May: onState, On: true},
			Facts{Found: true},
			SuspectedNoop, StateReadback,
		},
		{
			"check, tree proves nothing",
			Claim{Wish: Check, May: onState, On: true},
			Facts{TreeChanged: true, TreesWhole: true},
			Unverifiable, ActionResult,
		},
		{
			"expanded",
			Claim{Wish: Expand, May: onState, On: true},
			Facts{Found: true, After: State{Expanded: true}},
			Confirmed, StateReadback,
		},
		{"focused", Claim{Wish: Focus, May: onState}, Facts{Found: true, After: focused}, Confirmed, StateReadback},
		{"not focused", Claim{Wish: Focus, May: onState}, Facts{Found: true}, SuspectedNoop, StateReadback},

		{
			"number",
			Claim{Wish: Number, May: onValue, Number: 5},
			Facts{Found: true, ValueAfter: "5.0"},
			Confirmed, ValueReadback,
		},
		{
			"number within half a step",
			Claim{Wish: Number, May: onValue, Number: 5.4, Step: 1},
			Facts{Found: true, ValueAfter: "5"},
			Confirmed, ValueReadback,
		},
		{
			"number beyond half a step",
			Claim{Wish: Number, May: onValue, Number: 5.6, Step: 1},
			Facts{Found: true, ValueAfter: "5"},
			SuspectedNoop, ValueReadback,
		},
		{
			"number unreadable",
			Claim{Wish: Number, May: onValue, Number: 5},
			Facts{Found: true, ValueAfter: "five"},
			Unverifiable, ActionResult,
		},
		{
			"text",
			Claim{Wish: Text, May: onValue, Text: "a"},
			Facts{Found: true, ValueAfter: "a"},
			Confirmed, ValueReadback,
		},
		{
			"text unchanged",
			Claim{Wish: Text, May: onValue, Text: "a"},
			Facts{Found: true},
			SuspectedNoop, ValueReadback,
		},
		{
			"text made into another",
			Claim{Wish: Text, May: onValue, Text: "a"},
			Facts{Found: true, ValueAfter: "A"},
			Unverifiable, ValueReadback,
		},
		{
			"text cut",
			Claim{Wish: Text, May: onValue, Text: "a"},
			Facts{Found: true, ValueAfter: "a", ValueCut: true},
			Unverifiable, ActionResult,
		},

		{
			"typed",
			Claim{Wish: Type, May: onText, Text: "ab", TextKnown: true},
			Facts{Found: true, ValueAfter: "ab"},
			Confirmed, TextReadback,
		},
		{
			"typed, unknown before",
			Claim{Wish: Type, May: onText, Text: "ab"},
			Facts{Found: true, ValueAfter: "ab"},
			Unverifiable, ActionResult,
		},
		{
			"typed nothing",
			Claim{Wish: Type, May: onText, Text: "ab", TextKnown: true},
			Facts{Found: true},
			SuspectedNoop, TextReadback,
		},
		{
			"typed something else",
			Claim{Wish: Type, May: onText, Text: "ab", TextKnown: true},
			Facts{Found: true, ValueAfter: "AB"},
			Unverifiable, TextReadback,
		},
		{
			"submitted and gone",
			Claim{Wish: Type, May: onText, Text: "ab", TextKnown: true, Submitted: true},
			Facts{Found: true, ValueBefore: "x"},
			Unverifiable, ActionResult,
		},

		{
			"selected",
			Claim{Wish: Option, May: onPick, Text: "o"},
			Facts{OptionFound: true, OptionSelected: true},
			Confirmed, SelectionReadback,
		},
		{
			"selected by value",
			Claim{Wish: Option, May: onPick, Text: "o"},
			Facts{Found: true, ValueAfter: "o"},
			Confirmed, SelectionReadback,
		},
		{
			"not selected",
			Claim{Wish: Option, May: onPick, Text: "o"},
			Facts{Found: true, OptionFound: true},
			SuspectedNoop, SelectionReadback,
		},
		{
			"option not seen",
			Claim{Wish: Option, May: onPick, Text: "o"},
			Facts{Found: true},
			Unverifiable, ActionResult,
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := Judge(c.claim, c.facts)
			if got.Effect != c.effect || got.Method != c.method || got.Partial != -1 {
				t.Fatalf("got %+v", got)
			}
		})
	}
}

func TestPartialTextIsCounted(t *testing.T) {
	claim := Claim{Wish: Type, May: onText, Text: "grüße", TextKnown: true}
	if got := Judge(claim, Facts{Found: true, ValueAfter: "grü"}); got.Partial != 3 || got.Effect == Confirmed {
		t.Fatalf("got %+v", got)
	}
	claim.Text = "old" + claim.Text
	if got := Judge(claim, Facts{Found: true, ValueBefore: "old", ValueAfter: "oldg"}); got.Partial != 1 {
		t.Fatalf("got %+v", got)
	}
}

// The wishes that a pointer, the keyboard or a window brings (C7.2, protocol.md).
func TestTableOfPointersKeysAndWindows(t *testing.T) {
	loose := Of(TreeDelta, WindowSetChange)
	pressed := Of(TreeDelta, WindowSetChange, PageReadback)
	dragged, onGeometry := Of(ValueReadback, TreeDelta), Of(GeometryReadback)
	onText := Of(TextReadback, PageReadback)
	at := Range{Start: 1, Length: 2}
	elsewhereIs := Place{X: 9, Y: 9, W: 9, H: 9}
	cases := []struct {
		name   string
		claim  Claim
		facts  Facts
		effect Effect
		method Method
	}{
		{"chord shows", Claim{Wish: Maybe, May: loose}, Facts{TreeChanged: true}, Confirmed, TreeDelta},
		{"chord opens", Claim{Wish: Maybe, May: loose}, Facts{WindowsChanged: true}, Confirmed, WindowSetChange},
		{"chord shows nothing", Claim{Wish: Maybe, May: loose}, Facts{TreesWhole: true}, Unverifiable, ActionResult},
		{
			"press leads to a page",
			Claim{Wish: Press, May: pressed},
			Facts{PageSeen: true, PageChanged: true},
			Confirmed, PageReadback,
		},
		{
			"press, page not read",
			Claim{Wish: Press, May: pressed},
			Facts{PageChanged: true},
			Unverifiable, ActionResult,
		},
		{
			"press that no page confirms",
			Claim{Wish: Press, May: loose},
			Facts{PageSeen: true, PageChanged: true, TreesWhole: true},
			SuspectedNoop, TreeDelta,
		},
		{
			"slide",
			Claim{Wish: Slide, May: dragged},
			Facts{Found: true, ValueBefore: "1", ValueAfter: "2"},
			Confirmed, ValueReadback,
		},
		{
			"slide, only the tree",
			Claim{Wish: Slide, May: dragged},
			Facts{Found: true, TreeChanged: true},
			SuspectedNoop, ValueReadback,
		},
		{"slide, gone", Claim{Wish: Slide, May: dragged}, Facts{TreeChanged: true}, Unverifiable, ActionResult},
		{
			"slide, cut",
			Claim{Wish: Slide, May: dragged},
			Facts{Found: true, ValueAfter: "2", ValueCut: true},
			Unverifiable, ActionResult,
		},
		{"slide, not allowed", Claim{Wish: Slide}, Facts{Found: true, ValueAfter: "2"}, Unverifiable, ActionResult},
		{"scroll", Claim{Wish: Scroll, May: dragged}, Facts{TreeChanged: true}, Confirmed, TreeDelta},
		{
			"scroll, the bar moved",
			Claim{Wish: Scroll, May: dragged},
			Facts{Found: true, ValueAfter: "2"},
			Confirmed, ValueReadback,
		},
		{"scroll, nothing", Claim{Wish: Scroll, May: dragged}, Facts{TreesWhole: true}, SuspectedNoop, TreeDelta},
		{"scroll, cut tree", Claim{Wish: Scroll, May: dragged}, Facts{}, Unverifiable, ActionResult},
		{
			"scroll, not allowed",
			Claim{Wish: Scroll},
			Facts{Found: true, ValueAfter: "2", TreeChanged: true, TreesWhole: true},
			Unverifiable, ActionResult,
		},
		{
			"span",
			Claim{Wish: Span, May: onPick, Range: at},
			Facts{Found: true, SelectedAfter: &Range{1, 2}},
			Confirmed, SelectionReadback,
		},
		{
			"span, longer",
			Claim{Wish: Span, May: onPick, Range: at},
			Facts{Found: true, SelectedAfter: &Range{1, 3}},
			SuspectedNoop, SelectionReadback,
		},
		{"span, not told", Claim{Wish: Span, May: onPick, Range: at}, Facts{Found: true}, Unverifiable, ActionResult},
		{
			"span, not allowed",
			Claim{Wish: Span, Range: at},
			Facts{Found: true, SelectedAfter: &Range{1, 2}},
			Unverifiable, ActionResult,
		},
		{
			"move",
			Claim{Wish: Move, May: onGeometry, Place: Place{X: 9, Y: 9}},
			Facts{WindowSeen: true, PlaceAfter: elsewhereIs},
			Confirmed, GeometryReadback,
		},
		{
			"move, a point off",
			Claim{Wish: Move, May: onGeometry, Place: Place{X: 10, Y: 9}},
			Facts{WindowSeen: true, PlaceAfter: elsewhereIs},
			Unverifiable, GeometryReadback,
		},
		{
			"move, window gone",
			Claim{Wish: Move, May: onGeometry},
			Facts{WindowGone: true},
			Unverifiable, ActionResult,
		},
		{"move, not seen", Claim{Wish: Move, May: onGeometry}, Facts{}, Unverifiable, ActionResult},
		{"move, not allowed", Claim{Wish: Move}, Facts{WindowSeen: true}, Unverifiable, ActionResult},
		{
			"size",
			Claim{Wish: Size, May: onGeometry, Place: Place{W: 9, H: 9}},
			Facts{WindowSeen: true, PlaceAfter: elsewhereIs},
			Confirmed, GeometryReadback,
		},
		{
			"size, only one side",
			Claim{Wish: Size, May: onGeometry, Place: Place{W: 9, H: 11}},
			Facts{WindowSeen: true, PlaceAfter: elsewhereIs},
			Unverifiable, GeometryReadback,
		},
		{
			"hide",
			Claim{Wish: Hide, May: onGeometry},
			Facts{WindowSeen: true, HiddenAfter: true},
			Confirmed, GeometryReadback,
		},
		{"hide, closed", Claim{Wish: Hide, May: onGeometry}, Facts{WindowGone: true}, Unverifiable, ActionResult},
		{"close", Claim{Wish: Close, May: loose}, Facts{WindowGone: true}, Confirmed, WindowSetChange},
		{
			"close, hidden instead",
			Claim{Wish: Close, May: loose},
			Facts{WindowSeen: true, HiddenAfter: true},
			SuspectedNoop, WindowSetChange,
		},
		{"close, not seen", Claim{Wish: Close, May: loose}, Facts{}, Unverifiable, ActionResult},
		{"close, not allowed", Claim{Wish: Close}, Facts{WindowGone: true}, Unverifiable, ActionResult},
		{
			"page",
			Claim{Wish: Page, May: onText},
			Facts{PageSeen: true, PageChanged: true, IsThere: true},
			Confirmed, PageReadback,
		},
		{"page, not read", Claim{Wish: Page, May: onText}, Facts{PageChanged: true, IsThere: true}, Unverifiable, ActionResult},
		{
			"page, not allowed",
			Claim{Wish: Page},
			Facts{PageSeen: true, PageChanged: true, IsThere: true},
			Unverifiable, ActionResult,
		},
		{
			"typed in a page",
			Claim{Wish: Type, May: onText, Text: "x", TextKnown: true},
			Facts{Found: true, InPage: true, FromPage: true, ValueAfter: "x"},
			Confirmed, PageReadback,
		},
		{
			"typed in a mirror",
			Claim{Wish: Type, May: onText, Text: "x", TextKnown: true},
			Facts{Found: true, InPage: true, ValueAfter: "x"},
			Unverifiable, ActionResult,
		},
		{
			"typed in a page, not allowed",
			Claim{Wish: Type, May: Of(TextReadback), Text: "x", TextKnown: true},
			Facts{Found: true, InPage: true, FromPage: true, ValueAfter: "x"},
			Unverifiable, ActionResult,
		},
		{
			"not typed in a page",
			Claim{Wish: Type, May: onText, Text: "x", TextKnown: true},
			Facts{Found: true, InPage: true, FromPage: true},
			SuspectedNoop, PageReadback,
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if v := Judge(c.claim, c.facts); v.Effect != c.effect || v.Method != c.method || v.Partial != -1 {
				t.Fatalf("got %+v, want %v by %v", v, c.effect, c.method)
			}
		})
	}
}
