package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	hostv1 "fairlead.dev/gen/fairlead/host/v1"
)

const (
	// stuckSessions is how many are stuck: a host takes 224 of one account (protocol.md).
	stuckSessions = 200
	// slowFor is how much later a slow app does what it was asked for: less than an act is
	// waited for (2.5 s), so that the act ends well when nothing is measured any more.
	slowFor = 2300 * time.Millisecond
	// stuckSlice is how long the unrelated session acts next to the stuck ones in one
	// round; it must end before the first of them is answered.
	stuckSlice = 1200 * time.Millisecond
	// aloneSlice is half of it, as there are two a round.
	aloneSlice = stuckSlice / 2
	// calmFor is the pause after everybody went on: what is booked behind an answer is done.
	calmFor = 200 * time.Millisecond
	// arriveFor is the pause in which acts that are with the executor reach the app.
	arriveFor = 50 * time.Millisecond

	// stuckAim is how much the p99 of the unrelated session may be of what it is alone.
	stuckAim = 1.1
)

// Rows of the phase.
const (
	rowAlone  = "an act, 200 sessions idle"
	rowFrozen = "an act, 200 acts wait for a frozen app"
	rowSlow   = "an act, 200 acts wait for their effect"
)

// jam is the sessions that get stuck, what brakes their app, and who watches.
type jam struct {
	stuck         []*client
	freeze, delay *client
	status        hostv1.StatusServiceClient
	control       hostv1.ControlServiceClient
	free          *client
	answered      atomic.Int64
	// rounds is how often it was measured next to stuck sessions, cut how often not to the end.
	rounds, cut int
	// refused is how often the unrelated session was refused.
	refused map[string]int
}

// newJam opens the sessions of the stuck scene, n of them to get stuck.
func newJam(ctx context.Context, b *bed, n int) (*jam, error) {
	user, err := b.dial(b.user)
	if err != nil {
		return nil, err
	}
	j := &jam{
		status: hostv1.NewStatusServiceClient(user), control: hostv1.NewControlServiceClient(user),
		refused: map[string]int{},
	}
	if j.freeze, err = b.on(ctx, liveApp, titleFreeze); err != nil {
		return nil, err
	}
	if j.delay, err = b.on(ctx, liveApp, titleDelay); err != nil {
		return nil, err
	}
	if j.free, err = b.on(ctx, liveApp, numbered(titleOwn, 1)); err != nil {
		return nil, err
	}
	j.stuck, err = b.many(ctx, slowApp, titleSlow, n)
	return j, err
}

// stuck measures an act of one session while many others are stuck on windows of their
// own, and while they are idle, in turns.
func stuck(ctx context.Context, out io.Writer, o options) (_ *claim, err error) {
	p := best(o)
	title := p.title + ": one session next to 200 stuck ones"
	var all closers
	defer func() { err = errors.Join(err, all.close()) }()
	b, err := p.start(ctx, &all, o, sceneStuck)
	if err != nil {
		return nil, err
	}
	j, err := newJam(ctx, b, stuckSessions)
	if err != nil {
		return nil, err
	}
	f := newFigures(title, rowAlone, rowFrozen, rowSlow)
	began := time.Now()
	for round := 0; time.Since(began) < stuckMax; round++ {
		into := f
		if round == 0 {
			into = newFigures("warming up")
		}
		if err := j.round(ctx, into); err != nil {
			return nil, fmt.Errorf("%s: %w", title, err)
		}
	}
	f.sort()
	j.print(out, f)
	against := func(row string) float64 { return f.p99(row) / f.p99(rowAlone) }
	return &claim{about: "stuck", title: title, aims: []aim{
		{"p99 of an act, 200 acts wait for a frozen app / idle", against(rowFrozen), stuckAim, "times"},
		{"p99 of an act, 200 acts wait for their effect / idle", against(rowSlow), stuckAim, "times"},
	}}, nil
}

// round measures alone, next to acts that a frozen app does not take, alone, and next to
// acts whose effect does not show.
func (j *jam) round(ctx context.Context, f *figures) error {
	for _, one := range []struct {
		row   string
		brake *client
	}{{rowFrozen, j.freeze}, {rowSlow, j.delay}} {
		if err := j.slice(ctx, aloneSlice, f, rowAlone); err != nil {
			return err
		}
		if err := j.next(ctx, one.brake, f, one.row); err != nil {
			return err
		}
	}
	return nil
}

// next gets everybody stuck, measures, and lets them go on. What is measured after the
// first of them was answered does not count.
func (j *jam) next(ctx context.Context, brake *client, f *figures, row string) error {
	if err := each(j.stuck, func(c *client) error { return await(ctx, c.outline) }); err != nil {
		return err
	}
	if err := brake.afresh(ctx); err != nil {
		return err
	}
	j.answered.Store(0)
	var acts errgroup.Group
	for _, c := range j.stuck {
		acts.Go(func() error {
			_, err := c.click(ctx)
			j.answered.Add(1)
			return err
		})
	}
	err := j.whileStuck(ctx, f, row)
	return errors.Join(err, brake.afresh(ctx), acts.Wait(), pause(ctx, calmFor))
}

func (j *jam) whileStuck(ctx context.Context, f *figures, row string) error {
	err := j.await(ctx, func(st *hostv1.GetStatusResponse) bool {
		return int(st.GetActsInFlight()) == len(j.stuck) || j.answered.Load() > 0
	})
	if err == nil {
		err = pause(ctx, arriveFor)
	}
	if err != nil {
		return err
	}
	j.rounds++
	err = j.slice(ctx, stuckSlice, f, row)
	if j.answered.Load() > 0 {
		j.cut++
	}
	return err
}

// slice has the unrelated session act for so long, or until a stuck one is answered.
func (j *jam) slice(ctx context.Context, lasts time.Duration, f *figures, row string) error {
	if err := j.free.afresh(ctx); err != nil {
		return err
	}
	before := j.answered.Load()
	for began := time.Now(); time.Since(began) < lasts; {
		start, cpu := time.Now(), used()
		if err := j.free.toggle(ctx); errors.Is(err, errRefused) {
			j.refused[row]++
			if err := j.free.afresh(ctx); err != nil {
				return err
			}
			continue
		} else if err != nil {
			return err
		}
		took := time.Since(start)
		if j.answered.Load() > before {
			return nil
		}
		f.took[row] = append(f.took[row], took)
		f.cpu[row] += used() - cpu
	}
	return nil
}

// await asks for the status until it is as wanted.
func (j *jam) await(ctx context.Context, wanted func(*hostv1.GetStatusResponse) bool) error {
	ctx, cancel := context.WithTimeout(ctx, startMax)
	defer cancel()
	for {
		st, err := j.status.GetStatus(ctx, &hostv1.GetStatusRequest{})
		if err != nil {
			return failed("GetStatus", nil, err)
		}
		if wanted(st) {
			return nil
		}
		if err := pause(ctx, time.Millisecond); err != nil {
			return err
		}
	}
}

// pause waits; it fails only when the bench is over.
func pause(ctx context.Context, wait time.Duration) error {
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// each does something for all clients at once.
func each(cs []*client, do func(*client) error) error {
	var g errgroup.Group
	for _, c := range cs {
		g.Go(func() error { return do(c) })
	}
	return g.Wait()
}

func (j *jam) print(out io.Writer, f *figures) {
	fmt.Fprintf(out, "\n%s\n", f.title)
	fmt.Fprintf(out, "  %-40s %6s %9s %9s %10s   %s\n", "", "n", "p50 ms", "p99 ms", "own cpu ms",
		"p50, p99, cpu in those of idle")
	cpu := func(row string) float64 { return ms(f.cpu[row]) / float64(len(f.took[row])) }
	for _, row := range f.order {
		fmt.Fprintf(out, "  %-40s %6d %9.3f %9.3f %10.3f   %5.2f %5.2f %5.2f\n",
			row, len(f.took[row]), f.p50(row), f.p99(row), cpu(row),
			f.p50(row)/f.p50(rowAlone), f.p99(row)/f.p99(rowAlone), cpu(row)/cpu(rowAlone))
	}
	for _, row := range f.order {
		if n := j.refused[row]; n > 0 {
			fmt.Fprintf(out, "    %s: refused %d times, which is not in the figures\n", row, n)
		}
	}
	if j.cut > 0 {
		fmt.Fprintf(out, "    %d of %d times a stuck act was answered before the time was over\n", j.cut, j.rounds)
	}
}
