// Command mutants breaks the product on purpose, one rule at a time, and sees that the
// tests notice (C0.12). Each patch beside this file is one mutant: its header names the
// rule it breaks and the tests that have to fail. A mutant is a copy of the files its
// patch touches, laid over the tree by the Go command; nothing is written into the tree.
//
// A mutant is caught when its patch applies, the product builds with it, and one of the
// named tests, which pass without it, fails. Everything else fails the run: a patch that
// no longer applies proves as little as one that survives.
//
// To add one: break the rule in the source, keep the difference as a patch with paths
// from the repository root, put four lines above it, and take the change back.
//
//	# rule: An act that overwrites compares the value with the one that was recorded.
//	# clause: C6.2
//	# package: services/executor
//	# run: ^TestTargetIsCheckedAgain$/^the_user_types$
//
// Name the narrowest test there is: what a mutant costs is building its package's tests.
//
//	go run ./test/mutants                      every mutant, from the repository root
//	go run ./test/mutants stranger-may-connect some of them
//
// It starts the Go command, Git and test programs, and ends each within its clock. It
// must never change the tree, nor count as caught what merely crashed or hung.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// floor is how many patches there are at least.
	floor = 20
	// atOnce is how many mutants are tried at one time.
	atOnce = 2
	// allMax is how long the whole run may take. What is left then is not caught.
	allMax = 15 * time.Minute
)

// patchesDir holds the patches, below the repository root.
var patchesDir = filepath.Join("test", "mutants")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, w io.Writer, names []string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, allMax)
	defer cancel()
	root, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("finding the repository: %w", err)
	}
	files, err := filepath.Glob(filepath.Join(root, patchesDir, "*.patch"))
	if err != nil {
		return fmt.Errorf("listing patches: %w", err)
	}
	chosen, err := choose(files, names)
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return fmt.Errorf("making a scratch directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	r := newRunner(root, scratch)
	return report(w, r.tryAll(ctx, chosen), len(files))
}

// choose returns the patches of the given names, or all of them.
func choose(files, names []string) ([]string, error) {
	if len(names) == 0 {
		return files, nil
	}
	var out []string
	for _, n := range names {
		i := slices.IndexFunc(files, func(f string) bool { return nameOf(f) == n })
		if i < 0 {
			return nil, fmt.Errorf("there is no patch %s.patch in %s", n, patchesDir)
		}
		out = append(out, files[i])
	}
	return out, nil
}

// tryAll tries the mutants, a few at once, and returns the results in the order of the
// patches, each as soon as it and all before it are there.
func (r *runner) tryAll(ctx context.Context, files []string) <-chan result {
	out := make(chan result)
	each := make([]chan result, len(files))
	for i := range each {
		each[i] = make(chan result, 1)
	}
	next := make(chan int)
	var workers sync.WaitGroup
	for range atOnce {
		workers.Go(func() {
			for i := range next {
				each[i] <- r.try(ctx, files[i])
			}
		})
	}
	workers.Go(func() {
		defer close(next)
		for i := range files {
			next <- i
		}
	})
	go func() {
		defer close(out)
		defer workers.Wait()
		for _, c := range each {
			out <- <-c
		}
	}()
	return out
}

// report prints a line for each mutant and what came of all of them. It returns an
// error unless every one was caught and there are enough of them.
func report(w io.Writer, results <-chan result, patches int) error {
	start := time.Now()
	counts := map[verdict]int{}
	tried := 0
	for res := range results {
		counts[res.verdict]++
		tried++
		fmt.Fprintf(w, "%-17s %-42s %-6s %s  %.1f s\n",
			res.verdict, res.name, res.clause, res.by, res.took.Seconds())
		if res.verdict != caught {
			fmt.Fprintf(w, "    %s\n", strings.ReplaceAll(tail(res.said), "\n", "\n    "))
		}
	}
	fmt.Fprintf(w, "%d mutants in %.0f s:", tried, time.Since(start).Seconds())
	for _, v := range verdicts {
		if n := counts[v]; n > 0 {
			fmt.Fprintf(w, " %d %s", n, v)
		}
	}
	fmt.Fprintln(w)
	var failed []error
	if n := tried - counts[caught]; n > 0 {
		failed = append(failed, fmt.Errorf("mutants: %d of %d were not caught", n, tried))
	}
	if patches < floor {
		failed = append(failed, fmt.Errorf("mutants: there are %d patches, and must be %d", patches, floor))
	}
	return errors.Join(failed...)
}

// tail returns the end of what a program said, which is where it says what was wrong.
func tail(said string) string {
	const most = 20
	lines := strings.Split(strings.TrimSpace(said), "\n")
	return strings.Join(lines[max(0, len(lines)-most):], "\n")
}
