package virtualdesk

import (
	"testing"
	"testing/synctest"
	"time"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/refusal"
)

// told is what a watcher hears next, or the zero change.
func told(ch <-chan executor.Change) executor.Change {
	select {
	case c := <-ch:
		return c
	default:
		return executor.Change{}
	}
}

func TestUserInputIsCountedAndToldWithItsWindow(t *testing.T) {
	s := newStage(t)
	w := s.window("Form")
	changes, stop := s.Watch(0)
	defer stop()
	s.must(s.UserInput(w.ID))
	if c := told(changes); c.Kind != executor.ChangeInput || c.Window != w || s.desk().Input != 1 {
		t.Errorf("%+v, %d", c, s.desk().Input)
	}
	// Input that no window got is counted, and told of nobody.
	s.must(s.UserInput(0))
	if c := told(changes); c != (executor.Change{}) || s.desk().Input != 2 {
		t.Errorf("%+v", c)
	}
	s.must(s.UserPointerMoves(1, 1))
	s.must(s.UserActivates(w.ID))
	if s.desk().Input != 4 {
		t.Errorf("%d inputs", s.desk().Input)
	}
	if s.UserInput(5) == nil || s.UserTypes(w.ID, "x") == nil {
		t.Error("into nothing")
	}
	s.untouched()
}

func TestUserTypesIntoTheFocusedField(t *testing.T) {
	s := newStage(t)
	w := s.window("Form")
	o := s.object(w, commonv1.Role_ROLE_TEXT_FIELD, "Name")
	s.sent(typeInto(w, o, "agent"))
	changes, stop := s.Watch(0)
	defer stop()
	s.must(s.UserTypes(w.ID, " and user"))
	if c := told(changes); c.Kind != executor.ChangeInput || c.Window != w {
		t.Errorf("%+v", c)
	}
	if v := s.value(w, o); v != "agent and user" {
		t.Errorf("%q", v)
	}
	secret := s.object(w, commonv1.Role_ROLE_SECURE_FIELD, "Password")
	s.must(s.UserFocuses(secret))
	s.must(s.UserTypes(w.ID, canary))
	if s.value(w, secret) != "" {
		t.Error("the secret shows")
	}
	if len(s.Inputs(w.ID)) != 1 {
		t.Error("the user's input is in the agent's journal")
	}
}

func TestInputBetweenTwoChunksIsHeardWhileTheyAreTyped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		w := s.window("Form")
		changes, stop := s.Watch(0)
		defer stop()
		s.must(s.Pace(FormID, time.Second))
		time.AfterFunc(500*time.Millisecond, func() { s.must(s.UserInput(w.ID)) })
		heard := 0
		in := typeInto(w, s.object(w, commonv1.Role_ROLE_TEXT_FIELD, "Name"), "0123456789012345678901234567890123456789")
		got := s.Deliver(t.Context(), in, func(at int, _ executor.Under) refusal.Answer {
			for c := told(changes); c.Kind != 0; c = told(changes) {
				if c.Kind == executor.ChangeInput && c.Window == w {
					heard++
					return refusal.AnswerPhysicalInputActive
				}
			}
			return 0
		})
		if heard != 1 || got.Count != 32 || got.Stopped != refusal.AnswerPhysicalInputActive {
			t.Errorf("heard %d, %+v", heard, got)
		}
	})
}

func TestLockAndWindowsAreTold(t *testing.T) {
	s := newStage(t)
	changes, stop := s.Watch(0)
	defer stop()
	s.must(s.Lock())
	s.must(s.Unlock())
	s.must(s.CloseWindow(s.window("Log").ID))
	for i, want := range []executor.ChangeKind{executor.ChangeLock, executor.ChangeLock, executor.ChangeWindows} {
		if c := told(changes); c.Kind != want {
			t.Errorf("%d: %+v, want %d", i, c, want)
		}
	}
}

func TestWhatDoesNotFitIsToldAsLost(t *testing.T) {
	s := newStage(t)
	w := s.window("Form")
	changes, stop := s.Watch(0)
	defer stop()
	flood := func() {
		for range watchBuffer * 2 {
			s.must(s.UserInput(w.ID))
		}
	}
	flood()
	for i := range watchBuffer - 1 {
		if c := told(changes); c.Kind != executor.ChangeInput {
			t.Fatalf("%d: %+v", i, c)
		}
	}
	s.must(s.Lock())
	for i, want := range []executor.ChangeKind{executor.ChangeLost, executor.ChangeLock, 0} {
		if c := told(changes); c.Kind != want {
			t.Errorf("%d: %+v, want %d", i, c, want)
		}
	}
	flood()
	lost := 0
	for c := told(changes); c.Kind != 0; c = told(changes) {
		if c.Kind == executor.ChangeLost {
			lost++
		}
	}
	if lost != 1 {
		t.Errorf("told %d times", lost)
	}
}
