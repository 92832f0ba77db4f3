// Command fairlead-executor-darwin is the executor of a Mac. It serves, and says that
// nothing is offered yet. It is started by `fairlead up`, never by hand.
package main

import (
	"context"
	"log/slog"
	"os"

	"fairlead.dev/executor-darwin/macdesk"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/executor/process"
)

// version is set by the build: -ldflags "-X main.version=…".
var version = "dev"

const help = `fairlead-executor-darwin will read and operate the windows of a Mac for fairlead; it offers nothing yet.
It is started by "fairlead up", not by hand.

  --version   print the version
  --help      print this text
`

func main() {
	os.Exit(process.Program{
		Name: "fairlead-executor-darwin", Version: version, Help: help,
		Open: func(context.Context, *slog.Logger) (executor.Platform, error) { return macdesk.New(), nil },
	}.Main(os.Args[1:], os.Stdout, os.Stderr))
}
