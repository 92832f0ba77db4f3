//go:build linux && desk

package privatedesk

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
	"golang.org/x/sys/unix"
)

const (
	// asCommand makes the test executable behave as the command "desktop".
	asCommand = "PRIVATEDESK_TEST_AS_COMMAND"
	// readyMax is how long a program under test may take to do what is waited for.
	readyMax = 20 * time.Second
)

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		os.Exit(Main(os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// need skips a test whose programs are not installed, except in CI, where they have to be.
func need(t *testing.T, programs ...string) {
	t.Helper()
	missing := Missing(programs...)
	if len(missing) == 0 {
		return
	}
	err := &MissingError{Requirements: missing}
	if os.Getenv("CI") != "" {
		t.Fatal(err)
	}
	t.Skip(err)
}

func startDesktop(t *testing.T, o Options) *Desktop {
	t.Helper()
	need(t, o.WindowManager)
	begin := time.Now()
	d, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("started %s in %v", d.Display(), time.Since(begin).Round(time.Millisecond))
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return d
}

// eventually waits until a condition holds.
func eventually(t *testing.T, limit time.Duration, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(limit)
	for !holds() {
		select {
		case <-deadline:
			t.Fatalf("not within %v: %s", limit, what)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// output runs a program on the desktop to its end.
func output(t *testing.T, d *Desktop, env []string, argv ...string) (string, int) {
	t.Helper()
	var out bytes.Buffer
	p, err := d.Launch(Command{Args: argv, Env: env, Stdout: &out, Stderr: &out})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), readyMax)
	defer cancel()
	var exit *exec.ExitError
	if err := p.Wait(ctx); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), p.ExitCode()
}

// mentioning lists the living processes that have a text in their command line or environment. It is written apart
// from sweep on purpose, and casts a wider net.
func mentioning(t *testing.T, text string) []string {
	t.Helper()
	var found []string
	procs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, proc := range procs {
		if filepath.Base(proc) == strconv.Itoa(os.Getpid()) {
			continue
		}
		cmdline, _ := os.ReadFile(proc + "/cmdline")
		environ, _ := os.ReadFile(proc + "/environ")
		if bytes.Contains(cmdline, []byte(text)) || bytes.Contains(environ, []byte(text)) {
			found = append(found, filepath.Base(proc)+" "+string(bytes.ReplaceAll(cmdline, []byte{0}, []byte(" "))))
		}
	}
	return found
}

func checkGone(t *testing.T, dir, display string) {
	t.Helper()
	if left := mentioning(t, dir); len(left) > 0 {
		t.Errorf("left over: %q", left)
	}
	if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory is still there: %v", err)
	}
	// Another server may have taken the number since, but nobody takes one whose socket was left behind.
	if _, err := os.Lstat(serverSocket(display)); err == nil {
		conn, err := net.DialTimeout("unix", serverSocket(display), time.Second)
		if errors.Is(err, unix.ECONNREFUSED) {
			t.Error("the server's socket is still there")
		}
		if err == nil {
			_ = conn.Close()
		}
	}
}

func TestProgramsGetExactlyTheEnvironment(t *testing.T) {
	t.Setenv("GTK_MODULES", "leak")
	t.Setenv("WAYLAND_DISPLAY", "leak")
	d := startDesktop(t, Options{})
	out, code := output(t, d, []string{"EXTRA=1"}, "env")
	got := strings.Split(strings.TrimSpace(out), "\n")
	want := append(d.Env(), "EXTRA=1")
	slices.Sort(got)
	slices.Sort(want)
	if code != 0 || !slices.Equal(got, want) {
		t.Errorf("code %d, environment:\n got %q\nwant %q", code, got, want)
	}
	for _, e := range got {
		if strings.Contains(e, "leak") {
			t.Errorf("leaked: %s", e)
		}
	}
	// Descriptors: the standard ones, and the one ls opens to look.
	if out, _ := output(t, d, nil, "ls", "/proc/self/fd"); len(strings.Fields(out)) != 4 {
		t.Errorf("descriptors %q, want four", strings.Fields(out))
	}
	if out, _ := output(t, d, nil, "pwd"); strings.TrimSpace(out) != d.home() {
		t.Errorf("working directory %q, want the home", out)
	}
}

func TestServerRefusesClientsWithoutTheCookie(t *testing.T) {
	d := startDesktop(t, Options{})
	other := append([]byte{^d.cookie[0]}, d.cookie[1:]...)
	tests := []struct {
		name   string
		cookie []byte
		want   error
	}{
		{name: "none", want: errRefused},
		{name: "wrong", cookie: other, want: errRefused},
		{name: "right", cookie: d.cookie},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := tryServer(t.Context(), d.display, tt.cookie); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
	for _, name := range []string{"Xserver", "Xauthority"} {
		info, err := os.Stat(filepath.Join(d.Dir(), name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v, %v", name, info.Mode(), err)
		}
	}
	need(t, "xdpyinfo")
	if out, code := output(t, d, nil, "xdpyinfo"); code != 0 {
		t.Errorf("xdpyinfo with the cookie failed: %s", out)
	}
	if _, code := output(t, d, []string{"XAUTHORITY=/dev/null"}, "xdpyinfo"); code == 0 {
		t.Error("xdpyinfo without the cookie was let in")
	}
}

func TestServerStaysClosedWhenProgramsEmptyTheirAuthorityFile(t *testing.T) {
	d := startDesktop(t, Options{})
	if err := os.Truncate(authorityFile(d.Dir()), 0); err != nil {
		t.Fatal(err)
	}
	// The server looks at its file again at each new connection.
	if err := tryServer(t.Context(), d.display, nil); !errors.Is(err, errRefused) {
		t.Errorf("got %v, want %v", err, errRefused)
	}
}

func TestScreenHasTheSizeAskedFor(t *testing.T) {
	need(t, "xdpyinfo")
	d := startDesktop(t, Options{Size: Size{800, 600}})
	out, _ := output(t, d, nil, "xdpyinfo")
	if !strings.Contains(out, "dimensions:    800x600 pixels") || !strings.Contains(out, "depth of root window:    24") {
		t.Error("not 800x600 with depth 24")
	}
}

func TestAccessibilityIsOnBeforePrograms(t *testing.T) {
	d := startDesktop(t, Options{})
	conn, err := dbus.Connect(d.busAddress)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	v, err := conn.Object(busName, busPath).GetProperty(statusAPI + "." + isEnabled)
	if err != nil || v.Value() != true {
		t.Errorf("IsEnabled = %v, %v", v, err)
	}
	bus, err := dbus.Connect(d.AccessibilityAddress())
	if err != nil {
		t.Fatal(err)
	}
	defer bus.Close()
	if !strings.Contains(d.AccessibilityAddress(), d.runtime()) {
		t.Errorf("the accessibility bus is not in the runtime directory")
	}
}

func TestProgramsAreSeenOnTheAccessibilityBus(t *testing.T) {
	need(t, "zenity")
	d := startDesktop(t, Options{WindowManager: "openbox"})
	if _, err := d.Run("zenity", nil, "zenity", "--info", "--text=hello"); err != nil {
		t.Fatal(err)
	}
	bus, err := dbus.Connect(d.AccessibilityAddress())
	if err != nil {
		t.Fatal(err)
	}
	defer bus.Close()
	root := bus.Object("org.a11y.atspi.Registry", "/org/a11y/atspi/accessible/root")
	eventually(t, readyMax, "an application on the accessibility bus", func() bool {
		v, err := root.GetProperty("org.a11y.atspi.Accessible.ChildCount")
		n, ok := v.Value().(int32)
		return err == nil && ok && n == 1
	})
}

func TestManagerManagesWhenStartReturns(t *testing.T) {
	need(t, "xprop")
	d := startDesktop(t, Options{WindowManager: "openbox"})
	eventually(t, readyMax, "a window manager named Openbox", func() bool {
		out, _ := output(t, d, nil, "xprop", "-root", "_NET_SUPPORTING_WM_CHECK")
		return strings.Contains(out, "window id")
	})
}

// crowd starts programs of the kinds that are hard to get rid of.
func crowd(t *testing.T, d *Desktop) {
	t.Helper()
	for _, argv := range [][]string{
		{"mousepad"},
		{"gnome-calculator"},
		{"zenity", "--entry"},
		{"sh", "-c", "sleep 1000 & sleep 1001"},             // leaves a process in its group
		{"sh", "-c", "setsid sleep 1002 >/dev/null 2>&1 &"}, // leaves one in a session of its own, and ends
		{"sh", "-c", "trap '' TERM HUP; while :; do sleep 1003; done"},
		{"env", "-i", "sh", "-c", "sleep 1004 & sleep 1005"}, // hides its environment
		{"sh", "-c", "env -i setsid sleep 1006 & wait"},      // hides it in a session of its own; known by its parent
	} {
		if _, err := d.Run("", nil, argv...); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, readyMax, "two windows", func() bool {
		out, _ := output(t, d, nil, "xdotool", "search", "--onlyvisible", "--name", ".")
		return len(strings.Fields(out)) >= 2
	})
}

func TestCloseLeavesNothingBehind(t *testing.T) {
	need(t, "mousepad", "gnome-calculator", "zenity", "xdotool", "openbox")
	sleepers := func() (found []string) {
		for n := 1000; n <= 1006; n++ {
			found = append(found, mentioning(t, "sleep\x00"+strconv.Itoa(n))...)
		}
		return found
	}
	before := sleepers()
	var desktops []*Desktop
	for i := range 5 {
		o := Options{}
		if i%2 == 0 {
			o.WindowManager = "openbox"
		}
		d := startDesktop(t, o)
		crowd(t, d)
		t.Logf("%d processes on %s", len(mentioning(t, d.Dir())), d.Display())
		desktops = append(desktops, d)
	}
	for _, d := range desktops {
		begin := time.Now()
		if err := d.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		t.Logf("closed %s in %v", d.Display(), time.Since(begin).Round(time.Millisecond))
		checkGone(t, d.Dir(), d.Display())
	}
	if left := sleepers(); len(left) != len(before) {
		t.Errorf("sleepers left: %q", left)
	}
}

func TestCloseIsQuickWhenProgramsObey(t *testing.T) {
	d := startDesktop(t, Options{WindowManager: "openbox"})
	begin := time.Now()
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	took := time.Since(begin)
	t.Logf("closed in %v", took.Round(time.Millisecond))
	if took >= stopGrace {
		t.Errorf("took %v: something had to be killed", took)
	}
	checkGone(t, d.Dir(), d.Display())
	if err := d.Err(); err != nil {
		t.Errorf("an orderly end is no failure: %v", err)
	}
	if _, err := d.Run("", nil, "true"); !errors.Is(err, ErrClosed) {
		t.Errorf("run after close: %v, want ErrClosed", err)
	}
	select {
	case <-d.Done():
	default:
		t.Error("Done is open after Close")
	}
}

func TestDoneTellsWhatDied(t *testing.T) {
	tests := []struct {
		name string
		pid  func(*Desktop) int
		part Part
	}{
		{name: "server", pid: func(d *Desktop) int { return d.server.PID() }, part: PartServer},
		{name: "bus", pid: func(d *Desktop) int { return d.bus.PID() }, part: PartBus},
		{name: "keeper", pid: func(d *Desktop) int { return d.keeper.cmd.Process.Pid }, part: PartKeeper},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := startDesktop(t, Options{})
			if err := unix.Kill(tt.pid(d), unix.SIGKILL); err != nil {
				t.Fatal(err)
			}
			select {
			case <-d.Done():
			case <-time.After(readyMax):
				t.Fatal("Done stays open")
			}
			var died *DiedError
			if !errors.As(d.Err(), &died) || died.Part != tt.part {
				t.Errorf("got %v, want %v", d.Err(), tt.part)
			}
			if err := d.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
			checkGone(t, d.Dir(), d.Display())
		})
	}
}

func TestFailedStartLeavesNothingBehind(t *testing.T) {
	need(t)
	base, err := os.MkdirTemp("/tmp", "pd")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	tests := []struct {
		name    string
		limit   time.Duration
		manager string
		part    Part // empty: whichever the time runs out in
		err     error
	}{
		{name: "manager ends", limit: readyMax, manager: "true", part: PartManager, err: ErrEndedEarly},
		{name: "no time at all", limit: 0, part: PartDirectory, err: context.DeadlineExceeded},
		{name: "too little time", limit: 30 * time.Millisecond, manager: "cat", err: context.DeadlineExceeded},
		// A program that runs and manages nothing.
		{name: "no manager", limit: 2 * time.Second, manager: "yes", part: PartManager, err: context.DeadlineExceeded},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(base, strings.ReplaceAll(tt.name, " ", "-"))
			ctx, cancel := context.WithTimeout(t.Context(), tt.limit)
			defer cancel()
			_, err := Start(ctx, Options{Dir: dir, WindowManager: tt.manager})
			var failed *StartError
			if !errors.As(err, &failed) || (tt.part != "" && failed.Part != tt.part) || !errors.Is(err, tt.err) {
				t.Errorf("got %v, want %v in %v", err, tt.err, tt.part)
			}
			if left := mentioning(t, dir); len(left) > 0 {
				t.Errorf("left over: %q", left)
			}
			if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
				t.Error("the directory is still there")
			}
		})
	}
	var missing *MissingError
	if _, err := Start(t.Context(), Options{WindowManager: "unheard-of"}); !errors.As(err, &missing) {
		t.Errorf("got %v, want a MissingError", err)
	}
}

func TestDesktopsStartTogether(t *testing.T) {
	need(t)
	results := make(chan *Desktop, 3)
	for range cap(results) {
		go func() {
			d, err := Start(t.Context(), Options{})
			if err != nil {
				t.Error(err)
			}
			results <- d
		}()
	}
	seen := make(map[string]bool)
	for range cap(results) {
		d := <-results
		if d == nil {
			continue
		}
		if seen[d.Display()] {
			t.Errorf("two desktops on %s", d.Display())
		}
		seen[d.Display()] = true
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestProgramsAreLoggedAndTheirEndIsKnown(t *testing.T) {
	logs := t.TempDir()
	d := startDesktop(t, Options{LogDir: logs})
	p, err := d.Run("talker", nil, "sh", "-c", "echo said; kill -9 $$")
	if err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	if code := p.ExitCode(); code != exitSignalBase+9 {
		t.Errorf("exit code %d, want 137", code)
	}
	if got, err := os.ReadFile(filepath.Join(logs, "talker.log")); err != nil || string(got) != "said\n" {
		t.Errorf("log %q, %v", got, err)
	}
	stopped, err := d.Run("", nil, "sleep", "1000")
	if err != nil {
		t.Fatal(err)
	}
	if code := stopped.ExitCode(); code != -1 {
		t.Errorf("exit code %d while running", code)
	}
	stopped.Stop()
	if code := stopped.ExitCode(); code != exitSignalBase+15 {
		t.Errorf("exit code %d, want 143", code)
	}
	var failed *StartError
	if _, err := d.Run("", nil, "unheard-of"); !errors.As(err, &failed) || !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("got %v, want a StartError", err)
	}
}
