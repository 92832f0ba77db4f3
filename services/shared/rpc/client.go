package rpc

import (
	"context"
	"net"
	"sync/atomic"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/stats"

	"fairlead.dev/services/shared/peersock"
	"fairlead.dev/services/shared/telemetry"
)

// Dial makes a client over one connection of ours. It never connects again by
// itself: a new connection is a new incarnation, and the caller must know (C1.1).
func Dial(conn net.Conn, traces trace.TracerProvider) (*grpc.ClientConn, error) {
	var used atomic.Bool
	dial := func(context.Context, string) (net.Conn, error) {
		if used.Swap(true) {
			return nil, net.ErrClosed
		}
		return conn, nil
	}
	cc, err := newClient(traces, "passthrough:///link", grpc.WithContextDialer(dial),
		grpc.WithTransportCredentials(peersock.Credentials{Inherited: true}),
		// A link that went idle could not be connected again.
		grpc.WithIdleTimeout(0))
	if err != nil {
		return nil, err
	}
	// The server waits for our first bytes; do not let it wait for our first call.
	cc.Connect()
	return cc, nil
}

// DialSocket makes a client of a listening socket, for agents and user-side tools.
func DialSocket(path string, traces trace.TracerProvider) (*grpc.ClientConn, error) {
	dial := func(ctx context.Context, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}
	return newClient(traces, "passthrough:///fairlead", grpc.WithContextDialer(dial),
		grpc.WithTransportCredentials(peersock.Credentials{}))
}

func newClient(traces trace.TracerProvider, target string, own ...grpc.DialOption) (*grpc.ClientConn, error) {
	if recording(traces) {
		own = append(own, grpc.WithStatsHandler(otelgrpc.NewClientHandler(
			otelgrpc.WithTracerProvider(traces), otelgrpc.WithPropagators(telemetry.Propagator()))))
	}
	return grpc.NewClient(target, append(own,
		grpc.WithDisableRetry(),
		grpc.WithDisableServiceConfig(),
		grpc.WithNoProxy(),
		grpc.WithReadBufferSize(bufferSize),
		grpc.WithWriteBufferSize(bufferSize),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(MessageMax), grpc.MaxCallSendMsgSize(MessageMax)),
		grpc.WithStatsHandler(evidence{}),
	)...)
}

// Written is the evidence whether a request may have left this process. grpc reports
// the outgoing payload exactly when it was written; without that report nothing was
// sent, and the call may be told as SERVICE_UNAVAILABLE instead of OUTCOME_UNKNOWN (C9.3).
type Written struct{ payload atomic.Bool }

// MaybeSent reports whether the request may have been delivered.
func (w *Written) MaybeSent() bool { return w.payload.Load() }

type writtenKey struct{}

// Track returns a context under which one call collects its evidence.
func Track(ctx context.Context) (context.Context, *Written) {
	w := &Written{}
	return context.WithValue(ctx, writtenKey{}, w), w
}

type evidence struct{}

func (evidence) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

func (evidence) HandleRPC(ctx context.Context, s stats.RPCStats) {
	if _, ok := s.(*stats.OutPayload); !ok {
		return
	}
	if w, ok := ctx.Value(writtenKey{}).(*Written); ok {
		w.payload.Store(true)
	}
}

func (evidence) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (evidence) HandleConn(context.Context, stats.ConnStats)                       {}
