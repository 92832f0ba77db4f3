package virtualdesk

import (
	"testing"
	"time"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/permit"
	"fairlead.dev/services/shared/refusal"
)

// newBench is a stage on which every installed app runs.
func newBench(t *testing.T) stage {
	t.Helper()
	d, err := New(Config{
		Password: canary, SeatWait: 20 * time.Millisecond,
		Running: []string{NotesID, BrowserID, WorkbenchID, CanvasID},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return stage{d, t}
}

// seen is what a check was asked.
type seen struct {
	at  []int
	was []executor.Under
}

func (s *seen) agree(at int, now executor.Under) refusal.Answer {
	s.at, s.was = append(s.at, at), append(s.was, now)
	return 0
}

// until agrees until it was asked so many times, and then answers.
func (s *seen) until(n int, a refusal.Answer) executor.InputCheck {
	return func(at int, now executor.Under) refusal.Answer {
		s.agree(at, now)
		if len(s.at) > n {
			return a
		}
		return 0
	}
}

func anyInput(int, executor.Under) refusal.Answer { return 0 }

func seatOnly() []commonv1.Route { return []commonv1.Route{commonv1.Route_ROUTE_AGENT_SEAT} }

// center is the middle of an element, as a point of its surface.
func (s stage) center(w ident.Window, o executor.Object) executor.SurfacePoint {
	s.t.Helper()
	n, err := s.Reread(s.t.Context(), w, o)
	if err != nil {
		s.t.Fatal(err)
	}
	surface := s.listed(w.ID).Surfaces[n.Surface]
	return executor.SurfacePoint{Surface: surface.ID, X: n.Bounds.X + n.Bounds.W/2, Y: n.Bounds.Y + n.Bounds.H/2}
}

func (s stage) on(w ident.Window, role commonv1.Role, name string) executor.SurfacePoint {
	s.t.Helper()
	return s.center(w, s.object(w, role, name))
}

func pointAct(w ident.Window, v commonv1.Verb, ps ...executor.SurfacePoint) executor.Input {
	return executor.Input{Window: w, Verb: v, Routes: seatOnly(), Points: ps}
}

func clickAt(w ident.Window, p executor.SurfacePoint) executor.Input {
	return pointAct(w, commonv1.Verb_VERB_CLICK_POINT, p)
}

// sent delivers an input that must arrive whole.
func (s stage) sent(in executor.Input) executor.Delivery {
	s.t.Helper()
	got := s.Deliver(s.t.Context(), in, anyInput)
	if got.Sent != executor.Accepted || got.Stopped != 0 || got.Route == commonv1.Route_ROUTE_NONE {
		s.t.Fatalf("%v: %+v", in.Verb, got)
	}
	s.nothingHeld()
	return got
}

func (s stage) nothingHeld() {
	s.t.Helper()
	if h := s.Held(); len(h) != 0 {
		s.t.Errorf("still down: %v", h)
	}
}

// unreached fails when a window got anything at all.
func (s stage) unreached(ids ...uint64) {
	s.t.Helper()
	for _, id := range ids {
		if len(s.Journal(id)) != 0 || len(s.Inputs(id)) != 0 {
			s.t.Errorf("window %d was reached: %+v, %+v", id, s.Journal(id), s.Inputs(id))
		}
	}
}

func keysTo(w ident.Window, o executor.Object, v commonv1.Verb) executor.Input {
	return executor.Input{Window: w, Verb: v, Routes: seatOnly(), Object: o, Focus: true}
}

func typeInto(w ident.Window, o executor.Object, text string) executor.Input {
	in := keysTo(w, o, commonv1.Verb_VERB_TYPE_TEXT)
	in.Text = text
	return in
}

func pressInto(t *testing.T, w ident.Window, o executor.Object, chord string) executor.Input {
	t.Helper()
	c, err := permit.ParseChord(chord)
	if err != nil {
		t.Fatal(err)
	}
	in := keysTo(w, o, commonv1.Verb_VERB_PRESS_KEYS)
	in.Chord = c
	return in
}

func (s stage) value(w ident.Window, o executor.Object) string {
	s.t.Helper()
	n, err := s.Reread(s.t.Context(), w, o)
	if err != nil {
		s.t.Fatal(err)
	}
	return n.Value
}

func (s stage) focused(w ident.Window) executor.Object {
	s.t.Helper()
	for _, n := range s.tree(w).Nodes {
		if n.States.Has(commonv1.ElementState_ELEMENT_STATE_FOCUSED) {
			return n.Object
		}
	}
	return ""
}
