package sessionhost

import (
	"time"

	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	policyv1 "fairlead.dev/gen/fairlead/policy/v1"
	"fairlead.dev/services/shared/peersock"
)

// clientGone is how long nobody may use a session before what it holds of the desk is
// let go of (C9.3).
const clientGone = 10 * time.Second

// usersMax bounds the connections a session remembers; one more is not told apart from
// those that are there.
const usersMax = 64

// usedBy notes that a connection uses the session.
func (s *session) usedBy(c peersock.ConnID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users[c] || len(s.users) >= usersMax || s.closed || !s.host.there(c) {
		return
	}
	s.users[c] = true
	if s.gone != nil {
		s.gone.Stop()
		s.gone = nil
	}
}

// left notes that a connection has closed. When it was the last one the clock starts.
func (s *session) left(c peersock.ConnID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.users[c] {
		return
	}
	delete(s.users, c)
	if len(s.users) == 0 && !s.closed {
		s.gone = time.AfterFunc(clientGone, s.abandoned)
	}
}

// abandoned lets go of what an absent client holds of the desk: its running call is
// cancelled by name, its keyboard and what it opened are released. Frames and leases keep
// their clocks (C9.3).
func (s *session) abandoned() {
	s.mu.Lock()
	back := len(s.users) > 0 || s.closed
	s.mu.Unlock()
	if back {
		return
	}
	s.mark(mark{kind: markClientGone})
	s.host.cleared(s, hostv1.EndCause_END_CAUSE_CLIENT_GONE)
	s.inOrder(func() {
		s.host.recordFact(s, policyv1.SessionEventKind_SESSION_EVENT_KIND_CLIENT_GONE)
	})
}

// connected and gone keep the connections that are there: a call whose connection closed
// while it was being read must not count as a user for ever.
func (h *Host) connected(c peersock.ConnID) {
	h.mu.Lock()
	h.conns[c] = true
	h.mu.Unlock()
}

func (h *Host) there(c peersock.ConnID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.conns[c]
}

func (h *Host) gone(c peersock.ConnID) {
	h.mu.Lock()
	delete(h.conns, c)
	h.mu.Unlock()
	h.each(func(s *session) { s.left(c) })
}
