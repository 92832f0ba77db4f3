package executor

import (
	"slices"
	"testing"
	"time"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/permit"
	"fairlead.dev/services/shared/refusal"
)

const byGeometry = commonv1.VerificationMethod_VERIFICATION_METHOD_GEOMETRY_READBACK

func moveWindow(x, y float64) *commonv1.Act {
	return &commonv1.Act{Act: &commonv1.Act_MoveWindow{MoveWindow: &commonv1.MoveWindow{X: x, Y: y}}}
}

func resizeWindow(w, h float64) *commonv1.Act {
	return &commonv1.Act{Act: &commonv1.Act_ResizeWindow{ResizeWindow: &commonv1.ResizeWindow{Width: w, Height: h}}}
}

func minimizeWindow() *commonv1.Act {
	return &commonv1.Act{Act: &commonv1.Act_MinimizeWindow{MinimizeWindow: &commonv1.MinimizeWindow{}}}
}

func closeWindow() *commonv1.Act {
	return &commonv1.Act{Act: &commonv1.Act_CloseWindow{CloseWindow: &commonv1.CloseWindow{}}}
}

func invokeMenu(path ...string) *commonv1.Act {
	return &commonv1.Act{Act: &commonv1.Act_InvokeMenu{InvokeMenu: &commonv1.InvokeMenu{Path: path}}}
}

func navigate(to string) *commonv1.Act {
	return &commonv1.Act{Act: &commonv1.Act_Navigate{Navigate: &commonv1.Navigate{Url: to}}}
}

func goBack() *commonv1.Act {
	return &commonv1.Act{Act: &commonv1.Act_GoBack{GoBack: &commonv1.GoBack{}}}
}

func reload() *commonv1.Act {
	return &commonv1.Act{Act: &commonv1.Act_Reload{Reload: &commonv1.Reload{}}}
}

// paged is a desk whose editor shows a page.
func paged() *fake {
	f := openFake()
	f.windows[0].Page = ident.Page{Endpoint: "e", Target: "t", Document: "1"}
	f.windows[0].Destination = "https://a.example"
	return f
}

func TestWindowActsAreReadBack(t *testing.T) {
	good, unsure, noop := commonv1.Effect_EFFECT_CONFIRMED, commonv1.Effect_EFFECT_UNVERIFIABLE,
		commonv1.Effect_EFFECT_SUSPECTED_NOOP
	place := func(b Rect) func(*fake, Management) {
		return func(f *fake, _ Management) { f.windows[0].Bounds = b }
	}
	asks := func(f *fake, _ Management) {
		f.windows = append(f.windows, fakeWindow(editor2, "Save?", Rect{600, 0, 50, 50}, 2))
	}
	to := func(document, destination string) func(*fake, Management) {
		return func(f *fake, _ Management) {
			f.windows[0].Page.Document, f.windows[0].Destination = document, destination
		}
	}
	gone := func(f *fake, _ Management) { f.windows = f.windows[1:] }
	hidden := func(f *fake, _ Management) { f.windows[0].Hidden = true }
	none := commonv1.VerificationMethod_VERIFICATION_METHOD_ACTION_RESULT
	cases := []struct {
		name   string
		act    *commonv1.Act
		does   func(*fake, Management)
		effect commonv1.Effect
		by     commonv1.VerificationMethod
	}{
		{"move", moveWindow(-50, 20), place(Rect{-50, 20, 400, 300}), good, byGeometry},
		{"move, snapped", moveWindow(-50, 20), place(Rect{-49.5, 20.2, 400, 300}), good, byGeometry},
		{"move, elsewhere", moveWindow(-50, 20), place(Rect{0, 20, 400, 300}), unsure, byGeometry},
		{"move, only one way", moveWindow(-50, 20), place(Rect{-50, 100, 400, 300}), unsure, byGeometry},
		{"move, not", moveWindow(-50, 20), nil, noop, byGeometry},
		{"move to where it is", moveWindow(100, 100), nil, good, byGeometry},
		{"move, resized", moveWindow(-50, 20), place(Rect{100, 100, 1, 1}), noop, byGeometry},
		{"resize", resizeWindow(200, 100), place(Rect{100, 100, 200, 100}), good, byGeometry},
		{"resize, as far as it goes", resizeWindow(20, 10), place(Rect{100, 100, 200, 100}), unsure, byGeometry},
		{"resize, not", resizeWindow(20, 10), nil, noop, byGeometry},
		{"minimise", minimizeWindow(), hidden, good, byGeometry},
		{"minimise, not", minimizeWindow(), nil, noop, byGeometry},
		{"close", closeWindow(), gone, good, byWindows},
		{"close, asks first", closeWindow(), asks, unsure, byWindows},
		{"close, not", closeWindow(), nil, noop, byWindows},
		{"menu", invokeMenu("File", "Save"), func(f *fake, _ Management) { relabel(f, Input{}) }, good, byTree},
		{"menu opens a dialog", invokeMenu("File", "Open"), asks, good, byWindows},
		{"menu, nothing", invokeMenu("File", "Save"), nil, noop, byTree},
		{"navigate", navigate("https://B.example/x"), to("2", "https://b.example:443"), good, byPage},
		{"navigate, led elsewhere", navigate("https://b.example/x"), to("2", "https://evil.example"), unsure, byPage},
		{"navigate, other port", navigate("https://b.example/x"), to("2", "https://b.example:8443"), unsure, byPage},
		{"navigate, other scheme", navigate("https://b.example/x"), to("2", "http://b.example"), unsure, byPage},
		{"navigate, not", navigate("https://b.example/x"), nil, noop, byPage},
		{"navigate within", navigate("https://a.example/#there"), nil, unsure, none},
		{"go back", goBack(), to("0", "https://z.example"), good, byPage},
		{"go back, nothing", goBack(), nil, unsure, none},
		{"reload", reload(), to("2", "https://a.example"), good, byPage},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			desk := paged()
			desk.manage = c.does
			r := ready(t, desk)
			snap := r.snapshot(editor)
			if snap.GetDestination() != "https://a.example" {
				t.Fatalf("destination %q", snap.GetDestination())
			}
			resp := r.send(r.onWindow(snap, c.act))
			if resp.GetOutcome() != commonv1.Outcome_OUTCOME_OK || resp.GetEffect() != c.effect ||
				resp.GetVerification().GetMethod() != c.by || resp.GetRoute() != managing {
				t.Fatalf("got %v %v %v by %v", resp.GetCode(), resp.GetOutcome(), resp.GetEffect(), resp.GetVerification())
			}
			if len(desk.managed) != 1 || desk.managed[0].Verb != permit.VerbOf(c.act) {
				t.Fatalf("sent %+v", desk.managed)
			}
		})
	}
}

func TestWindowActArguments(t *testing.T) {
	desk := paged()
	r := ready(t, desk)
	for _, act := range []*commonv1.Act{
		moveWindow(-5, 7), resizeWindow(20, 30), invokeMenu("File", "Save"), navigate("https://b.example/x"),
	} {
		r.send(r.onWindow(r.snapshot(editor), act).by(semantic, managing, seat))
	}
	m := desk.managed
	if m[0].X != -5 || m[0].Y != 7 || m[1].W != 20 || m[1].H != 30 ||
		!slices.Equal(m[2].Path, []string{"File", "Save"}) || m[2].Object != "" || m[3].URL != "https://b.example/x" {
		t.Fatalf("sent %+v", m)
	}
	for _, one := range m {
		if one.Window != editor || !slices.Equal(one.Routes, []commonv1.Route{semantic, managing}) {
			t.Fatalf("sent %+v", one)
		}
	}
}

// A window that is gone after close_window is closed, whatever its process did; after
// another act only while the process lives (C7.3).
func TestClosedWindowIsTold(t *testing.T) {
	for name, running := range map[string]bool{"its process lives": true, "its process ended": false} {
		t.Run(name, func(t *testing.T) {
			desk := openFake()
			desk.manage = func(f *fake, _ Management) { f.windows, f.apps[0].Running = f.windows[1:], running }
			r := ready(t, desk)
			resp := r.send(r.onWindow(r.snapshot(editor), closeWindow()))
			confirmed(t, resp, byWindows)
			if resp.GetObservationMissing() != commonv1.ObservationMissing_OBSERVATION_MISSING_TARGET_CLOSED {
				t.Fatal(resp.GetObservationMissing())
			}
		})
	}
	t.Run("by another act, its process ended", func(t *testing.T) {
		desk := openFake()
		desk.manage = func(f *fake, _ Management) { f.windows, f.apps[0].Running = f.windows[1:], false }
		r := ready(t, desk)
		resp := r.send(r.onWindow(r.snapshot(editor), invokeMenu("File", "Quit")))
		if resp.GetOutcome() != commonv1.Outcome_OUTCOME_UNKNOWN {
			t.Fatal(resp.GetOutcome())
		}
	})
}

func TestMinimisedWindowIsTold(t *testing.T) {
	desk := openFake()
	desk.manage = func(f *fake, _ Management) { f.windows[0].Hidden = true }
	r := ready(t, desk)
	resp := r.send(r.onWindow(r.snapshot(editor), minimizeWindow()))
	confirmed(t, resp, byGeometry)
	if resp.GetObservationMissing() != commonv1.ObservationMissing_OBSERVATION_MISSING_TARGET_MINIMISED {
		t.Fatal(resp.GetObservationMissing())
	}
}

// A window verb binds to the window: its identity and page hold in the same step, and
// nothing that it is not bound to comes along.
func TestWindowActIsCheckedAgain(t *testing.T) {
	inStep := func(do func(*fake)) func(*fake) {
		return func(f *fake) {
			f.beforeCheck = func() { f.change(do) }
		}
	}
	cases := []struct {
		name    string
		act     *commonv1.Act
		bend    func(*rig, *order)
		happens func(*fake)
		want    refusal.Answer
	}{
		{"gone", closeWindow(), nil, func(f *fake) { f.windows = f.windows[1:] }, refusal.AnswerWindowGone},
		{"replaced", closeWindow(), nil, func(f *fake) { f.windows[0].Identity.Birth++ }, refusal.AnswerWindowChanged},
		{
			"replaced in the same step", closeWindow(), nil,
			inStep(func(f *fake) { f.windows[0].Identity.Birth++ }), refusal.AnswerWindowChanged,
		},
		{"navigated", reload(), nil, func(f *fake) { f.windows[0].Page.Document = "2" }, refusal.AnswerPageChanged},
		{
			"navigated in the same step", reload(), nil,
			inStep(func(f *fake) { f.windows[0].Page.Document = "2" }), refusal.AnswerPageChanged,
		},
		{"locked", closeWindow(), nil, func(f *fake) { f.desk.Locked = true }, refusal.AnswerScreenLocked},
		{
			"input", closeWindow(), nil,
			inStep(func(f *fake) { f.emit(Change{Kind: ChangeInput, Window: editor}) }), refusal.AnswerPhysicalInputActive,
		},
		{"another window", closeWindow(), func(_ *rig, o *order) {
			o.claims.Window = fromWindow(other)
		}, nil, refusal.AnswerPermitMismatch},
		{"another place", moveWindow(1, 2), func(_ *rig, o *order) {
			o.req.Act.GetMoveWindow().X = 9
		}, nil, refusal.AnswerPermitMismatch},
		{"a token", closeWindow(), func(_ *rig, o *order) { o.req.Token = make([]byte, 16) }, nil, refusal.AnswerElementUnknown},
		{"a token and a path", invokeMenu("File"), func(_ *rig, o *order) {
			o.req.Token = make([]byte, 16)
		}, nil, refusal.AnswerElementUnknown},
		{"no path and no element", invokeMenu(), nil, nil, refusal.AnswerElementUnknown},
		{"owned", closeWindow(), func(r *rig, o *order) {
			o.req.Owned, o.bound.Owned = true, true
			r.seal(o)
		}, nil, refusal.AnswerNotSupported},
		{"no permitted route", closeWindow(), func(_ *rig, o *order) { o.by(seat) }, nil, refusal.AnswerNoPermittedRoute},
		{"nowhere", navigate("not a place"), nil, nil, refusal.AnswerNotSupported},
		{"not offered", closeWindow(), nil, func(f *fake) {
			f.arrive = func(Delivery) Delivery { return Refused(refusal.AnswerNotSupported) }
		}, refusal.AnswerNotSupported},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			desk := paged()
			r := ready(t, desk)
			o := r.onWindow(r.snapshot(editor), c.act)
			if c.bend != nil {
				c.bend(r, o)
			}
			if c.happens != nil {
				desk.change(c.happens)
			}
			refusedAs(t, r.send(o), c.want)
			if len(desk.managed) != 0 {
				t.Fatal("something was sent")
			}
		})
	}
	t.Run("no page", func(t *testing.T) {
		r := ready(t, openFake())
		for _, act := range []*commonv1.Act{reload(), goBack(), navigate("https://b.example")} {
			refusedAs(t, r.send(r.onWindow(r.snapshot(editor), act)), refusal.AnswerNotSupported)
		}
	})
}

// A window that moved since is the same window: nothing but identity and page counts (C6.3).
func TestWindowActIgnoresGeometry(t *testing.T) {
	desk := openFake()
	desk.manage = func(f *fake, _ Management) { f.windows = f.windows[1:] }
	r := ready(t, desk)
	o := r.onWindow(r.snapshot(editor), closeWindow())
	desk.change(func(f *fake) { f.windows[0].Bounds.X++ })
	confirmed(t, r.send(o), byWindows)
}

// A menu element is bound like any element (C6.2).
func TestMenuElementIsCheckedAgain(t *testing.T) {
	cases := []struct {
		name    string
		happens func(*fake)
		want    refusal.Answer
	}{
		{"the same", func(*fake) {}, 0},
		{"the reference changed", func(f *fake) { f.node("button").Object = "button2" }, 0},
		{"renamed", func(f *fake) { f.node("button").Name = "Delete all" }, refusal.AnswerElementDigestMismatch},
		{"gone", func(f *fake) { f.node("button").Object, f.node("button").Name = "b2", "x" }, refusal.AnswerElementReleased},
		{"secure", func(f *fake) { f.node("button").Secure = true }, refusal.AnswerElementDigestMismatch},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			desk := openFake()
			desk.manage = func(f *fake, m Management) { f.node(m.Object).Description = "done" }
			r := ready(t, desk)
			o := r.order(r.snapshot(editor), nodeButton, invokeMenu()).by(semantic)
			object := Object("button")
			desk.change(func(f *fake) {
				c.happens(f)
				if f.node("button2") != nil {
					object = "button2"
				}
			})
			resp := r.send(o)
			if c.want != 0 {
				refusedAs(t, resp, c.want)
				if len(desk.managed) != 0 {
					t.Fatal("something was sent")
				}
				return
			}
			confirmed(t, resp, byTree)
			if desk.managed[0].Object != object {
				t.Fatalf("sent %+v", desk.managed)
			}
		})
	}
}

// A slow window is waited for within the bound of the dispatch.
func TestWindowActIsWaitedFor(t *testing.T) {
	desk := openFake()
	r := ready(t, desk)
	desk.arrive = func(d Delivery) Delivery { d.Settled = false; return d }
	var timer *time.Timer
	desk.manage = func(*fake, Management) {
		timer = time.AfterFunc(300*time.Millisecond, func() {
			desk.change(func(f *fake) { f.windows[0].Bounds.X, f.windows[0].Bounds.Y = 5, 6 })
		})
	}
	resp := r.send(r.onWindow(r.snapshot(editor), moveWindow(5, 6)))
	timer.Stop()
	confirmed(t, resp, byGeometry)
}

// Acts on elements of a page keep working, and a press that leads to another page is
// confirmed by it.
func TestPressThatLeadsToAnotherPage(t *testing.T) {
	desk := paged()
	desk.apply = func(f *fake, _ Performance, _ *Node) { f.windows[0].Page.Document = "2" }
	r := ready(t, desk)
	confirmed(t, r.act(r.snapshot(editor), nodeButton, click()), byPage)
}
