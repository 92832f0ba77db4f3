package frame

import (
	"testing"

	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/permit"
	"fairlead.dev/services/shared/refusal"
)

func as(d byte) Bind {
	return func(*Frame) (permit.Digest, *refusal.Error) { return permit.Digest{d}, nil }
}

func mismatch(*Frame) (permit.Digest, *refusal.Error) {
	return permit.Digest{}, refusal.New(refusal.InvalidBinding)
}

func code(e *refusal.Error) refusal.Code {
	if e == nil {
		return 0
	}
	return e.Code
}

func TestClaimRefusesInTheContractsOrder(t *testing.T) {
	for _, tc := range []struct {
		name string
		make func() (*Book, ident.Frame, Bind)
		want refusal.Code
	}{
		{"nothing observed", func() (*Book, ident.Frame, Bind) {
			return &Book{}, ident.Frame{ID: "f-x", Epoch: 1}, as(1)
		}, refusal.NoActiveFrame},
		{"duplicate before stale epoch", func() (*Book, ident.Frame, Bind) {
			b := &Book{}
			f := b.Register(Frame{})
			_, d, _ := b.Claim(f.Frame, as(1))
			b.Consume(f, d)
			b.Register(Frame{})
			return b, f.Frame, as(1)
		}, refusal.DuplicateAction},
		{"another act on a spent frame is a stale epoch", func() (*Book, ident.Frame, Bind) {
			b := &Book{}
			f := b.Register(Frame{})
			_, d, _ := b.Claim(f.Frame, as(1))
			b.Consume(f, d)
			b.Register(Frame{})
			return b, f.Frame, as(2)
		}, refusal.StaleEpoch},
		{"retired", func() (*Book, ident.Frame, Bind) {
			b := &Book{}
			f := b.Register(Frame{})
			_, d, _ := b.Claim(f.Frame, as(1))
			b.Retire(f, d)
			return b, f.Frame, as(1)
		}, refusal.RetiredAction},
		{"another act after a retired one", func() (*Book, ident.Frame, Bind) {
			b := &Book{}
			f := b.Register(Frame{})
			_, d, _ := b.Claim(f.Frame, as(1))
			b.Retire(f, d)
			return b, f.Frame, as(2)
		}, 0},
		{"the same act after a returned one", func() (*Book, ident.Frame, Bind) {
			b := &Book{}
			f := b.Register(Frame{})
			_, _, _ = b.Claim(f.Frame, as(1))
			b.Return(f)
			return b, f.Frame, as(1)
		}, 0},
		{"wrong binding", func() (*Book, ident.Frame, Bind) {
			b := &Book{}
			return b, b.Register(Frame{}).Frame, mismatch
		}, refusal.InvalidBinding},
		{"observed again: stale frame, same epoch", func() (*Book, ident.Frame, Bind) {
			b := &Book{}
			f := b.Register(Frame{})
			b.Register(Frame{})
			return b, f.Frame, as(1)
		}, refusal.StaleFrame},
		{"wrong epoch", func() (*Book, ident.Frame, Bind) {
			b := &Book{}
			f := b.Register(Frame{}).Frame
			f.Epoch += 7
			return b, f, as(1)
		}, refusal.StaleEpoch},
		{"in progress", func() (*Book, ident.Frame, Bind) {
			b := &Book{}
			f := b.Register(Frame{})
			_, _, _ = b.Claim(f.Frame, as(1))
			return b, f.Frame, as(2)
		}, refusal.ActionInProgress},
		{"authority taken away", func() (*Book, ident.Frame, Bind) {
			b := &Book{}
			f := b.Register(Frame{})
			b.End()
			return b, f.Frame, as(1)
		}, refusal.NoActiveFrame},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b, ref, bind := tc.make()
			if _, _, no := b.Claim(ref, bind); code(no) != tc.want {
				t.Errorf("got %v, want %v", code(no), tc.want)
			}
		})
	}
}

func TestEpochOnlyGrows(t *testing.T) {
	b := &Book{}
	var last ident.Epoch
	for i := range 50 {
		f := b.Register(Frame{})
		if f.Epoch < last {
			t.Fatalf("epoch went from %d to %d", last, f.Epoch)
		}
		last = f.Epoch
		switch i % 3 {
		case 0:
			_, d, _ := b.Claim(f.Frame, as(byte(i)))
			b.Consume(f, d)
		case 1:
			b.End()
		}
	}
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
