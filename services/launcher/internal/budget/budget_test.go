package budget

import (
	"testing"
	"time"
)

func TestBudgetOfRestarts(t *testing.T) {
	for _, c := range []struct {
		name  string
		ran   []time.Duration
		wait  time.Duration
		again bool
	}{
		{"first failure", []time.Duration{0}, 50 * time.Millisecond, true},
		{"second waits twice as long", []time.Duration{0, 0}, 100 * time.Millisecond, true},
		{"third again", []time.Duration{0, 0, 0}, 200 * time.Millisecond, true},
		{"fourth is the end", []time.Duration{0, 0, 0, 0}, 0, false},
		{"a minute of health forgets", []time.Duration{0, 0, 0, Healthy}, 50 * time.Millisecond, true},
		{"less does not", []time.Duration{0, 0, 0, Healthy - 1}, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b Budget
			var wait time.Duration
			var again bool
			for _, ran := range c.ran {
				b, wait, again = b.Failed(ran)
			}
			if wait != c.wait || again != c.again {
				t.Errorf("wait %v again %v", wait, again)
			}
		})
	}
}
