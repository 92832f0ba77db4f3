package sessionhost

import (
	"context"
	"errors"
	"time"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	"fairlead.dev/services/sessionhost/internal/release"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
)

// told splits an error into the refusal of a normal response and the status of a
// request that was unusable (protocol.md, two error layers).
func told(err error) (*commonv1.Refusal, error) {
	if err == nil {
		return nil, nil
	}
	var r *refusal.Error
	if errors.As(err, &r) {
		return r.Wire(), nil
	}
	return nil, err
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
	resp.Refusal, err = told(err)
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
	resp.Refusal, err = told(err)
	return resp, err
}

// Observe reads one window and registers the frame.
func (h *Host) Observe(ctx context.Context, req *hostv1.ObserveRequest) (*hostv1.ObserveResponse, error) {
	obs, s, err := admitted(ctx, h, req, h.observe)
	resp := &hostv1.ObserveResponse{Fence: h.fenceOf(s)}
	if err == nil {
		resp.Observation = obs
	}
	resp.Refusal, err = told(err)
	return resp, err
}

// Act does one act on one frame; act.go tells how.
func (h *Host) Act(ctx context.Context, req *hostv1.ActRequest) (*hostv1.ActResponse, error) {
	story := h.act
	if isLaunch(req.GetAct()) {
		story = h.launch
	}
	if err := complete(req.GetAct()); err != nil {
		return nil, err
	}
	resp, s, err := admitted(ctx, h, req, story)
	if resp == nil {
		resp = &hostv1.ActResponse{}
	}
	resp.ActId, resp.Fence = req.GetActId(), h.fenceOf(s)
	if err == nil {
		return resp, nil
	}
	resp.Refusal, err = told(err)
	resp.Outcome, resp.Route = commonv1.Outcome_OUTCOME_REFUSED, commonv1.Route_ROUTE_NONE
	return resp, err
}

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

// WatchReleases streams release facts about the caller's session (C9.4).
func (h *Host) WatchReleases(req *hostv1.WatchReleasesRequest, out hostv1.ReleaseService_WatchReleasesServer) error {
	s, err := h.authenticate(out.Context(), req)
	if err != nil {
		if r, status := told(err); r != nil {
			return refusal.Unavailable(r.GetSentence())
		} else {
			return status
		}
	}
	sub, err := h.releases.Subscribe(s.id)
	if err != nil {
		return refusal.Unavailable("too many subscribers; try again later")
	}
	defer sub.Close()
	if err := out.SendHeader(nil); err != nil {
		return err
	}
	for {
		select {
		case e, open := <-sub.Events:
			if !open {
				if sub.Lagged() {
					return out.Send(&hostv1.WatchReleasesResponse{Fence: h.fenceOf(s), Lagged: true})
				}
				return nil
			}
			if err := out.Send(releaseToWire(h.fenceOf(s), e)); err != nil {
				return err
			}
		case <-s.ended:
			return h.lastFacts(s, sub, out)
		case <-out.Context().Done():
			return nil
		}
	}
}

// lastFacts sends what was published until the session's end, which ends the stream.
func (h *Host) lastFacts(
	s *session, sub *release.Subscription, out hostv1.ReleaseService_WatchReleasesServer,
) error {
	// The end of the session is published after its goroutine ended.
	timer := time.NewTimer(settleTimeout)
	defer timer.Stop()
	for {
		select {
		case e, open := <-sub.Events:
			if !open {
				return nil
			}
			if err := out.Send(releaseToWire(h.fenceOf(s), e)); err != nil {
				return err
			}
		case <-timer.C:
			return nil
		case <-out.Context().Done():
			return nil
		}
	}
}

func releaseToWire(f *commonv1.Fence, e release.Event) *hostv1.WatchReleasesResponse {
	resp := &hostv1.WatchReleasesResponse{
		Fence: f, ExecutorGeneration: uint64(e.Executor), GenerationReleased: e.GenerationReleased,
		Reason: hostv1.ReleaseReason(e.Reason), Cause: hostv1.EndCause(e.Cause), OutcomesUnknown: e.OutcomesUnknown,
	}
	for _, id := range e.Sessions {
		resp.SessionIds = append(resp.SessionIds, string(id))
	}
	return resp
}
