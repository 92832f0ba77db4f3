package virtualdesk

import (
	"math"
	"testing"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
)

// act is one performance on an element of the form, and what is read afterwards.
type act struct {
	name    string
	role    commonv1.Role
	element string
	perform executor.Performance
	route   commonv1.Route
	value   string
	state   commonv1.ElementState
	without bool // the state must be gone
}

func acts() []act {
	action, text := commonv1.Route_ROUTE_ACCESSIBILITY_ACTION, commonv1.Route_ROUTE_ACCESSIBILITY_TEXT
	value, pick := commonv1.Route_ROUTE_ACCESSIBILITY_VALUE, commonv1.Route_ROUTE_ACCESSIBILITY_SELECTION
	checked, expanded := commonv1.ElementState_ELEMENT_STATE_CHECKED, commonv1.ElementState_ELEMENT_STATE_EXPANDED
	p := func(v commonv1.Verb) executor.Performance { return executor.Performance{Verb: v} }
	on := func(v commonv1.Verb) executor.Performance { return executor.Performance{Verb: v, On: true} }
	perform := func(a commonv1.ElementAction) executor.Performance {
		return executor.Performance{Verb: commonv1.Verb_VERB_PERFORM, Action: a}
	}
	return []act{
		{
			name: "press a check box", role: commonv1.Role_ROLE_CHECK_BOX, element: "Subscribe",
			perform: p(commonv1.Verb_VERB_CLICK_ELEMENT), route: action, state: checked,
		},
		{
			name: "check a switch", role: commonv1.Role_ROLE_SWITCH, element: "Notifications",
			perform: on(commonv1.Verb_VERB_SET_CHECKED), route: action, state: checked,
		},
		{
			name: "uncheck what is unchecked", role: commonv1.Role_ROLE_SWITCH, element: "Notifications",
			perform: p(commonv1.Verb_VERB_SET_CHECKED), route: action, state: checked, without: true,
		},
		{
			name: "press a toggle button", role: commonv1.Role_ROLE_TOGGLE_BUTTON, element: "Pinned",
			perform: p(commonv1.Verb_VERB_CLICK_ELEMENT), route: action,
			state: commonv1.ElementState_ELEMENT_STATE_PRESSED,
		},
		{
			name: "check a radio button", role: commonv1.Role_ROLE_RADIO_BUTTON, element: "Pro",
			perform: on(commonv1.Verb_VERB_SET_CHECKED), route: action, state: checked,
		},
		{
			name: "set a text", role: commonv1.Role_ROLE_TEXT_FIELD, element: "Name",
			perform: executor.Performance{Verb: commonv1.Verb_VERB_SET_VALUE, Text: "Ada"}, route: text, value: "Ada",
		},
		{
			name: "set a number", role: commonv1.Role_ROLE_SLIDER, element: "Volume",
			perform: executor.Performance{Verb: commonv1.Verb_VERB_SET_VALUE, Number: 72.5}, route: value, value: "72.5",
		},
		{
			name: "set a number above its range", role: commonv1.Role_ROLE_SPIN_BUTTON, element: "Quantity",
			perform: executor.Performance{Verb: commonv1.Verb_VERB_SET_VALUE, Number: 99}, route: value, value: "10",
		},
		{
			name: "increment", role: commonv1.Role_ROLE_SPIN_BUTTON, element: "Quantity",
			perform: perform(commonv1.ElementAction_ELEMENT_ACTION_INCREMENT), route: action, value: "2",
		},
		{
			name: "decrement", role: commonv1.Role_ROLE_SLIDER, element: "Volume",
			perform: perform(commonv1.ElementAction_ELEMENT_ACTION_DECREMENT), route: action, value: "29",
		},
		{
			name: "select an option", role: commonv1.Role_ROLE_COMBO_BOX, element: "Color",
			perform: executor.Performance{Verb: commonv1.Verb_VERB_SELECT_OPTION, Text: "Blue"}, route: pick, value: "Blue",
		},
		{
			name: "select a row by itself", role: commonv1.Role_ROLE_ROW, element: "Bread",
			perform: p(commonv1.Verb_VERB_SELECT_OPTION), route: pick,
			state: commonv1.ElementState_ELEMENT_STATE_SELECTED,
		},
		{
			name: "expand", role: commonv1.Role_ROLE_DISCLOSURE, element: "Details",
			perform: on(commonv1.Verb_VERB_SET_EXPANDED), route: action, state: expanded,
		},
		{
			name: "expand by action", role: commonv1.Role_ROLE_COMBO_BOX, element: "Color",
			perform: perform(commonv1.ElementAction_ELEMENT_ACTION_EXPAND), route: action, state: expanded,
		},
		{
			name: "open a menu", role: commonv1.Role_ROLE_MENU, element: "File",
			perform: p(commonv1.Verb_VERB_CLICK_ELEMENT), route: action, state: expanded,
		},
		{
			name: "focus", role: commonv1.Role_ROLE_TEXT_AREA, element: "Notes",
			perform: p(commonv1.Verb_VERB_FOCUS_ELEMENT), route: action,
			state: commonv1.ElementState_ELEMENT_STATE_FOCUSED,
		},
		{
			name: "type focuses", role: commonv1.Role_ROLE_TEXT_FIELD, element: "Name",
			perform: executor.Performance{Verb: commonv1.Verb_VERB_TYPE_TEXT, Text: "Ünï"}, route: text, value: "Ünï",
			state: commonv1.ElementState_ELEMENT_STATE_FOCUSED,
		},
	}
}

func TestEachActChangesItsElementAndNothingElseIsTouched(t *testing.T) {
	for _, tt := range acts() {
		t.Run(tt.name, func(t *testing.T) {
			s := newStage(t)
			w := s.window("Form")
			desk := s.desk()
			p := tt.perform
			p.Window, p.Object, p.Routes = w, s.object(w, tt.role, tt.element), []commonv1.Route{tt.route}
			got := s.Perform(t.Context(), p, agrees)
			if got.Sent != executor.Accepted || got.Route != tt.route || !got.Settled {
				t.Fatalf("%+v", got)
			}
			n := s.node(w, tt.role, tt.element)
			if n.Value != tt.value && tt.value != "" {
				t.Errorf("value %q, want %q", n.Value, tt.value)
			}
			if tt.state != 0 && n.States.Has(tt.state) == tt.without {
				t.Errorf("state %v is wrong", tt.state)
			}
			if events := s.Events(); len(events) != 1 || events[0].Verb != p.Verb || events[0].Element != tt.element {
				t.Errorf("%+v", events)
			}
			if now := s.desk(); now.Focus != desk.Focus || now.Active != desk.Active {
				t.Error("the user's focus moved")
			}
			p.Routes = []commonv1.Route{commonv1.Route_ROUTE_PAGE_DOM}
			s.refused(s.Perform(t.Context(), p, agrees), refusal.AnswerNoPermittedRoute)
		})
	}
}

func TestOnlyOneElementIsFocusedAndOneRadioButtonChecked(t *testing.T) {
	s := newStage(t)
	w := s.window("Form")
	for _, p := range []executor.Performance{
		{Verb: commonv1.Verb_VERB_FOCUS_ELEMENT, Object: s.object(w, commonv1.Role_ROLE_TEXT_FIELD, "Name")},
		{Verb: commonv1.Verb_VERB_FOCUS_ELEMENT, Object: s.object(w, commonv1.Role_ROLE_TEXT_AREA, "Notes")},
		{Verb: commonv1.Verb_VERB_CLICK_ELEMENT, Object: s.object(w, commonv1.Role_ROLE_RADIO_BUTTON, "Pro")},
	} {
		p.Window, p.Routes = w, allRoutes()
		s.Perform(t.Context(), p, agrees)
	}
	focused, checked := "", ""
	for _, n := range s.tree(w).Nodes {
		if n.States.Has(commonv1.ElementState_ELEMENT_STATE_FOCUSED) {
			focused += n.Name
		}
		if n.States.Has(commonv1.ElementState_ELEMENT_STATE_CHECKED) {
			checked += n.Name
		}
	}
	if focused != "Notes" || checked != "Pro" {
		t.Errorf("focused %q, checked %q", focused, checked)
	}
}

func TestTypingReplacesAppendsAndSubmits(t *testing.T) {
	s := newStage(t)
	w := s.window("Form")
	name := s.object(w, commonv1.Role_ROLE_TEXT_FIELD, "Name")
	typed := func(text string, mode commonv1.TextMode, submit bool) executor.Delivery {
		return s.Perform(t.Context(), executor.Performance{
			Window: w, Object: name, Verb: commonv1.Verb_VERB_TYPE_TEXT, Routes: allRoutes(),
			Text: text, Mode: mode, Submit: submit,
		}, agrees)
	}
	typed("old", commonv1.TextMode_TEXT_MODE_UNSPECIFIED, false)
	if got := typed("Grüße", commonv1.TextMode_TEXT_MODE_REPLACE, false); got.Count != 5 {
		t.Errorf("%d characters delivered", got.Count)
	}
	typed(" an\nalle", commonv1.TextMode_TEXT_MODE_APPEND, true)
	if got := s.node(w, commonv1.Role_ROLE_TEXT_FIELD, "Name").Value; got != "Grüße an alle" {
		t.Errorf("%q", got)
	}
	s.object(w, commonv1.Role_ROLE_LABEL, "Name submitted")
}

func TestRefusedActsReachNothing(t *testing.T) {
	refuses := func(executor.Node) refusal.Answer { return refusal.AnswerElementChanged }
	tests := []struct {
		name    string
		role    commonv1.Role
		element string
		perform executor.Performance
		check   executor.Check
		want    refusal.Answer
	}{
		{
			"check says no", 0, "Submit",
			executor.Performance{Verb: commonv1.Verb_VERB_CLICK_ELEMENT},
			refuses,
			refusal.AnswerElementChanged,
		},
		{
			"disabled", 0, "Delete",
			executor.Performance{Verb: commonv1.Verb_VERB_CLICK_ELEMENT},
			agrees,
			refusal.AnswerElementDisabled,
		},
		{
			"label pressed", commonv1.Role_ROLE_LABEL, "Name",
			executor.Performance{Verb: commonv1.Verb_VERB_CLICK_ELEMENT},
			agrees, refusal.AnswerElementNotActionable,
		},
		{
			"text into a button", 0, "Submit",
			executor.Performance{Verb: commonv1.Verb_VERB_TYPE_TEXT},
			agrees,
			refusal.AnswerElementNotActionable,
		},
		{
			"no number", commonv1.Role_ROLE_SLIDER, "Volume",
			executor.Performance{Verb: commonv1.Verb_VERB_SET_VALUE, Number: math.NaN()},
			agrees,
			refusal.AnswerElementNotActionable,
		},
		{
			"progress is read only", commonv1.Role_ROLE_PROGRESS_BAR, "Upload",
			executor.Performance{Verb: commonv1.Verb_VERB_SET_VALUE, Number: 1},
			agrees,
			refusal.AnswerElementNotActionable,
		},
		{
			"unknown option", commonv1.Role_ROLE_COMBO_BOX, "Color",
			executor.Performance{Verb: commonv1.Verb_VERB_SELECT_OPTION, Text: "Pink"},
			agrees,
			refusal.AnswerElementNotActionable,
		},
		{
			"radio button unchecked", 0, "Basic",
			executor.Performance{Verb: commonv1.Verb_VERB_SET_CHECKED},
			agrees,
			refusal.AnswerElementNotActionable,
		},
		{"action not advertised", 0, "Submit", executor.Performance{
			Verb: commonv1.Verb_VERB_PERFORM, Action: commonv1.ElementAction_ELEMENT_ACTION_INCREMENT,
		}, agrees, refusal.AnswerElementNotActionable},
		{
			"keys", 0, "Submit",
			executor.Performance{Verb: commonv1.Verb_VERB_PRESS_KEYS},
			agrees,
			refusal.AnswerNotSupported,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newStage(t)
			w := s.window("Form")
			p := tt.perform
			p.Window, p.Object, p.Routes = w, s.object(w, tt.role, tt.element), allRoutes()
			s.refused(s.Perform(t.Context(), p, tt.check), tt.want)
			s.untouched()
		})
	}
}

func TestEveryActOnASecureFieldIsRefusedWhateverCheckSays(t *testing.T) {
	s := newStage(t)
	w := s.window("Form")
	o := s.object(w, commonv1.Role_ROLE_SECURE_FIELD, "Password")
	for v := range commonv1.Verb_name {
		s.refused(s.Perform(t.Context(), executor.Performance{
			Window: w, Object: o, Verb: commonv1.Verb(v), Text: "x", Routes: allRoutes(),
		}, agrees), refusal.AnswerElementSecure)
	}
	s.untouched()
}

func TestEveryPartOfAnIdentityMustHold(t *testing.T) {
	s := newStage(t)
	w := s.window("Form")
	tests := []struct {
		name   string
		change func(*ident.Window)
		want   refusal.Answer
	}{
		{"id", func(w *ident.Window) { w.ID = 5 }, refusal.AnswerWindowGone},
		{"process", func(w *ident.Window) { w.PID++ }, refusal.AnswerProcessReplaced},
		{"start", func(w *ident.Window) { w.Start++ }, refusal.AnswerProcessReplaced},
		{"app", func(w *ident.Window) { w.App = CalculatorID }, refusal.AnswerWindowChanged},
		{"birth", func(w *ident.Window) { w.Birth++ }, refusal.AnswerWindowChanged},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			other := w
			tt.change(&other)
			o := s.object(w, 0, "Submit")
			s.refused(s.Perform(t.Context(), click(other, o), agrees), tt.want)
			_, reread := s.Reread(t.Context(), other, o)
			_, capture := s.Capture(t.Context(), other)
			if s.readAnswer(t.Context(), other) != tt.want || answerOf(reread) != tt.want || answerOf(capture) != tt.want {
				t.Error("a read did not see it")
			}
		})
	}
	s.untouched()
}

func TestObjectOfAnotherWindowIsNotReached(t *testing.T) {
	s := newStage(t)
	o := s.object(s.window("Log"), 0, "Clear")
	s.refused(s.Perform(t.Context(), click(s.window("Form"), o), agrees), refusal.AnswerElementReleased)
	s.untouched()
}
