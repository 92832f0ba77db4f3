// Fairlead-host is the session host process. It is started by `fairlead up` and by
// nothing else.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/sessionhost"
	"fairlead.dev/services/shared/peersock"
	"fairlead.dev/services/shared/telemetry"
)

// version is set by the build.
var version = "dev"

// Exit codes: 2 is a wrong call, 1 any other failure.
const exitUsage = 2

func main() {
	show := flag.Bool("version", false, "print the version and end")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "fairlead-host is started by `fairlead up`; it takes no arguments but --version.")
	}
	flag.Parse()
	if *show {
		fmt.Println(version)
		return
	}
	in, err := peersock.Inherit()
	if err != nil {
		fmt.Fprintln(os.Stderr, "fairlead-host is started by `fairlead up`, not by hand.")
		os.Exit(exitUsage)
	}
	if err := run(in); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(in *peersock.Inherited) error {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer cancel()
	go func() { <-in.Gone; cancel() }()
	traces, flush, err := telemetry.Provider(ctx, "host", version)
	if err != nil {
		return err
	}
	generation, err := sessionhost.NextGeneration(in.StateDir, time.Now())
	if err != nil {
		return err
	}
	links, err := peersock.Conn(peersock.File(peersock.FDLauncher))
	if err != nil {
		return err
	}
	cfg := sessionhost.Config{
		Generation: generation, Links: links, AgentUIDs: in.AgentUIDs, Traces: traces,
		Log: telemetry.NewLogger(os.Stderr, "host"),
		Self: &commonv1.ProcessStatus{
			Pid: int32(os.Getpid()), Executable: in.Executable, Version: version, Sha256: in.SHA256, Attested: in.Attested,
		},
	}
	agent := peersock.Listen
	if len(in.AgentUIDs) > 0 {
		agent = peersock.ListenShared
	}
	if cfg.Agent, err = agent(filepath.Join(in.RuntimeDir, "agent"), "host.sock"); err != nil {
		return err
	}
	if cfg.User, err = listen(in, "user"); err != nil {
		return err
	}
	if in.Debug {
		if cfg.Debug, err = listen(in, "debug"); err != nil {
			return err
		}
	}
	h, err := sessionhost.New(cfg)
	if err != nil {
		return err
	}
	err = h.Serve(ctx)
	end, done := context.WithTimeout(context.Background(), 2*time.Second)
	defer done()
	return errors.Join(err, flush(end))
}

func listen(in *peersock.Inherited, audience string) (net.Listener, error) {
	return peersock.Listen(filepath.Join(in.RuntimeDir, audience), "host.sock")
}
