package lane

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestTheTablesAnswers(t *testing.T) {
	var table Table
	k, other := Key{Executor: 1, Root: 7}, Key{Executor: 1, Root: 8}
	if table.Take(k, 1) != Held || table.Take(k, 2) != Waiting || table.Take(k, 3) != Waiting {
		t.Fatal("the first holds, the others wait")
	}
	if table.Take(other, 4) != Held {
		t.Error("another window was delayed")
	}
	for _, who := range []uint64{2, 9} {
		if next, ok := table.Release(k, who); ok {
			t.Errorf("%d released what it does not hold, to %d", who, next)
		}
	}
	if next, ok := table.Leave(k, 9); ok {
		t.Errorf("who was never there left, and woke %d", next)
	}
	if next, ok := table.Release(k, 1); !ok || next != 2 {
		t.Errorf("the turn went to %d, %v", next, ok)
	}
	if next, ok := table.Release(k, 1); ok {
		t.Errorf("letting go twice woke %d", next)
	}
	if next, ok := table.Leave(k, 2); !ok || next != 3 {
		t.Errorf("who left as its turn came passed it to %d, %v", next, ok)
	}
	if _, ok := table.Release(k, 3); ok {
		t.Error("somebody was woken twice")
	}
	if held, waiting := table.Count(); held != 1 || waiting != 0 {
		t.Errorf("%d held, %d wait", held, waiting)
	}
}

func TestTheQueueOfAWindowIsBounded(t *testing.T) {
	var table Table
	k := Key{Root: 1}
	table.Take(k, 0)
	for i := range uint64(32) {
		if got := table.Take(k, i+1); got != Waiting {
			t.Fatalf("waiter %d: %v", i+1, got)
		}
	}
	if table.Take(k, 99) != Busy || table.Take(Key{Root: 2}, 100) != Held {
		t.Error("the bound is per window")
	}
	// Who was refused is not in the queue, and whoever leaves makes room.
	if next, ok := table.Leave(k, 99); ok || next != 0 {
		t.Errorf("who was refused woke %d", next)
	}
	table.Leave(k, 16)
	if table.Take(k, 101) != Waiting || table.Take(k, 102) != Busy {
		t.Error("one place was free")
	}
}

// slow is the obvious version: everybody in order of arrival, in one list. The first
// of a key holds its lane.
type slow []place

type place struct {
	key Key
	who uint64
}

func (s slow) of(k Key) []uint64 {
	var line []uint64
	for _, p := range s {
		if p.key == k {
			line = append(line, p.who)
		}
	}
	return line
}

func (s slow) without(who uint64) slow {
	return slices.DeleteFunc(slices.Clone(s), func(p place) bool { return p.who == who })
}

// TestLanesUnderAnyInterleaving drives the table and the obvious version with the same
// steps. That they agree is exclusion per window, first in first out, no delay of
// another window, and that nobody is lost or woken twice.
func TestLanesUnderAnyInterleaving(t *testing.T) {
	keys := []Key{{Executor: 1, Root: 7}, {Executor: 1, Root: 8}, {Executor: 2, Root: 7}, {Executor: 1, Launch: true}}
	rapid.Check(t, func(t *rapid.T) {
		var table Table
		var model slow
		var last uint64
		holders := map[Key]uint64{} // as the answers told it
		woken := map[uint64]bool{}
		hold := func(t *rapid.T, k Key, who uint64) {
			if holder, taken := holders[k]; taken {
				t.Fatalf("%d and %d hold %+v", holder, who, k)
			}
			if woken[who] {
				t.Fatalf("%d was woken twice", who)
			}
			holders[k], woken[who] = who, true
		}
		// drop ends one act's place, and checks whom the table says is next.
		drop := func(t *rapid.T, p place, end func(Key, uint64) (uint64, bool)) {
			line := model.of(p.key)
			held := line[0] == p.who
			model = model.without(p.who)
			if held {
				delete(holders, p.key)
			}
			next, ok := end(p.key, p.who)
			if ok != (held && len(line) > 1) || ok && next != line[1] {
				t.Fatalf("after %d of %v: next %d, %v", p.who, line, next, ok)
			}
			if ok {
				hold(t, p.key, next)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				k := rapid.SampledFrom(keys).Draw(t, "key")
				// Several at a time, so that queues fill up.
				for range rapid.IntRange(1, 12).Draw(t, "acts") {
					last++
					line, want := model.of(k), Waiting
					switch {
					case len(line) == 0:
						want = Held
					case len(line) > waitingMax:
						want = Busy
					}
					if got := table.Take(k, last); got != want {
						t.Fatalf("with %d before it: %v, want %v", len(line), got, want)
					}
					if want == Held {
						hold(t, k, last)
					}
					if want != Busy {
						model = append(model, place{k, last})
					}
				}
			},
			"leave": func(t *rapid.T) {
				if len(model) > 0 {
					drop(t, rapid.SampledFrom(model).Draw(t, "who"), table.Leave)
				}
			},
			"release": func(t *rapid.T) {
				if len(holders) > 0 {
					k := rapid.SampledFrom(model).Draw(t, "of").key
					drop(t, place{k, holders[k]}, table.Release)
				}
			},
			"release without holding": func(t *rapid.T) {
				k, who := rapid.SampledFrom(keys).Draw(t, "key"), rapid.Uint64Range(1, last+2).Draw(t, "who")
				if holder, taken := holders[k]; taken && holder == who {
					return
				}
				if next, ok := table.Release(k, who); ok {
					t.Fatalf("%d, who holds nothing, woke %d", who, next)
				}
			},
			"": func(t *rapid.T) {
				held, waiting := table.Count()
				if held != len(holders) || held+waiting != len(model) {
					t.Fatalf("%d held of %d, %d wait of %d", held, len(holders), waiting, len(model)-len(holders))
				}
				for k, who := range holders {
					if line := model.of(k); len(line) == 0 || line[0] != who {
						t.Fatalf("%d holds %+v before its turn: %v", who, k, line)
					}
				}
			},
		})
		// In the end everybody's turn comes, in order of arrival.
		for len(model) > 0 {
			drop(t, place{model[0].key, holders[model[0].key]}, table.Release)
		}
		if held, waiting := table.Count(); held != 0 || waiting != 0 {
			t.Fatalf("%d held, %d wait in the end", held, waiting)
		}
	})
}
