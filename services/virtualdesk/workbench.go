package virtualdesk

import (
	"fmt"
	"slices"
	"strings"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/permit"
)

// buildWorkbench opens a window with everything that pointers and keys can be tried on: a
// pad that counts presses, a sketch, a terminal, a grid, a list that scrolls, a list that
// can be put in order, a slider, and a button with a hint.
func buildWorkbench(d *Desk, a *app) {
	w := d.openWindow(a, frame{title: "Workbench", bounds: rect(80, 650, 680, 240), role: commonv1.Role_ROLE_WINDOW})
	w.root.hooks.context = contextOf("Refresh", "Properties")
	d.attach(w.root, buildPad())
	d.attach(w.root, buildSketch())
	d.attach(w.root, buildTerminal())
	d.buildGrid(w.root)
	d.buildItems(w.root)
	d.buildTasks(w.root)
	level := ranged(commonv1.Role_ROLE_SLIDER, "Level", rect(532, 146, 136, 28), executor.Range{Max: 100, Step: 1}, 20)
	level.hooks.change = says("Level changed")
	d.attach(w.root, level)
	hint := button("Hint", rect(532, 180, 66, 24), says("Hint pressed"))
	hint.hooks.hover = showHint
	d.attach(w.root, hint)
	said := plain(commonv1.Role_ROLE_LABEL, "Ready", rect(532, 210, 140, 20))
	said.ident = "status"
	d.attach(w.root, said)
}

// buildPad counts how it is pressed and what is typed; its value says so.
func buildPad() *element {
	pad := plain(commonv1.Role_ROLE_CANVAS, "Pad", rect(12, 40, 150, 90))
	pad.ident, pad.value = "pad", "untouched"
	pad.states = enabled(commonv1.ElementState_ELEMENT_STATE_FOCUSABLE)
	presses := map[string]int{}
	count := func(e *element, what string) {
		presses[what]++
		said := make([]string, 0, len(presses))
		for _, k := range []string{"left", "double", "triple", "middle", "right", "hover", "keys"} {
			if n := presses[k]; n > 0 {
				said = append(said, fmt.Sprintf("%s %d", k, n))
			}
		}
		e.value = strings.Join(said, ", ")
	}
	pad.hooks.point = func(_ *Desk, e *element, g gesture) {
		switch {
		case g.button == commonv1.Button_BUTTON_MIDDLE:
			count(e, "middle")
		case g.button == commonv1.Button_BUTTON_RIGHT:
			count(e, "right")
		default:
			count(e, [...]string{"left", "double", "triple"}[g.count-1])
		}
	}
	pad.hooks.hover = func(_ *Desk, e *element) { count(e, "hover") }
	pad.hooks.text = func(_ *Desk, e *element, text string, _ bool) {
		for range text {
			count(e, "keys")
		}
	}
	pad.hooks.key = func(_ *Desk, e *element, c permit.Chord) bool {
		if c.Key == "Tab" {
			return false
		}
		count(e, "keys")
		return true
	}
	return pad
}

// buildSketch can be drawn on; its value says how much.
func buildSketch() *element {
	sketch := plain(commonv1.Role_ROLE_CANVAS, "Sketch", rect(12, 138, 150, 92))
	sketch.ident, sketch.drawing = "sketch", &drawing{}
	sketch.value = sketch.drawing.told()
	return sketch
}

// terminalMax is how many lines a terminal keeps.
const terminalMax = 200

// buildTerminal is a screen of lines: what is typed stands in the last one, Return runs
// it. It takes keys and is no text that could be set.
func buildTerminal() *element {
	screen := plain(commonv1.Role_ROLE_TERMINAL, "Terminal", rect(172, 40, 200, 90))
	screen.ident, screen.value = "terminal", "$ "
	screen.states = enabled(commonv1.ElementState_ELEMENT_STATE_FOCUSABLE, commonv1.ElementState_ELEMENT_STATE_MULTILINE)
	runLine := func(e *element) {
		lines := strings.Split(e.value, "\n")
		last := strings.TrimPrefix(lines[len(lines)-1], "$ ")
		lines = append(lines, "ran "+last, "$ ")
		e.value = strings.Join(lines[max(0, len(lines)-terminalMax):], "\n")
	}
	screen.hooks.text = func(_ *Desk, e *element, text string, _ bool) {
		for _, r := range text {
			if r == '\n' {
				runLine(e)
				continue
			}
			e.value += string(r)
		}
	}
	screen.hooks.key = func(_ *Desk, e *element, c permit.Chord) bool {
		switch s := printable(c); {
		case s != "":
			e.value += s
		case c.Key == "Return":
			runLine(e)
		case c.Key == "Backspace":
			if !strings.HasSuffix(e.value, "$ ") {
				e.value, _ = cutRunes(e.value, characters(e.value)-1)
			}
		default:
			return false
		}
		return true
	}
	return screen
}

const (
	gridColumns = 3
	gridRows    = 3
)

// buildGrid is a sheet of cells: arrows move the current cell, what is typed stands in it.
func (d *Desk) buildGrid(root *element) {
	grid := plain(commonv1.Role_ROLE_TABLE, "Grid", rect(172, 138, 200, 92))
	grid.ident, grid.value = "grid", "A1"
	grid.states = enabled(commonv1.ElementState_ELEMENT_STATE_FOCUSABLE)
	grid.hooks.text = typeIntoGrid
	grid.hooks.key = gridKey
	grid.hooks.point = func(_ *Desk, e *element, g gesture) {
		column, row := int((g.x-e.bounds.X)/66), int((g.y-e.bounds.Y)/30)
		e.goToCell(min(max(column, 0), gridColumns-1), min(max(row, 0), gridRows-1))
	}
	d.attach(root, grid)
	for r := range gridRows {
		row := d.attach(grid, plain(commonv1.Role_ROLE_ROW, fmt.Sprint(r+1), rect(173, 139+float64(r)*30, 198, 30)))
		for c := range gridColumns {
			cell := plain(commonv1.Role_ROLE_CELL, cellName(c, r), rect(173+float64(c)*66, 139+float64(r)*30, 66, 30))
			d.attach(row, cell)
		}
	}
	grid.goToCell(0, 0)
}

func cellName(column, row int) string { return fmt.Sprintf("%c%d", 'A'+column, row+1) }

// goToCell makes a cell the current one.
func (e *element) goToCell(column, row int) {
	e.cursor = row*gridColumns + column
	e.value = cellName(column, row)
	for i, r := range e.children {
		for j, c := range r.children {
			c.set(commonv1.ElementState_ELEMENT_STATE_SELECTED, i == row && j == column)
		}
	}
}

// cell is the current cell of a grid, nil when it is not there.
func (e *element) cell() *element {
	row, column := e.cursor/gridColumns, e.cursor%gridColumns
	if row >= len(e.children) || column >= len(e.children[row].children) {
		return nil
	}
	return e.children[row].children[column]
}

func typeIntoGrid(_ *Desk, e *element, text string, replace bool) {
	c := e.cell()
	if c == nil {
		return
	}
	if replace {
		c.value = ""
	}
	c.value += text
}

func gridKey(d *Desk, e *element, c permit.Chord) bool {
	column, row := e.cursor%gridColumns, e.cursor/gridColumns
	switch c.Key {
	case "Left":
		column--
	case "Right":
		column++
	case "Up":
		row--
	case "Down", "Return":
		row++
	case "ForwardDelete", "Backspace":
		typeIntoGrid(d, e, "", true)
	default:
		s := printable(c)
		typeIntoGrid(d, e, s, false)
		return s != ""
	}
	e.goToCell(min(max(column, 0), gridColumns-1), min(max(row, 0), gridRows-1))
	return true
}

const (
	itemsCount = 20
	itemHeight = 24
)

// buildItems is a list that is longer than what shows of it, with its scroll bar.
func (d *Desk) buildItems(root *element) {
	area := plain(commonv1.Role_ROLE_SCROLL_AREA, "Items", rect(382, 40, 140, 190))
	area.ident = "items"
	area.scroll = &scrolling{most: itemsCount*itemHeight - 190}
	area.actions = actions(commonv1.ElementAction_ELEMENT_ACTION_SCROLL_UP,
		commonv1.ElementAction_ELEMENT_ACTION_SCROLL_DOWN)
	d.attach(root, area)
	list := d.attach(area, plain(commonv1.Role_ROLE_LIST, "Items", rect(382, 40, 126, itemsCount*itemHeight)))
	list.states = enabled(commonv1.ElementState_ELEMENT_STATE_FOCUSABLE)
	for i := range itemsCount {
		x := item(commonv1.Role_ROLE_LIST_ITEM, fmt.Sprintf("Item %d", i+1),
			rect(382, 40+float64(i)*itemHeight, 126, itemHeight))
		x.actions = append(x.actions, commonv1.ElementAction_ELEMENT_ACTION_SCROLL_TO_VISIBLE)
		x.set(commonv1.ElementState_ELEMENT_STATE_OFFSCREEN, overlap(x.bounds, area.bounds) == 0)
		d.attach(list, x)
	}
	bar := plain(commonv1.Role_ROLE_SCROLL_BAR, "Items position", rect(508, 40, 14, 190))
	bar.rng = &executor.Range{Max: area.scroll.most, Step: itemHeight}
	bar.setNumber(0)
	d.attach(area, bar)
}

// buildTasks is a list whose lines can be dragged to another place.
func (d *Desk) buildTasks(root *element) {
	list := plain(commonv1.Role_ROLE_LIST, "Tasks", rect(532, 40, 136, 100))
	list.ident = "tasks"
	d.attach(root, list)
	for _, name := range []string{"Plan", "Build", "Test", "Ship"} {
		x := item(commonv1.Role_ROLE_LIST_ITEM, name, executor.Rect{})
		x.hooks.drop = dropTask
		d.attach(list, x)
	}
	list.layTasks()
}

// dropTask puts a line where it was dropped.
func dropTask(d *Desk, e *element, _, y float64) {
	list := e.parent
	to := min(max(int((y-list.bounds.Y-2)/itemHeight), 0), len(list.children)-1)
	rest := slices.DeleteFunc(slices.Clone(list.children), func(c *element) bool { return c == e })
	list.children = slices.Insert(rest, to, e)
	list.layTasks()
	d.note(e.win, "Order changed")
}

func (e *element) layTasks() {
	for i, c := range e.children {
		c.bounds = rect(e.bounds.X+2, e.bounds.Y+2+float64(i)*itemHeight, e.bounds.W-4, itemHeight)
	}
}

// showHint opens a tooltip beside the button.
func showHint(d *Desk, e *element) {
	p := d.openPopup(e.win, commonv1.SurfaceKind_SURFACE_KIND_TOOLTIP,
		rect(e.bounds.X+e.bounds.W+4, e.bounds.Y+e.bounds.H+4, 150, 28), "Hint")
	d.attach(p.root, plain(commonv1.Role_ROLE_LABEL, "Does what it says", rect(6, 4, 138, 20)))
}
