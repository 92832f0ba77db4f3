package hostile

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/virtualdesk"
	"fairlead.dev/test/harness"
)

const calculator = virtualdesk.CalculatorID

func TestMain(m *testing.M) {
	if os.Getenv(strangerVariable) != "" {
		os.Exit(beStranger())
	}
	goleak.VerifyTestMain(m)
}

// works fails the test unless a normal act works now.
func works(t *testing.T, s *harness.System) {
	t.Helper()
	a := s.AgentOf(t)
	a.AcquireAll(calculator)
	a.See(calculator, "Calculator")
	mark := s.Mark()
	r := a.Do(harness.Click(a.Element(commonv1.Role_ROLE_BUTTON, "7").GetId()))
	harness.Verified(t, r, commonv1.VerificationMethod_VERIFICATION_METHOD_TREE_DELTA)
	s.Touched(t, mark, "7")
	a.EndSession()
}
