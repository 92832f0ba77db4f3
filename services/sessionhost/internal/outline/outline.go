// Package outline writes the text the agent reads: one line per element, indented by
// depth, or one line per change against a frame that the agent has read (C2.4).
// Everything an application said stands in quotes with controls escaped, so that it
// cannot imitate structure (C10.8). What is cut says so (C0.10), and what is withheld is
// told by one of a closed set of placeholders, which are recognised when they come back
// as an argument (C3.8). Nothing here keeps state or starts a goroutine.
package outline

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of the text.
const (
	// TextMax is the longest outline in bytes.
	TextMax = 48_000
	// shownMax is how many characters of a name or value are shown.
	shownMax = 256
)

// Line is one element.
type Line struct {
	ID    uint32
	Depth uint32
	Role  string
	Name  string
	Value string
	// Withheld says that the element is a secure field: the placeholder is shown in place of
	// its value, whatever Value holds (C2.10).
	Withheld bool
	Facts    []string // states worth saying, in words of ours
	Actions  []string // actions beyond press
}

// Head is the first line: which window this is.
type Head struct {
	Title, App string
	Notes      []string // sentences of ours
}

// Write returns the outline and how many elements did not fit.
func Write(h Head, lines []Line) (text string, cut int) {
	var b strings.Builder
	b.Grow(64 * (len(lines) + 2))
	writeHead(&b, h, "")
	for i, l := range lines {
		start := b.Len()
		for range l.Depth {
			b.WriteString("  ")
		}
		writeElement(&b, l)
		b.WriteByte('\n')
		if b.Len() > TextMax {
			cut = len(lines) - i
			return b.String()[:start] + "note: " + strconv.Itoa(cut) +
				" more elements exist but are not listed\n", cut
		}
	}
	return b.String(), 0
}

// writeHead writes the first line, which ends in words of ours, and the notes.
func writeHead(b *strings.Builder, h Head, end string) {
	b.WriteString("window ")
	quote(b, h.Title)
	b.WriteString(" of ")
	quote(b, h.App)
	b.WriteString(end)
	b.WriteByte('\n')
	for _, n := range h.Notes {
		b.WriteString("note: ")
		b.WriteString(n)
		b.WriteByte('\n')
	}
}

func writeElement(b *strings.Builder, l Line) {
	writeID(b, l.ID)
	b.WriteByte(' ')
	b.WriteString(l.Role)
	if l.Name != "" {
		b.WriteByte(' ')
		quote(b, l.Name)
	}
	switch {
	case l.Withheld:
		b.WriteString(" = " + WithheldSecure)
	case l.Value != "" && l.Value != l.Name:
		b.WriteString(" = ")
		quote(b, l.Value)
	}
	list(b, " (", l.Facts, ")")
	list(b, " {", l.Actions, "}")
}

func writeID(b *strings.Builder, id uint32) {
	b.WriteByte('[')
	var digits [20]byte
	b.Write(strconv.AppendUint(digits[:0], uint64(id), 10))
	b.WriteByte(']')
}

func list(b *strings.Builder, open string, words []string, end string) {
	if len(words) == 0 {
		return
	}
	b.WriteString(open)
	for i, w := range words {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(w)
	}
	b.WriteString(end)
}

// quote puts application text in quotes on one line. Text that is too long ends in a
// visible mark outside the quotes.
func quote(b *strings.Builder, s string) {
	over := 0
	if len(s) > shownMax {
		if n := utf8.RuneCountInString(s); n > shownMax {
			s, over = string([]rune(s)[:shownMax]), n-shownMax
		}
	}
	if plain(s) {
		b.WriteByte('"')
		b.WriteString(s)
		b.WriteByte('"')
	} else {
		b.WriteString(strconv.Quote(s))
	}
	if over > 0 {
		b.WriteString(WithheldLong(over))
	}
}

// plain reports whether s needs no escaping. Bidirectional controls and other format
// characters are not graphic and are escaped: they could reorder what is read.
func plain(s string) bool {
	for _, r := range s {
		if r >= ' ' && r < 0x7f && r != '"' && r != '\\' {
			continue
		}
		if r == '"' || r == '\\' || r == utf8.RuneError || !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}
