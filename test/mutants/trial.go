package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// mutantMax is how long building and testing one mutant may take.
	mutantMax = 60 * time.Second
	// soundMax is how long building the tests of a package may take without a mutant,
	// perhaps with every dependency, and how long they may then run.
	soundMax = 5 * time.Minute
	// linesMax is how many lines a patch may add and take away: it breaks one rule.
	linesMax = 16
	// saidMax is how much of what a program says is kept.
	saidMax = 1 << 20
	// waitMax is how long a program that was killed may take to let go of its output.
	waitMax = 2 * time.Second
)

// verdict is what came of a mutant.
type verdict string

// Every verdict. Only caught is good.
const (
	caught       verdict = "caught"
	survived     verdict = "SURVIVED"
	malformed    verdict = "MALFORMED"
	doesNotApply verdict = "DOES NOT APPLY"
	doesNotBuild verdict = "DOES NOT BUILD"
	unsound      verdict = "FAILS UNMODIFIED"
	timedOut     verdict = "TIMED OUT"
	crashed      verdict = "CRASHED"
)

var verdicts = []verdict{
	caught, survived, malformed, doesNotApply, doesNotBuild, unsound, timedOut, crashed,
}

// result is a verdict and how it came about.
type result struct {
	name, clause string
	verdict      verdict
	// by is the test that failed, or the tests that should have.
	by string
	// said is what the program that decided it said.
	said string
	took time.Duration
}

// runner tries mutants of the tree at root. It may be used by several goroutines.
type runner struct {
	root, scratch string
	mutantMax     time.Duration

	mu       sync.Mutex
	programs map[string]func() (string, error)
	sounds   map[tests]func() error
}

func newRunner(root, scratch string) *runner {
	return &runner{
		root: root, scratch: scratch, mutantMax: mutantMax,
		programs: map[string]func() (string, error){}, sounds: map[tests]func() error{},
	}
}

// failure is a verdict as an error.
type failure struct {
	verdict verdict
	said    string
}

func (f *failure) Error() string { return string(f.verdict) + ": " + f.said }

func fail(v verdict, format string, args ...any) error {
	return &failure{v, fmt.Sprintf(format, args...)}
}

// try tries one mutant.
func (r *runner) try(ctx context.Context, file string) result {
	res := result{name: nameOf(file), verdict: caught}
	m, err := readMutant(file)
	if err != nil {
		res.verdict, res.said = malformed, err.Error()
		return res
	}
	res.clause, res.by = m.clause, m.tests.String()
	start := time.Now()
	failed, err := r.trial(ctx, file, m)
	res.took = time.Since(start)
	if err != nil {
		f := &failure{verdict: crashed, said: err.Error()}
		errors.As(err, &f)
		res.verdict, res.said = f.verdict, m.rule+"\n"+f.said
		return res
	}
	res.by = m.tests.pkg + " " + failed
	return res
}

// trial is the story of a mutant: its patch applies, its tests are sound, it builds,
// and they fail. It returns the name of one that failed.
func (r *runner) trial(ctx context.Context, file string, m mutant) (string, error) {
	dir, err := os.MkdirTemp(r.scratch, "mutant-")
	if err != nil {
		return "", fmt.Errorf("making a directory: %w", err)
	}
	overlay, err := r.apply(ctx, file, dir)
	if err != nil {
		return "", err
	}
	if err := r.sound(ctx, m.tests); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, r.mutantMax)
	defer cancel()
	program := filepath.Join(dir, "tests")
	if said, err := r.build(ctx, program, m.tests.pkg, "-overlay", overlay); err != nil {
		return "", verdictOf(ctx, err, doesNotBuild, said)
	}
	said, err := r.test(ctx, program, m.tests)
	failed := named(said, "--- FAIL: ")
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "", fail(survived, "%s passed", m.tests)
	case errors.As(err, &exit) && exit.ExitCode() == 1 && failed != "":
		return failed, nil
	default:
		// A program that panics or ends itself says nothing about what was tested.
		return "", verdictOf(ctx, err, crashed, said)
	}
}

// verdictOf is the verdict on a program that failed: a clock that ran out comes first.
func verdictOf(ctx context.Context, err error, v verdict, said string) error {
	if ctx.Err() != nil {
		v = timedOut
	}
	return fail(v, "%s\n%v", said, err)
}

// apply copies the files that a patch touches and applies it to the copies. It returns
// the file that tells the Go command to read them instead. Git never guesses: context
// that differs is an error.
func (r *runner) apply(ctx context.Context, file, dir string) (string, error) {
	said, err := r.git(ctx, dir, "apply", "--numstat", "-z", file)
	if err != nil {
		return "", verdictOf(ctx, err, doesNotApply, said)
	}
	replace := map[string]string{}
	lines := 0
	for entry := range strings.SplitSeq(strings.TrimSuffix(said, "\x00"), "\x00") {
		n, path, err := numstat(entry)
		if err != nil || !mayMutate(path) {
			return "", fail(malformed, "it touches what is no source of the product: %q", path)
		}
		lines += n
		from, to := filepath.Join(r.root, path), filepath.Join(dir, path)
		if err := copyFile(from, to); err != nil {
			return "", fail(doesNotApply, "%v", err)
		}
		replace[from] = to
	}
	if lines > linesMax {
		return "", fail(malformed, "it changes %d lines, and may change %d", lines, linesMax)
	}
	if said, err := r.git(ctx, dir, "apply", file); err != nil {
		return "", verdictOf(ctx, err, doesNotApply, said)
	}
	for from, to := range replace {
		if err := differ(from, to); err != nil {
			return "", fail(doesNotApply, "%v", err)
		}
	}
	overlay := filepath.Join(dir, "overlay.json")
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", fmt.Errorf("writing the overlay: %w", err)
	}
	return overlay, os.WriteFile(overlay, b, 0o600)
}

// numstat reads "added TAB deleted TAB path".
func numstat(entry string) (lines int, path string, err error) {
	f := strings.SplitN(entry, "\t", 3)
	if len(f) != 3 {
		return 0, entry, errors.New("not a line of numbers")
	}
	added, err1 := strconv.Atoi(f[0])
	deleted, err2 := strconv.Atoi(f[1])
	return added + deleted, f[2], errors.Join(err1, err2)
}

func copyFile(from, to string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return fmt.Errorf("copying what it touches: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return fmt.Errorf("copying what it touches: %w", err)
	}
	return os.WriteFile(to, b, 0o600)
}

// differ checks that the patch changed the copy: Git applies nothing, and says nothing,
// where it believes the file to lie outside of what it looks after.
func differ(from, to string) error {
	was, err1 := os.ReadFile(from)
	is, err2 := os.ReadFile(to)
	if err1 != nil || err2 != nil || bytes.Equal(was, is) {
		return errors.Join(errors.New("the patch changed nothing"), err1, err2)
	}
	return nil
}

// sound checks, once for each, that the tests pass without any mutant.
func (r *runner) sound(ctx context.Context, t tests) error {
	r.mu.Lock()
	check, ok := r.sounds[t]
	if !ok {
		check = sync.OnceValue(func() error { return r.checkSound(ctx, t) })
		r.sounds[t] = check
	}
	r.mu.Unlock()
	return check()
}

func (r *runner) checkSound(ctx context.Context, t tests) error {
	ctx, cancel := context.WithTimeout(ctx, soundMax)
	defer cancel()
	program, err := r.program(ctx, t.pkg)
	if err != nil {
		return err
	}
	said, err := r.test(ctx, program, t)
	if err != nil {
		return verdictOf(ctx, err, unsound, said)
	}
	if named(said, "--- PASS: ") == "" {
		return fail(unsound, "no test ran: %s", t)
	}
	return nil
}

// program is the test program of a package without any mutant, built once.
func (r *runner) program(ctx context.Context, pkg string) (string, error) {
	r.mu.Lock()
	build, ok := r.programs[pkg]
	if !ok {
		program := filepath.Join(r.scratch, fmt.Sprintf("sound-%d", len(r.programs)))
		build = sync.OnceValues(func() (string, error) {
			if said, err := r.build(ctx, program, pkg); err != nil {
				return "", verdictOf(ctx, err, unsound, said)
			}
			return program, nil
		})
		r.programs[pkg] = build
	}
	r.mu.Unlock()
	return build()
}

// build builds the tests of a package, without what only a debugger reads: linking is
// most of the work. What vet thinks of a mutant is of no interest.
func (r *runner) build(ctx context.Context, program, pkg string, flags ...string) (string, error) {
	args := append([]string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-o", program}, flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, "./"+pkg)...)
	cmd.Dir = r.root
	return output(cmd)
}

// test runs the tests as the Go command would, but without its word between theirs and
// ours: its exit status says as much of a test that failed as of one it could not run.
func (r *runner) test(ctx context.Context, program string, t tests) (string, error) {
	cmd := exec.CommandContext(ctx, program, "-test.v", "-test.paniconexit0", "-test.run", t.run)
	cmd.Dir = filepath.Join(r.root, t.pkg)
	// A property that fails would leave its case beside the test, to be tried again.
	cmd.Env = append(cmd.Environ(), "RAPID_NOFAILFILE=true")
	return output(cmd)
}

// git runs Git in a directory as if there were no repository around it.
func (r *runner) git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	for _, v := range cmd.Environ() {
		if !strings.HasPrefix(v, "GIT_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "GIT_CEILING_DIRECTORIES="+r.scratch,
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
	return output(cmd)
}

// output runs a command and returns all it said. When the clock runs out, the command
// and everything it started are killed.
func output(cmd *exec.Cmd) (string, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = waitMax
	var said capped
	cmd.Stdout, cmd.Stderr = &said, &said
	err := cmd.Run()
	return said.String(), err
}

// capped keeps the first saidMax bytes written to it and lets go of the rest: a mutant
// may never stop talking.
type capped struct{ bytes.Buffer }

func (c *capped) Write(b []byte) (int, error) {
	c.Buffer.Write(b[:min(len(b), saidMax-c.Len())])
	return len(b), nil
}

// named returns the innermost name in the first run of lines that begin with a prefix,
// such as "--- FAIL: TestA/a_case (0.00s)".
func named(said, prefix string) string {
	name := ""
	for line := range strings.Lines(said) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), prefix)
		if !ok {
			continue
		}
		n, _, _ := strings.Cut(rest, " ")
		if name != "" && !strings.HasPrefix(n, name+"/") {
			break
		}
		name = n
	}
	return name
}
