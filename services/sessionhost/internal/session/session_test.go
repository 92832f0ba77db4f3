package session

import (
	"testing"

	"pgregory.net/rapid"

	"fairlead.dev/services/shared/refusal"
)

// runningBases are those in which a turn runs.
var runningBases = []Base{Unobserved, Active, Reobserve}

// each calls f for every state of the grid.
func each(f func(State)) {
	for _, b := range Bases() {
		for h := range AllHolds + 1 {
			f(State{Base: b, Holds: h, Revision: 7, Generation: 3})
		}
	}
}

// C5.1: BeginTurn makes a new machine in UNOBSERVED, and holds survive it.
func TestBeginTurnStartsAnewAndLiftsNoHold(t *testing.T) {
	each(func(s State) {
		got := Step(s, BeginTurn)
		if got.Base != Unobserved || got.Holds != s.Holds || got.Revision != 8 || got.Generation != 4 {
			t.Errorf("%+v became %+v", s, got)
		}
	})
}

// C5.1: a transition to the same status is one too.
func TestEveryTransitionMovesTheRevision(t *testing.T) {
	each(func(s State) {
		for _, e := range Events() {
			got := Step(s, e)
			if moved := got.Revision != s.Revision; !moved && got != s || moved && got.Revision != s.Revision+1 {
				t.Errorf("%s: %+v became %+v", e, s, got)
			}
		}
	})
	for _, e := range Events() {
		s := State{Base: Reobserve}
		still := e == ContentChanged || e == Resume || e == Unlock || e == InterventionOver
		if moved := Step(s, e).Revision != 0; moved == still {
			t.Errorf("%s in a running turn without holds: transition = %v", e, moved)
		}
	}
}

// C5.2: terminal bases absorb and do not overwrite each other; an absorbed event moves
// nothing. Holds belong to the session and change all the same.
func TestTerminalBaseAbsorbsEverythingButANewTurn(t *testing.T) {
	each(func(s State) {
		if s.Base != Stopped && s.Base != Ended {
			return
		}
		for _, e := range Events() {
			got := Step(s, e)
			if e != BeginTurn && got.Base != s.Base {
				t.Errorf("%s: base %s became %s", e, s.Base, got.Base)
			}
			if e != BeginTurn && got.Holds == s.Holds && got != s {
				t.Errorf("%s is absorbed and moved something: %+v became %+v", e, s, got)
			}
		}
	})
}

// C5.3: a hold that is set, also again, takes the current observation away.
func TestSettingAHoldAsksForAnObservation(t *testing.T) {
	sets := map[Event]Holds{
		Pause: Paused, TakeOver: Paused, Lock: ScreenLocked, Intervene: Intervention, BlockedDestination: BlockedURL,
	}
	for e, hold := range sets {
		for h := range AllHolds + 1 {
			for from, to := range map[Base]Base{Active: Reobserve, Unobserved: Unobserved, Reobserve: Reobserve} {
				if got := Step(State{Base: from, Holds: h}, e); got.Base != to || got.Holds != h|hold {
					t.Errorf("%s in %s under [%s]: %s under [%s]", e, from, h, got.Base, got.Holds)
				}
			}
		}
	}
}

// C5.3: each hold is lifted only by its own event, and nothing lifts BLOCKED_URL.
func TestEachHoldIsLiftedOnlyByItsOwnEvent(t *testing.T) {
	lifts := map[Event]Holds{Resume: HeldStopped | Paused, Unlock: ScreenLocked, InterventionOver: Intervention}
	each(func(s State) {
		for _, e := range Events() {
			if got := s.Holds &^ Step(s, e).Holds; got != s.Holds&lifts[e] {
				t.Errorf("%s under [%s] lifted [%s]", e, s.Holds, got)
			}
		}
	})
}

// C5.3: lifting a hold gives no authority back; the session observes first.
func TestTheEndOfAHoldGivesNoActionTicket(t *testing.T) {
	for _, pair := range [][2]Event{{Pause, Resume}, {TakeOver, Resume}, {Lock, Unlock}, {Intervene, InterventionOver}} {
		s := Step(Step(State{Base: Active}, pair[0]), pair[1])
		if _, no := ActTicket(s); no == nil || no.Code != refusal.ReobserveRequired {
			t.Errorf("after %s and %s: %v", pair[0], pair[1], no)
		}
		if _, no := ObserveTicket(s); no != nil {
			t.Errorf("after %s and %s nothing may be observed: %v", pair[0], pair[1], no.Code)
		}
	}
}

// C2.6, C5.3: what was read under a hold is discarded, so that the end of the hold
// never shows an observation made while nothing could be observed.
func TestObservationUnderAHoldIsDiscarded(t *testing.T) {
	each(func(s State) {
		got := Step(s, Observed)
		switch {
		case s.Holds != 0 || s.Base == NoTurn || s.Base == Stopped || s.Base == Ended:
			if got != s {
				t.Errorf("%+v became %+v", s, got)
			}
		case got.Base != Active:
			t.Errorf("%+v became %+v", s, got)
		}
	})
}

// C5.5, C3.7: also before the first observation, and under every hold.
func TestLostTrackAlwaysAsksForAnObservation(t *testing.T) {
	for _, base := range runningBases {
		for h := range AllHolds + 1 {
			if got := Step(State{Base: base, Holds: h}, LostTrack).Base; got != Reobserve {
				t.Errorf("in %s under [%s]: %s", base, h, got)
			}
		}
	}
}

// C1.1: one generation per change that takes authority away. Giving back, observing
// and losing track are none.
func TestOnlyWhatTakesAuthorityAwayMovesTheGeneration(t *testing.T) {
	takes := map[Event]bool{
		BeginTurn: true, EndTurn: true, StopByUser: true, Pause: true, TakeOver: true, Lock: true, Intervene: true,
		BlockedDestination: true, ExecutorGone: true, PolicyGone: true,
	}
	each(func(s State) {
		for _, e := range Events() {
			got := Step(s, e)
			if moved := got.Generation != s.Generation; moved != (takes[e] && got.Revision != s.Revision) {
				t.Errorf("%s in %s under [%s]: the generation moved = %v", e, s.Base, s.Holds, moved)
			}
		}
	})
}

// C12.1: a stop ends the turn and holds the session; a pause and a take-over leave the
// turn running; resume lifts both holds and no other, and wakes no turn that is over.
func TestStopPauseTakeOverAndResumeMeanDifferentThings(t *testing.T) {
	running := State{Base: Active}
	stopped, paused, taken := Step(running, StopByUser), Step(running, Pause), Step(running, TakeOver)
	if stopped.Base != Stopped || stopped.Holds != HeldStopped {
		t.Errorf("stop: %s under [%s]", stopped.Base, stopped.Holds)
	}
	if paused.Base != Reobserve || paused.Holds != Paused || taken != paused {
		t.Errorf("pause: %+v, take-over: %+v", paused, taken)
	}
	if got := Step(stopped, Resume); got.Base != Stopped || got.Holds != 0 {
		t.Errorf("resume after a stop: %s under [%s]", got.Base, got.Holds)
	}
	all := State{Base: Reobserve, Holds: AllHolds}
	if got := Step(all, Resume); got.Holds != BlockedURL|ScreenLocked|Intervention {
		t.Errorf("resume left [%s]", got.Holds)
	}
	if again := Step(stopped, StopByUser); again != stopped {
		t.Errorf("a second stop moved something: %+v", again)
	}
}

// C4.3: no turn begins while the user's stop or a blocked destination holds the session.
func TestNoTurnBeginsUnderAStop(t *testing.T) {
	each(func(s State) {
		want := refusal.Code(0)
		switch {
		case s.Holds.Has(BlockedURL):
			want = refusal.BlockedURL
		case s.Holds.Has(HeldStopped):
			want = refusal.UserStopped
		}
		no := MayBegin(s)
		if (no == nil) != (want == 0) || no != nil && no.Code != want {
			t.Errorf("under [%s]: %v", s.Holds, no)
		}
	})
}

// C5.4: an observation ticket in the running bases, an action ticket in ACTIVE, none
// under a hold.
func TestTicketsExistWhereTheContractSays(t *testing.T) {
	running := map[Base]bool{Unobserved: true, Active: true, Reobserve: true}
	each(func(s State) {
		_, observe := ObserveTicket(s)
		_, act := ActTicket(s)
		if may := running[s.Base] && s.Holds == 0; (observe == nil) != may {
			t.Errorf("%s under [%s]: observation ticket = %v", s.Base, s.Holds, observe)
		}
		if may := s.Base == Active && s.Holds == 0; (act == nil) != may {
			t.Errorf("%s under [%s]: action ticket = %v", s.Base, s.Holds, act)
		}
	})
	for base, want := range map[Base]refusal.Code{
		Unobserved: refusal.NoActiveFrame, Reobserve: refusal.ReobserveRequired,
	} {
		if _, no := ActTicket(State{Base: base}); no.Code != want {
			t.Errorf("%s: %v", base, no.Code)
		}
	}
}

func TestAnyTransitionEndsATicket(t *testing.T) {
	s := State{Base: Active}
	ticket, _ := ActTicket(s)
	if why := Check(s, ticket); why != nil {
		t.Fatalf("a fresh ticket is refused: %v", why.Code)
	}
	for _, e := range Events() {
		next := Step(s, e)
		if next.Revision != s.Revision && Check(next, ticket) == nil {
			t.Errorf("the ticket survived %s", e)
		}
	}
	if Check(Step(s, ContentChanged), ticket) != nil {
		t.Error("dynamic content ended a ticket (C5.6)")
	}
}

// C5.1, row by row.
func TestShownStatusIsTheFirstThatApplies(t *testing.T) {
	for _, tc := range []struct {
		name string
		s    State
		want Shown
		code refusal.Code
	}{
		{"blocked url before a stopped turn", State{Base: Stopped, Holds: AllHolds}, ShownBlockedURL, refusal.BlockedURL},
		{"blocked url before no turn", State{Holds: BlockedURL}, ShownBlockedURL, refusal.BlockedURL},
		{"stopped turn before its hold", State{Base: Stopped, Holds: HeldStopped | Paused}, ShownUserStopped, refusal.UserStopped},
		{"ended turn before a stop", State{Base: Ended, Holds: HeldStopped}, ShownEnded, refusal.TurnEnded},
		{"ended turn before a pause", State{Base: Ended, Holds: Paused}, ShownEnded, refusal.TurnEnded},
		{"stop before pause", State{Base: Unobserved, Holds: HeldStopped | Paused}, ShownStopped, refusal.UserStopped},
		{"stop before no turn", State{Holds: HeldStopped}, ShownStopped, refusal.UserStopped},
		{"pause before lock", State{Base: Active, Holds: Paused | ScreenLocked}, ShownPaused, refusal.Paused},
		{"pause before no turn", State{Holds: Paused}, ShownPaused, refusal.Paused},
		{"lock before intervention", State{Base: Reobserve, Holds: ScreenLocked | Intervention}, ShownScreenLocked, refusal.ScreenLocked},
		{"intervention before the base", State{Base: Active, Holds: Intervention}, ShownIntervention, refusal.UserIntervened},
		{"stopped turn", State{Base: Stopped}, ShownUserStopped, refusal.UserStopped},
		{"ended turn", State{Base: Ended}, ShownEnded, refusal.TurnEnded},
		{"no turn", State{}, ShownNoTurn, refusal.TurnEnded},
		{"unobserved", State{Base: Unobserved}, ShownUnobserved, 0},
		{"active", State{Base: Active}, ShownActive, 0},
		{"reobserve", State{Base: Reobserve}, ShownReobserve, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := Status(tc.s); got != tc.want {
				t.Errorf("shown %s, want %s", got, tc.want)
			}
			_, no := ObserveTicket(tc.s)
			if (no == nil) != (tc.code == 0) || no != nil && no.Code != tc.code {
				t.Errorf("refused with %v, want %v", no, tc.code)
			}
		})
	}
}

func TestEveryNameIsItsOwn(t *testing.T) {
	names := map[string]bool{}
	for _, e := range Events() {
		names[e.String()] = true
	}
	for _, s := range Statuses() {
		names[s.String()] = true
	}
	if len(names) != 16+11 || names[""] {
		t.Errorf("%d names", len(names))
	}
	if got := (BlockedURL | Paused).String(); got != "BLOCKED_URL PAUSED" {
		t.Errorf("holds %q", got)
	}
}

// byTheAgent are the events that the agent's own calls make.
var byTheAgent = map[Event]bool{BeginTurn: true, EndTurn: true, Observed: true, LostTrack: true}

// TestNothingAuthorisesAfterItsTransition walks sessions at random, and holds every
// ticket it ever got against every later state.
func TestNothingAuthorisesAfterItsTransition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s State
		type issued struct {
			ticket   Ticket
			revision uint64
		}
		var tickets []issued
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			e := rapid.SampledFrom(Events()).Draw(t, "event")
			before := s
			s = Step(s, e)
			if s.Revision < before.Revision || s.Generation < before.Generation {
				t.Fatalf("%s went back: %+v became %+v", e, before, s)
			}
			if s.Revision == before.Revision && s != before {
				t.Fatalf("%s changed the state without a transition: %+v became %+v", e, before, s)
			}
			if before.Holds.Has(BlockedURL) && !s.Holds.Has(BlockedURL) {
				t.Fatalf("%s lifted BLOCKED_URL", e)
			}
			if lifted := before.Holds &^ s.Holds; byTheAgent[e] && lifted != 0 {
				t.Fatalf("the agent's %s lifted [%s]", e, lifted)
			}
			if s.Base == Active && s.Holds != 0 {
				t.Fatalf("%s left ACTIVE under [%s]", e, s.Holds)
			}
			if Check(s, Ticket{}) == nil {
				t.Fatal("a ticket that nobody gave is good")
			}
			for _, old := range tickets {
				if good := Check(s, old.ticket) == nil; good && (old.revision != s.Revision || s.Holds != 0) {
					t.Fatalf("a ticket of revision %d is good at %+v", old.revision, s)
				}
			}
			observe, no := ObserveTicket(s)
			if no == nil {
				tickets = append(tickets, issued{observe, s.Revision})
			}
			act, not := ActTicket(s)
			if not == nil {
				tickets = append(tickets, issued{act, s.Revision})
			}
			if not == nil && no != nil || (no == nil || not == nil) && s.Holds != 0 {
				t.Fatalf("tickets at %+v: observe %v, act %v", s, no, not)
			}
			if no == nil && Check(s, observe) != nil || not == nil && Check(s, act) != nil {
				t.Fatalf("a fresh ticket is refused at %+v", s)
			}
		}
	})
}
