package sessionhost

import (
	"context"
	"errors"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
)

// told splits an error into the refusal of a normal response and the status of a
// request that was unusable (protocol.md, two error layers). What claims nothing says so,
// and no frame is called current that is not there.
func (s *session) told(err error) (*commonv1.Refusal, error) {
	r := refusalIn(err)
	if r == nil {
		return nil, err
	}
	w := r.Wire()
	if r.Claim == nil {
		w.ClaimEnd = commonv1.ClaimEnd_CLAIM_END_NONE
		w.FrameStillCurrent = w.GetFrameStillCurrent() && s.hasFrame()
	}
	return w, nil
}

// hasFrame reports whether there is a current frame.
func (s *session) hasFrame() (has bool) {
	if s != nil {
		_ = s.do(func(st *state) { has = st.frames.Current() != nil })
	}
	return has
}

// fenceOf is the current fence as the session's caller should copy it.
func (h *Host) fenceOf(s *session) *commonv1.Fence {
	if s == nil {
		return h.fence(0)
	}
	return h.fence(ident.Generation(s.shown.Load()))
}

// ListApps lists apps.
func (h *Host) ListApps(ctx context.Context, req *hostv1.ListAppsRequest) (*hostv1.ListAppsResponse, error) {
	resp, s, err := admitted(ctx, h, req, h.listApps)
	if resp == nil || err != nil {
		resp = &hostv1.ListAppsResponse{}
	}
	resp.Fence = h.fenceOf(s)
	resp.Refusal, err = s.told(err)
	return resp, err
}

// ListWindows lists windows.
func (h *Host) ListWindows(
	ctx context.Context, req *hostv1.ListWindowsRequest,
) (*hostv1.ListWindowsResponse, error) {
	resp, s, err := admitted(ctx, h, req, h.listWindows)
	if resp == nil || err != nil {
		resp = &hostv1.ListWindowsResponse{}
	}
	resp.Fence = h.fenceOf(s)
	resp.Refusal, err = s.told(err)
	return resp, err
}

// Observe reads one window and registers the frame.
func (h *Host) Observe(ctx context.Context, req *hostv1.ObserveRequest) (*hostv1.ObserveResponse, error) {
	obs, s, err := admitted(ctx, h, req, h.observe)
	resp := &hostv1.ObserveResponse{Fence: h.fenceOf(s)}
	if err == nil {
		resp.Observation = obs
	}
	resp.Refusal, err = s.told(err)
	return resp, err
}

// Act does one act on one frame; act.go tells how.
func (h *Host) Act(ctx context.Context, req *hostv1.ActRequest) (*hostv1.ActResponse, error) {
	if err := complete(req.GetAct()); err != nil {
		return nil, err
	}
	s, err := h.authenticate(ctx, req)
	if err != nil {
		return h.answered(req, s, nil, err)
	}
	b, unusable := s.theAct(req)
	if unusable != nil && !refused(unusable) {
		return nil, unusable
	}
	if unusable != nil {
		// It is refused when its turn comes, after whatever else it is refused with (C4.3).
		resp, err := queued(ctx, h, s, req, func(context.Context, *call) (*hostv1.ActResponse, error) {
			return nil, unusable
		})
		return h.answered(req, s, resp, err)
	}
	r, first, err := s.join(b.asked)
	switch {
	case err != nil:
		return h.answered(req, s, nil, err)
	case !first:
		return r.await(ctx)
	}
	story := h.act
	if b.verb == commonv1.Verb_VERB_LAUNCH_APP {
		story = h.launch
	}
	resp, err := queued(ctx, h, s, req, func(ctx context.Context, c *call) (*hostv1.ActResponse, error) {
		return story(ctx, c, b)
	})
	resp, err = h.answered(req, s, resp, err)
	s.over(b.asked, r, resp, err)
	return resp, err
}

// answered is the answer to an act. What was refused before it was sent says so.
func (h *Host) answered(
	req *hostv1.ActRequest, s *session, resp *hostv1.ActResponse, err error,
) (*hostv1.ActResponse, error) {
	ref := frameFromWire(req.GetFrame())
	if resp == nil {
		resp = &hostv1.ActResponse{}
	}
	resp.ActId, resp.Fence = req.GetActId(), h.fenceOf(s)
	if err == nil {
		return resp, nil
	}
	if r := refusalIn(err); r != nil && r.Claim == nil && s != nil {
		// It never came to a claim; whether its frame is still good is asked, not guessed.
		err = &refusal.Error{Code: r.Code, Detail: r.Detail, Claim: &refusal.Claim{
			End: refusal.Of(r.Code).GetClaimEnd(), FrameCurrent: s.currently(ref),
		}}
	}
	resp.Refusal, err = s.told(err)
	resp.Outcome, resp.Route = commonv1.Outcome_OUTCOME_REFUSED, commonv1.Route_ROUTE_NONE
	return resp, err
}

// currently reports whether the quoted frame is the current one.
func (s *session) currently(ref ident.Frame) (is bool) {
	_ = s.do(func(st *state) {
		f := st.frames.Current()
		is = f != nil && f.Frame == ref
	})
	return is
}

// refusalIn is the refusal in an error, nil when there is none.
func refusalIn(err error) *refusal.Error {
	var r *refusal.Error
	if errors.As(err, &r) {
		return r
	}
	return nil
}

func refused(err error) bool { return refusalIn(err) != nil }

// admitted authenticates a session's request and queues its story.
func admitted[R fenced, T any](
	ctx context.Context, h *Host, req R, story func(context.Context, *call, R) (T, error),
) (T, *session, error) {
	s, err := h.authenticate(ctx, req)
	if err != nil {
		var none T
		return none, s, err
	}
	v, err := queued(ctx, h, s, req, func(ctx context.Context, c *call) (T, error) { return story(ctx, c, req) })
	return v, s, err
}
