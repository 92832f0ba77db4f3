package executor

import (
	"errors"
	"slices"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/permit"
	"fairlead.dev/services/shared/refusal"
)

// spentMax bounds the permits remembered. They live for seconds, so the bound is never
// met in earnest; at it acts are refused rather than remembered less.
const spentMax = 1 << 16

type permitID [16]byte

// held is a permit whose own words hold: signature, form, session, incarnation, clock.
type held struct {
	claims  *commonv1.PermitClaims
	id      permitID
	expires bootMillis
}

// bootMillis is a time of the boot clock as permits state it.
type bootMillis uint64

func (e *Executor) bootNow() bootMillis { return bootMillis(e.cfg.Clock().Milliseconds()) }

// hold checks what a permit says about itself (C10.9). What it says about the desktop
// is checked against the executor's own state by covers and matches.
func (e *Executor) hold(p *commonv1.Permit, kind commonv1.PermitKind, s *session) (*held, refusal.Answer) {
	claims, err := permit.Verify(e.cfg.PolicyKey, p)
	switch {
	case errors.Is(err, permit.ErrMissing):
		return nil, refusal.AnswerPermitMissing
	case err != nil:
		return nil, refusal.AnswerPermitInvalid
	case len(claims.GetPermitId()) != len(permitID{}):
		return nil, refusal.AnswerPermitInvalid
	case claims.GetKind() != kind,
		claims.GetSessionId() != string(s.id),
		!slices.Equal(claims.GetIncarnation(), e.incarnation[:]),
		claims.GetPolicyGeneration() == 0:
		return nil, refusal.AnswerPermitMismatch
	}
	h := &held{
		claims: claims, id: permitID(claims.GetPermitId()), expires: bootMillis(claims.GetExpiresBootMs()),
	}
	if e.bootNow() > h.expires {
		return nil, refusal.AnswerPermitExpired
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.state.spent.has(h.id) {
		return nil, refusal.AnswerPermitSpent
	}
	return h, 0
}

// derived is what the executor itself knows an act to be.
type derived struct {
	verb     commonv1.Verb
	app      string
	window   ident.Window
	page     ident.Page
	snapshot ident.SnapshotID
	act      *commonv1.BoundAct
	key      ident.ActKey
}

// matches compares each claim of an act permit with what the executor derived. Every
// difference is the same refusal.
func (h *held) matches(d *derived) refusal.Answer {
	c := h.claims
	rule := permit.RuleOf(d.verb)
	want := permit.ActDigest(d.key, d.act)
	switch {
	case rule == nil || c.GetClass() != rule.GetClass(),
		c.GetVerb() != d.verb,
		c.GetAppId() != d.app,
		toWindow(c.GetWindow()) != d.window,
		toPage(c.GetPage()) != d.page,
		c.GetSnapshotId() != string(d.snapshot),
		c.GetDesk(),
		// None of the verbs built so far uses an extra, so none may be allowed one.
		len(c.GetExtras()) != 0,
		!slices.Equal(c.GetActDigest(), want[:]),
		!routesHold(c.GetRoutes()):
		return refusal.AnswerPermitMismatch
	}
	return 0
}

// routesHold reports whether there are routes, and each is one that an act can go by.
// A route of another class than the verb's, such as a pointer route for an element act
// or a semantic one for typing, is in a permit only where policy saw a lease of that
// class too (C7.5); the executor adds no route and uses no other.
func routesHold(routes []commonv1.Route) bool {
	for _, r := range routes {
		if len(permit.RouteRuleOf(r).GetClasses()) == 0 {
			return false
		}
	}
	return len(routes) > 0
}

// routesOf returns the routes of a class: an act of one kind goes by no other (C7.5).
func routesOf(routes []commonv1.Route, class commonv1.LeaseClass) []commonv1.Route {
	var out []commonv1.Route
	for _, r := range routes {
		if slices.Contains(permit.RouteRuleOf(r).GetClasses(), class) {
			out = append(out, r)
		}
	}
	return out
}

// scope is what a read permit covers.
type scope struct {
	desk   bool
	app    string
	window ident.Window
}

// scopeOf reads the scope of a permit of the given class. A read permit names no act.
func (h *held) scopeOf(class commonv1.LeaseClass) (scope, refusal.Answer) {
	c := h.claims
	s := scope{desk: c.GetDesk(), app: c.GetAppId(), window: toWindow(c.GetWindow())}
	switch {
	case c.GetClass() != class,
		c.GetVerb() != commonv1.Verb_VERB_UNSPECIFIED,
		c.GetSnapshotId() != "", len(c.GetActDigest()) != 0,
		len(c.GetRoutes()) != 0, len(c.GetExtras()) != 0,
		s.window != (ident.Window{}) && s.app != "" && s.app != s.window.App:
		return scope{}, refusal.AnswerPermitMismatch
	}
	return s, 0
}

// covers reports whether a window lies in the scope: the one window with its popups, or
// every window of the app. A desk permit covers ids and names, no window.
func (s scope) covers(w ident.Window) bool {
	if s.window != (ident.Window{}) {
		return s.window == w
	}
	return s.app != "" && s.app == w.App
}

// wide reports whether every window of the app is covered, titles included (C10.4).
func (s scope) wide() bool { return s.window == (ident.Window{}) && s.app != "" }

// mayRead checks a read permit for one window.
func (e *Executor) mayRead(
	p *commonv1.Permit, s *session, class commonv1.LeaseClass, w ident.Window,
) (*held, scope, refusal.Answer) {
	h, a := e.hold(p, commonv1.PermitKind_PERMIT_KIND_READ, s)
	if a != 0 {
		return nil, scope{}, a
	}
	sc, a := h.scopeOf(class)
	if a == 0 && !sc.covers(w) {
		a = refusal.AnswerPermitMismatch
	}
	return h, sc, a
}

// spentPermits remembers the act permits of this incarnation until they expire. The
// executor's mutex guards it.
type spentPermits struct {
	until map[permitID]bootMillis
	sweep int
}

func newSpentPermits() spentPermits {
	return spentPermits{until: map[permitID]bootMillis{}, sweep: 1024}
}

func (s *spentPermits) has(id permitID) bool {
	_, ok := s.until[id]
	return ok
}

// take spends a permit, or answers why it cannot be.
func (s *spentPermits) take(id permitID, expires, now bootMillis) refusal.Answer {
	if s.has(id) {
		return refusal.AnswerPermitSpent
	}
	if len(s.until) >= s.sweep {
		for other, until := range s.until {
			if now > until {
				delete(s.until, other)
			}
		}
		s.sweep = min(spentMax, max(1024, 2*len(s.until)))
	}
	if len(s.until) >= spentMax {
		return refusal.AnswerUnavailable
	}
	s.until[id] = expires
	return 0
}

func (s *spentPermits) giveBack(id permitID) { delete(s.until, id) }
