//go:build race

package sessionhost

// simDefault is fewer steps under the race detector, which has nothing to find in one
// goroutine.
const simDefault = simWhole / 100
