// Command fairlead-executor-linux is the process that touches a Linux desktop: the only
// one of fairlead that does. It is started by `fairlead up`, never by hand. Its command
// "desktop" makes private desktops, and checks and installs what they need.
package main

import (
	"context"
	"log/slog"
	"os"

	"fairlead.dev/executor-linux/x11desk"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/executor/process"
)

// version is set by the build: -ldflags "-X main.version=…".
var version = "dev"

const help = `fairlead-executor-linux reads and operates the windows of a Linux desktop for fairlead.
It is started by "fairlead up", not by hand.

  desktop …            a private desktop; see: fairlead-executor-linux desktop --help
  desktop --check      list the packages that a private desktop and the demo lack, one a line
  desktop --install    install them
  --version            print the version
  --help               print this text
`

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	if len(args) > 0 && args[0] == "desktop" {
		return desktop(args[1:], os.Stdout, os.Stderr)
	}
	return process.Program{
		Name: "fairlead-executor-linux", Version: version, Help: help,
		Open: func(ctx context.Context, log *slog.Logger) (executor.Platform, error) {
			return x11desk.New(ctx, x11desk.Config{Log: log})
		},
	}.Main(args, os.Stdout, os.Stderr)
}
