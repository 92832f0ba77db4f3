package policy

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	policyv1 "fairlead.dev/gen/fairlead/policy/v1"
	"fairlead.dev/services/policy/internal/audit"
	"fairlead.dev/services/policy/internal/rules"
	"fairlead.dev/services/shared/permit"
	"fairlead.dev/services/shared/refusal"
)

const bank = `@id("bank") @code("BLOCKED_URL") forbid (principal, action, resource)
	when { context.destination like "https://*.bank.example:*" };`

// ownedTarget is what the session owns and the act does not name.
func ownedTarget(r *policyv1.DecideRequest) { r.Facts.Owned, r.Facts.ElementDigest = true, nil }

func TestDecideRefuses(t *testing.T) {
	semanticOnCalc := func(t *testing.T, b *bench) { b.lease(t, semantic, app(calc)) }
	tests := []struct {
		name    string
		bundle  string
		before  func(*testing.T, *bench)
		act     *policyv1.DecideRequest
		want    refusal.Code
		missing commonv1.LeaseClass
		rule    string
	}{
		{
			name: "no session", bundle: permitAll, act: click(func(r *policyv1.DecideRequest) { r.SessionId = "x" }),
			want: refusal.SessionUnknown,
		},
		{
			name: "the user stopped it", bundle: permitAll, act: click(), want: refusal.UserStopped,
			before: func(t *testing.T, b *bench) { semanticOnCalc(t, b); b.fact(t, stopped) },
		},
		{
			name: "a sensitive app", bundle: permitAll, act: click(inApp(keepass)), want: refusal.SensitiveTarget,
			rule: rules.FloorSensitive,
		},
		{
			name: "a sensitive app behind a harmless name", bundle: permitAll, want: refusal.SensitiveTarget,
			act:  click(facts(func(f *policyv1.ActFacts) { f.Window = windowIn(keepass) })),
			rule: rules.FloorSensitive,
		},
		{
			name: "a harmless window behind a sensitive name", bundle: permitAll, want: refusal.SensitiveTarget,
			act: click(facts(func(f *policyv1.ActFacts) { f.AppId = keepass })), rule: rules.FloorSensitive,
		},
		{
			name: "an app without a name", bundle: permitAll, act: click(inApp("unknown")), want: refusal.PolicyForbidden,
			rule: rules.FloorUnknown,
		},
		{
			name: "a window of another app", bundle: permitAll, want: refusal.InvalidBinding, before: semanticOnCalc,
			act: click(facts(func(f *policyv1.ActFacts) { f.Window = windowIn("a.B") })),
		},
		{
			name: "no window", bundle: permitAll, want: refusal.InvalidBinding, before: semanticOnCalc,
			act: click(facts(func(f *policyv1.ActFacts) { f.Window = nil })),
		},
		{
			name: "no element", bundle: permitAll, want: refusal.InvalidBinding, before: semanticOnCalc,
			act: click(facts(func(f *policyv1.ActFacts) { f.ElementDigest = nil })),
		},
		{
			name: "no page", bundle: permitAll, want: refusal.InvalidBinding, before: semanticOnCalc,
			act: click(verb(navigate)),
		},
		{
			name: "a launch with a window", bundle: permitAll, want: refusal.InvalidBinding, before: semanticOnCalc,
			act: click(verb(launchApp)),
		},
		{
			name: "a verb that does not exist", bundle: permitAll, want: refusal.InvalidBinding, before: semanticOnCalc,
			act: click(verb(999)),
		},
		{
			name: "keys for nobody", bundle: permitAll, want: refusal.InvalidBinding,
			act:    click(verb(pressKeys), facts(func(f *policyv1.ActFacts) { f.ElementDigest = nil })),
			before: func(t *testing.T, b *bench) { b.lease(t, keyboard, app(calc)) },
		},
		{
			name: "a press on the keyboard target", bundle: permitAll, want: refusal.InvalidBinding, before: semanticOnCalc,
			act: click(facts(func(f *policyv1.ActFacts) { f.Owned = true })),
		},
		{
			name: "a point on the keyboard target", bundle: permitAll, want: refusal.InvalidBinding,
			act:    click(verb(clickPoint), facts(func(f *policyv1.ActFacts) { f.Owned = true })),
			before: func(t *testing.T, b *bench) { b.lease(t, pointer, app(calc)) },
		},
		{
			name: "keys for the keyboard target without a lease for keys", bundle: permitAll, missing: keyboard,
			act: click(verb(pressKeys), ownedTarget), want: refusal.LeaseRequired, before: semanticOnCalc,
		},
		{
			name: "keys for a keyboard target that is secure", bundle: permitAll, want: refusal.SecureField,
			act:    click(verb(typeText), ownedTarget, facts(func(f *policyv1.ActFacts) { f.Secure = true })),
			before: func(t *testing.T, b *bench) { b.lease(t, keyboard, app(calc)) }, rule: secureRule,
		},
		{
			name: "a way to nowhere", bundle: permitAll, want: refusal.InvalidBinding, before: semanticOnCalc,
			act: click(verb(navigate), leadingTo("")),
		},
		{
			name: "a page of which nobody can say where it is", bundle: permitAll, want: refusal.PolicyForbidden,
			before: semanticOnCalc, act: click(leadingTo("")), rule: rules.FloorUnplaced,
		},
		{
			name: "a destination without a page", bundle: permitAll, want: refusal.InvalidBinding, before: semanticOnCalc,
			act: click(facts(func(f *policyv1.ActFacts) { f.Destination = "https://shop.example" })),
		},
		{
			name: "a destination that names no place", bundle: permitAll, want: refusal.InvalidBinding,
			before: semanticOnCalc, act: click(verb(navigate), leadingTo("https://shop.example/basket")),
		},
		{
			name: "a destination on the floor", bundle: permitAll, want: refusal.BlockedURL, before: semanticOnCalc,
			act: click(verb(navigate), leadingTo("file:///etc")), rule: rules.FloorBlocked,
		},
		{
			name: "a page on the floor", bundle: permitAll, want: refusal.BlockedURL, before: semanticOnCalc,
			act: click(leadingTo("chrome://settings")), rule: rules.FloorBlocked,
		},
		{
			name: "a destination on the floor without a lease", bundle: permitAll, want: refusal.BlockedURL,
			act: click(verb(navigate), leadingTo("javascript:")), rule: rules.FloorBlocked,
		},
		{
			name: "a destination that is none of the web", bundle: permitAll, want: refusal.PolicyForbidden,
			before: semanticOnCalc, act: click(verb(navigate), leadingTo("ftp://shop.example")),
			rule: rules.FloorUnsupported,
		},
		{
			name: "a destination a rule blocks", bundle: permitAll + bank, want: refusal.BlockedURL, before: semanticOnCalc,
			act: click(verb(navigate), leadingTo("HTTPS://WWW.Bank.Example.")), rule: "bank",
		},
		{
			name: "a page a rule blocks", bundle: permitAll + bank, want: refusal.BlockedURL, before: semanticOnCalc,
			act: click(leadingTo("https://www.bank.example:443")), rule: "bank",
		},
		{
			name: "a route a rule blocks", want: refusal.BlockedURL, before: semanticOnCalc, act: click(onPage), rule: "way",
			bundle: permitAll + `@id("way") @code("BLOCKED_URL") forbid (principal, action in Action::"route", resource);`,
		},
		{
			name: "a destination a rule only forbids", want: refusal.PolicyForbidden, before: semanticOnCalc, rule: "no",
			bundle: permitAll + `@id("no") forbid (principal, action, resource)
				when { context.destination == "https://shop.example:443" };`,
			act: click(onPage),
		},
		{
			name: "a secure field", bundle: permitAll, want: refusal.SecureField, before: semanticOnCalc,
			act: click(facts(func(f *policyv1.ActFacts) { f.Secure = true })), rule: secureRule,
		},
		{
			name: "a secure role", bundle: permitAll, want: refusal.SecureField, before: semanticOnCalc, rule: secureRule,
			act: click(facts(func(f *policyv1.ActFacts) { f.Role = commonv1.Role_ROLE_SECURE_FIELD })),
		},
		{name: "no lease", bundle: permitAll, act: click(), want: refusal.LeaseRequired, missing: semantic},
		{
			name: "no lease to type", bundle: permitAll, act: click(verb(typeText)), want: refusal.LeaseRequired,
			missing: keyboard, before: semanticOnCalc,
		},
		{
			name: "no lease to point", bundle: permitAll, act: click(verb(clickPoint)), want: refusal.LeaseRequired,
			missing: pointer, before: semanticOnCalc,
		},
		{
			name: "a lease on another app", bundle: permitAll, act: click(inApp("a.B")), want: refusal.LeaseRequired,
			missing: semantic, before: semanticOnCalc,
		},
		{
			name: "a lease that ran out", bundle: permitAll, act: click(), want: refusal.LeaseRequired, missing: semantic,
			before: func(t *testing.T, b *bench) { semanticOnCalc(t, b); b.pass(5 * time.Minute) },
		},
		{
			name: "a lease on one window for a launch", bundle: permitAll, want: refusal.LeaseRequired, missing: semantic,
			act:    click(verb(launchApp), facts(func(f *policyv1.ActFacts) { f.Window = nil })),
			before: func(t *testing.T, b *bench) { b.lease(t, semantic, window(windowIn(calc), true)) },
		},
		{
			name: "a lease but no rule for the act", want: refusal.PolicyForbidden, before: semanticOnCalc, act: click(),
			bundle: `@id("l") permit (principal, action in Action::"lease", resource);`, rule: rules.NoRule,
		},
		{
			name: "a rule against the act", want: refusal.PolicyForbidden, before: semanticOnCalc, act: click(),
			bundle: permitAll + `@id("no") forbid (principal, action == Action::"act:click_element", resource);`, rule: "no",
		},
		{
			name: "a rule against the role", want: refusal.PolicyForbidden, before: semanticOnCalc, act: click(),
			bundle: permitAll + `@id("no") forbid (principal, action, resource) when { context.role == "button" };`, rule: "no",
		},
		{
			name: "a rule against the effect", want: refusal.PolicyForbidden, before: semanticOnCalc, act: click(),
			bundle: permitAll + `@id("no") forbid (principal, action, resource) when { context.effect == "external" };`,
			rule:   "no",
		},
		{
			name: "a rule against the length", want: refusal.PolicyForbidden, rule: "no",
			act:    click(verb(typeText), facts(func(f *policyv1.ActFacts) { f.TextLength = 101 })),
			before: func(t *testing.T, b *bench) { b.lease(t, keyboard, app(calc)) },
			bundle: permitAll + `@id("no") forbid (principal, action, resource) when { context.text_length > 100 };`,
		},
		{
			name: "an app a rule makes sensitive", want: refusal.SensitiveTarget, before: semanticOnCalc, act: click(),
			bundle: permitAll + `@id("mine") @sensitive forbid (principal, action in Action::"act", resource);`, rule: "mine",
		},
		{
			name: "no route that is not forbidden", want: refusal.NoPermittedRoute, before: semanticOnCalc, act: click(),
			bundle: permitAll + `@id("no") forbid (principal, action in Action::"route", resource);`, rule: "all",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, tt.bundle)
			b.begin(t, "s")
			if tt.before != nil {
				tt.before(t, b)
			}
			got := b.decide(t, tt.act)
			if got.GetRefusal() != tt.want || got.GetMissingClass() != tt.missing || got.GetRuleId() != tt.rule {
				t.Errorf("Decide = %v, %v, %q; want %v, %v, %q", got.GetRefusal(), got.GetMissingClass(), got.GetRuleId(),
					tt.want, tt.missing, tt.rule)
			}
			if got.GetEffect() == 0 {
				t.Error("the effect was not derived")
			}
			made := records[audit.Decision](b)
			if len(made) != 1 || made[0].Code != audit.Number(tt.want) || len(records[audit.Intent](b)) != 0 {
				t.Errorf("recorded %+v", made)
			}
		})
	}
}

func TestActPermitSaysEverythingThatWasLookedAt(t *testing.T) {
	tests := []struct {
		name   string
		leases []commonv1.LeaseClass
		act    *policyv1.DecideRequest
		want   *commonv1.PermitClaims
	}{
		{"a press", []commonv1.LeaseClass{semantic}, click(), &commonv1.PermitClaims{
			Class: semantic, Verb: clickElement, AppId: calc, Window: windowIn(calc), Routes: semanticRoutes(false),
		}},
		{
			"a press that may go by the pointer too",
			[]commonv1.LeaseClass{semantic, pointer},
			click(),
			&commonv1.PermitClaims{
				Class: semantic, Verb: clickElement, AppId: calc, Window: windowIn(calc),
				Routes: append(semanticRoutes(false), seatRoutes(false)...),
			},
		},
		{
			"a keyboard lease lets no press go by the pointer",
			[]commonv1.LeaseClass{semantic, keyboard},
			click(),
			&commonv1.PermitClaims{
				Class: semantic, Verb: clickElement, AppId: calc, Window: windowIn(calc), Routes: semanticRoutes(false),
			},
		},
		{"typing by keys", []commonv1.LeaseClass{keyboard}, click(verb(typeText)), &commonv1.PermitClaims{
			Class: keyboard, Verb: typeText, AppId: calc, Window: windowIn(calc), Routes: seatRoutes(false),
		}},
		{
			"typing by the text interface",
			[]commonv1.LeaseClass{keyboard, semantic},
			click(verb(typeText)),
			&commonv1.PermitClaims{
				Class: keyboard, Verb: typeText, AppId: calc, Window: windowIn(calc),
				Routes: append(semanticRoutes(false), seatRoutes(false)...),
			},
		},
		{
			"a press in a page",
			[]commonv1.LeaseClass{semantic, pointer},
			click(onPage),
			&commonv1.PermitClaims{
				Class: semantic, Verb: clickElement, AppId: calc, Window: windowIn(calc), Page: pageIdentity(),
				Routes: append(semanticRoutes(false), seatRoutes(true)...),
			},
		},
		{
			"a launch",
			[]commonv1.LeaseClass{semantic},
			click(verb(launchApp), facts(func(f *policyv1.ActFacts) { f.Window, f.ElementDigest = nil, nil })),
			&commonv1.PermitClaims{Class: semantic, Verb: launchApp, AppId: calc, Routes: semanticRoutes(false)},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, permitAll)
			b.begin(t, "s")
			for _, c := range tt.leases {
				b.lease(t, c, app(calc))
			}
			resp := b.decide(t, tt.act)
			if resp.GetRefusal() != 0 {
				t.Fatalf("refused: %v", resp.GetRefusal())
			}
			got := b.claims(t, resp.GetPermit())
			if len(got.GetPermitId()) != 16 {
				t.Errorf("permit id of %d bytes", len(got.GetPermitId()))
			}
			tt.want.PermitId = got.GetPermitId()
			tt.want.Kind = commonv1.PermitKind_PERMIT_KIND_ACT
			tt.want.SessionId = "s"
			tt.want.Incarnation = bytes.Repeat([]byte{5}, 16)
			tt.want.ExpiresBootMs = uint64((time.Hour + 5*time.Second).Milliseconds())
			tt.want.PolicyGeneration = 42
			tt.want.SnapshotId = "snap-1"
			tt.want.ActDigest = bytes.Repeat([]byte{9}, 32)
			if !proto.Equal(got, tt.want) {
				t.Errorf("claims\n got %v\nwant %v", got, tt.want)
			}
		})
	}
}

func TestRoutesAreThoseThatCanCarryTheAct(t *testing.T) {
	dom, input := commonv1.Route_ROUTE_PAGE_DOM, commonv1.Route_ROUTE_PAGE_INPUT
	all := []commonv1.LeaseClass{semantic, keyboard, pointer}
	noElement := facts(func(f *policyv1.ActFacts) { f.ElementDigest = nil })
	launch := facts(func(f *policyv1.ActFacts) { f.Window, f.ElementDigest = nil, nil })
	tests := []struct {
		name   string
		leases []commonv1.LeaseClass
		verbs  []commonv1.Verb
		how    func(*policyv1.DecideRequest)
		class  commonv1.LeaseClass
		want   []commonv1.Route
	}{
		{
			"points go by the pointer alone", all,
			[]commonv1.Verb{
				clickPoint, commonv1.Verb_VERB_HOVER_POINT, commonv1.Verb_VERB_DRAG, commonv1.Verb_VERB_SCROLL_POINT,
			},
			noElement, pointer, seatRoutes(false),
		},
		{
			"points in a page", all, []commonv1.Verb{clickPoint, commonv1.Verb_VERB_DRAG}, onPage, pointer, seatRoutes(true),
		},
		{
			"windows and menus need neither pointer nor keys", all,
			[]commonv1.Verb{
				commonv1.Verb_VERB_MOVE_WINDOW, commonv1.Verb_VERB_RESIZE_WINDOW, commonv1.Verb_VERB_MINIMIZE_WINDOW,
				closeWindow, commonv1.Verb_VERB_INVOKE_MENU,
			},
			noElement, semantic, semanticRoutes(false),
		},
		{
			"page verbs go by the page as well", all,
			[]commonv1.Verb{navigate, commonv1.Verb_VERB_GO_BACK, commonv1.Verb_VERB_RELOAD},
			onPage, semantic, semanticRoutes(true),
		},
		{"a launch", all, []commonv1.Verb{launchApp}, launch, semantic, semanticRoutes(false)},
		{
			"keys for the keyboard target",
			[]commonv1.LeaseClass{keyboard},
			[]commonv1.Verb{typeText, pressKeys, commonv1.Verb_VERB_HOLD_KEYS, commonv1.Verb_VERB_PASTE},
			ownedTarget, keyboard, seatRoutes(false),
		},
		{
			"keys for the keyboard target of a page",
			[]commonv1.LeaseClass{keyboard, pointer},
			[]commonv1.Verb{typeText, pressKeys, commonv1.Verb_VERB_HOLD_KEYS, commonv1.Verb_VERB_PASTE},
			func(r *policyv1.DecideRequest) { ownedTarget(r); onPage(r) }, keyboard, seatRoutes(true),
		},
		{
			"a press may go by the pointer and never by the document", all,
			[]commonv1.Verb{clickElement, commonv1.Verb_VERB_PERFORM},
			onPage, semantic,
			append(semanticRoutes(false), seatRoutes(true)...),
		},
		{
			"what sets may go by the document",
			[]commonv1.LeaseClass{semantic},
			[]commonv1.Verb{setChecked, commonv1.Verb_VERB_SET_VALUE, commonv1.Verb_VERB_SELECT_OPTION},
			onPage, semantic, semanticRoutes(true),
		},
	}
	for _, tt := range tests {
		for _, v := range tt.verbs {
			t.Run(tt.name+"/"+nameOf(v), func(t *testing.T) {
				b := newBench(t, permitAll)
				b.begin(t, "s")
				for _, c := range tt.leases {
					b.lease(t, c, app(calc))
				}
				resp := b.decide(t, click(verb(v), tt.how))
				if resp.GetRefusal() != 0 {
					t.Fatalf("refused: %v", resp.GetRefusal())
				}
				c := b.claims(t, resp.GetPermit())
				if c.GetClass() != tt.class || !slices.Equal(c.GetRoutes(), tt.want) {
					t.Errorf("%v by %v, want %v by %v", c.GetClass(), c.GetRoutes(), tt.class, tt.want)
				}
				if c.GetPage() == nil && (slices.Contains(c.GetRoutes(), dom) || slices.Contains(c.GetRoutes(), input)) {
					t.Error("a page route without a page")
				}
			})
		}
	}
}

func semanticRoutes(page bool) []commonv1.Route {
	out := []commonv1.Route{
		commonv1.Route_ROUTE_ACCESSIBILITY_ACTION, commonv1.Route_ROUTE_ACCESSIBILITY_VALUE,
		commonv1.Route_ROUTE_ACCESSIBILITY_SELECTION, commonv1.Route_ROUTE_ACCESSIBILITY_TEXT,
		commonv1.Route_ROUTE_WINDOW_MANAGEMENT,
	}
	if page {
		out = append(out, commonv1.Route_ROUTE_PAGE_DOM)
	}
	return out
}

func seatRoutes(page bool) []commonv1.Route {
	out := []commonv1.Route{commonv1.Route_ROUTE_AGENT_SEAT, commonv1.Route_ROUTE_PROCESS_EVENTS}
	if page {
		out = append([]commonv1.Route{commonv1.Route_ROUTE_PAGE_INPUT}, out...)
	}
	return out
}

func TestForbiddenRouteIsNotInThePermit(t *testing.T) {
	b := newBench(t, permitAll+`forbid (principal, action == Action::"route:agent_seat", resource);`)
	b.begin(t, "s")
	b.lease(t, keyboard, app(calc))
	got := b.claims(t, b.decide(t, click(verb(typeText))).GetPermit()).GetRoutes()
	if want := []commonv1.Route{commonv1.Route_ROUTE_PROCESS_EVENTS}; !slices.Equal(got, want) {
		t.Errorf("routes %v, want %v", got, want)
	}
}

func TestIntentIsOnRecordBeforeThePermitIsSigned(t *testing.T) {
	b := newBench(t, permitAll)
	b.begin(t, "s")
	held := b.lease(t, semantic, app(calc))
	var order []string
	b.rec.onTaken(func(r audit.Record) {
		if _, ok := r.(audit.Intent); ok {
			order = append(order, "intent")
		}
	})
	sign := b.sign
	b.sign = func(c *commonv1.PermitClaims) *commonv1.Permit {
		order = append(order, "permit")
		return sign(c)
	}
	resp := b.decide(t, click())
	if !slices.Equal(order, []string{"intent", "permit"}) {
		t.Errorf("order %v", order)
	}
	intents := records[audit.Intent](b)
	if len(intents) != 1 {
		t.Fatalf("%d intents", len(intents))
	}
	in := intents[0]
	if string(in.ID) != resp.GetIntentId() || in.Session != "s" || in.Act != "act-1" || in.Rule != "all" ||
		in.Snapshot != "snap-1" || len(in.Leases) != 1 || string(in.Leases[0]) != held.GetLeaseId() ||
		in.Scope.App != calc || in.Scope.Window.ID != 77 || in.Effect != audit.Number(resp.GetEffect()) {
		t.Errorf("recorded %+v", in)
	}
}

func TestNoRecordNoPermit(t *testing.T) {
	b := newBench(t, permitAll)
	b.begin(t, "s")
	b.lease(t, semantic, app(calc))
	b.lease(t, metadata, app(calc))
	signed := 0
	sign := b.sign
	b.sign = func(c *commonv1.PermitClaims) *commonv1.Permit {
		signed++
		return sign(c)
	}
	b.rec.failOn(func(audit.Record) bool { return true })
	if got := b.decide(t, click()).GetRefusal(); got != refusal.ServiceUnavailable {
		t.Errorf("Decide = %v", got)
	}
	if got := b.decide(t, click(verb(typeText))).GetRefusal(); got != refusal.ServiceUnavailable {
		t.Errorf("Decide to no = %v", got)
	}
	if got := b.read(t, metadata, app(calc)).GetRefusal(); got != refusal.ServiceUnavailable {
		t.Errorf("Permit = %v", got)
	}
	if got := b.acquire(t, metadata, app(calc)).GetRefusal(); got != refusal.ServiceUnavailable {
		t.Errorf("Acquire = %v", got)
	}
	resp, err := b.host.BeginSession(t.Context(), &policyv1.BeginSessionRequest{SessionId: "t"})
	if err != nil || resp.GetRefusal() != refusal.ServiceUnavailable {
		t.Errorf("BeginSession = %v, %v", resp.GetRefusal(), err)
	}
	if _, err := b.host.Append(t.Context(), fact(stopped)); err == nil {
		t.Error("Append took what the log did not")
	}
	if signed != 0 {
		t.Errorf("%d permits were signed", signed)
	}
	b.rec.failOn(nil)
	if got := b.decide(t, click()).GetRefusal(); got != refusal.UserStopped {
		t.Errorf("a stop that could not be recorded did not hold: %v", got)
	}
}

func TestNoPermitAfterAuthorityWasTakenWhileRecording(t *testing.T) {
	tests := []struct {
		name  string
		while func(*bench)
		want  refusal.Code
	}{
		{"the lease", func(b *bench) { b.revoke("s", "") }, refusal.LeaseRequired},
		{"the session", func(b *bench) { b.endSession("s") }, refusal.SessionUnknown},
		{"a stop", func(b *bench) { b.hold("s", stopped) }, refusal.UserStopped},
		{"a pause", func(b *bench) { b.hold("s", paused) }, refusal.Paused},
		{"a block", func(b *bench) { b.hold("s", blocked) }, refusal.BlockedURL},
		{"time", func(b *bench) { b.pass(time.Hour) }, refusal.LeaseRequired},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, permitAll)
			b.begin(t, "s")
			b.lease(t, semantic, app(calc))
			b.rec.onTaken(func(r audit.Record) {
				if _, ok := r.(audit.Intent); ok {
					b.rec.onTaken(nil)
					tt.while(b)
				}
			})
			if got := b.decide(t, click()).GetRefusal(); got != tt.want {
				t.Errorf("Decide = %v, want %v", got, tt.want)
			}
			out := records[audit.Outcome](b)
			if len(out) != 1 || out[0].Code != audit.Number(tt.want) {
				t.Errorf("the intent was closed with %+v", out)
			}
		})
	}
}

func TestEffectIsDerivedFromFacts(t *testing.T) {
	const (
		reversible = policyv1.EffectLevel_EFFECT_LEVEL_REVERSIBLE
		external   = policyv1.EffectLevel_EFFECT_LEVEL_EXTERNAL
		restricted = policyv1.EffectLevel_EFFECT_LEVEL_RESTRICTED
	)
	tests := []struct {
		name string
		act  act
		want policyv1.EffectLevel
	}{
		{"a check", act{verb: setChecked, role: commonv1.Role_ROLE_CHECK_BOX}, reversible},
		{"a check of something unknown", act{verb: setChecked}, external},
		{"an expansion", act{verb: commonv1.Verb_VERB_SET_EXPANDED, role: commonv1.Role_ROLE_TREE}, reversible},
		{"a focus", act{verb: commonv1.Verb_VERB_FOCUS_ELEMENT, role: commonv1.Role_ROLE_TEXT_FIELD}, reversible},
		{"a focus on something unknown", act{verb: commonv1.Verb_VERB_FOCUS_ELEMENT}, external},
		{"a selection", act{verb: commonv1.Verb_VERB_SELECT_OPTION, role: commonv1.Role_ROLE_LIST}, reversible},
		{"a selection in a page", act{verb: commonv1.Verb_VERB_SELECT_OPTION, role: commonv1.Role_ROLE_LIST, hasPage: true}, external},
		{"a value", act{verb: commonv1.Verb_VERB_SET_VALUE, role: commonv1.Role_ROLE_TEXT_FIELD}, reversible},
		{"text in an area", act{verb: typeText, role: commonv1.Role_ROLE_TEXT_AREA}, reversible},
		{"text in a line, which Return may submit", act{verb: typeText, role: commonv1.Role_ROLE_TEXT_FIELD}, external},
		{"text in a terminal", act{verb: typeText, role: commonv1.Role_ROLE_TERMINAL}, external},
		{"text in a secure field", act{verb: typeText, role: commonv1.Role_ROLE_SECURE_FIELD}, restricted},
		{"a secure bit", act{verb: typeText, secure: true}, restricted},
		{"a press on a button", act{verb: clickElement, role: commonv1.Role_ROLE_BUTTON}, external},
		{"a press on something unknown", act{verb: clickElement}, external},
		{"a press on a check box", act{verb: clickElement, role: commonv1.Role_ROLE_CHECK_BOX}, reversible},
		{
			"a press on a check box in a page",
			act{verb: clickElement, role: commonv1.Role_ROLE_CHECK_BOX, hasPage: true},
			external,
		},
		{"a launch", act{verb: launchApp}, external},
		{"a close", act{verb: closeWindow}, external},
		{"a move", act{verb: commonv1.Verb_VERB_MOVE_WINDOW}, reversible},
		{"a resize", act{verb: commonv1.Verb_VERB_RESIZE_WINDOW}, reversible},
		{"a minimising", act{verb: commonv1.Verb_VERB_MINIMIZE_WINDOW}, reversible},
		{"a menu", act{verb: commonv1.Verb_VERB_INVOKE_MENU, role: commonv1.Role_ROLE_MENU_ITEM}, external},
		{"a navigation", act{verb: navigate, hasPage: true}, external},
		{"a way back", act{verb: commonv1.Verb_VERB_GO_BACK, hasPage: true}, external},
		{"a reload", act{verb: commonv1.Verb_VERB_RELOAD, hasPage: true}, external},
		{"a chord", act{verb: pressKeys, role: commonv1.Role_ROLE_TEXT_AREA}, external},
		{"held keys", act{verb: commonv1.Verb_VERB_HOLD_KEYS, role: commonv1.Role_ROLE_TEXT_AREA}, external},
		{"a press on a point", act{verb: clickPoint, role: commonv1.Role_ROLE_CHECK_BOX}, external},
		{"a drag", act{verb: commonv1.Verb_VERB_DRAG, role: commonv1.Role_ROLE_SLIDER}, external},
		{"a hover over something", act{verb: commonv1.Verb_VERB_HOVER_POINT, role: commonv1.Role_ROLE_BUTTON}, reversible},
		{"a hover over whatever is there", act{verb: commonv1.Verb_VERB_HOVER_POINT}, external},
		{"a scroll at whatever is there", act{verb: commonv1.Verb_VERB_SCROLL_POINT}, external},
		{"an unknown verb", act{verb: 999}, policyv1.EffectLevel_EFFECT_LEVEL_HIGH_IMPACT},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := effectOf(tt.act); got != tt.want {
				t.Errorf("effect %v, want %v", got, tt.want)
			}
		})
	}
}

func TestEveryVerbHasABindingAClassAndAnEffect(t *testing.T) {
	values := commonv1.Verb(0).Descriptor().Values()
	for i := range values.Len() {
		v := commonv1.Verb(values.Get(i).Number())
		if v == 0 {
			continue
		}
		if r := permit.RuleOf(v); r.GetClass() == 0 || leaseLife(r.GetClass()) == 0 {
			t.Errorf("%v has no class with a lease", v)
		}
		if effectOf(act{verb: v}) == policyv1.EffectLevel_EFFECT_LEVEL_HIGH_IMPACT {
			t.Errorf("%v has no effect of its own", v)
		}
		whole := act{verb: v, app: "a", hasElement: true}
		if v != launchApp {
			whole.hasWindow, whole.hasPage, whole.destination = true, true, rules.Blank
			whole.window.App = "a"
		}
		if !bound(whole, permit.RuleOf(v).GetBinding()) {
			t.Errorf("%v can never be bound", v)
		}
		if nameOf(v) == "" {
			t.Errorf("%v has no name for rules", v)
		}
	}
}
