package virtualdesk

import (
	"slices"
	"time"

	"fairlead.dev/services/executor"
)

// app is an installed application and, while it runs, its process.
type app struct {
	id, name, executable string
	build                func(*Desk, *app)

	running bool
	pid     int32
	start   uint64
	// reuse holds window ids that the next windows of the app get again.
	reuse []uint64
	// thaw is not nil while the app is frozen, and closed when it thaws.
	thaw chan struct{}
	// late is what a frozen app still has to do when it thaws (C7.7).
	late    []func()
	delay   time.Duration
	planned []planned
	// pace is how long it takes over each part of an input.
	pace time.Duration
	// foreground says that it takes no input while the user does not have it.
	foreground bool
}

func (d *Desk) appByID(id string) *app {
	for _, a := range d.installed {
		if a.id == id {
			return a
		}
	}
	return nil
}

// startProcess gives an app a new process with its windows.
func (d *Desk) startProcess(a *app) {
	a.pid, a.start, a.running = d.next.pid, d.next.start, true
	d.next.pid += 7
	d.next.start += 1_000
	a.build(d, a)
	a.reuse = nil
	d.emit(executor.ChangeWindows, a.pid)
}

// endProcess ends an app's process: windows, frozen calls and late effects go with it.
func (d *Desk) endProcess(a *app) {
	for _, w := range d.windowsOf(a) {
		d.dropWindow(w)
	}
	if a.thaw != nil {
		close(a.thaw)
	}
	a.thaw, a.late, a.delay, a.planned, a.pace, a.foreground = nil, nil, 0, nil, 0, false
	a.running = false
	d.emit(executor.ChangeWindows, a.pid)
}

func (d *Desk) windowsOf(a *app) []*window {
	var ws []*window
	for _, w := range d.stack {
		if w.app == a {
			ws = append(ws, w)
		}
	}
	return ws
}

func (d *Desk) newWindowID(a *app) uint64 {
	if len(a.reuse) > 0 {
		id := a.reuse[0]
		a.reuse = slices.Delete(a.reuse, 0, 1)
		return id
	}
	return d.newID()
}
