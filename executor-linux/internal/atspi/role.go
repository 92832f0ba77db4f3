package atspi

// Role is the neutral kind of an element.
type Role uint8

// The closed vocabulary of roles. Several AT-SPI roles that nobody would treat differently share one.
const (
	RoleUnknown Role = iota
	RoleLabel
	RoleAlert
	RoleImage
	RoleCalendar
	RoleCanvas
	RoleCheckBox
	RoleCheckMenuItem
	RoleColorChooser
	RoleColumnHeader
	RoleComboBox
	RoleDateEditor
	RoleIcon
	RolePane
	RoleDial
	RoleDialog
	RoleFileChooser
	RoleFiller
	RoleFontChooser
	RoleFrame
	RoleGroup
	RoleInternalFrame
	RoleList
	RoleListItem
	RoleMenu
	RoleMenuBar
	RoleMenuItem
	RoleTab
	RoleTabList
	RolePasswordText
	RolePopupMenu
	RoleProgressBar
	RoleButton
	RoleRadioButton
	RoleRadioMenuItem
	RoleRowHeader
	RoleScrollBar
	RoleScrollPane
	RoleSeparator
	RoleSlider
	RoleSpinButton
	RoleSplitPane
	RoleStatusBar
	RoleTable
	RoleCell
	RoleTerminal
	RoleText
	RoleToggleButton
	RoleToolBar
	RoleToolTip
	RoleTree
	RoleTreeTable
	RoleViewport
	RoleWindow
	RoleHeader
	RoleFooter
	RoleParagraph
	RoleRuler
	RoleApplication
	RoleEntry
	RoleEmbedded
	RoleChart
	RoleCaption
	RoleDocument
	RoleHeading
	RolePage
	RoleSection
	RoleRedundant
	RoleForm
	RoleLink
	RoleRow
	RoleTreeItem
	RoleWebDocument
	RoleComment
	RoleListBox
	RoleNotification
	RoleInfoBar
	RoleLevelBar
	RoleTitleBar
	RoleBlockQuote
	RoleAudio
	RoleVideo
	RoleDefinition
	RoleArticle
	RoleLandmark
	RoleLog
	RoleMarquee
	RoleMath
	RoleRating
	RoleTimer
	RoleStatic
	RoleFootnote
	RoleMark
	RoleMenuButton
	RoleSwitch
	roleEnd
)

// roleTable maps AT-SPI role numbers (atspi-constants.h, up to 2.56) to neutral roles, by position.
func roleTable() [131]Role {
	return [...]Role{
		// 0
		RoleUnknown, RoleLabel, RoleAlert, RoleImage, RoleImage, RoleCalendar, RoleCanvas, RoleCheckBox,
		RoleCheckMenuItem, RoleColorChooser,
		// 10
		RoleColumnHeader, RoleComboBox, RoleDateEditor, RoleIcon, RolePane, RoleDial, RoleDialog, RolePane,
		RoleCanvas, RoleFileChooser,
		// 20
		RoleFiller, RoleUnknown, RoleFontChooser, RoleFrame, RolePane, RoleGroup, RoleIcon, RoleImage,
		RoleInternalFrame, RoleLabel,
		// 30
		RolePane, RoleList, RoleListItem, RoleMenu, RoleMenuBar, RoleMenuItem, RolePane, RoleTab, RoleTabList,
		RoleGroup,
		// 40
		RolePasswordText, RolePopupMenu, RoleProgressBar, RoleButton, RoleRadioButton, RoleRadioMenuItem,
		RolePane, RoleRowHeader, RoleScrollBar, RoleScrollPane,
		// 50
		RoleSeparator, RoleSlider, RoleSpinButton, RoleSplitPane, RoleStatusBar, RoleTable, RoleCell,
		RoleColumnHeader, RoleRowHeader, RoleMenuItem,
		// 60
		RoleTerminal, RoleText, RoleToggleButton, RoleToolBar, RoleToolTip, RoleTree, RoleTreeTable, RoleUnknown,
		RoleViewport, RoleWindow,
		// 70
		RoleUnknown, RoleHeader, RoleFooter, RoleParagraph, RoleRuler, RoleApplication, RoleEntry, RoleToolBar,
		RoleEmbedded, RoleEntry,
		// 80
		RoleChart, RoleCaption, RoleDocument, RoleHeading, RolePage, RoleSection, RoleRedundant, RoleForm,
		RoleLink, RoleWindow,
		// 90
		RoleRow, RoleTreeItem, RoleDocument, RoleDocument, RoleDocument, RoleWebDocument, RoleDocument,
		RoleComment, RoleListBox, RoleGroup,
		// 100
		RoleImage, RoleNotification, RoleInfoBar, RoleLevelBar, RoleTitleBar, RoleBlockQuote, RoleAudio,
		RoleVideo, RoleDefinition, RoleArticle,
		// 110
		RoleLandmark, RoleLog, RoleMarquee, RoleMath, RoleRating, RoleTimer, RoleStatic, RoleMath, RoleMath,
		RoleStatic,
		// 120
		RoleStatic, RoleList, RoleListItem, RoleListItem, RoleFootnote, RoleSection, RoleSection, RoleMark,
		RoleSection, RoleMenuButton,
		// 130
		RoleSwitch,
	}
}

// roleOf maps one AT-SPI role number; a number nobody knows is RoleUnknown.
func roleOf(number uint32) Role {
	table := roleTable()
	if int64(number) >= int64(len(table)) {
		return RoleUnknown
	}
	return table[number]
}

// String is the neutral name of the role.
func (r Role) String() string {
	names := [...]string{
		"unknown", "label", "alert", "image", "calendar", "canvas", "check_box", "check_menu_item",
		"color_chooser", "column_header", "combo_box", "date_editor", "icon", "pane", "dial", "dialog",
		"file_chooser", "filler", "font_chooser", "frame", "group", "internal_frame", "list", "list_item",
		"menu", "menu_bar", "menu_item", "tab", "tab_list", "password_text", "popup_menu", "progress_bar",
		"button", "radio_button", "radio_menu_item", "row_header", "scroll_bar", "scroll_pane", "separator",
		"slider", "spin_button", "split_pane", "status_bar", "table", "cell", "terminal", "text",
		"toggle_button", "tool_bar", "tool_tip", "tree", "tree_table", "viewport", "window", "header", "footer",
		"paragraph", "ruler", "application", "entry", "embedded", "chart", "caption", "document", "heading",
		"page", "section", "redundant", "form", "link", "row", "tree_item", "web_document", "comment",
		"list_box", "notification", "info_bar", "level_bar", "title_bar", "block_quote", "audio", "video",
		"definition", "article", "landmark", "log", "marquee", "math", "rating", "timer", "static", "footnote",
		"mark", "menu_button", "switch",
	}
	if int(r) >= len(names) {
		return names[RoleUnknown]
	}
	return names[r]
}

// textual says whether the role holds text of its own. What other roles say as text repeats their name.
func (r Role) textual() bool {
	switch r {
	case RoleText, RoleEntry, RoleSpinButton, RoleTerminal, RoleParagraph, RoleDocument, RoleComboBox, RoleCell:
		return true
	case RolePasswordText:
		// Never: see C2.10.
		return false
	}
	return false
}
