// Package session is the state of one session as data (C5): the base status of its
// turn, the holds on it, and what each event does to both. Step is pure; the new
// state is adopted only when it is returned. Tickets name a revision and are checked
// before and after every wait.
package session

import (
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
)

func (b Base) terminal() bool { return b == Stopped || b == Ended }

func (b Base) running() bool { return b == Unobserved || b == Active || b == Reobserve }

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

// Has reports whether a hold is in the set.
func (h Holds) Has(one Holds) bool { return h&one != 0 }

// Event is something that happens to a session.
type Event uint8

// The events.
const (
	BeginTurn Event = iota
	EndTurn
	Observed
	StopByUser
	Resume
	Pause
	TakeOver
	Lock
	Unlock
	Intervene
	InterventionOver
	BlockedDestination
	LostTrack      // outcome unknown, service unavailable, service mismatch
	ExecutorGone   // the executor generation changed
	PolicyGone     // the policy generation changed
	ContentChanged // dynamic content: changes nothing (C5.6)
	eventCount
)

// effect is one row of the table: what an event does.
type effect struct {
	// base says where a running turn goes; zero means it stays.
	base map[Base]Base
	// set and lift are the holds it sets and lifts.
	set, lift Holds
	// authority says that it takes authority away: the session generation moves (C1.1).
	authority bool
	// nothing says that it is no transition at all.
	nothing bool
}

func running(to Base) map[Base]Base {
	return map[Base]Base{Unobserved: to, Active: to, Reobserve: to}
}

var (
	anyTurn = map[Base]Base{
		NoTurn: Unobserved, Unobserved: Unobserved, Active: Unobserved, Reobserve: Unobserved,
		Stopped: Unobserved, Ended: Unobserved,
	}
	unseen = map[Base]Base{Active: Reobserve}
)

// table is the whole machine (C5.7). Code and the golden grid read it.
var table = [eventCount]effect{
	BeginTurn:          {base: anyTurn, authority: true},
	EndTurn:            {base: running(Ended), authority: true},
	Observed:           {base: running(Active)},
	StopByUser:         {base: running(Stopped), set: HeldStopped, authority: true},
	Resume:             {lift: HeldStopped | Paused, authority: true},
	Pause:              {base: unseen, set: Paused, authority: true},
	TakeOver:           {base: unseen, set: Paused, authority: true},
	Lock:               {base: unseen, set: ScreenLocked, authority: true},
	Unlock:             {lift: ScreenLocked},
	Intervene:          {base: unseen, set: Intervention, authority: true},
	InterventionOver:   {lift: Intervention},
	BlockedDestination: {base: unseen, set: BlockedURL, authority: true},
	LostTrack:          {base: unseen},
	ExecutorGone:       {base: unseen, authority: true},
	PolicyGone:         {base: unseen, authority: true},
	ContentChanged:     {nothing: true},
}

// State is the state of a session. The zero value is a session without a turn.
type State struct {
	Base       Base
	Holds      Holds
	Revision   uint64
	Generation ident.Generation
}

// Step returns the state after an event. A terminal base absorbs everything but a new
// turn (C5.2); holds belong to the session and move also then. What changes nothing
// is not a transition: revision and generation stay.
func Step(s State, e Event) State {
	row := table[e]
	if row.nothing {
		return s
	}
	next := s
	to, moves := row.base[s.Base]
	if moves {
		next.Base = to
	}
	next.Holds = s.Holds&^row.lift | row.set
	absorbed := (s.Base.terminal() || s.Base == NoTurn) && e != BeginTurn && next.Holds == s.Holds
	if absorbed || (row.lift != 0 && row.set == 0 && next.Holds == s.Holds) {
		return s
	}
	if e == Observed && !moves {
		return s
	}
	next.Revision++
	if row.authority {
		next.Generation++
	}
	return next
}

// Ticket is the right to observe or to act as of one revision.
type Ticket struct{ revision uint64 }

// ObserveTicket returns a ticket to observe (C5.4), or why there is none.
func ObserveTicket(s State) (Ticket, *refusal.Error) {
	if code := blocked(s); code != 0 {
		return Ticket{}, refusal.New(code)
	}
	return Ticket{s.Revision}, nil
}

// ActTicket returns a ticket to act (C5.4), or why there is none.
func ActTicket(s State) (Ticket, *refusal.Error) {
	if code := blocked(s); code != 0 {
		return Ticket{}, refusal.New(code)
	}
	switch s.Base {
	case Active:
		return Ticket{s.Revision}, nil
	case Unobserved:
		return Ticket{}, refusal.New(refusal.NoActiveFrame)
	default:
		return Ticket{}, refusal.New(refusal.ReobserveRequired)
	}
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

// Check says whether a ticket still holds; it does not after any transition.
func Check(s State, t Ticket) *refusal.Error {
	if code := blocked(s); code != 0 {
		return refusal.New(code)
	}
	if s.Revision != t.revision {
		return refusal.New(refusal.ReobserveRequired)
	}
	return nil
}

// blocked returns what the shown status refuses every ticket with (C5.1), or zero.
func blocked(s State) refusal.Code {
	switch {
	case s.Holds.Has(BlockedURL):
		return refusal.BlockedURL
	case s.Base == Stopped:
		return refusal.UserStopped
	case !s.Base.running() && !s.Holds.Has(HeldStopped):
		return refusal.TurnEnded
	case s.Holds.Has(HeldStopped):
		return refusal.UserStopped
	case s.Holds.Has(Paused):
		return refusal.Paused
	case s.Holds.Has(ScreenLocked):
		return refusal.ScreenLocked
	case s.Holds.Has(Intervention):
		return refusal.UserIntervened
	}
	return 0
}
