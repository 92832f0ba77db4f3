// Package snapshots keeps what a session looked at, until it is spent, superseded,
// expired or evicted (C6.5). Live, spent, superseded, expired, evicted and unknown
// are six different answers. It is a plain value: no clock, no goroutine, no lock;
// time is passed in, and whoever owns a Store serialises its use.
package snapshots

import (
	"time"

	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
)

const (
	// LiveMax is how many snapshots a session keeps.
	LiveMax = 8
	// Lifetime is how long one may be used.
	Lifetime = 120 * time.Second
	// deadMax is how many ends are remembered, to tell the answers apart; an older one
	// is unknown, which refuses just the same.
	deadMax = 64
)

// Store is the snapshots of one session.
type Store[T any] struct {
	live map[ident.SnapshotID]*entry[T]
	// order lists live ids, oldest first.
	order []ident.SnapshotID
	dead  map[ident.SnapshotID]refusal.Answer
	// graves lists dead ids, oldest first.
	graves []ident.SnapshotID
}

type entry[T any] struct {
	window ident.Window
	taken  time.Duration
	body   T
	// sending says that an act on it is past the point of no return. It is spent for
	// everyone else, and comes back only with proof that nothing was sent.
	sending bool
}

// New returns an empty store.
func New[T any]() *Store[T] {
	return &Store[T]{live: map[ident.SnapshotID]*entry[T]{}, dead: map[ident.SnapshotID]refusal.Answer{}}
}

// Add registers a snapshot of a window. It supersedes earlier ones of the same window,
// and nothing else does. The zero window supersedes nothing: a resolution.
func (s *Store[T]) Add(id ident.SnapshotID, w ident.Window, now time.Duration, body T) {
	s.expire(now)
	if w != (ident.Window{}) {
		for _, other := range append([]ident.SnapshotID(nil), s.order...) {
			if s.live[other].window == w {
				s.bury(other, refusal.AnswerSnapshotSuperseded)
			}
		}
	}
	for len(s.order) >= LiveMax {
		s.bury(s.order[0], refusal.AnswerSnapshotEvicted)
	}
	s.live[id] = &entry[T]{window: w, taken: now, body: body}
	s.order = append(s.order, id)
}

// Find returns a live snapshot, or the answer that says why there is none.
func (s *Store[T]) Find(id ident.SnapshotID, now time.Duration) (T, refusal.Answer) {
	s.expire(now)
	var none T
	e, ok := s.live[id]
	switch {
	case !ok:
		return none, s.end(id)
	case e.sending:
		return none, refusal.AnswerSnapshotSpent
	default:
		return e.body, 0
	}
}

// Spend takes the snapshot for one act, at the moment before the send. Zero means taken.
func (s *Store[T]) Spend(id ident.SnapshotID, now time.Duration) refusal.Answer {
	if _, answer := s.Find(id, now); answer != 0 {
		return answer
	}
	s.live[id].sending = true
	return 0
}

// Restore gives a snapshot back when nothing was sent: a refused dispatch does not spend.
func (s *Store[T]) Restore(id ident.SnapshotID) {
	if e, ok := s.live[id]; ok {
		e.sending = false
	}
}

// Consume ends a snapshot whose act was, or may have been, sent.
func (s *Store[T]) Consume(id ident.SnapshotID) {
	if _, ok := s.live[id]; ok {
		s.bury(id, refusal.AnswerSnapshotSpent)
		return
	}
	if _, ok := s.dead[id]; ok {
		// Superseded or evicted while the act was under way: that it was spent is the stronger fact.
		s.dead[id] = refusal.AnswerSnapshotSpent
	}
}

// Len is how many are live or being spent.
func (s *Store[T]) Len() int { return len(s.order) }

func (s *Store[T]) end(id ident.SnapshotID) refusal.Answer {
	if a, ok := s.dead[id]; ok {
		return a
	}
	return refusal.AnswerSnapshotUnknown
}

func (s *Store[T]) expire(now time.Duration) {
	for len(s.order) > 0 && now-s.live[s.order[0]].taken > Lifetime {
		s.bury(s.order[0], refusal.AnswerSnapshotExpired)
	}
}

func (s *Store[T]) bury(id ident.SnapshotID, answer refusal.Answer) {
	delete(s.live, id)
	for i, o := range s.order {
		if o == id {
			s.order = append(s.order[:i], s.order[i+1:]...)
			break
		}
	}
	if len(s.graves) == deadMax {
		delete(s.dead, s.graves[0])
		s.graves = s.graves[1:]
	}
	s.dead[id] = answer
	s.graves = append(s.graves, id)
}
