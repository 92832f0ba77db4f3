// Package settle decides how long to wait for a window to come to rest after an act
// (C7.3): until it has been quiet for a while, at least long enough for a first change
// to show, and never longer than a bound. It is a pure value; time is passed in.
package settle

import "time"

// Defaults of a wait.
const (
	// Quiet is how long without a change counts as settled.
	Quiet = 80 * time.Millisecond
	// First is how long a first change may take to show.
	First = 150 * time.Millisecond
	// Most is the longest wait.
	Most = 2500 * time.Millisecond
)

// Wait is one wait. Times are since its start.
type Wait struct {
	most    time.Duration
	last    time.Duration
	changed bool
}

// Begin starts a wait of at most the given time; zero means the default.
func Begin(most time.Duration) Wait {
	if most <= 0 || most > Most {
		most = Most
	}
	return Wait{most: most}
}

// Change notes that something changed.
func (w *Wait) Change(at time.Duration) { w.changed, w.last = true, at }

// Left says how much longer to wait if nothing more changes; zero means settled.
func (w *Wait) Left(now time.Duration) time.Duration {
	until := First
	if w.changed {
		until = max(w.last+Quiet, First)
	}
	return max(0, min(until, w.most)-now)
}

// Over reports whether the bound is reached.
func (w *Wait) Over(now time.Duration) bool { return now >= w.most }
