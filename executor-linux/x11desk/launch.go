package x11desk

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/refusal"
)

// noFocus tells the window manager and the toolkits that nobody asked for the new
// window at any time. Where they focus it all the same, guard gives the focus back.
const noFocus = "DESKTOP_STARTUP_ID=fairlead_TIME0"

// Launch starts a resolved app without giving it focus. An app that has windows is left
// alone: a second start would make it raise one of them, and what was wanted is there.
// It waits a bounded time for the first window, so that the desk has come to rest.
func (d *Desk) Launch(ctx context.Context, r executor.Resolution) executor.Delivery {
	now, err := d.Resolve(ctx, r.AppID)
	if err != nil {
		return executor.Refused(answerOf(ctx, err))
	}
	if now != r {
		return executor.Refused(refusal.AnswerResolutionChanged)
	}
	windows, err := d.list(ctx)
	if err != nil {
		return executor.Refused(answerOf(ctx, err))
	}
	route := commonv1.Route_ROUTE_WINDOW_MANAGEMENT
	for i := range windows {
		if id := windows[i].Identity; id.App == r.AppID {
			return executor.Delivery{Sent: executor.Accepted, Route: route, Settled: true, PID: id.PID}
		}
	}
	program, args, err := d.command(r.AppID)
	switch {
	case err != nil:
		return executor.Refused(answerOf(ctx, err))
	case program != r.Executable:
		return executor.Refused(refusal.AnswerResolutionChanged)
	case ctx.Err() != nil:
		return executor.Refused(answerOf(ctx, ctx.Err()))
	}
	g, err := d.newGuard(ctx, r.AppID, windows)
	if err != nil {
		return executor.Refused(answerOf(ctx, err))
	}
	pid, err := d.start(program, args)
	if err != nil {
		return executor.Refused(refusal.AnswerDispatchRefused)
	}
	g.pid = pid
	d.pumps.Go(func() { g.watch(d.lifetime) })
	g.guarded(ctx)
	return executor.Delivery{Sent: executor.Accepted, Route: route, PID: int32(pid)}
}

// start starts a program in a session of its own, with nothing of ours but the desktop's
// environment. It outlives this process; while we live its end is awaited, so that it
// leaves no zombie.
func (d *Desk) start(program string, args []string) (int, error) {
	env := d.environment()
	cmd := &exec.Cmd{
		Path: program, Args: args, Env: env, Dir: home(env),
		// Nil means /dev/null for all three.
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if filepath.Base(args[0]) == "env" {
		// A desktop file that sets variables first: env finds the program itself.
		path, err := exec.LookPath(args[0])
		if err != nil {
			return 0, errors.New("x11desk: no env")
		}
		cmd.Path = path
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	go func() { _ = cmd.Wait() }() // how it ends is its own affair
	return cmd.Process.Pid, nil
}

// environment is what launched programs get: the desktop's, without what is meant for
// this process.
func (d *Desk) environment() []string {
	var out []string
	for _, kv := range d.cfg.Env {
		key, _, _ := strings.Cut(kv, "=")
		switch {
		case strings.HasPrefix(key, "OTEL_"), strings.HasPrefix(key, "FAIRLEAD_"), strings.HasPrefix(key, "LISTEN_"),
			key == "NOTIFY_SOCKET", key == "XDG_ACTIVATION_TOKEN", key == "DESKTOP_STARTUP_ID":
		case key == "DISPLAY", key == "XAUTHORITY", key == "DBUS_SESSION_BUS_ADDRESS":
		default:
			out = append(out, kv)
		}
	}
	for _, set := range [][2]string{
		{"DISPLAY", d.cfg.Display},
		{"XAUTHORITY", d.cfg.XAuthority},
		{"DBUS_SESSION_BUS_ADDRESS", d.cfg.SessionBus},
	} {
		if set[1] != "" {
			out = append(out, set[0]+"="+set[1])
		}
	}
	return append(out, noFocus)
}

func home(env []string) string {
	for _, kv := range env {
		if dir, ok := strings.CutPrefix(kv, "HOME="); ok {
			if st, err := os.Stat(dir); err == nil && st.IsDir() {
				return dir
			}
		}
	}
	return "/"
}

// ownProcess reports whether a process is of this user.
func ownProcess(pid string) bool {
	st, err := os.Stat("/proc/" + pid)
	if err != nil {
		return false
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	return ok && int(sys.Uid) == os.Getuid()
}
