// Package timeline is what happened to each session, for people (C12): who began, acted,
// stopped and resumed, in order. An event is a kind, ids and numbers, never content.
//
// A log is a value of its caller, who brings the time and the lock: no goroutines, no
// clocks, no I/O. Each session's line is bounded and forgets its oldest events; how many
// were forgotten is told (C0.10).
package timeline

import (
	"cmp"
	"slices"
	"time"

	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
)

// Bounds of a log.
const (
	eventsMax = 256  // of one session and class; then the oldest is forgotten
	openMax   = 256  // sessions that have not ended, as many as a host has; then the oldest counts as ended
	allMax    = 4096 // of all lines together, for whoever asks about all
	endedMax  = 32   // sessions that have; then the one that ended first is forgotten
)

// Kind is what happened.
type Kind uint8

// The kinds.
const (
	SessionOpened Kind = iota + 1
	TurnBegun
	TurnEnded
	Observed
	ActSent
	ActEnded
	Stopped
	StoppedAll
	Resumed
	Paused
	TakenOver
	Locked
	Unlocked
	Intervened
	InterventionOver
	Blocked
	ExecutorGone
	PolicyGone
	LeaseGranted
	LeaseEnded
	KeyboardGranted
	KeyboardRevoked
	ClientGone
	SessionEnded
	kindCount
)

var names = [kindCount]string{
	"unknown", "session opened", "turn begun", "turn ended", "observed", "act sent", "act ended", "stopped",
	"stopped with all", "resumed", "paused", "taken over", "locked", "unlocked", "intervened", "intervention over",
	"blocked", "executor gone", "policy gone", "lease granted", "lease ended", "keyboard granted",
	"keyboard revoked", "client gone", "session ended",
}

// String returns the kind in words; a number that is no kind is "unknown".
func (k Kind) String() string {
	if k >= kindCount {
		return names[0]
	}
	return names[k]
}

// Event is one thing that happened to a session. Cause and Outcome are numbers of the
// wire's vocabularies; what does not apply is zero.
type Event struct {
	Seq     uint64 // given by Add: increasing over all sessions of the host
	At      time.Time
	Session ident.SessionID
	Kind    Kind
	Cause   int32
	Act     ident.ActID
	Code    refusal.Code
	Outcome int32
}

// Log is the lines of all sessions. The zero value is empty.
type Log struct {
	seq         uint64
	lines       map[ident.SessionID]*line
	open, ended []ident.SessionID // oldest first
	gone        int               // events of lines that were forgotten as a whole
}

// class is whose doing an event is. Each class of a line has a ring of its own, so that
// no agent can push what the user said out of its line, nor its acts by its turns.
type class int

const (
	byUser class = iota // words, holds and ends
	byAct
	byAgent
	classes
)

func (k Kind) class() class {
	switch k {
	case ActSent, ActEnded:
		return byAct
	case TurnBegun, TurnEnded, Observed, LeaseGranted, LeaseEnded, KeyboardGranted, KeyboardRevoked:
		return byAgent
	default:
		return byUser
	}
}

// line is a ring for each class: once it is full, the oldest event stands where the next
// one goes.
type line [classes]ring

type ring struct {
	events    []Event
	forgotten int
}

// Add numbers an event, keeps it in its session's line and returns it as kept. A line
// begins with SessionOpened: an event of a session that has no line, because it was
// never opened or ended too long ago, is numbered and not kept, so that a late event
// cannot begin a line that nobody would end. Events of no session have a line of their own.
func (l *Log) Add(e Event) Event {
	l.seq++
	e.Seq = l.seq
	if (e.Kind == SessionOpened || e.Session == "") && l.lines[e.Session] == nil {
		l.begin(e.Session)
	}
	if n := l.lines[e.Session]; n != nil {
		n.add(e)
	}
	return e
}

// Of returns a session's events, oldest first, and how many older ones were forgotten.
func (l *Log) Of(session ident.SessionID) (events []Event, forgotten int) {
	if n := l.lines[session]; n != nil {
		events, forgotten = n.all()
	}
	return events, forgotten
}

// all is the events of a line in their order, and how many older ones were forgotten.
func (n *line) all() (events []Event, forgotten int) {
	for i := range n {
		events = append(events, n[i].events...)
		forgotten += n[i].forgotten
	}
	inOrder(events)
	return events, forgotten
}

func inOrder(events []Event) {
	slices.SortFunc(events, func(a, b Event) int { return cmp.Compare(a.Seq, b.Seq) })
}

// All returns the latest events of all lines, oldest first, at most allMax, and how many
// older ones are not among them.
func (l *Log) All() (events []Event, forgotten int) {
	forgotten = l.gone
	for _, n := range l.lines {
		own, older := n.all()
		events = append(events, own...)
		forgotten += older
	}
	inOrder(events)
	if over := len(events) - allMax; over > 0 {
		events, forgotten = events[over:], forgotten+over
	}
	return events, forgotten
}

// End notes that a session has ended. Its line is kept for a while and still takes what
// comes late.
func (l *Log) End(session ident.SessionID) {
	i := slices.Index(l.open, session)
	if i < 0 {
		return
	}
	l.open = slices.Delete(l.open, i, i+1)
	l.ended = append(l.ended, session)
	if len(l.ended) > endedMax {
		own, older := l.lines[l.ended[0]].all()
		l.gone += len(own) + older
		delete(l.lines, l.ended[0])
		l.ended = l.ended[1:]
	}
}

func (l *Log) begin(session ident.SessionID) {
	if l.lines == nil {
		l.lines = map[ident.SessionID]*line{}
	}
	l.lines[session] = &line{}
	if session == "" {
		return // what is about no session has no end
	}
	l.open = append(l.open, session)
	if len(l.open) > openMax {
		l.End(l.open[0])
	}
}

func (n *line) add(e Event) {
	r := &n[e.Kind.class()]
	if len(r.events) < eventsMax {
		r.events = append(r.events, e)
		return
	}
	r.events[r.forgotten%eventsMax] = e
	r.forgotten++
}
