package rpc

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace/noop"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	"fairlead.dev/services/shared/peersock"
	"fairlead.dev/services/shared/telemetry"
)

const canary = "CANARY-91c2"

// stub answers Stop as the test wants.
type stub struct {
	hostv1.UnimplementedControlServiceServer
	stop func(context.Context) error
}

func (s stub) Stop(ctx context.Context, _ *hostv1.StopRequest) (*hostv1.StopResponse, error) {
	return &hostv1.StopResponse{}, s.stop(ctx)
}

func start(t *testing.T, stop func(context.Context) error, logs *bytes.Buffer) *grpc.ClientConn {
	t.Helper()
	a, b, err := peersock.Pair()
	if err != nil {
		t.Fatal(err)
	}
	server, err := peersock.Conn(a)
	if err != nil {
		t.Fatal(err)
	}
	client, err := peersock.Conn(b)
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewServer(ServerConfig{
		Role: "test", Log: telemetry.NewLogger(logs, "test"), Traces: noop.NewTracerProvider(),
		RequestMax: RequestMax, CallMax: 200 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	hostv1.RegisterControlServiceServer(s, stub{stop: stop})
	hostv1.RegisterReleaseServiceServer(s, streamStub{begin: stop})
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Serve(peersock.One(server)) }()
	cc, err := Dial(client, noop.NewTracerProvider())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cc.Close(); s.Stop(); <-done })
	return cc
}

func TestErrorsTellNothingOfTheOutside(t *testing.T) {
	for _, tc := range []struct {
		name string
		stop func(context.Context) error
		want codes.Code
	}{
		{"a panic", func(context.Context) error { panic(canary) }, codes.Internal},
		{"a plain error", func(context.Context) error { return errors.New(canary) }, codes.Internal},
		{"a call that takes too long", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, codes.DeadlineExceeded},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var logs bytes.Buffer
			c := hostv1.NewControlServiceClient(start(t, tc.stop, &logs))
			_, err := c.Stop(t.Context(), &hostv1.StopRequest{SessionId: "s-1"})
			if status.Code(err) != tc.want || strings.Contains(err.Error(), canary) || strings.Contains(logs.String(), canary) {
				t.Errorf("error %v\nlogs %s", err, logs.String())
			}
		})
	}
}

func TestRequestsAreChecked(t *testing.T) {
	var logs bytes.Buffer
	c := hostv1.NewControlServiceClient(start(t, func(context.Context) error { return nil }, &logs))
	unknown := &hostv1.StopRequest{SessionId: "s-1", Fence: &commonv1.Fence{}}
	unknown.Fence.ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 77, protowire.VarintType), 1))
	for name, req := range map[string]*hostv1.StopRequest{
		"missing field": {}, "too long": {SessionId: strings.Repeat("x", 65)}, "unknown field inside a field": unknown,
	} {
		if _, err := c.Stop(t.Context(), req); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := c.Stop(t.Context(), &hostv1.StopRequest{SessionId: "s-1"}); err != nil {
		t.Errorf("a good request: %v", err)
	}
}

func TestHealthIsServed(t *testing.T) {
	var logs bytes.Buffer
	r, err := healthv1.NewHealthClient(start(t, nil, &logs)).Check(t.Context(), &healthv1.HealthCheckRequest{})
	if err != nil || r.GetStatus() != healthv1.HealthCheckResponse_SERVING {
		t.Errorf("%v, %v", r, err)
	}
}

func TestWhatWasNotWrittenIsProven(t *testing.T) {
	var logs bytes.Buffer
	cc := start(t, func(context.Context) error { return nil }, &logs)
	c := hostv1.NewControlServiceClient(cc)
	ctx, w := Track(t.Context())
	if _, err := c.Stop(ctx, &hostv1.StopRequest{SessionId: "s-1"}); err != nil || !w.MaybeSent() {
		t.Errorf("a sent call: %v, sent %v", err, w.MaybeSent())
	}
	_ = cc.Close()
	ctx, w = Track(t.Context())
	if _, err := c.Stop(ctx, &hostv1.StopRequest{SessionId: "s-1"}); err == nil || w.MaybeSent() {
		t.Errorf("a call on a closed link: %v, sent %v", err, w.MaybeSent())
	}
}
