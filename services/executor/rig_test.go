package executor

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace/noop"
	"go.uber.org/goleak"
	"google.golang.org/grpc"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/peersock"
	"fairlead.dev/services/shared/permit"
	"fairlead.dev/services/shared/refusal"
	"fairlead.dev/services/shared/rpc"
	"fairlead.dev/services/shared/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a served executor with the host's, the launcher's and policy's ends.
type rig struct {
	t        testing.TB
	e        *Executor
	desk     Platform
	key      ed25519.PrivateKey
	now      atomic.Int64
	host     executorv1.ExecutorServiceClient
	halt     executorv1.HaltServiceClient
	hostConn *grpc.ClientConn
	events   executorv1.ExecutorService_AttachClient
	detach   context.CancelFunc
	fence    *commonv1.Fence
	actKey   ident.ActKey
	inc      []byte
	hello    *executorv1.Handshake
	done     chan error
	served   bool
}

const testSession = "s-1"

// newRig serves an executor; nothing is attached yet.
func newRig(t testing.TB, desk Platform) *rig {
	t.Helper()
	pub, priv, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, desk: desk, key: priv, actKey: ident.NewActKey(), done: make(chan error, 1)}
	r.fence = &commonv1.Fence{Host: 5, Executor: 9}
	r.now.Store(int64(time.Hour))
	r.e, err = New(Config{
		Platform: desk, PolicyKey: pub, Log: telemetry.Discard(), Traces: noop.NewTracerProvider(), Version: "test",
		Clock: func() time.Duration { return time.Duration(r.now.Load()) },
	})
	if err != nil {
		t.Fatal(err)
	}
	hostNear, hostFar := r.pair()
	haltNear, haltFar := r.pair()
	r.hostConn = hostNear
	r.host, r.halt = executorv1.NewExecutorServiceClient(hostNear), executorv1.NewHaltServiceClient(haltNear)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { r.done <- r.e.Serve(ctx, hostFar, haltFar, nil) }()
	t.Cleanup(func() {
		cancel()
		if !r.served {
			r.wait()
		}
		if r.detach != nil {
			r.detach()
		}
		_ = hostNear.Close()
		_ = haltNear.Close()
	})
	return r
}

func (r *rig) wait() {
	r.t.Helper()
	r.served = true
	select {
	case err := <-r.done:
		if err != nil {
			r.t.Errorf("Serve: %v", err)
		}
	case <-time.After(10 * time.Second):
		r.t.Fatal("Serve did not return")
	}
}

func (r *rig) pair() (*grpc.ClientConn, net.Conn) {
	r.t.Helper()
	near, far, err := peersock.Pair()
	if err != nil {
		r.t.Fatal(err)
	}
	n, err := peersock.Conn(near)
	if err != nil {
		r.t.Fatal(err)
	}
	f, err := peersock.Conn(far)
	if err != nil {
		r.t.Fatal(err)
	}
	cc, err := rpc.Dial(n, noop.NewTracerProvider())
	if err != nil {
		r.t.Fatal(err)
	}
	return cc, f
}

// quiet is a rig that serves nobody: its session is there, and calls are made directly.
func quiet(t testing.TB, desk Platform) *rig {
	t.Helper()
	pub, priv, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, desk: desk, key: priv, actKey: ident.NewActKey(), fence: &commonv1.Fence{Executor: 9}}
	r.now.Store(int64(time.Hour))
	r.e, err = New(Config{
		Platform: desk, PolicyKey: pub, Log: telemetry.Discard(), Traces: noop.NewTracerProvider(), Version: "test",
		Clock: func() time.Duration { return time.Duration(r.now.Load()) },
	})
	if err != nil {
		t.Fatal(err)
	}
	r.inc = r.e.incarnation[:]
	if a, err := r.e.begin(testSession, r.actKey); a != 0 || err != nil {
		t.Fatal(a, err)
	}
	return r
}

// ready is a rig whose host is attached and has begun a session.
func ready(t testing.TB, desk Platform) *rig {
	t.Helper()
	r := newRig(t, desk)
	r.attach()
	r.begin(testSession)
	return r
}

func (r *rig) ctx() context.Context {
	if t, ok := r.t.(interface{ Context() context.Context }); ok {
		return t.Context()
	}
	return context.Background()
}

func (r *rig) attach() {
	r.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r.detach = cancel
	var err error
	if r.events, err = r.host.Attach(ctx, &executorv1.AttachRequest{Fence: r.fence}); err != nil {
		r.t.Fatal(err)
	}
	first, err := r.events.Recv()
	if err != nil {
		r.t.Fatal(err)
	}
	r.hello = first.GetHandshake()
	r.inc = r.hello.GetIncarnation()
}

func (r *rig) begin(id string) {
	r.t.Helper()
	resp, err := r.host.BeginSession(r.ctx(), &executorv1.BeginSessionRequest{
		Fence: r.fence, SessionId: id, ActKey: r.actKey[:],
	})
	if err != nil || resp.GetCode() != 0 {
		r.t.Fatalf("BeginSession: %v %v", err, resp.GetCode())
	}
}

func randomID() []byte {
	b := make([]byte, 16)
	_, _ = rand.Read(b)
	return b
}

// read is policy's read permit.
func (r *rig) read(edit func(*commonv1.PermitClaims)) *commonv1.Permit {
	c := &commonv1.PermitClaims{
		PermitId: randomID(), Kind: commonv1.PermitKind_PERMIT_KIND_READ, SessionId: testSession, Incarnation: r.inc,
		Class:         commonv1.LeaseClass_LEASE_CLASS_METADATA_READ,
		ExpiresBootMs: r.millis(15 * time.Second), PolicyGeneration: 3,
	}
	edit(c)
	return permit.Sign(r.key, c)
}

func (r *rig) millis(from time.Duration) uint64 {
	return uint64((time.Duration(r.now.Load()) + from).Milliseconds())
}

func forApp(app string) func(*commonv1.PermitClaims) {
	return func(c *commonv1.PermitClaims) { c.AppId = app }
}

func forPictures(app string) func(*commonv1.PermitClaims) {
	return func(c *commonv1.PermitClaims) {
		c.AppId, c.Class = app, commonv1.LeaseClass_LEASE_CLASS_SCREENSHOT_READ
	}
}

// snapshot looks at a window under a permit for its app.
func (r *rig) snapshot(w ident.Window) *executorv1.Snapshot {
	r.t.Helper()
	resp := r.trySnapshot(w, r.read(forApp(w.App)), nil)
	if resp.GetCode() != 0 {
		r.t.Fatalf("Snapshot: %v", resp.GetCode())
	}
	return resp.GetSnapshot()
}

func (r *rig) trySnapshot(
	w ident.Window, p *commonv1.Permit, pic *executorv1.PictureRequest,
) *executorv1.SnapshotResponse {
	r.t.Helper()
	resp, err := r.host.Snapshot(r.ctx(), &executorv1.SnapshotRequest{
		Fence: r.fence, SessionId: testSession, Permit: p, Window: fromWindow(w), Picture: pic,
	})
	if err != nil {
		r.t.Fatalf("Snapshot: %v", err)
	}
	return resp
}

// order is one dispatch that host and policy agree on, before a test bends it.
type order struct {
	req    *executorv1.DispatchRequest
	claims *commonv1.PermitClaims
	bound  *commonv1.BoundAct
	// sign replaces the signature step.
	sign func(*commonv1.PermitClaims) *commonv1.Permit
}

// order makes a valid dispatch of an act on element i of a snapshot.
func (r *rig) order(snap *executorv1.Snapshot, i int, act *commonv1.Act) *order {
	o := r.unbound(snap, act)
	o.req.Token = snap.GetTokens()[16*i : 16*i+16]
	o.bound.ElementDigest = snap.GetDigests()[16*i : 16*i+16]
	return r.seal(o)
}

// unbound makes a valid dispatch of an act on no element of a snapshot.
func (r *rig) unbound(snap *executorv1.Snapshot, act *commonv1.Act) *order {
	verb := permit.VerbOf(act)
	return r.seal(&order{
		bound: &commonv1.BoundAct{
			Verb: verb, Arguments: permit.Arguments(act), Window: snap.GetWindow(), Page: snap.GetPage(),
		},
		req: &executorv1.DispatchRequest{
			Fence: r.fence, SessionId: testSession, DispatchId: ident.New("d"), SnapshotId: snap.GetSnapshotId(), Act: act,
		},
		claims: &commonv1.PermitClaims{
			PermitId: randomID(), Kind: commonv1.PermitKind_PERMIT_KIND_ACT, SessionId: testSession, Incarnation: r.inc,
			Class: permit.RuleOf(verb).GetClass(), ExpiresBootMs: r.millis(5 * time.Second), PolicyGeneration: 3,
			Verb: verb, AppId: snap.GetWindow().GetAppId(), Window: snap.GetWindow(), Page: snap.GetPage(),
			Routes:     []commonv1.Route{commonv1.Route_ROUTE_ACCESSIBILITY_ACTION},
			SnapshotId: snap.GetSnapshotId(),
		},
		sign: func(c *commonv1.PermitClaims) *commonv1.Permit { return permit.Sign(r.key, c) },
	})
}

// seal makes the permit one for the act as it is bound now.
func (r *rig) seal(o *order) *order {
	digest := permit.ActDigest(r.actKey, o.bound)
	o.claims.ActDigest = digest[:]
	return o
}

// by lets the permit list other routes.
func (o *order) by(routes ...commonv1.Route) *order {
	o.claims.Routes = routes
	return o
}

const (
	seat     = commonv1.Route_ROUTE_AGENT_SEAT
	textual  = commonv1.Route_ROUTE_ACCESSIBILITY_TEXT
	semantic = commonv1.Route_ROUTE_ACCESSIBILITY_ACTION
	managing = commonv1.Route_ROUTE_WINDOW_MANAGEMENT
	dom      = commonv1.Route_ROUTE_PAGE_DOM
)

// onPoints makes a valid dispatch of an act on points of the toplevel.
func (r *rig) onPoints(snap *executorv1.Snapshot, act *commonv1.Act, at ...Point) *order {
	o := r.unbound(snap, act).by(seat)
	for _, p := range at {
		sp := &commonv1.SurfacePoint{
			SurfaceId: snap.GetSurfaces()[0].GetSurfaceId(), Point: &commonv1.Point{X: p.X, Y: p.Y},
		}
		o.req.Points = append(o.req.Points, sp)
	}
	o.bound.Points = o.req.GetPoints()
	return r.seal(o)
}

// onOwned makes a valid dispatch of an act on the owned keyboard target.
func (r *rig) onOwned(snap *executorv1.Snapshot, i int, act *commonv1.Act) *order {
	o := r.order(snap, i, act).by(seat)
	o.req.Owned, o.bound.Owned = true, true
	return r.seal(o)
}

// onWindow makes a valid dispatch of an act on the window itself.
func (r *rig) onWindow(snap *executorv1.Snapshot, act *commonv1.Act) *order {
	return r.unbound(snap, act).by(managing)
}

func (r *rig) send(o *order) *executorv1.DispatchResponse {
	r.t.Helper()
	if o.req.Permit == nil {
		o.req.Permit = o.sign(o.claims)
	}
	resp, err := r.host.Dispatch(r.ctx(), o.req)
	if err != nil {
		r.t.Fatalf("Dispatch: %v", err)
	}
	return resp
}

func (r *rig) act(snap *executorv1.Snapshot, i int, act *commonv1.Act) *executorv1.DispatchResponse {
	r.t.Helper()
	return r.send(r.order(snap, i, act))
}

func click() *commonv1.Act {
	return &commonv1.Act{Act: &commonv1.Act_ClickElement{ClickElement: &commonv1.ClickElement{ElementId: 1}}}
}

func setValue(v string) *commonv1.Act {
	return &commonv1.Act{Act: &commonv1.Act_SetValue{SetValue: &commonv1.SetValue{ElementId: 1, Value: v}}}
}

func typeText(s string, mode commonv1.TextMode) *commonv1.Act {
	return &commonv1.Act{Act: &commonv1.Act_TypeText{TypeText: &commonv1.TypeText{ElementId: 1, Text: s, Mode: mode}}}
}

func setChecked(on bool) *commonv1.Act {
	return &commonv1.Act{Act: &commonv1.Act_SetChecked{SetChecked: &commonv1.SetChecked{ElementId: 1, Checked: on}}}
}

func refusedAs(t testing.TB, resp *executorv1.DispatchResponse, want refusal.Answer) {
	t.Helper()
	if resp.GetCode() != want || resp.GetOutcome() != commonv1.Outcome_OUTCOME_REFUSED ||
		resp.GetRoute() != commonv1.Route_ROUTE_NONE || resp.GetEffect() != 0 {
		t.Fatalf("got %v %v %v %v, want a refusal %v", resp.GetCode(), resp.GetOutcome(), resp.GetRoute(),
			resp.GetEffect(), want)
	}
}

func confirmed(t testing.TB, resp *executorv1.DispatchResponse, by commonv1.VerificationMethod) {
	t.Helper()
	if resp.GetOutcome() != commonv1.Outcome_OUTCOME_OK || resp.GetEffect() != commonv1.Effect_EFFECT_CONFIRMED ||
		resp.GetVerification().GetMethod() != by {
		t.Fatalf("got %v %v %v by %v, want confirmed by %v", resp.GetCode(), resp.GetOutcome(), resp.GetEffect(),
			resp.GetVerification().GetMethod(), by)
	}
}
