package policy

import (
	"testing"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	policyv1 "fairlead.dev/gen/fairlead/policy/v1"
	"fairlead.dev/services/policy/internal/audit"
	"fairlead.dev/services/policy/internal/rules"
	"fairlead.dev/services/shared/refusal"
)

// step is a press on a button that is not known yet.
func step(change ...func(*policyv1.DecideRequest)) *policyv1.ActFacts {
	f := click(change...).GetFacts()
	f.ElementDigest = nil
	return f
}

func steps(all ...*policyv1.ActFacts) *policyv1.ForeseeRequest {
	return &policyv1.ForeseeRequest{SessionId: "s", ActId: "sequence-1", Steps: all}
}

func TestForeseeNamesTheFirstStepThatWouldBeRefused(t *testing.T) {
	noButtons := permitAll + `@id("no") forbid (principal, action, resource) when { context.role == "button" };`
	noWay := permitAll + `@id("no") forbid (principal, action in Action::"route", resource);`
	unknownRole := facts(func(f *policyv1.ActFacts) { f.Role = commonv1.Role_ROLE_UNSPECIFIED })
	secure := facts(func(f *policyv1.ActFacts) { f.Role = commonv1.Role_ROLE_SECURE_FIELD })
	tests := []struct {
		name    string
		bundle  string
		steps   []*policyv1.ActFacts
		want    refusal.Code
		step    uint32
		missing commonv1.LeaseClass
		rule    string
	}{
		{"all of them would go", permitAll, []*policyv1.ActFacts{step(), step(), step(verb(setChecked))}, 0, 0, 0, ""},
		{
			"no lease for the second", permitAll,
			[]*policyv1.ActFacts{step(), step(verb(typeText)), step(inApp(keepass))},
			refusal.LeaseRequired, 2, keyboard, "",
		},
		{
			"a rule against the third", noButtons,
			[]*policyv1.ActFacts{
				step(facts(func(f *policyv1.ActFacts) { f.Role = commonv1.Role_ROLE_CHECK_BOX })),
				step(facts(func(f *policyv1.ActFacts) { f.Role = commonv1.Role_ROLE_SLIDER })), step(),
			},
			refusal.PolicyForbidden, 3, 0, "no",
		},
		{
			"a sensitive app", permitAll,
			[]*policyv1.ActFacts{step(), step(inApp(keepass))},
			refusal.SensitiveTarget, 2, 0,
			rules.FloorSensitive,
		},
		{"a secure role", permitAll, []*policyv1.ActFacts{step(secure)}, refusal.SecureField, 1, 0, secureRule},
		{
			"a blocked destination", permitAll,
			[]*policyv1.ActFacts{step(), step(verb(navigate), leadingTo("file://"))},
			refusal.BlockedURL, 2, 0, rules.FloorBlocked,
		},
		{"no route", noWay, []*policyv1.ActFacts{step()}, refusal.NoPermittedRoute, 1, 0, "all"},
		{"neither element nor role", permitAll, []*policyv1.ActFacts{step(unknownRole)}, refusal.InvalidBinding, 1, 0, ""},
		{
			"no window", permitAll,
			[]*policyv1.ActFacts{step(), step(facts(func(f *policyv1.ActFacts) { f.Window = nil }))},
			refusal.InvalidBinding, 2, 0, "",
		},
		{"a verb that does not exist", permitAll, []*policyv1.ActFacts{step(verb(999))}, refusal.InvalidBinding, 1, 0, ""},
		{"facts of nothing", permitAll, []*policyv1.ActFacts{step(), {}}, refusal.PolicyForbidden, 2, 0, rules.FloorUnknown},
		{
			"a destination that names no place", permitAll,
			[]*policyv1.ActFacts{step(leadingTo("shop.example"))},
			refusal.InvalidBinding, 1, 0, "",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, tt.bundle)
			b.begin(t, "s")
			b.lease(t, semantic, app(calc))
			b.sign = func(*commonv1.PermitClaims) *commonv1.Permit {
				t.Error("a permit was signed")
				return nil
			}
			got := b.foresee(t, steps(tt.steps...))
			if got.GetRefusal() != tt.want || got.GetStep() != tt.step || got.GetMissingClass() != tt.missing {
				t.Errorf("Foresee = %v, step %d, %v; want %v, step %d, %v", got.GetRefusal(), got.GetStep(),
					got.GetMissingClass(), tt.want, tt.step, tt.missing)
			}
			if len(records[audit.Intent](b)) != 0 {
				t.Error("an intent was recorded")
			}
			made := records[audit.Decision](b)
			if len(made) != 1 {
				t.Fatalf("recorded %+v", made)
			}
			d := made[0]
			if d.Code != audit.Number(tt.want) || d.Rule != tt.rule || d.Step != tt.step ||
				d.Steps != uint32(len(tt.steps)) || d.Session != "s" || d.Act != "sequence-1" ||
				d.Missing != audit.Number(tt.missing) {
				t.Errorf("recorded %+v", d)
			}
		})
	}
}

// Foreseeing and deciding are one function: what differs is only that the element of a
// step need not be known (C0.8).
func TestForeseeAnswersAsDecideWould(t *testing.T) {
	b := newBench(t, permitAll+`
		@id("no") forbid (principal, action == Action::"act:perform", resource);
		@id("bank") @code("BLOCKED_URL") forbid (principal, action, resource)
			when { context.destination like "https://bank.example:*" };`)
	b.begin(t, "s")
	b.lease(t, semantic, app(calc))
	b.lease(t, pointer, window(windowIn(calc), false))
	values := commonv1.Verb(0).Descriptor().Values()
	for i := range values.Len() {
		for _, id := range []string{calc, keepass, "unknown", "a.B"} {
			for _, where := range []string{"", "https://bank.example", "file://", "about:blank", "x y"} {
				for _, owned := range []bool{false, true} {
					req := click(verb(commonv1.Verb(values.Get(i).Number())), inApp(id), leadingTo(where),
						facts(func(f *policyv1.ActFacts) { f.Owned = owned }))
					seen := b.foresee(t, sequence(req.GetFacts()))
					made := b.decide(t, req)
					if seen.GetRefusal() != made.GetRefusal() || seen.GetMissingClass() != made.GetMissingClass() {
						t.Errorf("%v: foreseen %v, decided %v", req.GetFacts(), seen.GetRefusal(), made.GetRefusal())
					}
				}
			}
		}
	}
}

func TestAYesToASequenceIsRecordedWithHowFarItReaches(t *testing.T) {
	b := newBench(t, permitAll)
	b.begin(t, "s")
	b.lease(t, semantic, app(calc))
	b.foresee(t, steps(step(verb(setChecked)), step(verb(closeWindow)), step(verb(setChecked))))
	made := records[audit.Decision](b)
	if len(made) != 1 || made[0].Code != 0 || made[0].Steps != 3 || made[0].Step != 0 || made[0].Verb != 0 ||
		made[0].Effect != audit.Number(policyv1.EffectLevel_EFFECT_LEVEL_EXTERNAL) ||
		made[0].Scope.App != calc || made[0].Scope.Window.ID != 77 {
		t.Errorf("recorded %+v", made)
	}
}

func TestAnAnswerToASequenceThatCannotBeRecordedIsNone(t *testing.T) {
	for _, all := range []*policyv1.ForeseeRequest{steps(step()), steps(step(inApp(keepass)))} {
		b := newBench(t, permitAll)
		b.begin(t, "s")
		b.lease(t, semantic, app(calc))
		b.rec.failOn(func(audit.Record) bool { return true })
		got := b.foresee(t, all)
		if got.GetRefusal() != refusal.ServiceUnavailable || got.GetStep() != 0 {
			t.Errorf("Foresee = %v, step %d", got.GetRefusal(), got.GetStep())
		}
	}
}

func TestAYesToASequenceIsNoYesToItsSteps(t *testing.T) {
	b := newBench(t, permitAll)
	b.begin(t, "s")
	b.lease(t, semantic, app(calc))
	if got := b.foresee(t, steps(step())).GetRefusal(); got != 0 {
		t.Fatalf("Foresee = %v", got)
	}
	secure := click(facts(func(f *policyv1.ActFacts) { f.Secure = true }))
	if got := b.decide(t, secure).GetRefusal(); got != refusal.SecureField {
		t.Errorf("the step turned out to be secure: %v", got)
	}
	unnamed := click(facts(func(f *policyv1.ActFacts) { f.ElementDigest = nil }))
	if got := b.decide(t, unnamed).GetRefusal(); got != refusal.InvalidBinding {
		t.Errorf("Decide without the element = %v", got)
	}
}

func TestASequenceOfNothingIsUnusable(t *testing.T) {
	b := newBench(t, permitAll)
	b.begin(t, "s")
	if _, err := b.host.Foresee(t.Context(), steps()); err == nil {
		t.Error("a sequence of nothing was answered")
	}
}
