// Package integration runs whole acts through policy, host and executor core on the
// virtual desk: what is refused, by which code, and that nothing was touched.
package integration

import (
	"testing"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/test/harness"
)

func TestSevenTimesSixIsFortyTwo(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	a := s.Agent()
	a.AcquireAll(calculator)
	a.See(calculator, "Calculator")
	for _, key := range []string{"7", "×", "6", "="} {
		r := a.Do(harness.Click(a.Element(commonv1.Role_ROLE_BUTTON, key).GetId()))
		if r.GetOutcome() != commonv1.Outcome_OUTCOME_OK || r.GetObservation() == nil {
			t.Fatalf("press %s: %v", key, r)
		}
		t.Log(key, r.GetVerified(), r.GetEffect(), r.GetVerification(), r.GetDesk())
	}
	if !harness.Shows(a.Frame, "42") {
		t.Errorf("no 42 in\n%s", a.Frame.GetOutline())
	}
	t.Log(a.Frame.GetOutline())
}
