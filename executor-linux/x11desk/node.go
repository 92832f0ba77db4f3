package x11desk

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"fairlead.dev/executor-linux/internal/atspi"
	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
)

// objectOf names an element: connection, object path, and the path of its toplevel,
// by which its window is proven again.
func objectOf(ref, toplevel atspi.Ref) executor.Object {
	return executor.Object(ref.Bus + "\t" + ref.Path + "\t" + toplevel.Path)
}

// element resolves an object to a reference and the toplevel it was read under.
func (p *place) element(o executor.Object) (atspi.Ref, *top, bool) {
	parts := strings.Split(string(o), "\t")
	if len(parts) != 3 || parts[0] != p.app.Root.Bus {
		return atspi.Ref{}, nil, false
	}
	for i := range p.tops {
		if p.tops[i].ref.Path == parts[2] {
			return atspi.Ref{Bus: parts[0], Path: parts[1]}, &p.tops[i], true
		}
	}
	return atspi.Ref{}, nil, false
}

// toNode is an element in the executor's words. The same function serves a walk and a
// read before a send, so that their digests agree (C0.8).
func toNode(n *atspi.Node, t *top) executor.Node {
	out := executor.Node{
		Object: objectOf(n.Ref, t.ref), Parent: -1, Role: toRole(n), Subrole: n.Role.String(),
		Identifier: n.ID, Name: plainName(n, t.kit), Description: n.Description,
		Secure: n.States.Has(atspi.StateSecure), States: toStates(n, t.kit), Actions: toActions(n, t.kit),
		Surface: t.surface,
	}
	if strings.TrimSpace(out.Description) == out.Name {
		out.Description = ""
	}
	if t.match.Proven && n.Placed && !(t.surface == 0 && inMenu(n.Role)) {
		r := t.match.Place(n.Extents)
		out.Bounds = executor.Rect{X: float64(r.X), Y: float64(r.Y), W: float64(r.W), H: float64(r.H)}
	}
	if out.Secure {
		out.Role = commonv1.Role_ROLE_SECURE_FIELD
		return out
	}
	out.TakesText, out.TakesNumber = takesText(n), takesNumber(n)
	if hasNumber(n) {
		out.Range = &executor.Range{Min: n.Value.Min, Max: n.Value.Max, Step: n.Value.Step}
	}
	out.Value, out.ValueTruncated = valueOf(n)
	return out
}

func toRole(n *atspi.Node) commonv1.Role {
	role := roleOf(n.Role)
	if role == commonv1.Role_ROLE_TEXT_AREA && !n.States.Has(atspi.StateMultiline) && takesText(n) {
		// GTK and Qt call their one-line entries "text".
		return commonv1.Role_ROLE_TEXT_FIELD
	}
	return role
}

// inMenu reports whether elements of a role lie on the popup of their menu, whose
// geometry is not the toplevel's. In the toplevel's tree they have no place.
func inMenu(r atspi.Role) bool {
	switch r {
	case atspi.RoleMenuItem, atspi.RoleCheckMenuItem, atspi.RoleRadioMenuItem, atspi.RolePopupMenu:
		return true
	}
	return false
}

// valueOf is an element's number or text. A combo box without a text of its own says
// what is selected as its name (GTK3); as a value it can be read back.
func valueOf(n *atspi.Node) (string, bool) {
	switch {
	case hasNumber(n):
		return strconv.FormatFloat(n.Value.Current, 'g', -1, 64), false
	case n.Text != "":
		return n.Text, n.TextLen > utf8.RuneCountInString(n.Text)
	case n.Role == atspi.RoleComboBox:
		return n.Name, n.Cut.Has(atspi.CutText)
	}
	return "", false
}

func takesText(n *atspi.Node) bool {
	return n.Interfaces.Has(atspi.HasEditableText|atspi.HasText) && n.States.Has(atspi.StateEditable) &&
		!n.States.Has(atspi.StateReadOnly) && !n.States.Has(atspi.StateSecure)
}

// hasNumber reports whether an element shows a number. The parts that GTK4 builds
// controls of have one too, which says nothing.
func hasNumber(n *atspi.Node) bool {
	if n.Value == nil || n.Value.Max <= n.Value.Min {
		return false
	}
	switch roleOf(n.Role) {
	case commonv1.Role_ROLE_GROUP, commonv1.Role_ROLE_PANEL, commonv1.Role_ROLE_UNSPECIFIED:
		return false
	}
	return true
}

// takesNumber reports whether a number can be set. Progress and level bars have a value
// that is not the user's to set.
func takesNumber(n *atspi.Node) bool {
	if !n.Interfaces.Has(atspi.HasValue) || !hasNumber(n) || n.States.Has(atspi.StateReadOnly) {
		return false
	}
	switch n.Role {
	case atspi.RoleSlider, atspi.RoleSpinButton, atspi.RoleScrollBar, atspi.RoleDial, atspi.RoleRating,
		atspi.RoleSplitPane:
		return true
	}
	return false
}

// stateTable pairs the states that both vocabularies have.
func stateTable() []struct {
	from atspi.State
	to   commonv1.ElementState
} {
	return []struct {
		from atspi.State
		to   commonv1.ElementState
	}{
		{atspi.StateFocusable, commonv1.ElementState_ELEMENT_STATE_FOCUSABLE},
		{atspi.StateFocused, commonv1.ElementState_ELEMENT_STATE_FOCUSED},
		{atspi.StateEditable, commonv1.ElementState_ELEMENT_STATE_EDITABLE},
		{atspi.StateReadOnly, commonv1.ElementState_ELEMENT_STATE_READ_ONLY},
		{atspi.StateCheckable, commonv1.ElementState_ELEMENT_STATE_CHECKABLE},
		{atspi.StateChecked, commonv1.ElementState_ELEMENT_STATE_CHECKED},
		{atspi.StateIndeterminate, commonv1.ElementState_ELEMENT_STATE_MIXED},
		{atspi.StatePressed, commonv1.ElementState_ELEMENT_STATE_PRESSED},
		{atspi.StateExpandable, commonv1.ElementState_ELEMENT_STATE_EXPANDABLE},
		{atspi.StateExpanded, commonv1.ElementState_ELEMENT_STATE_EXPANDED},
		{atspi.StateSelectable, commonv1.ElementState_ELEMENT_STATE_SELECTABLE},
		{atspi.StateSelected, commonv1.ElementState_ELEMENT_STATE_SELECTED},
		{atspi.StateMultiline, commonv1.ElementState_ELEMENT_STATE_MULTILINE},
		{atspi.StateModal, commonv1.ElementState_ELEMENT_STATE_MODAL},
		{atspi.StateRequired, commonv1.ElementState_ELEMENT_STATE_REQUIRED},
		{atspi.StateInvalid, commonv1.ElementState_ELEMENT_STATE_INVALID},
		{atspi.StateBusy, commonv1.ElementState_ELEMENT_STATE_BUSY},
		{atspi.StateManagesDescendants, commonv1.ElementState_ELEMENT_STATE_VIRTUAL},
	}
}

func toStates(n *atspi.Node, kit atspi.Toolkit) executor.States {
	var out executor.States
	for _, row := range stateTable() {
		if n.States.Has(row.from) {
			out = out.With(row.to)
		}
	}
	if n.States.Has(atspi.StateEnabled) || n.States.Has(atspi.StateSensitive) {
		out = out.With(commonv1.ElementState_ELEMENT_STATE_ENABLED)
	}
	if hidden(n, kit) {
		out = out.With(commonv1.ElementState_ELEMENT_STATE_OFFSCREEN)
	}
	return out
}

// hidden reports whether the toolkit says that an element is not on the screen.
func hidden(n *atspi.Node, kit atspi.Toolkit) bool {
	return kit.ReportsShowing() && !n.States.Has(atspi.StateShowing)
}

// toActions lists the actions that Perform does. SHOW_MENU is none of them (C0.3), and
// an action of a secure field is refused, so it is not shown either (C10.4).
func toActions(n *atspi.Node, kit atspi.Toolkit) []commonv1.ElementAction {
	if n.States.Has(atspi.StateSecure) {
		return nil
	}
	var out []commonv1.ElementAction
	for _, a := range n.Actions {
		if a != atspi.ActionShowMenu && !grabs(n, kit, a) {
			out = append(out, toAction(a))
		}
	}
	return out
}

// grabs reports whether an action would open a popup for which a toolkit takes the
// user's pointer (C0.3).
func grabs(n *atspi.Node, kit atspi.Toolkit, a atspi.Action) bool {
	switch a {
	case atspi.ActionPress, atspi.ActionActivate, atspi.ActionToggle, atspi.ActionOpen, atspi.ActionExpand:
	default:
		return a == atspi.ActionShowMenu
	}
	if kit == atspi.ToolkitChromium {
		return false
	}
	return n.Role == atspi.RoleMenuButton || n.Role == atspi.RoleComboBox || n.Role == atspi.RoleMenu ||
		n.States.Has(atspi.StateHasPopup)
}

// actionTable pairs the two vocabularies of actions.
func actionTable() [17]atspi.Action {
	return [...]atspi.Action{
		atspi.ActionPress, atspi.ActionConfirm, atspi.ActionOpen, atspi.ActionShowMenu, atspi.ActionCancel,
		atspi.ActionPick, atspi.ActionIncrement, atspi.ActionDecrement, atspi.ActionScrollUp, atspi.ActionScrollDown,
		atspi.ActionScrollLeft, atspi.ActionScrollRight, atspi.ActionScrollToVisible, atspi.ActionExpand,
		atspi.ActionCollapse, atspi.ActionToggle, atspi.ActionActivate,
	}
}

func toAction(a atspi.Action) commonv1.ElementAction {
	for i, b := range actionTable() {
		if a == b {
			return commonv1.ElementAction(i + 1)
		}
	}
	return commonv1.ElementAction_ELEMENT_ACTION_UNSPECIFIED
}

func fromAction(a commonv1.ElementAction) atspi.Action {
	table := actionTable()
	if a < 1 || int(a) > len(table) {
		return atspi.ActionNone
	}
	return table[a-1]
}

// userHZ is the unit of process start times; Linux fixes it for everything it shows.
const userHZ = 100

// processAge is how long ago a process started, by the clock that its start is told in.
func processAge(start uint64) time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return time.Duration(1<<63 - 1)
	}
	return time.Duration(now.Nano()) - time.Duration(start)*(time.Second/userHZ)
}

// plainName is an element's name without what toolkits add to it: GTK3 pads menu items
// with blanks; GTK4 repeats a button's label ("7 7") and gives the class of what has no
// name ("GtkMenuButton"), where what it says when pointed at is the better name.
func plainName(n *atspi.Node, kit atspi.Toolkit) string {
	name := strings.TrimSpace(n.Name)
	if kit != atspi.ToolkitGTK4 {
		return name
	}
	if half := len(name) / 2; len(name)%2 == 1 && name[half] == ' ' && name[:half] == name[half+1:] {
		return name[:half]
	}
	for _, prefix := range []string{"Gtk", "Adw"} {
		rest, ok := strings.CutPrefix(name, prefix)
		if ok && rest != "" && strings.IndexFunc(rest, notLetter) < 0 && rest[0] >= 'A' && rest[0] <= 'Z' {
			return strings.TrimSpace(n.Description)
		}
	}
	return name
}

func notLetter(r rune) bool { return (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') }
