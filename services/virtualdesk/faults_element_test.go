package virtualdesk

import (
	"testing"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/refusal"
)

func TestUserAndAppChangeElementsWithoutAnEvent(t *testing.T) {
	s := newStage(t)
	w := s.window("Form")
	name := s.object(w, commonv1.Role_ROLE_TEXT_FIELD, "Name")
	submit := s.object(w, 0, "Submit")
	s.must(s.SetValue(name, "typed by the user"))
	s.must(s.SetValue(s.object(w, commonv1.Role_ROLE_SLIDER, "Volume"), "55"))
	s.must(s.ToggleByUser(s.object(w, 0, "Subscribe")))
	s.must(s.Relabel(submit, "Send"))
	s.must(s.Redescribe(submit, "Sends it"))
	s.must(s.DisableElement(submit, true))
	if n := s.node(w, commonv1.Role_ROLE_TEXT_FIELD, "Name"); n.Value != "typed by the user" || n.Object != name {
		t.Errorf("%+v", n)
	}
	if n := s.node(w, commonv1.Role_ROLE_SLIDER, "Volume"); n.Value != "55" {
		t.Errorf("%+v", n)
	}
	if n := s.node(w, 0, "Subscribe"); !n.States.Has(commonv1.ElementState_ELEMENT_STATE_CHECKED) {
		t.Errorf("%+v", n)
	}
	if n := s.node(w, 0, "Send"); n.Object != submit || n.Description != "Sends it" {
		t.Errorf("%+v", n)
	}
	s.refused(s.Perform(t.Context(), click(w, submit), agrees), refusal.AnswerElementDisabled)
	s.must(s.DisableElement(submit, false))
	s.untouched()
	s.mustPressObject(click(w, submit))
}

func TestReorderedSiblingsKeepTheirReferences(t *testing.T) {
	s := newStage(t)
	w := s.window("Calculator")
	seven, plus := s.object(w, 0, "7"), s.object(w, 0, "+")
	index := func(o executor.Object) int {
		for i, n := range s.tree(w).Nodes {
			if n.Object == o {
				return i
			}
		}
		return -1
	}
	before := index(seven) < index(plus)
	s.must(s.Reorder(seven))
	if index(seven) < index(plus) == before {
		t.Error("not reordered")
	}
	s.mustPressObject(click(w, seven))
	if s.shown() != "7" {
		t.Errorf("shows %s", s.shown())
	}
}

func TestRemovedElementIsReleasedWithAllBelow(t *testing.T) {
	s := newStage(t)
	w := s.window("Calculator")
	seven := s.object(w, 0, "7")
	s.must(s.RemoveElement(s.object(w, commonv1.Role_ROLE_GROUP, "Keys")))
	s.refused(s.Perform(t.Context(), click(w, seven), agrees), refusal.AnswerElementReleased)
	if n := len(s.tree(w).Nodes); n != 2 {
		t.Errorf("%d nodes left", n)
	}
	s.untouched()
}

func TestReplacedElementIsIdenticalAndWorks(t *testing.T) {
	s := newStage(t)
	w := s.window("Calculator")
	old, before := s.object(w, 0, "7"), s.node(w, 0, "7")
	o, err := s.ReplaceElement(old)
	s.must(err)
	after := s.node(w, 0, "7")
	if after.Object != o || o == old || after.Bounds != before.Bounds || after.Role != before.Role {
		t.Errorf("%+v, %+v", before, after)
	}
	s.refused(s.Perform(t.Context(), click(w, old), agrees), refusal.AnswerElementReleased)
	s.mustPressObject(click(w, o))
	if s.shown() != "7" {
		t.Errorf("shows %s", s.shown())
	}
}

func TestSplitElementIsThereTwice(t *testing.T) {
	s := newStage(t)
	w := s.window("Form")
	old := s.object(w, 0, "Submit")
	first, second, err := s.SplitElement(old)
	s.must(err)
	a, errA := s.Reread(t.Context(), w, first)
	b, errB := s.Reread(t.Context(), w, second)
	if errA != nil || errB != nil || a.Name != b.Name || a.Bounds != b.Bounds || first == second {
		t.Errorf("%+v, %+v", a, b)
	}
	if _, err := s.Reread(t.Context(), w, old); answerOf(err) != refusal.AnswerElementReleased {
		t.Error(err)
	}
}

func TestReplacedOpenerStillClosesItsMenu(t *testing.T) {
	s := newStage(t)
	w := s.window("Form")
	s.mustPress(w, "More")
	o, err := s.ReplaceElement(s.object(w, commonv1.Role_ROLE_BUTTON, "More"))
	s.must(err)
	s.mustPressObject(click(w, o))
	if n := len(s.listed(w.ID).Surfaces); n != 1 {
		t.Errorf("%d surfaces", n)
	}
}

func TestFieldThatBecomesSecureForgetsAndRefuses(t *testing.T) {
	s := newStage(t)
	w := s.window("Form")
	o := s.object(w, commonv1.Role_ROLE_TEXT_FIELD, "Name")
	s.must(s.SetValue(o, "plain"))
	s.must(s.MakeSecure(o, true))
	s.must(s.SetValue(o, "hidden"))
	if n, err := s.Reread(t.Context(), w, o); err != nil || !n.Secure || n.Value != "" {
		t.Errorf("%+v", n)
	}
	s.refused(s.Perform(t.Context(), click(w, o), agrees), refusal.AnswerElementSecure)
	s.must(s.MakeSecure(o, false))
	if n, err := s.Reread(t.Context(), w, o); err != nil || n.Secure || n.Value != "" {
		t.Errorf("what was hidden is readable: %+v", n)
	}
}
