package policy

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	policyv1 "fairlead.dev/gen/fairlead/policy/v1"
	"fairlead.dev/services/policy/internal/audit"
	"fairlead.dev/services/policy/internal/lease"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/permit"
	"fairlead.dev/services/shared/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Names the tests use for the members they need.
const (
	metadata   = commonv1.LeaseClass_LEASE_CLASS_METADATA_READ
	screenshot = commonv1.LeaseClass_LEASE_CLASS_SCREENSHOT_READ
	semantic   = commonv1.LeaseClass_LEASE_CLASS_SEMANTIC_MUTATION
	keyboard   = commonv1.LeaseClass_LEASE_CLASS_KEYBOARD_MUTATION
	pointer    = commonv1.LeaseClass_LEASE_CLASS_POINTER_MUTATION

	clickElement = commonv1.Verb_VERB_CLICK_ELEMENT
	typeText     = commonv1.Verb_VERB_TYPE_TEXT
	clickPoint   = commonv1.Verb_VERB_CLICK_POINT
	launchApp    = commonv1.Verb_VERB_LAUNCH_APP
	navigate     = commonv1.Verb_VERB_NAVIGATE
	setChecked   = commonv1.Verb_VERB_SET_CHECKED
	pressKeys    = commonv1.Verb_VERB_PRESS_KEYS
	closeWindow  = commonv1.Verb_VERB_CLOSE_WINDOW

	calc      = "org.gnome.Calculator"
	keepass   = "org.keepassxc.KeePassXC"
	permitAll = `@id("all") permit (principal, action, resource);`
)

// errInjected is a log that cannot write.
var errInjected = errors.New("injected")

// faultyLog is a real log whose next records can be made to fail, and that tells when
// it took something.
type faultyLog struct {
	*audit.Log
	mu    sync.Mutex
	fault func(audit.Record) bool
	taken func(audit.Record)
}

func (f *faultyLog) Append(at time.Time, records ...audit.Record) error {
	f.mu.Lock()
	fault, taken := f.fault, f.taken
	f.mu.Unlock()
	if fault != nil && slices.ContainsFunc(records, fault) {
		return errInjected
	}
	if err := f.Log.Append(at, records...); err != nil {
		return err
	}
	for _, r := range records {
		if taken != nil {
			taken(r)
		}
	}
	return nil
}

func (f *faultyLog) Settle(at time.Time, o audit.Outcome) (bool, error) {
	f.mu.Lock()
	fault := f.fault
	f.mu.Unlock()
	if fault != nil && fault(o) {
		return false, errInjected
	}
	return f.Log.Settle(at, o)
}

func (f *faultyLog) failOn(fault func(audit.Record) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = fault
}

func (f *faultyLog) onTaken(taken func(audit.Record)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.taken = taken
}

// bench is one policy with a clock, a log and a key in the test's hands.
type bench struct {
	*Policy
	host   policyv1.DecisionServiceServer
	rec    *faultyLog
	public ed25519.PublicKey
	logged *bytes.Buffer

	mu  sync.Mutex
	now time.Duration
}

// seed of the key of every test: permits are the same from run to run.
var seed = bytes.Repeat([]byte{7}, ed25519.SeedSize)

func newBench(t *testing.T, bundle string) *bench {
	t.Helper()
	path := ""
	if bundle != "" {
		path = filepath.Join(t.TempDir(), "test.cedar")
		if err := os.WriteFile(path, []byte(bundle), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	key := ed25519.NewKeyFromSeed(seed)
	b := &bench{
		rec:    &faultyLog{Log: audit.New(4096)},
		logged: &bytes.Buffer{},
		now:    time.Hour,
	}
	b.public, _ = key.Public().(ed25519.PublicKey)
	p, err := build(Config{
		Version:    "test",
		Key:        key,
		Generation: 42,
		Bundle:     path,
		Log:        telemetry.NewLogger(b.logged, role),
		Boot:       b.clock,
	}, b.rec)
	if err != nil {
		t.Fatal(err)
	}
	b.Policy, b.host = p, p.Host()
	return b
}

func (b *bench) clock() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now
}

func (b *bench) pass(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now += d
}

func (b *bench) begin(t *testing.T, id string, change ...func(*policyv1.BeginSessionRequest)) {
	t.Helper()
	req := &policyv1.BeginSessionRequest{SessionId: id, Uid: 1000, ClientName: "client", Vision: true}
	for _, c := range change {
		c(req)
	}
	resp, err := b.host.BeginSession(t.Context(), req)
	if err != nil || resp.GetRefusal() != 0 {
		t.Fatalf("BeginSession = %v, %v", resp.GetRefusal(), err)
	}
}

func (b *bench) acquire(t *testing.T, class commonv1.LeaseClass, target *commonv1.Target) *policyv1.AcquireResponse {
	t.Helper()
	resp, err := b.host.Acquire(t.Context(), &policyv1.AcquireRequest{SessionId: "s", Class: class, Target: target})
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func (b *bench) lease(t *testing.T, class commonv1.LeaseClass, target *commonv1.Target) *commonv1.Lease {
	t.Helper()
	resp := b.acquire(t, class, target)
	if resp.GetRefusal() != 0 {
		t.Fatalf("Acquire %v = %v", class, resp.GetRefusal())
	}
	return resp.GetLease()
}

func (b *bench) decide(t *testing.T, req *policyv1.DecideRequest) *policyv1.DecideResponse {
	t.Helper()
	resp, err := b.host.Decide(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if (resp.GetRefusal() == 0) != (resp.GetPermit() != nil) || (resp.GetRefusal() == 0) != (resp.GetIntentId() != "") {
		t.Fatalf("refusal %v, permit %v, intent %q", resp.GetRefusal(), resp.GetPermit() != nil, resp.GetIntentId())
	}
	return resp
}

func (b *bench) read(t *testing.T, class commonv1.LeaseClass, target *commonv1.Target) *policyv1.PermitResponse {
	t.Helper()
	resp, err := b.host.Permit(t.Context(), &policyv1.PermitRequest{
		SessionId: "s", Class: class, Target: target, Incarnation: bytes.Repeat([]byte{5}, 16),
	})
	if err != nil {
		t.Fatal(err)
	}
	if (resp.GetRefusal() == 0) != (resp.GetPermit() != nil) {
		t.Fatalf("refusal %v, permit %v", resp.GetRefusal(), resp.GetPermit() != nil)
	}
	return resp
}

func (b *bench) foresee(t *testing.T, req *policyv1.ForeseeRequest) *policyv1.ForeseeResponse {
	t.Helper()
	resp, err := b.host.Foresee(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func (b *bench) claims(t *testing.T, p *commonv1.Permit) *commonv1.PermitClaims {
	t.Helper()
	c, err := permit.Verify(b.public, p)
	if err != nil {
		t.Fatalf("the permit does not verify: %v", err)
	}
	return c
}

// records returns the records of one type.
func records[R audit.Record](b *bench) []R {
	var out []R
	for _, e := range b.rec.Entries(0, 4096) {
		if r, ok := e.Record.(R); ok {
			out = append(out, r)
		}
	}
	return out
}

func desk() *commonv1.Target { return targetProto(lease.Target{Scope: lease.Desk}) }

func app(id string) *commonv1.Target {
	return &commonv1.Target{Target: &commonv1.Target_App{App: &commonv1.AppTarget{AppId: id}}}
}

func window(w *commonv1.WindowIdentity, dialogs bool) *commonv1.Target {
	t := &commonv1.WindowTarget{Window: w, Dialogs: dialogs}
	return &commonv1.Target{Target: &commonv1.Target_Window{Window: t}}
}

func windowIn(app string) *commonv1.WindowIdentity {
	return windowProto(ident.Window{ID: 77, PID: 100, Start: 5000, App: app, Birth: 3})
}

func pageIdentity() *commonv1.PageIdentity {
	return &commonv1.PageIdentity{Endpoint: "e", Target: "t", Document: "d"}
}

// click is a press on a button of the calculator.
func click(change ...func(*policyv1.DecideRequest)) *policyv1.DecideRequest {
	req := &policyv1.DecideRequest{
		SessionId: "s",
		ActId:     "act-1",
		Facts: &policyv1.ActFacts{
			Verb:          clickElement,
			Window:        windowIn(calc),
			Role:          commonv1.Role_ROLE_BUTTON,
			ElementDigest: bytes.Repeat([]byte{3}, 16),
			AppId:         calc,
		},
		ActDigest:   bytes.Repeat([]byte{9}, 32),
		Incarnation: bytes.Repeat([]byte{5}, 16),
		SnapshotId:  "snap-1",
	}
	for _, c := range change {
		c(req)
	}
	return req
}

func verb(v commonv1.Verb) func(*policyv1.DecideRequest) {
	return func(r *policyv1.DecideRequest) { r.Facts.Verb = v }
}

// sequence is a sequence of one step.
func sequence(step *policyv1.ActFacts, change ...func(*policyv1.ForeseeRequest)) *policyv1.ForeseeRequest {
	req := &policyv1.ForeseeRequest{SessionId: "s", ActId: "sequence-1", Steps: []*policyv1.ActFacts{step}}
	for _, c := range change {
		c(req)
	}
	return req
}

// onPage binds an act to a page of the web.
func onPage(r *policyv1.DecideRequest) {
	r.Facts.Page, r.Facts.Destination = pageIdentity(), "https://shop.example"
}

func leadingTo(destination string) func(*policyv1.DecideRequest) {
	return func(r *policyv1.DecideRequest) { onPage(r); r.Facts.Destination = destination }
}

func inApp(id string) func(*policyv1.DecideRequest) {
	return func(r *policyv1.DecideRequest) {
		r.Facts.AppId = id
		if r.Facts.Window != nil {
			r.Facts.Window = windowIn(id)
		}
	}
}

func facts(f func(*policyv1.ActFacts)) func(*policyv1.DecideRequest) {
	return func(r *policyv1.DecideRequest) { f(r.Facts) }
}
