// Package refetch decides whether an element that lost its reference is still there
// (C6.2): a replacement is accepted only if exactly one element has the full
// signature of the recorded one, and exactly one had it when it was recorded. It is a
// pure function over two lists.
package refetch

import (
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
)

// Signature is everything that must be the same: the content digest, and also value,
// rectangle, depth and the renderer generation.
type Signature struct {
	Digest     ident.Digest
	Value      string
	X, Y, W, H float64
	Depth      int
	Renderer   uint64
}

// Result is what was found.
type Result struct {
	// Index of the replacement in the new list.
	Index int
	// Answer is zero when there is exactly one.
	Answer refusal.Answer
	// Candidates is how many there were.
	Candidates int
}

// Find looks for the element that old[index] was.
func Find(old []Signature, index int, now []Signature) Result {
	want := old[index]
	found, candidates := first(now, want)
	_, twins := first(old, want)
	switch {
	case candidates == 0:
		return Result{Answer: refusal.AnswerElementReleased}
	case candidates > 1 || twins > 1:
		return Result{Answer: refusal.AnswerElementAmbiguous, Candidates: max(candidates, twins)}
	default:
		return Result{Index: found, Candidates: 1}
	}
}

func first(list []Signature, want Signature) (index, count int) {
	for i := range list {
		if list[i] != want {
			continue
		}
		if count == 0 {
			index = i
		}
		count++
	}
	return index, count
}
