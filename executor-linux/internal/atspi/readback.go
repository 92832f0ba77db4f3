package atspi

import (
	"context"
	"unicode/utf8"
)

// Text is a text as far as it was read.
type Text struct {
	Text string
	// Len is the application's count of characters of the whole text.
	Len int
}

// Whole says whether all of the text was read.
func (t Text) Whole() bool { return utf8.RuneCountInString(t.Text) == t.Len }

// textTries is how often a text that changes while it is read is read again.
const textTries = 3

// ReadText reads at most limit characters of the element's text. A secure field is ErrSecure; nothing is asked of it.
func (c *Client) ReadText(ctx context.Context, ref Ref, limit int) (Text, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, rereadTime, ErrUnresponsive)
	defer cancel()
	if limit <= 0 || limit > readTextMax {
		return Text{}, ErrInvalid
	}
	if _, _, err := c.ready(ctx, ref, HasText); err != nil {
		return Text{}, err
	}
	count, err := c.textLen(ctx, ref)
	if err != nil {
		return Text{}, err
	}
	for range textTries {
		if count == 0 {
			return Text{}, nil
		}
		// The count is asked for again behind the text: equal counts say that the text was not shortened between.
		got := c.batch(ctx, callTime, []request{
			method(ref, "Text.GetText", int32(0), int32(min(count, limit))), get(ref, "Text", "CharacterCount"),
		})
		if got[0].err != nil {
			return Text{}, optional(got[0].err)
		}
		s, okText := asString(got[0].body)
		again, okCount := asInt(got[1].body)
		if !okText || !okCount || got[1].err != nil {
			return Text{}, ErrProtocol
		}
		if again == count {
			short, _ := cut(s, limit)
			return Text{Text: short, Len: count}, nil
		}
		count = max(again, 0)
	}
	return Text{}, ErrUnresponsive
}

// textLen reads the number of characters, without which no text may be asked for.
func (c *Client) textLen(ctx context.Context, ref Ref) (int, error) {
	a := c.one(ctx, callTime, get(ref, "Text", "CharacterCount"))
	if a.err != nil {
		return 0, optional(a.err)
	}
	count, ok := asInt(a.body)
	if !ok || count < 0 {
		return 0, ErrProtocol
	}
	return count, nil
}

// ReadValue reads the element's number with its range.
func (c *Client) ReadValue(ctx context.Context, ref Ref) (Value, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, rereadTime, ErrUnresponsive)
	defer cancel()
	n, kit, err := c.ready(ctx, ref, HasValue)
	if err != nil {
		return Value{}, err
	}
	n.Interfaces = HasValue
	nodes := []Node{n}
	if err := c.fill(ctx, kit, Limits{}.normal(), nodes, Ref{}); err != nil {
		return Value{}, err
	}
	if nodes[0].Value == nil {
		return Value{}, ErrUnsupported
	}
	return *nodes[0].Value, nil
}

// ReadStates reads the element's states; of a defunct element that is ErrGone.
func (c *Client) ReadStates(ctx context.Context, ref Ref) (State, error) {
	if !ref.valid() {
		return 0, ErrInvalid
	}
	ctx, cancel := context.WithTimeoutCause(ctx, rereadTime, ErrUnresponsive)
	defer cancel()
	kit, err := c.toolkitOf(ctx, aliveTime, ref.Bus)
	if err != nil {
		return 0, err
	}
	got := c.batch(ctx, callTime, []request{method(ref, "Accessible.GetRole"), method(ref, "Accessible.GetState")})
	for _, a := range got {
		if a.err != nil {
			return 0, basic(a.err)
		}
	}
	role, ok := asUint(got[0].body)
	if !ok || len(got[1].body) != 1 {
		return 0, ErrProtocol
	}
	bits, ok := asBits(got[1].body[0])
	if !ok {
		return 0, ErrProtocol
	}
	s := statesOf(kit, roleOf(role), bits)
	if s.Has(StateDefunct) {
		return s, ErrGone
	}
	return s, nil
}

// claimsMax bounds how many elements are asked whether they have the focus; honest trees have one or two claimants.
const claimsMax = 8

// FocusedElement asks the elements that claimed the focus in the tree again and returns the index of the one that has
// it now. None or several are no answer (C2.3); focus that moved to an element that did not claim it is not found.
func (c *Client) FocusedElement(ctx context.Context, t *Tree) (int, bool, error) {
	found, count, claims := -1, 0, 0
	for i := range t.Nodes {
		if !t.Nodes[i].States.Has(StateFocused) {
			continue
		}
		if claims++; claims > claimsMax {
			return -1, false, nil
		}
		s, err := c.ReadStates(ctx, t.Nodes[i].Ref)
		if err != nil && err != ErrGone {
			return -1, false, err
		}
		if err == nil && s.Has(StateFocused) {
			found, count = i, count+1
		}
	}
	return found, count == 1, nil
}
