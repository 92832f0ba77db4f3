//go:build desk

// Package desk runs whole acts, as an agent sends them, on real X servers with real
// applications. Each effect is confirmed twice: by fairlead's readback, and by a
// program that is not from this repository. The user's pointer, focus, active window
// and stacking are read by such programs too, and must not change (C0.3).
package desk

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"

	"fairlead.dev/executor-linux/privatedesk"
	"fairlead.dev/executor-linux/x11desk"
	"fairlead.dev/test/harness"
)

// readyMax bounds the wait for an application to show something.
const readyMax = 30 * time.Second

// managers are the window managers every test runs under; the first is none.
var managers = []string{"", "openbox"}

// rig is a private desktop driven by the whole system.
type rig struct {
	*testing.T
	home  *privatedesk.Desktop
	agent *harness.Agent
}

func start(t *testing.T, wm string) *rig {
	t.Helper()
	if missing := privatedesk.Missing("xdotool", "xprop", "xwininfo", "zenity", "gtk3-widget-factory"); len(missing) > 0 {
		if os.Getenv("CI") != "" {
			t.Fatalf("not installed: %v", privatedesk.Packages(missing))
		}
		t.Skipf("not installed: %v", privatedesk.Packages(missing))
	}
	home, err := privatedesk.Start(t.Context(), privatedesk.Options{WindowManager: wm})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = home.Close() })
	env := map[string]string{}
	for _, kv := range home.Env() {
		k, v, _ := strings.Cut(kv, "=")
		env[k] = v
	}
	d, err := x11desk.New(context.Background(), x11desk.Config{
		Display: env["DISPLAY"], XAuthority: env["XAUTHORITY"], SessionBus: env["DBUS_SESSION_BUS_ADDRESS"], Env: home.Env(),
	})
	if err != nil {
		t.Fatal(err)
	}
	s := harness.Start(t, harness.Options{Platform: d})
	return &rig{T: t, home: home, agent: s.Agent()}
}

// outside runs a program of the desktop that is not ours and returns what it printed.
func (r *rig) outside(argv ...string) string {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), readyMax)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = r.home.Env()
	out, err := cmd.Output()
	if err != nil {
		return "error: " + err.Error()
	}
	return strings.TrimSpace(string(out))
}

// user is what belongs to the user, as others see it.
func (r *rig) user() string {
	r.Helper()
	tree := r.outside("xwininfo", "-root", "-children")
	var stacking []string
	for _, line := range strings.Split(tree, "\n") {
		if f := strings.Fields(line); len(f) > 0 && strings.HasPrefix(f[0], "0x") {
			stacking = append(stacking, f[0])
		}
	}
	return fmt.Sprintf("pointer %s\nfocus %s\nactive %s\nstacking %v", r.outside("xdotool", "getmouselocation"),
		r.outside("xdotool", "getwindowfocus", "-f"), r.outside("xprop", "-root", "_NET_ACTIVE_WINDOW"), stacking)
}

// undisturbed runs f and fails when it changed anything of the user's.
func (r *rig) undisturbed(what string, f func()) {
	r.Helper()
	before := r.user()
	f()
	if after := r.user(); after != before {
		r.Errorf("%s disturbed the user\nbefore %s\nafter  %s", what, before, after)
	}
}

// window waits until an app has a window of that title and observes it.
func (r *rig) window(app, title string, picture bool) *commonv1.Observation {
	r.Helper()
	for end := time.Now().Add(readyMax); time.Now().Before(end); {
		for _, w := range r.agent.Windows(app) {
			if w.GetTitle() != title {
				continue
			}
			o := r.agent.Look(&hostv1.ObserveRequest{
				Target: &hostv1.ObserveRequest_Window{Window: w.GetWindow()}, Picture: picture,
			}).GetObservation()
			if o.GetTreeQuality() == commonv1.TreeQuality_TREE_QUALITY_USABLE && o.GetElementCount() > 1 {
				return o
			}
		}
		r.pause()
	}
	for _, w := range r.agent.Windows(app) {
		r.Logf("there is %v %q", w.GetWindow(), w.GetTitle())
	}
	r.Fatalf("no window %q of %s came up, last seen\n%s", title, app, r.agent.Frame.GetOutline())
	return nil
}

// pause lets an application that was just started go on.
func (r *rig) pause() {
	select {
	case <-time.After(100 * time.Millisecond):
	case <-r.Context().Done():
	}
}

// program is an application that runs on the desktop.
type program struct {
	*privatedesk.Program
	out bytes.Buffer
}

// run starts an application on the desktop, after fairlead came up there.
func (r *rig) run(argv ...string) *program {
	r.Helper()
	p := &program{}
	var err error
	if p.Program, err = r.home.Launch(privatedesk.Command{Name: argv[0], Args: argv, Stdout: &p.out}); err != nil {
		r.Fatal(err)
	}
	r.Cleanup(p.Stop)
	return p
}

// printed waits for the program's end and returns what it printed.
func (r *rig) printed(p *program) string {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), readyMax)
	defer cancel()
	if err := p.Wait(ctx); err != nil {
		r.Fatal(err)
	}
	return strings.TrimSpace(p.out.String())
}

// confirmed fails unless the act was verified and left the user's desk alone.
func (r *rig) confirmed(what string, resp *hostv1.ActResponse) {
	r.Helper()
	if !resp.GetVerified() {
		r.Errorf("%s: outcome %v effect %v refusal %v", what, resp.GetOutcome(), resp.GetEffect(), resp.GetRefusal())
	}
	d := resp.GetDesk()
	for part, change := range map[string]commonv1.DeskChange{
		"pointer": d.GetPointer(), "focus": d.GetFocus(), "active": d.GetActive(), "stacking": d.GetStacking(),
	} {
		if change != commonv1.DeskChange_DESK_CHANGE_UNCHANGED {
			r.Errorf("%s: fairlead itself reports %s %v", what, part, change)
		}
	}
}

// pyatspi asks Debian's accessibility client for the first element of a role that is
// showing: its text, value or checked state.
func (r *rig) pyatspi(app, role, name, what string) string {
	r.Helper()
	return r.outside("/usr/bin/python3", "testdata/ask.py", app, role, name, what)
}

func TestPressCheckSetAndTypeOnGTK(t *testing.T) {
	const app, title = "exe:/usr/bin/gtk3-widget-factory", "gtk3-widget-factory"
	const text = "héllo ✓ 日本"
	for _, wm := range managers {
		t.Run("wm="+wm, func(t *testing.T) {
			r := start(t, wm)
			r.run("zenity", "--info", "--title=User", "--text=mine") // the user's own window
			r.appOf("zenity", "exe:/usr/bin/zenity")
			r.run("gtk3-widget-factory")
			app := r.appOf("gtk3-widget-factory", app)
			r.agent.AcquireAll(app)
			r.window(app, title, false)

			r.undisturbed("a check box", func() {
				e := r.first(commonv1.Role_ROLE_CHECK_BOX)
				was := has(e, commonv1.ElementState_ELEMENT_STATE_CHECKED)
				r.confirmed("check box", r.agent.Do(harness.Click(e.GetId())))
				if got := r.pyatspi("gtk3-widget-factory", "check box", e.GetName(), "checked"); got != fmt.Sprint(!was) {
					t.Errorf("pyatspi reads checked = %s, it was %v before", got, was)
				}
			})
			r.undisturbed("a slider", func() {
				e := r.first(commonv1.Role_ROLE_SLIDER)
				r.confirmed("slider", r.agent.Do(harness.SetValue(e.GetId(), "77")))
				if got := r.pyatspi("gtk3-widget-factory", "slider", e.GetName(), "value"); got != "77.0" {
					t.Errorf("pyatspi reads %s", got)
				}
			})
			r.undisturbed("a text value", func() {
				e := r.editable()
				r.confirmed("text", r.agent.Do(harness.SetValue(e.GetId(), text)))
				if got := r.pyatspi("gtk3-widget-factory", "text", e.GetName(), "text"); got != text {
					t.Errorf("pyatspi reads %q", got)
				}
			})
		})
	}
}

func TestADialogIsFilledAndPressed(t *testing.T) {
	const text = "fünf ✓ Äpfel"
	for _, wm := range managers {
		t.Run("wm="+wm, func(t *testing.T) {
			r := start(t, wm)
			r.run("gtk3-widget-factory") // the user's own window
			r.appOf("gtk3-widget-factory", "exe:/usr/bin/gtk3-widget-factory")
			dialog := r.run("zenity", "--entry", "--title=Ask", "--text=Say")
			app := r.appOf("zenity", "exe:/usr/bin/zenity")
			r.agent.AcquireAll(app)
			r.window(app, "Ask", false)
			r.undisturbed("typing", func() {
				r.confirmed("type", r.agent.Do(harness.TypeText(r.editable().GetId(), text)))
			})
			resp := r.agent.Do(harness.Click(r.agent.Element(commonv1.Role_ROLE_BUTTON, "OK").GetId()))
			// Zenity closes its window and ends. Which of the two is seen first is chance: a
			// window gone while its process lives is evidence, an ended process is none (C7.3).
			closed := resp.GetOutcome() == commonv1.Outcome_OUTCOME_OK &&
				resp.GetObservationMissing() == commonv1.ObservationMissing_OBSERVATION_MISSING_TARGET_CLOSED
			ended := resp.GetOutcome() == commonv1.Outcome_OUTCOME_UNKNOWN && !resp.GetVerified()
			if !closed && !ended {
				t.Errorf("press OK: %v %v %v", resp.GetOutcome(), resp.GetObservationMissing(), resp.GetRefusal())
			}
			if got := r.printed(dialog); got != text {
				t.Errorf("zenity itself printed %q", got)
			}
		})
	}
}

func TestACoveredWindowIsPicturedAsUncovered(t *testing.T) {
	for _, wm := range managers {
		t.Run("wm="+wm, func(t *testing.T) {
			r := start(t, wm)
			r.run("zenity", "--info", "--title=Target", "--text=under", "--no-wrap")
			app := r.appOf("zenity", "exe:/usr/bin/zenity")
			r.agent.AcquireAll(app)
			open := r.picture(app, "Target")
			// Something of another process right over it.
			b := r.agent.Frame.GetBounds()
			r.run("xclock", "-digital", "-geometry", fmt.Sprintf("%.0fx%.0f+%.0f+%.0f", b.GetWidth()+80, b.GetHeight()+80,
				b.GetX()-40, b.GetY()-40))
			r.appOf("xclock", "exe:/usr/bin/xclock")
			covered := r.picture(app, "Target")
			if open.Bounds() != covered.Bounds() {
				t.Fatalf("%v uncovered, %v covered", open.Bounds(), covered.Bounds())
			}
			if n := differing(open, covered); n > open.Bounds().Dx()*open.Bounds().Dy()/100 {
				t.Errorf("%d pixels differ", n)
			}
		})
	}
}

// picture observes with a picture and decodes it.
func (r *rig) picture(app, title string) image.Image {
	r.Helper()
	for end := time.Now().Add(readyMax); time.Now().Before(end); {
		o := r.window(app, title, true)
		if o.GetPicture() != nil {
			img, err := png.Decode(bytes.NewReader(o.GetPicture().GetData()))
			if err != nil {
				r.Fatal(err)
			}
			return img
		}
		r.pause()
	}
	r.Fatalf("no picture: %v", r.agent.Frame.GetPictureAbsence())
	return nil
}

func differing(a, b image.Image) int {
	n := 0
	for y := a.Bounds().Min.Y; y < a.Bounds().Max.Y; y++ {
		for x := a.Bounds().Min.X; x < a.Bounds().Max.X; x++ {
			if a.At(x, y) != b.At(x, y) {
				n++
			}
		}
	}
	return n
}

// appOf waits until a program shows up among the apps under one of the ids it may have.
func (r *rig) appOf(program, id string) string {
	r.Helper()
	if r.agent.Acquire(commonv1.LeaseClass_LEASE_CLASS_METADATA_READ, harness.Desk()).GetRefusal() != nil {
		r.Fatal("the desk may not be listed")
	}
	for end := time.Now().Add(readyMax); time.Now().Before(end); {
		for _, w := range r.agent.Windows("") {
			if app := w.GetWindow().GetAppId(); app == id || strings.Contains(app, program) {
				return app
			}
		}
		r.pause()
	}
	r.Fatalf("no window of %s", program)
	return ""
}

// first is the first enabled element of a role that is in view.
func (r *rig) first(role commonv1.Role) *commonv1.Element {
	r.Helper()
	for _, e := range r.agent.Frame.GetElements() {
		if e.GetRole() == role && has(e, commonv1.ElementState_ELEMENT_STATE_ENABLED) &&
			!has(e, commonv1.ElementState_ELEMENT_STATE_OFFSCREEN) {
			return e
		}
	}
	r.Fatalf("no %v in\n%s", role, r.agent.Frame.GetOutline())
	return nil
}

// editable is the first one-line field that takes text.
func (r *rig) editable() *commonv1.Element {
	r.Helper()
	for _, e := range r.agent.Frame.GetElements() {
		if e.GetRole() == commonv1.Role_ROLE_TEXT_FIELD && has(e, commonv1.ElementState_ELEMENT_STATE_EDITABLE) &&
			has(e, commonv1.ElementState_ELEMENT_STATE_ENABLED) {
			return e
		}
	}
	r.Fatalf("nothing takes text in\n%s", r.agent.Frame.GetOutline())
	return nil
}

func has(e *commonv1.Element, s commonv1.ElementState) bool {
	for _, x := range e.GetStates() {
		if x == s {
			return true
		}
	}
	return false
}
