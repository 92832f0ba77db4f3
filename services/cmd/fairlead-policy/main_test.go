package main

import (
	"crypto/ed25519"
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace/noop"

	policyv1 "fairlead.dev/gen/fairlead/policy/v1"
	"fairlead.dev/services/shared/peersock"
	"fairlead.dev/services/shared/rpc"
)

// asChild makes the test binary be the program.
const asChild = "FAIRLEAD_POLICY_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(asChild) != "" {
		os.Exit(run(os.Args[1:]))
	}
	os.Exit(m.Run())
}

func child(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), self, args...)
	c.Env = append(os.Environ(), asChild+"=1")
	return c
}

func exitCode(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return 0
}

func TestStartedByHand(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want int
	}{{nil, exitByHand}, {[]string{"--version"}, 0}, {[]string{"--help"}, 0}, {[]string{"--bundle"}, exitByHand}} {
		out, err := child(t, tt.args...).CombinedOutput()
		if exitCode(err) != tt.want || len(out) == 0 {
			t.Errorf("%v: exit %d, %q", tt.args, exitCode(err), out)
		}
	}
}

// started is a policy process as the launcher starts it.
type started struct {
	*exec.Cmd
	charter *os.File
	host    *os.File
}

func start(t *testing.T, charter peersock.Charter, key []byte) started {
	t.Helper()
	charterR, charterW := pipe(t)
	keyR, keyW := pipe(t)
	_, launcher := pair(t)
	near, host := pair(t)
	c := child(t)
	c.ExtraFiles = []*os.File{charterR, launcher, host, keyR}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	for _, f := range c.ExtraFiles {
		_ = f.Close()
	}
	if err := charter.Write(charterW); err != nil {
		t.Fatal(err)
	}
	if _, err := keyW.Write(key); err != nil {
		t.Fatal(err)
	}
	if err := keyW.Close(); err != nil {
		t.Fatal(err)
	}
	return started{Cmd: c, charter: charterW, host: near}
}

func pipe(t *testing.T) (*os.File, *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	return r, w
}

func pair(t *testing.T) (*os.File, *os.File) {
	t.Helper()
	near, far, err := peersock.Pair()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = near.Close(), far.Close() })
	return near, far
}

func key() []byte { return ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)) }

func TestStartedByTheLauncherServesUntilTheLauncherIsGone(t *testing.T) {
	s := start(t, peersock.Charter{Role: role, StateDir: t.TempDir()}, key())
	conn, err := peersock.Conn(s.host)
	if err != nil {
		t.Fatal(err)
	}
	client, err := rpc.Dial(conn, noop.NewTracerProvider())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	stream, err := policyv1.NewDecisionServiceClient(client).
		WatchLeaseChanges(t.Context(), &policyv1.WatchLeaseChangesRequest{})
	if err != nil {
		t.Fatal(err)
	}
	first, err := stream.Recv()
	if err != nil || first.GetHandshake().GetVersion() != version || first.GetFence().GetPolicy() == 0 {
		t.Fatalf("handshake %v, %v", first, err)
	}
	if err := s.charter.Close(); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if err := s.Wait(); err != nil {
		t.Errorf("ended with %v", err)
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("ending took %v", took)
	}
}

func TestWhatTheLauncherDidNotAgreeToIsAProtocolError(t *testing.T) {
	wrong := key()
	wrong[40]++
	for name, tt := range map[string]struct {
		role string
		key  []byte
	}{"another role": {"host", key()}, "half a key": {role, key()[:32]}, "unequal halves": {role, wrong}} {
		s := start(t, peersock.Charter{Role: tt.role}, tt.key)
		if err := s.Wait(); exitCode(err) != exitProtocol {
			t.Errorf("%s: exit %d, want %d", name, exitCode(err), exitProtocol)
		}
	}
}
