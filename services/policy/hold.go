package policy

import (
	policyv1 "fairlead.dev/gen/fairlead/policy/v1"
	"fairlead.dev/services/policy/internal/audit"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
)

// holds are the reasons why nothing is given to a session now, neither a lease nor a
// permit. The host's tickets hold too; here they hold against a host that forgets.
type holds struct {
	// blocked is set when a blocked destination was reached. Nothing lifts it (C5.1).
	blocked bool
	// stopped is set by the user's stop, of one session or of all (C4.3).
	stopped bool
	// paused is set by the user's pause or take-over (C12.1).
	paused bool
	// taken counts the facts that took something, so that each leaves its trace, also one
	// that changes nothing else.
	taken uint64
}

// withheld says why nothing is given to a session now; 0 when nothing is in the way. Of
// several reasons it says the one that the session's status shows (C5.1).
func (s *session) withheld() refusal.Code {
	switch {
	case s == nil:
		return refusal.SessionUnknown
	case s.holds.blocked:
		return refusal.BlockedURL
	case s.holds.stopped:
		return refusal.UserStopped
	case s.holds.paused:
		return refusal.Paused
	default:
		return 0
	}
}

// after is what is held against a session after a fact, and whether the fact ends its
// leases:
//
//	STOPPED, STOPPED_ALL   everything, until the user resumes; its leases end
//	TAKEN_OVER             the same: a pause that gives the leases up
//	PAUSED                 everything, until the user resumes; its leases keep their clocks
//	BLOCKED                everything, for good; its leases end, as nothing could lift it
//	RESUMED                nothing: what it gives is given in resume
//	all others             nothing: a lock and an intervention only suspend, and it is the
//	                       host that knows when they are over (C10.2)
func (h holds) after(kind policyv1.SessionEventKind) (next holds, ends bool) {
	switch kind {
	case policyv1.SessionEventKind_SESSION_EVENT_KIND_STOPPED,
		policyv1.SessionEventKind_SESSION_EVENT_KIND_STOPPED_ALL:
		h.stopped, ends = true, true
	case policyv1.SessionEventKind_SESSION_EVENT_KIND_TAKEN_OVER:
		h.paused, ends = true, true
	case policyv1.SessionEventKind_SESSION_EVENT_KIND_PAUSED:
		h.paused = true
	case policyv1.SessionEventKind_SESSION_EVENT_KIND_BLOCKED:
		h.blocked, ends = true, true
	default:
		return h, false
	}
	h.taken++
	return h, ends
}

// resumed is what is left after the user resumes.
func (h holds) resumed() holds {
	h.stopped, h.paused = false, false
	return h
}

// sessionFact records a fact of the host. What it takes from the session is taken whether
// or not it could be recorded; what it gives back is given only when it is on record
// (C4.3, C12.1).
func (p *Policy) sessionFact(f *policyv1.SessionFact) bool {
	id, kind := ident.SessionID(f.GetSessionId()), f.GetKind()
	before := p.hold(id, kind)
	if !p.note(audit.SessionFact{Event: audit.Number(kind), Session: id}) {
		return false
	}
	if kind == policyv1.SessionEventKind_SESSION_EVENT_KIND_RESUMED {
		p.resume(id, before)
	}
	return true
}

// hold takes from a session what a fact takes, and returns what is held against it then.
func (p *Policy) hold(id ident.SessionID, kind policyv1.SessionEventKind) holds {
	p.mu.Lock()
	s := p.sessions[id]
	if s == nil {
		p.mu.Unlock()
		return holds{}
	}
	next, ends := s.holds.after(kind)
	s.holds = next
	var ended []audit.Record
	if ends {
		ended = p.endAll(id, policyv1.LeaseEndCause_LEASE_END_CAUSE_REVOKED)
	}
	p.mu.Unlock()
	p.note(ended...)
	return next
}

// resume lifts what the user's resume lifts, unless something was taken since: recording
// may have taken a while, and a stop that came meanwhile was not what was resumed.
func (p *Policy) resume(id ident.SessionID, before holds) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.sessions[id]; s != nil && s.holds == before {
		s.holds = s.holds.resumed()
	}
}
