package sessionhost

import (
	"context"
	"time"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	policyv1 "fairlead.dev/gen/fairlead/policy/v1"
	"fairlead.dev/services/sessionhost/internal/feed"
	"fairlead.dev/services/sessionhost/internal/release"
	"fairlead.dev/services/sessionhost/internal/timeline"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
)

// leaseEvent is what became of a lease of a session.
type leaseEvent struct {
	session ident.SessionID
	kind    hostv1.LeaseEventKind
	lease   *commonv1.Lease
	code    refusal.Code
}

// stream sends what a subscription brings until the caller leaves, the subscriber lags or
// ended is closed; what was published until then is still sent.
func stream[E any](
	ctx context.Context, sub *feed.Subscription[E], ended <-chan struct{}, send func(E) error, lagged func() error,
) error {
	// The end of a session is published after its goroutine ended.
	last := (<-chan time.Time)(nil)
	for {
		select {
		case e, open := <-sub.Events:
			if !open && sub.Lagged() {
				return lagged()
			}
			if !open {
				return nil
			}
			if err := send(e); err != nil {
				return err
			}
		case <-ended:
			timer := time.NewTimer(settleTimeout)
			defer timer.Stop()
			ended, last = nil, timer.C
		case <-last:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// statusOf is what a stream that cannot begin answers.
func statusOf(err error) error {
	r, status := (*session)(nil).told(err)
	if r != nil {
		return refusal.Unavailable(r.GetSentence())
	}
	return status
}

// WatchReleases streams release facts about the caller's session (C9.4).
func (h *Host) WatchReleases(req *hostv1.WatchReleasesRequest, out hostv1.ReleaseService_WatchReleasesServer) error {
	s, err := h.authenticate(out.Context(), req)
	if err != nil {
		return statusOf(err)
	}
	sub, err := h.releases.Subscribe(string(s.id), func(e release.Event) (release.Event, bool) { return e.For(s.id) })
	if err != nil {
		return statusOf(err)
	}
	defer sub.Close()
	if err := out.SendHeader(nil); err != nil {
		return err
	}
	send := func(e release.Event) error { return out.Send(releaseToWire(h.fenceOf(s), e)) }
	return stream(out.Context(), sub, s.ended, send, func() error {
		return out.Send(&hostv1.WatchReleasesResponse{Fence: h.fenceOf(s), Lagged: true})
	})
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

// WatchLeases streams what becomes of the session's leases, outside the session's order.
func (h *Host) WatchLeases(req *hostv1.WatchLeasesRequest, out hostv1.LeaseService_WatchLeasesServer) error {
	s, err := h.authenticate(out.Context(), req)
	if err != nil {
		return statusOf(err)
	}
	sub, err := h.leases.Subscribe(string(s.id), func(e leaseEvent) (leaseEvent, bool) { return e, e.session == s.id })
	if err != nil {
		return statusOf(err)
	}
	defer sub.Close()
	if err := out.SendHeader(nil); err != nil {
		return err
	}
	send := func(e leaseEvent) error {
		return out.Send(&hostv1.WatchLeasesResponse{Fence: h.fenceOf(s), Kind: e.kind, Lease: e.lease, Code: e.code})
	}
	return stream(out.Context(), sub, s.ended, send, func() error {
		return out.Send(&hostv1.WatchLeasesResponse{Fence: h.fenceOf(s), Lagged: true})
	})
}

// leaseGranted and leaseEnded are told by policy; they must not block.
func (h *Host) leaseGranted(id ident.SessionID, l *commonv1.Lease) {
	h.leases.Publish(leaseEvent{session: id, kind: hostv1.LeaseEventKind_LEASE_EVENT_KIND_GRANTED, lease: l})
	h.books.note(timeline.Event{Session: id, Kind: timeline.LeaseGranted})
}

func (h *Host) leaseEnded(id ident.SessionID, l ident.LeaseID, why policyv1.LeaseEndCause) {
	s := h.find(id)
	if s == nil {
		return
	}
	s.mark(mark{kind: markLeaseEnded})
	kind := hostv1.LeaseEventKind_LEASE_EVENT_KIND_REVOKED
	if why == policyv1.LeaseEndCause_LEASE_END_CAUSE_EXPIRED {
		kind = hostv1.LeaseEventKind_LEASE_EVENT_KIND_EXPIRED
	}
	h.leases.Publish(leaseEvent{session: id, kind: kind, lease: &commonv1.Lease{LeaseId: string(l)}})
	h.books.note(timeline.Event{Session: id, Kind: timeline.LeaseEnded})
	h.releases.Publish(release.Event{
		Executor: h.executorGeneration(), Sessions: []ident.SessionID{id},
		Reason: int32(hostv1.ReleaseReason_RELEASE_REASON_LEASE_ENDED),
	})
}

// WatchSessions streams what happens to sessions, to the user's side.
func (h *Host) WatchSessions(req *hostv1.WatchSessionsRequest, out hostv1.ControlService_WatchSessionsServer) error {
	one := ident.SessionID(req.GetSessionId())
	// Every subscriber is its own owner: the user's side has the user's rights.
	sub, err := h.books.events.Subscribe(ident.New("w"), func(e timeline.Event) (timeline.Event, bool) {
		return e, one == "" || e.Session == one
	})
	if err != nil {
		return statusOf(err)
	}
	defer sub.Close()
	if err := out.SendHeader(nil); err != nil {
		return err
	}
	send := func(e timeline.Event) error {
		return out.Send(&hostv1.WatchSessionsResponse{Fence: h.fence(0), Event: eventToWire(e)})
	}
	return stream(out.Context(), sub, nil, send, func() error {
		return out.Send(&hostv1.WatchSessionsResponse{Fence: h.fence(0), Lagged: true})
	})
}

// GetTimeline tells what happened to one session, or lately to all.
func (h *Host) GetTimeline(_ context.Context, req *hostv1.GetTimelineRequest) (*hostv1.GetTimelineResponse, error) {
	h.books.mu.Lock()
	events, forgotten := h.books.log.All()
	if one := ident.SessionID(req.GetSessionId()); one != "" {
		events, forgotten = h.books.log.Of(one)
	}
	h.books.mu.Unlock()
	resp := &hostv1.GetTimelineResponse{Fence: h.fence(0), Forgotten: uint64(forgotten)}
	for _, e := range events {
		resp.Events = append(resp.Events, eventToWire(e))
	}
	return resp, nil
}

func eventToWire(e timeline.Event) *hostv1.TimelineEvent {
	w := &hostv1.TimelineEvent{
		Seq: e.Seq, UnixMs: uint64(e.At.UnixMilli()), SessionId: string(e.Session), Kind: hostv1.TimelineKind(e.Kind),
		ActId: string(e.Act), Code: e.Code, Outcome: commonv1.Outcome(e.Outcome),
	}
	if e.Kind == timeline.KeyboardRevoked {
		w.KeyboardLoss = hostv1.KeyboardLoss(e.Cause)
	}
	return w
}
