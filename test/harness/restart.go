package harness

import (
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
)

// StopExecutor ends the executor incarnation and waits until the host knows.
func (s *System) StopExecutor() {
	s.mu.Lock()
	stop, end := s.stopExecutor, s.executorEnd
	s.mu.Unlock()
	stop()
	s.hangUp()
	<-end
	s.await(func(st *hostv1.GetStatusResponse) bool { return st.GetFence().GetExecutor() == 0 })
}

// StopPolicy ends the policy generation and waits until the host knows.
func (s *System) StopPolicy() {
	s.mu.Lock()
	stop := s.stopPolicy
	s.mu.Unlock()
	stop()
	s.hangUp()
	s.await(func(st *hostv1.GetStatusResponse) bool { return st.GetFence().GetPolicy() == 0 })
}

// RestartPolicy ends policy and starts it again, and with it the executor, which
// believes the old one's key: as the launcher does.
func (s *System) RestartPolicy() {
	s.StopExecutor()
	s.StopPolicy()
	s.StartPolicy()
	s.StartExecutor()
}

// RestartExecutor ends the executor and starts another incarnation on the same desk.
func (s *System) RestartExecutor() {
	s.StopExecutor()
	s.StartExecutor()
}
