package virtualdesk

import (
	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
)

// Constructors of controls. Each returns an element that belongs to no window yet.

func rect(x, y, w, h float64) executor.Rect { return executor.Rect{X: x, Y: y, W: w, H: h} }

func enabled(more ...commonv1.ElementState) executor.States {
	s := executor.States(0).With(commonv1.ElementState_ELEMENT_STATE_ENABLED)
	for _, st := range more {
		s = s.With(st)
	}
	return s
}

func actions(as ...commonv1.ElementAction) []commonv1.ElementAction { return as }

func plain(role commonv1.Role, name string, r executor.Rect) *element {
	return &element{role: role, name: name, bounds: r, states: enabled()}
}

func button(name string, r executor.Rect, press func(*Desk, *element)) *element {
	e := plain(commonv1.Role_ROLE_BUTTON, name, r)
	e.states = enabled(commonv1.ElementState_ELEMENT_STATE_FOCUSABLE)
	e.actions = actions(commonv1.ElementAction_ELEMENT_ACTION_PRESS)
	e.hooks.press = press
	return e
}

func menuItem(name string, r executor.Rect, press func(*Desk, *element)) *element {
	e := button(name, r, press)
	e.role = commonv1.Role_ROLE_MENU_ITEM
	return e
}

func link(name string, r executor.Rect, press func(*Desk, *element)) *element {
	e := button(name, r, press)
	e.role = commonv1.Role_ROLE_LINK
	return e
}

// checkable is a check box, switch, toggle button, radio button or check menu item.
func checkable(role commonv1.Role, name string, r executor.Rect) *element {
	e := plain(role, name, r)
	e.states = enabled(commonv1.ElementState_ELEMENT_STATE_FOCUSABLE, commonv1.ElementState_ELEMENT_STATE_CHECKABLE)
	e.actions = actions(commonv1.ElementAction_ELEMENT_ACTION_PRESS)
	if role != commonv1.Role_ROLE_RADIO_BUTTON {
		e.actions = append(e.actions, commonv1.ElementAction_ELEMENT_ACTION_TOGGLE)
	}
	return e
}

func textField(name string, r executor.Rect) *element {
	e := plain(commonv1.Role_ROLE_TEXT_FIELD, name, r)
	e.takesText = true
	e.states = enabled(commonv1.ElementState_ELEMENT_STATE_FOCUSABLE, commonv1.ElementState_ELEMENT_STATE_EDITABLE)
	e.actions = actions(commonv1.ElementAction_ELEMENT_ACTION_CONFIRM)
	return e
}

func textArea(name string, r executor.Rect) *element {
	e := textField(name, r)
	e.role = commonv1.Role_ROLE_TEXT_AREA
	e.states = e.states.With(commonv1.ElementState_ELEMENT_STATE_MULTILINE)
	e.actions = nil
	return e
}

func secureField(name string, r executor.Rect, secret string) *element {
	e := textField(name, r)
	e.role, e.secure, e.secret = commonv1.Role_ROLE_SECURE_FIELD, true, secret
	e.actions = nil
	return e
}

// ranged is a slider, spin button or progress bar.
func ranged(role commonv1.Role, name string, r executor.Rect, rg executor.Range, now float64) *element {
	e := plain(role, name, r)
	e.rng = &rg
	e.setNumber(now)
	if role == commonv1.Role_ROLE_PROGRESS_BAR {
		e.states = enabled(commonv1.ElementState_ELEMENT_STATE_READ_ONLY)
		return e
	}
	e.takesNumber = true
	e.states = enabled(commonv1.ElementState_ELEMENT_STATE_FOCUSABLE)
	e.actions = actions(commonv1.ElementAction_ELEMENT_ACTION_INCREMENT,
		commonv1.ElementAction_ELEMENT_ACTION_DECREMENT)
	return e
}

// item is an option, list item or row that can be selected.
func item(role commonv1.Role, name string, r executor.Rect) *element {
	e := plain(role, name, r)
	e.states = enabled(commonv1.ElementState_ELEMENT_STATE_SELECTABLE)
	e.actions = actions(commonv1.ElementAction_ELEMENT_ACTION_PRESS)
	return e
}

// expandable is a disclosure, combo box or menu.
func expandable(role commonv1.Role, name string, r executor.Rect, hook func(*Desk, *element, bool)) *element {
	e := plain(role, name, r)
	e.states = enabled(commonv1.ElementState_ELEMENT_STATE_FOCUSABLE, commonv1.ElementState_ELEMENT_STATE_EXPANDABLE)
	e.actions = actions(commonv1.ElementAction_ELEMENT_ACTION_PRESS,
		commonv1.ElementAction_ELEMENT_ACTION_EXPAND, commonv1.ElementAction_ELEMENT_ACTION_COLLAPSE)
	e.hooks.expand = hook
	return e
}

// optionHeight is the height of one option of an open combo box, in points.
const optionHeight = 26

// comboBox is a field with a list of choices; its options are listed always and in
// view only while it is open.
func comboBox(name string, r executor.Rect, options []string, now string) *element {
	e := expandable(commonv1.Role_ROLE_COMBO_BOX, name, r, showOptions)
	e.value = now
	for _, o := range options {
		c := item(commonv1.Role_ROLE_OPTION, o, r)
		c.set(commonv1.ElementState_ELEMENT_STATE_SELECTED, o == now)
		c.set(commonv1.ElementState_ELEMENT_STATE_OFFSCREEN, true)
		e.children = append(e.children, c)
	}
	return e
}

func showOptions(_ *Desk, e *element, on bool) {
	for i, c := range e.children {
		c.set(commonv1.ElementState_ELEMENT_STATE_OFFSCREEN, !on)
		c.bounds = e.bounds
		if on {
			c.bounds = rect(e.bounds.X, e.bounds.Y+e.bounds.H+2+float64(i)*optionHeight, e.bounds.W, optionHeight)
		}
	}
}
