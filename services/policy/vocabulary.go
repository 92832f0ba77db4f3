package policy

import (
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/policy/internal/rules"
	"fairlead.dev/services/shared/permit"
)

// leaseLife is how long a lease of a class lives (protocol.md, Limits).
func leaseLife(class commonv1.LeaseClass) time.Duration {
	switch class {
	case commonv1.LeaseClass_LEASE_CLASS_METADATA_READ:
		return 15 * time.Minute
	case commonv1.LeaseClass_LEASE_CLASS_SCREENSHOT_READ, commonv1.LeaseClass_LEASE_CLASS_SEMANTIC_MUTATION:
		return 5 * time.Minute
	case commonv1.LeaseClass_LEASE_CLASS_POINTER_MUTATION, commonv1.LeaseClass_LEASE_CLASS_KEYBOARD_MUTATION:
		return 2 * time.Minute
	default:
		return 0
	}
}

// nameOf is what rules call a member of an enum: its name in proto without the prefix,
// in lower case; empty for the zero member and for one that is not in the vocabulary.
func nameOf(e protoreflect.Enum) string {
	if e.Number() == 0 {
		return ""
	}
	v := e.Descriptor().Values().ByNumber(e.Number())
	if v == nil {
		return ""
	}
	return shortName(e.Descriptor(), v)
}

func shortName(d protoreflect.EnumDescriptor, v protoreflect.EnumValueDescriptor) string {
	zero := string(d.Values().ByNumber(0).Name())
	prefix := strings.TrimSuffix(zero, "UNSPECIFIED")
	return strings.ToLower(strings.TrimPrefix(string(v.Name()), prefix))
}

func namesOf(d protoreflect.EnumDescriptor) []string {
	var out []string
	for i := range d.Values().Len() {
		if v := d.Values().Get(i); v.Number() != 0 {
			out = append(out, shortName(d, v))
		}
	}
	return out
}

// vocabulary is every name that rules may use, read from the schema.
func vocabulary() rules.Vocabulary {
	return rules.Vocabulary{
		Classes: namesOf(commonv1.LeaseClass(0).Descriptor()),
		Verbs:   namesOf(commonv1.Verb(0).Descriptor()),
		Routes:  namesOf(commonv1.Route(0).Descriptor()),
	}
}

// ruleOf returns the rule of a verb; the zero rule, which nothing satisfies, for none.
func ruleOf(v commonv1.Verb) *commonv1.VerbRule {
	if r := permit.RuleOf(v); r != nil {
		return r
	}
	return &commonv1.VerbRule{}
}

// way is a route with what the schema says of it.
type way struct {
	route   commonv1.Route
	action  string
	page    bool
	classes []commonv1.LeaseClass
}

// routes returns the routes that send anything, in the order of their numbers.
func routes() []way {
	var out []way
	values := commonv1.Route(0).Descriptor().Values()
	for i := range values.Len() {
		r := commonv1.Route(values.Get(i).Number())
		rule := permit.RouteRuleOf(r)
		if len(rule.GetClasses()) == 0 {
			continue
		}
		out = append(out, way{
			route: r, action: rules.Route(nameOf(r)),
			page: rule.GetTier() == commonv1.Tier_TIER_PAGE, classes: rule.GetClasses(),
		})
	}
	return out
}

// carries reports whether an act can go by a route at all, whatever leases there are. An
// act on a point is never turned into one on whatever element is there (C0.2), so it goes
// by the pointer alone. An act on an element may go by the pointer as well (C7.5), typing
// by the text interface as well. Windows, menus, pages and launches need neither pointer
// nor keys. A page's document sets, selects and reads, but never presses (C2.8).
func carries(w way, a act) bool {
	input := slices.Contains(w.classes, commonv1.LeaseClass_LEASE_CLASS_POINTER_MUTATION)
	if (w.page && !a.hasPage) || (w.route == commonv1.Route_ROUTE_PAGE_DOM && presses(a.verb)) {
		return false
	}
	switch ruleOf(a.verb).GetBinding() {
	case commonv1.Binding_BINDING_ELEMENT, commonv1.Binding_BINDING_KEYBOARD:
		return true
	case commonv1.Binding_BINDING_POINT:
		return input
	default:
		return !input
	}
}

func presses(v commonv1.Verb) bool {
	return v == commonv1.Verb_VERB_CLICK_ELEMENT || v == commonv1.Verb_VERB_PERFORM
}

// classOn is the class an act of a class needs on a route. A route of two classes
// carries keys and pointer: keys for keyboard acts, the pointer for all others, so that
// a keyboard lease never lets a press go by the pointer.
func classOn(w way, class commonv1.LeaseClass) commonv1.LeaseClass {
	if len(w.classes) == 1 {
		return w.classes[0]
	}
	if class == commonv1.LeaseClass_LEASE_CLASS_KEYBOARD_MUTATION {
		return class
	}
	return commonv1.LeaseClass_LEASE_CLASS_POINTER_MUTATION
}
