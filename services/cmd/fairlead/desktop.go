package main

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"fairlead.dev/services/launcher"
)

func desktopCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "desktop [OPTIONS] [-- APP ARGS...]",
		Short: "Run a program on a private desktop",
		Long: `Starts a private X11 desktop, apart from the one you are working at, and runs a program on
it. This is "fairlead-executor-linux desktop"; see its --help for the options.`,
		Example: `  fairlead desktop -- gnome-calculator
  fairlead desktop --size 1600x900 -- mousepad notes.txt
  fairlead desktop --check                 what would have to be installed`,
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			name := launcher.ExecutorName(launcher.PlatformX11)
			if !beside(name) {
				return errNoDesktops
			}
			path := filepath.Join(binDir(), name)
			return syscall.Exec(path, append([]string{name, "desktop"}, args...), os.Environ())
		},
	}
}

var errNoDesktops = errors.New(
	"private desktops need fairlead-executor-linux beside fairlead; build it with make build, on Linux")
