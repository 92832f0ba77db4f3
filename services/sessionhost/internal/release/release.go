// Package release is the fact that something was let go of (C9.4). A release states
// facts: a consumer never infers a generation change from the reason. It carries ids and
// numbers, never content. It is a value; whoever publishes it decides who is told.
package release

import (
	"slices"

	"fairlead.dev/services/shared/ident"
)

// Event is one release fact. Reason and Cause are numbers of the wire's vocabularies.
type Event struct {
	Executor           ident.Generation
	GenerationReleased bool
	Sessions           []ident.SessionID
	Reason, Cause      int32
	OutcomesUnknown    bool
}

// For returns the event as a subscriber of one session may see it: with that session
// only, or false when the event does not list it.
func (e Event) For(session ident.SessionID) (Event, bool) {
	if !slices.Contains(e.Sessions, session) {
		return Event{}, false
	}
	e.Sessions = []ident.SessionID{session}
	return e, true
}
