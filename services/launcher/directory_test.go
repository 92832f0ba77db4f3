package launcher

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairlead.dev/services/shared/peersock"
)

// directory makes a directory of exactly this mode.
func directory(t *testing.T, mode os.FileMode) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "d")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, mode)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestAnExistingDirectoryIsTakenAsItIsOrRefused(t *testing.T) {
	for _, c := range []struct {
		name  string
		mode  os.FileMode
		open  func(os.FileMode) bool
		taken bool
	}{
		{"private runtime", 0o700, enterable, true},
		{"runtime that agents pass through", 0o711, enterable, true},
		{"runtime that others can read", 0o755, enterable, false},
		{"runtime that the group can enter", 0o710, enterable, false},
		{"runtime like /tmp", 0o777 | os.ModeSticky, enterable, false},
		{"sticky runtime", 0o700 | os.ModeSticky, enterable, false},
		{"state that others can read", 0o755, changeable, true},
		{"state that the group can change", 0o770, changeable, false},
		{"state like /tmp", 0o777 | os.ModeSticky, changeable, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := directory(t, c.mode)
			err := makePrivate(dir, c.open)
			if (err == nil) != c.taken {
				t.Errorf("makePrivate: %v", err)
			}
			if err != nil && !strings.Contains(err.Error(), dir+" can be entered by others; name an empty directory") {
				t.Errorf("says %q", err)
			}
			st, err := os.Stat(dir)
			if err != nil || st.Mode() != c.mode|os.ModeDir {
				t.Errorf("the mode became %v, %v", st.Mode(), err)
			}
		})
	}
}

func TestANewDirectoryIsPrivateAndALinkIsNone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	if err := makePrivate(dir, enterable); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(dir); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", st, err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if err := makePrivate(link, enterable); err == nil {
		t.Error("a link was taken")
	}
}

func TestRunRefusesARuntimeDirectoryOfOthers(t *testing.T) {
	b := newBench(t)
	if err := os.Chmod(b.opts.RuntimeDir, 0o755); err != nil {
		t.Fatal(err)
	}
	b.start()
	if err := b.wait(); err == nil || !strings.Contains(err.Error(), "can be entered by others") {
		t.Errorf("Run: %v", err)
	}
}

func TestARuntimeDirectoryTooLongForItsSocketsIsRefusedAtOnce(t *testing.T) {
	for _, c := range []struct {
		name  string
		size  int
		debug bool
		taken bool
	}{
		{"as long as it may be", 103 - len("/agent/host.sock"), false, true},
		{"a byte too long", 104 - len("/agent/host.sock"), false, false},
		{"as long as it may be with debug", 103 - len("/debug/executor.sock"), true, true},
		{"a byte too long with debug", 104 - len("/debug/executor.sock"), true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := New(Options{RuntimeDir: "/" + strings.Repeat("r", c.size-1), StateDir: "/s", Debug: c.debug})
			if (err == nil) != c.taken || err != nil && !errors.Is(err, peersock.ErrPathTooLong) {
				t.Errorf("New: %v", err)
			}
		})
	}
}
