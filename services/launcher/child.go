package launcher

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"go.opentelemetry.io/otel/trace/noop"
	"google.golang.org/grpc"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
	"fairlead.dev/services/launcher/internal/attest"
	"fairlead.dev/services/shared/peersock"
	"fairlead.dev/services/shared/rpc"
)

// role is one of the three processes, in the order they are started.
type role int

const (
	rolePolicy role = iota
	roleExecutor
	roleHost
	// roles is how many there are.
	roles
)

// String is the role's name in charters, links and the manifest.
func (r role) String() string { return [...]string{"policy", "executor", "host"}[r] }

func (r role) wire() commonv1.ProcessRole {
	return [...]commonv1.ProcessRole{
		commonv1.ProcessRole_PROCESS_ROLE_POLICY,
		commonv1.ProcessRole_PROCESS_ROLE_EXECUTOR,
		commonv1.ProcessRole_PROCESS_ROLE_HOST,
	}[r]
}

const (
	// outputWait is how long output may follow a process's end: what it started itself
	// may hold the pipe open for ever.
	outputWait = 200 * time.Millisecond
	// reapWait is how long the kernel may take to end a killed process.
	reapWait = 3 * time.Second
)

// child is one incarnation of a process.
type child struct {
	role    role
	pid     int
	sha256  []byte
	started time.Time
	cmd     *exec.Cmd
	// done is closed when the process was reaped; code is then its exit code, -1 after a signal.
	done chan struct{}
	code int

	// charter stays open: its end is our end.
	charter *os.File
	// link is our link to policy or executor, calls the client on it.
	link  net.Conn
	calls *grpc.ClientConn
	// passing is our socket to the host.
	passing *net.UnixConn
	// hostEnd is what the host gets of policy's or executor's link; gone once passed.
	hostEnd *os.File

	mu    sync.Mutex
	cause string
}

// failed ends the process for a reason of ours.
func (c *child) failed(cause string) {
	c.mu.Lock()
	if c.cause == "" {
		c.cause = cause
	}
	c.mu.Unlock()
	_ = c.cmd.Process.Kill()
}

func (c *child) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// ending says why the process ended, from a closed set of constants.
func (c *child) ending() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.cause != "":
		return c.cause
	case c.code == ExitAttestation:
		return "attestation"
	case c.code == ExitProtocol:
		return "protocol"
	case c.code < 0:
		return "signal"
	default:
		return "exit"
	}
}

// close lets go of our ends.
func (c *child) close() {
	if c.calls != nil {
		_ = c.calls.Close()
		_ = c.link.Close() // The client closes it only if it was ever used.
	}
	if c.passing != nil {
		_ = c.passing.Close()
	}
	if c.hostEnd != nil {
		_ = c.hostEnd.Close()
	}
	if c.charter != nil {
		_ = c.charter.Close()
	}
}

// descriptors collects what a child is given, in the order of peersock's numbers.
type descriptors struct{ files []*os.File }

func (d *descriptors) add(f *os.File) { d.files = append(d.files, f) }

func (d *descriptors) close() {
	for _, f := range d.files {
		_ = f.Close()
	}
}

// spawn starts one process. On an error nothing of it is left.
func (l *Launcher) spawn(r role, key []byte) (_ *child, err error) {
	img := l.images[r]
	c := &child{role: r, sha256: img.SHA256, done: make(chan struct{})}
	given := &descriptors{}
	defer given.close()
	defer func() {
		if err != nil {
			c.close()
		}
	}()
	if err := c.wire(given, key); err != nil {
		return nil, err
	}
	out := l.out.Writer(r.String())
	c.cmd = command(img, given.files)
	c.cmd.Env = environment(r, os.Environ(), l.opts.Env)
	c.cmd.Stdout, c.cmd.Stderr = out, out
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the %s process: %w", r, err)
	}
	c.pid, c.started = c.cmd.Process.Pid, time.Now()
	l.tasks.Go(func() {
		_ = c.cmd.Wait() // What matters is in ProcessState.
		_ = out.Close()
		c.code = c.cmd.ProcessState.ExitCode()
		close(c.done)
	})
	if err := c.send(l.charter(r, img), l.times.handshake); err != nil {
		c.failed("charter")
		<-c.done
		return nil, err
	}
	return c, nil
}

// command runs an image under its own name, in a process group of its own: an interrupt
// at the terminal is for the launcher, which stops its children in order.
func command(img *attest.Image, files []*os.File, args ...string) *exec.Cmd {
	return &exec.Cmd{
		Path: img.Path(), Args: append([]string{img.Name}, args...), Dir: "/",
		ExtraFiles:  files,
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
		WaitDelay:   outputWait,
	}
}

// wire makes the pipes and links of a child (peersock/charter.go).
func (c *child) wire(given *descriptors, key []byte) error {
	charter, ours, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("making the charter's pipe: %w", err)
	}
	given.add(charter)
	c.charter = ours
	near, far, err := pair()
	if err != nil {
		return err
	}
	given.add(far)
	conn, err := peersock.Conn(near)
	if err != nil {
		return err
	}
	if c.role == roleHost {
		c.passing = conn
		return nil
	}
	c.link = conn
	if c.calls, err = rpc.Dial(conn, noop.NewTracerProvider()); err != nil {
		return errors.Join(fmt.Errorf("opening the launcher's link: %w", err), conn.Close())
	}
	hostEnd, far, err := pair()
	if err != nil {
		return err
	}
	c.hostEnd = hostEnd
	given.add(far)
	return giveKey(given, key)
}

// pair makes a link with nobody forking meanwhile: between making a socket and marking it
// close-on-exec, a child started elsewhere in this process would inherit it.
func pair() (near, far *os.File, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return peersock.Pair()
}

// giveKey puts a key into a pipe. It fits the pipe's buffer, so nobody waits.
func giveKey(given *descriptors, key []byte) error {
	r, w, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("making the key's pipe: %w", err)
	}
	given.add(r)
	_, err = w.Write(key)
	if err = errors.Join(err, w.Close()); err != nil {
		return fmt.Errorf("giving the key: %w", err)
	}
	return nil
}

func (l *Launcher) charter(r role, img *attest.Image) peersock.Charter {
	c := peersock.Charter{
		Role: r.String(), Version: img.Version, Executable: img.Executable, SHA256: img.SHA256, Attested: img.Attested,
		RuntimeDir: l.opts.RuntimeDir, StateDir: l.opts.StateDir, Debug: l.opts.Debug,
	}
	switch r {
	case rolePolicy:
		c.Bundle = l.opts.Bundle
	case roleHost:
		c.AgentUIDs = l.opts.AgentUIDs
	}
	return c
}

// send writes the charter; a child that does not read it does not hold us up.
func (c *child) send(charter peersock.Charter, wait time.Duration) error {
	if err := c.charter.SetWriteDeadline(time.Now().Add(wait)); err != nil {
		return fmt.Errorf("writing charter: %w", err)
	}
	return charter.Write(c.charter)
}

// passTo hands the child's link to the host and lets go of it.
func (c *child) passTo(host *child, img *attest.Image, wait time.Duration) error {
	msg, err := json.Marshal(peersock.Link{
		Role: c.role.String(), PID: c.pid, Version: img.Version, Executable: img.Executable,
		SHA256: img.SHA256, Attested: img.Attested,
	})
	if err != nil {
		return fmt.Errorf("describing a link: %w", err)
	}
	if err := host.passing.SetWriteDeadline(time.Now().Add(wait)); err != nil {
		return fmt.Errorf("passing a link: %w", err)
	}
	err = peersock.Send(host.passing, msg, c.hostEnd)
	err = errors.Join(err, c.hostEnd.Close())
	c.hostEnd = nil
	return err
}

// halt asks the executor to let go of everything (C9.7).
func (c *child) halt(ctx context.Context) error {
	_, err := executorv1.NewHaltServiceClient(c.calls).Halt(ctx, &executorv1.HaltRequest{})
	return err
}

// end stops the process within the grace and reaps it.
func (c *child) end(ctx context.Context, grace time.Duration) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if c.role == roleExecutor && !c.ended() {
		// An executor that cannot answer is killed below; its end lets go as well.
		_ = c.halt(ctx)
	}
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-c.done:
	case <-ctx.Done():
		c.failed("grace")
		select {
		case <-c.done:
		case <-time.After(reapWait):
		}
	}
	c.close()
}
