// Command bench prints one table of what fairlead costs, as ratios measured side by
// side in one run: a bare echo, three echoes, a durable insert, acts and observations
// on windows of growing size; acts of 1, 8 and 64 sessions at once; an act while 200
// other sessions are stuck on slow windows; and how soon the user's stop takes effect.
// Absolute times are this machine's; ratios are the claim, except for the stop, whose
// aim is a time.
//
// Everything is measured in rounds, each variant once a round, so that what disturbs
// the machine disturbs every variant alike. It measures real processes over the
// programs in FAIRLEAD_BIN where there are any, or all parts in one process, and a real
// GTK window. A missed aim is part of the report; only what could not run at all is a
// failure. The phases, for -phases:
//
//	processes, one   one agent's costs, over real processes and in one process
//	gtk              a real GTK window on a private X desktop
//	crowd            1, 8 and 64 sessions on windows of their own, 8 on one; both places
//	stuck            one session next to 200 stuck ones
//	stop             Stop against acts that wait and acts that run
//
// The last two run over real processes if they can, and in one process without
// FAIRLEAD_BIN, where -cpuprofile sees all of them.
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
	"slices"
	"strings"
	"syscall"
	"time"
)

// Bounds of the phases. What many sessions do at once needs rounds of a second, so the
// whole run may take 145 s; a phase that begins late is cut off there, and says so.
const (
	runMax       = 145 * time.Second
	processesMax = 24 * time.Second
	oneMax       = 14 * time.Second
	gtkMax       = 10 * time.Second
	crowdMax     = 12 * time.Second // in each place
	stuckMax     = 28 * time.Second
	stopMax      = 22 * time.Second
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
		os.Exit(code(serveDesk(os.Getenv(sceneVariable))))
	}
	if len(os.Args) == 3 && os.Args[1] == echoRole {
		os.Exit(code(serveEcho(os.Args[2])))
	}
	o := options{bin: os.Getenv("FAIRLEAD_BIN")}
	flag.StringVar(&o.bundle, "bundle", filepath.Join("deploy", "policy", "demo.cedar"), "the rule `file` in force")
	flag.StringVar(&o.phases, "phases", "processes,one,gtk,crowd,stuck,stop", "what to measure, a `list`")
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
	return errors.Join(report(ctx, out, o), err)
}

// phases are what can be measured, in this order.
var phases = []struct {
	name    string
	measure func(context.Context, io.Writer, options) (*claim, error)
}{
	{"processes", func(ctx context.Context, out io.Writer, o options) (*claim, error) {
		return costs(ctx, out, o, apart, processesMax)
	}},
	{"one", func(ctx context.Context, out io.Writer, o options) (*claim, error) {
		return costs(ctx, out, o, here, oneMax)
	}},
	{"gtk", gtk},
	{"crowd", crowd},
	{"stuck", stuck},
	{"stop", stop},
}

// report measures the chosen phases and says at the end which aims were met. Of two
// claims about the same, the first counts.
func report(ctx context.Context, out io.Writer, o options) (err error) {
	var claims []*claim
	chosen := strings.Split(o.phases, ",")
	for _, p := range phases {
		if !slices.Contains(chosen, p.name) {
			continue
		}
		c, failed := p.measure(ctx, out, o)
		err = errors.Join(err, failed)
		known := func(other *claim) bool { return other.about == c.about }
		if failed == nil && c != nil && !slices.ContainsFunc(claims, known) {
			claims = append(claims, c)
		}
	}
	if len(claims) == 0 {
		return errors.Join(err, errors.New("nothing that has an aim could be measured"))
	}
	for _, c := range claims {
		c.print(out)
	}
	return err
}
