package integration

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/refusal"
	"fairlead.dev/services/virtualdesk"
	"fairlead.dev/test/harness"
)

const (
	browser   = virtualdesk.BrowserID
	workbench = virtualdesk.WorkbenchID
	painting  = virtualdesk.CanvasID
)

// everyClass is what an agent on a stage may do unless the stage says otherwise.
var everyClass = []commonv1.LeaseClass{metadata, screenshot, semantic, keyboard, pointer}

// set says what a stage is made of. The zero value is the form, seen without a picture
// under every lease and the bundle that allows everything.
type set struct {
	opts       harness.Options
	app, title string
	leases     []commonv1.LeaseClass
	// pictured says that the target is observed with a picture, as acts on points need.
	pictured bool
	// covered puts the decoy of another app over the target instead of next to it. Acts on
	// elements do not care; acts on points do (C6.1, C6.2).
	covered bool
	// unseen says that the agent has not observed yet.
	unseen bool
}

// stage is a system with one target among decoys, and an agent that was shown the target.
// The decoys are a window of the same app that is the same in every respect but its
// identity and place, and a window of another app; both lie above it in the stack.
type stage struct {
	*harness.System
	t      *testing.T
	a      *harness.Agent
	user   *harness.User
	set    set
	target uint64
	decoys []uint64
	// what reached the target, and how the user's desk was, when mark was called.
	events, inputs int
	desk           executor.DeskState
}

func play(t *testing.T, made set) *stage {
	t.Helper()
	if made.app == "" {
		made.app, made.title = form, "Form"
	}
	if made.leases == nil {
		made.leases = everyClass
	}
	if made.opts.Bundle == "" {
		made.opts.Bundle = allBundle
	}
	st := &stage{System: harness.Start(t, made.opts), t: t, set: made}
	st.user = st.User()
	if _, err := st.Desk.Window(made.title); err != nil {
		st.Must(st.Desk.Start(made.app))
	}
	st.target = st.Window(made.title).ID
	st.surround()
	st.a = st.AgentOf(t)
	for _, c := range made.leases {
		harness.Refused(t, st.a.Acquire(c, harness.App(made.app)).GetRefusal(), 0)
	}
	if !made.unseen {
		st.see()
	}
	st.mark()
	return st
}

// surround opens the decoys.
func (st *stage) surround() {
	st.t.Helper()
	twins, err := st.Desk.OpenAgain(st.set.app, 0, 700)
	st.Must(err)
	other := calculator
	if st.set.app == calculator {
		other = form
	}
	cover, err := st.Desk.Cover(st.target, other)
	st.Must(err)
	if !st.set.covered {
		b := st.bounds()
		st.Must(st.Desk.Move(cover, b.X+b.W, b.Y))
	}
	st.decoys = append(twins, cover)
}

// window is the target as the desk lists it now.
func (st *stage) window() executor.Window {
	st.t.Helper()
	ws, err := st.Desk.Windows(st.t.Context())
	st.Must(err)
	for _, w := range ws {
		if w.Identity.ID == st.target {
			return w
		}
	}
	st.t.Fatal("the target is gone")
	return executor.Window{}
}

func (st *stage) bounds() executor.Rect { return st.window().Bounds }

// see observes the target, by its identity and not by what it looks like.
func (st *stage) see() *commonv1.Observation {
	st.t.Helper()
	return st.seenBy(st.a, st.target)
}

func (st *stage) seenBy(a *harness.Agent, id uint64) *commonv1.Observation {
	st.t.Helper()
	for _, w := range a.Windows(st.set.app) {
		if w.GetWindow().GetWindowId() != id {
			continue
		}
		req := harness.OfWindow(w.GetWindow())
		req.Picture = st.set.pictured
		r := a.Look(req)
		harness.Refused(st.t, r.GetRefusal(), 0)
		return r.GetObservation()
	}
	st.t.Fatalf("window %d is not listed", id)
	return nil
}

// object is an element of the target, for faults.
func (st *stage) object(role commonv1.Role, name string) executor.Object {
	st.t.Helper()
	o, err := st.Desk.Element(st.target, role, name)
	st.Must(err)
	return o
}

// holds is what an element of the target holds, whatever the agent was shown.
func (st *stage) holds(role commonv1.Role, name string) string {
	st.t.Helper()
	n, err := st.Desk.Reread(st.t.Context(), st.window().Identity, st.object(role, name))
	st.Must(err)
	return n.Value
}

// element is the id of an element of the latest frame.
func (st *stage) element(role commonv1.Role, name string) uint32 {
	st.t.Helper()
	return st.a.Element(role, name).GetId()
}

// at is the pixel of the latest frame's picture in the middle of an element.
func (st *stage) at(role commonv1.Role, name string) *commonv1.Point {
	st.t.Helper()
	b := st.a.Element(role, name).GetBounds()
	return st.pixel(b.GetX()+b.GetWidth()/2, b.GetY()+b.GetHeight()/2)
}

// pixel is the pixel of the latest frame's picture that shows a point of the window.
func (st *stage) pixel(x, y float64) *commonv1.Point {
	tr := st.picture().GetTransform()
	return &commonv1.Point{X: (x - tr.GetOffsetX()) / tr.GetScaleX(), Y: (y - tr.GetOffsetY()) / tr.GetScaleY()}
}

func (st *stage) picture() *commonv1.Picture {
	st.t.Helper()
	p := st.a.Frame.GetPicture()
	if p == nil {
		st.t.Fatalf("the frame has no picture: %v", st.a.Frame.GetPictureAbsence())
	}
	return p
}

// clickOn clicks the pixel that shows the middle of an element.
func (st *stage) clickOn(role commonv1.Role, name string) *commonv1.Act {
	st.t.Helper()
	p := st.at(role, name)
	return harness.ClickPoint(st.picture().GetPictureId(), p.GetX(), p.GetY())
}

// do acts on the latest frame.
func (st *stage) do(act *commonv1.Act) *hostv1.ActResponse {
	st.t.Helper()
	return st.a.Do(act)
}

// mark forgets what reached the target so far; the decoys are forgotten nothing.
func (st *stage) mark() {
	st.t.Helper()
	st.events, st.inputs = len(st.Desk.Journal(st.target)), len(st.Desk.Inputs(st.target))
	desk, err := st.Desk.Desk(st.t.Context())
	st.Must(err)
	st.desk = desk
}

// reached fails unless exactly so many acts reached the target since the mark, none ever
// reached any other window, and nothing but the agent's own pointer moved on the desk.
func (st *stage) reached(acts int) {
	st.t.Helper()
	if got := len(st.Desk.Journal(st.target)) - st.events; got != acts {
		st.t.Errorf("%d acts reached the target, want %d", got, acts)
	}
	if got := len(st.Desk.Inputs(st.target)) - st.inputs; acts == 0 && got != 0 {
		st.t.Errorf("%d input events reached the target", got)
	}
	for _, e := range st.Desk.Events() {
		if e.Window != st.target {
			st.t.Errorf("%v reached %q of window %d of %s", e.Verb, e.Element, e.Window, e.App)
		}
	}
	st.untouchedDecoys()
	st.undisturbed(acts)
}

// untouchedDecoys fails when anything ever reached a decoy, whatever became of it since.
func (st *stage) untouchedDecoys() {
	st.t.Helper()
	for _, id := range st.decoys {
		if n := len(st.Desk.Journal(id)) + len(st.Desk.Inputs(id)); n != 0 {
			st.t.Errorf("%d events reached the decoy %d", n, id)
		}
	}
}

// undisturbed fails when the user's pointer, focus, active window, stacking or clipboard
// changed since the mark, or the agent's own pointer although nothing was sent.
func (st *stage) undisturbed(acts int) {
	st.t.Helper()
	now, err := st.Desk.Desk(st.t.Context())
	st.Must(err)
	before := st.desk
	before.Input, before.Locked = now.Input, now.Locked
	if acts > 0 {
		before.AgentPointer, before.Stacking = now.AgentPointer, now.Stacking
	}
	if diff := cmp.Diff(before, now); diff != "" {
		st.t.Errorf("the desk changed (-before +now):\n%s", diff)
	}
	if held := st.Desk.Held(); len(held) != 0 {
		st.t.Errorf("%v is still down", held)
	}
}

// refusedWith fails unless the act was refused with the code and nothing was touched.
func (st *stage) refusedWith(act *commonv1.Act, want refusal.Code) *hostv1.ActResponse {
	st.t.Helper()
	st.mark()
	r := st.do(act)
	harness.NothingSent(st.t, r, want)
	st.reached(0)
	return r
}
