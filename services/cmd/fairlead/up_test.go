package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	"fairlead.dev/services/launcher"
)

// fakeRun is ready at once and runs until it is stopped.
type fakeRun struct {
	ready   chan struct{}
	stopped bool
}

func (f *fakeRun) Ready() <-chan struct{} { return f.ready }

func (f *fakeRun) Run(ctx context.Context) error {
	close(f.ready)
	<-ctx.Done()
	f.stopped = true
	return nil
}

func TestUpStopsWhatItStartedWhenTheRulesCannotBeUsed(t *testing.T) {
	f := &fakeRun{ready: make(chan struct{})}
	err := serve(t.Context(), f, func(context.Context) error {
		return &bundleError{bundle: "rules.cedar", log: "/s/fairlead.log"}
	})
	if !f.stopped || launcher.ExitCode(err) == 0 {
		t.Fatalf("stopped %v: %v", f.stopped, err)
	}
	for _, part := range []string{"rules.cedar", "see /s/fairlead.log"} {
		if !strings.Contains(err.Error(), part) || strings.Contains(err.Error(), "\n") {
			t.Errorf("no %q in one sentence: %q", part, err)
		}
	}
}

func TestUpGoesOnWhenTheRulesAreInForce(t *testing.T) {
	f := &fakeRun{ready: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	err := serve(ctx, f, func(ctx context.Context) error {
		defer cancel()
		return ctx.Err()
	})
	if err != nil || !f.stopped {
		t.Errorf("stopped %v: %v", f.stopped, err)
	}
}

// TestUpSaysThatARuntimeDirDoesNotMoveTheLog holds the help to where the launcher puts it.
func TestUpSaysThatARuntimeDirDoesNotMoveTheLog(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", "/s")
	l, err := launcher.New(launcher.Options{
		Version: "t", Platform: launcher.PlatformVirtual, BinDir: "/b", RuntimeDir: "/r",
	})
	if err != nil {
		t.Fatal(err)
	}
	below, found := strings.CutPrefix(l.LogFile(), "/s/")
	code, out, _ := (&fakeHost{}).run("up", "--help")
	out = strings.Join(strings.Fields(out), " ")
	says := "The log is not below --runtime-dir: all that you start share one, " + below + " below XDG_STATE_HOME"
	if code != 0 || !found || !strings.Contains(out, says) {
		t.Errorf("exit code %d; the log is %s; does not say %q:\n%s", code, l.LogFile(), says, out)
	}
}

func TestOnlyTheDigestOfTheBundleIsInForce(t *testing.T) {
	dir := t.TempDir()
	bundle, pipe := filepath.Join(dir, "rules"), filepath.Join(dir, "pipe")
	if err := errors.Join(os.WriteFile(bundle, []byte("rules"), 0o600), syscall.Mkfifo(pipe, 0o600)); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte("rules"))
	s := &hostv1.GetStatusResponse{BundleSha256: hex.EncodeToString(sum[:])}
	for path, want := range map[string]bool{bundle: true, dir: false, pipe: false, filepath.Join(dir, "none"): false} {
		if inForce(path, s) != want {
			t.Errorf("%s: want %v", path, want)
		}
	}
	if inForce(bundle, &hostv1.GetStatusResponse{BundleSha256: "0"}) {
		t.Error("other rules are in force")
	}
}
