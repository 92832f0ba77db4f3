package attest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const program = "fairlead-executor-virtual"

// build makes a directory with one program, a copy of /bin/true, and its manifest.
func build(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	mode(t, dir, ".", 0o755) // whatever the umask is
	put(t, dir, program, read(t, "/bin/true"))
	if err := Write(dir, "1.0"); err != nil {
		t.Fatal(err)
	}
	return dir
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func put(t *testing.T, dir, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), data, 0o755); err != nil {
		t.Fatal(err)
	}
}

// attempt reads the manifest and opens the program, and closes it again.
func attempt(dir string, w Wanted) error {
	m, err := Read(dir)
	if err != nil {
		return err
	}
	img, err := m.Open(dir, w)
	if err != nil {
		return err
	}
	return img.Close()
}

// tampering is one way in which a directory is not what the manifest says.
type tampering struct {
	name    string
	tamper  func(t *testing.T, dir string)
	wanted  Wanted
	problem Problem
	of      string
}

func (c tampering) check(t *testing.T) {
	dir := build(t)
	c.tamper(t, dir)
	err := attempt(dir, c.wanted)
	if c.problem == "" {
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	var e *Error
	if !errors.As(err, &e) || e.Problem != c.problem || e.Name != c.of {
		t.Errorf("got %v, want %s of %s", err, c.problem, c.of)
	}
}

func TestOnlyTheDescribedProgramIsTrusted(t *testing.T) {
	good := Wanted{Name: program, Role: "executor", Version: "1.0"}
	for _, c := range []tampering{
		{"untouched", func(*testing.T, string) {}, good, "", ""},
		{"any version", func(*testing.T, string) {}, Wanted{Name: program, Role: "executor"}, "", ""},
		{"a byte changed", func(t *testing.T, dir string) {
			b := read(t, filepath.Join(dir, program))
			b[len(b)-1] ^= 1
			put(t, dir, program, b)
		}, good, ProblemDigest, program},
		{"a byte added", func(t *testing.T, dir string) {
			put(t, dir, program, append(read(t, filepath.Join(dir, program)), 0))
		}, good, ProblemDigest, program},
		{"a link", func(t *testing.T, dir string) {
			link(t, dir, program)
		}, good, ProblemLink, program},
		{"writable by the group", func(t *testing.T, dir string) {
			mode(t, dir, program, 0o775)
		}, good, ProblemWritable, program},
		{"writable by others", func(t *testing.T, dir string) {
			mode(t, dir, program, 0o757)
		}, good, ProblemWritable, program},
		{"too large", func(t *testing.T, dir string) {
			if err := os.Truncate(filepath.Join(dir, program), programMax+1); err != nil {
				t.Fatal(err)
			}
		}, good, ProblemLarge, program},
		{"missing", func(t *testing.T, dir string) {
			remove(t, dir, program)
		}, good, ProblemMissing, program},
		{"a directory", func(t *testing.T, dir string) {
			remove(t, dir, program)
			if err := os.Mkdir(filepath.Join(dir, program), 0o755); err != nil {
				t.Fatal(err)
			}
		}, good, ProblemIrregular, program},
		{"a pipe", func(t *testing.T, dir string) {
			remove(t, dir, program)
			if err := unix.Mkfifo(filepath.Join(dir, program), 0o700); err != nil {
				t.Fatal(err)
			}
		}, good, ProblemIrregular, program},
	} {
		t.Run(c.name, c.check)
	}
}

func TestOnlyAManifestOfOursIsBelieved(t *testing.T) {
	good := Wanted{Name: program, Role: "executor", Version: "1.0"}
	for _, c := range []tampering{
		{
			"another role", func(*testing.T, string) {},
			Wanted{Name: program, Role: "policy", Version: "1.0"},
			ProblemRole, program,
		},
		{
			"another version", func(*testing.T, string) {},
			Wanted{Name: program, Role: "executor", Version: "1.1"},
			ProblemVersion, program,
		},
		{"a version of its own", func(t *testing.T, dir string) {
			edit(t, dir, `"role": "executor",`+"\n      "+`"version": "1.0"`, `"role": "executor","version": "0.9"`)
		}, Wanted{Name: program, Role: "executor"}, ProblemVersion, program},
		{
			"not listed", func(*testing.T, string) {},
			Wanted{Name: "fairlead-host", Role: "host"},
			ProblemUnlisted, "fairlead-host",
		},
		{"listed twice", func(t *testing.T, dir string) {
			s := string(read(t, filepath.Join(dir, ManifestName)))
			entry := s[strings.Index(s, "[")+1 : strings.Index(s, "]")]
			edit(t, dir, entry, entry+","+entry)
		}, good, ProblemFormat, ManifestName},
		{"no manifest", func(t *testing.T, dir string) {
			remove(t, dir, ManifestName)
		}, good, ProblemMissing, ManifestName},
		{"a linked manifest", func(t *testing.T, dir string) {
			link(t, dir, ManifestName)
		}, good, ProblemLink, ManifestName},
		{"a writable manifest", func(t *testing.T, dir string) {
			mode(t, dir, ManifestName, 0o666)
		}, good, ProblemWritable, ManifestName},
		{"a large manifest", func(t *testing.T, dir string) {
			edit(t, dir, "{", "{"+strings.Repeat(" ", manifestMax))
		}, good, ProblemLarge, ManifestName},
		{"a manifest with an unknown field", func(t *testing.T, dir string) {
			edit(t, dir, `"programs"`, `"trust": "all", "programs"`)
		}, good, ProblemFormat, ManifestName},
		{"a manifest with something after it", func(t *testing.T, dir string) {
			edit(t, dir, "\n}\n", "\n}\n{}")
		}, good, ProblemFormat, ManifestName},
		{"a digest that is none", func(t *testing.T, dir string) {
			edit(t, dir, `"sha256": "`, `"sha256": "z`)
		}, good, ProblemDigest, program},
	} {
		t.Run(c.name, c.check)
	}
}

func link(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.Rename(filepath.Join(dir, name), filepath.Join(dir, "real")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

func mode(t *testing.T, dir, name string, m os.FileMode) {
	t.Helper()
	if err := os.Chmod(filepath.Join(dir, name), m); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

// edit replaces text of the manifest.
func edit(t *testing.T, dir, old, text string) {
	t.Helper()
	path := filepath.Join(dir, ManifestName)
	s := string(read(t, path))
	if !strings.Contains(s, old) {
		t.Fatalf("the manifest has no %q:\n%s", old, s)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(s, old, text, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestWhatWasHashedRunsWhateverBecomesOfTheFile(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("memory files are of Linux")
	}
	dir := build(t)
	m, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	img, err := m.Open(dir, Wanted{Name: program, Role: "executor"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = img.Close() }()
	// In place: the same file, as an attacker with the user's rights would do it.
	f, err := os.OpenFile(filepath.Join(dir, program), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(read(t, "/bin/false")[:4096]); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := &exec.Cmd{Path: img.Path(), Args: []string{program}}
	if err := cmd.Run(); err != nil {
		t.Errorf("ran something else than true: %v", err)
	}
	if !img.Attested {
		t.Error("not attested")
	}
	if _, err := img.file.WriteAt([]byte{0}, 0); err == nil {
		t.Error("the copy can be written")
	}
	if err := img.file.Truncate(1); err == nil {
		t.Error("the copy can be cut")
	}
}

func TestManifestListsOnlyProgramsOfOurs(t *testing.T) {
	dir := build(t)
	put(t, dir, "fairlead", []byte("x"))
	put(t, dir, "fairlead-host", []byte("x"))
	put(t, dir, "other", []byte("x"))
	if err := Write(dir, "2"); err != nil {
		t.Fatal(err)
	}
	m, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Programs) != 2 || m.Programs[0].Role != "executor" || m.Programs[1].Role != "host" {
		t.Errorf("%+v", m.Programs)
	}
	if err := Write(t.TempDir(), "2"); err == nil {
		t.Error("an empty directory has a manifest")
	}
}

func TestADirectoryThatOthersCanChangeIsNotTrusted(t *testing.T) {
	good := Wanted{Name: program, Role: "executor", Version: "1.0"}
	for _, m := range []os.FileMode{0o775, 0o757, 0o777 | os.ModeSticky} {
		t.Run(m.String(), func(t *testing.T) {
			dir := build(t)
			found, err := Read(dir)
			if err != nil {
				t.Fatal(err)
			}
			mode(t, dir, ".", m)
			_, later := found.Open(dir, good)
			for _, err := range []error{attempt(dir, good), later} {
				var e *Error
				if !errors.As(err, &e) || e.Problem != ProblemWritable || e.Name != "the directory "+dir {
					t.Errorf("got %v", err)
				}
			}
		})
	}
}

func TestNothingOfAnotherUserIsTrusted(t *testing.T) {
	if os.Geteuid() != 0 {
		if os.Getenv("CI") != "" {
			t.Fatal("only root can give a file away, and CI has to see this test run")
		}
		t.Skip("only root can give a file away")
	}
	const stranger = 65534
	for _, name := range []string{program, ManifestName, "."} {
		t.Run(name, func(t *testing.T) {
			dir := build(t)
			if err := os.Chown(filepath.Join(dir, name), stranger, stranger); err != nil {
				t.Fatal(err)
			}
			var e *Error
			err := attempt(dir, Wanted{Name: program, Role: "executor", Version: "1.0"})
			if !errors.As(err, &e) || e.Problem != ProblemOwner {
				t.Errorf("got %v", err)
			}
		})
	}
}
