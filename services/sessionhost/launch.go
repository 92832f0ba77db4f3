package sessionhost

import (
	"context"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	policyv1 "fairlead.dev/gen/fairlead/policy/v1"
	"fairlead.dev/services/sessionhost/internal/executorlink"
	"fairlead.dev/services/sessionhost/internal/lane"
	machine "fairlead.dev/services/sessionhost/internal/session"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/permit"
	"fairlead.dev/services/shared/refusal"
)

// launchWaitMS is the longest wait for a launched app's first window.
const launchWaitMS = 12_000

// launch is the one act without a frame (C3.7): it needs an observation ticket, binds
// to a resolution made by the executor that is spent like a snapshot, and leaves the
// session in REOBSERVE_REQUIRED.
func (h *Host) launch(ctx context.Context, c *call, req *hostv1.ActRequest) (*hostv1.ActResponse, error) {
	replay, t, err := c.launchTicket(req)
	if err != nil && refusal.As(err).Code == refusal.ScreenLocked && c.unlocked(ctx) {
		replay, t, err = c.launchTicket(req)
	}
	if err != nil || replay != nil {
		return replay, err
	}
	p, e, err := c.s.policyLink(ctx)
	if err != nil {
		return nil, c.failed(err)
	}
	if err := c.s.ensureBegun(ctx, e); err != nil {
		return nil, c.failed(err)
	}
	leave, err := h.lanes.Take(ctx, lane.Key{Executor: e.Generation, Launch: true})
	if err != nil {
		return nil, err
	}
	defer leave()
	app := req.GetAct().GetLaunchApp().GetAppId()
	resolved, err := e.ResolveApp(ctx, &executorv1.ResolveAppRequest{SessionId: string(c.s.id), AppId: app})
	if err != nil {
		return nil, c.failed(err)
	}
	if err := c.still(ctx, t); err != nil {
		return nil, err
	}
	decision, err := p.Decide(ctx, launchQuestion(c.s, e, req, resolved))
	if err != nil {
		return &hostv1.ActResponse{PendingApprovalId: decision.GetPendingApprovalId()}, c.failed(err)
	}
	dispatch := ident.New("d")
	if err := c.launching(ctx, t, e, dispatch); err != nil {
		h.settle(c, decision.GetIntentId(), notSent(err))
		return nil, err
	}
	answer, err := e.Launch(ctx, &executorv1.LaunchAppRequest{
		SessionId: string(c.s.id), DispatchId: dispatch, Permit: decision.GetPermit(),
		ResolutionId: resolved.GetResolutionId(), WaitMs: launchWaitMS,
	})
	resp := launched(req.GetActId(), answer, err)
	// A session that ended meanwhile has no state to move; what was sent is told all the same.
	_ = c.do(func(st *state) error {
		st.landed(resp)
		if resp.GetOutcome() != commonv1.Outcome_OUTCOME_REFUSED {
			st.frames.End()
			st.machine = machine.Step(st.machine, machine.LostTrack)
		}
		st.record(req, c.s.actKey, resp)
		return nil
	})
	h.settle(c, decision.GetIntentId(), resp)
	return resp, nil
}

func (c *call) launchTicket(req *hostv1.ActRequest) (*hostv1.ActResponse, machine.Ticket, error) {
	var replay *hostv1.ActResponse
	var t machine.Ticket
	err := c.do(func(st *state) error {
		var why error
		if replay, why = st.recorded(req, c.s.actKey); why != nil || replay != nil {
			return why
		}
		ticket, no := machine.ObserveTicket(st.machine)
		if no != nil {
			return no
		}
		t, c.held = ticket, &ticket
		return nil
	})
	return replay, t, err
}

func launchQuestion(
	s *session, e *executorlink.Link, req *hostv1.ActRequest, r *executorv1.ResolveAppResponse,
) *policyv1.DecideRequest {
	digest := permit.ActDigest(s.actKey, &commonv1.BoundAct{
		Verb: commonv1.Verb_VERB_LAUNCH_APP, Arguments: permit.Arguments(req.GetAct()), Resolution: r.GetResolution(),
	})
	return &policyv1.DecideRequest{
		SessionId: string(s.id), ActId: req.GetActId(), ActDigest: digest[:],
		Facts: &policyv1.ActFacts{
			Verb: commonv1.Verb_VERB_LAUNCH_APP, AppId: r.GetResolution().GetAppId(),
		},
		Incarnation: e.Incarnation[:], SnapshotId: r.GetResolutionId(),
	}
}

func (c *call) launching(ctx context.Context, t machine.Ticket, e *executorlink.Link, dispatch string) error {
	if ctx.Err() != nil {
		return refusal.New(refusal.Aborted)
	}
	return c.do(func(st *state) error {
		if why := machine.Check(st.machine, t); why != nil {
			return why
		}
		if c.arrival <= c.s.stopMark.Load() {
			return refusal.New(refusal.UserStopped)
		}
		if !c.sending() {
			return refusal.New(refusal.Aborted)
		}
		st.inflight = &inflight{link: e, dispatch: dispatch}
		return nil
	})
}

// launched turns the executor's answer into the response. The observation is missing
// by design: what was launched has not been observed.
func launched(act string, a *executorv1.LaunchAppResponse, err error) *hostv1.ActResponse {
	resp := &hostv1.ActResponse{
		ActId: act, Outcome: a.GetOutcome(), Route: a.GetRoute(), Effect: a.GetEffect(),
		Verification: a.GetVerification(), WindowChanges: a.GetWindowChanges(), Desk: a.GetDesk(),
		Tier: permit.RouteRuleOf(a.GetRoute()).GetTier(),
	}
	switch {
	case err != nil:
		why := refusal.As(err)
		resp.Outcome, resp.Route = commonv1.Outcome_OUTCOME_REFUSED, commonv1.Route_ROUTE_NONE
		if why.Code != refusal.ServiceUnavailable {
			resp.Outcome, resp.MayStillHappen = commonv1.Outcome_OUTCOME_UNKNOWN, true
		}
		resp.Refusal = why.Wire()
	case a.GetCode() != 0:
		resp.Refusal = refusal.FromAnswer(a.GetCode(), nil).Wire()
	}
	// A launch shows itself by its window, not by an observation of the frame (C3.7).
	resp.Verified = resp.GetOutcome() == commonv1.Outcome_OUTCOME_OK &&
		resp.GetEffect() == commonv1.Effect_EFFECT_CONFIRMED
	return resp
}
