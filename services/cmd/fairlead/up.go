package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	"fairlead.dev/services/launcher"
)

// windowManager returns the one to run on a private desktop; toolkits behave more as on a
// real desktop with one, and work without.
func windowManager() string {
	const name = "openbox"
	if _, err := exec.LookPath(name); err != nil {
		return ""
	}
	return name
}

// upOptions are the flags of up.
type upOptions struct {
	platform, bundle, runtimeDir string
	private, debug               bool
	agentUIDs                    []uint
}

func upCommand() *cobra.Command {
	var o upOptions
	c := &cobra.Command{
		Use:   "up",
		Short: "Start fairlead and keep it running",
		Long: `Starts policy, executor and host, and keeps them running until you stop it.

Agents connect to the agent socket. What they may do is said by a bundle of rules;
without one they may list the desk and nothing else.

The log is not below --runtime-dir: all that you start share one, fairlead/fairlead.log below
XDG_STATE_HOME (default: ~/.local/state).`,
		Example: `  fairlead up --bundle rules.cedar         on this desktop, with these rules
  fairlead up --platform virtual           on a desktop that is only values in memory
  fairlead up --private-desktop            on an X11 desktop of its own, apart from yours`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.up(cmd) },
	}
	f := c.Flags()
	f.StringVar(&o.platform, "platform", platformAuto, "what to drive: auto, x11, virtual or macos")
	f.BoolVar(&o.private, "private-desktop", false, "start an X11 desktop apart from yours and drive that")
	f.StringVar(&o.bundle, "bundle", "", "file with the rules")
	f.UintSliceVar(&o.agentUIDs, "agent-uid", nil, "user ids that may use the agent socket besides yours")
	f.BoolVar(&o.debug, "debug", false, "open the debug sockets too")
	f.StringVar(&o.runtimeDir, "runtime-dir", "", "where the sockets go, not the log (default: below XDG_RUNTIME_DIR)")
	return c
}

func (o upOptions) up(cmd *cobra.Command) error {
	ctx, restore := signal.NotifyContext(context.WithoutCancel(cmd.Context()), os.Interrupt, syscall.SIGTERM)
	defer restore()
	// The first interrupt stops in order, a second one ends us at once.
	defer context.AfterFunc(ctx, restore)()
	if err := o.checkBundle(); err != nil {
		return err
	}
	platform, why, err := o.choose()
	if err != nil {
		return err
	}
	opts := launcher.Options{
		Version: version, Platform: platform, Bundle: o.bundle, Debug: o.debug, RuntimeDir: o.runtimeDir,
	}
	for _, uid := range o.agentUIDs {
		opts.AgentUIDs = append(opts.AgentUIDs, uint32(uid))
	}
	if o.private {
		d, err := launcher.StartDesktop(ctx, launcher.DesktopOptions{
			Version: version, WindowManager: windowManager(), Log: cmd.ErrOrStderr(),
		})
		if err != nil {
			return err
		}
		defer func() { _ = d.Close() }()
		opts.Env = d.Env()
		var end context.CancelCauseFunc
		ctx, end = context.WithCancelCause(ctx)
		defer end(nil)
		defer endWith(d, end)()
	}
	l, err := launcher.New(opts)
	if err != nil {
		return err
	}
	return serve(ctx, l, func(ctx context.Context) error {
		rules, err := o.rulesInForce(ctx, l)
		if err != nil {
			return err
		}
		o.announce(cmd.OutOrStdout(), l, platform+" ("+why+")", rules)
		return nil
	})
}

// errDesktopEnded means that there is nothing left to drive.
var errDesktopEnded = errors.New("the private desktop ended, so fairlead ended too; start it again")

// endWith ends the run when the desktop ends.
func endWith(d *launcher.Desktop, end context.CancelCauseFunc) (stop func()) {
	over := make(chan struct{})
	go func() {
		select {
		case <-d.Done():
			end(errDesktopEnded)
		case <-over:
		}
	}()
	return func() { close(over) }
}

// runner is a launcher.
type runner interface {
	Run(ctx context.Context) error
	Ready() <-chan struct{}
}

// serve runs a launcher to its end. When it is ready, ready decides whether it may go on;
// after an error everything is stopped.
func serve(ctx context.Context, l runner, ready func(ctx context.Context) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	result := make(chan error, 1)
	go func() { result <- l.Run(ctx) }()
	select {
	case err := <-result:
		return err
	case <-l.Ready():
		if err := ready(ctx); err != nil {
			stop()
			return errors.Join(err, <-result)
		}
	}
	err := <-result
	if cause := context.Cause(ctx); errors.Is(cause, errDesktopEnded) {
		return errors.Join(err, cause)
	}
	return err
}

func (o upOptions) choose() (platform, why string, err error) {
	if !o.private {
		return ourSurroundings().choose(o.platform)
	}
	if o.platform != platformAuto && o.platform != launcher.PlatformX11 {
		return "", "", &usageError{"a private desktop is an X11 desktop; leave --platform away"}
	}
	return launcher.PlatformX11, "on a private desktop, apart from yours", nil
}

// checkBundle tells a mistyped name before anything is started.
func (o upOptions) checkBundle() error {
	if o.bundle == "" {
		return nil
	}
	if _, err := os.Stat(o.bundle); err != nil {
		return &usageError{"the bundle of rules cannot be found"}
	}
	return nil
}

// announce prints what runs and how to use and stop it.
func (o upOptions) announce(w io.Writer, l *launcher.Launcher, platform, rules string) {
	stop := fmt.Sprintf("Ctrl-C, or kill %d; the agents only: fairlead stop --all%s", os.Getpid(), suffix(o.runtimeDir))
	fmt.Fprintf(w, "fairlead is running.\n")
	for _, line := range [][2]string{
		{"desktop", platform},
		{"agents", l.AgentSocket()},
		{"you", l.UserSocket()},
		{"rules", rules},
		{"log", l.LogFile()},
		{"status", "fairlead status" + suffix(o.runtimeDir)},
		{"stop", stop},
	} {
		fmt.Fprintf(w, "  %-8s %s\n", line[0], line[1])
	}
}

// rulesInForce asks what is in force rather than repeat what was wished for. Policy falls
// back to listing only; whoever named a bundle did not ask for that.
func (o upOptions) rulesInForce(ctx context.Context, l *launcher.Launcher) (string, error) {
	if o.bundle == "" {
		return "built in: agents may list the desk and nothing else; allow more with --bundle FILE", nil
	}
	ctx, cancel := context.WithTimeout(ctx, callMax)
	defer cancel()
	s, err := getStatus(ctx, filepath.Dir(filepath.Dir(l.UserSocket())))
	if err != nil {
		return "", fmt.Errorf("asking which rules are in force, so everything was stopped: %w", err)
	}
	if !inForce(o.bundle, s) {
		return "", &bundleError{bundle: o.bundle, log: l.LogFile()}
	}
	return o.bundle + " (" + short(s.GetBundleSha256()) + ")", nil
}

// bundleError means that policy did not take the rules.
type bundleError struct{ bundle, log string }

// Error is a sentence that ends with what to do.
func (e *bundleError) Error() string {
	return fmt.Sprintf("the rules in %s cannot be used, so everything was stopped; see %s for the fault", e.bundle, e.log)
}

// inForce reports whether the digest in force is the one of the bundle.
func inForce(bundle string, s *hostv1.GetStatusResponse) bool {
	// A pipe would hold us up, and policy takes none.
	if st, err := os.Stat(bundle); err != nil || !st.Mode().IsRegular() {
		return false
	}
	b, err := os.ReadFile(bundle)
	if err != nil {
		return false
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]) == s.GetBundleSha256()
}

// short is the beginning of a digest, enough to compare by eye.
func short(digest string) string { return digest[:min(len(digest), 12)] }

// callMax bounds one call of the command.
const callMax = 25 * time.Second
