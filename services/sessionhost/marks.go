package sessionhost

import (
	"fairlead.dev/services/sessionhost/internal/keyboard"
	machine "fairlead.dev/services/sessionhost/internal/session"
	"fairlead.dev/services/sessionhost/internal/timeline"
	"fairlead.dev/services/shared/ident"
)

// marksMax bounds the marks a session has not heeded yet. Past it nothing that gives
// authority back is taken any more, and windows are no longer told apart.
const marksMax = 64

// markKind is what happened to a session from outside its calls.
type markKind uint8

// The kinds of marks.
const (
	markStop markKind = iota
	markStopAll
	markPause
	markTakeOver
	markResume
	markLocked
	markUnlocked
	markInput       // the user's input into the window
	markCalm        // no such input for 1.5 s
	markExecutor    // the executor incarnation ended
	markPolicy      // the policy generation ended
	markLeaseEnded  // a lease ended
	markWindowSpent // another session acted on the window
	markWindowEnded // the window is gone, or another one
	markContent     // dynamic content
	markClientGone  // nobody has used the session for 10 s
	markEnd         // the session ends
	markKinds
)

// mark is one of them. A zero window means that it may be any.
type mark struct {
	kind   markKind
	window ident.Window
}

// consequence is what a mark does to a session, as data: the machine's event, whether
// the frame and what was allowed are dropped, whether the act in flight is cancelled by
// name, why the keyboard is lost, and what people are told.
type consequence struct {
	event    machine.Event
	moves    bool
	drops    bool
	cancels  bool
	keyboard keyboard.Cause
	told     timeline.Kind
	// window says that it counts only for a session whose frame is of the mark's window.
	window bool
	// gives says that it gives authority back.
	gives bool
}

// consequences is the whole table of C12.1's four words and of everything else that
// reaches a session from outside.
var consequences = [markKinds]consequence{
	markStop: {
		event: machine.StopByUser, moves: true, drops: true, cancels: true,
		keyboard: keyboard.ByStop, told: timeline.Stopped,
	},
	markStopAll: {
		event: machine.StopByUser, moves: true, drops: true, cancels: true,
		keyboard: keyboard.ByStop, told: timeline.StoppedAll,
	},
	markPause: {
		event: machine.Pause, moves: true, drops: true, cancels: true,
		keyboard: keyboard.ByPause, told: timeline.Paused,
	},
	markTakeOver: {
		event: machine.TakeOver, moves: true, drops: true, cancels: true,
		keyboard: keyboard.ByPause, told: timeline.TakenOver,
	},
	markResume: {event: machine.Resume, moves: true, told: timeline.Resumed, gives: true},
	markLocked: {
		event: machine.Lock, moves: true, drops: true, cancels: true,
		keyboard: keyboard.ByLock, told: timeline.Locked,
	},
	markUnlocked: {event: machine.Unlock, moves: true, told: timeline.Unlocked, gives: true},
	// The user's input into the bound window between acts ends keyboard ownership and
	// nothing else; during an act the executor makes the act yield (C12.2).
	markInput: {keyboard: keyboard.ByInput, window: true},
	markCalm:  {event: machine.InterventionOver, moves: true, told: timeline.InterventionOver, gives: true},
	markExecutor: {
		event: machine.ExecutorGone, moves: true, drops: true,
		keyboard: keyboard.ByGeneration, told: timeline.ExecutorGone,
	},
	markPolicy: {
		event: machine.PolicyGone, moves: true, drops: true,
		keyboard: keyboard.ByGeneration, told: timeline.PolicyGone,
	},
	markLeaseEnded: {},
	markWindowSpent: {
		event: machine.LostTrack, moves: true, drops: true, keyboard: keyboard.ByReplacement, window: true,
	},
	markWindowEnded: {keyboard: keyboard.ByTargetChange, window: true},
	markContent:     {event: machine.ContentChanged, moves: true},
	markClientGone:  {cancels: true, keyboard: keyboard.ByClientGone, told: timeline.ClientGone},
	markEnd:         {cancels: true, keyboard: keyboard.BySessionEnd, told: timeline.SessionEnded},
}

// addMark puts a mark at the end of the list. The list keeps its order and its bound.
func addMark(list []mark, m mark) []mark {
	if n := len(list); n > 0 && list[n-1] == m {
		return list
	}
	if len(list) < marksMax {
		return append(list, m)
	}
	if consequences[m.kind].gives {
		return list
	}
	for i := len(list) - 1; i >= 0 && !consequences[list[i].kind].gives; i-- {
		if list[i].kind == m.kind {
			// It may be any window now, and any time since nothing was given back.
			list[i].window = ident.Window{}
			return list
		}
	}
	return append(list, m)
}
