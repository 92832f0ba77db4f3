package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	hostv1 "fairlead.dev/gen/fairlead/host/v1"
)

// errNoSession is told for a session that is not there.
var errNoSession = errors.New("there is no such session; it may have ended already")

func stopCommand() *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use:   "stop SESSION",
		Short: "Stop an agent's session now",
		Long: `Stops a session: what it asked for until now is refused, its act in flight is cancelled, its
leases end. It may do nothing until you resume it.`,
		Example: `  fairlead stop s-2mzq4c6vbnhd3xq7k5jt2w6y4e`,
		Args:    one("session"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return control(cmd, dir, func(ctx context.Context, c hostv1.ControlServiceClient) (string, error) {
				r, err := c.Stop(ctx, &hostv1.StopRequest{SessionId: args[0]})
				switch {
				case err != nil:
					return "", err
				case !r.GetKnown():
					return "", errNoSession
				case r.GetActInFlight():
					return "Stopped. An act was in flight; its outcome is still told.", nil
				}
				return "Stopped.", nil
			})
		},
	}
	runtimeDirFlag(c, &dir)
	return c
}

func resumeCommand() *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use:     "resume SESSION",
		Short:   "Let a stopped session go on",
		Long:    `Lifts your stop. The agent has to begin a new turn, and starts it without leases.`,
		Example: `  fairlead resume s-2mzq4c6vbnhd3xq7k5jt2w6y4e`,
		Args:    one("session"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return control(cmd, dir, func(ctx context.Context, c hostv1.ControlServiceClient) (string, error) {
				r, err := c.Resume(ctx, &hostv1.ResumeRequest{SessionId: args[0]})
				switch {
				case err != nil:
					return "", err
				case !r.GetResumed():
					return "", errors.New("this session is not stopped, or is not there any more")
				}
				return "Resumed. The agent begins a new turn without leases.", nil
			})
		},
	}
	runtimeDirFlag(c, &dir)
	return c
}

// control makes one call on the user's socket and prints what came of it.
func control(
	cmd *cobra.Command, dir string, call func(context.Context, hostv1.ControlServiceClient) (string, error),
) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(cmd.Context()), callMax)
	defer cancel()
	conn, err := connect(ctx, orDefault(dir), "user")
	if err != nil {
		return err
	}
	defer conn.Close()
	said, err := call(ctx, hostv1.NewControlServiceClient(conn))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), said)
	return err
}
