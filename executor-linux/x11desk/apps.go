package x11desk

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/executor-linux/internal/x11"
	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
)

// Apps lists running apps that have windows; with a filter every app whose id or name
// contains it, case folded, also installed and window-less ones.
func (d *Desk) Apps(ctx context.Context, filter string) ([]executor.App, error) {
	windows, err := d.list(ctx)
	if err != nil {
		return nil, err
	}
	installed, err := d.apps.DesktopApps()
	if err != nil {
		return nil, failure(ctx, err, commonv1.Stage_STAGE_WALK)
	}
	names := map[string]string{}
	for _, a := range installed {
		names[a.ID] = a.Name
	}
	found := map[string]*executor.App{}
	at := func(id string) *executor.App {
		if found[id] == nil {
			found[id] = &executor.App{ID: id, Name: nameOf(id, names)}
		}
		return found[id]
	}
	for i := range windows {
		a := at(windows[i].Identity.App)
		a.Running, a.Windows = true, a.Windows+1
	}
	if filter != "" {
		for id := range d.runningApps(ctx) {
			at(id).Running = true
		}
		for _, a := range installed {
			if !a.NoDisplay && !a.Terminal {
				at(a.ID)
			}
		}
	}
	want := strings.ToLower(filter)
	var out []executor.App
	for _, a := range found {
		if strings.Contains(strings.ToLower(a.ID), want) || strings.Contains(strings.ToLower(a.Name), want) {
			out = append(out, *a)
		}
	}
	slices.SortFunc(out, func(a, b executor.App) int { return strings.Compare(a.ID, b.ID) })
	return out, nil
}

// nameOf is the name of an app in its desktop file, else that of its program.
func nameOf(id string, names map[string]string) string {
	if name := names[id]; name != "" {
		return name
	}
	if path, ok := strings.CutPrefix(id, exePrefix); ok {
		return filepath.Base(path)
	}
	return id
}

// processesMax bounds the processes that are identified.
const processesMax = 4096

// runningApps identifies the processes of this user.
func (d *Desk) runningApps(ctx context.Context) map[string]bool {
	out := map[string]bool{}
	dir, err := os.Open("/proc")
	if err != nil {
		return out
	}
	defer dir.Close() // opened for reading
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return out
	}
	for _, name := range names[:min(len(names), processesMax)] {
		pid, err := strconv.Atoi(name)
		if err != nil || ctx.Err() != nil || !ownProcess(name) {
			continue
		}
		if start, err := x11.ProcessStart(pid); err == nil {
			out[string(d.apps.ID(pid, start))] = true
		}
	}
	delete(out, ident.UnknownApp)
	return out
}

// exePrefix begins the ids of programs without a desktop file.
const exePrefix = "exe:"

// Resolve says what an app id stands for right now (C3.7): a desktop file with a program
// that is there, or a program itself. What needs a terminal, and scripts that are only
// known by their interpreter, cannot be launched.
func (d *Desk) Resolve(ctx context.Context, appID string) (executor.Resolution, error) {
	program, _, err := d.command(appID)
	if err != nil {
		return executor.Resolution{}, err
	}
	if _, err := d.x.UserState(ctx); err != nil {
		return executor.Resolution{}, failure(ctx, err, commonv1.Stage_STAGE_WALK)
	}
	return executor.Resolution{
		AppID: appID, Executable: program, Installed: true, Running: d.runningApps(ctx)[appID],
	}, nil
}

// command is the program of an app and the arguments it is started with.
func (d *Desk) command(appID string) (program string, args []string, err error) {
	missing := executor.Fail(refusal.AnswerAppNotFound)
	if path, ok := strings.CutPrefix(appID, exePrefix); ok {
		resolved, err := filepath.EvalSymlinks(path)
		if err != nil || resolved != path || !runnable(path) {
			return "", nil, missing
		}
		return path, []string{path}, nil
	}
	installed, err := d.apps.DesktopApps()
	if err != nil {
		return "", nil, missing
	}
	for _, a := range installed {
		if a.ID != appID {
			continue
		}
		if a.Terminal {
			return "", nil, executor.Fail(refusal.AnswerNotSupported)
		}
		if a.Program == "" {
			return "", nil, missing
		}
		return a.Program, a.Exec, nil
	}
	return "", nil, missing
}

func runnable(path string) bool {
	st, err := os.Stat(path)
	return err == nil && filepath.IsAbs(path) && st.Mode().IsRegular() && st.Mode().Perm()&0o111 != 0
}
