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
	}
	for _, a := range d.installed[:2] {
		d.startProcess(a)
	}
	top := d.stack[len(d.stack)-1].id
	d.user = user{pointerX: 1300, pointerY: 700, focus: top, active: top, clipboard: clipboardOwner}
}

// buildNotes opens the note pad: a window, a text and a button that keeps it.
func buildNotes(d *Desk, a *app) {
	w := d.openWindow(a, frame{
		title: "Untitled note", bounds: rect(-700, 200, 380, 260), role: commonv1.Role_ROLE_WINDOW,
	})
	note := textArea("Note", rect(16, 46, 348, 150))
	note.ident = "note"
	d.attach(w.root, note)
	state := plain(commonv1.Role_ROLE_LABEL, "Not saved", rect(130, 214, 200, 20))
	state.ident = "saved"
	d.attach(w.root, button("Save", rect(16, 208, 96, 32), func(_ *Desk, e *element) {
		if s := e.win.find("saved"); s != nil {
			s.name = "Saved"
		}
	}))
	d.attach(w.root, state)
}
