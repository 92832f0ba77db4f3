// Package executor is the executor service over a Platform: the only process that
// touches the desktop. It checks everything that it is asked to do against its own
// memory of what it showed, sends an act in one step with that check, and reads back
// what became of it.
//
// Contract. It acts only on a permit signed by policy, each claim of which it derives
// again from its own snapshot and the act in hand (C10.9). An act binds to an element,
// to points or to the window of one live snapshot (C6); snapshot and permit are spent at the moment before the
// send, so that nothing is sent twice (C0.5), and are given back only with proof that
// nothing was sent. What it says about an effect is what a readback shows (C7.2).
//
// Goroutines. Serve starts one server per link and one goroutine that waits for the
// end; each call runs on the goroutine its server gave it, and Attach has one more that
// reads the platform's changes. A dispatch outlives its caller but not Serve, which
// returns only when every one of them has ended. The leaf packages below internal are
// pure. One mutex guards all state, another the notes about the desk; neither is held
// while the platform is called.
//
// It must never act without a permit; pick another element, window or route than the
// ones bound; repeat an act; put a value, title, text or place into an error, log
// line or span; or serve its acting service to anyone but the host's own link.
package executor

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"net"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"

	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
	"fairlead.dev/services/executor/internal/digest"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/peersock"
	"fairlead.dev/services/shared/rpc"
)

const (
	// handshakeMax is how long the host may take to attach (C9.1).
	handshakeMax = 10 * time.Second
	// walkMax is the longest a walk of a tree may take.
	walkMax = 6 * time.Second
	// dispatchMax is the longest a dispatch may take, its observation included: less
	// than the host waits (20 s), so that it hears the outcome.
	dispatchMax = 19 * time.Second
	// hangUpMax is how long the last answers may take to be written.
	hangUpMax = 500 * time.Millisecond
	// haltMax is how long Halt waits for running dispatches (cancel grace).
	haltMax = 2 * time.Second
	// sessionsMax is how many sessions it keeps.
	sessionsMax = 256
)

// Config is what an executor needs.
type Config struct {
	// Platform is the desktop. Whoever made it closes it, after Serve has returned.
	Platform Platform
	// PolicyKey is the public half of policy's key.
	PolicyKey ed25519.PublicKey
	// Log takes one line per call and per change of state.
	Log *slog.Logger
	// Traces is where spans go.
	Traces trace.TracerProvider
	// Version of this build.
	Version string
	// Clock is the boot clock, permit.BootClock outside of tests.
	Clock func() time.Duration
	// Handshake is how long the host may take to attach; zero means 10 s.
	Handshake time.Duration
}

// Executor is one incarnation of the service.
type Executor struct {
	cfg         Config
	incarnation ident.Incarnation
	keys        *digest.Keys
	// seed keys what is remembered of pictures.
	seed  maphash.Seed
	watch *deskWatch

	mu    sync.Mutex
	state state
	// calls counts calls that Serve waits for.
	calls sync.WaitGroup
}

// state is everything that is forgotten with the incarnation.
type state struct {
	served, attached, halted, ended bool
	fence                           ident.Fence
	sessions                        map[ident.SessionID]*session
	running                         map[runningID]*running
	spent                           spentPermits
	// closed holds the apps that did not answer a send, until they are seen again (C7.7).
	closed map[string]bool
	// over is closed when the incarnation ends.
	over chan struct{}
}

// New returns an executor that has not served yet.
func New(cfg Config) (*Executor, error) {
	switch {
	case cfg.Platform == nil:
		return nil, errors.New("executor: no platform")
	case len(cfg.PolicyKey) != ed25519.PublicKeySize:
		return nil, errors.New("executor: no policy key")
	case cfg.Log == nil || cfg.Traces == nil || cfg.Clock == nil:
		return nil, errors.New("executor: log, traces and clock are required")
	}
	if cfg.Handshake <= 0 {
		cfg.Handshake = handshakeMax
	}
	return &Executor{
		cfg:         cfg,
		incarnation: ident.NewIncarnation(),
		keys:        digest.NewKeys(),
		seed:        maphash.MakeSeed(),
		watch:       newDeskWatch(),
		state: state{
			sessions: map[ident.SessionID]*session{},
			running:  map[runningID]*running{},
			spent:    newSpentPermits(),
			closed:   map[string]bool{},
			over:     make(chan struct{}),
		},
	}, nil
}

// Errors that Serve returns.
var (
	// ErrServed means that an incarnation serves once.
	ErrServed = errors.New("executor: this incarnation has served already")
	// ErrNotAttached means that the host did not attach in time.
	ErrNotAttached = errors.New("executor: the host did not attach in time")
)

// Serve serves the host's link, the launcher's link and, in debug mode, a listener. It
// returns when the context ends or the host's link does (C9.3), after it refused new
// work, cancelled and drained what ran, and closed its links.
func (e *Executor) Serve(ctx context.Context, host, launcher net.Conn, debug net.Listener) error {
	if host == nil {
		return errors.New("executor: no link to the host")
	}
	if err := e.start(); err != nil {
		return err
	}
	servers, err := e.servers(host, launcher, debug)
	if err != nil {
		return errors.Join(err, closeLinks(host, launcher, debug))
	}
	g, ctx := errgroup.WithContext(ctx)
	for _, s := range servers {
		g.Go(func() error {
			if err := s.server.Serve(s.listener); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
				return fmt.Errorf("serving a link: %w", err)
			}
			return nil
		})
	}
	g.Go(func() error {
		err := e.await(ctx)
		e.end()
		e.calls.Wait()
		return errors.Join(err, e.hangUp(servers, host, launcher, debug))
	})
	err = g.Wait()
	e.calls.Wait()
	e.forget()
	e.cfg.Log.LogAttrs(context.WithoutCancel(ctx), slog.LevelInfo, "the incarnation ended")
	return err
}

// hangUp closes the links. The host gets a moment to hear the outcomes of what was
// drained. A link that was never used is still in its handshake, which only closing
// the connection itself ends.
func (e *Executor) hangUp(servers []link, host, launcher net.Conn, debug net.Listener) error {
	e.mu.Lock()
	attached := e.state.attached
	e.mu.Unlock()
	if attached {
		over := time.AfterFunc(hangUpMax, servers[0].server.Stop)
		servers[0].server.GracefulStop()
		over.Stop()
	}
	err := closeLinks(host, launcher, debug)
	for _, s := range servers {
		s.server.Stop()
	}
	return err
}

type link struct {
	server   *grpc.Server
	listener net.Listener
}

func (e *Executor) servers(host, launcher net.Conn, debug net.Listener) ([]link, error) {
	inherited := peersock.Credentials{Inherited: true}
	hs, err := e.server(inherited)
	if err != nil {
		return nil, err
	}
	executorv1.RegisterExecutorServiceServer(hs, &hostLink{e: e})
	links := []link{{hs, peersock.One(host)}}
	if launcher != nil {
		ls, err := e.server(inherited)
		if err != nil {
			return nil, err
		}
		executorv1.RegisterHaltServiceServer(ls, &haltLink{e: e})
		links = append(links, link{ls, peersock.One(launcher)})
	}
	if debug != nil {
		ds, err := e.server(peersock.Credentials{})
		if err != nil {
			return nil, err
		}
		executorv1.RegisterDebugServiceServer(ds, &debugSocket{e: e})
		links = append(links, link{ds, debug})
	}
	return links, nil
}

func (e *Executor) server(creds peersock.Credentials) (*grpc.Server, error) {
	s, err := rpc.NewServer(rpc.ServerConfig{
		Role: "executor", Log: e.cfg.Log, Traces: e.cfg.Traces, Credentials: creds,
		RequestMax: rpc.MessageMax, CallMax: rpc.CallMax,
	})
	if err != nil {
		return nil, fmt.Errorf("building a server: %w", err)
	}
	return s, nil
}

func (e *Executor) start() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.state.served {
		return ErrServed
	}
	e.state.served = true
	return nil
}

// await waits for the end of the incarnation.
func (e *Executor) await(ctx context.Context) error {
	handshake := time.NewTimer(e.cfg.Handshake)
	defer handshake.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-e.state.over:
			return nil
		case <-handshake.C:
			e.mu.Lock()
			attached := e.state.attached
			e.mu.Unlock()
			if !attached {
				return ErrNotAttached
			}
		}
	}
}

// end refuses new work and cancels what runs. Done twice it does nothing.
func (e *Executor) end() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.state.ended {
		return
	}
	e.state.ended = true
	close(e.state.over)
	for _, r := range e.state.running {
		r.cancel()
		r.abandon()
	}
}

// forget lets go of sessions, keys and snapshots (C9.3).
func (e *Executor) forget() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.forgetSessions()
	e.state.spent = newSpentPermits()
}

func (e *Executor) forgetSessions() {
	for _, s := range e.state.sessions {
		s.ended = true
	}
	clear(e.state.sessions)
}

func closeLinks(host, launcher net.Conn, debug net.Listener) error {
	var errs []error
	for _, c := range []net.Conn{host, launcher} {
		if c != nil {
			errs = append(errs, c.Close())
		}
	}
	if debug != nil {
		errs = append(errs, debug.Close())
	}
	var out error
	for _, err := range errs {
		if err != nil && !errors.Is(err, net.ErrClosed) {
			out = errors.Join(out, err)
		}
	}
	return out
}
