package outline

import (
	"strconv"
	"strings"
)

// ChangeKind is what happened to an element.
type ChangeKind uint8

// The kinds.
const (
	// Removed is an element that is gone. What was in it is told by itself.
	Removed ChangeKind = iota + 1
	// Changed is an element in its old place that looks different.
	Changed
	// Added is an element that was not there.
	Added
	// Moved is an element in another place, with what is in it.
	Moved
)

// ChangeLine is one change. The place of an added or moved element is the element it is
// in and the one before it there; zero is at the top, and first.
type ChangeLine struct {
	Line         // of a removed element only the ID is told; Depth is never
	Kind         ChangeKind
	Under, After uint32
}

// WriteChanges returns what changed since the frame base, a frame id of ours, in the
// order of the lines, and how many changes did not fit.
func WriteChanges(h Head, base string, lines []ChangeLine) (text string, cut int) {
	var b strings.Builder
	b.Grow(64 * (len(lines) + 2))
	writeHead(&b, h, ": only what changed since frame "+base)
	if len(lines) == 0 {
		b.WriteString("nothing changed\n")
	}
	for i, l := range lines {
		start := b.Len()
		writeChange(&b, l)
		if b.Len() > TextMax {
			cut = len(lines) - i
			return b.String()[:start] + "note: " + strconv.Itoa(cut) +
				" more changes exist but are not listed; observe to see the whole window\n", cut
		}
	}
	return b.String(), 0
}

func writeChange(b *strings.Builder, l ChangeLine) {
	switch l.Kind {
	case Removed:
		b.WriteString("- ")
		writeID(b, l.ID)
	case Added:
		b.WriteString("+ ")
		writeElement(b, l.Line)
		writePlace(b, l)
	case Moved:
		b.WriteString("> ")
		writeElement(b, l.Line)
		b.WriteString(" now")
		writePlace(b, l)
	default:
		b.WriteString("~ ")
		writeElement(b, l.Line)
	}
	b.WriteByte('\n')
}

func writePlace(b *strings.Builder, l ChangeLine) {
	if l.After == 0 {
		b.WriteString(" first")
	}
	if l.Under == 0 {
		b.WriteString(" at the top")
	} else {
		b.WriteString(" under ")
		writeID(b, l.Under)
	}
	if l.After != 0 {
		b.WriteString(" after ")
		writeID(b, l.After)
	}
}
