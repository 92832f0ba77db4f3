package policy

import (
	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	policyv1 "fairlead.dev/gen/fairlead/policy/v1"
	"fairlead.dev/services/policy/internal/audit"
	"fairlead.dev/services/policy/internal/lease"
	"fairlead.dev/services/shared/ident"
)

// targetOf converts a target; false for one that names nothing or names it twice in
// different ways. The app of a window is the app of its identity.
func targetOf(t *commonv1.Target) (lease.Target, bool) {
	switch t := t.GetTarget().(type) {
	case *commonv1.Target_Desk:
		return lease.Target{Scope: lease.Desk}, true
	case *commonv1.Target_App:
		return lease.Target{Scope: lease.App, App: t.App.GetAppId()}, true
	case *commonv1.Target_Window:
		if t.Window.GetWindow() == nil {
			return lease.Target{}, false
		}
		w := windowOf(t.Window.GetWindow())
		return lease.Target{Scope: lease.Window, App: w.App, Window: w, Dialogs: t.Window.GetDialogs()}, true
	default:
		return lease.Target{}, false
	}
}

func targetProto(t lease.Target) *commonv1.Target {
	switch t.Scope {
	case lease.App:
		return &commonv1.Target{Target: &commonv1.Target_App{App: &commonv1.AppTarget{AppId: t.App}}}
	case lease.Window:
		w := &commonv1.WindowTarget{Window: windowProto(t.Window), Dialogs: t.Dialogs}
		return &commonv1.Target{Target: &commonv1.Target_Window{Window: w}}
	default:
		return &commonv1.Target{Target: &commonv1.Target_Desk{Desk: &commonv1.DeskTarget{}}}
	}
}

func windowOf(w *commonv1.WindowIdentity) ident.Window {
	return ident.Window{
		ID:    w.GetWindowId(),
		PID:   w.GetPid(),
		Start: w.GetProcessStart(),
		App:   w.GetAppId(),
		Birth: w.GetBirth(),
	}
}

func windowProto(w ident.Window) *commonv1.WindowIdentity {
	return &commonv1.WindowIdentity{WindowId: w.ID, Pid: w.PID, ProcessStart: w.Start, AppId: w.App, Birth: w.Birth}
}

func pageOf(p *commonv1.PageIdentity) ident.Page {
	return ident.Page{Endpoint: p.GetEndpoint(), Target: p.GetTarget(), Document: p.GetDocument()}
}

func pageProto(p ident.Page) *commonv1.PageIdentity {
	return &commonv1.PageIdentity{Endpoint: p.Endpoint, Target: p.Target, Document: p.Document}
}

func leaseProto(l lease.Lease, now lease.Instant) *commonv1.Lease {
	return &commonv1.Lease{
		LeaseId:     string(l.ID),
		Class:       commonv1.LeaseClass(l.Class),
		Target:      targetProto(l.Target),
		ExpiresInMs: uint64(max(l.Expires-now, 0).Milliseconds()),
		RuleId:      l.Rule,
	}
}

func actOf(req *policyv1.DecideRequest) act {
	a := factsOf(req.GetFacts())
	a.session, a.id = ident.SessionID(req.GetSessionId()), ident.ActID(req.GetActId())
	a.digest, a.incarnation = req.GetActDigest(), req.GetIncarnation()
	a.snapshot = ident.SnapshotID(req.GetSnapshotId())
	return a
}

// stepsOf converts a sequence. The element of a step is not known yet: it will be the one
// enabled element of the step's role in the frame that the step before it leaves (C3.9).
// So a step that names a role is judged as one that names an element, and all that is
// judged of that element is its role; its digest, its secure bit and whether there is
// exactly one are judged when its turn comes, by Decide.
func stepsOf(req *policyv1.ForeseeRequest) []act {
	var out []act
	for _, f := range req.GetSteps() {
		a := factsOf(f)
		a.session, a.id = ident.SessionID(req.GetSessionId()), ident.ActID(req.GetActId())
		a.hasElement = a.hasElement || a.role != commonv1.Role_ROLE_UNSPECIFIED
		out = append(out, a)
	}
	return out
}

func factsOf(f *policyv1.ActFacts) act {
	return act{
		verb:        f.GetVerb(),
		role:        f.GetRole(),
		secure:      f.GetSecure(),
		app:         f.GetAppId(),
		hasWindow:   f.GetWindow() != nil,
		window:      windowOf(f.GetWindow()),
		hasPage:     f.GetPage() != nil,
		page:        pageOf(f.GetPage()),
		hasElement:  len(f.GetElementDigest()) > 0,
		owned:       f.GetOwned(),
		textLength:  f.GetTextLength(),
		destination: f.GetDestination(),
	}
}

func changeResponse(f *commonv1.Fence, e change) *policyv1.WatchLeaseChangesResponse {
	resp := &policyv1.WatchLeaseChangesResponse{Fence: f}
	if e.granted != nil {
		resp.Event = &policyv1.WatchLeaseChangesResponse_LeaseGranted{LeaseGranted: e.granted}
	} else {
		resp.Event = &policyv1.WatchLeaseChangesResponse_LeaseEnded{LeaseEnded: e.ended}
	}
	return resp
}

func decideResponse(f *commonv1.Fence, ans answer) *policyv1.DecideResponse {
	return &policyv1.DecideResponse{
		Fence:        f,
		Refusal:      ans.code,
		MissingClass: ans.missing,
		Permit:       ans.permit,
		RuleId:       ans.rule,
		Effect:       ans.effect,
		IntentId:     string(ans.intent),
	}
}

func outcomeOf(req *policyv1.SettleRequest) audit.Outcome {
	return audit.Outcome{
		Intent:  audit.IntentID(req.GetIntentId()),
		Session: ident.SessionID(req.GetSessionId()),
		Outcome: audit.Number(req.GetOutcome()),
		Effect:  audit.Number(req.GetEffect()),
		Route:   audit.Number(req.GetRoute()),
		Code:    audit.Number(req.GetRefusal()),
	}
}

func processOf(e *policyv1.ProcessEvent) audit.Process {
	return audit.Process{
		Event:      audit.Number(e.GetKind()),
		Role:       audit.Number(e.GetRole()),
		Generation: ident.Generation(e.GetGeneration()),
		SHA256:     e.GetSha256(),
	}
}

func scopeRecord(t lease.Target) audit.Scope {
	return audit.Scope{Desk: t.Scope == lease.Desk, App: t.App, Window: t.Window, Dialogs: t.Dialogs}
}
