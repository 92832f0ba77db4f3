package virtualdesk

import (
	"context"
	"math"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/refusal"
)

// A window is never made smaller than this, in points.
const (
	narrowest = 120
	lowest    = 80
)

// Manage does an act on a window or its page. Looking at the window, asking check and
// changing the desk are one step. The order of refusal: window, verb, check, blocked by a
// modal window, not offered, no permitted route.
func (d *Desk) Manage(ctx context.Context, m executor.Management, check executor.WindowCheck) executor.Delivery {
	kind := commonv1.AbilityKind_ABILITY_KIND_WINDOWS
	if paged(m.Verb) {
		kind = commonv1.AbilityKind_ABILITY_KIND_PAGE
	}
	w, a := d.enter(ctx, m.Window, kind)
	defer d.mu.Unlock()
	switch {
	case a != 0:
		return executor.Refused(a)
	case check == nil:
		return executor.Refused(refusal.AnswerDispatchRefused)
	case !managed(m.Verb):
		return executor.Refused(refusal.AnswerNotSupported)
	}
	if a := check(d.listed(w)); a != 0 {
		return executor.Refused(a)
	}
	to := sending{app: w.app, window: w, event: Event{Window: w.id, App: w.app.id, Verb: m.Verb}}
	s, a := d.planWindow(w, m, &to)
	if a != 0 {
		return executor.Refused(a)
	}
	if s.route = s.permitted(m.Routes, false); s.route == commonv1.Route_ROUTE_NONE {
		return executor.Refused(refusal.AnswerNoPermittedRoute)
	}
	return d.send(ctx, to, s)
}

func paged(v commonv1.Verb) bool {
	return v == commonv1.Verb_VERB_NAVIGATE || v == commonv1.Verb_VERB_GO_BACK || v == commonv1.Verb_VERB_RELOAD
}

func managed(v commonv1.Verb) bool {
	switch v {
	case commonv1.Verb_VERB_MOVE_WINDOW, commonv1.Verb_VERB_RESIZE_WINDOW, commonv1.Verb_VERB_MINIMIZE_WINDOW,
		commonv1.Verb_VERB_CLOSE_WINDOW, commonv1.Verb_VERB_INVOKE_MENU:
		return true
	}
	return paged(v)
}

// planWindow turns an act on a window into the step that its app or the window manager
// would take. What the window manager does needs no app, so no modal window blocks it.
func (d *Desk) planWindow(w *window, m executor.Management, to *sending) (step, refusal.Answer) {
	s := step{route: commonv1.Route_ROUTE_WINDOW_MANAGEMENT}
	switch m.Verb {
	case commonv1.Verb_VERB_MOVE_WINDOW:
		s.do = func() { d.place(w, rect(m.X, m.Y, w.bounds.W, w.bounds.H)) }
		return s, finite(m.X, m.Y)
	case commonv1.Verb_VERB_RESIZE_WINDOW:
		s.do = func() { d.place(w, rect(w.bounds.X, w.bounds.Y, max(m.W, narrowest), max(m.H, lowest))) }
		if w.fixed {
			return s, refusal.AnswerNotSupported
		}
		return s, finite(m.W, m.H)
	case commonv1.Verb_VERB_MINIMIZE_WINDOW:
		s.do = func() { d.minimize(w) }
		return s, 0
	}
	if d.blocked(w) {
		return s, refusal.AnswerWindowOccluded
	}
	switch m.Verb {
	case commonv1.Verb_VERB_CLOSE_WINDOW:
		s.do = func() { d.askToClose(w) }
		return s, 0
	case commonv1.Verb_VERB_INVOKE_MENU:
		return d.planMenu(w, m, to)
	}
	return d.planPage(w, m)
}

func finite(ns ...float64) refusal.Answer {
	for _, n := range ns {
		if math.IsNaN(n) || math.IsInf(n, 0) {
			return refusal.AnswerInvalidPoint
		}
	}
	return 0
}

// planMenu invokes an entry of the menu bar by its path, or an item of an open menu.
func (d *Desk) planMenu(w *window, m executor.Management, to *sending) (step, refusal.Answer) {
	s := step{
		route: commonv1.Route_ROUTE_ACCESSIBILITY_ACTION, also: commonv1.Route_ROUTE_WINDOW_MANAGEMENT,
	}
	if m.Object == "" {
		from, x, a := w.entryAt(m.Path)
		if a != 0 {
			return s, a
		}
		to.event.Element, to.event.Role = x.name, commonv1.Role_ROLE_MENU_ITEM
		s.do = func() { d.runEntry(w, from, x) }
		return s, 0
	}
	e := d.reach(w, m.Object)
	switch {
	case e == nil:
		return s, refusal.AnswerElementReleased
	case e.role != commonv1.Role_ROLE_MENU_ITEM && e.role != commonv1.Role_ROLE_CHECK_MENU_ITEM:
		return s, refusal.AnswerElementNotActionable
	case !e.has(commonv1.ElementState_ELEMENT_STATE_ENABLED):
		return s, refusal.AnswerElementDisabled
	}
	to.element = e
	to.event.Element, to.event.Role, to.event.Object = e.name, e.role, e.object
	s.do = func() { d.press(e) }
	return s, 0
}

// place gives a window other bounds; its elements stay where they are.
func (d *Desk) place(w *window, b executor.Rect) {
	w.bounds = b
	if w.root != nil {
		w.root.bounds.W, w.root.bounds.H = b.W, b.H
	}
	d.emit(executor.ChangeWindows, w.app.pid)
}

// minimize hides a window. What the user had in it goes to the window that is on top
// then, as a window manager would do.
func (d *Desk) minimize(w *window) {
	w.hidden = true
	if d.user.focus == w.id {
		d.user.focus = d.topVisible()
	}
	if d.user.active == w.id {
		d.user.active = d.topVisible()
	}
	d.emit(executor.ChangeWindows, w.app.pid)
}

// askToClose closes a window, unless its app asks something first.
func (d *Desk) askToClose(w *window) {
	if w.closing == nil || !w.closing(d, w) {
		d.dropWindow(w)
	}
}
