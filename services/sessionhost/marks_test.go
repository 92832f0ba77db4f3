package sessionhost

import (
	"testing"

	machine "fairlead.dev/services/sessionhost/internal/session"
	"fairlead.dev/services/shared/ident"
)

func window(n uint64) ident.Window {
	return ident.Window{ID: n, PID: 1, Start: 1, App: "app", Birth: n}
}

func TestMarksKeepTheirOrder(t *testing.T) {
	for _, tc := range []struct {
		name  string
		marks []markKind
		held  bool
	}{
		{"stop, then resume", []markKind{markStop, markResume}, false},
		{"resume, then stop", []markKind{markResume, markStop}, true},
		{"pause, resume, take over", []markKind{markPause, markResume, markTakeOver}, true},
		{"unlock, then lock", []markKind{markUnlocked, markLocked}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var list []mark
			for _, k := range tc.marks {
				list = addMark(list, mark{kind: k})
			}
			st := newState("s", ident.NewActKey(), 1, newBooks())
			_, _ = st.begin("t")
			for _, m := range list {
				st.suffer(m)
			}
			if held := st.machine.Holds != 0; held != tc.held {
				t.Errorf("held = %v", held)
			}
		})
	}
}

func TestPastTheBoundNothingGivesAuthorityBackAndNothingIsLost(t *testing.T) {
	var list []mark
	for i := range uint64(10 * marksMax) {
		list = addMark(list, mark{kind: markInput, window: window(i + 1)})
	}
	list = addMark(list, mark{kind: markResume})
	list = addMark(list, mark{kind: markStop})
	list = addMark(list, mark{kind: markUnlocked})
	if len(list) > marksMax+int(markKinds) {
		t.Fatalf("%d marks", len(list))
	}
	any, stops := false, false
	for _, m := range list {
		any = any || m.kind == markInput && m.window == ident.Window{}
		stops = stops || m.kind == markStop
		if consequences[m.kind].gives {
			t.Errorf("%d gives authority back past the bound", m.kind)
		}
	}
	if !any || !stops {
		t.Errorf("input into any window = %v, stop = %v", any, stops)
	}
}

// C12.1: the four words mean four different things.
func TestTheUsersWordsDiffer(t *testing.T) {
	for _, tc := range []struct {
		name  string
		kind  markKind
		hold  machine.Holds
		base  machine.Base
		gives bool
	}{
		{"pause holds and keeps leases", markPause, machine.Paused, machine.Unobserved, false},
		{"take-over holds and gives all up", markTakeOver, machine.Paused, machine.Unobserved, true},
		{"stop ends the turn and gives all up", markStop, machine.HeldStopped, machine.Stopped, true},
		{"so does stop all", markStopAll, machine.HeldStopped, machine.Stopped, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			st := newState("s", ident.NewActKey(), 1, newBooks())
			_, _ = st.begin("t")
			st.inflight = &inflight{}
			if !st.suffer(mark{kind: tc.kind}) {
				t.Error("the act in flight is not cancelled")
			}
			if st.machine.Holds != tc.hold || st.machine.Base != tc.base || spoken[tc.kind].gives != tc.gives {
				t.Errorf("holds %v, base %v, gives %v", st.machine.Holds, st.machine.Base, spoken[tc.kind].gives)
			}
		})
	}
}

// C12.2: input into the bound window between acts ends the keyboard and nothing else.
func TestTheUsersInputMovesNothingButTheKeyboard(t *testing.T) {
	st := newState("s", ident.NewActKey(), 1, newBooks())
	_, _ = st.begin("t")
	before := st.machine
	st.suffer(mark{kind: markInput})
	if st.machine != before {
		t.Errorf("%+v", st.machine)
	}
}

// Past the bound a word is merged with an earlier one only where nothing was given back
// in between.
func TestTheLatestWordStandsPastTheBound(t *testing.T) {
	for _, k := range []markKind{markStop, markStopAll, markPause, markTakeOver} {
		list := []mark{{kind: k}, {kind: markResume}}
		for i := range uint64(marksMax) {
			list = addMark(list, mark{kind: markInput, window: window(i + 1)})
		}
		list = addMark(list, mark{kind: k})
		st := newState("s", ident.NewActKey(), 1, newBooks())
		for _, m := range list {
			st.suffer(m)
		}
		if st.machine.Holds == 0 {
			t.Errorf("mark %d was said last, and nothing holds the session", k)
		}
	}
}

// C10.2: what was given while a take-over or the end of a lease took everything away is
// good for the read it was asked for, and is not kept for the next.
func TestAPermitThatWasOnItsWayWhenPermitsWereTakenAwayIsNotKept(t *testing.T) {
	for _, k := range []markKind{markTakeOver, markPause, markStop, markLeaseEnded, markLocked, markPolicy} {
		st := newState("s", ident.NewActKey(), 1, newBooks())
		_, _ = st.begin("t")
		since := st.permits.dropped
		st.permits.keep(scope{app: "before"}, since, readPermit{})
		st.suffer(mark{kind: k})
		st.permits.keep(scope{app: "on its way"}, since, readPermit{})
		if len(st.permits.held) != 0 {
			t.Errorf("mark %d: %d permits are kept", k, len(st.permits.held))
		}
		if st.permits.keep(scope{app: "after"}, st.permits.dropped, readPermit{}); len(st.permits.held) != 1 {
			t.Errorf("mark %d: a permit that was asked for afterwards is not kept", k)
		}
	}
}

// C5.3: an intervention ends after 1.5 s without the user's input, and input that comes
// just as they are over counts.
func TestInputInTheLastMomentKeepsTheHold(t *testing.T) {
	h := &Host{cfg: Config{Generation: 1}, books: newBooks()}
	for _, tc := range []struct {
		name  string
		marks []mark
		held  bool
	}{
		{"nothing came", []mark{{kind: markCalm}}, false},
		{"input came first", []mark{{kind: markInput}, {kind: markCalm}}, true},
		{"input came too late", []mark{{kind: markCalm}, {kind: markInput}}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, calm := newSession(h, 0), newCalm()
			defer calm.Stop()
			st := newState(s.id, s.actKey, 1, h.books)
			_, _ = st.begin("t")
			st.machine = machine.Step(st.machine, machine.Intervene)
			s.marks = tc.marks
			s.heed(st, calm)
			if held := st.machine.Holds.Has(machine.Intervention); held != tc.held || calm.runs != tc.held {
				t.Errorf("held = %v, the time runs = %v", held, calm.runs)
			}
		})
	}
}
