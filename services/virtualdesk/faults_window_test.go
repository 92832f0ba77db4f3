package virtualdesk

import (
	"testing"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/refusal"
)

func TestMoveAndResizeChangeOnlyGeometry(t *testing.T) {
	s := newStage(t)
	w := s.window("Form")
	s.mustPress(w, "More")
	s.must(s.Move(w.ID, 10, 20))
	s.must(s.Resize(w.ID, 700, 600))
	l := s.listed(w.ID)
	if l.Bounds != rect(10, 20, 700, 600) || l.Identity != w || l.Surfaces[1].Bounds.X != 466 {
		t.Errorf("%+v", l)
	}
}

func TestCloseWindowTakesItsDialogsAlong(t *testing.T) {
	s := newStage(t)
	w := s.window("Form")
	s.mustPress(w, "Submit")
	s.must(s.CloseWindow(w.ID))
	if len(s.windows()) != 2 || s.readAnswer(t.Context(), w) != refusal.AnswerWindowGone {
		t.Errorf("%+v", s.windows())
	}
}

func TestReplacedWindowLooksTheSameAndIsAnother(t *testing.T) {
	s := newStage(t)
	w := s.window("Form")
	o := s.object(w, 0, "Submit")
	id, err := s.ReplaceWindow(w.ID)
	s.must(err)
	n := s.window("Form")
	if n.ID != id || n.ID == w.ID || n.Birth == w.Birth || n.PID != w.PID {
		t.Errorf("%+v, %+v", w, n)
	}
	s.refused(s.Perform(t.Context(), click(w, o), agrees), refusal.AnswerWindowGone)
	s.refused(s.Perform(t.Context(), click(n, o), agrees), refusal.AnswerElementReleased)
	s.must(s.RecycleWindow(id))
	if got := s.readAnswer(t.Context(), n); got != refusal.AnswerWindowChanged {
		t.Errorf("%v", got)
	}
	s.mustPress(s.window("Form"), "Submit")
}

func TestCoverOfTheSameAppRefusesAndOfAnotherDoesNot(t *testing.T) {
	s := newStage(t)
	w := s.window("Form")
	cover, err := s.Cover(w.ID, CalculatorID)
	s.must(err)
	s.mustPress(w, "More")
	s.must(s.CloseWindow(cover))
	before := len(s.Events())
	cover, err = s.Cover(w.ID, FormID)
	s.must(err)
	s.refused(s.press(w, "Submit"), refusal.AnswerWindowOccluded)
	if len(s.Events()) != before {
		t.Error("something was touched")
	}
	s.must(s.CloseWindow(cover))
	s.mustPress(w, "Submit")
}

func TestHiddenWindowStillTakesSemanticActs(t *testing.T) {
	s := newStage(t)
	w := s.window("Calculator")
	s.must(s.Minimize(w.ID))
	s.mustPress(w, "7")
	if !s.listed(w.ID).Hidden || s.shown() != "7" {
		t.Error("not hidden, or not done")
	}
	if _, err := s.Capture(t.Context(), w); answerOf(err) != refusal.AnswerWindowHidden {
		t.Error(err)
	}
	s.must(s.Restore(w.ID))
	if _, err := s.Capture(t.Context(), w); err != nil {
		t.Error(err)
	}
}

func TestRaiseChangesStackingOnly(t *testing.T) {
	s := newStage(t)
	before := s.desk()
	s.must(s.Raise(s.window("Calculator").ID))
	after := s.desk()
	if after.Stacking[2] != before.Stacking[0] || after.Active != before.Active {
		t.Errorf("%+v", after)
	}
}

func TestOpenModalBlocksItsAppUntilItCloses(t *testing.T) {
	s := newStage(t)
	w := s.window("Form")
	id, err := s.OpenModal(w.ID)
	s.must(err)
	s.refused(s.press(w, "Submit"), refusal.AnswerWindowOccluded)
	s.untouched()
	if l := s.listed(id); !l.Modal || l.Owner != w.ID {
		t.Errorf("%+v", l)
	}
	s.mustPress(s.window("Notice"), "OK")
	s.mustPress(w, "Submit")
}

func TestOpenPopupCoversWhatIsBelowIt(t *testing.T) {
	s := newStage(t)
	w := s.window("Form")
	id, err := s.OpenPopup(w.ID, rect(0, 480, 200, 60))
	s.must(err)
	surfaces := s.listed(w.ID).Surfaces
	if len(surfaces) != 2 || surfaces[1].ID != id || surfaces[1].Kind != commonv1.SurfaceKind_SURFACE_KIND_POPUP {
		t.Errorf("%+v", surfaces)
	}
	s.refused(s.press(w, "Submit"), refusal.AnswerWindowOccluded)
	s.mustPress(w, "Dismiss")
	if len(s.listed(w.ID).Surfaces) != 1 {
		t.Error("still open")
	}
	s.mustPress(w, "Submit")
}

func TestReloadedPageIsAnotherInTheSameWindow(t *testing.T) {
	s := newStage(t)
	w := s.window("Log")
	o := s.object(w, 0, "Clear")
	before, node := s.listed(w.ID).Page, s.node(w, 0, "Clear")
	s.must(s.ReloadPage(w.ID))
	after := s.listed(w.ID).Page
	if before.Document == "" || after.Document == before.Document || after.Target != before.Target {
		t.Errorf("%+v, %+v", before, after)
	}
	s.refused(s.Perform(t.Context(), click(w, o), agrees), refusal.AnswerElementReleased)
	if s.node(w, 0, "Clear").Renderer != node.Renderer {
		t.Error("the renderer changed")
	}
	s.must(s.CrashRenderer(w.ID))
	if s.node(w, 0, "Clear").Renderer == node.Renderer {
		t.Error("the renderer did not change")
	}
}

func TestHiddenTreeOffersNoElement(t *testing.T) {
	s := newStage(t)
	w := s.window("Form")
	o := s.object(w, 0, "Submit")
	s.must(s.HideTree(w.ID, true))
	if tree := s.tree(w); len(tree.Nodes) != 0 || tree.Quality != commonv1.TreeQuality_TREE_QUALITY_NONE {
		t.Errorf("%+v", tree)
	}
	s.refused(s.Perform(t.Context(), click(w, o), agrees), refusal.AnswerElementReleased)
	s.must(s.HideTree(w.ID, false))
	s.mustPressObject(click(w, o))
}

func TestTreeIsNotReadyForSoManyReads(t *testing.T) {
	s := newStage(t)
	w := s.window("Form")
	s.must(s.NotReady(w.ID, 2))
	for i, want := range []commonv1.TreeQuality{
		commonv1.TreeQuality_TREE_QUALITY_NOT_READY, commonv1.TreeQuality_TREE_QUALITY_NOT_READY,
		commonv1.TreeQuality_TREE_QUALITY_USABLE,
	} {
		if got := s.tree(w).Quality; got != want {
			t.Errorf("read %d: %v", i, got)
		}
	}
}

func TestCaptureFailsAndUnsettlesSoManyTimes(t *testing.T) {
	s := newStage(t)
	w := s.window("Form")
	s.must(s.FailCapture(w.ID, 1))
	if _, err := s.Capture(t.Context(), w); answerOf(err) != refusal.AnswerCaptureFailed {
		t.Error(err)
	}
	s.must(s.UnsettleCapture(w.ID, 1))
	for i, moves := range []bool{true, false} {
		before := s.listed(w.ID).Bounds
		if _, err := s.Capture(t.Context(), w); err != nil {
			t.Error(err)
		}
		if (s.listed(w.ID).Bounds != before) != moves {
			t.Errorf("capture %d", i)
		}
	}
}

func TestDisplaysChangeScaleAndPlace(t *testing.T) {
	s := newStage(t)
	w := s.window("Calculator")
	before := s.listed(w.ID).Bounds
	s.must(s.SetScale(1, 1.5))
	s.must(s.SetScaleUnsure(1, true))
	s.must(s.MoveDisplay(1, -1280, 0))
	ds, err := s.Displays(t.Context())
	s.must(err)
	want := executor.Display{
		Bounds: rect(-1280, 0, 1280, 800), PixelW: 1920, PixelH: 1200, Scale: 1.5, MixedOrUnsure: true,
	}
	if ds[1] != want {
		t.Errorf("%+v", ds[1])
	}
	if l := s.listed(w.ID); l.Scale != 1.5 || l.Bounds.Y != before.Y+120 || l.Bounds.X != before.X {
		t.Errorf("%+v", l)
	}
}

func TestSpanDisplaysTouchesBoth(t *testing.T) {
	s := newStage(t)
	w := s.window("Form")
	s.must(s.SpanDisplays(w.ID))
	b := s.listed(w.ID).Bounds
	ds, err := s.Displays(t.Context())
	s.must(err)
	for i, d := range ds {
		if overlap(b, d.Bounds) == 0 {
			t.Errorf("not on display %d: %+v", i, b)
		}
	}
}
