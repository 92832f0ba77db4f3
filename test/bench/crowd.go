package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// crowdMost is how many sessions act at once in the largest row.
	crowdMost = 64
	// crowdShare is how many act on one window.
	crowdShare = 8
	// crowdSlice is how long a row is measured in one round.
	crowdSlice = 400 * time.Millisecond
)

// sizes are how many sessions act at once, each on its own window; all are compared with
// the first.
var sizes = []int{1, crowdShare, crowdMost}

// level is a number of sessions that act at once, each as soon as its last act was
// answered.
type level struct {
	row     string
	clients []*client
	// shared says that they act on one window.
	shared bool

	took  []time.Duration
	lasts time.Duration
	tries int
}

// crowd measures acts of several sessions at once, in each place.
func crowd(ctx context.Context, out io.Writer, o options) (*claim, error) {
	for _, p := range []place{apart, here} {
		title := p.title + ": sessions at once"
		if lack := p.absent(o); lack != "" {
			missing(out, title, lack)
			continue
		}
		levels, err := crowdIn(ctx, p, o)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", title, err)
		}
		printCrowd(out, title, levels)
	}
	return &claim{about: "crowd"}, nil
}

func crowdIn(ctx context.Context, p place, o options) (levels []*level, err error) {
	var all closers
	defer func() { err = errors.Join(err, all.close()) }()
	b, err := p.start(ctx, &all, o, sceneCrowd)
	if err != nil {
		return nil, err
	}
	own, err := b.many(ctx, liveApp, titleOwn, crowdMost)
	if err != nil {
		return nil, err
	}
	for _, n := range sizes {
		levels = append(levels, &level{row: fmt.Sprintf("a window each, sessions: %d", n), clients: own[:n]})
	}
	shared := &level{row: fmt.Sprintf("all on one window, sessions: %d", crowdShare), shared: true}
	for i := range crowdShare {
		c, err := b.on(ctx, liveApp, numbered(titleShared, 1))
		if err != nil {
			return nil, err
		}
		c.check = c.checks[i] // What one of them changes is nothing that another acts on.
		shared.clients = append(shared.clients, c)
	}
	levels = append(levels, shared)
	began := time.Now()
	for round := 0; time.Since(began) < crowdMax; round++ {
		for _, l := range levels {
			// The first round warms up.
			if err := l.slice(ctx, round > 0); err != nil {
				return nil, fmt.Errorf("%s: %w", l.row, err)
			}
		}
	}
	for _, l := range levels {
		slices.Sort(l.took)
	}
	return levels, nil
}

// slice lets every session act until the time is over.
func (l *level) slice(ctx context.Context, counts bool) error {
	took, tries := make([][]time.Duration, len(l.clients)), make([]int, len(l.clients))
	g, ctx := errgroup.WithContext(ctx)
	began := time.Now()
	for i, c := range l.clients {
		g.Go(func() error {
			for time.Since(began) < crowdSlice {
				start := time.Now()
				n, err := l.act(ctx, c)
				if err != nil {
					return err
				}
				took[i], tries[i] = append(took[i], time.Since(start)), tries[i]+n
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil || !counts {
		return err
	}
	l.lasts += time.Since(began)
	for i := range took {
		l.took = append(l.took, took[i]...)
		l.tries += tries[i]
	}
	return nil
}

func (l *level) act(ctx context.Context, c *client) (tries int, err error) {
	if l.shared {
		return c.insist(ctx)
	}
	return 1, c.toggle(ctx)
}

func (l *level) p50() float64  { return ms(percentile(l.took, 50)) }
func (l *level) p99() float64  { return ms(percentile(l.took, 99)) }
func (l *level) rate() float64 { return float64(len(l.took)) / l.lasts.Seconds() }

func printCrowd(out io.Writer, title string, levels []*level) {
	fmt.Fprintf(out, "\n%s\n", title)
	fmt.Fprintf(out, "  %-32s %6s %9s %9s %8s   %s\n", "", "n", "p50 ms", "p99 ms", "acts/s",
		"p50, p99, acts/s in those of 1 session")
	alone := levels[0]
	for _, l := range levels {
		fmt.Fprintf(out, "  %-32s %6d %9.3f %9.3f %8.0f   %5.1f %5.1f %5.2f\n", l.row, len(l.took), l.p50(), l.p99(),
			l.rate(), l.p50()/alone.p50(), l.p99()/alone.p99(), l.rate()/alone.rate())
		if l.shared {
			fmt.Fprintf(out, "    each is %.1f tries on the average: an act ends the frames of the others (C2.5)\n",
				float64(l.tries)/float64(max(1, len(l.took))))
		}
	}
}
