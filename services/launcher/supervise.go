package launcher

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"log/slog"
	"slices"
	"time"

	policyv1 "fairlead.dev/gen/fairlead/policy/v1"
	"fairlead.dev/services/shared/telemetry"
)

// dependents are the processes that are started again after one of them ended: policy's
// key pair is the executor's too, and the host holds every session.
func dependents(r role) []role {
	switch r {
	case rolePolicy:
		return []role{rolePolicy, roleExecutor}
	case roleExecutor:
		return []role{roleExecutor}
	default:
		return []role{rolePolicy, roleExecutor, roleHost}
	}
}

// stopOrder: the host refuses new work, the executor lets go, policy closes the record.
func stopOrder() []role { return []role{roleHost, roleExecutor, rolePolicy} }

// supervise starts everything, restarts what ends, and stops everything at the end.
func (l *Launcher) supervise(ctx context.Context) error {
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	l.recorder = newRecorder(l.log, l.times.record)
	defer l.tasks.Wait()
	defer cancel()
	l.tasks.Go(func() { l.awaitReady(life) })
	err := l.keep(ctx, life)
	l.stop(life)
	return err
}

// keep runs until the context ends (nil) or something cannot be kept running.
func (l *Launcher) keep(ctx, life context.Context) error {
	if err := l.start(life, dependents(roleHost)); err != nil {
		return err
	}
	unready := time.NewTimer(l.times.handshake)
	defer unready.Stop()
	ready := l.ready
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ready:
			unready.Stop()
			ready = nil
			continue
		case <-unready.C:
			return &NotReadyError{Log: l.LogFile()}
		case <-l.done(rolePolicy):
		case <-l.done(roleExecutor):
		case <-l.done(roleHost):
		}
		r, ended := l.ended()
		if !ended {
			continue
		}
		if err := l.revive(ctx, life, r); err != nil || ctx.Err() != nil {
			return err
		}
		if ready != nil {
			unready.Reset(l.times.handshake)
		}
	}
}

// done is closed when the process that runs now ended; nil while there is none.
func (l *Launcher) done(r role) <-chan struct{} {
	if c := l.children[r]; c != nil {
		return c.done
	}
	return nil
}

// ended returns the process that ended and takes most with it: an executor that ended
// because its host did is not news of its own.
func (l *Launcher) ended() (role, bool) {
	for _, r := range []role{roleHost, rolePolicy, roleExecutor} {
		if c := l.children[r]; c != nil && c.ended() {
			return r, true
		}
	}
	return 0, false
}

// revive restarts a process that ended, and what cannot live without it. It returns nil
// also when the context ended meanwhile.
func (l *Launcher) revive(ctx, life context.Context, r role) error {
	gone := l.children[r]
	for {
		if gone.code == ExitAttestation {
			l.reap(life, r)
			return &MismatchError{Role: r.String()}
		}
		protocol, ran := gone.code == ExitProtocol, time.Since(gone.started)
		for _, s := range stopOrder() {
			if slices.Contains(dependents(r), s) {
				l.reap(life, s)
			}
		}
		next, wait, again := l.budgets[r].Failed(ran)
		l.budgets[r] = next
		if !again {
			l.recorder.add(life, event(policyv1.ProcessEventKind_PROCESS_EVENT_KIND_GIVEN_UP, gone))
			return &GivenUpError{Role: r.String(), Protocol: protocol, Log: l.LogFile()}
		}
		if !sleep(ctx, wait) {
			return nil
		}
		if _, worse := l.ended(); worse {
			return nil // What it depends on has ended too, and restarts all of it.
		}
		err := l.start(life, dependents(r))
		if err == nil {
			return nil
		}
		l.log.LogAttrs(life, slog.LevelError, "a process could not be started", telemetry.Role(r.String()))
		gone = &child{role: r, sha256: gone.sha256, started: time.Now()}
	}
}

// start starts some processes, in the roles' order, and passes the new links to the host.
func (l *Launcher) start(life context.Context, rs []role) error {
	for _, r := range rs {
		if err := l.startOne(life, r); err != nil {
			return err
		}
	}
	host := l.children[roleHost]
	for _, r := range rs {
		c := l.children[r]
		if r == roleHost || host == nil {
			continue
		}
		if err := c.passTo(host, l.images[r], l.times.handshake); err != nil {
			// A host that does not take its links is of no use; its end restarts all.
			l.log.LogAttrs(life, slog.LevelError, "the host did not take a link", telemetry.Role(r.String()))
			host.failed("link")
		}
	}
	return nil
}

// startOne starts one process and watches it.
func (l *Launcher) startOne(life context.Context, r role) error {
	key, err := l.key(r)
	if err != nil {
		return err
	}
	c, err := l.spawn(r, key)
	clear(key)
	if err != nil {
		return err
	}
	l.children[r] = c
	l.publish()
	l.log.LogAttrs(life, slog.LevelInfo, "process started", telemetry.Kind(r.String()), telemetry.PID(c.pid))
	l.recorder.add(life, event(policyv1.ProcessEventKind_PROCESS_EVENT_KIND_STARTED, c))
	switch r {
	case rolePolicy:
		l.tasks.Go(func() { l.probe(life, c, askPolicy) })
		l.tasks.Go(func() { l.recorder.serve(life, c) })
	case roleExecutor:
		l.tasks.Go(func() { l.probe(life, c, askExecutor) })
	}
	return nil
}

// key returns the key a process is given. A policy's start makes the pair; the private
// half is not kept.
func (l *Launcher) key(r role) ([]byte, error) {
	switch r {
	case rolePolicy:
		pub, priv, err := ed25519.GenerateKey(nil)
		if err != nil {
			return nil, fmt.Errorf("making policy's keys: %w", err)
		}
		l.policyKey = pub
		return priv, nil
	case roleExecutor:
		return append([]byte{}, l.policyKey...), nil
	default:
		return nil, nil
	}
}

// reap ends a process, if it still runs, and takes note of its end.
func (l *Launcher) reap(life context.Context, r role) {
	c := l.children[r]
	if c == nil {
		return
	}
	c.end(life, l.times.grace)
	l.children[r] = nil
	l.publish()
	l.log.LogAttrs(life, slog.LevelInfo, "process ended", telemetry.Kind(r.String()+" "+c.ending()),
		telemetry.PID(c.pid))
	l.recorder.add(life, event(policyv1.ProcessEventKind_PROCESS_EVENT_KIND_ENDED, c))
}

// stop stops everything that runs. Policy is last and is told of the others' ends first.
func (l *Launcher) stop(life context.Context) {
	for _, r := range stopOrder() {
		if c := l.children[r]; r == rolePolicy && c != nil {
			l.recorder.flush(life, c, l.times.grace)
		}
		l.reap(life, r)
	}
}

func event(kind policyv1.ProcessEventKind, c *child) *policyv1.ProcessEvent {
	// Generations are given by the host and not known here (C1.1).
	return &policyv1.ProcessEvent{Kind: kind, Role: c.role.wire(), Sha256: c.sha256}
}

// sleep reports whether it slept to the end.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
