package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sync/errgroup"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
)

const (
	// stopBatch is how many sessions are stopped one after the other before all begin anew.
	stopBatch = 8
	// stopBatches is how many batches of a kind are enough.
	stopBatches = 30
	// betweenStops is the pause between two: what is booked behind a stop is done.
	betweenStops = 10 * time.Millisecond
	// lateMax is when an act counts as not ended by its stop; the figure is then this.
	lateMax = 500 * time.Millisecond

	// stopAim is how soon a stop takes effect on an act.
	stopAim = 5.0 // ms
)

// Rows of the phase.
const (
	rowUnsent  = "act at a frozen app: answered"
	rowSent    = "act that was sent to a slow app: answered"
	rowQueued  = "act queued in its session: refused"
	rowWaiting = "act that waits for its window: refused"
	rowCall    = "Stop returned"
)

// kind is one sort of act that sessions are stopped in.
type kind struct {
	row   string
	brake func(*jam) *client
	// behind says that other sessions act on the windows, and the stopped ones wait for
	// them; else each has a second act in its queue.
	behind bool
	// outcome is what an act of this kind that was stopped is answered.
	outcome commonv1.Outcome
	// windows is where its windows begin. An effect that comes late must not meet an act
	// of another kind.
	windows int
}

var kinds = []kind{
	{
		row: rowUnsent, brake: func(j *jam) *client { return j.freeze },
		outcome: commonv1.Outcome_OUTCOME_REFUSED,
	},
	{
		row: rowSent, brake: func(j *jam) *client { return j.delay }, windows: stuckSessions / 2,
		outcome: commonv1.Outcome_OUTCOME_OK,
	},
	{
		row: rowWaiting, brake: func(j *jam) *client { return j.freeze }, behind: true,
		outcome: commonv1.Outcome_OUTCOME_REFUSED,
	},
}

// stops measures how soon a stop takes effect.
type stops struct {
	*jam
	*figures
	// odd is how many stops did not meet the act they were to meet.
	odd int
}

// stop measures, from the moment Stop is called, when acts are answered and when Stop is.
func stop(ctx context.Context, out io.Writer, o options) (_ *claim, err error) {
	p := best(o)
	title := p.title + ": Stop"
	var all closers
	defer func() { err = errors.Join(err, all.close()) }()
	b, err := p.start(ctx, &all, o, sceneStuck)
	if err != nil {
		return nil, err
	}
	j, err := newJam(ctx, b, 2*stopBatch)
	if err != nil {
		return nil, err
	}
	s := &stops{jam: j, figures: newFigures(title, rowQueued, rowWaiting, rowUnsent, rowSent, rowCall)}
	began, over := time.Now(), map[string]bool{}
	for batch := 0; batch <= stopBatches && time.Since(began) < stopMax; batch++ {
		for _, k := range kinds {
			if over[k.row] {
				continue
			}
			if over[k.row], err = s.batch(ctx, k, batch); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", title, k.row, err)
			}
		}
	}
	s.sort()
	s.print(out)
	c := &claim{about: "stop", title: title}
	for _, row := range s.order[:len(s.order)-1] {
		c.aims = append(c.aims, aim{"p99, " + row, s.p99(row), stopAim, "ms"})
	}
	return c, nil
}

// batch stops some sessions in acts of a kind. It reports whether a stop was not heeded
// in time, which no further batch needs to show. The first batch warms up.
func (s *stops) batch(ctx context.Context, k kind, number int) (late bool, err error) {
	stopped, others := s.stuck[:stopBatch], s.stuck[stopBatch:]
	var g errgroup.Group
	for i, c := range stopped {
		window := numbered(titleSlow, k.windows+(number*stopBatch+i)%(stuckSessions/2-stopBatch)+1)
		g.Go(func() error {
			return await(ctx, func(ctx context.Context) error { return c.anew(ctx, s.control, window) })
		})
		if k.behind {
			g.Go(func() error {
				return await(ctx, func(ctx context.Context) error { return others[i].find(ctx, slowApp, window) })
			})
		}
	}
	if err := g.Wait(); err != nil {
		return false, err
	}
	brake := k.brake(s.jam)
	if err := brake.afresh(ctx); err != nil {
		return false, err
	}
	s.answered.Store(0)
	acts, err := s.begin(ctx, k, stopped, others)
	for i, c := range stopped {
		if err != nil {
			break
		}
		var one bool
		one, err = s.one(ctx, k, c, acts.of(i), number > 0)
		late = late || one
	}
	err = errors.Join(err, brake.afresh(ctx), acts.wait(), pause(ctx, calmFor/4))
	return late && number > 0, err
}

// anew begins anew after a stop, on another window.
func (c *client) anew(ctx context.Context, control hostv1.ControlServiceClient, title string) error {
	if _, err := control.Resume(ctx, &hostv1.ResumeRequest{SessionId: c.session.GetSessionId()}); err != nil {
		return failed("Resume", nil, err)
	}
	st, err := c.lease.GetSession(ctx, &hostv1.GetSessionRequest{Session: c.session})
	if err := failed("GetSession", st.GetRefusal(), err); err != nil {
		return err
	}
	c.fence = st.GetFence()
	if err := c.begin(ctx); err != nil {
		return err
	}
	if err := c.mayAct(ctx, slowApp); err != nil {
		return err
	}
	return c.find(ctx, slowApp, title)
}

// answer is when and what an act was answered.
type answer struct {
	at   time.Time
	resp *hostv1.ActResponse
	err  error
}

// underway are acts that were sent and not answered yet.
type underway struct {
	others, first, second []chan answer
}

// of is the acts of one session.
func (u *underway) of(i int) []chan answer {
	if u.second == nil {
		return u.first[i : i+1]
	}
	return []chan answer{u.first[i], u.second[i]}
}

// wait waits for all that were not waited for.
func (u *underway) wait() (err error) {
	for _, list := range [][]chan answer{u.others, u.first, u.second} {
		for _, ch := range list {
			// Those that were heard are closed.
			err = errors.Join(err, (<-ch).err)
		}
	}
	return err
}

// begin brings every session into the state it is to be stopped in.
func (s *stops) begin(ctx context.Context, k kind, stopped, others []*client) (*underway, error) {
	u := &underway{}
	if k.behind {
		u.others = s.send(ctx, others)
		if err := s.reached(ctx, (*hostv1.GetStatusResponse).GetActsInFlight); err != nil {
			return u, err
		}
	}
	u.first = s.send(ctx, stopped)
	if k.behind {
		return u, errors.Join(s.reached(ctx, (*hostv1.GetStatusResponse).GetLanesWaiting), pause(ctx, arriveFor))
	}
	if err := s.reached(ctx, (*hostv1.GetStatusResponse).GetActsInFlight); err != nil {
		return u, err
	}
	u.second = s.send(ctx, stopped)
	return u, errors.Join(s.reached(ctx, (*hostv1.GetStatusResponse).GetCallsWaiting), pause(ctx, arriveFor))
}

// reached waits until a count of the status is that of the whole batch, or an act was
// answered that should not have been.
func (s *stops) reached(ctx context.Context, count func(*hostv1.GetStatusResponse) uint32) error {
	return s.await(ctx, func(st *hostv1.GetStatusResponse) bool {
		return count(st) == stopBatch || s.answered.Load() > 0
	})
}

// send has each of the sessions act.
func (s *stops) send(ctx context.Context, cs []*client) []chan answer {
	out := make([]chan answer, len(cs))
	for i, c := range cs {
		out[i] = make(chan answer, 1)
		req := c.request()
		go func() {
			r, err := c.acts.Act(ctx, req)
			out[i] <- answer{time.Now(), r, err}
			close(out[i])
			s.answered.Add(1)
		}()
	}
	return out
}

// one stops one session, and reports whether an act was not answered in time. The order
// of its acts is the running or waiting one, then the queued one.
func (s *stops) one(ctx context.Context, k kind, c *client, acts []chan answer, counts bool) (late bool, err error) {
	ran := make(chan answer, 1)
	start := time.Now()
	go func() {
		_, err := s.control.Stop(ctx, &hostv1.StopRequest{SessionId: c.session.GetSessionId()})
		ran <- answer{at: time.Now(), err: err}
	}()
	over := time.NewTimer(lateMax)
	defer over.Stop()
	rows := []string{k.row, rowQueued}
	for i, ch := range acts {
		took := lateMax
		select {
		case a := <-ch:
			took = a.at.Sub(start)
			if took < 0 || !k.expects(i, a.resp) {
				s.odd++
				continue
			}
		case <-over.C:
			late = true
			over.Reset(0)
		}
		if counts {
			s.took[rows[i]] = append(s.took[rows[i]], took)
		}
	}
	called := <-ran
	if called.err != nil {
		return late, failed("Stop", nil, called.err)
	}
	if counts {
		s.took[rowCall] = append(s.took[rowCall], called.at.Sub(start))
	}
	return late, pause(ctx, betweenStops)
}

// expects reports whether an act was answered as it is when a stop ends it.
func (k kind) expects(i int, r *hostv1.ActResponse) bool {
	if i > 0 || k.behind {
		return r.GetRefusal().GetCode() == commonv1.RefusalCode_REFUSAL_CODE_USER_STOPPED
	}
	return r.GetOutcome() == k.outcome && r.GetObservation() == nil
}

func (s *stops) print(out io.Writer) {
	fmt.Fprintf(out, "\n%s, of one session after the other, from the call of Stop\n", s.title)
	fmt.Fprintf(out, "  %-44s %6s %9s %9s %9s\n", "", "n", "p50 ms", "p99 ms", "most ms")
	for _, row := range s.order {
		fmt.Fprintf(out, "  %-44s %6d %9.3f %9.3f %9.3f\n", row, len(s.took[row]), s.p50(row), s.p99(row),
			ms(s.at(row, 100)))
	}
	if s.odd > 0 {
		fmt.Fprintf(out, "    %d acts do not count: the stop met them in another state\n", s.odd)
	}
	if list := s.took[rowWaiting]; len(list) > 0 && list[len(list)-1] >= lateMax {
		fmt.Fprintf(out, "    an act that was not answered after %v was not waited for any longer\n", lateMax)
	}
}
