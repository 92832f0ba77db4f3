package rpc

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
)

// streamStub begins streams as the test wants.
type streamStub struct {
	hostv1.UnimplementedReleaseServiceServer
	begin func(context.Context) error
}

func (s streamStub) WatchReleases(
	_ *hostv1.WatchReleasesRequest, w grpc.ServerStreamingServer[hostv1.WatchReleasesResponse],
) error {
	return s.begin(w.Context())
}

func unknownField() []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, 77, protowire.VarintType), 1)
}

// What opens a stream is checked like a call: it is as long, and as hostile (C0.11, C9.6).
func TestStreamsAreCheckedLikeCalls(t *testing.T) {
	ok := func(context.Context) error { return nil }
	good := &hostv1.WatchReleasesRequest{Session: &commonv1.SessionRef{SessionId: "s-1", SessionSecret: make([]byte, 16)}}
	unknown := &hostv1.WatchReleasesRequest{Session: good.GetSession(), Fence: &commonv1.Fence{}}
	unknown.Fence.ProtoReflect().SetUnknown(unknownField())
	for _, tc := range []struct {
		name  string
		req   *hostv1.WatchReleasesRequest
		begin func(context.Context) error
		want  codes.Code
	}{
		{"a good request", good, ok, codes.OK},
		{"a missing field", &hostv1.WatchReleasesRequest{}, ok, codes.InvalidArgument},
		{"an unknown field inside a field", unknown, ok, codes.InvalidArgument},
		{"a handler that panics", good, func(context.Context) error { panic(canary) }, codes.Internal},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var logs bytes.Buffer
			w, err := hostv1.NewReleaseServiceClient(start(t, tc.begin, &logs)).WatchReleases(t.Context(), tc.req)
			if err != nil {
				t.Fatal(err)
			}
			_, err = w.Recv()
			got := status.Code(err)
			if tc.want == codes.OK && errors.Is(err, io.EOF) {
				got = codes.OK
			}
			if got != tc.want || err != nil && strings.Contains(err.Error()+logs.String(), canary) {
				t.Errorf("got %v\nlogs %s", err, logs.String())
			}
		})
	}
}

func TestUnknownFieldsAreFoundWhereverTheyAre(t *testing.T) {
	deep := func() *commonv1.Fence {
		f := &commonv1.Fence{}
		f.ProtoReflect().SetUnknown(unknownField())
		return f
	}
	point := &commonv1.SurfacePoint{}
	point.ProtoReflect().SetUnknown(unknownField())
	points := &commonv1.BoundAct{Points: []*commonv1.SurfacePoint{{}, point, {}}}
	if !Unknown(deep()) || !Unknown(&hostv1.StopRequest{Fence: deep()}) || !Unknown(points) {
		t.Error("a field was overlooked")
	}
	if Unknown(&commonv1.BoundAct{Points: []*commonv1.SurfacePoint{{}}, Window: &commonv1.WindowIdentity{WindowId: 1}}) {
		t.Error("a field of the schema counts")
	}
}

// Credentials identify every peer; where they ever did not, nobody is let in (C1.5).
func TestCallerWithoutAnIdentityReachesNoHandler(t *testing.T) {
	reached := false
	_, err := identifiedUnary(t.Context(), nil, nil, func(context.Context, any) (any, error) {
		reached = true
		return nil, nil
	})
	streamed := identifiedStream(nil, bare{ctx: t.Context()}, nil, func(any, grpc.ServerStream) error {
		reached = true
		return nil
	})
	if status.Code(err) != codes.Unauthenticated || status.Code(streamed) != codes.Unauthenticated || reached {
		t.Errorf("got %v and %v, reached %v", err, streamed, reached)
	}
}

// bare is a stream that came from nowhere.
type bare struct {
	grpc.ServerStream
	ctx context.Context
}

func (b bare) Context() context.Context { return b.ctx }
