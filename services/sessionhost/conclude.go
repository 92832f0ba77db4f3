package sessionhost

import (
	"context"
	"errors"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	policyv1 "fairlead.dev/gen/fairlead/policy/v1"
	"fairlead.dev/services/sessionhost/internal/executorlink"
	"fairlead.dev/services/sessionhost/internal/frame"
	"fairlead.dev/services/sessionhost/internal/keyboard"
	"fairlead.dev/services/sessionhost/internal/policylink"
	machine "fairlead.dev/services/sessionhost/internal/session"
	"fairlead.dev/services/sessionhost/internal/timeline"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/permit"
	"fairlead.dev/services/shared/refusal"
)

// conclude turns the executor's answer into the end of the claim, the session's next
// state and the response, in one step of the session.
func (c *call) conclude(
	ctx context.Context, b *bound, p *policylink.Link, e *executorlink.Link, a *executorv1.DispatchResponse,
) *hostv1.ActResponse {
	resp := respond(b.actID, a)
	var seen *seenWindow
	if a.GetAfter() != nil && resp.GetOutcome() != commonv1.Outcome_OUTCOME_REFUSED {
		seen = c.after(ctx, b, p, e, a, resp)
	}
	err := c.do(func(st *state) error {
		st.conclude(b, e.Alive, seen, resp)
		return nil
	})
	if err != nil {
		// The session ended meanwhile: the outcome is told, the observation is not.
		withhold(resp)
		resp.Verified = verified(resp)
		c.s.host.books.actEnded(c.s.id, b, resp)
	}
	return resp
}

// after reads the tree the act left. A change against the quoted tree whose digest does
// not match is asked for as a whole (C2.4); a page that is where no page may be is not
// shown (C5.5).
func (c *call) after(
	ctx context.Context, b *bound, p *policylink.Link, e *executorlink.Link, a *executorv1.DispatchResponse,
	resp *hostv1.ActResponse,
) *seenWindow {
	seen, err := readAfter(a.GetAfter(), b.base, c.s.actKey)
	if errors.Is(err, errNotTheWhole) {
		seen, err = c.again(ctx, b, p, e)
	} else if err != nil {
		e.Violated()
	}
	if err == nil {
		err = c.mayBeThere(ctx, p, e, seen)
	}
	if err != nil {
		unseen(resp, err)
		return nil
	}
	if b.absence != 0 {
		seen.snap.PictureAbsence = b.absence
	}
	return seen
}

// unseen says why the tree an act left is not shown.
func unseen(resp *hostv1.ActResponse, err error) {
	if refusal.As(err).Code == refusal.BlockedURL {
		resp.Refusal = refusal.As(err).Wire()
		resp.ObservationMissing = commonv1.ObservationMissing_OBSERVATION_MISSING_STOPPED
		return
	}
	resp.ObservationMissing = commonv1.ObservationMissing_OBSERVATION_MISSING_CAPTURE_FAILED
	missedObservation(resp)
}

// again reads the whole window after an act.
func (c *call) again(
	ctx context.Context, b *bound, p *policylink.Link, e *executorlink.Link,
) (*seenWindow, error) {
	read, err := c.readPermit(ctx, p, e, commonv1.LeaseClass_LEASE_CLASS_METADATA_READ, b.frame.Window)
	if err != nil {
		return nil, err
	}
	w, _ := b.frame.Wanted.(wanted)
	snap, err := e.Snapshot(ctx, &executorv1.SnapshotRequest{
		SessionId: string(c.s.id), Permit: read, Window: windowToWire(b.frame.Window), Limits: w.limits,
	})
	if err != nil {
		return nil, err
	}
	return readSnapshot(snap)
}

// conclude is the one step in which an act that was with the executor ends.
func (st *state) conclude(b *bound, alive func() bool, seen *seenWindow, resp *hostv1.ActResponse) {
	st.landed(resp)
	st.saidBy(b, resp)
	st.endClaim(b, resp)
	held := machine.Check(st.machine, b.ticket)
	switch {
	case held != nil && held.Code != refusal.ReobserveRequired:
		// After a stop, or under any other hold, the outcome is still told truthfully; only
		// the observation is withheld, with its reason (C12.6).
		withhold(resp)
		st.endFrame()
	case seen != nil && alive():
		resp.Observation = st.register(seen, b.frame.Executor, b.wanted(), b)
	}
	if resp.GetObservation() == nil && resp.GetOutcome() != commonv1.Outcome_OUTCOME_REFUSED {
		st.machine = machine.Step(st.machine, machine.LostTrack)
	}
	resp.Verified = verified(resp)
	st.handOver(b, resp)
	st.count(b, resp)
	st.acts.record(b.asked, resp)
	st.books.actEnded(st.id, b, resp)
}

// actEnded tells people what became of an act.
func (b *books) actEnded(s ident.SessionID, act *bound, resp *hostv1.ActResponse) {
	b.note(timeline.Event{
		Session: s, Kind: timeline.ActEnded, Act: act.asked.id, Code: resp.GetRefusal().GetCode(),
		Outcome: int32(resp.GetOutcome()),
	})
}

// saidBy tells an act that nobody looked at by what holds its session now: after a stop it
// is refused with the stop, whatever else ended with it.
func (st *state) saidBy(b *bound, resp *hostv1.ActResponse) {
	if resp.GetOutcome() != commonv1.Outcome_OUTCOME_REFUSED {
		return
	}
	if held := st.holding(b, resp.GetRefusal().GetCode()); held != nil {
		resp.Refusal = held.Wire()
	}
}

// holding is what holds the session of an act that was refused before anybody looked at
// its target, nil where nothing does, or somebody looked.
func (st *state) holding(b *bound, code refusal.Code) *refusal.Error {
	returned := func(c refusal.Code) bool {
		return refusal.Of(c).GetClaimEnd() == commonv1.ClaimEnd_CLAIM_END_RETURNED
	}
	held := machine.Check(st.machine, b.ticket)
	if held == nil || !returned(code) || !returned(held.Code) {
		return nil
	}
	return held
}

// count remembers what keeps failing, and forgets it when something came out well.
func (st *state) count(b *bound, resp *hostv1.ActResponse) {
	if resp.GetOutcome() == commonv1.Outcome_OUTCOME_OK {
		st.failures = failures{}
		return
	}
	st.failures.count(b.digest, resp.GetRefusal().GetCode())
}

// handOver decides who may type after an act (C8.2, C8.3). Ownership comes only from a
// verified act that put the focus into its element and returned a frame that shows it
// there; it lives on only through the owner's own verified acts.
func (st *state) handOver(b *bound, resp *hostv1.ActResponse) {
	f := st.frames.Current()
	if resp.GetObservation() == nil || f == nil {
		if why, loses := lossOf(resp.GetOutcome(), resp.GetRefusal().GetCode()); loses {
			st.loseKeyboard(why)
		}
		return
	}
	id, focused := f.Focus()
	gets := focused && !st.disturbed && resp.GetVerified() && b.gaveFocus(f, id)
	sight := keyboard.Sight{Shown: st.ownerOf(f, id), By: b.frame.Frame, Verified: resp.GetVerified()}
	why := keyboard.ByObservation
	if resp.GetOutcome() != commonv1.Outcome_OUTCOME_OK {
		why = keyboard.ByFailure
	}
	if st.books.passKeyboard(sight, gets, why) {
		st.note(timeline.KeyboardGranted)
	}
}

// passKeyboard takes a new observation of a session: its ownership moves on or ends, and
// when the act gave focus and the session owns nothing any more, it gets what is shown.
// otherwise is why it loses what it neither keeps nor gets.
func (b *books) passKeyboard(s keyboard.Sight, gets bool, otherwise keyboard.Cause) (granted bool) {
	b.mu.Lock()
	lost, revoked := b.keyboard.Renew(s)
	_, owns := b.keyboard.Of(s.Shown.Session)
	var others []keyboard.Owner
	if gets && !owns {
		others = b.keyboard.Grant(s.Shown)
		granted = true
	}
	b.mu.Unlock()
	if revoked && granted {
		otherwise = keyboard.ByReplacement
	}
	if revoked {
		b.revoked(lost.Session, otherwise)
	}
	for _, o := range others {
		b.revoked(o.Session, keyboard.ByReplacement)
	}
	return granted
}

// revoked tells people why a session lost its keyboard target.
func (b *books) revoked(s ident.SessionID, why keyboard.Cause) {
	b.note(timeline.Event{Session: s, Kind: timeline.KeyboardRevoked, Cause: int32(why)})
}

// gaveFocus reports whether the act put the focus into the element that has it now: the
// same object, which takes keys, or which the act named as what gets them (C8.2).
func (b *bound) gaveFocus(f *frame.Frame, id uint32) bool {
	e := f.Elements[id]
	if b.owned {
		return false // what was lost while it typed is not won back by typing
	}
	switch b.verb {
	case commonv1.Verb_VERB_FOCUS_ELEMENT:
		return id == b.elementID
	case commonv1.Verb_VERB_CLICK_ELEMENT, commonv1.Verb_VERB_TYPE_TEXT, commonv1.Verb_VERB_PASTE:
		return id == b.elementID && e.TakesKeys
	case commonv1.Verb_VERB_CLICK_POINT:
		return e.TakesKeys && len(b.points) == 1 && e.Surface == b.points[0].Surface && e.Bounds.Contains(b.points[0].At)
	default:
		return false
	}
}

// lossOf says why an act that shows no new frame ends keyboard ownership. It does not
// where nobody looked at the target, unless its caller gave it up (C8.3).
func lossOf(o commonv1.Outcome, code refusal.Code) (why keyboard.Cause, loses bool) {
	switch {
	case o != commonv1.Outcome_OUTCOME_REFUSED:
		return keyboard.ByFailure, true
	case code == refusal.Aborted:
		return keyboard.ByAbort, true
	case refusal.Of(code).GetClaimEnd() == commonv1.ClaimEnd_CLAIM_END_RETURNED:
		return 0, false
	}
	return keyboard.ByRefusal, true
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
func (st *state) endClaim(b *bound, resp *hostv1.ActResponse) {
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
		st.seen = nil
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
			s.mark(mark{kind: markWindowSpent, window: b.frame.Window})
		}
	})
}
