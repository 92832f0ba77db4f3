package launcher

import (
	"context"
	"log/slog"
	"time"

	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
	"fairlead.dev/services/shared/telemetry"
)

// missesMax is how many probes in a row may go unanswered (protocol.md, Limits).
const missesMax = 3

// probe asks a process at intervals and kills it when it stops answering (C9.7). What
// the answer says is not its business: a halted executor is alive.
func (l *Launcher) probe(ctx context.Context, c *child, ask func(context.Context, *child) error) {
	t := time.NewTicker(l.times.probeEvery)
	defer t.Stop()
	for misses := 0; ; {
		select {
		case <-t.C:
		case <-c.done:
			return
		case <-ctx.Done():
			return
		}
		if l.answers(ctx, c, ask) {
			misses = 0
			continue
		}
		if misses++; misses >= missesMax {
			l.log.LogAttrs(ctx, slog.LevelError, "process does not answer", telemetry.Kind(c.role.String()),
				telemetry.PID(c.pid))
			c.failed("unhealthy")
			return
		}
	}
}

func (l *Launcher) answers(ctx context.Context, c *child, ask func(context.Context, *child) error) bool {
	ctx, cancel := context.WithTimeout(ctx, l.times.probeAnswer)
	defer cancel()
	return ask(ctx, c) == nil
}

func askExecutor(ctx context.Context, c *child) error {
	_, err := executorv1.NewHaltServiceClient(c.calls).GetHaltState(ctx, &executorv1.GetHaltStateRequest{})
	return err
}

// askPolicy also keeps the link from falling idle: a client that was idle for half an
// hour would close it, and it is made only once.
func askPolicy(ctx context.Context, c *child) error {
	_, err := healthv1.NewHealthClient(c.calls).Check(ctx, &healthv1.HealthCheckRequest{})
	return err
}
