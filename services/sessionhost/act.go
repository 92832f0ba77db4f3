package sessionhost

import (
	"context"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	"fairlead.dev/services/sessionhost/internal/executorlink"
	"fairlead.dev/services/sessionhost/internal/policylink"
	"fairlead.dev/services/sessionhost/internal/timeline"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/permit"
	"fairlead.dev/services/shared/refusal"
)

// settleMS is the longest wait for a window to settle after an act.
const settleMS = 2500

// act does one act of an agent. A refusal before the executor was asked ends keyboard
// ownership too: whoever is refused does not know what has the keyboard (C8.3).
func (h *Host) act(ctx context.Context, c *call, b *bound) (*hostv1.ActResponse, error) {
	resp, err := h.actOn(ctx, c, b)
	if err != nil {
		_ = c.s.do(func(st *state) { st.turnedAway(refusal.As(err).Code) })
	}
	return resp, err
}

// turnedAway is the step after an act that was refused before the dispatch.
func (st *state) turnedAway(code refusal.Code) {
	if why, loses := lossOf(commonv1.Outcome_OUTCOME_REFUSED, code); loses {
		st.loseKeyboard(why)
	}
}

// actOn tells the story of one act on one frame, top to bottom. The session's ticket is
// checked when the act is bound, after the wait for its window, right before it is
// dispatched, and after it came back (C4.5). Everything that can refuse it before the
// dispatch leaves the desk untouched.
func (h *Host) actOn(ctx context.Context, c *call, b *bound) (*hostv1.ActResponse, error) {
	// 1. One step, no waits: ticket, claim, binding, digest (C3.1).
	replay, err := c.claim(b)
	if err != nil || replay != nil {
		return replay, err
	}

	// 2. Wait for the window: one mutation at a time per surface group (C4.2).
	leave, err := c.lane(ctx, b.lane)
	if err != nil {
		return nil, c.giveUp(b, err)
	}
	defer leave()
	if err := c.still(ctx, b.ticket); err != nil {
		return nil, c.giveUp(b, err)
	}

	// 3. Policy decides; the intent is on record before the permit exists (C10.10).
	policy, executor, err := c.s.policyLink(ctx)
	if err == nil && executor.Generation != b.frame.Executor {
		err = refusal.New(refusal.StaleGeneration)
	}
	if err != nil {
		return nil, c.giveUp(b, err)
	}
	decision, err := policy.Decide(ctx, b.question(c.s, executor))
	if err != nil {
		return &hostv1.ActResponse{PendingApprovalId: decision.GetPendingApprovalId()}, c.giveUp(b, err)
	}

	// 4. The executor checks the permit and the target and sends, in one step (C6).
	picture := c.pictureAfter(ctx, policy, executor, b)
	if err := c.dispatching(ctx, b, executor); err != nil {
		h.settle(c, decision.GetIntentId(), notSent(err))
		return nil, c.giveUp(b, err)
	}
	answer, err := executor.Dispatch(ctx, b.order(c.s, decision.GetPermit(), picture))
	if err != nil {
		answer = unansweredDispatch(err)
	}

	// 5. The claim ends in one of three ways, and the window is shown as it is now (C7.3).
	resp := c.conclude(ctx, b, policy, executor, answer)
	h.settle(c, decision.GetIntentId(), resp)
	h.endElsewhere(c.s, b, resp)
	return resp, nil
}

// theAct makes one act out of a request: decoded once, before it queues (C3.1).
func (s *session) theAct(req *hostv1.ActRequest) (*bound, error) {
	a, err := normalised(req.GetAct())
	if err != nil {
		return nil, err
	}
	return &bound{
		asked: askedBy(s.actKey, req.GetActId(), req.GetFrame(), a, req.GetHint()),
		act:   a, args: permit.Arguments(a), verb: permit.VerbOf(a), ref: frameFromWire(req.GetFrame()),
		hint: req.GetHint(), after: req.GetAfter(), actID: req.GetActId(), dispatch: ident.New("d"),
	}, nil
}

// claim is step 1.
func (c *call) claim(b *bound) (*hostv1.ActResponse, error) {
	var replay *hostv1.ActResponse
	err := c.do(func(st *state) (why error) {
		replay, why = st.claim(b)
		return why
	})
	return replay, err
}

// dispatching is the last look at the ticket, in the same step that makes the act
// cancellable by name: a stop comes either before it or finds it.
func (c *call) dispatching(ctx context.Context, b *bound, e *executorlink.Link) error {
	if ctx.Err() != nil {
		return refusal.New(refusal.Aborted)
	}
	in := &inflight{link: e, dispatch: b.dispatch, window: b.frame.Window}
	return c.do(func(st *state) error {
		if err := st.send(b.ticket, b, in, c.stopped, c.sending); err != nil {
			return err
		}
		st.books.note(timeline.Event{Session: st.id, Kind: timeline.ActSent, Act: b.asked.id})
		return nil
	})
}

// giveUp ends a claim before the dispatch, as the code says (C3.5), and moves the
// session as the code says (C5.5).
func (c *call) giveUp(b *bound, err error) error {
	why := refusal.As(err)
	return c.do(func(st *state) error { return st.giveUp(b, why) })
}

func (st *state) giveUp(b *bound, why *refusal.Error) error {
	held := st.holding(b, why.Code)
	end := commonv1.ClaimEnd_CLAIM_END_RETURNED
	if refusal.Of(why.Code).GetClaimEnd() == commonv1.ClaimEnd_CLAIM_END_RETIRED {
		end = commonv1.ClaimEnd_CLAIM_END_RETIRED
		st.frames.Retire(b.frame, b.digest)
	} else {
		st.frames.Return(b.frame)
	}
	st.failures.count(b.digest, why.Code)
	st.apply(why.Code)
	if held != nil {
		why = held
	}
	current := st.frames.Current() == b.frame
	return &refusal.Error{Code: why.Code, Detail: why.Detail, Claim: &refusal.Claim{End: end, FrameCurrent: current}}
}

// pictureAfter asks for the permit of the after-picture. A picture that may not be
// taken is a detail of the observation, never an error of the act.
func (c *call) pictureAfter(
	ctx context.Context, p *policylink.Link, e *executorlink.Link, b *bound,
) *executorv1.PictureRequest {
	wish := b.after.GetPicture()
	wants := wish == hostv1.PictureWish_PICTURE_WISH_WITH ||
		wish == hostv1.PictureWish_PICTURE_WISH_UNSPECIFIED && b.frame.HasPicture()
	if !wants {
		return nil
	}
	permit, err := c.readPermit(ctx, p, e, commonv1.LeaseClass_LEASE_CLASS_SCREENSHOT_READ, b.frame.Window)
	if err != nil {
		b.absence = absenceOf(err)
		return nil
	}
	return &executorv1.PictureRequest{Permit: permit, Format: b.after.GetFormat()}
}
