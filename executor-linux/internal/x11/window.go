package x11

import (
	"image"

	"github.com/jezek/xgb/xproto"
)

// Type is the kind a window says it is. It is the application's word: good for
// presenting and grouping, never for deciding what is allowed.
type Type int

// Types of windows (EWMH _NET_WM_WINDOW_TYPE).
const (
	TypeUnknown Type = iota // none given or not known
	TypeNormal
	TypeDialog
	TypeUtility
	TypeToolbar
	TypeSplash
	TypeMenu
	TypeDropdownMenu
	TypePopupMenu
	TypeTooltip
	TypeCombo
	TypeDND
	TypeNotification
	TypeDock
	TypeDesktop
)

var typeNames = [...]struct {
	name string
	is   Type
}{
	{"NORMAL", TypeNormal},
	{"DIALOG", TypeDialog},
	{"UTILITY", TypeUtility},
	{"TOOLBAR", TypeToolbar},
	{"SPLASH", TypeSplash},
	{"MENU", TypeMenu},
	{"DROPDOWN_MENU", TypeDropdownMenu},
	{"POPUP_MENU", TypePopupMenu},
	{"TOOLTIP", TypeTooltip},
	{"COMBO", TypeCombo},
	{"DND", TypeDND},
	{"NOTIFICATION", TypeNotification},
	{"DOCK", TypeDock},
	{"DESKTOP", TypeDesktop},
}

// String is the name in lower case, as EWMH has it.
func (t Type) String() string {
	names := [...]string{
		"unknown", "normal", "dialog", "utility", "toolbar", "splash", "menu", "dropdown_menu",
		"popup_menu", "tooltip", "combo", "dnd", "notification", "dock", "desktop",
	}
	if t < 0 || int(t) >= len(names) {
		return names[TypeUnknown]
	}
	return names[t]
}

// Extents are widths of the four sides of a border, in pixels.
type Extents struct{ Left, Right, Top, Bottom int }

// Window is one toplevel window at one moment.
type Window struct {
	// ID is the application's window; Frame is the child of the root that holds it,
	// the same window when no window manager put a frame around it.
	ID    xproto.Window
	Frame xproto.Window
	// Birth tells this window from others that had its ID (C1.3).
	Birth Birth
	// PID is the process behind the window's connection as the kernel told the
	// server; zero when unknown. ProcessStart is its start in clock ticks since
	// boot, zero when the process cannot be read.
	PID          int
	ProcessStart uint64
	// Title is the application's text, at most titleMax bytes of valid UTF-8.
	Title string
	// Bounds is the window without its X border, FrameBounds the frame with its
	// border, both in root pixels.
	Bounds      image.Rectangle
	FrameBounds image.Rectangle
	// Shadow is the invisible margin inside Bounds that GTK draws around itself.
	Shadow Extents
	// Override: the window bypasses the window manager (menus, tooltips).
	Override bool
	Type     Type
	// TransientFor is the window this one says it belongs to, zero when none.
	TransientFor xproto.Window
	Modal        bool
	// Mapped: the window and its frame are mapped, so it has pixels. Hidden:
	// minimised, on another workspace or otherwise not mapped.
	Mapped bool
	Hidden bool
	// Stack counts upwards from the lowest listed window.
	Stack int
	// Active: the window manager names it in _NET_ACTIVE_WINDOW.
	Active bool
	// Depth is the window's colour depth in bits.
	Depth int
}
