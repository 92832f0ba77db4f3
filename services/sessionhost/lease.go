package sessionhost

import (
	"context"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	policyv1 "fairlead.dev/gen/fairlead/policy/v1"
	"fairlead.dev/services/sessionhost/internal/timeline"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/peersock"
	"fairlead.dev/services/shared/refusal"
)

// OpenSession opens a session for the uid the kernel names.
func (h *Host) OpenSession(
	ctx context.Context, req *hostv1.OpenSessionRequest,
) (*hostv1.OpenSessionResponse, error) {
	resp := &hostv1.OpenSessionResponse{}
	s, unknown, err := h.openSession(ctx, req)
	if err == nil {
		resp.SessionId, resp.SessionSecret, resp.UnknownActs = string(s.id), s.secret[:], unknown
	}
	resp.Fence = h.fenceOf(s)
	resp.Refusal, err = s.told(err)
	return resp, err
}

func (h *Host) openSession(ctx context.Context, req *hostv1.OpenSessionRequest) (*session, uint32, error) {
	peer, err := peersock.FromContext(ctx)
	if err != nil {
		return nil, 0, refusal.Unauthenticated("the caller cannot be identified")
	}
	if g := req.GetFence().GetHost(); g != 0 && g != uint64(h.cfg.Generation) {
		return nil, 0, refusal.New(refusal.StaleGeneration)
	}
	p, _, err := h.links()
	if err != nil {
		return nil, 0, err
	}
	h.mu.Lock()
	switch {
	case h.stoppedAll:
		h.mu.Unlock()
		return nil, 0, refusal.New(refusal.UserStopped)
	case len(h.sessions) >= sessionsMax || h.sessionsOf(peer.UID) >= sessionsPerUID:
		h.mu.Unlock()
		return nil, 0, refusal.New(refusal.Busy)
	}
	s := newSession(h, peer.UID)
	to := req.GetPictureDestination()
	s.client = &policyv1.BeginSessionRequest{
		ClientName: req.GetClientName(),
		// Pictures that go nowhere are not taken (C10.5).
		Vision:         req.GetVision() && to != hostv1.PictureDestination_PICTURE_DESTINATION_UNSPECIFIED,
		RemotePictures: to == hostv1.PictureDestination_PICTURE_DESTINATION_REMOTE_MODEL,
	}
	h.sessions[s.id] = s
	h.mu.Unlock()
	h.books.note(timeline.Event{Session: s.id, Kind: timeline.SessionOpened})
	h.background(s.own)
	if h.locked.Load() {
		s.mark(mark{kind: markLocked})
	}
	s.usedBy(peer.Conn)
	unknown, err := p.BeginSession(ctx, s.declaration())
	if err == nil {
		err = s.do(func(st *state) { st.policy = p.Generation() })
	}
	if err != nil {
		h.endSession(s, hostv1.ReleaseReason_RELEASE_REASON_SESSION_CLEARED, hostv1.EndCause_END_CAUSE_FAILURE)
		return nil, 0, err
	}
	if h.stopsAll() {
		// The user stopped everything while policy was asked.
		h.endSession(s, hostv1.ReleaseReason_RELEASE_REASON_SESSION_CLEARED, hostv1.EndCause_END_CAUSE_KILL_SWITCH)
		return nil, 0, refusal.New(refusal.UserStopped)
	}
	return s, unknown, nil
}

// stopsAll reports whether the user's stop of everything stands.
func (h *Host) stopsAll() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.stoppedAll
}

// sessionsOf counts a uid's sessions: no account takes all of them. The caller holds the mutex.
func (h *Host) sessionsOf(uid uint32) int {
	n := 0
	for _, s := range h.sessions {
		if s.uid == uid {
			n++
		}
	}
	return n
}

// BeginTurn starts a turn. The agent cannot restart what the user stopped (C4.3).
func (h *Host) BeginTurn(ctx context.Context, req *hostv1.BeginTurnRequest) (*hostv1.BeginTurnResponse, error) {
	turn, s, err := admitted(ctx, h, req, h.beginTurn)
	resp := &hostv1.BeginTurnResponse{Fence: h.fenceOf(s)}
	if err == nil {
		resp.TurnId = string(turn)
	}
	resp.Refusal, err = s.told(err)
	return resp, err
}

func (h *Host) beginTurn(_ context.Context, c *call, _ *hostv1.BeginTurnRequest) (ident.TurnID, error) {
	turn, over := ident.TurnID(ident.New("t")), false
	err := c.do(func(st *state) error {
		var why *refusal.Error
		if over, why = st.begin(turn); why != nil {
			return why
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	if over {
		h.endLeases(c.s)
	}
	c.s.inOrder(func() { h.recordFact(c.s, policyv1.SessionEventKind_SESSION_EVENT_KIND_TURN_BEGUN) })
	return turn, nil
}

// endLeases ends a session's leases: they do not outlive the turn (C10.2).
func (h *Host) endLeases(s *session) {
	h.mu.Lock()
	p := h.policy
	h.mu.Unlock()
	if p == nil {
		return // leases ended with their policy generation
	}
	if _, err := p.Revoke(context.Background(), s.id, ""); err != nil {
		h.cfg.Log.Warn("leases could not be revoked at the end of a turn")
	}
}

// Acquire asks policy for a lease.
func (h *Host) Acquire(ctx context.Context, req *hostv1.AcquireRequest) (*hostv1.AcquireResponse, error) {
	got, s, err := admitted(ctx, h, req, h.acquire)
	resp := &hostv1.AcquireResponse{Fence: h.fenceOf(s), PendingApprovalId: got.GetPendingApprovalId()}
	if err == nil {
		resp.Lease = got.GetLease()
	}
	resp.Refusal, err = s.told(err)
	return resp, err
}

func (h *Host) acquire(
	ctx context.Context, c *call, req *hostv1.AcquireRequest,
) (*policyv1.AcquireResponse, error) {
	t, err := c.ticket()
	if err != nil {
		return nil, err
	}
	p, _, err := c.s.policyLink(ctx)
	if err != nil {
		return nil, c.failed(err)
	}
	got, err := p.Acquire(ctx, &policyv1.AcquireRequest{
		SessionId: string(c.s.id), Class: req.GetClass(), Target: req.GetTarget(), Reason: req.GetReason(),
	})
	if err != nil {
		h.leases.Publish(leaseEvent{
			session: c.s.id, kind: hostv1.LeaseEventKind_LEASE_EVENT_KIND_DENIED, code: refusal.As(err).Code,
			lease: &commonv1.Lease{Class: req.GetClass(), Target: req.GetTarget()},
		})
		return got, c.failed(err)
	}
	if err := c.still(ctx, t); err != nil {
		// What was given while the session lost its authority is given back.
		_, _ = p.Revoke(ctx, c.s.id, ident.LeaseID(got.GetLease().GetLeaseId()))
		return nil, err
	}
	return got, nil
}

// GetSession shows a session's state. It is allowed under every hold and never fenced.
func (h *Host) GetSession(ctx context.Context, req *hostv1.GetSessionRequest) (*hostv1.GetSessionResponse, error) {
	resp := &hostv1.GetSessionResponse{}
	s, err := h.authenticate(ctx, req)
	if err == nil {
		err = s.do(func(st *state) { s.show(st, resp) })
	}
	if err == nil {
		resp.Leases, _ = h.leasesOf(ctx, s)
	}
	resp.Fence = h.fenceOf(s)
	resp.Refusal, err = s.told(err)
	return resp, err
}

// ListLeases lists the session's live leases. It is never fenced.
func (h *Host) ListLeases(ctx context.Context, req *hostv1.ListLeasesRequest) (*hostv1.ListLeasesResponse, error) {
	resp := &hostv1.ListLeasesResponse{}
	s, err := h.authenticate(ctx, req)
	if err == nil {
		resp.Leases, err = h.leasesOf(ctx, s)
	}
	resp.Fence = h.fenceOf(s)
	resp.Refusal, err = s.told(err)
	return resp, err
}

// leasesOf asks policy for a session's leases. They do not outlive policy, nor the
// executor they were given under (C10.2).
func (h *Host) leasesOf(ctx context.Context, s *session) ([]*commonv1.Lease, error) {
	var given ident.Generation
	if err := s.do(func(st *state) { given = st.executor }); err != nil {
		return nil, err
	}
	p, e, gone := h.links()
	if gone != nil || e.Generation != given {
		return nil, nil
	}
	return p.Leases(ctx, s.id)
}

func (s *session) show(st *state, resp *hostv1.GetSessionResponse) {
	resp.TurnId = string(st.turn)
	resp.Base = baseToWire[st.machine.Base]
	resp.Holds = holdsToWire(st.machine.Holds)
	if f := st.frames.Current(); f != nil {
		resp.Frame = frameToWire(f.Frame)
	}
	resp.Waiting = uint32(len(s.inbox))
}

// Release gives up one lease. It never looks at the fence.
func (h *Host) Release(ctx context.Context, req *hostv1.ReleaseRequest) (*hostv1.ReleaseResponse, error) {
	resp := &hostv1.ReleaseResponse{}
	s, err := h.authenticate(ctx, req)
	if err == nil {
		h.mu.Lock()
		p := h.policy
		h.mu.Unlock()
		if p != nil {
			var n uint32
			n, err = p.Revoke(ctx, s.id, ident.LeaseID(req.GetLeaseId()))
			resp.Released = n > 0
			s.mark(mark{kind: markLeaseEnded})
		}
	}
	resp.Fence = h.fenceOf(s)
	resp.Refusal, err = s.told(err)
	return resp, err
}

// EndTurn ends the running turn. It never looks at the fence.
func (h *Host) EndTurn(ctx context.Context, req *hostv1.EndTurnRequest) (*hostv1.EndTurnResponse, error) {
	resp := &hostv1.EndTurnResponse{}
	s, err := h.authenticate(ctx, req)
	if err == nil {
		err = s.do(func(st *state) {
			if resp.Ended = st.end(ident.TurnID(req.GetTurnId())); resp.GetEnded() && st.inflight != nil {
				s.cancel(st.inflight)
			}
		})
	}
	if resp.GetEnded() {
		h.cleared(s, hostv1.EndCause_END_CAUSE_TURN_END)
		h.endLeases(s)
		s.inOrder(func() { h.recordFact(s, policyv1.SessionEventKind_SESSION_EVENT_KIND_TURN_ENDED) })
	}
	resp.Fence = h.fenceOf(s)
	resp.Refusal, err = s.told(err)
	return resp, err
}

// EndSession ends the session. It never looks at the fence.
func (h *Host) EndSession(ctx context.Context, req *hostv1.EndSessionRequest) (*hostv1.EndSessionResponse, error) {
	s, err := h.authenticate(ctx, req)
	if err == nil {
		h.endSession(s, hostv1.ReleaseReason_RELEASE_REASON_SESSION_CLEARED, hostv1.EndCause_END_CAUSE_SESSION_END)
	}
	resp := &hostv1.EndSessionResponse{Fence: h.fence(0)}
	var r *commonv1.Refusal
	r, err = s.told(err)
	resp.Refusal = r
	return resp, err
}
