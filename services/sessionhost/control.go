package sessionhost

import (
	"context"
	"slices"
	"strings"

	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	policyv1 "fairlead.dev/gen/fairlead/policy/v1"
	"fairlead.dev/services/sessionhost/internal/release"
	machine "fairlead.dev/services/sessionhost/internal/session"
	"fairlead.dev/services/sessionhost/internal/timeline"
	"fairlead.dev/services/shared/ident"
)

// word is one of the user's four words (C12.1): what is told of it, and what is given up
// with it. What it does to the session is in consequences.
type word struct {
	cause hostv1.EndCause
	fact  policyv1.SessionEventKind
	// gives says that leases, and all the executor holds for the session, are given up.
	gives bool
}

// spoken is the user's words, by the mark each leaves.
var spoken = [markKinds]word{
	markStop: {
		cause: hostv1.EndCause_END_CAUSE_USER_STOP, gives: true,
		fact: policyv1.SessionEventKind_SESSION_EVENT_KIND_STOPPED,
	},
	markStopAll: {
		cause: hostv1.EndCause_END_CAUSE_KILL_SWITCH, gives: true,
		fact: policyv1.SessionEventKind_SESSION_EVENT_KIND_STOPPED_ALL,
	},
	markPause: {
		cause: hostv1.EndCause_END_CAUSE_PAUSE,
		fact:  policyv1.SessionEventKind_SESSION_EVENT_KIND_PAUSED,
	},
	markTakeOver: {
		cause: hostv1.EndCause_END_CAUSE_TAKE_OVER, gives: true,
		fact: policyv1.SessionEventKind_SESSION_EVENT_KIND_TAKEN_OVER,
	},
}

// Stop is a mark before it is an action (C4.3): one atomic store of the latest arrival
// number, then a wake-up. It never waits behind agent work.
func (h *Host) Stop(_ context.Context, req *hostv1.StopRequest) (*hostv1.StopResponse, error) {
	s := h.find(ident.SessionID(req.GetSessionId()))
	resp := &hostv1.StopResponse{}
	if s != nil {
		s.stopMark.Store(h.arrivals.Load())
		resp.ActInFlight, resp.Known = s.say(markStop)
	}
	resp.Fence = h.fenceOf(s)
	return resp, nil
}

// Pause holds a session; its leases and what it opened stay.
func (h *Host) Pause(_ context.Context, req *hostv1.PauseRequest) (*hostv1.PauseResponse, error) {
	s := h.find(ident.SessionID(req.GetSessionId()))
	resp := &hostv1.PauseResponse{}
	if s != nil {
		resp.ActInFlight, resp.Known = s.say(markPause)
	}
	resp.Fence = h.fenceOf(s)
	return resp, nil
}

// TakeOver pauses a session and gives up all it was given.
func (h *Host) TakeOver(_ context.Context, req *hostv1.TakeOverRequest) (*hostv1.TakeOverResponse, error) {
	s := h.find(ident.SessionID(req.GetSessionId()))
	resp := &hostv1.TakeOverResponse{}
	if s != nil {
		resp.ActInFlight, resp.Known = s.say(markTakeOver)
	}
	resp.Fence = h.fenceOf(s)
	return resp, nil
}

// StopAll stops every session and lets none be opened until the user resumes. The host's
// own mark comes first: it also covers calls of sessions that are being opened (C4.3).
func (h *Host) StopAll(context.Context, *hostv1.StopAllRequest) (*hostv1.StopAllResponse, error) {
	h.mu.Lock()
	h.stoppedAll = true
	h.mu.Unlock()
	h.stopAllMark.Store(h.arrivals.Load())
	h.books.note(timeline.Event{Kind: timeline.StoppedAll})
	resp := &hostv1.StopAllResponse{}
	h.each(func(s *session) {
		if !s.holds().Has(machine.HeldStopped) {
			resp.Stopped++
		}
		s.mark(mark{kind: markStopAll})
	})
	h.each(func(s *session) {
		if flying, _ := s.say(markStopAll); flying {
			resp.ActsInFlight++
		}
	})
	resp.Fence = h.fence(0)
	return resp, nil
}

// say says one of the four words, and returns when it is in force.
func (s *session) say(k markKind) (flying, known bool) {
	s.mark(mark{kind: k})
	// The act may have answered its cancellation already.
	err := s.do(func(st *state) { flying = st.cutShort })
	return flying, err == nil
}

// holds reads what holds the session now.
func (s *session) holds() (held machine.Holds) {
	_ = s.do(func(st *state) { held = st.machine.Holds })
	return held
}

// afterWord does what goes with a word, off its path: what is given up is let go of,
// subscribers are told, the record says who did it (C10.2, C12.4). Done twice it is done
// once (C9.4).
func (h *Host) afterWord(s *session, k markKind) {
	w, g := spoken[k], h.executorGeneration()
	begun := s.begunOn(g)
	if w.gives {
		begun = s.letGo(g)
	}
	s.inOrder(func() {
		h.mu.Lock()
		p, e := h.policy, h.executor
		h.mu.Unlock()
		if begun && w.gives && e != nil {
			// What is in flight was cancelled by name and still tells its outcome.
			e.EndSession(context.Background(), s.id)
		}
		if p != nil && w.gives {
			if _, err := p.Revoke(context.Background(), s.id, ""); err != nil {
				h.cfg.Log.Warn("leases could not be revoked")
			}
		}
		h.recordFact(s, w.fact)
	})
	if begun { // a session that never began holds nothing that could be let go of (C9.4)
		h.releases.Publish(release.Event{
			Executor: g, Sessions: []ident.SessionID{s.id},
			Reason: int32(hostv1.ReleaseReason_RELEASE_REASON_SESSION_CLEARED), Cause: int32(w.cause),
		})
	}
}

// Resume lifts the user's stop and pause; of one session, or with no id of all, and then
// sessions may be opened again.
func (h *Host) Resume(_ context.Context, req *hostv1.ResumeRequest) (*hostv1.ResumeResponse, error) {
	resp := &hostv1.ResumeResponse{}
	if id := ident.SessionID(req.GetSessionId()); id != "" {
		s := h.find(id)
		resp.Resumed = s != nil && s.resume()
		resp.Fence = h.fenceOf(s)
		return resp, nil
	}
	h.mu.Lock()
	resp.Resumed, h.stoppedAll = h.stoppedAll, false
	h.mu.Unlock()
	if resp.GetResumed() {
		h.books.note(timeline.Event{Kind: timeline.Resumed})
	}
	h.each(func(s *session) { resp.Resumed = s.resume() || resp.GetResumed() })
	resp.Fence = h.fence(0)
	return resp, nil
}

// resume lifts what the user holds a session by, and reports whether that was anything.
// It returns when policy has heard of it, because policy gives no lease before.
func (s *session) resume() bool {
	held := s.holds()
	s.mark(mark{kind: markResume})
	if err := s.do(func(*state) {}); err != nil {
		return false
	}
	s.mu.Lock()
	booked := s.booked
	s.mu.Unlock()
	if booked != nil {
		<-booked
	}
	return held.Has(machine.HeldStopped) || held.Has(machine.Paused)
}

// ListSessions shows the user whom to stop.
func (h *Host) ListSessions(context.Context, *hostv1.ListSessionsRequest) (*hostv1.ListSessionsResponse, error) {
	resp := &hostv1.ListSessionsResponse{}
	h.each(func(s *session) {
		one := &hostv1.OpenSession{SessionId: string(s.id), ClientName: s.client.GetClientName(), Uid: s.uid}
		err := s.do(func(st *state) {
			one.Base, one.Holds = baseToWire[st.machine.Base], holdsToWire(st.machine.Holds)
			one.ActInFlight = st.inflight != nil
			if f := st.frames.Current(); f != nil {
				one.AppId = f.Window.App
			}
		})
		if err == nil {
			resp.Sessions = append(resp.Sessions, one)
		}
	})
	slices.SortFunc(resp.Sessions, func(a, b *hostv1.OpenSession) int {
		return strings.Compare(a.GetSessionId(), b.GetSessionId())
	})
	resp.Fence = h.fence(0)
	return resp, nil
}

// recordFact puts a fact about a session on policy's record.
func (h *Host) recordFact(s *session, kind policyv1.SessionEventKind) {
	h.mu.Lock()
	p := h.policy
	h.mu.Unlock()
	if p == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), settleTimeout)
	defer cancel()
	if err := p.Append(ctx, &policyv1.SessionFact{Kind: kind, SessionId: string(s.id)}); err != nil {
		h.cfg.Log.Warn("a fact about a session could not be recorded")
	}
}
