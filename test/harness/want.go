package harness

import (
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	"fairlead.dev/services/shared/refusal"
)

// Refused fails the test unless the refusal has the code, its fixed sentence and its
// next move.
func Refused(tb testing.TB, r *commonv1.Refusal, want refusal.Code) {
	tb.Helper()
	if r.GetCode() != want {
		tb.Errorf("refused with %v (%v), want %v", r.GetCode(), r.GetDetail(), want)
		return
	}
	rule := refusal.Of(want)
	if want != 0 && (r.GetSentence() != rule.GetSentence() || r.GetNextMove() != rule.GetNextMove()) {
		tb.Errorf("%v: sentence %q, next move %v", want, r.GetSentence(), r.GetNextMove())
	}
}

// NothingSent fails the test unless the answer says that the act was refused with the
// code before anything was sent.
func NothingSent(tb testing.TB, r *hostv1.ActResponse, want refusal.Code) {
	tb.Helper()
	Refused(tb, r.GetRefusal(), want)
	if r.GetOutcome() != commonv1.Outcome_OUTCOME_REFUSED || r.GetRoute() != commonv1.Route_ROUTE_NONE ||
		r.GetVerified() || r.GetEffect() == commonv1.Effect_EFFECT_CONFIRMED {
		tb.Errorf("%v: outcome %v, route %v, effect %v, verified %v",
			want, r.GetOutcome(), r.GetRoute(), r.GetEffect(), r.GetVerified())
	}
}

// Verified fails the test unless the act was confirmed by the method and shown.
func Verified(tb testing.TB, r *hostv1.ActResponse, by commonv1.VerificationMethod) {
	tb.Helper()
	if r.GetRefusal() != nil || r.GetOutcome() != commonv1.Outcome_OUTCOME_OK || !r.GetVerified() ||
		r.GetEffect() != commonv1.Effect_EFFECT_CONFIRMED || r.GetVerification().GetMethod() != by {
		tb.Errorf("not verified by %v: outcome %v, effect %v, %v, verified %v, refusal %v", by, r.GetOutcome(),
			r.GetEffect(), r.GetVerification(), r.GetVerified(), r.GetRefusal().GetCode())
	}
}

// Unknown fails the test unless nobody knows whether the act happened.
func Unknown(tb testing.TB, r *hostv1.ActResponse) {
	tb.Helper()
	Refused(tb, r.GetRefusal(), refusal.OutcomeUnknown)
	if r.GetOutcome() != commonv1.Outcome_OUTCOME_UNKNOWN || r.GetVerified() ||
		r.GetEffect() == commonv1.Effect_EFFECT_CONFIRMED || r.GetRefusal().GetFrameStillCurrent() ||
		r.GetRefusal().GetClaimEnd() != commonv1.ClaimEnd_CLAIM_END_CONSUMED {
		tb.Errorf("outcome %v, effect %v, verified %v, %v", r.GetOutcome(), r.GetEffect(), r.GetVerified(), r.GetRefusal())
	}
}

// Status fails the test unless the error is a gRPC status of the code.
func Status(tb testing.TB, err error, want codes.Code) {
	tb.Helper()
	if got := status.Code(err); got != want {
		tb.Errorf("status %v (%v), want %v", got, err, want)
	}
}
