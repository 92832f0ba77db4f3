package executor

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
	"fairlead.dev/services/shared/permit"
)

// everyAct is one act of each verb.
func everyAct() []*commonv1.Act {
	return []*commonv1.Act{
		click(), setValue("7"), typeText("x", appends), paste("x"), pressKeys("ctrl+s", 3), holdKeys("a", 9),
		setChecked(true), clickPoint(), hoverPoint(), dragAct(), scrollPoint(), moveWindow(1, 2), resizeWindow(3, 4),
		minimizeWindow(), closeWindow(), invokeMenu("File"), navigate("https://a.example"), goBack(), reload(),
		{Act: &commonv1.Act_SelectText{SelectText: &commonv1.SelectText{Start: 1, Length: 1}}},
		{Act: &commonv1.Act_SelectOption{SelectOption: &commonv1.SelectOption{Option: "Blue"}}},
		{Act: &commonv1.Act_Perform{Perform: &commonv1.Perform{Action: 1}}},
		{Act: &commonv1.Act_ScrollElement{ScrollElement: &commonv1.ScrollElement{Direction: 1, Amount: 3}}},
		{Act: &commonv1.Act_SetExpanded{SetExpanded: &commonv1.SetExpanded{Expanded: true}}},
		{Act: &commonv1.Act_FocusElement{FocusElement: &commonv1.FocusElement{}}},
		{Act: &commonv1.Act_LaunchApp{LaunchApp: &commonv1.LaunchApp{AppId: "exe:/new"}}},
	}
}

func TestEveryVerbIsPlannedOrRefused(t *testing.T) {
	planned := map[commonv1.Verb]bool{}
	n := editorNodes()[nodeField]
	n.TakesNumber = false
	n.Actions = []commonv1.ElementAction{1}
	for _, act := range everyAct() {
		routes := []commonv1.Route{seat, semantic, textual, managing}
		_, a := plan(act, &n, true, routes)
		planned[permit.VerbOf(act)] = a == 0
	}
	for v := range commonv1.Verb_name {
		verb := commonv1.Verb(v)
		want := verb != commonv1.Verb_VERB_LAUNCH_APP
		if got, ok := planned[verb]; v != 0 && (!ok || got != want) {
			t.Errorf("%v: planned %v", verb, got)
		}
	}
}

// Whatever act comes, planning it neither panics nor finds a route that is not permitted
// or a way without one.
func FuzzPlan(f *testing.F) {
	for i, act := range everyAct() {
		b, err := proto.Marshal(act)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, uint8(i), i%2 == 0, []byte{2, 5, 9})
	}
	f.Fuzz(func(t *testing.T, act []byte, node uint8, owned bool, list []byte) {
		a := &commonv1.Act{}
		if proto.Unmarshal(act, a) != nil {
			return
		}
		var routes []commonv1.Route
		for _, r := range list {
			routes = append(routes, commonv1.Route(r))
		}
		nodes := editorNodes()
		p, answer := plan(a, &nodes[int(node)%len(nodes)], owned, routes)
		if answer != 0 {
			return
		}
		if len(p.ways) == 0 || len(p.ways) > 2 {
			t.Fatalf("%d ways", len(p.ways))
		}
		for _, w := range p.ways {
			own := p.routesFor(w)
			if len(own) == 0 {
				t.Fatal("a way without a route")
			}
			for _, r := range own {
				if !slices.Contains(routes, r) || !slices.Contains(permit.RouteRuleOf(r).GetClasses(), w.class()) {
					t.Fatalf("route %v of way %v", r, w)
				}
			}
		}
	})
}

// Whatever request comes with a signature of somebody else, or with none, nothing is sent.
func FuzzDispatch(f *testing.F) {
	desk := openFake()
	r := quiet(f, desk)
	seenNow, err := r.e.snapshot(f.Context(), &executorv1.SnapshotRequest{
		SessionId: testSession, Permit: r.read(forApp(editor.App)), Window: fromWindow(editor),
		Picture: &executorv1.PictureRequest{Permit: r.read(forPictures(editor.App))},
	})
	if err != nil {
		f.Fatal(err)
	}
	quoted, snap := seenNow.look, seenNow.wire
	for _, act := range everyAct() {
		for _, o := range []*order{
			r.order(snap, nodeField, act), r.onOwned(snap, nodeField, act), r.onPoints(snap, act, onButton, onRoot),
		} {
			o.req.Permit = o.sign(o.claims)
			o.req.Permit.Signature[0] ^= 1
			b, err := proto.Marshal(o.req)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		req := &executorv1.DispatchRequest{}
		if proto.Unmarshal(b, req) != nil {
			return
		}
		resp, err := r.e.dispatch(t.Context(), req)
		if err == nil && resp.GetOutcome() != commonv1.Outcome_OUTCOME_REFUSED {
			t.Fatalf("got %v", resp.GetOutcome())
		}
		// The same request under a good permit for what it says is bound or refused.
		d := &dispatch{
			e: r.e, s: r.e.state.sessions[testSession], req: req, verb: permit.VerbOf(req.GetAct()), look: quoted,
		}
		if d.bound() == 0 {
			_ = permit.ActDigest(r.actKey, d.derived().act)
			_ = d.aim()
		}
		if len(desk.sent()) != 0 || arrived(desk) != 0 || len(desk.managed) != 0 {
			t.Fatal("something was sent")
		}
	})
}
