package virtualdesk

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/refusal"
)

func (s stage) typeName(text string) executor.Delivery {
	s.t.Helper()
	w := s.window("Form")
	return s.Perform(s.t.Context(), executor.Performance{
		Window: w, Object: s.object(w, commonv1.Role_ROLE_TEXT_FIELD, "Name"), Text: text, Submit: true,
		Verb: commonv1.Verb_VERB_TYPE_TEXT, Routes: allRoutes(),
	}, agrees)
}

func (s stage) shown() string {
	s.t.Helper()
	return s.node(s.window("Calculator"), commonv1.Role_ROLE_TEXT_FIELD, "Display").Value
}

func TestDeclineNextIsOneActDeclined(t *testing.T) {
	s := newStage(t)
	w := s.window("Calculator")
	s.must(s.DeclineNext(CalculatorID))
	if got := s.press(w, "7"); got.Sent != executor.Declined || s.shown() != "0" {
		t.Errorf("%+v, %s", got, s.shown())
	}
	s.mustPress(w, "7")
	if s.shown() != "7" {
		t.Errorf("shows %s", s.shown())
	}
}

func TestNoOpNextIsAcceptedWithoutChange(t *testing.T) {
	s := newStage(t)
	s.must(s.NoOpNext(CalculatorID))
	s.mustPress(s.window("Calculator"), "7")
	if s.shown() != "0" || len(s.Events()) != 1 {
		t.Errorf("shows %s, %+v", s.shown(), s.Events())
	}
}

func TestUnansweredNextHappensOnlyWhenSaid(t *testing.T) {
	for _, happens := range []bool{true, false} {
		s := newStage(t)
		s.must(s.UnansweredNext(CalculatorID, happens))
		got := s.press(s.window("Calculator"), "7")
		if got.Sent != executor.Unanswered || (s.shown() == "7") != happens || (len(s.Events()) == 1) != happens {
			t.Errorf("%+v, %s", got, s.shown())
		}
	}
}

func TestPartialNextDeliversSoManyCharactersAndDoesNotSubmit(t *testing.T) {
	s := newStage(t)
	s.must(s.PartialNext(FormID, 3))
	s.mustPress(s.window("Log"), "Clear")
	if got := s.typeName("Grüße"); got.Sent != executor.Accepted || got.Count != 3 {
		t.Errorf("%+v", got)
	}
	w := s.window("Form")
	if got := s.node(w, commonv1.Role_ROLE_TEXT_FIELD, "Name").Value; got != "Grü" {
		t.Errorf("%q", got)
	}
	if _, err := s.Element(w.ID, commonv1.Role_ROLE_LABEL, "Name submitted"); err == nil {
		t.Error("partial text was submitted (C8.5)")
	}
}

func TestDisturbNextChangesTheDeskOnce(t *testing.T) {
	s := newStage(t)
	w := s.window("Calculator")
	before := s.desk()
	s.must(s.DisturbNext(CalculatorID,
		DisturbFocus|DisturbActive|DisturbStacking|DisturbPointer|DisturbClipboard))
	s.mustPress(w, "7")
	now := s.desk()
	if now.Focus != w.ID || now.Active != w.ID || now.Stacking[2] != w.ID || now.Clipboard != w.ID ||
		now.PointerX == before.PointerX {
		t.Errorf("%+v", now)
	}
	s.must(s.UserActivates(s.window("Form").ID))
	s.mustPress(w, "7")
	if now = s.desk(); now.Focus != s.window("Form").ID || now.Stacking[2] != now.Active {
		t.Errorf("disturbed twice: %+v", now)
	}
}

func TestDelayedEffectComesLaterWithAChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		w := s.window("Calculator")
		s.must(s.Delay(CalculatorID, time.Second))
		changes, stop := s.Watch(0)
		defer stop()
		if got := s.press(w, "7"); got.Sent != executor.Accepted || got.Settled || s.shown() != "0" {
			t.Errorf("%+v, %s", got, s.shown())
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if c := <-changes; s.shown() != "7" || c.Kind != executor.ChangeTree || c.PID != w.PID {
			t.Errorf("%s, %+v", s.shown(), c)
		}
		s.press(w, "8")
		s.must(s.Relaunch(CalculatorID))
		s.must(s.Delay(CalculatorID, time.Hour))
		s.press(s.window("Calculator"), "9")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if s.shown() != "0" {
			t.Errorf("an effect outlived its process: %s", s.shown())
		}
	})
}

func TestFrozenAppAnswersNothingUntilThawed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		w := s.window("Calculator")
		o := s.object(w, 0, "7")
		s.must(s.Freeze(CalculatorID))
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		began := time.Now()
		s.refused(s.Perform(ctx, click(w, o), agrees), refusal.AnswerTargetUnresponsive)
		if time.Since(began) != 3*time.Second {
			t.Errorf("blocked for %v", time.Since(began))
		}
		if got := s.readAnswer(t.Context(), w); got != refusal.AnswerTargetUnresponsive {
			t.Errorf("%v", got)
		}
		if time.Since(began) != 3*time.Second+unresponsiveDefault {
			t.Errorf("no limit of its own: %v", time.Since(began))
		}
		gone, give := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, give)
		s.refused(s.Perform(gone, click(w, o), agrees), refusal.AnswerAborted)
		s.untouched()
		s.mustPress(s.window("Form"), "More")
		time.AfterFunc(time.Second, func() { s.must(s.Thaw(CalculatorID)) })
		s.mustPressObject(click(w, o))
		s.must(s.Freeze(CalculatorID))
		time.AfterFunc(time.Second, func() { s.must(s.Die(CalculatorID)) })
		s.refused(s.Perform(t.Context(), click(w, o), agrees), refusal.AnswerWindowGone)
	})
}

func (s stage) mustPressObject(p executor.Performance) {
	s.t.Helper()
	if got := s.Perform(s.t.Context(), p, agrees); got.Sent != executor.Accepted {
		s.t.Errorf("%+v", got)
	}
}

func TestActSentToAnAppThatFreezesIsUnansweredAndMayStillHappen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		w := s.window("Calculator")
		o := s.object(w, 0, "7")
		s.must(s.FreezeNext(CalculatorID))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if got := s.Perform(ctx, click(w, o), agrees); got.Sent != executor.Unanswered {
			t.Errorf("%+v", got)
		}
		short, end := context.WithTimeout(t.Context(), time.Second)
		defer end()
		s.refused(s.Perform(short, click(w, o), agrees), refusal.AnswerTargetUnresponsive)
		s.must(s.Thaw(CalculatorID))
		if s.shown() != "7" || len(s.Events()) != 1 {
			t.Errorf("shows %s, %+v", s.shown(), s.Events())
		}
		s.must(s.FreezeNext(CalculatorID))
		time.AfterFunc(time.Second, func() { s.must(s.Thaw(CalculatorID)) })
		s.mustPressObject(click(w, o))
		s.must(s.FreezeNext(CalculatorID))
		time.AfterFunc(time.Second, func() { s.must(s.Die(CalculatorID)) })
		if got := s.Perform(t.Context(), click(w, o), agrees); got.Sent != executor.Unanswered {
			t.Errorf("%+v", got)
		}
	})
}

func TestDieAndRelaunchChangeTheProcess(t *testing.T) {
	s := newStage(t)
	w := s.window("Calculator")
	s.must(s.Relaunch(CalculatorID))
	again := s.window("Calculator")
	if again.ID != w.ID || again.PID == w.PID || again.Start == w.Start || again.Birth == w.Birth {
		t.Errorf("%+v, %+v", w, again)
	}
	if got := s.readAnswer(t.Context(), w); got != refusal.AnswerProcessReplaced {
		t.Errorf("%v", got)
	}
	s.must(s.Die(CalculatorID))
	if got := s.readAnswer(t.Context(), again); got != refusal.AnswerWindowGone {
		t.Errorf("%v", got)
	}
	s.must(s.Relaunch(FormID))
	if s.window("Form").ID == s.window("Log").ID {
		t.Error("one id for two windows")
	}
}

func TestLockedScreenAnswersOnlyTheDesk(t *testing.T) {
	s := newStage(t)
	w := s.window("Form")
	o := s.object(w, 0, "Submit")
	r, err := s.Resolve(t.Context(), NotesID)
	s.must(err)
	s.must(s.Lock())
	s.refused(s.Perform(t.Context(), click(w, o), agrees), refusal.AnswerScreenLocked)
	s.refused(s.Launch(t.Context(), r), refusal.AnswerScreenLocked)
	_, windows := s.Windows(t.Context())
	_, apps := s.Apps(t.Context(), "")
	_, capture := s.Capture(t.Context(), w)
	for _, err := range []error{windows, apps, capture} {
		if answerOf(err) != refusal.AnswerScreenLocked {
			t.Errorf("%v", err)
		}
	}
	if !s.desk().Locked {
		t.Error("the desk does not say so")
	}
	s.must(s.Unlock())
	s.untouched()
	s.mustPress(w, "Submit")
}

func TestUserPointerMoves(t *testing.T) {
	s := newStage(t)
	s.must(s.UserPointerMoves(12, -30))
	if got := s.desk(); got.PointerX != 12 || got.PointerY != -30 {
		t.Errorf("%+v", got)
	}
}

func TestPermissionTakenAwayIsMeasured(t *testing.T) {
	s := newStage(t)
	w := s.window("Form")
	s.must(s.SetPermission(commonv1.AbilityKind_ABILITY_KIND_CAPTURE, false))
	_, err := s.Capture(t.Context(), w)
	if answerOf(err) != refusal.AnswerPermissionMissing || s.readAnswer(t.Context(), w) != 0 {
		t.Errorf("%v", err)
	}
	lost := 0
	for _, a := range s.Abilities(t.Context()) {
		if a.Reason == commonv1.AbilityReason_ABILITY_REASON_PERMISSION && !a.Able {
			lost++
		}
	}
	if lost != 1 {
		t.Errorf("%d abilities lost", lost)
	}
	s.must(s.SetPermission(commonv1.AbilityKind_ABILITY_KIND_CAPTURE, true))
	if _, err := s.Capture(t.Context(), w); err != nil {
		t.Error(err)
	}
}

func TestFaultsOnWhatIsNotThereSaySo(t *testing.T) {
	s := newStage(t)
	_, replaced := s.ReplaceWindow(5)
	_, element := s.ReplaceElement("v0")
	_, cover := s.Cover(s.window("Form").ID, NotesID)
	for i, err := range []error{
		s.Move(5, 0, 0), replaced, element, cover, s.Freeze("nothing"), s.Freeze(NotesID), s.Die(NotesID),
		s.SetScale(9, 1), s.Relabel("v0", "x"), s.ReloadPage(s.window("Form").ID), s.Delay("nothing", 1),
		s.RemoveElement(s.object(s.window("Form"), commonv1.Role_ROLE_WINDOW, "Form")),
	} {
		if !errors.Is(err, ErrNotThere) {
			t.Errorf("%d: %v", i, err)
		}
	}
	for range plannedMax {
		s.must(s.NoOpNext(FormID))
	}
	if s.NoOpNext(FormID) == nil {
		t.Error("plans are not bounded")
	}
}

func TestClosedDeskAnswersUnavailable(t *testing.T) {
	s := newStage(t)
	w := s.window("Form")
	o := s.object(w, 0, "Submit")
	changes, stop := s.Watch(0)
	s.must(s.Close())
	for range changes {
		t.Error("a change after the end")
	}
	stop()
	s.refused(s.Perform(t.Context(), click(w, o), agrees), refusal.AnswerUnavailable)
	if _, err := s.Desk.Desk(t.Context()); answerOf(err) != refusal.AnswerUnavailable {
		t.Error(err)
	}
	if !errors.Is(s.Lock(), ErrClosed) || s.Abilities(t.Context())[0].Able {
		t.Error("not closed")
	}
}

func TestCallThatEndedBeforeItBeganIsToldApart(t *testing.T) {
	s := newStage(t)
	w := s.window("Form")
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	late, end := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer end()
	if s.readAnswer(gone, w) != refusal.AnswerAborted {
		t.Error("cancelled")
	}
	_, err := s.ReadTree(late, w, executor.TreeLimits{})
	var f *executor.Failure
	if !errors.As(err, &f) || f.Answer != refusal.AnswerTimeout || f.Stage != commonv1.Stage_STAGE_WALK {
		t.Error(err)
	}
	s.refused(s.Perform(gone, click(w, s.object(w, 0, "Submit")), agrees), refusal.AnswerAborted)
	s.untouched()
}

func TestNewRefusesANegativeLimit(t *testing.T) {
	if _, err := New(Config{Unresponsive: -1}); err == nil {
		t.Error("accepted")
	}
}

func TestUnresponsiveLimitIsConfigured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, err := New(Config{Unresponsive: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		s := stage{d, t}
		w := s.window("Calculator")
		s.must(s.Freeze(CalculatorID))
		began := time.Now()
		if s.readAnswer(t.Context(), w) != refusal.AnswerTargetUnresponsive || time.Since(began) != time.Minute {
			t.Errorf("%v", time.Since(began))
		}
		s.must(s.Close())
	})
}
