// Package frame keeps the frames of one session and the claim on the current one
// (C2.5, C3). A frame is the only authority to act; a claim ends in exactly one of
// consumed, retired or returned. Everything here is one step of the session: no
// clocks, no waits, no I/O.
package frame

import (
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/permit"
	"fairlead.dev/services/shared/refusal"
)

// Bounds of what a session remembers.
const (
	retiredMax = 64 // digests of acts refused on one frame
	pastMax    = 4  // frames remembered after they ended, to tell duplicate from stale
)

// Element is what an act needs of one element of a frame.
type Element struct {
	Token  ident.Token
	Digest ident.Digest
	Role   int32
	Secure bool
}

// Frame is one registered observation.
type Frame struct {
	ident.Frame
	Snapshot   ident.SnapshotID
	Executor   ident.Generation
	Window     ident.Window
	Root       uint64 // toplevel at the root of the surface group: the lane key (C4.2)
	Page       ident.Page
	Elements   map[uint32]Element // by stable id
	HasPicture bool
	// Wanted repeats how the frame was asked for; the observation after an act follows it.
	Wanted any

	spentBy *permit.Digest
	retired []permit.Digest
	claimed bool
}

// Book is the frames of one session. The zero value is a session that saw nothing.
type Book struct {
	epoch   ident.Epoch
	current *Frame
	past    []*Frame
}

// Register makes an observation the current frame; the previous one ends.
func (b *Book) Register(f Frame) *Frame {
	b.retireCurrent()
	if b.epoch == 0 {
		b.epoch = 1
	}
	f.Frame = ident.Frame{ID: ident.FrameID(ident.New("f")), Epoch: b.epoch}
	b.current = &f
	return b.current
}

// End takes the current frame's authority away; the epoch advances.
func (b *Book) End() {
	if b.current != nil {
		b.retireCurrent()
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

func (b *Book) retireCurrent() {
	if b.current == nil {
		return
	}
	b.past = append(b.past, b.current)
	if len(b.past) > pastMax {
		b.past = b.past[1:]
	}
	b.current = nil
}

// Bind is how an act is bound to the quoted frame: its digest, or why it cannot be.
type Bind func(*Frame) (permit.Digest, *refusal.Error)

// Claim takes the frame's single slot for an act. The order of refusal is fixed
// (C3.4): already consumed, binding mismatch, no active frame, stale epoch, stale
// frame, already claimed.
func (b *Book) Claim(ref ident.Frame, bind Bind) (*Frame, permit.Digest, *refusal.Error) {
	var digest permit.Digest
	if f := b.Find(ref); f != nil {
		d, why := bind(f)
		if f.spentBy != nil && why == nil && *f.spentBy == d {
			return nil, d, refusal.New(refusal.DuplicateAction)
		}
		if f == b.current && why == nil && has(f.retired, d) {
			return nil, d, refusal.New(refusal.RetiredAction)
		}
		if why != nil && f == b.current {
			return nil, d, why
		}
		digest = d
	}
	switch f := b.current; {
	case f == nil:
		return nil, digest, refusal.New(refusal.NoActiveFrame)
	case ref.Epoch != f.Epoch:
		return nil, digest, refusal.New(refusal.StaleEpoch)
	case ref.ID != f.ID:
		return nil, digest, refusal.New(refusal.StaleFrame)
	case f.claimed:
		return nil, digest, refusal.New(refusal.ActionInProgress)
	default:
		f.claimed = true
		return f, digest, nil
	}
}

// Consume ends a claim: the act was, or may have been, dispatched. The frame is spent
// and the epoch advances.
func (b *Book) Consume(f *Frame, d permit.Digest) {
	f.claimed = false
	f.spentBy = &d
	if b.current == f {
		b.End()
	}
}

// Retire ends a claim: someone looked at the target and refused, and nothing was
// sent. The same act on this frame is refused from now on.
func (b *Book) Retire(f *Frame, d permit.Digest) {
	f.claimed = false
	if len(f.retired) == retiredMax {
		f.retired = f.retired[1:]
	}
	f.retired = append(f.retired, d)
}

// Return ends a claim: nobody looked at the target. The same act may be claimed again.
func (b *Book) Return(f *Frame) { f.claimed = false }

func has(list []permit.Digest, d permit.Digest) bool {
	for _, x := range list {
		if x == d {
			return true
		}
	}
	return false
}
