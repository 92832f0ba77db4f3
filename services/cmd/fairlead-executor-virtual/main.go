// Command fairlead-executor-virtual is the executor of the virtual desk, a desktop made
// of Go values. It is started by `fairlead up`, never by hand.
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
	"syscall"
	"time"

	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/peersock"
	"fairlead.dev/services/shared/permit"
	"fairlead.dev/services/shared/telemetry"
	"fairlead.dev/services/virtualdesk"
)

// version is set by the build: -ldflags "-X main.version=…".
var version = "dev"

const (
	role = "executor"
	// exitFailure is any failure without a number of its own.
	exitFailure = 1
	// exitByHand means that the launcher did not start it.
	exitByHand = 2
	// exitProtocol means that what the launcher handed over is not what was agreed (C9.2).
	exitProtocol = 76
	// traceFlush bounds the wait for the last spans.
	traceFlush = 2 * time.Second
)

// errProtocol means that what the launcher handed over is not what was agreed.
var errProtocol = errors.New("protocol")

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	if len(args) == 1 && args[0] == "--version" {
		fmt.Println("fairlead-executor-virtual " + version)
		return 0
	}
	in, err := peersock.Inherit()
	if err != nil || len(args) > 0 {
		fmt.Fprintln(os.Stderr, `fairlead-executor-virtual is started by "fairlead up"; by hand it does nothing.`)
		return exitByHand
	}
	log := telemetry.NewLogger(os.Stderr, role)
	switch err := serve(in, log); {
	case err == nil:
		return 0
	case errors.Is(err, errProtocol):
		log.Error("launcher and executor do not understand each other", telemetry.Kind("protocol"))
		return exitProtocol
	default:
		log.Error("the executor ended with an error", telemetry.Kind("failure"))
		return exitFailure
	}
}

func serve(in *peersock.Inherited, log *slog.Logger) (err error) {
	if in.Role != role {
		return errProtocol
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-in.Gone:
			cancel()
		case <-ctx.Done():
		}
	}()
	key, err := peersock.ReadKey(ed25519.PublicKeySize)
	if err != nil {
		return errors.Join(errProtocol, err)
	}
	traces, flush, err := telemetry.Provider(ctx, role, version)
	if err != nil {
		return err
	}
	defer func() {
		end, done := context.WithTimeout(context.WithoutCancel(ctx), traceFlush)
		defer done()
		err = errors.Join(err, flush(end))
	}()
	desk, err := virtualdesk.New(virtualdesk.Config{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, desk.Close()) }()
	e, err := executor.New(executor.Config{
		Platform: desk, PolicyKey: key, Log: log, Traces: traces, Version: version, Clock: permit.BootClock,
	})
	if err != nil {
		return err
	}
	host, launcher, debug, err := open(in)
	if err != nil {
		return err
	}
	log.Info("executor serves", telemetry.Version(version), telemetry.PID(os.Getpid()))
	return e.Serve(ctx, host, launcher, debug)
}

// open takes over the inherited links and, in debug mode, listens.
func open(in *peersock.Inherited) (host, launcher net.Conn, debug net.Listener, err error) {
	if host, err = peersock.Conn(peersock.File(peersock.FDHost)); err != nil {
		return nil, nil, nil, errors.Join(errProtocol, err)
	}
	if launcher, err = peersock.Conn(peersock.File(peersock.FDLauncher)); err != nil {
		return nil, nil, nil, errors.Join(errProtocol, err, host.Close())
	}
	if !in.Debug {
		return host, launcher, nil, nil
	}
	debug, err = peersock.Listen(filepath.Join(in.RuntimeDir, "debug"), "executor.sock")
	if err != nil {
		return nil, nil, nil, errors.Join(err, host.Close(), launcher.Close())
	}
	return host, launcher, debug, nil
}
