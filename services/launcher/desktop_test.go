package launcher

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestPrivateDesktopHandsOverItsEnvironmentAndEndsWithUs(t *testing.T) {
	b := newBench(t)
	d, err := StartDesktop(t.Context(), DesktopOptions{BinDir: b.opts.BinDir, WindowManager: "wm", Size: "640x480"})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"DISPLAY=:9", "HOME=/desk", "ARGS=desktop --env-fd 3 --life-fd 4 --wm wm --size 640x480",
	}
	if !slices.Equal(d.Env(), want) {
		t.Errorf("environment %q", d.Env())
	}
	select {
	case <-d.Done():
		t.Error("it has ended already")
	default:
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	<-d.Done()
}

func TestPrivateDesktopThatDoesNotStartSaysSo(t *testing.T) {
	b := newBench(t)
	_, err := StartDesktop(t.Context(), DesktopOptions{BinDir: b.opts.BinDir, WindowManager: "broken"})
	if !errors.Is(err, ErrNoDesktop) {
		t.Errorf("StartDesktop: %v", err)
	}
}

func TestPrivateDesktopIsAttestedToo(t *testing.T) {
	b := newBench(t)
	path := filepath.Join(b.opts.BinDir, ExecutorName(PlatformX11))
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	var untrusted *AttestationError
	if _, err := StartDesktop(t.Context(), DesktopOptions{BinDir: b.opts.BinDir}); !errors.As(err, &untrusted) {
		t.Errorf("StartDesktop: %v", err)
	}
	if _, err := DesktopTool(t.Context(), DesktopOptions{BinDir: b.opts.BinDir}, "--check"); !errors.As(err, &untrusted) {
		t.Errorf("DesktopTool: %v", err)
	}
}

func TestDesktopToolReturnsTheExitCode(t *testing.T) {
	b := newBench(t)
	var said strings.Builder
	code, err := DesktopTool(t.Context(), DesktopOptions{BinDir: b.opts.BinDir, Log: &said}, "--check")
	if err != nil || code != 3 || said.String() != "xvfb\n" {
		t.Errorf("%d %v %q", code, err, said.String())
	}
}
