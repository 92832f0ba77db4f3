// Package release tells subscribers what was let go of (C9.4). A release states
// facts; a consumer never infers a generation change from the reason. Subscribers
// are bounded and dropped, never waited for.
package release

import (
	"sync"

	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
)

// Bounds of subscribers.
const (
	subscribersMax = 32
	perSessionMax  = 2
	queuedMax      = 256
)

// Event is one release fact. Reason and Cause are numbers of the wire's vocabularies.
type Event struct {
	Executor           ident.Generation
	GenerationReleased bool
	Sessions           []ident.SessionID
	Reason, Cause      int32
	OutcomesUnknown    bool
}

// Broker fans events out.
type Broker struct {
	mu   sync.Mutex
	subs map[*Subscription]bool
}

// Subscription is one subscriber's queue. Events is closed when the broker lets go of
// the subscriber; Lagged then says whether it was too slow.
type Subscription struct {
	Events  <-chan Event
	events  chan Event
	session ident.SessionID
	lagged  bool
	broker  *Broker
}

// New returns a broker without subscribers.
func New() *Broker { return &Broker{subs: map[*Subscription]bool{}} }

// Subscribe starts a subscription to the facts about one session.
func (b *Broker) Subscribe(session ident.SessionID) (*Subscription, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	own := 0
	for s := range b.subs {
		if s.session == session {
			own++
		}
	}
	if len(b.subs) >= subscribersMax || own >= perSessionMax {
		return nil, refusal.New(refusal.Busy)
	}
	ch := make(chan Event, queuedMax)
	s := &Subscription{Events: ch, events: ch, session: session, broker: b}
	b.subs[s] = true
	return s, nil
}

// Publish tells every subscriber whose session the event lists, with that session only.
func (b *Broker) Publish(e Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for s := range b.subs {
		for _, id := range e.Sessions {
			if id == s.session {
				own := e
				own.Sessions = []ident.SessionID{id}
				b.offer(s, own)
				break
			}
		}
	}
}

func (b *Broker) offer(s *Subscription, e Event) {
	select {
	case s.events <- e:
	default:
		s.lagged = true
		b.drop(s)
	}
}

func (b *Broker) drop(s *Subscription) {
	if b.subs[s] {
		delete(b.subs, s)
		close(s.events)
	}
}

// End ends all subscriptions.
func (b *Broker) End() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for s := range b.subs {
		b.drop(s)
	}
}

// Lagged reports whether the subscription ended because its queue was full.
func (s *Subscription) Lagged() bool {
	s.broker.mu.Lock()
	defer s.broker.mu.Unlock()
	return s.lagged
}

// Close ends the subscription.
func (s *Subscription) Close() {
	s.broker.mu.Lock()
	defer s.broker.mu.Unlock()
	s.broker.drop(s)
}
