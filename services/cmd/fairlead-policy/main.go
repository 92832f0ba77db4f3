// Command fairlead-policy is the process that decides what agents may do, signs permits
// and keeps the record. It is started by `fairlead up`, never by hand.
package main

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"fairlead.dev/services/policy"
	"fairlead.dev/services/shared/peersock"
	"fairlead.dev/services/shared/telemetry"
)

// version is set by -ldflags "-X main.version=…".
var version = "dev"

const (
	role = "policy"
	// exitFailure is any failure without a number of its own.
	exitFailure = 1
	// exitByHand means that the launcher did not start it.
	exitByHand = 2
	// exitProtocol means that launcher and policy do not understand each other (C9.2).
	exitProtocol = 76
	// traceFlush bounds the wait for the last spans.
	traceFlush = 2 * time.Second
)

const help = `fairlead-policy decides what agents may do on this desk, signs permits and keeps the record.
It is started by "fairlead up", not by hand.

  --version   print the version
  --help      print this text
`

func main() {
	// Policy decides one question at a time, in microseconds: waking a second thread for
	// it costs more than the decision.
	runtime.GOMAXPROCS(1)
	os.Exit(run(os.Args[1:]))
}

func run(args []string) int {
	switch {
	case len(args) == 1 && args[0] == "--version":
		fmt.Println("fairlead-policy " + version)
		return 0
	case len(args) == 1 && (args[0] == "--help" || args[0] == "-h"):
		fmt.Print(help)
		return 0
	case len(args) > 0:
		fmt.Fprint(os.Stderr, help)
		return exitByHand
	}
	in, err := peersock.Inherit()
	if err != nil {
		fmt.Fprintln(os.Stderr, "fairlead-policy is started by \"fairlead up\"; it does nothing when started by hand.")
		return exitByHand
	}
	log := telemetry.NewLogger(os.Stderr, role)
	if err := serve(in, log); err != nil {
		if errors.Is(err, errProtocol) {
			log.Error("launcher and policy do not understand each other", telemetry.Kind("protocol"))
			return exitProtocol
		}
		log.Error("policy ended with an error", telemetry.Kind("failure"))
		return exitFailure
	}
	return 0
}

// errProtocol means that what the launcher handed over is not what was agreed.
var errProtocol = errors.New("protocol")

func serve(in *peersock.Inherited, log *slog.Logger) error {
	if in.Role != role {
		return errProtocol
	}
	lifetime, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	ctx, cancel := context.WithCancel(lifetime)
	defer cancel()
	go func() {
		select {
		case <-in.Gone:
			cancel()
		case <-ctx.Done():
		}
	}()
	key, err := peersock.ReadKey(ed25519.PrivateKeySize)
	if err != nil {
		return errors.Join(errProtocol, err)
	}
	p, err := policy.New(policy.Config{
		Version:    version,
		Key:        key,
		Generation: policy.NextGeneration(in.StateDir, time.Now()),
		Bundle:     in.Bundle,
		Log:        log,
	})
	if err != nil {
		return errors.Join(errProtocol, err)
	}
	links, err := open(in)
	if err != nil {
		return err
	}
	traces, flush, err := telemetry.Provider(ctx, role, version)
	if err != nil {
		return err
	}
	links.Traces = traces
	log.Info("policy serves",
		telemetry.Version(version), telemetry.Generation(p.Generation()), telemetry.PID(os.Getpid()))
	err = p.Serve(ctx, links)
	end, done := context.WithTimeout(context.WithoutCancel(ctx), traceFlush)
	defer done()
	return errors.Join(err, flush(end))
}

func open(in *peersock.Inherited) (policy.Links, error) {
	host, err := link(peersock.FDHost)
	if err != nil {
		return policy.Links{}, err
	}
	launcher, err := link(peersock.FDLauncher)
	if err != nil {
		return policy.Links{}, err
	}
	links := policy.Links{Host: host, Launcher: launcher}
	if in.Debug {
		links.Debug, err = peersock.Listen(filepath.Join(in.RuntimeDir, "debug"), "policy.sock")
		if err != nil {
			return policy.Links{}, err
		}
	}
	return links, nil
}

func link(fd uintptr) (net.Conn, error) {
	c, err := peersock.Conn(peersock.File(fd))
	if err != nil {
		return nil, errors.Join(errProtocol, err)
	}
	return c, nil
}
