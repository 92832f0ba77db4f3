package refetch

import (
	"testing"

	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
)

func TestFind(t *testing.T) {
	a := Signature{Digest: ident.Digest{1}, Value: "v", X: 1, Y: 2, W: 3, H: 4, Depth: 2, Renderer: 5}
	b := Signature{Digest: ident.Digest{2}}
	with := func(edit func(*Signature)) Signature {
		s := a
		edit(&s)
		return s
	}
	cases := []struct {
		name     string
		old, now []Signature
		want     Result
	}{
		{"same place", []Signature{a, b}, []Signature{a, b}, Result{Index: 0, Candidates: 1}},
		{"other index", []Signature{a, b}, []Signature{b, b, a}, Result{Index: 2, Candidates: 1}},
		{"missing", []Signature{a, b}, []Signature{b}, Result{Answer: refusal.AnswerElementReleased}},
		{"twins now", []Signature{a, b}, []Signature{a, a}, Result{Answer: refusal.AnswerElementAmbiguous, Candidates: 2}},
		{"twins before", []Signature{a, a}, []Signature{a}, Result{Answer: refusal.AnswerElementAmbiguous, Candidates: 2}},
		{
			"other value",
			[]Signature{a},
			[]Signature{with(func(s *Signature) { s.Value = "x" })},
			Result{Answer: refusal.AnswerElementReleased},
		},
		{
			"moved",
			[]Signature{a},
			[]Signature{with(func(s *Signature) { s.X++ })},
			Result{Answer: refusal.AnswerElementReleased},
		},
		{
			"deeper",
			[]Signature{a},
			[]Signature{with(func(s *Signature) { s.Depth++ })},
			Result{Answer: refusal.AnswerElementReleased},
		},
		{
			"other renderer",
			[]Signature{a},
			[]Signature{with(func(s *Signature) { s.Renderer++ })},
			Result{Answer: refusal.AnswerElementReleased},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := Find(c.old, 0, c.now); got != c.want {
				t.Fatalf("got %+v, want %+v", got, c.want)
			}
		})
	}
}
