package virtualdesk

import (
	"context"
	"sync"
	"testing"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
)

func TestConcurrentUseIsOneStepAtATime(t *testing.T) {
	s := newStage(t)
	form, calc := s.window("Form"), s.window("Calculator")
	seven, details := s.object(calc, 0, "7"), s.object(form, 0, "Details")
	const rounds = 40
	var wg sync.WaitGroup
	spawn := func(f func()) {
		wg.Go(func() {
			for range rounds {
				f()
			}
		})
	}
	spawn(func() { s.Perform(t.Context(), click(calc, seven), agrees) })
	spawn(func() { s.Perform(t.Context(), click(calc, seven), agrees) })
	spawn(func() { readAll(t.Context(), s.Desk, form) })
	spawn(func() {
		_, stop := s.Watch(0)
		defer stop()
		if o, err := s.Element(form.ID, commonv1.Role_ROLE_TEXT_FIELD, "Name"); err == nil {
			if s.SetValue(o, "x") != nil {
				t.Error("the name is gone")
			}
		}
	})
	spawn(func() {
		if s.Move(form.ID, 80, 60) != nil || s.ToggleByUser(details) != nil {
			t.Error("the form is gone")
		}
	})
	wg.Wait()
	if got := len(s.Journal(calc.ID)); got != 2*rounds {
		t.Errorf("%d events", got)
	}
}

func readAll(ctx context.Context, d *Desk, w ident.Window) {
	tree, err := d.ReadTree(ctx, w, executor.TreeLimits{})
	if err != nil || len(tree.Nodes) == 0 {
		panic("virtualdesk: the form cannot be read")
	}
	for _, n := range tree.Nodes {
		_, _ = d.Reread(ctx, w, n.Object)
	}
	_, _ = d.Windows(ctx)
	_, _ = d.Capture(ctx, w)
	d.Events()
}

func TestCheckAndChangeAreOneStep(t *testing.T) {
	s := newStage(t)
	w := s.window("Form")
	o := s.object(w, commonv1.Role_ROLE_TEXT_FIELD, "Name")
	edited := make(chan error, 1)
	got := s.Perform(t.Context(), executor.Performance{
		Window: w, Object: o, Verb: commonv1.Verb_VERB_TYPE_TEXT, Mode: commonv1.TextMode_TEXT_MODE_APPEND,
		Text: "b", Routes: allRoutes(),
	}, func(executor.Node) refusal.Answer {
		go func() { edited <- s.SetValue(o, "a") }()
		select {
		case <-edited:
			t.Error("the user came between check and change")
		default:
		}
		return 0
	})
	s.must(<-edited)
	if n := s.node(w, commonv1.Role_ROLE_TEXT_FIELD, "Name"); got.Sent != executor.Accepted || n.Value != "a" {
		t.Errorf("%+v, %q", got, n.Value)
	}
}

func TestWatcherThatDoesNotReadBlocksNobody(t *testing.T) {
	s := newStage(t)
	w := s.window("Form")
	changes, stop := s.Watch(0)
	for range 3 * watchBuffer {
		s.must(s.Move(w.ID, 1, 1))
	}
	if len(changes) != watchBuffer {
		t.Errorf("%d changes kept", len(changes))
	}
	stop()
	stop()
	s.must(s.Move(w.ID, 2, 2))
}

// shortClock ends after it was asked so many times.
type shortClock struct {
	context.Context
	left int
}

func (c *shortClock) Err() error {
	if c.left--; c.left < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

func TestWalkThatRunsOutOfTimeIsMarked(t *testing.T) {
	s := newStage(t)
	w := s.window("Form")
	s.must(s.Populate(w.ID, 1000))
	tree, err := s.ReadTree(&shortClock{t.Context(), 2}, w, executor.TreeLimits{})
	s.must(err)
	if len(tree.Nodes) < 256 || len(tree.Nodes) >= 1000 || len(tree.Truncations) != 1 ||
		tree.Truncations[0].Kind != commonv1.TruncationKind_TRUNCATION_KIND_TIME ||
		tree.Truncations[0].Missing != 1000-len(tree.Nodes) {
		t.Errorf("%d nodes, %+v", len(tree.Nodes), tree.Truncations)
	}
}

func TestJournalIsBounded(t *testing.T) {
	s := newStage(t)
	w := s.window("Calculator")
	p := click(w, s.object(w, 0, "C"))
	for range journalMax + 1 {
		s.Perform(t.Context(), p, nil)
	}
	events := s.Events()
	if len(events) != journalMax/2+1 || events[len(events)-1].Seq != journalMax+1 {
		t.Errorf("%d events", len(events))
	}
}
