package atspi

import "strings"

// State is a set of states of an element.
type State uint32

// The closed vocabulary of states.
const (
	StateActive State = 1 << iota
	StateEnabled
	StateSensitive
	StateShowing
	StateVisible
	StateFocusable
	StateFocused
	StateEditable
	StateCheckable
	StateChecked
	StatePressed
	StateExpandable
	StateExpanded
	StateSelectable
	StateSelected
	StateMultiline
	StateModal
	StateReadOnly
	// StateSecure is set by role, not by the application's states: the element holds a secret (C2.10).
	StateSecure
	StateDefunct
	StateIndeterminate
	StateRequired
	StateBusy
	StateManagesDescendants
	StateHasPopup
	StateIconified
	StateInvalid
	stateEnd
)

// Has says whether s contains all of t.
func (s State) Has(t State) bool { return s&t == t }

// stateOf is the table from AT-SPI state numbers; numbers that are missing carry nothing anybody decides on.
func stateOf(number int) State {
	switch number {
	case 1:
		return StateActive
	case 3:
		return StateBusy
	case 4:
		return StateChecked
	case 6:
		return StateDefunct
	case 7:
		return StateEditable
	case 8:
		return StateEnabled
	case 9:
		return StateExpandable
	case 10:
		return StateExpanded
	case 11:
		return StateFocusable
	case 12:
		return StateFocused
	case 15:
		return StateIconified
	case 16:
		return StateModal
	case 17:
		return StateMultiline
	case 20:
		return StatePressed
	case 22:
		return StateSelectable
	case 23:
		return StateSelected
	case 24:
		return StateSensitive
	case 25:
		return StateShowing
	}
	return lateStateOf(number)
}

func lateStateOf(number int) State {
	switch number {
	case 30:
		return StateVisible
	case 31:
		return StateManagesDescendants
	case 32:
		return StateIndeterminate
	case 33:
		return StateRequired
	case 36:
		return StateInvalid
	case 41:
		return StateCheckable
	case 42:
		return StateHasPopup
	case 43:
		return StateReadOnly
	}
	return 0
}

// statesOf maps a whole set and adds what the toolkit leaves out and what the role implies.
func statesOf(k Toolkit, role Role, bits uint64) State {
	var s State
	for n := 0; bits != 0; n++ {
		if bits&1 != 0 {
			s |= stateOf(n)
		}
		bits >>= 1
	}
	if quirkOf(k).sensitiveIsEnabled && s.Has(StateSensitive) {
		s |= StateEnabled
	}
	switch role {
	case RolePasswordText:
		s |= StateSecure
	case RoleCheckBox, RoleRadioButton, RoleToggleButton, RoleCheckMenuItem, RoleRadioMenuItem, RoleSwitch:
		s |= StateCheckable
	}
	return s
}

// stateName names one state.
func stateName(s State) string {
	names := [...]string{
		"active", "enabled", "sensitive", "showing", "visible", "focusable", "focused", "editable", "checkable",
		"checked", "pressed", "expandable", "expanded", "selectable", "selected", "multiline", "modal", "read_only",
		"secure", "defunct", "indeterminate", "required", "busy", "manages_descendants", "has_popup", "iconified",
		"invalid",
	}
	for i, name := range names {
		if s == 1<<i {
			return name
		}
	}
	return ""
}

// String lists the names of the set.
func (s State) String() string {
	var names []string
	for one := State(1); one < stateEnd; one <<= 1 {
		if s.Has(one) {
			names = append(names, stateName(one))
		}
	}
	return strings.Join(names, " ")
}

// Interfaces is the set of AT-SPI interfaces of an element that this package uses.
type Interfaces uint8

// The interfaces.
const (
	HasAction Interfaces = 1 << iota
	HasComponent
	HasEditableText
	HasSelection
	HasTable
	HasText
	HasValue
)

// Has says whether i contains all of j.
func (i Interfaces) Has(j Interfaces) bool { return i&j == j }

// interfacesOf maps D-Bus interface names.
func interfacesOf(names []string) Interfaces {
	var set Interfaces
	for _, name := range names {
		switch name {
		case spi + "Action":
			set |= HasAction
		case spi + "Component":
			set |= HasComponent
		case spi + "EditableText":
			set |= HasEditableText
		case spi + "Selection":
			set |= HasSelection
		case spi + "Table":
			set |= HasTable
		case spi + "Text":
			set |= HasText
		case spi + "Value":
			set |= HasValue
		}
	}
	return set
}
