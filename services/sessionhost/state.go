package sessionhost

import (
	"sync"
	"time"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	"fairlead.dev/services/sessionhost/internal/executorlink"
	"fairlead.dev/services/sessionhost/internal/feed"
	"fairlead.dev/services/sessionhost/internal/frame"
	"fairlead.dev/services/sessionhost/internal/keyboard"
	"fairlead.dev/services/sessionhost/internal/revision"
	machine "fairlead.dev/services/sessionhost/internal/session"
	"fairlead.dev/services/sessionhost/internal/timeline"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
)

// state is what a session's goroutine owns. Its methods are steps: they wait for
// nothing, call nobody, and read no clock; the stories of calls take them through do.
// Everything a session can be refused with before the executor looks is decided here.
type state struct {
	id     ident.SessionID
	host   ident.Generation
	actKey ident.ActKey
	books  *books

	machine  machine.State
	frames   frame.Book
	ids      revision.Book
	seen     *seenWindow // the whole tree behind the current frame (C2.4)
	pictures []*commonv1.Picture
	turn     ident.TurnID
	acts     actBook
	failures failures
	permits  permits
	policy   ident.Generation // policy generation that knows this session
	inflight *inflight
	// said is the user's words that stand since the latest resume.
	said map[markKind]bool
	// executor is the incarnation the session's leases were given under.
	executor ident.Generation
	// unknown is the incarnation that left an act of the session unknown, until the
	// session has observed since.
	unknown ident.Generation
	// touched is the window the user intervened in; disturbed says that the user's input
	// went into the bound window while an act was with the executor.
	touched   ident.Window
	disturbed bool
	// cutShort says whether an act was with the executor when authority was last taken.
	cutShort bool
}

// inflight is the one act that is with the executor.
type inflight struct {
	link     *executorlink.Link
	dispatch string
	window   ident.Window
}

// books is what the sessions of a host share: who may type, and what happened. Its
// mutex is held for single steps only.
type books struct {
	mu       sync.Mutex
	keyboard keyboard.Board
	log      timeline.Log
	events   *feed.Feed[timeline.Event]
	now      func() time.Time
	pictured int // bytes of all pictures kept
}

func newBooks() *books {
	return &books{events: feed.New[timeline.Event](watching), now: time.Now}
}

func newState(id ident.SessionID, key ident.ActKey, host ident.Generation, b *books) *state {
	return &state{
		id: id, actKey: key, host: host, books: b,
		permits: permits{held: map[scope]readPermit{}}, said: map[markKind]bool{},
	}
}

// note tells people what happened.
func (b *books) note(e timeline.Event) {
	b.mu.Lock()
	e.At = b.now()
	b.events.Publish(b.log.Add(e))
	b.mu.Unlock()
}

// ended notes that a session's line is complete.
func (b *books) ended(s ident.SessionID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.log.End(s)
}

func (st *state) note(k timeline.Kind) { st.books.note(timeline.Event{Session: st.id, Kind: k}) }

// suffer applies a mark, and reports whether the act in flight is to be cancelled.
func (st *state) suffer(m mark) (cancel bool) {
	c := consequences[m.kind]
	if c.window && !st.concerns(m.window) {
		return false
	}
	before := st.machine
	if c.moves {
		st.machine = machine.Step(st.machine, c.event)
	}
	if c.drops {
		st.drop()
	}
	if c.keyboard != 0 {
		st.loseKeyboard(c.keyboard)
	}
	switch m.kind {
	case markExecutor:
		st.ids.Forget()
	case markInput:
		st.disturbed = true
	case markCalm:
		// From here on that window is like any other: what happens to it is not about this
		// session unless its frame shows it.
		st.touched = ident.Window{}
	case markLeaseEnded:
		st.permits.drop()
	}
	tells := c.told != 0 && (!c.moves || st.machine != before)
	if spoken[m.kind].fact != 0 {
		// A word is told once, also when it changes nothing any more.
		tells = !st.said[m.kind]
	}
	if tells {
		st.note(c.told)
	}
	if c.cancels {
		st.cutShort = st.inflight != nil
	}
	return c.cancels && st.inflight != nil
}

// concerns reports whether a mark about a window is about this session's: the one its
// frame shows, the one it acts on, the one it may type into, the one the user is in.
func (st *state) concerns(w ident.Window) bool {
	if w == (ident.Window{}) {
		return true
	}
	if f := st.frames.Current(); f != nil && f.Window == w {
		return true
	}
	if st.inflight != nil && st.inflight.window == w || st.touched == w {
		return true
	}
	o, owns := st.owner()
	return owns && o.Window == w
}

// drop takes the authority of what was observed and allowed.
func (st *state) drop() {
	st.endFrame()
	st.permits.drop()
}

// endFrame ends the current frame and lets go of what is only good together with it.
func (st *state) endFrame() {
	st.frames.End()
	st.seen = nil
	st.forgetPictures()
}

// owner returns the session's keyboard target.
func (st *state) owner() (keyboard.Owner, bool) {
	st.books.mu.Lock()
	defer st.books.mu.Unlock()
	return st.books.keyboard.Of(st.id)
}

// loseKeyboard ends the session's ownership of its keyboard target (C8.3).
func (st *state) loseKeyboard(why keyboard.Cause) {
	st.books.mu.Lock()
	_, had := st.books.keyboard.Revoke(st.id)
	st.books.mu.Unlock()
	if had {
		st.books.revoked(st.id, why)
	}
}

// begin starts a turn, which the agent cannot do after the user's stop (C4.3). It
// reports whether another turn ended with it.
func (st *state) begin(turn ident.TurnID) (over bool, why *refusal.Error) {
	if why := machine.MayBegin(st.machine); why != nil {
		return false, why
	}
	over = st.turn != ""
	st.machine = machine.Step(st.machine, machine.BeginTurn)
	st.turn, st.failures = turn, failures{}
	st.drop()
	st.loseKeyboard(keyboard.ByTurnEnd)
	st.note(timeline.TurnBegun)
	return over, nil
}

// end ends the turn, if it is the running one.
func (st *state) end(turn ident.TurnID) (ended bool) {
	before := st.machine
	if st.turn == turn {
		st.machine = machine.Step(st.machine, machine.EndTurn)
	}
	if st.machine == before {
		return false
	}
	st.drop()
	st.loseKeyboard(keyboard.ByTurnEnd)
	st.note(timeline.TurnEnded)
	return true
}

// apply moves the session as a refusal code says (C5.5).
func (st *state) apply(code refusal.Code) {
	var e machine.Event
	var told timeline.Kind
	var lost keyboard.Cause
	switch refusal.Of(code).GetEvent() {
	case commonv1.SessionEvent_SESSION_EVENT_USER_INTERVENED:
		e, told, lost = machine.Intervene, timeline.Intervened, keyboard.ByIntervention
		if f := st.frames.Current(); f != nil {
			st.touched = f.Window
		}
	case commonv1.SessionEvent_SESSION_EVENT_SCREEN_LOCKED:
		e, told, lost = machine.Lock, timeline.Locked, keyboard.ByLock
	case commonv1.SessionEvent_SESSION_EVENT_BLOCKED_URL:
		e, told, lost = machine.BlockedDestination, timeline.Blocked, keyboard.ByRefusal
	case commonv1.SessionEvent_SESSION_EVENT_REOBSERVE:
		e, lost = machine.LostTrack, keyboard.ByFailure
	default:
		return
	}
	before := st.machine.Holds
	st.machine = machine.Step(st.machine, e)
	st.endFrame()
	st.loseKeyboard(lost)
	if told != 0 && st.machine.Holds != before {
		st.note(told)
	}
}

// landed notes that the act that was with the executor is over.
func (st *state) landed(resp *hostv1.ActResponse) {
	in := st.inflight
	if in != nil && in.link != nil && resp.GetOutcome() == commonv1.Outcome_OUTCOME_UNKNOWN {
		st.unknown = in.link.Generation
	}
	st.inflight = nil
}

// unknownOn reports whether an incarnation that ended leaves an act of the session unknown.
func (st *state) unknownOn(g ident.Generation) bool {
	return st.unknown == g || st.inflight != nil && st.inflight.link.Generation == g
}

// send is the last look at the ticket, in the same step that makes the act cancellable
// by name: a stop comes either before it or finds it (C4.5). mayGo is the call's own
// point of no return.
func (st *state) send(t machine.Ticket, b *bound, in *inflight, stopped, mayGo func() bool) error {
	if why := machine.Check(st.machine, t); why != nil {
		return why
	}
	if stopped() {
		return refusal.New(refusal.UserStopped)
	}
	if b != nil && b.owned {
		if why := st.mayType(b.frame, b.elementID); why != nil {
			return why
		}
	}
	if !mayGo() {
		return refusal.New(refusal.Aborted)
	}
	st.inflight, st.disturbed = in, false
	return nil
}

// failures counts how often acts were looked at and refused, one after the other, since
// something last came out well. Bounded by failuresMax: what does not fit is not counted.
type failures map[[32]byte]int

// Bounds of failures.
const (
	failuresMax = 64
	// failedMax is how often the same act may be refused, on whatever frames, before it is
	// not even tried again (REPEATED_FAILURE).
	failedMax = 3
)

func (f *failures) count(d [32]byte, code refusal.Code) {
	r := refusal.Of(code)
	if r.GetClaimEnd() != commonv1.ClaimEnd_CLAIM_END_RETIRED || r.GetNextMove() == commonv1.NextMove_NEXT_MOVE_WAIT {
		return
	}
	if *f == nil {
		*f = failures{}
	}
	if _, known := (*f)[d]; known || len(*f) < failuresMax {
		(*f)[d]++
	}
}
