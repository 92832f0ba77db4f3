package virtualdesk

import (
	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
)

// buildFormApp opens the form and, on top, its log.
func buildFormApp(d *Desk, a *app) {
	w := d.openWindow(a, frame{title: "Form", bounds: rect(80, 60, 640, 580), role: commonv1.Role_ROLE_WINDOW})
	d.addMenuBar(w, formMenu())
	w.root.hooks.context = contextOf("Refresh", "Properties")
	heading := plain(commonv1.Role_ROLE_HEADING, "Account", rect(24, 66, 300, 28))
	d.attach(w.root, heading)
	buildTexts(d, w.root)
	buildChecks(d, w.root)
	buildNumbers(d, w.root)
	buildOrders(d, w.root)
	buildFoot(d, w.root)
	buildLog(d, a)
}

func formMenu() *menu {
	return &menu{name: "File", entries: []*entry{
		{name: "Clear form", do: func(d *Desk, w *window) {
			for _, name := range []string{"name", "notes"} {
				if x := w.find(name); x != nil {
					x.value = ""
					x.caretEnd()
				}
			}
			d.note(w, "Form cleared")
		}},
		{name: "Keep open", check: true},
	}}
}

func caption(d *Desk, root *element, text string, x, y float64) {
	d.attach(root, plain(commonv1.Role_ROLE_LABEL, text, rect(x, y, 200, 18)))
}

func buildTexts(d *Desk, root *element) {
	caption(d, root, "Name", 24, 104)
	name := textField("Name", rect(24, 124, 280, 28))
	name.ident = "name"
	name.hooks.change = says("Name changed")
	name.hooks.submit = says("Name submitted")
	d.attach(root, name)
	caption(d, root, "Notes", 24, 162)
	notes := textArea("Notes", rect(24, 182, 280, 72))
	notes.ident = "notes"
	notes.hooks.change = says("Notes changed")
	notes.hooks.submit = func(_ *Desk, e *element) {
		e.caretEnd()
		e.insert("\n")
	}
	d.attach(root, notes)
	caption(d, root, "Password", 24, 264)
	secret := secureField("Password", rect(24, 284, 280, 28), d.password)
	secret.ident = "password"
	d.attach(root, secret)
}

func buildChecks(d *Desk, root *element) {
	add := func(parent, e *element) *element {
		e.hooks.change = says(e.name + " changed")
		return d.attach(parent, e)
	}
	add(root, checkable(commonv1.Role_ROLE_CHECK_BOX, "Subscribe", rect(24, 328, 120, 22)))
	add(root, checkable(commonv1.Role_ROLE_SWITCH, "Notifications", rect(152, 328, 160, 22)))
	plan := d.attach(root, plain(commonv1.Role_ROLE_GROUP, "Plan", rect(24, 362, 180, 22)))
	basic := add(plan, checkable(commonv1.Role_ROLE_RADIO_BUTTON, "Basic", rect(24, 362, 84, 22)))
	basic.set(commonv1.ElementState_ELEMENT_STATE_CHECKED, true)
	add(plan, checkable(commonv1.Role_ROLE_RADIO_BUTTON, "Pro", rect(116, 362, 84, 22)))
	add(root, checkable(commonv1.Role_ROLE_TOGGLE_BUTTON, "Pinned", rect(216, 359, 88, 28)))
	details := expandable(commonv1.Role_ROLE_DISCLOSURE, "Details", rect(24, 400, 280, 22), showDetails)
	details.ident = "details"
	d.attach(root, details)
}

// showDetails fills and empties the disclosure; what it shows is new each time.
func showDetails(d *Desk, e *element, on bool) {
	if !on {
		for len(e.children) > 0 {
			d.detach(e.children[0])
		}
		return
	}
	box := d.attach(e, plain(commonv1.Role_ROLE_GROUP, "Details", rect(40, 426, 264, 56)))
	d.attach(box, plain(commonv1.Role_ROLE_PARAGRAPH, "Created by the virtual desk", rect(48, 430, 250, 18)))
	d.attach(box, checkable(commonv1.Role_ROLE_CHECK_BOX, "Advanced", rect(48, 454, 120, 22)))
}

func buildNumbers(d *Desk, root *element) {
	caption(d, root, "Volume", 336, 104)
	volume := ranged(commonv1.Role_ROLE_SLIDER, "Volume", rect(336, 124, 280, 28),
		executor.Range{Max: 100, Step: 1}, 30)
	volume.hooks.change = says("Volume changed")
	d.attach(root, volume)
	caption(d, root, "Quantity", 336, 162)
	quantity := ranged(commonv1.Role_ROLE_SPIN_BUTTON, "Quantity", rect(336, 182, 130, 28),
		executor.Range{Max: 10, Step: 1}, 1)
	quantity.hooks.change = says("Quantity changed")
	d.attach(root, quantity)
	caption(d, root, "Color", 486, 162)
	color := comboBox("Color", rect(486, 182, 130, 28), []string{"Red", "Green", "Blue"}, "Green")
	color.hooks.change = says("Color changed")
	d.attach(root, color)
}

func buildOrders(d *Desk, root *element) {
	table := plain(commonv1.Role_ROLE_TABLE, "Orders", rect(336, 226, 280, 106))
	table.hooks.change = says("Order selected")
	d.attach(root, table)
	d.attach(table, plain(commonv1.Role_ROLE_COLUMN_HEADER, "Item", rect(337, 227, 160, 25)))
	d.attach(table, plain(commonv1.Role_ROLE_COLUMN_HEADER, "State", rect(497, 227, 118, 25)))
	for i, r := range [][2]string{{"Apples", "Open"}, {"Bread", "Sent"}, {"Coffee", "Open"}} {
		y := 252 + float64(i)*26
		row := d.attach(table, item(commonv1.Role_ROLE_ROW, r[0], rect(337, y, 278, 26)))
		d.attach(row, plain(commonv1.Role_ROLE_CELL, r[0], rect(337, y, 160, 26)))
		d.attach(row, plain(commonv1.Role_ROLE_CELL, r[1], rect(497, y, 118, 26)))
	}
}

func buildFoot(d *Desk, root *element) {
	caption(d, root, "Upload", 336, 342)
	d.attach(root, ranged(commonv1.Role_ROLE_PROGRESS_BAR, "Upload", rect(336, 364, 280, 14),
		executor.Range{Max: 100}, 40))
	d.attach(root, link("Help", rect(336, 400, 60, 22), says("Help opened")))
	submit := button("Submit", rect(24, 500, 110, 32), openConfirm)
	submit.primary = true
	d.attach(root, submit)
	remove := button("Delete", rect(146, 500, 110, 32), nil)
	remove.set(commonv1.ElementState_ELEMENT_STATE_ENABLED, false)
	d.attach(root, remove)
	more := button("More", rect(506, 500, 110, 32), showMore)
	more.actions = append(more.actions, commonv1.ElementAction_ELEMENT_ACTION_SHOW_MENU)
	d.attach(root, more)
	bar := d.attach(root, plain(commonv1.Role_ROLE_STATUS_BAR, "Status bar", rect(0, 552, 640, 28)))
	status := plain(commonv1.Role_ROLE_LABEL, "Ready", rect(12, 556, 400, 20))
	status.ident = "status"
	d.attach(bar, status)
}

// showMore opens the popup menu, which reaches below the window, or closes it.
func showMore(d *Desk, more *element) {
	w := more.win
	if d.closePopup(w, w.openedBy(more)) {
		return
	}
	p := d.openPopup(w, commonv1.SurfaceKind_SURFACE_KIND_MENU, rect(456, 536, 160, 104), "More")
	p.opener = more
	for i, name := range []string{"Duplicate", "Archive", "Reset"} {
		d.attach(p.root, menuItem(name, rect(4, 4+float64(i)*32, 152, 32), func(d *Desk, e *element) {
			d.note(e.win, e.name+" chosen")
			d.dismiss(e)
		}))
	}
}

// openConfirm opens the modal dialog directly above its window, without focus.
func openConfirm(d *Desk, submit *element) {
	d.openDialog(submit.win, dialog{
		title: "Confirm", question: "Send the form?", accept: "Form sent", decline: "Not sent", cancel: true,
	})
}

type dialog struct {
	title, question, accept, decline string
	cancel                           bool
}

func (d *Desk) openDialog(owner *window, c dialog) *window {
	b := owner.bounds
	w := d.openWindow(owner.app, frame{
		title: c.title, bounds: rect(b.X+b.W/2-150, b.Y+b.H/2-80, 300, 150), role: commonv1.Role_ROLE_DIALOG,
	})
	w.dialog, w.modal, w.fixed, w.owner = true, true, true, owner.id
	d.restack(w, owner)
	closing := func(said string) func(*Desk, *element) {
		return func(d *Desk, e *element) {
			if o := d.byID(e.win.owner); o != nil {
				d.note(o, said)
			}
			d.dropWindow(e.win)
		}
	}
	w.root.set(commonv1.ElementState_ELEMENT_STATE_MODAL, true)
	d.attach(w.root, plain(commonv1.Role_ROLE_LABEL, c.question, rect(24, 52, 252, 20)))
	ok := button("OK", rect(184, 100, 96, 32), closing(c.accept))
	ok.primary = true
	d.attach(w.root, ok)
	if c.cancel {
		w.root.actions = actions(commonv1.ElementAction_ELEMENT_ACTION_CANCEL)
		w.root.hooks.cancel = closing(c.decline)
		d.attach(w.root, button("Cancel", rect(76, 100, 96, 32), closing(c.decline)))
	}
	return w
}

// says is what a control does whose use only has to be seen: the status bar and the
// log say so. Neither says what was typed.
func says(text string) func(*Desk, *element) {
	return func(d *Desk, e *element) { d.note(e.win, text) }
}

// note writes a fixed text into the window's status bar and the app's log.
func (d *Desk) note(w *window, text string) {
	if s := w.find("status"); s != nil {
		s.name = text
	}
	for _, o := range d.windowsOf(w.app) {
		if list := o.find("log"); list != nil {
			d.appendLog(list, text)
		}
	}
}

const (
	// logRows is how many lines of the log are in view and listed; the others exist
	// but are not (TRUNCATION_KIND_VIRTUAL).
	logRows      = 11
	logRowHeight = 24
)

func buildLog(d *Desk, a *app) {
	w := d.openWindow(a, frame{title: "Log", bounds: rect(780, 80, 320, 400), role: commonv1.Role_ROLE_WINDOW})
	d.next.renderer++
	w.page, w.renderer = d.newPage("log"), d.next.renderer
	w.destination = "https://log.test:443"
	page := d.attach(w.root, plain(commonv1.Role_ROLE_WEB_AREA, "Log", rect(0, 30, 320, 370)))
	list := plain(commonv1.Role_ROLE_LIST, "Events", rect(16, 46, 288, logRows*logRowHeight+8))
	list.ident = "log"
	list.states = list.states.With(commonv1.ElementState_ELEMENT_STATE_VIRTUAL)
	d.attach(page, list)
	d.attach(page, button("Clear", rect(16, 348, 96, 32), func(d *Desk, e *element) {
		if l := e.win.find("log"); l != nil {
			for len(l.children) > 0 {
				d.detach(l.children[0])
			}
			l.unlisted = 0
		}
	}))
	d.appendLog(list, "Started")
}

// appendLog adds a line at the bottom; what scrolls out of view is no longer listed.
func (d *Desk) appendLog(list *element, text string) {
	d.attach(list, item(commonv1.Role_ROLE_LIST_ITEM, text, executor.Rect{}))
	if len(list.children) > logRows {
		d.detach(list.children[0])
		list.unlisted++
	}
	for i, c := range list.children {
		c.bounds = rect(list.bounds.X+4, list.bounds.Y+4+float64(i)*logRowHeight, list.bounds.W-8, logRowHeight)
	}
}
