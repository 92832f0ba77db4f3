// Package sessionhost is the session host: it serves Observe, Act, Lease and Release
// to agents, and Stop to the user. It binds every act to the observation that
// grounded it and passes it to policy and executor; it has no way to the desktop of
// its own and can sign nothing. Read act.go first.
//
// Goroutines: one per session owns that session's state and never calls out; one
// worker per running call tells that call's story; one per link watches it. Serve
// returns only when all of them have ended.
package sessionhost

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	policyv1 "fairlead.dev/gen/fairlead/policy/v1"
	"fairlead.dev/services/sessionhost/internal/executorlink"
	"fairlead.dev/services/sessionhost/internal/feed"
	"fairlead.dev/services/sessionhost/internal/lane"
	"fairlead.dev/services/sessionhost/internal/policylink"
	"fairlead.dev/services/sessionhost/internal/release"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/peersock"
	"fairlead.dev/services/shared/refusal"
	"fairlead.dev/services/shared/rpc"
)

// Bounds of a host (protocol.md, Limits).
const (
	sessionsMax = 256
	// sessionsPerUID leaves some for other accounts, however many one of them opens.
	sessionsPerUID = 224
	// agentConnections is far below what the process may open, so that agents cannot use
	// up what the user's Stop needs (C12.1).
	agentConnections = 256
	queueHost        = 1024
	queueReserve     = 64 // of queueHost, kept for control and status
	outboxMax        = 256
	settleTimeout    = 2 * time.Second
	shutdownMax      = 3 * time.Second
	generationFile   = "host.generation"
)

// watching bounds the subscribers of one kind of event: of all sessions, of one, and how
// far one may fall behind (protocol.md, Limits).
var watching = feed.Config{Subscribers: 32, PerOwner: 2, Queued: 256}

// Config is what a host needs. Every field but Debug and AgentUIDs is required.
type Config struct {
	// Generation of this start (C1.1); NextGeneration makes it.
	Generation ident.Generation
	// Self is what the launcher said about this process.
	Self *commonv1.ProcessStatus
	// Agent and User are the listeners of the two audiences.
	Agent, User net.Listener
	// Debug is the listener of debug mode, nil otherwise.
	Debug net.Listener
	// Links is the socket over which the launcher passes links.
	Links *net.UnixConn
	// AgentUIDs may connect to Agent besides our own.
	AgentUIDs []uint32
	Log       *slog.Logger
	Traces    trace.TracerProvider
}

// Host is a session host.
type Host struct {
	hostv1.UnimplementedLeaseServiceServer
	hostv1.UnimplementedObserveServiceServer
	hostv1.UnimplementedActServiceServer
	hostv1.UnimplementedReleaseServiceServer
	hostv1.UnimplementedControlServiceServer
	hostv1.UnimplementedStatusServiceServer

	cfg      Config
	lanes    *lane.Lanes
	releases *feed.Feed[release.Event]
	leases   *feed.Feed[leaseEvent]
	books    *books
	outbox   chan *policyv1.SettleRequest
	arrivals atomic.Uint64 // arrival number of the latest call (C4.1)
	// stopAllMark is the highest arrival number that a stop of everything covers (C4.3).
	stopAllMark atomic.Uint64
	// locked is what the executor last said about the screen.
	locked  atomic.Bool
	waiting atomic.Int64
	work    sync.WaitGroup // goroutines that are not in the errgroup

	mu         sync.Mutex
	sessions   map[ident.SessionID]*session
	executor   *executorlink.Link
	policy     *policylink.Link
	executorIs *commonv1.ProcessStatus
	policyIs   *commonv1.ProcessStatus
	executors  ident.Generation // incarnations accepted so far
	stopping   bool             // no new work
	stoppedAll bool             // the user stopped everything: no session may be opened
	conns      map[peersock.ConnID]bool
	stir       chan struct{} // closed when a window's content changes
	booksShut  bool          // the outbox is closed
}

// New returns a host. It serves nothing yet.
func New(cfg Config) (*Host, error) {
	if cfg.Agent == nil || cfg.User == nil || cfg.Links == nil || cfg.Log == nil || cfg.Traces == nil ||
		cfg.Generation == 0 || cfg.Self == nil {
		return nil, errors.New("sessionhost: incomplete configuration")
	}
	return &Host{
		cfg:      cfg,
		lanes:    lane.New(),
		releases: feed.New[release.Event](watching),
		leases:   feed.New[leaseEvent](watching),
		books:    newBooks(),
		conns:    map[peersock.ConnID]bool{},
		stir:     make(chan struct{}),
		outbox:   make(chan *policyv1.SettleRequest, outboxMax),
		sessions: map[ident.SessionID]*session{},
	}, nil
}

// NextGeneration returns max(stored + 1, Unix milliseconds) and stores it, so that a
// clock set back cannot bring an old generation back (C1.1).
func NextGeneration(stateDir string, now time.Time) (ident.Generation, error) {
	path := stateDir + "/" + generationFile
	var stored uint64
	if b, err := os.ReadFile(path); err == nil {
		if _, err := fmt.Sscanf(string(b), "%d", &stored); err != nil {
			return 0, fmt.Errorf("reading the stored generation: %w", err)
		}
	} else if !errors.Is(err, os.ErrNotExist) {
		return 0, fmt.Errorf("reading the stored generation: %w", err)
	}
	next := max(stored+1, uint64(now.UnixMilli()))
	tmp := path + ".new"
	if err := os.WriteFile(tmp, fmt.Appendf(nil, "%d\n", next), 0o600); err != nil {
		return 0, fmt.Errorf("storing the generation: %w", err)
	}
	if err := os.Rename(tmp, path); err != nil {
		return 0, fmt.Errorf("storing the generation: %w", err)
	}
	return ident.Generation(next), nil
}

// Serve serves until ctx ends, then stops in order: no new work, let go of everything
// held, settle the outbox, close the sockets.
func (h *Host) Serve(ctx context.Context) error {
	agent, err := h.server(rpc.RequestMax, peersock.Credentials{
		Allowed: h.cfg.AgentUIDs, Came: h.connected, Gone: h.gone,
	})
	if err != nil {
		return err
	}
	user, err := h.server(rpc.RequestMax, peersock.Credentials{})
	if err != nil {
		return err
	}
	debug, err := h.server(rpc.RequestMax, peersock.Credentials{})
	if err != nil {
		return err
	}
	h.registerAgent(agent)
	hostv1.RegisterControlServiceServer(user, h)
	hostv1.RegisterStatusServiceServer(user, h)
	hostv1.RegisterStatusServiceServer(debug, h)

	g, ctx := errgroup.WithContext(ctx)
	lifetime, cancel := context.WithCancel(context.WithoutCancel(ctx))
	g.Go(func() error { return serve(agent, peersock.Limit(h.cfg.Agent, agentConnections)) })
	g.Go(func() error { return serve(user, h.cfg.User) })
	if h.cfg.Debug != nil {
		g.Go(func() error { return serve(debug, h.cfg.Debug) })
	}
	g.Go(func() error { return h.receiveLinks(lifetime) })
	settled := make(chan struct{})
	g.Go(func() error { defer close(settled); h.settleAll(); return nil })
	g.Go(func() error {
		<-ctx.Done()
		h.stop(settled, agent, user, debug)
		cancel()
		return h.cfg.Links.Close()
	})
	err = g.Wait()
	cancel()
	h.closeLinks()
	h.work.Wait()
	return err
}

func (h *Host) server(requestMax int, creds peersock.Credentials) (*grpc.Server, error) {
	return rpc.NewServer(rpc.ServerConfig{
		Role: "host", Log: h.cfg.Log, Traces: h.cfg.Traces, Credentials: creds,
		RequestMax: requestMax, CallMax: rpc.CallMax,
		Longer: map[string]time.Duration{hostv1.ObserveService_WaitFor_FullMethodName: waitMax + rpc.CallMax},
	})
}

func (h *Host) registerAgent(s *grpc.Server) {
	hostv1.RegisterLeaseServiceServer(s, h)
	hostv1.RegisterObserveServiceServer(s, h)
	hostv1.RegisterActServiceServer(s, h)
	hostv1.RegisterReleaseServiceServer(s, h)
	hostv1.RegisterStatusServiceServer(s, h)
}

func serve(s *grpc.Server, l net.Listener) error {
	if err := s.Serve(l); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("serving: %w", err)
	}
	return nil
}

// stop is the ordered end.
func (h *Host) stop(settled <-chan struct{}, servers ...*grpc.Server) {
	h.mu.Lock()
	h.stopping = true
	all := make([]*session, 0, len(h.sessions))
	for _, s := range h.sessions {
		all = append(all, s)
	}
	h.mu.Unlock()
	for _, s := range all {
		h.endSession(s, hostv1.ReleaseReason_RELEASE_REASON_DISPOSED, hostv1.EndCause_END_CAUSE_UNSPECIFIED)
	}
	h.releases.End()
	h.leases.End()
	h.books.events.End()
	graceful := make(chan struct{})
	go func() {
		for _, s := range servers {
			s.GracefulStop()
		}
		close(graceful)
	}()
	timer := time.NewTimer(shutdownMax)
	defer timer.Stop()
	select {
	case <-graceful:
	case <-timer.C:
		for _, s := range servers {
			s.Stop()
		}
		<-graceful
	}
	h.mu.Lock()
	h.booksShut = true
	close(h.outbox)
	h.mu.Unlock()
	<-settled
}

// settleAll closes intents off the path of acts. Settling is bookkeeping that must
// not be lost while policy lives; a policy that is gone reports the intent as open.
func (h *Host) settleAll() {
	for req := range h.outbox {
		h.mu.Lock()
		p := h.policy
		h.mu.Unlock()
		if p == nil {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), settleTimeout)
		if err := p.Settle(ctx, req); err != nil {
			h.cfg.Log.Warn("an intent could not be settled")
		}
		cancel()
	}
}

// fence is the host's part of a fence; the session's part is added by the session.
func (h *Host) fence(session ident.Generation) *commonv1.Fence {
	h.mu.Lock()
	defer h.mu.Unlock()
	f := &commonv1.Fence{Host: uint64(h.cfg.Generation), Session: uint64(session)}
	if h.executor != nil {
		f.Executor = uint64(h.executor.Generation)
	}
	if h.policy != nil {
		f.Policy = uint64(h.policy.Generation())
	}
	return f
}

// links returns both links, or why nothing can be done now.
func (h *Host) links() (*policylink.Link, *executorlink.Link, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.policy == nil || h.executor == nil || h.stopping {
		return nil, nil, refusal.New(refusal.ServiceUnavailable)
	}
	return h.policy, h.executor, nil
}

func (h *Host) find(id ident.SessionID) *session {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sessions[id]
}

// each calls f for every session, without the lock.
func (h *Host) each(f func(*session)) {
	h.mu.Lock()
	all := make([]*session, 0, len(h.sessions))
	for _, s := range h.sessions {
		all = append(all, s)
	}
	h.mu.Unlock()
	for _, s := range all {
		f(s)
	}
}

// background runs f on a goroutine that Serve waits for.
func (h *Host) background(f func()) {
	h.work.Add(1)
	go func() { defer h.work.Done(); f() }()
}
