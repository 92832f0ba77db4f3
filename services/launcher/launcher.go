// Package launcher starts fairlead's three processes, watches them, and stops them
// (C9.2). It attests each program and runs exactly the bytes it hashed, makes policy's
// key pair and the links between the processes, and hands everything over as inherited
// descriptors (peersock); no key is ever in a file, and it keeps no end of a link that
// is not its own.
//
// Policy's end takes the executor with it, for the executor holds that policy's key; the
// executor's end is its own; the host's end takes all, for authority lives in the host.
// Restarts are bounded (C9.1). A program that is not the attested one is never started,
// here or again. Stopping goes in one order: the host refuses new work and lets go, the
// executor is halted, policy closes the record last. Each has the shutdown grace, then it
// is killed; every child is reaped, and Run returns only when every goroutine has ended.
//
// The launcher never touches the desktop and never sees what an agent says.
package launcher

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"fairlead.dev/services/launcher/internal/attest"
	"fairlead.dev/services/launcher/internal/budget"
	"fairlead.dev/services/launcher/internal/logfile"
	"fairlead.dev/services/shared/peersock"
	"fairlead.dev/services/shared/telemetry"
)

// The platforms an executor can drive.
const (
	PlatformVirtual = "virtual"
	PlatformX11     = "x11"
	PlatformMacOS   = "macos"
)

// Options is what a launcher needs. Every field has a default.
type Options struct {
	// BinDir holds the programs and their manifest; the directory of our own executable
	// when empty. The search path is never used.
	BinDir string
	// Version that the programs must have; the manifest's when empty.
	Version string
	// RuntimeDir is where the sockets lie; peersock.RuntimeDir when empty.
	RuntimeDir string
	// StateDir is where the record and the log lie; StateDir() when empty.
	StateDir string
	// Platform the executor drives; PlatformVirtual when empty.
	Platform string
	// Bundle is a file of rules; policy's own when empty.
	Bundle string
	// Debug opens the debug sockets.
	Debug bool
	// AgentUIDs may use the agent socket besides our own uid. The runtime directory has to
	// lie where they can reach it.
	AgentUIDs []uint32
	// Env is the desktop's environment, for the executor only; our own when nil. Of
	// either only the variables of an allow-list are passed on.
	Env []string
	// Log takes the launcher's own lines; they go to the log file when nil.
	Log *slog.Logger
}

// Launcher runs one fairlead.
type Launcher struct {
	opts  Options
	times times
	ready chan struct{}
	// pids are those of the processes that run now, for awaitReady.
	pids atomic.Pointer[pids]

	// What follows belongs to Run's goroutine.
	log      *slog.Logger
	out      *logfile.File
	images   [roles]*attest.Image
	children [roles]*child
	budgets  [roles]budget.Budget
	// policyKey is the public half; the private half is only in policy.
	policyKey []byte
	recorder  *recorder
	tasks     sync.WaitGroup
}

// times are the deadlines (protocol.md, Limits). Only tests have others.
type times struct {
	handshake, grace, probeEvery, probeAnswer, record time.Duration
}

func defaultTimes() times {
	return times{
		handshake: 10 * time.Second,
		grace:     3 * time.Second,
		// Three misses make a process unhealthy.
		probeEvery: 5 * time.Second, probeAnswer: 2 * time.Second,
		// A record is one line and one sync of a file.
		record: 10 * time.Second,
	}
}

// New checks the options. Nothing is started or made before Run.
func New(opts Options) (*Launcher, error) {
	opts, err := opts.complete()
	if err != nil {
		return nil, err
	}
	if len(filepath.Join(opts.RuntimeDir, opts.longestSocket())) > peersock.PathMax {
		return nil, peersock.ErrPathTooLong
	}
	return &Launcher{opts: opts, times: defaultTimes(), ready: make(chan struct{})}, nil
}

// longestSocket is the longest path below the runtime directory that a process listens on.
func (o Options) longestSocket() string {
	if o.Debug {
		return filepath.Join("debug", "executor.sock")
	}
	return filepath.Join("agent", "host.sock")
}

func (o Options) complete() (Options, error) {
	if o.BinDir == "" {
		own, err := os.Executable()
		if err != nil {
			return o, fmt.Errorf("finding our own executable: %w", err)
		}
		o.BinDir = filepath.Dir(own)
	}
	if o.RuntimeDir == "" {
		o.RuntimeDir = peersock.RuntimeDir()
	}
	if o.StateDir == "" {
		o.StateDir = StateDir()
	}
	if o.Platform == "" {
		o.Platform = PlatformVirtual
	}
	if ExecutorName(o.Platform) == "" {
		return o, errors.New("there is no such platform; use auto, x11, virtual or macos")
	}
	for _, dir := range []*string{&o.BinDir, &o.RuntimeDir, &o.StateDir, &o.Bundle} {
		if *dir == "" {
			continue
		}
		abs, err := filepath.Abs(*dir)
		if err != nil {
			return o, fmt.Errorf("finding the current directory: %w", err)
		}
		*dir = abs
	}
	return o, nil
}

// StateDir is where the record and the log lie when nothing else is said:
// XDG_STATE_HOME/fairlead or ~/.local/state/fairlead.
func StateDir() string {
	if d := os.Getenv("XDG_STATE_HOME"); d != "" {
		return filepath.Join(d, "fairlead")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return filepath.Join(os.TempDir(), fmt.Sprintf("fairlead-state-%d", os.Getuid()))
	}
	return filepath.Join(home, ".local", "state", "fairlead")
}

// ExecutorName is the program that drives a platform; empty for a platform that is none.
func ExecutorName(platform string) string {
	switch platform {
	case PlatformVirtual:
		return "fairlead-executor-virtual"
	case PlatformX11:
		return "fairlead-executor-linux"
	case PlatformMacOS:
		return "fairlead-executor-darwin"
	default:
		return ""
	}
}

// WriteManifest writes the manifest of the programs in a directory. The build calls it.
func WriteManifest(dir, version string) error { return attest.Write(dir, version) }

// Ready is closed when the host serves and says that policy and executor are attached.
func (l *Launcher) Ready() <-chan struct{} { return l.ready }

// LogFile is where the processes' lines go.
func (l *Launcher) LogFile() string { return filepath.Join(l.opts.StateDir, logfile.Name) }

// AgentSocket is the socket for agents.
func (l *Launcher) AgentSocket() string {
	return filepath.Join(l.opts.RuntimeDir, "agent", "host.sock")
}

// UserSocket is the socket for the user's own tools.
func (l *Launcher) UserSocket() string { return filepath.Join(l.opts.RuntimeDir, "user", "host.sock") }

// Run attests and starts the processes and keeps them running until the context ends or
// nothing can be kept running any more. It stops everything before it returns; after an
// end that was asked for it returns nil. It may be called once.
func (l *Launcher) Run(ctx context.Context) (err error) {
	if err := closeInherited(); err != nil {
		return err
	}
	lock, err := l.prepare()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if l.out, err = logfile.Open(l.opts.StateDir); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.out.Close()) }()
	if l.log = l.opts.Log; l.log == nil {
		w := l.out.Writer("launcher")
		l.log = telemetry.NewLogger(w, "launcher")
	}
	defer func() { err = errors.Join(err, l.closeImages()) }()
	if err := l.attest(); err != nil {
		l.log.LogAttrs(ctx, slog.LevelError, "a program was not started", telemetry.Kind("attestation"))
		return err
	}
	return l.supervise(ctx)
}

// closeInherited keeps descriptors that whoever started us left open from reaching the
// children. Our own are close-on-exec already.
func closeInherited() error {
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		return fmt.Errorf("listing open descriptors: %w", err)
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}

// prepare makes the directories and takes the runtime directory for ourselves.
func (l *Launcher) prepare() (*os.File, error) {
	if err := makePrivate(l.opts.StateDir, changeable); err != nil {
		return nil, err
	}
	if err := makePrivate(l.opts.RuntimeDir, enterable); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(l.opts.RuntimeDir, "launcher.lock"),
		os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the lock of the runtime directory: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(ErrRunning, f.Close())
	}
	return f, nil
}

// agentMode is the mode that a run with agents of other accounts leaves on the runtime
// directory (peersock.ListenShared).
const agentMode = 0o711

// changeable reports whether others can put something into a directory of this mode.
func changeable(m os.FileMode) bool { return m.Perm()&0o022 != 0 || m&os.ModeSticky != 0 }

// enterable reports whether a directory of this mode is more open than we ever leave one.
func enterable(m os.FileMode) bool {
	return changeable(m) || m.Perm()&0o077 != 0 && m.Perm() != agentMode
}

// makePrivate makes a directory that only we can enter. One that exists is taken as it is
// or refused, never changed: it may be a directory that others live in.
func makePrivate(dir string, open func(os.FileMode) bool) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return fmt.Errorf("making a directory: %w", err)
	}
	switch err := os.Mkdir(dir, 0o700); {
	case err == nil:
		// The umask may have taken our own rights away.
		if err := os.Chmod(dir, 0o700); err != nil {
			return fmt.Errorf("making a directory: %w", err)
		}
		return nil
	case !errors.Is(err, os.ErrExist):
		return fmt.Errorf("making a directory: %w", err)
	}
	st, err := os.Lstat(dir)
	switch {
	case err != nil:
		return fmt.Errorf("looking at a directory: %w", err)
	case !st.IsDir() || !ours(st):
		return fmt.Errorf("%s is not a directory of this user; name another one", dir)
	case open(st.Mode()):
		return fmt.Errorf("%s can be entered by others; name an empty directory of its own for fairlead", dir)
	}
	return nil
}

// attest checks every program before the first one is started. What passed is kept open:
// a restart runs the same bytes, whatever has become of the files.
func (l *Launcher) attest() error {
	m, err := attest.Read(l.opts.BinDir)
	if err != nil {
		return err
	}
	for r := range roles {
		w := attest.Wanted{Name: l.program(r), Role: r.String(), Version: l.opts.Version}
		if l.images[r], err = m.Open(l.opts.BinDir, w); err != nil {
			return err
		}
	}
	return nil
}

func (l *Launcher) program(r role) string {
	switch r {
	case rolePolicy:
		return "fairlead-policy"
	case roleHost:
		return "fairlead-host"
	default:
		return ExecutorName(l.opts.Platform)
	}
}

func (l *Launcher) closeImages() error {
	var err error
	for _, i := range l.images {
		if i != nil {
			err = errors.Join(err, i.Close())
		}
	}
	return err
}
