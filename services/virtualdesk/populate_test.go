package virtualdesk

import (
	"context"
	"strconv"
	"testing"
	"time"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/refusal"
)

func TestOpenedWindowsCoverNoneOfEachOther(t *testing.T) {
	s := newStage(t)
	s.must(s.OpenWindows(CalculatorID, "Many", 40, 4))
	for i := range 40 {
		w := s.window("Many " + strconv.Itoa(i+1))
		if n := len(s.tree(w).Nodes); n != 4 {
			t.Fatalf("window %d has %d elements", i+1, n)
		}
		s.mustPress(w, "Item 0")
		if got := len(s.Journal(w.ID)); got != 1 {
			t.Fatalf("window %d got %d acts", i+1, got)
		}
	}
}

func TestWindowsAreOpenedOnlyByARunningAppAndWithinTheBounds(t *testing.T) {
	s := newStage(t)
	before := len(s.windows())
	for name, err := range map[string]error{
		"of an app that does not run": s.OpenWindows(NotesID, "Many", 1, 4),
		"of no app":                   s.OpenWindows("nobody", "Many", 1, 4),
		"too many":                    s.OpenWindows(FormID, "Many", windowsMax, 4),
		"too large":                   s.OpenWindows(FormID, "Many", 1, populateMax+1),
		"a brake on itself":           s.OpenBrake(FormID, "Brake", Brake{App: FormID, Freeze: true}),
		"a brake on no app":           s.OpenBrake(FormID, "Brake", Brake{App: "nobody", Freeze: true}),
	} {
		if err == nil {
			t.Error(name)
		}
	}
	if got := len(s.windows()); got != before {
		t.Errorf("%d windows more", got-before)
	}
}

func TestBrakeFreezesAnAppWhileItIsChecked(t *testing.T) {
	s := newStage(t)
	s.must(s.OpenBrake(CalculatorID, "Brake", Brake{App: FormID, Freeze: true}))
	reads := func(want refusal.Answer) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if got := s.readAnswer(ctx, s.window("Form")); got != want {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	for range 2 {
		reads(0)
		s.flip("Brake", "On")
		reads(refusal.AnswerTargetUnresponsive)
		s.flip("Brake", "On")
	}
	reads(0)
}

func TestBrakeDelaysTheEffectsOfAnAppWhileItIsChecked(t *testing.T) {
	s := newStage(t)
	s.must(s.OpenWindows(FormID, "Slow", 1, 4))
	s.must(s.OpenBrake(CalculatorID, "Brake", Brake{App: FormID, Delay: time.Hour}))
	slow := s.window("Slow 1")
	checked := func() bool {
		return s.node(slow, commonv1.Role_ROLE_CHECK_BOX, "Item 1").States.Has(commonv1.ElementState_ELEMENT_STATE_CHECKED)
	}
	s.flip("Brake", "On")
	if d := s.flip("Slow 1", "Item 1"); d.Sent != executor.Accepted || d.Settled || checked() {
		t.Errorf("with the brake on: %+v", d)
	}
	s.flip("Brake", "On")
	if d := s.flip("Slow 1", "Item 1"); d.Sent != executor.Accepted || !d.Settled || !checked() {
		t.Errorf("with the brake off: %+v", d)
	}
}

// flip clicks a check box.
func (s stage) flip(title, name string) executor.Delivery {
	s.t.Helper()
	w := s.window(title)
	return s.Perform(s.t.Context(), click(w, s.object(w, commonv1.Role_ROLE_CHECK_BOX, name)), agrees)
}
