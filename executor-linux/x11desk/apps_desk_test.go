//go:build desk

package x11desk

import (
	"strings"
	"syscall"
	"testing"
	"time"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"

	"fairlead.dev/executor-linux/privatedesk"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/refusal"
)

const (
	button = commonv1.Role_ROLE_BUTTON
	click  = commonv1.Verb_VERB_CLICK_ELEMENT
)

// pyatspi asks the accessibility bus with a client that is not ours: every text, entry
// and label of a program.
const pyatspi = `
import sys, pyatspi
def walk(a):
    try:
        t = a.queryText()
        print(a.getRoleName(), repr(a.name), repr(t.getText(0, t.characterCount)))
    except NotImplementedError:
        pass
    try:
        print(a.getRoleName(), repr(a.name), "value", a.queryValue().currentValue)
    except NotImplementedError:
        pass
    s = a.getState()
    if s.contains(pyatspi.STATE_CHECKED): print(a.getRoleName(), repr(a.name), "checked")
    if s.contains(pyatspi.STATE_SELECTED): print(a.getRoleName(), repr(a.name), "selected")
    for c in a:
        if c is not None: walk(c)
for app in pyatspi.Registry.getDesktop(0):
    if app is not None and app.get_process_id() == int(sys.argv[1]): walk(app)
`

// pyatspi is what another accessibility client reads of a process.
func (r *rig) pyatspi(pid int32) string {
	r.t.Helper()
	return r.outside("/usr/bin/python3", "-c", pyatspi, itoa(int(pid)))
}

// theUser opens a window that has the focus, as a person's would.
func (r *rig) theUser() executor.Window {
	r.t.Helper()
	w := r.window(r.start("zenity", "--entry", "--title", "theirs", "--text", "the user is here").PID())
	r.until("focus for the user's window", func() bool {
		if s := r.sample(); s.Active == w.Identity.ID || s.Focus == w.Identity.ID {
			return true
		}
		r.outside("xdotool", "windowfocus", itoa(int(w.Identity.ID)))
		return false
	})
	// GTK moves the focus on to a window of its own inside.
	last := r.sample().Focus
	r.until("the focus to rest", func() bool {
		time.Sleep(300 * time.Millisecond)
		was := last
		last = r.sample().Focus
		return was == last
	})
	return w
}

func TestCalculatorIsLaunchedWithoutFocusAndComputes(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		need(t, "gnome-calculator", "zenity")
		r.theUser()
		before, seen := r.sample(), r.user()
		app, err := r.desk.Resolve(t.Context(), "org.gnome.Calculator")
		if err != nil || app.Running || !app.Installed || app.Executable == "" {
			t.Fatalf("resolved as %+v, %v", app, err)
		}
		got := r.desk.Launch(t.Context(), app)
		if got.Sent != executor.Accepted || got.PID == 0 {
			t.Fatalf("launched as %+v", got)
		}
		w := r.window(int(got.PID))
		if w.Identity.App != "org.gnome.Calculator" {
			t.Errorf("the window's app is %s", w.Identity.App)
		}
		tree := r.tree(w)
		after := r.sample()
		if before.Focus != after.Focus || before.Active != after.Active || before.PointerX != after.PointerX {
			t.Errorf("the launch changed the desk: %s %s", asJSON(before), asJSON(after))
		}
		if now := r.user(); focusLines(now) != focusLines(seen) {
			t.Errorf("the launch changed the desk:\n%s\n%s", seen, now)
		}
		for _, key := range []string{"7", "×", "6", "="} {
			if got := r.perform(w, r.find(tree, key, named(button, key)), executor.Performance{Verb: click}); got.Settled {
				t.Error("a press cannot be known to be over")
			}
		}
		r.until("42", func() bool { return strings.Contains(r.pyatspi(got.PID), "'42'") })
		r.find(r.tree(w), "42", func(n *executor.Node) bool { return n.TakesText && n.Value == "42" })
		r.measure("calculator", w, r.find(tree, "7", named(button, "7")))
		app.Running = true
		if again := r.desk.Launch(t.Context(), app); again.Sent != executor.Accepted || again.PID != got.PID {
			t.Errorf("a second launch of the same app: %+v", again)
		}
		app.Running = false
		if stale := r.desk.Launch(t.Context(), app); stale.Answer != refusal.AnswerResolutionChanged {
			t.Errorf("a stale resolution: %+v", stale)
		}
		// A button that would open a menu takes the user's pointer in GTK4: it is no button for us.
		menu := r.find(tree, "the mode button", named(button, "Basic"))
		if got := r.try(w, menu, executor.Performance{Verb: click}); got.Answer != refusal.AnswerElementNotActionable {
			t.Errorf("a menu button was pressed: %+v", got)
		}
	})
}

// focusLines are the lines of user that a new window does not change by being there.
func focusLines(user string) string {
	var out []string
	for line := range strings.Lines(user) {
		if !strings.Contains(line, "STACKING") {
			out = append(out, line)
		}
	}
	return strings.Join(out, "")
}

func (r *rig) measure(what string, w executor.Window, n executor.Node) {
	r.t.Helper()
	took(r.t, what+" windows", func() { r.windows() })
	took(r.t, what+" tree", func() { r.tree(w) })
	took(r.t, what+" reread", func() { r.again(w, n) })
	took(r.t, what+" perform", func() { r.try(w, n, executor.Performance{Verb: click}) })
	took(r.t, what+" capture", func() {
		if _, err := r.desk.Capture(r.t.Context(), w.Identity); err != nil {
			r.t.Fatal(err)
		}
	})
}

// factory is the widget factory behind the user's window.
type factory struct {
	*rig
	w    executor.Window
	tree *executor.Tree
}

func TestEveryControlOfTheWidgetFactory(t *testing.T) {
	for _, wm := range []string{"", "openbox"} {
		t.Run("wm "+wm, func(t *testing.T) {
			r := newRig(t, wm)
			need(t, "gtk3-widget-factory", "zenity")
			f := &factory{rig: r, w: r.window(r.start("gtk3-widget-factory").PID())}
			r.theUser()
			f.tree = r.tree(f.w)
			for name, test := range map[string]func(*testing.T){
				"check box": f.checkBox, "numbers": f.numbers, "entry": f.entry, "choices": f.choices,
				"refusals": func(*testing.T) { r.refusals(f.w, f.tree) },
			} {
				t.Run(name, test)
			}
			r.measure("widget factory", f.w, f.enabled(commonv1.Role_ROLE_TOGGLE_BUTTON))
		})
	}
}

// enabled is the first element of a role that takes acts and has one of two states.
func (f *factory) enabled(role commonv1.Role) executor.Node {
	f.t.Helper()
	return f.find(f.tree, role.String(), func(n *executor.Node) bool {
		return n.Role == role && n.States.Has(commonv1.ElementState_ELEMENT_STATE_ENABLED) &&
			!n.States.Has(commonv1.ElementState_ELEMENT_STATE_MIXED)
	})
}

// seen waits until another accessibility client reads something.
func (f *factory) seen(what string) {
	f.t.Helper()
	f.until(what, func() bool { return strings.Contains(f.pyatspi(f.w.Identity.PID), what) })
}

func (f *factory) checkBox(t *testing.T) {
	box := f.enabled(commonv1.Role_ROLE_CHECK_BOX)
	for _, on := range []bool{false, true, false, false, true} {
		was := f.again(f.w, box).States.Has(commonv1.ElementState_ELEMENT_STATE_CHECKED)
		got := f.perform(f.w, box, executor.Performance{Verb: commonv1.Verb_VERB_SET_CHECKED, On: on})
		if got.Settled != (was == on) {
			t.Errorf("settled %v: it was %v and should be %v", got.Settled, was, on)
		}
		f.until("the wanted state", func() bool {
			return f.again(f.w, box).States.Has(commonv1.ElementState_ELEMENT_STATE_CHECKED) == on
		})
	}
	f.seen("check box 'checkbutton' checked")
}

func (f *factory) numbers(t *testing.T) {
	slider, spin := f.enabled(commonv1.Role_ROLE_SLIDER), f.enabled(commonv1.Role_ROLE_SPIN_BUTTON)
	f.perform(f.w, slider, executor.Performance{Verb: commonv1.Verb_VERB_SET_VALUE, Number: 77})
	if now := f.again(f.w, slider); now.Value != "77" || !now.TakesNumber || now.Range == nil {
		t.Errorf("read back as %+v", now)
	}
	f.seen("slider '' value 77.0")
	f.perform(f.w, spin, executor.Performance{Verb: commonv1.Verb_VERB_SET_VALUE, Number: 12})
	f.seen("spin button '' value 12.0")
	got := f.perform(f.w, spin, executor.Performance{Verb: commonv1.Verb_VERB_TYPE_TEXT, Text: "34"})
	if now := f.again(f.w, spin); now.Value != "34" || got.Count != 2 {
		t.Errorf("read back as %q, %+v", now.Value, got)
	}
}

func (f *factory) entry(t *testing.T) {
	entry := f.find(f.tree, "entry", func(n *executor.Node) bool {
		return n.Role == commonv1.Role_ROLE_TEXT_FIELD && n.TakesText &&
			n.States.Has(commonv1.ElementState_ELEMENT_STATE_ENABLED)
	})
	const text = "héllo ✓ 日本"
	got := f.perform(f.w, entry, executor.Performance{Verb: commonv1.Verb_VERB_TYPE_TEXT, Text: text})
	if now := f.again(f.w, entry); now.Value != text || got.Count != 10 {
		t.Errorf("read back as %q, %+v", now.Value, got)
	}
	got = f.perform(f.w, entry, executor.Performance{
		Verb: commonv1.Verb_VERB_TYPE_TEXT, Text: " 🙂", Mode: commonv1.TextMode_TEXT_MODE_APPEND,
	})
	if got.Count != 2 {
		t.Errorf("appended %+v", got)
	}
	f.seen("'" + text + " 🙂'")
}

func (f *factory) choices(t *testing.T) {
	combo := f.find(f.tree, "combo", named(commonv1.Role_ROLE_COMBO_BOX, "Middle"))
	choose := commonv1.Verb_VERB_SELECT_OPTION
	f.perform(f.w, combo, executor.Performance{Verb: choose, Text: "Right"})
	if now := f.again(f.w, combo); now.Value != "Right" {
		t.Errorf("read back as %q", now.Value)
	}
	none := f.try(f.w, combo, executor.Performance{Verb: choose, Text: "nothing"})
	if none.Answer != refusal.AnswerElementNotActionable {
		t.Errorf("an option that is not there: %+v", none)
	}
	tab := f.find(f.tree, "tab", named(commonv1.Role_ROLE_TAB, "page 3"))
	if got := f.perform(f.w, tab, executor.Performance{Verb: click}); got.Route !=
		commonv1.Route_ROUTE_ACCESSIBILITY_SELECTION {
		t.Errorf("pressed by %v", got.Route)
	}
	f.seen("page tab 'page 3' selected")
	tabs := f.find(f.tree, "tab list", role(commonv1.Role_ROLE_TAB_LIST))
	f.perform(f.w, tabs, executor.Performance{Verb: choose, Text: "page 2"})
	f.seen("page tab 'page 2' selected")
}

// refusals are acts that send nothing.
func (r *rig) refusals(w executor.Window, tree *executor.Tree) {
	t := r.t
	box := r.find(tree, "check box", func(n *executor.Node) bool {
		return n.Role == commonv1.Role_ROLE_CHECK_BOX && n.States.Has(commonv1.ElementState_ELEMENT_STATE_ENABLED)
	})
	off := r.find(tree, "disabled", func(n *executor.Node) bool {
		return n.Role == commonv1.Role_ROLE_CHECK_BOX && !n.States.Has(commonv1.ElementState_ELEMENT_STATE_ENABLED)
	})
	other := w
	other.Identity.Birth++
	restarted := w
	restarted.Identity.Start++
	gone := w
	gone.Identity.ID++
	for _, c := range []struct {
		name string
		w    executor.Window
		n    executor.Node
		p    executor.Performance
		want refusal.Answer
	}{
		{"disabled", w, off, executor.Performance{Verb: click}, refusal.AnswerElementDisabled},
		{"focus", w, box, executor.Performance{Verb: commonv1.Verb_VERB_FOCUS_ELEMENT}, refusal.AnswerNotSupported},
		{"route", w, box, executor.Performance{
			Verb: click, Routes: []commonv1.Route{commonv1.Route_ROUTE_ACCESSIBILITY_TEXT},
		}, refusal.AnswerNoPermittedRoute},
		{
			"text into a box", w, box,
			executor.Performance{Verb: commonv1.Verb_VERB_TYPE_TEXT, Text: "x"},
			refusal.AnswerElementNotActionable,
		},
		{"menu", w, box, executor.Performance{
			Verb: commonv1.Verb_VERB_PERFORM, Action: commonv1.ElementAction_ELEMENT_ACTION_SHOW_MENU,
		}, refusal.AnswerNotSupported},
		{"another window of the id", other, box, executor.Performance{Verb: click}, refusal.AnswerWindowChanged},
		{"another process of the id", restarted, box, executor.Performance{Verb: click}, refusal.AnswerProcessReplaced},
		{"no window", gone, box, executor.Performance{Verb: click}, refusal.AnswerWindowGone},
		{
			"no element", w,
			executor.Node{Object: box.Object + "0"},
			executor.Performance{Verb: click},
			refusal.AnswerElementReleased,
		},
	} {
		if got := r.try(c.w, c.n, c.p); got.Sent != executor.NotSent || got.Answer != c.want {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
	asked := 0
	got := r.desk.Perform(t.Context(), executor.Performance{
		Window: w.Identity, Object: box.Object, Verb: click, Routes: allRoutes(),
	}, func(now executor.Node) refusal.Answer {
		asked++
		if now.Object != box.Object || now.Role != box.Role || now.Name != box.Name {
			t.Errorf("asked about %+v", now)
		}
		return refusal.AnswerElementChanged
	})
	if got.Answer != refusal.AnswerElementChanged || asked != 1 {
		t.Errorf("a check that says no, asked %d times: %+v", asked, got)
	}
}

func TestZenityAnswersWithWhatWasTyped(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		need(t, "zenity")
		r.theUser()
		// Started after the desk came up, ended, and started again.
		for _, text := range []string{"first", "héllo ✓ 日本"} {
			var out strings.Builder
			p, err := r.home.Launch(privatedesk.Command{
				Args: []string{"zenity", "--entry", "--title", "question", "--text", "say"}, Stdout: &out,
			})
			if err != nil {
				t.Fatal(err)
			}
			w := r.window(p.PID())
			tree := r.tree(w)
			entry := r.find(tree, "entry", func(n *executor.Node) bool { return n.TakesText })
			r.perform(w, entry, executor.Performance{Verb: commonv1.Verb_VERB_SET_VALUE, Text: text})
			if now := r.again(w, entry); now.Value != text {
				t.Errorf("read back as %q", now.Value)
			}
			ok := r.find(tree, "OK", named(button, "OK"))
			if got := r.try(w, ok, executor.Performance{Verb: click}); got.Sent != executor.Accepted {
				t.Fatalf("%+v", got)
			}
			if err := p.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			if out.String() != text+"\n" {
				t.Errorf("zenity says %q", out.String())
			}
			if got := r.try(w, ok, executor.Performance{Verb: click}); got.Answer != refusal.AnswerWindowGone {
				t.Errorf("an act on the ended program: %+v", got)
			}
		}
	})
}

func TestReturnIsPressedOnlyAfterTheWholeText(t *testing.T) {
	r := newRig(t, "openbox")
	need(t, "zenity")
	r.theUser()
	var out strings.Builder
	p, err := r.home.Launch(privatedesk.Command{Args: []string{"zenity", "--entry", "--text", "say"}, Stdout: &out})
	if err != nil {
		t.Fatal(err)
	}
	w := r.window(p.PID())
	tree := r.tree(w)
	entry := r.find(tree, "entry", func(n *executor.Node) bool { return n.TakesText })
	typing := executor.Performance{Verb: commonv1.Verb_VERB_TYPE_TEXT, Text: "done ✓", Submit: true}
	if got := r.try(w, entry, typing); got.Sent != executor.Accepted || got.Count != 6 {
		t.Fatalf("%+v", got)
	}
	if err := p.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if out.String() != "done ✓\n" {
		t.Errorf("zenity says %q", out.String())
	}
	pad := r.window(r.start("mousepad").PID())
	area := r.find(r.tree(pad), "text", role(commonv1.Role_ROLE_TEXT_AREA))
	if got := r.try(pad, area, typing); got.Answer != refusal.AnswerElementNotActionable {
		t.Errorf("a text without an activation: %+v", got)
	}
	if now := r.again(pad, area); now.Value != "" {
		t.Errorf("something was typed: %q", now.Value)
	}
}

func TestSecretsAreNeitherReadNorTouched(t *testing.T) {
	r := newRig(t, "openbox")
	need(t, "zenity")
	w := r.window(r.start("zenity", "--password", "--title", "secret").PID())
	tree := r.tree(w)
	field := r.find(tree, "field", role(commonv1.Role_ROLE_SECURE_FIELD))
	r.outside("xdotool", "windowfocus", "--sync", itoa(int(w.Identity.ID)), "type", "hunter2")
	time.Sleep(300 * time.Millisecond)
	for _, n := range append(r.tree(w).Nodes, r.again(w, field)) {
		if strings.Contains(n.Value+n.Name+n.Description, "hunter2") || n.Secure && n.Value != "" {
			t.Errorf("the secret shows in %v", n.Role)
		}
	}
	if !field.Secure || len(field.Actions) > 0 || field.TakesText || field.Bounds.W == 0 {
		t.Errorf("a field %+v", field)
	}
	for _, v := range []commonv1.Verb{
		click, commonv1.Verb_VERB_TYPE_TEXT, commonv1.Verb_VERB_SET_VALUE, commonv1.Verb_VERB_PERFORM,
	} {
		if got := r.try(w, field, executor.Performance{Verb: v, Text: "x"}); got.Answer != refusal.AnswerElementSecure {
			t.Errorf("%v: %+v", v, got)
		}
	}
}

func TestStoppedProgramIsNotSentTo(t *testing.T) {
	r := newRig(t, "openbox")
	need(t, "zenity")
	p := r.start("zenity", "--info", "--text", "stopped")
	w := r.window(p.PID())
	tree := r.tree(w)
	ok := r.find(tree, "OK", named(button, "OK"))
	if err := syscall.Kill(p.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for name, ask := range map[string]func() refusal.Answer{
		"perform": func() refusal.Answer { return r.try(w, ok, executor.Performance{Verb: click}).Answer },
		"tree": func() refusal.Answer {
			_, err := r.desk.ReadTree(t.Context(), w.Identity, executor.TreeLimits{})
			return answer(t, err)
		},
		"reread": func() refusal.Answer {
			_, err := r.desk.Reread(t.Context(), w.Identity, ok.Object)
			return answer(t, err)
		},
	} {
		begin := time.Now()
		if got := ask(); got != refusal.AnswerTargetUnresponsive {
			t.Errorf("%s: %v", name, got)
		}
		if took := time.Since(begin); took > 900*time.Millisecond {
			t.Errorf("%s took %v", name, took)
		}
	}
	if len(r.windows()) == 0 {
		t.Error("a stopped program's window is not listed")
	}
	if err := syscall.Kill(p.PID(), syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	time.Sleep(300 * time.Millisecond)
	if len(r.windows()) == 0 {
		t.Error("something was sent to the stopped program")
	}
	r.until("an answer", func() bool { return r.try(w, ok, executor.Performance{Verb: click}).Sent == executor.Accepted })
}

func TestCoveredWindowIsCapturedAsIfUncovered(t *testing.T) {
	r := newRig(t, "openbox")
	need(t, "zenity", "mousepad")
	below := r.window(r.start("zenity", "--info", "--text", "below", "--title", "below").PID())
	r.tree(below)
	time.Sleep(500 * time.Millisecond) // until it is drawn
	free := r.capture(below)
	over := r.window(r.start("mousepad").PID())
	r.outside("xdotool", "windowmove", "--sync", itoa(int(over.Identity.ID)), "200", "100",
		"windowsize", itoa(int(over.Identity.ID)), "900", "600", "windowactivate", itoa(int(over.Identity.ID)))
	time.Sleep(500 * time.Millisecond)
	covered := r.capture(below)
	if free.Image.Rect != covered.Image.Rect || covered.Scale != 1 {
		t.Fatalf("%v %v", free.Image.Rect, covered.Image.Rect)
	}
	differs := 0
	for i := range free.Image.Pix {
		if free.Image.Pix[i] != covered.Image.Pix[i] {
			differs++
		}
	}
	// The default button loses its focus ring with the window's focus.
	if differs > len(free.Image.Pix)/10 {
		t.Errorf("%d of %d bytes differ", differs, len(free.Image.Pix))
	}
	r.outside("xdotool", "windowminimize", "--sync", itoa(int(below.Identity.ID)))
	r.until("a hidden window", func() bool { return r.byID(below).Hidden })
	_, err := r.desk.Capture(t.Context(), below.Identity)
	if got := answer(t, err); got != refusal.AnswerWindowHidden {
		t.Errorf("a hidden window: %v", got)
	}
	ok := r.find(r.tree(below), "OK", named(button, "OK"))
	if got := r.try(below, ok, executor.Performance{Verb: click}); got.Sent != executor.Accepted {
		t.Errorf("a press in a minimised window: %+v", got)
	}
}

func (r *rig) capture(w executor.Window) *executor.Capture {
	r.t.Helper()
	c, err := r.desk.Capture(r.t.Context(), w.Identity)
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

func (r *rig) byID(w executor.Window) executor.Window {
	for _, now := range r.windows() {
		if now.Identity == w.Identity {
			return now
		}
	}
	return executor.Window{}
}

func TestMenusAreSurfacesOfTheirWindow(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		need(t, "mousepad")
		p := r.start("mousepad")
		w := r.window(p.PID())
		tree := r.tree(w)
		listed := len(r.windows())
		r.find(tree, "a leaf of a closed menu", named(commonv1.Role_ROLE_MENU_ITEM, "About"))
		edit := r.find(tree, "the menu", named(commonv1.Role_ROLE_MENU, "Edit"))
		at := r.byID(w)
		// The user opens a menu.
		r.outside("xdotool", "mousemove", itoa(int(at.Bounds.X+edit.Bounds.X+edit.Bounds.W/2)),
			itoa(int(at.Bounds.Y+edit.Bounds.Y+edit.Bounds.H/2)), "click", "1")
		r.until("a menu", func() bool { return len(r.byID(w).Surfaces) == 2 })
		now := r.byID(w)
		if now.Surfaces[1].Kind != commonv1.SurfaceKind_SURFACE_KIND_MENU || len(r.windows()) != listed {
			t.Errorf("listed as %+v of %d windows", now.Surfaces, len(r.windows()))
		}
		c := r.capture(w)
		if float64(c.Image.Rect.Dx()) < now.Bounds.W || c.Scale != 1 {
			t.Errorf("a picture of %v for %v", c.Image.Rect, now.Bounds)
		}
		r.outside("xdotool", "key", "Escape")
		r.until("no menu", func() bool { return len(r.byID(w).Surfaces) == 1 })
	})
}

func TestWindowsCarryTheIdentityTheSystemGives(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		need(t, "mousepad", "zenity")
		p, q := r.start("mousepad"), r.start("zenity", "--info", "--text", "x", "--title", "hello")
		a, b := r.window(p.PID()), r.window(q.PID())
		if a.Identity.App != "org.xfce.mousepad" || b.Identity.App != "exe:/usr/bin/zenity" || b.Title != "hello" {
			t.Errorf("%+v %+v", a.Identity, b.Identity)
		}
		if info := r.outside("xwininfo", "-id", itoa(int(b.Identity.ID))); !strings.Contains(info, "hello") ||
			!strings.Contains(info, "Width: "+itoa(int(r.byID(b).Bounds.W))) {
			t.Errorf("xwininfo says %s", info)
		}
		for _, w := range r.windows() {
			if w.Scale != 1 || len(w.Surfaces) != 1 || w.Surfaces[0].ID != w.Identity.ID || w.Identity.Birth == 0 {
				t.Errorf("%+v", w)
			}
		}
		apps, err := r.desk.Apps(t.Context(), "")
		if err != nil || len(apps) != 2 {
			t.Errorf("apps %+v %v", apps, err)
		}
		if apps, err = r.desk.Apps(t.Context(), "CALCULATOR"); err != nil || len(apps) == 0 || apps[0].Windows != 0 {
			t.Errorf("apps %+v %v", apps, err)
		}
		for _, ab := range r.desk.Abilities(t.Context()) {
			want := ab.Kind <= commonv1.AbilityKind_ABILITY_KIND_LAUNCH
			if ab.Able != want {
				t.Errorf("%+v", ab)
			}
		}
	})
}

func TestChangesAreTold(t *testing.T) {
	r := newRig(t, "openbox")
	need(t, "zenity")
	changes, stop := r.desk.Watch(0)
	defer stop()
	p := r.start("zenity", "--entry", "--text", "x")
	r.await(changes, func(c executor.Change) bool { return c.Kind == executor.ChangeWindows })
	w := r.window(p.PID())
	entry := r.find(r.tree(w), "entry", func(n *executor.Node) bool { return n.TakesText })
	// A subscriber that was not read from has lost what came last.
	changes, stopAgain := r.desk.Watch(0)
	defer stopAgain()
	r.try(w, entry, executor.Performance{Verb: commonv1.Verb_VERB_SET_VALUE, Text: "changed"})
	r.await(changes, func(c executor.Change) bool {
		return c.Kind == executor.ChangeTree && c.PID == w.Identity.PID
	})
	before := r.sample().Input
	r.outside("xdotool", "mousemove_relative", "10", "10")
	r.until("the user's input to be counted", func() bool { return r.sample().Input > before })
}

func (r *rig) await(changes <-chan executor.Change, is func(executor.Change) bool) {
	r.t.Helper()
	end := time.After(readyMax)
	for {
		select {
		case c, open := <-changes:
			if !open {
				r.t.Fatal("the stream ended")
			}
			if is(c) {
				return
			}
		case <-end:
			r.t.Fatal("no such change")
		}
	}
}

func TestDeskEndsWithItsServer(t *testing.T) {
	need(t)
	home, err := privatedesk.Start(t.Context(), privatedesk.Options{})
	if err != nil {
		t.Fatal(err)
	}
	desk, err := New(t.Context(), configOf(home.Env()))
	if err != nil {
		t.Fatal(err)
	}
	if err := home.Close(); err != nil {
		t.Error(err)
	}
	select {
	case <-desk.Done():
	case <-time.After(readyMax):
		t.Fatal("the desk outlives its server")
	}
	for _, a := range desk.Abilities(t.Context()) {
		if a.Able {
			t.Errorf("%+v", a)
		}
	}
	if _, err := desk.Windows(t.Context()); answer(t, err) != refusal.AnswerUnavailable {
		t.Errorf("windows: %v", err)
	}
	if err := desk.Close(); err != nil {
		t.Error(err)
	}
}
