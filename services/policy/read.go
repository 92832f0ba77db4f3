package policy

import (
	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/policy/internal/audit"
	"fairlead.dev/services/policy/internal/lease"
	"fairlead.dev/services/policy/internal/rules"
	"fairlead.dev/services/shared/refusal"
	"fairlead.dev/services/shared/telemetry"
)

// readAnswer is what is said about a read.
type readAnswer struct {
	code     refusal.Code
	rule     string
	lease    lease.Lease
	unproven bool
	remote   bool
	permit   *commonv1.Permit
}

// permitRead decides on a read and signs for it, in the order of decide: judged,
// recorded, looked at again, signed (C10.9).
func (p *Policy) permitRead(q ask, incarnation []byte) readAnswer {
	ans := p.judgeRead(q)
	if ans.code != 0 {
		return p.refuseRead(q, ans)
	}
	yes := audit.ReadPermit{
		Session:  q.session,
		Class:    audit.Number(q.class),
		Scope:    scopeRecord(q.target),
		Lease:    ans.lease.ID,
		Rule:     ans.rule,
		Unproven: ans.unproven,
		Remote:   ans.remote,
	}
	if !p.note(yes) {
		return readAnswer{code: refusal.ServiceUnavailable}
	}
	if code := p.still(q.session, ans.lease.ID); code != 0 {
		return p.refuseRead(q, readAnswer{code: code})
	}
	ans.permit = p.sign(p.readClaims(q, ans, incarnation))
	return ans
}

// judgeRead says what the state and the rules say about a read, and changes nothing.
func (p *Policy) judgeRead(q ask) readAnswer {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.sessions[q.session]
	if code := s.withheld(); code != 0 {
		return readAnswer{code: code}
	}
	if v := q.onFloor(); !v.Allowed {
		return readAnswer{code: codeOf(v), rule: v.Rule}
	}
	place, ok := rules.Place(q.destination)
	if !ok || (place != "" && q.target.Scope == lease.Desk) {
		return readAnswer{code: refusal.InvalidBinding}
	}
	if v := rules.PlaceOnFloor(place); !v.Allowed {
		return readAnswer{code: codeOf(v), rule: v.Rule}
	}
	q.destination = place
	picture := q.class == commonv1.LeaseClass_LEASE_CLASS_SCREENSHOT_READ
	if q.target.Scope == lease.Desk && picture {
		return readAnswer{code: refusal.PolicyForbidden, rule: rules.FloorDesk}
	}
	held, ok := p.covering(q)
	if !ok {
		return readAnswer{code: refusal.LeaseRequired}
	}
	ans := readAnswer{lease: held, rule: held.Rule}
	if v := p.readable(s, q, held); !v.Allowed {
		return readAnswer{code: codeOf(v), rule: v.Rule}
	}
	if !picture {
		return ans
	}
	return p.judgePicture(s, q, ans)
}

// readable asks about the lease a read rests on once more, now that it is known where the
// page is that it is used on: what no rule permits there is forbidden there. Without a
// page the question would be the one the lease was given on.
func (p *Policy) readable(s *session, q ask, held lease.Lease) rules.Verdict {
	if q.destination == "" {
		return rules.Verdict{Allowed: true}
	}
	q.target = held.Target
	return p.rules.Decide(s.ask(rules.Lease(nameOf(q.class)), q))
}

// covering returns the lease a read rests on. Any lease to read metadata lets its
// session list the desk: names and ids of apps and windows, no titles and no content.
func (p *Policy) covering(q ask) (lease.Lease, bool) {
	if q.target.Scope == lease.Desk {
		return p.leases.Any(q.session, lease.Class(q.class), p.boot())
	}
	return p.leases.Covering(q.session, lease.Class(q.class), q.target, p.boot())
}

// judgePicture adds what pictures need (C10.5, C2.10): a client that reads them, consent
// for where they go, and a rule in so many words where secure regions are not known.
func (p *Policy) judgePicture(s *session, q ask, ans readAnswer) readAnswer {
	if !s.vision {
		return readAnswer{code: refusal.VisionUnsupported}
	}
	if s.remote {
		v := p.rules.Decide(s.ask(rules.PicturesRemote, q))
		switch {
		case v.Sensitive, v.Blocked:
			return readAnswer{code: codeOf(v), rule: v.Rule}
		case !v.Allowed:
			return readAnswer{code: refusal.ConsentRequired, rule: v.Rule}
		}
		ans.rule, ans.remote = v.Rule, true
	}
	v := p.rules.Decide(s.ask(rules.PicturesUnproven, q))
	if v.Blocked {
		return readAnswer{code: codeOf(v), rule: v.Rule}
	}
	ans.unproven = v.Allowed
	return ans
}

func (p *Policy) refuseRead(q ask, ans readAnswer) readAnswer {
	no := audit.ReadRefused{
		Session: q.session,
		Class:   audit.Number(q.class),
		Scope:   scopeRecord(q.target),
		Code:    audit.Number(ans.code),
		Rule:    ans.rule,
	}
	if !p.note(no) {
		return readAnswer{code: refusal.ServiceUnavailable}
	}
	p.log.Info("read refused", telemetry.SessionID(q.session), telemetry.Enum(ans.code))
	return readAnswer{code: ans.code}
}

// readClaims states the scope of the read. The window stands in it only when the lease
// names one; a listing names no app at all.
func (p *Policy) readClaims(q ask, ans readAnswer, incarnation []byte) *commonv1.PermitClaims {
	c := &commonv1.PermitClaims{
		PermitId:          permitID(),
		Kind:              commonv1.PermitKind_PERMIT_KIND_READ,
		SessionId:         string(q.session),
		Incarnation:       incarnation,
		Class:             q.class,
		ExpiresBootMs:     bootMS(p.boot() + readPermitLife),
		PolicyGeneration:  uint64(p.generation),
		AppId:             q.target.App,
		Desk:              q.target.Scope == lease.Desk,
		UnprovenRedaction: ans.unproven,
	}
	if q.target.Scope != lease.Desk && ans.lease.Target.Scope == lease.Window {
		c.Window = windowProto(ans.lease.Target.Window)
	}
	return c
}
