// Package harness runs the real policy, executor core and host of fairlead in one
// process, over real socket pairs and real Unix sockets, on a virtual desk. Only the
// launcher is missing: the harness passes the links as the launcher would. Tests and
// benches drive it as an agent and as the user.
package harness

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"google.golang.org/grpc"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/policy"
	"fairlead.dev/services/sessionhost"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/peersock"
	"fairlead.dev/services/shared/permit"
	"fairlead.dev/services/shared/rpc"
	"fairlead.dev/services/shared/telemetry"
	"fairlead.dev/services/virtualdesk"
)

// Bundle is the shipped demo bundle.
const Bundle = "../../deploy/policy/demo.cedar"

// startMax bounds the wait for a part to be there.
const startMax = 10 * time.Second

// Options change what the system is made of.
type Options struct {
	// Bundle is the rule file; the shipped one when empty.
	Bundle string
	// Platform replaces the virtual desk.
	Platform executor.Platform
	// Desk says what the virtual desk starts with.
	Desk virtualdesk.Config
	// Wrap makes a platform of the virtual desk that differs from it in something.
	Wrap func(*virtualdesk.Desk) executor.Platform
	// Alter changes answers of the executor on their way to the host.
	Alter Alter
	// Log takes the JSON log lines of all three processes; nothing when nil.
	Log io.Writer
	// Traces takes the spans of all three processes; nothing when nil.
	Traces trace.TracerProvider
	// Tap stands in the links of the host; nothing when nil.
	Tap *Tap
}

// System is a running system.
type System struct {
	// Desk is the virtual desk, nil with another platform.
	Desk *virtualdesk.Desk
	// Dir is the runtime directory; the sockets are agent/host.sock and user/host.sock.
	Dir string

	tb       testing.TB
	platform executor.Platform
	opts     Options
	toHost   *net.UnixConn
	key      ed25519.PrivateKey
	public   ed25519.PublicKey
	work     sync.WaitGroup
	cancel   context.CancelFunc
	ctx      context.Context

	mu           sync.Mutex
	launcher     []*net.UnixConn
	halt         executorv1.HaltServiceClient
	stopExecutor context.CancelFunc
	stopPolicy   context.CancelFunc
	executorEnd  chan struct{}
}

// Start starts a system that ends with the test.
func Start(tb testing.TB, opts Options) *System {
	tb.Helper()
	if opts.Bundle == "" {
		opts.Bundle = Bundle
	}
	if opts.Traces == nil {
		opts.Traces = noop.NewTracerProvider()
	}
	s := &System{tb: tb, opts: opts, platform: opts.Platform}
	// Not tb.TempDir: socket paths are short on some platforms.
	dir, err := os.MkdirTemp("/tmp", "fl")
	s.must(err)
	s.Dir = dir
	if s.platform == nil {
		s.Desk, err = virtualdesk.New(opts.Desk)
		s.must(err)
		s.platform = s.Desk
		if opts.Wrap != nil {
			s.platform = opts.Wrap(s.Desk)
		}
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	tb.Cleanup(s.end)
	s.startHost()
	s.StartPolicy()
	s.StartExecutor()
	return s
}

func (s *System) must(err error) {
	s.tb.Helper()
	if err != nil {
		s.tb.Fatal(err)
	}
}

func (s *System) end() {
	s.hangUp()
	s.cancel()
	s.work.Wait()
	if err := errors.Join(s.platform.Close(), os.RemoveAll(s.Dir)); err != nil {
		s.tb.Error(err)
	}
}

// hangUp closes the launcher's ends of links: nobody waits for what it would say.
func (s *System) hangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.launcher {
		_ = c.Close()
	}
	s.launcher = nil
}

func (s *System) pair() (near, far *net.UnixConn) {
	a, b, err := peersock.Pair()
	s.must(err)
	near, err = peersock.Conn(a)
	s.must(err)
	far, err = peersock.Conn(b)
	s.must(err)
	return near, far
}

// launcherLink returns the far end of a link on which the launcher says nothing.
func (s *System) launcherLink() *net.UnixConn {
	near, far := s.pair()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.launcher = append(s.launcher, near)
	return far
}

// haltClient speaks to the executor on the latest launcher link.
func (s *System) haltClient() executorv1.HaltServiceClient {
	s.mu.Lock()
	near := s.launcher[len(s.launcher)-1]
	s.mu.Unlock()
	cc, err := rpc.Dial(near, noop.NewTracerProvider())
	s.must(err)
	s.tb.Cleanup(func() { _ = cc.Close() })
	return executorv1.NewHaltServiceClient(cc)
}

// AwaitExecutorSessions waits until the executor knows so many sessions.
func (s *System) AwaitExecutorSessions(n uint32) {
	s.tb.Helper()
	ctx, cancel := context.WithTimeout(s.ctx, startMax)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		st, err := s.halt.GetHaltState(ctx, &executorv1.GetHaltStateRequest{})
		if err == nil && st.GetSessions() == n {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			s.tb.Fatalf("the executor knows %d sessions, not %d: %v", st.GetSessions(), n, err)
		}
	}
}

func (s *System) startHost() {
	near, far := s.pair()
	s.toHost = near
	agent, err := peersock.Listen(filepath.Join(s.Dir, "agent"), "host.sock")
	s.must(err)
	user, err := peersock.Listen(filepath.Join(s.Dir, "user"), "host.sock")
	s.must(err)
	h, err := sessionhost.New(sessionhost.Config{
		Generation: ident.Generation(time.Now().UnixMilli()), Self: &commonv1.ProcessStatus{Pid: int32(os.Getpid())},
		Agent: agent, User: user, Links: far, Log: s.log("host"), Traces: s.opts.Traces,
	})
	s.must(err)
	s.run(s.ctx, func(ctx context.Context) error { return h.Serve(ctx) })
}

func (s *System) log(role string) *slog.Logger {
	if s.opts.Log == nil {
		return telemetry.Discard()
	}
	return telemetry.NewLogger(s.opts.Log, role)
}

func (s *System) run(ctx context.Context, f func(context.Context) error) {
	s.work.Add(1)
	go func() {
		defer s.work.Done()
		if err := f(ctx); err != nil && ctx.Err() == nil {
			s.tb.Errorf("a process ended: %v", err)
		}
	}()
}

// pass gives the host a link to what serves on the returned connection.
func (s *System) pass(role string) *net.UnixConn {
	near, far, err := peersock.Pair()
	s.must(err)
	msg, err := json.Marshal(peersock.Link{Role: role, PID: os.Getpid(), Version: "test"})
	s.must(err)
	s.must(peersock.Send(s.toHost, msg, far))
	s.must(far.Close())
	conn, err := peersock.Conn(near)
	s.must(err)
	if s.opts.Tap == nil {
		return conn
	}
	front, process := s.pair()
	serve, err := s.opts.Tap.stand(conn, front)
	s.must(err)
	s.run(s.ctx, serve)
	return process
}

// StartPolicy starts policy with a new key pair, as the launcher does.
func (s *System) StartPolicy() {
	var err error
	s.public, s.key, err = ed25519.GenerateKey(nil)
	s.must(err)
	p, err := policy.New(policy.Config{
		Version: "test", Key: s.key, Generation: ident.Generation(time.Now().UnixMilli()), Bundle: s.opts.Bundle,
		Log: s.log("policy"),
	})
	s.must(err)
	launcher := s.launcherLink()
	links := policy.Links{Host: s.pass("policy"), Launcher: launcher, Traces: s.opts.Traces}
	ctx, cancel := context.WithCancel(s.ctx)
	s.mu.Lock()
	s.stopPolicy = cancel
	s.mu.Unlock()
	s.run(ctx, func(ctx context.Context) error { return p.Serve(ctx, links) })
	s.await(func(st *hostv1.GetStatusResponse) bool { return st.GetFence().GetPolicy() != 0 })
}

// StartExecutor starts a new executor incarnation on the same desk.
func (s *System) StartExecutor() {
	e, err := executor.New(executor.Config{
		Platform: keepOpen{s.platform}, PolicyKey: s.public, Log: s.log("executor"),
		Traces: s.opts.Traces, Version: "test", Clock: permit.BootClock,
	})
	s.must(err)
	launcher := s.launcherLink()
	s.halt = s.haltClient()
	link := s.pass("executor")
	ctx, cancel := context.WithCancel(s.ctx)
	if alter := s.opts.Alter; alter != nil {
		toHost, near := link, (*net.UnixConn)(nil)
		near, link = s.pair()
		s.run(ctx, func(ctx context.Context) error { return s.between(ctx, toHost, near, alter) })
	}
	end := make(chan struct{})
	s.mu.Lock()
	s.stopExecutor, s.executorEnd = cancel, end
	s.mu.Unlock()
	s.run(ctx, func(ctx context.Context) error {
		defer close(end)
		return e.Serve(ctx, link, launcher, nil)
	})
	s.await(func(st *hostv1.GetStatusResponse) bool { return st.GetFence().GetExecutor() != 0 })
}

// Key is policy's private key: for tests that play a policy that errs, or a host that
// skips it.
func (s *System) Key() ed25519.PrivateKey { return s.key }

// await polls the status until it is as wanted. Real sockets cannot be waited for in
// fake time.
func (s *System) await(ready func(*hostv1.GetStatusResponse) bool) {
	s.tb.Helper()
	cc := s.Dial("user")
	status := hostv1.NewStatusServiceClient(cc)
	ctx, cancel := context.WithTimeout(s.ctx, startMax)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		st, err := status.GetStatus(ctx, &hostv1.GetStatusRequest{})
		if err == nil && ready(st) {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			s.tb.Fatalf("the system did not come to the wanted state: %v", err)
		}
	}
}

// Dial connects to one of the audiences' sockets, as any program would.
func (s *System) Dial(audience string) *grpc.ClientConn {
	s.tb.Helper()
	cc, err := rpc.DialSocket(filepath.Join(s.Dir, audience, "host.sock"), s.opts.Traces)
	s.must(err)
	s.tb.Cleanup(func() { _ = cc.Close() })
	return cc
}

// keepOpen lets one desk outlive executor incarnations: the desktop stays when an
// executor ends.
type keepOpen struct{ executor.Platform }

// Close does nothing; the system closes the desk at its end.
func (keepOpen) Close() error { return nil }
