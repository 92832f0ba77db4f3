//go:build linux && desk

package privatedesk

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// commandLine makes the test executable run as "desktop" with arguments.
func commandLine(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	need(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, args...)
	cmd.Env = append(os.Environ(), asCommand+"=1")
	t.Cleanup(func() {
		if cmd.Process != nil && cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	return cmd
}

// outside is a desktop that runs in a process of its own.
type outside struct {
	cmd  *exec.Cmd
	life *os.File // the desktop ends when it is closed
	env  map[string]string
}

func (o outside) dir() string { return strings.TrimSuffix(o.env["HOME"], "/home") }

func startOutside(t *testing.T, args ...string) outside {
	t.Helper()
	envR, envW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer envR.Close()
	lifeR, lifeW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lifeW.Close() })
	o := outside{cmd: commandLine(t, append([]string{"--env-fd", "3", "--life-fd", "4"}, args...)...), life: lifeW}
	o.cmd.ExtraFiles = []*os.File{envW, lifeR}
	if err := o.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = envW.Close(), lifeR.Close()
	o.env = make(map[string]string)
	if err := envR.SetReadDeadline(time.Now().Add(readyMax)); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(envR)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("reading the environment: %v", err)
		}
		if line == "\n" {
			break
		}
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		o.env[key] = value
	}
	// Nothing that was started may hold the descriptor.
	if rest, err := io.ReadAll(lines); err != nil || len(rest) > 0 {
		t.Fatalf("after the environment: %q, %v", rest, err)
	}
	return o
}

func waitExit(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(done)
	}()
	select {
	case <-done:
		return cmd.ProcessState.ExitCode()
	case <-time.After(readyMax):
		t.Fatal("does not end")
		return 0
	}
}

func TestKilledOwnerLeavesNothingBehind(t *testing.T) {
	need(t, "openbox", "mousepad")
	// A program that stays, one that it leaves behind in a session of its own, and one that ignores being asked.
	const script = `setsid sleep 1010 & sh -c 'trap "" TERM; while :; do sleep 1011; done' & exec mousepad`
	o := startOutside(t, "--wm", "openbox", "--", "sh", "-c", script)
	eventually(t, readyMax, "the programs run", func() bool {
		all := strings.Join(mentioning(t, o.dir()), "\n")
		return strings.Contains(all, "sleep 1010") && strings.Contains(all, "sleep 1011") &&
			strings.Contains(all, "mousepad") && strings.Contains(all, "registryd")
	})
	t.Logf("%d processes", len(mentioning(t, o.dir())))
	begin := time.Now()
	if err := o.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	waitExit(t, o.cmd)
	eventually(t, 3*time.Second, "everything is gone", func() bool {
		_, err := os.Stat(o.dir())
		return os.IsNotExist(err) && len(mentioning(t, o.dir())) == 0
	})
	t.Logf("all gone in %v", time.Since(begin).Round(time.Millisecond))
	checkGone(t, o.dir(), o.env["DISPLAY"])
}

func TestDesktopEndsWithItsLifeDescriptor(t *testing.T) {
	o := startOutside(t)
	if err := o.life.Close(); err != nil {
		t.Fatal(err)
	}
	if code := waitExit(t, o.cmd); code != exitOK {
		t.Errorf("exit code %d, want 0", code)
	}
	checkGone(t, o.dir(), o.env["DISPLAY"])
}

func TestSignalsEndTheDesktop(t *testing.T) {
	tests := []struct {
		name   string
		signal unix.Signal
		app    []string
		code   int
	}{
		{name: "interrupt", signal: unix.SIGINT, code: exitOK},
		{name: "terminate", signal: unix.SIGTERM, code: exitOK},
		{name: "with a program", signal: unix.SIGTERM, app: []string{"--", "sleep", "1000"}, code: 143},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := startOutside(t, tt.app...)
			if err := o.cmd.Process.Signal(tt.signal); err != nil {
				t.Fatal(err)
			}
			if code := waitExit(t, o.cmd); code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			checkGone(t, o.dir(), o.env["DISPLAY"])
		})
	}
}

func TestCommandGivesTheProgramsExitCode(t *testing.T) {
	tests := []struct {
		name   string
		args   []string
		code   int
		stdout string
		stderr string
	}{
		{name: "code", args: []string{"--", "sh", "-c", "cat; echo $LANG; exit 7"}, code: 7, stdout: "input\nC.UTF-8\n"},
		{name: "signal", args: []string{"sh", "-c", "kill -9 $$"}, code: 137},
		{name: "unknown", args: []string{"unheard-of"}, code: exitNotFound, stderr: "unheard-of"},
		{name: "no manager", args: []string{"--wm", "unheard-of", "true"}, code: exitMissing, stderr: "unheard-of"},
		{name: "closed descriptor", args: []string{"--env-fd", "99"}, code: exitUsage, stderr: "not an open descriptor"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			cmd := commandLine(t, tt.args...)
			cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("input\n"), &stdout, &stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if code := waitExit(t, cmd); code != tt.code {
				t.Errorf("exit code %d, want %d (%s)", code, tt.code, stderr.String())
			}
			if stdout.String() != tt.stdout || !strings.Contains(stderr.String(), tt.stderr) {
				t.Errorf("stdout %q, stderr %q", stdout.String(), stderr.String())
			}
		})
	}
}

func TestCommandFailsWhenItsServerDies(t *testing.T) {
	o := startOutside(t, "--", "sleep", "1000")
	pid := 0
	for _, p := range mentioning(t, o.dir()) {
		if number, command, _ := strings.Cut(p, " "); strings.HasPrefix(command, "Xvfb ") {
			pid, _ = strconv.Atoi(number)
		}
	}
	if pid == 0 {
		t.Fatal("no X server")
	}
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if code := waitExit(t, o.cmd); code != exitFailure {
		t.Errorf("exit code %d, want %d", code, exitFailure)
	}
	checkGone(t, o.dir(), o.env["DISPLAY"])
}
