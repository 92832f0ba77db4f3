//go:build desk

package atspi

import (
	"bufio"
	"crypto/rand"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
)

// desk is a private X display with its own session and accessibility bus. Everything in it ends with the test.
type desk struct {
	dir string
	env []string
	bus string
}

// startDesk follows section 1 of linux.md.
func startDesk(t *testing.T) *desk {
	t.Helper()
	need(t, "Xvfb")
	need(t, "dbus-daemon")
	// Sockets need a short directory, and programs leave sockets in it that TempDir could not remove in time.
	dir, err := os.MkdirTemp("/tmp", "atspi")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	for _, sub := range []string{"run", "home"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	d := &desk{dir: dir}
	auth := filepath.Join(dir, "Xauthority")
	writeAuthority(t, auth)
	d.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(dir, "home"), "XDG_RUNTIME_DIR=" + filepath.Join(dir, "run"),
		"XAUTHORITY=" + auth, "LANG=C.UTF-8", "XDG_CURRENT_DESKTOP=", "GIO_USE_VFS=local", "GSETTINGS_BACKEND=memory",
	}
	number := d.tell(t, "Xvfb", "-displayfd", "3", "-screen", "0", "1280x800x24", "-nolisten", "tcp", "-auth", auth,
		"-noreset", "+extension", "GLX", "+extension", "RANDR", "+extension", "Composite")
	d.env = append(d.env, "DISPLAY=:"+number)
	d.bus = d.tell(t, "dbus-daemon", "--session", "--nofork", "--nopidfile", "--nosyslog",
		"--address=unix:path="+filepath.Join(dir, "run", "bus"), "--print-address=3")
	d.env = append(d.env, "DBUS_SESSION_BUS_ADDRESS="+d.bus)
	d.enable(t)
	return d
}

// enable starts the accessibility bus and says that it is used.
func (d *desk) enable(t *testing.T) {
	t.Helper()
	conn, err := dbus.Connect(d.bus)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	object := conn.Object("org.a11y.Bus", "/org/a11y/bus")
	if err := object.CallWithContext(t.Context(), "org.a11y.Bus.GetAddress", 0).Err; err != nil {
		t.Fatal(err)
	}
	if err := object.SetProperty("org.a11y.Status.IsEnabled", dbus.MakeVariant(true)); err != nil {
		t.Fatal(err)
	}
}

// tell starts a program that writes one line to descriptor 3 when it is ready.
func (d *desk) tell(t *testing.T, name string, args ...string) string {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	d.start(t, []*os.File{w}, nil, name, args...)
	_ = w.Close()
	_ = r.SetReadDeadline(time.Now().Add(20 * time.Second))
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		t.Fatalf("%s did not get ready: %v", name, err)
	}
	return strings.TrimSpace(line)
}

// start runs a program in the desk until the test ends.
func (d *desk) start(t *testing.T, extra []*os.File, env []string, name string, args ...string) *exec.Cmd {
	t.Helper()
	need(t, name)
	log, err := os.Create(filepath.Join(d.dir, name+".log"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(name, args...)
	// A question that an application objects to ends it, and with it the test.
	env = append(append([]string{"G_DEBUG=fatal-criticals"}, d.env...), env...)
	cmd.Env, cmd.Dir, cmd.ExtraFiles = env, d.dir, extra
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { _ = cmd.Wait(); close(done) }()
	t.Cleanup(func() {
		group := -cmd.Process.Pid
		_ = syscall.Kill(group, syscall.SIGCONT)
		_ = syscall.Kill(group, syscall.SIGTERM)
		select {
		case <-done:
		case <-time.After(3 * time.Second):
			_ = syscall.Kill(group, syscall.SIGKILL)
			<-done
		}
	})
	return cmd
}

// need skips the test on a machine without the program, except where the programs must be there.
func need(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err == nil {
		return
	}
	if os.Getenv("CI") != "" {
		t.Fatalf("%s is not installed", program)
	}
	t.Skipf("%s is not installed", program)
}

// writeAuthority writes a cookie that is good for any display number.
func writeAuthority(t *testing.T, path string) {
	t.Helper()
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	cookie := make([]byte, 16)
	_, _ = rand.Read(cookie)
	var b []byte
	put := func(s string) {
		b = binary.BigEndian.AppendUint16(b, uint16(len(s)))
		b = append(b, s...)
	}
	for _, family := range []struct {
		number uint16
		host   string
	}{{256, host}, {65535, ""}} {
		b = binary.BigEndian.AppendUint16(b, family.number)
		put(family.host)
		put("")
		put("MIT-MAGIC-COOKIE-1")
		put(string(cookie))
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// dial connects to the desk for the length of the test.
func (d *desk) dial(t *testing.T) *Client {
	t.Helper()
	c, err := Dial(t.Context(), d.bus)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// poll waits until ready is true.
func poll(t *testing.T, what string, limit time.Duration, ready func() bool) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	end := time.After(limit)
	for !ready() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("%s: not within %v", what, limit)
		}
	}
}

// app waits until the program of cmd has a toplevel whose tree has settled.
func app(t *testing.T, c *Client, cmd *exec.Cmd) (Application, Toplevel) {
	t.Helper()
	var found Application
	var top Toplevel
	size := -1
	poll(t, cmd.Args[0]+" on the accessibility bus", 60*time.Second, func() bool {
		apps, err := c.Applications(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range apps {
			if int(a.PID) != cmd.Process.Pid || a.Unresponsive {
				continue
			}
			tops, err := c.Toplevels(t.Context(), a)
			if err != nil || len(tops) == 0 {
				return false
			}
			tree, err := c.ReadTree(t.Context(), tops[0].Ref, Limits{})
			if err != nil {
				return false
			}
			settled := len(tree.Nodes) == size && size > 5
			found, top, size = a, tops[0], len(tree.Nodes)
			return settled
		}
		return false
	})
	return found, top
}

// read reads a tree that must be readable.
func read(t *testing.T, c *Client, top Ref, limits Limits) *Tree {
	t.Helper()
	tree, err := c.ReadTree(t.Context(), top, limits)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// find returns the n-th node for which is holds.
func find(t *testing.T, tree *Tree, what string, nth int, is func(*Node) bool) Node {
	t.Helper()
	for i := range tree.Nodes {
		if !is(&tree.Nodes[i]) {
			continue
		}
		if nth == 0 {
			return tree.Nodes[i]
		}
		nth--
	}
	t.Fatalf("no %s in the tree", what)
	return Node{}
}
