package executor

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"fairlead.dev/services/executor/internal/snapshots"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
)

// The last look before the send is for what came between the checks and it: whoever took
// authority away meanwhile has the last word, and nothing is spent (C4.5, C9.7).
func TestCommitHasTheLastWord(t *testing.T) {
	spent := func() refusal.Answer { return 0 }
	cases := []struct {
		name  string
		bend  func(*Executor, *running)
		spend func() refusal.Answer
		want  refusal.Answer
	}{
		{"nothing happened", func(*Executor, *running) {}, spent, 0},
		{"cancelled", func(_ *Executor, r *running) { r.cancelled = true }, spent, refusal.AnswerAborted},
		{"session ended", func(_ *Executor, r *running) { r.session.ended = true }, spent, refusal.AnswerAborted},
		{"host gone", func(e *Executor, _ *running) { e.state.ended = true }, spent, refusal.AnswerAborted},
		{"halted", func(e *Executor, _ *running) { e.state.halted = true }, spent, refusal.AnswerHalted},
		{"snapshot superseded", func(*Executor, *running) {}, func() refusal.Answer {
			return refusal.AnswerSnapshotSuperseded
		}, refusal.AnswerSnapshotSuperseded},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			e := &Executor{}
			e.cfg.Clock = func() time.Duration { return 0 }
			e.state.spent = newSpentPermits()
			r := &running{session: &session{}}
			c.bend(e, r)
			p := &held{id: permitID{1}, expires: 5}
			if got := e.commit(r, p, c.spend); got != c.want {
				t.Fatalf("got %v, want %v", got, c.want)
			}
			if took := e.state.spent.has(p.id); took != (c.want == 0) {
				t.Fatalf("the permit is spent: %v", took)
			}
		})
	}
}

// heedless sends without asking, which no platform may.
type heedless struct{ *fake }

func (h heedless) Perform(_ context.Context, p Performance, _ Check) Delivery {
	h.change(func(f *fake) { f.journal = append(f.journal, p) })
	return Delivery{Sent: Accepted, Route: p.Routes[0], Settled: true}
}

// What may have been sent has spent what it was given, whatever the platform did (C10.9).
func TestBrokenPlatformSpendsAllTheSame(t *testing.T) {
	panics := newFake()
	panics.deliver = func(Performance) Delivery { panic("broken") }
	for name, desk := range map[string]Platform{"sends without asking": heedless{newFake()}, "panics": panics} {
		t.Run(name, func(t *testing.T) {
			r := ready(t, desk)
			snap := r.snapshot(editor)
			o := r.order(snap, nodeField, setValue("new"))
			o.req.Permit = o.sign(o.claims)
			_, _ = r.host.Dispatch(r.ctx(), o.req) // a panic is an error, and no answer
			o.req.DispatchId = "again"
			refusedAs(t, r.send(o), refusal.AnswerPermitSpent)
			refusedAs(t, r.act(snap, nodeField, setValue("newer")), refusal.AnswerSnapshotSpent)
			r.now.Add(int64(snapshots.Lifetime) + 1)
			refusedAs(t, r.act(snap, nodeField, setValue("newest")), refusal.AnswerSnapshotSpent)
		})
	}
}

func TestDispatchOfARunningIDIsRefused(t *testing.T) {
	desk := newFake()
	r := ready(t, desk)
	reached, goOn := make(chan struct{}), make(chan struct{})
	var checks atomic.Int32
	desk.beforeCheck = func() {
		if checks.Add(1) == 1 {
			close(reached)
			<-goOn
		}
	}
	first, second := r.snapshot(editor), r.snapshot(other)
	o, twin := r.order(first, nodeField, setValue("new")), r.order(second, 1, click())
	twin.req.DispatchId = o.req.GetDispatchId()
	twin.req.Permit = twin.sign(twin.claims)
	done := make(chan struct{})
	go func() {
		defer close(done)
		confirmed(t, r.send(o), byValue)
	}()
	<-reached
	_, err := r.host.Dispatch(r.ctx(), twin.req)
	close(goOn)
	<-done
	if err == nil || len(desk.sent()) != 1 {
		t.Fatalf("got %v, sent %d", err, len(desk.sent()))
	}
}

func TestDisabledElementTakesNoAct(t *testing.T) {
	desk := newFake()
	desk.node("button").States = 0
	r := ready(t, desk)
	refusedAs(t, r.act(r.snapshot(editor), nodeButton, click()), refusal.AnswerElementDisabled)
	if len(desk.sent()) != 0 {
		t.Fatal("something was sent")
	}
}

// At the bound acts are refused; no permit is forgotten before it expires (C10.9).
func TestSpentPermitsAreNotForgottenAtTheBound(t *testing.T) {
	s := newSpentPermits()
	id := func(i int) (p permitID) {
		binary.BigEndian.PutUint32(p[:], uint32(i))
		return p
	}
	for i := range spentMax {
		if a := s.take(id(i), 10, 0); a != 0 {
			t.Fatalf("permit %d: %v", i, a)
		}
	}
	if a := s.take(id(spentMax), 10, 10); a != refusal.AnswerUnavailable {
		t.Fatalf("one more: %v", a)
	}
	if a := s.take(id(0), 10, 10); a != refusal.AnswerPermitSpent {
		t.Fatalf("the first again: %v", a)
	}
	if a := s.take(id(spentMax), 30, 11); a != 0 || len(s.until) != 1 {
		t.Fatalf("after all expired: %v, %d remembered", a, len(s.until))
	}
}

func TestSessionKeepsItsKey(t *testing.T) {
	r := ready(t, newFake())
	if a, err := r.e.begin(testSession, r.actKey); a != 0 || err != nil {
		t.Fatalf("the same key: %v, %v", a, err)
	}
	if _, err := r.e.begin(testSession, ident.NewActKey()); err == nil {
		t.Fatal("the session has another key")
	}
}

func TestSessionsAreBounded(t *testing.T) {
	r := ready(t, newFake())
	for i := range sessionsMax - 1 {
		r.begin(fmt.Sprint(i))
	}
	if a, err := r.e.begin("more", r.actKey); a != refusal.AnswerUnavailable || err != nil {
		t.Fatalf("one more: %v, %v", a, err)
	}
	r.e.endSession("0")
	if a, err := r.e.begin("more", r.actKey); a != 0 || err != nil {
		t.Fatalf("after one ended: %v, %v", a, err)
	}
}

func TestEarlyCancelsAreBounded(t *testing.T) {
	s := &session{}
	for i := range 3 * earlyMax {
		s.cancelledEarly(fmt.Sprint(i))
	}
	if len(s.early) != earlyMax || s.early[earlyMax-1] != fmt.Sprint(3*earlyMax-1) {
		t.Fatalf("remembered %v", s.early)
	}
}
