package sessionhost

import (
	"crypto/sha256"

	"google.golang.org/protobuf/proto"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	policyv1 "fairlead.dev/gen/fairlead/policy/v1"
	"fairlead.dev/services/sessionhost/internal/executorlink"
	machine "fairlead.dev/services/sessionhost/internal/session"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/permit"
	"fairlead.dev/services/shared/refusal"
)

// conclude turns the executor's answer into the end of the claim, the session's next
// state and the response, in one step of the session.
func (c *call) conclude(b *bound, e *executorlink.Link, a *executorv1.DispatchResponse) *hostv1.ActResponse {
	resp := respond(b.req.GetActId(), a)
	var seen *seenWindow
	if a.GetAfter() != nil && resp.GetOutcome() != commonv1.Outcome_OUTCOME_REFUSED {
		w, err := readSnapshot(a.GetAfter())
		if err != nil {
			e.Violated()
			resp.ObservationMissing = commonv1.ObservationMissing_OBSERVATION_MISSING_CAPTURE_FAILED
			missedObservation(resp)
		} else {
			seen = w
		}
	}
	err := c.do(func(st *state) error {
		st.landed(resp)
		held := machine.Check(st.machine, b.ticket)
		c.endClaim(st, b, resp)
		switch {
		case held != nil && held.Code != refusal.ReobserveRequired:
			// After a stop the outcome is still told truthfully; only the observation is
			// withheld, with its reason (C12.6).
			withhold(resp)
			st.frames.End()
		case seen != nil && e.Alive():
			resp.Observation = c.s.register(st, seen, e, b.after())
		}
		if resp.GetObservation() == nil && resp.GetOutcome() != commonv1.Outcome_OUTCOME_REFUSED {
			st.machine = machine.Step(st.machine, machine.LostTrack)
		}
		resp.Verified = verified(resp)
		st.record(b.req, c.s.actKey, resp)
		return nil
	})
	if err != nil {
		// The session ended meanwhile: the outcome is told, the observation is not.
		withhold(resp)
		resp.Verified = verified(resp)
	}
	return resp
}

// respond copies what the executor said about the act. An answer with a member this
// host does not know is the worst case: the outcome is unknown (C9.6).
func respond(act string, a *executorv1.DispatchResponse) *hostv1.ActResponse {
	resp := &hostv1.ActResponse{
		ActId: act, Outcome: a.GetOutcome(), Route: a.GetRoute(), Effect: a.GetEffect(),
		Verification: a.GetVerification(), DeliveredCount: a.GetDeliveredCount(),
		MayStillHappen: a.GetMayStillHappen(), ObservationMissing: a.GetObservationMissing(),
		WindowChanges: a.GetWindowChanges(), Desk: a.GetDesk(),
		Tier: permit.RouteRuleOf(a.GetRoute()).GetTier(),
	}
	if !readableAnswer(a) {
		resp.Outcome, resp.Effect = commonv1.Outcome_OUTCOME_UNKNOWN, commonv1.Effect_EFFECT_UNVERIFIABLE
		resp.Refusal = refusal.New(refusal.OutcomeUnknown).Wire()
		return resp
	}
	if a.GetCode() != 0 {
		resp.Refusal = refusal.FromAnswer(a.GetCode(), a.GetDetail()).Wire()
	}
	if resp.GetOutcome() == commonv1.Outcome_OUTCOME_REFUSED && resp.GetRefusal() == nil {
		resp.Refusal = refusal.New(refusal.DispatchRefused).Wire()
	}
	missedObservation(resp)
	return resp
}

// missedObservation turns an OK act whose window could not be read into UNKNOWN for
// the caller, unless the target is gone or minimised by design (C7.3).
func missedObservation(resp *hostv1.ActResponse) {
	switch resp.GetObservationMissing() {
	case commonv1.ObservationMissing_OBSERVATION_MISSING_CAPTURE_FAILED,
		commonv1.ObservationMissing_OBSERVATION_MISSING_TIMEOUT:
		if resp.GetOutcome() == commonv1.Outcome_OUTCOME_OK {
			resp.Outcome = commonv1.Outcome_OUTCOME_UNKNOWN
		}
	}
	if resp.GetOutcome() == commonv1.Outcome_OUTCOME_UNKNOWN {
		if resp.GetEffect() == commonv1.Effect_EFFECT_CONFIRMED {
			resp.Effect = commonv1.Effect_EFFECT_UNVERIFIABLE
		}
		if resp.GetRefusal() == nil {
			resp.Refusal = refusal.New(refusal.OutcomeUnknown).Wire()
		}
	}
}

// verified is computed here and nowhere else (C7.2).
func verified(resp *hostv1.ActResponse) bool {
	missing := resp.GetObservationMissing()
	shown := resp.GetObservation() != nil ||
		missing == commonv1.ObservationMissing_OBSERVATION_MISSING_TARGET_CLOSED ||
		missing == commonv1.ObservationMissing_OBSERVATION_MISSING_TARGET_MINIMISED
	return resp.GetOutcome() == commonv1.Outcome_OUTCOME_OK &&
		resp.GetEffect() == commonv1.Effect_EFFECT_CONFIRMED && shown
}

func withhold(resp *hostv1.ActResponse) {
	if resp.GetOutcome() == commonv1.Outcome_OUTCOME_REFUSED {
		return
	}
	resp.Observation = nil
	resp.ObservationMissing = commonv1.ObservationMissing_OBSERVATION_MISSING_STOPPED
}

// endClaim ends the claim as what happened says: nothing sent is retired (or returned,
// where nobody looked at the target), anything else is consumed (C3.5).
func (c *call) endClaim(st *state, b *bound, resp *hostv1.ActResponse) {
	code := resp.GetRefusal().GetCode()
	end := commonv1.ClaimEnd_CLAIM_END_CONSUMED
	if resp.GetOutcome() == commonv1.Outcome_OUTCOME_REFUSED {
		end = refusal.Of(code).GetClaimEnd()
		if end != commonv1.ClaimEnd_CLAIM_END_RETURNED {
			end = commonv1.ClaimEnd_CLAIM_END_RETIRED
		}
	}
	switch end {
	case commonv1.ClaimEnd_CLAIM_END_CONSUMED:
		st.frames.Consume(b.frame, b.digest)
	case commonv1.ClaimEnd_CLAIM_END_RETURNED:
		st.frames.Return(b.frame)
	default:
		st.frames.Retire(b.frame, b.digest)
	}
	if resp.GetRefusal() != nil {
		st.apply(code)
		resp.Refusal.ClaimEnd = end
		resp.Refusal.FrameStillCurrent = st.frames.Current() == b.frame
	}
}

// apply moves the session as a refusal code says (C5.5).
func (st *state) apply(code refusal.Code) {
	var e machine.Event
	switch refusal.Of(code).GetEvent() {
	case commonv1.SessionEvent_SESSION_EVENT_USER_INTERVENED:
		e = machine.Intervene
	case commonv1.SessionEvent_SESSION_EVENT_SCREEN_LOCKED:
		e = machine.Lock
	case commonv1.SessionEvent_SESSION_EVENT_BLOCKED_URL:
		e = machine.BlockedDestination
	case commonv1.SessionEvent_SESSION_EVENT_REOBSERVE:
		e = machine.LostTrack
	default:
		return
	}
	st.machine = machine.Step(st.machine, e)
	st.frames.End()
}

// unansweredDispatch is the answer for a dispatch that did not answer.
func unansweredDispatch(err error) *executorv1.DispatchResponse {
	why := refusal.As(err)
	a := &executorv1.DispatchResponse{Route: commonv1.Route_ROUTE_NONE, Outcome: commonv1.Outcome_OUTCOME_REFUSED}
	a.Code = refusal.AnswerUnavailable
	if why.Code != refusal.ServiceUnavailable {
		a.Outcome, a.Code = commonv1.Outcome_OUTCOME_UNKNOWN, refusal.AnswerOutcomeUnknown
		a.MayStillHappen = true
		a.ObservationMissing = commonv1.ObservationMissing_OBSERVATION_MISSING_CAPTURE_FAILED
	}
	return a
}

// notSent is what is settled when a permit was given and the act was not sent.
func notSent(err error) *hostv1.ActResponse {
	return &hostv1.ActResponse{
		Outcome: commonv1.Outcome_OUTCOME_REFUSED, Route: commonv1.Route_ROUTE_NONE,
		Refusal: refusal.As(err).Wire(),
	}
}

// settle closes the intent off the path of the act. A full outbox means that policy
// no longer keeps up; its intents stay open there, which is the truth.
func (h *Host) settle(c *call, intent string, resp *hostv1.ActResponse) {
	if intent == "" {
		return
	}
	req := &policyv1.SettleRequest{
		SessionId: string(c.s.id), IntentId: intent, Outcome: resp.GetOutcome(), Effect: resp.GetEffect(),
		Route: resp.GetRoute(), Refusal: resp.GetRefusal().GetCode(),
	}
	if req.GetOutcome() == commonv1.Outcome_OUTCOME_UNSPECIFIED {
		req.Outcome = commonv1.Outcome_OUTCOME_UNKNOWN
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.booksShut {
		return
	}
	select {
	case h.outbox <- req:
	default:
		h.cfg.Log.Warn("the outbox is full; an intent stays open")
	}
}

// endElsewhere ends every other session's frame of a window that was acted on (C2.5).
func (h *Host) endElsewhere(self *session, b *bound, resp *hostv1.ActResponse) {
	if resp.GetOutcome() == commonv1.Outcome_OUTCOME_REFUSED {
		return
	}
	h.each(func(s *session) {
		if s != self {
			s.windowSpent(b.frame.Window)
		}
	})
}

// recorded returns the answer an act id got before. The same id with other parameters
// is an unusable request.
func (st *state) recorded(req *hostv1.ActRequest, key ident.ActKey) (*hostv1.ActResponse, error) {
	r := st.acts[ident.ActID(req.GetActId())]
	if r == nil {
		return nil, nil
	}
	if r.digest != requestDigest(req, key) {
		return nil, refusal.Unusable("act_id was used for another act; use a fresh act_id")
	}
	again, _ := proto.Clone(r.response).(*hostv1.ActResponse)
	return again, nil
}

// record keeps outcome, refusal and digest under the act id, never the observation. A
// returned claim records nothing: the same act may be sent again under its id.
func (st *state) record(req *hostv1.ActRequest, key ident.ActKey, resp *hostv1.ActResponse) {
	if resp.GetRefusal().GetClaimEnd() == commonv1.ClaimEnd_CLAIM_END_RETURNED {
		return
	}
	if len(st.actOrder) == actsMax {
		delete(st.acts, st.actOrder[0])
		st.actOrder = st.actOrder[1:]
	}
	kept := &hostv1.ActResponse{
		ActId: resp.GetActId(), Refusal: resp.GetRefusal(), Verified: resp.GetVerified(), Outcome: resp.GetOutcome(),
		Tier: resp.GetTier(), Route: resp.GetRoute(), Effect: resp.GetEffect(), Verification: resp.GetVerification(),
		DeliveredCount: resp.GetDeliveredCount(), MayStillHappen: resp.GetMayStillHappen(), Desk: resp.GetDesk(),
		WindowChanges: resp.GetWindowChanges(),
	}
	id := ident.ActID(req.GetActId())
	st.acts[id] = &actRecord{digest: requestDigest(req, key), response: kept}
	st.actOrder = append(st.actOrder, id)
}

// requestDigest tells two requests under one act id apart, without keeping either.
func requestDigest(req *hostv1.ActRequest, key ident.ActKey) [32]byte {
	h := sha256.New()
	h.Write(key[:])
	h.Write(permit.Canonical(&hostv1.ActRequest{Frame: req.GetFrame(), Act: req.GetAct()}))
	return [32]byte(h.Sum(nil))
}
