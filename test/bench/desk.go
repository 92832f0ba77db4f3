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
	"fairlead.dev/services/shared/ident"
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

// newDesk returns a virtual desk with these windows.
func newDesk(ctx context.Context) (*virtualdesk.Desk, error) {
	d, err := virtualdesk.New(virtualdesk.Config{})
	if err != nil {
		return nil, err
	}
	notes, err := d.Resolve(ctx, virtualdesk.NotesID)
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	if sent := d.Launch(ctx, notes); sent.Sent != executor.Accepted {
		return nil, errors.Join(errors.New("the notes did not start"), d.Close())
	}
	for _, s := range sights {
		var w ident.Window
		if w, err = d.Window(s.title); err == nil {
			err = d.Populate(w.ID, s.elements)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("filling %s: %w", s.title, err), d.Close())
		}
	}
	return d, nil
}

// serveDesk is the executor process: the executor's own core over such a desk.
func serveDesk() error {
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
	d, err := newDesk(ctx)
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
