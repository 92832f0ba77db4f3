//go:build linux

// Package privatedesk makes private desktops: an X server, a session bus and an accessibility bus that belong to one
// owner, with a cookie, a home and a runtime directory of their own, so that programs can be driven without coming near
// the desktop a person works at.
//
// Contract. [Start] either hands back a desktop that is ready (the server has been asked: it lets in the cookie and
// nobody else; accessibility is on before any program runs), or leaves nothing behind. [Desktop.Close] ends everything
// that ran on it and removes its directory. When the owner dies without closing, kernel and keeper do the same for it
// (see starter and keeperScript). Programs get exactly [Desktop.Env]; nothing of the caller's environment except its
// search path reaches them.
//
// Limits. A private desktop separates displays, buses and settings; it is no sandbox. Programs on it run as the caller
// and can read the caller's files, the network and the system bus.
//
// Goroutines: one per program (waits for its end) and one that starts programs; all end in Close. The package never
// keeps state outside a Desktop, never writes to the caller's log, and puts no path, title or output in its errors.
package privatedesk

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// Deadlines. They are far above what is usual (a whole start takes about 0.1 s) because they only have to tell a slow
// machine from one that will never answer.
const (
	serverStartMax        = 15 * time.Second
	busStartMax           = 10 * time.Second
	accessibilityStartMax = 15 * time.Second
	managerStartMax       = 10 * time.Second
)

// Options say what desktop to start. The zero value is a desktop of the default size without a window manager.
type Options struct {
	// Dir is the directory of the desktop. It must not exist, or be an empty directory of the caller; it is made
	// private, and Close removes it. Empty means a fresh one below XDG_RUNTIME_DIR, or /tmp when that is not usable.
	Dir string
	// Size of the screen; zero means 1280x800.
	Size Size
	// Depth in bits per pixel: 16, 24 or 30; zero means 24.
	Depth int
	// WindowManager is the program that manages windows, for example "openbox"; empty means none.
	WindowManager string
	// LogDir is where each program's output goes, as NAME.log with mode 0600; it is made when absent and not removed.
	// Empty means output is dropped. What programs print may hold anything a person typed; treat it so.
	LogDir string
}

// Desktop is a running private desktop. Its methods may be called from any goroutine.
type Desktop struct {
	options Options
	starter *starter
	done    chan struct{}

	// Set by Start, constant once it has returned.
	dir           string
	display       string
	cookie        []byte
	env           []string
	busAddress    string
	accessibility string
	keeper        *keeper
	server        *Program
	socket        fs.FileInfo // of the server; nil where it has only an abstract one
	bus           *Program
	manager       *Program

	mu       sync.Mutex // guards what follows
	programs []*Program
	ended    bool // done is closed
	died     *DiedError
	closing  bool

	closeOnce sync.Once
	closeErr  error
}

// Start makes a private desktop. ctx bounds the start only, not the life of the desktop; each step has a deadline of
// its own besides. When a step fails, what was started before it is ended and the error is a [*StartError]; when
// programs are not installed it is a [*MissingError] and nothing was started.
//
// Start marks every descriptor above 2 of this process close-on-exec, as Go's own are: one that was inherited, for
// example a link to another process, must not reach programs on the desktop. What is handed to a child with
// exec.Cmd.ExtraFiles is not affected.
func Start(ctx context.Context, o Options) (*Desktop, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	if missing := Missing(o.WindowManager); len(missing) > 0 {
		return nil, &MissingError{Requirements: missing}
	}
	keepDescriptors()
	d := &Desktop{options: o, starter: newStarter(), done: make(chan struct{})}
	steps := []struct {
		part     Part
		deadline time.Duration
		run      func(context.Context) error
	}{
		{PartDirectory, busStartMax, d.makeDirectory},
		{PartKeeper, busStartMax, d.startKeeper},
		{PartServer, serverStartMax, d.startServer},
		{PartBus, busStartMax, d.startBus},
		{PartAccessibility, accessibilityStartMax, d.startAccessibility},
		{PartManager, managerStartMax, d.startManager},
	}
	for _, s := range steps {
		if err := runStep(ctx, s.deadline, s.run); err != nil {
			return nil, errors.Join(&StartError{Part: s.part, Err: err}, d.Close())
		}
	}
	return d, nil
}

// runStep gives a step its deadline and prefers the reason the caller gave up over what the step made of it.
func runStep(ctx context.Context, limit time.Duration, run func(context.Context) error) error {
	step, cancel := context.WithTimeoutCause(ctx, limit, ErrNotReady)
	defer cancel()
	if err := context.Cause(step); err != nil {
		return err
	}
	err := run(step)
	if err == nil {
		return nil
	}
	if cause := context.Cause(step); cause != nil {
		return cause
	}
	return plain(err)
}

// Env is exactly the environment that programs on the desktop get. The slice is the caller's.
//
// A program that was started elsewhere with this environment counts as one on the desktop: Close ends it too.
func (d *Desktop) Env() []string { return slices.Clone(d.env) }

// Display is the name of the display, for example ":7".
func (d *Desktop) Display() string { return d.display }

// Dir is the directory of the desktop.
func (d *Desktop) Dir() string { return d.dir }

// AccessibilityAddress is the D-Bus address of the accessibility bus.
func (d *Desktop) AccessibilityAddress() string { return d.accessibility }

// Done is closed when the desktop has ended: the X server, the session bus or the keeper has died, or Close was
// called. A desktop that died still has to be closed.
func (d *Desktop) Done() <-chan struct{} { return d.done }

// Err says why the desktop ended by itself: a [*DiedError], or nil while it lives and after an orderly Close.
func (d *Desktop) Err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.died == nil {
		return nil
	}
	return d.died
}

// fail records the first part that died and tells whoever waits on Done.
func (d *Desktop) fail(part Part) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closing {
		return
	}
	if d.died == nil {
		d.died = &DiedError{Part: part}
	}
	d.endLocked()
}

func (d *Desktop) endLocked() {
	if !d.ended {
		d.ended = true
		close(d.done)
	}
}

// Run starts a program on the desktop, in its home, with its output in the log called name. env holds additional
// KEY=VALUE entries. For anything else, see [Desktop.Launch].
func (d *Desktop) Run(name string, env []string, argv ...string) (*Program, error) {
	return d.Launch(Command{Name: name, Env: env, Args: argv})
}

// Launch starts a program on the desktop. The program is ended by Close at the latest.
func (d *Desktop) Launch(c Command) (*Program, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closing {
		return nil, ErrClosed
	}
	p, err := d.start(c, nil)
	if err != nil {
		return nil, &StartError{Part: PartProgram, Err: plain(err)}
	}
	d.programs = slices.DeleteFunc(d.programs, (*Program).exited)
	d.programs = append(d.programs, p)
	return p, nil
}

// startManager starts the window manager, if one is wanted, and waits until it manages windows.
func (d *Desktop) startManager(ctx context.Context) error {
	if d.options.WindowManager == "" {
		return nil
	}
	c := Command{Args: []string{d.options.WindowManager}}
	p, err := d.start(c, nil)
	if err != nil {
		return err
	}
	d.manager = p
	return awaitManager(ctx, d.display, d.cookie, p.Done())
}

// Close ends the desktop: programs, window manager, session bus (and what it activated), X server, each asked with
// SIGTERM and killed after a grace; then whatever else carries the desktop's environment; then its directory goes.
// It takes at most a few graces, may be called more than once and from any goroutine, and answers the same each time.
// An error means that something was left: a [*LeftoverError], or a directory that could not be removed.
func (d *Desktop) Close() error {
	d.closeOnce.Do(func() { d.closeErr = d.close() })
	return d.closeErr
}

func (d *Desktop) close() error {
	d.mu.Lock()
	d.closing = true
	d.endLocked()
	programs := d.programs
	d.mu.Unlock()

	var errs []error
	if d.dir != "" {
		s := newSweep(d.dir)
		// Taken before anything ends: a process whose environment cannot be read is known only by its parent, and
		// loses it when that parent ends.
		s.census(pids(programs, []*Program{d.manager, d.bus, d.server}))
		for _, stage := range [][]*Program{programs, {d.manager}, {d.bus}, {d.server}} {
			stop(stage)
		}
		errs = append(errs, s.finish())
		d.removeServerSocket()
	}
	// The keeper is let go only now: should the owner be killed while closing, it finishes the work.
	if d.keeper != nil {
		d.keeper.dismiss()
	}
	if d.dir != "" {
		errs = append(errs, removeTree(d.dir))
	}
	d.starter.close()
	return errors.Join(errs...)
}

// removeServerSocket removes the socket that an X server leaves behind when it is killed. It has to go: servers that
// choose their own display number pass over every number whose socket exists. They keep no lock file, so the file is
// compared with the one our server made; another server may have taken the place since.
func (d *Desktop) removeServerSocket() {
	if d.socket == nil || !d.server.exited() {
		return
	}
	file := serverSocket(d.display)
	if info, err := os.Lstat(file); err == nil && os.SameFile(info, d.socket) {
		_ = os.Remove(file)
	}
}

func (d *Desktop) home() string    { return filepath.Join(d.dir, "home") }
func (d *Desktop) runtime() string { return runtimeDir(d.dir) }
