// Package rpc builds every gRPC server and client connection of fairlead, with one
// interceptor chain in one order: stats (traces), boundary (panics, one log line per
// call), budget (a deadline for every call), peer (kernel identity), validation
// (closed schema, limits). A malformed request never ends a process (C9.6), and no
// error text carries anything a caller or an application said.
package rpc

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"buf.build/go/protovalidate"
	pvmw "github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/protovalidate"
	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/recovery"
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"

	"fairlead.dev/services/shared/peersock"
	"fairlead.dev/services/shared/telemetry"
)

// Limits of messages and calls (protocol.md, Limits).
const (
	// RequestMax is the largest request an agent or user may send.
	RequestMax = 256 << 10
	// MessageMax is the largest answer, and the largest message on a link.
	MessageMax = 16 << 20
	// CallMax is the longest a unary call may take.
	CallMax = 20 * time.Second
	// linkHandshakeMax is how long the other end of a link may take to connect (C9.1).
	linkHandshakeMax = 10 * time.Second
	// socketHandshakeMax is how long whoever connects to a socket may take to speak
	// HTTP/2. A server does not stop before its handshakes are over, so it is shorter
	// than the shutdown grace: a caller that says nothing must not hold a process.
	socketHandshakeMax = 2 * time.Second
	// idleMax is how long a connection to a socket may carry no call; clients connect
	// again by themselves. Links never go idle.
	idleMax = 5 * time.Minute
	// bufferSize of a connection; measured to matter for large answers.
	bufferSize = 256 << 10
	// streamsMax bounds the calls in flight of one connection.
	streamsMax = 1024
)

// ServerConfig is what a server needs.
type ServerConfig struct {
	// Role of the process, for its log lines.
	Role string
	// Log takes one line per call.
	Log *slog.Logger
	// Traces is where spans go; required, a no-op provider turns them off.
	Traces trace.TracerProvider
	// Credentials identify the peers.
	Credentials peersock.Credentials
	// RequestMax is the largest request in bytes.
	RequestMax int
	// CallMax is the longest a unary call may take.
	CallMax time.Duration
	// Longer names methods that may take longer than CallMax, and how long.
	Longer map[string]time.Duration
}

// rules are the schema's own, compiled once for all servers of the process.
var rules = sync.OnceValues(func() (protovalidate.Validator, error) { return protovalidate.New() })

// NewServer builds a server with the fixed chain, health and reflection. Services
// are registered on it before it serves.
func NewServer(cfg ServerConfig) (*grpc.Server, error) {
	v, err := rules()
	if err != nil {
		return nil, fmt.Errorf("compiling request rules: %w", err)
	}
	handshakeMax, idle := socketHandshakeMax, idleMax
	if cfg.Credentials.Inherited {
		handshakeMax, idle = linkHandshakeMax, 0 // zero means never
	}
	b := boundary{log: cfg.Log}
	recovered := recovery.WithRecoveryHandlerContext(b.recovered)
	opts := []grpc.ServerOption{
		grpc.Creds(cfg.Credentials),
		grpc.MaxRecvMsgSize(cfg.RequestMax),
		grpc.MaxSendMsgSize(MessageMax),
		grpc.MaxConcurrentStreams(streamsMax),
		grpc.ConnectionTimeout(handshakeMax),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: idle}),
		grpc.ReadBufferSize(bufferSize),
		grpc.WriteBufferSize(bufferSize),
		grpc.ChainUnaryInterceptor(
			b.unary,
			recovery.UnaryServerInterceptor(recovered),
			budget{max: cfg.CallMax, longer: cfg.Longer}.unary,
			identifiedUnary,
			closedUnary,
			pvmw.UnaryServerInterceptor(v),
		),
		grpc.ChainStreamInterceptor(
			b.stream,
			recovery.StreamServerInterceptor(recovered),
			identifiedStream,
			closedStreamed,
			pvmw.StreamServerInterceptor(v),
		),
	}
	if recording(cfg.Traces) {
		opts = append(opts, grpc.StatsHandler(otelgrpc.NewServerHandler(
			otelgrpc.WithTracerProvider(cfg.Traces), otelgrpc.WithPropagators(telemetry.Propagator()))))
	}
	s := grpc.NewServer(opts...)
	hs := health.NewServer()
	hs.SetServingStatus("", healthv1.HealthCheckResponse_SERVING)
	healthv1.RegisterHealthServer(s, hs)
	reflection.Register(s)
	return s, nil
}

// recording reports whether spans go anywhere. Where they do not, the handlers that
// would make them are left out: they cost a third of a small call.
func recording(traces trace.TracerProvider) bool {
	_, off := traces.(noop.TracerProvider)
	return !off
}

// boundary is the outermost interceptor: one log line per call, no text of outside
// in any error.
type boundary struct{ log *slog.Logger }

func (b boundary) unary(
	ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler,
) (any, error) {
	start := time.Now()
	resp, err := next(ctx, req)
	err = outward(err)
	b.line(ctx, info.FullMethod, start, err)
	return resp, err
}

func (b boundary) stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	start := time.Now()
	err := outward(next(srv, ss))
	b.line(ss.Context(), info.FullMethod, start, err)
	return err
}

func (b boundary) line(ctx context.Context, method string, start time.Time, err error) {
	level := slog.LevelDebug
	if err != nil {
		level = slog.LevelWarn
	}
	if !b.log.Enabled(ctx, level) {
		return
	}
	b.log.LogAttrs(ctx, level, "call", telemetry.Method(method), telemetry.Status(status.Code(err).String()),
		telemetry.Took(time.Since(start)))
}

func (b boundary) recovered(ctx context.Context, _ any) error {
	// The panic value may hold anything, so it goes nowhere.
	b.log.LogAttrs(ctx, slog.LevelError, "a handler panicked", telemetry.Kind("panic"))
	return status.Error(codes.Internal, "internal error")
}

// outward lets statuses pass and turns every other error into a constant.
func outward(err error) error {
	if err == nil {
		return nil
	}
	if s, ok := status.FromError(err); ok && s.Code() != codes.Unknown {
		return err
	}
	if s := status.FromContextError(err); s.Code() != codes.Unknown {
		return status.Error(s.Code(), "the call was given up")
	}
	return status.Error(codes.Internal, "internal error")
}

// budget gives every unary call a deadline.
type budget struct {
	max    time.Duration
	longer map[string]time.Duration
}

func (b budget) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, max(b.max, b.longer[info.FullMethod]))
	defer cancel()
	return next(ctx, req)
}

func identifiedUnary(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if _, err := peersock.FromContext(ctx); err != nil {
		return nil, status.Error(codes.Unauthenticated, "the caller cannot be identified")
	}
	return next(ctx, req)
}

func identifiedStream(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	if _, err := peersock.FromContext(ss.Context()); err != nil {
		return status.Error(codes.Unauthenticated, "the caller cannot be identified")
	}
	return next(srv, ss)
}
