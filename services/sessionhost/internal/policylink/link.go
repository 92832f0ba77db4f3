// Package policylink is the host's end of one policy generation. The stream of lease
// changes is the link: its end is the end of the generation, and every lease given
// under it is gone (C10.2). One goroutine reads the stream until the link ends.
//
// Nothing that policy says is guessed at (C0.11, C9.6). An answer that holds a field or a
// member this host does not know, or that lacks what a yes consists of, is a no:
// SERVICE_MISMATCH, and nothing of the answer is used. The second such answer ends the
// link. An event of that kind ends it at once, because it may have taken authority away,
// and with the link every lease is gone.
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
	"fairlead.dev/services/shared/rpc"
)

// Bounds of calls on the link.
const (
	handshakeMax = 10 * time.Second
	bookMax      = 2 * time.Second
	// violationsMax is how many answers may be unreadable before the generation ends (C9.6).
	violationsMax = 2
)

// errCallbacks refuses a link whose events nobody would hear.
var errCallbacks = errors.New("opening policy link: nobody is told about leases")

// Link is one policy generation.
type Link struct {
	Version string
	Bundle  []byte

	host    ident.Generation
	conn    *grpc.ClientConn
	client  policyv1.DecisionServiceClient
	done    chan struct{}
	granted func(ident.SessionID, *commonv1.Lease)
	ended   func(ident.SessionID, ident.LeaseID, policyv1.LeaseEndCause)

	mu         sync.Mutex
	generation ident.Generation
	violations int
}

// Config is what a link needs.
type Config struct {
	Conn   net.Conn
	Traces trace.TracerProvider
	Host   ident.Generation
	// LeaseGranted is told about each lease that was given, perhaps before Acquire returns
	// it. Required; it must not block.
	LeaseGranted func(ident.SessionID, *commonv1.Lease)
	// LeaseEnded is told about each lease that ended, and why, never before its grant.
	// Required; it must not block. The end of the link ends all leases and is not told here.
	LeaseEnded func(ident.SessionID, ident.LeaseID, policyv1.LeaseEndCause)
}

// Open opens the link and waits for the handshake.
func Open(ctx context.Context, cfg Config) (*Link, error) {
	if cfg.LeaseGranted == nil || cfg.LeaseEnded == nil {
		return nil, errors.Join(errCallbacks, cfg.Conn.Close())
	}
	cc, err := rpc.Dial(cfg.Conn, cfg.Traces)
	if err != nil {
		return nil, fmt.Errorf("dialling policy: %w", err)
	}
	l := &Link{
		host: cfg.Host, conn: cc, client: policyv1.NewDecisionServiceClient(cc),
		done: make(chan struct{}), granted: cfg.LeaseGranted, ended: cfg.LeaseEnded,
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
		if h == nil || ev.GetFence().GetPolicy() == 0 || foreign(ev) {
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
		if foreign(ev) || !l.tell(ev) {
			l.violated(violationsMax)
			return
		}
	}
}

// tell passes an event on; false for one that says nothing that can be passed on.
func (l *Link) tell(ev *policyv1.WatchLeaseChangesResponse) bool {
	switch e := ev.GetEvent().(type) {
	case *policyv1.WatchLeaseChangesResponse_LeaseGranted:
		id, lease := e.LeaseGranted.GetSessionId(), e.LeaseGranted.GetLease()
		if id == "" || lease.GetLeaseId() == "" || lease.GetClass() == 0 {
			return false
		}
		l.granted(ident.SessionID(id), lease)
		return true
	case *policyv1.WatchLeaseChangesResponse_LeaseEnded:
		id, lease := e.LeaseEnded.GetSessionId(), e.LeaseEnded.GetLeaseId()
		if id == "" || lease == "" || e.LeaseEnded.GetCause() == 0 {
			return false
		}
		l.ended(ident.SessionID(id), ident.LeaseID(lease), e.LeaseEnded.GetCause())
		return true
	default:
		return false
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

// Degraded reports whether something policy said could not be read (C9.6).
func (l *Link) Degraded() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.violations > 0
}

// violated counts what could not be read, by how much it weighs.
func (l *Link) violated(weight int) {
	l.mu.Lock()
	l.violations += weight
	over := l.violations >= violationsMax
	l.mu.Unlock()
	if over {
		// The error has no one to go to: the link is given up either way.
		_ = l.conn.Close()
	}
}

func (l *Link) fence() *commonv1.Fence {
	return &commonv1.Fence{Host: uint64(l.host), Policy: uint64(l.Generation())}
}
