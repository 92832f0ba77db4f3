package permit

import (
	"strings"
	"unicode"
	"unicode/utf8"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/shared/refusal"
)

// Chord is one key pressed while modifiers are down. Host and executor read it with the
// same function (C0.8).
type Chord struct {
	// Modifiers are in the order of the vocabulary, each once.
	Modifiers []commonv1.Modifier
	// Key is a named key as protocol.md spells it, or one printable character.
	Key string
}

// modifierNames are what an agent may call a modifier, lower case.
var modifierNames = map[string]commonv1.Modifier{
	"command": commonv1.Modifier_MODIFIER_COMMAND, "cmd": commonv1.Modifier_MODIFIER_COMMAND,
	"control": commonv1.Modifier_MODIFIER_CONTROL, "ctrl": commonv1.Modifier_MODIFIER_CONTROL,
	"option": commonv1.Modifier_MODIFIER_OPTION, "alt": commonv1.Modifier_MODIFIER_OPTION,
	"shift": commonv1.Modifier_MODIFIER_SHIFT, "fn": commonv1.Modifier_MODIFIER_FN,
	"super": commonv1.Modifier_MODIFIER_SUPER,
}

// keyNames are the named keys, by their lower-case spelling.
var keyNames = namesOf("Return", "Tab", "Space", "Escape", "Backspace", "ForwardDelete", "Insert", "Up", "Down",
	"Left", "Right", "Home", "End", "PageUp", "PageDown", "F1", "F2", "F3", "F4", "F5", "F6", "F7", "F8", "F9",
	"F10", "F11", "F12", "F13", "F14", "F15", "F16", "F17", "F18", "F19", "F20", "F21", "F22", "F23", "F24")

func namesOf(names ...string) map[string]string {
	out := make(map[string]string, len(names))
	for _, n := range names {
		out[strings.ToLower(n)] = n
	}
	return out
}

// ParseChord reads one key after zero or more modifiers joined by +. The key may be +
// itself: cmd++ is command-plus. Delete means opposite things on different platforms and
// is AMBIGUOUS_KEY; anything else that is no chord is an unusable request.
func ParseChord(text string) (Chord, error) {
	var c Chord
	mods, key := split(text)
	var down [8]bool
	for _, name := range mods {
		m, known := modifierNames[strings.ToLower(name)]
		if !known || down[m] {
			return Chord{}, errChord
		}
		down[m] = true
	}
	for m, is := range down {
		if is {
			c.Modifiers = append(c.Modifiers, commonv1.Modifier(m))
		}
	}
	lower := strings.ToLower(key)
	named, is := keyNames[lower]
	r, size := utf8.DecodeRuneInString(key)
	switch {
	case is:
		c.Key = named
	case lower == "delete" || lower == "del":
		return Chord{}, refusal.New(refusal.AmbiguousKey)
	case size == len(key) && r != utf8.RuneError && unicode.IsPrint(r) && r != ' ':
		c.Key = key
	default:
		return Chord{}, errChord
	}
	return c, nil
}

var errChord = refusal.Unusable("keys must be one key after zero or more modifiers joined by +, as in ctrl+s")

// split takes the key off the end. A + that ends the text is the key itself, and then
// what joins it to the modifiers is one more.
func split(text string) (mods []string, key string) {
	if head, plus := strings.CutSuffix(text, "+"); plus {
		joined, is := strings.CutSuffix(head, "+")
		switch {
		case head == "":
			return nil, "+"
		case !is:
			return nil, text // Ctrl+ names no key.
		default:
			return strings.Split(joined, "+"), "+"
		}
	}
	if i := strings.LastIndexByte(text, '+'); i >= 0 {
		return strings.Split(text[:i], "+"), text[i+1:]
	}
	return nil, text
}

// String returns the one spelling of the chord.
func (c Chord) String() string {
	var b strings.Builder
	for _, m := range c.Modifiers {
		b.WriteString(strings.ToLower(strings.TrimPrefix(m.String(), "MODIFIER_")))
		b.WriteByte('+')
	}
	b.WriteString(c.Key)
	return b.String()
}
