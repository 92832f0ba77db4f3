//go:build desk

package x11

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// desk is a private X server with real applications, for one test.
type desk struct {
	t       *testing.T
	display string
	auth    string
	dir     string
	env     []string
	server  int // process id of Xvfb
}

// need skips a test whose program is missing, except in CI where that is a failure.
func need(t *testing.T, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			if os.Getenv("CI") != "" {
				t.Fatalf("program %s is missing", p)
			}
			t.Skipf("program %s is missing", p)
		}
	}
}

// writeAuth makes a cookie file whose entries match any display number.
func writeAuth(t *testing.T, path string) {
	t.Helper()
	cookie := make([]byte, 16)
	if _, err := rand.Read(cookie); err != nil {
		t.Fatal(err)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	var b []byte
	field := func(s string) {
		b = binary.BigEndian.AppendUint16(b, uint16(len(s)))
		b = append(b, s...)
	}
	for _, e := range []authEntry{{family: familyLocal, address: host}, {family: familyWild}} {
		b = binary.BigEndian.AppendUint16(b, e.family)
		field(e.address)
		field("")
		field(cookieProtocol)
		field(string(cookie))
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// newDesk starts Xvfb and, when wm is not empty, a window manager.
func newDesk(t *testing.T, wm string) *desk {
	t.Helper()
	return newDeskScreen(t, wm, "1280x800x24")
}

func newDeskScreen(t *testing.T, wm, screen string) *desk {
	t.Helper()
	need(t, "Xvfb", "xprop")
	dir := t.TempDir()
	d := &desk{t: t, dir: dir, auth: filepath.Join(dir, "auth")}
	writeAuth(t, d.auth)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	x := exec.Command("Xvfb", "-displayfd", "3", "-screen", "0", screen, "-nolisten", "tcp", "-auth", d.auth,
		"-noreset", "+extension", "Composite", "+extension", "RANDR")
	x.ExtraFiles = []*os.File{w}
	d.env = append(x.Env, "PATH="+os.Getenv("PATH"), "HOME="+dir, "LANG=C.UTF-8", "XDG_RUNTIME_DIR="+dir,
		"XAUTHORITY="+d.auth, "NO_AT_BRIDGE=1", "GSETTINGS_BACKEND=memory", "GIO_USE_VFS=local")
	x.Env = d.env
	d.run(x)
	d.server = x.Process.Pid
	w.Close()
	if err := r.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	number, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	d.display = ":" + strings.TrimSpace(number)
	d.env = append(d.env, "DISPLAY="+d.display)
	if wm != "" {
		need(t, wm)
		d.startWM(wm)
	}
	return d
}

// startWM waits until the window manager is at work. Its first root properties come
// earlier: openbox never maps a window that asks for it in between.
func (d *desk) startWM(wm string) {
	d.t.Helper()
	ready := filepath.Join(d.dir, "ready")
	args := []string{wm}
	if wm == "openbox" {
		args = append(args, "--startup", "touch "+ready)
	}
	d.start(args...)
	d.until("a window manager", func() bool {
		if wm == "openbox" {
			_, err := os.Stat(ready)
			return err == nil
		}
		return strings.Contains(d.output("xprop", "-root", "_NET_SUPPORTING_WM_CHECK"), "window id")
	})
}

// run starts a process that ends with the test, with all of its children.
func (d *desk) run(c *exec.Cmd) {
	d.t.Helper()
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := c.Start(); err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() {
		// A stopped process ends by SIGKILL too.
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
		_ = c.Wait()
	})
}

// start runs a program on the desk.
func (d *desk) start(args ...string) *exec.Cmd {
	d.t.Helper()
	need(d.t, args[0])
	c := exec.Command(args[0], args[1:]...)
	c.Env, c.Dir = d.env, d.dir
	d.run(c)
	return c
}

func (d *desk) output(args ...string) string {
	d.t.Helper()
	need(d.t, args[0])
	c := exec.Command(args[0], args[1:]...)
	c.Env = d.env
	b, _ := c.CombinedOutput()
	return string(b)
}

func (d *desk) dial() *Conn {
	d.t.Helper()
	c, err := Dial(d.display, d.auth)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(c.Close)
	return c
}

// until polls what only other programs know; there is no event to wait for.
func (d *desk) until(what string, ok func() bool) {
	d.t.Helper()
	deadline := time.Now().Add(15 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			d.t.Fatalf("waited in vain for %s", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// list is Windows without an error.
func (d *desk) list(c *Conn) []Window {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), 5*time.Second)
	defer cancel()
	w, err := c.Windows(ctx)
	if err != nil {
		d.t.Fatal(err)
	}
	return w
}

// window waits for the mapped window with a title.
func (d *desk) window(c *Conn, title string) Window {
	d.t.Helper()
	var found Window
	d.until("window "+title, func() bool {
		for _, w := range d.list(c) {
			if w.Title == title && w.Mapped {
				found = w
				return true
			}
		}
		return false
	})
	return found
}

// state is UserState without an error.
func (d *desk) state(c *Conn) UserState {
	d.t.Helper()
	u, err := c.UserState(d.t.Context())
	if err != nil {
		d.t.Fatal(err)
	}
	return u
}
