package policy

import (
	"context"

	"google.golang.org/grpc"

	policyv1 "fairlead.dev/gen/fairlead/policy/v1"
	"fairlead.dev/services/policy/internal/rules"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/peersock"
	"fairlead.dev/services/shared/refusal"
	"fairlead.dev/services/shared/telemetry"
)

// Host returns the service for the host's link: everything but the launcher's facts.
func (p *Policy) Host() policyv1.DecisionServiceServer { return &hostService{p: p} }

// Launcher returns the service for the launcher's link: facts about processes only.
func (p *Policy) Launcher() policyv1.DecisionServiceServer { return &launcherService{p: p} }

// Debug returns the service for the debug socket. It signs nothing.
func (p *Policy) Debug() policyv1.DebugServiceServer { return &debugService{p: p} }

// Why a call cannot be taken. None of these says anything about the desktop.
var (
	errTarget     = refusal.Unusable("the target names nothing")
	errFact       = refusal.Unusable("the record names nothing")
	errSteps      = refusal.Unusable("the sequence has no steps")
	errQuestion   = refusal.Unusable("name a lease class or a verb")
	errGone       = refusal.NotAllowed("this generation is over")
	errCaller     = refusal.NotAllowed("this link may not make this call")
	errNotOnLog   = refusal.Unavailable("the record cannot be taken")
	errWatchers   = refusal.Unavailable("too many watchers")
	errLagged     = refusal.Unavailable("the watcher fell behind or policy is ending")
	errIdentified = refusal.Unauthenticated("the caller cannot be identified")
)

type hostService struct {
	policyv1.UnimplementedDecisionServiceServer
	p *Policy
}

// WatchLeaseChanges sends the handshake and then every lease that is given or ends.
func (s *hostService) WatchLeaseChanges(
	req *policyv1.WatchLeaseChangesRequest, stream grpc.ServerStreamingServer[policyv1.WatchLeaseChangesResponse],
) error {
	if !s.p.holds(req.GetFence()) {
		return errGone
	}
	w := s.p.watch()
	if w == nil {
		return errWatchers
	}
	defer s.p.unwatch(w)
	sum := s.p.rules.Digest()
	hello := &policyv1.WatchLeaseChangesResponse{
		Fence: s.p.fence(),
		Event: &policyv1.WatchLeaseChangesResponse_Handshake{
			Handshake: &policyv1.PolicyHandshake{Version: s.p.version, BundleSha256: sum[:]},
		},
	}
	if err := stream.Send(hello); err != nil {
		return err
	}
	s.p.log.Info("host attached", telemetry.Generation(s.p.generation))
	for {
		select {
		case e, ok := <-w.events:
			if !ok {
				return errLagged
			}
			if err := stream.Send(changeResponse(s.p.fence(), e)); err != nil {
				return err
			}
		case <-stream.Context().Done():
			return context.Cause(stream.Context())
		}
	}
}

// BeginSession takes a session.
func (s *hostService) BeginSession(
	_ context.Context, req *policyv1.BeginSessionRequest,
) (*policyv1.BeginSessionResponse, error) {
	if !s.p.holds(req.GetFence()) {
		return &policyv1.BeginSessionResponse{Fence: s.p.fence(), Refusal: refusal.StaleGeneration}, nil
	}
	open, code := s.p.beginSession(ident.SessionID(req.GetSessionId()), session{
		uid:    req.GetUid(),
		client: req.GetClientName(),
		vision: req.GetVision(),
		remote: req.GetRemotePictures(),
	})
	return &policyv1.BeginSessionResponse{Fence: s.p.fence(), Refusal: code, OpenIntents: uint32(open)}, nil
}

// EndSession ends a session. Never fenced.
func (s *hostService) EndSession(
	_ context.Context, req *policyv1.EndSessionRequest,
) (*policyv1.EndSessionResponse, error) {
	n := s.p.endSession(ident.SessionID(req.GetSessionId()))
	return &policyv1.EndSessionResponse{Fence: s.p.fence(), LeasesEnded: uint32(n)}, nil
}

// Acquire decides on a lease.
func (s *hostService) Acquire(_ context.Context, req *policyv1.AcquireRequest) (*policyv1.AcquireResponse, error) {
	target, ok := targetOf(req.GetTarget())
	if !ok {
		return nil, errTarget
	}
	if !s.p.holds(req.GetFence()) {
		return &policyv1.AcquireResponse{Fence: s.p.fence(), Refusal: refusal.StaleGeneration}, nil
	}
	q := ask{
		session: ident.SessionID(req.GetSessionId()), class: req.GetClass(), target: target, reason: req.GetReason(),
	}
	l, code := s.p.acquire(q)
	resp := &policyv1.AcquireResponse{Fence: s.p.fence(), Refusal: code}
	if code == 0 {
		resp.Lease = leaseProto(l, s.p.boot())
	}
	return resp, nil
}

// ListLeases lists the live leases of a session.
func (s *hostService) ListLeases(
	_ context.Context, req *policyv1.ListLeasesRequest,
) (*policyv1.ListLeasesResponse, error) {
	live, now := s.p.list(ident.SessionID(req.GetSessionId()))
	resp := &policyv1.ListLeasesResponse{Fence: s.p.fence()}
	for _, l := range live {
		resp.Leases = append(resp.Leases, leaseProto(l, now))
	}
	return resp, nil
}

// Revoke ends leases. Never fenced.
func (s *hostService) Revoke(_ context.Context, req *policyv1.RevokeRequest) (*policyv1.RevokeResponse, error) {
	n := s.p.revoke(ident.SessionID(req.GetSessionId()), ident.LeaseID(req.GetLeaseId()))
	return &policyv1.RevokeResponse{Fence: s.p.fence(), LeasesEnded: uint32(n)}, nil
}

// Permit signs a read permit.
func (s *hostService) Permit(_ context.Context, req *policyv1.PermitRequest) (*policyv1.PermitResponse, error) {
	target, ok := targetOf(req.GetTarget())
	if !ok {
		return nil, errTarget
	}
	if !s.p.holds(req.GetFence()) {
		return &policyv1.PermitResponse{Fence: s.p.fence(), Refusal: refusal.StaleGeneration}, nil
	}
	q := ask{
		session: ident.SessionID(req.GetSessionId()), class: req.GetClass(), target: target,
		destination: req.GetDestination(),
	}
	ans := s.p.permitRead(q, req.GetIncarnation())
	return &policyv1.PermitResponse{Fence: s.p.fence(), Refusal: ans.code, Permit: ans.permit}, nil
}

// Decide decides on one act.
func (s *hostService) Decide(_ context.Context, req *policyv1.DecideRequest) (*policyv1.DecideResponse, error) {
	if !s.p.holds(req.GetFence()) {
		return &policyv1.DecideResponse{Fence: s.p.fence(), Refusal: refusal.StaleGeneration}, nil
	}
	return decideResponse(s.p.fence(), s.p.decide(actOf(req))), nil
}

// Foresee decides on a sequence as a whole.
func (s *hostService) Foresee(_ context.Context, req *policyv1.ForeseeRequest) (*policyv1.ForeseeResponse, error) {
	if !s.p.holds(req.GetFence()) {
		return &policyv1.ForeseeResponse{Fence: s.p.fence(), Refusal: refusal.StaleGeneration}, nil
	}
	steps := stepsOf(req)
	if len(steps) == 0 {
		return nil, errSteps
	}
	step, ans := s.p.foresee(steps)
	return &policyv1.ForeseeResponse{
		Fence: s.p.fence(), Refusal: ans.code, Step: step, MissingClass: ans.missing,
	}, nil
}

// Settle closes an intent. Never fenced.
func (s *hostService) Settle(_ context.Context, req *policyv1.SettleRequest) (*policyv1.SettleResponse, error) {
	closed, recorded := s.p.settle(outcomeOf(req))
	if !recorded {
		return nil, errNotOnLog
	}
	return &policyv1.SettleResponse{Fence: s.p.fence(), Closed: closed}, nil
}

// Append records a fact about a session. Never fenced.
func (s *hostService) Append(_ context.Context, req *policyv1.AppendRequest) (*policyv1.AppendResponse, error) {
	fact := req.GetSession()
	switch {
	case req.GetProcess() != nil:
		return nil, errCaller
	case fact.GetSessionId() == "":
		return nil, errFact
	}
	if !s.p.sessionFact(fact) {
		return nil, errNotOnLog
	}
	return &policyv1.AppendResponse{Fence: s.p.fence()}, nil
}

type launcherService struct {
	policyv1.UnimplementedDecisionServiceServer
	p *Policy
}

// WatchLeaseChanges is the host's.
func (*launcherService) WatchLeaseChanges(
	*policyv1.WatchLeaseChangesRequest, grpc.ServerStreamingServer[policyv1.WatchLeaseChangesResponse],
) error {
	return errCaller
}

// BeginSession is the host's.
func (*launcherService) BeginSession(
	context.Context, *policyv1.BeginSessionRequest,
) (*policyv1.BeginSessionResponse, error) {
	return nil, errCaller
}

// EndSession is the host's.
func (*launcherService) EndSession(
	context.Context, *policyv1.EndSessionRequest,
) (*policyv1.EndSessionResponse, error) {
	return nil, errCaller
}

// Acquire is the host's.
func (*launcherService) Acquire(context.Context, *policyv1.AcquireRequest) (*policyv1.AcquireResponse, error) {
	return nil, errCaller
}

// ListLeases is the host's.
func (*launcherService) ListLeases(
	context.Context, *policyv1.ListLeasesRequest,
) (*policyv1.ListLeasesResponse, error) {
	return nil, errCaller
}

// Revoke is the host's.
func (*launcherService) Revoke(context.Context, *policyv1.RevokeRequest) (*policyv1.RevokeResponse, error) {
	return nil, errCaller
}

// Permit is the host's.
func (*launcherService) Permit(context.Context, *policyv1.PermitRequest) (*policyv1.PermitResponse, error) {
	return nil, errCaller
}

// Decide is the host's.
func (*launcherService) Decide(context.Context, *policyv1.DecideRequest) (*policyv1.DecideResponse, error) {
	return nil, errCaller
}

// Foresee is the host's.
func (*launcherService) Foresee(context.Context, *policyv1.ForeseeRequest) (*policyv1.ForeseeResponse, error) {
	return nil, errCaller
}

// Settle is the host's.
func (*launcherService) Settle(context.Context, *policyv1.SettleRequest) (*policyv1.SettleResponse, error) {
	return nil, errCaller
}

// Append records a fact about a process. Never fenced.
func (s *launcherService) Append(_ context.Context, req *policyv1.AppendRequest) (*policyv1.AppendResponse, error) {
	switch {
	case req.GetSession() != nil:
		return nil, errCaller
	case req.GetProcess() == nil:
		return nil, errFact
	}
	if !s.p.note(processOf(req.GetProcess())) {
		return nil, errNotOnLog
	}
	return &policyv1.AppendResponse{Fence: s.p.fence()}, nil
}

type debugService struct {
	policyv1.UnimplementedDebugServiceServer
	p *Policy
}

// DryRun says what the rules alone would answer the calling user.
func (s *debugService) DryRun(ctx context.Context, req *policyv1.DryRunRequest) (*policyv1.DryRunResponse, error) {
	peer, err := peersock.FromContext(ctx)
	if err != nil {
		return nil, errIdentified
	}
	q := rules.Question{UID: peer.UID, App: req.GetAppId()}
	switch {
	case req.GetVerb() != 0:
		rule := ruleOf(req.GetVerb())
		if c := req.GetClass(); c != 0 && c != rule.GetClass() {
			return nil, errQuestion
		}
		q.Action, q.Verb, q.Class = rules.Act(nameOf(req.GetVerb())), nameOf(req.GetVerb()), nameOf(rule.GetClass())
		q.Effect = nameOf(effectOf(act{verb: req.GetVerb()}))
	case req.GetClass() != 0:
		q.Action, q.Class = rules.Lease(nameOf(req.GetClass())), nameOf(req.GetClass())
	default:
		return nil, errQuestion
	}
	v := s.p.rules.Decide(q)
	return &policyv1.DryRunResponse{Fence: s.p.fence(), Refusal: codeOf(v), RuleId: v.Rule}, nil
}
