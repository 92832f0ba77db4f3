package policylink

import (
	"context"
	"testing"

	"google.golang.org/protobuf/proto"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	policyv1 "fairlead.dev/gen/fairlead/policy/v1"
	"fairlead.dev/services/shared/refusal"
)

// call is one call of a link with the answer that means yes. It returns whether anything
// of the answer was used.
type call struct {
	name string
	yes  proto.Message
	make func(context.Context, *Link) (used bool, err error)
}

func permitted() *commonv1.Permit { return &commonv1.Permit{Claims: []byte{1}, Signature: []byte{2}} }

func steps(n int) *policyv1.ForeseeRequest {
	req := &policyv1.ForeseeRequest{SessionId: "s", ActId: "a"}
	for range n {
		req.Steps = append(req.Steps, &policyv1.ActFacts{Verb: commonv1.Verb_VERB_CLICK_ELEMENT})
	}
	return req
}

// Requests that the interceptors of a real server let through.
func acquireRequest() *policyv1.AcquireRequest {
	return &policyv1.AcquireRequest{SessionId: "s", Class: semantic, Target: target()}
}

func permitRequest() *policyv1.PermitRequest {
	return &policyv1.PermitRequest{
		SessionId: "s", Class: metadata, Target: target(), Incarnation: make([]byte, 16),
		Destination: "https://shop.example:443",
	}
}

func decideRequest() *policyv1.DecideRequest {
	return &policyv1.DecideRequest{
		SessionId: "s", ActId: "a", SnapshotId: "n", ActDigest: make([]byte, 32), Incarnation: make([]byte, 16),
		Facts: &policyv1.ActFacts{Verb: commonv1.Verb_VERB_CLICK_ELEMENT},
	}
}

func settleRequest() *policyv1.SettleRequest {
	return &policyv1.SettleRequest{SessionId: "s", IntentId: "i", Outcome: commonv1.Outcome_OUTCOME_OK}
}

func stop() *policyv1.SessionFact {
	return &policyv1.SessionFact{Kind: policyv1.SessionEventKind_SESSION_EVENT_KIND_STOPPED, SessionId: "s"}
}

func target() *commonv1.Target {
	return &commonv1.Target{Target: &commonv1.Target_Desk{Desk: &commonv1.DeskTarget{}}}
}

var calls = []call{
	{
		"BeginSession", &policyv1.BeginSessionResponse{Fence: fence(), OpenIntents: 3},
		func(ctx context.Context, l *Link) (bool, error) {
			n, err := l.BeginSession(ctx, &policyv1.BeginSessionRequest{SessionId: "s"})
			return n != 0, err
		},
	},
	{
		"Acquire", &policyv1.AcquireResponse{Fence: fence(), Lease: lease()},
		func(ctx context.Context, l *Link) (bool, error) {
			resp, err := l.Acquire(ctx, acquireRequest())
			return resp.GetLease() != nil, err
		},
	},
	{
		"Leases", &policyv1.ListLeasesResponse{Fence: fence(), Leases: []*commonv1.Lease{lease()}},
		func(ctx context.Context, l *Link) (bool, error) {
			all, err := l.Leases(ctx, "s")
			return len(all) != 0, err
		},
	},
	{
		"Revoke", &policyv1.RevokeResponse{Fence: fence(), LeasesEnded: 2},
		func(ctx context.Context, l *Link) (bool, error) {
			n, err := l.Revoke(ctx, "s", "l-1")
			return n != 0, err
		},
	},
	{
		"Permit", &policyv1.PermitResponse{Fence: fence(), Permit: permitted()},
		func(ctx context.Context, l *Link) (bool, error) {
			p, err := l.Permit(ctx, permitRequest())
			return p != nil, err
		},
	},
	{
		"Decide", &policyv1.DecideResponse{Fence: fence(), Permit: permitted(), IntentId: "i"},
		func(ctx context.Context, l *Link) (bool, error) {
			resp, err := l.Decide(ctx, decideRequest())
			return resp.GetPermit() != nil, err
		},
	},
	{
		"Foresee", &policyv1.ForeseeResponse{Fence: fence()},
		func(ctx context.Context, l *Link) (bool, error) {
			step, err := l.Foresee(ctx, steps(3))
			return err == nil || step != 0, err
		},
	},
	{
		"Settle", &policyv1.SettleResponse{Fence: fence(), Closed: true},
		func(ctx context.Context, l *Link) (bool, error) {
			err := l.Settle(ctx, settleRequest())
			return err == nil, err
		},
	},
	{
		"Append", &policyv1.AppendResponse{Fence: fence()},
		func(ctx context.Context, l *Link) (bool, error) {
			err := l.Append(ctx, stop())
			return err == nil, err
		},
	},
}

func TestYesIsAYes(t *testing.T) {
	p := newPolicy()
	l, _ := mustOpen(t, p)
	for _, c := range calls {
		p.say(c.yes)
		if used, err := c.make(t.Context(), l); err != nil || !used {
			t.Errorf("%s = %v, used %v", c.name, err, used)
		}
	}
	if l.Degraded() {
		t.Error("a link that was answered well is degraded")
	}
}

// Every call of the link reads an answer it does not know as the worst case (C9.6).
func TestAnswerThatCannotBeReadIsANo(t *testing.T) {
	type unreadable struct {
		call, name string
		answer     proto.Message
	}
	var tests []unreadable
	for _, c := range calls {
		outer, inner := proto.Clone(c.yes), proto.Clone(c.yes)
		f, _ := inner.(interface{ GetFence() *commonv1.Fence })
		strange(f.GetFence())
		tests = append(tests, unreadable{c.name, "a field that is new", strange(outer)},
			unreadable{c.name, "a field of the fence that is new", inner})
	}
	other, classOfNobody := lease(), lease()
	other.Class, classOfNobody.Class = metadata, stranger
	tests = append(tests,
		unreadable{"BeginSession", "a refusal that is new", &policyv1.BeginSessionResponse{Refusal: stranger}},
		unreadable{"Acquire", "a refusal that is new", &policyv1.AcquireResponse{Refusal: stranger, Lease: lease()}},
		unreadable{"Acquire", "a yes to nothing", &policyv1.AcquireResponse{}},
		unreadable{"Acquire", "a lease of another class", &policyv1.AcquireResponse{Lease: other}},
		unreadable{"Acquire", "a lease of a class that is new", &policyv1.AcquireResponse{Lease: classOfNobody}},
		unreadable{"Acquire", "a lease with a field that is new", &policyv1.AcquireResponse{Lease: strange(lease())}},
		unreadable{"Leases", "a class that is new", &policyv1.ListLeasesResponse{
			Leases: []*commonv1.Lease{lease(), classOfNobody},
		}},
		unreadable{"Leases", "a field of a lease that is new", &policyv1.ListLeasesResponse{
			Leases: []*commonv1.Lease{lease(), strange(lease())},
		}},
		unreadable{"Permit", "a refusal that is new", &policyv1.PermitResponse{Refusal: stranger, Permit: permitted()}},
		unreadable{"Permit", "a yes without a permit", &policyv1.PermitResponse{}},
		unreadable{"Permit", "a permit with a field that is new", &policyv1.PermitResponse{Permit: strange(permitted())}},
		unreadable{"Decide", "a refusal that is new", &policyv1.DecideResponse{Refusal: stranger}},
		unreadable{"Decide", "a class that is new", &policyv1.DecideResponse{
			Refusal: refusal.LeaseRequired, MissingClass: stranger,
		}},
		unreadable{"Decide", "an effect that is new", &policyv1.DecideResponse{
			Permit: permitted(), IntentId: "i", Effect: stranger,
		}},
		unreadable{"Decide", "a yes without a permit", &policyv1.DecideResponse{IntentId: "i"}},
		unreadable{"Decide", "a yes without an intent", &policyv1.DecideResponse{Permit: permitted()}},
		unreadable{"Foresee", "a refusal that is new", &policyv1.ForeseeResponse{Refusal: stranger, Step: 1}},
		unreadable{"Foresee", "a class that is new", &policyv1.ForeseeResponse{
			Refusal: refusal.LeaseRequired, Step: 1, MissingClass: stranger,
		}},
		unreadable{"Foresee", "a yes about one step", &policyv1.ForeseeResponse{Step: 1}},
		unreadable{"Foresee", "a step that is not there", &policyv1.ForeseeResponse{Refusal: refusal.Paused, Step: 4}},
	)
	for _, tt := range tests {
		t.Run(tt.call+"/"+tt.name, func(t *testing.T) {
			p := newPolicy()
			l, _ := mustOpen(t, p)
			p.say(tt.answer)
			for _, c := range calls {
				if c.name != tt.call {
					continue
				}
				if used, err := c.make(t.Context(), l); refusal.As(err).Code != refusal.ServiceMismatch || used {
					t.Errorf("%s = %v, used %v", c.name, err, used)
				}
			}
			if !l.Degraded() {
				t.Error("the link is not degraded")
			}
		})
	}
}

func TestTheSecondAnswerThatCannotBeReadEndsTheLink(t *testing.T) {
	p := newPolicy()
	l, _ := mustOpen(t, p)
	p.say(strange(&policyv1.EndSessionResponse{Fence: fence()}))
	l.EndSession(t.Context(), "s")
	if !l.Degraded() {
		t.Error("the first was not noticed")
	}
	p.say(&policyv1.AppendResponse{Fence: fence()})
	if err := l.Append(t.Context(), stop()); err != nil {
		t.Errorf("the first ended the link: %v", err)
	}
	p.say(strange(&policyv1.AppendResponse{Fence: fence()}))
	if err := l.Append(t.Context(), stop()); refusal.As(err).Code != refusal.ServiceMismatch {
		t.Errorf("Append = %v", err)
	}
	<-l.Done()
}

func TestRefusalsOfPolicyAreToldAsTheyAre(t *testing.T) {
	p := newPolicy()
	l, _ := mustOpen(t, p)
	for name, tt := range map[string]struct {
		answer proto.Message
		code   refusal.Code
		step   uint32
		class  commonv1.LeaseClass
	}{
		"BeginSession": {&policyv1.BeginSessionResponse{Refusal: refusal.Busy, OpenIntents: 1}, refusal.Busy, 0, 0},
		"Acquire": {
			&policyv1.AcquireResponse{Refusal: refusal.ApprovalRequired, Lease: nil, PendingApprovalId: "q"},
			refusal.ApprovalRequired, 0, 0,
		},
		"Permit": {&policyv1.PermitResponse{Refusal: refusal.LeaseRequired}, refusal.LeaseRequired, 0, metadata},
		"Decide": {
			&policyv1.DecideResponse{Refusal: refusal.LeaseRequired, MissingClass: semantic}, refusal.LeaseRequired, 0, semantic,
		},
		"Foresee": {
			&policyv1.ForeseeResponse{Refusal: refusal.LeaseRequired, Step: 2, MissingClass: semantic},
			refusal.LeaseRequired, 2, semantic,
		},
	} {
		p.say(tt.answer)
		for _, c := range calls {
			if c.name != name {
				continue
			}
			_, err := c.make(t.Context(), l)
			why := refusal.As(err)
			if why.Code != tt.code || why.Detail.GetStep() != tt.step || why.Detail.GetLeaseClass() != tt.class {
				t.Errorf("%s = %v, %v", name, why.Code, why.Detail)
			}
		}
	}
	p.say(&policyv1.AcquireResponse{Refusal: refusal.ApprovalRequired, PendingApprovalId: "q"})
	if resp, _ := l.Acquire(t.Context(), acquireRequest()); resp.GetPendingApprovalId() != "q" {
		t.Error("the question was lost")
	}
	p.say(&policyv1.ForeseeResponse{Refusal: refusal.StaleGeneration})
	if step, err := l.Foresee(t.Context(), steps(2)); step != 0 || refusal.As(err).Code != refusal.StaleGeneration {
		t.Errorf("Foresee = %d, %v", step, err)
	}
	p.say(&policyv1.ForeseeResponse{Refusal: refusal.BlockedURL, Step: 2})
	if step, err := l.Foresee(t.Context(), steps(2)); step != 2 || refusal.As(err).Code != refusal.BlockedURL {
		t.Errorf("Foresee = %d, %v", step, err)
	}
	if l.Degraded() {
		t.Error("a refusal degraded the link")
	}
}

func TestWhatIsAskedArrivesUnderTheFenceOfTheLink(t *testing.T) {
	p := newPolicy()
	l, _ := mustOpen(t, p)
	for _, c := range calls {
		p.say(c.yes)
		if _, err := c.make(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		p.mu.Lock()
		asked, _ := p.asked.(interface{ GetFence() *commonv1.Fence })
		if !proto.Equal(asked.GetFence(), fence()) {
			t.Errorf("%s under %v", c.name, asked.GetFence())
		}
		if r, ok := p.asked.(*policyv1.PermitRequest); ok && r.GetDestination() != "https://shop.example:443" {
			t.Errorf("a destination arrived as %q", r.GetDestination())
		}
		p.mu.Unlock()
	}
}

func TestCallThatFailedIsANo(t *testing.T) {
	for _, c := range calls {
		p := newPolicy()
		l, _ := mustOpen(t, p)
		late, cancel := context.WithCancel(t.Context())
		cancel()
		// Revoke is not given up with its caller.
		if used, err := c.make(late, l); c.name != "Revoke" && (refusal.As(err).Code != refusal.Timeout || used) {
			t.Errorf("%s of a caller that is gone = %v, used %v", c.name, err, used)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		<-l.Done()
		if used, err := c.make(t.Context(), l); refusal.As(err).Code != refusal.ServiceUnavailable || used {
			t.Errorf("%s on a link that ended = %v, used %v", c.name, err, used)
		}
		if l.Degraded() {
			t.Errorf("%s: a link that ended is degraded", c.name)
		}
	}
}
