package policylink

import (
	"context"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/trace/noop"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	policyv1 "fairlead.dev/gen/fairlead/policy/v1"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/peersock"
	"fairlead.dev/services/shared/refusal"
	"fairlead.dev/services/shared/rpc"
	"fairlead.dev/services/shared/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	semantic = commonv1.LeaseClass_LEASE_CLASS_SEMANTIC_MUTATION
	metadata = commonv1.LeaseClass_LEASE_CLASS_METADATA_READ
	// stranger is a member that no enum has.
	stranger = 9999
)

// policy is a policy that says what the test wants it to say.
type policy struct {
	policyv1.UnimplementedDecisionServiceServer
	hello  *policyv1.WatchLeaseChangesResponse
	events chan *policyv1.WatchLeaseChangesResponse

	mu     sync.Mutex
	answer proto.Message
	asked  proto.Message
}

func (p *policy) WatchLeaseChanges(
	_ *policyv1.WatchLeaseChangesRequest, stream grpc.ServerStreamingServer[policyv1.WatchLeaseChangesResponse],
) error {
	if err := stream.Send(p.hello); err != nil {
		return err
	}
	for {
		select {
		case e := <-p.events:
			if err := stream.Send(e); err != nil {
				return err
			}
		case <-stream.Context().Done():
			return context.Cause(stream.Context())
		}
	}
}

func (p *policy) say(m proto.Message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer = m
}

func said[M proto.Message](p *policy, req proto.Message) (M, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = req
	m, _ := p.answer.(M)
	return m, nil
}

func (p *policy) BeginSession(_ context.Context, r *policyv1.BeginSessionRequest) (*policyv1.BeginSessionResponse, error) {
	return said[*policyv1.BeginSessionResponse](p, r)
}

func (p *policy) EndSession(_ context.Context, r *policyv1.EndSessionRequest) (*policyv1.EndSessionResponse, error) {
	return said[*policyv1.EndSessionResponse](p, r)
}

func (p *policy) Acquire(_ context.Context, r *policyv1.AcquireRequest) (*policyv1.AcquireResponse, error) {
	return said[*policyv1.AcquireResponse](p, r)
}

func (p *policy) ListLeases(_ context.Context, r *policyv1.ListLeasesRequest) (*policyv1.ListLeasesResponse, error) {
	return said[*policyv1.ListLeasesResponse](p, r)
}

func (p *policy) Revoke(_ context.Context, r *policyv1.RevokeRequest) (*policyv1.RevokeResponse, error) {
	return said[*policyv1.RevokeResponse](p, r)
}

func (p *policy) Permit(_ context.Context, r *policyv1.PermitRequest) (*policyv1.PermitResponse, error) {
	return said[*policyv1.PermitResponse](p, r)
}

func (p *policy) Decide(_ context.Context, r *policyv1.DecideRequest) (*policyv1.DecideResponse, error) {
	return said[*policyv1.DecideResponse](p, r)
}

func (p *policy) Foresee(_ context.Context, r *policyv1.ForeseeRequest) (*policyv1.ForeseeResponse, error) {
	return said[*policyv1.ForeseeResponse](p, r)
}

func (p *policy) Settle(_ context.Context, r *policyv1.SettleRequest) (*policyv1.SettleResponse, error) {
	return said[*policyv1.SettleResponse](p, r)
}

func (p *policy) Append(_ context.Context, r *policyv1.AppendRequest) (*policyv1.AppendResponse, error) {
	return said[*policyv1.AppendResponse](p, r)
}

func newPolicy() *policy {
	return &policy{
		events: make(chan *policyv1.WatchLeaseChangesResponse),
		hello: &policyv1.WatchLeaseChangesResponse{
			Fence: fence(),
			Event: &policyv1.WatchLeaseChangesResponse_Handshake{Handshake: &policyv1.PolicyHandshake{
				Version: "test", BundleSha256: []byte{1},
			}},
		},
	}
}

func fence() *commonv1.Fence { return &commonv1.Fence{Host: 7, Policy: 42} }

// told is what the callbacks heard.
type told struct {
	Session ident.SessionID
	Granted *commonv1.Lease
	Ended   ident.LeaseID
	Cause   policyv1.LeaseEndCause
}

// open serves the policy on one end of a link and opens the other.
func open(t *testing.T, p *policy) (*Link, <-chan told, error) {
	t.Helper()
	near, far, err := peersock.Pair()
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := peersock.Conn(near)
	if err != nil {
		t.Fatal(err)
	}
	ours, err := peersock.Conn(far)
	if err != nil {
		t.Fatal(err)
	}
	server, err := rpc.NewServer(rpc.ServerConfig{
		Role: "policy", Log: telemetry.Discard(), Traces: noop.NewTracerProvider(),
		Credentials: peersock.Credentials{Inherited: true}, RequestMax: rpc.RequestMax, CallMax: rpc.CallMax,
	})
	if err != nil {
		t.Fatal(err)
	}
	policyv1.RegisterDecisionServiceServer(server, p)
	served := make(chan error, 1)
	go func() { served <- server.Serve(peersock.One(theirs)) }()
	heard := make(chan told, 16)
	l, err := Open(t.Context(), Config{
		Conn: ours, Traces: noop.NewTracerProvider(), Host: 7,
		LeaseGranted: func(s ident.SessionID, lease *commonv1.Lease) { heard <- told{Session: s, Granted: lease} },
		LeaseEnded: func(s ident.SessionID, lease ident.LeaseID, why policyv1.LeaseEndCause) {
			heard <- told{Session: s, Ended: lease, Cause: why}
		},
	})
	t.Cleanup(func() {
		if l != nil {
			_ = l.Close()
			<-l.Done()
		}
		server.Stop()
		<-served
	})
	return l, heard, err
}

func mustOpen(t *testing.T, p *policy) (*Link, <-chan told) {
	t.Helper()
	l, heard, err := open(t, p)
	if err != nil {
		t.Fatal(err)
	}
	return l, heard
}

// strange adds a field that the schema does not have.
func strange[M proto.Message](m M) M {
	b := protowire.AppendTag(nil, 4000, protowire.VarintType)
	m.ProtoReflect().SetUnknown(protowire.AppendVarint(b, 1))
	return m
}

func granted(l *commonv1.Lease) *policyv1.WatchLeaseChangesResponse {
	return &policyv1.WatchLeaseChangesResponse{Fence: fence(), Event: &policyv1.WatchLeaseChangesResponse_LeaseGranted{
		LeaseGranted: &policyv1.LeaseGranted{SessionId: "s", Lease: l},
	}}
}

func ended(session, lease string, why policyv1.LeaseEndCause) *policyv1.WatchLeaseChangesResponse {
	return &policyv1.WatchLeaseChangesResponse{Fence: fence(), Event: &policyv1.WatchLeaseChangesResponse_LeaseEnded{
		LeaseEnded: &policyv1.LeaseEnded{SessionId: session, LeaseId: lease, Cause: why},
	}}
}

func lease() *commonv1.Lease { return &commonv1.Lease{LeaseId: "l-1", Class: semantic, ExpiresInMs: 9} }

func TestChangesOfLeasesAreToldInTheirOrder(t *testing.T) {
	p := newPolicy()
	l, heard := mustOpen(t, p)
	if l.Version != "test" || len(l.Bundle) != 1 || l.Generation() != 42 || l.Degraded() {
		t.Errorf("link to %q, generation %d", l.Version, l.Generation())
	}
	p.events <- granted(lease())
	p.events <- ended("s", "l-1", policyv1.LeaseEndCause_LEASE_END_CAUSE_EXPIRED)
	p.events <- ended("t", "l-2", policyv1.LeaseEndCause_LEASE_END_CAUSE_SESSION_ENDED)
	for _, want := range []told{
		{Session: "s", Granted: lease()},
		{Session: "s", Ended: "l-1", Cause: policyv1.LeaseEndCause_LEASE_END_CAUSE_EXPIRED},
		{Session: "t", Ended: "l-2", Cause: policyv1.LeaseEndCause_LEASE_END_CAUSE_SESSION_ENDED},
	} {
		got := <-heard
		if got.Session != want.Session || got.Ended != want.Ended || got.Cause != want.Cause ||
			!proto.Equal(got.Granted, want.Granted) {
			t.Errorf("told %+v, want %+v", got, want)
		}
	}
}

// An event that cannot be read may have taken authority away, so what was believed until
// then is not believed any longer (C9.6, C10.2).
func TestEventThatCannotBeReadEndsTheLink(t *testing.T) {
	expired := policyv1.LeaseEndCause_LEASE_END_CAUSE_EXPIRED
	classless, nameless, foreignLease := lease(), lease(), strange(lease())
	classless.Class, nameless.LeaseId = 0, ""
	classOfNobody := lease()
	classOfNobody.Class = stranger
	for name, event := range map[string]*policyv1.WatchLeaseChangesResponse{
		"nothing":                                     {Fence: fence()},
		"a kind of event that is new":                 strange(&policyv1.WatchLeaseChangesResponse{Fence: fence()}),
		"a second handshake":                          newPolicy().hello,
		"a field that is new":                         strange(ended("s", "l-1", expired)),
		"a field of the fence":                        {Fence: strange(fence()), Event: ended("s", "l-1", expired).GetEvent()},
		"a cause that is new":                         ended("s", "l-1", stranger),
		"no cause":                                    ended("s", "l-1", 0),
		"the end of no lease":                         ended("s", "", expired),
		"the end of a lease of nobody":                ended("", "l-1", expired),
		"a grant of nothing":                          granted(nil),
		"a grant without a name":                      granted(nameless),
		"a grant without a class":                     granted(classless),
		"a grant of a class that is new":              granted(classOfNobody),
		"a grant with a field of its own that is new": granted(foreignLease),
	} {
		t.Run(name, func(t *testing.T) {
			p := newPolicy()
			l, heard := mustOpen(t, p)
			p.events <- event
			<-l.Done()
			if !l.Degraded() || len(heard) != 0 {
				t.Errorf("degraded %v, %d told", l.Degraded(), len(heard))
			}
			if err := l.Append(t.Context(), &policyv1.SessionFact{}); refusal.As(err).Code != refusal.ServiceUnavailable {
				t.Errorf("Append on a link that ended = %v", err)
			}
		})
	}
}

func TestHandshakeThatCannotBeReadOpensNoLink(t *testing.T) {
	for name, change := range map[string]func(*policy){
		"no handshake":           func(p *policy) { p.hello = granted(lease()) },
		"no generation":          func(p *policy) { p.hello.Fence = nil },
		"a field that is new":    func(p *policy) { strange(p.hello) },
		"a field of it is new":   func(p *policy) { strange(p.hello.GetHandshake()) },
		"a field of the fence":   func(p *policy) { strange(p.hello.GetFence()) },
		"a kind of event is new": func(p *policy) { p.hello = strange(&policyv1.WatchLeaseChangesResponse{Fence: fence()}) },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPolicy()
			change(p)
			if l, _, err := open(t, p); err == nil || l != nil {
				t.Errorf("Open = %v, %v", l, err)
			}
		})
	}
}

func TestLinkNeedsSomebodyToTell(t *testing.T) {
	near, far, err := peersock.Pair()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = near.Close() }()
	conn, err := peersock.Conn(far)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), Config{Conn: conn, Traces: noop.NewTracerProvider(), Host: 7}); err == nil {
		t.Error("Open without callbacks")
	}
	if err := conn.Close(); err == nil {
		t.Error("the connection was left open")
	}
}
