package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/trace/noop"
	"google.golang.org/grpc"

	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	"fairlead.dev/services/shared/peersock"
	"fairlead.dev/services/shared/rpc"
	"fairlead.dev/services/shared/telemetry"
)

// fakeHost is the user's socket of a host that keeps which sessions are held, and which
// calls changed that.
type fakeHost struct {
	hostv1.UnimplementedControlServiceServer
	hostv1.UnimplementedStatusServiceServer
	dir string
	// blind says that nobody is told what is held.
	blind bool
	// flying says that every order comes upon an act in flight.
	flying bool
	events []*hostv1.TimelineEvent
	gone   uint64
	// watched is what a subscriber is sent; the stream ends with watchEnd.
	watched  []*hostv1.WatchSessionsResponse
	watchEnd error
	// watchOn, where it is set, keeps the stream open until it is closed.
	watchOn chan struct{}
	end     func()

	mu         sync.Mutex
	held       map[string][]hostv1.Hold
	stoppedAll bool
	said       []string
}

// serveFake serves the fake with the chain every host has, until the test ends.
func serveFake(t *testing.T, h *fakeHost, open ...string) *fakeHost {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "fl") // not t.TempDir: socket paths are short on some platforms
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	h.dir, h.held = dir, map[string][]hostv1.Hold{}
	for _, s := range open {
		h.held[s] = nil
	}
	l, err := peersock.Listen(filepath.Join(dir, "user"), "host.sock")
	if err != nil {
		t.Fatal(err)
	}
	s, err := rpc.NewServer(rpc.ServerConfig{
		Role: "host", Log: telemetry.Discard(), Traces: noop.NewTracerProvider(),
		RequestMax: rpc.RequestMax, CallMax: rpc.CallMax,
	})
	if err != nil {
		t.Fatal(err)
	}
	hostv1.RegisterControlServiceServer(s, h)
	hostv1.RegisterStatusServiceServer(s, h)
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Serve(l) }()
	h.end = sync.OnceFunc(func() { s.Stop(); <-done })
	t.Cleanup(h.end)
	return h
}

// run runs the command against the fake.
func (h *fakeHost) run(args ...string) (code int, out, errs string) {
	var o, e bytes.Buffer
	code = run(append(args, "--runtime-dir", h.dir), &o, &e)
	return code, o.String(), e.String()
}

// order is a word to one session.
func (h *fakeHost) order(word, session string) (known bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, known = h.held[session]; known {
		hold := hostv1.Hold_HOLD_PAUSED
		if word == "stop" {
			hold = hostv1.Hold_HOLD_STOPPED
		}
		h.held[session] = append(h.held[session], hold)
		h.said = append(h.said, word+" "+session)
	}
	return known
}

func (h *fakeHost) Stop(_ context.Context, r *hostv1.StopRequest) (*hostv1.StopResponse, error) {
	return &hostv1.StopResponse{Known: h.order("stop", r.GetSessionId()), ActInFlight: h.flying}, nil
}

func (h *fakeHost) Pause(_ context.Context, r *hostv1.PauseRequest) (*hostv1.PauseResponse, error) {
	return &hostv1.PauseResponse{Known: h.order("pause", r.GetSessionId()), ActInFlight: h.flying}, nil
}

func (h *fakeHost) TakeOver(_ context.Context, r *hostv1.TakeOverRequest) (*hostv1.TakeOverResponse, error) {
	return &hostv1.TakeOverResponse{Known: h.order("takeover", r.GetSessionId()), ActInFlight: h.flying}, nil
}

func (h *fakeHost) StopAll(context.Context, *hostv1.StopAllRequest) (*hostv1.StopAllResponse, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := &hostv1.StopAllResponse{}
	for s, held := range h.held {
		if !slices.Contains(held, hostv1.Hold_HOLD_STOPPED) {
			r.Stopped++
		}
		h.held[s] = append(held, hostv1.Hold_HOLD_STOPPED)
	}
	h.stoppedAll = true
	if h.flying {
		r.ActsInFlight = uint32(len(h.held))
	}
	h.said = append(h.said, "stop all")
	return r, nil
}

func (h *fakeHost) Resume(_ context.Context, r *hostv1.ResumeRequest) (*hostv1.ResumeResponse, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	resp := &hostv1.ResumeResponse{}
	if r.GetSessionId() == "" {
		resp.Resumed, h.stoppedAll = h.stoppedAll, false
	}
	for s, held := range h.held {
		if len(held) > 0 && (r.GetSessionId() == "" || r.GetSessionId() == s) {
			resp.Resumed, h.held[s] = true, nil
		}
	}
	if resp.GetResumed() {
		h.said = append(h.said, "resume "+r.GetSessionId())
	}
	return resp, nil
}

func (h *fakeHost) ListSessions(context.Context, *hostv1.ListSessionsRequest) (*hostv1.ListSessionsResponse, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.blind {
		return nil, errBlind
	}
	r := &hostv1.ListSessionsResponse{}
	for s, held := range h.held {
		r.Sessions = append(r.Sessions, &hostv1.OpenSession{SessionId: s, Holds: held})
	}
	return r, nil
}

func (h *fakeHost) GetStatus(context.Context, *hostv1.GetStatusRequest) (*hostv1.GetStatusResponse, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.blind {
		return nil, errBlind
	}
	return &hostv1.GetStatusResponse{StoppedAll: h.stoppedAll}, nil
}

var errBlind = errors.New("nobody is told")

func (h *fakeHost) GetTimeline(
	_ context.Context, r *hostv1.GetTimelineRequest,
) (*hostv1.GetTimelineResponse, error) {
	resp := &hostv1.GetTimelineResponse{Forgotten: h.gone}
	for _, e := range h.events {
		if r.GetSessionId() == "" || r.GetSessionId() == e.GetSessionId() {
			resp.Events = append(resp.Events, e)
		}
	}
	return resp, nil
}

func (h *fakeHost) WatchSessions(
	_ *hostv1.WatchSessionsRequest, out grpc.ServerStreamingServer[hostv1.WatchSessionsResponse],
) error {
	if err := out.SendHeader(nil); err != nil {
		return err
	}
	for _, e := range h.watched {
		if err := out.Send(e); err != nil {
			return err
		}
	}
	if h.watchOn == nil {
		return h.watchEnd
	}
	select {
	case <-h.watchOn:
	case <-out.Context().Done():
	}
	return h.watchEnd
}

// heard returns what was said to sessions.
func (h *fakeHost) heard() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.said)
}
