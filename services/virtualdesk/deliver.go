package virtualdesk

import (
	"context"
	"slices"
	"time"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/refusal"
)

// portion is one part of an input: it is looked at, checked and sent in one step, and
// the desk's lock is let go of between two of them.
type portion struct {
	// at is what the check is told: which point, or how much has arrived.
	at      int
	checked bool
	// wait is how long after the one before.
	wait time.Duration
	look func(*window) (target, refusal.Answer)
	// send is what the window gets; through react it says what the app makes of it.
	send func(target)
}

// delivering is one input from its first part to what is told of it.
type delivering struct {
	desk  *Desk
	in    executor.Input
	check executor.InputCheck
	kind  commonv1.AbilityKind
	route commonv1.Route
	// next prepares the next part; it says no when there is none.
	next func() (portion, bool)

	begun bool
	to    sending
	seq   uint64
	fault planned
	pace  time.Duration
	// rest is the text that is still to come.
	rest string
	// drag is what is dragged, and last where the pointer is.
	drag *drag
	last target
	held []held
	sits bool // it has the agent's seat

	count   int
	stopped refusal.Answer
	pending []func()
	// outcome is set when what became of it is known before its end.
	outcome *executor.Delivery
}

// held is something that is down, and what its window gets when it goes up.
type held struct {
	name string
	put  func(down bool)
}

// Deliver sends pointer or keyboard input to a window, by the agent's own seat or by the
// page's own input. Looking, asking check and sending are one step for each part (C6.1,
// C8); between two parts nothing is locked and the context may end it. It answers by
// itself, whatever check says: other windows and secure fields get nothing, keys go to
// Input.Object and nowhere else. What is down is let go of on every path (C7.4).
func (d *Desk) Deliver(ctx context.Context, in executor.Input, check executor.InputCheck) executor.Delivery {
	r := &delivering{desk: d, in: in, check: check, rest: in.Text}
	if a := r.prepare(ctx); a != 0 {
		return executor.Refused(a)
	}
	defer r.rise()
	for {
		p, more := r.next()
		if !more || !r.pause(ctx, p.wait) || !r.seated(ctx) || !r.part(ctx, p) {
			return r.finish()
		}
	}
}

// seated takes the agent's seat for the next part, unless it was never given up.
func (r *delivering) seated(ctx context.Context) bool {
	if r.route != commonv1.Route_ROUTE_AGENT_SEAT || r.sits {
		return true
	}
	r.stopped = r.desk.takeSeat(ctx)
	r.sits = r.stopped == 0
	return r.sits
}

// rise gives the seat back.
func (r *delivering) rise() {
	if r.sits {
		r.sits = false
		r.desk.giveSeat()
	}
}

// prepare answers why this input is not even tried: nothing is asked, nothing waited for
// but an app that does not answer.
func (r *delivering) prepare(ctx context.Context) refusal.Answer {
	var plan func() refusal.Answer
	switch r.in.Verb {
	case commonv1.Verb_VERB_CLICK_POINT, commonv1.Verb_VERB_CLICK_ELEMENT, commonv1.Verb_VERB_HOVER_POINT,
		commonv1.Verb_VERB_DRAG, commonv1.Verb_VERB_SCROLL_POINT, commonv1.Verb_VERB_SCROLL_ELEMENT:
		r.kind, plan = commonv1.AbilityKind_ABILITY_KIND_POINTER, r.pointing
	case commonv1.Verb_VERB_TYPE_TEXT, commonv1.Verb_VERB_PASTE, commonv1.Verb_VERB_PRESS_KEYS,
		commonv1.Verb_VERB_HOLD_KEYS:
		r.kind, plan = commonv1.AbilityKind_ABILITY_KIND_KEYBOARD, r.keying
	default:
		return refusal.AnswerNotSupported
	}
	if r.check == nil {
		return refusal.AnswerDispatchRefused
	}
	if a := plan(); a != 0 {
		return a
	}
	w, a := r.desk.enter(ctx, r.in.Window, r.kind)
	defer r.desk.mu.Unlock()
	if a != 0 {
		return a
	}
	for _, p := range r.in.Points {
		if _, a := r.desk.lookAt(w, p); a != 0 {
			return a
		}
	}
	if r.route = w.inputRoute(r.in.Routes); r.route == commonv1.Route_ROUTE_NONE {
		return refusal.AnswerNoPermittedRoute
	}
	return 0
}

// inputRoute is the permitted way for input into a window: the agent's seat, or, into a
// page, its own trusted input.
func (w *window) inputRoute(permitted []commonv1.Route) commonv1.Route {
	switch {
	case slices.Contains(permitted, commonv1.Route_ROUTE_AGENT_SEAT):
		return commonv1.Route_ROUTE_AGENT_SEAT
	case w.page.Document != "" && slices.Contains(permitted, commonv1.Route_ROUTE_PAGE_INPUT):
		return commonv1.Route_ROUTE_PAGE_INPUT
	}
	return commonv1.Route_ROUTE_NONE
}

// parts sets parts that are known beforehand.
func (r *delivering) parts(ps ...portion) {
	r.next = func() (portion, bool) {
		if len(ps) == 0 {
			return portion{}, false
		}
		p := ps[0]
		ps = ps[1:]
		return p, true
	}
}

// pause waits between two parts without the desk's lock; what ends the act ends it.
func (r *delivering) pause(ctx context.Context, wait time.Duration) bool {
	if r.begun {
		wait += r.pace
	}
	if wait <= 0 {
		return true
	}
	if len(r.held) == 0 {
		// A window that takes its time keeps no other from its own (C4.2).
		r.rise()
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		r.stopped = ended(ctx)
	case <-r.desk.done:
		r.stopped = refusal.AnswerUnavailable
	}
	return false
}

// part looks, asks and sends in one step, and says whether to go on.
func (r *delivering) part(ctx context.Context, p portion) bool {
	d := r.desk
	d.mu.Lock()
	defer d.mu.Unlock()
	w, a := r.window(ctx)
	var t target
	if a == 0 {
		t, a = p.look(w)
	}
	if a == 0 && p.checked {
		if a = r.check(p.at, t.under); a == 0 {
			a = t.bar
		}
		if a != 0 && t.undo != nil {
			t.undo()
		}
	}
	if a != 0 {
		r.stopped = a
		return false
	}
	if !r.begun && !r.begin(ctx, t, p) {
		return false
	}
	p.send(t)
	return r.stopped == 0
}

// window finds the window again, as every part does.
func (r *delivering) window(ctx context.Context) (*window, refusal.Answer) {
	if a := r.desk.usable(ctx, r.kind); a != 0 {
		return nil, a
	}
	w, a := r.desk.identified(r.in.Window)
	switch {
	case a != 0:
		return nil, a
	case w.app.thaw != nil:
		return nil, refusal.AnswerTargetUnresponsive
	case w.app.foreground && !r.desk.hasUser(w.app):
		return nil, refusal.AnswerForegroundNeeded
	}
	return w, 0
}

// hasUser says whether the window the user has is one of the app's.
func (d *Desk) hasUser(a *app) bool {
	w := d.byID(d.user.active)
	return w != nil && w.app == a
}

// begin makes the first part reach the app, the way the app's faults say.
func (r *delivering) begin(ctx context.Context, t target, p portion) bool {
	r.begun, r.pace = true, t.win.app.pace
	r.to = sending{app: t.win.app, window: t.win, element: t.element, event: Event{
		Window: t.win.id, App: t.win.app.id, Verb: r.in.Verb, Button: r.in.Button, Route: r.route, Sent: executor.Accepted,
	}}
	if e := t.element; e != nil {
		r.to.event.Role, r.to.event.Element, r.to.event.Object = e.role, e.name, e.object
	}
	r.fault = t.win.app.takePlanned(r.in.Text != "")
	ends := executor.Delivery{Sent: executor.Unanswered, Route: r.route}
	switch r.fault.kind {
	case plannedDecline:
		r.to.event.Sent = executor.Declined
		ends = executor.Delivery{Sent: executor.Declined, Route: r.route, Settled: true}
		r.seq = r.desk.record(r.to.event)
	case plannedFreeze:
		ends = r.desk.sendToFrozen(ctx, r.to, step{route: r.route, count: r.whole(), do: func() { r.late(p) }})
	case plannedUnanswered:
		if r.fault.happens {
			r.outcome = &ends
			r.to.event.Sent = executor.Unanswered
			r.seq = r.desk.record(r.to.event)
			return true
		}
	default:
		r.seq = r.desk.record(r.to.event)
		return true
	}
	if t.undo != nil && r.fault.kind != plannedFreeze {
		t.undo()
	}
	r.outcome = &ends
	return false
}

// whole is how much there is to deliver.
func (r *delivering) whole() int {
	switch r.kind {
	case commonv1.AbilityKind_ABILITY_KIND_POINTER:
		return len(r.in.Points)
	default:
		if r.in.Text != "" {
			return characters(r.in.Text)
		}
		return r.in.Repeat
	}
}

// late is what an app that froze does with all of the input when it thaws (C7.7).
func (r *delivering) late(p portion) {
	for more := true; more; p, more = r.next() {
		t, a := p.look(r.to.window)
		if a != 0 {
			break
		}
		p.send(t)
	}
	r.letGo()
	for _, do := range r.pending {
		do()
	}
	r.pending = nil
}

// react is what the app makes of what it got: now, later, or nothing.
func (r *delivering) react(do func()) {
	switch {
	case r.fault.kind == plannedNoOp:
	case r.to.app.delay > 0:
		r.pending = append(r.pending, do)
	default:
		r.desk.effect(r.to, do)
	}
}

// press puts something down on the seat; whatever happens, it goes up again.
func (r *delivering) press(name string, f func(down bool)) {
	r.desk.seat.down(name)
	r.held = append(r.held, held{name, f})
	f(true)
}

// releaseLast lets go of what went down last.
func (r *delivering) releaseLast() {
	h := r.held[len(r.held)-1]
	r.held = r.held[:len(r.held)-1]
	r.desk.seat.up(h.name)
	h.put(false)
}

// letGo releases everything that is down (C7.4).
func (r *delivering) letGo() {
	for len(r.held) > 0 {
		r.releaseLast()
	}
}

// finish lets go of everything and tells what became of the input.
func (r *delivering) finish() executor.Delivery {
	d := r.desk
	d.mu.Lock()
	defer d.mu.Unlock()
	if !r.begun {
		return executor.Refused(r.stopped)
	}
	r.letGo()
	d.amend(r.seq, r.count, r.stopped)
	out := executor.Delivery{
		Sent: executor.Accepted, Route: r.route, Count: r.count, Stopped: r.stopped, Settled: len(r.pending) == 0,
	}
	if len(r.pending) > 0 && !d.closed {
		pending := r.pending
		d.later(r.to, func() {
			for _, do := range pending {
				do()
			}
		})
	}
	d.disturb(r.to.app, r.fault.disturbance)
	if r.outcome != nil {
		return *r.outcome
	}
	return out
}
