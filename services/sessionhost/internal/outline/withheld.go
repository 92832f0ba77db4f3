package outline

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The placeholders an agent may see in place of a value are this closed set (C3.8). They
// stand outside the quotes, so no application can write one.

// WithheldSecure stands for the value of a secure field (C2.10).
const WithheldSecure = "[withheld: secure field]"

// WithheldLong is the mark behind the quotes of a text of which n characters are not
// shown.
func WithheldLong(n int) string { return "+" + strconv.Itoa(n) }

// Withheld reports whether an argument is one of the placeholders: the one of secure
// fields, in any case and in any quotes, or a text as it is shown when its rest is not,
// with quotes and mark. A text that only has a placeholder in it is not one.
func Withheld(s string) bool {
	s = strings.TrimSpace(s)
	bare := strings.TrimFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune("\"'`=\\\u2018\u2019\u201c\u201d\u00ab\u00bb", r)
	})
	if strings.EqualFold(strings.Join(strings.Fields(bare), " "), WithheldSecure) {
		return true
	}
	return shownLong(s)
}

// shownLong reports whether s is what quote writes of a text that is too long.
func shownLong(s string) bool {
	quoted := strings.TrimRight(s, "0123456789")
	text, marked := strings.CutSuffix(quoted, "+")
	if !marked || len(quoted) == len(s) || !strings.HasPrefix(text, `"`) || !strings.HasSuffix(text, `"`) {
		return false
	}
	shown, err := strconv.Unquote(text)
	return err == nil && utf8.RuneCountInString(shown) == shownMax
}
