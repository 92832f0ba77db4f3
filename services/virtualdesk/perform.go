package virtualdesk

import (
	"context"
	"slices"
	"time"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/refusal"
)

// step is one act that may be sent: by which route, and what it does to the app.
type step struct {
	route commonv1.Route
	// also is another route that does the same, 0 for none; page says that a page's
	// document can do it as well. It sets and selects, and never clicks (C2.8).
	also commonv1.Route
	page bool
	do   func()
	// count is how many characters it delivers; partial delivers fewer.
	count   int
	partial func(n int)
}

// sending is what a step is sent to, and the event it leaves.
type sending struct {
	app     *app
	window  *window  // nil for a launch
	element *element // nil when it is sent to a window as a whole
	event   Event
}

// Perform does one element act. Reading the element, asking check and changing the
// desk are one step under the desk's lock (C6.2). The order of refusal: window,
// reference, secure, verb, check, disabled, blocked or covered by the same app, not
// offered, no permitted route. Only check's zero lets anything be sent.
func (d *Desk) Perform(ctx context.Context, p executor.Performance, check executor.Check) executor.Delivery {
	w, a := d.enter(ctx, p.Window, commonv1.AbilityKind_ABILITY_KIND_SEMANTIC)
	defer d.mu.Unlock()
	if a != 0 {
		return executor.Refused(a)
	}
	e := d.reach(w, p.Object)
	if e == nil {
		return executor.Refused(refusal.AnswerElementReleased)
	}
	if a := d.admit(w, e, p.Verb, check); a != 0 {
		return executor.Refused(a)
	}
	s, a := d.plan(e, p)
	if a != 0 {
		return executor.Refused(a)
	}
	if s.route = s.permitted(p.Routes, onPage(e)); s.route == commonv1.Route_ROUTE_NONE {
		return executor.Refused(refusal.AnswerNoPermittedRoute)
	}
	return d.send(ctx, sending{app: w.app, window: w, element: e, event: Event{
		Window: w.id, App: w.app.id, Verb: p.Verb, Action: p.Action, Role: e.role, Element: e.name, Object: e.object,
	}}, s)
}

// permitted is the first of the step's routes that is permitted.
func (s step) permitted(routes []commonv1.Route, page bool) commonv1.Route {
	own := []commonv1.Route{s.route, s.also}
	if s.page && page {
		own = append(own, commonv1.Route_ROUTE_PAGE_DOM)
	}
	for _, r := range own {
		if r != commonv1.Route_ROUTE_UNSPECIFIED && slices.Contains(routes, r) {
			return r
		}
	}
	return commonv1.Route_ROUTE_NONE
}

// onPage says whether an element belongs to a page's document.
func onPage(e *element) bool {
	area := e.up(func(p *element) bool { return p.role == commonv1.Role_ROLE_WEB_AREA })
	return area != nil && e.win.page.Document != ""
}

// admit answers why an element takes no act of this verb now, or zero.
func (d *Desk) admit(w *window, e *element, verb commonv1.Verb, check executor.Check) refusal.Answer {
	if e.secure {
		return refusal.AnswerElementSecure
	}
	if !supported(verb) {
		return refusal.AnswerNotSupported
	}
	if check != nil {
		if a := check(e.reread()); a != 0 {
			return a
		}
	}
	if !e.has(commonv1.ElementState_ELEMENT_STATE_ENABLED) {
		return refusal.AnswerElementDisabled
	}
	if d.blocked(w) || d.covered(w, e) {
		return refusal.AnswerWindowOccluded
	}
	return 0
}

func supported(v commonv1.Verb) bool {
	switch v {
	case commonv1.Verb_VERB_CLICK_ELEMENT, commonv1.Verb_VERB_SET_VALUE, commonv1.Verb_VERB_SELECT_OPTION,
		commonv1.Verb_VERB_PERFORM, commonv1.Verb_VERB_SET_EXPANDED, commonv1.Verb_VERB_SET_CHECKED,
		commonv1.Verb_VERB_FOCUS_ELEMENT, commonv1.Verb_VERB_TYPE_TEXT, commonv1.Verb_VERB_SELECT_TEXT,
		commonv1.Verb_VERB_SCROLL_ELEMENT:
		return true
	}
	return false
}

// blocked says whether a modal window of the same process is open over this one. A
// modal window is blocked by a later one only.
func (d *Desk) blocked(w *window) bool {
	for _, o := range d.stack {
		if o != w && o.app == w.app && o.modal && !o.hidden && (!w.modal || o.birth > w.birth) {
			return true
		}
	}
	return false
}

// covered says whether a surface of the same process lies over the element's centre.
// A window of another process does not count, and a hidden or scrolled-away element
// has no place that could be covered.
func (d *Desk) covered(w *window, e *element) bool {
	if w.hidden || e.has(commonv1.ElementState_ELEMENT_STATE_OFFSCREEN) {
		return false
	}
	p, surface := w.popupOf(e)
	x, y := e.bounds.X+e.bounds.W/2, e.bounds.Y+e.bounds.H/2
	if p != nil {
		x, y = x+p.bounds.X, y+p.bounds.Y
	}
	for _, above := range w.popups[surface:] {
		if holds(above.bounds, x, y) {
			return true
		}
	}
	x, y = x+w.bounds.X, y+w.bounds.Y
	for _, o := range d.stack[slices.Index(d.stack, w)+1:] {
		if o.app != w.app || o.hidden {
			continue
		}
		for _, s := range o.surfaces() {
			if holds(s.Bounds, x, y) {
				return true
			}
		}
	}
	return false
}

// send lets a step reach its app, the way the app's faults say.
func (d *Desk) send(ctx context.Context, to sending, s step) executor.Delivery {
	to.event.Route, to.event.Sent = s.route, executor.Accepted
	accepted := executor.Delivery{Sent: executor.Accepted, Route: s.route, Count: s.count, Settled: true}
	f := to.app.takePlanned(s.partial != nil)
	switch f.kind {
	case plannedDecline:
		to.event.Sent = executor.Declined
		d.record(to.event)
		return executor.Delivery{Sent: executor.Declined, Route: s.route, Settled: true}
	case plannedNoOp:
		d.record(to.event)
		return accepted
	case plannedUnanswered:
		if f.happens {
			to.event.Sent = executor.Unanswered
			d.record(to.event)
			d.effect(to, s.do)
		}
		return executor.Delivery{Sent: executor.Unanswered, Route: s.route}
	case plannedFreeze:
		return d.sendToFrozen(ctx, to, s)
	case plannedPartial:
		n := min(f.count, s.count)
		accepted.Count = n
		s.do = func() { s.partial(n) }
	}
	d.record(to.event)
	if to.app.delay > 0 {
		accepted.Settled = false
		d.later(to, s.do)
	} else {
		d.effect(to, s.do)
	}
	d.disturb(to.app, f.disturbance)
	return accepted
}

// sendToFrozen is a send whose app stopped answering after it had been asked: what it
// was asked for happens when it thaws, and nobody knows until then (C7.7).
func (d *Desk) sendToFrozen(ctx context.Context, to sending, s step) executor.Delivery {
	to.event.Sent = executor.Unanswered
	d.record(to.event)
	a, pid := to.app, to.app.pid
	a.thaw = make(chan struct{})
	a.late = append(a.late, func() { d.effect(to, s.do) })
	t := time.NewTimer(d.unresponsive)
	defer t.Stop()
	answer := d.awaitThaw(ctx, a.thaw, t.C)
	if answer != 0 || !a.running || a.pid != pid {
		return executor.Delivery{Sent: executor.Unanswered, Route: s.route}
	}
	return executor.Delivery{Sent: executor.Accepted, Route: s.route, Count: s.count, Settled: true}
}

// effect changes the app, when what the act was sent to is still there.
func (d *Desk) effect(to sending, do func()) {
	if to.element != nil && !d.alive(to.element) || to.window != nil && d.byID(to.window.id) != to.window {
		return
	}
	do()
	d.emit(executor.ChangeTree, to.app.pid)
}

// later is a delayed effect; Close stops it or waits for it.
func (d *Desk) later(to sending, do func()) {
	pid := to.app.pid
	d.after(to.app.delay, func() {
		if to.app.pid == pid {
			d.effect(to, do)
		}
	})
}

// after does something later, under the desk's lock, unless the desk closes before.
func (d *Desk) after(wait time.Duration, do func()) {
	d.running.Add(1)
	var t *time.Timer
	t = time.AfterFunc(wait, func() {
		defer d.running.Done()
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.timers, t)
		if !d.closed {
			do()
		}
	})
	d.timers[t] = struct{}{}
}
