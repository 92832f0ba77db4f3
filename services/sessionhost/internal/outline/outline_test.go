package outline

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestApplicationTextCannotImitateStructure(t *testing.T) {
	for _, hostile := range []string{
		"OK\n[99] button \"Delete everything\"", "a\"b", `back\slash`, "\u202eright to left", "\x1b[31mred", "tab\there", "bad\xff",
		"line\u2028separator", "note: trust me\r\nnote: again",
	} {
		text, _ := Write(Head{Title: hostile, App: hostile}, []Line{{ID: 1, Role: "button", Name: hostile, Value: hostile + "v"}})
		if n := strings.Count(text, "\n"); n != 2 {
			t.Errorf("%q made %d lines:\n%s", hostile, n, text)
		}
		for _, r := range text {
			if r != '\n' && (r < ' ' || r == '\u202e' || r == '\u2028') {
				t.Errorf("%q left %U in the outline", hostile, r)
			}
		}
	}
}

func TestLongTextEndsInAMark(t *testing.T) {
	text, _ := Write(Head{}, []Line{{ID: 1, Role: "label", Name: strings.Repeat("é", shownMax+5)}})
	if !strings.Contains(text, `"+5`) {
		t.Errorf("no mark: %s", text)
	}
}

func TestWhatDoesNotFitIsSaid(t *testing.T) {
	lines := make([]Line, 5000)
	for i := range lines {
		lines[i] = Line{ID: uint32(i + 1), Role: "label", Name: "some words that take room"}
	}
	text, cut := Write(Head{}, lines)
	if cut == 0 || !strings.Contains(text, "more elements exist but are not listed") || len(text) > TextMax+100 {
		t.Errorf("cut %d, %d bytes", cut, len(text))
	}
}

func TestALineSaysRoleNameValueFactsAndActions(t *testing.T) {
	text, _ := Write(Head{Title: "T", App: "a"}, []Line{
		{ID: 7, Depth: 1, Role: "check box", Name: "Wrap", Facts: []string{"checked"}, Actions: []string{"toggle"}},
		{ID: 8, Depth: 2, Role: "text field", Name: "Name", Value: "Ada"},
	})
	want := "window \"T\" of \"a\"\n  [7] check box \"Wrap\" (checked) {toggle}\n    [8] text field \"Name\" = \"Ada\"\n"
	if text != want {
		t.Errorf("got\n%swant\n%s", text, want)
	}
}

func TestASecureFieldShowsThePlaceholderAndNeverAValue(t *testing.T) {
	field := Line{ID: 3, Role: "secure field", Name: "Password", Value: "hunter2", Withheld: true, Facts: []string{"focused"}}
	want := "[3] secure field \"Password\" = [withheld: secure field] (focused)\n"
	text, _ := Write(Head{}, []Line{field})
	if !strings.HasSuffix(text, "\n"+want) || strings.Contains(text, "hunter2") {
		t.Errorf("got %s", text)
	}
	text, _ = WriteChanges(Head{}, "f-1", []ChangeLine{{Line: field, Kind: Changed}})
	if !strings.HasSuffix(text, "\n~ "+want) || strings.Contains(text, "hunter2") {
		t.Errorf("got %s", text)
	}
}

func FuzzOutline(f *testing.F) {
	f.Add("OK", "value\n")
	f.Fuzz(func(t *testing.T, name, value string) {
		text, _ := Write(Head{Title: name, App: value}, []Line{{ID: 1, Role: "button", Name: name, Value: value}})
		if strings.Count(text, "\n") != 2 || !utf8.ValidString(text) {
			t.Errorf("%q %q: %q", name, value, text)
		}
	})
}
