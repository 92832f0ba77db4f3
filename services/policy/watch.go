package policy

import (
	policyv1 "fairlead.dev/gen/fairlead/policy/v1"
)

// change is what happened to a lease: exactly one of the two. It is shared by all
// watchers, so nobody changes it.
type change struct {
	granted *policyv1.LeaseGranted
	ended   *policyv1.LeaseEnded
}

// Bounds of watchers (protocol.md, Limits).
const (
	watchersMax = 32
	watchQueue  = 1024 // several sessions that end with all the leases they may have drop no host
)

// watcher is one open WatchLeaseChanges. Its channel is closed when it fell behind or
// when policy ends; nobody ever waits for it.
type watcher struct {
	events chan change
}

// watch adds a watcher; nil when there are too many, or policy is ending.
func (p *Policy) watch() *watcher {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.watchers) >= watchersMax {
		return nil
	}
	w := &watcher{events: make(chan change, watchQueue)}
	p.watchers[w] = struct{}{}
	return w
}

func (p *Policy) unwatch(w *watcher) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop(w)
}

// publish hands an event to every watcher and drops those that have no room for it. The
// caller holds the lock under which the lease changed, so that a watcher hears of
// changes in the order in which they happened.
func (p *Policy) publish(e change) {
	for w := range p.watchers {
		select {
		case w.events <- e:
		default:
			p.drop(w)
		}
	}
}

// drop closes a watcher once. The caller holds the lock.
func (p *Policy) drop(w *watcher) {
	if _, ok := p.watchers[w]; ok {
		delete(p.watchers, w)
		close(w.events)
	}
}

// closeWatchers ends every watch for good.
func (p *Policy) closeWatchers() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for w := range p.watchers {
		p.drop(w)
	}
}
