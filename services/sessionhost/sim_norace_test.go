//go:build !race

package sessionhost

// simDefault is the steps of a run without flags.
const simDefault = simWhole / 10
