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
