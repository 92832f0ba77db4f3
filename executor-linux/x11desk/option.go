package x11desk

import (
	"context"

	"fairlead.dev/executor-linux/internal/atspi"
	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/refusal"
)

const (
	// optionsMax bounds the options looked through, optionsDepth how deep they lie: a combo
	// box holds a menu that holds the items.
	optionsMax   = 1000
	optionsDepth = 3
)

// option is one item of a container that selects.
type option struct {
	container atspi.Ref
	// index of the item, -1 when the container has no selection of its own.
	index int
	item  *atspi.Node
}

// lookup finds the item that select_option, or a press on an item without an action of
// its own, is about. It answers zero also where there is nothing to look up.
func (a *act) lookup(ctx context.Context, n *atspi.Node) refusal.Answer {
	var err error
	switch {
	case a.Verb == commonv1.Verb_VERB_SELECT_OPTION && itself(n, a.top.kit, a.Text):
		a.option, err = a.inParent(ctx)
	case a.Verb == commonv1.Verb_VERB_SELECT_OPTION:
		a.option, err = a.below(ctx)
	case a.Verb == commonv1.Verb_VERB_CLICK_ELEMENT && n.States.Has(atspi.StateSelectable) &&
		pressOf(n, a.top.kit) == atspi.ActionNone:
		a.option, err = a.inParent(ctx)
	}
	if err != nil {
		return answerOf(ctx, err)
	}
	return 0
}

// itself reports whether the element is the option: selectable, and named so or not
// named at all.
func itself(n *atspi.Node, kit atspi.Toolkit, name string) bool {
	return n.States.Has(atspi.StateSelectable) && (name == "" || name == plainName(n, kit))
}

// below finds the one selectable item of a name under the element.
func (a *act) below(ctx context.Context) (*option, error) {
	t, err := a.client.ReadTree(ctx, a.ref, atspi.Limits{Elements: optionsMax, Depth: optionsDepth})
	if err != nil {
		return nil, err
	}
	found := -1
	for i := 1; i < len(t.Nodes); i++ {
		n := &t.Nodes[i]
		if plainName(n, a.top.kit) != a.Text || !isItem(n) {
			continue
		}
		if found >= 0 {
			return nil, &executor.Failure{Answer: refusal.AnswerElementAmbiguous, Candidates: 2}
		}
		found = i
	}
	if found < 0 {
		return nil, executor.Fail(refusal.AnswerElementNotActionable)
	}
	return optionAt(t, found)
}

// inParent finds the element among the items of its container.
func (a *act) inParent(ctx context.Context) (*option, error) {
	t, err := a.client.ReadTree(ctx, a.top.ref, atspi.Limits{})
	if err != nil {
		return nil, err
	}
	for i := range t.Nodes {
		if t.Nodes[i].Ref == a.ref {
			return optionAt(t, i)
		}
	}
	return nil, atspi.ErrGone
}

func isItem(n *atspi.Node) bool {
	switch n.Role {
	case atspi.RoleListItem, atspi.RoleMenuItem, atspi.RoleTab, atspi.RoleTreeItem, atspi.RoleCell, atspi.RoleRow:
		return true
	}
	return n.States.Has(atspi.StateSelectable)
}

// optionAt is the option of node i: its position among its siblings in the nearest
// container with a selection. Positions count only if no sibling is missing.
func optionAt(t *atspi.Tree, i int) (*option, error) {
	item := &t.Nodes[i]
	if !item.States.Has(atspi.StateEnabled) && !item.States.Has(atspi.StateSensitive) {
		return nil, executor.Fail(refusal.AnswerElementDisabled)
	}
	up := item.Parent
	if up < 0 {
		return nil, executor.Fail(refusal.AnswerElementNotActionable)
	}
	index, siblings := 0, 0
	for k := range t.Nodes {
		if t.Nodes[k].Parent != up {
			continue
		}
		if k < i {
			index++
		}
		siblings++
	}
	container := up
	if !t.Nodes[up].Interfaces.Has(atspi.HasSelection) || t.Nodes[up].Role == atspi.RoleMenu {
		// A combo box selects by the position in the menu or list that it holds.
		if g := t.Nodes[up].Parent; g >= 0 && t.Nodes[g].Role == atspi.RoleComboBox {
			container = g
		}
	}
	out := &option{container: t.Nodes[container].Ref, index: index, item: item}
	if !t.Nodes[container].Interfaces.Has(atspi.HasSelection) {
		out.index = -1
		return out, nil
	}
	if count := t.Nodes[up].Children; count >= 0 && count != siblings {
		return nil, executor.Fail(refusal.AnswerElementNotActionable)
	}
	return out, nil
}

// planOption selects the option, by its container or by its own action.
func (a *act) planOption() (step, refusal.Answer) {
	o := a.option
	if o == nil {
		return step{}, refusal.AnswerElementNotActionable
	}
	if o.index >= 0 {
		route := commonv1.Route_ROUTE_ACCESSIBILITY_SELECTION
		return step{route: route, send: func(ctx context.Context) executor.Delivery {
			sent, err := a.client.SelectChild(ctx, o.container, o.index)
			return delivered(ctx, route, sent, err)
		}}, 0
	}
	for _, which := range []atspi.Action{atspi.ActionPick, atspi.ActionPress} {
		if o.item.Can(which) && !grabs(o.item, a.top.kit, which) {
			item := *a
			item.ref = o.item.Ref
			return item.action(which)
		}
	}
	return step{}, refusal.AnswerElementNotActionable
}
