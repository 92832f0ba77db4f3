package virtualdesk

import (
	"bytes"
	"context"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/refusal"
)

const (
	clickPoint  = commonv1.Verb_VERB_CLICK_POINT
	hoverPoint  = commonv1.Verb_VERB_HOVER_POINT
	dragPoint   = commonv1.Verb_VERB_DRAG
	scrollPoint = commonv1.Verb_VERB_SCROLL_POINT
)

func TestClickUsesTheElementAtThePoint(t *testing.T) {
	checked, expanded := commonv1.ElementState_ELEMENT_STATE_CHECKED, commonv1.ElementState_ELEMENT_STATE_EXPANDED
	for _, tt := range []struct {
		role  commonv1.Role
		name  string
		state commonv1.ElementState
	}{
		{commonv1.Role_ROLE_CHECK_BOX, "Subscribe", checked},
		{commonv1.Role_ROLE_SWITCH, "Notifications", checked},
		{commonv1.Role_ROLE_RADIO_BUTTON, "Pro", checked},
		{commonv1.Role_ROLE_TOGGLE_BUTTON, "Pinned", commonv1.ElementState_ELEMENT_STATE_PRESSED},
		{commonv1.Role_ROLE_DISCLOSURE, "Details", expanded},
		{commonv1.Role_ROLE_COMBO_BOX, "Color", expanded},
		{commonv1.Role_ROLE_MENU, "File", expanded},
		{commonv1.Role_ROLE_TEXT_FIELD, "Name", commonv1.ElementState_ELEMENT_STATE_FOCUSED},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStage(t)
			w := s.window("Form")
			o := s.object(w, tt.role, tt.name)
			p := s.center(w, o)
			var asked seen
			got := s.Deliver(t.Context(), clickAt(w, p), asked.agree)
			if got.Sent != executor.Accepted || got.Route != commonv1.Route_ROUTE_AGENT_SEAT || !got.Settled {
				t.Errorf("%+v", got)
			}
			if len(asked.at) != 1 || asked.at[0] != 0 || asked.was[0].Surface != w.ID ||
				asked.was[0].Bounds != s.listed(w.ID).Bounds || !asked.was[0].HasNode || asked.was[0].Node.Object != o {
				t.Errorf("asked %+v", asked)
			}
			if n, err := s.Reread(t.Context(), w, o); err != nil || !n.States.Has(tt.state) {
				t.Errorf("%+v, %v", n, err)
			}
			if j := s.Journal(w.ID); len(j) != 1 || j[0].Object != o || j[0].Verb != clickPoint || len(s.Events()) != 1 {
				t.Errorf("%+v", s.Events())
			}
			s.nothingHeld()
		})
	}
}

// inputs is one act of every verb that Deliver takes, on elements that are there.
func (s stage) everyInput() []executor.Input {
	form, bench := s.window("Form"), s.window("Workbench")
	name := s.object(form, commonv1.Role_ROLE_TEXT_FIELD, "Name")
	slider := s.on(bench, commonv1.Role_ROLE_SLIDER, "Level")
	far := slider
	far.X += 20
	scroll := pointAct(bench, scrollPoint, s.on(bench, commonv1.Role_ROLE_LIST_ITEM, "Item 3"))
	scroll.Direction, scroll.Amount = commonv1.Direction_DIRECTION_DOWN, 5
	element := clickAt(form, s.on(form, 0, "Subscribe"))
	element.Verb, element.Modifiers = commonv1.Verb_VERB_CLICK_ELEMENT, []commonv1.Modifier{commonv1.Modifier_MODIFIER_SHIFT}
	paste := typeInto(form, name, "pasted")
	paste.Verb = commonv1.Verb_VERB_PASTE
	hold := pressInto(s.t, form, name, "Backspace")
	hold.Verb, hold.Hold = commonv1.Verb_VERB_HOLD_KEYS, time.Millisecond
	return []executor.Input{
		clickAt(form, s.on(form, 0, "Submit")), pointAct(bench, hoverPoint, s.on(bench, 0, "Pad")),
		pointAct(bench, dragPoint, slider, far), scroll, element, typeInto(form, name, "text"), paste,
		pressInto(s.t, form, name, "a"), hold,
	}
}

func TestNothingReachesAnyWindowWhenTheCheckRefuses(t *testing.T) {
	for i := range newBench(t).everyInput() {
		s := newBench(t)
		in := s.everyInput()[i]
		t.Run(in.Verb.String(), func(t *testing.T) {
			before, desk, focus := s.picture(in.Window), s.desk(), s.focused(in.Window)
			var asked seen
			got := s.Deliver(t.Context(), in, asked.until(0, refusal.AnswerElementChanged))
			s.refused(got, refusal.AnswerElementChanged)
			s.untouched()
			for _, w := range s.windows() {
				s.unreached(w.Identity.ID)
			}
			if !bytes.Equal(before.Image.Pix, s.picture(in.Window).Image.Pix) || focus != s.focused(in.Window) {
				t.Error("the window changed")
			}
			if after := s.desk(); *after.AgentPointer != *desk.AgentPointer || after.Focus != desk.Focus || len(asked.at) != 1 {
				t.Errorf("%+v, asked %v", after, asked.at)
			}
			s.nothingHeld()
			s.refused(s.Deliver(t.Context(), in, nil), refusal.AnswerDispatchRefused)
			in.Routes = allRoutes()
			s.refused(s.Deliver(t.Context(), in, anyInput), refusal.AnswerNoPermittedRoute)
		})
	}
}

func TestEveryInputArrivesAndMovesNothingOfTheUsers(t *testing.T) {
	for i := range newBench(t).everyInput() {
		s := newBench(t)
		in := s.everyInput()[i]
		before := s.desk()
		s.sent(in)
		after := s.desk()
		before.AgentPointer, after.AgentPointer = nil, nil
		if after.Focus != before.Focus || after.Active != before.Active || after.PointerX != before.PointerX ||
			after.Clipboard != before.Clipboard || after.Input != before.Input {
			t.Errorf("%v: %+v, %+v", in.Verb, before, after)
		}
		if len(s.Journal(in.Window.ID)) != 1 || len(s.Inputs(in.Window.ID)) == 0 || len(s.Events()) != 1 {
			t.Errorf("%v: %+v", in.Verb, s.Events())
		}
	}
}

func TestWindowOfAnotherAppOverThePointIsSeenAndGetsNothing(t *testing.T) {
	for _, in := range newBench(t).everyInput()[:5] {
		s := newBench(t)
		in.Window = s.window(map[bool]string{true: "Form", false: "Workbench"}[in.Points[0].Surface == s.window("Form").ID])
		cover, err := s.Cover(in.Window.ID, CalculatorID)
		s.must(err)
		var asked seen
		s.refused(s.Deliver(t.Context(), in, asked.agree), refusal.AnswerWindowOccluded)
		if len(asked.was) != 1 || asked.was[0].Surface != cover {
			t.Errorf("%v: %+v", in.Verb, asked)
		}
		s.unreached(cover, in.Window.ID)
		s.must(s.Minimize(cover))
		s.sent(in)
		s.unreached(cover)
	}
}

func TestPointsThatAreNotThereAreRefused(t *testing.T) {
	s := newBench(t)
	w := s.window("Form")
	at := func(surface uint64, x, y float64) executor.Input {
		return clickAt(w, executor.SurfacePoint{Surface: surface, X: x, Y: y})
	}
	four := at(w.ID, 5, 5)
	four.Count = 4
	for want, ins := range map[refusal.Answer][]executor.Input{
		refusal.AnswerInvalidPoint: {
			at(w.ID, -1, 5), at(w.ID, 5, 580), at(w.ID, math.NaN(), 5), four, pointAct(w, clickPoint),
			pointAct(w, dragPoint, four.Points[0]), pointAct(w, hoverPoint, four.Points[0], four.Points[0]),
			pointAct(w, scrollPoint, four.Points[0]),
		},
		refusal.AnswerElementReleased: {at(w.ID+1, 5, 5), at(s.window("Log").ID, 5, 5)},
		refusal.AnswerElementSecure:   {clickAt(w, s.on(w, commonv1.Role_ROLE_SECURE_FIELD, "Password"))},
		refusal.AnswerNotSupported:    {pointAct(w, commonv1.Verb_VERB_SET_VALUE, four.Points[0])},
	} {
		for i, in := range ins {
			if got := s.Deliver(t.Context(), in, anyInput); got != executor.Refused(want) {
				t.Errorf("%v %d: %+v", want, i, got)
			}
		}
	}
	s.must(s.Minimize(w.ID))
	s.refused(s.Deliver(t.Context(), at(w.ID, 5, 5), anyInput), refusal.AnswerWindowHidden)
	s.must(s.Restore(w.ID))
	_, err := s.OpenModal(w.ID)
	s.must(err)
	s.refused(s.Deliver(t.Context(), at(w.ID, 5, 5), anyInput), refusal.AnswerWindowOccluded)
	s.untouched()
}

func TestWindowWithoutATreeHasNoNodeAndTakesThePointer(t *testing.T) {
	s := newBench(t)
	w := s.window("Canvas")
	before := s.picture(w)
	var asked seen
	p := executor.SurfacePoint{Surface: w.ID, X: 100, Y: 150}
	got := s.Deliver(t.Context(), clickAt(w, p), asked.agree)
	if got.Sent != executor.Accepted || asked.was[0].HasNode || asked.was[0].Surface != w.ID {
		t.Errorf("%+v, %+v", got, asked)
	}
	dot := s.picture(w)
	if bytes.Equal(before.Image.Pix, dot.Image.Pix) {
		t.Error("the click left no mark")
	}
	q := p
	q.X, q.Y = 200, 250
	s.sent(pointAct(w, dragPoint, p, q))
	if bytes.Equal(dot.Image.Pix, s.picture(w).Image.Pix) {
		t.Error("the drag left no mark")
	}
	if tree := s.tree(w); len(tree.Nodes) != 0 || tree.Quality != commonv1.TreeQuality_TREE_QUALITY_NONE {
		t.Errorf("%+v", tree)
	}
	form := s.window("Form")
	at := s.on(form, 0, "Subscribe")
	s.must(s.HideTree(form.ID, true))
	s.Deliver(t.Context(), clickAt(form, at), asked.agree)
	s.must(s.HideTree(form.ID, false))
	if asked.was[1].HasNode ||
		!s.node(form, 0, "Subscribe").States.Has(commonv1.ElementState_ELEMENT_STATE_CHECKED) {
		t.Errorf("%+v", asked.was[1])
	}
}

func TestDragSetsASliderAndAsksAtBothEnds(t *testing.T) {
	s := newBench(t)
	w := s.window("Workbench")
	from := s.on(w, commonv1.Role_ROLE_SLIDER, "Level")
	way, to := from, from
	way.X, to.X = from.X+5, 532+9+74 // The right end of the knob's way.
	var asked seen
	got := s.Deliver(t.Context(), pointAct(w, dragPoint, from, way, to), asked.agree)
	if got.Sent != executor.Accepted || got.Stopped != 0 || got.Count != 3 || !slices.Equal(asked.at, []int{0, 2}) {
		t.Errorf("%+v, asked %v", got, asked.at)
	}
	if v := s.node(w, commonv1.Role_ROLE_SLIDER, "Level").Value; v != "100" {
		t.Errorf("it says %s", v)
	}
	var kinds []InputKind
	for _, e := range s.Inputs(w.ID) {
		kinds = append(kinds, e.Kind)
	}
	if !slices.Equal(kinds, []InputKind{InputMotion, InputButtonDown, InputMotion, InputMotion, InputButtonUp}) {
		t.Errorf("%v", kinds)
	}
	s.nothingHeld()
	if p := s.desk().AgentPointer; p.X != 80+to.X || p.Y != 650+to.Y {
		t.Errorf("the agent's pointer is at %+v", p)
	}
}

func TestDragRefusedAtItsEndIsLetGoAndToldAsHalf(t *testing.T) {
	s := newBench(t)
	w := s.window("Workbench")
	from := s.on(w, commonv1.Role_ROLE_SLIDER, "Level")
	way, to := from, from
	way.X, to.X = 532+9+37, 532+9+74
	in := pointAct(w, dragPoint, from, way, to)
	in.Modifiers = []commonv1.Modifier{commonv1.Modifier_MODIFIER_SHIFT}
	var asked seen
	got := s.Deliver(t.Context(), in, asked.until(1, refusal.AnswerSurfaceNotInFrame))
	want := executor.Delivery{
		Sent: executor.Accepted, Route: commonv1.Route_ROUTE_AGENT_SEAT, Count: 2,
		Stopped: refusal.AnswerSurfaceNotInFrame, Settled: true,
	}
	if got != want {
		t.Errorf("%+v", got)
	}
	inputs := s.Inputs(w.ID)
	last, before := inputs[len(inputs)-1], inputs[len(inputs)-2]
	if before.Kind != InputButtonUp || before.X != way.X || last.Kind != InputKeyUp || last.Key != "shift" {
		t.Errorf("%+v", inputs)
	}
	s.nothingHeld()
	if j := s.Journal(w.ID); len(j) != 1 || j[0].Count != 2 || j[0].Stopped != refusal.AnswerSurfaceNotInFrame {
		t.Errorf("%+v", j)
	}
	if v := s.node(w, commonv1.Role_ROLE_SLIDER, "Level").Value; v != "50" {
		t.Errorf("it says %s", v)
	}
}

func TestDragThatSomethingEndsIsLetGo(t *testing.T) {
	for name, tt := range map[string]struct {
		end  func(stage, context.CancelFunc) error
		want refusal.Answer
	}{
		"cancelled": {func(_ stage, c context.CancelFunc) error { c(); return nil }, refusal.AnswerAborted},
		"locked":    {func(s stage, _ context.CancelFunc) error { return s.Lock() }, refusal.AnswerScreenLocked},
		"died":      {func(s stage, _ context.CancelFunc) error { return s.Die(WorkbenchID) }, refusal.AnswerWindowGone},
		"frozen": {
			func(s stage, _ context.CancelFunc) error { return s.Freeze(WorkbenchID) }, refusal.AnswerTargetUnresponsive,
		},
		"covered": {func(s stage, _ context.CancelFunc) error {
			_, err := s.Cover(s.window("Workbench").ID, CalculatorID)
			return err
		}, refusal.AnswerWindowOccluded},
		"closed": {func(s stage, _ context.CancelFunc) error { return s.Close() }, refusal.AnswerUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newBench(t)
				s.must(s.Pace(WorkbenchID, time.Second))
				w := s.window("Workbench")
				from := s.on(w, commonv1.Role_ROLE_SLIDER, "Level")
				to := from
				to.X += 10
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				time.AfterFunc(1500*time.Millisecond, func() { s.must(tt.end(s, cancel)) })
				got := s.Deliver(ctx, pointAct(w, dragPoint, from, to, from), anyInput)
				if got.Sent != executor.Accepted || got.Stopped != tt.want || got.Count != 2 {
					t.Errorf("%+v", got)
				}
				s.nothingHeld()
			})
		})
	}
}

func TestPadCountsEveryKindOfPress(t *testing.T) {
	s := newBench(t)
	w := s.window("Workbench")
	o := s.object(w, commonv1.Role_ROLE_CANVAS, "Pad")
	p := s.center(w, o)
	press := func(b commonv1.Button, n int) {
		in := clickAt(w, p)
		in.Button, in.Count = b, n
		s.sent(in)
	}
	press(commonv1.Button_BUTTON_LEFT, 1)
	press(commonv1.Button_BUTTON_UNSPECIFIED, 0)
	press(commonv1.Button_BUTTON_LEFT, 2)
	press(commonv1.Button_BUTTON_LEFT, 3)
	press(commonv1.Button_BUTTON_MIDDLE, 1)
	press(commonv1.Button_BUTTON_RIGHT, 1)
	s.sent(pointAct(w, hoverPoint, p))
	if v := s.value(w, o); v != "left 2, double 1, triple 1, middle 1, right 1, hover 1" {
		t.Errorf("%q", v)
	}
	downs := 0
	for _, e := range s.Inputs(w.ID) {
		if e.Kind == InputButtonDown {
			downs++
		}
	}
	if downs != 1+1+2+3+1+1 {
		t.Errorf("%d presses", downs)
	}
}

func TestRightClickOpensAContextMenuAsASurface(t *testing.T) {
	s := newBench(t)
	w := s.window("Form")
	in := clickAt(w, s.on(w, commonv1.Role_ROLE_HEADING, "Account"))
	in.Button = commonv1.Button_BUTTON_RIGHT
	s.sent(in)
	surfaces := s.listed(w.ID).Surfaces
	if len(surfaces) != 2 || surfaces[1].Kind != commonv1.SurfaceKind_SURFACE_KIND_MENU {
		t.Fatalf("%+v", surfaces)
	}
	item := s.on(w, commonv1.Role_ROLE_MENU_ITEM, "Properties")
	if item.Surface != surfaces[1].ID {
		t.Errorf("%+v", item)
	}
	s.sent(clickAt(w, item))
	if len(s.listed(w.ID).Surfaces) != 1 || s.node(w, commonv1.Role_ROLE_LABEL, "Properties chosen").Name == "" {
		t.Error("the item was not chosen")
	}
	s.sent(in)
	s.sent(clickAt(w, s.on(w, 0, "Pinned")))
	if len(s.listed(w.ID).Surfaces) != 1 {
		t.Error("a press elsewhere did not close it")
	}
	s.refused(s.Deliver(t.Context(), clickAt(w, item), anyInput), refusal.AnswerElementReleased)
}

func TestHoverOpensAHintThatGoesAgain(t *testing.T) {
	s := newBench(t)
	w := s.window("Workbench")
	s.sent(pointAct(w, hoverPoint, s.on(w, 0, "Hint")))
	surfaces := s.listed(w.ID).Surfaces
	if len(surfaces) != 2 || surfaces[1].Kind != commonv1.SurfaceKind_SURFACE_KIND_TOOLTIP {
		t.Fatalf("%+v", surfaces)
	}
	s.sent(pointAct(w, hoverPoint, s.on(w, 0, "Pad")))
	if len(s.listed(w.ID).Surfaces) != 1 {
		t.Error("the hint stays")
	}
}

func TestScrollMovesWhatIsInViewAndSaysWhere(t *testing.T) {
	s := newBench(t)
	w := s.window("Workbench")
	offscreen := commonv1.ElementState_ELEMENT_STATE_OFFSCREEN
	position := func() string { return s.node(w, commonv1.Role_ROLE_SCROLL_BAR, "Items position").Value }
	in := pointAct(w, scrollPoint, s.on(w, commonv1.Role_ROLE_LIST_ITEM, "Item 3"))
	in.Direction, in.Amount = commonv1.Direction_DIRECTION_DOWN, 10
	s.sent(in)
	if position() != "190" || !s.node(w, 0, "Item 1").States.Has(offscreen) || s.node(w, 0, "Item 12").States.Has(offscreen) {
		t.Errorf("at %s", position())
	}
	var asked seen
	s.Deliver(t.Context(), pointAct(w, hoverPoint, in.Points[0]), asked.agree)
	if asked.was[0].Node.Name != "Item 11" {
		t.Errorf("there is %q", asked.was[0].Node.Name)
	}
	in.Amount = 100
	s.sent(in)
	if position() != "290" {
		t.Errorf("beyond its end: %s", position())
	}
	in.Direction = commonv1.Direction_DIRECTION_UP
	s.sent(in)
	if position() != "0" {
		t.Errorf("at %s", position())
	}
}

func TestWhatIsScrolledOutIsNeitherSeenNorHit(t *testing.T) {
	s := newBench(t)
	w := s.window("Workbench")
	above := func() []uint8 {
		c := s.picture(w)
		return slices.Clone(c.Image.Pix[:c.Image.PixOffset(0, 40)])
	}
	before := above()
	in := pointAct(w, scrollPoint, s.on(w, commonv1.Role_ROLE_LIST_ITEM, "Item 3"))
	in.Direction, in.Amount = commonv1.Direction_DIRECTION_DOWN, 1
	s.sent(in)
	if s.node(w, 0, "Item 1").States.Has(commonv1.ElementState_ELEMENT_STATE_OFFSCREEN) {
		t.Fatal("nothing of it is in view")
	}
	if !bytes.Equal(before, above()) {
		t.Error("it is drawn outside of its list")
	}
	var asked seen
	s.Deliver(t.Context(), pointAct(w, hoverPoint, executor.SurfacePoint{Surface: w.ID, X: 400, Y: 35}), asked.agree)
	if n := asked.was[0].Node; n.Role != commonv1.Role_ROLE_WINDOW {
		t.Errorf("there is %q", n.Name)
	}
}

func TestDragPutsAListInOrderAndDrawsOnASketch(t *testing.T) {
	s := newBench(t)
	w := s.window("Workbench")
	before := s.picture(w)
	s.sent(pointAct(w, dragPoint, s.on(w, 0, "Plan"), s.on(w, 0, "Test")))
	var order []string
	for _, n := range s.tree(w).Nodes {
		if n.Role == commonv1.Role_ROLE_LIST_ITEM && slices.Contains([]string{"Plan", "Build", "Test", "Ship"}, n.Name) {
			order = append(order, n.Name)
		}
	}
	if !slices.Equal(order, []string{"Build", "Test", "Plan", "Ship"}) {
		t.Errorf("%v", order)
	}
	moved := s.picture(w)
	p := s.on(w, 0, "Sketch")
	q := p
	q.X += 30
	s.sent(pointAct(w, dragPoint, p, q))
	s.sent(clickAt(w, p))
	if v := s.node(w, 0, "Sketch").Value; v != "2 lines, 3 points" {
		t.Errorf("%q", v)
	}
	if bytes.Equal(before.Image.Pix, moved.Image.Pix) || bytes.Equal(moved.Image.Pix, s.picture(w).Image.Pix) {
		t.Error("it does not show")
	}
}

func TestClicksInTextPlaceTheCaretAndSelect(t *testing.T) {
	s := newStage(t)
	w := s.window("Form")
	o := s.object(w, commonv1.Role_ROLE_TEXT_FIELD, "Name")
	s.must(s.SetValue(o, "one two"))
	at := func(n float64) executor.SurfacePoint {
		p := s.center(w, o)
		p.X = 24 + 8 + n*charW
		return p
	}
	selection := func() executor.TextRange {
		n, err := s.Reread(t.Context(), w, o)
		s.must(err)
		if n.Selection == nil {
			return executor.TextRange{}
		}
		return *n.Selection
	}
	in := clickAt(w, at(5))
	in.Count = 2
	s.sent(in)
	if got := selection(); got != (executor.TextRange{Start: 4, Length: 3}) {
		t.Errorf("a word: %+v", got)
	}
	in.Count = 3
	s.sent(in)
	if got := selection(); got != (executor.TextRange{Length: 7}) {
		t.Errorf("everything: %+v", got)
	}
	s.sent(clickAt(w, at(1)))
	in = clickAt(w, at(3))
	in.Modifiers = []commonv1.Modifier{commonv1.Modifier_MODIFIER_SHIFT}
	s.sent(in)
	if got := selection(); got != (executor.TextRange{Start: 1, Length: 2}) {
		t.Errorf("with shift: %+v", got)
	}
	s.sent(pointAct(w, dragPoint, at(0), at(2), at(4)))
	if got := selection(); got != (executor.TextRange{Length: 4}) {
		t.Errorf("dragged: %+v", got)
	}
}

func TestClickWithControlAddsToTheSelection(t *testing.T) {
	s := newStage(t)
	w := s.window("Form")
	selected := commonv1.ElementState_ELEMENT_STATE_SELECTED
	s.sent(clickAt(w, s.on(w, commonv1.Role_ROLE_CELL, "Apples")))
	in := clickAt(w, s.on(w, commonv1.Role_ROLE_CELL, "Coffee"))
	in.Modifiers = []commonv1.Modifier{commonv1.Modifier_MODIFIER_CONTROL}
	s.sent(in)
	if !s.node(w, commonv1.Role_ROLE_ROW, "Apples").States.Has(selected) ||
		!s.node(w, commonv1.Role_ROLE_ROW, "Coffee").States.Has(selected) {
		t.Error("not both")
	}
}

func TestClickOnAnOpenListTakesItsOptionAndNothingBelow(t *testing.T) {
	s := newStage(t)
	w := s.window("Form")
	s.sent(clickAt(w, s.on(w, commonv1.Role_ROLE_COMBO_BOX, "Color")))
	var asked seen
	s.Deliver(t.Context(), clickAt(w, s.on(w, commonv1.Role_ROLE_OPTION, "Blue")), asked.agree)
	if asked.was[0].Node.Name != "Blue" || s.node(w, commonv1.Role_ROLE_COMBO_BOX, "Color").Value != "Blue" {
		t.Errorf("%+v", asked.was)
	}
}

func TestClicksAfterTheFirstGoToTheSameElementOrNowhere(t *testing.T) {
	s := newBench(t)
	form := s.window("Form")
	s.mustPress(form, "Submit")
	w := s.window("Confirm")
	in := clickAt(w, s.on(w, 0, "OK"))
	in.Count = 3
	s.sent(in)
	log := s.window("Log")
	s.unreached(log.ID)
	said := 0
	for _, n := range s.tree(log).Nodes {
		if n.Name == "Form sent" {
			said++
		}
	}
	if said != 1 {
		t.Errorf("sent %d times", said)
	}
	if j := s.Journal(form.ID); len(j) != 1 {
		t.Errorf("%+v", j)
	}
}

func TestDisabledButtonTakesNoClick(t *testing.T) {
	s := newStage(t)
	w := s.window("Form")
	o := s.object(w, 0, "Submit")
	s.must(s.DisableElement(o, true))
	s.sent(clickAt(w, s.center(w, o)))
	if _, err := s.Window("Confirm"); err == nil {
		t.Error("it was pressed")
	}
}
