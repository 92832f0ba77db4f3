package session

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"fairlead.dev/services/shared/refusal"
)

var update = flag.Bool("update", false, "rewrite the golden grid")

var (
	bases  = []string{"no-turn", "unobserved", "active", "reobserve", "stopped", "ended"}
	events = []string{
		"begin-turn", "end-turn", "observed", "stop", "resume", "pause", "take-over", "lock", "unlock", "intervene",
		"intervention-over", "blocked-destination", "lost-track", "executor-gone", "policy-gone", "content-changed",
	}
	holds = []string{"blocked-url", "stopped", "paused", "locked", "intervention"}
)

func show(s State) string {
	var h []string
	for i, n := range holds {
		if s.Holds.Has(1 << i) {
			h = append(h, n)
		}
	}
	return fmt.Sprintf("%s[%s] +r%d +g%d", bases[s.Base], strings.Join(h, ","), s.Revision, s.Generation)
}

// TestEveryStateAndEventIsInTheGoldenGrid prints base x event for no hold and for each
// hold; a difference is a design review.
func TestEveryStateAndEventIsInTheGoldenGrid(t *testing.T) {
	var b strings.Builder
	for h := -1; h < len(holds); h++ {
		var set Holds
		if h >= 0 {
			set = 1 << h
		}
		for base := NoTurn; base <= Ended; base++ {
			for e := BeginTurn; e < eventCount; e++ {
				from := State{Base: base, Holds: set}
				fmt.Fprintf(&b, "%s + %s -> %s\n", show(from), events[e], show(Step(from, e)))
			}
		}
	}
	const path = "testdata/grid.golden"
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != b.String() {
		t.Errorf("the grid changed; run with -update and review the difference")
	}
}

func TestTerminalBaseAbsorbsEverythingButANewTurn(t *testing.T) {
	for _, terminal := range []Base{Stopped, Ended} {
		for e := EndTurn; e < eventCount; e++ {
			if got := Step(State{Base: terminal}, e).Base; got != terminal {
				t.Errorf("%s + %s: base became %s", bases[terminal], events[e], bases[got])
			}
		}
	}
}

func TestNothingLiftsBlockedURL(t *testing.T) {
	for e := BeginTurn; e < eventCount; e++ {
		if !Step(State{Base: Active, Holds: BlockedURL}, e).Holds.Has(BlockedURL) {
			t.Errorf("%s lifted BLOCKED_URL", events[e])
		}
	}
}

func TestOnlyResumeLiftsTheUsersStop(t *testing.T) {
	for e := BeginTurn; e < eventCount; e++ {
		held := Step(State{Base: Stopped, Holds: HeldStopped}, e).Holds.Has(HeldStopped)
		if held == (e == Resume) {
			t.Errorf("%s: held = %v", events[e], held)
		}
	}
}

func TestTicketsExistWhereTheContractSays(t *testing.T) {
	for base := NoTurn; base <= Ended; base++ {
		_, observe := ObserveTicket(State{Base: base})
		_, act := ActTicket(State{Base: base})
		if may := base == Unobserved || base == Active || base == Reobserve; (observe == nil) != may {
			t.Errorf("%s: observation ticket = %v", bases[base], observe)
		}
		if (act == nil) != (base == Active) {
			t.Errorf("%s: action ticket = %v", bases[base], act)
		}
		for h := range holds {
			if _, no := ObserveTicket(State{Base: base, Holds: 1 << h}); no == nil {
				t.Errorf("%s under %s gave an observation ticket", bases[base], holds[h])
			}
		}
	}
}

func TestAnyTransitionEndsATicket(t *testing.T) {
	s := State{Base: Active}
	ticket, _ := ActTicket(s)
	if why := Check(s, ticket); why != nil {
		t.Fatalf("a fresh ticket is refused: %v", why.Code)
	}
	for e := BeginTurn; e < ContentChanged; e++ {
		next := Step(s, e)
		if next.Revision != s.Revision && Check(next, ticket) == nil {
			t.Errorf("the ticket survived %s", events[e])
		}
	}
	if Check(Step(s, ContentChanged), ticket) != nil {
		t.Error("dynamic content ended a ticket (C5.6)")
	}
}

func TestShownStatusIsTheFirstThatApplies(t *testing.T) {
	for _, tc := range []struct {
		name string
		s    State
		want refusal.Code
	}{
		{"blocked url before all", State{Base: Stopped, Holds: BlockedURL | Paused}, refusal.BlockedURL},
		{"terminal before holds", State{Base: Stopped, Holds: Paused}, refusal.UserStopped},
		{"stopped before paused", State{Base: Unobserved, Holds: HeldStopped | Paused}, refusal.UserStopped},
		{"paused before locked", State{Base: Active, Holds: Paused | ScreenLocked}, refusal.Paused},
		{"locked before intervention", State{Base: Active, Holds: ScreenLocked | Intervention}, refusal.ScreenLocked},
		{"ended turn", State{Base: Ended}, refusal.TurnEnded},
		{"no turn", State{}, refusal.TurnEnded},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, no := ObserveTicket(tc.s); no == nil || no.Code != tc.want {
				t.Errorf("got %v, want %v", no, tc.want)
			}
		})
	}
}
