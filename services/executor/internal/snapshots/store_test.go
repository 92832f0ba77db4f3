package snapshots

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
)

func window(n int) ident.Window { return ident.Window{ID: uint64(n), PID: 1} }

func TestSixAnswers(t *testing.T) {
	cases := []struct {
		name string
		do   func(*Store[int])
		at   time.Duration
		want refusal.Answer
	}{
		{"live", func(*Store[int]) {}, 0, 0},
		{"live to the last moment", func(*Store[int]) {}, Lifetime, 0},
		{"spent", func(s *Store[int]) { s.Spend("a", 0); s.Consume("a") }, 0, refusal.AnswerSnapshotSpent},
		{"being spent", func(s *Store[int]) { s.Spend("a", 0) }, 0, refusal.AnswerSnapshotSpent},
		{"given back", func(s *Store[int]) { s.Spend("a", 0); s.Restore("a") }, 0, 0},
		{"superseded", func(s *Store[int]) { s.Add("b", window(1), 0, 0) }, 0, refusal.AnswerSnapshotSuperseded},
		{"another window", func(s *Store[int]) { s.Add("b", window(2), 0, 0) }, 0, 0},
		{"expired", func(*Store[int]) {}, Lifetime + 1, refusal.AnswerSnapshotExpired},
		{
			"spent, then long ago", func(s *Store[int]) { s.Spend("a", 0); s.Consume("a") }, Lifetime + 1,
			refusal.AnswerSnapshotSpent,
		},
		{"evicted", func(s *Store[int]) {
			for i := range LiveMax {
				s.Add(ident.SnapshotID(fmt.Sprint(i)), window(10+i), 0, 0)
			}
		}, 0, refusal.AnswerSnapshotEvicted},
		{
			"superseded while sent", func(s *Store[int]) { s.Spend("a", 0); s.Add("b", window(1), 0, 0); s.Consume("a") }, 0,
			refusal.AnswerSnapshotSpent,
		},
		{
			"superseded while refused", func(s *Store[int]) { s.Spend("a", 0); s.Add("b", window(1), 0, 0); s.Restore("a") }, 0,
			refusal.AnswerSnapshotSuperseded,
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := New[int]()
			s.Add("a", window(1), 0, 7)
			c.do(s)
			if _, got := s.Find("a", c.at); got != c.want {
				t.Fatalf("got %v, want %v", got, c.want)
			}
		})
	}
	if _, got := New[int]().Find("never", 0); got != refusal.AnswerSnapshotUnknown {
		t.Fatal(got)
	}
}

func TestResolutionsSupersedeNothing(t *testing.T) {
	s := New[int]()
	s.Add("a", ident.Window{}, 0, 1)
	s.Add("b", ident.Window{}, 0, 2)
	if v, got := s.Find("a", 0); got != 0 || v != 1 {
		t.Fatal(got)
	}
}

// Whatever is done in whatever order: a snapshot is spent at most once, never lives
// again once dead, and the store stays within its bounds.
func TestStoreProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := New[int]()
		var now time.Duration
		next := 0
		holders, dead, spent := map[ident.SnapshotID]bool{}, map[ident.SnapshotID]bool{}, map[ident.SnapshotID]int{}
		id := func() ident.SnapshotID {
			return ident.SnapshotID(fmt.Sprint(rapid.IntRange(0, max(0, next-1)).Draw(rt, "id")))
		}
		rt.Repeat(map[string]func(*rapid.T){
			"add": func(rt *rapid.T) {
				s.Add(ident.SnapshotID(fmt.Sprint(next)), window(rapid.IntRange(1, 12).Draw(rt, "window")), now, next)
				next++
			},
			"wait": func(rt *rapid.T) { now += time.Duration(rapid.IntRange(1, 50).Draw(rt, "s")) * time.Second },
			"spend": func(rt *rapid.T) {
				i := id()
				if s.Spend(i, now) == 0 {
					if holders[i] || dead[i] {
						rt.Fatalf("%s was taken twice", i)
					}
					holders[i] = true
				}
			},
			"restore": func(*rapid.T) { i := id(); delete(holders, i); s.Restore(i) },
			"consume": func(rt *rapid.T) {
				i := id()
				if holders[i] {
					delete(holders, i)
					s.Consume(i)
					if spent[i]++; spent[i] > 1 {
						rt.Fatalf("%s was spent twice", i)
					}
				}
			},
			"": func(rt *rapid.T) {
				if s.Len() > LiveMax || len(s.live) != len(s.order) || len(s.dead) > deadMax || len(s.dead) != len(s.graves) {
					rt.Fatalf("%d live, %d dead", len(s.live), len(s.dead))
				}
				for n := range next {
					i := ident.SnapshotID(fmt.Sprint(n))
					_, a := s.Find(i, now)
					if a == 0 && dead[i] {
						rt.Fatalf("%s lives again", i)
					}
					if a != 0 && !holders[i] {
						dead[i] = true
					}
				}
			},
		})
	})
}
