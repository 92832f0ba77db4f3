package sessionhost

import (
	"context"
	"slices"
	"strings"

	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	policyv1 "fairlead.dev/gen/fairlead/policy/v1"
	"fairlead.dev/services/sessionhost/internal/release"
	machine "fairlead.dev/services/sessionhost/internal/session"
	"fairlead.dev/services/shared/ident"
)

// Stop is a mark before it is an action (C4.3): one atomic store of the latest arrival
// number, then a wake-up. It never waits behind agent work.
func (h *Host) Stop(_ context.Context, req *hostv1.StopRequest) (*hostv1.StopResponse, error) {
	s := h.find(ident.SessionID(req.GetSessionId()))
	if s == nil {
		return &hostv1.StopResponse{Fence: h.fence(0)}, nil
	}
	s.stopMark.Store(h.arrivals.Load())
	s.signal(signalStop)
	resp := &hostv1.StopResponse{Known: true}
	first := false
	err := s.do(func(st *state) {
		resp.ActInFlight = st.inflight != nil
		first, st.stopped = !st.stopped, true
	})
	resp.Known = err == nil
	if first {
		h.afterStop(s)
	}
	resp.Fence = h.fence(ident.Generation(s.shown.Load()))
	return resp, nil
}

// afterStop does the book-keeping of a stop, off its path: leases end, subscribers are
// told, the record says who stopped it (C10.2, C12.4). A session that never began on
// an executor holds nothing that could be let go of (C9.4).
func (h *Host) afterStop(s *session) {
	begun := s.letGo(h.executorGeneration())
	s.inOrder(func() {
		h.mu.Lock()
		p, e := h.policy, h.executor
		h.mu.Unlock()
		if begun && e != nil {
			// What is in flight was cancelled by name and still tells its outcome.
			e.EndSession(context.Background(), s.id)
		}
		if p == nil {
			return
		}
		if _, err := p.Revoke(context.Background(), s.id, ""); err != nil {
			h.cfg.Log.Warn("leases could not be revoked after a stop")
		}
		h.recordFact(s, policyv1.SessionEventKind_SESSION_EVENT_KIND_STOPPED)
	})
	if !begun {
		return
	}
	h.releases.Publish(release.Event{
		Executor: h.executorGeneration(), Sessions: []ident.SessionID{s.id},
		Reason: int32(hostv1.ReleaseReason_RELEASE_REASON_SESSION_CLEARED),
		Cause:  int32(hostv1.EndCause_END_CAUSE_USER_STOP),
	})
}

// Resume lifts the user's stop. The session starts a new turn without leases.
func (h *Host) Resume(_ context.Context, req *hostv1.ResumeRequest) (*hostv1.ResumeResponse, error) {
	s := h.find(ident.SessionID(req.GetSessionId()))
	if s == nil {
		return &hostv1.ResumeResponse{Fence: h.fence(0)}, nil
	}
	resp := &hostv1.ResumeResponse{}
	err := s.do(func(st *state) {
		resp.Resumed, st.stopped = st.machine.Holds.Has(machine.HeldStopped), false
	})
	if err == nil {
		s.signal(signalResume)
		// One step later the mark has been heeded.
		_ = s.do(func(*state) {})
	}
	if resp.GetResumed() {
		// Policy gives no lease before it has heard of it.
		<-s.inOrder(func() { h.recordFact(s, policyv1.SessionEventKind_SESSION_EVENT_KIND_RESUMED) })
	}
	resp.Fence = h.fence(ident.Generation(s.shown.Load()))
	return resp, nil
}

// ListSessions shows the user whom to stop.
func (h *Host) ListSessions(context.Context, *hostv1.ListSessionsRequest) (*hostv1.ListSessionsResponse, error) {
	resp := &hostv1.ListSessionsResponse{}
	h.each(func(s *session) {
		one := &hostv1.OpenSession{SessionId: string(s.id), ClientName: s.client.GetClientName(), Uid: s.uid}
		err := s.do(func(st *state) {
			one.Base, one.Holds = baseToWire[st.machine.Base], holdsToWire(st.machine.Holds)
			one.ActInFlight = st.inflight != nil
			if f := st.frames.Current(); f != nil {
				one.AppId = f.Window.App
			}
		})
		if err == nil {
			resp.Sessions = append(resp.Sessions, one)
		}
	})
	slices.SortFunc(resp.Sessions, func(a, b *hostv1.OpenSession) int {
		return strings.Compare(a.GetSessionId(), b.GetSessionId())
	})
	resp.Fence = h.fence(0)
	return resp, nil
}

func (h *Host) recordFact(s *session, kind policyv1.SessionEventKind) {
	h.mu.Lock()
	p := h.policy
	h.mu.Unlock()
	if p == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), settleTimeout)
	defer cancel()
	if err := p.Append(ctx, &policyv1.SessionFact{Kind: kind, SessionId: string(s.id)}); err != nil {
		h.cfg.Log.Warn("a fact about a session could not be recorded")
	}
}
