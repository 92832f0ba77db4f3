package outline

import (
	"strings"
	"testing"
)

func TestAPlaceholderIsRecognisedHoweverItComesBack(t *testing.T) {
	for _, s := range []string{
		WithheldSecure, "  [withheld: secure field]\n", "[Withheld: Secure Field]", `"[withheld: secure field]"`,
		"'[withheld: secure field]'", "`[WITHHELD: SECURE FIELD]`", `\"[withheld: secure field]\"`,
		"\u201c[withheld: secure field]\u201d", " = [withheld: secure field]", "[withheld:  secure\u00a0field]",
	} {
		if !Withheld(s) {
			t.Errorf("%q is not recognised", s)
		}
	}
}

func TestATextThatIsNoPlaceholderIsLeftAlone(t *testing.T) {
	for _, s := range []string{
		"", " ", `""`, "secure field", "withheld: secure field", "[withheld]", "[withheld: secure fields]",
		"the outline says [withheld: secure field]", "[withheld: secure field] [withheld: secure field]",
		"+5", "1+5", `"a"+5`, `"` + strings.Repeat("a", shownMax-1) + `"+5`, strings.Repeat("a", shownMax) + "+5",
		`"` + strings.Repeat("a", shownMax) + `"`, `"` + strings.Repeat("a", shownMax) + `"+`,
	} {
		if Withheld(s) {
			t.Errorf("%q is taken for a placeholder", s)
		}
	}
}

// What Write shows in place of a value is recognised, whatever the value is.
func TestWhateverIsShownOfALongTextIsRecognised(t *testing.T) {
	for _, unit := range []string{"a", "\u00e9", `"`, `\`, "\n", "\u202e", "\U0010ffff"} {
		text, _ := Write(Head{}, []Line{{ID: 1, Role: "text field", Value: strings.Repeat(unit, shownMax+17)}})
		_, shown, _ := strings.Cut(text, " = ")
		if !strings.Contains(shown, `"+17`) || !Withheld(shown) {
			t.Errorf("%q: %q is not recognised", unit, shown)
		}
	}
	text, _ := Write(Head{}, []Line{{ID: 1, Role: "secure field", Withheld: true}})
	if _, shown, _ := strings.Cut(text, " = "); !Withheld(shown) {
		t.Errorf("%q is not recognised", shown)
	}
}

func FuzzWithheld(f *testing.F) {
	f.Add(WithheldSecure)
	f.Add(`"\x"+5`)
	f.Add(`"` + strings.Repeat("a", shownMax) + `"+5`)
	f.Fuzz(func(t *testing.T, s string) {
		if got := Withheld(s); got != Withheld(" "+s+"\n") {
			t.Errorf("%q is %v, and with space around it is not", s, got)
		}
	})
}
