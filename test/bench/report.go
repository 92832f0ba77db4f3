package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"google.golang.org/protobuf/proto"
)

// Rows that the aims are about.
const (
	rowEcho   = "bare echo"
	rowThree  = "three echoes"
	rowInsert = "three echoes + durable insert"
	rowEmpty  = "act on an empty tree"
)

func rowAct(n int) string     { return fmt.Sprintf("act on %d elements", n) }
func rowObserve(n int) string { return fmt.Sprintf("observe %d elements", n) }

// The aims.
const (
	emptyAim    = 1.3  // of three echoes and a durable insert
	thousandAim = 12.0 // echoes for each 1000 elements
	// linearAim is how much more an element may cost in the largest tree than in one of 1000.
	linearAim = 1.5
)

// variant is one thing that is measured.
type variant struct {
	name string
	// times is how often it is measured in one round: what is short, more often, so that
	// its median does not follow what ran before it.
	times int
	run   func(context.Context) error
}

// figures are the samples of one phase, by row.
type figures struct {
	title string
	order []string
	took  map[string][]time.Duration
	// cpu is what all calls of a row took of the processor in this process.
	cpu map[string]time.Duration
}

func newFigures(title string, rows ...string) *figures {
	return &figures{
		title: title, order: rows, took: map[string][]time.Duration{}, cpu: map[string]time.Duration{},
	}
}

// measure runs the variants in turns: a few rounds to warm up, then rounds until the
// bound or the time is reached. A round is whole or does not count.
func measure(ctx context.Context, title string, within time.Duration, o options, vs []variant) (*figures, error) {
	vs = slices.DeleteFunc(vs, func(v variant) bool {
		return o.only != "" && v.name != rowEcho && !strings.Contains(v.name, o.only)
	})
	f := newFigures(title)
	for _, v := range vs {
		f.order = append(f.order, v.name)
	}
	began := time.Now()
	warm := within / 10
	for round := 0; round < o.rounds && time.Since(began) < within; {
		if ctx.Err() != nil {
			return f, context.Cause(ctx)
		}
		counts := time.Since(began) > warm
		for _, v := range vs {
			before := used()
			took, err := v.sample(ctx, o.rest)
			if err != nil {
				return f, fmt.Errorf("%s: %s: %w", title, v.name, err)
			}
			if counts {
				f.took[v.name] = append(f.took[v.name], took...)
				f.cpu[v.name] += used() - before
			}
		}
		if counts {
			round++
		}
	}
	f.sort()
	return f, nil
}

func (f *figures) sort() {
	for _, list := range f.took {
		slices.Sort(list)
	}
}

// sample measures a variant as often as one round wants, each time after a rest.
func (v variant) sample(ctx context.Context, rest time.Duration) ([]time.Duration, error) {
	took := make([]time.Duration, v.times)
	for i := range took {
		time.Sleep(rest)
		start := time.Now()
		if err := v.run(ctx); err != nil {
			return nil, err
		}
		took[i] = time.Since(start)
	}
	return took, nil
}

// used is the processor time this process has taken.
func used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// at is a percentile of a row.
func (f *figures) at(row string, percent int) time.Duration { return percentile(f.took[row], percent) }

func (f *figures) p50(row string) float64 { return ms(f.at(row, 50)) }

// p99 is in milliseconds too; of a row without samples it is no number, which meets no aim.
func (f *figures) p99(row string) float64 {
	if len(f.took[row]) == 0 {
		return math.NaN()
	}
	return ms(f.at(row, 99))
}

// percentile is one of a sorted list, 0 of an empty one.
func percentile(list []time.Duration, percent int) time.Duration {
	if len(list) == 0 {
		return 0
	}
	return list[min(len(list)-1, len(list)*percent/100)]
}

func ms(d time.Duration) float64 { return d.Seconds() * 1000 }

// echoes is a row's median in echoes.
func (f *figures) echoes(row string) float64 { return f.p50(row) / f.p50(rowEcho) }

// complete reports whether every row of the aims was measured.
func (f *figures) complete() bool {
	rows := []string{rowEcho, rowThree, rowInsert, rowEmpty, rowObserve(sights[0].elements)}
	for _, s := range sights[1:] {
		rows = append(rows, rowAct(s.elements), rowObserve(s.elements))
	}
	for _, r := range rows {
		if len(f.took[r]) == 0 {
			return false
		}
	}
	return true
}

// head says on what it was measured.
func head(out io.Writer) {
	load, err := os.ReadFile("/proc/loadavg")
	said := "unknown"
	if words := strings.Fields(string(load)); err == nil && len(words) >= 3 {
		said = strings.Join(words[:3], " ")
	}
	fmt.Fprintf(out, "fairlead bench: %d cores, %s %s/%s, load average %s\n",
		runtime.NumCPU(), runtime.Version(), runtime.GOOS, runtime.GOARCH, said)
	fmt.Fprintf(out, "An echo is BeginTurn (%d bytes) of a stub behind fairlead's own chain, over a Unix socket.\n",
		proto.Size(echoRequest()))
	fmt.Fprintln(out, "Acts click a check box and return the outline. The policy record is in memory so far.")
}

func (f *figures) print(out io.Writer) {
	fmt.Fprintf(out, "\n%s\n", f.title)
	fmt.Fprintf(out, "  %-40s %6s %9s %9s %8s %10s\n", "", "n", "p50 ms", "p99 ms", "echoes", "own cpu ms")
	for _, row := range f.order {
		n := len(f.took[row])
		fmt.Fprintf(out, "  %-40s %6d %9.3f %9.3f %8.1f %10.3f\n", row, n, f.p50(row),
			f.p99(row), f.echoes(row), ms(f.cpu[row])/float64(max(1, n)))
	}
}

// missing prints a row that could not be measured.
func missing(out io.Writer, title, why string) {
	fmt.Fprintf(out, "\n%s\n  not measured: %s\n", title, why)
}

// aim is a figure and what it should be at most.
type aim struct {
	what      string
	got, most float64
	unit      string
}

// claim is what one phase says about its aims.
type claim struct {
	// about tells claims about the same in two places apart from others.
	about, title string
	aims         []aim
}

// print says which aims were met.
func (c *claim) print(out io.Writer) {
	if len(c.aims) == 0 {
		return
	}
	fmt.Fprintf(out, "\nAims: %s\n", c.title)
	for _, a := range c.aims {
		verdict := "met"
		if !(a.got <= a.most) { // also when there was nothing to compare with
			verdict = "missed"
		}
		fmt.Fprintf(out, "  %-58s %7.2f %-8s aim <= %-5.4g %s\n", a.what, a.got, a.unit, a.most, verdict)
	}
}

// claim is what the medians of one agent's costs say.
func (f *figures) claim() *claim {
	insert := f.p50(rowInsert) - f.p50(rowThree)
	base := f.p50(rowInsert)
	small, large := sights[2].elements, sights[3].elements
	act, observe := rowAct, rowObserve
	first := sights[0].elements
	lower := f.slope(observe(first), observe(small), small-first)
	upper := f.slope(observe(small), observe(large), large-small)
	return &claim{about: "costs", title: "medians of " + f.title, aims: []aim{
		{"empty act / (three echoes + insert), record in memory", f.p50(rowEmpty) / base, emptyAim, "times"},
		{"the same, with the insert added to the act", (f.p50(rowEmpty) + insert) / base, emptyAim, "times"},
		{"act: each 1000 elements, up to 1000", f.slope(rowEmpty, act(small), small-first), thousandAim, "echoes"},
		{"act: each 1000 elements, from 1000 to 5000", f.slope(act(small), act(large), large-small), thousandAim, "echoes"},
		{"observe: an element beyond 1000 / an element below", upper / lower, linearAim, "times"},
	}}
}

// slope is what each 1000 elements add between two rows, in echoes.
func (f *figures) slope(from, to string, elements int) float64 {
	return (f.echoes(to) - f.echoes(from)) * 1000 / float64(elements)
}
