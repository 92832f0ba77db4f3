// Package audit is the record: an append-only log in which every record names the one
// before it by its hash, so that a changed, missing or reordered record is found
// (C10.7). Records are typed and hold public values and identifiers only; there is no
// field in which content or a digest of a secret could stand (C10.6).
//
// A record that cannot be taken is refused, and its caller must then not do what the
// record would have said: no record, no permit (C10.10). An intent is only taken while
// there is room for its outcome as well. This log lives in memory and ends with the
// process; it is safe for concurrent use and starts no goroutines.
package audit

import (
	"crypto/sha256"
	"errors"
	"sync"
	"time"

	"fairlead.dev/services/shared/ident"
)

// DefaultMax is how many records a log in memory takes: some 20,000 acts.
const DefaultMax = 1 << 17

// Why a record is not taken.
var (
	ErrFull   = errors.New("audit: the log is full")
	ErrIntent = errors.New("audit: an intent of that id is open already")
)

// Hash is the hash of an entry.
type Hash [sha256.Size]byte

// Entry is one record in its place.
type Entry struct {
	// Seq counts from 1 without gaps.
	Seq uint64
	// UnixMS is when it was recorded. It informs; nothing is decided by it.
	UnixMS int64
	// Record is what happened.
	Record Record
	// Prev is the hash of the entry before; zero for the first.
	Prev Hash
	// Hash covers all of the above.
	Hash Hash
}

// Log is the log.
type Log struct {
	max int

	mu      sync.Mutex
	entries []Entry
	open    map[IntentID]ident.SessionID
}

// New returns an empty log that takes at most max records.
func New(max int) *Log { return &Log{max: max, open: map[IntentID]ident.SessionID{}} }

// Append takes the records in their order, all of them or none. The outcome of an
// intent goes to Settle, not here.
func (l *Log) Append(at time.Time, records ...Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	intents := 0
	for _, r := range records {
		if i, ok := r.(Intent); ok {
			if _, open := l.open[i.ID]; open {
				return ErrIntent
			}
			intents++
		}
	}
	// Each open intent keeps one place for its outcome.
	if len(l.entries)+len(l.open)+len(records)+intents > l.max {
		return ErrFull
	}
	for _, r := range records {
		if i, ok := r.(Intent); ok {
			l.open[i.ID] = i.Session
		}
		l.push(at, r)
	}
	return nil
}

// Settle closes the intent of an outcome, once. It reports whether the intent was
// open until now; for one that was not, nothing is recorded.
func (l *Log) Settle(at time.Time, o Outcome) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	session, open := l.open[o.Intent]
	if !open || session != o.Session {
		return false, nil
	}
	// Its place was kept by Append.
	delete(l.open, o.Intent)
	l.push(at, o)
	return true, nil
}

// Open counts the intents without an outcome whose session is not among the running.
func (l *Log) Open(running func(ident.SessionID) bool) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, session := range l.open {
		if !running(session) {
			n++
		}
	}
	return n
}

// Entries returns a copy of the entries after a sequence number, at most n.
func (l *Log) Entries(after uint64, n int) []Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	if after >= uint64(len(l.entries)) || n <= 0 {
		return nil
	}
	rest := l.entries[after:]
	if len(rest) > n {
		rest = rest[:n]
	}
	return append([]Entry(nil), rest...)
}

// Head returns the number of entries and the hash of the last: what a checkpoint kept
// elsewhere holds.
func (l *Log) Head() (uint64, Hash) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.entries) == 0 {
		return 0, Hash{}
	}
	last := l.entries[len(l.entries)-1]
	return last.Seq, last.Hash
}

func (l *Log) push(at time.Time, r Record) {
	e := Entry{Seq: uint64(len(l.entries)) + 1, UnixMS: at.UnixMilli(), Record: r}
	if len(l.entries) > 0 {
		e.Prev = l.entries[len(l.entries)-1].Hash
	}
	e.Hash = hashOf(e)
	l.entries = append(l.entries, e)
}

// Verify checks a whole log or, with the hash before it, a part of one.
func Verify(entries []Entry, before Hash) error {
	for i, e := range entries {
		if i > 0 && e.Seq != entries[i-1].Seq+1 {
			return &ChainError{Seq: e.Seq, What: "a record is missing before it"}
		}
		if e.Prev != before {
			return &ChainError{Seq: e.Seq, What: "it does not follow the record before it"}
		}
		if e.Record == nil || hashOf(e) != e.Hash {
			return &ChainError{Seq: e.Seq, What: "it was changed"}
		}
		before = e.Hash
	}
	return nil
}
