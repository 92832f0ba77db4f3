package virtualdesk

import (
	"slices"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/ident"
)

// Faults of elements: what the user and the app do to them meanwhile. Elements are
// named by their object; none of these is an act, so none is in the journal.

// Window returns the identity of the topmost window with a title.
func (d *Desk) Window(title string) (ident.Window, error) {
	var id ident.Window
	err := d.fault(func() error {
		for _, w := range slices.Backward(d.stack) {
			if w.title == title {
				id = w.identity()
				return nil
			}
		}
		return ErrNotThere
	})
	return id, err
}

// Element returns the first element of a window with a role and a name, popups last.
// An unspecified role means any.
func (d *Desk) Element(windowID uint64, role commonv1.Role, name string) (executor.Object, error) {
	var o executor.Object
	err := d.faultWindow(windowID, func(w *window) error {
		w.each(func(e *element) bool {
			if e.name == name && (role == 0 || e.role == role) {
				o = e.object
			}
			return o == ""
		})
		if o == "" {
			return ErrNotThere
		}
		return nil
	})
	return o, err
}

// Relabel gives an element another name (TARGET_CHANGED, C6.2).
func (d *Desk) Relabel(o executor.Object, name string) error {
	return d.faultElement(o, func(e *element) error {
		e.name = name
		return nil
	})
}

// Redescribe gives an element another description (TARGET_CHANGED, C6.2).
func (d *Desk) Redescribe(o executor.Object, description string) error {
	return d.faultElement(o, func(e *element) error {
		e.desc = description
		return nil
	})
}

// Reorder turns the order of an element and its siblings around; nothing else changes,
// so acts on them still hold (C6.3).
func (d *Desk) Reorder(o executor.Object) error {
	return d.faultElement(o, func(e *element) error {
		if e.parent == nil || !slices.Contains(e.parent.children, e) {
			return ErrNotThere
		}
		turned := slices.Clone(e.parent.children)
		slices.Reverse(turned)
		e.parent.children = turned
		return nil
	})
}

// SetValue is the user's own edit: a text, a number or a secret (TARGET_CHANGED for
// acts that overwrite it, C6.2). Numbers are in C notation.
func (d *Desk) SetValue(o executor.Object, value string) error {
	return d.faultElement(o, func(e *element) error {
		switch {
		case e.secure:
			e.secret = value
		case e.rng != nil:
			return e.parseNumber(value)
		default:
			e.value = value
		}
		e.caretEnd()
		return nil
	})
}

// ToggleByUser is the user's own click on a check box, switch or radio button, or on
// whatever can be expanded or selected.
func (d *Desk) ToggleByUser(o executor.Object) error {
	return d.faultElement(o, func(e *element) error {
		d.press(e)
		return nil
	})
}

// DisableElement makes an element accept no input, or accept it again.
func (d *Desk) DisableElement(o executor.Object, disabled bool) error {
	return d.faultElement(o, func(e *element) error {
		e.set(commonv1.ElementState_ELEMENT_STATE_ENABLED, !disabled)
		return nil
	})
}

// MakeSecure turns a text field into a secure one, or back; what it held is gone.
func (d *Desk) MakeSecure(o executor.Object, secure bool) error {
	return d.faultElement(o, func(e *element) error {
		if !e.takesText {
			return ErrNotThere
		}
		e.secure, e.value, e.secret = secure, "", ""
		e.role = commonv1.Role_ROLE_TEXT_FIELD
		if secure {
			e.role = commonv1.Role_ROLE_SECURE_FIELD
		}
		return nil
	})
}

// RemoveElement takes an element and all below it out of its window (TARGET_MISSING).
func (d *Desk) RemoveElement(o executor.Object) error {
	return d.faultElement(o, func(e *element) error {
		if e.parent == nil {
			return ErrNotThere
		}
		d.detach(e)
		return nil
	})
}

// ReplaceElement puts an identical element in an element's place: its reference is
// gone, one replacement is unique by the full signature (C6.2). It returns the new object.
func (d *Desk) ReplaceElement(o executor.Object) (executor.Object, error) {
	objects, err := d.replaceElement(o, 1)
	if err != nil {
		return "", err
	}
	return objects[0], nil
}

// SplitElement puts two identical elements in an element's place: which one is meant
// is ambiguous (TARGET_AMBIGUOUS, C6.2). It returns their objects.
func (d *Desk) SplitElement(o executor.Object) (first, second executor.Object, err error) {
	objects, err := d.replaceElement(o, 2)
	if err != nil {
		return "", "", err
	}
	return objects[0], objects[1], nil
}

func (d *Desk) replaceElement(o executor.Object, copies int) ([]executor.Object, error) {
	var objects []executor.Object
	err := d.faultElement(o, func(e *element) error {
		if e.parent == nil {
			return ErrNotThere
		}
		i := slices.Index(e.parent.children, e)
		if i < 0 {
			return ErrNotThere
		}
		parent, focused := e.parent, e.win.focus == e
		opened := e.win.openedBy(e)
		d.detach(e)
		siblings := slices.Clone(parent.children)
		for n := range copies {
			c := e.copied()
			d.adopt(parent, c)
			siblings = slices.Insert(siblings, i+n, c)
			objects = append(objects, c.object)
			if n > 0 {
				continue
			}
			if focused {
				c.win.focus = c
			}
			if opened != nil {
				opened.opener = c
			}
		}
		parent.children = siblings
		return nil
	})
	return objects, err
}

// copied returns a deep copy without place or object.
func (e *element) copied() *element {
	c := *e
	c.parent = nil
	c.scroll, c.drawing = e.scroll.copied(), e.drawing.copied()
	c.children = make([]*element, 0, len(e.children))
	for _, child := range e.children {
		c.children = append(c.children, child.copied())
	}
	return &c
}
