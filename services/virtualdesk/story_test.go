package virtualdesk

import (
	"bytes"
	"testing"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
)

// Stories of several acts, told through the platform only.

func (s stage) do(w ident.Window, o executor.Object, a commonv1.ElementAction) executor.Delivery {
	s.t.Helper()
	return s.Perform(s.t.Context(), executor.Performance{
		Window: w, Object: o, Verb: commonv1.Verb_VERB_PERFORM, Action: a, Routes: allRoutes(),
	}, agrees)
}

func TestMenuClearsTheFormAndCloses(t *testing.T) {
	s := newStage(t)
	w := s.window("Form")
	s.typeName("Ada")
	menu := s.object(w, commonv1.Role_ROLE_MENU, "File")
	s.do(w, menu, commonv1.ElementAction_ELEMENT_ACTION_EXPAND)
	keep := s.object(w, commonv1.Role_ROLE_CHECK_MENU_ITEM, "Keep open")
	s.do(w, keep, commonv1.ElementAction_ELEMENT_ACTION_TOGGLE)
	if n := s.node(w, 0, "Keep open"); n.Surface != 1 || !n.States.Has(commonv1.ElementState_ELEMENT_STATE_CHECKED) {
		t.Errorf("%+v", n)
	}
	s.mustPressObject(click(w, s.object(w, commonv1.Role_ROLE_MENU_ITEM, "Clear form")))
	if n := s.node(w, commonv1.Role_ROLE_TEXT_FIELD, "Name"); n.Value != "" {
		t.Errorf("%q", n.Value)
	}
	if n := s.node(w, commonv1.Role_ROLE_MENU, "File"); n.States.Has(commonv1.ElementState_ELEMENT_STATE_EXPANDED) {
		t.Error("the menu is open")
	}
	s.do(w, menu, commonv1.ElementAction_ELEMENT_ACTION_EXPAND)
	s.do(w, menu, commonv1.ElementAction_ELEMENT_ACTION_COLLAPSE)
	if n := len(s.listed(w.ID).Surfaces); n != 1 {
		t.Errorf("%d surfaces", n)
	}
}

func TestPopupItemIsChosenAndThePopupCloses(t *testing.T) {
	s := newStage(t)
	w := s.window("Form")
	s.do(w, s.object(w, commonv1.Role_ROLE_BUTTON, "More"), commonv1.ElementAction_ELEMENT_ACTION_SHOW_MENU)
	item := s.object(w, commonv1.Role_ROLE_MENU_ITEM, "Archive")
	s.mustPressObject(click(w, item))
	s.object(w, commonv1.Role_ROLE_LABEL, "Archive chosen")
	s.object(s.window("Log"), commonv1.Role_ROLE_LIST_ITEM, "Archive chosen")
	s.refused(s.Perform(t.Context(), click(w, item), agrees), refusal.AnswerElementReleased)
}

func TestDialogIsCancelledByItsAction(t *testing.T) {
	s := newStage(t)
	w := s.window("Form")
	s.mustPress(w, "Submit")
	dialog := s.window("Confirm")
	root := s.object(dialog, commonv1.Role_ROLE_DIALOG, "Confirm")
	s.do(dialog, root, commonv1.ElementAction_ELEMENT_ACTION_CANCEL)
	s.object(w, commonv1.Role_ROLE_LABEL, "Not sent")
	s.mustPress(w, "Submit")
	s.mustPress(s.window("Confirm"), "Cancel")
	if len(s.windows()) != 3 {
		t.Error("the dialog is open")
	}
}

func TestNestedModalBlocksTheOneBelow(t *testing.T) {
	s := newStage(t)
	s.mustPress(s.window("Form"), "Submit")
	confirm := s.window("Confirm")
	_, err := s.OpenModal(confirm.ID)
	s.must(err)
	s.refused(s.press(confirm, "OK"), refusal.AnswerWindowOccluded)
	s.mustPress(s.window("Notice"), "OK")
	s.mustPress(confirm, "OK")
}

func TestComboBoxShowsItsOptionsWhileOpen(t *testing.T) {
	s := newStage(t)
	w := s.window("Form")
	combo := s.object(w, commonv1.Role_ROLE_COMBO_BOX, "Color")
	closed := s.picture(w)
	if n := s.node(w, 0, "Red"); !n.States.Has(commonv1.ElementState_ELEMENT_STATE_OFFSCREEN) {
		t.Errorf("%+v", n)
	}
	s.mustPressObject(click(w, combo))
	if n := s.node(w, 0, "Red"); n.States.Has(commonv1.ElementState_ELEMENT_STATE_OFFSCREEN) {
		t.Errorf("%+v", n)
	}
	if bytes.Equal(closed.Image.Pix, s.picture(w).Image.Pix) {
		t.Error("the options do not show")
	}
	s.mustPressObject(click(w, s.object(w, commonv1.Role_ROLE_OPTION, "Red")))
	n := s.node(w, commonv1.Role_ROLE_COMBO_BOX, "Color")
	if n.Value != "Red" || n.States.Has(commonv1.ElementState_ELEMENT_STATE_EXPANDED) {
		t.Errorf("%+v", n)
	}
}

func TestOptionsThatCannotBeMeantAreRefused(t *testing.T) {
	s := newStage(t)
	w := s.window("Form")
	combo := s.object(w, commonv1.Role_ROLE_COMBO_BOX, "Color")
	choose := func(name string) executor.Delivery {
		return s.Perform(t.Context(), executor.Performance{
			Window: w, Object: combo, Verb: commonv1.Verb_VERB_SELECT_OPTION, Text: name, Routes: allRoutes(),
		}, agrees)
	}
	s.must(s.DisableElement(s.object(w, 0, "Blue"), true))
	s.refused(choose("Blue"), refusal.AnswerElementDisabled)
	s.must(s.Relabel(s.object(w, 0, "Blue"), "Red"))
	s.refused(choose("Red"), refusal.AnswerElementAmbiguous)
	s.untouched()
}

func TestDetailsAreNewEachTime(t *testing.T) {
	s := newStage(t)
	w := s.window("Form")
	details := s.object(w, commonv1.Role_ROLE_DISCLOSURE, "Details")
	s.mustPressObject(click(w, details))
	first := s.object(w, 0, "Advanced")
	s.mustPressObject(click(w, details))
	s.mustPressObject(click(w, details))
	if s.object(w, 0, "Advanced") == first {
		t.Error("a reference came back")
	}
}

func TestConfirmActionSubmitsAndNotesAreSaved(t *testing.T) {
	s := newStage(t)
	w := s.window("Form")
	s.do(w, s.object(w, commonv1.Role_ROLE_TEXT_FIELD, "Name"), commonv1.ElementAction_ELEMENT_ACTION_CONFIRM)
	s.object(w, commonv1.Role_ROLE_LABEL, "Name submitted")
	r, err := s.Resolve(t.Context(), NotesID)
	s.must(err)
	if s.Name() != "virtual" || s.Launch(t.Context(), r).Sent != executor.Accepted {
		t.Error("not launched")
	}
	n := s.window("Untitled note")
	before := s.picture(n)
	note := s.object(n, commonv1.Role_ROLE_TEXT_AREA, "Note")
	s.Perform(t.Context(), executor.Performance{
		Window: n, Object: note, Verb: commonv1.Verb_VERB_TYPE_TEXT, Text: "first\nsecond", Routes: allRoutes(),
	}, agrees)
	s.mustPress(n, "Save")
	s.object(n, commonv1.Role_ROLE_LABEL, "Saved")
	if got := s.node(n, commonv1.Role_ROLE_TEXT_AREA, "Note").Value; got != "first\nsecond" {
		t.Errorf("%q", got)
	}
	if bytes.Equal(before.Image.Pix, s.picture(n).Image.Pix) {
		t.Error("the note does not show")
	}
	r.Running = true
	pid := n.PID
	if got := s.Launch(t.Context(), r); got.PID != pid || s.window("Untitled note") != n {
		t.Errorf("%+v", got)
	}
	s.must(s.Freeze(NotesID))
	s.refused(s.Launch(t.Context(), r), refusal.AnswerTargetUnresponsive)
}

func TestFocusAndOwnerFollowAReplacedWindow(t *testing.T) {
	s := newStage(t)
	form, log := s.window("Form"), s.window("Log")
	id, err := s.ReplaceWindow(log.ID)
	s.must(err)
	if now := s.desk(); now.Focus != id || now.Active != id {
		t.Errorf("%+v", now)
	}
	s.mustPress(form, "Submit")
	id, err = s.ReplaceWindow(form.ID)
	s.must(err)
	if l := s.listed(s.window("Confirm").ID); l.Owner != id {
		t.Errorf("%+v", l)
	}
}

func TestFocusOfAClosedWindowGoesToTheTopOne(t *testing.T) {
	s := newStage(t)
	s.must(s.Minimize(s.window("Form").ID))
	s.must(s.CloseWindow(s.window("Log").ID))
	if now, calc := s.desk(), s.window("Calculator"); now.Focus != calc.ID || now.Active != calc.ID {
		t.Errorf("%+v", now)
	}
	s.must(s.CloseWindow(s.window("Calculator").ID))
	if now := s.desk(); now.Focus != 0 {
		t.Errorf("%+v", now)
	}
}
