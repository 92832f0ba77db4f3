package executor

import (
	"testing"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
	"fairlead.dev/services/executor/internal/readback"
)

// The debug socket shows structure, never content.
func TestDebugShowsNoContent(t *testing.T) {
	desk := newFake()
	r := ready(t, desk)
	d := &debugSocket{e: r.e}
	w, err := d.ListWindowIdentities(t.Context(), &executorv1.ListWindowIdentitiesRequest{})
	if err != nil || len(w.GetWindows()) != 2 {
		t.Fatalf("got %v %v", w, err)
	}
	roles, err := d.ReadRoles(t.Context(), &executorv1.ReadRolesRequest{WindowId: editor.ID})
	if err != nil || len(roles.GetElements()) != len(editorNodes()) {
		t.Fatalf("got %v %v", roles, err)
	}
	if got := roles.GetElements()[nodeRed]; got.GetDepth() != 2 || got.GetRole() != commonv1.Role_ROLE_OPTION {
		t.Fatalf("got %v", got)
	}
	if _, err := d.ReadRoles(t.Context(), &executorv1.ReadRolesRequest{WindowId: 99}); err == nil {
		t.Fatal("a window that is not there was read")
	}
}

// The readback's numbers are those of the wire; dispatch converts without a table.
func TestReadbackSpeaksTheWiresNumbers(t *testing.T) {
	methods := map[readback.Method]commonv1.VerificationMethod{
		readback.ActionResult:      commonv1.VerificationMethod_VERIFICATION_METHOD_ACTION_RESULT,
		readback.ValueReadback:     byValue,
		readback.TextReadback:      byText,
		readback.SelectionReadback: bySelect,
		readback.StateReadback:     byState,
		readback.TreeDelta:         byTree,
		readback.WindowSetChange:   byWindows,
	}
	for m, want := range methods {
		if commonv1.VerificationMethod(m) != want {
			t.Errorf("%v is not %v", m, want)
		}
	}
	if commonv1.Effect(readback.Confirmed) != commonv1.Effect_EFFECT_CONFIRMED ||
		commonv1.Effect(readback.Unverifiable) != commonv1.Effect_EFFECT_UNVERIFIABLE ||
		commonv1.Effect(readback.SuspectedNoop) != commonv1.Effect_EFFECT_SUSPECTED_NOOP {
		t.Error("effects differ")
	}
}
