package virtualdesk

import (
	"slices"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
)

// journalMax bounds the journal; when it is full the older half goes, which a reader
// sees as a gap in Seq (C0.10).
const journalMax = 1 << 14

// Event is one act that reached an application. It never holds what was typed.
type Event struct {
	// Seq counts the desk's events from 1.
	Seq uint64
	// Window is the window's id, 0 for a launch.
	Window uint64
	App    string
	Verb   commonv1.Verb
	// Action is set with VERB_PERFORM.
	Action commonv1.ElementAction
	Role   commonv1.Role
	// Element is the name of the element when the act reached it.
	Element string
	Object  executor.Object
	Route   commonv1.Route
	// Sent says what the application made of it.
	Sent executor.Sent
}

// Journal returns what reached one window, oldest first, also after it is gone.
func (d *Desk) Journal(windowID uint64) []Event {
	d.mu.Lock()
	defer d.mu.Unlock()
	var events []Event
	for _, e := range d.journal {
		if e.Window == windowID {
			events = append(events, e)
		}
	}
	return events
}

// Events returns what reached anything on the desk, oldest first.
func (d *Desk) Events() []Event {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.journal)
}

func (d *Desk) record(e Event) {
	if len(d.journal) >= journalMax {
		d.journal = slices.Delete(d.journal, 0, journalMax/2)
	}
	d.next.event++
	e.Seq = d.next.event
	d.journal = append(d.journal, e)
}
