// Command fairlead-executor-virtual is the executor of the virtual desk, a desktop made
// of Go values. It is started by `fairlead up`, never by hand.
package main

import (
	"context"
	"log/slog"
	"os"

	"fairlead.dev/services/executor"
	"fairlead.dev/services/executor/process"
	"fairlead.dev/services/virtualdesk"
)

// version is set by the build: -ldflags "-X main.version=…".
var version = "dev"

const help = `fairlead-executor-virtual drives a desktop made of values in memory, for trying fairlead out.
It is started by "fairlead up --platform virtual", not by hand.

  --version   print the version
  --help      print this text
`

func main() {
	os.Exit(process.Program{
		Name: "fairlead-executor-virtual", Version: version, Help: help,
		Open: func(context.Context, *slog.Logger) (executor.Platform, error) {
			return virtualdesk.New(virtualdesk.Config{})
		},
	}.Main(os.Args[1:], os.Stdout, os.Stderr))
}
