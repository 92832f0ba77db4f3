package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/godbus/dbus/v5"
	"go.opentelemetry.io/otel/trace/noop"

	"fairlead.dev/executor-linux/privatedesk"
	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/launcher"
	"fairlead.dev/services/shared/rpc"
)

const (
	gtkTitle = "Separate processes, a real GTK window on a private X desktop"
	// gtkProgram is a window of some hundred elements of every kind.
	gtkProgram = "gtk3-widget-factory"
	rowItems   = "bare Cache.GetItems of the window"
	rowGTK     = "observe the window"
)

// gtk measures a real window: what its toolkit's cache costs bare, and what an
// observation of it costs through every part.
func gtk(ctx context.Context, out io.Writer, o options) (_ *claim, err error) {
	if lack := absent(o.bin, append(slices.Clone(programs), programX11())); lack != "" {
		missing(out, gtkTitle, lack)
		return nil, nil
	}
	if _, err := exec.LookPath(gtkProgram); err != nil {
		missing(out, gtkTitle, gtkProgram+" is not installed")
		return nil, nil
	}
	var all closers
	defer func() { err = errors.Join(err, all.close()) }()
	desk, err := privatedesk.Start(ctx, privatedesk.Options{})
	var lack *privatedesk.MissingError
	if errors.As(err, &lack) {
		missing(out, gtkTitle, lack.Error())
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	all.add(desk.Close)
	vs, c, why, err := gtkVariants(ctx, &all, desk, o)
	if why != nil {
		missing(out, gtkTitle, why.Error())
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	f, err := measure(ctx, gtkTitle, gtkMax, o, vs)
	if err == nil {
		f.print(out)
		fmt.Fprintf(out, "  %d elements; observe is %.1f times a bare GetItems\n",
			c.seen, f.p50(rowGTK)/f.p50(rowItems))
	}
	return nil, err
}

// gtkVariants starts the app and fairlead on the desktop. It says why when the window
// cannot be measured here, which is no failure of the bench.
func gtkVariants(
	ctx context.Context, all *closers, desk *privatedesk.Desktop, o options,
) (vs []variant, c *client, why, err error) {
	dir, err := scratch(all)
	if err != nil {
		return nil, nil, nil, err
	}
	if _, err := desk.Run("app", nil, gtkProgram); err != nil {
		return nil, nil, err, nil
	}
	items, err := newItems(ctx, all, desk.AccessibilityAddress())
	if err != nil {
		return nil, nil, fmt.Errorf("the window's own cache does not answer: %w", err), nil
	}
	l, err := up(ctx, all, launcher.Options{
		BinDir: o.bin, RuntimeDir: filepath.Join(dir, "run"), StateDir: filepath.Join(dir, "state"),
		Bundle: o.bundle, Platform: launcher.PlatformX11, Env: desk.Env(),
	})
	if err != nil {
		return nil, nil, fmt.Errorf("%s does not serve a desktop yet: %w", programX11(), err), nil
	}
	cc, err := rpc.DialSocket(l.AgentSocket(), noop.NewTracerProvider())
	if err != nil {
		return nil, nil, nil, err
	}
	all.add(cc.Close)
	if c, err = newClient(ctx, cc); err != nil {
		return nil, nil, nil, err
	}
	if err := c.findOnly(ctx); err != nil {
		return nil, nil, fmt.Errorf("the window cannot be observed yet: %w", err), nil
	}
	e, end, err := startEcho(ctx, filepath.Join(dir, "echo"), true)
	if err != nil {
		return nil, nil, nil, err
	}
	all.add(end)
	return []variant{
		{rowEcho, 8, e.call}, {rowItems, 1, items.get}, {rowGTK, 1, c.outline},
	}, c, nil, nil
}

func programX11() string { return launcher.ExecutorName(launcher.PlatformX11) }

// findOnly takes the only window there is.
func (c *client) findOnly(ctx context.Context) error {
	class := commonv1.LeaseClass_LEASE_CLASS_METADATA_READ
	if err := c.acquire(ctx, onDesk(), class); err != nil {
		return err
	}
	return await(ctx, func(ctx context.Context) error {
		windows, err := c.list(ctx)
		if err != nil {
			return err
		}
		if len(windows) != 1 {
			return fmt.Errorf("%d windows", len(windows))
		}
		c.window = windows[0].GetWindow()
		if err := c.acquire(ctx, onApp(c.window.GetAppId()), class); err != nil {
			return err
		}
		return c.outline(ctx)
	})
}

// items asks one application for everything its toolkit caches about it.
type items struct{ cache dbus.BusObject }

// newItems waits until the one application of a private desktop is there.
func newItems(ctx context.Context, all *closers, address string) (*items, error) {
	conn, err := dbus.Connect(address)
	if err != nil {
		return nil, err
	}
	all.add(conn.Close)
	registry := conn.Object("org.a11y.atspi.Registry", "/org/a11y/atspi/accessible/root")
	// A toolkit keeps its cache only while somebody listens.
	listen := conn.Object("org.a11y.atspi.Registry", "/org/a11y/atspi/registry")
	err = listen.CallWithContext(ctx, "org.a11y.atspi.Registry.RegisterEvent", 0, "object:children-changed",
		[]string{}, "").Err
	if err != nil {
		return nil, err
	}
	i := &items{}
	return i, await(ctx, func(ctx context.Context) error {
		var apps [][]any
		err := registry.CallWithContext(ctx, "org.a11y.atspi.Accessible.GetChildren", 0).Store(&apps)
		if err != nil {
			return err
		}
		if len(apps) != 1 || len(apps[0]) != 2 {
			return fmt.Errorf("%d applications", len(apps))
		}
		bus, _ := apps[0][0].(string)
		i.cache = conn.Object(bus, "/org/a11y/atspi/cache")
		return i.get(ctx)
	})
}

func (i *items) get(ctx context.Context) error {
	return i.cache.CallWithContext(ctx, "org.a11y.atspi.Cache.GetItems", 0).Err
}
