// Command fairlead is the one command for people: it starts fairlead, shows what runs and
// what happened, holds and stops sessions, and shows in a minute what all of it is for. As
// a client it knows the public services and nothing behind them.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"fairlead.dev/services/launcher"
)

// version is set by the build: -ldflags "-X main.version=…".
var version = "dev"

const exitUsage = 2

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	root := command()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.Execute()
	if err == nil {
		return 0
	}
	fmt.Fprintf(stderr, "fairlead: %v\n", err)
	var wrong *usageError
	if errors.As(err, &wrong) {
		return exitUsage
	}
	return launcher.ExitCode(err)
}

// usageError is a command line that makes no sense.
type usageError struct{ problem string }

func (e *usageError) Error() string { return e.problem + "; try --help" }

func command() *cobra.Command {
	root := &cobra.Command{
		Use:   "fairlead",
		Short: "Let an agent use a real desktop without trusting it with the desktop",
		Long: `fairlead stands between an AI agent and a desktop. The agent sees what it was given to
see, acts only on what it has seen, and each act is decided by rules, sent by one
process that can do nothing else, and checked by reading back what became of it.
You can stop it at any moment.`,
		Example: `  fairlead demo                 see it work, on a desktop of its own
  fairlead up                   start it on this desktop
  fairlead status               see what runs and what works
  fairlead timeline --follow    see what agents do
  fairlead stop SESSION         stop an agent
  fairlead stop --all           stop everything`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noArguments,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{err.Error()} })
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(upCommand(), demoCommand(), statusCommand(), timelineCommand(), stopCommand(), pauseCommand(),
		takeoverCommand(), resumeCommand(), desktopCommand(), manifestCommand(), versionCommand())
	return root
}

func noArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return &usageError{fmt.Sprintf("%q is not something fairlead knows here", args[0])}
	}
	return nil
}

func one(what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 || args[0] == "" {
			return &usageError{"name exactly one " + what}
		}
		return nil
	}
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "fairlead", version)
			return err
		},
	}
}

func manifestCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "manifest", Short: "Make the manifest that programs are attested by", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(&cobra.Command{
		Use:   "write DIR",
		Short: "Write manifest.json for the programs in a directory",
		Long: `Writes manifest.json beside the programs: their names, roles, version and SHA-256. The build
does this once; "fairlead up" then runs exactly those bytes and nothing else.`,
		Example: `  fairlead manifest write .bin`,
		Args:    one("directory"),
		RunE:    func(_ *cobra.Command, args []string) error { return launcher.WriteManifest(args[0], version) },
	})
	return c
}
