// Package policylink is the host's end of one policy generation. The stream of lease
// changes is the link: its end is the end of the generation, and every lease given
// under it is gone (C10.2). One goroutine reads the stream until the link ends.
package policylink

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	policyv1 "fairlead.dev/gen/fairlead/policy/v1"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
	"fairlead.dev/services/shared/rpc"
)

// Bounds of calls on the link.
const (
	handshakeMax = 10 * time.Second
	bookMax      = 2 * time.Second
)

// Link is one policy generation.
type Link struct {
	Version string
	Bundle  []byte

	host   ident.Generation
	conn   *grpc.ClientConn
	client policyv1.DecisionServiceClient
	done   chan struct{}
	ended  func(ident.SessionID, ident.LeaseID)

	mu         sync.Mutex
	generation ident.Generation
}

// Config is what a link needs.
type Config struct {
	Conn   net.Conn
	Traces trace.TracerProvider
	Host   ident.Generation
	// LeaseEnded is told about each lease that ended; it must not block.
	LeaseEnded func(ident.SessionID, ident.LeaseID)
}

// Open opens the link and waits for the handshake.
func Open(ctx context.Context, cfg Config) (*Link, error) {
	cc, err := rpc.Dial(cfg.Conn, cfg.Traces)
	if err != nil {
		return nil, fmt.Errorf("dialling policy: %w", err)
	}
	l := &Link{
		host: cfg.Host, conn: cc, client: policyv1.NewDecisionServiceClient(cc),
		done: make(chan struct{}), ended: cfg.LeaseEnded,
	}
	if err := l.handshake(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("opening policy link: %w", err), cc.Close())
	}
	return l, nil
}

func (l *Link) handshake(ctx context.Context) error {
	stream, err := l.client.WatchLeaseChanges(context.WithoutCancel(ctx),
		&policyv1.WatchLeaseChangesRequest{Fence: &commonv1.Fence{Host: uint64(l.host)}})
	if err != nil {
		return err
	}
	first := make(chan *policyv1.WatchLeaseChangesResponse, 1)
	go l.read(stream, first)
	timer := time.NewTimer(handshakeMax)
	defer timer.Stop()
	select {
	case ev := <-first:
		h := ev.GetHandshake()
		if h == nil || ev.GetFence().GetPolicy() == 0 {
			return errors.New("the first event was no handshake")
		}
		l.Version, l.Bundle = h.GetVersion(), h.GetBundleSha256()
		l.setGeneration(ev.GetFence())
		return nil
	case <-l.done:
		return errors.New("policy closed the link")
	case <-timer.C:
		return errors.New("no handshake in time")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (l *Link) read(
	stream policyv1.DecisionService_WatchLeaseChangesClient, first chan<- *policyv1.WatchLeaseChangesResponse,
) {
	defer close(l.done)
	for begun := false; ; {
		ev, err := stream.Recv()
		if err != nil {
			return
		}
		if !begun {
			begun = true
			first <- ev
			continue
		}
		if e := ev.GetLeaseEnded(); e != nil {
			l.ended(ident.SessionID(e.GetSessionId()), ident.LeaseID(e.GetLeaseId()))
		}
	}
}

// Done is closed when the policy generation has ended.
func (l *Link) Done() <-chan struct{} { return l.done }

// Close ends the link.
func (l *Link) Close() error { return l.conn.Close() }

// Generation returns the policy generation.
func (l *Link) Generation() ident.Generation {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.generation
}

func (l *Link) setGeneration(f *commonv1.Fence) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.generation = ident.Generation(f.GetPolicy())
}

func (l *Link) fence() *commonv1.Fence {
	return &commonv1.Fence{Host: uint64(l.host), Policy: uint64(l.Generation())}
}

// answered turns a policy call that failed into a refusal: without policy's word
// nothing may happen, and nothing has.
func answered(ctx context.Context, err error, code refusal.Code) error {
	switch {
	case err != nil && ctx.Err() != nil:
		return refusal.New(refusal.Timeout)
	case err != nil:
		return refusal.New(refusal.ServiceUnavailable)
	case code != 0:
		return refusal.New(code)
	}
	return nil
}

// BeginSession tells policy about a session and returns how many intents are open.
func (l *Link) BeginSession(ctx context.Context, req *policyv1.BeginSessionRequest) (uint32, error) {
	req.Fence = l.fence()
	resp, err := l.client.BeginSession(ctx, req)
	return resp.GetOpenIntents(), answered(ctx, err, resp.GetRefusal())
}

// EndSession ends a session's leases.
func (l *Link) EndSession(ctx context.Context, id ident.SessionID) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), bookMax)
	defer cancel()
	// A failure means that the generation is ending, and every lease with it.
	_, _ = l.client.EndSession(ctx, &policyv1.EndSessionRequest{Fence: l.fence(), SessionId: string(id)})
}

// Acquire asks for a lease.
func (l *Link) Acquire(ctx context.Context, req *policyv1.AcquireRequest) (*policyv1.AcquireResponse, error) {
	req.Fence = l.fence()
	resp, err := l.client.Acquire(ctx, req)
	return resp, answered(ctx, err, resp.GetRefusal())
}

// Leases lists a session's live leases.
func (l *Link) Leases(ctx context.Context, id ident.SessionID) ([]*commonv1.Lease, error) {
	resp, err := l.client.ListLeases(ctx, &policyv1.ListLeasesRequest{Fence: l.fence(), SessionId: string(id)})
	return resp.GetLeases(), answered(ctx, err, 0)
}

// Revoke ends one lease, or all leases of a session.
func (l *Link) Revoke(ctx context.Context, id ident.SessionID, lease ident.LeaseID) (uint32, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), bookMax)
	defer cancel()
	resp, err := l.client.Revoke(ctx, &policyv1.RevokeRequest{
		Fence: l.fence(), SessionId: string(id), LeaseId: string(lease),
	})
	return resp.GetLeasesEnded(), answered(ctx, err, 0)
}

// Permit asks for a read permit.
func (l *Link) Permit(ctx context.Context, req *policyv1.PermitRequest) (*commonv1.Permit, error) {
	req.Fence = l.fence()
	resp, err := l.client.Permit(ctx, req)
	if err := answered(ctx, err, resp.GetRefusal()); err != nil {
		return nil, withClass(err, req.GetClass())
	}
	return resp.GetPermit(), nil
}

// Decide asks for a permit for one act.
func (l *Link) Decide(ctx context.Context, req *policyv1.DecideRequest) (*policyv1.DecideResponse, error) {
	req.Fence = l.fence()
	resp, err := l.client.Decide(ctx, req)
	if err := answered(ctx, err, resp.GetRefusal()); err != nil {
		return resp, withClass(err, resp.GetMissingClass())
	}
	return resp, nil
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
	_, err := l.client.Settle(ctx, req)
	return answered(ctx, err, 0)
}

// Append records a fact about a session.
func (l *Link) Append(ctx context.Context, fact *policyv1.SessionFact) error {
	_, err := l.client.Append(ctx, &policyv1.AppendRequest{
		Fence: l.fence(), Record: &policyv1.AppendRequest_Session{Session: fact},
	})
	return answered(ctx, err, 0)
}
