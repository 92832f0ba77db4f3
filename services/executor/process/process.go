// Package process is the main of every executor process: it reads the charter, takes
// over the links and the key, opens the platform, serves, and ends in order. What
// differs between executors is the platform alone. It runs on the caller's goroutine
// and starts one more, which watches for reasons to end.
package process

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/peersock"
	"fairlead.dev/services/shared/permit"
	"fairlead.dev/services/shared/telemetry"
)

// Exit codes (C9.2).
const (
	// ExitFailure is any failure without a number of its own.
	ExitFailure = 1
	// ExitByHand means that the launcher did not start it.
	ExitByHand = 2
	// ExitProtocol means that launcher and executor do not understand each other.
	ExitProtocol = 76
)

const (
	role = "executor"
	// openMax bounds the way to the desktop at the start (C9.1).
	openMax = 8 * time.Second
	// traceFlush bounds the wait for the last spans.
	traceFlush = 2 * time.Second
)

// Program is one executor.
type Program struct {
	// Name of the program and Version of this build.
	Name, Version string
	// Help is what --help prints.
	Help string
	// Open connects to the desktop. A Platform that also has Done() <-chan struct{} says
	// by it that the desktop is gone: the process ends, and the launcher starts a new
	// incarnation for what comes in its place (C1.3).
	Open func(context.Context, *slog.Logger) (executor.Platform, error)
}

var (
	// errProtocol means that what the launcher handed over is not what was agreed.
	errProtocol = errors.New("protocol")
	// errDesktop means that the desktop is not there, or not any more.
	errDesktop = errors.New("desktop")
)

// Main runs the program and returns its exit code.
func (p Program) Main(args []string, stdout, stderr io.Writer) int {
	switch {
	case len(args) == 1 && args[0] == "--version":
		fmt.Fprintln(stdout, p.Name+" "+p.Version)
		return 0
	case len(args) == 1 && (args[0] == "--help" || args[0] == "-h"):
		fmt.Fprint(stdout, p.Help)
		return 0
	case len(args) > 0:
		fmt.Fprint(stderr, p.Help)
		return ExitByHand
	}
	in, err := peersock.Inherit()
	if err != nil {
		fmt.Fprintln(stderr, p.Name+" is started by \"fairlead up\"; it does nothing when started by hand.")
		return ExitByHand
	}
	log := telemetry.NewLogger(stderr, role)
	switch err := p.serve(in, log); {
	case err == nil:
		return 0
	case errors.Is(err, errProtocol):
		log.Error("launcher and executor do not understand each other", telemetry.Kind("protocol"))
		return ExitProtocol
	case errors.Is(err, errDesktop):
		log.Error("the desktop is not there", telemetry.Kind("desktop"))
		return ExitFailure
	default:
		log.Error("the executor ended with an error", telemetry.Kind("failure"))
		return ExitFailure
	}
}

func (p Program) serve(in *peersock.Inherited, log *slog.Logger) (err error) {
	if in.Role != role {
		return errProtocol
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	key, err := peersock.ReadKey(ed25519.PublicKeySize)
	if err != nil {
		return errors.Join(errProtocol, err)
	}
	links, err := takeOver(in)
	if err != nil {
		return err
	}
	traces, flush, err := telemetry.Provider(ctx, role, p.Version)
	if err != nil {
		return err
	}
	defer func() {
		end, done := context.WithTimeout(context.WithoutCancel(ctx), traceFlush)
		defer done()
		err = errors.Join(err, flush(end))
	}()
	platform, err := p.open(ctx, log)
	if err != nil {
		return errors.Join(errDesktop, err)
	}
	defer func() { err = errors.Join(err, platform.Close()) }()
	e, err := executor.New(executor.Config{
		Platform: platform, PolicyKey: key, Log: log, Traces: traces, Version: p.Version, Clock: permit.BootClock,
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go watch(ctx, cancel, in.Gone, gone(platform))
	log.Info("executor serves", telemetry.Version(p.Version), telemetry.PID(os.Getpid()))
	err = e.Serve(ctx, links.host, links.launcher, links.debug)
	if errors.Is(context.Cause(ctx), errDesktop) {
		err = errors.Join(err, errDesktop)
	}
	return err
}

func (p Program) open(ctx context.Context, log *slog.Logger) (executor.Platform, error) {
	ctx, cancel := context.WithTimeout(ctx, openMax)
	defer cancel()
	return p.Open(ctx, log)
}

// gone is closed when the desktop is gone; nil, which is never, for one that cannot go.
func gone(p executor.Platform) <-chan struct{} {
	if d, ok := p.(interface{ Done() <-chan struct{} }); ok {
		return d.Done()
	}
	return nil
}

func watch(ctx context.Context, cancel context.CancelCauseFunc, launcher, desktop <-chan struct{}) {
	select {
	case <-launcher:
		cancel(nil)
	case <-desktop:
		cancel(errDesktop)
	case <-ctx.Done():
	}
}

// ends are the sockets that the executor serves.
type ends struct {
	host, launcher net.Conn
	debug          net.Listener
}

// takeOver makes the inherited descriptors ours alone: no program that is launched gets
// one. In debug mode it also listens.
func takeOver(in *peersock.Inherited) (ends, error) {
	for _, fd := range []int{peersock.FDCharter, peersock.FDLauncher, peersock.FDHost, peersock.FDKey} {
		unix.CloseOnExec(fd)
	}
	var e ends
	var err error
	if e.host, err = link(peersock.FDHost); err != nil {
		return ends{}, err
	}
	if e.launcher, err = link(peersock.FDLauncher); err != nil {
		return ends{}, errors.Join(err, e.host.Close())
	}
	if in.Debug {
		e.debug, err = peersock.Listen(filepath.Join(in.RuntimeDir, "debug"), "executor.sock")
		if err != nil {
			return ends{}, errors.Join(err, e.host.Close(), e.launcher.Close())
		}
	}
	return e, nil
}

func link(fd uintptr) (net.Conn, error) {
	c, err := peersock.Conn(peersock.File(fd))
	if err != nil {
		return nil, errors.Join(errProtocol, err)
	}
	return c, nil
}
