package harness

import (
	"context"
	"time"

	hostv1 "fairlead.dev/gen/fairlead/host/v1"
)

// pollEvery is how often something that cannot be waited for is asked again.
const pollEvery = 2 * time.Millisecond

// User is the person's side.
type User struct {
	Control hostv1.ControlServiceClient
	Status  hostv1.StatusServiceClient

	s *System
}

// User connects to the user's socket.
func (s *System) User() *User {
	s.tb.Helper()
	cc := s.Dial("user")
	return &User{Control: hostv1.NewControlServiceClient(cc), Status: hostv1.NewStatusServiceClient(cc), s: s}
}

// Stop stops a session.
func (u *User) Stop(session string) *hostv1.StopResponse {
	u.s.tb.Helper()
	r, err := u.Control.Stop(u.s.Context(), &hostv1.StopRequest{SessionId: session})
	u.s.must(err)
	return r
}

// Sessions lists the open sessions.
func (u *User) Sessions() []*hostv1.OpenSession {
	u.s.tb.Helper()
	r, err := u.Control.ListSessions(u.s.Context(), &hostv1.ListSessionsRequest{})
	u.s.must(err)
	return r.GetSessions()
}

// Resume lifts a stop.
func (u *User) Resume(session string) *hostv1.ResumeResponse {
	u.s.tb.Helper()
	r, err := u.Control.Resume(u.s.Context(), &hostv1.ResumeRequest{SessionId: session})
	u.s.must(err)
	return r
}

// Pause pauses a session.
func (u *User) Pause(session string) *hostv1.PauseResponse {
	u.s.tb.Helper()
	r, err := u.Control.Pause(u.s.Context(), &hostv1.PauseRequest{SessionId: session})
	u.s.must(err)
	return r
}

// TakeOver takes over from a session.
func (u *User) TakeOver(session string) *hostv1.TakeOverResponse {
	u.s.tb.Helper()
	r, err := u.Control.TakeOver(u.s.Context(), &hostv1.TakeOverRequest{SessionId: session})
	u.s.must(err)
	return r
}

// StopAll stops everything.
func (u *User) StopAll() *hostv1.StopAllResponse {
	u.s.tb.Helper()
	r, err := u.Control.StopAll(u.s.Context(), &hostv1.StopAllRequest{})
	u.s.must(err)
	return r
}

// Timeline is what happened to a session, as kinds in order.
func (u *User) Timeline(session string) []*hostv1.TimelineEvent {
	u.s.tb.Helper()
	r, err := u.Control.GetTimeline(u.s.Context(), &hostv1.GetTimelineRequest{SessionId: session})
	u.s.must(err)
	return r.GetEvents()
}

// Counts is what GetStatus says.
func (u *User) Counts() *hostv1.GetStatusResponse { u.s.tb.Helper(); return u.status() }

// Lanes returns how many windows are being acted on.
func (u *User) Lanes() uint32 { u.s.tb.Helper(); return u.status().GetLanesHeld() }

// LanesWaiting returns how many acts wait for their window.
func (u *User) LanesWaiting() uint32 { u.s.tb.Helper(); return u.status().GetLanesWaiting() }

// Waiting returns how many calls wait in the queues of sessions.
func (u *User) Waiting() uint32 { u.s.tb.Helper(); return u.status().GetCallsWaiting() }

func (u *User) status() *hostv1.GetStatusResponse {
	u.s.tb.Helper()
	r, err := u.Status.GetStatus(u.s.Context(), &hostv1.GetStatusRequest{})
	u.s.must(err)
	return r
}

// Context is bounded by the test and by the longest call.
func (s *System) Context() context.Context {
	ctx, cancel := context.WithTimeout(s.tb.Context(), callMax)
	s.tb.Cleanup(cancel)
	return ctx
}

// Await polls until the condition holds, or fails the test.
func (s *System) Await(what string, holds func() bool) {
	s.tb.Helper()
	deadline := time.NewTimer(startMax)
	defer deadline.Stop()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline.C:
			s.tb.Fatalf("waited in vain: %s", what)
		}
	}
}

// AwaitReached waits until so many acts reached the desk since the mark.
func (s *System) AwaitReached(mark, n int) {
	s.tb.Helper()
	s.Await("an act reaches the desk", func() bool { return s.Mark() >= mark+n })
}

// AwaitWaiting waits until so many calls wait in a session's queue.
func (a *Agent) AwaitWaiting(s *System, n uint32) {
	s.tb.Helper()
	s.Await("calls wait in the queue", func() bool { return a.State().GetWaiting() == n })
}

// State returns the session's state.
func (a *Agent) State() *hostv1.GetSessionResponse {
	a.tb.Helper()
	r, err := a.Lease.GetSession(a.Context(), &hostv1.GetSessionRequest{Session: a.Session})
	a.no("GetSession", r.GetRefusal(), err)
	return r
}

// Start sends an act request and returns where its answer will come. It may be called
// for several requests; each uses the agent's fence of now.
func (a *Agent) Start(ctx context.Context, req *hostv1.ActRequest) <-chan Answer {
	a.Fill(req)
	out := make(chan Answer, 1)
	go func() {
		r, err := a.Acts.Act(ctx, req)
		out <- Answer{r, err}
	}()
	return out
}

// Answer is what an act was answered.
type Answer struct {
	*hostv1.ActResponse
	Err error
}

// Wait waits for an answer and takes its fence and observation.
func (a *Agent) Wait(from <-chan Answer) Answer {
	a.tb.Helper()
	select {
	case r := <-from:
		a.Fence = orElse(r.GetFence(), a.Fence)
		if r.GetObservation() != nil {
			a.Frame = r.GetObservation()
		}
		return r
	case <-a.Context().Done():
		a.tb.Fatal("no answer")
		return Answer{}
	}
}
