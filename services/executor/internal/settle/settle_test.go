package settle

import (
	"testing"
	"time"
)

const ms = time.Millisecond

func TestWait(t *testing.T) {
	cases := []struct {
		name    string
		most    time.Duration
		changes []time.Duration
		now     time.Duration
		left    time.Duration
	}{
		{"at the start", 0, nil, 0, First},
		{"nothing happens", 0, nil, First, 0},
		{"an early change", 0, []time.Duration{10 * ms}, 90 * ms, 60 * ms},
		{"a late change", 0, []time.Duration{140 * ms}, 150 * ms, 70 * ms},
		{"change after change", 0, []time.Duration{100 * ms, 200 * ms}, 210 * ms, 70 * ms},
		{"bounded", 200 * ms, []time.Duration{190 * ms}, 195 * ms, 5 * ms},
		{"a small bound", 50 * ms, nil, 0, 50 * ms},
		{"over", 200 * ms, []time.Duration{190 * ms}, 200 * ms, 0},
		{"a bound above the limit", time.Hour, []time.Duration{Most}, Most, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := Begin(c.most)
			for _, at := range c.changes {
				w.Change(at)
			}
			if got := w.Left(c.now); got != c.left {
				t.Fatalf("got %v, want %v", got, c.left)
			}
		})
	}
}
