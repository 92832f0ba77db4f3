package virtualdesk

import (
	"strconv"

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
)

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
