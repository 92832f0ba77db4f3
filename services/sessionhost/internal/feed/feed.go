// Package feed tells subscribers what happened. A subscriber is dropped when it is too
// slow and never waited for: publishing takes no longer for one that does not read. How
// many there are and how much is queued for each is bounded, and so is each owner's
// share.
//
// A feed starts no goroutines and may be used by any number of them. It never looks into
// an event: what a subscriber may see of it is the subscriber's see.
package feed

import (
	"sync"

	"fairlead.dev/services/shared/refusal"
)

// Config is the bounds of a feed. A bound of zero lets nobody in.
type Config struct {
	// Subscribers is how many there may be, PerOwner how many of one owner; one more is BUSY.
	Subscribers, PerOwner int
	// Queued is how many events wait for one subscriber; with one more it has lagged.
	Queued int
}

// Feed fans events out, to each subscriber in the order of Publish.
type Feed[E any] struct {
	cfg Config

	mu    sync.Mutex
	subs  map[*Subscription[E]]bool
	ended bool
}

// Subscription is one subscriber's queue. Events is closed when the feed lets go of the
// subscriber, after what was queued; Lagged then says whether it was too slow.
type Subscription[E any] struct {
	Events <-chan E

	events chan E
	owner  string
	see    func(E) (E, bool)
	lagged bool
	feed   *Feed[E]
}

// New returns a feed without subscribers.
func New[E any](cfg Config) *Feed[E] {
	return &Feed[E]{cfg: cfg, subs: map[*Subscription[E]]bool{}}
}

// Subscribe starts a subscription. see returns an event as this subscriber may see it, or
// false for one it may not see at all. It is called while the feed is locked: it must be
// quick, may not call the feed, and may not change what the event points to.
func (f *Feed[E]) Subscribe(owner string, see func(E) (E, bool)) (*Subscription[E], error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		return nil, refusal.New(refusal.ServiceUnavailable)
	}
	own := 0
	for s := range f.subs {
		if s.owner == owner {
			own++
		}
	}
	if len(f.subs) >= f.cfg.Subscribers || own >= f.cfg.PerOwner {
		return nil, refusal.New(refusal.Busy)
	}
	ch := make(chan E, f.cfg.Queued)
	s := &Subscription[E]{Events: ch, events: ch, owner: owner, see: see, feed: f}
	f.subs[s] = true
	return s, nil
}

// Count returns how many subscribers there are.
func (f *Feed[E]) Count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.subs)
}

// Publish tells every subscriber that may see the event. It never waits.
func (f *Feed[E]) Publish(e E) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for s := range f.subs {
		if seen, ok := s.see(e); ok {
			f.offer(s, seen)
		}
	}
}

func (f *Feed[E]) offer(s *Subscription[E], e E) {
	select {
	case s.events <- e:
	default:
		s.lagged = true
		f.drop(s)
	}
}

func (f *Feed[E]) drop(s *Subscription[E]) {
	if f.subs[s] {
		delete(f.subs, s)
		close(s.events)
	}
}

// End ends all subscriptions and takes no more.
func (f *Feed[E]) End() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = true
	for s := range f.subs {
		f.drop(s)
	}
}

// Lagged reports whether the subscription ended because its queue was full.
func (s *Subscription[E]) Lagged() bool {
	s.feed.mu.Lock()
	defer s.feed.mu.Unlock()
	return s.lagged
}

// Close ends the subscription. It may be called at any time and more than once.
func (s *Subscription[E]) Close() {
	s.feed.mu.Lock()
	defer s.feed.mu.Unlock()
	s.feed.drop(s)
}
