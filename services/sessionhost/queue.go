package sessionhost

import (
	"context"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/sessionhost/internal/lane"
	machine "fairlead.dev/services/sessionhost/internal/session"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/peersock"
	"fairlead.dev/services/shared/refusal"
)

// fenced is a request of a session.
type fenced interface {
	GetFence() *commonv1.Fence
	GetSession() *commonv1.SessionRef
}

// turned is a request that belongs to a turn.
type turned interface{ GetTurnId() string }

// authenticate returns the session of a request. Ids are references: the secret and
// the kernel's uid are what counts (C1.5).
func (h *Host) authenticate(ctx context.Context, req fenced) (*session, error) {
	peer, err := peersock.FromContext(ctx)
	if err != nil {
		return nil, refusal.Unauthenticated("the caller cannot be identified")
	}
	s := h.find(ident.SessionID(req.GetSession().GetSessionId()))
	if s == nil {
		return nil, refusal.New(refusal.SessionUnknown)
	}
	if s.uid != peer.UID || !s.knows(req.GetSession().GetSessionSecret()) {
		return nil, refusal.Unauthenticated("the session secret does not belong to this session and caller")
	}
	s.usedBy(peer.Conn)
	return s, nil
}

// queued runs a story when the session's turn for it comes (C4.1) and returns what it
// returned. The queue is bounded; a caller that leaves while waiting has done nothing.
func queued[T any](
	ctx context.Context, h *Host, s *session, req fenced, story func(context.Context, *call) (T, error),
) (T, error) {
	type result struct {
		v   T
		err error
	}
	out := make(chan result, 1)
	c := &call{s: s}
	c.run = func(c *call) {
		c.cut = s.cuts()
		if err := c.enter(ctx, req); err != nil {
			out <- result{err: err}
			return
		}
		v, err := story(ctx, c)
		out <- result{v, err}
	}
	var none T
	if err := h.admit(s, c); err != nil {
		return none, err
	}
	select {
	case r := <-out:
		return r.v, r.err
	case <-ctx.Done():
		if c.leave() {
			return none, refusal.New(refusal.Aborted)
		}
	case <-s.ended:
		if c.leave() {
			return none, refusal.New(refusal.SessionUnknown)
		}
	}
	// It was sent, so "nothing was sent" would be a lie. The outcome comes within the
	// dispatch's own deadline (C9.7).
	r := <-out
	return r.v, r.err
}

// cuts is closed by the next mark that takes authority away.
func (s *session) cuts() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cut
}

// patient is a context for waits: a stop, a pause, a lock or the end of the session ends
// them at once, whatever is waited for (C4.3, C12.1). It never cancels a call.
func (c *call) patient(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	c.s.host.background(func() {
		select {
		case <-c.cut:
			cancel()
		case <-ctx.Done():
		}
	})
	return ctx, cancel
}

// lane waits for a lane. Who is cut off while waiting has taken nothing.
func (c *call) lane(ctx context.Context, k lane.Key) (leave func(), err error) {
	ctx, cancel := c.patient(ctx)
	defer cancel()
	return c.s.host.lanes.Take(ctx, k)
}

// admit gives the call its arrival number and its place in the queue in one step, so
// that calls run in the order of their numbers (C4.1).
func (h *Host) admit(s *session, c *call) error {
	if h.waiting.Add(1) > queueHost-queueReserve {
		h.waiting.Add(-1)
		return refusal.New(refusal.Busy)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		h.waiting.Add(-1)
		return refusal.New(refusal.SessionUnknown)
	}
	c.arrival = h.arrivals.Add(1)
	select {
	case s.inbox <- c:
		return nil
	default:
		h.waiting.Add(-1)
		return refusal.New(refusal.Busy)
	}
}

// enter is the first step of every queued call: the caller is still there, the user's
// stop does not cover it, its fence and its turn are current.
func (c *call) enter(ctx context.Context, req fenced) error {
	if ctx.Err() != nil {
		return refusal.New(refusal.Aborted)
	}
	if c.stopped() {
		return refusal.New(refusal.UserStopped)
	}
	var why error
	err := c.s.do(func(st *state) { why = c.s.current(st, req) })
	if err != nil {
		return err
	}
	return why
}

// stopped reports whether a stop covers the call: it looks at the marks, which are there
// before anything else is done about a stop (C4.3).
func (c *call) stopped() bool {
	return c.arrival <= max(c.s.stopMark.Load(), c.s.host.stopAllMark.Load())
}

// current checks fence and turn against the state (C1.2). Before the first turn a fence
// may have no session generation to copy yet, and there is nothing it could take away.
func (s *session) current(st *state, req fenced) error {
	asserted := fenceFromWire(req.GetFence())
	if asserted.Host == 0 || (asserted.Session == 0 && st.turn != "") {
		return refusal.Unusable("fence.host and fence.session are required: copy the fence of the previous answer")
	}
	now := fenceFromWire(s.host.fence(st.machine.Generation))
	t, inTurn := req.(turned)
	if inTurn && st.turn != ident.TurnID(t.GetTurnId()) {
		return refusal.New(refusal.TurnEnded)
	}
	if asserted.Holds(now) {
		return nil
	}
	// A stop, pause or end of turn also moved the generation; its own code says more.
	why := machine.MayBegin(st.machine)
	if inTurn && why == nil {
		_, why = machine.ObserveTicket(st.machine)
	}
	if why == nil {
		why = refusal.New(refusal.StaleGeneration)
	}
	return why
}

// do runs f on the session's state and returns what f returned.
func (c *call) do(f func(*state) error) error {
	var why error
	if err := c.s.do(func(st *state) { why = f(st) }); err != nil {
		return err
	}
	return why
}

// still checks a ticket after a wait (C4.5).
func (c *call) still(ctx context.Context, t machine.Ticket) error {
	if ctx.Err() != nil {
		return refusal.New(refusal.Aborted)
	}
	return c.do(func(st *state) error { return st.mayKeep(t, c.stopped) })
}
