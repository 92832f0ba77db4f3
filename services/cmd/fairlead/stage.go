package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"fairlead.dev/services/launcher"
)

// demoRules is what the demo's agent may do.
//
//go:embed demo.cedar
var demoRules []byte

const (
	virtualCalculator = "fairlead.virtual.calculator"
	gnomeCalculator   = "org.gnome.Calculator"
	calculatorProgram = "gnome-calculator"
	// checkWait and installWait bound the looking and the installing.
	checkWait   = 20 * time.Second
	installWait = 20 * time.Minute
)

// stage is where the demo plays: a desktop of its own and a fairlead of its own.
type stage struct {
	dir      string
	app      string
	platform string
	desktop  *launcher.Desktop
	launcher *launcher.Launcher
	end      context.CancelFunc
	result   chan error
	// failed keeps the directory, for its log.
	failed bool
}

// drove says which desktop the demo drove.
func (s *stage) drove(ctx context.Context) string {
	if s.platform == launcher.PlatformVirtual {
		return "drove the virtual desk"
	}
	program := strings.TrimSpace(calculatorProgram + " " + programVersion(ctx))
	return "drove " + program + " on a private X11 desktop"
}

// programVersion asks the package manager; it is empty where there is none.
func programVersion(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, checkWait)
	defer cancel()
	out, err := exec.CommandContext(ctx, "dpkg-query", "-W", "-f", "${Version}", calculatorProgram).Output()
	if err != nil {
		return ""
	}
	return major(string(out))
}

// major is the first number of a Debian version without its epoch: 43 of 1:43.0.1-2.
func major(v string) string {
	if _, after, ok := strings.Cut(v, ":"); ok {
		v = after
	}
	end := strings.IndexFunc(v, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(v)
	}
	return v[:end]
}

// canHaveDesktop makes sure that a private desktop with a calculator can be started. When
// not, it returns why, in a sentence for the reader.
func canHaveDesktop(ctx context.Context, out io.Writer) (why string, err error) {
	if runtime.GOOS != "linux" {
		return "Private desktops exist on Linux only.", nil
	}
	if !beside(launcher.ExecutorName(launcher.PlatformX11)) {
		return "There is no fairlead-executor-linux beside fairlead.", nil
	}
	var said strings.Builder
	check, cancel := context.WithTimeout(ctx, checkWait)
	defer cancel()
	code, err := launcher.DesktopTool(check, launcher.DesktopOptions{Version: version, Log: &said}, "--check")
	switch {
	case err != nil:
		return "", err
	case code == 0:
		return "", nil
	case os.Geteuid() != 0:
		return "A private desktop needs what is not installed; as root, install it with:\n  apt-get install " +
			strings.Join(strings.Fields(said.String()), " "), nil
	}
	fmt.Fprintln(out, "Installing what a private desktop needs; this is done once.")
	install, cancel := context.WithTimeout(ctx, installWait)
	defer cancel()
	said.Reset()
	code, err = launcher.DesktopTool(install, launcher.DesktopOptions{Version: version, Log: &said}, "--install")
	if err != nil {
		return "", err
	}
	if code != 0 {
		return "What a private desktop needs could not be installed:\n" + lastLines(said.String(), 5), nil
	}
	return "", nil
}

func lastLines(s string, n int) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// chooseStage returns the platform of the demo.
func chooseStage(ctx context.Context, asked string, out io.Writer) (string, error) {
	switch asked {
	case launcher.PlatformVirtual:
		return asked, nil
	case launcher.PlatformX11, platformAuto:
	default:
		return "", &usageError{"the demo knows the platforms auto, virtual and x11"}
	}
	why, err := canHaveDesktop(ctx, out)
	if err != nil {
		return "", err
	}
	if why == "" {
		return launcher.PlatformX11, nil
	}
	if asked == launcher.PlatformX11 {
		return "", errors.New(why)
	}
	fmt.Fprintf(out, "%s\nSo the demo shows the virtual desk, which needs nothing.\n\n", why)
	return launcher.PlatformVirtual, nil
}

// setStage starts the desktop and fairlead, apart from any other.
func setStage(ctx context.Context, platform string) (_ *stage, err error) {
	dir, err := os.MkdirTemp("", "fairlead-demo-")
	if err != nil {
		return nil, fmt.Errorf("making a directory for the demo: %w", err)
	}
	s := &stage{dir: dir, platform: platform, app: virtualCalculator}
	defer func() {
		if err != nil {
			err = errors.Join(s.keepLogs(ctx, err), s.strike())
		}
	}()
	rules := filepath.Join(dir, "demo.cedar")
	if err := os.WriteFile(rules, demoRules, 0o600); err != nil {
		return nil, fmt.Errorf("writing the demo's rules: %w", err)
	}
	opts := launcher.Options{
		Version: version, Platform: platform, Bundle: rules,
		RuntimeDir: filepath.Join(dir, "run"), StateDir: filepath.Join(dir, "state"),
	}
	if platform == launcher.PlatformX11 {
		s.app = gnomeCalculator
		if err := s.startDesktop(ctx, &opts); err != nil {
			return nil, err
		}
	}
	if s.launcher, err = launcher.New(opts); err != nil {
		return nil, err
	}
	// Not the demo's own context: after an interrupt the end is still an orderly one.
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	s.end, s.result = end, make(chan error, 1)
	go func() { s.result <- s.launcher.Run(life) }()
	select {
	case err := <-s.result:
		s.result <- nil
		return nil, err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-s.launcher.Ready():
		return s, nil
	}
}

func (s *stage) startDesktop(ctx context.Context, opts *launcher.Options) error {
	said, err := os.Create(filepath.Join(s.dir, "desktop.log"))
	if err != nil {
		return fmt.Errorf("making the desktop's log: %w", err)
	}
	defer said.Close()
	// Without a window manager: one thing less that has to be installed.
	s.desktop, err = launcher.StartDesktop(ctx, launcher.DesktopOptions{Version: version, Log: said})
	if err != nil {
		return err
	}
	opts.Env = s.desktop.Env()
	return nil
}

// keepLogs keeps the demo's directory after a failure, and says where it is. After an
// interrupt there is nothing to look into.
func (s *stage) keepLogs(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return err
	}
	s.failed = true
	return fmt.Errorf("%w; the logs are below %s", err, s.dir)
}

// strike ends everything the demo started. It may be called twice.
func (s *stage) strike() error {
	var err error
	if s.end != nil {
		s.end()
		err = <-s.result // Run is bounded by its own deadlines.
		s.end = nil
	}
	if s.desktop != nil {
		err = errors.Join(err, s.desktop.Close())
		s.desktop = nil
	}
	if s.failed || err != nil {
		return err
	}
	return os.RemoveAll(s.dir)
}
