package ident

import "testing"

func TestAFenceHoldsWhenEveryAssertedGenerationIsCurrent(t *testing.T) {
	now := Fence{Host: 1, Executor: 2, Policy: 3, Session: 4}
	for _, tc := range []struct {
		name string
		f    Fence
		want bool
	}{
		{"zero asserts nothing", Fence{}, true},
		{"all current", now, true},
		{"host", Fence{Host: 9}, false},
		{"executor", Fence{Host: 1, Executor: 9}, false},
		{"policy", Fence{Policy: 9}, false},
		{"session", Fence{Session: 9}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.f.Holds(now) != tc.want {
				t.Errorf("holds = %v", !tc.want)
			}
		})
	}
}

func TestIDsAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for range 10_000 {
		id := New("x")
		if seen[id] {
			t.Fatal("an id came twice")
		}
		seen[id] = true
	}
}
