// Package attest decides which programs the launcher may run (C9.2). A manifest beside
// the programs names each with its role, version and SHA-256. A program is copied into
// a file of its own that nobody can change any more, that copy is hashed and compared,
// and the copy is what runs: between check and start there is nothing left to swap.
// Nothing here can be turned off.
package attest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Limits of what is read (C9.2).
const (
	manifestMax = 64 << 10
	programMax  = 256 << 20
	// othersWrite are the mode bits of a file that more than its owner can change.
	othersWrite = 0o022
)

// ManifestName is the manifest's file name, beside the programs.
const ManifestName = "manifest.json"

// Manifest names the programs of one build.
type Manifest struct {
	// Version of the build; every program has the same.
	Version string `json:"version"`
	// Programs, sorted by name.
	Programs []Program `json:"programs"`
}

// Program is one program of the build.
type Program struct {
	Name    string `json:"name"`
	Role    string `json:"role"`
	Version string `json:"version"`
	SHA256  string `json:"sha256"`
}

// Problem says in a few words why a file is not trusted.
type Problem string

// The problems.
const (
	ProblemMissing   Problem = "is missing"
	ProblemUnread    Problem = "cannot be read"
	ProblemLink      Problem = "is a link"
	ProblemIrregular Problem = "is not a regular file"
	ProblemWritable  Problem = "can be changed by its group or by others"
	ProblemOwner     Problem = "belongs to another user"
	ProblemLarge     Problem = "is larger than allowed"
	ProblemFormat    Problem = "is not a manifest this version understands"
	ProblemUnlisted  Problem = "is not in the manifest"
	ProblemRole      Problem = "is listed with another role"
	ProblemVersion   Problem = "is of another version"
	ProblemDigest    Problem = "is not the program the manifest describes"
	ProblemMemory    Problem = "cannot be copied into a sealed memory file on this system"
)

// Error says which file is not trusted, and why. It is never worth a retry.
type Error struct {
	Name    string
	Problem Problem
}

// Error is a sentence that ends with what to do.
func (e *Error) Error() string {
	return fmt.Sprintf("%s %s, so nothing was started; build or install fairlead again", e.Name, e.Problem)
}

// Role returns the role of a program of ours by its name; empty for a name that is none.
func Role(name string) string {
	switch {
	case name == "fairlead-policy":
		return "policy"
	case name == "fairlead-host":
		return "host"
	case strings.HasPrefix(name, "fairlead-executor-"):
		return "executor"
	default:
		return ""
	}
}

// Write makes the manifest of the programs in a directory, as of one version.
func Write(dir, version string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("listing programs: %w", err)
	}
	m := Manifest{Version: version}
	for _, e := range entries { // ReadDir sorts by name.
		role := Role(e.Name())
		if role == "" {
			continue
		}
		sum, err := digestOf(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		m.Programs = append(m.Programs, Program{
			Name: e.Name(), Role: role, Version: version, SHA256: hex.EncodeToString(sum),
		})
	}
	if len(m.Programs) == 0 {
		return fmt.Errorf("there is no fairlead-policy, fairlead-host or fairlead-executor-* in %s; build them first", dir)
	}
	return store(filepath.Join(dir, ManifestName), m)
}

func digestOf(path string) (_ []byte, err error) {
	f, err := open(path, programMax)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return nil, fmt.Errorf("reading a program: %w", err)
	}
	return h.Sum(nil), nil
}

// store replaces the manifest in one step, so that no reader sees half of one.
func store(path string, m Manifest) error {
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("writing manifest: %w", err)
	}
	next := path + ".new"
	if err := os.WriteFile(next, append(b, '\n'), 0o644); err != nil {
		return fmt.Errorf("writing manifest: %w", err)
	}
	// The umask may be a generous one; the reader insists.
	if err := os.Chmod(next, 0o644); err != nil {
		return fmt.Errorf("writing manifest: %w", err)
	}
	if err := os.Rename(next, path); err != nil {
		return fmt.Errorf("writing manifest: %w", err)
	}
	return nil
}

// Read reads the manifest of a directory.
func Read(dir string) (_ Manifest, err error) {
	if err := examineDirectory(dir); err != nil {
		return Manifest{}, err
	}
	f, err := open(filepath.Join(dir, ManifestName), manifestMax)
	if err != nil {
		return Manifest{}, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	b, err := io.ReadAll(io.LimitReader(f, manifestMax+1))
	if err != nil || len(b) > manifestMax {
		return Manifest{}, &Error{Name: ManifestName, Problem: ProblemUnread}
	}
	var m Manifest
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&m); err != nil {
		return Manifest{}, &Error{Name: ManifestName, Problem: ProblemFormat}
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Manifest{}, &Error{Name: ManifestName, Problem: ProblemFormat}
	}
	return m, nil
}

// find returns the one entry of a program, if it has the wanted role and version.
func (m Manifest) find(w Wanted) (Program, error) {
	var found []Program
	for _, p := range m.Programs {
		if p.Name == w.Name {
			found = append(found, p)
		}
	}
	switch {
	case len(found) == 0:
		return Program{}, &Error{Name: w.Name, Problem: ProblemUnlisted}
	case len(found) > 1:
		return Program{}, &Error{Name: ManifestName, Problem: ProblemFormat}
	case found[0].Role != w.Role:
		return Program{}, &Error{Name: w.Name, Problem: ProblemRole}
	case found[0].Version != m.Version, w.Version != "" && found[0].Version != w.Version:
		return Program{}, &Error{Name: w.Name, Problem: ProblemVersion}
	}
	return found[0], nil
}

// open opens a regular file that only root or we can change. Links are not followed, and
// a pipe put in its place does not hold us up.
func open(path string, sizeMax int64) (*os.File, error) {
	name := filepath.Base(path)
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, unix.ELOOP):
		return nil, &Error{Name: name, Problem: ProblemLink}
	case errors.Is(err, os.ErrNotExist):
		return nil, &Error{Name: name, Problem: ProblemMissing}
	case err != nil:
		return nil, &Error{Name: name, Problem: ProblemUnread}
	}
	if p := examine(f, sizeMax); p != "" {
		return nil, errors.Join(&Error{Name: name, Problem: p}, f.Close())
	}
	return f, nil
}

func examine(f *os.File, sizeMax int64) Problem {
	st, err := f.Stat()
	switch {
	case err != nil:
		return ProblemUnread
	case !st.Mode().IsRegular():
		return ProblemIrregular
	case !trusted(st):
		return ProblemOwner
	case st.Mode().Perm()&othersWrite != 0:
		return ProblemWritable
	case st.Size() > sizeMax:
		return ProblemLarge
	}
	return ""
}

// examineDirectory checks that nobody but root and we can put other files into the
// programs' directory. The sticky bit does not help: it keeps nobody from adding one.
func examineDirectory(dir string) error {
	name := "the directory " + dir
	st, err := os.Stat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return &Error{Name: name, Problem: ProblemMissing}
	case err != nil:
		return &Error{Name: name, Problem: ProblemUnread}
	case !trusted(st):
		return &Error{Name: name, Problem: ProblemOwner}
	case st.Mode().Perm()&othersWrite != 0:
		return &Error{Name: name, Problem: ProblemWritable}
	}
	return nil
}

// trusted reports whether a file belongs to root or to us. Its owner can change it
// whatever its mode says.
func trusted(st os.FileInfo) bool {
	s, ok := st.Sys().(*syscall.Stat_t)
	return ok && (s.Uid == 0 || s.Uid == uint32(os.Geteuid()))
}
