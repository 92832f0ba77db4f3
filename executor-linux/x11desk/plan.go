package x11desk

import (
	"context"
	"math"

	"fairlead.dev/executor-linux/internal/atspi"
	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/refusal"
)

// plan says what one call does the act on the element as it is now, or that the element
// does not offer it. It reads nothing.
func (a *act) plan(n *atspi.Node) (step, refusal.Answer) {
	switch a.Verb {
	case commonv1.Verb_VERB_CLICK_ELEMENT:
		return a.planPress(n)
	case commonv1.Verb_VERB_PERFORM:
		return a.planAction(n)
	case commonv1.Verb_VERB_SET_CHECKED:
		return a.planCheck(n)
	case commonv1.Verb_VERB_SET_EXPANDED:
		return a.planExpand(n)
	case commonv1.Verb_VERB_SELECT_OPTION:
		return a.planOption()
	case commonv1.Verb_VERB_SET_VALUE:
		return a.planValue(n)
	case commonv1.Verb_VERB_TYPE_TEXT:
		return a.planTyping(n)
	}
	return step{}, refusal.AnswerNotSupported
}

// action is the step that does one named action.
func (a *act) action(which atspi.Action) (step, refusal.Answer) {
	if which == atspi.ActionNone {
		return step{}, refusal.AnswerElementNotActionable
	}
	route := commonv1.Route_ROUTE_ACCESSIBILITY_ACTION
	return step{route: route, send: func(ctx context.Context) executor.Delivery {
		sent, err := a.client.DoAction(ctx, a.ref, which)
		return delivered(ctx, route, sent, err)
	}}, 0
}

// pressOf is the action that a press means for an element: its press or toggle; for
// things that are only there to be chosen also their activation. A text field's
// activation submits it and is no press.
func pressOf(n *atspi.Node, kit atspi.Toolkit) atspi.Action {
	wanted := []atspi.Action{atspi.ActionPress, atspi.ActionToggle}
	switch n.Role {
	case atspi.RoleButton, atspi.RoleToggleButton, atspi.RoleCheckBox, atspi.RoleRadioButton, atspi.RoleSwitch,
		atspi.RoleMenuItem, atspi.RoleCheckMenuItem, atspi.RoleRadioMenuItem, atspi.RoleLink, atspi.RoleIcon:
		wanted = append(wanted, atspi.ActionActivate, atspi.ActionPick, atspi.ActionOpen)
	case atspi.RoleListItem, atspi.RoleTab, atspi.RoleTreeItem, atspi.RoleRow:
		wanted = append(wanted, atspi.ActionPick)
	}
	for _, w := range wanted {
		if n.Can(w) && !grabs(n, kit, w) {
			return w
		}
	}
	return atspi.ActionNone
}

func (a *act) planPress(n *atspi.Node) (step, refusal.Answer) {
	if press := pressOf(n, a.top.kit); press != atspi.ActionNone {
		return a.action(press)
	}
	if a.option != nil {
		return a.planOption()
	}
	return step{}, refusal.AnswerElementNotActionable
}

// planAction does an action that the element lists. What opens a menu is never one of
// them: toolkits grab the user's pointer for it (C0.3).
func (a *act) planAction(n *atspi.Node) (step, refusal.Answer) {
	which := fromAction(a.Action)
	if which == atspi.ActionShowMenu {
		return step{}, refusal.AnswerNotSupported
	}
	if !n.Can(which) || grabs(n, a.top.kit, which) {
		return step{}, refusal.AnswerElementNotActionable
	}
	return a.action(which)
}

// planCheck brings a control into a state. One that is neither needs to be seen first.
func (a *act) planCheck(n *atspi.Node) (step, refusal.Answer) {
	if !n.States.Has(atspi.StateCheckable) {
		return step{}, refusal.AnswerElementNotActionable
	}
	on := n.States.Has(atspi.StateChecked) || n.States.Has(atspi.StatePressed)
	if on == a.On && !n.States.Has(atspi.StateIndeterminate) {
		return step{route: commonv1.Route_ROUTE_ACCESSIBILITY_ACTION, held: true}, 0
	}
	radio := n.Role == atspi.RoleRadioButton || n.Role == atspi.RoleRadioMenuItem
	if radio && !a.On {
		// Another one has to be chosen; this one cannot be let go of.
		return step{}, refusal.AnswerElementNotActionable
	}
	return a.action(pressOf(n, a.top.kit))
}

// planExpand expands or collapses. Where one action does both, it is used only if the
// state says that it goes the wanted way.
func (a *act) planExpand(n *atspi.Node) (step, refusal.Answer) {
	if n.States.Has(atspi.StateExpanded) == a.On && n.States.Has(atspi.StateExpandable) {
		return step{route: commonv1.Route_ROUTE_ACCESSIBILITY_ACTION, held: true}, 0
	}
	which := atspi.ActionCollapse
	if a.On {
		which = atspi.ActionExpand
	}
	switch {
	case n.Can(which) && !grabs(n, a.top.kit, which):
		return a.action(which)
	case n.States.Has(atspi.StateExpandable):
		return a.action(pressOf(n, a.top.kit))
	}
	return step{}, refusal.AnswerElementNotActionable
}

// planValue sets a number by the value route or a text by the text route.
func (a *act) planValue(n *atspi.Node) (step, refusal.Answer) {
	switch {
	case takesNumber(n):
		if math.IsNaN(a.Number) || math.IsInf(a.Number, 0) {
			return step{}, refusal.AnswerElementNotActionable
		}
		route := commonv1.Route_ROUTE_ACCESSIBILITY_VALUE
		return step{route: route, send: func(ctx context.Context) executor.Delivery {
			sent, err := a.client.SetValue(ctx, a.ref, a.Number)
			return delivered(ctx, route, sent, err)
		}}, 0
	case takesText(n):
		return step{route: commonv1.Route_ROUTE_ACCESSIBILITY_TEXT, send: func(ctx context.Context) executor.Delivery {
			return a.write(ctx, n)
		}}, 0
	}
	return step{}, refusal.AnswerElementNotActionable
}

// planTyping types as one step. Return is pressed by the element's own activation, so an
// element without one refuses before anything is sent.
func (a *act) planTyping(n *atspi.Node) (step, refusal.Answer) {
	if !takesText(n) {
		return step{}, refusal.AnswerElementNotActionable
	}
	if a.Submit && submitOf(n) == atspi.ActionNone {
		return step{}, refusal.AnswerElementNotActionable
	}
	route := commonv1.Route_ROUTE_ACCESSIBILITY_TEXT
	if a.Mode == commonv1.TextMode_TEXT_MODE_APPEND && a.Text == "" && !a.Submit {
		return step{route: route, held: true}, 0
	}
	return step{route: route, send: func(ctx context.Context) executor.Delivery { return a.typeText(ctx, n) }}, 0
}
