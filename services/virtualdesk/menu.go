package virtualdesk

import (
	"strings"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/refusal"
)

// menu is one menu of a window's menu bar. Its entries exist whether it is open or not,
// so that one can be invoked without opening anything.
type menu struct {
	name    string
	entries []*entry
}

// entry is one item of a menu. A check entry has a state and no consequence of its own.
type entry struct {
	name  string
	keys  string // its shortcut, as permit.Chord spells it
	check bool
	on    bool
	do    func(*Desk, *window)
}

const (
	menuTop    = 30
	menuHeight = 26
	menuWide   = 170
	entryStep  = 36
)

// addMenuBar gives a window its menus.
func (d *Desk) addMenuBar(w *window, menus ...*menu) {
	w.menus = menus
	bar := d.attach(w.root, plain(commonv1.Role_ROLE_MENU_BAR, "Menu bar", rect(0, menuTop, w.bounds.W, menuHeight)))
	x := 8.0
	for _, m := range menus {
		wide := float64(characters(m.name)*charW) + 24
		e := expandable(commonv1.Role_ROLE_MENU, m.name, rect(x, menuTop, wide, menuHeight), m.show)
		e.ident = strings.ToLower(m.name)
		d.attach(bar, e)
		x += wide
	}
}

// show opens a menu as a surface of its own, or closes it.
func (m *menu) show(d *Desk, opener *element, on bool) {
	w := opener.win
	if !on {
		d.closePopup(w, w.openedBy(opener))
		return
	}
	tall := float64(len(m.entries)*entryStep) + 4
	p := d.openPopup(w, commonv1.SurfaceKind_SURFACE_KIND_MENU,
		rect(opener.bounds.X, menuTop+menuHeight, menuWide, tall), m.name)
	p.opener = opener
	for i, x := range m.entries {
		d.attach(p.root, m.item(x, rect(4, 4+float64(i)*entryStep, menuWide-8, 32)))
	}
}

// item is an entry as it stands in the open menu.
func (m *menu) item(x *entry, r executor.Rect) *element {
	if !x.check {
		return menuItem(x.name, r, func(d *Desk, e *element) { d.runEntry(e.win, m, x) })
	}
	e := checkable(commonv1.Role_ROLE_CHECK_MENU_ITEM, x.name, r)
	e.set(commonv1.ElementState_ELEMENT_STATE_CHECKED, x.on)
	e.hooks.change = func(_ *Desk, e *element) { x.on = e.has(commonv1.ElementState_ELEMENT_STATE_CHECKED) }
	return e
}

// runEntry does what an entry is for. An open menu of the entry closes, unless it only
// has a state: then it shows that.
func (d *Desk) runEntry(w *window, m *menu, x *entry) {
	opened := w.openedMenu(m)
	if x.check {
		x.on = !x.on
		if opened != nil {
			for _, e := range opened.root.children {
				if e.name == x.name {
					e.set(commonv1.ElementState_ELEMENT_STATE_CHECKED, x.on)
				}
			}
		}
		return
	}
	d.closePopup(w, opened)
	x.do(d, w)
}

// openedMenu is the popup of a menu that is open, nil for none.
func (w *window) openedMenu(m *menu) *popup {
	for _, p := range w.popups {
		if p.opener != nil && p.opener.role == commonv1.Role_ROLE_MENU && p.opener.name == m.name {
			return p
		}
	}
	return nil
}

// entryAt finds an entry by titles from the menu bar down. Each title must be unique.
func (w *window) entryAt(path []string) (*menu, *entry, refusal.Answer) {
	if len(path) != 2 {
		return nil, nil, refusal.AnswerElementNotActionable
	}
	var found *menu
	var item *entry
	for _, m := range w.menus {
		if m.name != path[0] {
			continue
		}
		for _, x := range m.entries {
			if x.name != path[1] {
				continue
			}
			if item != nil {
				return nil, nil, refusal.AnswerElementAmbiguous
			}
			found, item = m, x
		}
	}
	if item == nil {
		return nil, nil, refusal.AnswerElementNotActionable
	}
	return found, item, 0
}

// openContext opens an element's context menu at a point of the toplevel surface. The
// one that was open gives way.
func (d *Desk) openContext(e *element, x, y float64) {
	w := e.win
	d.closeContext(w)
	items := e.hooks.context(d, e)
	p := d.openPopup(w, commonv1.SurfaceKind_SURFACE_KIND_MENU,
		rect(x, y, 130, float64(len(items)*30)+8), "Context")
	p.context = true
	for i, item := range items {
		item.bounds = rect(4, 4+float64(i)*30, 122, 30)
		d.attach(p.root, item)
	}
}

// closeContext closes the window's context menu, if one is open.
func (d *Desk) closeContext(w *window) {
	for _, p := range w.popups {
		if p.context {
			d.closePopup(w, p)
			return
		}
	}
}

// contextOf are context menus whose entries only say that they were chosen.
func contextOf(names ...string) func(*Desk, *element) []*element {
	return func(*Desk, *element) []*element {
		items := make([]*element, 0, len(names))
		for _, name := range names {
			items = append(items, menuItem(name, executor.Rect{}, func(d *Desk, e *element) {
				d.note(e.win, name+" chosen")
				d.dismiss(e)
			}))
		}
		return items
	}
}
