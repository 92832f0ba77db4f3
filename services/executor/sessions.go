package executor

import (
	"context"
	"slices"

	"fairlead.dev/services/executor/internal/snapshots"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
)

// knownMax is how many windows a session remembers the neighbours of.
const knownMax = 64

// session is what the executor keeps for one session. The executor's mutex guards it.
type session struct {
	id          ident.SessionID
	key         ident.ActKey
	looks       *snapshots.Store[*look]
	resolutions *snapshots.Store[Resolution]
	// known holds, per window, the toplevels of its app at the session's last snapshot.
	known map[ident.Window][]ident.Window
	ended bool
	// early names dispatches that were cancelled before they arrived, oldest first.
	early []string
}

// earlyMax bounds how many early cancels are remembered: the host has one act in flight.
const earlyMax = 8

// cancelledEarly remembers a cancel that overtook its dispatch: calls on one connection
// reach their handlers in any order (C9.7).
func (s *session) cancelledEarly(dispatch string) {
	if len(s.early) == earlyMax {
		s.early = s.early[1:]
	}
	s.early = append(s.early, dispatch)
}

func newSession(id ident.SessionID, key ident.ActKey) *session {
	return &session{
		id: id, key: key,
		looks:       snapshots.New[*look](),
		resolutions: snapshots.New[Resolution](),
		known:       map[ident.Window][]ident.Window{},
	}
}

// begin begins a session. Begun again with the same key it is the same session.
func (e *Executor) begin(id ident.SessionID, key ident.ActKey) (refusal.Answer, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.state.halted {
		return refusal.AnswerHalted, nil
	}
	if s, ok := e.state.sessions[id]; ok {
		if s.key != key {
			return 0, refusal.NotAllowed("the session has begun with another key")
		}
		return 0, nil
	}
	if len(e.state.sessions) >= sessionsMax {
		return refusal.AnswerUnavailable, nil
	}
	e.state.sessions[id] = newSession(id, key)
	return 0, nil
}

// endSession forgets a session and cancels what it runs. It reports whether it had begun.
func (e *Executor) endSession(id ident.SessionID) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	s, ok := e.state.sessions[id]
	if !ok {
		return false
	}
	s.ended = true
	delete(e.state.sessions, id)
	for _, r := range e.state.running {
		if r.session == s {
			r.cancel()
		}
	}
	return true
}

// session finds a session that has begun.
func (e *Executor) session(id string) (*session, refusal.Answer) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.state.halted {
		return nil, refusal.AnswerHalted
	}
	s, ok := e.state.sessions[ident.SessionID(id)]
	if !ok {
		return nil, refusal.AnswerSessionUnknown
	}
	return s, 0
}

// runningID names a dispatch.
type runningID struct {
	session  ident.SessionID
	dispatch string
}

// running is a dispatch under way. The executor's mutex guards it.
type running struct {
	session   *session
	cancelled bool
	// window is what it is bound to, the zero window before that is known and for a launch.
	window ident.Window
	// interrupted says that the user's own input went into that window (C12.2).
	interrupted bool
	// stopSend ends the send; stopAll ends the observation after it too; yield only what
	// is being delivered.
	stopSend, stopAll, yield context.CancelFunc
}

// cancel cancels a dispatch by name: before the send nothing is sent, after it the
// dispatch answers truthfully (C9.7).
func (r *running) cancel() {
	r.cancelled = true
	r.stopSend()
}

// bind names the window that a dispatch acts on, and how to have it yield.
func (e *Executor) bind(r *running, w ident.Window, yield context.CancelFunc) {
	e.mu.Lock()
	defer e.mu.Unlock()
	r.window, r.yield = w, yield
}

// userInput makes every dispatch on a window yield to the user's own input into it. Input
// into no known window may be into any (C12.2).
func (e *Executor) userInput(w ident.Window) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range e.state.running {
		if r.yield != nil && (w == (ident.Window{}) || w == r.window) {
			r.interrupted = true
			r.yield()
		}
	}
}

// abandon ends the observation too: there is nobody left to tell.
func (r *running) abandon() { r.stopAll() }

// enter registers a dispatch under a deadline of its own. A caller that goes away
// does not end it; the returned function does.
func (e *Executor) enter(
	caller context.Context, s *session, dispatchID string,
) (send, whole context.Context, r *running, leave func(), err error) {
	id := runningID{s.id, dispatchID}
	whole, stopAll := context.WithTimeout(context.WithoutCancel(caller), dispatchMax)
	send, stopSend := context.WithCancel(whole)
	r = &running{session: s, stopSend: stopSend, stopAll: stopAll}
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, ok := e.state.running[id]; ok {
		stopSend()
		stopAll()
		return nil, nil, nil, nil, refusal.Unusable("a dispatch of this id is running")
	}
	e.state.running[id] = r
	if slices.Contains(s.early, dispatchID) {
		r.cancel()
	}
	leave = func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.state.running, id)
		stopSend()
		stopAll()
	}
	return send, whole, r, leave, nil
}

// mayGoOn answers why a dispatch may send nothing, or nothing more, or zero.
func (e *Executor) mayGoOn(r *running) refusal.Answer {
	e.mu.Lock()
	defer e.mu.Unlock()
	if a := e.mayStillSend(r); a != 0 {
		return a
	}
	if r.interrupted {
		return refusal.AnswerPhysicalInputActive
	}
	return 0
}

// mayStillSend answers why a dispatch may no longer be sent, or zero. The mutex is held.
func (e *Executor) mayStillSend(r *running) refusal.Answer {
	switch {
	case e.state.halted:
		return refusal.AnswerHalted
	case r.cancelled || r.session.ended || e.state.ended:
		return refusal.AnswerAborted
	default:
		return 0
	}
}

// commit spends a permit and what it is spent with, at the moment before the send.
// Zero means that this dispatch, and no other, may send.
func (e *Executor) commit(r *running, p *held, spend func() refusal.Answer) refusal.Answer {
	e.mu.Lock()
	defer e.mu.Unlock()
	if a := e.mayStillSend(r); a != 0 {
		return a
	}
	if a := e.state.spent.take(p.id, p.expires, e.bootNow()); a != 0 {
		return a
	}
	if a := spend(); a != 0 {
		e.state.spent.giveBack(p.id)
		return a
	}
	return 0
}

// restore gives both back: a refused dispatch spends nothing (C6.5).
func (e *Executor) restore(p *held, restore func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.state.spent.giveBack(p.id)
	restore()
}
