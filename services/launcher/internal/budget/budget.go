// Package budget counts the failures of a process and says when it may start again
// (C9.1). It is a pure value: no clock, no waiting.
package budget

import "time"

// Limits of restarting (protocol.md, Limits).
const (
	// Restarts is how many times in a row a process is started again.
	Restarts = 3
	// BackoffFirst is the wait before the first restart; each further wait is twice as long.
	BackoffFirst = 50 * time.Millisecond
	// Healthy is how long a process must have run for its earlier failures to be forgotten.
	Healthy = 60 * time.Second
)

// Budget is the count of one process.
type Budget struct{ failures int }

// Failed takes note of a failure after the process ran for some time, and returns the
// budget left, how long to wait, and whether the process may start again at all.
func (b Budget) Failed(ran time.Duration) (next Budget, wait time.Duration, again bool) {
	if ran >= Healthy {
		b.failures = 0
	}
	b.failures++
	if b.failures > Restarts {
		return b, 0, false
	}
	return b, BackoffFirst << (b.failures - 1), true
}
