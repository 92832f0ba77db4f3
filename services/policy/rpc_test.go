package policy

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	policyv1 "fairlead.dev/gen/fairlead/policy/v1"
	"fairlead.dev/services/policy/internal/audit"
	"fairlead.dev/services/policy/internal/lease"
	"fairlead.dev/services/policy/internal/rules"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
)

const (
	stopped    = policyv1.SessionEventKind_SESSION_EVENT_KIND_STOPPED
	resumed    = policyv1.SessionEventKind_SESSION_EVENT_KIND_RESUMED
	paused     = policyv1.SessionEventKind_SESSION_EVENT_KIND_PAUSED
	takenOver  = policyv1.SessionEventKind_SESSION_EVENT_KIND_TAKEN_OVER
	stoppedAll = policyv1.SessionEventKind_SESSION_EVENT_KIND_STOPPED_ALL
	blocked    = policyv1.SessionEventKind_SESSION_EVENT_KIND_BLOCKED
)

func fact(kind policyv1.SessionEventKind) *policyv1.AppendRequest {
	f := &policyv1.SessionFact{Kind: kind, SessionId: "s"}
	return &policyv1.AppendRequest{Record: &policyv1.AppendRequest_Session{Session: f}}
}

func (b *bench) fact(t *testing.T, kind policyv1.SessionEventKind) {
	t.Helper()
	if _, err := b.host.Append(t.Context(), fact(kind)); err != nil {
		t.Fatal(err)
	}
}

func TestAcquire(t *testing.T) {
	dialogs := permitAll + `@id("no") forbid (principal, action, resource) when { context.dialogs };`
	tests := []struct {
		name   string
		bundle string
		class  commonv1.LeaseClass
		target *commonv1.Target
		want   refusal.Code
		rule   string
		life   time.Duration
	}{
		{"metadata", permitAll, metadata, app(calc), 0, "all", 15 * time.Minute},
		{"screenshot", permitAll, screenshot, app(calc), 0, "all", 5 * time.Minute},
		{"semantic", permitAll, semantic, window(windowIn(calc), true), 0, "all", 5 * time.Minute},
		{"pointer", permitAll, pointer, app(calc), 0, "all", 2 * time.Minute},
		{"keyboard", permitAll, keyboard, app(calc), 0, "all", 2 * time.Minute},
		{"the desk", permitAll, metadata, desk(), 0, "all", 15 * time.Minute},
		{"the desk without a bundle", "", metadata, desk(), 0, "builtin:desk-listing", 15 * time.Minute},
		{"an app without a bundle", "", metadata, app(calc), refusal.PolicyForbidden, rules.NoRule, 0},
		{"an app with a broken bundle", "permit (", metadata, app(calc), refusal.PolicyForbidden, rules.NoRule, 0},
		{"pictures of the desk", permitAll, screenshot, desk(), refusal.PolicyForbidden, rules.FloorDesk, 0},
		{"keys on the desk", permitAll, keyboard, desk(), refusal.PolicyForbidden, rules.FloorDesk, 0},
		{"a sensitive app", permitAll, metadata, app(keepass), refusal.SensitiveTarget, rules.FloorSensitive, 0},
		{
			"a window of a sensitive app", permitAll, metadata, window(windowIn(keepass), false), refusal.SensitiveTarget,
			rules.FloorSensitive, 0,
		},
		{"an unknown app", permitAll, metadata, app("unknown"), refusal.PolicyForbidden, rules.FloorUnknown, 0},
		{
			"a window without an app", permitAll, metadata, window(windowIn(""), false), refusal.PolicyForbidden,
			rules.FloorUnknown, 0,
		},
		{"dialogs a rule forbids", dialogs, semantic, window(windowIn(calc), true), refusal.PolicyForbidden, "no", 0},
		{"no dialogs", dialogs, semantic, window(windowIn(calc), false), 0, "all", 5 * time.Minute},
		{
			"another class than permitted", `@id("m") permit (principal, action == Action::"lease:metadata_read", resource);`,
			semantic, app(calc), refusal.PolicyForbidden, rules.NoRule, 0,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, tt.bundle)
			b.begin(t, "s")
			got := b.acquire(t, tt.class, tt.target)
			if got.GetRefusal() != tt.want {
				t.Fatalf("Acquire = %v, want %v", got.GetRefusal(), tt.want)
			}
			if tt.want != 0 {
				no := records[audit.LeaseRefused](b)
				if len(no) != 1 || no[0].Rule != tt.rule || no[0].Code != audit.Number(tt.want) {
					t.Errorf("recorded %+v", no)
				}
				return
			}
			l := got.GetLease()
			if l.GetRuleId() != tt.rule || l.GetExpiresInMs() != uint64(tt.life.Milliseconds()) ||
				l.GetClass() != tt.class || !proto.Equal(l.GetTarget(), tt.target) || l.GetLeaseId() == "" {
				t.Errorf("lease %v", l)
			}
			if given := records[audit.LeaseGiven](b); len(given) != 1 || string(given[0].Lease) != l.GetLeaseId() {
				t.Errorf("recorded %+v", given)
			}
		})
	}
}

func TestFloorHoldsOnEveryPathWhateverTheBundleSays(t *testing.T) {
	b := newBench(t, permitAll)
	b.begin(t, "s")
	for _, id := range []string{
		keepass, "org.gnome.seahorse.Application", "exe:/usr/bin/i3lock", "com.apple.keychainaccess",
		"com.apple.loginwindow", "1password", "exe:/usr/lib/fairlead/fairlead-policy", "dev.fairlead.Panel",
	} {
		for _, c := range []commonv1.LeaseClass{metadata, screenshot, semantic, keyboard, pointer} {
			if got := b.acquire(t, c, app(id)).GetRefusal(); got != refusal.SensitiveTarget {
				t.Errorf("Acquire %v on %q = %v", c, id, got)
			}
		}
		for _, c := range []commonv1.LeaseClass{metadata, screenshot} {
			if got := b.read(t, c, window(windowIn(id), false)).GetRefusal(); got != refusal.SensitiveTarget {
				t.Errorf("Permit %v on %q = %v", c, id, got)
			}
		}
		if got := b.decide(t, click(inApp(id))).GetRefusal(); got != refusal.SensitiveTarget {
			t.Errorf("Decide on %q = %v", id, got)
		}
	}
}

func TestPermitRead(t *testing.T) {
	remote := func(r *policyv1.BeginSessionRequest) { r.RemotePictures = true }
	blind := func(r *policyv1.BeginSessionRequest) { r.Vision = false }
	local := `@id("local") permit (principal, action, resource) unless
		{ [Action::"pictures:remote", Action::"pictures:unproven"].contains(action) };`
	hold := func(class commonv1.LeaseClass, target *commonv1.Target) func(*testing.T, *bench) {
		return func(t *testing.T, b *bench) { b.lease(t, class, target) }
	}
	win := window(windowIn(calc), false)
	tests := []struct {
		name    string
		bundle  string
		session func(*policyv1.BeginSessionRequest)
		before  func(*testing.T, *bench)
		class   commonv1.LeaseClass
		target  *commonv1.Target
		want    refusal.Code
		claims  *commonv1.PermitClaims
	}{
		{name: "no lease", bundle: local, class: metadata, target: win, want: refusal.LeaseRequired},
		{
			name: "a lease of another class", bundle: local, class: screenshot, target: win, want: refusal.LeaseRequired,
			before: hold(metadata, app(calc)),
		},
		{
			name: "a lease on the desk for an app", bundle: local, class: metadata, target: app(calc),
			before: hold(metadata, desk()), want: refusal.LeaseRequired,
		},
		{
			name: "a lease on a window for its app", bundle: local, class: metadata, target: app(calc),
			before: hold(metadata, win), want: refusal.LeaseRequired,
		},
		{
			name: "dialogs that were not given", bundle: local, class: metadata, target: window(windowIn(calc), true),
			before: hold(metadata, win), want: refusal.LeaseRequired,
		},
		{
			name: "a stop", bundle: local, class: metadata, target: win, want: refusal.UserStopped,
			before: func(t *testing.T, b *bench) { b.lease(t, metadata, win); b.fact(t, stopped) },
		},
		{
			name: "no session", bundle: local, class: metadata, target: win, want: refusal.SessionUnknown,
			before: func(t *testing.T, b *bench) { b.endSession("s") },
		},
		{
			name: "pictures of the desk", bundle: local, class: screenshot, target: desk(), want: refusal.PolicyForbidden,
			before: hold(screenshot, app(calc)),
		},
		{
			name: "a client without vision", bundle: local, class: screenshot, target: win, session: blind,
			before: hold(screenshot, app(calc)), want: refusal.VisionUnsupported,
		},
		{
			name: "pictures that leave without consent", bundle: local, class: screenshot, target: win, session: remote,
			before: hold(screenshot, app(calc)), want: refusal.ConsentRequired,
		},
		{
			name: "pictures that leave with consent", class: screenshot, target: win, session: remote,
			bundle: local + `@id("out") permit (principal, action == Action::"pictures:remote", resource);`,
			before: hold(screenshot, app(calc)), claims: &commonv1.PermitClaims{AppId: calc},
		},
		{
			name: "a window by a lease on its app", bundle: local, class: metadata, target: win,
			before: hold(metadata, app(calc)), claims: &commonv1.PermitClaims{AppId: calc},
		},
		{
			name: "a window by a lease on it", bundle: local, class: metadata, target: win, before: hold(metadata, win),
			claims: &commonv1.PermitClaims{AppId: calc, Window: windowIn(calc)},
		},
		{
			name: "an app", bundle: local, class: metadata, target: app(calc), before: hold(metadata, app(calc)),
			claims: &commonv1.PermitClaims{AppId: calc},
		},
		{
			name: "the desk", bundle: local, class: metadata, target: desk(), before: hold(metadata, desk()),
			claims: &commonv1.PermitClaims{Desk: true},
		},
		{
			name: "the desk by any lease to read", bundle: local, class: metadata, target: desk(),
			before: hold(metadata, win), claims: &commonv1.PermitClaims{Desk: true},
		},
		{
			name: "a picture", bundle: local, class: screenshot, target: win, before: hold(screenshot, app(calc)),
			claims: &commonv1.PermitClaims{AppId: calc},
		},
		{
			name: "a picture whose secure regions are not known", class: screenshot, target: win,
			bundle: local + `@id("u") permit (principal, action == Action::"pictures:unproven", resource);`,
			before: hold(screenshot, app(calc)), claims: &commonv1.PermitClaims{AppId: calc, UnprovenRedaction: true},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, tt.bundle)
			if tt.session == nil {
				tt.session = func(*policyv1.BeginSessionRequest) {}
			}
			b.begin(t, "s", tt.session)
			if tt.before != nil {
				tt.before(t, b)
			}
			got := b.read(t, tt.class, tt.target)
			if got.GetRefusal() != tt.want {
				t.Fatalf("Permit = %v, want %v", got.GetRefusal(), tt.want)
			}
			if tt.want != 0 {
				if n := len(records[audit.ReadRefused](b)); n != 1 {
					t.Errorf("%d records", n)
				}
				return
			}
			c := b.claims(t, got.GetPermit())
			tt.claims.PermitId = c.GetPermitId()
			tt.claims.Kind = commonv1.PermitKind_PERMIT_KIND_READ
			tt.claims.SessionId = "s"
			tt.claims.Incarnation = []byte("\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05")
			tt.claims.Class = tt.class
			tt.claims.ExpiresBootMs = uint64((time.Hour + 15*time.Second).Milliseconds())
			tt.claims.PolicyGeneration = 42
			if !proto.Equal(c, tt.claims) {
				t.Errorf("claims\n got %v\nwant %v", c, tt.claims)
			}
			if n := len(records[audit.ReadPermit](b)); n != 1 {
				t.Errorf("%d records", n)
			}
		})
	}
}

func TestPermitReadLooksAtWhereThePageIs(t *testing.T) {
	intranet := `@id("desk") permit (principal, action, resource == Desk::"desk");
		@id("inside") permit (principal, action, resource)
			when { context.destination == "" || context.destination like "https://*.intranet.example:443" };`
	blockedPictures := permitAll + `@id("p") @code("BLOCKED_URL") forbid (principal, action == Action::"pictures:unproven",
		resource) when { context.destination like "https://bank.example:*" };`
	blockedRemote := permitAll + `@id("p") @code("BLOCKED_URL") forbid (principal, action == Action::"pictures:remote",
		resource);`
	windows := permitAll + `@id("no") forbid (principal, action, resource) when { context.page && context.window };`
	win := window(windowIn(calc), false)
	tests := []struct {
		name        string
		bundle      string
		destination string
		target      *commonv1.Target
		remote      bool
		metadata    refusal.Code
		picture     refusal.Code
	}{
		{"no page", permitAll + bank, "", win, false, 0, 0},
		{"a place", permitAll + bank, "https://shop.example:443", win, false, 0, 0},
		{"an empty page", permitAll + bank, "about:blank", win, false, 0, 0},
		{"a place of an app", permitAll + bank, "https://shop.example", app(calc), false, 0, 0},
		{
			"a place a rule blocks", permitAll + bank, "https://www.bank.example", win, false, refusal.BlockedURL,
			refusal.BlockedURL,
		},
		{"a place on the floor", permitAll, "file://", win, false, refusal.BlockedURL, refusal.BlockedURL},
		{"the browser", permitAll, "chrome://settings", app(calc), false, refusal.BlockedURL, refusal.BlockedURL},
		{
			"a place that is none of the web", permitAll, "ftp://shop.example", win, false, refusal.PolicyForbidden,
			refusal.PolicyForbidden,
		},
		{
			"what names no place", permitAll, "https://shop.example/x", win, false, refusal.InvalidBinding,
			refusal.InvalidBinding,
		},
		{
			"a place on the whole desk", permitAll, "https://shop.example", desk(), false, refusal.InvalidBinding,
			refusal.InvalidBinding,
		},
		{"a place a rule permits", intranet, "https://wiki.intranet.example", win, false, 0, 0},
		{
			"a place no rule permits", intranet, "https://shop.example", win, false, refusal.PolicyForbidden,
			refusal.PolicyForbidden,
		},
		{"a rule about what the lease was not given on", windows, "https://shop.example", win, false, 0, 0},
		{"a place of which pictures are blocked", blockedPictures, "https://bank.example", win, false, 0, refusal.BlockedURL},
		{
			"a place of which no pictures may leave", blockedRemote, "https://bank.example", win, true, 0,
			refusal.BlockedURL,
		},
		{"no place of which pictures may leave", blockedRemote, "", win, true, 0, refusal.ConsentRequired},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, tt.bundle)
			b.begin(t, "s", func(r *policyv1.BeginSessionRequest) { r.RemotePictures = tt.remote })
			for class, want := range map[commonv1.LeaseClass]refusal.Code{metadata: tt.metadata, screenshot: tt.picture} {
				b.lease(t, class, app(calc))
				resp, err := b.host.Permit(t.Context(), &policyv1.PermitRequest{
					SessionId: "s", Class: class, Target: tt.target, Destination: tt.destination,
				})
				if err != nil || resp.GetRefusal() != want || (resp.GetPermit() != nil) != (want == 0) {
					t.Errorf("Permit of %v = %v, %v; want %v", class, resp.GetRefusal(), err, want)
				}
			}
		})
	}
}

func TestFences(t *testing.T) {
	b := newBench(t, permitAll)
	b.begin(t, "s", func(r *policyv1.BeginSessionRequest) { r.Fence = &commonv1.Fence{Host: 7} })
	b.lease(t, semantic, app(calc))
	tests := []struct {
		name  string
		fence *commonv1.Fence
		want  refusal.Code
	}{
		{"nothing asserted", nil, 0},
		{"the current ones", &commonv1.Fence{Host: 7, Policy: 42}, 0},
		{"generations policy does not know", &commonv1.Fence{Host: 7, Policy: 42, Executor: 3, Session: 9}, 0},
		{"another host", &commonv1.Fence{Host: 8, Policy: 42}, refusal.StaleGeneration},
		{"another policy", &commonv1.Fence{Host: 7, Policy: 41}, refusal.StaleGeneration},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			begin, _ := b.host.BeginSession(t.Context(), &policyv1.BeginSessionRequest{Fence: tt.fence, SessionId: "x"})
			acq, _ := b.host.Acquire(t.Context(),
				&policyv1.AcquireRequest{Fence: tt.fence, SessionId: "s", Class: metadata, Target: app(calc)})
			read, _ := b.host.Permit(t.Context(),
				&policyv1.PermitRequest{Fence: tt.fence, SessionId: "s", Class: metadata, Target: app(calc)})
			dec, _ := b.host.Decide(t.Context(), click(func(r *policyv1.DecideRequest) { r.Fence = tt.fence }))
			seen, _ := b.host.Foresee(t.Context(), sequence(click().GetFacts(), func(r *policyv1.ForeseeRequest) {
				r.Fence = tt.fence
			}))
			for _, r := range []interface {
				GetRefusal() commonv1.RefusalCode
				GetFence() *commonv1.Fence
			}{begin, acq, read, dec, seen} {
				if r.GetRefusal() != tt.want {
					t.Errorf("%T = %v, want %v", r, r.GetRefusal(), tt.want)
				}
				if f := r.GetFence(); f.GetHost() != 7 || f.GetPolicy() != 42 {
					t.Errorf("%T carries %v", r, f)
				}
			}
		})
	}
	old := &commonv1.Fence{Host: 1, Policy: 1}
	if r, err := b.host.Revoke(t.Context(), &policyv1.RevokeRequest{Fence: old, SessionId: "s"}); err != nil ||
		r.GetLeasesEnded() == 0 {
		t.Errorf("Revoke looked at the fence: %v, %v", r, err)
	}
	if _, err := b.host.Settle(t.Context(), &policyv1.SettleRequest{Fence: old, SessionId: "s"}); err != nil {
		t.Errorf("Settle looked at the fence: %v", err)
	}
	req := fact(resumed)
	req.Fence = old
	if _, err := b.host.Append(t.Context(), req); err != nil {
		t.Errorf("Append looked at the fence: %v", err)
	}
	if _, err := b.host.EndSession(t.Context(), &policyv1.EndSessionRequest{Fence: old, SessionId: "s"}); err != nil {
		t.Errorf("EndSession looked at the fence: %v", err)
	}
}

func TestSettleClosesOnce(t *testing.T) {
	b := newBench(t, permitAll)
	b.begin(t, "s")
	b.lease(t, semantic, app(calc))
	intent := b.decide(t, click()).GetIntentId()
	req := &policyv1.SettleRequest{
		SessionId: "s", IntentId: intent, Outcome: commonv1.Outcome_OUTCOME_OK,
		Effect: commonv1.Effect_EFFECT_CONFIRMED, Route: commonv1.Route_ROUTE_ACCESSIBILITY_ACTION,
	}
	b.rec.failOn(func(audit.Record) bool { return true })
	if _, err := b.host.Settle(t.Context(), req); err == nil {
		t.Error("an outcome that was not recorded was taken")
	}
	b.rec.failOn(nil)
	for i, want := range []bool{true, false} {
		r, err := b.host.Settle(t.Context(), req)
		if err != nil || r.GetClosed() != want {
			t.Errorf("Settle %d = %v, %v", i, r.GetClosed(), err)
		}
	}
	r, err := b.host.Settle(t.Context(), &policyv1.SettleRequest{SessionId: "s", IntentId: "i-none"})
	if err != nil || r.GetClosed() {
		t.Errorf("an unknown intent: %v, %v", r.GetClosed(), err)
	}
	want := audit.Outcome{Intent: audit.IntentID(intent), Session: "s", Outcome: 1, Effect: 1, Route: 2}
	if got := records[audit.Outcome](b); len(got) != 1 || got[0] != want {
		t.Errorf("recorded %+v", got)
	}
}

func TestOpenIntentsOfSessionsThatAreGoneAreReported(t *testing.T) {
	b := newBench(t, permitAll)
	b.begin(t, "s")
	b.lease(t, semantic, app(calc))
	b.decide(t, click())
	open := func(id string) uint32 {
		r, err := b.host.BeginSession(t.Context(), &policyv1.BeginSessionRequest{SessionId: id})
		if err != nil {
			t.Fatal(err)
		}
		return r.GetOpenIntents()
	}
	if n := open("t"); n != 0 {
		t.Errorf("%d open intents while their session runs", n)
	}
	b.endSession("s")
	if n := open("u"); n != 1 {
		t.Errorf("%d open intents, want 1", n)
	}
}

func TestSessions(t *testing.T) {
	b := newBench(t, permitAll)
	for i := range sessionsMax {
		b.begin(t, fmt.Sprint(i))
	}
	b.begin(t, "7")
	begin := func(req *policyv1.BeginSessionRequest) refusal.Code {
		r, err := b.host.BeginSession(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		return r.GetRefusal()
	}
	if got := begin(&policyv1.BeginSessionRequest{SessionId: "7", Uid: 0}); got != refusal.InvalidBinding {
		t.Errorf("a session of two users = %v", got)
	}
	if got := begin(&policyv1.BeginSessionRequest{SessionId: "more"}); got != refusal.Busy {
		t.Errorf("one session too many = %v", got)
	}
	b.endSession("7")
	b.begin(t, "more")
	if n := len(records[audit.SessionBegun](b)); n != sessionsMax+1 {
		t.Errorf("%d sessions on record", n)
	}
}

func TestPrincipalAndClientAreThoseOfTheSession(t *testing.T) {
	b := newBench(t, `@id("mine") permit (principal == Uid::"1001", action, resource);
		@id("no") forbid (principal, action, resource) when { context.client == "bad" };`)
	for i, tt := range []struct {
		uid    uint32
		client string
		want   refusal.Code
	}{{1000, "good", refusal.PolicyForbidden}, {1001, "good", 0}, {1001, "bad", refusal.PolicyForbidden}} {
		id := fmt.Sprint(i)
		b.begin(t, id, func(r *policyv1.BeginSessionRequest) { r.Uid, r.ClientName = tt.uid, tt.client })
		r, err := b.host.Acquire(t.Context(),
			&policyv1.AcquireRequest{SessionId: id, Class: metadata, Target: app(calc)})
		if err != nil || r.GetRefusal() != tt.want {
			t.Errorf("%d %s = %v, %v; want %v", tt.uid, tt.client, r.GetRefusal(), err, tt.want)
		}
	}
}

func TestEveryLeaseThatIsGivenOrEndsIsToldOnce(t *testing.T) {
	b := newBench(t, permitAll)
	b.begin(t, "s")
	w := b.watch()
	defer b.unwatch(w)
	list := func() int {
		r, err := b.host.ListLeases(t.Context(), &policyv1.ListLeasesRequest{SessionId: "s"})
		if err != nil {
			t.Fatal(err)
		}
		return len(r.GetLeases())
	}
	granted := func(l *commonv1.Lease) string {
		t.Helper()
		e := (<-w.events).granted
		if e.GetSessionId() != "s" || !proto.Equal(e.GetLease(), l) {
			t.Errorf("event %v, want the grant of %v", e, l)
		}
		return l.GetLeaseId()
	}
	ends := func(want policyv1.LeaseEndCause, ids ...string) {
		t.Helper()
		for range ids {
			e := (<-w.events).ended
			if e.GetCause() != want || e.GetSessionId() != "s" || !slices.Contains(ids, e.GetLeaseId()) {
				t.Errorf("event %v, want %v", e, want)
			}
		}
	}
	short, long := granted(b.lease(t, pointer, app(calc))), granted(b.lease(t, metadata, app(calc)))
	third := granted(b.lease(t, semantic, app(calc)))
	b.acquire(t, metadata, app(keepass))
	b.pass(2 * time.Minute)
	if n := list(); n != 2 {
		t.Errorf("%d leases after one ran out", n)
	}
	if wait := b.expire(); wait != expiryWaitMax {
		t.Errorf("the next look is in %v", wait)
	}
	ends(policyv1.LeaseEndCause_LEASE_END_CAUSE_EXPIRED, short)
	if n := b.revoke("s", ident.LeaseID(short)); n != 0 {
		t.Errorf("a lease that ran out was revoked")
	}
	if n := b.revoke("t", ident.LeaseID(third)); n != 0 {
		t.Errorf("another session revoked a lease")
	}
	if n := b.revoke("s", ident.LeaseID(third)); n != 1 {
		t.Errorf("%d revoked", n)
	}
	ends(policyv1.LeaseEndCause_LEASE_END_CAUSE_REVOKED, third)
	if n := b.endSession("s"); n != 1 {
		t.Errorf("%d ended with the session", n)
	}
	ends(policyv1.LeaseEndCause_LEASE_END_CAUSE_SESSION_ENDED, long)
	if n := b.endSession("s"); n != 0 || len(w.events) != 0 {
		t.Error("a session ended twice")
	}
	if n := len(records[audit.LeaseEnded](b)); n != 3 {
		t.Errorf("%d endings on record", n)
	}
}

func TestSessionHoldsNoMoreLeasesThanItMay(t *testing.T) {
	b := newBench(t, permitAll)
	b.begin(t, "s")
	for range lease.PerSession {
		b.lease(t, metadata, app(calc))
	}
	if got := b.acquire(t, metadata, app(calc)).GetRefusal(); got != refusal.Busy {
		t.Errorf("Acquire = %v", got)
	}
	b.pass(15 * time.Minute)
	b.lease(t, metadata, app(calc))
}

func TestWatchersAreBoundedAndNeverWaitedFor(t *testing.T) {
	b := newBench(t, permitAll)
	var all []*watcher
	for range watchersMax {
		all = append(all, b.watch())
	}
	if b.watch() != nil {
		t.Error("one watcher too many")
	}
	b.unwatch(all[1])
	b.unwatch(all[1])
	b.begin(t, "s")
	for range watchQueue + 1 {
		b.lease(t, metadata, app(calc))
		b.revoke("s", "")
	}
	got := 0
	for range all[0].events {
		got++
	}
	if got != watchQueue {
		t.Errorf("%d events before it was closed", got)
	}
	if b.watch() == nil {
		t.Error("a dropped watcher kept its place")
	}
	b.closeWatchers()
	if b.watch() != nil {
		t.Error("a watcher after the end")
	}
}

func TestLauncherMayOnlyReportProcesses(t *testing.T) {
	b := newBench(t, permitAll)
	l := b.Launcher()
	ctx := t.Context()
	calls := map[string]error{}
	_, calls["BeginSession"] = l.BeginSession(ctx, &policyv1.BeginSessionRequest{})
	_, calls["EndSession"] = l.EndSession(ctx, &policyv1.EndSessionRequest{})
	_, calls["Acquire"] = l.Acquire(ctx, &policyv1.AcquireRequest{})
	_, calls["ListLeases"] = l.ListLeases(ctx, &policyv1.ListLeasesRequest{})
	_, calls["Revoke"] = l.Revoke(ctx, &policyv1.RevokeRequest{})
	_, calls["Permit"] = l.Permit(ctx, &policyv1.PermitRequest{})
	_, calls["Decide"] = l.Decide(ctx, click())
	_, calls["Foresee"] = l.Foresee(ctx, &policyv1.ForeseeRequest{})
	_, calls["Settle"] = l.Settle(ctx, &policyv1.SettleRequest{})
	calls["WatchLeaseChanges"] = l.WatchLeaseChanges(&policyv1.WatchLeaseChangesRequest{}, nil)
	_, calls["Append of a session"] = l.Append(ctx, fact(resumed))
	for name, err := range calls {
		if err == nil || !strings.Contains(err.Error(), "PermissionDenied") {
			t.Errorf("%s = %v", name, err)
		}
	}
	process := &policyv1.AppendRequest{Record: &policyv1.AppendRequest_Process{Process: &policyv1.ProcessEvent{
		Kind: policyv1.ProcessEventKind_PROCESS_EVENT_KIND_STARTED, Role: commonv1.ProcessRole_PROCESS_ROLE_HOST,
		Generation: 3, Sha256: []byte{1},
	}}}
	if r, err := l.Append(ctx, process); err != nil || r.GetFence().GetPolicy() != 42 {
		t.Errorf("Append = %v, %v", r, err)
	}
	if _, err := l.Append(ctx, &policyv1.AppendRequest{}); err == nil {
		t.Error("a record of nothing")
	}
	if _, err := b.host.Append(ctx, process); err == nil {
		t.Error("the host reported a process")
	}
	got := records[audit.Process](b)
	if len(got) != 1 || got[0].Event != 1 || got[0].Role != 2 || got[0].Generation != 3 {
		t.Errorf("recorded %+v", got)
	}
}

func TestTargetsThatNameNothingAreUnusable(t *testing.T) {
	b := newBench(t, permitAll)
	b.begin(t, "s")
	for _, target := range []*commonv1.Target{nil, {}, window(nil, false)} {
		if _, err := b.host.Acquire(t.Context(), &policyv1.AcquireRequest{SessionId: "s", Target: target}); err == nil {
			t.Errorf("Acquire took %v", target)
		}
		if _, err := b.host.Permit(t.Context(), &policyv1.PermitRequest{SessionId: "s", Target: target}); err == nil {
			t.Errorf("Permit took %v", target)
		}
	}
}

func TestShippedDemoBundle(t *testing.T) {
	r, err := rules.Load(filepath.Join("..", "..", "deploy", "policy", "demo.cedar"), vocabulary())
	if err != nil {
		t.Fatal(err)
	}
	classes := []string{"metadata_read", "screenshot_read", "semantic_mutation", "keyboard_mutation"}
	verbs := []string{
		"click_element", "set_value", "type_text", "set_checked", "set_expanded", "select_option", "perform",
		"focus_element", "launch_app",
	}
	allowed := func(action, app string) bool {
		return r.Decide(rules.Question{UID: 1000, Action: action, App: app}).Allowed
	}
	for _, id := range []string{
		calc, "fairlead.virtual.calculator", "fairlead.virtual.form", "fairlead.virtual.notes", "org.xfce.mousepad",
		"exe:/usr/bin/zenity", "exe:/usr/bin/gtk3-widget-factory", "gtk3-widget-factory", "org.gtk.WidgetFactory",
	} {
		for _, c := range vocabulary().Classes {
			if got, want := allowed(rules.Lease(c), id), slices.Contains(classes, c); got != want {
				t.Errorf("lease of %s on %s is %v", c, id, got)
			}
		}
		for _, v := range vocabulary().Verbs {
			if got, want := allowed(rules.Act(v), id), slices.Contains(verbs, v); got != want {
				t.Errorf("%s on %s is %v", v, id, got)
			}
		}
		if allowed(rules.PicturesRemote, id) || allowed(rules.PicturesUnproven, id) {
			t.Errorf("pictures of %s may leave", id)
		}
	}
	for _, id := range []string{"org.mozilla.firefox", "exe:/usr/bin/bash", "python3.11", keepass, "unknown", "vim"} {
		for _, c := range vocabulary().Classes {
			if allowed(rules.Lease(c), id) {
				t.Errorf("lease of %s on %s", c, id)
			}
		}
	}
	if !allowed(rules.Lease("metadata_read"), "") || allowed(rules.Lease("screenshot_read"), "") {
		t.Error("the desk may be listed and nothing else")
	}
}

func TestTheClientsReasonIsRecordedAndDecidesNothing(t *testing.T) {
	for _, tt := range []struct {
		reason commonv1.AcquireReason
		app    string
	}{
		{commonv1.AcquireReason_ACQUIRE_REASON_TASK, calc},
		{commonv1.AcquireReason_ACQUIRE_REASON_REFUSED, calc},
		{commonv1.AcquireReason_ACQUIRE_REASON_TASK, "org.example.Unlisted"},
	} {
		b := newBench(t, `@id("calc") permit (principal, action, resource == App::"`+calc+`");`)
		b.begin(t, "s")
		resp, err := b.host.Acquire(t.Context(), &policyv1.AcquireRequest{
			SessionId: "s", Class: metadata, Target: app(tt.app), Reason: tt.reason,
		})
		if err != nil || (resp.GetRefusal() == 0) != (tt.app == calc) {
			t.Fatalf("%v on %s: %v, %v", tt.reason, tt.app, resp.GetRefusal(), err)
		}
		var got audit.Number
		for _, r := range records[audit.LeaseGiven](b) {
			got = r.Reason
		}
		for _, r := range records[audit.LeaseRefused](b) {
			got = r.Reason
		}
		if got != audit.Number(tt.reason) {
			t.Errorf("%v on %s was recorded as %v", tt.reason, tt.app, got)
		}
	}
}
