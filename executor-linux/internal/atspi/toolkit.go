package atspi

import "strings"

// Toolkit is what an application is built with, as far as it changes how its tree must be read.
type Toolkit uint8

// The toolkits that were tried; anything else is ToolkitUnknown and gets the most careful treatment.
const (
	ToolkitUnknown Toolkit = iota
	ToolkitGTK3
	ToolkitGTK4
	ToolkitQt
	ToolkitChromium
	ToolkitLibreOffice
)

// origin says which point of a window is 0,0 for the extents of its elements.
type origin uint8

const (
	// originNone: it is not known; elements are listed without a place (C2.2).
	originNone origin = iota
	// originClient: the client window.
	originClient
	// originContent: the client window without its shadow (GTK4).
	originContent
	// originFrame: the window manager's frame.
	originFrame
)

// quirk is how one toolkit departs from the textbook. Everything that depends on the toolkit is in this table or in
// actionNames.
type quirk struct {
	name string
	// origin is what extents are relative to after the rule below.
	origin origin
	// fromScreen: only screen extents are right; they are taken relative to those of the toplevel. Otherwise the
	// window-relative ones are right.
	fromScreen bool
	// screen: the toplevel's screen extents tell where it is (never in GTK4).
	screen bool
	// cache: Cache.GetItems lists the tree.
	cache bool
	// showing: the showing state is set, so that what is not showing has no place.
	showing bool
	// id: AccessibleId says something; elsewhere it is empty and one call per element too many.
	id bool
	// mixedScale: at a scale other than 1 some elements are reported in logical and some in physical pixels.
	mixedScale bool
	// sensitiveIsEnabled: the enabled state is never set.
	sensitiveIsEnabled bool
	// byIndex: the children of an element that manages its descendants can be fetched one by one, if they are few.
	byIndex bool
	// asynchronous: actions return before they take effect.
	asynchronous bool
}

// quirkOf is the table of toolkits, measured; see linux.md.
func quirkOf(k Toolkit) quirk {
	switch k {
	case ToolkitGTK3:
		return quirk{name: "gtk3", origin: originClient, screen: true, cache: true, showing: true, byIndex: true}
	case ToolkitGTK4:
		return quirk{name: "gtk4", origin: originContent, cache: true, sensitiveIsEnabled: true}
	case ToolkitQt:
		return quirk{name: "qt", origin: originClient, fromScreen: true, screen: true, showing: true, id: true}
	case ToolkitChromium:
		return quirk{
			name: "chromium", origin: originClient, screen: true, cache: true, showing: true,
			mixedScale: true, asynchronous: true,
		}
	case ToolkitLibreOffice:
		return quirk{name: "libreoffice", origin: originFrame, fromScreen: true, screen: true, showing: true}
	case ToolkitUnknown:
	}
	return quirk{name: "unknown", id: true}
}

// String is the toolkit's name for logs and tests.
func (k Toolkit) String() string { return quirkOf(k).name }

// ReportsShowing says whether StateShowing is ever set by the toolkit.
func (k Toolkit) ReportsShowing() bool { return quirkOf(k).showing }

// Asynchronous says whether an accepted action may take effect only later (poll for up to a second).
func (k Toolkit) Asynchronous() bool { return quirkOf(k).asynchronous }

// toolkitNamed decides by the toolkit's name and version; LibreOffice calls itself gtk.
func toolkitNamed(toolkit, version, app string) Toolkit {
	switch strings.ToLower(toolkit) {
	case "gtk":
		switch {
		case strings.EqualFold(app, "soffice"), strings.Contains(strings.ToLower(app), "libreoffice"):
			return ToolkitLibreOffice
		case strings.HasPrefix(version, "3."):
			return ToolkitGTK3
		case strings.HasPrefix(version, "4."):
			return ToolkitGTK4
		}
	case "qt":
		return ToolkitQt
	case "chromium":
		return ToolkitChromium
	}
	return ToolkitUnknown
}

// opensPopup says whether an element of this role opens a popup, for which the toolkit grabs the user's pointer. What
// tells is the element it is in (GTK4: menu buttons, drop-downs) or the one that it holds (GTK3: buttons with a menu).
func opensPopup(k Toolkit, role Role, in, holds kin) bool {
	if role != RoleButton && role != RoleToggleButton {
		return false
	}
	switch k {
	case ToolkitGTK4:
		// An expander is a button that holds others too, but it can have the focus itself.
		return in.role == RoleComboBox || in.role == RoleMenuButton ||
			(in.role == RoleButton || in.role == RoleToggleButton) && !in.states.Has(StateFocusable)
	case ToolkitGTK3:
		return holds.role == RoleMenu
	case ToolkitUnknown, ToolkitQt, ToolkitChromium, ToolkitLibreOffice:
	}
	return false
}

// kin is what matters of an element's parent or child.
type kin struct {
	role   Role
	states State
}
