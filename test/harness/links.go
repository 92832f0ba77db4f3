package harness

import (
	"context"
	"crypto/ed25519"
	"net"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace/noop"
	"google.golang.org/grpc"

	"fairlead.dev/services/executor"
	"fairlead.dev/services/policy"
	"fairlead.dev/services/shared/permit"
	"fairlead.dev/services/shared/rpc"
	"fairlead.dev/services/shared/telemetry"
	"fairlead.dev/services/virtualdesk"
)

// Process is policy or an executor alone, with the test at both of its links.
type Process struct {
	// Host and Launcher are the test's ends of the links, not spoken on yet.
	Host, Launcher net.Conn
	// Key is policy's private key.
	Key ed25519.PrivateKey
	// Desk is an executor's desk.
	Desk *virtualdesk.Desk
	// Ended takes what Serve returned.
	Ended chan error

	tb testing.TB
}

// Executor starts an executor on a virtual desk. It ends with the test.
func Executor(tb testing.TB) *Process {
	tb.Helper()
	p, hostEnd, launcherEnd := process(tb)
	desk, err := virtualdesk.New(virtualdesk.Config{})
	p.must(err)
	p.Desk = desk
	e, err := executor.New(executor.Config{
		Platform: desk, PolicyKey: p.Key.Public().(ed25519.PublicKey), Log: telemetry.Discard(),
		Traces: noop.NewTracerProvider(), Version: "test", Clock: permit.BootClock,
	})
	p.must(err)
	tb.Cleanup(func() { p.must(desk.Close()) })
	p.serve(func(ctx context.Context) error { return e.Serve(ctx, hostEnd, launcherEnd, nil) })
	return p
}

// Policy starts policy with a bundle. It ends with the test.
func Policy(tb testing.TB, bundle string) *Process {
	tb.Helper()
	p, hostEnd, launcherEnd := process(tb)
	pol, err := policy.New(policy.Config{
		Version: "test", Key: p.Key, Generation: 1, Bundle: bundle, Log: telemetry.Discard(),
	})
	p.must(err)
	p.serve(func(ctx context.Context) error {
		return pol.Serve(ctx, policy.Links{Host: hostEnd, Launcher: launcherEnd, Traces: noop.NewTracerProvider()})
	})
	return p
}

func process(tb testing.TB) (p *Process, hostEnd, launcherEnd net.Conn) {
	tb.Helper()
	p = &Process{tb: tb, Ended: make(chan error, 1)}
	_, key, err := ed25519.GenerateKey(nil)
	p.must(err)
	p.Key = key
	s := &System{tb: tb}
	p.Host, hostEnd = s.pair()
	p.Launcher, launcherEnd = s.pair()
	return p, hostEnd, launcherEnd
}

// serve runs the process until the test ends, and waits for its end.
func (p *Process) serve(f func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); p.Ended <- f(ctx) }()
	p.tb.Cleanup(func() {
		_, _ = p.Host.Close(), p.Launcher.Close()
		cancel()
		<-done
	})
}

// Dial speaks gRPC on one of the test's ends.
func (p *Process) Dial(end net.Conn) *grpc.ClientConn {
	p.tb.Helper()
	cc, err := rpc.Dial(end, noop.NewTracerProvider())
	p.must(err)
	p.tb.Cleanup(func() { _ = cc.Close() })
	return cc
}

// Context is bounded by the test and by the longest call.
func (p *Process) Context() context.Context {
	ctx, cancel := context.WithTimeout(p.tb.Context(), callMax)
	p.tb.Cleanup(cancel)
	return ctx
}

// Lives fails the test when the process has ended.
func (p *Process) Lives() {
	p.tb.Helper()
	select {
	case err := <-p.Ended:
		p.tb.Fatalf("the process ended: %v", err)
	default:
	}
}

// Ends fails the test unless the process ends in time.
func (p *Process) Ends(within time.Duration) {
	p.tb.Helper()
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case err := <-p.Ended:
		p.Ended <- err
	case <-timer.C:
		p.tb.Fatalf("the process did not end within %v", within)
	}
}

func (p *Process) must(err error) {
	p.tb.Helper()
	if err != nil {
		p.tb.Fatal(err)
	}
}
