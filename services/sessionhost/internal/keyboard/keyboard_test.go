package keyboard

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
)

// first and second are owners on two unrelated windows of one executor.
var (
	first = Owner{
		Session: "s-1", Turn: "t-1", Host: 1, Executor: 2,
		Window: ident.Window{ID: 7, PID: 70, Start: 1, App: "app", Birth: 1}, Root: 7,
		Page: ident.Page{Endpoint: "e", Target: "p", Document: "d"}, Frame: ident.Frame{ID: "f-1", Epoch: 1}, Element: 5,
	}
	second = Owner{
		Session: "s-2", Turn: "t-2", Host: 1, Executor: 2, Window: ident.Window{ID: 8, PID: 80, Birth: 2}, Root: 8,
		Frame: ident.Frame{ID: "f-2", Epoch: 1}, Element: 1,
	}
)

// changed returns an owner with one thing different.
func changed(o Owner, f func(*Owner)) Owner {
	f(&o)
	return o
}

// differences holds one change of each field of an owner, down to the last.
var differences = map[string]func(*Owner){
	"session":         func(o *Owner) { o.Session = "s-9" },
	"turn":            func(o *Owner) { o.Turn = "t-9" },
	"host":            func(o *Owner) { o.Host++ },
	"executor":        func(o *Owner) { o.Executor++ },
	"window id":       func(o *Owner) { o.Window.ID = 99 },
	"window process":  func(o *Owner) { o.Window.PID++ },
	"process start":   func(o *Owner) { o.Window.Start++ },
	"window app":      func(o *Owner) { o.Window.App = "other" },
	"window birth":    func(o *Owner) { o.Window.Birth++ },
	"root":            func(o *Owner) { o.Root = 99 },
	"page endpoint":   func(o *Owner) { o.Page.Endpoint = "other" },
	"page target":     func(o *Owner) { o.Page.Target = "other" },
	"page document":   func(o *Owner) { o.Page.Document = "other" },
	"frame id":        func(o *Owner) { o.Frame.ID = "f-9" },
	"frame epoch":     func(o *Owner) { o.Frame.Epoch++ },
	"element":         func(o *Owner) { o.Element++ },
	"another session": func(o *Owner) { *o = second },
	"nothing":         func(o *Owner) { *o = Owner{} },
}

func refused(t *testing.T, b *Board, o Owner) {
	t.Helper()
	if why := b.Check(o); why == nil || why.Code != refusal.KeyboardNotOwned {
		t.Errorf("%v may type: %v", o.Session, why)
	}
}

func TestNobodyMayTypeBeforeAGrant(t *testing.T) {
	var b Board
	refused(t, &b, first)
	refused(t, &b, Owner{})
	if _, ok := b.Of(first.Session); ok || b.Len() != 0 {
		t.Error("an empty board has an owner")
	}
}

func TestOnlyTheExactOwnerMayType(t *testing.T) {
	var b Board
	b.Grant(first)
	if why := b.Check(first); why != nil {
		t.Fatalf("the owner is refused: %v", why.Code)
	}
	for name, f := range differences {
		t.Run(name, func(t *testing.T) { refused(t, &b, changed(first, f)) })
	}
	if b.Check(first) != nil {
		t.Error("asking took the keyboard away")
	}
}

func TestAGrantTakesTheGroupAndTheOldTarget(t *testing.T) {
	rival := changed(second, func(o *Owner) { o.Window.ID, o.Root = 9, first.Root })
	other := changed(first, func(o *Owner) { o.Window.ID, o.Root, o.Element = 9, 9, 3 })
	element := changed(first, func(o *Owner) { o.Element, o.Frame = 6, ident.Frame{ID: "f-3", Epoch: 2} })
	both := changed(first, func(o *Owner) { o.Window, o.Root = second.Window, second.Root })
	elsewhere := changed(second, func(o *Owner) { o.Executor, o.Root = 3, first.Root })
	for _, tc := range []struct {
		name    string
		had     []Owner
		grant   Owner
		revoked []Owner
		left    []Owner
	}{
		{"nobody had it", nil, first, nil, []Owner{first}},
		{"another window is left alone", []Owner{first}, second, nil, []Owner{first, second}},
		{"the same root on another executor is another group", []Owner{first}, elsewhere, nil, []Owner{first, elsewhere}},
		{"another session in the same group", []Owner{first}, rival, []Owner{first}, []Owner{rival}},
		{"another window of the same session", []Owner{first, second}, other, []Owner{first}, []Owner{other, second}},
		{"another element of the same window", []Owner{first, second}, element, []Owner{first}, []Owner{element, second}},
		{"a target of its own and a group of another", []Owner{first, second}, both, []Owner{first, second}, []Owner{both}},
		{"the same again", []Owner{first, second}, first, nil, []Owner{first, second}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var b Board
			for _, o := range tc.had {
				b.Grant(o)
			}
			if diff := cmp.Diff(tc.revoked, b.Grant(tc.grant)); diff != "" {
				t.Errorf("revoked (-want +got):\n%s", diff)
			}
			if b.Len() != len(tc.left) {
				t.Errorf("%d owners", b.Len())
			}
			for _, o := range tc.left {
				if b.Check(o) != nil {
					t.Errorf("%v lost its keyboard", o.Session)
				}
			}
			for _, o := range tc.revoked {
				refused(t, &b, o)
			}
		})
	}
}

func TestAnOwnerThatIsNotWholeGetsNothing(t *testing.T) {
	for _, tc := range []struct {
		name string
		f    func(*Owner)
	}{
		{"no session", func(o *Owner) { o.Session = "" }},
		{"no turn", func(o *Owner) { o.Turn = "" }},
		{"no host", func(o *Owner) { o.Host = 0 }},
		{"no executor", func(o *Owner) { o.Executor = 0 }},
		{"no window", func(o *Owner) { o.Window = ident.Window{} }},
		{"no frame", func(o *Owner) { o.Frame = ident.Frame{} }},
		{"no element", func(o *Owner) { o.Element = 0 }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var b Board
			b.Grant(first)
			bad := changed(first, tc.f)
			b.Grant(bad)
			refused(t, &b, bad)
			if bad.Session == first.Session {
				refused(t, &b, first)
			}
		})
	}
}

func TestAFullBoardGrantsNothing(t *testing.T) {
	var b Board
	number := func(i int) Owner {
		return changed(first, func(o *Owner) {
			o.Session, o.Root = ident.SessionID(fmt.Sprintf("s-%03d", i)), uint64(i)
		})
	}
	for i := range ownersMax {
		b.Grant(number(i))
	}
	b.Grant(number(ownersMax))
	refused(t, &b, number(ownersMax))
	if b.Len() != ownersMax || b.Check(number(0)) != nil {
		t.Errorf("%d owners", b.Len())
	}
	// Who takes a group over needs no further place.
	heir := changed(number(0), func(o *Owner) { o.Session = "s-new" })
	b.Grant(heir)
	if b.Check(heir) != nil || b.Len() != ownersMax {
		t.Error("a group could not be taken over on a full board")
	}
}

// seen is the one observation that moves an ownership forward.
func seen(o Owner) Sight {
	next := o
	next.Frame = ident.Frame{ID: o.Frame.ID + "+", Epoch: o.Frame.Epoch + 1}
	return Sight{Shown: next, By: o.Frame, Verified: true}
}

func TestOwnVerifiedActThatStillShowsTheFocusMovesTheFrame(t *testing.T) {
	var b Board
	b.Grant(first)
	now := first
	for range 3 {
		s := seen(now)
		if o, ok := b.Renew(s); ok {
			t.Fatalf("revoked %v", o)
		}
		if b.Check(s.Shown) != nil {
			t.Fatal("the ownership did not follow")
		}
		refused(t, &b, now)
		now = s.Shown
	}
}

func TestAnyOtherObservationRevokes(t *testing.T) {
	cases := map[string]func(*Sight){
		"an observation that no act returned":   func(s *Sight) { s.By = ident.Frame{} },
		"an act on an older frame":              func(s *Sight) { s.By = ident.Frame{ID: "f-0", Epoch: 1} },
		"an act on the new frame":               func(s *Sight) { s.By = s.Shown.Frame },
		"an act that is not verified":           func(s *Sight) { s.Verified = false },
		"nothing is shown focused":              func(s *Sight) { s.Shown.Element = 0 },
		"the new frame has no id":               func(s *Sight) { s.Shown.Frame.ID = "" },
		"the frame does not move":               func(s *Sight) { s.Shown.Frame = first.Frame },
		"the frame moves without its epoch":     func(s *Sight) { s.Shown.Frame.Epoch = first.Frame.Epoch },
		"nothing is known but the session":      func(s *Sight) { *s = Sight{Shown: Owner{Session: first.Session}} },
		"nothing is known, said to be verified": func(s *Sight) { s.Shown = Owner{Session: first.Session} },
	}
	for name, f := range differences {
		if changed(first, f).Session == first.Session && !strings.HasPrefix(name, "frame") {
			cases["another "+name] = func(s *Sight) { f(&s.Shown) }
		}
	}
	for name, f := range cases {
		t.Run(name, func(t *testing.T) {
			var b Board
			b.Grant(first)
			b.Grant(second)
			s := seen(first)
			f(&s)
			if o, ok := b.Renew(s); !ok || o != first {
				t.Errorf("revoked %v, %v", o, ok)
			}
			refused(t, &b, first)
			refused(t, &b, s.Shown)
			if b.Check(second) != nil {
				t.Error("another session lost its keyboard")
			}
		})
	}
}

func TestAnObservationGivesNoKeyboardToASessionWithoutOne(t *testing.T) {
	var b Board
	b.Grant(second)
	s := seen(first)
	if _, ok := b.Renew(s); ok {
		t.Error("revoked what was not there")
	}
	refused(t, &b, s.Shown)
	refused(t, &b, first)
	b.Grant(first)
	b.Revoke(first.Session)
	b.Renew(s)
	refused(t, &b, s.Shown)
}

// TestEveryCauseTakesTheKeyboardAway is C8.3, cause by cause: what the host calls, and
// whom it may not touch.
func TestEveryCauseTakesTheKeyboardAway(t *testing.T) {
	session := func(b *Board) []Owner {
		o, _ := b.Revoke(first.Session)
		return []Owner{o}
	}
	for _, tc := range []struct {
		cause  Cause
		name   string
		revoke func(*Board) []Owner
	}{
		{ByFailure, "failed act", session},
		{ByRefusal, "stale or refused act", session},
		{ByObservation, "new observation", func(b *Board) []Owner {
			o, _ := b.Renew(Sight{Shown: changed(first, func(o *Owner) { o.Frame.ID = "f-new" })})
			return []Owner{o}
		}},
		{ByInput, "physical input into the window", session},
		{ByIntervention, "intervention", session},
		{ByGeneration, "session generation", session},
		{ByGeneration, "executor generation", session},
		{ByGeneration, "policy generation", session},
		{ByTurnEnd, "end of the turn", session},
		{BySessionEnd, "end of the session", session},
		{ByStop, "stop", session},
		{ByStop, "stop of all", session},
		{ByPause, "pause or take-over", session},
		{ByLock, "screen lock", session},
		{ByAbort, "abort", session},
		{ByTargetChange, "window change", session},
		{ByTargetChange, "page change", session},
		{ByReplacement, "another session in the window group", func(b *Board) []Owner {
			return b.Grant(changed(first, func(o *Owner) { o.Session = "s-3" }))
		}},
		{ByClientGone, "client gone", session},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var b Board
			b.Grant(first)
			b.Grant(second)
			if diff := cmp.Diff([]Owner{first}, tc.revoke(&b)); diff != "" {
				t.Errorf("revoked (-want +got):\n%s", diff)
			}
			refused(t, &b, first)
			if _, ok := b.Of(first.Session); ok {
				t.Error("the board still has it")
			}
			if b.Check(second) != nil {
				t.Error("another session lost its keyboard")
			}
		})
	}
}

func TestCausesAreAClosedVocabulary(t *testing.T) {
	names := map[string]bool{}
	for i, c := range Causes() {
		if int(c) != i+1 || c.String() == "" || c.String() == "unknown" || names[c.String()] {
			t.Errorf("cause %d is %q", c, c)
		}
		names[c.String()] = true
	}
	if len(names) != 15 || Cause(0).String() != "unknown" || Cause(16).String() != "unknown" {
		t.Errorf("%d causes", len(names))
	}
}

// drawOwner draws from a small world, so that owners meet.
func drawOwner(t *rapid.T) Owner {
	w := rapid.Uint64Range(1, 3).Draw(t, "window")
	return Owner{
		Session: rapid.SampledFrom([]ident.SessionID{"s-1", "s-2", "s-3"}).Draw(t, "session"),
		Turn:    rapid.SampledFrom([]ident.TurnID{"", "t-1", "t-2"}).Draw(t, "turn"), Host: 1,
		Executor: ident.Generation(rapid.Uint64Range(1, 2).Draw(t, "executor")),
		Window:   ident.Window{ID: w, Birth: rapid.Uint64Range(1, 2).Draw(t, "birth")}, Root: w % 2,
		Frame:   ident.Frame{ID: "f", Epoch: ident.Epoch(rapid.Uint64Range(1, 4).Draw(t, "epoch"))},
		Element: rapid.Uint32Range(0, 2).Draw(t, "element"),
	}
}

// TestAtMostOneKeyboardOwner drives a board and a slow list of who was granted what,
// and asks after every step who may type.
func TestAtMostOneKeyboardOwner(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b Board
		live := map[Owner]bool{}
		everSeen := map[Owner]bool{}
		gone := func(revoked ...Owner) {
			for _, o := range revoked {
				if !live[o] {
					t.Fatalf("revoked what was not owned: %+v", o)
				}
				delete(live, o)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"grant": func(t *rapid.T) {
				o := drawOwner(t)
				gone(b.Grant(o)...)
				everSeen[o] = true
				if o.whole() {
					live[o] = true
				}
			},
			"renew": func(t *rapid.T) {
				s := Sight{Shown: drawOwner(t), Verified: rapid.Bool().Draw(t, "verified")}
				if had, ok := b.Of(s.Shown.Session); ok && rapid.Bool().Draw(t, "own act") {
					s.By = had.Frame
					if rapid.Bool().Draw(t, "still focused") {
						epoch := s.Shown.Frame.Epoch
						s.Shown = had
						s.Shown.Frame.Epoch = epoch
					}
				}
				everSeen[s.Shown] = true
				had, owned := b.Of(s.Shown.Session)
				if o, ok := b.Renew(s); ok {
					gone(o)
				} else if owned {
					if !s.Verified || s.By != had.Frame || s.Shown.Frame.Epoch <= had.Frame.Epoch {
						t.Fatalf("an observation kept an ownership: %+v", s)
					}
					gone(had)
					live[s.Shown] = true
				}
			},
			"revoke": func(t *rapid.T) {
				if o, ok := b.Revoke(drawOwner(t).Session); ok {
					gone(o)
				}
			},
			"": func(t *rapid.T) { onlyTheLiveMayType(t, &b, live, everSeen) },
		})
	})
}

func onlyTheLiveMayType(t *rapid.T, b *Board, live, everSeen map[Owner]bool) {
	type focus struct {
		executor ident.Generation
		root     uint64
	}
	groups, sessions := map[focus]bool{}, map[ident.SessionID]bool{}
	for o := range everSeen {
		if (b.Check(o) == nil) != live[o] {
			t.Fatalf("may type = %v: %+v", !live[o], o)
		}
		if !live[o] {
			continue
		}
		g := focus{o.Executor, o.Root}
		if groups[g] || sessions[o.Session] {
			t.Fatalf("two owners: %+v", live)
		}
		groups[g], sessions[o.Session] = true, true
	}
	if b.Len() != len(live) {
		t.Fatalf("%d owners, %d are known", b.Len(), len(live))
	}
}
