package integration

import (
	"strings"
	"testing"
	"time"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/refusal"
	"fairlead.dev/services/virtualdesk"
	"fairlead.dev/test/harness"
)

const (
	isSlider   = commonv1.Role_ROLE_SLIDER
	isTerminal = commonv1.Role_ROLE_TERMINAL
	isLink     = commonv1.Role_ROLE_LINK
	isCanvas   = commonv1.Role_ROLE_CANVAS

	pageReadback = commonv1.VerificationMethod_VERIFICATION_METHOD_PAGE_READBACK
)

// required is one case that a founding document requires, and how it comes out here.
type required struct {
	// name is the test's, says the case.
	name, says string
	// code is what the act is refused with; zero says that it is done.
	code refusal.Code
	// departs quotes why it comes out otherwise than the document asked for.
	departs string
	set     set
	run     func(*stage, refusal.Code)
}

// Seed 002 is about frames and windows: an act is done to the window that was shown, or
// to none.
func TestSeed002RequiredCases(t *testing.T) { playAll(t, seed002()) }

func playAll(t *testing.T, cases []required) {
	t.Helper()
	names := map[string]bool{}
	for _, c := range cases {
		if names[c.name] || c.says == "" {
			t.Errorf("%q is not one case", c.name)
		}
		names[c.name] = true
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			st := play(t, c.set)
			c.run(st, c.code)
			st.untouchedDecoys()
		})
	}
}

func seed002() []required {
	var all []required
	for _, some := range [][]required{
		seed002Binding(), seed002Validation(), seed002Coordinates(), seed002Pages(), seed002User(), seed002Keyboard(),
		seed002Effects(),
	} {
		all = append(all, some...)
	}
	return all
}

// pictured is a stage that is seen with a picture.
func pictured(s set) set {
	s.pictured = true
	return s
}

// done fails unless the act was done, by one act that reached the target alone.
func (st *stage) done(act *commonv1.Act) *hostv1.ActResponse {
	st.t.Helper()
	st.mark()
	r := st.do(act)
	if r.GetRefusal() != nil || r.GetOutcome() != commonv1.Outcome_OUTCOME_OK {
		st.t.Fatalf("outcome %v, refused with %v (%v)", r.GetOutcome(), r.GetRefusal().GetCode(),
			r.GetRefusal().GetDetail())
	}
	st.reached(1)
	undisturbed(st.t, r)
	return r
}

// drag is a drag between two points of the window.
func (st *stage) drag(x1, y1, x2, y2 float64) *commonv1.Act {
	return harness.Drag(st.picture().GetPictureId(), st.pixel(x1, y1), st.pixel((x1+x2)/2, (y1+y2)/2), st.pixel(x2, y2))
}

// pointed fails unless a button went down where first said and up where last said, in
// points of the target, and nowhere else.
func (st *stage) pointed(first, last executor.Point) {
	st.t.Helper()
	var downs, ups []virtualdesk.InputEvent
	for _, e := range st.Desk.Inputs(st.target)[st.inputs:] {
		switch e.Kind {
		case virtualdesk.InputButtonDown:
			downs = append(downs, e)
		case virtualdesk.InputButtonUp:
			ups = append(ups, e)
		}
	}
	if len(downs) != 1 || len(ups) != 1 || !near(downs[0], first) || !near(ups[0], last) {
		st.t.Errorf("down %+v, up %+v, want %v and %v", downs, ups, first, last)
	}
}

// near allows for the rounding of points to pixels.
func near(e virtualdesk.InputEvent, p executor.Point) bool {
	return e.X >= p.X-2 && e.X <= p.X+2 && e.Y >= p.Y-2 && e.Y <= p.Y+2
}

// middle is the middle of an element, in points of the target.
func (st *stage) middle(role commonv1.Role, name string) executor.Point {
	st.t.Helper()
	b := st.a.Element(role, name).GetBounds()
	return executor.Point{X: b.GetX() + b.GetWidth()/2, Y: b.GetY() + b.GetHeight()/2}
}

func seed002Binding() []required {
	bench := set{app: workbench, title: "Workbench"}
	return []required{
		{
			name: "L1_single_click", says: "L1: one exact click in one window, never repeated",
			code: refusal.DuplicateAction, set: set{pictured: true}, run: func(st *stage, want refusal.Code) {
				at, frame, act := st.middle(isButton, "More"), st.a.Frame.GetFrame(), st.clickOn(isButton, "More")
				st.done(act)
				st.pointed(at, at)
				st.mark()
				harness.NothingSent(st.t, st.a.DoOn(frame, act), want)
				st.reached(0)
			},
		},
		{
			name: "replay_across_epochs", says: "the same act sent again, after the epoch advanced",
			code: refusal.DuplicateAction, run: func(st *stage, want refusal.Code) {
				frame, act := st.a.Frame.GetFrame(), harness.Click(st.element(isLink, "Help"))
				st.done(act)
				st.done(harness.Focus(st.element(isText, "Name")))
				st.mark()
				harness.NothingSent(st.t, st.a.DoOn(frame, act), want)
				st.reached(0)
			},
		},
		{
			name: "L2_type_drag_scroll", says: "L2: type, drag and scroll all bound to one window", set: pictured(bench),
			run: func(st *stage, _ refusal.Code) {
				st.done(harness.TypeText(st.element(isTerminal, "Terminal"), "ls"))
				level := st.middle(isSlider, "Level")
				harness.Verified(st.t, st.done(st.drag(level.X-30, level.Y, level.X+20, level.Y)), valueReadback)
				harness.Verified(st.t, st.done(st.scrollOn(commonv1.Role_ROLE_SCROLL_AREA, "Items")), treeDelta)
			},
		},
		{
			name: "L3_two_similar_windows", says: "L3: two similar windows; the decoy gets nothing",
			set: set{pictured: true}, run: func(st *stage, _ refusal.Code) {
				st.done(harness.SetValue(st.element(isText, "Name"), "mine"))
				st.done(harness.TypeText(st.element(isText, "Name"), "yours"))
				st.done(press(st.a, "More"))
				st.done(st.clickOn(commonv1.Role_ROLE_CHECK_BOX, "Subscribe"))
				if got := st.holds(isText, "Name"); got != "yours" {
					st.t.Errorf("the field holds %q", got)
				}
			},
		},
		{
			name: "drag_in_one_window", says: "both ends of a drag belong to one bound window", set: pictured(bench),
			run: func(st *stage, _ refusal.Code) {
				sketch := st.middle(isCanvas, "Sketch")
				from, to := executor.Point{X: sketch.X - 40, Y: sketch.Y - 20}, executor.Point{X: sketch.X + 40, Y: sketch.Y + 20}
				st.done(st.drag(from.X, from.Y, to.X, to.Y))
				st.pointed(from, to)
			},
		},
		{
			name: "drag_out_of_the_window", says: "a drag that ends outside of the bound window",
			code: refusal.InvalidCoordinate, set: pictured(bench), run: func(st *stage, want refusal.Code) {
				at, b := st.middle(isCanvas, "Sketch"), st.bounds()
				st.refusedWith(st.drag(at.X, at.Y, at.X, b.H+60), want)
			},
		},
		{
			name: "drag_onto_an_occluder", says: "a drag whose end was covered since", set: pictured(bench),
			code: refusal.OutcomeUnknown, departs: "C6.1: the end is checked again where the button goes up; " +
				"C7.4: half a drag is UNKNOWN",
			run: func(st *stage, want refusal.Code) {
				at, b := st.middle(isCanvas, "Sketch"), st.bounds()
				act := st.drag(at.X, at.Y, at.X+300, at.Y)
				cover := st.decoys[len(st.decoys)-1]
				st.Must(st.Desk.Move(cover, b.X+at.X+250, b.Y))
				st.mark()
				r := st.do(act)
				harness.Refused(st.t, r.GetRefusal(), want)
				st.reached(1)
			},
		},
	}
}

// scrollOn scrolls at the middle of an element.
func (st *stage) scrollOn(role commonv1.Role, name string) *commonv1.Act {
	args := &commonv1.ScrollPoint{
		PictureId: st.picture().GetPictureId(), Point: st.at(role, name),
		Direction: commonv1.Direction_DIRECTION_DOWN, Amount: 5,
	}
	return &commonv1.Act{Act: &commonv1.Act_ScrollPoint{ScrollPoint: args}}
}

// replaced is what the contract says of 002's stale_frame.
const replaced = "a window replaced after the frame is TARGET_MISSING or TARGET_CHANGED (002: stale_frame)"

// since has something happen to the window between frame and act, and acts twice: on an
// element and on the point where the picture shows it. Both are refused and touch nothing.
func since(change func(*stage) error) func(*stage, refusal.Code) {
	return func(st *stage, want refusal.Code) {
		element, point := press(st.a, "Submit"), st.clickOn(isButton, "Submit")
		st.Must(change(st))
		st.refusedWith(element, want)
		st.refusedWith(point, want)
	}
}

// sincePoint is since for what only points care about.
func sincePoint(change func(*stage) error) func(*stage, refusal.Code) {
	return func(st *stage, want refusal.Code) {
		point := st.clickOn(isButton, "Submit")
		st.Must(change(st))
		st.refusedWith(point, want)
	}
}

// occluder lays the other app's decoy over the target.
func occluder(st *stage) error {
	b := st.bounds()
	return st.Desk.Move(st.decoys[len(st.decoys)-1], b.X, b.Y)
}

func seed002Validation() []required {
	return []required{
		{
			name: "L3_window_replaced", says: "L3: the window was replaced after the picture: the old act is stale",
			code: refusal.TargetMissing, departs: replaced, set: set{pictured: true}, run: since(func(st *stage) error {
				_, err := st.Desk.ReplaceWindow(st.target)
				return err
			}),
		},
		{
			name: "window_id_reused", says: "the window id was given to another window",
			code: refusal.TargetChanged, departs: replaced,
			set: set{pictured: true}, run: since(func(st *stage) error { return st.Desk.RecycleWindow(st.target) }),
		},
		{
			name: "process_replaced", says: "the pid or window id is not there any more, or another process has it",
			code: refusal.TargetMissing, set: set{pictured: true}, run: since(func(st *stage) error { return st.Desk.Relaunch(form) }),
		},
		{
			name: "L3_occluder_point", says: "L3: an occluder came before the act: not clicked through",
			code: refusal.TargetOccluded, set: set{pictured: true}, run: sincePoint(occluder),
		},
		{
			name: "L3_occluder_same_app", says: "an occluder of the same app came before an act on an element",
			code: refusal.TargetOccluded, set: set{pictured: true}, run: since(func(st *stage) error {
				id, err := st.Desk.Cover(st.target, form)
				st.decoys = append(st.decoys, id)
				return err
			}),
		},
		{
			name: "L3_occluder_element", says: "an occluder of another app came before an act on an element",
			departs: "semantic and page acts are not refused when a window of another process covers the target",
			run: func(st *stage, _ refusal.Code) {
				act := press(st.a, "More")
				st.Must(occluder(st))
				st.done(act)
			},
		},
		{
			name: "popup_opened_since", says: "a surface opened over the point that the frame did not show",
			code: refusal.TargetOccluded, set: set{pictured: true}, run: sincePoint(func(st *stage) error {
				at := st.middle(isButton, "Submit")
				_, err := st.Desk.OpenPopup(st.target, executor.Rect{X: at.X - 40, Y: at.Y - 20, W: 120, H: 60})
				return err
			}),
		},
		{
			name: "window_moved", says: "the window moved after the observation: refused",
			code: refusal.TargetChanged, set: set{pictured: true}, run: sincePoint(func(st *stage) error {
				b := st.bounds()
				return st.Desk.Move(st.target, b.X+10, b.Y+10)
			}),
		},
		{
			name: "window_moved_element", says: "the window moved after the observation: an act on an element",
			departs: "C6.3: nothing but the window's identity and the element's own content is part of this check",
			run: func(st *stage, _ refusal.Code) {
				act, b := press(st.a, "More"), st.bounds()
				st.Must(st.Desk.Move(st.target, b.X-10, b.Y-10))
				st.done(act)
			},
		},
		{
			name: "window_resized", says: "the window was resized, so the transform changed",
			code: refusal.TargetChanged, set: set{pictured: true}, run: sincePoint(func(st *stage) error {
				b := st.bounds()
				return st.Desk.Resize(st.target, b.W-20, b.H-10)
			}),
		},
		{
			name: "display_scale_changed", says: "the display's scale changed",
			code: refusal.TargetChanged, set: set{pictured: true}, run: sincePoint(func(st *stage) error { return st.Desk.SetScale(0, 2) }),
		},
		{
			name: "display_moved", says: "the display moved, and the window with it",
			code: refusal.TargetChanged, set: set{pictured: true}, run: sincePoint(func(st *stage) error { return st.Desk.MoveDisplay(0, 30, 40) }),
		},
		{
			name: "content_changed", says: "the user or the app changed the content under the same coordinate",
			code: refusal.TargetChanged, set: set{pictured: true}, run: since(func(st *stage) error {
				return st.Desk.Relabel(st.object(isButton, "Submit"), "Delete all")
			}),
		},
		{
			name: "replacement_control", says: "a changed token never falls back to role and label: two candidates",
			code: refusal.TargetAmbiguous, run: func(st *stage, want refusal.Code) {
				act := press(st.a, "Submit")
				_, _, err := st.Desk.SplitElement(st.object(isButton, "Submit"))
				st.Must(err)
				st.refusedWith(act, want)
			},
		},
		{
			name: "scrolled_since", says: "content scrolled, so the pixel shows another element", code: refusal.TargetMissing,
			departs: "a point also needs what the picture showed there (002 checks the window only)",
			set:     set{pictured: true, app: form, title: "Log"},
			run: func(st *stage, want refusal.Code) {
				act := st.clickOn(commonv1.Role_ROLE_LIST_ITEM, "Started")
				subscribe := st.Object("Form", isCheck, "Subscribe")
				for range 15 { // each of them writes a line, and no more than 11 show
					st.Must(st.Desk.ToggleByUser(subscribe))
				}
				st.refusedWith(act, want)
			},
		},
		{
			name: "no_fallback", says: "no failure path calls a pixel or foreground fallback",
			code: 0, departs: "each failure has its own code; none of them touches anything", run: noFallback,
		},
	}
}

// noFallback takes every way to fail on this page in turn, with an act of every kind, and
// looks at the whole desk each time: no journal has an event, nothing moved.
func noFallback(st *stage, _ refusal.Code) {
	ways := map[string]func() error{
		"replaced":    func() error { _, err := st.Desk.ReplaceWindow(st.target); return err },
		"reused":      func() error { return st.Desk.RecycleWindow(st.target) },
		"relaunched":  func() error { return st.Desk.Relaunch(form) },
		"closed":      func() error { return st.Desk.CloseWindow(st.target) },
		"covered":     func() error { _, err := st.Desk.Cover(st.target, form); return err },
		"blocked":     func() error { _, err := st.Desk.OpenModal(st.target); return err },
		"relabelled":  func() error { return st.Desk.Relabel(st.object(isText, "Name"), "Card number") },
		"made secure": func() error { return st.Desk.MakeSecure(st.object(isText, "Name"), true) },
		"removed":     func() error { return st.Desk.RemoveElement(st.object(isText, "Name")) },
	}
	for what, change := range ways {
		one := play(st.t, set{pictured: true})
		acts := map[string]*commonv1.Act{
			"press": harness.Click(one.element(isText, "Name")), "point": one.clickOn(isText, "Name"),
			"type": harness.TypeText(one.element(isText, "Name"), "x"),
			"set":  harness.SetValue(one.element(isText, "Name"), "x"), "right": rightClick(one.element(isText, "Name")),
			"drag": one.drag(60, 138, 200, 138),
		}
		*st = *one
		st.Must(change())
		for kind, act := range acts {
			st.mark()
			r := st.do(act)
			if r.GetOutcome() != commonv1.Outcome_OUTCOME_REFUSED || r.GetRoute() != commonv1.Route_ROUTE_NONE {
				st.t.Errorf("%s, %s: outcome %v by %v", what, kind, r.GetOutcome(), r.GetRoute())
			}
			st.reached(0)
		}
	}
}

// exact clicks a point of the target and says where it must arrive.
func exact(role commonv1.Role, name string) func(*stage, refusal.Code) {
	return func(st *stage, _ refusal.Code) {
		at := st.middle(role, name)
		r := st.done(st.clickOn(role, name))
		st.pointed(at, at)
		if got := st.Desk.Journal(st.target); got[len(got)-1].Element != name {
			st.t.Errorf("it reached %q", got[len(got)-1].Element)
		}
		harness.Verified(st.t, r, r.GetVerification().GetMethod())
	}
}

func seed002Coordinates() []required {
	return []required{
		{name: "scale_1x", says: "coordinates at 1x", set: set{pictured: true}, run: exact(isButton, "Submit")},
		{
			name: "scale_2x_negative_origin", says: "coordinates at 2x, on a display with a negative origin",
			set: set{pictured: true, app: calculator, title: "Calculator"}, run: exact(isButton, "7"),
		},
		{
			name: "window_across_displays", says: "a window across displays of mixed scale: the half on the first",
			set: set{pictured: true}, run: across(isButton, "More"),
		},
		{
			name: "window_across_displays_other_half", says: "a window across displays of mixed scale: the other half",
			set: set{pictured: true}, run: across(isButton, "Submit"),
		},
		{
			name: "unproven_scale", says: "a display whose scale cannot be proven exposes no point",
			code: refusal.InvalidCoordinate, set: set{pictured: true, unseen: true}, run: func(st *stage, want refusal.Code) {
				st.Must(st.Desk.SetScaleUnsure(0, true))
				st.see()
				st.refusedWith(st.clickOn(isButton, "Submit"), want)
			},
		},
		{
			name: "picture_of_another_frame", says: "a pixel of a picture that is not the frame's",
			code: refusal.InvalidBinding, set: set{pictured: true}, run: func(st *stage, want refusal.Code) {
				old := st.clickOn(isButton, "Submit")
				st.see()
				st.refusedWith(old, want)
			},
		},
	}
}

// across clicks an element of a window that lies half on each display.
func across(role commonv1.Role, name string) func(*stage, refusal.Code) {
	return func(st *stage, want refusal.Code) {
		st.Must(st.Desk.SpanDisplays(st.target))
		st.Must(st.Desk.Move(st.decoys[len(st.decoys)-1], 900, 700))
		st.see()
		exact(role, name)(st, want)
	}
}

func seed002Pages() []required {
	log := set{app: form, title: "Log"}
	return []required{
		{
			name: "page_target_changed", says: "the page's target changed", code: refusal.PageTargetChanged, set: pictured(log),
			run: func(st *stage, want refusal.Code) {
				element, point := press(st.a, "Clear"), st.clickOn(isButton, "Clear")
				st.Must(st.Desk.ReloadPage(st.target))
				st.refusedWith(element, want)
				st.refusedWith(point, want)
			},
		},
		{
			name: "renderer_changed", says: "another renderer process drew the page", code: refusal.PageTargetChanged, set: log,
			run: func(st *stage, want refusal.Code) {
				act := press(st.a, "Clear")
				st.Must(st.Desk.CrashRenderer(st.target))
				st.refusedWith(act, want)
			},
		},
		{
			name: "page_target_not_unique", says: "the page target is not unique: never another page of that target",
			code: refusal.TargetMissing, departs: "C1.4: the document identity and the window tell pages of one target apart",
			set: log, run: func(st *stage, want refusal.Code) {
				st.done(press(st.a, "Clear"))
				act := press(st.a, "Clear")
				st.Must(st.Desk.CloseWindow(st.target))
				st.refusedWith(act, want)
			},
		},
		{
			name: "page_navigated", says: "the page went to another address since", code: refusal.PageTargetChanged,
			set: set{pictured: true, app: browser, title: "Browser"}, run: func(st *stage, want refusal.Code) {
				element, point := harness.Click(st.element(isButton, "Back")), st.clickOn(isLink, "Bank")
				st.Must(st.Desk.ToggleByUser(st.object(isLink, "Shop"))) // the user follows the link
				if !strings.Contains(st.window().Destination, "shop.test") {
					st.t.Fatalf("the page is at %q", st.window().Destination)
				}
				st.refusedWith(element, want)
				st.refusedWith(point, want)
				st.refusedWith(harness.Navigate(virtualdesk.StartAddress), want)
			},
		},
	}
}

func seed002User() []required {
	return []required{
		{
			name: "user_moves_and_switches", says: "the user moves the pointer and the focus while the agent acts: " +
				"the agent moves neither", set: set{pictured: true, app: workbench, title: "Workbench"},
			run: func(st *stage, _ refusal.Code) {
				sketch := st.middle(isCanvas, "Sketch")
				act := st.drag(sketch.X-40, sketch.Y, sketch.X+40, sketch.Y)
				st.Must(st.Desk.Pace(workbench, 40*time.Millisecond))
				st.mark()
				answer := st.a.Start(st.a.Context(), on(st.a, act))
				st.Await("the drag has begun", func() bool { return len(st.Desk.Journal(st.target)) > 0 })
				log := st.Window("Log").ID
				st.Must(st.Desk.UserPointerMoves(1000, 820))
				st.Must(st.Desk.UserActivates(log))
				mine, err := st.Desk.Desk(st.t.Context())
				st.Must(err)
				r := st.a.Wait(answer)
				if r.Err != nil || r.GetOutcome() != commonv1.Outcome_OUTCOME_OK {
					st.t.Errorf("outcome %v, %v", r.GetOutcome(), r.GetRefusal().GetCode())
				}
				now, err := st.Desk.Desk(st.t.Context())
				st.Must(err)
				if now.PointerX != mine.PointerX || now.PointerY != mine.PointerY || now.Focus != log || now.Active != log {
					st.t.Errorf("the user's desk was %+v, is %+v", mine, now)
				}
				if got := r.GetDesk().GetFocus(); got != commonv1.DeskChange_DESK_CHANGE_BY_USER &&
					got != commonv1.DeskChange_DESK_CHANGE_UNCHANGED {
					st.t.Errorf("focus %v", got)
				}
			},
		},
		{
			name: "no_activation", says: "the target is never activated for a click, nor for typing",
			set: set{pictured: true}, run: func(st *stage, _ refusal.Code) {
				st.Must(st.Desk.UserActivates(st.decoys[len(st.decoys)-1]))
				st.done(st.clickOn(isButton, "More"))
				st.done(harness.TypeText(st.element(isText, "Name"), "typed"))
				if got := st.holds(isText, "Name"); got != "typed" {
					st.t.Errorf("the field holds %q", got)
				}
			},
		},
		{
			name: "background_fails", says: "background delivery fails: no foreground event instead",
			code: refusal.BackgroundUnavailable, set: set{pictured: true}, run: func(st *stage, want refusal.Code) {
				st.Must(st.Desk.UserActivates(st.decoys[len(st.decoys)-1]))
				st.Must(st.Desk.NeedForeground(form, true))
				st.refusedWith(st.clickOn(isButton, "Submit"), want)
			},
		},
		{
			name: "user_intervened", says: "the user works in the bound window while the act waits",
			code: refusal.UserIntervened, set: set{pictured: true}, run: func(st *stage, want refusal.Code) {
				req := on(st.a, st.clickOn(isButton, "Submit"))
				st.Must(st.Desk.TakeSeat(3 * time.Second))
				answer := st.a.Start(st.a.Context(), req)
				st.Await("the act yields", func() bool {
					st.Must(st.Desk.UserInput(st.target))
					return len(answer) > 0
				})
				harness.NothingSent(st.t, st.a.Wait(answer).ActResponse, want)
				st.reached(0)
			},
		},
		{
			name: "user_edited", says: "the user changed what the act would overwrite: user_intervened",
			code: refusal.TargetChanged, departs: "C6.2: an act that overwrites compares value and state in the same step",
			run: func(st *stage, want refusal.Code) {
				act := harness.SetValue(st.element(isText, "Name"), "agent")
				st.Must(st.Desk.SetValue(st.object(isText, "Name"), "user"))
				st.refusedWith(act, want)
				if got := st.holds(isText, "Name"); got != "user" {
					st.t.Errorf("the field holds %q", got)
				}
			},
		},
	}
}

// owning makes the session the owner of the form's Name, has something happen, and types
// without naming an element.
func owning(then func(*stage)) func(*stage, refusal.Code) {
	return func(st *stage, want refusal.Code) {
		harness.Verified(st.t, st.done(harness.Focus(st.element(isText, "Name"))), stateReadback)
		then(st)
		typed := harness.TypeText(0, "x")
		if want == 0 {
			st.done(typed)
			return
		}
		st.refusedWith(typed, want)
	}
}

// rule002 is what the contract says of 002's keyboard rule.
const rule002 = "keyboard ownership from readback, also for terminals, documents, grids"

func seed002Keyboard() []required {
	return []required{
		{
			name: "keyboard_owned", says: "a verified act gave the focus, and a fresh observation shows it: typing goes there",
			departs: rule002, run: owning(func(*stage) {}),
		},
		{
			name: "keyboard_by_click", says: "an editable click is verified by the focus, and with a fresh observation it owns the keyboard",
			set: set{pictured: true}, run: func(st *stage, _ refusal.Code) {
				r := st.done(st.clickOn(isText, "Name"))
				if !r.GetVerified() {
					st.t.Errorf("the click is not verified: effect %v by %v", r.GetEffect(), r.GetVerification().GetMethod())
				}
				st.done(harness.TypeText(0, "x"))
			},
		},
		{
			name: "keyboard_never_owned", says: "type never relies on the current focus of the system",
			code: refusal.KeyboardNotOwned, run: func(st *stage, want refusal.Code) {
				st.Must(st.Desk.UserActivates(st.target))
				st.Must(st.Desk.UserFocuses(st.object(isText, "Name")))
				st.see()
				st.refusedWith(harness.TypeText(0, "x"), want)
			},
		},
		{
			name: "keyboard_new_observation", says: "revoked by a new observation", code: refusal.KeyboardNotOwned,
			run: owning(func(st *stage) {
				st.see()
				if n := st.user.Counts().GetKeyboards(); n != 0 {
					st.t.Errorf("%d keyboards are owned", n)
				}
			}),
		},
		{
			name: "keyboard_refused_act", says: "revoked by a failed or stale act", code: refusal.KeyboardNotOwned,
			run: owning(func(st *stage) { st.refusedWith(press(st.a, "Delete"), refusal.UnsupportedAction) }),
		},
		{
			name: "keyboard_declined_act", says: "revoked by an act that the app declined", code: refusal.KeyboardNotOwned,
			run: owning(func(st *stage) {
				st.Must(st.Desk.DeclineNext(form))
				harness.Refused(st.t, st.do(press(st.a, "More")).GetRefusal(), refusal.DispatchRefused)
			}),
		},
		{
			name: "keyboard_user_input", says: "revoked when the user changes the target", code: refusal.KeyboardNotOwned,
			run: owning(func(st *stage) {
				st.Must(st.Desk.UserInput(st.target))
				st.Await("the keyboard is revoked", func() bool { return st.user.Counts().GetKeyboards() == 0 })
			}),
		},
		{
			name: "keyboard_window_gone", says: "revoked when the window changes", code: refusal.KeyboardNotOwned,
			run: owning(func(st *stage) {
				st.Must(st.Desk.RecycleWindow(st.target))
				st.Await("the keyboard is revoked", func() bool { return st.user.Counts().GetKeyboards() == 0 })
			}),
		},
		{
			name: "keyboard_focus_moved", says: "typing goes nowhere once the app moved its own focus",
			code: refusal.KeyboardNotOwned, run: owning(func(st *stage) {
				st.Must(st.Desk.UserFocuses(st.object(commonv1.Role_ROLE_TEXT_AREA, "Notes")))
			}),
		},
		{
			name: "keyboard_page_changed", says: "revoked when the page changes", code: refusal.PageTargetChanged,
			set: set{app: browser, title: "Browser"}, run: func(st *stage, want refusal.Code) {
				st.done(harness.Navigate(virtualdesk.ShopAddress))
				harness.Verified(st.t, st.done(harness.Focus(st.element(isText, "Search"))), stateReadback)
				st.Must(st.Desk.ReloadPage(st.target))
				st.refusedWith(harness.TypeText(0, "x"), want)
			},
		},
		{
			name: "keyboard_other_session", says: "revoked when another session acts on the window",
			code: refusal.ReobserveRequired, run: owning(func(st *stage) {
				b := st.second(st.target)
				harness.Verified(st.t, b.Do(harness.Focus(b.Element(isText, "Name").GetId())), stateReadback)
				if n := st.user.Counts().GetKeyboards(); n != 1 {
					st.t.Errorf("%d keyboards are owned", n)
				}
			}),
		},
		{
			name: "keyboard_pause", says: "revoked when the act or the session is broken off", code: refusal.Paused,
			run: owning(func(st *stage) {
				st.user.Pause(st.id())
				if n := st.user.Counts().GetKeyboards(); n != 0 {
					st.t.Errorf("%d keyboards are owned", n)
				}
			}),
		},
		{
			name: "keyboard_turn_end", says: "revoked at the end of the turn", code: refusal.TurnEnded,
			run: owning(func(st *stage) { st.a.EndTurn() }),
		},
		{
			name: "keyboard_session_end", says: "revoked at the end of the session", code: refusal.SessionUnknown,
			run: owning(func(st *stage) { st.a.EndSession() }),
		},
		{
			name: "keyboard_stop", says: "revoked by a stop", code: refusal.UserStopped,
			run: owning(func(st *stage) {
				st.user.Stop(st.a.Session.GetSessionId())
				if n := st.user.Counts().GetKeyboards(); n != 0 {
					st.t.Errorf("%d keyboards are owned", n)
				}
			}),
		},
	}
}

// tried is an act that changes what its verb wants, or, with a fault, nothing.
func tried(role commonv1.Role, name string, by commonv1.VerificationMethod, act func(*stage) *commonv1.Act,
) func(*stage, refusal.Code) {
	return func(st *stage, _ refusal.Code) {
		st.Must(st.Desk.NoOpNext(st.set.app))
		if r := st.done(act(st)); r.GetVerified() || r.GetEffect() == commonv1.Effect_EFFECT_CONFIRMED {
			st.t.Errorf("nothing happened, and it is %v by %v", r.GetEffect(), r.GetVerification().GetMethod())
		}
		harness.Verified(st.t, st.done(act(st)), by)
		if got := st.Desk.Journal(st.target); got[len(got)-1].Element != name || got[len(got)-1].Role != role {
			st.t.Errorf("it reached %q", got[len(got)-1].Element)
		}
	}
}

func seed002Effects() []required {
	bench, shop := set{app: workbench, title: "Workbench"}, set{app: browser, title: "Browser"}
	times := func(role commonv1.Role, name string, n uint32) func(*stage) *commonv1.Act {
		return func(st *stage) *commonv1.Act {
			act := harness.Click(st.element(role, name))
			act.GetClickElement().Count = n
			return act
		}
	}
	return []required{
		{
			name: "effect_focus", says: "an editable element got the focus: the application says so",
			run: tried(isText, "Name", stateReadback, func(st *stage) *commonv1.Act { return harness.Focus(st.element(isText, "Name")) }),
		},
		{
			name: "effect_checkbox", says: "a check box: its state changed",
			run: tried(isCheck, "Subscribe", stateReadback, func(st *stage) *commonv1.Act {
				return harness.Click(st.element(isCheck, "Subscribe"))
			}),
		},
		{
			name: "effect_button", says: "a button: something downstream changed",
			run: tried(isLink, "Help", treeDelta, func(st *stage) *commonv1.Act { return harness.Click(st.element(isLink, "Help")) }),
		},
		{
			name: "effect_double_click", says: "a double click: something downstream changed", set: bench,
			run: tried(isCanvas, "Pad", treeDelta, times(isCanvas, "Pad", 2)),
		},
		{
			name: "effect_triple_click", says: "a triple click: something downstream changed", set: bench,
			run: tried(isCanvas, "Pad", treeDelta, times(isCanvas, "Pad", 3)),
		},
		{
			name: "effect_middle_click", says: "a middle click: the auxiliary click was handled and something changed", set: shop,
			run: tried(isLink, "Shop", treeDelta, func(st *stage) *commonv1.Act {
				return clickWith(st.element(isLink, "Shop"), commonv1.Button_BUTTON_MIDDLE)
			}),
		},
		{
			name: "effect_right_click", says: "a right click: a menu opened, or something changed",
			run: tried(isButton, "Submit", windowSet, func(st *stage) *commonv1.Act { return rightClick(button(st.a, "Submit")) }),
		},
		{
			name: "effect_range_drag", says: "a drag on a range: the value stays", set: pictured(bench),
			run: tried(isSlider, "Level", valueReadback, func(st *stage) *commonv1.Act {
				at := st.middle(isSlider, "Level")
				return st.drag(at.X-30, at.Y, at.X+25, at.Y)
			}),
		},
		{
			name: "effect_native_text", says: "native text: read back from the accessibility value",
			run: tried(isText, "Name", textReadback, func(st *stage) *commonv1.Act {
				return harness.TypeText(st.element(isText, "Name"), "written")
			}),
		},
		{
			name: "effect_page_text", says: "text in a page: read back from the page itself", set: shop,
			run: func(st *stage, want refusal.Code) {
				st.done(harness.Navigate(virtualdesk.ShopAddress))
				tried(isText, "Search", pageReadback, func(st *stage) *commonv1.Act {
					return harness.TypeText(st.element(isText, "Search"), "boots")
				})(st, want)
			},
		},
		{
			name: "effect_without_postcondition", says: "a high-impact act without a fresh postcondition is never verified",
			code:    refusal.OutcomeUnknown,
			departs: "outcome UNKNOWN with observation_missing instead of capture_failed after a sent act",
			run: func(st *stage, want refusal.Code) {
				st.Must(st.Desk.Delay(form, 200*time.Millisecond))
				st.mark()
				answer := st.a.Start(st.a.Context(), on(st.a, press(st.a, "Submit")))
				st.Await("the act is sent", func() bool { return len(st.Desk.Journal(st.target)) > 0 })
				st.Must(st.Desk.SetPermission(commonv1.AbilityKind_ABILITY_KIND_TREE, false))
				r := st.a.Wait(answer)
				harness.Unknown(st.t, r.ActResponse)
				harness.Refused(st.t, r.GetRefusal(), want)
				if r.GetObservationMissing() != commonv1.ObservationMissing_OBSERVATION_MISSING_CAPTURE_FAILED {
					st.t.Errorf("missing: %v", r.GetObservationMissing())
				}
				st.reached(1)
			},
		},
		{
			name: "effect_declined_is_final", says: "supported but not ok is terminal: no other route is tried",
			code: refusal.DispatchRefused, run: func(st *stage, want refusal.Code) {
				st.Must(st.Desk.DeclineNext(form))
				st.mark()
				harness.Refused(st.t, st.do(press(st.a, "More")).GetRefusal(), want)
				st.reached(1)
			},
		},
		{
			name: "effect_not_offered_falls_back_once", says: "not supported, without a side effect: one other route, once",
			set: bench, run: func(st *stage, _ refusal.Code) {
				r := st.done(harness.Click(st.element(isCanvas, "Pad")))
				if r.GetRoute() != commonv1.Route_ROUTE_AGENT_SEAT {
					st.t.Errorf("by %v", r.GetRoute())
				}
			},
		},
	}
}
