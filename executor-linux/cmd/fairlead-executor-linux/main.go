// Command fairlead-executor-linux is the process that touches a Linux desktop: the only
// one of fairlead that does. It is started by `fairlead up`, never by hand. Its command
// "desktop" makes private desktops, and checks and installs what they need.
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

	"golang.org/x/sys/unix"

	"fairlead.dev/executor-linux/x11desk"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/peersock"
	"fairlead.dev/services/shared/permit"
	"fairlead.dev/services/shared/telemetry"
)

// version is set by -ldflags "-X main.version=…".
var version = "dev"

const (
	role = "executor"
	// exitFailure is any failure without a number of its own.
	exitFailure = 1
	// exitByHand means that the launcher did not start it.
	exitByHand = 2
	// exitProtocol means that launcher and executor do not understand each other (C9.2).
	exitProtocol = 76
	// connectMax bounds the way to the desktop at the start (C9.1).
	connectMax = 8 * time.Second
	// traceFlush bounds the wait for the last spans.
	traceFlush = 2 * time.Second
)

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
	switch {
	case len(args) > 0 && args[0] == "desktop":
		return desktop(args[1:], os.Stdout, os.Stderr)
	case len(args) == 1 && args[0] == "--version":
		fmt.Println("fairlead-executor-linux " + version)
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
		fmt.Fprintln(os.Stderr,
			"fairlead-executor-linux is started by \"fairlead up\"; it does nothing when started by hand.")
		return exitByHand
	}
	log := telemetry.NewLogger(os.Stderr, role)
	switch err := serve(in, log); {
	case err == nil:
		return 0
	case errors.Is(err, errProtocol):
		log.Error("launcher and executor do not understand each other", telemetry.Kind("protocol"))
		return exitProtocol
	case errors.Is(err, errDesktop):
		log.Error("the desktop is not there: no X display answers", telemetry.Kind("desktop"))
		return exitFailure
	default:
		log.Error("the executor ended with an error", telemetry.Kind("failure"))
		return exitFailure
	}
}

var (
	// errProtocol means that what the launcher handed over is not what was agreed.
	errProtocol = errors.New("protocol")
	// errDesktop means that the X server is not there, or not any more.
	errDesktop = errors.New("desktop")
)

func serve(in *peersock.Inherited, log *slog.Logger) (err error) {
	if in.Role != role {
		return errProtocol
	}
	// What was inherited is ours alone: no program that is launched gets it.
	for _, fd := range []int{peersock.FDCharter, peersock.FDLauncher, peersock.FDHost, peersock.FDKey} {
		unix.CloseOnExec(fd)
	}
	lifetime, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	ctx, cancel := context.WithCancel(lifetime)
	defer cancel()
	key, err := peersock.ReadKey(ed25519.PublicKeySize)
	if err != nil {
		return errors.Join(errProtocol, err)
	}
	links, err := open(in)
	if err != nil {
		return err
	}
	desk, err := connect(ctx, log)
	if err != nil {
		return errors.Join(errDesktop, err)
	}
	defer func() { err = errors.Join(err, desk.Close()) }()
	go func() {
		select {
		case <-in.Gone:
		case <-desk.Done():
		case <-ctx.Done():
		}
		cancel()
	}()
	traces, flush, err := telemetry.Provider(ctx, role, version)
	if err != nil {
		return err
	}
	e, err := executor.New(executor.Config{
		Platform: desk, PolicyKey: key, Log: log, Traces: traces, Version: version, Clock: permit.BootClock,
	})
	if err != nil {
		return err
	}
	log.Info("executor serves", telemetry.Version(version), telemetry.PID(os.Getpid()))
	err = e.Serve(ctx, links.host, links.launcher, links.debug)
	select {
	case <-desk.Done():
		// The launcher starts a new incarnation for what comes in its place (C1.3).
		err = errors.Join(err, errDesktop)
	default:
	}
	end, done := context.WithTimeout(context.WithoutCancel(ctx), traceFlush)
	defer done()
	return errors.Join(err, flush(end))
}

func connect(ctx context.Context, log *slog.Logger) (*x11desk.Desk, error) {
	ctx, cancel := context.WithTimeout(ctx, connectMax)
	defer cancel()
	return x11desk.New(ctx, x11desk.Config{Log: log})
}

// ends are the sockets that the executor serves.
type ends struct {
	host, launcher net.Conn
	debug          net.Listener
}

func open(in *peersock.Inherited) (ends, error) {
	var e ends
	var err error
	if e.host, err = link(peersock.FDHost); err != nil {
		return ends{}, err
	}
	if e.launcher, err = link(peersock.FDLauncher); err != nil {
		return ends{}, err
	}
	if in.Debug {
		e.debug, err = peersock.Listen(filepath.Join(in.RuntimeDir, "debug"), "executor.sock")
		if err != nil {
			return ends{}, err
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
