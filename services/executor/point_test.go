package executor

import (
	"math"
	"slices"
	"testing"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
	"fairlead.dev/services/shared/refusal"
)

func clickPoint() *commonv1.Act {
	return &commonv1.Act{Act: &commonv1.Act_ClickPoint{ClickPoint: &commonv1.ClickPoint{}}}
}

func hoverPoint() *commonv1.Act {
	return &commonv1.Act{Act: &commonv1.Act_HoverPoint{HoverPoint: &commonv1.HoverPoint{}}}
}

func dragAct() *commonv1.Act {
	return &commonv1.Act{Act: &commonv1.Act_Drag{Drag: &commonv1.Drag{}}}
}

func scrollPoint() *commonv1.Act {
	return &commonv1.Act{Act: &commonv1.Act_ScrollPoint{ScrollPoint: &commonv1.ScrollPoint{
		Direction: commonv1.Direction_DIRECTION_DOWN, Amount: 5,
	}}}
}

// Points of the fake's editor.
var (
	onButton = Point{50.5, 25.5}
	onSlider = Point{20.5, 130.5}
	onSecret = Point{50.5, 160.5}
	onRoot   = Point{300.5, 250.5}
)

func relabel(f *fake, _ Input) { f.node("button").Description = "pressed" }

func arrived(f *fake) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.inputs)
}

func TestPointActsAreConfirmedByWhatChanged(t *testing.T) {
	opens := func(f *fake, _ Input) {
		f.windows = append(f.windows, fakeWindow(editor2, "New", Rect{600, 0, 50, 50}, 2))
	}
	popup := func(f *fake, _ Input) {
		f.windows[0].Surfaces = append(f.windows[0].Surfaces, Surface{
			ID: 77, Kind: commonv1.SurfaceKind_SURFACE_KIND_MENU, Bounds: Rect{500, 300, 50, 50}, Order: 1,
		})
	}
	right := clickPoint()
	right.GetClickPoint().Button = commonv1.Button_BUTTON_RIGHT
	middle := clickPoint()
	middle.GetClickPoint().Button = commonv1.Button_BUTTON_MIDDLE
	slide := func(f *fake, _ Input) { f.node("slider").Value = "8" }
	unsure, noop := commonv1.Effect_EFFECT_UNVERIFIABLE, commonv1.Effect_EFFECT_SUSPECTED_NOOP
	good := commonv1.Effect_EFFECT_CONFIRMED
	const byNothing = commonv1.VerificationMethod_VERIFICATION_METHOD_ACTION_RESULT
	cases := []struct {
		name   string
		act    *commonv1.Act
		at     []Point
		does   func(*fake, Input)
		effect commonv1.Effect
		by     commonv1.VerificationMethod
	}{
		{"click", clickPoint(), []Point{onButton}, relabel, good, byTree},
		{"click opens a window", clickPoint(), []Point{onButton}, opens, good, byWindows},
		{"click without effect", clickPoint(), []Point{onButton}, nil, noop, byTree},
		{"right click opens a menu", right, []Point{onButton}, popup, good, byWindows},
		{"middle click opens a window", middle, []Point{onButton}, opens, noop, byTree},
		{"middle click", middle, []Point{onButton}, relabel, good, byTree},
		{"hover", hoverPoint(), []Point{onButton}, relabel, good, byTree},
		{"hover without effect", hoverPoint(), []Point{onButton}, nil, unsure, byNothing},
		{"scroll", scrollPoint(), []Point{onRoot}, relabel, good, byTree},
		{"scroll at the end", scrollPoint(), []Point{onRoot}, nil, noop, byTree},
		{"drag", dragAct(), []Point{onRoot, onButton}, relabel, good, byTree},
		{"drag opens a window", dragAct(), []Point{onRoot, onButton}, opens, noop, byTree},
		{"drag a slider", dragAct(), []Point{onSlider, onRoot}, slide, good, byValue},
		{"drag a slider without effect", dragAct(), []Point{onSlider, onRoot}, relabel, noop, byValue},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			desk := openFake()
			desk.point = c.does
			r := ready(t, desk)
			resp := r.send(r.onPoints(r.picture(nil), c.act, c.at...))
			if resp.GetOutcome() != commonv1.Outcome_OUTCOME_OK || resp.GetEffect() != c.effect ||
				resp.GetVerification().GetMethod() != c.by || resp.GetRoute() != seat || resp.GetAfter() == nil {
				t.Fatalf("got %v %v %v by %v", resp.GetCode(), resp.GetOutcome(), resp.GetEffect(), resp.GetVerification())
			}
			if arrived(desk) != 1 || len(desk.inputs[0].Points) != len(c.at) || desk.inputs[0].Points[0].X != c.at[0].X {
				t.Fatalf("sent %+v", desk.inputs)
			}
		})
	}
}

// A click arrives as it was asked for.
func TestPointerArguments(t *testing.T) {
	desk := openFake()
	r := ready(t, desk)
	act := clickPoint()
	act.GetClickPoint().Button, act.GetClickPoint().Count = commonv1.Button_BUTTON_RIGHT, 2
	act.GetClickPoint().Modifiers = []commonv1.Modifier{commonv1.Modifier_MODIFIER_SHIFT}
	r.send(r.onPoints(r.picture(nil), act, onButton).by(semantic, seat))
	r.send(r.onPoints(r.picture(nil), clickPoint(), onButton))
	r.send(r.onPoints(r.picture(nil), scrollPoint(), onButton))
	a, b, c := desk.inputs[0], desk.inputs[1], desk.inputs[2]
	if a.Button != commonv1.Button_BUTTON_RIGHT || a.Count != 2 || len(a.Modifiers) != 1 || a.Window != editor ||
		!slices.Equal(a.Routes, []commonv1.Route{seat}) {
		t.Errorf("got %+v", a)
	}
	if b.Button != commonv1.Button_BUTTON_LEFT || b.Count != 1 || b.Modifiers != nil {
		t.Errorf("got %+v", b)
	}
	if c.Direction != commonv1.Direction_DIRECTION_DOWN || c.Amount != 5 {
		t.Errorf("got %+v", c)
	}
}

// Everything that may differ at the point since the picture was taken is named, and
// nothing is sent (C6.1). What is refused spends nothing.
func TestPointIsCheckedAgain(t *testing.T) {
	popup := Surface{
		ID: 77, Kind: commonv1.SurfaceKind_SURFACE_KIND_POPUP, Bounds: Rect{100, 100, 300, 200}, Order: 1,
	}
	sees := func(bend func(*Under)) func(*fake) {
		return func(f *fake) { f.under = func(_ int, u *Under) { bend(u) } }
	}
	cases := []struct {
		name    string
		happens func(*fake)
		want    refusal.Answer
	}{
		{"window gone", func(f *fake) { f.windows = f.windows[1:] }, refusal.AnswerWindowGone},
		{"window replaced", func(f *fake) { f.windows[0].Identity.Birth++ }, refusal.AnswerWindowChanged},
		{"process replaced", func(f *fake) { f.windows[0].Identity.PID++ }, refusal.AnswerProcessReplaced},
		{"page", func(f *fake) { f.windows[0].Page.Document = "2" }, refusal.AnswerPageChanged},
		{"locked", func(f *fake) { f.desk.Locked = true }, refusal.AnswerScreenLocked},
		{"hidden", func(f *fake) { f.windows[0].Hidden = true }, refusal.AnswerWindowHidden},
		{"moved", func(f *fake) { f.windows[0].Bounds.X++ }, refusal.AnswerWindowChanged},
		{"resized", func(f *fake) { f.windows[0].Bounds.W++ }, refusal.AnswerWindowChanged},
		{"rescaled", func(f *fake) { f.windows[0].Scale = 2 }, refusal.AnswerWindowChanged},
		{
			"its surface moved", func(f *fake) {
				f.windows[0].Surfaces = []Surface{{ID: editor.ID, Bounds: Rect{101, 100, 400, 300}}}
			},
			refusal.AnswerWindowChanged,
		},
		{
			"its surface is gone", func(f *fake) { f.windows[0].Surfaces = []Surface{popup} },
			refusal.AnswerWindowChanged,
		},
		{"its surface moved, and the platform does not tell", func(f *fake) {
			f.windows[0].Surfaces = []Surface{{ID: editor.ID, Bounds: Rect{101, 100, 400, 300}}}
			f.under = func(_ int, u *Under) { u.Bounds = Rect{} }
		}, refusal.AnswerWindowChanged},
		{"moved in the same step", sees(func(u *Under) { u.Bounds.X++ }), refusal.AnswerWindowChanged},
		{"modal dialog", func(f *fake) {
			w := fakeWindow(editor2, "Really?", Rect{700, 0, 100, 100}, 2)
			w.Dialog, w.Modal, w.Owner = true, true, editor.ID
			f.windows = append(f.windows, w)
		}, refusal.AnswerWindowOccluded},
		{"covered by another app", func(f *fake) {
			f.windows[1].Surfaces = []Surface{{ID: other.ID, Bounds: Rect{0, 0, 900, 900}}}
		}, refusal.AnswerWindowOccluded},
		{"covered by its own app", func(f *fake) {
			f.windows = append(f.windows, fakeWindow(editor2, "Tools", Rect{100, 100, 300, 300}, 2))
		}, refusal.AnswerWindowOccluded},
		{"covered by a surface it showed", sees(func(u *Under) { u.Surface = 10_001 }), refusal.AnswerWindowOccluded},
		{"a popup opened", func(f *fake) {
			f.windows[0].Surfaces = append(slices.Clone(f.windows[0].Surfaces), popup)
		}, refusal.AnswerSurfaceNotInFrame},
		{"a popup opened in the same step", sees(func(u *Under) { u.Surface = 77 }), refusal.AnswerSurfaceNotInFrame},
		{"nothing there", sees(func(u *Under) { u.Surface = 0 }), refusal.AnswerInvalidPoint},
		{"no element", sees(func(u *Under) { u.HasNode = false }), refusal.AnswerElementReleased},
		{"another element", sees(func(u *Under) { u.Node.Object = "twin" }), refusal.AnswerElementReleased},
		{"what lies under it", sees(func(u *Under) { u.Node = editorNodes()[nodeRoot] }), refusal.AnswerElementReleased},
		{"another renderer", sees(func(u *Under) { u.Node.Renderer = 3 }), refusal.AnswerElementReleased},
		{"renamed", func(f *fake) { f.node("button").Name = "Delete" }, refusal.AnswerElementDigestMismatch},
		{"disabled", func(f *fake) { f.node("button").States = 0 }, refusal.AnswerElementDigestMismatch},
		{"secure", func(f *fake) { f.node("button").Secure = true }, refusal.AnswerElementSecure},
		{"input", func(f *fake) {
			f.onPart = func(f *fake, _ int) { f.emit(Change{Kind: ChangeInput, Window: editor}) }
		}, refusal.AnswerPhysicalInputActive},
	}
	for _, c := range cases {
		for _, act := range []*commonv1.Act{clickPoint(), hoverPoint(), scrollPoint()} {
			t.Run(c.name, func(t *testing.T) {
				desk := openFake()
				tooltip := Surface{ID: 10_001, Kind: commonv1.SurfaceKind_SURFACE_KIND_TOOLTIP, Bounds: Rect{900, 0, 9, 9}}
				desk.windows[0].Surfaces = append(desk.windows[0].Surfaces, tooltip)
				r := ready(t, desk)
				o := r.onPoints(r.picture(nil), act, onButton)
				before := slices.Clone(desk.windows)
				desk.change(c.happens)
				resp := r.send(o)
				refusedAs(t, resp, c.want)
				if c.want == refusal.AnswerElementDigestMismatch && len(resp.GetDetail().GetChanged()) != 1 {
					t.Errorf("changed %v", resp.GetDetail().GetChanged())
				}
				if arrived(desk) != 0 {
					t.Fatal("something was sent")
				}
				desk.change(func(f *fake) {
					f.windows, f.under, f.onPart, f.desk.Locked = before, nil, nil, false
					*f.node("button") = editorNodes()[nodeButton]
				})
				if resp := r.send(o); resp.GetOutcome() != commonv1.Outcome_OUTCOME_OK || arrived(desk) != 1 {
					t.Fatalf("what was refused was spent: %v", resp.GetCode())
				}
			})
		}
	}
}

// A window of another app somewhere else, or a change elsewhere, refuses nothing (C6.3).
func TestPointIgnoresWhatIsElsewhere(t *testing.T) {
	desk := openFake()
	desk.point = relabel
	r := ready(t, desk)
	o := r.onPoints(r.picture(nil), clickPoint(), onButton)
	desk.change(func(f *fake) {
		f.node("field").Value = "the user's"
		f.windows[1].Bounds.X = 700
		f.dot = image7
	})
	confirmed(t, r.send(o), byTree)
}

// Points lie inside surfaces of the quoted snapshot, which carries a picture (C6.1, C3.3).
func TestPointsAreBoundInsideTheFrame(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	many := slices.Repeat([]Point{onRoot}, 65)
	cases := []struct {
		name string
		act  *commonv1.Act
		at   []Point
		bend func(*order)
		want refusal.Answer
	}{
		{"none", clickPoint(), nil, nil, refusal.AnswerInvalidPoint},
		{"two for a click", clickPoint(), []Point{onButton, onButton}, nil, refusal.AnswerInvalidPoint},
		{"one for a drag", dragAct(), []Point{onButton}, nil, refusal.AnswerInvalidPoint},
		{"too many", dragAct(), many, nil, refusal.AnswerInvalidPoint},
		{"left", clickPoint(), []Point{{-0.1, 5}}, nil, refusal.AnswerInvalidPoint},
		{"above", clickPoint(), []Point{{5, -0.1}}, nil, refusal.AnswerInvalidPoint},
		{"right", clickPoint(), []Point{{400, 5}}, nil, refusal.AnswerInvalidPoint},
		{"below", clickPoint(), []Point{{5, 300}}, nil, refusal.AnswerInvalidPoint},
		{"not a number", clickPoint(), []Point{{nan, 5}}, nil, refusal.AnswerInvalidPoint},
		{"infinite", clickPoint(), []Point{{5, inf}}, nil, refusal.AnswerInvalidPoint},
		{"end of a drag", dragAct(), []Point{onButton, {500, 5}}, nil, refusal.AnswerInvalidPoint},
		{"middle of a drag", dragAct(), []Point{onButton, {500, 5}, onRoot}, nil, refusal.AnswerInvalidPoint},
		{"another window", clickPoint(), []Point{onButton}, func(o *order) {
			o.req.Points[0].SurfaceId = other.ID
		}, refusal.AnswerSurfaceNotInFrame},
		{"no place", clickPoint(), []Point{onButton}, func(o *order) {
			o.req.Points[0].Point = nil
		}, refusal.AnswerInvalidPoint},
		{"secure", clickPoint(), []Point{onSecret}, nil, refusal.AnswerElementSecure},
		{"a token", clickPoint(), []Point{onButton}, func(o *order) {
			o.req.Token = make([]byte, 16)
		}, refusal.AnswerElementUnknown},
		{"owned", clickPoint(), []Point{onButton}, func(o *order) {
			o.req.Owned, o.bound.Owned = true, true
		}, refusal.AnswerNotSupported},
		{"semantic routes only", clickPoint(), []Point{onButton}, func(o *order) {
			o.by(semantic, textual, managing, dom)
		}, refusal.AnswerNoPermittedRoute},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			desk := openFake()
			r := ready(t, desk)
			o := r.onPoints(r.picture(nil), c.act, c.at...)
			if c.bend != nil {
				c.bend(o)
				r.seal(o)
			}
			o.req.Permit = o.sign(o.claims)
			resp, err := r.e.dispatch(r.ctx(), o.req)
			if err != nil {
				t.Fatal(err)
			}
			refusedAs(t, resp, c.want)
			if arrived(desk) != 0 {
				t.Fatal("something was sent")
			}
		})
	}
	t.Run("secure, before the desktop is asked", func(t *testing.T) {
		desk := openFake()
		r := ready(t, desk)
		o := r.onPoints(r.picture(nil), clickPoint(), onSecret)
		desk.change(func(f *fake) { f.windows[0].Hidden = true })
		refusedAs(t, r.send(o), refusal.AnswerElementSecure)
	})
	t.Run("without a picture", func(t *testing.T) {
		r := ready(t, openFake())
		refusedAs(t, r.send(r.onPoints(r.snapshot(editor), clickPoint(), onButton)), refusal.AnswerInvalidPoint)
	})
	t.Run("on an element act", func(t *testing.T) {
		r := ready(t, openFake())
		o := r.order(r.snapshot(editor), nodeButton, click())
		o.req.Points = []*commonv1.SurfacePoint{{SurfaceId: editor.ID, Point: &commonv1.Point{X: 5, Y: 5}}}
		o.bound.Points = o.req.GetPoints()
		refusedAs(t, r.send(r.seal(o)), refusal.AnswerInvalidPoint)
	})
}

// The points of the permit are the points in hand (C3.2).
func TestPermitOfOtherPointsIsRefused(t *testing.T) {
	cases := map[string]func(*executorv1.DispatchRequest){
		"other x":     func(q *executorv1.DispatchRequest) { q.Points[0].Point.X++ },
		"other y":     func(q *executorv1.DispatchRequest) { q.Points[1].Point.Y++ },
		"other order": func(q *executorv1.DispatchRequest) { slices.Reverse(q.Points) },
		"one more":    func(q *executorv1.DispatchRequest) { q.Points = append(q.Points, q.Points[0]) },
		"one less":    func(q *executorv1.DispatchRequest) { q.Points = q.Points[:1] },
		"other surface": func(q *executorv1.DispatchRequest) {
			q.Points[0].SurfaceId++
		},
		"button": func(q *executorv1.DispatchRequest) { q.Act.GetDrag().Button = commonv1.Button_BUTTON_RIGHT },
	}
	for name, bend := range cases {
		t.Run(name, func(t *testing.T) {
			desk := openFake()
			r := ready(t, desk)
			o := r.onPoints(r.picture(nil), dragAct(), onButton, onRoot)
			bend(o.req)
			refusedAs(t, r.send(o), refusal.AnswerPermitMismatch)
			if arrived(desk) != 0 {
				t.Fatal("something was sent")
			}
		})
	}
}

// A drag holds at its end too; half of one is unknown (C6.1, C7.4).
func TestDragIsCheckedAtItsEnd(t *testing.T) {
	cases := map[string]func(f *fake, at int){
		"renamed":      func(f *fake, _ int) { f.node("button").Name = "Delete" },
		"other window": func(f *fake, _ int) { f.under = func(_ int, u *Under) { u.Surface = other.ID } },
		"moved":        func(f *fake, _ int) { f.under = func(_ int, u *Under) { u.Bounds.X++ } },
		"input":        func(f *fake, _ int) { f.emit(Change{Kind: ChangeInput, Window: editor}) },
		"any input":    func(f *fake, _ int) { f.emit(Change{Kind: ChangeInput}) },
	}
	for name, happens := range cases {
		t.Run(name, func(t *testing.T) {
			desk := openFake()
			desk.point = relabel
			desk.onPart = func(f *fake, at int) {
				if at > 0 {
					happens(f, at)
				}
			}
			r := ready(t, desk)
			resp := r.send(r.onPoints(r.picture(nil), dragAct(), onRoot, onButton))
			if resp.GetOutcome() != commonv1.Outcome_OUTCOME_UNKNOWN || resp.GetCode() != cutBy(name) ||
				resp.GetEffect() != commonv1.Effect_EFFECT_UNVERIFIABLE || resp.GetDeliveredCount() != 1 {
				t.Fatalf("got %v %v %v %d", resp.GetOutcome(), resp.GetCode(), resp.GetEffect(), resp.GetDeliveredCount())
			}
		})
	}
}

// Where the snapshot recorded no element, the picture around the point vouches (C6.1).
func TestWithoutATreeThePictureIsCompared(t *testing.T) {
	cases := []struct {
		name    string
		act     *commonv1.Act
		at      []Point
		happens func(*fake)
		want    refusal.Answer
	}{
		{"the same", clickPoint(), []Point{onRoot}, func(*fake) {}, 0},
		{"changed far away", clickPoint(), []Point{onRoot}, func(f *fake) { f.dot = image7 }, 0},
		{"changed there", clickPoint(), []Point{onRoot}, func(f *fake) { f.dot.X, f.dot.Y = 300, 250 }, refusal.AnswerWindowChanged},
		{"changed beside it", clickPoint(), []Point{onRoot}, func(f *fake) { f.dot.X, f.dot.Y = 306, 244 }, refusal.AnswerWindowChanged},
		{"changed at the start", dragAct(), []Point{onRoot, {60, 20}}, func(f *fake) { f.dot.X, f.dot.Y = 300, 250 }, refusal.AnswerWindowChanged},
		{"changed at the end", dragAct(), []Point{{60, 20}, onRoot}, func(f *fake) { f.dot.X, f.dot.Y = 300, 250 }, refusal.AnswerWindowChanged},
		{"changed on the way", dragAct(), []Point{{60, 20}, onRoot, {380, 20}}, func(f *fake) { f.dot.X, f.dot.Y = 300, 250 }, 0},
		{"no picture now", clickPoint(), []Point{onRoot}, func(f *fake) { f.captureErr = Fail(refusal.AnswerPermissionMissing) }, refusal.AnswerPermissionMissing},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			desk := openFake()
			desk.trees[editor.ID] = &Tree{Quality: commonv1.TreeQuality_TREE_QUALITY_NONE}
			r := ready(t, desk)
			snap := r.picture(func(p *commonv1.PermitClaims) { p.UnprovenRedaction = true })
			o := r.onPoints(snap, c.act, c.at...)
			desk.change(c.happens)
			resp := r.send(o)
			if c.want != 0 {
				refusedAs(t, resp, c.want)
				return
			}
			if resp.GetOutcome() != commonv1.Outcome_OUTCOME_OK || arrived(desk) != 1 {
				t.Fatalf("got %v %v", resp.GetCode(), resp.GetOutcome())
			}
		})
	}
}

// A click that only a pointer can do goes to the element's centre as it is read now, and
// only while the hit test answers that element or one below it (C7.5).
func TestElementByPointer(t *testing.T) {
	right := click()
	right.GetClickElement().Button = commonv1.Button_BUTTON_RIGHT
	sees := func(bend func(*Under)) func(*fake) {
		return func(f *fake) { f.under = func(_ int, u *Under) { bend(u) } }
	}
	label := Node{Object: "label", Parent: nodeButton, Role: commonv1.Role_ROLE_LABEL, Name: "Save", States: states()}
	cases := []struct {
		name    string
		happens func(*fake)
		want    refusal.Answer
	}{
		{"the element", func(*fake) {}, 0},
		{"moved with its window", func(f *fake) { f.windows[0].Bounds.X++ }, 0},
		{"moved", func(f *fake) { f.node("button").Bounds = Rect{250, 200, 20, 20} }, 0},
		{"one below it", sees(func(u *Under) { u.Node = label }), 0},
		{"one below it that changed", sees(func(u *Under) { u.Node = label; u.Node.Name = "Delete" }), refusal.AnswerElementDigestMismatch},
		{"one below it that is secure", sees(func(u *Under) { u.Node = label; u.Node.Secure = true }), refusal.AnswerElementSecure},
		{"nothing", sees(func(u *Under) { u.HasNode = false }), refusal.AnswerWindowOccluded},
		{"its parent", sees(func(u *Under) { u.Node = editorNodes()[nodeRoot] }), refusal.AnswerWindowOccluded},
		{"another", sees(func(u *Under) { u.Node = editorNodes()[nodeField] }), refusal.AnswerWindowOccluded},
		{"one that is new", sees(func(u *Under) { u.Node.Object = "new" }), refusal.AnswerWindowOccluded},
		{"covered", func(f *fake) { f.windows[1].Surfaces = []Surface{{ID: other.ID, Bounds: Rect{0, 0, 900, 900}}} }, refusal.AnswerWindowOccluded},
		{"renamed", func(f *fake) { f.node("button").Name = "Delete" }, refusal.AnswerElementDigestMismatch},
		{"renamed in the same step", sees(func(u *Under) { u.Node.Name = "Delete" }), refusal.AnswerElementDigestMismatch},
		{"hidden", func(f *fake) { f.windows[0].Hidden = true }, refusal.AnswerWindowHidden},
		{"scrolled away", func(f *fake) { f.node("button").Bounds.Y = -500 }, refusal.AnswerElementNotActionable},
		{"no place", func(f *fake) { f.node("button").Bounds = Rect{} }, refusal.AnswerElementNotActionable},
		{"its surface is gone", func(f *fake) { f.windows[0].Surfaces = []Surface{{ID: 99}} }, refusal.AnswerElementReleased},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			desk := openFake()
			desk.trees[editor.ID].Nodes = append(desk.trees[editor.ID].Nodes, label)
			desk.point = relabel
			r := ready(t, desk)
			o := r.order(r.snapshot(editor), nodeButton, right).by(seat, semantic)
			desk.change(c.happens)
			resp := r.send(o)
			if c.want != 0 {
				refusedAs(t, resp, c.want)
				if arrived(desk)+len(desk.sent()) != 0 {
					t.Fatal("something was sent")
				}
				return
			}
			confirmed(t, resp, byTree)
			in := desk.inputs[0]
			b := desk.node("button").Bounds
			want := SurfacePoint{editor.ID, b.X + b.W/2, b.Y + b.H/2}
			if len(in.Points) != 1 || in.Points[0] != want || in.Button != commonv1.Button_BUTTON_RIGHT {
				t.Fatalf("sent %+v", in)
			}
		})
	}
}

// Only what was not offered before any side effect is followed by another listed route,
// and what is no plain press never goes by a semantic one (C7.5).
func TestWaysOfAClick(t *testing.T) {
	double := click()
	double.GetClickElement().Count = 2
	declined := func(Performance) Delivery { return Delivery{Sent: Declined, Route: semantic} }
	refuse := func(a refusal.Answer) func(Performance) Delivery {
		return func(Performance) Delivery { return Refused(a) }
	}
	cases := []struct {
		name               string
		act                *commonv1.Act
		routes             []commonv1.Route
		deliver            func(Performance) Delivery
		performed, pointed int
		want               refusal.Answer
	}{
		{"plain", click(), []commonv1.Route{semantic, seat}, nil, 1, 0, 0},
		{"plain, not offered", click(), []commonv1.Route{semantic, seat}, refuse(refusal.AnswerElementNotActionable), 0, 1, 0},
		{"plain, not supported", click(), []commonv1.Route{semantic, seat}, refuse(refusal.AnswerNotSupported), 0, 1, 0},
		{"plain, no route", click(), []commonv1.Route{semantic, seat}, refuse(refusal.AnswerNoPermittedRoute), 0, 1, 0},
		{
			"plain, not offered, no pointer", click(),
			[]commonv1.Route{semantic},
			refuse(refusal.AnswerElementNotActionable), 0, 0, refusal.AnswerElementNotActionable,
		},
		{
			"plain, refused for another reason", click(),
			[]commonv1.Route{semantic, seat},
			refuse(refusal.AnswerTargetUnresponsive), 0, 0, refusal.AnswerTargetUnresponsive,
		},
		{"plain, declined", click(), []commonv1.Route{semantic, seat}, declined, 1, 0, refusal.AnswerDispatchRefused},
		{"plain, pointer only", click(), []commonv1.Route{seat}, nil, 0, 1, 0},
		{"plain, document only", click(), []commonv1.Route{dom}, nil, 0, 0, refusal.AnswerNoPermittedRoute},
		{"double", double, []commonv1.Route{semantic, seat}, nil, 0, 1, 0},
		{"double, no pointer", double, []commonv1.Route{semantic}, nil, 0, 0, refusal.AnswerNoPermittedRoute},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			desk := openFake()
			desk.deliver = c.deliver
			r := ready(t, desk)
			resp := r.send(r.order(r.snapshot(editor), nodeButton, c.act).by(c.routes...))
			if resp.GetCode() != c.want || len(desk.sent()) != c.performed || arrived(desk) != c.pointed {
				t.Fatalf("got %v, performed %d, pointed %d", resp.GetCode(), len(desk.sent()), arrived(desk))
			}
			for _, in := range desk.inputs {
				if !slices.Equal(in.Routes, []commonv1.Route{seat}) {
					t.Fatalf("routes %v", in.Routes)
				}
			}
			for _, p := range desk.sent() {
				if !slices.Equal(p.Routes, []commonv1.Route{semantic}) {
					t.Fatalf("routes %v", p.Routes)
				}
			}
		})
	}
}

func TestScrollElementAndSelectText(t *testing.T) {
	scroll := &commonv1.Act{Act: &commonv1.Act_ScrollElement{ScrollElement: &commonv1.ScrollElement{
		Direction: commonv1.Direction_DIRECTION_UP, Amount: 10,
	}}}
	sel := func(start, length uint32) *commonv1.Act {
		return &commonv1.Act{Act: &commonv1.Act_SelectText{SelectText: &commonv1.SelectText{Start: start, Length: length}}}
	}
	selects := func(_ *fake, p Performance, n *Node) { r := p.Selection; n.Selection = &r }
	other := func(_ *fake, _ Performance, n *Node) { n.Selection = &TextRange{0, 1} }
	moves := func(_ *fake, _ Performance, n *Node) { n.Bounds.Y-- }
	good, noop := commonv1.Effect_EFFECT_CONFIRMED, commonv1.Effect_EFFECT_SUSPECTED_NOOP
	cases := []struct {
		name   string
		act    *commonv1.Act
		does   func(*fake, Performance, *Node)
		effect commonv1.Effect
	}{
		{"scroll", scroll, moves, good},
		{"scroll at the end", scroll, nil, noop},
		{"select", sel(1, 2), selects, good},
		{"select all", sel(0, 3), selects, good},
		{"select something else", sel(1, 2), other, noop},
		{"select without an answer", sel(1, 2), nil, commonv1.Effect_EFFECT_UNVERIFIABLE},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			desk := openFake()
			desk.apply = c.does
			r := ready(t, desk)
			resp := r.act(r.snapshot(editor), nodeField, c.act)
			if resp.GetOutcome() != commonv1.Outcome_OUTCOME_OK || resp.GetEffect() != c.effect {
				t.Fatalf("got %v %v %v", resp.GetCode(), resp.GetOutcome(), resp.GetEffect())
			}
			p := desk.sent()[0]
			if c.act == scroll && (p.Direction != commonv1.Direction_DIRECTION_UP || p.Amount != 10) {
				t.Fatalf("sent %+v", p)
			}
		})
	}
	r := ready(t, openFake())
	refusedAs(t, r.act(r.snapshot(editor), nodeField, sel(2, 2)), refusal.AnswerElementNotActionable)
	refusedAs(t, r.act(r.snapshot(editor), nodeField, sel(math.MaxUint32, math.MaxUint32)), refusal.AnswerElementNotActionable)
}
