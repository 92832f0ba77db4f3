package integration

import (
	"context"
	"image"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
	"fairlead.dev/services/virtualdesk"
	"fairlead.dev/test/harness"
)

const strictBundle = "../testdata/bundles/strict.cedar"

// notCaused are the codes that nobody can cause here, and why.
var notCaused = map[refusal.Code]string{
	refusal.ApprovalRequired: "no rule asks a person yet",
	refusal.ApprovalDenied:   "no rule asks a person yet",
	refusal.ApprovalExpired:  "no rule asks a person yet",
	refusal.BudgetExhausted:  "leases have no budgets yet",
	// The frame book's own tests cause it; it is what holds when the queue would not.
	refusal.ActionInProgress: "calls of one session run one after the other (C4.1), so no claim is held when the next begins",
}

// notCausedMax is how many codes may be left out.
const notCausedMax = 6

// told is what a call was refused with, and what to try in order to find out whether it
// was told the truth.
type told struct {
	refusal *commonv1.Refusal
	// req is the act that was sent; nil for calls that are no acts.
	req *hostv1.ActRequest
	// sent is how many acts reached the target all the same.
	sent int
	// heal takes the cause away.
	heal func()
	// other is another act on the same frame, and otherWant why it does not go through
	// either, although the frame is current.
	other     *commonv1.Act
	otherWant refusal.Code
	// again makes the same call again, where it is no act.
	again func() *commonv1.Refusal
	// gone says that there is no session any more.
	gone bool
}

// cause is one way to be refused with a code.
type cause struct {
	code refusal.Code
	how  string
	set  set
	// make causes it on a stage. It calls mark before what is refused.
	make func(*stage) told
}

// Every refusal code is caused through the public services; what the answer says of the
// claim and of the frame is what then happens; and nothing reaches a decoy, nor the target
// where nothing was sent (C3.5, C0.2).
func TestEveryRefusalCodeIsCausedEndToEnd(t *testing.T) {
	caused := map[refusal.Code]bool{}
	for _, c := range causes() {
		caused[c.code] = true
	}
	for n := range commonv1.RefusalCode_name {
		code := refusal.Code(n)
		if why, left := notCaused[code]; n != 0 && caused[code] == left {
			t.Errorf("%v: caused %v, left out %v (%s)", code, caused[code], left, why)
		}
	}
	if len(notCaused) > notCausedMax {
		t.Errorf("%d codes are left out", len(notCaused))
	}
	for _, c := range causes() {
		t.Run(c.code.String()[len("REFUSAL_CODE_"):]+"/"+c.how, func(t *testing.T) {
			t.Parallel()
			st := play(t, c.set)
			r := c.make(st)
			harness.Refused(t, r.refusal, c.code)
			st.reached(r.sent)
			if !t.Failed() {
				st.isTrue(r)
			}
			st.untouchedDecoys()
		})
	}
}

// isTrue finds out whether a refusal said the truth about the frame and the claim.
func (st *stage) isTrue(r told) {
	st.t.Helper()
	says := r.refusal
	frame := st.a.Frame.GetFrame()
	if r.req != nil {
		frame = r.req.GetFrame()
	}
	if !r.gone {
		state := st.a.State()
		st.a.Fence = state.GetFence()
		if is := proto.Equal(state.GetFrame(), frame); is != says.GetFrameStillCurrent() {
			st.t.Errorf("says frame_still_current %v, it is %v", says.GetFrameStillCurrent(), is)
		}
	}
	if r.req == nil {
		st.isTrueOfCall(r)
		return
	}
	before := len(st.Desk.Events())
	goesThrough := says.GetFrameStillCurrent()
	switch says.GetClaimEnd() {
	case commonv1.ClaimEnd_CLAIM_END_RETURNED:
		st.healed(r)
		st.goes("the same act again", goesThrough, r.req.GetFrame(), r.req.GetAct(), r.req.GetActId())
	case commonv1.ClaimEnd_CLAIM_END_RETIRED:
		if goesThrough {
			harness.NothingSent(st.t, st.a.DoOn(frame, r.req.GetAct()), refusal.RetiredAction)
		}
		st.healed(r)
		st.another(r, frame, goesThrough)
	case commonv1.ClaimEnd_CLAIM_END_CONSUMED:
		if goesThrough {
			st.t.Error("says that the act was sent and the frame is current")
		}
		st.healed(r)
		harness.NothingSent(st.t, st.a.DoOn(frame, r.req.GetAct()), refusal.DuplicateAction)
		st.another(r, frame, false)
	case commonv1.ClaimEnd_CLAIM_END_NONE:
		st.healed(r)
		st.another(r, frame, goesThrough)
	default:
		st.t.Errorf("says %v", says.GetClaimEnd())
	}
	if !goesThrough && len(st.Desk.Events()) != before {
		st.t.Error("an act on the frame was sent")
	}
	for _, e := range st.Desk.Events() {
		if e.Window != st.target {
			st.t.Errorf("%v reached window %d of %s in the end", e.Verb, e.Window, e.App)
		}
	}
}

// isTrueOfCall makes a call that is no act again, when its cause is gone.
func (st *stage) isTrueOfCall(r told) {
	st.t.Helper()
	st.healed(r)
	if r.again != nil {
		if no := r.again(); no != nil {
			st.t.Errorf("the same call again: %v", no.GetCode())
		}
	}
}

func (st *stage) healed(r told) {
	st.t.Helper()
	if r.heal != nil {
		r.heal()
	}
	if !r.gone {
		st.a.Fence = st.a.State().GetFence()
	}
}

// another tries another act on the frame.
func (st *stage) another(r told, frame *commonv1.FrameRef, goesThrough bool) {
	st.t.Helper()
	other := r.other
	if other == nil {
		other = harness.Click(st.more(frame))
	}
	if r.otherWant != 0 {
		harness.NothingSent(st.t, st.a.DoOn(frame, other), r.otherWant)
		return
	}
	st.goes("another act", goesThrough, frame, other, "")
}

// more is the id of the form's "More" in the frame that the agent saw.
func (st *stage) more(*commonv1.FrameRef) uint32 {
	if e, err := harness.Find(st.a.Frame, isButton, "More"); err == nil {
		return e.GetId()
	}
	return 1
}

func (st *stage) goes(what string, through bool, frame *commonv1.FrameRef, act *commonv1.Act, id string) {
	st.t.Helper()
	r, err := st.a.Send(&hostv1.ActRequest{ActId: id, Frame: frame, Act: act})
	st.Must(err)
	switch {
	case through && r.GetOutcome() != commonv1.Outcome_OUTCOME_OK:
		st.t.Errorf("%s: outcome %v, refused with %v", what, r.GetOutcome(), r.GetRefusal().GetCode())
	case !through && (r.GetOutcome() != commonv1.Outcome_OUTCOME_REFUSED || r.GetRefusal() == nil):
		st.t.Errorf("%s went through: %v", what, r.GetOutcome())
	}
}

// sends sends an act on the latest frame and returns what it was told.
func (st *stage) sends(act *commonv1.Act) told {
	st.t.Helper()
	return st.sendsOn(st.a.Frame.GetFrame(), act)
}

func (st *stage) sendsOn(frame *commonv1.FrameRef, act *commonv1.Act) told {
	st.t.Helper()
	return st.asks(&hostv1.ActRequest{Frame: frame, Act: act})
}

func (st *stage) asks(req *hostv1.ActRequest) told {
	st.t.Helper()
	st.mark()
	r, err := st.a.Send(req)
	st.Must(err)
	return told{refusal: r.GetRefusal(), req: req}
}

func causes() []cause {
	var all []cause
	for _, some := range [][]cause{
		bindingCauses(), targetCauses(), pointCauses(), requestCauses(), sessionCauses(), permissionCauses(),
		capabilityCauses(), executionCauses(), serviceCauses(),
	} {
		all = append(all, some...)
	}
	return all
}

func bindingCauses() []cause {
	return []cause{
		{code: refusal.NoActiveFrame, how: "nothing observed in this turn", make: func(st *stage) told {
			frame, act := st.a.Frame.GetFrame(), press(st.a, "Submit")
			st.a.BeginTurn()
			return st.sendsOn(frame, act)
		}},
		{code: refusal.StaleFrame, how: "observed again since", make: func(st *stage) told {
			frame := st.a.Frame.GetFrame()
			st.see()
			return st.sendsOn(frame, press(st.a, "Submit"))
		}},
		{code: refusal.StaleEpoch, how: "another act spent the frame", make: func(st *stage) told {
			frame, act := st.a.Frame.GetFrame(), press(st.a, "Submit")
			st.do(harness.Focus(st.element(isText, "Name")))
			return st.sendsOn(frame, act)
		}},
		{code: refusal.StaleGeneration, how: "the executor was restarted", make: func(st *stage) told {
			st.RestartExecutor()
			return st.sends(press(st.a, "Submit"))
		}},
		{code: refusal.DuplicateAction, how: "the act that spent the frame", make: func(st *stage) told {
			frame, act := st.a.Frame.GetFrame(), harness.Focus(st.element(isText, "Name"))
			st.do(act)
			return st.sendsOn(frame, act)
		}},
		{code: refusal.RetiredAction, how: "the act that was refused on the frame", make: func(st *stage) told {
			act := press(st.a, "Submit")
			st.Must(st.Desk.Relabel(st.object(isButton, "Submit"), "Send"))
			st.refusedWith(act, refusal.TargetChanged)
			return st.sends(act)
		}},
		{code: refusal.InvalidBinding, how: "an element the frame does not show", make: func(st *stage) told {
			return st.sends(harness.Click(9999))
		}},
		{code: refusal.TargetMismatch, how: "a hint names another app", make: func(st *stage) told {
			return st.asks(&hostv1.ActRequest{
				Frame: st.a.Frame.GetFrame(), Act: press(st.a, "More"), Hint: &hostv1.TargetHint{AppId: calculator},
			})
		}},
		{code: refusal.TargetMismatch, how: "a hint names the other window of the app", make: func(st *stage) told {
			return st.asks(&hostv1.ActRequest{
				Frame: st.a.Frame.GetFrame(), Act: press(st.a, "More"), Hint: &hostv1.TargetHint{WindowId: st.decoys[0]},
			})
		}},
		{code: refusal.RepeatedFailure, how: "refused three times on fresh frames", make: func(st *stage) told {
			submit := st.object(isButton, "Submit")
			for range 3 {
				act := press(st.a, "Submit")
				st.Must(st.Desk.Relabel(submit, "Send"))
				st.refusedWith(act, refusal.TargetChanged)
				st.Must(st.Desk.Relabel(submit, "Submit"))
				st.see()
			}
			return st.sends(press(st.a, "Submit"))
		}},
	}
}

// meanwhile presses Submit after something happened to the form.
func meanwhile(change func(*stage) error) func(*stage) told {
	return func(st *stage) told {
		act := press(st.a, "Submit")
		st.Must(change(st))
		return st.sends(act)
	}
}

func targetCauses() []cause {
	submit := func(st *stage) executor.Object { return st.object(isButton, "Submit") }
	over := set{covered: true}
	return []cause{
		{refusal.TargetMissing, "the element was removed", over, meanwhile(func(st *stage) error {
			return st.Desk.RemoveElement(submit(st))
		})},
		{refusal.TargetMissing, "the window closed", over, func(st *stage) told {
			act := press(st.a, "Submit")
			st.Must(st.Desk.CloseWindow(st.target))
			r := st.sends(act)
			r.other, r.otherWant = press(st.a, "More"), refusal.TargetMissing
			return r
		}},
		{refusal.TargetAmbiguous, "two elements could be the one", over, meanwhile(func(st *stage) error {
			_, _, err := st.Desk.SplitElement(submit(st))
			return err
		})},
		{refusal.TargetAmbiguous, "the app has several windows", over, func(st *stage) told {
			st.mark()
			return told{refusal: st.a.Look(harness.OfApp(form)).GetRefusal()}
		}},
		{refusal.TargetChanged, "the element was relabelled", over, meanwhile(func(st *stage) error {
			return st.Desk.Relabel(submit(st), "Send")
		})},
		{refusal.TargetOccluded, "a window of the same app covers it", over, func(st *stage) told {
			act := press(st.a, "Submit")
			cover, err := st.Desk.Cover(st.target, form)
			st.Must(err)
			st.decoys = append(st.decoys, cover)
			r := st.sends(act)
			r.heal = func() { st.Must(st.Desk.CloseWindow(cover)) }
			return r
		}},
		{
			refusal.TargetUnresponsive, "the app is frozen",
			set{covered: true, opts: harness.Options{Desk: virtualdesk.Config{Unresponsive: 100 * time.Millisecond}}},
			func(st *stage) told {
				act := press(st.a, "Submit")
				st.Must(st.Desk.Freeze(form))
				r := st.sends(act)
				r.heal = func() { st.Must(st.Desk.Thaw(form)) }
				return r
			},
		},
		{
			refusal.PageTargetChanged, "the page was loaded again",
			set{app: form, title: "Log", covered: true},
			func(st *stage) told {
				act := press(st.a, "Clear")
				st.Must(st.Desk.ReloadPage(st.target))
				r := st.sends(act)
				r.other, r.otherWant = harness.Focus(button(st.a, "Clear")), refusal.PageTargetChanged
				return r
			},
		},
		{refusal.UnsupportedAction, "the element is disabled", over, func(st *stage) told {
			return st.sends(press(st.a, "Delete"))
		}},
		{refusal.SecureField, "the element is a secure field", over, func(st *stage) told {
			return st.sends(harness.Click(st.element(commonv1.Role_ROLE_SECURE_FIELD, "Password")))
		}},
	}
}

func pointCauses() []cause {
	return []cause{
		{refusal.WindowHidden, "a point of a minimised window", set{pictured: true}, func(st *stage) told {
			act := st.clickOn(isButton, "Submit")
			st.Must(st.Desk.Minimize(st.target))
			r := st.sends(act)
			r.heal = func() { st.Must(st.Desk.Restore(st.target)) }
			return r
		}},
		{refusal.InvalidCoordinate, "a pixel outside of the picture", set{pictured: true}, func(st *stage) told {
			p := st.picture()
			return st.sends(harness.ClickPoint(p.GetPictureId(), float64(p.GetWidth())+1, 1))
		}},
		{refusal.NoPicture, "a pixel of a frame without a picture", set{}, func(st *stage) told {
			return st.sends(harness.ClickPoint("p-1", 10, 10))
		}},
		{refusal.TargetOccluded, "another app's window lies over the point", set{pictured: true, covered: true}, func(st *stage) told {
			r := st.sends(st.clickOn(isButton, "Submit"))
			r.heal = func() { st.Must(st.Desk.CloseWindow(st.decoys[len(st.decoys)-1])) }
			return r
		}},
		{
			refusal.SeatUnavailable, "somebody has the seat",
			set{pictured: true, opts: harness.Options{Desk: virtualdesk.Config{SeatWait: 50 * time.Millisecond}}},
			func(st *stage) told {
				act := st.clickOn(isButton, "More")
				st.Must(st.Desk.TakeSeat(300 * time.Millisecond))
				r := st.sends(act)
				r.heal = func() { st.Await("the seat is free", func() bool { return st.Desk.TakeSeat(0) == nil }) }
				return r
			},
		},
		{refusal.BackgroundUnavailable, "the app takes input in the foreground only", set{pictured: true}, func(st *stage) told {
			act := st.clickOn(isButton, "Submit")
			st.Must(st.Desk.UserActivates(st.decoys[len(st.decoys)-1]))
			st.Must(st.Desk.NeedForeground(form, true))
			r := st.sends(act)
			r.heal = func() { st.Must(st.Desk.NeedForeground(form, false)) }
			return r
		}},
		{
			refusal.CaptureFailed, "the picture around the point cannot be taken",
			set{pictured: true, app: painting, title: "Canvas"},
			func(st *stage) told {
				p := st.picture()
				st.Must(st.Desk.FailCapture(st.target, 1))
				r := st.sends(harness.ClickPoint(p.GetPictureId(), 40, 40))
				r.other = harness.ClickPoint(p.GetPictureId(), 60, 60)
				return r
			},
		},
	}
}

func requestCauses() []cause {
	return []cause{
		{refusal.AmbiguousKey, "a chord with Delete", set{covered: true}, func(st *stage) told {
			return st.sends(harness.PressKeys("ctrl+Delete"))
		}},
		{refusal.WithheldValueReplayed, "the placeholder of a secure field", set{covered: true}, func(st *stage) told {
			return st.sends(harness.SetValue(st.element(isText, "Name"), "[withheld: secure field]"))
		}},
		{refusal.KeyboardNotOwned, "typing without an element", set{covered: true}, func(st *stage) told {
			return st.sends(harness.TypeText(0, "nowhere"))
		}},
	}
}

func sessionCauses() []cause {
	id := func(st *stage) string { return st.a.Session.GetSessionId() }
	return []cause{
		{refusal.SessionUnknown, "the session ended", set{covered: true}, func(st *stage) told {
			act := press(st.a, "Submit")
			st.a.EndSession()
			r := st.sends(act)
			r.gone = true
			return r
		}},
		{refusal.TurnEnded, "the turn ended", set{covered: true}, func(st *stage) told {
			act := press(st.a, "Submit")
			st.a.EndTurn()
			return st.sends(act)
		}},
		{refusal.ReobserveRequired, "another session acted on the window", set{covered: true}, func(st *stage) told {
			b := st.AgentOf(st.t)
			b.AcquireAll(form)
			st.seenBy(b, st.target)
			b.Do(press(b, "More"))
			return st.sends(press(st.a, "Submit"))
		}},
		{refusal.UserIntervened, "the user's input comes before the act's", set{pictured: true}, func(st *stage) told {
			req := on(st.a, st.clickOn(isButton, "Submit"))
			st.mark()
			st.Must(st.Desk.TakeSeat(3 * time.Second))
			answer := st.a.Start(st.a.Context(), req)
			var r harness.Answer
			st.Await("the act yields", func() bool {
				st.Must(st.Desk.UserInput(st.target))
				select {
				case r = <-answer:
					return true
				default:
					return false
				}
			})
			st.Must(r.Err)
			return told{refusal: r.GetRefusal(), req: req}
		}},
		{refusal.ScreenLocked, "the screen is locked", set{covered: true}, func(st *stage) told {
			act := press(st.a, "Submit")
			st.Must(st.Desk.Lock())
			r := st.sends(act)
			r.heal = func() { st.Must(st.Desk.Unlock()) }
			return r
		}},
		{refusal.Paused, "the user paused the session", set{covered: true}, func(st *stage) told {
			act := press(st.a, "Submit")
			st.user.Pause(id(st))
			r := st.sends(act)
			r.heal = func() { st.user.Resume(id(st)) }
			return r
		}},
		{refusal.UserStopped, "the user stopped the session", set{covered: true}, func(st *stage) told {
			act := press(st.a, "Submit")
			st.user.Stop(id(st))
			r := st.sends(act)
			r.heal = func() { st.user.Resume(id(st)) }
			return r
		}},
		{
			refusal.BlockedURL, "the act leads to a blocked destination",
			set{app: browser, title: "Browser", covered: true, opts: harness.Options{Bundle: strictBundle}},
			func(st *stage) told {
				r := st.sends(harness.Navigate(virtualdesk.BankAddress))
				r.other, r.otherWant = harness.Navigate(virtualdesk.ShopAddress), refusal.BlockedURL
				return r
			},
		},
		{refusal.Busy, "the session's queue is full", set{covered: true}, busy},
	}
}

// busy fills the session's queue with looks at a window that does not answer.
func busy(st *stage) told {
	free := st.fill(17)
	r := st.sends(press(st.a, "More"))
	r.heal = free
	return r
}

// fill has so many calls of the session run or wait, until free is called: looks at the
// window of an app that does not answer.
func (st *stage) fill(calls int) (free func()) {
	st.t.Helper()
	harness.Refused(st.t, st.a.Acquire(metadata, harness.App(calculator)).GetRefusal(), 0)
	var frozen *commonv1.WindowIdentity
	for _, w := range st.a.Windows(calculator) {
		if w.GetTitle() == "Calculator" {
			frozen = w.GetWindow()
		}
	}
	st.Must(st.Desk.Freeze(calculator))
	var looks sync.WaitGroup
	for range calls {
		req := harness.OfWindow(frozen)
		req.Fence, req.Session, req.TurnId = st.a.Fence, st.a.Session, st.a.Turn
		looks.Go(func() {
			// Whatever it is answered: the window goes away meanwhile.
			_, _ = st.a.Observe.Observe(st.a.Context(), req)
		})
	}
	st.a.AwaitWaiting(st.System, uint32(calls-1))
	return func() {
		st.Must(st.Desk.Die(calculator))
		looks.Wait()
	}
}

func permissionCauses() []cause {
	strict := harness.Options{Bundle: strictBundle}
	return []cause{
		{
			refusal.LeaseRequired, "no lease of the act's class",
			set{covered: true, leases: []commonv1.LeaseClass{metadata, screenshot}},
			func(st *stage) told {
				r := st.sends(press(st.a, "More"))
				r.heal = func() { harness.Refused(st.t, st.a.Acquire(semantic, harness.App(form)).GetRefusal(), 0) }
				return r
			},
		},
		{refusal.PolicyForbidden, "a rule forbids the verb", set{covered: true, opts: strict}, func(st *stage) told {
			return st.sends(harness.SetValue(st.element(isText, "Name"), "x"))
		}},
		{
			refusal.SensitiveTarget, "a rule puts the app off limits for the verb",
			set{covered: true, opts: strict},
			func(st *stage) told {
				return st.sends(harness.SetChecked(true)(st.element(isCheck, "Subscribe")))
			},
		},
		{
			refusal.ConsentRequired, "no rule lets pictures leave the machine",
			set{pictured: true, covered: true, unseen: true, opts: strict},
			func(st *stage) told {
				return st.zoomsAs(true, hostv1.PictureDestination_PICTURE_DESTINATION_REMOTE_MODEL)
			},
		},
		{
			refusal.VisionUnsupported, "the client reads no pictures",
			set{pictured: true, covered: true, unseen: true},
			func(st *stage) told { return st.zoomsAs(false, local) },
		},
	}
}

// zoomsAs has another client look with a picture and zoom into what it saw.
func (st *stage) zoomsAs(vision bool, to hostv1.PictureDestination) told {
	st.t.Helper()
	st.a = harness.Connect(st.t, st.Dial("agent"))
	st.a.Open(&hostv1.OpenSessionRequest{ClientName: "test", Vision: vision, PictureDestination: to})
	st.a.BeginTurn()
	for _, c := range everyClass {
		harness.Refused(st.t, st.a.Acquire(c, harness.App(form)).GetRefusal(), 0)
	}
	st.see()
	st.mark()
	return told{refusal: st.zoom("p-1")}
}

// zoom takes a part of the picture again.
func (st *stage) zoom(picture string) *commonv1.Refusal {
	st.t.Helper()
	r, err := st.a.Observe.Zoom(st.a.Context(), &hostv1.ZoomRequest{
		Fence: st.a.Fence, Session: st.a.Session, TurnId: st.a.Turn, Frame: st.a.Frame.GetFrame(), PictureId: picture,
		From: &commonv1.Point{X: 10, Y: 10}, To: &commonv1.Point{X: 60, Y: 40},
	})
	st.Must(err)
	return r.GetRefusal()
}

func capabilityCauses() []cause {
	return []cause{
		{
			refusal.NoPermittedRoute, "a right click without a lease for a pointer",
			set{covered: true, leases: []commonv1.LeaseClass{metadata, screenshot, semantic}},
			func(st *stage) told {
				return st.sends(rightClick(button(st.a, "Submit")))
			},
		},
		{refusal.PermissionMissing, "the system took a permission away", set{covered: true}, func(st *stage) told {
			act := press(st.a, "More")
			st.Must(st.Desk.SetPermission(commonv1.AbilityKind_ABILITY_KIND_SEMANTIC, false))
			r := st.sends(act)
			r.heal = func() { st.Must(st.Desk.SetPermission(commonv1.AbilityKind_ABILITY_KIND_SEMANTIC, true)) }
			return r
		}},
	}
}

func rightClick(id uint32) *commonv1.Act {
	return clickWith(id, commonv1.Button_BUTTON_RIGHT)
}

func clickWith(id uint32, b commonv1.Button) *commonv1.Act {
	args := &commonv1.ClickElement{ElementId: id, Button: b}
	return &commonv1.Act{Act: &commonv1.Act_ClickElement{ClickElement: args}}
}

func executionCauses() []cause {
	stuck := &toggle{}
	return []cause{
		{refusal.DispatchRefused, "the app declines", set{covered: true}, func(st *stage) told {
			st.Must(st.Desk.DeclineNext(form))
			act, other := press(st.a, "Submit"), press(st.a, "More")
			r := st.sends(act)
			r.sent, r.other = 1, other
			return r
		}},
		{refusal.OutcomeUnknown, "the answer of the act is lost", set{covered: true}, func(st *stage) told {
			st.Must(st.Desk.UnansweredNext(form, true))
			act, other := press(st.a, "More"), press(st.a, "Submit")
			r := st.sends(act)
			r.sent, r.other = 1, other
			return r
		}},
		{refusal.OutcomeUnknown, "the act is lost", set{covered: true}, func(st *stage) told {
			st.Must(st.Desk.UnansweredNext(form, false))
			act, other := press(st.a, "More"), press(st.a, "Submit")
			r := st.sends(act)
			r.other = other
			return r
		}},
		{refusal.Aborted, "who sent it first has left", set{covered: true}, aborted},
		{
			refusal.Timeout, "the tree takes too long to read",
			set{covered: true, opts: harness.Options{Wrap: func(d *virtualdesk.Desk) executor.Platform {
				return slowTree{d, stuck}
			}}},
			func(st *stage) told {
				st.mark()
				stuck.set(true)
				look := func() *commonv1.Refusal {
					return st.a.Look(harness.OfWindow(st.a.Frame.GetWindow())).GetRefusal()
				}
				r := told{refusal: look(), heal: func() { stuck.set(false) }, again: look}
				if got := r.refusal.GetDetail().GetStage(); got != commonv1.Stage_STAGE_WALK {
					st.t.Errorf("stage %v", got)
				}
				return r
			},
		},
		{
			refusal.PictureTooLarge, "the picture is over the hard cap",
			set{pictured: true, opts: harness.Options{Wrap: func(d *virtualdesk.Desk) executor.Platform { return &growing{virtual: d} }}},
			func(st *stage) told {
				st.mark()
				return told{refusal: st.zoom(st.picture().GetPictureId())}
			},
		},
	}
}

// aborted sends one act twenty times under one act id. The session's queue is kept from
// moving; when nobody more may join, the first sender leaves.
func aborted(st *stage) told {
	free := st.fill(2)
	st.mark()
	req := on(st.a, press(st.a, "More"))
	req.ActId = "the same"
	st.a.Fill(req)
	ctx, leave := context.WithCancel(st.t.Context())
	defer leave()
	st.a.Start(ctx, req)
	st.a.AwaitWaiting(st.System, 2)
	answers := make(chan *hostv1.ActResponse, 17)
	for range cap(answers) {
		go func() {
			r, err := st.a.Acts.Act(st.a.Context(), req)
			if err != nil {
				r = nil
			}
			answers <- r
		}()
	}
	// As many as may join have joined when one more is refused.
	if r := <-answers; r.GetRefusal().GetCode() != refusal.Busy {
		st.t.Errorf("the one too many: %v", r)
	}
	leave()
	var r *hostv1.ActResponse
	for range cap(answers) - 1 {
		r = <-answers
		harness.NothingSent(st.t, r, refusal.Aborted)
	}
	return told{refusal: r.GetRefusal(), req: req, heal: free}
}

// virtual is the virtual desk under a name that hides none of its methods.
type virtual = virtualdesk.Desk

// slowTree is a desk whose trees take as long as they may while it is on.
type slowTree struct {
	*virtual
	on *toggle
}

func (s slowTree) ReadTree(ctx context.Context, w ident.Window, limits executor.TreeLimits) (*executor.Tree, error) {
	if s.on.isOn() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s.virtual.ReadTree(ctx, w, limits)
}

// growing is a desk whose window is captured ever larger: the first picture fits.
type growing struct {
	*virtual
	mu    sync.Mutex
	taken int
}

func (g *growing) Capture(ctx context.Context, w ident.Window) (*executor.Capture, error) {
	c, err := g.virtual.Capture(ctx, w)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.taken++; err == nil && g.taken > 1 {
		c.Image = image.NewRGBA(image.Rect(0, 0, 10_000, 10_000))
	}
	return c, err
}

func serviceCauses() []cause {
	mute := &altered{}
	return []cause{
		{refusal.ServiceUnavailable, "the executor is gone", set{covered: true}, func(st *stage) told {
			window := st.a.Frame.GetWindow()
			st.mark()
			st.StopExecutor()
			st.a.Fence = st.a.State().GetFence()
			look := func() *commonv1.Refusal { return st.a.Look(harness.OfWindow(window)).GetRefusal() }
			return told{refusal: look(), again: look, heal: func() {
				st.StartExecutor()
				st.a.Fence = st.a.State().GetFence()
				harness.Refused(st.t, st.a.Acquire(metadata, harness.App(form)).GetRefusal(), 0)
			}}
		}},
		{
			refusal.ServiceMismatch, "an answer of the executor has a field nobody knows",
			set{covered: true, opts: harness.Options{Alter: mute.alter}},
			func(st *stage) told {
				window := st.a.Frame.GetWindow()
				st.mark()
				mute.set(true)
				look := func() *commonv1.Refusal { return st.a.Look(harness.OfWindow(window)).GetRefusal() }
				return told{refusal: look(), again: look, heal: func() { mute.set(false) }}
			},
		},
	}
}

// altered adds a field of no schema to every snapshot of the executor while it is on.
type altered struct{ toggle }

func (a *altered) alter(method string, answer []byte) []byte {
	if method != executorv1.ExecutorService_Snapshot_FullMethodName || !a.isOn() {
		return answer
	}
	inner := protowire.AppendVarint(protowire.AppendTag(nil, 19_999, protowire.VarintType), 1)
	var r executorv1.SnapshotResponse
	if proto.Unmarshal(answer, &r) != nil || r.GetSnapshot() == nil {
		return answer
	}
	r.GetSnapshot().ProtoReflect().SetUnknown(inner)
	b, err := proto.Marshal(&r)
	if err != nil {
		return answer
	}
	return b
}

type toggle struct {
	mu sync.Mutex
	on bool
}

func (t *toggle) set(on bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.on = on
}

func (t *toggle) isOn() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.on
}
