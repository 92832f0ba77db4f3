package atspi

import (
	"strings"
	"testing"
)

func TestEveryRoleNumberHasARole(t *testing.T) {
	for number := range uint32(300) {
		if r := roleOf(number); r >= roleEnd {
			t.Errorf("role number %d: %d", number, r)
		}
	}
	if roleOf(1<<32-1) != RoleUnknown {
		t.Error("a role number that nobody knows has a role")
	}
	for number, want := range map[uint32]Role{
		7: RoleCheckBox, 11: RoleComboBox, 16: RoleDialog, 23: RoleFrame, 33: RoleMenu, 35: RoleMenuItem,
		40: RolePasswordText, 43: RoleButton, 51: RoleSlider, 52: RoleSpinButton, 56: RoleCell, 61: RoleText, 69: RoleWindow,
		75: RoleApplication, 79: RoleEntry, 88: RoleLink, 95: RoleWebDocument, 98: RoleListBox, 116: RoleStatic,
		130: RoleSwitch,
	} {
		if got := roleOf(number); got != want {
			t.Errorf("role number %d is %v, not %v", number, got, want)
		}
	}
}

func TestRoleNamesAreDistinct(t *testing.T) {
	seen := make(map[string]Role)
	for r := RoleUnknown; r < roleEnd; r++ {
		name := r.String()
		if other, twice := seen[name]; twice || name == "" {
			t.Errorf("roles %d and %d are both %q", r, other, name)
		}
		seen[name] = r
	}
	if roleEnd.String() != "unknown" {
		t.Error("a role outside the vocabulary has a name")
	}
}

func TestEveryStateHasOneNumberAndOneName(t *testing.T) {
	seen := make(map[State]int)
	for number := range 64 {
		s := stateOf(number)
		if s == 0 {
			continue
		}
		if other, twice := seen[s]; twice {
			t.Errorf("state numbers %d and %d are both %v", number, other, s)
		}
		seen[s] = number
	}
	names := make(map[string]bool)
	for one := State(1); one < stateEnd; one <<= 1 {
		if _, ok := seen[one]; !ok && one != StateSecure {
			t.Errorf("state %v has no number", one)
		}
		name := stateName(one)
		if name == "" || names[name] {
			t.Errorf("state %b is named %q", one, name)
		}
		names[name] = true
		if got := stateNamed(strings.ReplaceAll(name, "_", "-")); got != one && one != StateSecure {
			t.Errorf("event name of %q reads %v", name, got)
		}
	}
	if stateNamed("secure") != 0 {
		t.Error("an application can declare a field secure or not by an event")
	}
	if stateNamed("multi-line") != StateMultiline {
		t.Error("multi-line is not known")
	}
}

func TestStatesFollowRoleAndToolkit(t *testing.T) {
	sensitive := uint64(1) << 24
	if s := statesOf(ToolkitGTK4, RoleButton, sensitive); !s.Has(StateEnabled) {
		t.Errorf("GTK4 has no enabled state: %v", s)
	}
	if s := statesOf(ToolkitGTK3, RoleButton, sensitive); s.Has(StateEnabled) {
		t.Errorf("GTK3 says itself what is enabled: %v", s)
	}
	if s := statesOf(ToolkitQt, RolePasswordText, 0); s != StateSecure {
		t.Errorf("password field: %v", s)
	}
	if s := statesOf(ToolkitGTK3, RoleCheckBox, 1<<4); s != StateChecked|StateCheckable {
		t.Errorf("check box: %v", s)
	}
	if s := statesOf(ToolkitUnknown, RoleUnknown, 1<<63|1<<62|1); s != 0 {
		t.Errorf("unknown state numbers: %v", s)
	}
}

func TestToolkitsAreToldApart(t *testing.T) {
	for _, tt := range []struct {
		name, version, app string
		want               Toolkit
	}{
		{"gtk", "3.24.38", "mousepad", ToolkitGTK3},
		{"GTK", "4.8.3", "gnome-calculator", ToolkitGTK4},
		{"gtk", "3.24.38", "soffice", ToolkitLibreOffice},
		{"Qt", "5.15.8", "kcalc", ToolkitQt},
		{"Chromium", "156.0", "Chromium", ToolkitChromium},
		{"Gecko", "128", "Firefox", ToolkitUnknown},
		{"gtk", "2.24", "old", ToolkitUnknown},
		{"gtk", "5.0", "new", ToolkitUnknown},
		{"", "", "", ToolkitUnknown},
	} {
		if got := toolkitNamed(tt.name, tt.version, tt.app); got != tt.want {
			t.Errorf("%s %s %s: %v, not %v", tt.name, tt.version, tt.app, got, tt.want)
		}
	}
	for k := ToolkitUnknown; k <= ToolkitLibreOffice; k++ {
		if (quirkOf(k).origin == originNone) != (k == ToolkitUnknown) {
			t.Errorf("%v: nobody tried its coordinates, or they are not in the table", k)
		}
	}
}

func TestActionNamesMapByNameOnly(t *testing.T) {
	for _, tt := range []struct {
		kit    Toolkit
		role   Role
		states State
		name   string
		want   Action
	}{
		{ToolkitGTK3, RoleButton, 0, "click", ActionPress},
		{ToolkitGTK3, RoleButton, 0, "Click", ActionPress},
		{ToolkitGTK3, RoleMenuItem, 0, "click", ActionPress},
		{ToolkitGTK3, RoleMenu, 0, "click", ActionShowMenu},
		{ToolkitGTK3, RoleComboBox, 0, "press", ActionShowMenu},
		{ToolkitGTK3, RoleText, 0, "activate", ActionActivate},
		{ToolkitGTK3, RoleCell, 0, "edit", ActionNone},
		{ToolkitGTK3, RoleCell, 0, "expand or contract", ActionNone},
		{ToolkitGTK3, RoleCell, StateExpandable, "expand or contract", ActionExpand},
		{ToolkitGTK3, RoleCell, StateExpandable | StateExpanded, "expand or contract", ActionCollapse},
		{ToolkitQt, RoleButton, 0, "Press", ActionPress},
		{ToolkitQt, RoleSlider, 0, "Increase", ActionIncrement},
		{ToolkitQt, RoleButton, 0, "ShowMenu", ActionShowMenu},
		{ToolkitQt, RoleButton, 0, "SetFocus", ActionNone},
		{ToolkitQt, RoleScrollBar, 0, "Scroll Left", ActionScrollLeft},
		{ToolkitChromium, RoleCheckBox, 0, "uncheck", ActionToggle},
		{ToolkitChromium, RoleListItem, 0, "select", ActionPick},
		{ToolkitChromium, RoleButton, 0, "showContextMenu", ActionShowMenu},
		{ToolkitChromium, RoleScrollPane, 0, "scrollDown", ActionScrollDown},
		{ToolkitGTK4, RoleButton, 0, "click", ActionPress},
		{ToolkitUnknown, RoleButton, 0, "", ActionNone},
		{ToolkitUnknown, RoleButton, 0, "delete everything", ActionNone},
	} {
		if got := neutral(tt.kit, tt.role, tt.states, tt.name); got != tt.want {
			t.Errorf("%v %v %q is %v, not %v", tt.kit, tt.role, tt.name, got, tt.want)
		}
	}
}

func TestEveryActionHasANameAndSomethingThatMapsToIt(t *testing.T) {
	seen := make(map[string]bool)
	for a := ActionPress; a < actionEnd; a++ {
		name := a.String()
		if name == "none" || seen[name] {
			t.Errorf("action %d is named %q", a, name)
		}
		seen[name] = true
		if got := commonAction(fold(name)); got != a {
			t.Errorf("%q maps to %v", name, got)
		}
	}
}

func TestResolveKeepsTheIndexOfTheName(t *testing.T) {
	names := []string{"clipboard.copy", "strange", "activate", "click", "press"}
	r := resolve(ToolkitGTK4, RoleButton, 0, names, 20)
	if len(r.actions) != 2 || r.actions[0] != ActionActivate || r.index[0] != 2 || r.actions[1] != ActionPress ||
		r.index[1] != 3 || r.unknown != 3 || r.cut {
		t.Errorf("%+v", r)
	}
	if r := resolve(ToolkitGTK4, RoleButton, 0, names, 2); len(r.actions) != 1 || !r.cut {
		t.Errorf("with a limit of two: %+v", r)
	}
}
