package virtualdesk

import (
	commonv1 "fairlead.dev/gen/fairlead/common/v1"
)

// buildScene makes the default scene: a display at the origin, and one of scale 2 to
// its upper left with a negative origin; the calculator on the second, the form and
// its log on the first; the note pad installed but not running. The user sits in the
// log window, where no act of a test has to go.
func (d *Desk) buildScene() {
	d.screens = []screen{
		{bounds: rect(0, 0, 1440, 900), scale: 1},
		{bounds: rect(-1280, -120, 1280, 800), scale: 2},
	}
	d.installed = []*app{
		{id: CalculatorID, name: "Calculator", executable: "/virtual/bin/calculator", build: buildCalculator},
		{id: FormID, name: "Form", executable: "/virtual/bin/form", build: buildFormApp},
		{id: NotesID, name: "Notes", executable: "/virtual/bin/notes", build: buildNotes},
		{id: BrowserID, name: "Browser", executable: "/virtual/bin/browser", build: buildBrowser},
		{id: WorkbenchID, name: "Workbench", executable: "/virtual/bin/workbench", build: buildWorkbench},
		{id: CanvasID, name: "Canvas", executable: "/virtual/bin/canvas", build: buildCanvas},
	}
	for _, a := range d.installed[:2] {
		d.startProcess(a)
	}
	top := d.stack[len(d.stack)-1].id
	d.user = user{pointerX: 1300, pointerY: 700, focus: top, active: top, clipboard: clipboardOwner}
}

// buildNotes opens the note pad: a window with menus, a text and a button that keeps it.
func buildNotes(d *Desk, a *app) {
	w := d.openWindow(a, frame{
		title: "Untitled note", bounds: rect(-700, 200, 380, 260), role: commonv1.Role_ROLE_WINDOW,
	})
	d.addMenuBar(w, notesFile(), notesEdit())
	w.root.hooks.context = contextOf("Look up")
	note := textArea("Note", rect(16, 62, 348, 134))
	note.ident = "note"
	d.attach(w.root, note)
	state := plain(commonv1.Role_ROLE_LABEL, "Not saved", rect(130, 214, 200, 20))
	state.ident = "saved"
	d.attach(w.root, button("Save", rect(16, 208, 96, 32), func(d *Desk, e *element) { saveNote(d, e.win) }))
	d.attach(w.root, state)
	w.closing = closeNote
}

func notesFile() *menu {
	return &menu{name: "File", entries: []*entry{
		{name: "Save", keys: "control+s", do: saveNote},
		{name: "Close", do: (*Desk).askToClose},
	}}
}

func notesEdit() *menu {
	each := func(f func(*element)) func(*Desk, *window) {
		return func(_ *Desk, w *window) {
			if note := w.find("note"); note != nil {
				f(note)
			}
		}
	}
	return &menu{name: "Edit", entries: []*entry{
		{name: "Select all", do: each((*element).selectAll)},
		{name: "Clear", do: each(func(note *element) {
			note.selectAll()
			note.insert("")
		})},
		{name: "Wrap lines", check: true},
	}}
}

func saveNote(_ *Desk, w *window) {
	if note := w.find("note"); note != nil {
		w.kept = note.value
	}
	if s := w.find("saved"); s != nil {
		s.name = "Saved"
	}
}

// closeNote asks what to do with a note that was not kept.
func closeNote(d *Desk, w *window) bool {
	note := w.find("note")
	if note == nil || note.value == w.kept {
		return false
	}
	ask := d.openDialog(w, dialog{title: "Save?", question: "Keep the note?", cancel: true})
	closes := func(keep bool) func(*Desk, *element) {
		return func(d *Desk, e *element) {
			if owner := d.byID(e.win.owner); owner != nil {
				if keep {
					saveNote(d, owner)
				}
				d.dropWindow(owner)
			}
		}
	}
	for _, e := range ask.root.children {
		if e.name == "OK" {
			e.name, e.hooks.press = "Save", closes(true)
		}
	}
	d.attach(ask.root, button("Discard", rect(8, 100, 64, 32), closes(false)))
	return true
}
