package atspi

import "strings"

// Action is the neutral name of something an element can be asked to do.
type Action uint8

// The closed vocabulary of actions.
const (
	ActionNone Action = iota
	ActionPress
	ActionConfirm
	ActionOpen
	// ActionShowMenu opens a menu or list as a window of its own. GTK3 and Qt grab the user's pointer and keyboard
	// for it: prefer the leaf items (C0.3).
	ActionShowMenu
	ActionCancel
	ActionPick
	ActionIncrement
	ActionDecrement
	ActionScrollUp
	ActionScrollDown
	ActionScrollLeft
	ActionScrollRight
	ActionScrollToVisible
	ActionExpand
	ActionCollapse
	ActionToggle
	ActionActivate
	actionEnd
)

// String is the neutral name.
func (a Action) String() string {
	switch a {
	case ActionPress:
		return "press"
	case ActionConfirm:
		return "confirm"
	case ActionOpen:
		return "open"
	case ActionShowMenu:
		return "show_menu"
	case ActionCancel:
		return "cancel"
	case ActionPick:
		return "pick"
	case ActionIncrement:
		return "increment"
	case ActionDecrement:
		return "decrement"
	case ActionScrollUp:
		return "scroll_up"
	case ActionScrollDown:
		return "scroll_down"
	case ActionScrollLeft:
		return "scroll_left"
	case ActionScrollRight:
		return "scroll_right"
	case ActionScrollToVisible:
		return "scroll_to_visible"
	case ActionExpand:
		return "expand"
	case ActionCollapse:
		return "collapse"
	case ActionToggle:
		return "toggle"
	case ActionActivate:
		return "activate"
	case ActionNone, actionEnd:
	}
	return "none"
}

// actionNamed is the one table from what toolkits call their actions to the neutral names. The argument is a folded
// name: lower case, without blanks, dashes and underscores.
func actionNamed(k Toolkit, folded string) Action {
	switch k {
	case ToolkitGTK3, ToolkitLibreOffice:
		switch folded {
		case "menu", "popup":
			return ActionShowMenu
		case "edit":
			return ActionNone
		}
	case ToolkitQt:
		switch folded {
		case "increase":
			return ActionIncrement
		case "decrease":
			return ActionDecrement
		case "setfocus":
			// It would be GrabFocus by another name.
			return ActionNone
		}
	case ToolkitChromium:
		switch folded {
		case "check", "uncheck":
			return ActionToggle
		case "jump", "clickancestor", "dodefault":
			return ActionPress
		}
	case ToolkitGTK4, ToolkitUnknown:
	}
	return commonAction(folded)
}

// commonAction holds the names that mean the same wherever they occur.
func commonAction(folded string) Action {
	switch folded {
	case "click", "press", "push":
		return ActionPress
	case "confirm":
		return ActionConfirm
	case "open":
		return ActionOpen
	case "showmenu", "showcontextmenu", "contextmenu":
		return ActionShowMenu
	case "cancel", "dismiss":
		return ActionCancel
	case "select", "pick":
		return ActionPick
	case "increment":
		return ActionIncrement
	case "decrement":
		return ActionDecrement
	case "scrollup":
		return ActionScrollUp
	case "scrolldown":
		return ActionScrollDown
	case "scrollleft":
		return ActionScrollLeft
	case "scrollright":
		return ActionScrollRight
	case "scrolltovisible", "scrolltomakevisible":
		return ActionScrollToVisible
	case "expand":
		return ActionExpand
	case "collapse":
		return ActionCollapse
	case "toggle":
		return ActionToggle
	case "activate":
		return ActionActivate
	}
	return ActionNone
}

// fold removes what toolkits spell differently.
func fold(name string) string {
	return strings.ToLower(strings.NewReplacer(" ", "", "-", "", "_", "").Replace(strings.TrimSpace(name)))
}

// neutral maps one action name of an element. Two cases need more than the name: pressing a menu or a combo box opens
// a window, and GTK3's rows have one action for both directions, also where there is nothing to expand.
func neutral(k Toolkit, role Role, states State, name string) Action {
	folded := fold(name)
	if folded == "expandorcontract" {
		switch {
		case states.Has(StateExpanded):
			return ActionCollapse
		case states.Has(StateExpandable):
			return ActionExpand
		}
		return ActionNone
	}
	a := actionNamed(k, folded)
	if a == ActionPress && (role == RoleMenu || role == RoleComboBox) {
		return ActionShowMenu
	}
	return a
}

// groupName says whether name is an entry of a GTK4 action group ("clipboard.copy"). These are not actions of the
// element but of its window or text, many, in no stable order, and not part of the vocabulary.
func groupName(name string) bool { return strings.ContainsRune(name, '.') }

// resolved is what an element's action names come to.
type resolved struct {
	actions []Action
	// index of each action in the application's own list.
	index   []int
	unknown int
	cut     bool
}

// resolve maps the raw names of one element. Of two raw names with one meaning the first counts; the rest, like the
// unknown ones, are only counted.
func resolve(k Toolkit, role Role, states State, names []string, limit int) resolved {
	var r resolved
	var seen [actionEnd]bool
	looked := 0
	for i, name := range names {
		if groupName(name) {
			r.unknown++
			continue
		}
		if looked == limit {
			r.cut = true
			break
		}
		looked++
		a := neutral(k, role, states, name)
		if a == ActionNone || seen[a] {
			r.unknown++
			continue
		}
		seen[a] = true
		r.actions = append(r.actions, a)
		r.index = append(r.index, i)
	}
	return r
}
