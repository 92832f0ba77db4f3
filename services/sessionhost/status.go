package sessionhost

import (
	"context"
	"encoding/hex"

	"google.golang.org/protobuf/proto"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	"fairlead.dev/services/shared/rpc"
)

// limits is the one table of limits a caller can meet; requests above one are refused.
func limits() *hostv1.Limits {
	return &hostv1.Limits{
		Elements: 5000, Depth: 64, Text: 500, TextToType: 8000,
		RequestBytes: rpc.RequestMax, MessageBytes: rpc.MessageMax,
		Sessions: sessionsMax, QueueSession: queueSession, QueueWindow: 32, QueueHost: queueHost,
		Snapshots: 8, SnapshotMs: 120_000, SettleMs: settleMS, WalkMs: 6_000,
		RequestMs: uint32(rpc.CallMax.Milliseconds()),
	}
}

// GetStatus shows what runs (C1.6). It never describes the desktop and is allowed
// under every hold.
func (h *Host) GetStatus(context.Context, *hostv1.GetStatusRequest) (*hostv1.GetStatusResponse, error) {
	held, queued := h.lanes.Count()
	h.mu.Lock()
	resp := &hostv1.GetStatusResponse{
		Limits: limits(), Sessions: uint32(len(h.sessions)), CallsWaiting: uint32(max(h.waiting.Load(), 0)),
		LanesHeld: uint32(held), LanesWaiting: uint32(queued), Debug: h.cfg.Debug != nil,
		Processes: []*commonv1.ProcessStatus{h.self(), h.policyStatus(), h.executorStatus()},
	}
	if h.policy != nil {
		resp.BundleSha256 = hex.EncodeToString(h.policy.Bundle)
	}
	resp.StoppedAll = h.stoppedAll
	h.mu.Unlock()
	resp.Subscribers = uint32(h.releases.Count() + h.leases.Count() + h.books.events.Count())
	h.countSessions(resp)
	resp.Fence = h.fence(0)
	return resp, nil
}

// countSessions counts what sessions hold, never which.
func (h *Host) countSessions(resp *hostv1.GetStatusResponse) {
	held := map[hostv1.Hold]uint32{}
	h.each(func(s *session) {
		_ = s.do(func(st *state) {
			if st.frames.Current() != nil {
				resp.Frames++
			}
			if st.inflight != nil {
				resp.ActsInFlight++
			}
			for _, one := range holdsToWire(st.machine.Holds) {
				held[one]++
			}
		})
	})
	for one := hostv1.Hold_HOLD_BLOCKED_URL; int(one) < len(hostv1.Hold_name); one++ {
		resp.Holds = append(resp.Holds, &hostv1.HoldCount{Hold: one, Sessions: held[one]})
	}
	h.books.mu.Lock()
	resp.Keyboards = uint32(h.books.keyboard.Len())
	h.books.mu.Unlock()
}

func (h *Host) self() *commonv1.ProcessStatus {
	p := copyOf(h.cfg.Self)
	p.Role, p.Generation = commonv1.ProcessRole_PROCESS_ROLE_HOST, uint64(h.cfg.Generation)
	p.Health = commonv1.Health_HEALTH_HEALTHY
	if h.policy == nil || h.executor == nil {
		p.Health = commonv1.Health_HEALTH_DEGRADED
	}
	return p
}

func (h *Host) policyStatus() *commonv1.ProcessStatus {
	p := copyOf(h.policyIs)
	p.Role, p.Health = commonv1.ProcessRole_PROCESS_ROLE_POLICY, commonv1.Health_HEALTH_UNAVAILABLE
	if h.policy != nil {
		p.Health = commonv1.Health_HEALTH_HEALTHY
	}
	return p
}

func (h *Host) executorStatus() *commonv1.ProcessStatus {
	p := copyOf(h.executorIs)
	p.Role, p.Health = commonv1.ProcessRole_PROCESS_ROLE_EXECUTOR, commonv1.Health_HEALTH_UNAVAILABLE
	if h.executor == nil {
		return p
	}
	p.Abilities = h.executor.Abilities()
	p.Health = commonv1.Health_HEALTH_HEALTHY
	able := 0
	for _, a := range p.GetAbilities() {
		if a.GetAble() {
			able++
		} else if a.GetReason() != commonv1.AbilityReason_ABILITY_REASON_NOT_OFFERED {
			p.Health = commonv1.Health_HEALTH_DEGRADED
		}
	}
	if h.executor.Degraded() {
		p.Health = commonv1.Health_HEALTH_DEGRADED
	}
	if able == 0 {
		p.Health = commonv1.Health_HEALTH_UNAVAILABLE
	}
	return p
}

func copyOf(p *commonv1.ProcessStatus) *commonv1.ProcessStatus {
	if p == nil {
		return &commonv1.ProcessStatus{}
	}
	c, _ := proto.Clone(p).(*commonv1.ProcessStatus)
	return c
}
