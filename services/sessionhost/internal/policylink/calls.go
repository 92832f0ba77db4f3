package policylink

import (
	"context"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	policyv1 "fairlead.dev/gen/fairlead/policy/v1"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
)

// foreign reports whether a message, or one inside it, holds a field or a member of an
// enum that this schema does not have.
func foreign(m proto.Message) bool { return foreignIn(m.ProtoReflect()) }

func foreignIn(m protoreflect.Message) bool {
	found := len(m.GetUnknown()) > 0
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if !fd.IsList() {
			found = found || foreignValue(fd, v)
			return !found
		}
		for i := 0; i < v.List().Len() && !found; i++ {
			found = foreignValue(fd, v.List().Get(i))
		}
		return !found
	})
	return found
}

func foreignValue(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
	switch {
	case fd.Message() != nil:
		return foreignIn(v.Message())
	case fd.Enum() != nil:
		return fd.Enum().Values().ByNumber(v.Enum()) == nil
	default:
		return false
	}
}

// answered says what a policy call came to. One that failed is a refusal: without
// policy's word nothing may happen, and nothing has. So is one whose answer cannot be
// read, whatever else it says.
func (l *Link) answered(ctx context.Context, resp proto.Message, err error, code refusal.Code) error {
	switch {
	case err != nil && ctx.Err() != nil:
		return refusal.New(refusal.Timeout)
	case err != nil:
		return refusal.New(refusal.ServiceUnavailable)
	case foreign(resp):
		return l.mismatch()
	case code != 0:
		return refusal.New(code)
	}
	return nil
}

// mismatch is the worst case of every call here: a no that policy did not say.
func (l *Link) mismatch() error {
	l.violated(1)
	return refusal.New(refusal.ServiceMismatch)
}

// BeginSession tells policy about a session and returns how many intents are open.
func (l *Link) BeginSession(ctx context.Context, req *policyv1.BeginSessionRequest) (uint32, error) {
	req.Fence = l.fence()
	resp, err := l.client.BeginSession(ctx, req)
	if err := l.answered(ctx, resp, err, resp.GetRefusal()); err != nil {
		return 0, err
	}
	return resp.GetOpenIntents(), nil
}

// EndSession ends a session's leases.
func (l *Link) EndSession(ctx context.Context, id ident.SessionID) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), bookMax)
	defer cancel()
	resp, err := l.client.EndSession(ctx, &policyv1.EndSessionRequest{Fence: l.fence(), SessionId: string(id)})
	// A failure means that the generation is ending, and every lease with it.
	_ = l.answered(ctx, resp, err, 0)
}

// Acquire asks for a lease. A refusal comes with the answer, which may name the question
// a person must answer first.
func (l *Link) Acquire(ctx context.Context, req *policyv1.AcquireRequest) (*policyv1.AcquireResponse, error) {
	req.Fence = l.fence()
	resp, err := l.client.Acquire(ctx, req)
	err = l.answered(ctx, resp, err, 0)
	switch {
	case err != nil:
		return nil, err
	case resp.GetRefusal() != 0:
		return resp, refusal.New(resp.GetRefusal())
	case resp.GetLease().GetLeaseId() == "" || resp.GetLease().GetClass() != req.GetClass():
		return nil, l.mismatch()
	}
	return resp, nil
}

// Leases lists a session's live leases.
func (l *Link) Leases(ctx context.Context, id ident.SessionID) ([]*commonv1.Lease, error) {
	resp, err := l.client.ListLeases(ctx, &policyv1.ListLeasesRequest{Fence: l.fence(), SessionId: string(id)})
	if err := l.answered(ctx, resp, err, 0); err != nil {
		return nil, err
	}
	return resp.GetLeases(), nil
}

// Revoke ends one lease, or all leases of a session.
func (l *Link) Revoke(ctx context.Context, id ident.SessionID, lease ident.LeaseID) (uint32, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), bookMax)
	defer cancel()
	resp, err := l.client.Revoke(ctx, &policyv1.RevokeRequest{
		Fence: l.fence(), SessionId: string(id), LeaseId: string(lease),
	})
	if err := l.answered(ctx, resp, err, 0); err != nil {
		return 0, err
	}
	return resp.GetLeasesEnded(), nil
}

// Permit asks for a read permit.
func (l *Link) Permit(ctx context.Context, req *policyv1.PermitRequest) (*commonv1.Permit, error) {
	req.Fence = l.fence()
	resp, err := l.client.Permit(ctx, req)
	if err := l.answered(ctx, resp, err, resp.GetRefusal()); err != nil {
		return nil, withClass(err, req.GetClass())
	}
	if resp.GetPermit() == nil {
		return nil, l.mismatch()
	}
	return resp.GetPermit(), nil
}

// Decide asks for a permit for one act. A refusal comes with the answer, which may name
// the question a person must answer first.
func (l *Link) Decide(ctx context.Context, req *policyv1.DecideRequest) (*policyv1.DecideResponse, error) {
	req.Fence = l.fence()
	resp, err := l.client.Decide(ctx, req)
	err = l.answered(ctx, resp, err, 0)
	switch {
	case err != nil:
		return nil, err
	case resp.GetRefusal() != 0:
		return resp, withClass(refusal.New(resp.GetRefusal()), resp.GetMissingClass())
	case resp.GetPermit() == nil || resp.GetIntentId() == "":
		return nil, l.mismatch()
	}
	return resp, nil
}

// Foresee asks whether any step of a sequence would be refused now. The refusal says
// which step it is about, from 1; 0 when it is about the sequence as a whole.
func (l *Link) Foresee(ctx context.Context, req *policyv1.ForeseeRequest) (uint32, error) {
	req.Fence = l.fence()
	resp, err := l.client.Foresee(ctx, req)
	if err := l.answered(ctx, resp, err, 0); err != nil {
		return 0, err
	}
	step, code := resp.GetStep(), resp.GetRefusal()
	switch {
	case step > uint32(len(req.GetSteps())), code == 0 && step != 0:
		return 0, l.mismatch()
	case code != 0:
		return step, refusal.With(code, &refusal.Detail{Step: step, LeaseClass: resp.GetMissingClass()})
	}
	return 0, nil
}

func withClass(err error, class commonv1.LeaseClass) error {
	if r := refusal.As(err); r.Code == refusal.LeaseRequired || r.Code == refusal.NoPermittedRoute {
		return refusal.With(r.Code, &refusal.Detail{LeaseClass: class})
	}
	return err
}

// Settle closes an intent.
func (l *Link) Settle(ctx context.Context, req *policyv1.SettleRequest) error {
	req.Fence = l.fence()
	resp, err := l.client.Settle(ctx, req)
	return l.answered(ctx, resp, err, 0)
}

// Append records a fact about a session.
func (l *Link) Append(ctx context.Context, fact *policyv1.SessionFact) error {
	resp, err := l.client.Append(ctx, &policyv1.AppendRequest{
		Fence: l.fence(), Record: &policyv1.AppendRequest_Session{Session: fact},
	})
	return l.answered(ctx, resp, err, 0)
}
