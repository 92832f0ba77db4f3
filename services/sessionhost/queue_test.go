package sessionhost

import (
	"context"
	"testing"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	"fairlead.dev/services/shared/refusal"
)

// A caller whose time is over hears that nothing was sent only when that is so.
func TestCallThatRunsOutOfTimeIsNotToldThatNothingWasSentWhenItWas(t *testing.T) {
	tests := []struct {
		name string
		sent bool
		want refusal.Code
	}{
		{"before the send", false, refusal.Aborted},
		{"after the send", true, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := &Host{cfg: Config{Generation: 1}, books: newBooks()}
			s := newSession(h, 0)
			h.background(s.own)
			defer func() { s.mark(mark{kind: markEnd}); <-s.ended; h.work.Wait() }()
			ctx, giveUp := context.WithCancel(t.Context())
			late := make(chan struct{})
			story := func(ctx context.Context, c *call) (string, error) {
				if tt.sent && !c.sending() {
					t.Error("the caller had left")
				}
				giveUp()
				if !tt.sent {
					<-late
				}
				if !tt.sent && c.sending() {
					t.Error("sent after its caller had heard that nothing was")
				}
				return "outcome", nil
			}
			got, err := queued(ctx, h, s, &hostv1.BeginTurnRequest{Fence: &commonv1.Fence{Host: 1}}, story)
			close(late)
			if tt.want == 0 && (got != "outcome" || err != nil) || tt.want != 0 && refusal.As(err).Code != tt.want {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

// C4.3: a call that arrived before a stop does nothing when its turn comes, although the
// session itself may not have heard of the stop yet.
func TestCallThatAStopCoversDoesNothing(t *testing.T) {
	for _, tt := range []struct {
		name string
		stop func(*session)
		want refusal.Code
	}{
		{"no stop", func(*session) {}, 0},
		{"an earlier stop", func(s *session) { s.stopMark.Store(6) }, 0},
		{"a stop of the session", func(s *session) { s.stopMark.Store(7) }, refusal.UserStopped},
		{"a stop of all", func(s *session) { s.host.stopAllMark.Store(7) }, refusal.UserStopped},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := &Host{cfg: Config{Generation: 1}, books: newBooks()}
			h.arrivals.Store(6)
			s := newSession(h, 0)
			tt.stop(s)
			h.background(s.own)
			defer func() { s.mark(mark{kind: markEnd}); <-s.ended; h.work.Wait() }()
			ran := false
			story := func(context.Context, *call) (string, error) { ran = true; return "", nil }
			_, err := queued(t.Context(), h, s, &hostv1.BeginTurnRequest{Fence: &commonv1.Fence{Host: 1}}, story)
			if codeOf(err) != tt.want || ran != (tt.want == 0) {
				t.Errorf("%v, ran = %v", err, ran)
			}
		})
	}
}
