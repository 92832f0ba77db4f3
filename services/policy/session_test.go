package policy

import (
	"testing"

	policyv1 "fairlead.dev/gen/fairlead/policy/v1"
	"fairlead.dev/services/shared/refusal"
)

// A session is one user's and one client's; what was said of it first cannot be said
// otherwise later (C1.5, C10.5).
func TestSessionBegunAgainWithOtherFactsIsRefused(t *testing.T) {
	b := newBench(t, permitAll)
	var first *policyv1.BeginSessionRequest
	b.begin(t, "s", func(r *policyv1.BeginSessionRequest) { first = r })
	for name, tt := range map[string]struct {
		bend func(*policyv1.BeginSessionRequest)
		want refusal.Code
	}{
		"the same":         {func(*policyv1.BeginSessionRequest) {}, 0},
		"another user":     {func(r *policyv1.BeginSessionRequest) { r.Uid++ }, refusal.InvalidBinding},
		"another client":   {func(r *policyv1.BeginSessionRequest) { r.ClientName += "x" }, refusal.InvalidBinding},
		"vision":           {func(r *policyv1.BeginSessionRequest) { r.Vision = !r.Vision }, refusal.InvalidBinding},
		"pictures go away": {func(r *policyv1.BeginSessionRequest) { r.RemotePictures = !r.RemotePictures }, refusal.InvalidBinding},
	} {
		req := &policyv1.BeginSessionRequest{
			SessionId: first.GetSessionId(), Uid: first.GetUid(), ClientName: first.GetClientName(),
			Vision: first.GetVision(), RemotePictures: first.GetRemotePictures(),
		}
		tt.bend(req)
		r, err := b.host.BeginSession(t.Context(), req)
		if err != nil || r.GetRefusal() != tt.want {
			t.Errorf("%s: %v, %v; want %v", name, r.GetRefusal(), err, tt.want)
		}
	}
}
