package sessionhost

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/sessionhost/internal/keyboard"
	machine "fairlead.dev/services/sessionhost/internal/session"
	"fairlead.dev/services/shared/refusal"
)

// count is how often everything a run is about was reached.
type count struct {
	pairs   [numStatuses][numEvents]int
	grid    [numBases][machine.AllHolds + 1][numEvents]int
	marks   [markKinds]int
	codes   map[refusal.Code]int
	answers map[refusal.Answer]int
	ends    map[commonv1.ClaimEnd]int
	losses  map[keyboard.Cause]int
	grants  int
}

const (
	numStatuses = int(machine.ShownReobserve) + 1
	numBases    = int(machine.Ended) + 1
	numEvents   = int(machine.ContentChanged) + 1
)

func newCount() *count {
	return &count{
		codes: map[refusal.Code]int{}, answers: map[refusal.Answer]int{},
		ends: map[commonv1.ClaimEnd]int{}, losses: map[keyboard.Cause]int{},
	}
}

func (c *count) event(s machine.State, e machine.Event) {
	c.pairs[machine.Status(s)][e]++
	c.grid[s.Base][s.Holds][e]++
}

// rareEvent is the event that a status has seen least often.
func (c *count) rareEvent(s machine.Shown, of ...machine.Event) machine.Event {
	return slices.MinFunc(of, func(a, b machine.Event) int { return c.pairs[s][a] - c.pairs[s][b] })
}

// rareAnswer and rareCode draw a few times and take what was told least often.
func (c *count) rareAnswer(rng *rand.Rand) refusal.Answer {
	rare := drawAnswer(rng)
	byCode := rng.IntN(2) == 0
	for range 3 {
		a := drawAnswer(rng)
		if byCode && c.codes[refusal.ToldAs(a)] < c.codes[refusal.ToldAs(rare)] || !byCode && c.answers[a] < c.answers[rare] {
			rare = a
		}
	}
	c.answers[rare]++
	return rare
}

func drawAnswer(rng *rand.Rand) refusal.Answer {
	return refusal.Answer(1 + rng.IntN(len(commonv1.ExecutorCode_name)-1))
}

func (c *count) rareCode(rng *rand.Rand, of []refusal.Code) refusal.Code {
	a, b := of[rng.IntN(len(of))], of[rng.IntN(len(of))]
	if c.codes[b] < c.codes[a] {
		return b
	}
	return a
}

// cell is one number of the histogram; why says why it must be zero.
type cell struct {
	what string
	n    int
	why  string
}

// cells is the whole histogram: everything that has to be reached, and what cannot be.
func (c *count) cells() (out []cell) {
	for s, row := range c.pairs {
		for e, n := range row {
			out = append(out, cell{
				fmt.Sprintf("%v, %v", machine.Shown(s), machine.Event(e)), n,
				unreachable(machine.Shown(s), machine.Event(e)),
			})
		}
	}
	for k, n := range c.marks {
		out = append(out, cell{what: fmt.Sprintf("mark %d", k), n: n})
	}
	for code := range refusal.Code(len(commonv1.RefusalCode_name)) {
		if code != 0 {
			out = append(out, cell{"refusal " + shortName(code.String()), c.codes[code], codeUnreachable[code]})
		}
	}
	for _, end := range []commonv1.ClaimEnd{1, 2, 3, 4} {
		out = append(out, cell{what: "claim end " + shortName(end.String()), n: c.ends[end]})
	}
	for _, cause := range keyboard.Causes() {
		out = append(out, cell{what: "keyboard lost by " + cause.String(), n: c.losses[cause]})
	}
	return append(out, cell{what: "keyboard granted", n: c.grants})
}

// told is the machine's whole grid, base by holds by event, for what can be told to a
// session at any time.
func (c *count) told() (out []cell) {
	for _, base := range machine.Bases() {
		for holds := range machine.AllHolds + 1 {
			why := noSuchState(base, holds)
			for _, e := range steered {
				what := fmt.Sprintf("%v with {%v}, %v", base, holds, e)
				out = append(out, cell{what, c.grid[base][holds][e], why})
			}
		}
	}
	return out
}

// noSuchState says why no session is ever in a state; empty where one is.
func noSuchState(b machine.Base, h machine.Holds) string {
	running := b == machine.Unobserved || b == machine.Active || b == machine.Reobserve
	switch {
	case b == machine.Active && h != 0:
		return "what sets a hold takes the observation away (C5.3)"
	case running && h.Has(machine.HeldStopped):
		return "a stop ends the turn, and none begins under it (C4.3)"
	case b == machine.NoTurn && (h.Has(machine.BlockedURL) || h.Has(machine.Intervention)):
		return "both come out of calls of a turn (C5.5)"
	case h.Has(machine.BlockedURL) && h.Has(machine.Intervention):
		return "each comes out of a call, and under either none gets a ticket (C5.4)"
	}
	return ""
}

func shortName(s string) string {
	return strings.TrimPrefix(strings.TrimPrefix(s, "REFUSAL_CODE_"), "CLAIM_END_")
}

// String is the histogram, with how much of the machine's whole grid was reached.
func (c *count) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-20s", "status x event")
	for e := range numEvents {
		fmt.Fprintf(&b, " %10.10s", machine.Event(e))
	}
	for s, row := range c.pairs {
		fmt.Fprintf(&b, "\n%-20s", machine.Shown(s))
		for _, n := range row {
			fmt.Fprintf(&b, " %10d", n)
		}
	}
	b.WriteByte('\n')
	for _, one := range c.cells()[numStatuses*numEvents:] {
		fmt.Fprintf(&b, "%-45s %8d\n", one.what, one.n)
	}
	cells, rarest := 0, cell{n: math.MaxInt}
	for _, one := range c.told() {
		if one.why == "" {
			cells++
		}
		if one.why == "" && one.n < rarest.n {
			rarest = one
		}
	}
	fmt.Fprintf(&b, "cells of base x holds x event that are told: %d, the rarest %d times: %s\n", cells, rarest.n, rarest.what)
	least := 1 << 30
	for _, n := range c.answers {
		least = min(least, n)
	}
	fmt.Fprintf(&b, "executor answers: %d of %d, the rarest %d times\n", len(c.answers), len(commonv1.ExecutorCode_name)-1, least)
	return b.String()
}

// unreachable says why no session of a status ever sees an event; empty where it can.
func unreachable(s machine.Shown, e machine.Event) string {
	held := s < machine.ShownNoTurn
	switch {
	case e == machine.BeginTurn && (s == machine.ShownBlockedURL || s == machine.ShownStopped):
		return "no turn begins under it (C4.3, C5.1)"
	case e == machine.Observed && (held || s == machine.ShownNoTurn):
		return "what was read is discarded where there is no ticket (C2.6)"
	case (e == machine.Intervene || e == machine.BlockedDestination) && s == machine.ShownNoTurn:
		return "a call that brings it needs a turn"
	case (e == machine.Intervene || e == machine.BlockedDestination) && s == machine.ShownStopped:
		return "a call that brings it needs a turn, and a stop ends that: USER_STOPPED is shown"
	case (e == machine.Intervene || e == machine.BlockedDestination) &&
		(s == machine.ShownBlockedURL || s == machine.ShownIntervention):
		return "the end of a call brings it, and no call begins where another's end brought the hold (C4.1, C5.4)"
	}
	return ""
}

// What no machine of the host can say or do, with the reason.
var (
	codeUnreachable = map[refusal.Code]string{
		refusal.ActionInProgress: "the calls of a session run one after the other (C4.1), so no act finds another's claim",
	}
)
