// Package session is the state of one session as data (C5): the base status of its
// turn, the holds on it, and what each event does to both. Step is pure; the new
// state is adopted only when it is returned. Tickets name a revision and are checked
// before and after every wait. It owns no goroutine, reads no clock, and never decides
// what happened: the host says which event it is.
package session

import (
	"strings"

	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
)

// Base is the base status of a turn.
type Base uint8

// The base statuses. NoTurn is a session whose first turn has not begun.
const (
	NoTurn Base = iota
	Unobserved
	Active
	Reobserve
	Stopped
	Ended
	baseCount
)

// Bases returns every base status.
func Bases() []Base { return []Base{NoTurn, Unobserved, Active, Reobserve, Stopped, Ended} }

// String names the base as the contract does.
func (b Base) String() string { return Status(State{Base: b}).String() }

// Holds is a set of holds.
type Holds uint8

// The holds, in the order in which the shown status looks at them.
const (
	BlockedURL Holds = 1 << iota
	HeldStopped
	Paused
	ScreenLocked
	Intervention
)

// AllHolds is every hold at once; every set of holds is a number up to it.
const AllHolds = BlockedURL | HeldStopped | Paused | ScreenLocked | Intervention

// Has reports whether a hold is in the set.
func (h Holds) Has(one Holds) bool { return h&one != 0 }

// String names the holds of the set, with spaces between them.
func (h Holds) String() string {
	var names []string
	for _, r := range statuses {
		if h.Has(r.hold) {
			names = append(names, r.name)
		}
	}
	return strings.Join(names, " ")
}

// Event is something that happens to a session.
type Event uint8

// The events.
const (
	BeginTurn Event = iota
	EndTurn
	Observed // an observation became the current frame
	StopByUser
	Resume           // by the user's side, also an answer to the question that a stop leaves (C4.3)
	Pause            // the user holds the session
	TakeOver         // to the machine the same; the host gives up what was given (C12.1)
	Lock             // the screen was locked
	Unlock           // the system says that it is unlocked
	Intervene        // the user used the bound window during an act
	InterventionOver // 1.5 s without the user's input
	BlockedDestination
	LostTrack      // outcome unknown, service unavailable, service mismatch
	ExecutorGone   // the executor generation changed
	PolicyGone     // the policy generation changed
	ContentChanged // dynamic content: changes nothing (C5.6)
	eventCount
)

// Events returns every event.
func Events() []Event {
	all := make([]Event, eventCount)
	for i := range all {
		all[i] = Event(i)
	}
	return all
}

// String names the event as this package does.
func (e Event) String() string { return table[e].name }

// State is the state of a session. The zero value is a session without a turn.
type State struct {
	Base       Base
	Holds      Holds
	Revision   uint64
	Generation ident.Generation
}

// Step returns the state after an event. It is a transition when the table lists the
// base or the holds change; anything else leaves the state as it is, revision and
// generation included (C5.2). Holds belong to the session: they also change when the
// turn is over.
func Step(s State, e Event) State {
	row, next := table[e], s
	next.Holds = s.Holds&^row.lift | row.set
	to := row.base[s.Base]
	listed := to != NoTurn && !(row.unheld && s.Holds != 0)
	if !listed && next.Holds == s.Holds {
		return s
	}
	if listed {
		next.Base = to
	}
	next.Revision++
	if row.authority {
		next.Generation++
	}
	return next
}

// Shown is the one status that is shown of a state.
type Shown uint8

// The statuses, in the order in which they are looked for (C5.1).
const (
	ShownBlockedURL  Shown = iota
	ShownUserStopped       // the turn was stopped
	ShownEnded             // the turn ended
	ShownStopped           // the session is held by a stop, whatever its turn
	ShownPaused            // from here on the turn goes on when the hold is lifted
	ShownScreenLocked
	ShownIntervention
	ShownNoTurn
	ShownUnobserved
	ShownActive
	ShownReobserve
)

// Statuses returns every status.
func Statuses() []Shown {
	all := make([]Shown, len(statuses))
	for i := range all {
		all[i] = Shown(i)
	}
	return all
}

// String names the status as the contract does.
func (s Shown) String() string { return statuses[s].name }

// Status returns what is shown of a state: the first status that applies (C5.1).
func Status(s State) Shown {
	for i, r := range statuses {
		if r.applies(s) {
			return Shown(i)
		}
	}
	panic("session: a base that is none")
}

// Ticket is the right to observe or to act as of one revision.
type Ticket struct{ revision uint64 }

// ObserveTicket returns a ticket to observe (C5.4), or why there is none.
func ObserveTicket(s State) (Ticket, *refusal.Error) {
	return ticket(s, statuses[Status(s)].observe)
}

// ActTicket returns a ticket to act (C5.4), or why there is none.
func ActTicket(s State) (Ticket, *refusal.Error) {
	return ticket(s, statuses[Status(s)].act)
}

func ticket(s State, no refusal.Code) (Ticket, *refusal.Error) {
	if no != 0 {
		return Ticket{}, refusal.New(no)
	}
	return Ticket{s.Revision}, nil
}

// Check says whether a ticket still holds; it does not after any transition.
func Check(s State, t Ticket) *refusal.Error {
	if no := statuses[Status(s)].observe; no != 0 {
		return refusal.New(no)
	}
	if s.Revision != t.revision {
		return refusal.New(refusal.ReobserveRequired)
	}
	return nil
}

// MayBegin says why no turn may begin: what only the user's side lifts, or nothing does.
func MayBegin(s State) *refusal.Error {
	switch {
	case s.Holds.Has(BlockedURL):
		return refusal.New(refusal.BlockedURL)
	case s.Holds.Has(HeldStopped):
		return refusal.New(refusal.UserStopped)
	}
	return nil
}
