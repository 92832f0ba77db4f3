//go:build linux

package privatedesk

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestAuthorityHoldsWildAndLocalEntriesForEveryDisplay(t *testing.T) {
	cookie := bytes.Repeat([]byte{0xab}, cookieSize)
	const name = "0012" + "4d49542d4d414749432d434f4f4b49452d31" // MIT-MAGIC-COOKIE-1
	const secret = "0010" + "abababababababababababababababab"
	want := "ffff" + "0000" + "0000" + name + secret + // wild, no address, no number
		"0100" + "0004" + "686f7374" + "0000" + name + secret // local, "host", no number
	if got := hex.EncodeToString(authority("host", cookie)); got != want {
		t.Errorf("authority:\n got %s\nwant %s", got, want)
	}
}

func TestAuthorityFileIsPrivateAndNotOverwritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "auth")
	if err := writeAuthority(file, make([]byte, cookieSize)); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, want 0600", info.Mode().Perm())
	}
	if err := writeAuthority(file, make([]byte, cookieSize)); !errors.Is(err, os.ErrExist) {
		t.Errorf("second write: %v, want ErrExist", err)
	}
}

func TestEnvironmentIsClosed(t *testing.T) {
	for _, name := range []string{"GTK_MODULES", "WAYLAND_DISPLAY", "SSH_AUTH_SOCK", "XDG_DATA_DIRS", "LC_ALL"} {
		t.Setenv(name, "leak")
	}
	t.Setenv("DISPLAY", ":77")
	t.Setenv("PATH", ".:/opt/bin::bin:/usr/bin")
	got := environment(surroundings{dir: "/d", path: callerPath(), display: ":5", bus: "unix:path=/d/run/bus,guid=1"})
	slices.Sort(got)
	want := []string{
		"DBUS_SESSION_BUS_ADDRESS=unix:path=/d/run/bus,guid=1", "DISPLAY=:5", "GIO_USE_VFS=local",
		"GSETTINGS_BACKEND=memory", "GSK_RENDERER=cairo", "HOME=/d/home", "LANG=C.UTF-8", "PATH=/opt/bin:/usr/bin",
		"XAUTHORITY=/d/Xauthority", "XDG_CURRENT_DESKTOP=", "XDG_RUNTIME_DIR=/d/run",
	}
	if !slices.Equal(got, want) {
		t.Errorf("environment:\n got %q\nwant %q", got, want)
	}
}

func TestSearchPathFallsBackToSystemDirectories(t *testing.T) {
	if got := searchPath("bin:."); got != defaultPath {
		t.Errorf("search path %q, want the default", got)
	}
}

func TestParseSize(t *testing.T) {
	tests := []struct {
		name, text string
		want       Size
		bad        bool
	}{
		{name: "usual", text: "1280x800", want: Size{1280, 800}},
		{name: "smallest", text: "64x64", want: Size{64, 64}},
		{name: "too small", text: "63x64", bad: true},
		{name: "too big", text: "16385x64", bad: true},
		{name: "negative", text: "-1280x800", bad: true},
		{name: "one number", text: "1280", bad: true},
		{name: "three numbers", text: "1280x800x24", bad: true},
		{name: "words", text: "bigxsmall", bad: true},
		{name: "empty", text: "", bad: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseSize(tt.text)
			var option *OptionError
			if tt.bad != errors.As(err, &option) || (!tt.bad && got != tt.want) {
				t.Errorf("ParseSize(%q) = %v, %v", tt.text, got, err)
			}
		})
	}
}

func TestParseArgs(t *testing.T) {
	plain := Options{Size: defaultSize, Depth: defaultDepth}
	tests := []struct {
		name string
		args []string
		want invocation
		bad  bool
	}{
		{name: "nothing", want: invocation{options: plain, envFD: noFD, lifeFD: noFD}},
		{
			name: "everything",
			args: []string{
				"--wm", "openbox", "--size=800x600", "--depth", "16", "--log-dir", "/l", "--env-fd", "4",
				"--life-fd", "0", "--", "app", "--wm", "x",
			},
			want: invocation{
				options: Options{WindowManager: "openbox", Size: Size{800, 600}, Depth: 16, LogDir: "/l"},
				envFD:   4, lifeFD: 0, app: []string{"app", "--wm", "x"},
			},
		},
		{
			name: "without dashes", args: []string{"app", "-v"},
			want: invocation{options: plain, envFD: noFD, lifeFD: noFD, app: []string{"app", "-v"}},
		},
		{name: "unknown option", args: []string{"--nope"}, bad: true},
		{name: "bad size", args: []string{"--size", "huge"}, bad: true},
		{name: "bad depth", args: []string{"--depth", "7"}, bad: true},
		{name: "bad descriptor", args: []string{"--env-fd", "-3"}, bad: true},
		{name: "one descriptor for both", args: []string{"--env-fd", "3", "--life-fd", "3"}, bad: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parseArgs(tt.args)
			if tt.bad {
				if err == nil {
					t.Error("accepted")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got.options != tt.want.options || got.envFD != tt.want.envFD || got.lifeFD != tt.want.lifeFD ||
				!slices.Equal(got.app, tt.want.app) {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
	if _, err := parseArgs([]string{"--help"}); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("--help: %v", err)
	}
}

func TestHelpGoesToOutputAndMistakesToError(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := Main([]string{"--help"}, &stdout, &stderr); code != exitOK || stderr.Len() > 0 {
		t.Errorf("--help: code %d, stderr %q", code, stderr.String())
	}
	for _, option := range []string{"--wm", "--size", "--depth", "--log-dir", "--env-fd", "--life-fd"} {
		if !strings.Contains(stdout.String(), option) {
			t.Errorf("help does not mention %s", option)
		}
	}
	stdout.Reset()
	if code := Main([]string{"--size", "1"}, &stdout, &stderr); code != exitUsage || stdout.Len() > 0 {
		t.Errorf("mistake: code %d, stdout %q", code, stdout.String())
	}
}

func TestParseStatCountsFromTheLastParenthesis(t *testing.T) {
	line := "42 (a) S 1 (b) Z 7 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 123456 9 9"
	p, ok := parseStat(42, []byte(line))
	want := process{identity: identity{pid: 42, start: 123456}, parent: 7, dead: true}
	if !ok || p != want {
		t.Errorf("got %+v %v, want %+v", p, ok, want)
	}
	for _, bad := range []string{"", "42 (a) S 1", "42 (a"} {
		if _, ok := parseStat(42, []byte(bad)); ok {
			t.Errorf("accepted %q", bad)
		}
	}
}

func TestHasEntryMatchesWholeEntriesOnly(t *testing.T) {
	marks := newSweep("/tmp/d").marks
	tests := []struct {
		name, environ string
		want          bool
	}{
		{name: "runtime directory", environ: "A=1\x00XDG_RUNTIME_DIR=/tmp/d/run\x00", want: true},
		{name: "authority, last", environ: "XAUTHORITY=/tmp/d/Xauthority", want: true},
		{name: "longer path", environ: "XDG_RUNTIME_DIR=/tmp/d/run2\x00"},
		{name: "other variable", environ: "OLD_XDG_RUNTIME_DIR=/tmp/d/run\x00"},
		{name: "inside a value", environ: "X=XAUTHORITY=/tmp/d/Xauthority\x00"},
		{name: "nothing", environ: ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := hasEntry([]byte(tt.environ), marks); got != tt.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestSweepSparesOwnerAndItsAncestors(t *testing.T) {
	s := newSweep("/nonexistent")
	if alive := s.census([]int{os.Getpid(), os.Getppid()}); len(alive) != 0 {
		t.Errorf("would end %d processes", len(alive))
	}
}

func TestSetupRequestIsPadded(t *testing.T) {
	if got := setupRequest(nil); len(got) != 12 {
		t.Errorf("without cookie: %d bytes, want 12", len(got))
	}
	if got := setupRequest(make([]byte, cookieSize)); len(got) != 12+20+16 {
		t.Errorf("with cookie: %d bytes, want 48", len(got))
	}
}

func TestRootWindowRefusesShortAnswers(t *testing.T) {
	body := make([]byte, 32+4+8+4)
	body[16], body[21] = 3, 1 // three bytes of vendor, one format
	body[44] = 0x2a
	if root, err := rootWindow(body); err != nil || root != 0x2a {
		t.Errorf("root %#x, %v", root, err)
	}
	for n := range len(body) {
		if _, err := rootWindow(body[:n]); err == nil {
			t.Errorf("accepted %d bytes", n)
		}
	}
}

func TestClaimDirectoryTakesOnlyWhatItMayRemove(t *testing.T) {
	base, err := os.MkdirTemp("/tmp", "pd")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	full, empty := filepath.Join(base, "full"), filepath.Join(base, "empty")
	for _, dir := range []string{filepath.Join(full, "x"), empty} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(base, "link")
	if err := os.Symlink(empty, link); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, dir string
		bad       bool
	}{
		{name: "new", dir: filepath.Join(base, "new")},
		{name: "empty", dir: empty},
		{name: "with content", dir: full, bad: true},
		{name: "link", dir: link, bad: true},
		{name: "too long", dir: filepath.Join(base, strings.Repeat("x", dirMax)), bad: true},
		{name: "with a space", dir: filepath.Join(base, "a b"), bad: true},
		{name: "with a comma", dir: filepath.Join(base, "a,b"), bad: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir, err := claimDirectory(tt.dir)
			if tt.bad {
				if !errors.Is(err, ErrDirectory) {
					t.Errorf("got %v, want ErrDirectory", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("mode %v, %v", info.Mode(), err)
			}
		})
	}
}

func TestMissingNamesDebianPackages(t *testing.T) {
	found := missing(t.TempDir(), t.TempDir(), []string{"", "xprop", "unheard-of"})
	want := []string{"at-spi2-core", "dash", "dbus-daemon", "grep", "x11-utils", "x11-xkb-utils", "xvfb"}
	if got := Packages(found); !slices.Equal(got, want) {
		t.Errorf("packages %q, want %q", got, want)
	}
	text := (&MissingError{Requirements: found}).Error()
	parts := []string{"Xvfb (Debian package xvfb)", "unheard-of", "apt-get install -y --no-install-recommends"}
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q does not mention %q", text, part)
		}
	}
}

func TestInstall(t *testing.T) {
	lists := t.TempDir()
	if err := os.WriteFile(filepath.Join(lists, "mirror_Packages.lz4"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	tests := []struct {
		name     string
		i        installer
		packages []string
		fail     map[int]error // by number of the run
		runs     []string
		reason   InstallReason
	}{
		{name: "nothing", i: installer{}},
		{name: "not root", i: installer{apt: "apt", lists: lists}, packages: []string{"xvfb"}, reason: InstallNotRoot},
		{name: "no apt", i: installer{root: true}, packages: []string{"xvfb"}, reason: InstallNoApt},
		{
			name: "an option", i: installer{root: true, apt: "apt"}, packages: []string{"xvfb", "--purge"},
			reason: InstallBadName,
		},
		{
			name: "with lists", i: installer{root: true, apt: "apt", lists: lists}, packages: []string{"xvfb"},
			runs: []string{"install"},
		},
		{
			name: "without lists", i: installer{root: true, apt: "apt", lists: t.TempDir()}, packages: []string{"xvfb"},
			runs: []string{"update", "install"},
		},
		{
			name: "old lists", i: installer{root: true, apt: "apt", lists: lists}, packages: []string{"xvfb"},
			fail: map[int]error{0: broken}, runs: []string{"install", "update", "install"},
		},
		{
			name: "no network", i: installer{root: true, apt: "apt", lists: lists}, packages: []string{"xvfb"},
			fail: map[int]error{0: broken, 1: broken}, runs: []string{"install", "update"}, reason: InstallAptFailed,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var runs []string
			tt.i.run = func(_ context.Context, _ io.Writer, _ string, args ...string) error {
				runs = append(runs, args[0])
				return tt.fail[len(runs)-1]
			}
			err := tt.i.install(t.Context(), io.Discard, tt.packages)
			var failed *InstallError
			if errors.As(err, &failed) != (tt.reason != "") || (failed != nil && failed.Reason != tt.reason) {
				t.Errorf("got %v, want %q", err, tt.reason)
			}
			if !slices.Equal(runs, tt.runs) {
				t.Errorf("ran %q, want %q", runs, tt.runs)
			}
		})
	}
}

func TestErrorsHoldNoPaths(t *testing.T) {
	_, err := os.Open("/tmp/secret-name/file")
	if text := plain(err).Error(); strings.Contains(text, "secret-name") || !errors.Is(plain(err), os.ErrNotExist) {
		t.Errorf("got %q", text)
	}
}
