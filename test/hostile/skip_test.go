package hostile

import (
	"crypto/ed25519"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
	policyv1 "fairlead.dev/gen/fairlead/policy/v1"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/permit"
	"fairlead.dev/services/shared/refusal"
	"fairlead.dev/test/harness"
)

func TestExecutorAnswersNobodyWhoIsNotAttached(t *testing.T) {
	p := harness.Executor(t)
	known := map[protoreflect.FullName]proto.Message{"fairlead.common.v1.Fence": &commonv1.Fence{Host: 1, Executor: 1}}
	cc, tried := p.Dial(p.Host), 0
	for _, m := range methods(t, executorv1.File_fairlead_executor_v1_executor_service_proto, "ExecutorService") {
		if m.desc.Name() == "Attach" {
			continue
		}
		tried++
		if _, code := call(t, cc, m, bases(typeOf(t, m.desc.Input()), known)[0]); code != codes.PermissionDenied {
			t.Errorf("%s: %v", m.path, code)
		}
	}
	if tried < 9 {
		t.Errorf("%d methods were tried", tried)
	}
}

func TestExecutorIsAttachedOnceAndEndsWithItsHost(t *testing.T) {
	p := harness.Executor(t)
	r := attach(t, p)
	stream, err := r.client.Attach(p.Context(), &executorv1.AttachRequest{Fence: r.fence})
	if err == nil {
		_, err = stream.Recv()
	}
	harness.Status(t, err, codes.PermissionDenied)
	p.Lives()
	if err := r.hangUp(); err != nil {
		t.Fatal(err)
	}
	p.Ends(5 * time.Second)
}

// rogue is a host that has the executor's link and never asks policy.
type rogue struct {
	t           *testing.T
	p           *harness.Process
	client      executorv1.ExecutorServiceClient
	fence       *commonv1.Fence
	incarnation []byte
	key         ident.ActKey
	window      *commonv1.WindowIdentity
	snap        *executorv1.Snapshot
	hangUp      func() error
}

const rogueSession = "s-rogue"

func attach(t *testing.T, p *harness.Process) *rogue {
	t.Helper()
	cc := p.Dial(p.Host)
	r := &rogue{
		t: t, p: p, client: executorv1.NewExecutorServiceClient(cc), fence: &commonv1.Fence{Host: 1, Executor: 1},
		key: ident.NewActKey(), hangUp: cc.Close,
	}
	stream, err := r.client.Attach(t.Context(), &executorv1.AttachRequest{Fence: r.fence})
	if err != nil {
		t.Fatal(err)
	}
	hello, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	r.incarnation = hello.GetHandshake().GetIncarnation()
	return r
}

// look begins a session and takes a snapshot of the calculator under a permit that
// policy's key signed.
func (r *rogue) look() {
	r.t.Helper()
	begun, err := r.client.BeginSession(r.p.Context(), &executorv1.BeginSessionRequest{
		Fence: r.fence, SessionId: rogueSession, ActKey: r.key[:],
	})
	if err != nil || begun.GetCode() != 0 {
		r.t.Fatal(begun, err)
	}
	w, err := r.p.Desk.Window("Calculator")
	if err != nil {
		r.t.Fatal(err)
	}
	r.window = &commonv1.WindowIdentity{WindowId: w.ID, Pid: w.PID, ProcessStart: w.Start, AppId: w.App, Birth: w.Birth}
	seen, err := r.client.Snapshot(r.p.Context(), &executorv1.SnapshotRequest{
		Fence: r.fence, SessionId: rogueSession, Window: r.window, Permit: permit.Sign(r.p.Key, r.readClaims()),
	})
	if err != nil || seen.GetCode() != 0 {
		r.t.Fatal(seen.GetCode(), err)
	}
	r.snap = seen.GetSnapshot()
}

func (r *rogue) readClaims() *commonv1.PermitClaims {
	return &commonv1.PermitClaims{
		PermitId: fresh(), Kind: commonv1.PermitKind_PERMIT_KIND_READ, SessionId: rogueSession,
		Incarnation: r.incarnation, Class: commonv1.LeaseClass_LEASE_CLASS_METADATA_READ, AppId: r.window.GetAppId(),
		PolicyGeneration: 1, ExpiresBootMs: soon(),
	}
}

func fresh() []byte { s := ident.NewSecret(); return s[:] }

func soon() uint64 { return uint64((permit.BootClock() + 4*time.Second).Milliseconds()) }

// element returns where a button is in the snapshot.
func (r *rogue) element(name string) int {
	r.t.Helper()
	for i, e := range r.snap.GetElements() {
		if e.GetName() == name {
			return i
		}
	}
	r.t.Fatalf("no %q", name)
	return 0
}

// claims are what policy would sign for a press on a button.
func (r *rogue) claims(name string) *commonv1.PermitClaims {
	i := r.element(name)
	act := harness.Click(0)
	d := permit.ActDigest(r.key, &commonv1.BoundAct{
		Verb: commonv1.Verb_VERB_CLICK_ELEMENT, Arguments: permit.Arguments(act), Window: r.window,
		ElementDigest: r.snap.GetDigests()[16*i : 16*i+16],
	})
	return &commonv1.PermitClaims{
		PermitId: fresh(), Kind: commonv1.PermitKind_PERMIT_KIND_ACT, SessionId: rogueSession,
		Incarnation: r.incarnation, Class: commonv1.LeaseClass_LEASE_CLASS_SEMANTIC_MUTATION,
		Verb: commonv1.Verb_VERB_CLICK_ELEMENT, AppId: r.window.GetAppId(), Window: r.window,
		Routes:     []commonv1.Route{commonv1.Route_ROUTE_ACCESSIBILITY_ACTION},
		SnapshotId: r.snap.GetSnapshotId(), ActDigest: d[:], PolicyGeneration: 1, ExpiresBootMs: soon(),
	}
}

// press orders a press on a button under a permit.
func (r *rogue) press(name string, p *commonv1.Permit) *executorv1.DispatchResponse {
	r.t.Helper()
	i := r.element(name)
	resp, err := r.client.Dispatch(r.p.Context(), &executorv1.DispatchRequest{
		Fence: r.fence, SessionId: rogueSession, DispatchId: ident.New("d"), Permit: p,
		SnapshotId: r.snap.GetSnapshotId(), Token: r.snap.GetTokens()[16*i : 16*i+16], Act: harness.Click(0),
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return resp
}

func TestHostThatSkipsPolicyIsRefusedByName(t *testing.T) {
	p := harness.Executor(t)
	r := attach(t, p)
	r.look()
	_, own, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	signed := func(change func(*commonv1.PermitClaims)) func() *commonv1.Permit {
		return func() *commonv1.Permit {
			c := r.claims("7")
			change(c)
			return permit.Sign(p.Key, c)
		}
	}
	for _, tt := range []struct {
		name string
		want refusal.Answer
		with func() *commonv1.Permit
	}{
		{"no permit", permitMissing, func() *commonv1.Permit { return nil }},
		{"empty permit", permitMissing, func() *commonv1.Permit { return &commonv1.Permit{} }},
		{"signed with a key of its own", permitInvalid, func() *commonv1.Permit {
			return permit.Sign(own, r.claims("7"))
		}},
		{"signature of another permit", permitInvalid, func() *commonv1.Permit {
			a, b := permit.Sign(p.Key, r.claims("7")), permit.Sign(p.Key, r.claims("7"))
			return &commonv1.Permit{Claims: a.GetClaims(), Signature: b.GetSignature()}
		}},
		{"claims changed after signing", permitInvalid, func() *commonv1.Permit {
			a := permit.Sign(p.Key, r.claims("7"))
			a.Claims[len(a.GetClaims())-1] ^= 1
			return a
		}},
		{"for another act", permitMismatch, func() *commonv1.Permit { return permit.Sign(p.Key, r.claims("8")) }},
		{"a read permit", permitMismatch, func() *commonv1.Permit { return permit.Sign(p.Key, r.readClaims()) }},
		{"expired", permitExpired, signed(func(c *commonv1.PermitClaims) { c.ExpiresBootMs = 1 })},
		{"for another session", permitMismatch, signed(func(c *commonv1.PermitClaims) { c.SessionId = "s-2" })},
		{"for another incarnation", permitMismatch, signed(func(c *commonv1.PermitClaims) { c.Incarnation = fresh() })},
		{"for another window", permitMismatch, signed(func(c *commonv1.PermitClaims) {
			c.Window = proto.CloneOf(c.GetWindow())
			c.Window.Birth++
		})},
		{"for another app", permitMismatch, signed(func(c *commonv1.PermitClaims) { c.AppId = "org.example" })},
		{"for another verb", permitMismatch, signed(func(c *commonv1.PermitClaims) {
			c.Verb = commonv1.Verb_VERB_SET_CHECKED
		})},
		{"for another class", permitMismatch, signed(func(c *commonv1.PermitClaims) {
			c.Class = commonv1.LeaseClass_LEASE_CLASS_KEYBOARD_MUTATION
		})},
		{"for another snapshot", permitMismatch, signed(func(c *commonv1.PermitClaims) { c.SnapshotId = "s-other" })},
		{"without routes", permitMismatch, signed(func(c *commonv1.PermitClaims) { c.Routes = nil })},
		{"of no policy generation", permitMismatch, signed(func(c *commonv1.PermitClaims) { c.PolicyGeneration = 0 })},
		{"with an extra nobody asked for", permitMismatch, signed(func(c *commonv1.PermitClaims) {
			c.Extras = []commonv1.PermitExtra{commonv1.PermitExtra_PERMIT_EXTRA_INPUT_OPENING}
		})},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := r.press("7", tt.with())
			if got.GetCode() != tt.want || got.GetOutcome() != commonv1.Outcome_OUTCOME_REFUSED || got.GetAfter() != nil {
				t.Errorf("%v, outcome %v, want %v", got.GetCode(), got.GetOutcome(), tt.want)
			}
		})
	}
	if n := len(p.Desk.Events()); n != 0 {
		t.Fatalf("%d acts reached the desk", n)
	}
	// The permit that policy would have signed is good once.
	good := permit.Sign(p.Key, r.claims("7"))
	if got := r.press("7", good); got.GetOutcome() != commonv1.Outcome_OUTCOME_OK {
		t.Errorf("%v", got.GetCode())
	}
	if got := r.press("7", good); got.GetCode() != permitSpent {
		t.Errorf("a second time: %v", got.GetCode())
	}
	if n := len(p.Desk.Events()); n != 1 {
		t.Errorf("%d acts reached the desk", n)
	}
}

const (
	permitMissing  = refusal.AnswerPermitMissing
	permitInvalid  = refusal.AnswerPermitInvalid
	permitMismatch = refusal.AnswerPermitMismatch
	permitExpired  = refusal.AnswerPermitExpired
	permitSpent    = refusal.AnswerPermitSpent
)

// The launcher's link reports facts; it decides nothing and signs nothing.
func TestLauncherLinkOfPolicyDecidesNothing(t *testing.T) {
	p := harness.Policy(t, "../testdata/bundles/all.cedar")
	known := map[protoreflect.FullName]proto.Message{"fairlead.common.v1.Fence": &commonv1.Fence{Policy: 1}}
	cc := p.Dial(p.Launcher)
	for _, m := range methods(t, policyv1.File_fairlead_policy_v1_decision_service_proto, "DecisionService") {
		if m.desc.Name() == "Append" {
			continue
		}
		if _, code := call(t, cc, m, bases(typeOf(t, m.desc.Input()), known)[0]); code != codes.PermissionDenied {
			t.Errorf("%s: %v", m.path, code)
		}
	}
}
