package policy

import (
	"bytes"
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace/noop"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	policyv1 "fairlead.dev/gen/fairlead/policy/v1"
	"fairlead.dev/services/policy/internal/rules"
	"fairlead.dev/services/shared/peersock"
	"fairlead.dev/services/shared/refusal"
	"fairlead.dev/services/shared/rpc"
)

// link makes a link and returns policy's end and a client on the other.
func testLink(t *testing.T) (net.Conn, *grpc.ClientConn) {
	t.Helper()
	near, far, err := peersock.Pair()
	if err != nil {
		t.Fatal(err)
	}
	server, err := peersock.Conn(near)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := peersock.Conn(far)
	if err != nil {
		t.Fatal(err)
	}
	client, err := rpc.Dial(conn, noop.NewTracerProvider())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return server, client
}

type served struct {
	host, launcher policyv1.DecisionServiceClient
	debug          policyv1.DebugServiceClient
	end            func() error
}

func serve(t *testing.T, b *bench) served {
	t.Helper()
	hostEnd, host := testLink(t)
	launcherEnd, launcher := testLink(t)
	dir, err := os.MkdirTemp("/tmp", "flp")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	listener, err := peersock.Listen(filepath.Join(dir, "debug"), "policy.sock")
	if err != nil {
		t.Fatal(err)
	}
	debug, err := rpc.DialSocket(filepath.Join(dir, "debug", "policy.sock"), noop.NewTracerProvider())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = debug.Close() })
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- b.Serve(ctx, Links{
			Host: hostEnd, Launcher: launcherEnd, Debug: listener, Traces: noop.NewTracerProvider(),
		})
	}()
	end := sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	t.Cleanup(func() { _ = end() })
	return served{
		host:     policyv1.NewDecisionServiceClient(host),
		launcher: policyv1.NewDecisionServiceClient(launcher),
		debug:    policyv1.NewDebugServiceClient(debug),
		end:      end,
	}
}

func TestServeOverItsLinks(t *testing.T) {
	b := newBench(t, permitAll)
	s := serve(t, b)
	ctx := t.Context()
	stream, err := s.host.WatchLeaseChanges(ctx, &policyv1.WatchLeaseChangesRequest{Fence: &commonv1.Fence{Host: 5}})
	if err != nil {
		t.Fatal(err)
	}
	first, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	sum := b.rules.Digest()
	hello := first.GetHandshake()
	if hello.GetVersion() != "test" || !bytes.Equal(hello.GetBundleSha256(), sum[:]) {
		t.Errorf("handshake %v", hello)
	}
	fence := first.GetFence()
	if fence.GetHost() != 5 || fence.GetPolicy() != 42 {
		t.Errorf("fence %v", fence)
	}
	if again, err := s.host.WatchLeaseChanges(ctx,
		&policyv1.WatchLeaseChangesRequest{Fence: &commonv1.Fence{Host: 6}}); err == nil {
		if _, err := again.Recv(); err == nil {
			t.Error("another host generation attached")
		}
	}
	begin := &policyv1.BeginSessionRequest{Fence: fence, SessionId: "s", Uid: 1000, Vision: true}
	if r, err := s.host.BeginSession(ctx, begin); err != nil || r.GetRefusal() != 0 {
		t.Fatalf("BeginSession = %v, %v", r, err)
	}
	lease, err := s.host.Acquire(ctx,
		&policyv1.AcquireRequest{Fence: fence, SessionId: "s", Class: semantic, Target: app(calc)})
	if err != nil || lease.GetRefusal() != 0 {
		t.Fatalf("Acquire = %v, %v", lease, err)
	}
	given, err := stream.Recv()
	if err != nil || given.GetLeaseGranted().GetSessionId() != "s" ||
		!proto.Equal(given.GetLeaseGranted().GetLease(), lease.GetLease()) {
		t.Errorf("event %v, %v; want the grant", given, err)
	}
	if f := given.GetFence(); f.GetHost() != 5 || f.GetPolicy() != 42 {
		t.Errorf("the grant was sent under %v", f)
	}
	seen, err := s.host.Foresee(ctx, sequence(click().GetFacts(), func(r *policyv1.ForeseeRequest) { r.Fence = fence }))
	if err != nil || seen.GetRefusal() != 0 {
		t.Fatalf("Foresee = %v, %v", seen, err)
	}
	if _, err := s.host.Foresee(ctx, &policyv1.ForeseeRequest{Fence: fence, SessionId: "s", ActId: "q"}); err == nil {
		t.Error("a sequence of no steps was taken")
	}
	dec, err := s.host.Decide(ctx, click(func(r *policyv1.DecideRequest) { r.Fence = fence }))
	if err != nil || dec.GetRefusal() != 0 {
		t.Fatalf("Decide = %v, %v", dec.GetRefusal(), err)
	}
	b.claims(t, dec.GetPermit())
	// The goroutine that notices expiry is woken by the next lease; time has passed by then.
	b.pass(5 * time.Minute)
	if _, err := s.host.Acquire(ctx,
		&policyv1.AcquireRequest{Fence: fence, SessionId: "s", Class: metadata, Target: desk()}); err != nil {
		t.Fatal(err)
	}
	event, err := stream.Recv()
	if err != nil || event.GetLeaseEnded().GetLeaseId() != lease.GetLease().GetLeaseId() ||
		event.GetLeaseEnded().GetCause() != policyv1.LeaseEndCause_LEASE_END_CAUSE_EXPIRED {
		t.Errorf("event %v, %v", event, err)
	}
	if event, err = stream.Recv(); err != nil || event.GetLeaseGranted().GetLease().GetClass() != metadata {
		t.Errorf("event %v, %v; want the second grant after the end", event, err)
	}
	if _, err := s.launcher.Decide(ctx, click()); err == nil || !strings.Contains(err.Error(), "PermissionDenied") {
		t.Errorf("the launcher decided: %v", err)
	}
	if _, err := s.host.Decide(ctx, click(func(r *policyv1.DecideRequest) { r.ActDigest = nil })); err == nil {
		t.Error("a request without a digest was taken")
	}
	if err := s.end(); err != nil {
		t.Errorf("Serve = %v", err)
	}
	if _, err := stream.Recv(); err == nil {
		t.Error("the watch outlived policy")
	}
}

func TestExpiryIsNoticedWithoutAnybodyAsking(t *testing.T) {
	b := newBench(t, permitAll)
	b.begin(t, "s")
	l := b.lease(t, pointer, app(calc)).GetLeaseId()
	b.pass(2*time.Minute - time.Millisecond)
	w := b.watch()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		b.watchExpiry(ctx)
		close(done)
	}()
	b.pass(time.Millisecond)
	if e := (<-w.events).ended; e.GetLeaseId() != l || e.GetCause() != policyv1.LeaseEndCause_LEASE_END_CAUSE_EXPIRED {
		t.Errorf("event %v", e)
	}
	cancel()
	<-done
}

func TestDryRunSaysWhatTheRulesSayAndSignsNothing(t *testing.T) {
	b := newBench(t, `@id("c") permit (principal, action, resource == App::"org.gnome.Calculator");`)
	s := serve(t, b)
	tests := []struct {
		name  string
		class commonv1.LeaseClass
		verb  commonv1.Verb
		app   string
		want  refusal.Code
		rule  string
	}{
		{"a lease", semantic, 0, calc, 0, "c"},
		{"an act", 0, clickElement, calc, 0, "c"},
		{"an act of its class", semantic, clickElement, calc, 0, "c"},
		{"another app", 0, clickElement, "a.B", refusal.PolicyForbidden, rules.NoRule},
		{"a sensitive app", metadata, 0, keepass, refusal.SensitiveTarget, rules.FloorSensitive},
		{"an unknown app", metadata, 0, "unknown", refusal.PolicyForbidden, rules.FloorUnknown},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := s.debug.DryRun(t.Context(),
				&policyv1.DryRunRequest{Class: tt.class, Verb: tt.verb, AppId: tt.app})
			if err != nil || r.GetRefusal() != tt.want || r.GetRuleId() != tt.rule || r.GetFence().GetPolicy() != 42 {
				t.Errorf("DryRun = %v, %v", r, err)
			}
		})
	}
	for _, bad := range []*policyv1.DryRunRequest{
		{AppId: calc}, {AppId: calc, Class: keyboard, Verb: clickElement},
	} {
		if _, err := s.debug.DryRun(t.Context(), bad); err == nil {
			t.Errorf("DryRun took %v", bad)
		}
	}
	if n, _ := b.rec.Head(); n != 1 {
		t.Errorf("%d records: a dry run left traces", n)
	}
}

// Content never reaches logs or records. Policy is told four things that are not for
// them: the client's name for itself, digests and the incarnation, and destinations.
func TestNothingThatIsNotForTheRecordReachesLogsOrRecords(t *testing.T) {
	const canary = "CANARY-4d1e"
	b := newBench(t, permitAll)
	s := serve(t, b)
	ctx := t.Context()
	begin := &policyv1.BeginSessionRequest{SessionId: "s", ClientName: canary, Vision: true}
	if _, err := s.host.BeginSession(ctx, begin); err != nil {
		t.Fatal(err)
	}
	secret := func(n int) []byte { return bytes.Repeat([]byte(canary), n)[:n] }
	for _, class := range []commonv1.LeaseClass{semantic, metadata} {
		if _, err := s.host.Acquire(ctx,
			&policyv1.AcquireRequest{SessionId: "s", Class: class, Target: app(calc)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{calc, keepass, "a.B"} {
		req := click(inApp(id), func(r *policyv1.DecideRequest) {
			r.ActDigest, r.Incarnation, r.Facts.ElementDigest = secret(32), secret(16), secret(16)
			r.Facts.Page = &commonv1.PageIdentity{Endpoint: "e", Target: "t", Document: "d"}
			r.Facts.Destination = "https://" + canary + ".example"
		})
		if _, err := s.host.Decide(ctx, req); err != nil {
			t.Fatal(err)
		}
		if _, err := s.host.Foresee(ctx, sequence(req.GetFacts())); err != nil {
			t.Fatal(err)
		}
	}
	for _, scheme := range []string{"https", "file"} {
		if _, err := s.host.Permit(ctx, &policyv1.PermitRequest{
			SessionId: "s", Class: metadata, Target: app(calc), Incarnation: secret(16),
			Destination: scheme + "://" + canary + ".example",
		}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.host.Permit(ctx, &policyv1.PermitRequest{
		SessionId: "s", Class: metadata, Target: app(calc), Incarnation: secret(16),
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.end(); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(strings.ToUpper(b.logged.String()), "CANARY") {
		t.Errorf("the log holds a canary:\n%s", b.logged)
	}
	if !strings.Contains(b.logged.String(), "act refused") {
		t.Error("nothing was logged, so nothing was tested")
	}
	if strings.Contains(strings.ToUpper(dump(b)), "CANARY") {
		t.Error("a record holds a canary")
	}
}

func TestBrokenBundleIsLoggedByFaultAndLineOnly(t *testing.T) {
	b := newBench(t, "\n\npermit (CANARY-4d1e);")
	if !b.rules.Builtin() {
		t.Error("a broken bundle is in force")
	}
	if log := b.logged.String(); strings.Contains(log, "CANARY") || !strings.Contains(log, `"count":3`) ||
		!strings.Contains(log, "count is its line") || !strings.Contains(log, string(rules.FaultSyntax)) {
		t.Errorf("logged %s", log)
	}
}

func TestConcurrentCalls(t *testing.T) {
	b := newBench(t, permitAll)
	b.begin(t, "s")
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 25 {
				b.acquire(t, semantic, app(calc))
				b.decide(t, click())
				b.foresee(t, sequence(click().GetFacts()))
				b.read(t, metadata, app(calc))
				b.pass(time.Second)
				b.expire()
			}
		})
	}
	all.Go(func() {
		for range 25 {
			b.revoke("s", "")
			b.fact(t, stopped)
			b.fact(t, resumed)
		}
	})
	all.Wait()
	verifyRecord(t, b)
}

func TestServeEndsWithinTheGraceThoughNobodyEverCalled(t *testing.T) {
	s := serve(t, newBench(t, ""))
	start := time.Now()
	if err := s.end(); err != nil {
		t.Errorf("Serve = %v", err)
	}
	// The launcher kills after 3 s; a busy machine may take a moment longer.
	if took := time.Since(start); took > drainMax+3*time.Second {
		t.Errorf("ending took %v", took)
	}
}

func TestServeNeedsItsLinks(t *testing.T) {
	if err := newBench(t, "").Serve(t.Context(), Links{}); err == nil {
		t.Error("Serve without a link")
	}
}
