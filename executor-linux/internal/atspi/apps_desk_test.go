//go:build desk

package atspi

import (
	"strings"
	"syscall"
	"testing"
	"time"
)

func accepted(t *testing.T, what string) func(Sent, error) {
	return func(s Sent, err error) {
		t.Helper()
		if s != SentAccepted || err != nil {
			t.Fatalf("%s: %v, %v", what, s, err)
		}
	}
}

func TestCalculatorComputesByActionsOnly(t *testing.T) {
	d := startDesk(t)
	c := d.dial(t)
	cmd := d.start(t, nil, []string{"GSK_RENDERER=cairo"}, "gnome-calculator")
	a, top := app(t, c, cmd)
	if a.Toolkit != ToolkitGTK4 || top.Toolkit != ToolkitGTK4 {
		t.Fatalf("toolkit %v %v", a.Toolkit, top.Toolkit)
	}
	tree := read(t, c, top.Ref, Limits{})
	t.Logf("%d nodes in %v, cached %v, cut %q", len(tree.Nodes), tree.Took, tree.Cached, tree.Cut)
	if !tree.Cached || tree.Cut != 0 {
		t.Fatalf("cached %v, cut %v", tree.Cached, tree.Cut)
	}
	checkShape(t, tree)
	for _, name := range []string{"7 7", "× ×", "6 6", "= ="} {
		n := find(t, tree, "button "+name, 0, func(n *Node) bool { return n.Role == RoleButton && n.Name == name })
		if !n.Can(ActionPress) || !n.Placed || n.Extents.Empty() {
			t.Fatalf("button %q: %v %v", name, n.Actions, n.Extents)
		}
		s, err := c.DoAction(t.Context(), n.Ref, ActionPress)
		accepted(t, "press "+name)(s, err)
	}
	poll(t, "result 42", 5*time.Second, func() bool {
		tree := read(t, c, top.Ref, Limits{})
		for i := range tree.Nodes {
			if strings.Contains(tree.Nodes[i].Text+tree.Nodes[i].Name, "42") {
				return true
			}
		}
		return false
	})
}

// checkShape checks what holds for every tree.
func checkShape(t *testing.T, tree *Tree) {
	t.Helper()
	for i := range tree.Nodes {
		n := &tree.Nodes[i]
		if (i == 0) != (n.Parent == -1) || n.Parent >= i {
			t.Fatalf("node %d has parent %d", i, n.Parent)
		}
		if i > 0 && n.Depth != tree.Nodes[n.Parent].Depth+1 {
			t.Fatalf("node %d has depth %d", i, n.Depth)
		}
		if n.States.Has(StateSecure) && n.Text != "" {
			t.Fatalf("secure node %d has a text", i)
		}
	}
}

func TestMousepadMenusAreReadInOrderWithoutOpening(t *testing.T) {
	d := startDesk(t)
	c := d.dial(t)
	_, top := app(t, c, d.start(t, nil, nil, "mousepad", "--disable-server"))
	tree := read(t, c, top.Ref, Limits{})
	t.Logf("%d nodes in %v, cached %v, cut %q", len(tree.Nodes), tree.Took, tree.Cached, tree.Cut)
	checkShape(t, tree)
	var bar []string
	menus := find(t, tree, "menu bar", 0, func(n *Node) bool { return n.Role == RoleMenuBar })
	for i := range tree.Nodes {
		if n := &tree.Nodes[i]; n.Parent >= 0 && tree.Nodes[n.Parent].Ref == menus.Ref {
			bar = append(bar, n.Name)
			if !n.Can(ActionShowMenu) || n.Can(ActionPress) {
				t.Errorf("menu %q offers %v", n.Name, n.Actions)
			}
		}
	}
	if got := strings.Join(bar, " "); !strings.HasPrefix(got, "File Edit ") {
		t.Errorf("menu bar is %q", got)
	}
	item := find(t, tree, "menu item", 0, func(n *Node) bool { return strings.HasPrefix(n.Name, "New Window") })
	if item.Placed || !item.Can(ActionPress) {
		t.Errorf("hidden leaf item: placed %v, actions %v", item.Placed, item.Actions)
	}
	area := find(t, tree, "text area", 0, func(n *Node) bool { return n.States.Has(StateMultiline | StateEditable) })
	const text = "héllo ✓ 日本\nzwei"
	s, err := c.SetText(t.Context(), area.Ref, text)
	accepted(t, "set text")(s, err)
	s, err = c.InsertText(t.Context(), area.Ref, 7, "Ω")
	accepted(t, "insert text")(s, err)
	got, err := c.ReadText(t.Context(), area.Ref, 100)
	if want := "héllo ✓Ω 日本\nzwei"; err != nil || got.Text != want || !got.Whole() {
		t.Errorf("text reads %q (%d), %v", got.Text, got.Len, err)
	}
	short, err := c.ReadText(t.Context(), area.Ref, 3)
	if err != nil || short.Text != "hél" || short.Whole() {
		t.Errorf("first three characters read %q (%d), %v", short.Text, short.Len, err)
	}
}

func TestWidgetFactoryTakesActsAndReadsThemBack(t *testing.T) {
	d := startDesk(t)
	c := d.dial(t)
	_, top := app(t, c, d.start(t, nil, nil, "gtk3-widget-factory"))
	tree := read(t, c, top.Ref, Limits{})
	t.Logf("%d nodes in %v, cached %v, cut %q", len(tree.Nodes), tree.Took, tree.Cached, tree.Cut)
	checkShape(t, tree)
	usable := StateSensitive | StateShowing

	box := find(t, tree, "check box", 0, func(n *Node) bool {
		return n.Role == RoleCheckBox && n.States.Has(usable|StateChecked)
	})
	s, err := c.DoAction(t.Context(), box.Ref, ActionPress)
	accepted(t, "press the check box")(s, err)
	poll(t, "box unchecked", 2*time.Second, func() bool {
		st, err := c.ReadStates(t.Context(), box.Ref)
		return err == nil && !st.Has(StateChecked)
	})

	slider := find(t, tree, "slider", 0, func(n *Node) bool { return n.Role == RoleSlider && n.States.Has(usable) })
	if slider.Value == nil || slider.Value.Max != 100 {
		t.Fatalf("slider value %+v", slider.Value)
	}
	s, err = c.SetValue(t.Context(), slider.Ref, 77)
	accepted(t, "set the slider")(s, err)
	if v, err := c.ReadValue(t.Context(), slider.Ref); err != nil || v.Current != 77 {
		t.Errorf("slider reads %v, %v", v, err)
	}

	entry := find(t, tree, "entry", 0, func(n *Node) bool {
		return n.Role == RoleText && n.States.Has(usable|StateEditable)
	})
	s, err = c.SetText(t.Context(), entry.Ref, "héllo ✓ 日本")
	accepted(t, "set the entry")(s, err)
	n, err := c.Reread(t.Context(), top.Ref, entry.Ref)
	if err != nil || n.Text != "héllo ✓ 日本" || n.Extents != entry.Extents {
		t.Errorf("entry rereads %q %v, %v", n.Text, n.Extents, err)
	}

	if s, err := c.DoAction(t.Context(), entry.Ref, ActionIncrement); s != SentNothing || err != ErrUnsupported {
		t.Errorf("an action that is not offered: %v, %v", s, err)
	}
}

func TestWidgetFactorySelectsAndCommits(t *testing.T) {
	d := startDesk(t)
	c := d.dial(t)
	_, top := app(t, c, d.start(t, nil, nil, "gtk3-widget-factory"))
	tree := read(t, c, top.Ref, Limits{})
	usable := StateSensitive | StateShowing

	spin := find(t, tree, "spin button", 0, func(n *Node) bool { return n.Role == RoleSpinButton && n.States.Has(usable) })
	s, err := c.SetText(t.Context(), spin.Ref, "33")
	accepted(t, "set the spin button")(s, err)
	s, err = c.DoAction(t.Context(), spin.Ref, ActionActivate)
	accepted(t, "activate the spin button")(s, err)
	if v, err := c.ReadValue(t.Context(), spin.Ref); err != nil || v.Current != 33 {
		t.Errorf("spin button reads %v, %v", v, err)
	}

	cell := find(t, tree, "table cell", 0, func(n *Node) bool { return n.Role == RoleCell && n.Name == "Andrea" })
	if parent := tree.Nodes[cell.Parent]; parent.Role != RoleTable || !parent.States.Has(StateManagesDescendants) ||
		parent.Cut != 0 || !cell.Can(ActionActivate) {
		t.Errorf("cell %v in a %v, cut %q", cell.Actions, parent.Role, parent.Cut)
	}

	combo := find(t, tree, "combo box", 0, func(n *Node) bool { return n.Role == RoleComboBox && n.Name == "Left" })
	if !combo.Can(ActionShowMenu) || combo.Can(ActionPress) {
		t.Errorf("combo box offers %v", combo.Actions)
	}
	s, err = c.SelectChild(t.Context(), combo.Ref, 1)
	accepted(t, "select the second entry")(s, err)
	poll(t, "combo box selects", 2*time.Second, func() bool {
		n, err := c.Reread(t.Context(), top.Ref, combo.Ref)
		return err == nil && n.Name == "Middle"
	})
	tabs := find(t, tree, "tab list", 0, func(n *Node) bool { return n.Role == RoleTabList && n.Children == 3 })
	if s, err := c.SelectChild(t.Context(), tabs.Ref, 3); s != SentNothing || err != ErrInvalid {
		t.Errorf("select a child that is not there: %v, %v", s, err)
	}
	s, err = c.SelectChild(t.Context(), tabs.Ref, 2)
	accepted(t, "select the third tab")(s, err)
}

func TestRereadEqualsReadTree(t *testing.T) {
	d := startDesk(t)
	c := d.dial(t)
	_, top := app(t, c, d.start(t, nil, nil, "gtk3-widget-factory"))
	tree := read(t, c, top.Ref, Limits{})
	differ := 0
	for i := range tree.Nodes {
		if i%7 != 0 {
			continue
		}
		a := &tree.Nodes[i]
		b, err := c.Reread(t.Context(), top.Ref, a.Ref)
		if err != nil {
			t.Fatal(err)
		}
		if a.Role != b.Role || a.Name != b.Name || a.Description != b.Description || a.Text != b.Text ||
			a.Extents != b.Extents || len(a.Actions) != len(b.Actions) || a.Interfaces != b.Interfaces {
			differ++
			t.Errorf("node %d: %+v, then %+v", i, *a, b)
		}
	}
	if differ > 0 {
		t.Errorf("%d nodes differ", differ)
	}
}

func TestPasswordIsNeverRead(t *testing.T) {
	d := startDesk(t)
	c := d.dial(t)
	_, top := app(t, c, d.start(t, nil, nil, "zenity", "--password"))
	tree := read(t, c, top.Ref, Limits{})
	checkShape(t, tree)
	field := find(t, tree, "password field", 0, func(n *Node) bool { return n.Role == RolePasswordText })
	if !field.States.Has(StateSecure) || field.TextLen != -1 || field.Value != nil {
		t.Errorf("secure field reads %+v", field)
	}
	n, err := c.Reread(t.Context(), top.Ref, field.Ref)
	if err != nil || n.Text != "" || n.TextLen != -1 || !n.States.Has(StateSecure) {
		t.Errorf("secure field rereads %+v, %v", n, err)
	}
	if _, err := c.ReadText(t.Context(), field.Ref, 10); err != ErrSecure {
		t.Errorf("reading its text: %v", err)
	}
	if s, err := c.SetText(t.Context(), field.Ref, "x"); s != SentNothing || err != ErrSecure {
		t.Errorf("setting its text: %v, %v", s, err)
	}
	if s, err := c.DoAction(t.Context(), field.Ref, ActionActivate); s != SentNothing || err != ErrSecure {
		t.Errorf("activating it: %v, %v", s, err)
	}
}

func TestStoppedApplicationIsToldAndDelaysNobody(t *testing.T) {
	d := startDesk(t)
	c := d.dial(t)
	stopped := d.start(t, nil, nil, "zenity", "--entry")
	a, top := app(t, c, stopped)
	other := d.start(t, nil, nil, "zenity", "--info", "--text", "other")
	b, otherTop := app(t, c, other)
	if err := c.Alive(t.Context(), a.Root); err != nil {
		t.Fatal(err)
	}
	tree := read(t, c, top.Ref, Limits{})
	button := find(t, tree, "button", 0, func(n *Node) bool { return n.Can(ActionPress) })
	if err := stopped.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := c.Alive(t.Context(), a.Root); err != ErrUnresponsive {
		t.Fatalf("stopped application: %v", err)
	}
	if took := time.Since(began); took < 250*time.Millisecond || took > 600*time.Millisecond {
		t.Errorf("the probe took %v", took)
	}
	if s, err := c.DoAction(t.Context(), button.Ref, ActionPress); s != SentNothing || err != ErrUnresponsive {
		t.Errorf("act on a stopped application: %v, %v", s, err)
	}
	began = time.Now()
	apps, err := c.Applications(t.Context())
	took := time.Since(began)
	if err != nil || took > time.Second {
		t.Fatalf("applications in %v, %v", took, err)
	}
	for _, one := range apps {
		if one.Unresponsive != (one.PID == a.PID) {
			t.Errorf("application %d: unresponsive %v", one.PID, one.Unresponsive)
		}
	}
	began = time.Now()
	read(t, c, otherTop.Ref, Limits{})
	if took := time.Since(began); took > time.Second {
		t.Errorf("the other application took %v", took)
	}
	if err := c.Alive(t.Context(), b.Root); err != nil {
		t.Error(err)
	}
	if _, err := c.ReadTree(t.Context(), top.Ref, Limits{}); err != ErrUnresponsive {
		t.Errorf("tree of the stopped application: %v", err)
	}
	if err := stopped.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	poll(t, "alive again", 5*time.Second, func() bool { return c.Alive(t.Context(), a.Root) == nil })
}

func TestGoneObjectsAndApplicationsAreGone(t *testing.T) {
	d := startDesk(t)
	c := d.dial(t)
	cmd := d.start(t, nil, nil, "mousepad", "--disable-server")
	a, top := app(t, c, cmd)
	missing := Ref{Bus: a.Root.Bus, Path: "/org/a11y/atspi/accessible/999999"}
	if _, err := c.Reread(t.Context(), top.Ref, missing); err != ErrGone {
		t.Errorf("reread of a missing object: %v", err)
	}
	if s, err := c.DoAction(t.Context(), missing, ActionPress); s != SentNothing || err != ErrGone {
		t.Errorf("act on a missing object: %v, %v", s, err)
	}
	if _, err := c.ReadTree(t.Context(), missing, Limits{}); err != ErrGone {
		t.Errorf("tree of a missing object: %v", err)
	}
	events, err := c.Events(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	deadline := time.After(5 * time.Second)
	for gone := false; !gone; {
		select {
		case e := <-events:
			gone = e.Kind == EventAppGone && e.Source.Bus == a.Root.Bus
		case <-deadline:
			t.Fatal("no event of the ended application")
		}
	}
	if _, err := c.Reread(t.Context(), top.Ref, top.Ref); err != ErrGone {
		t.Errorf("reread in an ended application: %v", err)
	}
	if err := c.Alive(t.Context(), a.Root); err != ErrGone {
		t.Errorf("probe of an ended application: %v", err)
	}
}

func TestLimitsLeaveMarks(t *testing.T) {
	d := startDesk(t)
	c := d.dial(t)
	_, top := app(t, c, d.start(t, nil, nil, "gtk3-widget-factory"))
	all := read(t, c, top.Ref, Limits{})
	for _, tt := range []struct {
		name   string
		limits Limits
		want   Cut
	}{
		{"elements", Limits{Elements: 20}, CutElements},
		{"depth", Limits{Depth: 3}, CutDepth},
		{"text", Limits{Text: 3}, CutText},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tree := read(t, c, top.Ref, tt.limits)
			if !tree.Cut.Has(tt.want) || marks(tree, tt.want) <= marks(all, tt.want) {
				t.Errorf("cut %q, without limits %q", tree.Cut, all.Cut)
			}
			if tt.limits.Elements > 0 && len(tree.Nodes) != tt.limits.Elements {
				t.Errorf("%d nodes", len(tree.Nodes))
			}
			checkShape(t, tree)
		})
	}
}

// marks counts the nodes with a mark.
func marks(tree *Tree, mark Cut) int {
	count := 0
	for i := range tree.Nodes {
		if tree.Nodes[i].Cut.Has(mark) {
			count++
		}
	}
	return count
}

func TestEventsTellThatSomethingChanged(t *testing.T) {
	d := startDesk(t)
	c := d.dial(t)
	_, top := app(t, c, d.start(t, nil, nil, "gtk3-widget-factory"))
	tree := read(t, c, top.Ref, Limits{})
	events, err := c.Events(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	box := find(t, tree, "check box", 0, func(n *Node) bool {
		return n.Role == RoleCheckBox && n.States.Has(StateSensitive|StateShowing)
	})
	s, err := c.DoAction(t.Context(), box.Ref, ActionPress)
	accepted(t, "press")(s, err)
	deadline := time.After(5 * time.Second)
	for {
		select {
		case e := <-events:
			if e.Kind == EventState && e.Source == box.Ref && e.State == StateChecked {
				return
			}
		case <-deadline:
			t.Fatal("no event of the check box")
		}
	}
}
