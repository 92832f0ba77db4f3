//go:build linux

package privatedesk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Requirement is a program that a desktop needs and the Debian package that brings it.
type Requirement struct {
	Program string
	Package string // empty when we do not know it
	Purpose string
}

// String gives "program (package)".
func (r Requirement) String() string {
	if r.Package == "" || r.Package == r.Program {
		return r.Program
	}
	return fmt.Sprintf("%s (Debian package %s)", r.Program, r.Package)
}

// accessibilityService is activated by the session bus; its program has moved between releases, so the service file
// is what to look for.
const accessibilityService = "org.a11y.Bus.service"

func essentials() []Requirement {
	return []Requirement{
		{Program: "Xvfb", Package: "xvfb", Purpose: "the X server"},
		{Program: "xkbcomp", Package: "x11-xkb-utils", Purpose: "keyboard maps of the X server"},
		{Program: "dbus-daemon", Package: "dbus-daemon", Purpose: "the session bus"},
		{Program: "at-spi-bus-launcher", Package: "at-spi2-core", Purpose: "the accessibility bus"},
		{Program: "sh", Package: "dash", Purpose: "cleaning up after a crash"},
		{Program: "grep", Package: "grep", Purpose: "cleaning up after a crash"},
	}
}

// Missing lists the programs that are not installed: of those every desktop needs, and of the given ones (a window
// manager, an application; empty names are skipped).
func Missing(programs ...string) []Requirement {
	return missing(callerPath(), defaultDataDirs, programs)
}

func missing(path, dataDirs string, programs []string) []Requirement {
	wanted := essentials()
	for _, p := range programs {
		if p != "" {
			wanted = append(wanted, Requirement{Program: p, Package: packageOf(p), Purpose: "asked for"})
		}
	}
	return slices.DeleteFunc(wanted, func(r Requirement) bool {
		if r.Program == "at-spi-bus-launcher" {
			return serviceKnown(dataDirs)
		}
		return find(r.Program, path) != ""
	})
}

// defaultDataDirs is where a bus looks for services when XDG_DATA_DIRS is not set, as on our desktops.
const defaultDataDirs = "/usr/local/share:/usr/share"

// serviceKnown says whether a bus that looks in these directories finds the accessibility service.
func serviceKnown(dataDirs string) bool {
	for _, dir := range filepath.SplitList(dataDirs) {
		if _, err := os.Stat(filepath.Join(dir, "dbus-1/services", accessibilityService)); err == nil {
			return true
		}
	}
	return false
}

// packageOf names the Debian package of programs people ask for by another name than their package's.
func packageOf(program string) string {
	switch program {
	case "xprop", "xwininfo", "xdpyinfo", "xev":
		return "x11-utils"
	case "xauth", "xdotool", "openbox", "metacity", "mutter", "mousepad", "zenity", "gnome-calculator", "xfwm4",
		"chromium", "kcalc", "featherpad", "xterm":
		return program
	case "kwin_x11":
		return "kwin-x11"
	default:
		return ""
	}
}

// Packages lists the Debian packages that bring what is missing, sorted, each once.
func Packages(missing []Requirement) []string {
	var out []string
	for _, r := range missing {
		if r.Package != "" {
			out = append(out, r.Package)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// InstallCommand is what a person types to install packages.
func InstallCommand(packages ...string) string {
	command := strings.Join(append(installArgs(), packages...), " ")
	if os.Geteuid() != 0 {
		return "sudo " + command
	}
	return command
}

func installArgs() []string { return []string{"apt-get", "install", "-y", "--no-install-recommends"} }

// InstallReason says why packages were not installed.
type InstallReason string

// The reasons.
const (
	InstallNotRoot   InstallReason = "only root can install packages"
	InstallNoApt     InstallReason = "this system has no apt-get"
	InstallBadName   InstallReason = "not a package name"
	InstallAptFailed InstallReason = "apt-get failed"
)

// InstallError is what Install answers when it did not install.
type InstallError struct {
	Reason   InstallReason
	Packages []string
	Err      error // of apt-get, if it ran
}

// Error is a plain sentence that ends with what to do.
func (e *InstallError) Error() string {
	switch e.Reason {
	case InstallNotRoot, InstallAptFailed:
		return fmt.Sprintf("%s; run: %s", e.Reason, InstallCommand(e.Packages...))
	case InstallNoApt:
		return fmt.Sprintf("%s; install what these Debian packages hold by other means: %s", e.Reason,
			strings.Join(e.Packages, " "))
	default:
		return string(e.Reason)
	}
}

// Unwrap gives apt-get's error.
func (e *InstallError) Unwrap() error { return e.Err }

const (
	// aptMax bounds one run of apt-get; a slow mirror is slow.
	aptMax = 15 * time.Minute
	// aptEndWait is how long apt-get may take to end when it is asked to.
	aptEndWait = 30 * time.Second
	// aptLockSeconds is how long apt-get waits for another one to finish.
	aptLockSeconds = "120"
	aptLists       = "/var/lib/apt/lists"
)

// Install installs Debian packages, as root only, with apt-get's output going to out. The package lists are fetched
// first when there are none, and once more when installing failed with the lists there were. Any failure is an
// [*InstallError].
func Install(ctx context.Context, out io.Writer, packages ...string) error {
	i := installer{root: os.Geteuid() == 0, apt: find("apt-get", callerPath()), lists: aptLists, run: runApt}
	return i.install(ctx, out, packages)
}

// installer holds what Install depends on.
type installer struct {
	root  bool
	apt   string // empty when there is none
	lists string
	run   func(ctx context.Context, out io.Writer, apt string, args ...string) error
}

func (i installer) install(ctx context.Context, out io.Writer, packages []string) error {
	if len(packages) == 0 {
		return nil
	}
	// Debian policy 5.6.1. Also keeps a name from being read as an option.
	valid := regexp.MustCompile(`^[a-z0-9][a-z0-9+.-]+$`)
	for _, p := range packages {
		if !valid.MatchString(p) {
			return &InstallError{Reason: InstallBadName}
		}
	}
	switch {
	case i.apt == "":
		return &InstallError{Reason: InstallNoApt, Packages: packages}
	case !i.root:
		return &InstallError{Reason: InstallNotRoot, Packages: packages}
	}
	args := append(installArgs()[1:], packages...)
	err := errors.New("no package lists")
	if haveLists(i.lists) {
		err = i.run(ctx, out, i.apt, args...)
	}
	if err != nil && ctx.Err() == nil {
		if err = i.run(ctx, out, i.apt, "update"); err == nil {
			err = i.run(ctx, out, i.apt, args...)
		}
	}
	if err != nil {
		return &InstallError{Reason: InstallAptFailed, Packages: packages, Err: plain(err)}
	}
	return nil
}

// haveLists says whether package lists were ever fetched; besides them the directory holds a lock and folders.
func haveLists(dir string) bool {
	files, err := filepath.Glob(filepath.Join(dir, "*_Packages*"))
	return err == nil && len(files) > 0
}

// runApt runs apt-get. It keeps the caller's environment, which may name a proxy.
func runApt(ctx context.Context, out io.Writer, apt string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, aptMax)
	defer cancel()
	cmd := exec.CommandContext(ctx, apt, append([]string{"-o", "DPkg::Lock::Timeout=" + aptLockSeconds}, args...)...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C.UTF-8")
	cmd.Stdout, cmd.Stderr = out, out
	// A package manager that is killed leaves half-configured packages behind: ask first.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = aptEndWait
	return cmd.Run()
}
