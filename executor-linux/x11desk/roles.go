package x11desk

import (
	"fairlead.dev/executor-linux/internal/atspi"
	commonv1 "fairlead.dev/gen/fairlead/common/v1"
)

// roleOf is the neutral role of an accessibility role. Every role has one; a test holds
// the table total.
func roleOf(r atspi.Role) commonv1.Role {
	if role := controlOf(r); role != 0 {
		return role
	}
	return contentOf(r)
}

// controlOf maps what a person operates; 0 for everything else.
func controlOf(r atspi.Role) commonv1.Role {
	switch r {
	case atspi.RoleButton:
		return commonv1.Role_ROLE_BUTTON
	case atspi.RoleToggleButton, atspi.RoleMenuButton:
		return commonv1.Role_ROLE_TOGGLE_BUTTON
	case atspi.RoleCheckBox:
		return commonv1.Role_ROLE_CHECK_BOX
	case atspi.RoleSwitch:
		return commonv1.Role_ROLE_SWITCH
	case atspi.RoleRadioButton:
		return commonv1.Role_ROLE_RADIO_BUTTON
	case atspi.RoleComboBox:
		return commonv1.Role_ROLE_COMBO_BOX
	case atspi.RoleEntry, atspi.RoleDateEditor:
		return commonv1.Role_ROLE_TEXT_FIELD
	case atspi.RoleText:
		return commonv1.Role_ROLE_TEXT_AREA
	case atspi.RolePasswordText:
		return commonv1.Role_ROLE_SECURE_FIELD
	case atspi.RoleSpinButton:
		return commonv1.Role_ROLE_SPIN_BUTTON
	case atspi.RoleSlider, atspi.RoleDial, atspi.RoleRating:
		return commonv1.Role_ROLE_SLIDER
	case atspi.RoleScrollBar:
		return commonv1.Role_ROLE_SCROLL_BAR
	case atspi.RoleSplitPane:
		return commonv1.Role_ROLE_SPLITTER
	case atspi.RoleLink:
		return commonv1.Role_ROLE_LINK
	case atspi.RoleColorChooser:
		return commonv1.Role_ROLE_COLOR_CHOOSER
	case atspi.RoleTerminal:
		return commonv1.Role_ROLE_TERMINAL
	case atspi.RoleCalendar:
		return commonv1.Role_ROLE_CALENDAR
	case atspi.RoleTab:
		return commonv1.Role_ROLE_TAB
	case atspi.RoleTabList:
		return commonv1.Role_ROLE_TAB_LIST
	case atspi.RoleMenuBar:
		return commonv1.Role_ROLE_MENU_BAR
	case atspi.RoleMenu, atspi.RolePopupMenu:
		return commonv1.Role_ROLE_MENU
	case atspi.RoleMenuItem:
		return commonv1.Role_ROLE_MENU_ITEM
	case atspi.RoleCheckMenuItem:
		return commonv1.Role_ROLE_CHECK_MENU_ITEM
	case atspi.RoleRadioMenuItem:
		return commonv1.Role_ROLE_RADIO_MENU_ITEM
	}
	return 0
}

// contentOf maps what a person reads, and containers.
func contentOf(r atspi.Role) commonv1.Role {
	switch r {
	case atspi.RoleFrame, atspi.RoleWindow, atspi.RoleInternalFrame:
		return commonv1.Role_ROLE_WINDOW
	case atspi.RoleDialog, atspi.RoleFileChooser, atspi.RoleFontChooser:
		return commonv1.Role_ROLE_DIALOG
	case atspi.RoleAlert, atspi.RoleNotification, atspi.RoleInfoBar, atspi.RoleTimer, atspi.RoleMarquee:
		return commonv1.Role_ROLE_ALERT
	case atspi.RoleToolTip:
		return commonv1.Role_ROLE_TOOLTIP
	case atspi.RoleList, atspi.RoleListBox:
		return commonv1.Role_ROLE_LIST
	case atspi.RoleListItem:
		return commonv1.Role_ROLE_LIST_ITEM
	case atspi.RoleTable, atspi.RoleTreeTable:
		return commonv1.Role_ROLE_TABLE
	case atspi.RoleRow:
		return commonv1.Role_ROLE_ROW
	case atspi.RoleCell:
		return commonv1.Role_ROLE_CELL
	case atspi.RoleColumnHeader:
		return commonv1.Role_ROLE_COLUMN_HEADER
	case atspi.RoleRowHeader:
		return commonv1.Role_ROLE_ROW_HEADER
	case atspi.RoleTree:
		return commonv1.Role_ROLE_TREE
	case atspi.RoleTreeItem:
		return commonv1.Role_ROLE_TREE_ITEM
	case atspi.RoleProgressBar:
		return commonv1.Role_ROLE_PROGRESS_BAR
	case atspi.RoleLevelBar:
		return commonv1.Role_ROLE_LEVEL
	case atspi.RoleScrollPane, atspi.RoleViewport:
		return commonv1.Role_ROLE_SCROLL_AREA
	case atspi.RoleToolBar:
		return commonv1.Role_ROLE_TOOLBAR
	case atspi.RoleStatusBar:
		return commonv1.Role_ROLE_STATUS_BAR
	case atspi.RoleTitleBar:
		return commonv1.Role_ROLE_TITLE_BAR
	case atspi.RoleSeparator, atspi.RoleRuler:
		return commonv1.Role_ROLE_SEPARATOR
	case atspi.RoleApplication:
		return commonv1.Role_ROLE_APPLICATION
	}
	return textOf(r)
}

// textOf maps the parts of documents, and what is nothing more than a container.
func textOf(r atspi.Role) commonv1.Role {
	switch r {
	case atspi.RoleLabel, atspi.RoleCaption, atspi.RoleStatic, atspi.RoleDefinition, atspi.RoleFootnote,
		atspi.RoleMark, atspi.RoleMath, atspi.RoleComment:
		return commonv1.Role_ROLE_LABEL
	case atspi.RoleHeading, atspi.RoleHeader:
		return commonv1.Role_ROLE_HEADING
	case atspi.RoleParagraph, atspi.RoleBlockQuote:
		return commonv1.Role_ROLE_PARAGRAPH
	case atspi.RoleImage, atspi.RoleChart, atspi.RoleVideo, atspi.RoleAudio:
		return commonv1.Role_ROLE_IMAGE
	case atspi.RoleIcon:
		return commonv1.Role_ROLE_ICON
	case atspi.RoleDocument, atspi.RoleArticle, atspi.RolePage, atspi.RoleLog:
		return commonv1.Role_ROLE_DOCUMENT
	case atspi.RoleWebDocument:
		return commonv1.Role_ROLE_WEB_AREA
	case atspi.RoleCanvas, atspi.RoleEmbedded:
		return commonv1.Role_ROLE_CANVAS
	case atspi.RoleForm:
		return commonv1.Role_ROLE_FORM
	case atspi.RoleLandmark:
		return commonv1.Role_ROLE_LANDMARK
	case atspi.RolePane:
		return commonv1.Role_ROLE_PANEL
	case atspi.RoleGroup, atspi.RoleFiller, atspi.RoleSection, atspi.RoleFooter, atspi.RoleRedundant:
		return commonv1.Role_ROLE_GROUP
	}
	return commonv1.Role_ROLE_UNSPECIFIED
}
