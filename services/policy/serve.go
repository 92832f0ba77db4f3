package policy

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"

	policyv1 "fairlead.dev/gen/fairlead/policy/v1"
	"fairlead.dev/services/shared/peersock"
	"fairlead.dev/services/shared/rpc"
)

const (
	// role names the process in its log lines.
	role = "policy"
	// drainMax is how long running calls may finish: less than the 3 s of the launcher's
	// shutdown grace (protocol.md, Limits).
	drainMax = 2 * time.Second
	// expiryWaitMax bounds one wait for the next expiry: the timer stands still while the
	// machine sleeps and the boot clock does not. Lookups never depend on it.
	expiryWaitMax = 10 * time.Second
)

// Links is what the process serves on.
type Links struct {
	// Host is the link to the host. Required.
	Host net.Conn
	// Launcher is the link to the launcher; nil for none.
	Launcher net.Conn
	// Debug is the debug socket; nil for none.
	Debug net.Listener
	// Traces is where spans go. Required.
	Traces trace.TracerProvider
}

var errLinks = errors.New("policy: the link to the host is missing")

// Serve answers on the links until the lifetime ends, then lets running calls finish
// and returns when every goroutine has ended. It closes the links.
func (p *Policy) Serve(lifetime context.Context, links Links) error {
	if links.Host == nil || links.Traces == nil {
		return errLinks
	}
	servers, err := p.servers(links)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(lifetime)
	defer cancel()
	var running sync.WaitGroup
	failed := make(chan error, len(servers))
	for s, l := range servers {
		running.Go(func() {
			if err := s.Serve(l); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
				failed <- err
				cancel()
			}
		})
	}
	running.Go(func() { p.watchExpiry(ctx) })
	<-ctx.Done()
	p.closeWatchers()
	stopAll(servers, links)
	running.Wait()
	close(failed)
	return <-failed
}

func (p *Policy) servers(links Links) (map[*grpc.Server]net.Listener, error) {
	cfg := rpc.ServerConfig{
		Role:        role,
		Log:         p.log,
		Traces:      links.Traces,
		Credentials: peersock.Credentials{Inherited: true},
		RequestMax:  rpc.RequestMax,
		CallMax:     rpc.CallMax,
	}
	out := map[*grpc.Server]net.Listener{}
	host, err := rpc.NewServer(cfg)
	if err != nil {
		return nil, err
	}
	policyv1.RegisterDecisionServiceServer(host, p.Host())
	out[host] = peersock.One(links.Host)
	if links.Launcher != nil {
		s, err := rpc.NewServer(cfg)
		if err != nil {
			return nil, err
		}
		policyv1.RegisterDecisionServiceServer(s, p.Launcher())
		out[s] = peersock.One(links.Launcher)
	}
	if links.Debug != nil {
		cfg.Credentials = peersock.Credentials{}
		s, err := rpc.NewServer(cfg)
		if err != nil {
			return nil, err
		}
		policyv1.RegisterDebugServiceServer(s, p.Debug())
		out[s] = links.Debug
	}
	return out, nil
}

// stopAll lets running calls finish within the grace and then ends them. A link over
// which nothing came yet is one that grpc waits on for two minutes, whatever it is told,
// so what ends it is closing it. Nothing on the launcher's link is worth waiting for: it
// calls again or it is gone.
func stopAll(servers map[*grpc.Server]net.Listener, links Links) {
	if links.Launcher != nil {
		_ = links.Launcher.Close()
	}
	// A server may have closed it already; then there is nothing left to close.
	hard := time.AfterFunc(drainMax, func() {
		_ = links.Host.Close()
		for s := range servers {
			s.Stop()
		}
	})
	defer hard.Stop()
	var stopping sync.WaitGroup
	for s := range servers {
		stopping.Go(s.GracefulStop)
	}
	stopping.Wait()
}

// watchExpiry notices leases that run out, so that watchers hear of it.
func (p *Policy) watchExpiry(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-p.wake:
		case <-ctx.Done():
			return
		}
		timer.Reset(p.expire())
	}
}
