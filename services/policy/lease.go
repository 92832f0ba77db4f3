package policy

import (
	"errors"
	"time"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	policyv1 "fairlead.dev/gen/fairlead/policy/v1"
	"fairlead.dev/services/policy/internal/audit"
	"fairlead.dev/services/policy/internal/lease"
	"fairlead.dev/services/policy/internal/rules"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
	"fairlead.dev/services/shared/telemetry"
)

// ask is a question about a class on a target: for a lease, or for a read.
type ask struct {
	session ident.SessionID
	class   commonv1.LeaseClass
	target  lease.Target
	// reason is the client's word: it goes on record and decides nothing.
	reason commonv1.AcquireReason
	// destination is where the page to be read is, for reads of one.
	destination string
}

func (s *session) ask(action string, q ask) rules.Question {
	return rules.Question{
		UID:         s.uid,
		Client:      s.client,
		Vision:      s.vision,
		Remote:      s.remote,
		Action:      action,
		App:         q.target.App,
		Class:       nameOf(q.class),
		Destination: q.destination,
		Window:      q.target.Scope == lease.Window,
		Dialogs:     q.target.Dialogs,
		Page:        q.destination != "",
	}
}

// onFloor asks the floor about every app id the target names. The desk names none.
func (q ask) onFloor() rules.Verdict {
	if q.target.Scope == lease.Desk {
		return rules.Verdict{Allowed: true}
	}
	if q.target.Scope == lease.Window {
		if v := rules.OnFloor(q.target.Window.App); !v.Allowed {
			return v
		}
	}
	return rules.OnFloor(q.target.App)
}

// acquire decides on a lease (C10.2). Only a rule gives one; no person can be asked here,
// so what no rule permits is forbidden.
func (p *Policy) acquire(q ask) (lease.Lease, refusal.Code) {
	rule, code := p.mayHold(q)
	if code != 0 {
		return p.refuseLease(q, code, rule)
	}
	life := leaseLife(q.class)
	l := lease.Lease{
		ID:      ident.LeaseID(ident.New("l")),
		Session: q.session,
		Class:   lease.Class(q.class),
		Target:  q.target,
		Rule:    rule,
	}
	given := audit.LeaseGiven{
		Session: l.Session,
		Lease:   l.ID,
		Class:   audit.Number(q.class),
		Scope:   scopeRecord(q.target),
		Rule:    rule,
		MS:      uint64(life.Milliseconds()),
		Reason:  audit.Number(q.reason),
	}
	if !p.note(given) {
		return lease.Lease{}, refusal.ServiceUnavailable
	}
	l, code = p.give(l, life)
	if code != 0 {
		p.note(audit.LeaseEnded{
			Session: l.Session, Lease: l.ID,
			Cause: audit.Number(policyv1.LeaseEndCause_LEASE_END_CAUSE_REVOKED),
		})
		return p.refuseLease(q, code, rule)
	}
	return l, 0
}

// mayHold says what the state and the rules say about a lease.
func (p *Policy) mayHold(q ask) (rule string, code refusal.Code) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.sessions[q.session]
	if code := s.withheld(); code != 0 {
		return "", code
	}
	if v := q.onFloor(); !v.Allowed {
		return v.Rule, codeOf(v)
	}
	v := p.rules.Decide(s.ask(rules.Lease(nameOf(q.class)), q))
	return v.Rule, codeOf(v)
}

// give makes the lease live. Its clock starts when it is given, not when it was asked for.
func (p *Policy) give(l lease.Lease, life time.Duration) (lease.Lease, refusal.Code) {
	p.expire()
	p.mu.Lock()
	defer p.mu.Unlock()
	if code := p.sessions[l.Session].withheld(); code != 0 {
		return l, code
	}
	now := p.boot()
	l.Expires = now + life
	switch err := p.leases.Give(l, now); {
	case errors.Is(err, lease.ErrFull):
		return l, refusal.Busy
	case err != nil:
		return l, refusal.ServiceUnavailable
	}
	p.publish(change{granted: &policyv1.LeaseGranted{SessionId: string(l.Session), Lease: leaseProto(l, now)}})
	select {
	case p.wake <- struct{}{}:
	default:
	}
	return l, 0
}

func (p *Policy) refuseLease(q ask, code refusal.Code, rule string) (lease.Lease, refusal.Code) {
	no := audit.LeaseRefused{
		Session: q.session,
		Class:   audit.Number(q.class),
		Scope:   scopeRecord(q.target),
		Code:    audit.Number(code),
		Rule:    rule,
		Reason:  audit.Number(q.reason),
	}
	if !p.note(no) {
		return lease.Lease{}, refusal.ServiceUnavailable
	}
	p.log.Info("lease refused", telemetry.SessionID(q.session), telemetry.Enum(code))
	return lease.Lease{}, code
}

// list returns the live leases of a session.
func (p *Policy) list(id ident.SessionID) ([]lease.Lease, lease.Instant) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.boot()
	return p.leases.Live(id, now), now
}
