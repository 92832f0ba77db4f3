package virtualdesk

import (
	"slices"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/refusal"
)

// journalMax bounds each journal; when it is full the older half goes, which a reader
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
	// Button is set with pointer acts that press one.
	Button commonv1.Button
	// Count is how many characters, key presses or points of a path arrived.
	Count int
	// Stopped says why the rest of it did not arrive, 0 when there is none (C7.4).
	Stopped refusal.Answer
}

// InputKind is what one input event is.
type InputKind int

// What input events there are.
const (
	InputMotion InputKind = iota + 1
	InputButtonDown
	InputButtonUp
	InputWheel
	InputKeyDown
	InputKeyUp
	InputText
)

// InputEvent is one event of a pointer or keyboard that a window got from the agent:
// an act is made of several. It never holds a text that was typed.
type InputEvent struct {
	// Seq counts the desk's input events from 1.
	Seq uint64
	// Window and Surface are who got it.
	Window, Surface uint64
	Kind            InputKind
	// X and Y are in points of the surface, for pointer events.
	X, Y   float64
	Button commonv1.Button
	// Key is a named key, or a character pressed together with a modifier other than shift.
	Key       string
	Modifiers []commonv1.Modifier
	// Characters is how many characters a text has.
	Characters int
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

// Inputs returns the pointer and keyboard events that one window got, oldest first,
// also after it is gone.
func (d *Desk) Inputs(windowID uint64) []InputEvent {
	d.mu.Lock()
	defer d.mu.Unlock()
	var events []InputEvent
	for _, e := range d.inputs {
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

// record adds an act and returns its number.
func (d *Desk) record(e Event) uint64 {
	if len(d.journal) >= journalMax {
		d.journal = slices.Delete(d.journal, 0, journalMax/2)
	}
	d.next.event++
	e.Seq = d.next.event
	d.journal = append(d.journal, e)
	return e.Seq
}

// amend says how an act ended that is still in the journal.
func (d *Desk) amend(seq uint64, count int, stopped refusal.Answer) {
	for i := len(d.journal) - 1; i >= 0; i-- {
		if d.journal[i].Seq == seq {
			d.journal[i].Count, d.journal[i].Stopped = count, stopped
			return
		}
	}
}

func (d *Desk) recordInput(e InputEvent) {
	if len(d.inputs) >= journalMax {
		d.inputs = slices.Delete(d.inputs, 0, journalMax/2)
	}
	d.next.input++
	e.Seq = d.next.input
	d.inputs = append(d.inputs, e)
}
