package rules

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"

	"github.com/cedar-policy/cedar-go"
)

// Annotations of a policy that mean something here.
const (
	// annotationID names the rule in leases, permits' records and answers.
	annotationID = "id"
	// annotationSensitive on a forbid adds its apps to the sensitive ones.
	annotationSensitive = "sensitive"
	// annotationCode on a forbid says which refusal its no is told as.
	annotationCode = "code"
)

// codeBlocked is the one value of @code: the forbid blocks a destination. What every
// other no is told as follows from what was asked, so no rule needs to say it.
const codeBlocked = "BLOCKED_URL"

// builtin is what is in force without a usable bundle.
const builtin = `@id("builtin:desk-listing")
permit (principal, action == Action::"lease:metadata_read", resource == Desk::"desk");
`

// Builtin returns the rules that are in force without a usable bundle.
func Builtin(v Vocabulary) *Rules {
	r, err := parse([]byte(builtin), v, false)
	if err != nil {
		panic("rules: the built-in rules do not parse")
	}
	r.builtin = true
	return r
}

// Parse makes rules of the bytes of a bundle.
func Parse(bundle []byte, v Vocabulary) (*Rules, error) { return parse(bundle, v, true) }

func parse(bundle []byte, v Vocabulary, outside bool) (*Rules, error) {
	if len(bundle) > BundleMax {
		return nil, &Error{Fault: FaultTooLarge}
	}
	list, err := cedar.NewPolicyListFromBytes("", bundle)
	if err != nil {
		return nil, &Error{Fault: FaultSyntax, Line: lineOf(err)}
	}
	if len(list) == 0 {
		return nil, &Error{Fault: FaultEmpty}
	}
	r := &Rules{
		policies: make(cedar.PolicyMap, len(list)),
		entities: actions(v),
		sum:      sha256.Sum256(bundle),
	}
	for _, p := range list {
		id, err := ruleID(p, outside)
		if err != nil {
			return nil, err
		}
		if _, taken := r.policies[id]; taken {
			return nil, &Error{Fault: FaultDuplicate, Line: p.Position().Line}
		}
		if err := annotated(p); err != nil {
			return nil, err
		}
		if err := r.known(p); err != nil {
			return nil, err
		}
		r.policies[id] = p
	}
	return r, nil
}

// idForm is what a rule may be called: it leaves the process in answers and records.
var idForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]{0,127}$`)

func ruleID(p *cedar.Policy, outside bool) (cedar.PolicyID, error) {
	id, named := p.Annotations()[annotationID]
	switch {
	case !named:
		return cedar.PolicyID(fmt.Sprintf("line:%d", p.Position().Line)), nil
	case outside && !idForm.MatchString(string(id)):
		return "", &Error{Fault: FaultID, Line: p.Position().Line}
	}
	return cedar.PolicyID(id), nil
}

// annotated refuses annotations that would look as if they said something: on a rule
// that permits, of a value that does not exist, or two of which one could not hold.
func annotated(p *cedar.Policy) error {
	_, sensitive := p.Annotations()[annotationSensitive]
	code, coded := p.Annotations()[annotationCode]
	switch {
	case coded && code != codeBlocked:
		return &Error{Fault: FaultCode, Line: p.Position().Line}
	case (sensitive || coded) && p.Effect() != cedar.Forbid, sensitive && coded:
		return &Error{Fault: FaultAnnotation, Line: p.Position().Line}
	}
	return nil
}

// Groups of actions a rule may name instead of each of them: action in Action::"act".
var groups = map[string]string{leasePrefix: "lease", actPrefix: "act", routePrefix: "route"}

func actions(v Vocabulary) cedar.EntityMap {
	m := cedar.EntityMap{}
	add := func(prefix string, names []string) {
		group := cedar.NewEntityUID(typeAction, cedar.String(groups[prefix]))
		m[group] = cedar.Entity{UID: group}
		for _, n := range names {
			uid := cedar.NewEntityUID(typeAction, cedar.String(prefix+n))
			m[uid] = cedar.Entity{UID: uid, Parents: cedar.NewEntityUIDSet(group)}
		}
	}
	add(leasePrefix, v.Classes)
	add(actPrefix, v.Verbs)
	add(routePrefix, v.Routes)
	for _, n := range []string{PicturesRemote, PicturesUnproven} {
		uid := cedar.NewEntityUID(typeAction, cedar.String(n))
		m[uid] = cedar.Entity{UID: uid}
	}
	return m
}

// scope is the part of Cedar's JSON form that says what a policy is about.
type scope struct {
	Principal, Action, Resource struct {
		Op       string   `json:"op"`
		Entity   entity   `json:"entity"`
		Entities []entity `json:"entities"`
		Type     string   `json:"entity_type"`
		In       struct {
			Entity entity `json:"entity"`
		} `json:"in"`
	}
}

type entity struct {
	Type string `json:"type"`
	ID   string `json:"id"`
}

// known refuses a policy whose scope can never match: an action, a type or a desk that
// does not exist.
func (r *Rules) known(p *cedar.Policy) error {
	b, err := p.MarshalJSON()
	s := scope{}
	if err != nil || json.Unmarshal(b, &s) != nil {
		return &Error{Fault: FaultSyntax, Line: p.Position().Line}
	}
	for _, e := range append(s.Action.Entities, s.Action.Entity) {
		if _, ok := r.entities[cedar.NewEntityUID(cedar.EntityType(e.Type), cedar.String(e.ID))]; !ok && e != (entity{}) {
			return &Error{Fault: FaultAction, Line: p.Position().Line}
		}
	}
	for _, t := range []string{s.Principal.Type, s.Principal.Entity.Type, s.Principal.In.Entity.Type} {
		if t != "" && t != typeUID {
			return &Error{Fault: FaultEntity, Line: p.Position().Line}
		}
	}
	for _, t := range []string{s.Resource.Type, s.Resource.Entity.Type, s.Resource.In.Entity.Type} {
		if t != "" && t != typeApp && t != typeDesk {
			return &Error{Fault: FaultEntity, Line: p.Position().Line}
		}
	}
	if e := s.Resource.Entity; e.Type == typeDesk && e.ID != deskID {
		return &Error{Fault: FaultEntity, Line: p.Position().Line}
	}
	return nil
}

// where finds the line in a parser's error, the only part of it that is passed on.
var where = regexp.MustCompile(`^parser error: parse error at [^"]*?(\d+):\d+ `)

func lineOf(err error) int {
	m := where.FindStringSubmatch(err.Error())
	if m == nil {
		return 0
	}
	n, convErr := strconv.Atoi(m[1])
	if convErr != nil {
		return 0
	}
	return n
}
