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
without one they may list the desk and nothing else.`,
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
	f.StringVar(&o.runtimeDir, "runtime-dir", "", "where the sockets go (default: below XDG_RUNTIME_DIR)")
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
	return serve(ctx, l, func() { o.announce(cmd.OutOrStdout(), l, platform, why) })
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

// serve runs a launcher to its end and tells when it is ready.
func serve(ctx context.Context, l *launcher.Launcher, ready func()) error {
	result := make(chan error, 1)
	go func() { result <- l.Run(ctx) }()
	select {
	case err := <-result:
		return err
	case <-l.Ready():
		ready()
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

// checkBundle tells a mistyped name now; policy itself falls back to listing only.
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
func (o upOptions) announce(w io.Writer, l *launcher.Launcher, platform, why string) {
	stop := fmt.Sprintf("Ctrl-C, or kill %d; one agent: fairlead stop SESSION%s", os.Getpid(), o.suffix())
	fmt.Fprintf(w, "fairlead is running.\n")
	for _, line := range [][2]string{
		{"desktop", platform + " (" + why + ")"},
		{"agents", l.AgentSocket()},
		{"you", l.UserSocket()},
		{"rules", o.rulesInForce(l)},
		{"log", l.LogFile()},
		{"status", "fairlead status" + o.suffix()},
		{"stop", stop},
	} {
		fmt.Fprintf(w, "  %-8s %s\n", line[0], line[1])
	}
}

// suffix makes other commands find this instance.
func (o upOptions) suffix() string {
	if o.runtimeDir == "" {
		return ""
	}
	return " --runtime-dir " + o.runtimeDir
}

// rulesInForce asks what is in force rather than repeat what was wished for.
func (o upOptions) rulesInForce(l *launcher.Launcher) string {
	const listing = "agents may list the desk and nothing else"
	if o.bundle == "" {
		return "built in: " + listing + "; allow more with --bundle FILE"
	}
	ctx, cancel := context.WithTimeout(context.Background(), callMax)
	defer cancel()
	s, err := getStatus(ctx, filepath.Dir(filepath.Dir(l.UserSocket())))
	if err != nil {
		return o.bundle
	}
	if !inForce(o.bundle, s) {
		return o.bundle + " cannot be used (the log says why): " + listing
	}
	return o.bundle + " (" + short(s.GetBundleSha256()) + ")"
}

func inForce(bundle string, s *hostv1.GetStatusResponse) bool {
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
