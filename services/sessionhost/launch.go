package sessionhost

import (
	"context"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	policyv1 "fairlead.dev/gen/fairlead/policy/v1"
	"fairlead.dev/services/sessionhost/internal/executorlink"
	"fairlead.dev/services/sessionhost/internal/keyboard"
	"fairlead.dev/services/sessionhost/internal/lane"
	machine "fairlead.dev/services/sessionhost/internal/session"
	"fairlead.dev/services/sessionhost/internal/timeline"
	"fairlead.dev/services/shared/permit"
	"fairlead.dev/services/shared/refusal"
)

// launchWaitMS is the longest wait for a launched app's first window.
const launchWaitMS = 12_000

// launch is the one act without a frame (C3.7): it needs an observation ticket, binds
// to a resolution made by the executor that is spent like a snapshot, and leaves the
// session in REOBSERVE_REQUIRED.
func (h *Host) launch(ctx context.Context, c *call, b *bound) (*hostv1.ActResponse, error) {
	replay, err := c.recorded(b)
	if err != nil || replay != nil {
		return replay, err
	}
	l, err := c.looking(ctx)
	if err != nil {
		return nil, err
	}
	leave, err := c.lane(ctx, lane.Key{Executor: l.executor.Generation, Launch: true})
	if err != nil {
		return nil, c.failed(err)
	}
	defer leave()
	app := b.act.GetLaunchApp().GetAppId()
	if hint := b.hint.GetAppId(); hint != "" && hint != app || b.hint.GetWindowId() != 0 {
		return nil, refusal.New(refusal.TargetMismatch)
	}
	resolved, err := l.executor.ResolveApp(ctx, &executorv1.ResolveAppRequest{SessionId: string(c.s.id), AppId: app})
	if err != nil {
		return nil, c.failed(err)
	}
	if err := c.still(ctx, l.ticket); err != nil {
		return nil, err
	}
	decision, err := l.policy.Decide(ctx, launchQuestion(c.s, l.executor, b, resolved))
	if err != nil {
		return &hostv1.ActResponse{PendingApprovalId: decision.GetPendingApprovalId()}, c.failed(err)
	}
	if err := c.launching(ctx, l, b); err != nil {
		h.settle(c, decision.GetIntentId(), notSent(err))
		return nil, err
	}
	answer, err := l.executor.Launch(ctx, &executorv1.LaunchAppRequest{
		SessionId: string(c.s.id), DispatchId: b.dispatch, Permit: decision.GetPermit(),
		ResolutionId: resolved.GetResolutionId(), WaitMs: launchWaitMS,
	})
	resp := launched(b.actID, answer, err)
	// A session that ended meanwhile has no state to move; what was sent is told all the same.
	if err := c.do(func(st *state) error {
		st.launched(b, resp)
		return nil
	}); err != nil {
		h.books.actEnded(c.s.id, b, resp)
	}
	h.settle(c, decision.GetIntentId(), resp)
	return resp, nil
}

// launched is the step in which a launch ends.
func (st *state) launched(b *bound, resp *hostv1.ActResponse) {
	st.landed(resp)
	if resp.GetOutcome() != commonv1.Outcome_OUTCOME_REFUSED {
		st.endFrame()
		st.machine = machine.Step(st.machine, machine.LostTrack)
	}
	if resp.GetRefusal() != nil {
		st.apply(resp.GetRefusal().GetCode())
	}
	st.loseKeyboard(keyboard.ByObservation)
	st.acts.record(b.asked, resp)
	st.books.actEnded(st.id, b, resp)
}

// recorded is the answer an act id got before.
func (c *call) recorded(b *bound) (*hostv1.ActResponse, error) {
	var replay *hostv1.ActResponse
	err := c.do(func(st *state) (why error) {
		replay, why = st.acts.recorded(b.asked)
		return why
	})
	return replay, err
}

// launching is the last look at the ticket before a launch.
func (c *call) launching(ctx context.Context, l looked, b *bound) error {
	if ctx.Err() != nil {
		return refusal.New(refusal.Aborted)
	}
	in := &inflight{link: l.executor, dispatch: b.dispatch}
	return c.do(func(st *state) error {
		if err := st.send(l.ticket, nil, in, c.stopped, c.sending); err != nil {
			return err
		}
		st.books.note(timeline.Event{Session: st.id, Kind: timeline.ActSent, Act: b.asked.id})
		return nil
	})
}

func launchQuestion(
	s *session, e *executorlink.Link, b *bound, r *executorv1.ResolveAppResponse,
) *policyv1.DecideRequest {
	digest := permit.ActDigest(s.actKey, &commonv1.BoundAct{
		Verb: commonv1.Verb_VERB_LAUNCH_APP, Arguments: b.args, Resolution: r.GetResolution(),
	})
	return &policyv1.DecideRequest{
		SessionId: string(s.id), ActId: b.actID, ActDigest: digest[:],
		Facts: &policyv1.ActFacts{
			Verb: commonv1.Verb_VERB_LAUNCH_APP, AppId: r.GetResolution().GetAppId(),
		},
		Incarnation: e.Incarnation[:], SnapshotId: r.GetResolutionId(),
	}
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
