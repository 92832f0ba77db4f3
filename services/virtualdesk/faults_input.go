package virtualdesk

import (
	"time"

	"fairlead.dev/services/executor"
)

// Faults of input: what the user does with hardware, and what keeps the agent's seat
// from working.

// UserInput is hardware input by the user into a window; 0 is input that no window of an
// app got, which is nobody's business (C12.2).
func (d *Desk) UserInput(windowID uint64) error {
	if windowID == 0 {
		return d.fault(func() error {
			d.userDid(nil)
			return nil
		})
	}
	return d.faultWindow(windowID, func(w *window) error {
		d.userDid(w)
		return nil
	})
}

// userDid counts hardware input, and tells of it where a window of an app got it.
func (d *Desk) userDid(w *window) {
	d.user.input++
	if w != nil {
		d.emitInput(w.identity())
	}
}

// UserTypes is the user's own typing into the element that has a window's keyboard
// focus, at the caret and over the selection.
func (d *Desk) UserTypes(windowID uint64, text string) error {
	return d.faultWindow(windowID, func(w *window) error {
		e := w.focus
		if e == nil || !takesTyping(e) {
			return ErrNotThere
		}
		d.userDid(w)
		d.typed(e, text, typingAtCaret)
		d.emit(executor.ChangeTree, w.app.pid)
		return nil
	})
}

// UserFocuses moves the keyboard focus of an element's window to it, as the user's
// click would; which window the user has does not change.
func (d *Desk) UserFocuses(o executor.Object) error {
	return d.faultElement(o, func(e *element) error {
		if e.win.root == nil {
			return ErrNotThere
		}
		d.userDid(e.win)
		e.win.focus = e
		return nil
	})
}

// MoveFocusNext makes the app of an element move the keyboard focus there after the
// first n characters, at least one, of the next text that is typed into it
// (FOCUS_CHANGED in the middle, C8.3). Acts without text pass it by.
func (d *Desk) MoveFocusNext(to executor.Object, n int) error {
	return d.fault(func() error {
		e := d.objects[to]
		if e == nil || len(e.win.app.planned) >= plannedMax {
			return ErrNotThere
		}
		a := e.win.app
		a.planned = append(a.planned, planned{kind: plannedRefocus, count: max(n, 1), focus: to})
		return nil
	})
}

// Pace makes the app take so long between two parts of an input: chunks of text, presses
// of a key, points of a path. Zero ends it.
func (d *Desk) Pace(appID string, each time.Duration) error {
	return d.faultApp(appID, func(a *app) error {
		a.pace = max(each, 0)
		return nil
	})
}

// NeedForeground makes the app take no input while the user does not have it
// (BACKGROUND_UNAVAILABLE), or take it again.
func (d *Desk) NeedForeground(appID string, needs bool) error {
	return d.faultApp(appID, func(a *app) error {
		a.foreground = needs
		return nil
	})
}

// TakeSeat takes the agent's seat away for so long (SEAT_UNAVAILABLE). ErrNotThere says
// that it is taken already.
func (d *Desk) TakeSeat(duration time.Duration) error {
	return d.fault(func() error {
		select {
		case <-d.seatFree:
		default:
			return ErrNotThere
		}
		d.after(duration, d.giveSeat)
		return nil
	})
}

// Start lets the user start an installed app: it gets its windows below the one the
// user has. Nothing is written into a journal.
func (d *Desk) Start(appID string) error {
	return d.faultApp(appID, func(a *app) error {
		d.start(a)
		return nil
	})
}

// Redirect makes every navigation to one address end at another; an empty address
// ends that.
func (d *Desk) Redirect(from, to string) error {
	return d.fault(func() error {
		if to == "" {
			delete(d.redirects, from)
			return nil
		}
		if len(d.redirects) >= redirectsMax {
			return ErrNotThere
		}
		d.redirects[from] = to
		return nil
	})
}
