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
