package keyboard

// Cause is why a session lost its target: everything that revokes (C8.3), and what
// gives the keyboard up besides (C9.3, C12.1, C12.3). The numbers are those of the
// timeline's vocabulary.
type Cause uint8

// The causes. Closed.
const (
	ByFailure      Cause = 1  // the act failed, or its outcome is unknown
	ByRefusal      Cause = 2  // a stale or refused act
	ByObservation  Cause = 3  // any observation but the one Renew accepts
	ByInput        Cause = 4  // the user's own input into the bound window
	ByIntervention Cause = 5  // an intervention
	ByGeneration   Cause = 6  // any of the four generations moved
	ByTurnEnd      Cause = 7  // the turn ended
	BySessionEnd   Cause = 8  // the session ended
	ByStop         Cause = 9  // a stop of this session or of all
	ByPause        Cause = 10 // a pause or a take-over
	ByLock         Cause = 11 // the screen lock
	ByAbort        Cause = 12 // the caller left while its act ran
	ByTargetChange Cause = 13 // the window or its page changed
	ByReplacement  Cause = 14 // another Grant of that window group, or to that session
	ByClientGone   Cause = 15 // no connection has used the session for 10 s
)

var causeNames = [...]string{
	ByFailure: "failure", ByRefusal: "refused act", ByObservation: "new observation", ByInput: "physical input",
	ByIntervention: "intervention", ByGeneration: "generation change", ByTurnEnd: "turn end",
	BySessionEnd: "session end", ByStop: "stop", ByPause: "pause", ByLock: "screen lock", ByAbort: "abort",
	ByTargetChange: "window or page change", ByReplacement: "replaced", ByClientGone: "client gone",
}

// Causes returns every cause.
func Causes() []Cause {
	all := make([]Cause, 0, len(causeNames)-1)
	for c := ByFailure; c <= ByClientGone; c++ {
		all = append(all, c)
	}
	return all
}

// String names the cause; what is none is "unknown".
func (c Cause) String() string {
	if c == 0 || int(c) >= len(causeNames) {
		return "unknown"
	}
	return causeNames[c]
}
