// Package lease keeps the leases of all sessions: who may do what, where, until when
// (C10.1, C10.2). It is a plain value with one owner: no clock, no lock, no input or
// output. Time is passed in and is the boot clock, so that setting the wall clock
// gives nobody more time. A lease never lives longer than it was given for, and after
// its expiry, its revocation or the end of its session it covers nothing.
package lease

import (
	"errors"
	"slices"
	"strings"
	"time"

	"fairlead.dev/services/shared/ident"
)

// PerSession is how many leases one session may hold.
const PerSession = 256

// Class is the number of a lease class.
type Class int32

// Instant is a time on the boot clock.
type Instant = time.Duration

// Scope is how much a target names.
type Scope uint8

// Every scope.
const (
	// Desk is the desk as a list of apps and windows.
	Desk Scope = 1
	// App is every window of one app.
	App Scope = 2
	// Window is one window and its popups.
	Window Scope = 3
)

// Target is what a lease or a question is about.
type Target struct {
	Scope Scope
	// App is the app, for App and Window.
	App string
	// Window is the window, for Window.
	Window ident.Window
	// Dialogs includes dialogs that belong to the window, for Window.
	Dialogs bool
}

// Lease is one lease.
type Lease struct {
	ID      ident.LeaseID
	Session ident.SessionID
	Class   Class
	Target  Target
	Expires Instant
	// Rule is the rule that gave it.
	Rule string
}

// Live reports whether the lease still allows anything.
func (l Lease) Live(now Instant) bool { return now < l.Expires }

// Covers reports whether a lease on t allows what is asked about other. A window is
// covered by a lease on exactly that window or on its app; dialogs of a window are
// covered only where the lease includes them; an app only by a lease on the app; the
// desk only by a lease on the desk.
func (t Target) Covers(other Target) bool {
	switch {
	case t.Scope == Desk || other.Scope == Desk:
		return t.Scope == Desk && other.Scope == Desk
	case t.App != other.App:
		return false
	case t.Scope == App:
		return other.Scope == App || other.Scope == Window
	case t.Scope == Window && other.Scope == Window:
		return t.Window == other.Window && (t.Dialogs || !other.Dialogs)
	default:
		return false
	}
}

// Why a lease is not taken.
var (
	ErrFull  = errors.New("lease: the session holds as many leases as it may")
	ErrTaken = errors.New("lease: the id is in use")
	ErrOver  = errors.New("lease: it would be over before it began")
)

// Store holds the leases that were given and have not ended.
type Store struct {
	sessions map[ident.SessionID]map[ident.LeaseID]Lease
}

// New returns an empty store.
func New() *Store { return &Store{sessions: map[ident.SessionID]map[ident.LeaseID]Lease{}} }

// Give adds a lease. Leases that have run out count until Expire has taken them.
func (s *Store) Give(l Lease, now Instant) error {
	held := s.sessions[l.Session]
	switch _, taken := held[l.ID]; {
	case taken:
		return ErrTaken
	case !l.Live(now):
		return ErrOver
	case len(held) >= PerSession:
		return ErrFull
	}
	if held == nil {
		held = map[ident.LeaseID]Lease{}
		s.sessions[l.Session] = held
	}
	held[l.ID] = l
	return nil
}

// Covering returns the lease of the session that covers class and target: of several
// the narrowest, then the one that lives longest.
func (s *Store) Covering(session ident.SessionID, class Class, target Target, now Instant) (Lease, bool) {
	var best Lease
	found := false
	for _, l := range s.sessions[session] {
		if l.Class != class || !l.Live(now) || !l.Target.Covers(target) {
			continue
		}
		if !found || before(l, best) {
			best, found = l, true
		}
	}
	return best, found
}

func before(a, b Lease) bool {
	if a.Target.Scope != b.Target.Scope {
		return a.Target.Scope > b.Target.Scope
	}
	if a.Expires != b.Expires {
		return a.Expires > b.Expires
	}
	return a.ID < b.ID
}

// Any returns a lease of the session of that class, whatever its target; the one that
// lives longest.
func (s *Store) Any(session ident.SessionID, class Class, now Instant) (Lease, bool) {
	var best Lease
	found := false
	for _, l := range s.sessions[session] {
		if l.Class != class || !l.Live(now) {
			continue
		}
		if !found || l.Expires > best.Expires || (l.Expires == best.Expires && l.ID < best.ID) {
			best, found = l, true
		}
	}
	return best, found
}

// Has reports whether that lease of the session is live.
func (s *Store) Has(session ident.SessionID, id ident.LeaseID, now Instant) bool {
	l, ok := s.sessions[session][id]
	return ok && l.Live(now)
}

// Live returns the live leases of a session, those that end first in front.
func (s *Store) Live(session ident.SessionID, now Instant) []Lease {
	var out []Lease
	for _, l := range s.sessions[session] {
		if l.Live(now) {
			out = append(out, l)
		}
	}
	return ordered(out)
}

// Revoke ends one lease. It reports whether the lease was live until now.
func (s *Store) Revoke(session ident.SessionID, id ident.LeaseID, now Instant) (Lease, bool) {
	l, ok := s.sessions[session][id]
	if !ok || !l.Live(now) {
		return Lease{}, false
	}
	s.remove(l)
	return l, true
}

// RevokeAll ends all leases of a session and returns those that were live until now.
func (s *Store) RevokeAll(session ident.SessionID, now Instant) []Lease {
	out := s.Live(session, now)
	for _, l := range out {
		s.remove(l)
	}
	return out
}

// Expire removes the leases that have run out and returns them.
func (s *Store) Expire(now Instant) []Lease {
	var out []Lease
	for _, held := range s.sessions {
		for _, l := range held {
			if !l.Live(now) {
				out = append(out, l)
			}
		}
	}
	for _, l := range out {
		s.remove(l)
	}
	return ordered(out)
}

// Next returns when the next lease runs out.
func (s *Store) Next() (Instant, bool) {
	var next Instant
	found := false
	for _, held := range s.sessions {
		for _, l := range held {
			if !found || l.Expires < next {
				next, found = l.Expires, true
			}
		}
	}
	return next, found
}

func (s *Store) remove(l Lease) {
	held := s.sessions[l.Session]
	delete(held, l.ID)
	if len(held) == 0 {
		delete(s.sessions, l.Session)
	}
}

func ordered(ls []Lease) []Lease {
	slices.SortFunc(ls, func(a, b Lease) int {
		if a.Expires != b.Expires {
			if a.Expires < b.Expires {
				return -1
			}
			return 1
		}
		return strings.Compare(string(a.ID), string(b.ID))
	})
	return ls
}
