package executor

import (
	"testing"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/permit"
	"fairlead.dev/services/shared/refusal"
)

var launched = ident.Window{ID: 30, PID: 300, Start: 3, App: "exe:/new", Birth: 9}

// launchOrder resolves the app and makes a valid launch of it.
func (r *rig) launchOrder() (*executorv1.LaunchAppRequest, *commonv1.PermitClaims) {
	r.t.Helper()
	res, err := r.host.ResolveApp(r.ctx(), &executorv1.ResolveAppRequest{
		Fence: r.fence, SessionId: testSession, AppId: "exe:/new",
	})
	if err != nil || res.GetCode() != 0 {
		r.t.Fatalf("ResolveApp: %v %v", res.GetCode(), err)
	}
	act := &commonv1.Act{Act: &commonv1.Act_LaunchApp{LaunchApp: &commonv1.LaunchApp{AppId: "exe:/new"}}}
	digest := permit.ActDigest(r.actKey, &commonv1.BoundAct{
		Verb: commonv1.Verb_VERB_LAUNCH_APP, Arguments: permit.Arguments(act), Resolution: res.GetResolution(),
	})
	claims := &commonv1.PermitClaims{
		PermitId: randomID(), Kind: commonv1.PermitKind_PERMIT_KIND_ACT, SessionId: testSession, Incarnation: r.inc,
		Class:         commonv1.LeaseClass_LEASE_CLASS_SEMANTIC_MUTATION,
		ExpiresBootMs: r.millis(5e9), PolicyGeneration: 3, Verb: commonv1.Verb_VERB_LAUNCH_APP, AppId: "exe:/new",
		Routes:     []commonv1.Route{commonv1.Route_ROUTE_WINDOW_MANAGEMENT},
		SnapshotId: res.GetResolutionId(), ActDigest: digest[:],
	}
	return &executorv1.LaunchAppRequest{
		Fence: r.fence, SessionId: testSession, DispatchId: ident.New("d"), ResolutionId: res.GetResolutionId(),
		WaitMs: 200,
	}, claims
}

func (r *rig) launch(req *executorv1.LaunchAppRequest, c *commonv1.PermitClaims) *executorv1.LaunchAppResponse {
	r.t.Helper()
	req.Permit = permit.Sign(r.key, c)
	resp, err := r.host.LaunchApp(r.ctx(), req)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp
}

func opens(f *fake) {
	f.windows = append(f.windows, fakeWindow(launched, "New", Rect{0, 0, 10, 10}, 2))
	f.emit(Change{Kind: ChangeWindows, PID: launched.PID})
}

func TestLaunchIsConfirmedByItsWindowAndSpent(t *testing.T) {
	desk := newFake()
	desk.launch = opens
	r := ready(t, desk)
	req, claims := r.launchOrder()
	resp := r.launch(req, claims)
	if resp.GetOutcome() != commonv1.Outcome_OUTCOME_OK || resp.GetEffect() != commonv1.Effect_EFFECT_CONFIRMED ||
		resp.GetVerification().GetMethod() != byWindows || len(resp.GetWindowChanges()) != 1 {
		t.Fatalf("got %v", resp)
	}
	claims.PermitId = randomID()
	if got := r.launch(req, claims).GetCode(); got != refusal.AnswerSnapshotSpent {
		t.Fatal(got)
	}
	if len(desk.sent()) != 1 {
		t.Fatalf("%d launches", len(desk.sent()))
	}
}

func TestLaunchWithoutAWindowIsUnverifiable(t *testing.T) {
	r := ready(t, newFake())
	resp := r.launch(r.launchOrder())
	if resp.GetOutcome() != commonv1.Outcome_OUTCOME_OK || resp.GetEffect() != commonv1.Effect_EFFECT_UNVERIFIABLE {
		t.Fatalf("got %v", resp)
	}
}

func TestLaunchIsRefused(t *testing.T) {
	cases := []struct {
		name string
		bend func(*fake, *executorv1.LaunchAppRequest, *commonv1.PermitClaims)
		want refusal.Answer
	}{
		{"resolves to something else", func(f *fake, _ *executorv1.LaunchAppRequest, _ *commonv1.PermitClaims) {
			f.resolved.Executable = "/evil"
		}, refusal.AnswerResolutionChanged},
		{
			"gone", func(f *fake, _ *executorv1.LaunchAppRequest, _ *commonv1.PermitClaims) { f.resolved.AppID = "" },
			refusal.AnswerAppNotFound,
		},
		{
			"locked", func(f *fake, _ *executorv1.LaunchAppRequest, _ *commonv1.PermitClaims) { f.desk.Locked = true },
			refusal.AnswerScreenLocked,
		},
		{"unknown resolution", func(_ *fake, q *executorv1.LaunchAppRequest, _ *commonv1.PermitClaims) {
			q.ResolutionId = "r-never"
		}, refusal.AnswerSnapshotUnknown},
		{"permit for another app", func(_ *fake, _ *executorv1.LaunchAppRequest, c *commonv1.PermitClaims) {
			c.AppId = editor.App
		}, refusal.AnswerPermitMismatch},
		{"permit for a window", func(_ *fake, _ *executorv1.LaunchAppRequest, c *commonv1.PermitClaims) {
			c.Window = fromWindow(editor)
		}, refusal.AnswerPermitMismatch},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			desk := newFake()
			r := ready(t, desk)
			req, claims := r.launchOrder()
			desk.change(func(f *fake) { c.bend(f, req, claims) })
			resp := r.launch(req, claims)
			if resp.GetCode() != c.want || resp.GetOutcome() != commonv1.Outcome_OUTCOME_REFUSED {
				t.Fatalf("got %v, want %v", resp.GetCode(), c.want)
			}
			if len(desk.sent()) != 0 {
				t.Fatal("something was launched")
			}
		})
	}
}
