package integration

import (
	"slices"
	"testing"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	"fairlead.dev/services/shared/permit"
	"fairlead.dev/services/shared/refusal"
	"fairlead.dev/test/harness"
)

const (
	metadata   = commonv1.LeaseClass_LEASE_CLASS_METADATA_READ
	screenshot = commonv1.LeaseClass_LEASE_CLASS_SCREENSHOT_READ
	pointer    = commonv1.LeaseClass_LEASE_CLASS_POINTER_MUTATION
	keyboard   = commonv1.LeaseClass_LEASE_CLASS_KEYBOARD_MUTATION
	semantic   = commonv1.LeaseClass_LEASE_CLASS_SEMANTIC_MUTATION

	allBundle       = "../testdata/bundles/all.cedar"
	sensitiveBundle = "../testdata/bundles/sensitive.cedar"
	lookBundle      = "../testdata/bundles/look.cedar"
)

// lookedAt is a session that may only read, with a frame.
func lookedAt(t *testing.T, s *harness.System, app, title string) *harness.Agent {
	t.Helper()
	a := s.AgentOf(t)
	harness.Refused(t, a.Acquire(metadata, harness.App(app)).GetRefusal(), 0)
	a.See(app, title)
	return a
}

func TestActWithoutALeaseNamesTheClassAndReturnsTheClaim(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	for _, tt := range []struct {
		name  string
		class commonv1.LeaseClass
		act   func(uint32) *commonv1.Act
		by    commonv1.VerificationMethod
	}{
		{"set_value", semantic, harness.Value("x"), valueReadback},
		{"type_text", keyboard, harness.Type("y", 0), textReadback},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := lookedAt(t, s, form, "Form")
			mark := s.Mark()
			send := func() *hostv1.ActResponse {
				req := on(a, tt.act(a.Element(isText, "Name").GetId()))
				req.ActId = "the same"
				r, err := a.Send(req)
				s.Must(err)
				return r
			}
			for range 2 {
				r := send()
				harness.NothingSent(t, r, refusal.LeaseRequired)
				if r.GetRefusal().GetDetail().GetLeaseClass() != tt.class || !r.GetRefusal().GetFrameStillCurrent() ||
					r.GetRefusal().GetClaimEnd() != commonv1.ClaimEnd_CLAIM_END_RETURNED {
					t.Errorf("%v", r.GetRefusal())
				}
			}
			s.Untouched(t, mark)
			harness.Refused(t, a.Acquire(tt.class, harness.App(form)).GetRefusal(), 0)
			// Its class alone is enough: typing has a route of its own (C7.5).
			r := send()
			harness.Verified(t, r, tt.by)
			if got := permit.RouteRuleOf(r.GetRoute()).GetClasses(); !slices.Contains(got, tt.class) {
				t.Errorf("it went by %v, a route of %v", r.GetRoute(), got)
			}
			s.Touched(t, mark, "Name")
		})
	}
}

func TestLeaseIsGivenByRuleOnly(t *testing.T) {
	for _, tt := range []struct {
		name, bundle string
		class        commonv1.LeaseClass
		target       *commonv1.Target
		want         refusal.Code
	}{
		{
			"the demo bundle lends no pointer", harness.Bundle,
			pointer, harness.App(form), refusal.PolicyForbidden,
		},
		{
			"an app that no rule names", harness.Bundle,
			metadata, harness.App("org.example.other"), refusal.PolicyForbidden,
		},
		{"the desk is for listing", harness.Bundle, screenshot, harness.Desk(), refusal.PolicyForbidden},
		{"a class that no rule names", lookBundle, semantic, harness.App(calculator), refusal.PolicyForbidden},
		{
			"a password manager, whatever the bundle says", allBundle,
			metadata, harness.App("org.keepassxc.KeePassXC"), refusal.SensitiveTarget,
		},
		{
			"a lock screen, whatever the bundle says", allBundle,
			semantic, harness.App("exe:/usr/bin/swaylock"), refusal.SensitiveTarget,
		},
		{
			"fairlead itself, whatever the bundle says", allBundle,
			semantic, harness.App("exe:/opt/fairlead/fairlead"), refusal.SensitiveTarget,
		},
		{
			"an app the system cannot name, whatever the bundle says", allBundle,
			metadata, harness.App("unknown"), refusal.PolicyForbidden,
		},
		{
			"an app the bundle calls sensitive", sensitiveBundle,
			metadata, harness.App(form), refusal.SensitiveTarget,
		},
		{"what a rule gives", harness.Bundle, semantic, harness.App(form), 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := harness.Start(t, harness.Options{Bundle: tt.bundle})
			r := s.AgentOf(t).Acquire(tt.class, tt.target)
			harness.Refused(t, r.GetRefusal(), tt.want)
			if (r.GetLease() != nil) != (tt.want == 0) {
				t.Errorf("lease %v", r.GetLease())
			}
		})
	}
}

func TestSensitiveAppIsRefusedOnEveryPath(t *testing.T) {
	s := harness.Start(t, harness.Options{Bundle: sensitiveBundle})
	a := s.Agent()
	harness.Refused(t, a.Acquire(metadata, harness.Desk()).GetRefusal(), 0)
	harness.Refused(t, a.Acquire(semantic, harness.App(calculator)).GetRefusal(), 0)
	for _, w := range a.Windows(form) {
		if w.GetTitle() != "" {
			t.Errorf("the title %q is shown", w.GetTitle())
		}
		r := a.Look(harness.OfWindow(w.GetWindow()))
		if r.GetObservation() != nil || r.GetRefusal() == nil {
			t.Errorf("observed: %v", r.GetRefusal())
		}
	}
	s.Must(s.Desk.Die(form))
	r := a.Do(harness.Launch(form))
	if r.GetOutcome() != commonv1.Outcome_OUTCOME_REFUSED || r.GetRefusal().GetCode() == 0 {
		t.Errorf("launched: %v", r)
	}
	s.Untouched(t, 0)
}

func TestLeaseOnAWindowCoversNoSibling(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	a := s.Agent()
	harness.Refused(t, a.Acquire(metadata, harness.Desk()).GetRefusal(), 0)
	both := a.Windows(form)
	if len(both) != 2 || both[0].GetTitle() != "" || both[1].GetTitle() != "" {
		t.Fatalf("%v", both)
	}
	id := s.Window("Log").ID
	log, sibling := both[0].GetWindow(), both[1].GetWindow()
	if log.GetWindowId() != id {
		log, sibling = sibling, log
	}
	target := harness.OneWindow(log)
	harness.Refused(t, a.Acquire(metadata, target).GetRefusal(), 0)
	harness.Refused(t, a.Acquire(semantic, target).GetRefusal(), 0)
	for _, w := range a.Windows(form) {
		if shown, want := w.GetTitle() != "", w.GetWindow().GetWindowId() == id; shown != want {
			t.Errorf("title %q of window %d", w.GetTitle(), w.GetWindow().GetWindowId())
		}
	}
	harness.Refused(t, a.Look(harness.OfWindow(sibling)).GetRefusal(), refusal.LeaseRequired)
	harness.Refused(t, a.Look(harness.OfWindow(log)).GetRefusal(), 0)
	for _, r := range a.Frame.GetRelated() {
		if r.GetTitle() != "" {
			t.Errorf("the sibling's title %q is shown", r.GetTitle())
		}
	}
	harness.Verified(t, a.Do(press(a, "Clear")), treeDelta)

	// With a lease to read the sibling, the one to act still names the other window.
	harness.Refused(t, a.Acquire(metadata, harness.OneWindow(sibling)).GetRefusal(), 0)
	harness.Refused(t, a.Look(harness.OfWindow(sibling)).GetRefusal(), 0)
	mark := s.Mark()
	harness.NothingSent(t, a.Do(press(a, "More")), refusal.LeaseRequired)
	s.Untouched(t, mark)
}

func TestTitlesAreShownForAppsTheSessionMayReadOnly(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	a := s.Agent()
	harness.Refused(t, a.Acquire(metadata, harness.App(calculator)).GetRefusal(), 0)
	seen := 0
	for _, w := range a.Windows("") {
		seen++
		if shown, want := w.GetTitle() != "" || w.GetBounds() != nil, w.GetWindow().GetAppId() == calculator; shown != want {
			t.Errorf("%s: title %q, bounds %v", w.GetWindow().GetAppId(), w.GetTitle(), w.GetBounds())
		}
	}
	if seen != 3 {
		t.Errorf("%d windows are listed", seen)
	}
	b := s.Agent()
	r, err := b.Observe.ListWindows(b.Context(), &hostv1.ListWindowsRequest{
		Fence: b.Fence, Session: b.Session, TurnId: b.Turn,
	})
	s.Must(err)
	harness.Refused(t, r.GetRefusal(), refusal.LeaseRequired)
	if len(r.GetWindows()) != 0 {
		t.Error("windows are listed without a lease")
	}
}

// How a lease ends; what it allowed is refused from then on.
func TestLeaseEnds(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	user := s.User()
	for _, tt := range []struct {
		name string
		end  func(t *testing.T, a *harness.Agent)
	}{
		{"at Release", func(t *testing.T, a *harness.Agent) {
			for _, l := range a.State().GetLeases() {
				if !a.GiveBack(l.GetLeaseId()) || a.GiveBack(l.GetLeaseId()) {
					t.Error("a lease is given back once")
				}
			}
		}},
		{"at EndTurn", func(_ *testing.T, a *harness.Agent) { a.EndTurn(); a.BeginTurn() }},
		{"at BeginTurn", func(_ *testing.T, a *harness.Agent) { a.BeginTurn() }},
		{"at Stop", func(_ *testing.T, a *harness.Agent) {
			user.Stop(a.Session.GetSessionId())
			user.Resume(a.Session.GetSessionId())
			a.Fence = a.State().GetFence()
			a.BeginTurn()
		}},
		{"at a policy restart", func(_ *testing.T, a *harness.Agent) {
			s.RestartPolicy()
			a.Fence = a.State().GetFence()
		}},
		{"at an executor restart", func(_ *testing.T, a *harness.Agent) {
			s.RestartExecutor()
			a.Fence = a.State().GetFence()
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := ready(t, s, calculator, "Calculator")
			window, mark := a.Frame.GetWindow(), s.Mark()
			tt.end(t, a)
			if got := a.State().GetLeases(); len(got) != 0 {
				t.Errorf("%d leases are left", len(got))
			}
			harness.Refused(t, a.Look(harness.OfWindow(window)).GetRefusal(), refusal.LeaseRequired)
			harness.Refused(t, a.Acquire(metadata, harness.App(calculator)).GetRefusal(), 0)
			harness.Refused(t, a.Look(harness.OfWindow(window)).GetRefusal(), 0)
			harness.NothingSent(t, a.Do(press(a, "7")), refusal.LeaseRequired)
			s.Untouched(t, mark)
			harness.Refused(t, a.Acquire(semantic, harness.App(calculator)).GetRefusal(), 0)
			harness.Verified(t, a.Do(press(a, "7")), treeDelta)
		})
	}
}

func TestLeaseOfOneSessionIsNoneOfAnother(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	a, b := ready(t, s, calculator, "Calculator"), lookedAt(t, s, calculator, "Calculator")
	harness.NothingSent(t, b.Do(press(b, "7")), refusal.LeaseRequired)
	if b.GiveBack(a.State().GetLeases()[0].GetLeaseId()) {
		t.Error("one session gave back another's lease")
	}
	harness.Verified(t, a.Do(press(a, "7")), treeDelta)
}
