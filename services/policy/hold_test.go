package policy

import (
	"testing"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	policyv1 "fairlead.dev/gen/fairlead/policy/v1"
	"fairlead.dev/services/policy/internal/audit"
	"fairlead.dev/services/shared/refusal"
)

// ways are all ways to ask for something.
func (b *bench) ways(t *testing.T) map[string]refusal.Code {
	t.Helper()
	return map[string]refusal.Code{
		"Acquire":                b.acquire(t, semantic, app(calc)).GetRefusal(),
		"Acquire to list":        b.acquire(t, metadata, desk()).GetRefusal(),
		"Permit":                 b.read(t, metadata, app(calc)).GetRefusal(),
		"Permit of a picture":    b.read(t, screenshot, app(calc)).GetRefusal(),
		"Permit to list":         b.read(t, metadata, desk()).GetRefusal(),
		"Decide":                 b.decide(t, click()).GetRefusal(),
		"Decide on another app":  b.decide(t, click(inApp("a.B"))).GetRefusal(),
		"Decide on a sensitive":  b.decide(t, click(inApp(keepass))).GetRefusal(),
		"Decide on a secure one": b.decide(t, click(facts(func(f *policyv1.ActFacts) { f.Secure = true }))).GetRefusal(),
		"Foresee":                b.foresee(t, sequence(click().GetFacts())).GetRefusal(),
	}
}

func TestFactsOfASessionHoldOnEveryPath(t *testing.T) {
	tests := []struct {
		name  string
		facts []policyv1.SessionEventKind
		want  refusal.Code
		// leases says whether those from before are still there.
		leases bool
	}{
		{"a stop", []policyv1.SessionEventKind{stopped}, refusal.UserStopped, false},
		{"a stop of all", []policyv1.SessionEventKind{stoppedAll}, refusal.UserStopped, false},
		{"a take-over", []policyv1.SessionEventKind{takenOver}, refusal.Paused, false},
		{"a pause", []policyv1.SessionEventKind{paused}, refusal.Paused, true},
		{"a block", []policyv1.SessionEventKind{blocked}, refusal.BlockedURL, false},
		{"a stop, resumed", []policyv1.SessionEventKind{stopped, resumed}, 0, false},
		{"a stop of all, resumed", []policyv1.SessionEventKind{stoppedAll, resumed}, 0, false},
		{"a take-over, resumed", []policyv1.SessionEventKind{takenOver, resumed}, 0, false},
		{"a pause, resumed", []policyv1.SessionEventKind{paused, resumed}, 0, true},
		{"a block, resumed", []policyv1.SessionEventKind{blocked, resumed}, refusal.BlockedURL, false},
		{"a pause and a stop", []policyv1.SessionEventKind{paused, stopped}, refusal.UserStopped, false},
		{"a pause, a stop and a block", []policyv1.SessionEventKind{paused, stopped, blocked}, refusal.BlockedURL, false},
		{"a pause and a stop, resumed", []policyv1.SessionEventKind{paused, stopped, resumed}, 0, false},
		{"a turn after a stop", []policyv1.SessionEventKind{
			stopped, policyv1.SessionEventKind_SESSION_EVENT_KIND_TURN_BEGUN,
		}, refusal.UserStopped, false},
		{"a lock", []policyv1.SessionEventKind{policyv1.SessionEventKind_SESSION_EVENT_KIND_LOCKED}, 0, true},
		{"an intervention", []policyv1.SessionEventKind{
			policyv1.SessionEventKind_SESSION_EVENT_KIND_INTERVENED,
		}, 0, true},
		{"a client that is gone", []policyv1.SessionEventKind{
			policyv1.SessionEventKind_SESSION_EVENT_KIND_CLIENT_GONE,
		}, 0, true},
		{"a turn", []policyv1.SessionEventKind{
			policyv1.SessionEventKind_SESSION_EVENT_KIND_TURN_BEGUN, policyv1.SessionEventKind_SESSION_EVENT_KIND_TURN_ENDED,
		}, 0, true},
	}
	held := []commonv1.LeaseClass{metadata, screenshot, semantic, keyboard, pointer}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, permitAll)
			b.begin(t, "s")
			for _, c := range held {
				b.lease(t, c, app(calc))
			}
			for _, f := range tt.facts {
				b.fact(t, f)
			}
			if n := len(records[audit.SessionFact](b)); n != len(tt.facts) {
				t.Errorf("%d facts on record", n)
			}
			live, _ := b.list("s")
			if tt.leases && len(live) != len(held) || !tt.leases && len(live) != 0 {
				t.Errorf("%d leases", len(live))
			}
			if n := len(records[audit.LeaseEnded](b)); n != len(held)-len(live) {
				t.Errorf("%d endings on record", n)
			}
			if tt.want == 0 {
				b.lease(t, semantic, app(calc))
				if got := b.decide(t, click()).GetRefusal(); got != 0 {
					t.Errorf("Decide = %v", got)
				}
				return
			}
			for name, got := range b.ways(t) {
				if got != tt.want {
					t.Errorf("%s = %v, want %v", name, got, tt.want)
				}
			}
			if n := len(records[audit.Intent](b)); n != 0 {
				t.Errorf("%d intents", n)
			}
		})
	}
}

func TestEveryKindOfFactIsInTheTableOfHolds(t *testing.T) {
	values := policyv1.SessionEventKind(0).Descriptor().Values()
	if values.Len() != 12 {
		t.Error("a kind of fact was added: say in hold.go what it takes")
	}
}

func TestAFactOfOneSessionHoldsNoOther(t *testing.T) {
	b := newBench(t, permitAll)
	b.begin(t, "s")
	b.begin(t, "t")
	for _, kind := range []policyv1.SessionEventKind{stopped, stoppedAll, paused, takenOver, blocked} {
		b.hold("t", kind)
		b.hold("nobody", kind)
	}
	b.lease(t, semantic, app(calc))
	if got := b.decide(t, click()).GetRefusal(); got != 0 {
		t.Errorf("Decide = %v", got)
	}
}

func TestWhatTakesHoldsAlsoWhenItCannotBeRecordedAndWhatGivesDoesNot(t *testing.T) {
	for _, kind := range []policyv1.SessionEventKind{stopped, stoppedAll, paused, takenOver, blocked} {
		b := newBench(t, permitAll)
		b.begin(t, "s")
		b.rec.failOn(func(audit.Record) bool { return true })
		if _, err := b.host.Append(t.Context(), fact(kind)); err == nil {
			t.Errorf("%v: Append took what the log did not", kind)
		}
		if _, err := b.host.Append(t.Context(), fact(resumed)); err == nil {
			t.Errorf("%v: Append took what the log did not", kind)
		}
		b.rec.failOn(nil)
		if got := b.acquire(t, semantic, app(calc)).GetRefusal(); got == 0 {
			t.Errorf("%v: Acquire = %v", kind, got)
		}
	}
}

// A resume lifts what was held when it came, and nothing that came after it.
func TestAStopThatComesWhileAResumeIsRecordedHolds(t *testing.T) {
	for _, first := range []policyv1.SessionEventKind{stopped, stoppedAll, paused, takenOver} {
		b := newBench(t, permitAll)
		b.begin(t, "s")
		b.fact(t, first)
		b.rec.onTaken(func(r audit.Record) {
			if f, ok := r.(audit.SessionFact); ok && f.Event == audit.Number(resumed) {
				b.rec.onTaken(nil)
				b.hold("s", first)
			}
		})
		b.fact(t, resumed)
		if got := b.acquire(t, semantic, app(calc)).GetRefusal(); got == 0 {
			t.Errorf("%v: Acquire = %v", first, got)
		}
		b.fact(t, resumed)
		b.lease(t, semantic, app(calc))
	}
}

func TestNoLeaseIsGivenToASessionThatIsHeldWhileItsGrantIsRecorded(t *testing.T) {
	for kind, want := range map[policyv1.SessionEventKind]refusal.Code{
		stopped: refusal.UserStopped, stoppedAll: refusal.UserStopped, paused: refusal.Paused,
		takenOver: refusal.Paused, blocked: refusal.BlockedURL,
	} {
		b := newBench(t, permitAll)
		b.begin(t, "s")
		w := b.watch()
		b.rec.onTaken(func(r audit.Record) {
			if _, ok := r.(audit.LeaseGiven); ok {
				b.rec.onTaken(nil)
				b.hold("s", kind)
			}
		})
		if got := b.acquire(t, semantic, app(calc)).GetRefusal(); got != want {
			t.Errorf("%v: Acquire = %v, want %v", kind, got, want)
		}
		if live, _ := b.list("s"); len(live) != 0 || len(w.events) != 0 {
			t.Errorf("%v: %d leases, %d events", kind, len(live), len(w.events))
		}
	}
}

func TestNoReadPermitToASessionThatIsHeldWhileItIsRecorded(t *testing.T) {
	for kind, want := range map[policyv1.SessionEventKind]refusal.Code{
		stoppedAll: refusal.UserStopped, paused: refusal.Paused, blocked: refusal.BlockedURL,
	} {
		b := newBench(t, permitAll)
		b.begin(t, "s")
		b.lease(t, metadata, app(calc))
		b.rec.onTaken(func(r audit.Record) {
			if _, ok := r.(audit.ReadPermit); ok {
				b.rec.onTaken(nil)
				b.hold("s", kind)
			}
		})
		if got := b.read(t, metadata, app(calc)).GetRefusal(); got != want {
			t.Errorf("%v: Permit = %v, want %v", kind, got, want)
		}
	}
}
