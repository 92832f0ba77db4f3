package harness

import (
	"context"
	"net"
	"path/filepath"
	"testing"
	"time"

	hostv1 "fairlead.dev/gen/fairlead/host/v1"
)

// Facts is a subscription to the release facts of a session.
type Facts struct {
	a      *Agent
	events chan *hostv1.WatchReleasesResponse
}

// Watch subscribes to the session's release facts until the test ends.
func (a *Agent) Watch() *Facts {
	a.tb.Helper()
	return a.WatchUntil(a.tb.Context())
}

// WatchUntil subscribes until the context ends. It returns when the subscription stands.
func (a *Agent) WatchUntil(ctx context.Context) *Facts {
	a.tb.Helper()
	ctx, cancel := context.WithCancel(ctx)
	stream, err := a.Release.WatchReleases(ctx, &hostv1.WatchReleasesRequest{Session: a.Session})
	if err == nil {
		_, err = stream.Header()
	}
	if err != nil {
		a.tb.Fatalf("WatchReleases: %v", err)
	}
	f := &Facts{a: a, events: make(chan *hostv1.WatchReleasesResponse, 64)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			e, err := stream.Recv()
			if err != nil {
				return
			}
			f.events <- e
		}
	}()
	a.tb.Cleanup(func() { cancel(); <-done })
	return f
}

// Next returns the next fact.
func (f *Facts) Next() *hostv1.WatchReleasesResponse {
	f.a.tb.Helper()
	timer := time.NewTimer(callMax)
	defer timer.Stop()
	select {
	case e := <-f.events:
		return e
	case <-timer.C:
		f.a.tb.Fatal("no release fact came")
		return nil
	}
}

// Until returns the next fact of a reason, past facts of others.
func (f *Facts) Until(reason hostv1.ReleaseReason) *hostv1.WatchReleasesResponse {
	f.a.tb.Helper()
	for {
		if e := f.Next(); e.GetReason() == reason {
			return e
		}
	}
}

// None fails the test when a fact came. It cannot prove that none will.
func (f *Facts) None() {
	f.a.tb.Helper()
	select {
	case e := <-f.events:
		f.a.tb.Errorf("a release fact came: %v", e)
	default:
	}
}

// Raw connects to one of the audiences' sockets without speaking any protocol, until
// the test ends, which may be later than the system does.
func (s *System) Raw(tb testing.TB, audience string) net.Conn {
	tb.Helper()
	c, err := net.Dial("unix", filepath.Join(s.Dir, audience, "host.sock"))
	s.must(err)
	tb.Cleanup(func() { _ = c.Close() })
	return c
}

// NoneOf fails when one of the facts that have arrived has this reason.
func (f *Facts) NoneOf(reason hostv1.ReleaseReason) {
	f.a.tb.Helper()
	for {
		select {
		case e := <-f.events:
			if e.GetReason() == reason {
				f.a.tb.Errorf("a release fact came: %v", e)
			}
		default:
			return
		}
	}
}
