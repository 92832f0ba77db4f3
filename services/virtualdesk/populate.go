package virtualdesk

import (
	"strconv"
	"time"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
)

const (
	// populateMax is the hard maximum of a tree (protocol.md, limits).
	populateMax   = 5000
	rowSize       = 8
	rowHeight     = 30
	populatedTop  = 40
	populatedWide = 74

	// windowsMax is how many windows a desk may have for more to be opened.
	windowsMax = 1024
	// Windows that are opened by number lie in rows far from the displays, side by side, so
	// that none covers another.
	openedTop  = 4000
	openedWide = 640
	openedHigh = 480
	openedRow  = 16
)

// Brake is what a brake does to another app while it is on: Delay its effects, or Freeze
// it, or both.
type Brake struct {
	App    string
	Freeze bool
	Delay  time.Duration
}

// Populate replaces what a window shows by exactly n elements, the root included, 0 to
// 5000: rows of buttons, check boxes, texts and labels. What does not fit is
// OFFSCREEN. It is made for benches: a walk of it is a copy of n nodes.
func (d *Desk) Populate(windowID uint64, n int) error {
	return d.faultWindow(windowID, func(w *window) error {
		if n < 0 || n > populateMax {
			return ErrNotThere
		}
		for len(w.popups) > 0 {
			d.closePopup(w, w.popups[0])
		}
		d.forget(w.root)
		w.root, w.focus = nil, nil
		if n > 0 {
			d.populate(w, n)
		}
		d.emit(executor.ChangeTree, w.app.pid)
		return nil
	})
}

func (d *Desk) populate(w *window, n int) {
	w.root = &element{
		object: d.newObject(), win: w, role: commonv1.Role_ROLE_WINDOW, name: w.title,
		states: enabled(), bounds: executor.Rect{W: w.bounds.W, H: w.bounds.H},
	}
	d.objects[w.root.object] = w.root
	left := n - 1
	for row := 0; left > 0; row++ {
		y := populatedTop + float64(row)*rowHeight
		out := y+rowHeight > w.bounds.H
		group := plain(commonv1.Role_ROLE_GROUP, "", rect(8, y, rowSize*populatedWide, rowHeight))
		group.set(commonv1.ElementState_ELEMENT_STATE_OFFSCREEN, out)
		d.attach(w.root, group)
		left--
		for col := 0; col < rowSize && left > 0; col++ {
			e := populated(col, row*rowSize+col, rect(8+float64(col)*populatedWide, y+2, populatedWide-6, rowHeight-6))
			e.set(commonv1.ElementState_ELEMENT_STATE_OFFSCREEN, out)
			d.attach(group, e)
			left--
		}
	}
}

func populated(kind, number int, r executor.Rect) *element {
	name := "Item " + strconv.Itoa(number)
	switch kind % 4 {
	case 0:
		return button(name, r, nil)
	case 1:
		return checkable(commonv1.Role_ROLE_CHECK_BOX, name, r)
	case 2:
		e := textField(name, r)
		e.value = "Text " + strconv.Itoa(number)
		return e
	}
	return plain(commonv1.Role_ROLE_LABEL, name, r)
}

// OpenWindows opens n windows of a running app, each filled with that many elements (see
// Populate) and named by the title and its number, from 1: "Window 1". It is made for
// benches, where every session has a window of its own.
func (d *Desk) OpenWindows(appID, title string, n, elements int) error {
	return d.faultApp(appID, func(a *app) error {
		if !a.running || n < 0 || len(d.stack)+n > windowsMax || elements < 0 || elements > populateMax {
			return ErrNotThere
		}
		for i := range n {
			w := d.openApart(a, title+" "+strconv.Itoa(i+1))
			d.forget(w.root)
			w.root = nil
			if elements > 0 {
				d.populate(w, elements)
			}
		}
		return nil
	})
}

// OpenBrake opens a window of a running app with one check box that brakes another app as
// long as it is checked. An agent that checks it knows by the answer that the brake is on,
// also where the desk is in another process. It is made for benches.
func (d *Desk) OpenBrake(appID, title string, b Brake) error {
	return d.faultApp(appID, func(a *app) error {
		braked := d.appByID(b.App)
		if !a.running || braked == nil || braked == a || b.Delay < 0 {
			return ErrNotThere
		}
		box := checkable(commonv1.Role_ROLE_CHECK_BOX, "On", rect(8, populatedTop, populatedWide, rowHeight))
		box.hooks.change = func(_ *Desk, e *element) {
			b.apply(braked, e.has(commonv1.ElementState_ELEMENT_STATE_CHECKED))
		}
		d.attach(d.openApart(a, title).root, box)
		return nil
	})
}

// apply puts the brake on an app, or takes it off: what it was asked for meanwhile, and
// was only frozen, happens then.
func (b Brake) apply(a *app, on bool) {
	switch {
	case on && b.Freeze && a.running && a.thaw == nil:
		a.thaw = make(chan struct{})
	case !on && b.Freeze && a.thaw != nil:
		a.melt()
	}
	a.delay = 0
	if on {
		a.delay = b.Delay
	}
}

// openApart opens a window in a place that no window had before.
func (d *Desk) openApart(a *app, title string) *window {
	at := d.next.birth
	return d.openWindow(a, frame{title: title, role: commonv1.Role_ROLE_WINDOW, bounds: rect(
		float64(at%openedRow)*openedWide, openedTop+float64(at/openedRow)*openedHigh, openedWide-8, openedHigh-8,
	)})
}
