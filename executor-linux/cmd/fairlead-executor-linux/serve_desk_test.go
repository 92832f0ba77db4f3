//go:build desk

package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"fairlead.dev/services/executor/process"

	"go.opentelemetry.io/otel/trace/noop"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	executorv1 "fairlead.dev/gen/fairlead/executor/v1"

	"fairlead.dev/executor-linux/privatedesk"
	"fairlead.dev/services/shared/peersock"
	"fairlead.dev/services/shared/rpc"
)

// child is the executor as the launcher would start it.
type child struct {
	cmd            *exec.Cmd
	charter        *os.File
	host, launcher *os.File
	log            bytes.Buffer
}

func startChild(t *testing.T, env []string, as string) *child {
	t.Helper()
	c := &child{}
	charterR, charterW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	keyR, keyW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	hostNear, hostFar, err := peersock.Pair()
	if err != nil {
		t.Fatal(err)
	}
	launcherNear, launcherFar, err := peersock.Pair()
	if err != nil {
		t.Fatal(err)
	}
	c.charter, c.host, c.launcher = charterW, hostNear, launcherNear
	c.cmd = exec.Command(os.Args[0])
	c.cmd.Env = append(env, asProgram+"=1")
	c.cmd.Stderr = &c.log
	c.cmd.ExtraFiles = []*os.File{charterR, launcherFar, hostFar, keyR}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for _, f := range c.cmd.ExtraFiles {
		f.Close()
	}
	if err := (peersock.Charter{Role: as, Version: "dev"}).Write(charterW); err != nil {
		t.Fatal(err)
	}
	public, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = keyW.Write(public)
	keyW.Close()
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		charterW.Close()
	})
	return c
}

// end waits for the exit code.
func (c *child) end(t *testing.T) int {
	t.Helper()
	ended := make(chan struct{})
	go func() {
		_ = c.cmd.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return c.cmd.ProcessState.ExitCode()
	case <-time.After(20 * time.Second):
		t.Fatalf("it does not end: %s", c.log.String())
		return 0
	}
}

func TestServesUntilTheLauncherEnds(t *testing.T) {
	home, err := privatedesk.Start(t.Context(), privatedesk.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer home.Close()
	c := startChild(t, home.Env(), "executor")
	conn, err := peersock.Conn(c.host)
	if err != nil {
		t.Fatal(err)
	}
	client, err := rpc.Dial(conn, noop.NewTracerProvider())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	events, err := executorv1.NewExecutorServiceClient(client).Attach(ctx, &executorv1.AttachRequest{
		Fence: &commonv1.Fence{Host: 1, Executor: 1, Policy: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	first, err := events.Recv()
	if err != nil {
		t.Fatalf("%v: %s", err, c.log.String())
	}
	able := map[commonv1.AbilityKind]bool{}
	for _, a := range first.GetHandshake().GetAbilities() {
		able[a.GetKind()] = a.GetAble()
	}
	if !able[commonv1.AbilityKind_ABILITY_KIND_WINDOWS] || !able[commonv1.AbilityKind_ABILITY_KIND_SEMANTIC] ||
		able[commonv1.AbilityKind_ABILITY_KIND_POINTER] {
		t.Errorf("abilities %v", able)
	}
	c.charter.Close()
	if code := c.end(t); code != 0 {
		t.Errorf("exit code %d: %s", code, c.log.String())
	}
}

func TestServerThatEndsEndsTheExecutor(t *testing.T) {
	home, err := privatedesk.Start(t.Context(), privatedesk.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer home.Close()
	// Without the mark by which the desktop ends what runs on it: it has to end by itself.
	var env []string
	for _, kv := range home.Env() {
		if strings.HasPrefix(kv, "DISPLAY=") || strings.HasPrefix(kv, "XAUTHORITY=") || strings.HasPrefix(kv, "PATH=") {
			env = append(env, kv)
		}
	}
	c := startChild(t, env, "executor")
	time.Sleep(time.Second)
	if err := home.Close(); err != nil {
		t.Log(err)
	}
	if code := c.end(t); code != process.ExitFailure && code != -1 {
		t.Errorf("exit code %d: %s", code, c.log.String())
	}
}

func TestAnotherRoleIsAProtocolError(t *testing.T) {
	c := startChild(t, nil, "policy")
	if code := c.end(t); code != process.ExitProtocol {
		t.Errorf("exit code %d", code)
	}
}

func TestNoDesktopIsSaid(t *testing.T) {
	c := startChild(t, []string{"DISPLAY=:9876"}, "executor")
	if code := c.end(t); code != process.ExitFailure || !strings.Contains(c.log.String(), "the desktop is not there") {
		t.Errorf("exit code %d: %s", code, c.log.String())
	}
}
