package executor

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
	"fairlead.dev/services/shared/refusal"
)

const (
	byValue   = commonv1.VerificationMethod_VERIFICATION_METHOD_VALUE_READBACK
	byText    = commonv1.VerificationMethod_VERIFICATION_METHOD_TEXT_READBACK
	byState   = commonv1.VerificationMethod_VERIFICATION_METHOD_STATE_READBACK
	bySelect  = commonv1.VerificationMethod_VERIFICATION_METHOD_SELECTION_READBACK
	byTree    = commonv1.VerificationMethod_VERIFICATION_METHOD_TREE_DELTA
	byWindows = commonv1.VerificationMethod_VERIFICATION_METHOD_WINDOW_SET_CHANGE
)

func TestGoodActsAreConfirmed(t *testing.T) {
	replace := commonv1.TextMode_TEXT_MODE_REPLACE
	cases := []struct {
		name string
		node int
		act  *commonv1.Act
		by   commonv1.VerificationMethod
	}{
		{"click a button", nodeButton, click(), byTree},
		{"click a check box", nodeCheck, click(), byState},
		{"set a text", nodeField, setValue("new"), byValue},
		{"set a number", nodeSlider, setValue("7.0"), byValue},
		{"type over", nodeField, typeText("grüße", replace), byText},
		{"type on", nodeField, typeText(" and new", commonv1.TextMode_TEXT_MODE_APPEND), byText},
		{"check", nodeCheck, setChecked(true), byState},
		{"focus", nodeField, &commonv1.Act{Act: &commonv1.Act_FocusElement{
			FocusElement: &commonv1.FocusElement{ElementId: 1},
		}}, byState},
		{"select", nodeCombo, &commonv1.Act{Act: &commonv1.Act_SelectOption{
			SelectOption: &commonv1.SelectOption{ElementId: 1, Option: "Blue"},
		}}, bySelect},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			desk := newFake()
			r := ready(t, desk)
			snap := r.snapshot(editor)
			resp := r.act(snap, c.node, c.act)
			confirmed(t, resp, c.by)
			if len(desk.sent()) != 1 || resp.GetAfter() == nil || resp.GetFence().GetExecutor() != 9 {
				t.Fatalf("sent %d, after %v", len(desk.sent()), resp.GetAfter() != nil)
			}
			if resp.GetDesk().GetPointer() != commonv1.DeskChange_DESK_CHANGE_UNCHANGED {
				t.Fatalf("desk: %v", resp.GetDesk())
			}
			// The observation an act returns is a live snapshot (C7.3).
			r.act(resp.GetAfter(), nodeField, setValue("once more"))
			if len(desk.sent()) != 2 {
				t.Fatal("the snapshot after the act is not live")
			}
		})
	}
}

// What cannot be done is refused before anything is sent.
func TestActsThatAreNotOffered(t *testing.T) {
	double := click()
	double.GetClickElement().Count = 2
	right := click()
	right.GetClickElement().Button = commonv1.Button_BUTTON_RIGHT
	shift := click()
	shift.GetClickElement().Modifiers = []commonv1.Modifier{commonv1.Modifier_MODIFIER_SHIFT}
	raise := &commonv1.Act{Act: &commonv1.Act_Perform{Perform: &commonv1.Perform{
		ElementId: 1, Action: commonv1.ElementAction_ELEMENT_ACTION_OPEN,
	}}}
	cases := []struct {
		name string
		node int
		act  *commonv1.Act
		want refusal.Answer
	}{
		{"double click", nodeButton, double, refusal.AnswerNoPermittedRoute},
		{"right click", nodeButton, right, refusal.AnswerNoPermittedRoute},
		{"shift click", nodeButton, shift, refusal.AnswerNoPermittedRoute},
		{"press keys", nodeButton, &commonv1.Act{Act: &commonv1.Act_PressKeys{
			PressKeys: &commonv1.PressKeys{Keys: "a"},
		}}, refusal.AnswerNotSupported},
		{"close an element", nodeButton, &commonv1.Act{Act: &commonv1.Act_CloseWindow{
			CloseWindow: &commonv1.CloseWindow{},
		}}, refusal.AnswerElementUnknown},
		{"launch an element", nodeButton, &commonv1.Act{Act: &commonv1.Act_LaunchApp{
			LaunchApp: &commonv1.LaunchApp{AppId: "exe:/new"},
		}}, refusal.AnswerNotSupported},
		{"action not advertised", nodeButton, raise, refusal.AnswerElementNotActionable},
		{"not a number", nodeSlider, setValue("seven"), refusal.AnswerElementNotActionable},
		{"hexadecimal", nodeSlider, setValue("0x1p1"), refusal.AnswerElementNotActionable},
		{"infinite", nodeSlider, setValue("1e999"), refusal.AnswerElementNotActionable},
		{"out of range", nodeSlider, setValue("11"), refusal.AnswerElementNotActionable},
		{"value of a button", nodeButton, setValue("x"), refusal.AnswerElementNotActionable},
		{"typing into a button", nodeButton, typeText("x", 0), refusal.AnswerElementNotActionable},
		{"secure field", nodeSecret, setValue("x"), refusal.AnswerElementSecure},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			desk := newFake()
			r := ready(t, desk)
			refusedAs(t, r.act(r.snapshot(editor), c.node, c.act), c.want)
			if len(desk.sent()) != 0 {
				t.Fatal("something was sent")
			}
		})
	}
}

// Whatever happened since the snapshot is named, and nothing is sent (C6).
func TestTargetIsCheckedAgain(t *testing.T) {
	changed := func(p ...commonv1.ElementProperty) []commonv1.ElementProperty { return p }
	cases := []struct {
		name    string
		happens func(*fake)
		node    int
		act     *commonv1.Act
		want    refusal.Answer
		changed []commonv1.ElementProperty
	}{
		{
			"the user types", func(f *fake) { f.node("field").Value = "the user's" }, nodeField, setValue("x"),
			refusal.AnswerElementChanged, changed(commonv1.ElementProperty_ELEMENT_PROPERTY_VALUE),
		},
		{"the user toggles", func(f *fake) {
			f.node("check").States = f.node("check").States.With(commonv1.ElementState_ELEMENT_STATE_CHECKED)
		}, nodeCheck, click(), refusal.AnswerElementChanged, changed(commonv1.ElementProperty_ELEMENT_PROPERTY_STATE)},
		{
			"renamed", func(f *fake) { f.node("button").Name = "Delete" }, nodeButton, click(),
			refusal.AnswerElementDigestMismatch, changed(commonv1.ElementProperty_ELEMENT_PROPERTY_NAME),
		},
		{
			"becomes secure", func(f *fake) { f.node("field").Secure = true }, nodeField, setValue("x"),
			refusal.AnswerElementDigestMismatch, changed(commonv1.ElementProperty_ELEMENT_PROPERTY_SECURE),
		},
		{
			"disabled", func(f *fake) { f.node("button").States = 0 }, nodeButton, click(),
			refusal.AnswerElementDigestMismatch, changed(commonv1.ElementProperty_ELEMENT_PROPERTY_ENABLED),
		},
		{
			"actions", func(f *fake) { f.node("button").Actions = nil }, nodeButton, click(),
			refusal.AnswerElementDigestMismatch, changed(commonv1.ElementProperty_ELEMENT_PROPERTY_ACTIONS),
		},
		{
			"other renderer", func(f *fake) { f.node("button").Renderer = 4 }, nodeButton, click(),
			refusal.AnswerElementReleased, nil,
		},
		{"locked", func(f *fake) { f.desk.Locked = true }, nodeButton, click(), refusal.AnswerScreenLocked, nil},
		{"window gone", func(f *fake) { f.windows = f.windows[1:] }, nodeButton, click(), refusal.AnswerWindowGone, nil},
		{
			"process replaced", func(f *fake) { f.windows[0].Identity.Start++ }, nodeButton, click(),
			refusal.AnswerProcessReplaced, nil,
		},
		{
			"window replaced", func(f *fake) { f.windows[0].Identity.Birth++ }, nodeButton, click(),
			refusal.AnswerWindowChanged, nil,
		},
		{
			"page navigated", func(f *fake) { f.windows[0].Page.Document = "2" }, nodeButton, click(),
			refusal.AnswerPageChanged, nil,
		},
		{"modal dialog", func(f *fake) {
			w := fakeWindow(editor2, "Really?", Rect{700, 0, 100, 100}, 2)
			w.Dialog, w.Modal, w.Owner = true, true, editor.ID
			f.windows = append(f.windows, w)
		}, nodeButton, click(), refusal.AnswerWindowOccluded, nil},
		{"covered by its own app", func(f *fake) {
			f.windows = append(f.windows, fakeWindow(editor2, "Tools", Rect{100, 100, 100, 100}, 2))
		}, nodeButton, click(), refusal.AnswerWindowOccluded, nil},
		{"a popup opened", func(f *fake) {
			f.windows[0].Surfaces = append(f.windows[0].Surfaces, Surface{
				ID: 77, Kind: commonv1.SurfaceKind_SURFACE_KIND_POPUP, Bounds: Rect{100, 100, 200, 200}, Order: 1,
			})
		}, nodeButton, click(), refusal.AnswerSurfaceNotInFrame, nil},
		{"a sheet opened", func(f *fake) {
			f.windows[0].Surfaces = append(f.windows[0].Surfaces, Surface{
				ID: 78, Kind: commonv1.SurfaceKind_SURFACE_KIND_SHEET, Bounds: Rect{400, 350, 10, 10}, Order: 1,
			})
		}, nodeButton, click(), refusal.AnswerSurfaceNotInFrame, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			desk := newFake()
			r := ready(t, desk)
			snap := r.snapshot(editor)
			o := r.order(snap, c.node, c.act)
			desk.change(c.happens)
			resp := r.send(o)
			refusedAs(t, resp, c.want)
			if !slices.Equal(resp.GetDetail().GetChanged(), c.changed) || len(desk.sent()) != 0 {
				t.Fatalf("changed %v, sent %d", resp.GetDetail().GetChanged(), len(desk.sent()))
			}
		})
	}
}

// A change elsewhere, or of what does not count, refuses nothing (C6.3).
func TestUnrelatedChangesDoNotRefuse(t *testing.T) {
	cases := map[string]func(*fake){
		"elsewhere":    func(f *fake) { f.node("field").Value = "typed by the user" },
		"moved":        func(f *fake) { f.node("button").Bounds.X += 5 },
		"focused":      func(f *fake) { f.node("button").States = f.node("button").States.With(3) },
		"window moved": func(f *fake) { f.windows[0].Bounds.X++; f.windows[0].Surfaces[0].Bounds.X++ },
		"covered by else": func(f *fake) {
			f.windows[1].Bounds = Rect{0, 0, 900, 900}
			f.windows[1].Surfaces[0].Bounds = Rect{0, 0, 900, 900}
		},
		"a hidden dialog": func(f *fake) {
			w := fakeWindow(editor2, "Really?", Rect{700, 0, 100, 100}, 2)
			w.Dialog, w.Modal, w.Owner, w.Hidden = true, true, editor.ID, true
			f.windows = append(f.windows, w)
		},
		"a dialog of another window": func(f *fake) {
			id := editor2
			id.ID, id.Birth = id.ID+1, id.Birth+1
			w := fakeWindow(id, "Really?", Rect{700, 0, 100, 100}, 3)
			w.Dialog, w.Modal, w.Owner = true, true, editor2.ID
			f.windows = append(f.windows, fakeWindow(editor2, "Notes", Rect{700, 200, 100, 100}, 2), w)
		},
	}
	for name, happens := range cases {
		t.Run(name, func(t *testing.T) {
			desk := newFake()
			r := ready(t, desk)
			o := r.order(r.snapshot(editor), nodeButton, click())
			desk.change(happens)
			confirmed(t, r.send(o), byTree)
		})
	}
}

func TestEndStateActsDoNotCompareState(t *testing.T) {
	desk := newFake()
	r := ready(t, desk)
	o := r.order(r.snapshot(editor), nodeCheck, setChecked(true))
	desk.change(func(f *fake) {
		f.node("check").States = f.node("check").States.With(commonv1.ElementState_ELEMENT_STATE_CHECKED)
	})
	resp := r.send(o)
	confirmed(t, resp, byState)
	if resp.GetVerification().GetObservedChange() {
		t.Fatal("a state that held before did not change")
	}
}

// A refused dispatch spends neither permit nor snapshot (C6.5).
func TestRefusedDispatchDoesNotSpend(t *testing.T) {
	for name, refuse := range map[string]func(*fake) func(*fake){
		"by the check": func(f *fake) func(*fake) {
			f.node("field").Value = "the user's"
			return func(f *fake) { f.node("field").Value = "old" }
		},
		"by the platform after the check": func(f *fake) func(*fake) {
			f.deliver = func(Performance) Delivery { return Refused(refusal.AnswerNoPermittedRoute) }
			return func(f *fake) { f.deliver = nil }
		},
	} {
		t.Run(name, func(t *testing.T) {
			desk := newFake()
			r := ready(t, desk)
			o := r.order(r.snapshot(editor), nodeField, setValue("new"))
			var undo func(*fake)
			desk.change(func(f *fake) { undo = refuse(f) })
			if resp := r.send(o); resp.GetOutcome() != commonv1.Outcome_OUTCOME_REFUSED {
				t.Fatal(resp.GetOutcome())
			}
			desk.change(undo)
			confirmed(t, r.send(o), byValue)
		})
	}
}

func TestDoubleDispatchOfOnePermitSendsOnce(t *testing.T) {
	desk := newFake()
	r := ready(t, desk)
	o := r.order(r.snapshot(editor), nodeField, setValue("new"))
	o.req.Permit = o.sign(o.claims)
	var wg sync.WaitGroup
	got := make(chan *executorv1.DispatchResponse, 8)
	for i := range cap(got) {
		req := &executorv1.DispatchRequest{
			Fence: r.fence, SessionId: testSession, DispatchId: string(rune('a' + i)), SnapshotId: o.req.GetSnapshotId(),
			Token: o.req.GetToken(), Act: o.req.GetAct(), Permit: o.req.GetPermit(),
		}
		wg.Go(func() {
			resp, err := r.host.Dispatch(r.ctx(), req)
			if err != nil {
				t.Error(err)
				return
			}
			got <- resp
		})
	}
	wg.Wait()
	close(got)
	ok := 0
	for resp := range got {
		switch resp.GetCode() {
		case 0:
			ok++
		case refusal.AnswerPermitSpent, refusal.AnswerSnapshotSpent:
		default:
			t.Errorf("got %v", resp.GetCode())
		}
	}
	if ok != 1 || len(desk.sent()) != 1 {
		t.Fatalf("%d accepted, %d sent", ok, len(desk.sent()))
	}
}

func TestReferenceGoneIsRefetchedOnlyIfUnique(t *testing.T) {
	cases := []struct {
		name    string
		happens func(*fake)
		want    refusal.Answer
	}{
		{"replaced", func(f *fake) { f.node("button").Object = "button2" }, 0},
		{
			"replaced and moved", func(f *fake) { n := f.node("button"); n.Object, n.Bounds.X = "b2", 50 },
			refusal.AnswerElementReleased,
		},
		{
			"replaced and renamed", func(f *fake) { n := f.node("button"); n.Object, n.Name = "b2", "Delete" },
			refusal.AnswerElementReleased,
		},
		{"split", func(f *fake) {
			f.node("button").Object = "b2"
			twin := *f.node("b2")
			twin.Object = "b3"
			f.trees[editor.ID].Nodes = append(f.trees[editor.ID].Nodes, twin)
		}, refusal.AnswerElementAmbiguous},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			desk := newFake()
			r := ready(t, desk)
			o := r.order(r.snapshot(editor), nodeButton, click())
			desk.change(c.happens)
			resp := r.send(o)
			if c.want == 0 {
				confirmed(t, resp, byTree)
				return
			}
			refusedAs(t, resp, c.want)
			if len(desk.sent()) != 0 {
				t.Fatal("something was sent")
			}
		})
	}
}

func TestUnansweredSendIsUnknownAndClosesTheApp(t *testing.T) {
	desk := newFake()
	r := ready(t, desk)
	desk.change(func(f *fake) {
		f.deliver = func(p Performance) Delivery { return Delivery{Sent: Unanswered, Route: p.Routes[0]} }
	})
	resp := r.act(r.snapshot(editor), nodeButton, click())
	if resp.GetOutcome() != commonv1.Outcome_OUTCOME_UNKNOWN || resp.GetCode() != refusal.AnswerOutcomeUnknown ||
		!resp.GetMayStillHappen() || resp.GetEffect() == commonv1.Effect_EFFECT_CONFIRMED {
		t.Fatalf("got %v %v %v", resp.GetOutcome(), resp.GetCode(), resp.GetEffect())
	}
	desk.change(func(f *fake) { f.deliver = nil })
	refusedAs(t, r.act(resp.GetAfter(), nodeButton, click()), refusal.AnswerTargetUnresponsive)
	confirmed(t, r.act(r.snapshot(editor), nodeField, setValue("x")), byValue)
	if len(desk.sent()) != 2 {
		t.Fatalf("%d sent", len(desk.sent()))
	}
}

// What is seen after an act that nobody answered for proves nothing of that act: it may
// still happen, perhaps a second time (C7.2).
func TestUnansweredActIsNeverConfirmed(t *testing.T) {
	desk := newFake()
	r := ready(t, desk)
	desk.change(func(f *fake) {
		f.deliver = func(p Performance) Delivery {
			f.node("field").Value = p.Text
			return Delivery{Sent: Unanswered, Route: p.Routes[0]}
		}
	})
	resp := r.act(r.snapshot(editor), nodeField, setValue("new"))
	if resp.GetOutcome() != commonv1.Outcome_OUTCOME_UNKNOWN || resp.GetCode() != refusal.AnswerOutcomeUnknown ||
		resp.GetEffect() != commonv1.Effect_EFFECT_UNVERIFIABLE {
		t.Fatalf("got %v %v %v", resp.GetOutcome(), resp.GetCode(), resp.GetEffect())
	}
}

func TestDeclinedActFailedAndIsNeverConfirmed(t *testing.T) {
	desk := newFake()
	r := ready(t, desk)
	desk.change(func(f *fake) {
		f.deliver = func(p Performance) Delivery {
			f.node("field").Value = p.Text // It changed all the same; the app said no.
			return Delivery{Sent: Declined, Route: p.Routes[0]}
		}
	})
	snap := r.snapshot(editor)
	resp := r.act(snap, nodeField, setValue("new"))
	if resp.GetOutcome() != commonv1.Outcome_OUTCOME_FAILED || resp.GetCode() != refusal.AnswerDispatchRefused ||
		resp.GetEffect() != commonv1.Effect_EFFECT_UNVERIFIABLE {
		t.Fatalf("got %v %v %v", resp.GetOutcome(), resp.GetCode(), resp.GetEffect())
	}
	refusedAs(t, r.act(snap, nodeField, setValue("again")), refusal.AnswerSnapshotSpent)
}

func TestPartialTypingIsUnknownWithTheCount(t *testing.T) {
	for name, counted := range map[string]bool{"counted": true, "only read back": false} {
		t.Run(name, func(t *testing.T) {
			desk := newFake()
			r := ready(t, desk)
			desk.change(func(f *fake) {
				f.deliver = func(p Performance) Delivery {
					d := Delivery{Sent: Accepted, Route: p.Routes[0], Settled: true, Count: 11}
					if counted {
						d.Count = 4
					}
					return d
				}
				f.apply = func(_ *fake, p Performance, n *Node) { n.Value = p.Text[:4] }
			})
			resp := r.act(r.snapshot(editor), nodeField, typeText("hello world", 0))
			if resp.GetOutcome() != commonv1.Outcome_OUTCOME_UNKNOWN || resp.GetDeliveredCount() != 4 ||
				resp.GetEffect() == commonv1.Effect_EFFECT_CONFIRMED {
				t.Fatalf("got %v %d %v", resp.GetOutcome(), resp.GetDeliveredCount(), resp.GetEffect())
			}
		})
	}
}

func TestLongTextIsReadBackWhole(t *testing.T) {
	desk := newFake()
	r := ready(t, desk)
	confirmed(t, r.act(r.snapshot(editor), nodeField, typeText(strings.Repeat("é", 4000), 0)), byText)
}

func TestAcceptedWithoutEffectIsSuspected(t *testing.T) {
	for name, act := range map[string]struct {
		node int
		act  *commonv1.Act
	}{
		"press": {nodeButton, click()}, "toggle": {nodeCheck, click()}, "value": {nodeField, setValue("new")},
	} {
		t.Run(name, func(t *testing.T) {
			desk := newFake()
			desk.apply = nil
			r := ready(t, desk)
			resp := r.act(r.snapshot(editor), act.node, act.act)
			if resp.GetOutcome() != commonv1.Outcome_OUTCOME_OK ||
				resp.GetEffect() != commonv1.Effect_EFFECT_SUSPECTED_NOOP {
				t.Fatalf("got %v %v", resp.GetOutcome(), resp.GetEffect())
			}
		})
	}
}

// What cannot be read in full proves nothing.
func TestPressOnACutTreeIsUnverifiable(t *testing.T) {
	desk := newFake()
	desk.apply = nil
	desk.trees[editor.ID].Truncations = []Truncation{{Kind: commonv1.TruncationKind_TRUNCATION_KIND_TIME}}
	r := ready(t, desk)
	if e := r.act(r.snapshot(editor), nodeButton, click()).GetEffect(); e != commonv1.Effect_EFFECT_UNVERIFIABLE {
		t.Fatal(e)
	}
}

func TestLateEffectIsWaitedFor(t *testing.T) {
	desk := newFake()
	r := ready(t, desk)
	var timer *time.Timer
	desk.change(func(f *fake) {
		f.deliver = func(p Performance) Delivery {
			return Delivery{Sent: Accepted, Route: p.Routes[0], Count: len(p.Text)}
		}
		f.apply = func(f *fake, p Performance, _ *Node) {
			timer = time.AfterFunc(300*time.Millisecond, func() {
				f.change(func(f *fake) {
					f.node("field").Value = p.Text
					f.emit(Change{Kind: ChangeTree, PID: editor.PID})
				})
			})
		}
	})
	resp := r.act(r.snapshot(editor), nodeField, setValue("late"))
	timer.Stop()
	confirmed(t, resp, byValue)
}

func TestTargetClosedByTheAct(t *testing.T) {
	cases := []struct {
		name    string
		running bool
		want    commonv1.Outcome
		missing commonv1.ObservationMissing
	}{
		{
			"its process lives", true, commonv1.Outcome_OUTCOME_OK,
			commonv1.ObservationMissing_OBSERVATION_MISSING_TARGET_CLOSED,
		},
		{
			"its process died", false, commonv1.Outcome_OUTCOME_UNKNOWN,
			commonv1.ObservationMissing_OBSERVATION_MISSING_CAPTURE_FAILED,
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			desk := newFake()
			r := ready(t, desk)
			desk.change(func(f *fake) {
				f.apply = func(f *fake, _ Performance, _ *Node) { f.windows, f.apps[0].Running = f.windows[1:], c.running }
			})
			resp := r.act(r.snapshot(editor), nodeButton, click())
			if resp.GetOutcome() != c.want || resp.GetObservationMissing() != c.missing || resp.GetAfter() != nil {
				t.Fatalf("got %v %v", resp.GetOutcome(), resp.GetObservationMissing())
			}
			if c.running {
				confirmed(t, resp, byWindows)
			}
			if len(resp.GetWindowChanges()) != 1 {
				t.Fatalf("changes %v", resp.GetWindowChanges())
			}
		})
	}
}

func TestTargetMinimisedByTheAct(t *testing.T) {
	desk := newFake()
	r := ready(t, desk)
	desk.change(func(f *fake) { f.apply = func(f *fake, _ Performance, _ *Node) { f.windows[0].Hidden = true } })
	resp := r.act(r.snapshot(editor), nodeButton, click())
	if resp.GetObservationMissing() != commonv1.ObservationMissing_OBSERVATION_MISSING_TARGET_MINIMISED ||
		resp.GetOutcome() != commonv1.Outcome_OUTCOME_OK {
		t.Fatalf("got %v %v", resp.GetObservationMissing(), resp.GetOutcome())
	}
}

func TestObservationThatFailsMakesTheOutcomeUnknown(t *testing.T) {
	desk := newFake()
	r := ready(t, desk)
	desk.change(func(f *fake) {
		f.apply = func(f *fake, _ Performance, _ *Node) { f.treeErr = Fail(refusal.AnswerCaptureFailed) }
	})
	resp := r.act(r.snapshot(editor), nodeButton, click())
	if resp.GetOutcome() != commonv1.Outcome_OUTCOME_UNKNOWN || resp.GetCode() != refusal.AnswerOutcomeUnknown ||
		resp.GetEffect() != commonv1.Effect_EFFECT_UNVERIFIABLE {
		t.Fatalf("got %v %v %v", resp.GetOutcome(), resp.GetCode(), resp.GetEffect())
	}
}

func TestDeskIsReported(t *testing.T) {
	act, user := commonv1.DeskChange_DESK_CHANGE_BY_ACT, commonv1.DeskChange_DESK_CHANGE_BY_USER
	for name, want := range map[string]commonv1.DeskChange{"by the act": act, "by the user": user} {
		t.Run(name, func(t *testing.T) {
			desk := newFake()
			r := ready(t, desk)
			desk.change(func(f *fake) {
				f.apply = func(f *fake, _ Performance, n *Node) {
					n.Description = "pressed"
					f.desk.Focus, f.desk.Active, f.desk.Stacking = 10, 10, []uint64{20, 10}
					if want == user {
						f.desk.Input++
					}
				}
			})
			d := r.act(r.snapshot(editor), nodeButton, click()).GetDesk()
			if d.GetFocus() != want || d.GetActive() != want || d.GetStacking() != want ||
				d.GetPointer() != commonv1.DeskChange_DESK_CHANGE_UNCHANGED ||
				d.GetGrabs() != commonv1.DeskChange_DESK_CHANGE_UNSPECIFIED {
				t.Fatalf("got %v", d)
			}
		})
	}
}

func TestCancelBeforeTheSendAborts(t *testing.T) {
	desk := newFake()
	r := ready(t, desk)
	reached, goOn := make(chan struct{}), make(chan struct{})
	desk.beforeCheck = func() { close(reached); <-goOn }
	o := r.order(r.snapshot(editor), nodeField, setValue("new"))
	got := make(chan *executorv1.DispatchResponse, 1)
	go func() { got <- r.send(o) }()
	<-reached
	c, err := r.host.Cancel(r.ctx(), &executorv1.CancelRequest{SessionId: testSession, DispatchId: o.req.GetDispatchId()})
	if err != nil || !c.GetRunning() {
		t.Fatalf("Cancel: %v %v", c.GetRunning(), err)
	}
	close(goOn)
	refusedAs(t, <-got, refusal.AnswerAborted)
	if len(desk.sent()) != 0 {
		t.Fatal("something was sent")
	}
	c, err = r.host.Cancel(r.ctx(), &executorv1.CancelRequest{SessionId: testSession, DispatchId: o.req.GetDispatchId()})
	if err != nil || c.GetRunning() {
		t.Fatal("a dispatch that ended is not running")
	}
	desk.change(func(f *fake) { f.beforeCheck = nil })
	o.req.DispatchId = "another"
	confirmed(t, r.send(o), byValue)
}

func TestCancelThatOvertakesItsDispatchAborts(t *testing.T) {
	desk := newFake()
	r := ready(t, desk)
	o := r.order(r.snapshot(editor), nodeField, setValue("new"))
	c, err := r.host.Cancel(r.ctx(), &executorv1.CancelRequest{SessionId: testSession, DispatchId: o.req.GetDispatchId()})
	if err != nil || c.GetRunning() {
		t.Fatalf("Cancel: %v %v", c.GetRunning(), err)
	}
	refusedAs(t, r.send(o), refusal.AnswerAborted)
	if len(desk.sent()) != 0 {
		t.Fatal("something was sent")
	}
	o.req.DispatchId = "another"
	confirmed(t, r.send(o), byValue)
}

func TestVanishedCallerDoesNotAbandonADispatch(t *testing.T) {
	desk := newFake()
	r := ready(t, desk)
	reached, goOn := make(chan struct{}), make(chan struct{})
	desk.beforeCheck = func() { close(reached); <-goOn }
	snap := r.snapshot(editor)
	o := r.order(snap, nodeField, setValue("new"))
	o.req.Permit = o.sign(o.claims)
	ctx, cancel := contextWithCancel(t)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = r.host.Dispatch(ctx, o.req)
	}()
	<-reached
	cancel()
	<-gone
	close(goOn)
	for range 200 {
		if len(desk.sent()) == 1 {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	desk.change(func(f *fake) { f.beforeCheck = nil })
	o.req.DispatchId = "again"
	if c := r.send(o).GetCode(); c != refusal.AnswerPermitSpent || len(desk.sent()) != 1 {
		t.Fatalf("got %v, sent %d", c, len(desk.sent()))
	}
}

func TestTokensOfOtherSnapshotsMeanNothing(t *testing.T) {
	desk := newFake()
	r := ready(t, desk)
	first, second := r.snapshot(other), r.snapshot(editor)
	o := r.order(second, nodeButton, click())
	o.req.Token = first.GetTokens()[16:32]
	refusedAs(t, r.send(o), refusal.AnswerElementUnknown)
}

// A stop after the send withholds the observation and changes nothing about the outcome (C12.6).
func TestStopAfterTheSendIsToldTruthfully(t *testing.T) {
	desk := newFake()
	r := ready(t, desk)
	desk.change(func(f *fake) {
		f.apply = func(*fake, Performance, *Node) { r.e.endSession(testSession) }
	})
	resp := r.act(r.snapshot(editor), nodeButton, click())
	if resp.GetOutcome() != commonv1.Outcome_OUTCOME_OK || resp.GetAfter() != nil ||
		resp.GetObservationMissing() != commonv1.ObservationMissing_OBSERVATION_MISSING_STOPPED ||
		resp.GetEffect() != commonv1.Effect_EFFECT_UNVERIFIABLE {
		t.Fatalf("got %v %v %v", resp.GetOutcome(), resp.GetObservationMissing(), resp.GetEffect())
	}
}
