package launcher

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"fairlead.dev/services/launcher/internal/attest"
)

const (
	// desktopWait is how long a private desktop may take to be ready.
	desktopWait = 20 * time.Second
	// desktopGrace is how long it may take to end its programs and itself.
	desktopGrace = 10 * time.Second
	// desktopLines bounds the environment it hands over.
	desktopLines = 64
	// The descriptors it is given.
	desktopEnvFD, desktopLifeFD = "3", "4"
)

// DesktopOptions is what a private desktop needs.
type DesktopOptions struct {
	// BinDir holds fairlead-executor-linux and the manifest; see Options.
	BinDir string
	// Version that the program must have; see Options.
	Version string
	// WindowManager to run on it; none when empty.
	WindowManager string
	// Size as WIDTHxHEIGHT; the desktop's own when empty.
	Size string
	// Log takes what it says.
	Log io.Writer
}

// Desktop is a private desktop: an X server, a session bus and an accessibility bus
// apart from the user's. It ends with Close, and with this process however that ends.
type Desktop struct {
	cmd  *exec.Cmd
	life *os.File
	env  []string
	done chan struct{}
}

// ErrNoDesktop means that the private desktop did not become ready.
var ErrNoDesktop = errors.New("the private desktop did not start; what it said stands above or in the log")

// StartDesktop starts a private desktop and returns when programs can use it.
func StartDesktop(ctx context.Context, o DesktopOptions) (_ *Desktop, err error) {
	img, err := o.image()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, img.Close()) }()
	d := &Desktop{done: make(chan struct{})}
	env, err := d.start(img, o)
	if err != nil {
		return nil, err
	}
	if d.env, err = readEnvironment(ctx, env); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// image attests the program.
func (o DesktopOptions) image() (*attest.Image, error) {
	full, err := Options{BinDir: o.BinDir, Version: o.Version}.complete()
	if err != nil {
		return nil, err
	}
	m, err := attest.Read(full.BinDir)
	if err != nil {
		return nil, err
	}
	return m.Open(full.BinDir, attest.Wanted{
		Name: ExecutorName(PlatformX11), Role: roleExecutor.String(), Version: o.Version,
	})
}

// start starts the program and returns the pipe its environment comes through.
func (d *Desktop) start(img *attest.Image, o DesktopOptions) (*os.File, error) {
	env, envTheirs, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("making a pipe: %w", err)
	}
	lifeTheirs, life, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("making a pipe: %w", err), env.Close(), envTheirs.Close())
	}
	args := []string{"desktop", "--env-fd", desktopEnvFD, "--life-fd", desktopLifeFD}
	if o.WindowManager != "" {
		args = append(args, "--wm", o.WindowManager)
	}
	if o.Size != "" {
		args = append(args, "--size", o.Size)
	}
	d.life, d.cmd = life, command(img, []*os.File{envTheirs, lifeTheirs}, args...)
	d.cmd.Env = keep([]string{}, os.Environ(), common)
	if o.Log != nil {
		d.cmd.Stdout, d.cmd.Stderr = o.Log, o.Log
	}
	err = d.cmd.Start()
	err = errors.Join(err, envTheirs.Close(), lifeTheirs.Close())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("starting the private desktop: %w", err), env.Close(), life.Close())
	}
	go func() {
		// Ends with the process; Close waits for it.
		_ = d.cmd.Wait()
		close(d.done)
	}()
	return env, nil
}

// readEnvironment reads KEY=VALUE lines up to the empty one and closes the pipe.
func readEnvironment(ctx context.Context, f *os.File) (_ []string, err error) {
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := f.SetReadDeadline(time.Now().Add(desktopWait)); err != nil {
		return nil, fmt.Errorf("waiting for the private desktop: %w", err)
	}
	// A context that ends makes the read end.
	defer context.AfterFunc(ctx, func() { _ = f.SetReadDeadline(time.Now()) })()
	env := []string{}
	for s := bufio.NewScanner(f); s.Scan(); {
		if s.Text() == "" {
			return env, nil
		}
		if env = append(env, s.Text()); len(env) > desktopLines {
			break
		}
	}
	return nil, ErrNoDesktop
}

// Env is the environment of programs on the desktop, for Options.Env.
func (d *Desktop) Env() []string { return append([]string{}, d.env...) }

// Done is closed when the desktop has ended.
func (d *Desktop) Done() <-chan struct{} { return d.done }

// Close ends the desktop and everything on it.
func (d *Desktop) Close() error {
	err := d.life.Close()
	select {
	case <-d.done:
		return err
	case <-time.After(desktopGrace):
	}
	_ = d.cmd.Process.Signal(syscall.SIGKILL)
	select {
	case <-d.done:
	case <-time.After(reapWait):
	}
	return errors.Join(err, errors.New("the private desktop had to be killed; programs of it may be left running"))
}

// DesktopTool runs `fairlead-executor-linux desktop` with some arguments to its end, the
// attested program and no other, and returns its exit code. The context bounds it.
func DesktopTool(ctx context.Context, o DesktopOptions, args ...string) (code int, err error) {
	img, err := o.image()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, img.Close()) }()
	cmd := exec.CommandContext(ctx, img.Path())
	cmd.Args = append([]string{img.Name, "desktop"}, args...)
	cmd.Stdout, cmd.Stderr = o.Log, o.Log
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = desktopGrace
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		return 0, fmt.Errorf("running fairlead-executor-linux: %w", err)
	}
	return cmd.ProcessState.ExitCode(), nil
}
