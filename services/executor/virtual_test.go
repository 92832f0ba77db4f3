package executor_test

import (
	"testing"
	"time"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
	"fairlead.dev/services/virtualdesk"
)

// The routes a permit of the virtual desk's verbs lists.
var routes = []commonv1.Route{
	commonv1.Route_ROUTE_ACCESSIBILITY_ACTION, commonv1.Route_ROUTE_ACCESSIBILITY_VALUE,
	commonv1.Route_ROUTE_ACCESSIBILITY_SELECTION, commonv1.Route_ROUTE_ACCESSIBILITY_TEXT,
}

func virtual(t testing.TB) (*virtualdesk.Desk, *executor.Rig) {
	t.Helper()
	desk, err := virtualdesk.New(virtualdesk.Config{Unresponsive: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = desk.Close() })
	return desk, executor.Ready(t, desk)
}

func titled(t testing.TB, d *virtualdesk.Desk, title string) ident.Window {
	t.Helper()
	w, err := d.Window(title)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func element(t testing.TB, s *executorv1.Snapshot, role commonv1.Role, name string) int {
	t.Helper()
	for i, el := range s.GetElements() {
		if el.GetRole() == role && el.GetName() == name {
			return i
		}
	}
	t.Fatalf("no %v named %q", role, name)
	return 0
}

func send(t testing.TB, r *executor.Rig, s *executorv1.Snapshot, i int, a *commonv1.Act) *executorv1.DispatchResponse {
	t.Helper()
	resp, err := r.Direct(r.Signed(s, i, a, routes...))
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func press() *commonv1.Act {
	return &commonv1.Act{Act: &commonv1.Act_ClickElement{ClickElement: &commonv1.ClickElement{ElementId: 1}}}
}

// Every verb of this part is confirmed on the virtual desk's own controls.
func TestVerbsOnTheVirtualDesk(t *testing.T) {
	set := func(v string) *commonv1.Act {
		return &commonv1.Act{Act: &commonv1.Act_SetValue{SetValue: &commonv1.SetValue{ElementId: 1, Value: v}}}
	}
	write := func(s string, m commonv1.TextMode) *commonv1.Act {
		return &commonv1.Act{Act: &commonv1.Act_TypeText{TypeText: &commonv1.TypeText{ElementId: 1, Text: s, Mode: m}}}
	}
	cases := []struct {
		role commonv1.Role
		name string
		act  *commonv1.Act
	}{
		{commonv1.Role_ROLE_CHECK_BOX, "Subscribe", press()},
		{commonv1.Role_ROLE_RADIO_BUTTON, "Pro", press()},
		{commonv1.Role_ROLE_TOGGLE_BUTTON, "Pinned", press()},
		{commonv1.Role_ROLE_LINK, "Help", press()},
		{commonv1.Role_ROLE_BUTTON, "More", press()},
		{commonv1.Role_ROLE_TEXT_FIELD, "Name", set("Ada")},
		{commonv1.Role_ROLE_SLIDER, "Volume", set("40")},
		{commonv1.Role_ROLE_TEXT_AREA, "Notes", write("one\ntwo", commonv1.TextMode_TEXT_MODE_APPEND)},
		{commonv1.Role_ROLE_SWITCH, "Notifications", &commonv1.Act{Act: &commonv1.Act_SetChecked{
			SetChecked: &commonv1.SetChecked{ElementId: 1, Checked: true},
		}}},
		{commonv1.Role_ROLE_DISCLOSURE, "Details", &commonv1.Act{Act: &commonv1.Act_SetExpanded{
			SetExpanded: &commonv1.SetExpanded{ElementId: 1, Expanded: true},
		}}},
		{commonv1.Role_ROLE_TEXT_FIELD, "Name", &commonv1.Act{Act: &commonv1.Act_FocusElement{
			FocusElement: &commonv1.FocusElement{ElementId: 1},
		}}},
		{commonv1.Role_ROLE_COMBO_BOX, "Color", &commonv1.Act{Act: &commonv1.Act_SelectOption{
			SelectOption: &commonv1.SelectOption{ElementId: 1, Option: "Blue"},
		}}},
		{commonv1.Role_ROLE_BUTTON, "More", &commonv1.Act{Act: &commonv1.Act_Perform{
			Perform: &commonv1.Perform{ElementId: 1, Action: commonv1.ElementAction_ELEMENT_ACTION_SHOW_MENU},
		}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			desk, r := virtual(t)
			form := titled(t, desk, "Form")
			snap := r.Snapshot(form)
			resp := send(t, r, snap, element(t, snap, c.role, c.name), c.act)
			if resp.GetOutcome() != commonv1.Outcome_OUTCOME_OK ||
				resp.GetEffect() != commonv1.Effect_EFFECT_CONFIRMED || resp.GetAfter() == nil {
				t.Fatalf("got %v %v %v by %v", resp.GetCode(), resp.GetOutcome(), resp.GetEffect(), resp.GetVerification())
			}
			if n := len(desk.Journal(form.ID)); n != 1 {
				t.Fatalf("%d events", n)
			}
			if d := resp.GetDesk(); d.GetFocus() != commonv1.DeskChange_DESK_CHANGE_UNCHANGED ||
				d.GetStacking() != commonv1.DeskChange_DESK_CHANGE_UNCHANGED {
				t.Fatalf("desk %v", d)
			}
		})
	}
}

func TestDelayedEffectOnTheVirtualDesk(t *testing.T) {
	desk, r := virtual(t)
	if err := desk.Delay(virtualdesk.FormID, 250*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	snap := r.Snapshot(titled(t, desk, "Form"))
	resp := send(t, r, snap, element(t, snap, commonv1.Role_ROLE_LINK, "Help"), press())
	if resp.GetEffect() != commonv1.Effect_EFFECT_CONFIRMED {
		t.Fatalf("got %v", resp.GetEffect())
	}
}

func TestFrozenAppOnTheVirtualDesk(t *testing.T) {
	desk, r := virtual(t)
	form := titled(t, desk, "Form")
	snap := r.Snapshot(form)
	help := element(t, snap, commonv1.Role_ROLE_LINK, "Help")
	if err := desk.Freeze(virtualdesk.FormID); err != nil {
		t.Fatal(err)
	}
	if got := send(t, r, snap, help, press()).GetCode(); got != refusal.AnswerTargetUnresponsive {
		t.Fatalf("frozen before the send: %v", got)
	}
	if err := desk.Thaw(virtualdesk.FormID); err != nil {
		t.Fatal(err)
	}
	if err := desk.FreezeNext(virtualdesk.FormID); err != nil {
		t.Fatal(err)
	}
	resp := send(t, r, snap, help, press())
	if resp.GetOutcome() != commonv1.Outcome_OUTCOME_UNKNOWN || !resp.GetMayStillHappen() || resp.GetAfter() != nil {
		t.Fatalf("frozen after the send: %v", resp.GetOutcome())
	}
	if err := desk.Thaw(virtualdesk.FormID); err != nil {
		t.Fatal(err)
	}
	if n := len(desk.Journal(form.ID)); n != 1 {
		t.Fatalf("%d events", n)
	}
	snap = r.Snapshot(form)
	if got := send(t, r, snap, help, press()).GetCode(); got != 0 {
		t.Fatalf("observed again: %v", got)
	}
}

func TestPictureOfTheVirtualDesk(t *testing.T) {
	desk, r := virtual(t)
	form := titled(t, desk, "Form")
	resp := r.TrySnapshot(form, r.Picture(form.App))
	p := resp.GetSnapshot().GetPicture()
	if p == nil || p.GetPaintedRegions() != 1 ||
		resp.GetSnapshot().GetRedaction() != commonv1.Redaction_REDACTION_PROVEN {
		t.Fatalf("got %v %v", resp.GetCode(), resp.GetSnapshot().GetPictureAbsence())
	}
	if err := desk.UnsettleCapture(form.ID, 2); err != nil {
		t.Fatal(err)
	}
	got := r.TrySnapshot(form, r.Picture(form.App)).GetSnapshot().GetPictureAbsence()
	if got != commonv1.PictureAbsence_PICTURE_ABSENCE_UNSETTLED {
		t.Fatalf("got %v", got)
	}
}

// benchmarkDispatch presses a button of a window with n elements, again and again,
// each time on the snapshot the press before returned; no gRPC.
func benchmarkDispatch(b *testing.B, n int) {
	desk, r := virtual(b)
	calc := titled(b, desk, "Calculator")
	name := "7"
	if n > 0 {
		name = "Item 0"
		if err := desk.Populate(calc.ID, n); err != nil {
			b.Fatal(err)
		}
	}
	first := r.TrySnapshot(calc, nil)
	snap := first.GetSnapshot()
	if snap == nil {
		b.Fatal(first.GetCode())
	}
	key := element(b, snap, commonv1.Role_ROLE_BUTTON, name)
	b.ReportMetric(float64(len(snap.GetElements())), "elements")
	b.ResetTimer()
	for range b.N {
		b.StopTimer()
		req := r.Signed(snap, key, press(), routes...)
		b.StartTimer()
		resp, err := r.Direct(req)
		if err != nil || resp.GetAfter() == nil {
			b.Fatalf("%v %v", err, resp.GetCode())
		}
		snap = resp.GetAfter()
	}
}

func BenchmarkDispatch(b *testing.B)     { benchmarkDispatch(b, 0) }
func BenchmarkDispatch1000(b *testing.B) { benchmarkDispatch(b, 1000) }
