package sessionhost

import (
	"context"
	"crypto/subtle"
	"sync"
	"sync/atomic"
	"time"

	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	policyv1 "fairlead.dev/gen/fairlead/policy/v1"
	"fairlead.dev/services/sessionhost/internal/executorlink"
	"fairlead.dev/services/sessionhost/internal/policylink"
	"fairlead.dev/services/sessionhost/internal/release"
	machine "fairlead.dev/services/sessionhost/internal/session"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/peersock"
	"fairlead.dev/services/shared/refusal"
)

// Bounds of a session (protocol.md, Limits).
const (
	queueSession = 16
	idleMax      = 15 * time.Minute
	// interventionCalm is how long the user must leave the bound window alone (C5.3).
	interventionCalm = 1500 * time.Millisecond
)

// session is one session. Its goroutine owns the state; everything else goes through
// do, or is a mark.
type session struct {
	id     ident.SessionID
	secret ident.Secret
	uid    uint32
	actKey ident.ActKey
	client *policyv1.BeginSessionRequest // what the client declared, told to each policy generation
	host   *Host

	inbox    chan *call
	steps    chan step
	wake     chan struct{}
	ended    chan struct{}
	stopMark atomic.Uint64 // highest arrival number the user's stop covers
	begun    atomic.Uint64 // executor generation on which it began
	shown    atomic.Uint64 // session generation, for fences

	mu      sync.Mutex
	marks   []mark                   // what happened since the last wake-up, in order
	running map[ident.ActID]*running // acts that wait or run
	users   map[peersock.ConnID]bool // connections that used the session and are there
	gone    *time.Timer              // runs while there are none
	booked  chan struct{}            // closed when the latest book-keeping is done
	cut     chan struct{}            // closed when the next thing takes authority away
	closed  bool                     // no call may queue any more
}

// call is one queued call.
type call struct {
	s       *session
	arrival uint64
	run     func(*call)
	// cut is closed when something takes the session's authority away after the call's
	// turn came: then it waits for nothing any more.
	cut <-chan struct{}
	// held is the observation ticket the call got, if any.
	held  *machine.Ticket
	stage atomic.Int32
}

// The stages of a call. From waiting it goes to exactly one of the others: either its
// caller left and nothing will be sent, or its act is with the executor and will be told.
const (
	stageWaiting int32 = iota
	stageLeft
	stageSent
)

// leave gives the call up; it fails when something may have been sent.
func (c *call) leave() bool { return c.stage.CompareAndSwap(stageWaiting, stageLeft) }

// sending is the point of no return; it fails when the caller has left. A sequence
// comes here once for each of its steps.
func (c *call) sending() bool {
	return c.stage.CompareAndSwap(stageWaiting, stageSent) || c.stage.Load() == stageSent
}

// step is a piece of work on the state, done by its owner.
type step struct {
	f    func(*state)
	done chan struct{}
}

func newSession(h *Host, uid uint32) *session {
	return &session{
		id: ident.SessionID(ident.New("s")), secret: ident.NewSecret(), uid: uid, actKey: ident.NewActKey(), host: h,
		inbox: make(chan *call, queueSession), steps: make(chan step), wake: make(chan struct{}, 1),
		ended: make(chan struct{}), cut: make(chan struct{}),
		running: map[ident.ActID]*running{}, users: map[peersock.ConnID]bool{},
	}
}

// own is the session's goroutine. It never calls out and never waits for anything but
// its own channels. Marks are heeded before every step: nothing runs on authority that
// was taken away before it.
func (s *session) own() {
	defer close(s.ended)
	st := newState(s.id, s.actKey, s.host.cfg.Generation, s.host.books)
	defer st.forgetPictures()
	finished := make(chan struct{})
	idle, calm := time.NewTimer(idleMax), newCalm()
	defer idle.Stop()
	defer calm.Stop()
	busy := false
	var held machine.Holds
	for {
		if s.heed(st, calm) {
			return
		}
		s.shown.Store(uint64(st.machine.Generation))
		held = s.report(st.machine.Holds, held)
		inbox := s.inbox
		if busy {
			inbox = nil
		}
		select {
		case <-s.wake:
		case w := <-s.steps:
			if s.heed(st, calm) {
				return
			}
			w.f(st)
			s.shown.Store(uint64(st.machine.Generation))
			close(w.done)
		case c := <-inbox:
			busy = true
			idle.Stop()
			s.run(c, finished)
		case <-finished:
			busy = false
			idle.Reset(idleMax)
		case <-calm.C:
			calm.fired()
			s.mark(mark{kind: markCalm})
		case <-idle.C:
			s.host.background(func() {
				s.host.endSession(s, hostv1.ReleaseReason_RELEASE_REASON_SESSION_CLEARED, hostv1.EndCause_END_CAUSE_IDLE)
			})
		}
	}
}

// run gives a call its worker.
func (s *session) run(c *call, finished chan<- struct{}) {
	s.host.waiting.Add(-1)
	s.host.background(func() {
		c.run(c)
		select {
		case finished <- struct{}{}:
		case <-s.ended:
		}
	})
}

// heed applies the marks in their order; it reports whether the session ends.
func (s *session) heed(st *state, calm *calmTimer) (end bool) {
	s.mu.Lock()
	marks := s.marks
	s.marks = nil
	s.mu.Unlock()
	for _, m := range marks {
		if m.kind == markCalm && calm.runs {
			continue // the user's input came in the moment in which the time was over
		}
		if st.suffer(m) {
			s.cancel(st.inflight)
		}
		switch {
		case m.kind == markResume && len(st.said) > 0:
			clear(st.said)
			s.inOrder(func() { s.host.recordFact(s, policyv1.SessionEventKind_SESSION_EVENT_KIND_RESUMED) })
		case spoken[m.kind].fact != 0 && !st.said[m.kind]:
			st.said[m.kind] = true
			s.host.afterWord(s, m.kind)
		}
		if m.kind == markInput && st.concerns(m.window) && st.machine.Holds.Has(machine.Intervention) {
			calm.again()
		}
		end = end || m.kind == markEnd
	}
	calm.follow(st.machine.Holds.Has(machine.Intervention))
	return end
}

// imposed is what is told of a hold that no word of the user set.
var imposed = []struct {
	hold  machine.Holds
	cause hostv1.EndCause
	fact  policyv1.SessionEventKind
}{
	{
		machine.ScreenLocked, hostv1.EndCause_END_CAUSE_LOCK,
		policyv1.SessionEventKind_SESSION_EVENT_KIND_LOCKED,
	},
	{
		machine.Intervention, hostv1.EndCause_END_CAUSE_INTERVENTION,
		policyv1.SessionEventKind_SESSION_EVENT_KIND_INTERVENED,
	},
	{
		machine.BlockedURL, hostv1.EndCause_END_CAUSE_FAILURE,
		policyv1.SessionEventKind_SESSION_EVENT_KIND_BLOCKED,
	},
}

// report tells subscribers and the record which of those holds are new (C9.4, C12.4).
func (s *session) report(now, before machine.Holds) machine.Holds {
	for _, one := range imposed {
		if !now.Has(one.hold) || before.Has(one.hold) {
			continue
		}
		s.inOrder(func() { s.host.recordFact(s, one.fact) })
		s.host.cleared(s, one.cause)
	}
	return now
}

// cleared tells subscribers that a session was let go of, unless it never began (C9.4).
func (h *Host) cleared(s *session, cause hostv1.EndCause) {
	g := h.executorGeneration()
	if !s.begunOn(g) {
		return
	}
	h.releases.Publish(release.Event{
		Executor: g, Sessions: []ident.SessionID{s.id},
		Reason: int32(hostv1.ReleaseReason_RELEASE_REASON_SESSION_CLEARED), Cause: int32(cause),
	})
}

// cancel asks the executor to cancel by name; the call answers with its outcome.
func (s *session) cancel(in *inflight) {
	s.host.background(func() { in.link.Cancel(context.Background(), s.id, in.dispatch) })
}

// mark says that something happened, and wakes the session. It never waits.
func (s *session) mark(m mark) {
	s.mu.Lock()
	s.marks = addMark(s.marks, m)
	if consequences[m.kind].cancels {
		close(s.cut)
		s.cut = make(chan struct{})
	}
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// calmTimer lifts an intervention after interventionCalm without the user's input.
type calmTimer struct {
	*time.Timer
	runs bool
}

func newCalm() *calmTimer {
	t := time.NewTimer(interventionCalm)
	t.Stop()
	return &calmTimer{Timer: t}
}

// follow runs the timer while the session is held.
func (t *calmTimer) follow(held bool) {
	switch {
	case held && !t.runs:
		t.runs = true
		t.Reset(interventionCalm)
	case !held && t.runs:
		t.runs = false
		t.Stop()
	}
}

// again starts the time over.
func (t *calmTimer) again() {
	t.runs = true
	t.Reset(interventionCalm)
}

func (t *calmTimer) fired() { t.runs = false }

// do runs f on the state, by its owner. It fails only when the session has ended.
func (s *session) do(f func(*state)) error {
	w := step{f: f, done: make(chan struct{})}
	select {
	case s.steps <- w:
	case <-s.ended:
		return refusal.New(refusal.SessionUnknown)
	}
	select {
	case <-w.done:
		return nil
	case <-s.ended:
	}
	// An owner that took the step may have found that the session ends: then it was never
	// done. Whatever was done was done before the end.
	select {
	case <-w.done:
		return nil
	default:
		return refusal.New(refusal.SessionUnknown)
	}
}

func (s *session) knows(secret []byte) bool {
	return subtle.ConstantTimeCompare(s.secret[:], secret) == 1
}

func (s *session) begunOn(g ident.Generation) bool { return s.begun.Load() == uint64(g) }

// letGo reports, to exactly one caller, that the session had begun on an incarnation and
// is to be ended there: done twice it is done once (C9.4).
func (s *session) letGo(g ident.Generation) bool {
	return g != 0 && s.begun.CompareAndSwap(uint64(g), 0)
}

// policyLink returns the links after making sure that policy knows the session, and
// that no lease given under an earlier executor incarnation is left (C10.2).
func (s *session) policyLink(ctx context.Context) (*policylink.Link, *executorlink.Link, error) {
	p, e, err := s.host.links()
	if err != nil {
		return nil, nil, err
	}
	var known, moved, settled bool
	err = s.do(func(st *state) {
		known = st.policy == p.Generation()
		moved = st.executor != 0 && st.executor != e.Generation
		settled = known && st.executor == e.Generation
	})
	if err == nil && settled {
		return p, e, nil
	}
	if err == nil && !known {
		_, err = p.BeginSession(ctx, s.declaration())
	}
	if err == nil && moved {
		_, err = p.Revoke(ctx, s.id, "")
	}
	if err != nil {
		return nil, nil, err
	}
	return p, e, s.do(func(st *state) { st.policy, st.executor = p.Generation(), e.Generation })
}

// inOrder does book-keeping about the session off its caller's path: each entry after
// the one before it, so that policy hears of stop and resume, of turn and turn, as they
// happened. Each entry is bounded by itself. The channel is closed when it is done.
func (s *session) inOrder(book func()) <-chan struct{} {
	done := make(chan struct{})
	s.mu.Lock()
	before := s.booked
	s.booked = done
	s.mu.Unlock()
	s.host.background(func() {
		defer close(done)
		if before != nil {
			<-before
		}
		book()
	})
	return done
}

// declaration is a fresh copy, because each link stamps its own fence on it.
func (s *session) declaration() *policyv1.BeginSessionRequest {
	return &policyv1.BeginSessionRequest{
		SessionId: string(s.id), Uid: s.uid, ClientName: s.client.GetClientName(),
		Vision: s.client.GetVision(), RemotePictures: s.client.GetRemotePictures(),
	}
}

// ensureBegun makes sure that the executor incarnation has the session's act key.
func (s *session) ensureBegun(ctx context.Context, e *executorlink.Link) error {
	if s.begunOn(e.Generation) {
		return nil
	}
	if err := e.BeginSession(ctx, s.id, s.actKey); err != nil {
		return err
	}
	s.begun.Store(uint64(e.Generation))
	return nil
}

// endSession ends a session once: its goroutine, its leases, its executor session.
func (h *Host) endSession(s *session, reason hostv1.ReleaseReason, cause hostv1.EndCause) bool {
	h.mu.Lock()
	_, open := h.sessions[s.id]
	delete(h.sessions, s.id)
	p, e := h.policy, h.executor
	h.mu.Unlock()
	if !open {
		return false
	}
	s.mu.Lock()
	s.closed = true
	if s.gone != nil {
		s.gone.Stop()
	}
	s.mu.Unlock()
	s.mark(mark{kind: markEnd})
	<-s.ended
	h.books.ended(s.id)
	// Nobody queues and nobody takes any more: what is left here was never begun.
	h.waiting.Add(-int64(len(s.inbox)))
	if e != nil && s.letGo(e.Generation) {
		e.EndSession(context.Background(), s.id)
		h.releases.Publish(release.Event{
			Executor: e.Generation, Sessions: []ident.SessionID{s.id}, Reason: int32(reason), Cause: int32(cause),
		})
	}
	if p != nil {
		p.EndSession(context.Background(), s.id)
	}
	return true
}
