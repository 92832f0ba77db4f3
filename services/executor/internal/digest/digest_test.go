package digest

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func button() Element {
	return Element{
		Role: 12, Subrole: "s", Identifier: "i", Name: "n", Description: "d", Enabled: true, Actions: 2,
		Ancestors: [AncestorsMax]int32{46, 1}, Depth: 2, Value: "v",
	}
}

// What is in the content digest, and what is not (C6.2).
func TestWhatCounts(t *testing.T) {
	cases := []struct {
		name   string
		edit   func(*Element)
		counts bool
	}{
		{"role", func(e *Element) { e.Role++ }, true},
		{"subrole", func(e *Element) { e.Subrole = "x" }, true},
		{"identifier", func(e *Element) { e.Identifier = "x" }, true},
		{"name", func(e *Element) { e.Name = "x" }, true},
		{"description", func(e *Element) { e.Description = "x" }, true},
		{"secure", func(e *Element) { e.Secure = true }, true},
		{"enabled", func(e *Element) { e.Enabled = false }, true},
		{"actions", func(e *Element) { e.Actions |= 4 }, true},
		{"ancestor", func(e *Element) { e.Ancestors[1] = 2 }, true},
		{"an ancestor more", func(e *Element) { e.Depth++ }, true},
		{"fixed value", func(e *Element) { e.Value = "x" }, true},
		{"beyond the ancestors", func(e *Element) { e.Ancestors[7] = 9 }, false},
		{"beyond the text limit", func(e *Element) { e.Name = strings.Repeat("é", 500) }, true},
	}
	h := NewKeys().Hasher()
	base := button()
	want := h.Element(&base)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			e := button()
			c.edit(&e)
			if changed := h.Element(&e) != want; changed != c.counts {
				t.Fatalf("changed the digest: %v, want %v", changed, c.counts)
			}
		})
	}
}

func TestValueTheUserCanEditDoesNotCount(t *testing.T) {
	h := NewKeys().Hasher()
	for _, edit := range []func(*Element){
		func(e *Element) { e.Editable = true }, func(e *Element) { e.Secure = true },
	} {
		a, b := button(), button()
		edit(&a)
		edit(&b)
		b.Value = "other"
		if h.Element(&a) != h.Element(&b) {
			t.Fatal("the value counts")
		}
	}
}

func TestLongTextsCountAsFarAsEveryWalkReads(t *testing.T) {
	h := NewKeys().Hasher()
	a, b := button(), button()
	a.Name = strings.Repeat("é", 500)
	b.Name = a.Name + "more"
	if h.Element(&a) != h.Element(&b) {
		t.Fatal("text beyond the limit counts")
	}
}

func TestKeysDiffer(t *testing.T) {
	e := button()
	a, b := NewKeys(), NewKeys()
	if a.Hasher().Element(&e) == b.Hasher().Element(&e) || a.Object("x", 0) == b.Object("x", 0) {
		t.Fatal("another incarnation has other digests")
	}
	if a.Object("x", 0) == a.Object("x", 1) || a.Object("x", 0) == a.Object("y", 0) {
		t.Fatal("other objects and renderers have other hashes")
	}
}

// The reference implementation's own vector (key and message 00 01 02 ...), with the
// number in front as the first eight bytes.
func TestSipVector(t *testing.T) {
	key := [2]uint64{0x0706050403020100, 0x0f0e0d0c0b0a0908}
	if got := sip(key, "\x08\x09\x0a\x0b\x0c\x0d\x0e", 0x0706050403020100); got != 0xa129ca6149be45e5 {
		t.Fatalf("got %x", got)
	}
}

func TestFieldsCannotRunIntoEachOther(t *testing.T) {
	h := NewKeys().Hasher()
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.StringN(0, 6, -1)
		a := Element{Name: text.Draw(rt, "name"), Description: text.Draw(rt, "description"), Value: text.Draw(rt, "value")}
		b := Element{Name: text.Draw(rt, "name2"), Description: text.Draw(rt, "description2"), Value: text.Draw(rt, "value2")}
		if (a == b) != (h.Element(&a) == h.Element(&b)) {
			rt.Fatalf("%q and %q", fmt.Sprint(a), fmt.Sprint(b))
		}
	})
}

func TestNoGarbagePerElement(t *testing.T) {
	k := NewKeys()
	h, e := k.Hasher(), button()
	h.Element(&e)
	if n := testing.AllocsPerRun(100, func() { h.Element(&e); k.Object("object-17", 3) }); n > 0 {
		t.Fatalf("%v allocations", n)
	}
}

func BenchmarkElement(b *testing.B) {
	k := NewKeys()
	h := k.Hasher()
	e := button()
	e.Name, e.Identifier, e.Depth = "A button of ordinary length", "ordinary-identifier", 8
	for b.Loop() {
		h.Element(&e)
	}
}

func BenchmarkObject(b *testing.B) {
	k := NewKeys()
	for b.Loop() {
		k.Object("/org/a11y/atspi/accessible/1234", 3)
	}
}
