package frame

import (
	"encoding/binary"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/permit"
	"fairlead.dev/services/shared/refusal"
)

func digest(n int) (d permit.Digest) {
	binary.BigEndian.PutUint64(d[:], uint64(n))
	return d
}

// as binds to an act, whatever the frame.
func as(n int) Bind {
	return func(*Frame) (permit.Digest, *refusal.Error) { return digest(n), nil }
}

// not binds to nothing.
func not(c refusal.Code) Bind {
	return func(*Frame) (permit.Digest, *refusal.Error) { return permit.Digest{}, refusal.New(c) }
}

// take claims what must be free.
func take(t *testing.T, b *Book, ref ident.Frame, n int) *Frame {
	t.Helper()
	f, d, no := b.Claim(ref, as(n))
	if no != nil || d != digest(n) {
		t.Fatalf("claim: %v", code(no))
	}
	return f
}

func TestClaimRefusesInTheContractsOrder(t *testing.T) {
	type quote struct {
		ref  ident.Frame
		bind Bind
	}
	for _, tc := range []struct {
		name string
		make func(*testing.T, *Book) quote
		want refusal.Code
	}{
		{"nothing observed", func(*testing.T, *Book) quote {
			return quote{ident.Frame{ID: "f-x", Epoch: 1}, as(1)}
		}, refusal.NoActiveFrame},
		{"duplicate before no active frame", func(t *testing.T, b *Book) quote {
			f := take(t, b, b.Register(Frame{}).Frame, 1)
			b.Consume(f, digest(1))
			return quote{f.Frame, as(1)}
		}, refusal.DuplicateAction},
		{"duplicate before stale epoch", func(t *testing.T, b *Book) quote {
			f := take(t, b, b.Register(Frame{}).Frame, 1)
			b.Consume(f, digest(1))
			b.Register(Frame{})
			return quote{f.Frame, as(1)}
		}, refusal.DuplicateAction},
		{"consumed after the frame ended is a duplicate too", func(t *testing.T, b *Book) quote {
			f := take(t, b, b.Register(Frame{}).Frame, 1)
			b.Register(Frame{})
			b.Consume(f, digest(1))
			return quote{f.Frame, as(1)}
		}, refusal.DuplicateAction},
		{"another act on a spent frame is a stale epoch", func(t *testing.T, b *Book) quote {
			f := take(t, b, b.Register(Frame{}).Frame, 1)
			b.Consume(f, digest(1))
			b.Register(Frame{})
			return quote{f.Frame, as(2)}
		}, refusal.StaleEpoch},
		{"a spent frame long ago is a stale epoch", func(t *testing.T, b *Book) quote {
			f := take(t, b, b.Register(Frame{}).Frame, 1)
			b.Consume(f, digest(1))
			for range pastMax + 1 {
				b.Register(Frame{})
			}
			return quote{f.Frame, as(1)}
		}, refusal.StaleEpoch},
		{"retired", func(t *testing.T, b *Book) quote {
			f := take(t, b, b.Register(Frame{}).Frame, 1)
			b.Retire(f, digest(1))
			return quote{f.Frame, as(1)}
		}, refusal.RetiredAction},
		{"retired before in progress", func(t *testing.T, b *Book) quote {
			f := take(t, b, b.Register(Frame{}).Frame, 1)
			b.Retire(f, digest(1))
			take(t, b, f.Frame, 2)
			return quote{f.Frame, as(1)}
		}, refusal.RetiredAction},
		{"retired dies with the frame", func(t *testing.T, b *Book) quote {
			f := take(t, b, b.Register(Frame{}).Frame, 1)
			b.Retire(f, digest(1))
			b.Register(Frame{})
			return quote{f.Frame, as(1)}
		}, refusal.StaleFrame},
		{"another act after a retired one", func(t *testing.T, b *Book) quote {
			f := take(t, b, b.Register(Frame{}).Frame, 1)
			b.Retire(f, digest(1))
			return quote{f.Frame, as(2)}
		}, 0},
		{"the same act after a returned one", func(t *testing.T, b *Book) quote {
			f := take(t, b, b.Register(Frame{}).Frame, 1)
			b.Return(f)
			return quote{f.Frame, as(1)}
		}, 0},
		{"wrong binding", func(_ *testing.T, b *Book) quote {
			return quote{b.Register(Frame{}).Frame, not(refusal.InvalidBinding)}
		}, refusal.InvalidBinding},
		{"wrong binding before in progress", func(t *testing.T, b *Book) quote {
			f := take(t, b, b.Register(Frame{}).Frame, 1)
			return quote{f.Frame, not(refusal.InvalidBinding)}
		}, refusal.InvalidBinding},
		{"wrong binding before no active frame", func(_ *testing.T, b *Book) quote {
			f := b.Register(Frame{})
			b.End()
			return quote{f.Frame, not(refusal.InvalidBinding)}
		}, refusal.InvalidBinding},
		{"wrong binding before stale frame", func(_ *testing.T, b *Book) quote {
			f := b.Register(Frame{})
			b.Register(Frame{})
			return quote{f.Frame, not(refusal.InvalidBinding)}
		}, refusal.InvalidBinding},
		{"no point is advised on a stale frame", func(_ *testing.T, b *Book) quote {
			f := b.Register(Frame{})
			b.Register(Frame{})
			return quote{f.Frame, not(refusal.InvalidCoordinate)}
		}, refusal.StaleFrame},
		{"unbound on the current frame", func(_ *testing.T, b *Book) quote {
			return quote{b.Register(Frame{}).Frame, not(refusal.InvalidCoordinate)}
		}, refusal.InvalidCoordinate},
		{"unbound before in progress", func(t *testing.T, b *Book) quote {
			f := take(t, b, b.Register(Frame{}).Frame, 1)
			return quote{f.Frame, not(refusal.NoPicture)}
		}, refusal.NoPicture},
		{"observed again: stale frame, same epoch", func(_ *testing.T, b *Book) quote {
			f := b.Register(Frame{})
			b.Register(Frame{})
			return quote{f.Frame, as(1)}
		}, refusal.StaleFrame},
		{"wrong epoch", func(_ *testing.T, b *Book) quote {
			ref := b.Register(Frame{}).Frame
			ref.Epoch += 7
			return quote{ref, as(1)}
		}, refusal.StaleEpoch},
		{"stale epoch before in progress", func(t *testing.T, b *Book) quote {
			ref := take(t, b, b.Register(Frame{}).Frame, 1).Frame
			ref.Epoch++
			return quote{ref, as(2)}
		}, refusal.StaleEpoch},
		{"an id that was never given", func(_ *testing.T, b *Book) quote {
			ref := b.Register(Frame{}).Frame
			ref.ID = "f-x"
			return quote{ref, as(1)}
		}, refusal.StaleFrame},
		{"in progress", func(t *testing.T, b *Book) quote {
			return quote{take(t, b, b.Register(Frame{}).Frame, 1).Frame, as(2)}
		}, refusal.ActionInProgress},
		{"the same act in progress", func(t *testing.T, b *Book) quote {
			return quote{take(t, b, b.Register(Frame{}).Frame, 1).Frame, as(1)}
		}, refusal.ActionInProgress},
		{"authority taken away", func(_ *testing.T, b *Book) quote {
			f := b.Register(Frame{})
			b.End()
			return quote{f.Frame, as(1)}
		}, refusal.NoActiveFrame},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := &Book{}
			q := tc.make(t, b)
			f, _, no := b.Claim(q.ref, q.bind)
			if code(no) != tc.want || (f != nil) != (tc.want == 0) {
				t.Errorf("got %v, want %v", code(no), tc.want)
			}
		})
	}
}

// Forgetting a retired act would let it be claimed again, so the frame ends instead.
func TestAFrameEndsBeforeItForgetsARetiredAct(t *testing.T) {
	b := &Book{}
	f := b.Register(Frame{})
	for n := range retiredMax {
		b.Retire(take(t, b, f.Frame, n), digest(n))
	}
	if b.Current() != f {
		t.Fatal("the frame ended while it could still remember")
	}
	for n := range retiredMax {
		if _, _, no := b.Claim(f.Frame, as(n)); code(no) != refusal.RetiredAction {
			t.Fatalf("act %d: %v", n, code(no))
		}
	}
	b.Retire(take(t, b, f.Frame, retiredMax), digest(retiredMax))
	if b.Current() != nil {
		t.Fatal("the frame is still current")
	}
	for n := range retiredMax + 2 {
		if _, _, no := b.Claim(f.Frame, as(n)); code(no) != refusal.NoActiveFrame {
			t.Fatalf("act %d: %v", n, code(no))
		}
	}
	if next := b.Register(Frame{}); next.Epoch <= f.Epoch {
		t.Errorf("epoch %d after %d", next.Epoch, f.Epoch)
	}
}

func TestAClaimOnAFrameThatEndedLeavesTheNewFrameAlone(t *testing.T) {
	conclusions := map[string]func(*Book, *Frame){
		"consumed": func(b *Book, f *Frame) { b.Consume(f, digest(1)) },
		"retired":  func(b *Book, f *Frame) { b.Retire(f, digest(1)) },
		"returned": func(b *Book, f *Frame) { b.Return(f) },
	}
	interruptions := map[string]func(*Book){
		"another observation":      func(*Book) {},
		"a stop, then a fresh one": func(b *Book) { b.End() },
	}
	for end, conclude := range conclusions {
		for what, interrupt := range interruptions {
			t.Run(end+" after "+what, func(t *testing.T) {
				b := &Book{}
				old := take(t, b, b.Register(Frame{}).Frame, 1)
				interrupt(b)
				now := b.Register(Frame{})
				held := take(t, b, now.Frame, 2)
				conclude(b, old)
				if b.Current() != now {
					t.Fatal("the new frame is not current")
				}
				if _, _, no := b.Claim(now.Frame, as(3)); code(no) != refusal.ActionInProgress {
					t.Errorf("the new frame's claim was let go: %v", code(no))
				}
				b.Return(held)
				take(t, b, now.Frame, 1)
				if f, _, no := b.Claim(old.Frame, as(3)); no == nil || f != nil {
					t.Error("the old frame can be claimed")
				}
			})
		}
	}
}

func TestAStopDuringAClaimLeavesNoFrame(t *testing.T) {
	b := &Book{}
	f := take(t, b, b.Register(Frame{}).Frame, 1)
	b.End()
	b.Retire(f, digest(1))
	if b.Current() != nil {
		t.Error("a frame is current")
	}
	if _, _, no := b.Claim(f.Frame, as(2)); code(no) != refusal.NoActiveFrame {
		t.Errorf("got %v", code(no))
	}
}

func TestRegisteringAFrameAgainCarriesNoClaimOver(t *testing.T) {
	b := &Book{}
	f := take(t, b, b.Register(Frame{Root: 5}).Frame, 1)
	again := b.Register(*f)
	if again.Frame == f.Frame || again.Root != 5 {
		t.Error("not a new frame of the same observation")
	}
	take(t, b, again.Frame, 1)
}

func TestFrameIDsAreNotGuessable(t *testing.T) {
	b, seen := &Book{}, map[ident.FrameID]bool{}
	for range 1000 {
		id := b.Register(Frame{}).ID
		if len(id) < 26 || seen[id] {
			t.Fatalf("id %q is short or repeated", id)
		}
		seen[id] = true
	}
}

// reference is the Book told slowly: everything that ever happened, in order. Each
// question is answered by reading it from the start.
type reference struct {
	quotes []ident.Frame // of every frame ever registered
	log    []happened
}

type happened struct {
	what  what
	frame int
	act   int
}

type what string

const (
	registered what = "registered"
	replaced   what = "ended by another observation"
	ended      what = "ended"
	claimed    what = "claimed"
	consumed   what = "consumed"
	retired    what = "retired"
	returned   what = "returned"
)

func (r *reference) add(w what, frame, act int) { r.log = append(r.log, happened{w, frame, act}) }

// current is the last frame that was registered and did not end, or -1.
func (r *reference) current() int {
	now := -1
	for _, h := range r.log {
		switch h.what {
		case registered:
			now = h.frame
		case ended, replaced:
			now = -1
		}
	}
	return now
}

func (r *reference) epoch() ident.Epoch {
	e := ident.Epoch(1)
	for _, h := range r.log {
		if h.what == ended {
			e++
		}
	}
	return e
}

func (r *reference) happened(w what, frame, act int) bool {
	for _, h := range r.log {
		if h == (happened{w, frame, act}) {
			return true
		}
	}
	return false
}

func (r *reference) held(frame int) bool {
	var last what
	for _, h := range r.log {
		if h.frame == frame && (h.what == claimed || h.what == consumed || h.what == retired || h.what == returned) {
			last = h.what
		}
	}
	return last == claimed
}

// remembered reports whether the frame is current or one of the last few that ended.
func (r *reference) remembered(frame int) bool {
	since, over := 0, false
	for _, h := range r.log {
		if h.what == ended || h.what == replaced {
			over = over || h.frame == frame
			if over {
				since++
			}
		}
	}
	return since <= pastMax
}

func (r *reference) register(quote ident.Frame) int {
	if now := r.current(); now >= 0 {
		r.add(replaced, now, 0)
	}
	r.quotes = append(r.quotes, quote)
	r.add(registered, len(r.quotes)-1, 0)
	return len(r.quotes) - 1
}

func (r *reference) end() {
	if now := r.current(); now >= 0 {
		r.add(ended, now, 0)
	}
}

func (r *reference) conclude(w what, frame, act int) {
	r.add(w, frame, act)
	full := 0
	for _, h := range r.log {
		if h.what == retired && h.frame == frame {
			full++
		}
	}
	if r.current() == frame && (w == consumed || w == retired && full > retiredMax) {
		r.end()
	}
}

// claim answers as C3.4 says. A quote with an id that was never given has frame -1.
func (r *reference) claim(frame int, epoch ident.Epoch, act int, unbound refusal.Code) refusal.Code {
	now := r.current()
	known := frame >= 0 && r.remembered(frame)
	switch {
	case known && unbound == 0 && r.happened(consumed, frame, act):
		return refusal.DuplicateAction
	case known && unbound == 0 && frame == now && r.happened(retired, frame, act):
		return refusal.RetiredAction
	case known && unbound == refusal.InvalidBinding:
		return refusal.InvalidBinding
	case now < 0:
		return refusal.NoActiveFrame
	case epoch != r.quotes[now].Epoch:
		return refusal.StaleEpoch
	case frame != now:
		return refusal.StaleFrame
	case unbound != 0:
		return unbound
	case r.held(frame):
		return refusal.ActionInProgress
	}
	r.add(claimed, frame, act)
	return 0
}

// run is a Book and its reference, driven together.
type run struct {
	book   Book
	ref    reference
	frames []*Frame
	open   []happened // claims not concluded yet
	fresh  int        // acts that were never seen
}

func (r *run) register(t *rapid.T) {
	f := r.book.Register(Frame{})
	for _, q := range r.ref.quotes {
		if q.ID == f.ID || q.Epoch > f.Epoch {
			t.Fatalf("frame %v after %v", f.Frame, q)
		}
	}
	r.frames = append(r.frames, f)
	r.ref.register(f.Frame)
}

// claim compares one claim. Whatever the answers, a claim is never given on a frame that
// was consumed or ended.
func (r *run) claim(t *rapid.T, frame int, quote ident.Frame, act int, unbound refusal.Code) {
	before := r.ref.current()
	bind := as(act)
	if unbound != 0 {
		bind = not(unbound)
	}
	f, _, no := r.book.Claim(quote, bind)
	want := r.ref.claim(frame, quote.Epoch, act, unbound)
	if code(no) != want {
		t.Fatalf("claim of act %d on frame %d: %v, want %v\n%v", act, frame, code(no), want, r.ref.log)
	}
	if no != nil {
		return
	}
	if frame != before || f != r.frames[frame] {
		t.Fatalf("a claim was given on frame %d while %d was current", frame, before)
	}
	for _, h := range r.ref.log {
		if h.frame == frame && (h.what == consumed || h.what == ended || h.what == replaced) {
			t.Fatalf("frame %d was %s and gave authority again", frame, h.what)
		}
	}
	r.open = append(r.open, happened{claimed, frame, act})
}

func (r *run) conclude(w what, c happened) {
	f := r.frames[c.frame]
	switch w {
	case consumed:
		r.book.Consume(f, digest(c.act))
	case retired:
		r.book.Retire(f, digest(c.act))
	default:
		r.book.Return(f)
	}
	r.ref.conclude(w, c.frame, c.act)
}

func (r *run) agrees(t *rapid.T) {
	now := r.ref.current()
	f := r.book.Current()
	if (f != nil) != (now >= 0) || f != nil && f != r.frames[now] {
		t.Fatalf("another frame is current, want %d\n%v", now, r.ref.log)
	}
	if f != nil && f.Epoch != r.ref.quotes[now].Epoch {
		t.Fatal("a frame's epoch moved")
	}
	if len(r.frames) > 0 && r.book.epoch != r.ref.epoch() {
		t.Fatalf("epoch %d, want %d\n%v", r.book.epoch, r.ref.epoch(), r.ref.log)
	}
	for i, q := range r.ref.quotes {
		if (r.book.Find(q) != nil) != r.ref.remembered(i) {
			t.Fatalf("frame %d is remembered: %v", i, !r.ref.remembered(i))
		}
	}
	for _, f := range r.frames {
		if len(f.retired) > retiredMax {
			t.Fatal("a frame remembers more than its bound")
		}
	}
}

// The Book against the slow reference, under any sequence of operations: a frame
// authorises nothing after it is consumed or ended, retired keeps the frame and is
// refused, returned may be claimed again, consumed neither; epochs never go back and ids
// are never reused.
func TestTheBookIsItsReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := &run{fresh: 1000}
		drawFrame := func(t *rapid.T) int {
			if len(r.frames) == 0 {
				t.Skip("no frame yet")
			}
			// Mostly recent frames: those before them are all forgotten.
			return rapid.IntRange(max(0, len(r.frames)-pastMax-3), len(r.frames)-1).Draw(t, "frame")
		}
		acts := rapid.IntRange(1, 3)
		t.Repeat(map[string]func(*rapid.T){
			"register": r.register,
			"end": func(*rapid.T) {
				r.book.End()
				r.ref.end()
			},
			"claim": func(t *rapid.T) {
				i := drawFrame(t)
				r.claim(t, i, r.frames[i].Frame, acts.Draw(t, "act"), 0)
			},
			"claim on the current frame": func(t *rapid.T) {
				if i := r.ref.current(); i >= 0 {
					r.claim(t, i, r.frames[i].Frame, acts.Draw(t, "act"), 0)
				}
			},
			"claim what does not bind": func(t *rapid.T) {
				i := drawFrame(t)
				no := rapid.SampledFrom([]refusal.Code{
					refusal.InvalidBinding, refusal.InvalidCoordinate, refusal.NoPicture,
				}).Draw(t, "code")
				r.claim(t, i, r.frames[i].Frame, acts.Draw(t, "act"), no)
			},
			"claim with a wrong epoch": func(t *rapid.T) {
				i := drawFrame(t)
				quote := r.frames[i].Frame
				quote.Epoch = ident.Epoch(rapid.IntRange(0, int(r.ref.epoch())+1).Draw(t, "epoch"))
				r.claim(t, i, quote, acts.Draw(t, "act"), 0)
			},
			"claim with an id that was never given": func(t *rapid.T) {
				r.claim(t, -1, ident.Frame{ID: "f-x", Epoch: r.ref.epoch()}, acts.Draw(t, "act"), 0)
			},
			"conclude": func(t *rapid.T) {
				if len(r.open) == 0 {
					t.Skip("no claim")
				}
				i := rapid.IntRange(0, len(r.open)-1).Draw(t, "claim")
				c := r.open[i]
				r.open = append(r.open[:i:i], r.open[i+1:]...)
				r.conclude(rapid.SampledFrom([]what{consumed, retired, returned}).Draw(t, "end"), c)
			},
			"retire many": func(t *rapid.T) {
				for range rapid.IntRange(1, retiredMax).Draw(t, "many") {
					i := r.ref.current()
					if i < 0 || r.ref.held(i) {
						return
					}
					r.fresh++
					r.claim(t, i, r.frames[i].Frame, r.fresh, 0)
					r.open = r.open[:len(r.open)-1]
					r.conclude(retired, happened{claimed, i, r.fresh})
				}
			},
			"": r.agrees,
		})
	})
}

func (h happened) String() string { return fmt.Sprintf("[%d %s %d]", h.frame, h.what, h.act) }
