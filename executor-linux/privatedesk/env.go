//go:build linux

package privatedesk

import (
	"os"
	"path/filepath"
	"strings"
)

// defaultPath is used when the caller has no usable search path.
const defaultPath = "/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games"

// surroundings are the values that differ between desktops.
type surroundings struct {
	dir     string
	path    string
	display string // empty until the X server runs
	bus     string // empty until the session bus runs
}

// environment composes what programs get. The list is closed on purpose: a variable that leaks in from the caller can
// point a program at the caller's desktop, session or settings.
func environment(s surroundings) []string {
	env := []string{
		"HOME=" + filepath.Join(s.dir, "home"),
		"PATH=" + s.path,
		"LANG=C.UTF-8",
		"XDG_RUNTIME_DIR=" + runtimeDir(s.dir),
		"XAUTHORITY=" + authorityFile(s.dir),
		// Empty, not absent: programs take the generic way instead of guessing a desktop.
		"XDG_CURRENT_DESKTOP=",
		// Settings live and die with the process; nothing is read from or written to a database of the user.
		"GSETTINGS_BACKEND=memory",
		// No gvfs daemons and no FUSE mount in the runtime directory.
		"GIO_USE_VFS=local",
		// Without a graphics card GTK 4 would draw with llvmpipe, which takes half a processor and delays its
		// accessibility tree by more than a minute.
		"GSK_RENDERER=cairo",
	}
	if s.display != "" {
		env = append(env, "DISPLAY="+s.display)
	}
	if s.bus != "" {
		env = append(env, "DBUS_SESSION_BUS_ADDRESS="+s.bus)
	}
	return env
}

func runtimeDir(dir string) string    { return filepath.Join(dir, "run") }
func authorityFile(dir string) string { return filepath.Join(dir, "Xauthority") }

// searchPath keeps the absolute directories of a search path: a relative one would mean another directory for each
// program.
func searchPath(path string) string {
	var kept []string
	for _, dir := range filepath.SplitList(path) {
		if filepath.IsAbs(dir) {
			kept = append(kept, dir)
		}
	}
	if len(kept) == 0 {
		return defaultPath
	}
	return strings.Join(kept, string(filepath.ListSeparator))
}

// callerPath is the only thing taken from the caller's environment for programs.
func callerPath() string { return searchPath(os.Getenv("PATH")) }

// find resolves a program on a search path; a name with a slash is taken as it is. Empty means there is none.
func find(program, path string) string {
	if program == "" {
		return ""
	}
	if strings.Contains(program, "/") {
		if abs, err := filepath.Abs(program); err == nil && executable(abs) {
			return abs
		}
		return ""
	}
	for _, dir := range filepath.SplitList(path) {
		if file := filepath.Join(dir, program); executable(file) {
			return file
		}
	}
	return ""
}

func executable(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}
