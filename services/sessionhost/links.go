package sessionhost

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	"fairlead.dev/services/sessionhost/internal/executorlink"
	"fairlead.dev/services/sessionhost/internal/policylink"
	"fairlead.dev/services/sessionhost/internal/release"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/peersock"
	"fairlead.dev/services/shared/telemetry"
)

// The names the launcher gives to what is at the other end of a link.
const (
	rolePolicy   = "policy"
	roleExecutor = "executor"
)

// receiveLinks takes links from the launcher until it has ended. A new link of a role
// replaces the old one: a dead or mismatched executor is never used again (C9.2).
func (h *Host) receiveLinks(lifetime context.Context) error {
	for {
		msg, files, err := peersock.Receive(h.cfg.Links)
		if err != nil {
			if lifetime.Err() != nil || errors.Is(err, net.ErrClosed) {
				return nil
			}
			return errors.New("the launcher is gone")
		}
		if err := h.takeLink(lifetime, msg, files); err != nil {
			h.cfg.Log.Warn("a link could not be taken", telemetry.Kind("link"))
		}
	}
}

func (h *Host) takeLink(lifetime context.Context, msg []byte, files []*os.File) error {
	var info peersock.Link
	if err := json.Unmarshal(msg, &info); err != nil || len(files) != 1 {
		for _, f := range files {
			err = errors.Join(err, f.Close())
		}
		return errors.Join(errors.New("a link message that makes no sense"), err)
	}
	conn, err := peersock.Conn(files[0])
	if err != nil {
		return err
	}
	status := &commonv1.ProcessStatus{
		Pid: int32(info.PID), Executable: info.Executable, Version: info.Version,
		Sha256: info.SHA256, Attested: info.Attested,
	}
	switch info.Role {
	case rolePolicy:
		status.Role = commonv1.ProcessRole_PROCESS_ROLE_POLICY
		return h.openPolicy(lifetime, conn, status)
	case roleExecutor:
		status.Role = commonv1.ProcessRole_PROCESS_ROLE_EXECUTOR
		return h.attachExecutor(lifetime, conn, status)
	default:
		return errors.Join(errors.New("a link to nobody we know"), conn.Close())
	}
}

func (h *Host) openPolicy(ctx context.Context, conn net.Conn, is *commonv1.ProcessStatus) error {
	l, err := policylink.Open(ctx, policylink.Config{
		Conn: conn, Traces: h.cfg.Traces, Host: h.cfg.Generation,
		LeaseGranted: h.leaseGranted, LeaseEnded: h.leaseEnded,
	})
	if err != nil {
		return err
	}
	is.Generation = uint64(l.Generation())
	h.mu.Lock()
	old := h.policy
	h.policy, h.policyIs = l, is
	h.mu.Unlock()
	h.background(func() { <-l.Done(); h.policyEnded(l) })
	if old != nil {
		return old.Close()
	}
	return nil
}

func (h *Host) attachExecutor(ctx context.Context, conn net.Conn, is *commonv1.ProcessStatus) error {
	h.mu.Lock()
	h.executors++
	generation := h.executors
	h.mu.Unlock()
	l, err := executorlink.Attach(ctx, executorlink.Config{
		Conn: conn, Traces: h.cfg.Traces, Host: h.cfg.Generation, Executor: generation, DeskEvent: h.deskEvent,
	})
	if err != nil {
		return err
	}
	is.Generation, is.Platform = uint64(generation), l.Platform
	h.mu.Lock()
	old := h.executor
	h.executor, h.executorIs = l, is
	h.mu.Unlock()
	h.lock(l.Locked)
	h.background(func() { <-l.Done(); h.executorEnded(l) })
	if old != nil {
		return old.Close()
	}
	return nil
}

// executorEnded lets go of all that depended on the incarnation (C9.3).
func (h *Host) executorEnded(l *executorlink.Link) {
	h.mu.Lock()
	if h.executor == l {
		h.executor = nil
	}
	h.mu.Unlock()
	var touched, unknown []ident.SessionID
	h.each(func(s *session) {
		s.mark(mark{kind: markExecutor})
		if !s.begunOn(l.Generation) {
			return
		}
		open := false
		if err := s.do(func(st *state) { open = st.unknownOn(l.Generation) }); err == nil && open {
			unknown = append(unknown, s.id)
		} else {
			touched = append(touched, s.id)
		}
	})
	reason := hostv1.ReleaseReason_RELEASE_REASON_EXECUTOR_EXIT
	if l.Degraded() {
		reason = hostv1.ReleaseReason_RELEASE_REASON_PROTOCOL_VIOLATION
	}
	event := release.Event{
		Executor: l.Generation, GenerationReleased: true, Sessions: touched,
		Reason: int32(reason), Cause: int32(hostv1.EndCause_END_CAUSE_FAILURE),
	}
	h.releases.Publish(event)
	event.Sessions, event.OutcomesUnknown = unknown, true
	h.releases.Publish(event)
	// The link has ended; closing it frees the socket.
	_ = l.Close()
}

// policyEnded takes every lease away: leases die with their policy generation (C10.2).
func (h *Host) policyEnded(l *policylink.Link) {
	h.mu.Lock()
	if h.policy == l {
		h.policy = nil
	}
	h.mu.Unlock()
	var all []ident.SessionID
	h.each(func(s *session) {
		all = append(all, s.id)
		s.mark(mark{kind: markPolicy})
	})
	h.releases.Publish(release.Event{
		Executor: h.executorGeneration(), Sessions: all,
		Reason: int32(hostv1.ReleaseReason_RELEASE_REASON_POLICY_CHANGED),
		Cause:  int32(hostv1.EndCause_END_CAUSE_FAILURE),
	})
	_ = l.Close()
}

func (h *Host) executorGeneration() ident.Generation {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.executor == nil {
		return 0
	}
	return h.executor.Generation
}

func (h *Host) closeLinks() {
	h.mu.Lock()
	p, e := h.policy, h.executor
	h.mu.Unlock()
	if e != nil {
		_ = e.Close()
	}
	if p != nil {
		_ = p.Close()
	}
}
