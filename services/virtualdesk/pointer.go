package virtualdesk

import (
	"strings"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/refusal"
)

// clicksMax is how often one act presses a button.
const clicksMax = 3

// pointing prepares the parts of a pointer act.
func (r *delivering) pointing() refusal.Answer {
	r.in.Text = ""
	one := len(r.in.Points) == 1
	switch r.in.Verb {
	case commonv1.Verb_VERB_CLICK_POINT, commonv1.Verb_VERB_CLICK_ELEMENT:
		if r.in.Count = max(r.in.Count, 1); !one || r.in.Count > clicksMax {
			return refusal.AnswerInvalidPoint
		}
		r.parts(r.pointed(0, true, r.click))
	case commonv1.Verb_VERB_HOVER_POINT:
		if !one {
			return refusal.AnswerInvalidPoint
		}
		r.parts(r.pointed(0, true, r.hover))
	case commonv1.Verb_VERB_SCROLL_POINT, commonv1.Verb_VERB_SCROLL_ELEMENT:
		if !one || r.in.Amount < 0 || r.in.Direction == commonv1.Direction_DIRECTION_UNSPECIFIED {
			return refusal.AnswerInvalidPoint
		}
		r.parts(r.pointed(0, true, r.wheel))
	default:
		return r.dragging()
	}
	return 0
}

// dragging is a press at the first point, a way, and a release at the last.
func (r *delivering) dragging() refusal.Answer {
	last := len(r.in.Points) - 1
	if last < 1 {
		return refusal.AnswerInvalidPoint
	}
	parts := []portion{r.pointed(0, true, r.grab)}
	for i := 1; i < last; i++ {
		// On the way no button changes: nothing is asked, and whatever lies there gets nothing,
		// because what was pressed has the pointer until it is let go.
		parts = append(parts, r.pointed(i, false, r.pull))
	}
	r.parts(append(parts, r.pointed(last, true, func(t target) {
		r.pull(t)
		r.letGo()
	}))...)
	return 0
}

// pointed is one point of the path, and what the pointer does there.
func (r *delivering) pointed(i int, checked bool, do func(target)) portion {
	return portion{
		at: i, checked: checked,
		look: func(w *window) (target, refusal.Answer) { return r.desk.lookAt(w, r.in.Points[i]) },
		send: do,
	}
}

// goTo brings the pointer to a point; by the page's own input no pointer moves at all.
func (r *delivering) goTo(t target) {
	r.last = t
	if r.route == commonv1.Route_ROUTE_AGENT_SEAT {
		b, _ := t.win.surfaceBounds(t.surface)
		r.desk.seat.pointer = executor.Point{X: b.X + t.x, Y: b.Y + t.y}
	}
	r.raw(t, InputEvent{Kind: InputMotion})
}

// raw records an input event that the target's window gets, if it is still there.
func (r *delivering) raw(t target, e InputEvent) {
	if r.desk.byID(t.win.id) == t.win {
		e.Window, e.Surface, e.X, e.Y = t.win.id, t.surface, t.x, t.y
		r.desk.recordInput(e)
	}
}

// click presses and releases, all of it to what was there at the first press.
func (r *delivering) click(t target) {
	r.goTo(t)
	r.pressModifiers(t)
	for range r.in.Count {
		r.pressButton()
		r.releaseLast()
	}
	r.letGo()
	r.react(func() { r.desk.clicked(t, r.in) })
}

// hover is the pointer that comes to rest on something.
func (r *delivering) hover(t target) {
	r.goTo(t)
	r.react(func() { r.desk.hovered(t) })
}

func (r *delivering) wheel(t target) {
	r.goTo(t)
	r.raw(t, InputEvent{Kind: InputWheel})
	r.react(func() { r.desk.scrolled(t, r.in) })
}

// grab presses the button where a drag begins.
func (r *delivering) grab(t target) {
	r.goTo(t)
	r.pressModifiers(t)
	r.pressButton()
	r.count++
	r.drag = &drag{start: t, x: t.x, y: t.y}
	r.react(func() { r.desk.grabbed(r.drag) })
}

// pull moves what is dragged; where it is, is said in points of the surface it began on.
func (r *delivering) pull(t target) {
	r.goTo(t)
	r.count++
	from, _ := r.drag.start.win.surfaceBounds(r.drag.start.surface)
	here, _ := t.win.surfaceBounds(t.surface)
	x, y := here.X+t.x-from.X, here.Y+t.y-from.Y
	r.react(func() { r.desk.pulled(r.drag, x, y) })
}

// pressButton presses the act's button; a release is owed from here on (C7.4).
func (r *delivering) pressButton() {
	b := r.in.Button
	if b == commonv1.Button_BUTTON_UNSPECIFIED {
		b = commonv1.Button_BUTTON_LEFT
	}
	name := strings.ToLower(strings.TrimPrefix(b.String(), "BUTTON_"))
	r.press(name, func(down bool) {
		kind := InputButtonUp
		if down {
			kind = InputButtonDown
		} else if r.drag != nil {
			r.react(func() { r.desk.dropped(r.drag) })
		}
		r.raw(r.last, InputEvent{Kind: kind, Button: b, Modifiers: r.in.Modifiers})
	})
}

// pressModifiers presses the modifiers of a pointer act, each to be released.
func (r *delivering) pressModifiers(t target) {
	for _, m := range r.in.Modifiers {
		name := strings.ToLower(strings.TrimPrefix(m.String(), "MODIFIER_"))
		r.press(name, func(down bool) {
			kind := InputKeyUp
			if down {
				kind = InputKeyDown
			}
			r.raw(t, InputEvent{Kind: kind, Key: name})
		})
	}
}
