package virtualdesk

import (
	"testing"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/refusal"
)

func TestTextIsSelectedInsideOnly(t *testing.T) {
	s, w, o := notes(t, "日本語")
	selecting := func(start, length int, routes ...commonv1.Route) executor.Delivery {
		return s.Perform(t.Context(), executor.Performance{
			Window: w, Object: o, Verb: commonv1.Verb_VERB_SELECT_TEXT, Routes: routes,
			Selection: executor.TextRange{Start: start, Length: length},
		}, agrees)
	}
	selection, text := commonv1.Route_ROUTE_ACCESSIBILITY_SELECTION, commonv1.Route_ROUTE_ACCESSIBILITY_TEXT
	if got := selecting(1, 2, text, selection); got.Route != selection {
		t.Errorf("%+v", got)
	}
	n, err := s.Reread(t.Context(), w, o)
	s.must(err)
	if n.Selection == nil || *n.Selection != (executor.TextRange{Start: 1, Length: 2}) {
		t.Errorf("%+v", n.Selection)
	}
	if got := selecting(3, 0, text); got.Route != text {
		t.Errorf("%+v", got)
	}
	if n, err = s.Reread(t.Context(), w, o); err != nil || *n.Selection != (executor.TextRange{Start: 3}) {
		t.Errorf("%+v, %v", n.Selection, err)
	}
	for _, r := range [][2]int{{-1, 1}, {0, 4}, {4, 0}, {2, -1}, {1, int(^uint(0) >> 1)}} {
		s.refused(selecting(r[0], r[1], selection), refusal.AnswerElementNotActionable)
	}
	s.sent(pressInto(t, w, o, "x"))
	if v := s.value(w, o); v != "日本語x" {
		t.Errorf("%q", v)
	}
}

func TestElementsScrollByTheirOwnAction(t *testing.T) {
	s := newBench(t)
	w := s.window("Workbench")
	area := s.object(w, commonv1.Role_ROLE_SCROLL_AREA, "Items")
	position := func() string { return s.node(w, commonv1.Role_ROLE_SCROLL_BAR, "Items position").Value }
	p := executor.Performance{
		Window: w, Object: area, Verb: commonv1.Verb_VERB_SCROLL_ELEMENT, Routes: allRoutes(),
		Direction: commonv1.Direction_DIRECTION_DOWN, Amount: 5,
	}
	s.mustPressObject(p)
	if position() != "95" {
		t.Errorf("at %s", position())
	}
	p.Direction = commonv1.Direction_DIRECTION_LEFT
	s.refused(s.Perform(t.Context(), p, agrees), refusal.AnswerElementNotActionable)
	p.Direction, p.Object = commonv1.Direction_DIRECTION_UP, s.object(w, 0, "Pad")
	s.refused(s.Perform(t.Context(), p, agrees), refusal.AnswerElementNotActionable)
	act := func(o executor.Object, a commonv1.ElementAction) {
		t.Helper()
		s.mustPressObject(executor.Performance{
			Window: w, Object: o, Verb: commonv1.Verb_VERB_PERFORM, Action: a, Routes: allRoutes(),
		})
	}
	act(s.object(w, commonv1.Role_ROLE_LIST_ITEM, "Item 20"), commonv1.ElementAction_ELEMENT_ACTION_SCROLL_TO_VISIBLE)
	if position() != "290" {
		t.Errorf("at %s", position())
	}
	act(s.object(w, commonv1.Role_ROLE_LIST_ITEM, "Item 2"), commonv1.ElementAction_ELEMENT_ACTION_SCROLL_TO_VISIBLE)
	if position() != "24" {
		t.Errorf("at %s", position())
	}
	act(area, commonv1.ElementAction_ELEMENT_ACTION_SCROLL_DOWN)
	act(area, commonv1.ElementAction_ELEMENT_ACTION_SCROLL_UP)
	if position() != "24" {
		t.Errorf("at %s", position())
	}
}

func TestCopyOfAnElementSharesNoState(t *testing.T) {
	s := newBench(t)
	w := s.window("Workbench")
	old := s.on(w, 0, "Sketch")
	first, second, err := s.SplitElement(s.object(w, 0, "Sketch"))
	s.must(err)
	s.sent(clickAt(w, old))
	if a, b := s.value(w, first), s.value(w, second); a == b {
		t.Errorf("%q, %q", a, b)
	}
}
