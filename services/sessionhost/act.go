package sessionhost

import (
	"context"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	policyv1 "fairlead.dev/gen/fairlead/policy/v1"
	"fairlead.dev/services/sessionhost/internal/executorlink"
	"fairlead.dev/services/sessionhost/internal/frame"
	"fairlead.dev/services/sessionhost/internal/lane"
	"fairlead.dev/services/sessionhost/internal/policylink"
	machine "fairlead.dev/services/sessionhost/internal/session"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/permit"
	"fairlead.dev/services/shared/refusal"
)

// settleMS is the longest wait for a window to settle after an act.
const settleMS = 2500

// act tells the story of one act on one frame, top to bottom. The session's ticket is
// checked when the act is bound, after the wait for its window, right before it is
// dispatched, and after it came back (C4.5). Everything that can refuse it before the
// dispatch leaves the desk untouched.
func (h *Host) act(ctx context.Context, c *call, req *hostv1.ActRequest) (*hostv1.ActResponse, error) {
	// 1. One step, no waits: ticket, claim, binding, digest (C3.1).
	b, replay, err := c.bind(req)
	if err != nil || replay != nil {
		return replay, err
	}

	// 2. Wait for the window: one mutation at a time per surface group (C4.2).
	leave, err := h.lanes.Take(ctx, b.lane)
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
	resp := c.conclude(b, executor, answer)
	h.settle(c, decision.GetIntentId(), resp)
	h.endElsewhere(c.s, b, resp)
	return resp, nil
}

// bound is an act after step 1: everything later steps need, and nothing they could
// reinterpret. Nobody sees element ids from here on.
type bound struct {
	req     *hostv1.ActRequest
	ticket  machine.Ticket
	frame   *frame.Frame
	digest  permit.Digest
	element *frame.Element
	lane    lane.Key
	args    *commonv1.Act
	// dispatch is the name to cancel it by.
	dispatch string
}

// bind is the one step of the session that takes ticket, claim, binding and digest.
// An act id that was answered before is answered again from the record (C0.5).
func (c *call) bind(req *hostv1.ActRequest) (*bound, *hostv1.ActResponse, error) {
	b := &bound{req: req, args: permit.Arguments(req.GetAct()), dispatch: ident.New("d")}
	var replay *hostv1.ActResponse
	err := c.do(func(st *state) error {
		var why error
		if replay, why = st.recorded(req, c.s.actKey); why != nil || replay != nil {
			return why
		}
		t, no := machine.ActTicket(st.machine)
		if req.GetFrame() == nil && no == nil {
			return refusal.Unusable("the act needs frame: copy it from the observation the act is based on")
		}
		ref := frameFromWire(req.GetFrame())
		if no != nil && st.frames.Find(ref) == nil {
			return no
		}
		f, digest, why2 := st.frames.Claim(ref, func(f *frame.Frame) (permit.Digest, *refusal.Error) {
			return b.bindTo(f, c.s.actKey)
		})
		if why2 != nil {
			if no != nil && why2.Code != refusal.DuplicateAction {
				return no
			}
			return why2
		}
		if no != nil {
			st.frames.Return(f)
			return no
		}
		b.ticket, b.frame, b.digest = t, f, digest
		b.lane = lane.Key{Executor: f.Executor, Root: f.Root}
		return nil
	})
	return b, replay, err
}

// bindTo binds the act to a frame and returns its digest (C3.2).
func (b *bound) bindTo(f *frame.Frame, key ident.ActKey) (permit.Digest, *refusal.Error) {
	a := &commonv1.BoundAct{
		Verb: permit.VerbOf(b.req.GetAct()), Arguments: b.args,
		Window: windowToWire(f.Window), Page: pageToWire(f.Page),
	}
	b.element = nil
	if id := elementOf(b.req.GetAct()); id != 0 {
		e, ok := f.Elements[id]
		if !ok {
			return permit.Digest{}, refusal.New(refusal.InvalidBinding)
		}
		b.element, a.ElementDigest = &e, e.Digest[:]
	}
	if why := offered(a.GetVerb(), b.element != nil); why != nil {
		return permit.ActDigest(key, a), why
	}
	return permit.ActDigest(key, a), nil
}

// question is what policy is asked: facts that the host resolved, no words of the agent.
func (b *bound) question(s *session, e *executorlink.Link) *policyv1.DecideRequest {
	facts := &policyv1.ActFacts{
		Verb: permit.VerbOf(b.args), Window: windowToWire(b.frame.Window), Page: pageToWire(b.frame.Page),
		AppId: b.frame.Window.App, TextLength: textLength(b.args),
	}
	if b.element != nil {
		facts.Role, facts.Secure = commonv1.Role(b.element.Role), b.element.Secure
		facts.ElementDigest = b.element.Digest[:]
	}
	return &policyv1.DecideRequest{
		SessionId: string(s.id), ActId: b.req.GetActId(), Facts: facts, ActDigest: b.digest[:],
		Incarnation: e.Incarnation[:], SnapshotId: string(b.frame.Snapshot),
	}
}

// order is what the executor is told to do.
func (b *bound) order(s *session, p *commonv1.Permit, picture *executorv1.PictureRequest) *executorv1.DispatchRequest {
	req := &executorv1.DispatchRequest{
		SessionId: string(s.id), DispatchId: b.dispatch, Permit: p, SnapshotId: string(b.frame.Snapshot),
		Act: b.args, SettleMs: settleMS, Picture: picture,
	}
	if b.element != nil {
		req.Token = b.element.Token[:]
	}
	if w, ok := b.frame.Wanted.(wanted); ok {
		req.Limits = w.limits
	}
	return req
}

// pictureAfter asks for the permit of the after-picture. A picture that may not be
// taken is a detail of the observation, never an error of the act.
func (c *call) pictureAfter(
	ctx context.Context, p *policylink.Link, e *executorlink.Link, b *bound,
) *executorv1.PictureRequest {
	after := b.req.GetAfter()
	wish := after.GetPicture()
	wants := wish == hostv1.PictureWish_PICTURE_WISH_WITH ||
		wish == hostv1.PictureWish_PICTURE_WISH_UNSPECIFIED && b.frame.HasPicture
	if !wants {
		return nil
	}
	permit, err := c.readPermit(ctx, p, e, commonv1.LeaseClass_LEASE_CLASS_SCREENSHOT_READ, b.frame.Window)
	if err != nil {
		return nil
	}
	return &executorv1.PictureRequest{Permit: permit, Format: after.GetFormat()}
}

// dispatching is the last look at the ticket, in the same step that makes the act
// cancellable by name: a stop comes either before it or finds it.
func (c *call) dispatching(ctx context.Context, b *bound, e *executorlink.Link) error {
	if ctx.Err() != nil {
		return refusal.New(refusal.Aborted)
	}
	return c.do(func(st *state) error {
		if why := machine.Check(st.machine, b.ticket); why != nil {
			return why
		}
		if c.arrival <= c.s.stopMark.Load() {
			return refusal.New(refusal.UserStopped)
		}
		if !c.sending() {
			return refusal.New(refusal.Aborted)
		}
		st.inflight = &inflight{link: e, dispatch: b.dispatch}
		return nil
	})
}

// giveUp ends a claim before the dispatch, as the code says (C3.5), and moves the
// session as the code says (C5.5).
func (c *call) giveUp(b *bound, err error) error {
	why := refusal.As(err)
	stepErr := c.do(func(st *state) error {
		switch refusal.Of(why.Code).GetClaimEnd() {
		case commonv1.ClaimEnd_CLAIM_END_RETIRED:
			st.frames.Retire(b.frame, b.digest)
		default:
			st.frames.Return(b.frame)
		}
		st.apply(why.Code)
		return nil
	})
	if stepErr != nil {
		return stepErr
	}
	return why
}

// offered says whether this host binds the verb in this form at all.
func offered(v commonv1.Verb, hasElement bool) *refusal.Error {
	rule := permit.RuleOf(v)
	switch rule.GetBinding() {
	case commonv1.Binding_BINDING_ELEMENT:
		if !hasElement {
			return refusal.New(refusal.InvalidBinding)
		}
		return nil
	case commonv1.Binding_BINDING_KEYBOARD:
		// Typing without a named element needs an owned keyboard target (C8.1).
		if v == commonv1.Verb_VERB_TYPE_TEXT && hasElement {
			return nil
		}
		if v == commonv1.Verb_VERB_TYPE_TEXT {
			return refusal.New(refusal.KeyboardNotOwned)
		}
	}
	return refusal.New(refusal.UnsupportedAction)
}
