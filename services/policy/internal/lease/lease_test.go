package lease

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairlead.dev/services/shared/ident"
)

var (
	w1     = ident.Window{ID: 1, PID: 10, Start: 100, App: "a", Birth: 1}
	w2     = ident.Window{ID: 2, PID: 10, Start: 100, App: "a", Birth: 2}
	other  = ident.Window{ID: 1, PID: 10, Start: 100, App: "b", Birth: 1}
	desk   = Target{Scope: Desk}
	appA   = Target{Scope: App, App: "a"}
	appB   = Target{Scope: App, App: "b"}
	winA   = Target{Scope: Window, App: "a", Window: w1}
	winAD  = Target{Scope: Window, App: "a", Window: w1, Dialogs: true}
	winA2  = Target{Scope: Window, App: "a", Window: w2}
	winB   = Target{Scope: Window, App: "b", Window: other}
	nobody = Target{}
)

func TestCovers(t *testing.T) {
	reborn, moved, again := w1, w1, w1
	reborn.Birth, moved.PID, again.Start = 9, 11, 101
	window := func(w ident.Window) Target { return Target{Scope: Window, App: "a", Window: w} }
	tests := []struct {
		name         string
		lease, asked Target
		want         bool
	}{
		{"the desk covers the desk", desk, desk, true},
		{"the desk covers no app", desk, appA, false},
		{"the desk covers no window", desk, winA, false},
		{"an app does not cover the desk", appA, desk, false},
		{"an app covers itself", appA, appA, true},
		{"an app covers its windows", appA, winA, true},
		{"an app covers its dialogs", appA, winAD, true},
		{"an app covers no other app", appA, appB, false},
		{"an app covers no other app's window", appA, winB, false},
		{"a window covers itself", winA, winA, true},
		{"a window does not cover its app", winA, appA, false},
		{"a window covers no other window", winA, winA2, false},
		{"a window does not cover its dialogs unless they were given", winA, winAD, false},
		{"a window covers its dialogs where they were given", winAD, winAD, true},
		{"a window with dialogs covers the window", winAD, winA, true},
		{"a window with dialogs covers no other window", winAD, winA2, false},
		{"another birth is another window", winA, window(reborn), false},
		{"another process is another window", winA, window(moved), false},
		{"another process with the same pid is another window", winA, window(again), false},
		{"nothing covers nothing", nobody, nobody, false},
		{"an app does not cover nothing", appA, Target{App: "a"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.lease.Covers(tt.asked); got != tt.want {
				t.Errorf("Covers = %v, want %v", got, tt.want)
			}
		})
	}
}

func give(t *testing.T, s *Store, l Lease) {
	t.Helper()
	if err := s.Give(l, 0); err != nil {
		t.Fatal(err)
	}
}

func TestCoveringTakesTheNarrowestAndThenTheLongest(t *testing.T) {
	s := New()
	give(t, s, Lease{ID: "app", Session: "s", Class: 1, Target: appA, Expires: time.Hour})
	give(t, s, Lease{ID: "short", Session: "s", Class: 1, Target: winA, Expires: time.Minute})
	give(t, s, Lease{ID: "long", Session: "s", Class: 1, Target: winA, Expires: 2 * time.Minute})
	for at, want := range map[Instant]ident.LeaseID{0: "long", 3 * time.Minute: "app"} {
		if l, ok := s.Covering("s", 1, winA, at); !ok || l.ID != want {
			t.Errorf("at %v = %q, %v; want %q", at, l.ID, ok, want)
		}
	}
	for name, ask := range map[string]func() bool{
		"another session": func() bool { _, ok := s.Covering("t", 1, winA, 0); return ok },
		"another class":   func() bool { _, ok := s.Covering("s", 2, winA, 0); return ok },
		"after the end":   func() bool { _, ok := s.Covering("s", 1, winA, time.Hour); return ok },
	} {
		if ask() {
			t.Errorf("%s is covered", name)
		}
	}
}

func TestSessionHoldsAtMost256Leases(t *testing.T) {
	s := New()
	for i := range PerSession {
		give(t, s, Lease{ID: ident.LeaseID(fmt.Sprint(i)), Session: "s", Class: 1, Target: appA, Expires: time.Minute})
	}
	more := Lease{ID: "more", Session: "s", Class: 1, Target: appA, Expires: time.Hour}
	if err := s.Give(more, 0); !errors.Is(err, ErrFull) {
		t.Errorf("Give = %v, want ErrFull", err)
	}
	more.Session = "t"
	if err := s.Give(more, 0); err != nil {
		t.Errorf("another session: %v", err)
	}
	if n := len(s.Expire(time.Minute)); n != PerSession {
		t.Errorf("%d expired", n)
	}
	if err := s.Give(Lease{ID: "0", Session: "s", Class: 1, Target: appA, Expires: 1}, 1); !errors.Is(err, ErrOver) {
		t.Errorf("Give = %v, want ErrOver", err)
	}
	if err := s.Give(more, 0); !errors.Is(err, ErrTaken) {
		t.Errorf("Give = %v, want ErrTaken", err)
	}
}

// The store against the obvious version: a list of leases with the time each was taken
// away, looked through from front to back.
func TestLeaseTimeNeverGrowsByItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type row struct {
			Lease
			gone bool
		}
		s := New()
		var rows []row
		now := Instant(0)
		sessions := rapid.SampledFrom([]ident.SessionID{"s", "t"})
		targets := rapid.SampledFrom([]Target{desk, appA, appB, winA, winAD, winA2, winB})
		classes := rapid.SampledFrom([]Class{1, 2})
		t.Repeat(map[string]func(*rapid.T){
			"give": func(t *rapid.T) {
				l := Lease{
					ID: ident.LeaseID(fmt.Sprint(len(rows))), Session: sessions.Draw(t, "session"),
					Class: classes.Draw(t, "class"), Target: targets.Draw(t, "target"),
					Expires: now + Instant(rapid.IntRange(1, 50).Draw(t, "life")),
				}
				if err := s.Give(l, now); err != nil {
					t.Fatal(err)
				}
				rows = append(rows, row{Lease: l})
			},
			"wait":   func(t *rapid.T) { now += Instant(rapid.IntRange(1, 30).Draw(t, "time")) },
			"expire": func(*rapid.T) { s.Expire(now) },
			"revoke": func(t *rapid.T) {
				if len(rows) == 0 {
					t.Skip()
				}
				i := rapid.IntRange(0, len(rows)-1).Draw(t, "lease")
				_, was := s.Revoke(rows[i].Session, rows[i].ID, now)
				if want := !rows[i].gone && rows[i].Live(now); was != want {
					t.Fatalf("Revoke = %v, want %v", was, want)
				}
				rows[i].gone = true
			},
			"end": func(t *rapid.T) {
				id := sessions.Draw(t, "session")
				s.RevokeAll(id, now)
				for i := range rows {
					rows[i].gone = rows[i].gone || rows[i].Session == id
				}
			},
			"": func(t *rapid.T) {
				id, class, target := sessions.Draw(t, "session"), classes.Draw(t, "class"), targets.Draw(t, "target")
				want, live := false, 0
				for _, r := range rows {
					alive := !r.gone && now < r.Expires
					want = want || alive && r.Session == id && r.Class == class && r.Target.Covers(target)
					if alive && r.Session == id {
						live++
					}
					if s.Has(r.Session, r.ID, now) != alive {
						t.Fatalf("lease %s: live is %v", r.ID, !alive)
					}
				}
				got, ok := s.Covering(id, class, target, now)
				if ok != want {
					t.Fatalf("Covering = %v, want %v", ok, want)
				}
				for _, r := range rows {
					if ok && r.ID == got.ID && r.Expires != got.Expires {
						t.Fatalf("lease %s grew", r.ID)
					}
				}
				if n := len(s.Live(id, now)); n != live {
					t.Fatalf("%d live leases, want %d", n, live)
				}
			},
		})
	})
}
