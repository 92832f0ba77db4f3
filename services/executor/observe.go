package executor

import (
	"context"
	"time"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
	"fairlead.dev/services/executor/internal/readback"
	"fairlead.dev/services/executor/internal/settle"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
)

const (
	// pollEvery is how often an element is read again while its effect is awaited.
	pollEvery = 50 * time.Millisecond
	// longText is how much of a text is read when all of it has to be compared.
	longText = 16_384
)

// observe says what became of an act that was, or may have been, sent (C7.2, C7.3).
func (d *dispatch) observe(ctx context.Context, sent Delivery) *executorv1.DispatchResponse {
	out := &executorv1.DispatchResponse{
		Outcome: commonv1.Outcome_OUTCOME_OK, Route: sent.Route,
		Effect:         commonv1.Effect_EFFECT_UNVERIFIABLE,
		Verification:   &commonv1.Verification{Method: commonv1.VerificationMethod_VERIFICATION_METHOD_ACTION_RESULT},
		DeliveredCount: uint32(max(0, sent.Count)),
	}
	switch sent.Sent {
	case Declined:
		out.Outcome, out.Code = commonv1.Outcome_OUTCOME_FAILED, refusal.AnswerDispatchRefused
	case Unanswered:
		d.unknown(out)
		out.MayStillHappen = true
		d.e.closeApp(d.look.window.Identity.App)
	}
	after := d.lookAfter(ctx, out)
	d.judge(out, sent, after)
	desk, err := d.e.cfg.Platform.Desk(ctx)
	out.Desk = deskReport(d.before, desk, err)
	return out
}

// unknown turns the outcome into one that nobody knows; it is never confirmed (C7.2).
func (d *dispatch) unknown(out *executorv1.DispatchResponse) {
	out.Outcome, out.Code = commonv1.Outcome_OUTCOME_UNKNOWN, refusal.AnswerOutcomeUnknown
	out.Effect = commonv1.Effect_EFFECT_UNVERIFIABLE
}

// closeApp refuses further acts on an app until it has been seen again (C7.7).
func (e *Executor) closeApp(app string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.state.closed[app] = true
}

// settle waits for the window to come to rest, and for the target to show what was
// wanted, within the bound. A press that nothing answered yet is waited for too: only
// then is "no change" worth saying. A cancelled dispatch does not wait: its context ends.
func (d *dispatch) settle(ctx context.Context, sent Delivery) {
	if sent.Settled || sent.Sent != Accepted {
		return
	}
	start := time.Now()
	w := settle.Begin(time.Duration(d.req.GetSettleMs()) * time.Millisecond)
	timer := time.NewTimer(w.Left(0))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case c, ok := <-d.changes:
			if !ok {
				d.changes = nil
			} else if d.concerns(c) {
				d.moved = true
				w.Change(time.Since(start))
				timer.Reset(w.Left(time.Since(start)))
			}
		case <-timer.C:
			at := time.Since(start)
			left := w.Left(at)
			if left == 0 {
				if w.Over(at) || sent.Stopped != 0 || d.met(ctx) {
					return
				}
				left = pollEvery
			}
			timer.Reset(left)
		}
	}
}

func (d *dispatch) concerns(c Change) bool {
	switch c.Kind {
	case ChangeWindows, ChangeTree, ChangeLost:
		return c.PID == 0 || c.PID == d.target.Identity.PID
	default:
		return false
	}
}

// met reports whether waiting can end: something moved, and where one element or the
// window can tell, it tells. What need not have a consequence is not waited for.
func (d *dispatch) met(ctx context.Context) bool {
	switch d.plan.claim.Wish {
	case readback.Maybe:
		return true
	case readback.Press, readback.Option, readback.Scroll:
		return d.moved
	case readback.Move, readback.Size, readback.Hide, readback.Close, readback.Page:
		windows, err := d.e.cfg.Platform.Windows(ctx)
		return err != nil || readback.Met(d.plan.claim, d.windowFacts(windows))
	}
	n, err := d.e.cfg.Platform.Reread(ctx, d.target.Identity, d.object)
	if err != nil {
		return true
	}
	if n.ValueTruncated {
		return d.moved
	}
	return readback.Met(d.plan.claim, d.elementFacts(readback.Facts{}, &n))
}

// elementFacts adds to what is known of the window how the element was at the send and
// how it is now.
func (d *dispatch) elementFacts(f readback.Facts, now *Node) readback.Facts {
	f.Found, f.Before, f.After = true, stateOf(d.sentTo.States), stateOf(now.States)
	f.ValueBefore, f.ValueAfter, f.ValueCut = d.sentTo.Value, now.Value, now.ValueTruncated
	f.SelectedBefore, f.SelectedAfter = selected(d.sentTo.Selection), selected(now.Selection)
	f.InPage, f.FromPage = now.Renderer != 0, now.FromPage
	return f
}

func selected(r *TextRange) *readback.Range {
	if r == nil {
		return nil
	}
	return &readback.Range{Start: r.Start, Length: r.Length}
}

// windowFacts compares the window as it was just before the send with what it is now.
func (d *dispatch) windowFacts(windows []Window) readback.Facts {
	was, now := d.target, byIdentity(windows, d.target.Identity)
	f := readback.Facts{
		WindowsChanged: windowSetChanged(windowChanges(d.windows, windows, was.Identity.App)),
		WindowGone:     now == nil, WindowSeen: now != nil,
	}
	if now == nil {
		return f
	}
	f.WindowsChanged = f.WindowsChanged || opened(was.Surfaces, now.Surfaces)
	f.HiddenBefore, f.HiddenAfter = was.Hidden, now.Hidden
	f.PlaceBefore, f.PlaceAfter = readback.Place(was.Bounds), readback.Place(now.Bounds)
	none := ident.Page{}
	f.PageSeen, f.PageChanged = was.Page != none && now.Page != none, was.Page != now.Page
	f.WasThere, f.IsThere = d.plan.leadsTo(was.Destination), d.plan.leadsTo(now.Destination)
	return f
}

// leadsTo reports whether a place is where the act sends its page.
func (p *planned) leadsTo(destination string) bool {
	if p.origin == "" {
		return true
	}
	at, ok := originOf(destination)
	return ok && at == p.origin
}

// opened reports whether a surface is there that was not.
func opened(before, after []Surface) bool {
	for _, s := range after {
		if _, ok := surfaceByID(before, s.ID); !ok {
			return true
		}
	}
	return false
}

// afterwards is what was seen after an act.
type afterwards struct {
	look *look
	// windows is what the windows and the target among them are now.
	windows readback.Facts
	// gone says that the target is gone, or hidden, by design.
	gone bool
}

// lookAfter looks at the windows and the target again. Without an observation, and
// without evidence that the target is gone by design, nobody knows (C7.3).
func (d *dispatch) lookAfter(ctx context.Context, out *executorv1.DispatchResponse) afterwards {
	var after afterwards
	windows, err := d.e.cfg.Platform.Windows(ctx)
	if err != nil {
		d.missing(out, err)
		return after
	}
	id := d.look.window.Identity
	after.windows = d.windowFacts(windows)
	out.WindowChanges = fromChanges(windowChanges(d.windows, windows, id.App))
	now := byIdentity(windows, id)
	switch {
	case now == nil && (d.verb == commonv1.Verb_VERB_CLOSE_WINDOW || d.processLives(ctx, windows)):
		after.gone = true
		out.ObservationMissing = commonv1.ObservationMissing_OBSERVATION_MISSING_TARGET_CLOSED
		return after
	case now == nil:
		d.missing(out, Fail(refusal.AnswerWindowGone))
		return after
	case now.Hidden && !d.target.Hidden:
		after.gone = true
		out.ObservationMissing = commonv1.ObservationMissing_OBSERVATION_MISSING_TARGET_MINIMISED
		return after
	}
	snap, err := d.e.see(ctx, d.s, windows, d.wishAfter())
	if err != nil {
		d.missing(out, err)
		return after
	}
	after.look, out.After = snap.look, snap.wire
	return after
}

// wishAfter is the look an act returns: its tree is covered by the act's own permit,
// its picture needs one of its own, and a picture that cannot be had is no error.
func (d *dispatch) wishAfter() wish {
	w := d.look.window.Identity
	ask := wish{window: w, limits: toLimits(d.req.GetLimits()), text: textMax, wide: d.look.wide}
	if d.req.GetAsChange() {
		ask.base, ask.baseID = d.look, d.snapshot
	}
	if d.plan.long {
		ask.text = longText
	}
	if p := d.req.GetPicture(); p != nil {
		var a refusal.Answer
		if ask.picture, a = d.e.mayPicture(p, d.s, w); a != 0 {
			ask.picture = &pictureWish{refused: true}
		}
	}
	return ask
}

// missing notes why there is no observation; the outcome is then unknown (C7.3).
func (d *dispatch) missing(out *executorv1.DispatchResponse, err error) {
	switch a, detail := d.e.told(err, commonv1.Stage_STAGE_WALK); a {
	case refusal.AnswerHalted, refusal.AnswerSessionUnknown:
		// A stop withholds the observation and changes nothing about the outcome (C12.6).
		out.ObservationMissing = commonv1.ObservationMissing_OBSERVATION_MISSING_STOPPED
		return
	case refusal.AnswerTimeout:
		out.ObservationMissing = commonv1.ObservationMissing_OBSERVATION_MISSING_TIMEOUT
		out.Detail = detail
	default:
		out.ObservationMissing = commonv1.ObservationMissing_OBSERVATION_MISSING_CAPTURE_FAILED
	}
	d.unknown(out)
}

// processLives reports whether the app still runs after its window is gone: another
// window of the same process is there, or the system says so.
func (d *dispatch) processLives(ctx context.Context, windows []Window) bool {
	id := d.look.window.Identity
	for i := range windows {
		if sameApp(windows[i].Identity, id) {
			return true
		}
	}
	apps, err := d.e.cfg.Platform.Apps(ctx, id.App)
	if err != nil {
		return false
	}
	for _, a := range apps {
		if a.ID == id.App {
			return a.Running
		}
	}
	return false
}

// judge has the readback say what the facts prove. A refused, failed or unknown act is
// never confirmed (C7.2).
func (d *dispatch) judge(out *executorv1.DispatchResponse, sent Delivery, after afterwards) {
	partly := d.plan.typed > 0 && sent.Count > 0 && sent.Count < d.plan.typed
	if out.Outcome == commonv1.Outcome_OUTCOME_OK {
		v := readback.Judge(d.plan.claim, d.facts(after))
		out.Effect = commonv1.Effect(v.Effect)
		out.Verification = &commonv1.Verification{
			Method: commonv1.VerificationMethod(v.Method), ObservedChange: v.Changed,
		}
		if v.Partial >= 0 && !partly && sent.Stopped == 0 {
			partly, out.DeliveredCount = true, uint32(v.Partial)
		}
	}
	if partly || sent.Stopped != 0 {
		// Half a text, or half a drag, is neither done nor not done (C7.4).
		d.unknown(out)
		if a := d.e.mayGoOn(d.running); a == refusal.AnswerPhysicalInputActive {
			// The user's own input cut it short (C12.2).
			out.Code = a
		}
	}
}

// facts gathers what the looks before and after show.
func (d *dispatch) facts(after afterwards) readback.Facts {
	f := after.windows
	f.WindowsChanged = f.WindowsChanged || after.gone
	if after.look == nil {
		return f
	}
	if i := after.look.at(d.object, d.sentTo.Renderer); i >= 0 && d.object != "" {
		now := after.look.nodes[i]
		now.States = after.look.states(i)
		f = d.elementFacts(f, &now)
	}
	f.TreesWhole = d.look.complete() && after.look.complete()
	comparable := f.TreesWhole || d.look.limits.Elements == after.look.limits.Elements &&
		d.look.limits.Depth == after.look.limits.Depth
	f.TreeChanged = comparable && d.look.quality == after.look.quality && d.look.still != after.look.still
	if d.plan.claim.Wish == readback.Option {
		f.OptionFound, f.OptionSelected = after.look.option(d.object, d.plan.claim.Text)
	}
	return f
}

// option looks for a selectable element of the name below the object, or the object itself.
func (l *look) option(o Object, name string) (found, selected bool) {
	for i := range l.nodes {
		n := &l.nodes[i]
		if n.Name != name || !n.States.Has(commonv1.ElementState_ELEMENT_STATE_SELECTABLE) || !l.within(i, o) {
			continue
		}
		found = true
		selected = selected || n.States.Has(commonv1.ElementState_ELEMENT_STATE_SELECTED)
	}
	return found, selected
}

// below reports whether an element is an ancestor of another, or the other itself.
func (l *look) below(i, ancestor int) bool {
	for ; i >= 0; i = l.parent(i) {
		if i == ancestor {
			return true
		}
	}
	return false
}

func (l *look) within(i int, o Object) bool {
	for ; i >= 0; i = l.parent(i) {
		if l.nodes[i].Object == o {
			return true
		}
	}
	return false
}
