//go:build linux

package privatedesk

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// dirMax leaves room for the sockets below it: a socket path holds 107 bytes, the longest name we know of
	// ("run/at-spi/bus_99", "run/pulse/native", "run/gvfsd/socket-XXXXXXXX") needs 25.
	dirMax = 72
	// dirPrefix starts the names of fresh directories.
	dirPrefix = "fairlead-desk-"
	// unmountMax bounds one run of fusermount.
	unmountMax = 2 * time.Second
)

// makeDirectory makes the directory of the desktop, with home and runtime directory in it.
func (d *Desktop) makeDirectory(context.Context) error {
	dir, err := claimDirectory(d.options.Dir)
	if err != nil {
		return err
	}
	// Mount points and environments show resolved names.
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return err
	}
	// From here on the directory is ours, and Close removes it.
	d.dir = dir
	for _, sub := range []string{d.home(), d.runtime()} {
		if err := os.Mkdir(sub, 0o700); err != nil {
			return err
		}
	}
	if d.options.LogDir != "" {
		if err := os.MkdirAll(d.options.LogDir, 0o700); err != nil {
			return err
		}
	}
	d.env = environment(surroundings{dir: dir, path: callerPath()})
	return nil
}

// claimDirectory makes a directory, or takes over an empty one. It never takes one with something in it, because
// Close removes all of it.
func claimDirectory(wanted string) (string, error) {
	if wanted == "" {
		return os.MkdirTemp(runtimeBase(), dirPrefix)
	}
	dir, err := filepath.Abs(wanted)
	if err != nil {
		return "", err
	}
	if len(dir) > dirMax || strings.ContainsFunc(dir, unfitForPath) {
		return "", ErrDirectory
	}
	err = os.Mkdir(dir, 0o700)
	if err == nil {
		return dir, nil
	}
	if !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	if !info.IsDir() || !ownedByUs(info) || len(entries) > 0 {
		return "", ErrDirectory
	}
	return dir, os.Chmod(dir, 0o700)
}

// unfitForPath refuses what would change the meaning of a D-Bus address, of a line of the environment that is handed
// over, or of the keeper's patterns.
func unfitForPath(r rune) bool {
	return r <= ' ' || r >= 0x7f || strings.ContainsRune(`,;:=%*\'"`, r)
}

// runtimeBase is where fresh directories go.
func runtimeBase() string {
	base := os.Getenv("XDG_RUNTIME_DIR")
	tooLong := len(base)+len("/"+dirPrefix+"0123456789") > dirMax
	if !filepath.IsAbs(base) || strings.ContainsFunc(base, unfitForPath) || tooLong {
		return "/tmp"
	}
	if info, err := os.Stat(base); err != nil || !info.IsDir() || !ownedByUs(info) {
		return "/tmp"
	}
	return base
}

func ownedByUs(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

// removeTree removes the directory of a desktop. A program may have mounted something in it (the document portal does,
// with FUSE), and what is mounted is not ours to delete: it is unmounted first, and if that fails nothing is removed.
func removeTree(dir string) error {
	for _, point := range mountsBelow(dir) {
		if unix.Unmount(point, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW) == nil {
			continue
		}
		unmountUser(point)
	}
	if len(mountsBelow(dir)) > 0 {
		return ErrMounted
	}
	return plain(os.RemoveAll(dir))
}

// unmountUser asks the helper that lets users unmount their own FUSE file systems.
func unmountUser(point string) {
	ctx, cancel := context.WithTimeout(context.Background(), unmountMax)
	defer cancel()
	for _, helper := range []string{"fusermount3", "fusermount"} {
		if file := find(helper, callerPath()); file != "" {
			_ = exec.CommandContext(ctx, file, "-u", "-z", "--", point).Run()
			return
		}
	}
}

// mountsBelow lists mount points in dir, deepest first. Directories we make hold no character that the kernel would
// escape there; a mount point below may, and then only its existence counts: unmounting fails, so does removing.
func mountsBelow(dir string) []string {
	content, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	var points []string
	lines := bufio.NewScanner(bytes.NewReader(content))
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) > 4 && strings.HasPrefix(fields[4], dir+"/") {
			points = append([]string{fields[4]}, points...)
		}
	}
	return points
}
