package session

import "fairlead.dev/services/shared/refusal"

// moves says where an event leads from each base. The zero value of an entry, which no
// event leads to, means that the event is nothing to that base.
type moves [baseCount]Base

// effect is one row of the table: what an event does.
type effect struct {
	name string
	// base is where the turn goes. A base that is listed makes the event a transition,
	// also to the same base (C5.1).
	base moves
	// set and lift are the holds it sets and lifts, whatever the base.
	set, lift Holds
	// authority says that it takes authority away: the session generation moves (C1.1).
	authority bool
	// unheld says that it is nothing under a hold. What was read under one is discarded
	// (C2.6), so that the end of a hold never shows ACTIVE.
	unheld bool
}

// running leads a running turn to a base. Terminal bases are not listed, so they absorb
// (C5.2), and nothing happens to a turn that has not begun.
func running(to Base) moves { return moves{Unobserved: to, Active: to, Reobserve: to} }

var (
	begun = moves{
		NoTurn: Unobserved, Unobserved: Unobserved, Active: Unobserved, Reobserve: Unobserved,
		Stopped: Unobserved, Ended: Unobserved,
	}
	// unseen takes the current observation away; where there was none, nothing is lost.
	unseen = moves{Unobserved: Unobserved, Active: Reobserve, Reobserve: Reobserve}
)

// table is the whole machine (C5.7): Step, the golden grid and the table in the
// documentation are read from it.
var table = [eventCount]effect{
	BeginTurn:          {name: "BeginTurn", base: begun, authority: true},
	EndTurn:            {name: "EndTurn", base: running(Ended), authority: true},
	Observed:           {name: "Observed", base: running(Active), unheld: true},
	StopByUser:         {name: "StopByUser", base: running(Stopped), set: HeldStopped, authority: true},
	Resume:             {name: "Resume", lift: HeldStopped | Paused},
	Pause:              {name: "Pause", base: unseen, set: Paused, authority: true},
	TakeOver:           {name: "TakeOver", base: unseen, set: Paused, authority: true},
	Lock:               {name: "Lock", base: unseen, set: ScreenLocked, authority: true},
	Unlock:             {name: "Unlock", lift: ScreenLocked},
	Intervene:          {name: "Intervene", base: unseen, set: Intervention, authority: true},
	InterventionOver:   {name: "InterventionOver", lift: Intervention},
	BlockedDestination: {name: "BlockedDestination", base: unseen, set: BlockedURL, authority: true},
	LostTrack:          {name: "LostTrack", base: running(Reobserve)},
	ExecutorGone:       {name: "ExecutorGone", base: unseen, authority: true},
	PolicyGone:         {name: "PolicyGone", base: unseen, authority: true},
	ContentChanged:     {name: "ContentChanged"},
}

// status is one row of what is shown: it applies under a hold or, where it names none,
// in a base. The codes are what a ticket is refused with; zero means it is given.
type status struct {
	name         string
	hold         Holds
	base         Base
	observe, act refusal.Code
}

func (r status) applies(s State) bool {
	if r.hold != 0 {
		return s.Holds.Has(r.hold)
	}
	return s.Base == r.base
}

// never is the status of a state in which there is no ticket.
func never(name string, hold Holds, base Base, code refusal.Code) status {
	return status{name: name, hold: hold, base: base, observe: code, act: code}
}

// statuses is what is shown of a state: the first row that applies (C5.1), with the
// tickets that exist in it (C5.4).
var statuses = [...]status{
	ShownBlockedURL:   never("BLOCKED_URL", BlockedURL, 0, refusal.BlockedURL),
	ShownUserStopped:  never("USER_STOPPED", 0, Stopped, refusal.UserStopped),
	ShownEnded:        never("ENDED", 0, Ended, refusal.TurnEnded),
	ShownStopped:      never("STOPPED", HeldStopped, 0, refusal.UserStopped),
	ShownPaused:       never("PAUSED", Paused, 0, refusal.Paused),
	ShownScreenLocked: never("SCREEN_LOCKED", ScreenLocked, 0, refusal.ScreenLocked),
	ShownIntervention: never("INTERVENTION", Intervention, 0, refusal.UserIntervened),
	ShownNoTurn:       never("NO_TURN", 0, NoTurn, refusal.TurnEnded),
	ShownUnobserved:   {name: "UNOBSERVED", base: Unobserved, act: refusal.NoActiveFrame},
	ShownActive:       {name: "ACTIVE", base: Active},
	ShownReobserve:    {name: "REOBSERVE_REQUIRED", base: Reobserve, act: refusal.ReobserveRequired},
}
