// Command bench prints one table of what fairlead costs, as ratios measured side by
// side in one run: a bare echo, three echoes, a durable insert, acts and observations
// on windows of growing size. Absolute times are this machine's; ratios are the claim.
//
// Everything is measured in rounds, each variant once a round, so that what disturbs
// the machine disturbs every variant alike. It measures real processes over the
// programs in FAIRLEAD_BIN where there are any, then all parts in one process, then a
// real GTK window. A missed aim is part of the report; only what could not run at all
// is a failure.
//
// It starts programs, and ends every one of them before it ends. It never touches the
// desktop it is started on.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"syscall"
	"time"
)

// Bounds of the phases; the whole run stays below 90 s.
const (
	runMax       = 85 * time.Second
	processesMax = 30 * time.Second
	oneMax       = 18 * time.Second
	gtkMax       = 12 * time.Second
)

// options are the flags.
type options struct {
	bin, bundle, profile, only string
	phases                     string
	rounds                     int
	rest                       time.Duration
}

func main() {
	// The launcher starts a copy of this program as the executor of a populated desk.
	if filepath.Base(os.Args[0]) == executorName {
		os.Exit(code(serveDesk()))
	}
	if len(os.Args) == 3 && os.Args[1] == echoRole {
		os.Exit(code(serveEcho(os.Args[2])))
	}
	o := options{bin: os.Getenv("FAIRLEAD_BIN")}
	flag.StringVar(&o.bundle, "bundle", filepath.Join("deploy", "policy", "demo.cedar"), "the rule `file` in force")
	flag.StringVar(&o.phases, "phases", "processes,one,gtk", "what to measure, a `list`")
	flag.StringVar(&o.only, "only", "", "measure only the rows whose name contains this `text`")
	flag.StringVar(&o.profile, "cpuprofile", "", "write a CPU profile of this process to a `file`")
	flag.IntVar(&o.rounds, "rounds", 250, "at most so many rounds a phase")
	flag.DurationVar(&o.rest, "rest", 0, "a `pause` before each sample, as an agent that thinks makes")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(code(run(ctx, os.Stdout, o)))
}

func code(err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, "bench:", err)
	return 1
}

func run(ctx context.Context, out io.Writer, o options) (err error) {
	ctx, cancel := context.WithTimeout(ctx, runMax)
	defer cancel()
	if o.profile != "" {
		f, err := os.Create(o.profile)
		if err != nil {
			return err
		}
		defer func() { pprof.StopCPUProfile(); _ = f.Close() }()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
	}
	if o.bundle, err = filepath.Abs(o.bundle); err != nil {
		return err
	}
	head(out)
	var headline *figures
	for _, p := range []struct {
		name    string
		measure func(context.Context, io.Writer, options) (*figures, error)
	}{
		{"processes", processes}, {"one", oneProcess}, {"gtk", gtk},
	} {
		if !strings.Contains(o.phases, p.name) {
			continue
		}
		f, failed := p.measure(ctx, out, o)
		if headline == nil && failed == nil && f.complete() {
			headline = f
		}
		err = errors.Join(err, failed)
	}
	if headline == nil {
		return errors.Join(err, errors.New("the act path could not be measured"))
	}
	headline.aims(out)
	return err
}
