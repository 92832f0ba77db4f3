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

// bed is a running fairlead over a virtual desk: where to talk to it as an agent and as
// the user. It ends with the closers.
type bed struct {
	dir, agent, user string
	all              *closers
}

// dial makes a connection of its own, as every program has one.
func (b *bed) dial(socket string) (*grpc.ClientConn, error) {
	cc, err := rpc.DialSocket(socket, noop.NewTracerProvider())
	if err == nil {
		b.all.add(cc.Close)
	}
	return cc, err
}

// place is where the parts of fairlead run.
type place struct {
	title string
	// apart says that they are processes of their own, and need programs that may be absent.
	apart bool
	start func(ctx context.Context, all *closers, o options, scene string) (*bed, error)
}

var (
	apart = place{"Separate processes (client, host, policy, executor), virtual desk", true, startApart}
	here  = place{"All parts in one process, virtual desk", false, startHere}
)

// absent says what the place lacks, or nothing.
func (p place) absent(o options) string {
	if !p.apart {
		return ""
	}
	return absent(o.bin, programs)
}

// best is real processes, or one process where those are absent.
func best(o options) place {
	if apart.absent(o) != "" {
		return here
	}
	return apart
}

// programs are what the launcher starts besides the executor, which is this program.
var programs = []string{"fairlead-policy", "fairlead-host"}

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

// startApart starts real processes: the launcher in this one starts policy and host of
// the build and, as executor, a copy of this program over the desk of a scene.
func startApart(ctx context.Context, all *closers, o options, scene string) (*bed, error) {
	dir, err := scratch(all)
	if err != nil {
		return nil, err
	}
	bin := filepath.Join(dir, "bin")
	if err := assemble(bin, o.bin); err != nil {
		return nil, err
	}
	l, err := up(ctx, all, launcher.Options{
		BinDir: bin, RuntimeDir: filepath.Join(dir, "run"), StateDir: filepath.Join(dir, "state"), Bundle: o.bundle,
		Env: []string{sceneVariable + "=" + scene},
	})
	if err != nil {
		return nil, err
	}
	return &bed{dir: dir, agent: l.AgentSocket(), user: l.UserSocket(), all: all}, nil
}

// startHere starts all parts in this process, over real sockets.
func startHere(ctx context.Context, all *closers, o options, scene string) (b *bed, err error) {
	dir, err := scratch(all)
	if err != nil {
		return nil, err
	}
	t := &tb{ctx: ctx, all: all}
	defer t.recovered(&err)
	d, err := newDesk(scene)
	if err != nil {
		return nil, err
	}
	s := harness.Start(t, harness.Options{Bundle: o.bundle, Platform: d})
	socket := func(audience string) string { return filepath.Join(s.Dir, audience, "host.sock") }
	return &bed{dir: dir, agent: socket("agent"), user: socket("user"), all: all}, nil
}

// assemble makes a directory of programs with their manifest.
func assemble(bin, from string) error {
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
func up(ctx context.Context, all *closers, opts launcher.Options) (*launcher.Launcher, error) {
	l, err := launcher.New(opts)
	if err != nil {
		return nil, err
	}
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan error, 1)
	go func() { done <- l.Run(life) }()
	ready, cancel := context.WithTimeout(ctx, startMax)
	defer cancel()
	select {
	case <-l.Ready():
		all.add(func() error { stop(); return <-done })
		return l, nil
	case err := <-done:
		stop()
		return nil, errors.Join(errors.New("the processes ended"), err)
	case <-ready.Done():
		stop()
		return nil, errors.Join(errors.New("the processes did not get ready"), <-done)
	}
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
