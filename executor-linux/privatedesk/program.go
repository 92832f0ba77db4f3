//go:build linux

package privatedesk

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// stopGrace is how long a program has to end after SIGTERM.
	stopGrace = 2 * time.Second
	// killWait is how long a killed program may take to be gone; longer means the kernel holds it.
	killWait = 2 * time.Second
	// outputWait is how long output of descendants is awaited after a program's own end.
	outputWait = time.Second
	// exitSignalBase is what shells add to a signal number to make an exit code.
	exitSignalBase = 128
)

// Command is a program to start on a desktop.
type Command struct {
	// Name of the log file; empty means the base name of the program.
	Name string
	// Args are the program and its arguments. The program is looked up on the desktop's PATH.
	Args []string
	// Env holds KEY=VALUE entries in addition to Desktop.Env; a later entry wins.
	Env []string
	// Dir is the working directory; empty means the desktop's home.
	Dir string
	// Stdin is what the program reads; nil means nothing.
	Stdin io.Reader
	// Stdout and Stderr take the output; nil means the log.
	Stdout, Stderr io.Writer

	ended func() // called once the program has ended
}

// Program is a program that was started on a desktop.
type Program struct {
	cmd  *exec.Cmd
	done chan struct{}

	mu   sync.Mutex
	gone bool  // its process id may belong to somebody else by now
	err  error // constant once done is closed
}

// start starts a program with the environment of the desktop. ready becomes its descriptor 3 when it is not nil.
func (d *Desktop) start(c Command, ready *os.File) (*Program, error) {
	if len(c.Args) == 0 {
		return nil, fs.ErrInvalid
	}
	file := find(c.Args[0], callerPath())
	if file == "" {
		return nil, exec.ErrNotFound
	}
	log, err := d.openLog(c)
	if err != nil {
		return nil, err
	}
	defer log.Close() // the program has its own copy
	cmd := &exec.Cmd{
		Path: file, Args: c.Args, Env: slices.Concat(d.env, c.Env), Dir: c.Dir,
		Stdin: c.Stdin, Stdout: c.Stdout, Stderr: c.Stderr,
		WaitDelay: outputWait,
		// A session of its own: signals for the owner's terminal do not reach it, and it can be signalled together
		// with what it started.
		SysProcAttr: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGTERM},
	}
	if cmd.Dir == "" {
		cmd.Dir = d.home()
	}
	if cmd.Stdout == nil {
		cmd.Stdout = log
	}
	if cmd.Stderr == nil {
		cmd.Stderr = log
	}
	if ready != nil {
		cmd.ExtraFiles = []*os.File{ready}
	}
	if err := d.starter.do(cmd.Start); err != nil {
		return nil, err
	}
	p := &Program{cmd: cmd, done: make(chan struct{})}
	go p.reap(c.ended)
	return p, nil
}

// openLog opens where a program's output goes.
func (d *Desktop) openLog(c Command) (*os.File, error) {
	if d.options.LogDir == "" {
		return os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	}
	name := c.Name
	if name == "" {
		name = filepath.Base(c.Args[0])
	}
	name = strings.ReplaceAll(name, "/", "-") + ".log"
	const flags = os.O_WRONLY | os.O_CREATE | os.O_APPEND | unix.O_NOFOLLOW
	return os.OpenFile(filepath.Join(d.options.LogDir, name), flags, 0o600)
}

// reap waits for the end of the program.
func (p *Program) reap(ended func()) {
	// First wait without reaping: as long as the process is a zombie its id cannot be given away, so that a signal
	// never goes to a stranger's group.
	for unix.Waitid(unix.P_PID, p.PID(), nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	p.mu.Lock()
	p.gone = true
	p.mu.Unlock()
	err := p.cmd.Wait()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // something it started still holds its output; the program itself has ended well
	}
	p.err = err
	close(p.done)
	if ended != nil {
		ended()
	}
}

// PID is the process id of the program; it is also the id of its process group and session.
func (p *Program) PID() int { return p.cmd.Process.Pid }

// Done is closed when the program has ended.
func (p *Program) Done() <-chan struct{} { return p.done }

// Wait waits for the end of the program, or of the context. It answers nil when the program succeeded, and an
// [*exec.ExitError] when it did not.
func (p *Program) Wait(ctx context.Context) error {
	select {
	case <-p.done:
		return p.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// ExitCode is the program's exit code, 128 plus the number of the signal that ended it, or -1 while it runs.
func (p *Program) ExitCode() int {
	if !p.exited() {
		return -1
	}
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		return exitSignalBase + int(status.Signal())
	}
	return p.cmd.ProcessState.ExitCode()
}

// Stop ends the program and its process group: SIGTERM, and SIGKILL after a grace.
func (p *Program) Stop() { stop([]*Program{p}) }

func (p *Program) exited() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// signal sends signals to the process group of the program, unless it has ended.
func (p *Program) signal(signals ...syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone {
		return
	}
	for _, s := range signals {
		_ = unix.Kill(-p.PID(), s)
	}
}

// endedBy waits for the end of the program or of the timer.
func (p *Program) endedBy(timer <-chan struct{}) bool {
	select {
	case <-p.done:
		return true
	case <-timer:
		return p.exited()
	}
}

// stop ends programs, the last one first, within one common grace. Entries may be nil.
func stop(programs []*Program) {
	programs = slices.DeleteFunc(slices.Clone(programs), func(p *Program) bool { return p == nil || p.exited() })
	slices.Reverse(programs)
	for _, p := range programs {
		// A stopped program takes SIGTERM only once it continues.
		p.signal(unix.SIGTERM, unix.SIGCONT)
	}
	grace := after(stopGrace)
	for _, p := range programs {
		if !p.endedBy(grace) {
			p.signal(unix.SIGKILL)
		}
	}
	dead := after(killWait)
	for _, p := range programs {
		p.endedBy(dead)
	}
}

// after is time.After for several receivers.
func after(d time.Duration) <-chan struct{} {
	c := make(chan struct{})
	time.AfterFunc(d, func() { close(c) })
	return c
}

func pids(groups ...[]*Program) []int {
	var out []int
	for _, p := range slices.Concat(groups...) {
		if p != nil && !p.exited() {
			out = append(out, p.PID())
		}
	}
	return out
}

// keepDescriptors keeps inherited descriptors from programs. Besides being reachable, one that is the side of a pipe
// would keep that pipe from ending. Kernels before 5.11 do not know the flag; there it does nothing.
func keepDescriptors() { _ = unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) }

// starter starts all programs of a desktop from one operating system thread.
//
// The kernel sends a child its parent-death signal when the *thread* that started it ends, and Go ends and makes
// threads as it likes. So the thread is locked to a goroutine that lives until the desktop is closed, and every program
// gets SIGTERM exactly when the owner's process ends, however it ends. What programs start themselves is not covered
// by that (the keeper is for those).
type starter struct {
	requests chan func()
	once     sync.Once
}

func newStarter() *starter {
	s := &starter{requests: make(chan func())}
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		for f := range s.requests {
			f()
		}
	}()
	return s
}

// do calls f on the thread. It must not be called after close.
func (s *starter) do(f func() error) error {
	result := make(chan error, 1)
	s.requests <- func() { result <- f() }
	return <-result
}

func (s *starter) close() { s.once.Do(func() { close(s.requests) }) }
