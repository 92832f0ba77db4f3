package outline

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestAChangeLineSaysWhatHappenedAndWhere(t *testing.T) {
	button := func(id uint32) Line {
		return Line{ID: id, Depth: 4, Role: "button", Name: "OK", Facts: []string{"disabled"}, Actions: []string{"toggle"}}
	}
	text, cut := WriteChanges(Head{Title: "T", App: "a", Notes: []string{"busy"}}, "f-abc", []ChangeLine{
		{Line: Line{ID: 9, Role: "label", Name: "gone"}, Kind: Removed},
		{Line: button(12), Kind: Changed, Under: 5, After: 6},
		{Line: button(13), Kind: Added, Under: 5},
		{Line: button(14), Kind: Added, Under: 5, After: 13},
		{Line: button(15), Kind: Moved, Under: 5, After: 14},
		{Line: button(16), Kind: Added, After: 1},
		{Line: button(17), Kind: Moved},
	})
	want := `window "T" of "a": only what changed since frame f-abc
note: busy
- [9]
~ [12] button "OK" (disabled) {toggle}
+ [13] button "OK" (disabled) {toggle} first under [5]
+ [14] button "OK" (disabled) {toggle} under [5] after [13]
> [15] button "OK" (disabled) {toggle} now under [5] after [14]
+ [16] button "OK" (disabled) {toggle} at the top after [1]
> [17] button "OK" (disabled) {toggle} now first at the top
`
	if text != want || cut != 0 {
		t.Errorf("cut %d, got\n%swant\n%s", cut, text, want)
	}
}

func TestNothingChangedIsSaid(t *testing.T) {
	text, cut := WriteChanges(Head{Title: "T", App: "a"}, "f-abc", nil)
	if text != "window \"T\" of \"a\": only what changed since frame f-abc\nnothing changed\n" || cut != 0 {
		t.Errorf("cut %d, got %s", cut, text)
	}
}

func TestChangesThatDoNotFitAreSaid(t *testing.T) {
	lines := make([]ChangeLine, 5000)
	for i := range lines {
		lines[i] = ChangeLine{Line: Line{ID: uint32(i + 1), Role: "label", Name: "some words that take room"}, Kind: Added}
	}
	text, cut := WriteChanges(Head{}, "f-1", lines)
	listed := strings.Count(text, "\n+ ")
	end := "more changes exist but are not listed; observe to see the whole window\n"
	if cut == 0 || listed+cut != len(lines) || !strings.HasSuffix(text, end) || len(text) > TextMax+100 {
		t.Errorf("cut %d, %d listed, %d bytes", cut, listed, len(text))
	}
}

func FuzzWriteChanges(f *testing.F) {
	f.Add("OK\n- [9]", "value", uint8(3), uint32(4), uint32(0))
	f.Add("\u202e", "\" now first under [1]", uint8(4), uint32(0), uint32(7))
	f.Add("bad\xff", "[withheld: secure field]", uint8(0), uint32(0), uint32(0))
	f.Fuzz(func(t *testing.T, name, value string, kind uint8, under, after uint32) {
		text, _ := WriteChanges(Head{Title: name, App: value}, "f-1", []ChangeLine{{
			Line: Line{ID: 1, Role: "button", Name: name, Value: value}, Kind: ChangeKind(kind), Under: under, After: after,
		}})
		if strings.Count(text, "\n") != 2 || !utf8.ValidString(text) {
			t.Errorf("%q %q: %q", name, value, text)
		}
		if bare := outsideQuotes(text); strings.Contains(bare, WithheldSecure) || strings.Count(bare, "[") > 3 {
			t.Errorf("%q %q imitate structure: %q", name, value, bare)
		}
	})
}

// outsideQuotes is what is ours of a text.
func outsideQuotes(text string) string {
	var b strings.Builder
	inside, escaped := false, false
	for _, r := range text {
		switch {
		case escaped:
			escaped = false
		case inside && r == '\\':
			escaped = true
		case r == '"':
			inside = !inside
		case !inside:
			b.WriteRune(r)
		}
	}
	return b.String()
}
