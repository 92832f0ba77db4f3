package virtualdesk

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
)

// Editing of texts. Positions are in characters; the selection is what lies between
// anchor and caret.

// content is the text an element holds, a secret included: it is only for editing it.
func (e *element) content() []rune {
	if e.secure {
		return []rune(e.secret)
	}
	return []rune(e.value)
}

func (e *element) setContent(text []rune) {
	if e.secure {
		e.secret = string(text)
		return
	}
	e.value = string(text)
}

// selected is the selection, inside a text of n characters.
func (e *element) selected(n int) (from, to int) {
	a, c := min(e.anchor, n), min(e.caret, n)
	return min(a, c), max(a, c)
}

func (e *element) selectRange(from, to int) { e.anchor, e.caret = from, to }

func (e *element) selectAll() { e.selectRange(0, len(e.content())) }

// caretEnd puts the caret behind the text, with nothing selected.
func (e *element) caretEnd() {
	n := len(e.content())
	e.selectRange(n, n)
}

// insert puts a text in the place of the selection, and the caret behind it.
func (e *element) insert(s string) {
	text, added := e.content(), []rune(s)
	from, to := e.selected(len(text))
	e.setContent(slices.Concat(text[:from], added, text[to:]))
	e.selectRange(from+len(added), from+len(added))
}

// erase takes the selection away, or a character before or behind the caret.
func (e *element) erase(before bool) {
	n := len(e.content())
	from, to := e.selected(n)
	switch {
	case from != to:
	case before && from > 0:
		from--
	case !before && to < n:
		to++
	}
	e.selectRange(from, to)
	e.insert("")
}

// move puts the caret somewhere; with extend the selection grows up to it.
func (e *element) move(to int, extend bool) {
	e.caret = min(max(to, 0), len(e.content()))
	if !extend {
		e.anchor = e.caret
	}
}

// line is where the caret's line begins and ends.
func line(text []rune, caret int) (from, to int) {
	from, to = caret, caret
	for from > 0 && text[from-1] != '\n' {
		from--
	}
	for to < len(text) && text[to] != '\n' {
		to++
	}
	return from, to
}

// vertical is where the caret comes to one line further up or down.
func vertical(text []rune, caret int, down bool) int {
	from, to := line(text, caret)
	column := caret - from
	switch {
	case !down && from == 0:
		return 0
	case !down:
		above, _ := line(text, from-1)
		return min(above+column, from-1)
	case to == len(text):
		return to
	}
	_, end := line(text, to+1)
	return min(to+1+column, end)
}

// word is the run of characters of one kind around a position.
func word(text []rune, at int) (from, to int) {
	if len(text) == 0 {
		return 0, 0
	}
	at = min(at, len(text)-1)
	kind := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	from, to = at, at+1
	for from > 0 && kind(text[from-1]) == kind(text[at]) {
		from--
	}
	for to < len(text) && kind(text[to]) == kind(text[at]) {
		to++
	}
	return from, to
}

// caretAt is the position in the text under a point of the surface. The font has one width.
func (e *element) caretAt(x, y float64) int {
	text := e.content()
	if !e.has(commonv1.ElementState_ELEMENT_STATE_MULTILINE) {
		return min(max(int((x-e.bounds.X-8)/charW+0.5), 0), len(text))
	}
	from := 0
	for row := int((y - e.bounds.Y - 5) / 20); row > 0; row-- {
		_, to := line(text, from)
		if to == len(text) {
			break
		}
		from = to + 1
	}
	_, to := line(text, from)
	return min(from+max(int((x-e.bounds.X-8)/charW+0.5), 0), to)
}

// fitLines makes a text one line, character by character, where the element takes no more.
func (e *element) fitLines(text string) string {
	if e.takesText && !e.has(commonv1.ElementState_ELEMENT_STATE_MULTILINE) {
		return strings.NewReplacer("\n", " ", "\r", " ").Replace(text)
	}
	return text
}

// typing says what typed text does to what is there.
type typing int

const (
	typingAtCaret typing = iota
	typingReplaces
	typingAppends
)

// takesTyping says whether an element takes text from a keyboard.
func takesTyping(e *element) bool { return e.takesText || e.hooks.text != nil }

// typed is what text from a keyboard does to an element.
func (d *Desk) typed(e *element, text string, how typing) {
	if e.hooks.text != nil {
		e.hooks.text(d, e, text, how == typingReplaces)
		return
	}
	switch how {
	case typingReplaces:
		e.selectAll()
	case typingAppends:
		e.caretEnd()
	}
	e.insert(e.fitLines(text))
	run(d, e, e.hooks.change)
}

// cutRunes splits a text behind a number of characters, never inside one (C8.5).
func cutRunes(s string, n int) (head, rest string) {
	head = cutText(s, n)
	return head, s[len(head):]
}

func characters(s string) int { return utf8.RuneCountInString(s) }
