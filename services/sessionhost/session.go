package sessionhost

import (
	"context"
	"crypto/subtle"
	"sync"
	"sync/atomic"
	"time"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	policyv1 "fairlead.dev/gen/fairlead/policy/v1"
	"fairlead.dev/services/sessionhost/internal/executorlink"
	"fairlead.dev/services/sessionhost/internal/frame"
	"fairlead.dev/services/sessionhost/internal/policylink"
	"fairlead.dev/services/sessionhost/internal/release"
	"fairlead.dev/services/sessionhost/internal/revision"
	machine "fairlead.dev/services/sessionhost/internal/session"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
)

// Bounds of a session (protocol.md, Limits).
const (
	queueSession = 16
	actsMax      = 256
	idleMax      = 15 * time.Minute
)

// Signals are marks, never queued: each is one bit, and a wake-up (C4.3).
const (
	signalStop uint32 = 1 << iota
	signalResume
	signalExecutorGone
	signalPolicyGone
	signalLeaseEnded
	signalWindowSpent
	signalEnd
)

// session is one session. Its goroutine owns state; everything else goes through do.
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
	signals  atomic.Uint32
	begun    atomic.Uint64 // executor generation on which it began
	shown    atomic.Uint64 // session generation, for fences

	mu     sync.Mutex
	spent  []ident.Window // windows other sessions acted on since the last wake-up
	booked chan struct{}  // closed when the latest book-keeping is done
	closed bool           // no call may queue any more
}

// state is what the session's goroutine owns.
type state struct {
	machine  machine.State
	frames   frame.Book
	ids      revision.Book
	turn     ident.TurnID
	acts     map[ident.ActID]*actRecord
	actOrder []ident.ActID
	permits  map[scope]readPermit
	policy   ident.Generation // policy generation that knows this session
	inflight *inflight
	// stopped says that the user's stop is on the books and no resume since.
	stopped bool
	// executor is the incarnation the session's leases were given under.
	executor ident.Generation
	// unknown is the incarnation that left an act of the session unknown, until the
	// session has observed since.
	unknown ident.Generation
}

// landed notes that the act that was with the executor is over.
func (st *state) landed(resp *hostv1.ActResponse) {
	if in := st.inflight; in != nil && resp.GetOutcome() == commonv1.Outcome_OUTCOME_UNKNOWN {
		st.unknown = in.link.Generation
	}
	st.inflight = nil
}

// unknownOn reports whether an incarnation that ended leaves an act of the session unknown.
func (st *state) unknownOn(g ident.Generation) bool {
	return st.unknown == g || st.inflight != nil && st.inflight.link.Generation == g
}

// inflight is the one act that is with the executor.
type inflight struct {
	link     *executorlink.Link
	dispatch string
}

// actRecord is what is kept of an act: never the observation.
type actRecord struct {
	digest   [32]byte
	response *hostv1.ActResponse
}

// call is one queued call.
type call struct {
	s       *session
	arrival uint64
	run     func(*call)
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

// sending is the point of no return; it fails when the caller has left.
func (c *call) sending() bool { return c.stage.CompareAndSwap(stageWaiting, stageSent) }

// step is a piece of work on the state, done by its owner.
type step struct {
	f    func(*state)
	done chan struct{}
}

func newSession(h *Host, uid uint32) *session {
	s := &session{
		id: ident.SessionID(ident.New("s")), secret: ident.NewSecret(), uid: uid, actKey: ident.NewActKey(), host: h,
		inbox: make(chan *call, queueSession), steps: make(chan step), wake: make(chan struct{}, 1),
		ended: make(chan struct{}),
	}
	h.background(s.own)
	return s
}

// own is the session's goroutine. It never calls out and never waits for anything but
// its own channels.
func (s *session) own() {
	defer close(s.ended)
	st := &state{acts: map[ident.ActID]*actRecord{}, permits: map[scope]readPermit{}}
	finished := make(chan struct{})
	idle := time.NewTimer(idleMax)
	defer idle.Stop()
	busy := false
	for {
		if s.heed(st) {
			return
		}
		s.shown.Store(uint64(st.machine.Generation))
		inbox := s.inbox
		if busy {
			inbox = nil
		}
		select {
		case <-s.wake:
		case w := <-s.steps:
			w.f(st)
			s.shown.Store(uint64(st.machine.Generation))
			close(w.done)
		case c := <-inbox:
			busy = true
			idle.Stop()
			s.host.waiting.Add(-1)
			s.host.background(func() {
				c.run(c)
				select {
				case finished <- struct{}{}:
				case <-s.ended:
				}
			})
		case <-finished:
			busy = false
			idle.Reset(idleMax)
		case <-idle.C:
			s.host.background(func() {
				s.host.endSession(s, hostv1.ReleaseReason_RELEASE_REASON_SESSION_CLEARED, hostv1.EndCause_END_CAUSE_IDLE)
			})
		}
	}
}

// heed applies the signals; it reports whether the session ends.
func (s *session) heed(st *state) (end bool) {
	bits := s.signals.Swap(0)
	if bits&signalEnd != 0 {
		s.cancelInflight(st)
		return true
	}
	if bits&signalStop != 0 {
		st.machine = machine.Step(st.machine, machine.StopByUser)
		s.cancelInflight(st)
		s.drop(st)
	}
	if bits&signalResume != 0 {
		st.machine = machine.Step(st.machine, machine.Resume)
	}
	if bits&signalExecutorGone != 0 {
		st.machine = machine.Step(st.machine, machine.ExecutorGone)
		st.ids.Forget()
		s.drop(st)
	}
	if bits&signalPolicyGone != 0 {
		st.machine = machine.Step(st.machine, machine.PolicyGone)
		s.drop(st)
	}
	if bits&signalLeaseEnded != 0 {
		clear(st.permits)
	}
	if bits&signalWindowSpent != 0 {
		s.heedSpent(st)
	}
	return false
}

// drop takes the authority of what was observed and allowed.
func (s *session) drop(st *state) {
	st.frames.End()
	clear(st.permits)
}

// heedSpent ends the frame of a window that another session acted on (C2.5).
func (s *session) heedSpent(st *state) {
	s.mu.Lock()
	spent := s.spent
	s.spent = nil
	s.mu.Unlock()
	for _, w := range spent {
		if f := st.frames.Current(); f != nil && f.Window == w {
			st.frames.End()
			st.machine = machine.Step(st.machine, machine.LostTrack)
		}
	}
}

// cancelInflight asks the executor to cancel by name; the call answers with its outcome.
func (s *session) cancelInflight(st *state) {
	if in := st.inflight; in != nil {
		s.host.background(func() { in.link.Cancel(context.Background(), s.id, in.dispatch) })
	}
}

// signal sets a mark and wakes the session. It never waits.
func (s *session) signal(bit uint32) {
	s.signals.Or(bit)
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// windowSpent tells the session that another one acted on a window.
func (s *session) windowSpent(w ident.Window) {
	s.mu.Lock()
	if len(s.spent) < queueHost {
		s.spent = append(s.spent, w)
	}
	s.mu.Unlock()
	s.signal(signalWindowSpent)
}

// do runs f on the state, by its owner. It fails only when the session has ended.
func (s *session) do(f func(*state)) error {
	w := step{f: f, done: make(chan struct{})}
	select {
	case s.steps <- w:
		<-w.done
		return nil
	case <-s.ended:
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
	s.mu.Unlock()
	s.signal(signalEnd)
	<-s.ended
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
