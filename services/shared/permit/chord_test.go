package permit

import (
	"errors"
	"strings"
	"testing"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/shared/refusal"
)

func TestChordIsOneKeyAfterModifiers(t *testing.T) {
	for text, want := range map[string]string{
		"a": "a", "A": "A", "é": "é", "+": "+", "-": "-", "cmd++": "command++", "ctrl+shift++": "control+shift++",
		"ctrl+s": "control+s", "CTRL+S": "control+S", "shift+ctrl+a": "control+shift+a",
		"return": "Return", "alt+F4": "option+F4", "option+f24": "option+F24", "fn+up": "fn+Up",
		"super+Space": "super+Space", "pagedown": "PageDown", "forwarddelete": "ForwardDelete",
	} {
		c, err := ParseChord(text)
		if err != nil || c.String() != want {
			t.Errorf("%q: got %q, %v", text, c.String(), err)
		}
	}
}

func TestWhatIsNoChordIsUnusable(t *testing.T) {
	for _, text := range []string{
		"", " ", "ab", "ctrl", "ctrl+", "++", "+++", "+a", "a+b", "ctrl++a", "ctrl+ctrl+a", "cmd+command+a",
		"hyper+a", "ctrl+ a", "ctrl +a", "\n", "\x00", "\xff", "\uFFFD", "F0", "F25", "ctrl+shift",
	} {
		if c, err := ParseChord(text); !errors.Is(err, errChord) || c.Key != "" || c.Modifiers != nil {
			t.Errorf("%q: got %+v, %v", text, c, err)
		}
	}
}

// They mean opposite things on two platforms, with and without modifiers.
func TestDeleteIsAmbiguous(t *testing.T) {
	for _, text := range []string{"delete", "Delete", "DEL", "ctrl+del"} {
		_, err := ParseChord(text)
		var r *refusal.Error
		if !errors.As(err, &r) || r.Code != refusal.AmbiguousKey {
			t.Errorf("%q: got %v", text, err)
		}
	}
}

func TestModifiersAreInTheOrderOfTheVocabulary(t *testing.T) {
	c, err := ParseChord("super+fn+shift+alt+ctrl+cmd+x")
	if err != nil || len(c.Modifiers) != 6 {
		t.Fatalf("got %+v, %v", c, err)
	}
	for i, m := range c.Modifiers {
		if m != commonv1.Modifier(i+1) {
			t.Fatalf("got %v", c.Modifiers)
		}
	}
}

// A chord has one spelling, which reads back as itself.
func FuzzParseChord(f *testing.F) {
	for _, text := range []string{"ctrl+s", "cmd++", "+", "++", "delete", "F12", "ctrl+ctrl+a", "é", "\xff", "ctrl+"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseChord(text)
		if err != nil {
			return
		}
		again, err := ParseChord(c.String())
		if err != nil || again.String() != c.String() || again.Key != c.Key || len(again.Modifiers) != len(c.Modifiers) {
			t.Fatalf("%q reads as %q, which reads as %q, %v", text, c.String(), again.String(), err)
		}
		if c.Key == "" || len(c.Modifiers) > strings.Count(text, "+") {
			t.Fatalf("%q reads as %+v", text, c)
		}
	})
}
