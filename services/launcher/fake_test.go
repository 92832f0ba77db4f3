package launcher

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	policyv1 "fairlead.dev/gen/fairlead/policy/v1"
	"fairlead.dev/services/launcher/internal/attest"
	"fairlead.dev/services/shared/peersock"
)

// TestMain is also the three children: the launcher runs this test binary under their
// names. What a child should do wrong stands in a file, for its environment is not ours.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == ExecutorName(PlatformX11) {
		os.Exit(fakeDesktop())
	}
	if attest.Role(filepath.Base(os.Args[0])) != "" {
		os.Exit(fakeChild())
	}
	goleak.VerifyTestMain(m)
}

// The ways of a fake child, in the file <runtime dir>/<role>.mode.
const (
	modeCrash     = "crash"
	modeMismatch  = "mismatch"
	modeProtocol  = "protocol"
	modeStubborn  = "stubborn"  // does not end when asked
	modeForgetful = "forgetful" // policy that takes no record
)

// sighting is what a child found at its start.
type sighting struct {
	PID  int
	Args []string
	Env  []string
	FDs  []string
	Key  string
	// Program is what the kernel says is running.
	Program string
}

type fake struct {
	executorv1.UnimplementedHaltServiceServer
	policyv1.UnimplementedDecisionServiceServer
	hostv1.UnimplementedStatusServiceServer

	charter peersock.Charter
	mode    string

	mu        sync.Mutex
	processes map[string]*commonv1.ProcessStatus
	held      []*os.File
}

func fakeChild() int {
	fds := openDescriptors()
	in, err := peersock.Inherit()
	if err != nil {
		return 2
	}
	mode, _ := os.ReadFile(filepath.Join(in.RuntimeDir, in.Role+".mode"))
	f := &fake{charter: in.Charter, mode: string(mode), processes: map[string]*commonv1.ProcessStatus{}}
	s := sighting{PID: os.Getpid(), Args: os.Args, Env: os.Environ(), FDs: fds}
	s.Program, _ = os.Readlink("/proc/self/exe")
	switch in.Role {
	case "policy":
		s.Key = key(64)
	case "executor":
		s.Key = key(32)
	}
	b, _ := json.Marshal(s)
	f.note("seen", string(b))
	fmt.Fprintf(os.Stderr, "%s speaks\n", in.Role)
	switch f.mode {
	case modeCrash:
		return 3
	case modeMismatch:
		return ExitAttestation
	case modeProtocol:
		return ExitProtocol
	}
	return f.live(in.Gone)
}

// fakeDesktop hands over an environment and lives until the launcher's end. What it should
// do wrong is the name of its window manager.
func fakeDesktop() int {
	for i, a := range os.Args {
		switch {
		case a == "--check":
			fmt.Println("xvfb")
			return 3
		case a == "--wm" && os.Args[i+1] == "broken":
			return 1
		}
	}
	env, life := os.NewFile(3, "env"), os.NewFile(4, "life")
	fmt.Fprintf(env, "DISPLAY=:9\nHOME=/desk\nARGS=%s\n\n", strings.Join(os.Args[1:], " "))
	_ = env.Close()
	_, _ = io.Copy(io.Discard, life)
	return 0
}

func key(n int) string {
	k, err := peersock.ReadKey(n)
	if err != nil {
		return err.Error()
	}
	return hex.EncodeToString(k)
}

func openDescriptors() []string {
	var out []string
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		to, err := os.Readlink("/proc/self/fd/" + e.Name())
		// The Go runtime has descriptors of its own: a poller, the limits of its control group.
		own := strings.HasPrefix(to, "anon_inode:") || strings.HasPrefix(to, "/proc/") || strings.HasPrefix(to, "/sys/")
		if err == nil && !own {
			out = append(out, e.Name())
		}
	}
	return out
}

// live serves until it is told to end or the launcher is gone.
func (f *fake) live(gone <-chan struct{}) int {
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	if err := f.serve(); err != nil {
		f.note("order", "cannot serve: "+err.Error())
		return 4
	}
	for {
		select {
		case <-gone:
			return 0
		case <-term:
			f.note("order", "term "+f.charter.Role)
			if f.mode != modeStubborn {
				return 0
			}
		}
	}
}

func (f *fake) serve() error {
	// Not rpc.NewServer: compiling the request rules takes longer than the rest of the test.
	s := grpc.NewServer(grpc.Creds(peersock.Credentials{}))
	healthv1.RegisterHealthServer(s, health.NewServer())
	launcher, err := peersock.Conn(peersock.File(peersock.FDLauncher))
	if err != nil {
		return err
	}
	if f.charter.Role == "host" {
		return f.serveHost(s, launcher)
	}
	executorv1.RegisterHaltServiceServer(s, f)
	policyv1.RegisterDecisionServiceServer(s, f)
	go func() { _ = s.Serve(peersock.One(launcher)) }()
	return nil
}

func (f *fake) serveHost(s *grpc.Server, launcher *net.UnixConn) error {
	l, err := peersock.Listen(filepath.Join(f.charter.RuntimeDir, "agent"), "host.sock")
	if err != nil {
		return err
	}
	hostv1.RegisterStatusServiceServer(s, f)
	f.attached(peersock.Link{Role: "host", PID: os.Getpid()}, nil)
	go func() { _ = s.Serve(l) }()
	go func() {
		for {
			msg, files, err := peersock.Receive(launcher)
			var link peersock.Link
			if err != nil || json.Unmarshal(msg, &link) != nil || len(files) != 1 {
				return
			}
			f.note("links", link.Role)
			f.attached(link, files[0])
		}
	}()
	return nil
}

func (f *fake) attached(l peersock.Link, end *os.File) {
	wire := map[string]commonv1.ProcessRole{
		"host": roleHost.wire(), "policy": rolePolicy.wire(), "executor": roleExecutor.wire(),
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held = append(f.held, end)
	f.processes[l.Role] = &commonv1.ProcessStatus{
		Role: wire[l.Role], Pid: int32(l.PID), Health: commonv1.Health_HEALTH_HEALTHY,
	}
}

// note appends a line to a file that the test reads.
func (f *fake) note(kind, line string) {
	path := filepath.Join(f.charter.RuntimeDir, kind)
	if kind == "seen" {
		path = filepath.Join(f.charter.RuntimeDir, f.charter.Role+".seen")
	}
	w, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	_, _ = w.WriteString(line + "\n")
	_ = w.Close()
}

func (f *fake) Halt(context.Context, *executorv1.HaltRequest) (*executorv1.HaltResponse, error) {
	f.note("order", "halt executor")
	return &executorv1.HaltResponse{}, nil
}

func (f *fake) GetHaltState(
	context.Context, *executorv1.GetHaltStateRequest,
) (*executorv1.GetHaltStateResponse, error) {
	return &executorv1.GetHaltStateResponse{}, nil
}

func (f *fake) Append(ctx context.Context, req *policyv1.AppendRequest) (*policyv1.AppendResponse, error) {
	if f.mode == modeForgetful {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	e := req.GetProcess()
	kind := strings.TrimPrefix(e.GetKind().String(), "PROCESS_EVENT_KIND_")
	f.note("events", strings.ToLower(kind+" "+strings.TrimPrefix(e.GetRole().String(), "PROCESS_ROLE_")))
	return &policyv1.AppendResponse{}, nil
}

func (f *fake) GetStatus(context.Context, *hostv1.GetStatusRequest) (*hostv1.GetStatusResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	resp := &hostv1.GetStatusResponse{}
	for _, p := range f.processes {
		resp.Processes = append(resp.Processes, p)
	}
	return resp, nil
}

// bench is a directory of fake programs and a launcher for them.
type bench struct {
	t      *testing.T
	opts   Options
	times  times
	l      *Launcher
	cancel context.CancelFunc
	result chan error
}

func newBench(t *testing.T) *bench {
	t.Helper()
	// Short, for socket paths.
	dir, err := os.MkdirTemp("/tmp", "fl")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	b := &bench{t: t, opts: Options{
		BinDir: programs(t, dir), RuntimeDir: filepath.Join(dir, "run"), StateDir: filepath.Join(dir, "state"),
	}, times: times{
		handshake: 8 * time.Second, grace: 700 * time.Millisecond, probeEvery: 50 * time.Millisecond,
		probeAnswer: 2 * time.Second, record: 5 * time.Second,
	}}
	if err := os.MkdirAll(b.opts.RuntimeDir, 0o700); err != nil {
		t.Fatal(err)
	}
	return b
}

// programs fills a directory with this test binary under the programs' names.
func programs(t *testing.T, dir string) string {
	t.Helper()
	bin := filepath.Join(dir, "bin")
	if err := os.MkdirAll(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"fairlead-policy", "fairlead-host", ExecutorName(PlatformVirtual), ExecutorName(PlatformX11),
	} {
		program := filepath.Join(bin, name)
		if os.Link(own, program) == nil {
			continue
		}
		// The test binary is on another file system.
		image, err := os.ReadFile(own)
		if err == nil {
			err = os.WriteFile(program, image, 0o700)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := WriteManifest(bin, "test"); err != nil {
		t.Fatal(err)
	}
	return bin
}

func (b *bench) mode(role, mode string) {
	b.t.Helper()
	if err := os.WriteFile(filepath.Join(b.opts.RuntimeDir, role+".mode"), []byte(mode), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// start runs the launcher with short deadlines; it is stopped at the end of the test.
func (b *bench) start() {
	b.t.Helper()
	l, err := New(b.opts)
	if err != nil {
		b.t.Fatal(err)
	}
	b.l, l.times = l, b.times
	ctx, cancel := context.WithCancel(b.t.Context())
	b.cancel, b.result = cancel, make(chan error, 1)
	go func() { b.result <- l.Run(ctx) }()
	b.t.Cleanup(func() {
		cancel()
		select {
		case <-b.result:
		case <-time.After(20 * time.Second):
			b.t.Error("the launcher did not end")
		}
	})
}

func (b *bench) ready() {
	b.t.Helper()
	b.start()
	select {
	case <-b.l.Ready():
	case err := <-b.result:
		b.result <- err
		b.t.Fatalf("ended before it was ready: %v\n%s", err, b.lines("order"))
	case <-time.After(20 * time.Second):
		b.t.Fatal("not ready")
	}
	// Our host counts a link as attached before its other end has begun to live.
	b.started(1, 1, 1)
}

// started waits until the three have been started so many times.
func (b *bench) started(policy, executor, host int) {
	b.t.Helper()
	b.eventually("enough starts", func() bool {
		return len(b.seen("policy")) >= policy && len(b.seen("executor")) >= executor && len(b.seen("host")) >= host
	})
}

// end stops the launcher and returns what Run returned.
func (b *bench) end() error {
	b.t.Helper()
	b.cancel()
	return b.wait()
}

func (b *bench) wait() error {
	b.t.Helper()
	select {
	case err := <-b.result:
		b.result <- err
		return err
	case <-time.After(20 * time.Second):
		b.t.Fatal("the launcher did not end")
		return nil
	}
}

// lines reads what the children noted.
func (b *bench) lines(kind string) []string {
	data, _ := os.ReadFile(filepath.Join(b.opts.RuntimeDir, kind))
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}

func (b *bench) seen(role string) []sighting {
	b.t.Helper()
	var out []sighting
	for _, line := range b.lines(role + ".seen") {
		var s sighting
		if line == "" || json.Unmarshal([]byte(line), &s) != nil {
			continue
		}
		out = append(out, s)
	}
	return out
}

// eventually waits for a condition about other processes, which no fake clock reaches.
func (b *bench) eventually(what string, ok func() bool) {
	b.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(15 * time.Second); !ok(); {
		select {
		case <-tick.C:
		case <-deadline:
			b.t.Fatalf("never happened: %s", what)
		}
	}
}
