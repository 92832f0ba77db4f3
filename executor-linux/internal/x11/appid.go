package x11

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// AppID says which application a process is (C1.3): a desktop-file id such as
// "org.gnome.Calculator", "exe:" and a resolved path, "exe:" interpreter ":" script,
// or AppUnknown. It comes from the kernel and from desktop files of the system,
// never from a title, window class or name that the application chose.
//
// What it is not: proof against another process of the same user. Control groups can
// be joined and a script's arguments rewritten by their own process, which is why a
// control group alone never names an application, and why an interpreter never gets
// a desktop-file id.
type AppID string

// AppUnknown is the id of a process that could not be identified. It is an id of its
// own and denied by default.
const AppUnknown AppID = "unknown"

const (
	// appIDMax is the longest id; a longer one is unknown.
	appIDMax = 1024
	// procFileMax bounds what is read of a process's files.
	procFileMax = 64 << 10
	// rescanEvery is the greatest age of what is known of desktop files.
	rescanEvery = time.Second
)

// AppsConfig says where to look. Empty fields mean the system's places.
type AppsConfig struct {
	// Proc is the proc file system, "/proc".
	Proc string
	// DataDirs hold "applications" directories, best first; $XDG_DATA_DIRS. The
	// user's own XDG_DATA_HOME does not belong here: any program can write there.
	DataDirs []string
	// Path is searched for commands in desktop files; $PATH.
	Path []string
	// TrustUID owns the desktop files that identify processes; default is root.
	// Files of others are listed but identify nothing.
	TrustUID int
}

// Apps identifies processes and lists applications. It is safe for concurrent use.
type Apps struct {
	proc  string
	index desktopIndex
}

// NewApps makes an identifier. It reads nothing yet.
func NewApps(c AppsConfig) *Apps {
	if c.Proc == "" {
		c.Proc = "/proc"
	}
	if len(c.DataDirs) == 0 {
		c.DataDirs = filepath.SplitList(os.Getenv("XDG_DATA_DIRS"))
	}
	if len(c.DataDirs) == 0 {
		c.DataDirs = []string{"/usr/local/share", "/usr/share"}
	}
	if len(c.Path) == 0 {
		c.Path = filepath.SplitList(os.Getenv("PATH"))
	}
	return &Apps{proc: c.Proc, index: desktopIndex{dirs: c.DataDirs, path: c.Path, trustUID: uint32(c.TrustUID)}}
}

// ID identifies the process that had this id and start time when a window was
// listed; a process that is gone, or another one by now, is AppUnknown.
func (a *Apps) ID(pid int, start uint64) AppID {
	alive := func() bool {
		now, err := processStart(a.proc, pid)
		return err == nil && now == start && start != 0
	}
	if !alive() {
		return AppUnknown
	}
	id := a.identify(pid)
	// The start is checked again, so that all that was read is of one process.
	if len(id) > appIDMax || !alive() {
		return AppUnknown
	}
	return id
}

func (a *Apps) identify(pid int) AppID {
	dir := filepath.Join(a.proc, strconv.Itoa(pid))
	u := unitOf(readProc(dir, "cgroup"))
	if u.kind == unitFlatpak {
		// Its executable is inside the sandbox and cannot be compared.
		return a.flatpak(dir, u)
	}
	exe, err := executable(a.proc, pid)
	if err != nil {
		return AppUnknown
	}
	if isInterpreter(exe) {
		return AppID("exe:" + exe + ":" + scriptOf(exe, dir))
	}
	entries, err := a.index.claiming(exe)
	if err != nil {
		return AppID("exe:" + exe)
	}
	switch u.kind {
	case unitSnap:
		if e, ok := a.index.byID(u.id); ok && e.trusted && e.snap == u.snap && insideSnap(exe, u.snap) {
			return AppID(e.app.ID)
		}
	case unitApp:
		// The scope decides between desktop files that agree with the executable.
		for _, e := range entries {
			if e.app.ID == u.id {
				return AppID(e.app.ID)
			}
		}
	}
	if len(entries) > 0 {
		return AppID(entries[0].app.ID)
	}
	return AppID("exe:" + exe)
}

// flatpak wants three to agree: the control group, the sandbox's own description
// and a desktop file exported for it.
func (a *Apps) flatpak(dir string, u unit) AppID {
	e, ok := a.index.byID(u.id)
	if !ok || !e.trusted || e.flatpak != u.id {
		return AppUnknown
	}
	info := parseKeyFile(readProc(dir, "root/.flatpak-info"), "Application")
	if info["name"] != u.id {
		return AppUnknown
	}
	return AppID(e.app.ID)
}

func insideSnap(exe, snap string) bool {
	return strings.HasPrefix(exe, "/snap/"+snap+"/") || strings.HasPrefix(exe, "/var/lib/snapd/snap/"+snap+"/")
}

// Executable is the resolved path of the program a process runs. It is an error if
// the file at that path is not the one that runs: deleted, replaced, or seen through
// another mount namespace, where anything can be put at any path.
func Executable(pid int) (string, error) { return executable("/proc", pid) }

func executable(proc string, pid int) (string, error) {
	link := filepath.Join(proc, strconv.Itoa(pid), "exe")
	path, err := os.Readlink(link)
	if err != nil {
		return "", fmt.Errorf("read executable of process: %w", err)
	}
	running, err := os.Stat(link)
	if err != nil {
		return "", fmt.Errorf("stat executable of process: %w", err)
	}
	path, err = filepath.EvalSymlinks(path)
	if err != nil {
		return "", fmt.Errorf("resolve executable of process: %w", err)
	}
	found, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("stat executable of process: %w", err)
	}
	if !os.SameFile(running, found) {
		return "", fmt.Errorf("executable of process: %w", ErrGone)
	}
	return path, nil
}

// readProc reads a file of a process; what cannot be read is empty.
func readProc(dir, name string) []byte {
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return nil
	}
	b, err := io.ReadAll(io.LimitReader(f, procFileMax))
	if closeErr := f.Close(); err != nil || closeErr != nil {
		return nil
	}
	return b
}

// unitKind says who named a control group.
type unitKind int

const (
	unitNone unitKind = iota
	unitApp
	unitFlatpak
	unitSnap
)

// unit is the application named by a systemd unit in a process's control group.
type unit struct {
	kind unitKind
	id   string // desktop-file id
	snap string // snap instance, for unitSnap
}

// unitOf finds the unit in /proc/PID/cgroup, version 2 or systemd's version 1 line.
func unitOf(cgroup []byte) unit {
	for line := range bytes.Lines(cgroup) {
		fields := strings.SplitN(strings.TrimSpace(string(line)), ":", 3)
		if len(fields) != 3 || (fields[1] != "" && fields[1] != "name=systemd") {
			continue
		}
		parts := strings.Split(fields[2], "/")
		for i := len(parts) - 1; i >= 0; i-- {
			if u := parseUnit(parts[i]); u.kind != unitNone {
				return u
			}
		}
	}
	return unit{}
}

// parseUnit reads app[-LAUNCHER]-ID-RANDOM.scope, app[-LAUNCHER]-ID[@RANDOM].service
// (systemd's desktop environment integration) and snap.NAME.APP[-UUID].scope.
func parseUnit(name string) unit {
	base, isScope := strings.CutSuffix(name, ".scope")
	if !isScope {
		var isService bool
		if base, isService = strings.CutSuffix(name, ".service"); !isService {
			return unit{}
		}
		base, _, _ = strings.Cut(base, "@")
	}
	if rest, ok := strings.CutPrefix(base, "snap."); ok {
		return parseSnap(rest)
	}
	parts := strings.Split(base, "-")
	if parts[0] != "app" {
		return unit{}
	}
	if isScope {
		parts = parts[:len(parts)-1] // the random part
	}
	if len(parts) < 2 || len(parts) > 3 {
		return unit{}
	}
	id, ok := unescapeUnit(parts[len(parts)-1])
	if !ok || id == "" {
		return unit{}
	}
	if len(parts) == 3 && parts[1] == "flatpak" {
		return unit{kind: unitFlatpak, id: id}
	}
	return unit{kind: unitApp, id: id}
}

func parseSnap(rest string) unit {
	name, app, ok := strings.Cut(rest, ".")
	app, _, _ = strings.Cut(app, ".")
	const uuid = len("-00000000-0000-0000-0000-000000000000")
	if len(app) > uuid && strings.Count(app[len(app)-uuid:], "-") == 5 && app[len(app)-uuid] == '-' {
		app = app[:len(app)-uuid]
	}
	if !ok || name == "" || app == "" {
		return unit{}
	}
	return unit{kind: unitSnap, id: name + "_" + app, snap: name}
}

// unescapeUnit undoes systemd's \xHH.
func unescapeUnit(s string) (string, bool) {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, `\x`)
		b.WriteString(before)
		if !found {
			return b.String(), true
		}
		if len(after) < 2 {
			return "", false
		}
		n, err := strconv.ParseUint(after[:2], 16, 8)
		if err != nil {
			return "", false
		}
		b.WriteByte(byte(n))
		s = after[2:]
	}
}
