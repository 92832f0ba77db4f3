package launcher

import (
	"context"
	"net"
	"time"

	"go.opentelemetry.io/otel/trace/noop"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	"fairlead.dev/services/shared/rpc"
)

const (
	// readyEvery is how often the host is asked while we start.
	readyEvery = 20 * time.Millisecond
	// readyAnswer is how long one answer may take.
	readyAnswer = time.Second
)

// pids are the processes that run, for comparing with what the host says.
type pids [roles]int

func (l *Launcher) publish() {
	p := &pids{}
	for r, c := range l.children {
		if c != nil {
			p[r] = c.pid
		}
	}
	l.pids.Store(p)
}

// awaitReady closes l.ready once the host serves agents and says that policy and the
// executor that run now are attached. Comparing the pids tells our host from another
// one that holds the socket.
func (l *Launcher) awaitReady(ctx context.Context) {
	for {
		if l.attached(ctx) {
			close(l.ready)
			return
		}
		if !sleep(ctx, readyEvery) {
			return
		}
	}
}

func (l *Launcher) attached(ctx context.Context) bool {
	want := l.pids.Load()
	if want == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, readyAnswer)
	defer cancel()
	if !listening(ctx, l.AgentSocket()) {
		return false
	}
	conn, err := rpc.DialSocket(l.AgentSocket(), noop.NewTracerProvider())
	if err != nil {
		return false
	}
	defer conn.Close()
	s, err := hostv1.NewStatusServiceClient(conn).GetStatus(ctx, &hostv1.GetStatusRequest{})
	if err != nil {
		return false
	}
	for r := range roles {
		if !lists(s.GetProcesses(), r, want[r]) {
			return false
		}
	}
	return true
}

// listening asks before a client is made: a client backs off for a second after a failure.
func listening(ctx context.Context, path string) bool {
	c, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if err != nil {
		return false
	}
	return c.Close() == nil
}

// lists reports whether the host says that this process is there and works.
func lists(ps []*commonv1.ProcessStatus, r role, pid int) bool {
	for _, p := range ps {
		works := p.GetHealth() == commonv1.Health_HEALTH_HEALTHY || p.GetHealth() == commonv1.Health_HEALTH_DEGRADED
		if p.GetRole() == r.wire() && int(p.GetPid()) == pid && works {
			return true
		}
	}
	return false
}
