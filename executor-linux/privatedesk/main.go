//go:build linux

package privatedesk

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Exit codes of Main besides the program's own. They are the usual ones of shells and sysexits.h.
const (
	exitOK       = 0
	exitFailure  = 1  // the desktop could not be started, or died
	exitUsage    = 2  // the command line makes no sense
	exitMissing  = 69 // a program is not installed
	exitNotFound = 127
)

const usage = `Usage: fairlead-executor-linux desktop [options] [--] [APP [ARGUMENTS]]

Starts a private desktop: an X server, a session bus and an accessibility bus
of its own, apart from the desktop you are working at. APP runs on it, and the
desktop ends when APP ends. Without APP it stays until it is interrupted.

A private desktop keeps programs away from your windows, pointer, clipboard and
settings. It is no sandbox: they can still read your files and use the network.

Options:
  --wm NAME       window manager to run, for example openbox (default: none)
  --size WxH      size of the screen in pixels (default: 1280x800)
  --depth BITS    bits per pixel: 16, 24 or 30 (default: 24)
  --log-dir DIR   keep what programs print in DIR (default: drop it)
  --env-fd N      when the desktop is ready, write its environment to
                  descriptor N as lines KEY=VALUE and an empty line
  --life-fd N     end when descriptor N reaches its end, so that the desktop
                  ends with whoever holds the other side
  --help          show this text

Exit code: that of APP (128 plus the number when a signal ended it); without
APP, 0 after an orderly end; 1 when the desktop fails; 2 for a wrong command
line; 69 when something is not installed; 127 when there is no such APP.

Example:
  fairlead-executor-linux desktop --wm openbox -- mousepad notes.txt
`

// noFD stands for a descriptor that was not given.
const noFD = -1

// invocation is a command line of Main.
type invocation struct {
	options Options
	envFD   int
	lifeFD  int
	app     []string
}

// parseArgs reads the arguments after "desktop".
func parseArgs(args []string) (invocation, error) {
	inv := invocation{}
	var size string
	flags := flag.NewFlagSet("desktop", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // Main prints
	flags.StringVar(&inv.options.WindowManager, "wm", "", "")
	flags.StringVar(&size, "size", defaultSize.String(), "")
	flags.IntVar(&inv.options.Depth, "depth", defaultDepth, "")
	flags.StringVar(&inv.options.LogDir, "log-dir", "", "")
	flags.IntVar(&inv.envFD, "env-fd", noFD, "")
	flags.IntVar(&inv.lifeFD, "life-fd", noFD, "")
	if err := flags.Parse(args); err != nil {
		return invocation{}, err
	}
	var err error
	if inv.options.Size, err = ParseSize(size); err != nil {
		return invocation{}, err
	}
	if inv.options, err = inv.options.complete(); err != nil {
		return invocation{}, err
	}
	for _, fd := range []struct {
		option string
		number int
	}{{"env-fd", inv.envFD}, {"life-fd", inv.lifeFD}} {
		if fd.number < noFD {
			return invocation{}, &OptionError{Option: fd.option, Problem: "must be a descriptor number"}
		}
	}
	if inv.envFD != noFD && inv.envFD == inv.lifeFD {
		return invocation{}, &OptionError{Option: "life-fd", Problem: "must not be the one of --env-fd"}
	}
	inv.app = flags.Args()
	return inv, nil
}

// Main is the command "desktop": it starts a private desktop, runs a program on it, and gives an exit code. args are
// the arguments after the word "desktop". It is meant to be called once, by the process whose command it is, because
// it handles that process's signals and descriptors.
func Main(args []string, stdout, stderr io.Writer) int {
	inv, err := parseArgs(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, usage)
		return exitOK
	}
	if err != nil {
		fmt.Fprintf(stderr, "desktop: %v\nTry --help.\n", err)
		return exitUsage
	}
	c := &command{invocation: inv, stdout: stdout, stderr: stderr}
	code, err := c.run()
	if err != nil {
		fmt.Fprintf(stderr, "desktop: %v\n", err)
	}
	return code
}

// command is one run of Main.
type command struct {
	invocation
	stdout, stderr io.Writer
	env, life      *os.File // nil when not wanted
}

// errAsked ends a run that was told to end.
var errAsked = errors.New("was told to end")

func (c *command) run() (int, error) {
	wanted := []string{c.options.WindowManager}
	if len(c.app) > 0 {
		wanted = append(wanted, c.app[0])
	}
	if missing := Missing(wanted...); len(missing) > 0 {
		return missingCode(missing, c.app), &MissingError{Requirements: missing}
	}
	if err := c.takeDescriptors(); err != nil {
		return exitUsage, err
	}
	asked, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	defer watchSignals(cancel)()
	if c.life != nil {
		// Left behind in its read when the run ends otherwise; Main's process ends then.
		go func() {
			_, _ = io.Copy(io.Discard, c.life)
			cancel(errAsked)
		}()
	}
	d, err := Start(asked, c.options)
	if err != nil {
		return startCode(err)
	}
	code, err := c.use(asked, d)
	return exitWith(code, err, d.Close())
}

// exitWith adds the failure to clean up to what a run came to.
func exitWith(code int, err, closing error) (int, error) {
	if closing != nil && code == exitOK {
		code = exitFailure
	}
	return code, errors.Join(err, closing)
}

// missingCode is 127, as in shells, when all that is missing is the program to run.
func missingCode(missing []Requirement, app []string) int {
	if len(missing) == 1 && len(app) > 0 && missing[0].Program == app[0] {
		return exitNotFound
	}
	return exitMissing
}

// startCode tells apart why there is no desktop: somebody ended it before it was ready, or it failed.
func startCode(err error) (int, error) {
	if errors.Is(err, errAsked) {
		return exitOK, nil
	}
	return exitFailure, err
}

// takeDescriptors takes over the descriptors named on the command line.
func (c *command) takeDescriptors() error {
	for _, fd := range []struct {
		option string
		number int
		file   **os.File
	}{{"env-fd", c.envFD, &c.env}, {"life-fd", c.lifeFD, &c.life}} {
		if fd.number == noFD {
			continue
		}
		if _, err := unix.FcntlInt(uintptr(fd.number), unix.F_GETFD, 0); err != nil {
			return &OptionError{Option: fd.option, Problem: "is not an open descriptor"}
		}
		if fd.number > 2 { // also where keepDescriptors does nothing
			unix.CloseOnExec(fd.number)
		}
		*fd.file = os.NewFile(uintptr(fd.number), fd.option)
	}
	return nil
}

// watchSignals turns the usual signals into the wish to end, and returns what stops it.
func watchSignals(end context.CancelCauseFunc) (stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	// A reader of our output that goes away must not end us before the desktop has ended; "ignore" would be
	// inherited by the programs.
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, unix.SIGPIPE)
	go func() {
		if _, open := <-signals; open {
			end(errAsked)
		}
	}()
	return func() {
		signal.Stop(pipe)
		signal.Stop(signals)
		close(signals)
	}
}

// use tells whoever waits that the desktop is ready, and stays until it is to end.
func (c *command) use(asked context.Context, d *Desktop) (int, error) {
	if err := c.handOver(d.Env()); err != nil {
		return exitFailure, errors.New("cannot write the environment to --env-fd")
	}
	if len(c.app) == 0 {
		return c.stay(asked, d)
	}
	dir, err := os.Getwd()
	if err != nil {
		dir = "" // it was removed; the desktop's home will do
	}
	app := Command{Args: c.app, Dir: dir, Stdout: c.stdout, Stderr: c.stderr}
	if c.lifeFD != 0 {
		app.Stdin = os.Stdin
	}
	p, err := d.Launch(app)
	if err != nil {
		return exitFailure, err
	}
	select {
	case <-p.Done():
		// A program ends with its X server; then the server is the news.
		if err := d.Err(); err != nil {
			return exitFailure, err
		}
		return p.ExitCode(), nil
	case <-d.Done():
		return exitFailure, d.Err()
	case <-asked.Done():
		p.Stop()
		return exitSignalBase + int(syscall.SIGTERM), nil
	}
}

func (c *command) stay(asked context.Context, d *Desktop) (int, error) {
	if c.env == nil {
		fmt.Fprintf(c.stderr, "The private desktop %s is ready; interrupt to end it. Programs get on it with:\n%s\n",
			d.Display(), strings.Join(d.Env(), "\n"))
	}
	select {
	case <-d.Done():
		return exitFailure, d.Err()
	case <-asked.Done():
		return exitOK, nil
	}
}

// handOver writes the environment and lets go of the descriptor, so that a reader may also wait for its end.
func (c *command) handOver(env []string) error {
	if c.env == nil {
		return nil
	}
	_, err := io.WriteString(c.env, strings.Join(env, "\n")+"\n\n")
	if c.envFD > 2 {
		err = errors.Join(err, c.env.Close())
	}
	return err
}
