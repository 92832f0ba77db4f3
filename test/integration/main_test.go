package integration

import (
	"testing"

	"go.uber.org/goleak"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	"fairlead.dev/services/virtualdesk"
	"fairlead.dev/test/harness"
)

const (
	calculator = virtualdesk.CalculatorID
	form       = virtualdesk.FormID
	notes      = virtualdesk.NotesID
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ready opens a session with every lease of the demo bundle on an app, and observes
// one of its windows.
func ready(t *testing.T, s *harness.System, app, title string) *harness.Agent {
	t.Helper()
	a := s.AgentOf(t)
	a.AcquireAll(app)
	a.See(app, title)
	return a
}

// button returns the id of a button of the latest frame.
func button(a *harness.Agent, name string) uint32 {
	return a.Element(commonv1.Role_ROLE_BUTTON, name).GetId()
}

// press is a click on a button of the latest frame.
func press(a *harness.Agent, name string) *commonv1.Act { return harness.Click(button(a, name)) }

// on is an act request on the agent's latest frame.
func on(a *harness.Agent, act *commonv1.Act) *hostv1.ActRequest {
	return &hostv1.ActRequest{Frame: a.Frame.GetFrame(), Act: act}
}
