package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"fairlead.dev/services/launcher"
)

// platformAuto lets us choose.
const platformAuto = "auto"

// surroundings is what the choice of a platform looks at.
type surroundings struct {
	goos    string
	display string
	// has reports whether a program of ours lies beside us.
	has func(program string) bool
}

func ourSurroundings() surroundings {
	return surroundings{goos: runtime.GOOS, display: os.Getenv("DISPLAY"), has: beside}
}

// errNoDisplay means that an executor for X11 would have nothing to connect to.
var errNoDisplay = errors.New(
	"there is no X display here: DISPLAY is not set; try --private-desktop or --platform virtual")

// choose returns the platform to drive and why.
func (s surroundings) choose(asked string) (platform, why string, err error) {
	switch asked {
	case platformAuto:
	case launcher.PlatformX11:
		if s.display == "" {
			return "", "", errNoDisplay
		}
		return asked, "you asked for it", nil
	case launcher.PlatformVirtual, launcher.PlatformMacOS:
		return asked, "you asked for it", nil
	default:
		return "", "", &usageError{fmt.Sprintf("there is no platform %q; use auto, x11, virtual or macos", asked)}
	}
	switch {
	case s.goos == "darwin" && s.has(launcher.ExecutorName(launcher.PlatformMacOS)):
		return launcher.PlatformMacOS, "this is macOS", nil
	case s.goos != "linux":
		return launcher.PlatformVirtual, "there is no executor for this system here", nil
	case s.display == "":
		return launcher.PlatformVirtual, "there is no X11 display: DISPLAY is not set", nil
	case !s.has(launcher.ExecutorName(launcher.PlatformX11)):
		return launcher.PlatformVirtual, "fairlead-executor-linux is not installed beside fairlead", nil
	default:
		return launcher.PlatformX11, "DISPLAY is " + s.display, nil
	}
}

// binDir is the directory of our own executable, where the other programs are.
func binDir() string {
	own, err := os.Executable()
	if err != nil {
		return "."
	}
	return filepath.Dir(own)
}

func beside(program string) bool {
	st, err := os.Stat(filepath.Join(binDir(), program))
	return err == nil && st.Mode().IsRegular()
}
