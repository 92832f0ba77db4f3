package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"go.opentelemetry.io/otel/trace/noop"
	"google.golang.org/grpc"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/launcher"
	"fairlead.dev/services/shared/rpc"
	"fairlead.dev/test/harness"
)

// closers run in reverse order.
type closers []func() error

func (c *closers) add(f func() error) { *c = append(*c, f) }

func (c *closers) close() (err error) {
	for i := len(*c) - 1; i >= 0; i-- {
		err = errors.Join(err, (*c)[i]())
	}
	return err
}

// scratch is a directory with a short path, for sockets, and how to remove it.
func scratch(c *closers) (string, error) {
	dir, err := os.MkdirTemp("/tmp", "flb")
	if err == nil {
		c.add(func() error { return os.RemoveAll(dir) })
	}
	return dir, err
}

// processes measures real processes: the launcher in this one starts policy and host
// of the build and, as executor, a copy of this program over a populated virtual desk.
func processes(ctx context.Context, out io.Writer, o options) (f *figures, err error) {
	const title = "Separate processes (client, host, policy, executor), virtual desk"
	programs := []string{"fairlead-policy", "fairlead-host"}
	if lack := absent(o.bin, programs); lack != "" {
		missing(out, title, lack)
		return &figures{}, nil
	}
	var all closers
	defer func() { err = errors.Join(err, all.close()) }()
	dir, err := scratch(&all)
	if err != nil {
		return nil, err
	}
	bin := filepath.Join(dir, "bin")
	if err := assemble(bin, o.bin, programs); err != nil {
		return nil, err
	}
	socket, err := up(ctx, &all, launcher.Options{
		BinDir: bin, RuntimeDir: filepath.Join(dir, "run"), StateDir: filepath.Join(dir, "state"), Bundle: o.bundle,
	})
	if err != nil {
		return nil, err
	}
	cc, err := rpc.DialSocket(socket, noop.NewTracerProvider())
	if err != nil {
		return nil, err
	}
	all.add(cc.Close)
	vs, err := variants(ctx, &all, filepath.Join(dir, "echo"), cc, true)
	if err != nil {
		return nil, err
	}
	if f, err = measure(ctx, title, processesMax, o, vs); err == nil {
		f.print(out)
	}
	return f, err
}

// absent says which program is missing, or nothing.
func absent(bin string, programs []string) string {
	if bin == "" {
		return "FAIRLEAD_BIN is not set"
	}
	for _, p := range programs {
		if _, err := os.Stat(filepath.Join(bin, p)); err != nil {
			return "there is no " + p + " in FAIRLEAD_BIN"
		}
	}
	return ""
}

// assemble makes a directory of programs with their manifest.
func assemble(bin, from string, programs []string) error {
	if err := os.Mkdir(bin, 0o700); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if err := copyFile(filepath.Join(bin, executorName), self); err != nil {
		return err
	}
	for _, p := range programs {
		if err := copyFile(filepath.Join(bin, p), filepath.Join(from, p)); err != nil {
			return err
		}
	}
	return launcher.WriteManifest(bin, "bench")
}

func copyFile(to, from string) (err error) {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	dst, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Close())
}

// up runs a launcher until the closers run, and waits until it is ready.
func up(ctx context.Context, all *closers, opts launcher.Options) (string, error) {
	l, err := launcher.New(opts)
	if err != nil {
		return "", err
	}
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan error, 1)
	go func() { done <- l.Run(life) }()
	ready, cancel := context.WithTimeout(ctx, startMax)
	defer cancel()
	select {
	case <-l.Ready():
		all.add(func() error { stop(); return <-done })
		return l.AgentSocket(), nil
	case err := <-done:
		stop()
		return "", errors.Join(errors.New("the processes ended"), err)
	case <-ready.Done():
		stop()
		return "", errors.Join(errors.New("the processes did not get ready"), <-done)
	}
}

// oneProcess measures all parts in this process, over real sockets.
func oneProcess(ctx context.Context, out io.Writer, o options) (f *figures, err error) {
	const title = "All parts in one process, virtual desk"
	var all closers
	defer func() { err = errors.Join(err, all.close()) }()
	dir, err := scratch(&all)
	if err != nil {
		return nil, err
	}
	t := &tb{ctx: ctx, all: &all}
	defer t.recovered(&err)
	d, err := newDesk(ctx)
	if err != nil {
		return nil, err
	}
	s := harness.Start(t, harness.Options{Bundle: o.bundle, Platform: d})
	vs, err := variants(ctx, &all, filepath.Join(dir, "echo"), s.Dial("agent"), false)
	if err != nil {
		return nil, err
	}
	if f, err = measure(ctx, title, oneMax, o, vs); err == nil {
		f.print(out)
	}
	return f, err
}

// variants are the rows of a system with the populated desk.
func variants(
	ctx context.Context, all *closers, dir string, cc grpc.ClientConnInterface, apart bool,
) ([]variant, error) {
	e, end, err := startEcho(ctx, dir, apart)
	if err != nil {
		return nil, err
	}
	all.add(end)
	db, err := openStore(ctx, dir)
	if err != nil {
		return nil, err
	}
	all.add(db.close)
	vs := []variant{{rowEcho, 8, e.call}, {rowThree, 4, e.three}, {rowInsert, 4, func(ctx context.Context) error {
		return errors.Join(e.three(ctx), db.add(ctx))
	}}}
	var looks []variant
	for i, s := range sights {
		c, err := newClient(ctx, cc)
		if err != nil {
			return nil, err
		}
		if err := c.acquire(ctx, onApp(s.app), commonv1.LeaseClass_LEASE_CLASS_METADATA_READ,
			commonv1.LeaseClass_LEASE_CLASS_SEMANTIC_MUTATION); err != nil {
			return nil, err
		}
		if err := c.find(ctx, s.app, s.title); err != nil {
			return nil, err
		}
		if int(c.seen) != s.elements || c.check == 0 {
			return nil, fmt.Errorf("%s shows %d elements", s.title, c.seen)
		}
		act, times := rowAct(s.elements), 1
		if i == 0 {
			act, times = rowEmpty, 4
		}
		vs = append(vs, variant{act, times, c.toggle})
		looks = append(looks, variant{rowObserve(s.elements), times, c.outline})
	}
	return append(vs, looks...), nil
}

// tb lets the harness of the tests run outside of a test.
type tb struct {
	testing.TB
	ctx context.Context
	all *closers
}

// failure is what ends a harness that cannot go on.
type failure struct{ err error }

func (t *tb) Helper()                        {}
func (t *tb) Context() context.Context       { return t.ctx }
func (t *tb) Cleanup(f func())               { t.all.add(func() error { f(); return nil }) }
func (t *tb) Error(args ...any)              { fmt.Fprintln(os.Stderr, args...) }
func (t *tb) Errorf(format string, a ...any) { t.Error(fmt.Sprintf(format, a...)) }
func (t *tb) Fatal(args ...any)              { panic(failure{errors.New(fmt.Sprint(args...))}) }
func (t *tb) Fatalf(format string, a ...any) { t.Fatal(fmt.Sprintf(format, a...)) }

func (t *tb) recovered(err *error) {
	switch v := recover().(type) {
	case nil:
	case failure:
		*err = errors.Join(*err, v.err)
	default:
		panic(v)
	}
}
