package policy

import (
	"crypto/rand"
	"slices"
	"time"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	policyv1 "fairlead.dev/gen/fairlead/policy/v1"
	"fairlead.dev/services/policy/internal/audit"
	"fairlead.dev/services/policy/internal/lease"
	"fairlead.dev/services/policy/internal/rules"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
	"fairlead.dev/services/shared/telemetry"
)

// How long a permit may be presented, on the boot clock (C10.9).
const (
	actPermitLife  = 5 * time.Second
	readPermitLife = 15 * time.Second
)

// secureRule is the id of the answer for secure fields, which no rule can change (C10.4).
const secureRule = "floor:secure-field"

// act is one act to decide on: facts the host resolved.
type act struct {
	session    ident.SessionID
	id         ident.ActID
	verb       commonv1.Verb
	role       commonv1.Role
	secure     bool
	app        string
	hasWindow  bool
	window     ident.Window
	hasPage    bool
	page       ident.Page
	hasElement bool
	// owned says that it goes to the keyboard target the session owns (C8.1).
	owned      bool
	textLength uint32
	// destination is where a page act leads, or where the bound page is; in judge, once it
	// was looked at, in the form that rules see.
	destination string
	digest      []byte
	incarnation []byte
	snapshot    ident.SnapshotID
}

// target is what a lease has to cover: the window, or for a launch the app.
func (a act) target() lease.Target {
	if a.hasWindow {
		return lease.Target{Scope: lease.Window, App: a.app, Window: a.window}
	}
	return lease.Target{Scope: lease.App, App: a.app}
}

// answer is what is said about an act.
type answer struct {
	code    refusal.Code
	missing commonv1.LeaseClass
	rule    string
	effect  policyv1.EffectLevel
	intent  audit.IntentID
	permit  *commonv1.Permit

	class  commonv1.LeaseClass
	routes []commonv1.Route
	leases []ident.LeaseID
}

// decide is the story of one act. It is judged by what is known now; the intent is put
// on record; what was judged on is looked at once more, because recording may have
// taken a while; and only then a permit comes into being.
func (p *Policy) decide(a act) answer {
	ans := p.judge(a)
	if ans.code != 0 {
		return p.refuse(a, ans)
	}
	ans.intent = audit.IntentID(ident.New("i"))
	if !p.note(decisionRecord(p.generation, a, ans), intentRecord(a, ans)) {
		// No record, no permit (C10.10).
		return answer{code: refusal.ServiceUnavailable, effect: ans.effect}
	}
	if code := p.still(a.session, ans.leases...); code != 0 {
		p.close(a.session, ans.intent, code)
		return p.refuse(a, answer{code: code, missing: missingFor(code, ans.class), effect: ans.effect})
	}
	ans.permit = p.sign(p.actClaims(a, ans))
	return ans
}

// judge says what the state and the rules say, and changes nothing.
func (p *Policy) judge(a act) answer {
	p.mu.Lock()
	defer p.mu.Unlock()
	ans := answer{effect: effectOf(a)}
	s := p.sessions[a.session]
	if code := s.withheld(); code != 0 {
		return ans.no(code, "")
	}
	// Off limits comes before everything the agent could change (C10.4).
	for _, app := range a.apps() {
		if v := rules.OnFloor(app); !v.Allowed {
			return ans.no(codeOf(v), v.Rule)
		}
	}
	place, ok := rules.Place(a.destination)
	if !ok {
		return ans.no(refusal.InvalidBinding, "")
	}
	if v := rules.PlaceOnFloor(place); !v.Allowed {
		return ans.no(codeOf(v), v.Rule)
	}
	a.destination = place
	rule := ruleOf(a.verb)
	if !bound(a, rule.GetBinding()) {
		return ans.no(refusal.InvalidBinding, "")
	}
	if a.hasPage && place == "" {
		return ans.no(refusal.PolicyForbidden, rules.FloorUnplaced)
	}
	if a.secure || a.role == commonv1.Role_ROLE_SECURE_FIELD {
		return ans.no(refusal.SecureField, secureRule)
	}
	ans.class = rule.GetClass()
	now := p.boot()
	held, ok := p.leases.Covering(a.session, lease.Class(ans.class), a.target(), now)
	if !ok {
		ans.missing = ans.class
		return ans.no(refusal.LeaseRequired, "")
	}
	ans.leases = append(ans.leases, held.ID)
	question := s.question(rules.Act(nameOf(a.verb)), a, ans)
	v := p.rules.Decide(question)
	ans.rule = v.Rule
	if !v.Allowed {
		return ans.no(codeOf(v), v.Rule)
	}
	if v := p.addRoutes(a, question, now, &ans); v.Blocked {
		return ans.no(codeOf(v), v.Rule)
	}
	if len(ans.routes) == 0 {
		return ans.no(refusal.NoPermittedRoute, v.Rule)
	}
	return ans
}

func (ans answer) no(code refusal.Code, rule string) answer {
	ans.code, ans.rule = code, rule
	return ans
}

// apps returns every app id the facts name. They have to agree, but the floor is asked
// about each before anybody looks whether they do.
func (a act) apps() []string {
	if a.hasWindow && a.window.App != a.app {
		return []string{a.app, a.window.App}
	}
	return []string{a.app}
}

// bound reports whether the facts are those of an act with that binding (C3.7). A
// missing window, page, element or destination is not filled in by anybody here, and
// what belongs to another binding is not passed over.
func bound(a act, binding commonv1.Binding) bool {
	if a.destination != "" && !a.hasPage || a.owned && binding != commonv1.Binding_BINDING_KEYBOARD {
		return false
	}
	if binding == commonv1.Binding_BINDING_RESOLUTION {
		return !a.hasWindow && !a.hasPage
	}
	if !a.hasWindow || a.window.App != a.app {
		return false
	}
	switch binding {
	case commonv1.Binding_BINDING_ELEMENT:
		return a.hasElement
	case commonv1.Binding_BINDING_KEYBOARD:
		// A named element, or the keyboard target the session owns: keys go nowhere else (C8.1).
		return a.hasElement || a.owned
	case commonv1.Binding_BINDING_PAGE:
		return a.hasPage && (a.destination != "" || a.verb != commonv1.Verb_VERB_NAVIGATE)
	case commonv1.Binding_BINDING_POINT, commonv1.Binding_BINDING_WINDOW:
		return true
	default:
		return false
	}
}

func (s *session) question(action string, a act, ans answer) rules.Question {
	return rules.Question{
		UID:         s.uid,
		Client:      s.client,
		Vision:      s.vision,
		Remote:      s.remote,
		Action:      action,
		App:         a.app,
		Class:       nameOf(ans.class),
		Verb:        nameOf(a.verb),
		Role:        nameOf(a.role),
		Effect:      nameOf(ans.effect),
		Destination: a.destination,
		Secure:      a.secure,
		Window:      a.hasWindow,
		Page:        a.hasPage,
		TextLength:  a.textLength,
	}
}

// addRoutes lists the routes the act may go by: those that can carry it, of a class the
// session holds a live lease of for this target, less those a rule forbids (C7.5). A page
// route needs a bound page. The leases they rest on go on record with the intent. Where a
// rule blocks the destination on one route, that is the answer.
func (p *Policy) addRoutes(a act, q rules.Question, now time.Duration, ans *answer) rules.Verdict {
	for _, r := range p.ways {
		if !carries(r, a) {
			continue
		}
		class := classOn(r, ans.class)
		held, ok := p.leases.Covering(a.session, lease.Class(class), a.target(), now)
		if !ok {
			continue
		}
		q.Action = r.action
		// Only a forbid counts, and the floor was asked already.
		if p.rules.Forbids() {
			switch v := p.rules.Decide(q); {
			case v.Blocked:
				return v
			case v.Forbidden:
				continue
			}
		}
		ans.routes = append(ans.routes, r.route)
		if !slices.Contains(ans.leases, held.ID) {
			ans.leases = append(ans.leases, held.ID)
		}
	}
	return rules.Verdict{Allowed: true}
}

// still looks again at what a yes rested on.
func (p *Policy) still(id ident.SessionID, leases ...ident.LeaseID) refusal.Code {
	p.mu.Lock()
	defer p.mu.Unlock()
	if code := p.sessions[id].withheld(); code != 0 {
		return code
	}
	for _, l := range leases {
		if !p.leases.Has(id, l, p.boot()) {
			return refusal.LeaseRequired
		}
	}
	return 0
}

func missingFor(code refusal.Code, class commonv1.LeaseClass) commonv1.LeaseClass {
	if code == refusal.LeaseRequired {
		return class
	}
	return commonv1.LeaseClass_LEASE_CLASS_UNSPECIFIED
}

// refuse records a no. A no that cannot be recorded is told as what it is: a process
// that cannot do its work (C10.7).
func (p *Policy) refuse(a act, ans answer) answer {
	if !p.note(decisionRecord(p.generation, a, ans)) {
		return answer{code: refusal.ServiceUnavailable, effect: ans.effect}
	}
	p.log.Info("act refused", telemetry.SessionID(a.session), telemetry.ActID(a.id), telemetry.Enum(ans.code))
	return answer{code: ans.code, missing: ans.missing, rule: ans.rule, effect: ans.effect}
}

// close ends an intent whose permit never left.
func (p *Policy) close(id ident.SessionID, intent audit.IntentID, code refusal.Code) {
	p.settle(audit.Outcome{
		Intent:  intent,
		Session: id,
		Outcome: audit.Number(commonv1.Outcome_OUTCOME_REFUSED),
		Route:   audit.Number(commonv1.Route_ROUTE_NONE),
		Code:    audit.Number(code),
	})
}

// settle closes an intent. It reports whether the intent was open, and whether the
// record could be taken.
func (p *Policy) settle(o audit.Outcome) (closed, recorded bool) {
	closed, err := p.record.Settle(time.Now(), o)
	if err != nil {
		p.log.Error("an outcome could not be recorded", telemetry.SessionID(o.Session))
		return false, false
	}
	return closed, true
}

// actClaims states everything that was looked at, for the executor to derive again.
func (p *Policy) actClaims(a act, ans answer) *commonv1.PermitClaims {
	c := &commonv1.PermitClaims{
		PermitId:         permitID(),
		Kind:             commonv1.PermitKind_PERMIT_KIND_ACT,
		SessionId:        string(a.session),
		Incarnation:      a.incarnation,
		Class:            ans.class,
		ExpiresBootMs:    bootMS(p.boot() + actPermitLife),
		PolicyGeneration: uint64(p.generation),
		Verb:             a.verb,
		AppId:            a.app,
		Routes:           ans.routes,
		SnapshotId:       string(a.snapshot),
		ActDigest:        a.digest,
	}
	if a.hasWindow {
		c.Window = windowProto(a.window)
	}
	if a.hasPage {
		c.Page = pageProto(a.page)
	}
	return c
}

func permitID() []byte {
	b := make([]byte, 16)
	if _, err := rand.Read(b); err != nil {
		panic("policy: the system has no randomness")
	}
	return b
}

func bootMS(t time.Duration) uint64 { return uint64(t.Milliseconds()) }

// codeOf is the refusal that a verdict is told as.
func codeOf(v rules.Verdict) refusal.Code {
	switch {
	case v.Allowed:
		return 0
	case v.Blocked:
		return refusal.BlockedURL
	case v.Sensitive:
		return refusal.SensitiveTarget
	default:
		return refusal.PolicyForbidden
	}
}

func decisionRecord(g ident.Generation, a act, ans answer) audit.Decision {
	return audit.Decision{
		Session:    a.session,
		Act:        a.id,
		Verb:       audit.Number(a.verb),
		Scope:      scopeRecord(a.target()),
		Code:       audit.Number(ans.code),
		Missing:    audit.Number(ans.missing),
		Rule:       ans.rule,
		Effect:     audit.Number(ans.effect),
		Generation: g,
		Role:       audit.Number(a.role),
		Secure:     a.secure,
		TextLength: a.textLength,
		Page:       a.hasPage,
	}
}

func intentRecord(a act, ans answer) audit.Intent {
	in := audit.Intent{
		ID:       ans.intent,
		Session:  a.session,
		Act:      a.id,
		Verb:     audit.Number(a.verb),
		Class:    audit.Number(ans.class),
		Scope:    scopeRecord(a.target()),
		Snapshot: a.snapshot,
		Leases:   ans.leases,
		Rule:     ans.rule,
		Effect:   audit.Number(ans.effect),
	}
	for _, r := range ans.routes {
		in.Routes = append(in.Routes, audit.Number(r))
	}
	return in
}
