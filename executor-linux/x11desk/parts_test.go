package x11desk

import (
	"context"
	"errors"
	"image"
	"image/color"
	"slices"
	"strings"
	"testing"

	"github.com/jezek/xgb/xproto"

	"fairlead.dev/executor-linux/internal/atspi"
	"fairlead.dev/executor-linux/internal/x11"
	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
)

func TestEveryRoleHasANeutralOne(t *testing.T) {
	for r := atspi.Role(1); r.String() != "unknown"; r++ {
		if r == atspi.RoleUnknown {
			continue
		}
		if roleOf(r) == commonv1.Role_ROLE_UNSPECIFIED {
			t.Errorf("%v has no neutral role", r)
		}
	}
	if roleOf(atspi.RoleUnknown) != commonv1.Role_ROLE_UNSPECIFIED {
		t.Error("an unknown role became something")
	}
}

func TestActionsOfBothVocabulariesArePaired(t *testing.T) {
	for number, name := range commonv1.ElementAction_name {
		a := fromAction(commonv1.ElementAction(number))
		if number == 0 {
			if a != atspi.ActionNone {
				t.Error("no action became one")
			}
			continue
		}
		if toAction(a) != commonv1.ElementAction(number) {
			t.Errorf("%s does not come back", name)
		}
		if want := strings.ToLower(strings.TrimPrefix(name, "ELEMENT_ACTION_")); a.String() != want {
			t.Errorf("%s is paired with %v", name, a)
		}
	}
	if fromAction(99) != atspi.ActionNone {
		t.Error("an unknown action became one")
	}
}

func TestNamesAreWithoutWhatToolkitsAdd(t *testing.T) {
	for _, c := range []struct {
		kit               atspi.Toolkit
		name, about, want string
	}{
		{atspi.ToolkitGTK3, "New      ", "", "New"},
		{atspi.ToolkitGTK3, "7 7", "", "7 7"},
		{atspi.ToolkitGTK3, "GtkButton", "", "GtkButton"},
		{atspi.ToolkitGTK4, "7 7", "", "7"},
		{atspi.ToolkitGTK4, "× ×", "", "×"},
		{atspi.ToolkitGTK4, "7 8", "", "7 8"},
		{atspi.ToolkitGTK4, "GtkMenuButton", "Primary menu", "Primary menu"},
		{atspi.ToolkitGTK4, "AdwGizmo", "", ""},
		{atspi.ToolkitGTK4, "Gtk", "", "Gtk"},
		{atspi.ToolkitGTK4, "Gtkfoo", "", "Gtkfoo"},
		{atspi.ToolkitGTK4, "Gtk 4", "", "Gtk 4"},
		{atspi.ToolkitGTK4, "", "", ""},
	} {
		if got := plainName(&atspi.Node{Name: c.name, Description: c.about}, c.kit); got != c.want {
			t.Errorf("%v %q is %q, not %q", c.kit, c.name, got, c.want)
		}
	}
}

func TestSecureElementTellsNothing(t *testing.T) {
	n := toNode(&atspi.Node{
		Role: atspi.RolePasswordText, Text: "hunter2", TextLen: 7, Value: &atspi.Value{Max: 9},
		States:     atspi.StateSecure | atspi.StateEditable | atspi.StateEnabled,
		Interfaces: atspi.HasEditableText | atspi.HasText, Actions: []atspi.Action{atspi.ActionActivate},
	}, &top{})
	if n.Value != "" || n.TakesText || n.TakesNumber || n.Range != nil || len(n.Actions) > 0 || !n.Secure {
		t.Errorf("%+v", n)
	}
}

func TestWhatOpensAPopupIsNoAction(t *testing.T) {
	press := []atspi.Action{atspi.ActionPress, atspi.ActionShowMenu}
	for _, c := range []struct {
		name string
		n    atspi.Node
		kit  atspi.Toolkit
		want int
	}{
		{"button", atspi.Node{Role: atspi.RoleButton, Actions: press}, atspi.ToolkitGTK3, 1},
		{
			"menu button",
			atspi.Node{Role: atspi.RoleButton, Actions: press, States: atspi.StateHasPopup},
			atspi.ToolkitGTK4, 0,
		},
		{
			"web button",
			atspi.Node{Role: atspi.RoleButton, Actions: press, States: atspi.StateHasPopup},
			atspi.ToolkitChromium, 1,
		},
		{"combo box", atspi.Node{Role: atspi.RoleComboBox, Actions: press}, atspi.ToolkitQt, 0},
	} {
		if got := toActions(&c.n, c.kit); len(got) != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
		if (pressOf(&c.n, c.kit) != atspi.ActionNone) != (c.want > 0) {
			t.Errorf("%s: a press would be %v", c.name, pressOf(&c.n, c.kit))
		}
	}
	entry := atspi.Node{Role: atspi.RoleEntry, Actions: []atspi.Action{atspi.ActionActivate}}
	if got := pressOf(&entry, atspi.ToolkitGTK3); got != atspi.ActionNone {
		t.Errorf("a press submits an entry by %v", got)
	}
}

func TestElementsOutOfViewAreLeftOutExceptMenuItemsAndScrolledOnes(t *testing.T) {
	const on = atspi.StateShowing | atspi.StateVisible
	tree := &atspi.Tree{Nodes: []atspi.Node{
		0:  {Parent: -1, Role: atspi.RoleFrame, States: on},
		1:  {Parent: 0, Role: atspi.RoleMenuBar, States: on},
		2:  {Parent: 1, Role: atspi.RoleMenu, States: on},
		3:  {Parent: 2, Role: atspi.RoleMenuItem, States: atspi.StateVisible},
		4:  {Parent: 0, Role: atspi.RoleTabList, States: on},
		5:  {Parent: 4, Role: atspi.RoleTab, States: on},
		6:  {Parent: 5, Role: atspi.RoleGroup, States: atspi.StateVisible},
		7:  {Parent: 6, Role: atspi.RoleComboBox, States: atspi.StateVisible},
		8:  {Parent: 7, Role: atspi.RoleMenu, States: atspi.StateVisible},
		9:  {Parent: 0, Role: atspi.RoleScrollPane, States: on},
		10: {Parent: 9, Role: atspi.RoleButton, States: atspi.StateVisible},
		11: {Parent: 9, Role: atspi.RoleButton},
		12: {Parent: 6, Role: atspi.RoleButton, States: on},
	}}
	got := listedParents(tree, atspi.ToolkitGTK3)
	want := []int{-1, 0, 1, 2, 0, 4, notListed, notListed, notListed, 0, 9, notListed, 5}
	if !slices.Equal(got, want) {
		t.Errorf("parents %v, not %v", got, want)
	}
	whole := func(p []int) bool { return !slices.Contains(p, notListed) }
	if !whole(listedParents(tree, atspi.ToolkitGTK4)) {
		t.Error("a toolkit that never says what shows is cut")
	}
	tree.Nodes[0].States = atspi.StateVisible
	if !whole(listedParents(tree, atspi.ToolkitGTK3)) {
		t.Error("a window that does not show is cut")
	}
}

func TestPopupsBelongToOneToplevelOfTheirProcess(t *testing.T) {
	win := func(id xproto.Window, pid int, more x11.Window) x11.Window {
		more.ID, more.PID, more.ProcessStart, more.Mapped = id, pid, uint64(pid), true
		return more
	}
	raw := []x11.Window{
		win(1, 10, x11.Window{}), win(2, 10, x11.Window{}), win(3, 20, x11.Window{}),
		win(4, 10, x11.Window{Override: true, Type: x11.TypeMenu, TransientFor: 1}),
		win(5, 10, x11.Window{Override: true, Type: x11.TypeMenu, TransientFor: 4}),
		win(6, 20, x11.Window{Override: true, Type: x11.TypeTooltip, TransientFor: 1}),
		win(7, 10, x11.Window{Override: true}),
		win(8, 30, x11.Window{Override: true}),
		win(9, 10, x11.Window{Override: true, Type: x11.TypeNotification}),
	}
	var tops []listed
	index := map[xproto.Window]int{}
	for i := range raw {
		if isToplevel(&raw[i]) {
			index[raw[i].ID] = len(tops)
			tops = append(tops, listed{Window: toWindow(&raw[i], "app", len(tops)), surfaces: []x11.Window{raw[i]}})
		}
	}
	attribute(tops, index, raw)
	want := [][]uint64{{1, 4, 5}, {2, 7}, {3, 6}}
	if len(tops) != len(want) {
		t.Fatalf("%d windows", len(tops))
	}
	for i, w := range tops {
		var got []uint64
		for k, s := range w.Surfaces {
			got = append(got, s.ID)
			if s.Order != k || uint64(w.surfaces[k].ID) != s.ID {
				t.Errorf("surface %+v at %d", s, k)
			}
		}
		if !slices.Equal(got, want[i]) {
			t.Errorf("window %d has %v, not %v", w.Identity.ID, got, want[i])
		}
	}
}

func TestCertainMatchesMakeOthersCertain(t *testing.T) {
	fact := func(id uint32, title string, w int) atspi.WindowFacts {
		r := atspi.Rect{X: int(id) * 100, W: w, H: 100}
		return atspi.WindowFacts{ID: id, PID: 7, Title: title, Client: r, Frame: r}
	}
	topAt := func(path, name string, w int) atspi.Toplevel {
		return atspi.Toplevel{
			Ref: atspi.Ref{Bus: ":1.1", Path: path}, PID: 7, Name: name, Toolkit: atspi.ToolkitGTK4,
			Screen: atspi.Rect{W: w, H: 100}, Placed: true,
		}
	}
	facts := []atspi.WindowFacts{fact(1, "one", 300), fact(2, "two", 300)}
	got, rivals := assign([]atspi.Toplevel{topAt("/a", "one", 300), topAt("/b", "", 300)}, facts)
	if rivals != 0 || got[1].ref.Path != "/a" || got[2].ref.Path != "/b" {
		t.Errorf("%+v, %d rivals", got, rivals)
	}
	got, rivals = assign([]atspi.Toplevel{topAt("/a", "", 300), topAt("/b", "", 300)}, facts)
	if len(got) != 0 || rivals != 2 {
		t.Errorf("two that fit equally became %+v, %d rivals", got, rivals)
	}
}

func TestFindSaysWhatBecameOfAWindow(t *testing.T) {
	id := ident.Window{ID: 1, PID: 2, Start: 3, App: "a", Birth: 4}
	windows := []listed{{Window: executor.Window{Identity: id}}}
	for _, c := range []struct {
		change func(*ident.Window)
		want   refusal.Answer
	}{
		{func(*ident.Window) {}, 0},
		{func(w *ident.Window) { w.ID++ }, refusal.AnswerWindowGone},
		{func(w *ident.Window) { w.PID++ }, refusal.AnswerProcessReplaced},
		{func(w *ident.Window) { w.Start++ }, refusal.AnswerProcessReplaced},
		{func(w *ident.Window) { w.App = "b" }, refusal.AnswerWindowChanged},
		{func(w *ident.Window) { w.Birth++ }, refusal.AnswerWindowChanged},
	} {
		wanted := id
		c.change(&wanted)
		_, err := find(windows, wanted)
		var f *executor.Failure
		got := refusal.Answer(0)
		if errors.As(err, &f) {
			got = f.Answer
		}
		if got != c.want {
			t.Errorf("%+v: %v", wanted, got)
		}
	}
}

func TestCallersOwnEndIsToldBeforeTheApplications(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	if got := answerOf(ctx, atspi.ErrUnresponsive); got != refusal.AnswerTargetUnresponsive {
		t.Error(got)
	}
	cancel()
	if got := answerOf(ctx, atspi.ErrUnresponsive); got != refusal.AnswerAborted {
		t.Error(got)
	}
	if got := answerOf(t.Context(), errors.New("anything")); got != refusal.AnswerUnavailable {
		t.Error(got)
	}
	if d := delivered(t.Context(), commonv1.Route_ROUTE_ACCESSIBILITY_TEXT, atspi.SentNothing, atspi.ErrGone); d.Sent !=
		executor.NotSent || d.Answer != refusal.AnswerElementReleased || d.Route != commonv1.Route_ROUTE_NONE {
		t.Errorf("%+v", d)
	}
	for sent, want := range map[atspi.Sent]executor.Sent{
		atspi.SentAccepted: executor.Accepted, atspi.SentDeclined: executor.Declined,
		atspi.SentUnanswered: executor.Unanswered, 99: executor.Unanswered,
	} {
		if d := delivered(t.Context(), commonv1.Route_ROUTE_ACCESSIBILITY_TEXT, sent, nil); d.Sent != want {
			t.Errorf("%v became %+v", sent, d)
		}
	}
}

func TestPopupIsDrawnOverItsWindow(t *testing.T) {
	fill := func(r image.Rectangle, c color.RGBA) *x11.Picture {
		img := image.NewRGBA(image.Rectangle{Max: r.Size()})
		for y := range r.Dy() {
			for x := range r.Dx() {
				img.SetRGBA(x, y, c)
			}
		}
		return &x11.Picture{Image: img, Bounds: r}
	}
	red, blue := color.RGBA{R: 255, A: 255}, color.RGBA{B: 255, A: 255}
	a, b := fill(image.Rect(10, 10, 20, 20), red), fill(image.Rect(5, 15, 15, 25), blue)
	c, err := compose([]*x11.Picture{a, b}, a.Bounds.Union(b.Bounds))
	if err != nil {
		t.Fatal(err)
	}
	if c.Image.Rect.Size() != image.Pt(15, 15) || c.OffsetX != -5 || c.OffsetY != 0 || c.Scale != 1 {
		t.Errorf("%v at %v,%v", c.Image.Rect, c.OffsetX, c.OffsetY)
	}
	black := color.RGBA{A: 255}
	for at, want := range map[image.Point]color.RGBA{
		{14, 0}: red, {6, 6}: blue, {0, 14}: blue, {0, 0}: black, {14, 14}: black,
	} {
		if got := c.Image.RGBAAt(at.X, at.Y); got != want {
			t.Errorf("%v is %v", at, got)
		}
	}
}

func TestAgreeingCountsCharacters(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"héllo", "héllo ✓", 5}, {"日本", "日木", 1}, {"", "x", 0}, {"é", "e", 0}} {
		if got := agreeing(c.a, c.b); got != c.want {
			t.Errorf("%q %q: %d", c.a, c.b, got)
		}
	}
}

func TestLaunchedProgramsGetTheDesktopAndNothingOfOurs(t *testing.T) {
	d := &Desk{cfg: Config{Display: ":7", SessionBus: "unix:path=/x", Env: []string{
		"PATH=/bin", "DISPLAY=:0", "OTEL_EXPORTER=x", "FAIRLEAD_X=1", "NOTIFY_SOCKET=/n", "DESKTOP_STARTUP_ID=user",
		"XAUTHORITY=/theirs", "HOME=/none",
	}}}
	want := []string{
		"PATH=/bin", "HOME=/none", "DISPLAY=:7", "DBUS_SESSION_BUS_ADDRESS=unix:path=/x",
		"DESKTOP_STARTUP_ID=fairlead_TIME0",
	}
	if got := d.environment(); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if home([]string{"HOME=/none/there"}) != "/" || home([]string{"HOME=/tmp"}) != "/tmp" {
		t.Error("home")
	}
}

func TestObjectPathsAreEscaped(t *testing.T) {
	for id, want := range map[string]string{"c2": "c2", "3": "_33", "a-b": "a_2db"} {
		if got := escapePath(id); got != want {
			t.Errorf("%q is %q", id, got)
		}
	}
}

func TestObjectIsOnlyFoundUnderItsOwnToplevel(t *testing.T) {
	at := atspi.Ref{Bus: ":1.5", Path: "/top"}
	p := &place{app: atspi.Application{Root: atspi.Ref{Bus: ":1.5"}}, tops: []top{{ref: at}}}
	o := objectOf(atspi.Ref{Bus: ":1.5", Path: "/e"}, at)
	if ref, _, ok := p.element(o); !ok || ref.Path != "/e" {
		t.Errorf("%v %v", ref, ok)
	}
	for _, bad := range []executor.Object{
		"", "x", objectOf(atspi.Ref{Bus: ":1.6", Path: "/e"}, at),
		objectOf(atspi.Ref{Bus: ":1.5", Path: "/e"}, atspi.Ref{Path: "/other"}),
	} {
		if _, _, ok := p.element(bad); ok {
			t.Errorf("%q was found", bad)
		}
	}
}
