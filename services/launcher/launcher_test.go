package launcher

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"fairlead.dev/services/shared/telemetry"
)

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

func TestEachProcessIsGivenItsDescriptorsAndKeyAndNothingElse(t *testing.T) {
	b := newBench(t)
	b.ready()
	policy, executor, host := b.seen("policy")[0], b.seen("executor")[0], b.seen("host")[0]
	for _, c := range []struct {
		name string
		got  sighting
		fds  string
		key  int
	}{
		{"policy", policy, "0 1 2 3 4 5 6", 64},
		{"executor", executor, "0 1 2 3 4 5 6", 32},
		{"host", host, "0 1 2 3 4", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := strings.Join(c.got.FDs, " "); got != c.fds {
				t.Errorf("descriptors %s, want %s", got, c.fds)
			}
			if len(c.got.Key) != 2*c.key {
				t.Errorf("key of %d bytes, want %d", len(c.got.Key)/2, c.key)
			}
			if !strings.HasPrefix(c.got.Args[0], "fairlead-") {
				t.Errorf("runs under the name %q", c.got.Args[0])
			}
			if !strings.HasPrefix(c.got.Program, "/memfd:fairlead-") {
				t.Errorf("runs %q, not a memory file", c.got.Program)
			}
		})
	}
	// An Ed25519 private key ends with its public half.
	if policy.Key[64:] != executor.Key {
		t.Error("the executor's key is not the public half of policy's")
	}
}

func TestEnvironmentIsAnAllowList(t *testing.T) {
	t.Setenv("DISPLAY", ":77")
	t.Setenv("LD_PRELOAD_NOT", "x")
	t.Setenv("AWS_SECRET", "x")
	t.Setenv("OTEL_SERVICE_NAME", "x")
	t.Setenv("GSK_RENDERER", "cairo")
	b := newBench(t)
	b.ready()
	for _, role := range []string{"policy", "executor", "host"} {
		for _, kv := range b.seen(role)[0].Env {
			k, _, _ := strings.Cut(kv, "=")
			if !common(k) && (role != "executor" || !desktop(k)) {
				t.Errorf("%s was given %s", role, k)
			}
		}
	}
	if !slices.Contains(b.seen("executor")[0].Env, "DISPLAY=:77") {
		t.Error("the executor was not given DISPLAY")
	}
	if !slices.Contains(b.seen("host")[0].Env, "OTEL_SERVICE_NAME=x") {
		t.Error("the host was not told where spans go")
	}
}

func TestAGivenDesktopReplacesOurs(t *testing.T) {
	own := []string{"DISPLAY=:0", "HOME=/root", "PATH=/bin", "OTEL_X=1", "XAUTHORITY=/own", "SHELL=/bin/sh"}
	desk := []string{"DISPLAY=:9", "HOME=/desk", "LD_PRELOAD=/evil.so", "OTEL_X=2"}
	for _, c := range []struct {
		name string
		r    role
		desk []string
		want string
	}{
		{"policy gets no desktop", rolePolicy, desk, "HOME=/root PATH=/bin OTEL_X=1"},
		{"host gets no desktop", roleHost, nil, "HOME=/root PATH=/bin OTEL_X=1"},
		{"executor gets ours", roleExecutor, nil, "DISPLAY=:0 HOME=/root PATH=/bin OTEL_X=1 XAUTHORITY=/own"},
		{"executor gets the given one", roleExecutor, desk, "OTEL_X=1 DISPLAY=:9 HOME=/desk"},
		{"executor gets an empty one", roleExecutor, []string{}, "OTEL_X=1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := strings.Join(environment(c.r, own, c.desk), " "); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	if environment(rolePolicy, nil, nil) == nil {
		t.Error("nil would be everything")
	}
}

func TestStopGoesInOrderAndLeavesNothing(t *testing.T) {
	b := newBench(t)
	b.ready()
	pids := []int{b.seen("policy")[0].PID, b.seen("executor")[0].PID, b.seen("host")[0].PID}
	if err := b.end(); err != nil {
		t.Fatalf("Run: %v", err)
	}
	want := []string{"term host", "halt executor", "term executor", "term policy"}
	if got := b.lines("order"); !slices.Equal(got, want) {
		t.Errorf("order %q, want %q", got, want)
	}
	for _, pid := range pids {
		if alive(pid) {
			t.Errorf("process %d is left", pid)
		}
	}
	for _, e := range []string{
		"started policy", "started executor", "started host", "ended host", "ended executor",
	} {
		if !slices.Contains(b.lines("events"), e) {
			t.Errorf("the record lacks %q: %q", e, b.lines("events"))
		}
	}
	log, err := os.ReadFile(b.l.LogFile())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(log), "policy   | policy speaks\n") {
		t.Errorf("the log lacks a child's line:\n%s", log)
	}
}

func TestProcessThatDoesNotEndIsKilledWithinTheGrace(t *testing.T) {
	b := newBench(t)
	for _, role := range []string{"host", "executor", "policy"} {
		b.mode(role, modeStubborn)
	}
	b.ready()
	pid := b.seen("executor")[0].PID
	start := time.Now()
	if err := b.end(); err != nil {
		t.Fatalf("Run: %v", err)
	}
	if took := time.Since(start); took > 4*b.l.times.grace {
		t.Errorf("took %v", took)
	}
	if alive(pid) {
		t.Error("the executor is left")
	}
}

func TestExecutorRestartsAloneWithTheSameKeyAndANewLink(t *testing.T) {
	b := newBench(t)
	b.ready()
	first := b.seen("executor")[0]
	if err := syscall.Kill(first.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	b.eventually("a second link", func() bool { return len(b.lines("links")) == 3 })
	b.started(1, 2, 1)
	if got := b.lines("links"); got[2] != "executor" {
		t.Errorf("passed %q", got)
	}
	if len(b.seen("policy")) != 1 || len(b.seen("host")) != 1 {
		t.Error("more than the executor was restarted")
	}
	if s := b.seen("executor"); s[1].Key != first.Key {
		t.Error("the executor was given another key")
	}
	b.eventually("its end on record", func() bool {
		return strings.HasSuffix(strings.Join(b.lines("events"), ","), "ended executor,started executor")
	})
}

func TestPolicyTakesTheExecutorWithItAndGetsNewKeys(t *testing.T) {
	b := newBench(t)
	b.ready()
	first := b.seen("policy")[0]
	if err := syscall.Kill(first.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	b.eventually("two new links", func() bool { return len(b.lines("links")) == 4 })
	b.started(2, 2, 1)
	p, e := b.seen("policy"), b.seen("executor")
	if len(p) != 2 || len(e) != 2 || len(b.seen("host")) != 1 {
		t.Fatalf("policy %d, executor %d, host %d times", len(p), len(e), len(b.seen("host")))
	}
	if p[1].Key == first.Key || p[1].Key[64:] != e[1].Key {
		t.Error("not a new key pair")
	}
	if alive(e[0].PID) {
		t.Error("the old executor is left")
	}
	b.eventually("the end of the first on the second's record", func() bool {
		return slices.Contains(b.lines("events"), "ended policy")
	})
}

func TestHostTakesAllWithIt(t *testing.T) {
	b := newBench(t)
	b.ready()
	if err := syscall.Kill(b.seen("host")[0].PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	b.eventually("all three again", func() bool { return len(b.lines("links")) == 4 })
	b.started(2, 2, 2)
	for _, role := range []string{"policy", "executor", "host"} {
		if n := len(b.seen(role)); n != 2 {
			t.Errorf("%s started %d times", role, n)
		}
	}
}

func TestRestartBudgetEndsInASentence(t *testing.T) {
	b := newBench(t)
	b.mode("executor", modeCrash)
	b.start()
	err := b.wait()
	var givenUp *GivenUpError
	if !errors.As(err, &givenUp) || givenUp.Role != "executor" || givenUp.Protocol {
		t.Fatalf("Run: %v", err)
	}
	if n := len(b.seen("executor")); n != 4 {
		t.Errorf("started %d times", n)
	}
	if ExitCode(err) != 1 {
		t.Errorf("exit code %d", ExitCode(err))
	}
	if !slices.Contains(b.lines("events"), "given_up executor") {
		t.Errorf("not on record: %q", b.lines("events"))
	}
	if alive(b.seen("policy")[0].PID) {
		t.Error("policy is left")
	}
}

func TestExitCodesOfChildren(t *testing.T) {
	for _, c := range []struct {
		name, role, mode string
		starts, code     int
	}{
		{"attestation is never retried", "executor", modeMismatch, 1, ExitAttestation},
		{"attestation of policy", "policy", modeMismatch, 1, ExitAttestation},
		{"protocol counts", "executor", modeProtocol, 4, ExitProtocol},
		{"a host that cannot run", "host", modeCrash, 4, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.mode(c.role, c.mode)
			b.start()
			err := b.wait()
			if ExitCode(err) != c.code {
				t.Errorf("exit code %d of %v", ExitCode(err), err)
			}
			if n := len(b.seen(c.role)); n != c.starts {
				t.Errorf("started %d times, want %d", n, c.starts)
			}
		})
	}
}

func TestThreeMissedProbesInARowKill(t *testing.T) {
	for _, c := range []struct {
		name    string
		answers string // one letter per probe: y or n; the last repeats
		killed  bool
	}{
		{"never answers", "n", true},
		{"answers", "y", false},
		{"answers now and then", "nnynny", false},
		{"stops answering", "ynnynnn", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &child{role: roleExecutor, cmd: exec.Command("sleep", "60"), done: make(chan struct{})}
			if err := p.cmd.Start(); err != nil {
				t.Fatal(err)
			}
			go func() { _ = p.cmd.Wait(); close(p.done) }()
			ctx, cancel := context.WithCancel(t.Context())
			asked := 0
			l := &Launcher{log: telemetry.Discard(), times: times{probeEvery: time.Millisecond, probeAnswer: time.Second}}
			l.probe(ctx, p, func(context.Context, *child) error {
				i := min(asked, len(c.answers)-1)
				if asked++; asked > 10+len(c.answers) {
					cancel() // It lives.
				}
				if c.answers[i] == 'y' {
					return nil
				}
				return errors.New("no answer")
			})
			killed := ctx.Err() == nil
			cancel()
			p.failed("over")
			<-p.done
			if killed != c.killed {
				t.Errorf("killed %v, want %v", killed, c.killed)
			}
		})
	}
}

func TestPolicyThatTakesNoRecordIsOfNoUse(t *testing.T) {
	b := newBench(t)
	b.mode("policy", modeForgetful)
	b.times.record, b.times.probeEvery = 100*time.Millisecond, time.Minute
	b.start()
	var givenUp *GivenUpError
	if err := b.wait(); !errors.As(err, &givenUp) || givenUp.Role != "policy" {
		t.Errorf("Run: %v", err)
	}
}

func TestOneLauncherPerRuntimeDirectory(t *testing.T) {
	b := newBench(t)
	b.ready()
	second, err := New(b.opts)
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Run(t.Context()); !errors.Is(err, ErrRunning) {
		t.Errorf("Run: %v", err)
	}
}

func TestChangedProgramIsNotStarted(t *testing.T) {
	b := newBench(t)
	path := filepath.Join(b.opts.BinDir, "fairlead-host")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	b.start()
	err := b.wait()
	var untrusted *AttestationError
	if !errors.As(err, &untrusted) || untrusted.Name != "fairlead-host" || ExitCode(err) != ExitAttestation {
		t.Fatalf("Run: %v", err)
	}
	if len(b.seen("policy")) != 0 {
		t.Error("another process was started all the same")
	}
}

func TestRestartRunsTheBytesThatWereHashed(t *testing.T) {
	b := newBench(t)
	b.ready()
	path := filepath.Join(b.opts.BinDir, ExecutorName(PlatformVirtual))
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\nexit 9\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(b.seen("executor")[0].PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	b.eventually("a second executor", func() bool { return len(b.seen("executor")) == 2 })
}

func TestOptionsAreChecked(t *testing.T) {
	if _, err := New(Options{Platform: "windows"}); err == nil {
		t.Error("an unknown platform was taken")
	}
	l, err := New(Options{StateDir: "/s", RuntimeDir: "/r"})
	if err != nil {
		t.Fatal(err)
	}
	got := []string{l.AgentSocket(), l.UserSocket(), l.LogFile()}
	if want := []string{"/r/agent/host.sock", "/r/user/host.sock", "/s/fairlead.log"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
