package hostile

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fairlead.dev/test/harness"
)

const (
	strangerVariable = "FAIRLEAD_TEST_STRANGER"
	nobody           = 65534
	refusedAtDoor    = "cannot connect"
	droppedSilently  = "connected, heard nothing"
)

// beStranger is the test binary as another uid: it tries every socket it was told of,
// and says on each line what it met.
func beStranger() int {
	for _, path := range strings.Split(os.Getenv(strangerVariable), ":") {
		fmt.Println(knock(path))
	}
	return 0
}

func knock(path string) string {
	c, err := net.Dial("unix", path)
	if err != nil {
		return refusedAtDoor
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	_, _ = c.Write(spoken(frame(typePing, 0, 0, make([]byte, 8))))
	heard, err := io.ReadAll(c)
	if len(heard) > 0 {
		return fmt.Sprintf("connected, heard %d bytes", len(heard))
	}
	if ne, ok := err.(net.Error); ok && ne.Timeout() {
		return "connected, was not dropped"
	}
	return droppedSilently
}

func TestStrangerUIDGetsNothing(t *testing.T) {
	if os.Geteuid() != 0 {
		if os.Getenv("CI") == "1" {
			t.Fatal("only root can become a stranger; CI must run this test")
		}
		t.Skip("only root can become a stranger")
	}
	s := harness.Start(t, harness.Options{})
	var paths, dirs []string
	for _, audience := range []string{"agent", "user"} {
		dirs = append(dirs, filepath.Join(s.Dir, audience))
		paths = append(paths, filepath.Join(s.Dir, audience, "host.sock"))
	}
	s.Must(os.Chmod(s.Dir, 0o755))
	t.Run("directories are private", func(t *testing.T) {
		for i, got := range asStranger(t, paths) {
			if got != refusedAtDoor {
				t.Errorf("%s: %s", paths[i], got)
			}
		}
	})
	t.Run("directories and sockets are open", func(t *testing.T) {
		for i := range paths {
			s.Must(os.Chmod(dirs[i], 0o777))
			s.Must(os.Chmod(paths[i], 0o666))
		}
		for i, got := range asStranger(t, paths) {
			if got != droppedSilently {
				t.Errorf("%s: %s", paths[i], got)
			}
		}
	})
	works(t, s)
}

// asStranger runs this binary, from a place where anyone may, as nobody.
func asStranger(t *testing.T, paths []string) []string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "fls")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "stranger")
	if err := os.WriteFile(binary, self, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), binary)
	cmd.Dir = "/"
	cmd.Env = []string{strangerVariable + "=" + strings.Join(paths, ":")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != len(paths) {
		t.Fatalf("%q", lines)
	}
	return lines
}
