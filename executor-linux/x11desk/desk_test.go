//go:build desk

package x11desk

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"

	"fairlead.dev/executor-linux/privatedesk"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/refusal"
)

// readyMax is how long a program under test may take to do what is waited for.
const readyMax = 20 * time.Second

// rig is a private desktop with a Desk on it.
type rig struct {
	t    *testing.T
	desk *Desk
	home *privatedesk.Desktop
}

// need skips a test whose programs are not installed, except in CI, where they have to be.
func need(t *testing.T, programs ...string) {
	t.Helper()
	missing := privatedesk.Missing(programs...)
	if len(missing) == 0 {
		return
	}
	err := &privatedesk.MissingError{Requirements: missing}
	if os.Getenv("CI") != "" {
		t.Fatal(err)
	}
	t.Skip(err)
}

// newRig starts a private desktop and looks at it.
func newRig(t *testing.T, wm string) *rig {
	t.Helper()
	need(t, wm, "xdotool", "xprop", "xwininfo")
	home, err := privatedesk.Start(t.Context(), privatedesk.Options{WindowManager: wm})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := home.Close(); err != nil {
			t.Error(err)
		}
	})
	desk, err := New(t.Context(), configOf(home.Env()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := desk.Close(); err != nil {
			t.Error(err)
		}
	})
	return &rig{t: t, desk: desk, home: home}
}

func configOf(env []string) Config {
	c := Config{Env: env}
	for _, kv := range env {
		key, value, _ := strings.Cut(kv, "=")
		switch key {
		case "DISPLAY":
			c.Display = value
		case "XAUTHORITY":
			c.XAuthority = value
		case "DBUS_SESSION_BUS_ADDRESS":
			c.SessionBus = value
		}
	}
	return c
}

// start runs a program on the desktop.
func (r *rig) start(args ...string) *privatedesk.Program {
	r.t.Helper()
	need(r.t, args[0])
	p, err := r.home.Run("", nil, args...)
	if err != nil {
		r.t.Fatal(err)
	}
	return p
}

// outside asks a program that knows nothing of ours.
func (r *rig) outside(args ...string) string {
	r.t.Helper()
	c := exec.CommandContext(r.t.Context(), args[0], args[1:]...)
	c.Env = r.home.Env()
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		r.t.Logf("%s: %v %s", args[0], err, errs.String())
	}
	return out.String()
}

// until polls what no event tells.
func (r *rig) until(what string, ok func() bool) {
	r.t.Helper()
	deadline := time.Now().Add(readyMax)
	for !ok() {
		if time.Now().After(deadline) {
			r.t.Fatalf("waited in vain for %s", what)
		}
		time.Sleep(30 * time.Millisecond)
	}
}

func (r *rig) windows() []executor.Window {
	r.t.Helper()
	w, err := r.desk.Windows(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return w
}

// window waits for the one visible window that a process shows.
func (r *rig) window(pid int) executor.Window {
	r.t.Helper()
	var found executor.Window
	r.until("a window of the process", func() bool {
		for _, w := range r.windows() {
			if int(w.Identity.PID) == pid && !w.Hidden {
				found = w
				return true
			}
		}
		return false
	})
	return found
}

// tree waits for a usable tree.
func (r *rig) tree(w executor.Window) *executor.Tree {
	r.t.Helper()
	var tree *executor.Tree
	r.until("a usable tree", func() bool {
		var err error
		tree, err = r.desk.ReadTree(r.t.Context(), w.Identity, executor.TreeLimits{})
		return err == nil && tree.Quality == commonv1.TreeQuality_TREE_QUALITY_USABLE && len(tree.Nodes) > 3
	})
	return tree
}

// find returns the first element that is wanted.
func (r *rig) find(tree *executor.Tree, what string, is func(*executor.Node) bool) executor.Node {
	r.t.Helper()
	i := slices.IndexFunc(tree.Nodes, func(n executor.Node) bool { return is(&n) })
	if i < 0 {
		r.dump(tree)
		r.t.Fatalf("no %s in the tree", what)
	}
	return tree.Nodes[i]
}

func (r *rig) dump(tree *executor.Tree) {
	depth := make([]int, len(tree.Nodes))
	for i, n := range tree.Nodes {
		if n.Parent >= 0 {
			depth[i] = depth[n.Parent] + 1
		}
		r.t.Logf("%s%v %q =%q %v states=%x s%d %v", strings.Repeat("  ", depth[i]), n.Role, n.Name, n.Value,
			n.Actions, n.States, n.Surface, n.Bounds)
	}
}

func role(want commonv1.Role) func(*executor.Node) bool {
	return func(n *executor.Node) bool { return n.Role == want }
}

func named(want commonv1.Role, name string) func(*executor.Node) bool {
	return func(n *executor.Node) bool { return n.Role == want && n.Name == name }
}

// allRoutes are the semantic routes.
func allRoutes() []commonv1.Route {
	return []commonv1.Route{
		commonv1.Route_ROUTE_ACCESSIBILITY_ACTION, commonv1.Route_ROUTE_ACCESSIBILITY_VALUE,
		commonv1.Route_ROUTE_ACCESSIBILITY_SELECTION, commonv1.Route_ROUTE_ACCESSIBILITY_TEXT,
	}
}

func agree(executor.Node) refusal.Answer { return 0 }

// perform does an act that has to be accepted, and proves that nothing of the user's
// moved, by our own eyes and by those of xdotool and xprop.
func (r *rig) perform(w executor.Window, n executor.Node, p executor.Performance) executor.Delivery {
	r.t.Helper()
	before, ours := r.user(), r.sample()
	got := r.try(w, n, p)
	if got.Sent != executor.Accepted {
		r.t.Fatalf("%v was not accepted: %+v", p.Verb, got)
	}
	time.Sleep(150 * time.Millisecond) // a window manager would need less to raise something
	if after := r.user(); after != before {
		r.t.Errorf("%v changed the user's desk:\n%s\n%s", p.Verb, before, after)
	}
	after := r.sample()
	ours.Stacking, after.Stacking = common(ours.Stacking, after.Stacking), common(after.Stacking, ours.Stacking)
	if a, b := asJSON(ours), asJSON(after); a != b {
		r.t.Errorf("%v changed the desk:\n%s\n%s", p.Verb, a, b)
	}
	return got
}

func common(list, other []uint64) []uint64 {
	return slices.DeleteFunc(slices.Clone(list), func(id uint64) bool { return !slices.Contains(other, id) })
}

func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func (r *rig) try(w executor.Window, n executor.Node, p executor.Performance) executor.Delivery {
	p.Window, p.Object = w.Identity, n.Object
	if p.Routes == nil {
		p.Routes = allRoutes()
	}
	return r.desk.Perform(r.t.Context(), p, agree)
}

// user is the user's state as other programs see it.
func (r *rig) user() string {
	r.t.Helper()
	return strings.Join([]string{
		r.outside("xdotool", "getmouselocation", "--shell"), r.outside("xdotool", "getwindowfocus"),
		r.outside("xprop", "-root", "_NET_ACTIVE_WINDOW"), r.outside("xprop", "-root", "_NET_CLIENT_LIST_STACKING"),
	}, "")
}

func (r *rig) sample() executor.DeskState {
	r.t.Helper()
	s, err := r.desk.Desk(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

// again reads an element again.
func (r *rig) again(w executor.Window, n executor.Node) executor.Node {
	r.t.Helper()
	now, err := r.desk.Reread(r.t.Context(), w.Identity, n.Object)
	if err != nil {
		r.t.Fatal(err)
	}
	return now
}

// answer is the executor answer of an error.
func answer(t *testing.T, err error) refusal.Answer {
	t.Helper()
	var f *executor.Failure
	if !errors.As(err, &f) {
		t.Fatalf("no answer: %v", err)
	}
	return f.Answer
}

// each runs a test without and with a window manager.
func each(t *testing.T, test func(t *testing.T, r *rig)) {
	for _, wm := range []string{"", "openbox"} {
		name := wm
		if name == "" {
			name = "bare"
		}
		t.Run(name, func(t *testing.T) { test(t, newRig(t, wm)) })
	}
}

// took logs how long something takes, the best of a few.
func took(t *testing.T, what string, do func()) {
	t.Helper()
	best := time.Hour
	for range 5 {
		begin := time.Now()
		do()
		best = min(best, time.Since(begin))
	}
	t.Logf("%s: %v", what, best.Round(10*time.Microsecond))
}

func itoa(n int) string { return strconv.Itoa(n) }
