// Package rules answers what the rules on this desk say: the built-in floor of apps and
// destinations first, then one bundle of Cedar policies (permit and forbid; forbid wins;
// what no rule permits is denied). A bundle can add to the floor and never subtract from
// it (C10.4), because the floor is not a policy: it is asked before any policy is and its
// answer is final. Without a usable bundle the built-in rules are in force: the desk may
// be listed and nothing else. There is no state in which everything is allowed.
//
// A Rules value never changes after it was made, so it needs no lock. Nothing here
// does input or output except Load, and no error carries text of a bundle.
package rules

import (
	"cmp"
	"crypto/sha256"
	"slices"
	"strconv"
	"strings"

	"github.com/cedar-policy/cedar-go"

	"fairlead.dev/services/shared/ident"
)

// Ids of answers that no rule of a bundle gave.
const (
	// NoRule is the id of a default deny.
	NoRule = "no rule permits"
	// FloorSensitive is the id of the floor's answer for sensitive apps.
	FloorSensitive = "floor:sensitive-app"
	// FloorUnknown is the id of the floor's answer for apps the system cannot name (C1.3).
	FloorUnknown = "floor:unknown-app"
	// FloorDesk is the id of the floor's answer for anything but listing on the whole desk.
	FloorDesk = "floor:desk"
	// FloorBlocked is the id of the floor's answer for destinations that end a session.
	FloorBlocked = "floor:blocked-destination"
	// FloorUnsupported is the id of the floor's answer for destinations that are none of the web.
	FloorUnsupported = "floor:unsupported-destination"
	// FloorUnplaced is the id of the floor's answer for a page of which nobody can say where it is.
	FloorUnplaced = "floor:unknown-destination"
)

// Names of actions. The part after the prefix is the name of the lease class, verb or
// route in proto, in lower case and without its prefix.
const (
	leasePrefix = "lease:"
	actPrefix   = "act:"
	routePrefix = "route:"
	// PicturesRemote allows pictures of an app to leave the machine (C10.5).
	PicturesRemote = "pictures:remote"
	// PicturesUnproven allows pictures of an app whose secure regions are not known (C2.10).
	PicturesUnproven = "pictures:unproven"
)

// MetadataRead is the name of the one class that may be leased on the whole desk.
const MetadataRead = "metadata_read"

// Lease returns the action of taking a lease of a class.
func Lease(class string) string { return leasePrefix + class }

// Act returns the action of an act.
func Act(verb string) string { return actPrefix + verb }

// Route returns the action of going by a route. Routes need no permit: only a forbid
// takes one away.
func Route(route string) string { return routePrefix + route }

// Vocabulary is every name that rules may use, in the forms Lease, Act and Route take.
// A bundle that names an action outside it is refused, because such a rule would look
// as if it said something (C0.13).
type Vocabulary struct {
	Classes, Verbs, Routes []string
}

// Question is one thing to decide. Every field comes from facts the host resolved;
// Client is what the client calls itself, so rules may only narrow by it.
type Question struct {
	UID    uint32
	Action string
	// App is the app, or empty for the desk.
	App    string
	Class  string
	Verb   string
	Role   string
	Effect string
	Client string
	// Destination is where the page is or the act leads, as Place returns it; empty where
	// there is no page.
	Destination string
	Secure      bool
	Dialogs     bool
	Window      bool
	Page        bool
	Vision      bool
	Remote      bool
	TextLength  uint32
}

// Verdict is the answer and the rule behind it.
type Verdict struct {
	Allowed bool
	Rule    string
	// Sensitive says that the app is off limits to agents on every path.
	Sensitive bool
	// Blocked says that the destination is blocked: reaching it ends the session (C5.1).
	Blocked bool
	// Forbidden says that a rule said no in so many words, in contrast to none saying yes.
	Forbidden bool
}

// Rules is one set of rules in force.
type Rules struct {
	policies cedar.PolicyMap
	entities cedar.EntityMap
	sum      [sha256.Size]byte
	builtin  bool
}

// Digest returns the SHA-256 of the bytes of the rules in force.
func (r *Rules) Digest() [sha256.Size]byte { return r.sum }

// Builtin reports whether only the built-in rules are in force.
func (r *Rules) Builtin() bool { return r.builtin }

// Len returns how many policies are in force.
func (r *Rules) Len() int { return len(r.policies) }

// Forbids reports whether any rule can say no; without one, none has to be asked.
func (r *Rules) Forbids() bool {
	for _, p := range r.policies {
		if p.Effect() == cedar.Forbid {
			return true
		}
	}
	return false
}

// OnFloor answers for an app by the floor alone. An answer that is not Allowed is final.
func OnFloor(app string) Verdict {
	switch {
	case app == "" || strings.EqualFold(app, ident.UnknownApp):
		return Verdict{Rule: FloorUnknown, Forbidden: true}
	case sensitive(app):
		return Verdict{Rule: FloorSensitive, Sensitive: true, Forbidden: true}
	default:
		return Verdict{Allowed: true}
	}
}

// Decide asks the floor and then the policies.
func (r *Rules) Decide(q Question) Verdict {
	if q.App == "" {
		if q.Action != Lease(MetadataRead) {
			return Verdict{Rule: FloorDesk, Forbidden: true}
		}
	} else if v := OnFloor(q.App); !v.Allowed {
		return v
	}
	if v := PlaceOnFloor(q.Destination); !v.Allowed {
		return v
	}
	return r.evaluate(q)
}

func (r *Rules) evaluate(q Question) Verdict {
	decision, diag := cedar.Authorize(r.policies, r.entities, request(q))
	var no []cedar.DiagnosticReason
	if decision != cedar.Allow {
		no = diag.Reasons
	}
	// A forbid that cannot be evaluated forbids. Cedar itself would skip it.
	for _, e := range diag.Errors {
		if p := r.policies[e.PolicyID]; p != nil && p.Effect() == cedar.Forbid {
			no = append(no, cedar.DiagnosticReason{PolicyID: e.PolicyID, Position: e.Position})
		}
	}
	switch {
	case len(no) > 0:
		return r.forbidden(no, q)
	case len(diag.Reasons) == 0:
		return Verdict{Rule: NoRule}
	default:
		return Verdict{Allowed: true, Rule: string(first(diag.Reasons).PolicyID)}
	}
}

// first is the first in the file, so that one question always names one rule.
func first(of []cedar.DiagnosticReason) cedar.DiagnosticReason {
	return slices.MinFunc(of, func(a, b cedar.DiagnosticReason) int {
		return cmp.Compare(a.Position.Offset, b.Position.Offset)
	})
}

// forbidden is the answer of the rules that said no. A rule that blocks the destination
// is heard before those that only forbid, wherever it stands: what it says ends the
// session. Where there is no destination, such a rule blocks none and is like any other.
func (r *Rules) forbidden(no []cedar.DiagnosticReason, q Question) Verdict {
	blocks := slices.DeleteFunc(slices.Clone(no), func(n cedar.DiagnosticReason) bool {
		return r.policies[n.PolicyID].Annotations()[annotationCode] != codeBlocked
	})
	if q.Destination != "" && len(blocks) > 0 {
		return Verdict{Rule: string(first(blocks).PolicyID), Forbidden: true, Blocked: true}
	}
	id := first(no).PolicyID
	_, sensitive := r.policies[id].Annotations()[annotationSensitive]
	return Verdict{Rule: string(id), Forbidden: true, Sensitive: sensitive}
}

// Entity types of the model.
const (
	typeUID    = "Uid"
	typeAction = "Action"
	typeApp    = "App"
	typeDesk   = "Desk"
	deskID     = "desk"
)

func request(q Question) cedar.Request {
	resource := cedar.NewEntityUID(typeDesk, deskID)
	if q.App != "" {
		resource = cedar.NewEntityUID(typeApp, cedar.String(q.App))
	}
	return cedar.Request{
		Principal: cedar.NewEntityUID(typeUID, cedar.String(strconv.FormatUint(uint64(q.UID), 10))),
		Action:    cedar.NewEntityUID(typeAction, cedar.String(q.Action)),
		Resource:  resource,
		// Every attribute is always there, so that no rule fails for want of one.
		Context: cedar.NewRecord(cedar.RecordMap{
			"class":           cedar.String(q.Class),
			"verb":            cedar.String(q.Verb),
			"role":            cedar.String(q.Role),
			"effect":          cedar.String(q.Effect),
			"client":          cedar.String(q.Client),
			"destination":     cedar.String(q.Destination),
			"secure":          cedar.Boolean(q.Secure),
			"dialogs":         cedar.Boolean(q.Dialogs),
			"window":          cedar.Boolean(q.Window),
			"page":            cedar.Boolean(q.Page),
			"vision":          cedar.Boolean(q.Vision),
			"remote_pictures": cedar.Boolean(q.Remote),
			"text_length":     cedar.Long(q.TextLength),
		}),
	}
}
