package x11

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// desktopFilesMax bounds the desktop files read, desktopFileMax the size of one
	// and desktopDepthMax how deep directories are looked into.
	desktopFilesMax = 8192
	desktopFileMax  = 256 << 10
	desktopDepthMax = 4
)

// DesktopApp is an application that the system offers to start.
type DesktopApp struct {
	// ID is the desktop-file id without ".desktop".
	ID string
	// Name is the untranslated name.
	Name string
	// Exec is the command with its field codes (files, icons) removed.
	Exec []string
	// Program is the resolved path of the program that Exec starts, empty when there is none.
	Program string
	// NoDisplay: it is not meant for menus.
	NoDisplay bool
	// Terminal: it needs a terminal to run in.
	Terminal bool
}

// desktopEntry is a desktop file with what identification needs.
type desktopEntry struct {
	app DesktopApp
	// executables are the resolved programs of Exec and TryExec.
	executables []string
	flatpak     string // X-Flatpak
	snap        string // X-SnapInstanceName
	trusted     bool   // the file belongs to the system
}

// stamp tells whether a file is still the one that was read.
type stamp struct {
	modified time.Time
	size     int64
	inode    uint64
}

type scannedFile struct {
	stamp stamp
	entry desktopEntry
	valid bool
}

// desktopIndex knows the desktop files of some directories; it looks again when what
// it knows is older than rescanEvery, and reads only files that changed.
type desktopIndex struct {
	dirs     []string
	path     []string
	trustUID uint32

	mu      sync.Mutex
	scanned time.Time
	files   map[string]scannedFile
	ids     map[string]desktopEntry
	claims  map[string][]desktopEntry
	err     error
}

// DesktopApps lists the applications, sorted by id. A file in an earlier directory
// hides those of the same id in later ones, also when it says that there is none.
func (a *Apps) DesktopApps() ([]DesktopApp, error) {
	d := &a.index
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.refresh(time.Now()); err != nil {
		return nil, err
	}
	out := make([]DesktopApp, 0, len(d.ids))
	for _, id := range slices.Sorted(maps.Keys(d.ids)) {
		app := d.ids[id].app
		app.Exec = slices.Clone(app.Exec)
		out = append(out, app)
	}
	return out, nil
}

// claiming lists the trusted desktop files of an executable, best first.
func (d *desktopIndex) claiming(exe string) ([]desktopEntry, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.refresh(time.Now()); err != nil {
		return nil, err
	}
	return d.claims[exe], nil
}

func (d *desktopIndex) byID(id string) (desktopEntry, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.refresh(time.Now()) != nil {
		return desktopEntry{}, false
	}
	e, ok := d.ids[id]
	return e, ok
}

func (d *desktopIndex) refresh(now time.Time) error {
	if !d.scanned.IsZero() && now.Sub(d.scanned) < rescanEvery {
		return d.err
	}
	d.scanned = now
	files, ids, err := map[string]scannedFile{}, map[string]desktopEntry{}, error(nil)
	masked := map[string]bool{}
	for _, dir := range d.dirs {
		if !filepath.IsAbs(dir) {
			continue // the base directory specification
		}
		if err = d.scan(filepath.Join(dir, "applications"), files, ids, masked); err != nil {
			break
		}
	}
	d.files, d.ids, d.err = files, ids, err
	d.claims = map[string][]desktopEntry{}
	for _, e := range ids {
		if !e.trusted {
			continue
		}
		for _, exe := range e.executables {
			d.claims[exe] = append(d.claims[exe], e)
		}
	}
	for _, list := range d.claims {
		slices.SortFunc(list, preferred)
	}
	return err
}

// preferred orders claims: shown in menus first, then the shortest id, then by name.
func preferred(a, b desktopEntry) int {
	if a.app.NoDisplay != b.app.NoDisplay {
		if b.app.NoDisplay {
			return -1
		}
		return 1
	}
	if n := len(a.app.ID) - len(b.app.ID); n != 0 {
		return n
	}
	return strings.Compare(a.app.ID, b.app.ID)
}

// scan reads one applications directory.
func (d *desktopIndex) scan(root string, files map[string]scannedFile, ids map[string]desktopEntry,
	masked map[string]bool,
) error {
	// WalkDir does not follow a link at its root, and some systems have one.
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		return nil // no such directory
	}
	trusted := map[string]bool{}
	err = filepath.WalkDir(root, func(path string, item fs.DirEntry, err error) error {
		if err != nil {
			if item != nil && item.IsDir() {
				return fs.SkipDir // not readable, or gone meanwhile
			}
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if item.IsDir() {
			trusted[path] = d.systemOwned(path)
			if strings.Count(rel, "/") >= desktopDepthMax {
				return fs.SkipDir
			}
			return nil
		}
		id, ok := strings.CutSuffix(strings.ReplaceAll(rel, "/", "-"), ".desktop")
		if !ok || masked[id] {
			return nil
		}
		if len(files) >= desktopFilesMax {
			return fmt.Errorf("desktop files: %w", ErrLimit)
		}
		f, ok := d.load(path, id)
		if !ok {
			return nil
		}
		files[path], masked[id] = f, true
		if f.valid {
			e := f.entry
			// A link in a directory that others can write to gives any file any id.
			e.trusted = e.trusted && trusted[filepath.Dir(path)]
			ids[id] = e
		}
		return nil
	})
	return err
}

// systemOwned reports whether only the system can change a file or directory.
func (d *desktopIndex) systemOwned(path string) bool {
	st, err := os.Stat(path)
	if err != nil {
		return false
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	return ok && (sys.Uid == d.trustUID || sys.Uid == 0) && st.Mode().Perm()&0o022 == 0
}

// load reads a desktop file, or takes what is known of an unchanged one.
func (d *desktopIndex) load(path, id string) (scannedFile, bool) {
	st, err := os.Stat(path)
	if err != nil || !st.Mode().IsRegular() || st.Size() > desktopFileMax {
		return scannedFile{}, false
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return scannedFile{}, false
	}
	now := stamp{modified: st.ModTime(), size: st.Size(), inode: sys.Ino}
	if old, known := d.files[path]; known && old.stamp == now {
		return old, true
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return scannedFile{}, false
	}
	e, ok := parseDesktop(b, id)
	if ok {
		e.trusted = d.systemOwned(path)
		e.executables = d.resolve(e.app.Exec, tryExec(b))
		if command := program(e.app.Exec); command != "" {
			e.app.Program = d.lookup(command)
		}
	}
	return scannedFile{stamp: now, entry: e, valid: ok}, true
}

func tryExec(b []byte) string { return parseKeyFile(b, "Desktop Entry")["TryExec"] }

// resolve finds the programs that a desktop file starts.
func (d *desktopIndex) resolve(exec []string, try string) []string {
	var out []string
	for _, command := range []string{program(exec), try} {
		if command == "" {
			continue
		}
		path := d.lookup(command)
		if path != "" && !slices.Contains(out, path) {
			out = append(out, path)
		}
	}
	return out
}

// program is the command of an Exec line, behind "env NAME=value".
func program(exec []string) string {
	if len(exec) > 0 && filepath.Base(exec[0]) == "env" {
		for _, a := range exec[1:] {
			if !strings.Contains(a, "=") && !strings.HasPrefix(a, "-") {
				return a
			}
		}
		return ""
	}
	if len(exec) == 0 {
		return ""
	}
	return exec[0]
}

func (d *desktopIndex) lookup(command string) string {
	candidates := []string{command}
	if !strings.Contains(command, "/") {
		candidates = candidates[:0]
		for _, dir := range d.path {
			candidates = append(candidates, filepath.Join(dir, command))
		}
	}
	for _, c := range candidates {
		st, err := os.Stat(c)
		if err != nil || st.IsDir() || st.Mode().Perm()&0o111 == 0 || !filepath.IsAbs(c) {
			continue
		}
		if path, err := filepath.EvalSymlinks(c); err == nil {
			return path
		}
	}
	return ""
}

// parseDesktop reads a desktop file; false means that it starts no application.
func parseDesktop(b []byte, id string) (desktopEntry, bool) {
	keys := parseKeyFile(b, "Desktop Entry")
	e := desktopEntry{flatpak: keys["X-Flatpak"], snap: keys["X-SnapInstanceName"]}
	e.app = DesktopApp{ID: id, Name: unescapeValue(keys["Name"]), NoDisplay: keys["NoDisplay"] == "true"}
	e.app.Exec, e.app.Terminal = parseExec(unescapeValue(keys["Exec"])), keys["Terminal"] == "true"
	ok := keys["Type"] == "Application" && keys["Hidden"] != "true" && len(e.app.Exec) > 0
	return e, ok
}

// parseKeyFile reads one group of an INI-like file; the first of equal keys counts.
func parseKeyFile(b []byte, group string) map[string]string {
	out := map[string]string{}
	inside := false
	for raw := range bytes.Lines(b) {
		line := strings.TrimSpace(string(raw))
		if strings.HasPrefix(line, "[") {
			inside = line == "["+group+"]"
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !inside || !ok || strings.HasPrefix(line, "#") {
			continue
		}
		key = strings.TrimSpace(key)
		if _, twice := out[key]; !twice {
			out[key] = strings.TrimSpace(value)
		}
	}
	return out
}

// unescapeValue undoes the escapes of string values.
func unescapeValue(s string) string {
	return strings.NewReplacer(`\\`, `\`, `\s`, " ", `\n`, "\n", `\t`, "\t", `\r`, "\r").Replace(s)
}

// parseExec splits an Exec value by the desktop entry specification's quoting, and
// removes field codes. A malformed value gives nothing.
func parseExec(s string) []string {
	var out []string
	for i := 0; i < len(s); {
		if s[i] == ' ' || s[i] == '\t' || s[i] == '\n' {
			i++
			continue
		}
		var word strings.Builder
		quoted := false
		for ; i < len(s) && s[i] != ' ' && s[i] != '\t' && s[i] != '\n'; i++ {
			switch {
			case s[i] == '"':
				end := closeQuote(s, i+1, &word)
				if end < 0 {
					return nil
				}
				// An empty argument is one, unless it was a field code.
				quoted = quoted || end == i+1
				i = end
			case s[i] == '%' && i+1 < len(s):
				i++
				fieldCode(s[i], &word)
			default:
				word.WriteByte(s[i])
			}
		}
		if word.Len() > 0 || quoted {
			out = append(out, word.String())
		}
	}
	return out
}

// closeQuote copies a quoted part and returns where it ends, -1 if it does not.
func closeQuote(s string, i int, word *strings.Builder) int {
	for ; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return i
		case s[i] == '\\' && i+1 < len(s) && strings.IndexByte("\"`$\\", s[i+1]) >= 0:
			i++
			word.WriteByte(s[i])
		case s[i] == '%' && i+1 < len(s) && s[i+1] != '"':
			i++
			fieldCode(s[i], word)
		default:
			word.WriteByte(s[i])
		}
	}
	return -1
}

// fieldCode writes what a field code stands for when no files are given.
func fieldCode(c byte, word *strings.Builder) {
	if c == '%' {
		word.WriteByte('%')
	}
}
