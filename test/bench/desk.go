package main

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"go.opentelemetry.io/otel/trace/noop"

	"fairlead.dev/services/executor"
	"fairlead.dev/services/launcher"
	"fairlead.dev/services/shared/peersock"
	"fairlead.dev/services/shared/permit"
	"fairlead.dev/services/shared/telemetry"
	"fairlead.dev/services/virtualdesk"
)

// executorName is the program that the launcher starts for a virtual desk.
var executorName = launcher.ExecutorName(launcher.PlatformVirtual)

// sight is one window of a given size.
type sight struct {
	app, title string
	elements   int
}

// sights are the windows of the virtual desk and what they are filled with. Four is
// the smallest tree with something to act on: window, group, button, check box.
var sights = []sight{
	{virtualdesk.CalculatorID, "Calculator", 4},
	{virtualdesk.FormID, "Log", 100},
	{virtualdesk.FormID, "Form", 1000},
	{virtualdesk.NotesID, "Untitled note", 5000},
}

// sceneVariable names the scene of a desk to its process. Of all variables the launcher
// passes on only those that lead to a desktop, and this is one.
const sceneVariable = "XDG_CURRENT_DESKTOP"

// Scenes of a virtual desk.
const (
	sceneSights = "sights" // windows of growing size
	sceneCrowd  = "crowd"  // a window for each session, and one for several
	sceneStuck  = "stuck"  // windows of an app with brakes, and one of another app
)

// Titles of windows in the scenes, numbered from 1 where there are several, and the size
// of each: an empty tree, unless said otherwise.
const (
	titleOwn    = "Own"
	titleShared = "Shared"
	titleSlow   = "Slow"
	titleFreeze = "Freeze"
	titleDelay  = "Delay"
	openedSize  = 4
	// sharedSize has a check box for each session that acts on the window.
	sharedSize = 40
)

// The apps that are acted on, and the one whose windows get slow.
const (
	liveApp = virtualdesk.CalculatorID
	slowApp = virtualdesk.NotesID
)

// newDesk returns the virtual desk of a scene.
func newDesk(scene string) (*virtualdesk.Desk, error) {
	d, err := virtualdesk.New(virtualdesk.Config{Running: []string{slowApp}})
	if err != nil {
		return nil, err
	}
	switch scene {
	case sceneSights:
		err = fill(d)
	case sceneCrowd:
		err = errors.Join(
			d.OpenWindows(liveApp, titleOwn, crowdMost, openedSize), d.OpenWindows(liveApp, titleShared, 1, sharedSize))
	case sceneStuck:
		err = errors.Join(
			d.OpenWindows(slowApp, titleSlow, stuckSessions, openedSize), d.OpenWindows(liveApp, titleOwn, 1, openedSize),
			d.OpenBrake(liveApp, titleFreeze, virtualdesk.Brake{App: slowApp, Freeze: true}),
			d.OpenBrake(liveApp, titleDelay, virtualdesk.Brake{App: slowApp, Delay: slowFor}))
	default:
		err = errors.New("there is no such scene")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("making the scene %q: %w", scene, err), d.Close())
	}
	return d, nil
}

// fill fills the windows that are there.
func fill(d *virtualdesk.Desk) error {
	for _, s := range sights {
		w, err := d.Window(s.title)
		if err != nil {
			return err
		}
		if err := d.Populate(w.ID, s.elements); err != nil {
			return err
		}
	}
	return nil
}

// serveDesk is the executor process: the executor's own core over the desk of a scene.
func serveDesk(scene string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	in, err := peersock.Inherit()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { <-in.Gone; cancel() }()
	key, err := peersock.ReadKey(ed25519.PublicKeySize)
	if err != nil {
		return err
	}
	host, err := peersock.Conn(peersock.File(peersock.FDHost))
	if err != nil {
		return err
	}
	link, err := peersock.Conn(peersock.File(peersock.FDLauncher))
	if err != nil {
		return err
	}
	d, err := newDesk(scene)
	if err != nil {
		return err
	}
	e, err := executor.New(executor.Config{
		Platform: d, PolicyKey: key, Log: telemetry.NewLogger(os.Stderr, "executor"),
		Traces: noop.NewTracerProvider(), Version: in.Version, Clock: permit.BootClock,
	})
	if err != nil {
		return errors.Join(err, d.Close())
	}
	return errors.Join(e.Serve(ctx, host, link, nil), d.Close())
}
