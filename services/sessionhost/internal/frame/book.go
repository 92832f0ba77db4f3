package frame

import (
	"slices"

	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/permit"
	"fairlead.dev/services/shared/refusal"
)

// Bounds of what a session remembers.
const (
	// retiredMax is how many refused acts one frame remembers. An act that was refused and
	// forgotten could be claimed again, so the frame ends before anything is forgotten.
	retiredMax = 64
	// pastMax is how many frames are remembered after they ended, to tell a duplicate from
	// a stale quote. A forgotten frame is a stale one: the answer is less exact, never yes.
	pastMax = 4
)

// Book is the frames of one session. The zero value is a session that saw nothing.
type Book struct {
	epoch   ident.Epoch
	current *Frame
	past    []*Frame // ended, oldest first
}

// Register makes an observation the current frame; the previous one ends (C2.5). The
// book takes the frame over, with a fresh id and a free claim.
func (b *Book) Register(f Frame) *Frame {
	b.end()
	if b.epoch == 0 {
		b.epoch = 1
	}
	f.Frame = ident.Frame{ID: ident.FrameID(ident.New("f")), Epoch: b.epoch}
	f.claim = claim{}
	b.current = &f
	return b.current
}

// End takes the current frame's authority away; the epoch advances.
func (b *Book) End() {
	if b.current != nil {
		b.end()
		b.epoch++
	}
}

// Current returns the current frame, or nil.
func (b *Book) Current() *Frame { return b.current }

// Find returns the quoted frame if it is still remembered, current or not: enough to
// derive an act's digest and tell a duplicate from a stale quote, never to act.
func (b *Book) Find(ref ident.Frame) *Frame {
	if b.current != nil && b.current.ID == ref.ID {
		return b.current
	}
	for _, f := range b.past {
		if f.ID == ref.ID {
			return f
		}
	}
	return nil
}

// end moves the current frame to the past. Its retired digests die with it: no act can
// be claimed on it any more, whatever it is.
func (b *Book) end() {
	if b.current == nil {
		return
	}
	b.current.retired = nil
	b.past = append(b.past, b.current)
	if len(b.past) > pastMax {
		b.past = b.past[1:]
	}
	b.current = nil
}

// Bind is how an act is bound to the quoted frame: its digest, or why it cannot be. It
// may be asked about a frame that ended, so it must change nothing.
type Bind func(*Frame) (permit.Digest, *refusal.Error)

// Claim takes the frame's single slot for an act. The order of refusal is fixed (C3.4);
// the first that holds is told:
//
//  1. DUPLICATE_ACTION: the same act was consumed on the quoted frame. Known as long as
//     the frame is remembered, because it is the one thing a caller must not misread: the
//     act was sent.
//  2. RETIRED_ACTION: the same act was refused on the quoted frame, which is current.
//  3. INVALID_BINDING: the act does not belong to the quoted frame, current or remembered.
//  4. NO_ACTIVE_FRAME, STALE_EPOCH, STALE_FRAME: the quoted frame is not the current one.
//  5. Whatever else bind said. It comes after staleness because its next move, such as
//     another point in the picture, would be wrong advice on a frame that is over.
//  6. ACTION_IN_PROGRESS: another act holds the slot.
func (b *Book) Claim(ref ident.Frame, bind Bind) (*Frame, permit.Digest, *refusal.Error) {
	f := b.Find(ref)
	if f == nil {
		return nil, permit.Digest{}, b.stale(ref)
	}
	d, unbound := bind(f)
	switch {
	case unbound == nil && f.spentBy != nil && *f.spentBy == d:
		return nil, d, refusal.New(refusal.DuplicateAction)
	case unbound == nil && slices.Contains(f.retired, d):
		return nil, d, refusal.New(refusal.RetiredAction)
	case unbound != nil && unbound.Code == refusal.InvalidBinding:
		return nil, d, unbound
	}
	if why := b.stale(ref); why != nil {
		return nil, d, why
	}
	switch {
	case unbound != nil:
		return nil, d, unbound
	case f.taken:
		return nil, d, refusal.New(refusal.ActionInProgress)
	}
	f.taken = true
	return f, d, nil
}

// stale says why a quote does not name the current frame, or nil if it does.
func (b *Book) stale(ref ident.Frame) *refusal.Error {
	switch f := b.current; {
	case f == nil:
		return refusal.New(refusal.NoActiveFrame)
	case ref.Epoch != f.Epoch:
		return refusal.New(refusal.StaleEpoch)
	case ref.ID != f.ID:
		return refusal.New(refusal.StaleFrame)
	default:
		return nil
	}
}

// The three ends of a claim (C3.5). The frame may have ended while the claim was held, by
// another observation or a stop, and a newer one may be current: then only the frame that
// was claimed learns how it ended, and the newer one keeps its own claim and its authority.

// Consume ends a claim: the act was, or may have been, dispatched. The frame is spent
// and the epoch advances.
func (b *Book) Consume(f *Frame, d permit.Digest) {
	f.taken = false
	f.spentBy = &d
	if b.current == f {
		b.End()
	}
}

// Retire ends a claim: someone looked at the target and refused, and nothing was
// sent. The same act on this frame is refused from now on. When the frame can remember no
// more refused acts it ends instead, and the caller observes again.
func (b *Book) Retire(f *Frame, d permit.Digest) {
	f.taken = false
	switch {
	case b.current != f:
	case len(f.retired) == retiredMax:
		b.End()
	default:
		f.retired = append(f.retired, d)
	}
}

// Return ends a claim: nobody looked at the target. The same act may be claimed again.
func (b *Book) Return(f *Frame) { f.taken = false }
