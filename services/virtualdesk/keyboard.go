package virtualdesk

import (
	"slices"
	"time"
	"unicode/utf8"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/shared/refusal"
)

const (
	// chunkMax is how many characters of a text are sent in one step.
	chunkMax = 32
	// holdMax is how long keys may be held, and pressesMax how often pressed (protocol.md).
	holdMax    = 10 * time.Second
	pressesMax = 100
	// A key that is held repeats: after a while, and then so often.
	repeatAfter = 400 * time.Millisecond
	repeatEvery = 50 * time.Millisecond
)

// keying prepares the parts of a keyboard act.
func (r *delivering) keying() refusal.Answer {
	r.in.Points = nil
	switch r.in.Verb {
	case commonv1.Verb_VERB_TYPE_TEXT:
		r.chunks(typingReplaces, chunkMax)
	case commonv1.Verb_VERB_PASTE:
		r.chunks(typingAtCaret, len(r.in.Text))
	case commonv1.Verb_VERB_PRESS_KEYS:
		if r.in.Repeat = max(r.in.Repeat, 1); r.in.Repeat > pressesMax || r.in.Chord.Key == "" {
			return refusal.AnswerNotSupported
		}
		r.in.Text = ""
		r.parts(slices.Repeat([]portion{{checked: true, look: r.keyTarget, send: r.stroke}}, r.in.Repeat)...)
	default:
		if r.in.Hold < 0 || r.in.Hold > holdMax || r.in.Chord.Key == "" {
			return refusal.AnswerNotSupported
		}
		r.in.Text, r.in.Repeat = "", 1
		r.holding()
	}
	next := r.next
	r.next = func() (portion, bool) {
		p, more := next()
		p.at = r.count
		return p, more
	}
	return 0
}

// chunks prepares a text: a few characters in one step, and again from the check on.
func (r *delivering) chunks(how typing, most int) {
	switch r.in.Mode {
	case commonv1.TextMode_TEXT_MODE_REPLACE:
		how = typingReplaces
	case commonv1.TextMode_TEXT_MODE_APPEND:
		how = typingAppends
	}
	begun := false
	r.next = func() (portion, bool) {
		if begun && r.rest == "" {
			return portion{}, false
		}
		return portion{checked: true, look: r.keyTarget, send: func(t target) {
			r.chunk(t, how, most)
			begun, how = true, typingAtCaret
		}}, true
	}
}

// chunk sends the next characters, as many as the app's faults let pass.
func (r *delivering) chunk(t target, how typing, most int) {
	limited := r.fault.kind == plannedPartial || r.fault.kind == plannedRefocus && r.count < r.fault.count
	if limited {
		most = min(most, r.fault.count-r.count)
	}
	var text string
	text, r.rest = cutRunes(r.rest, most)
	n := characters(text)
	r.count += n
	r.raw(t, InputEvent{Kind: InputText, Characters: n})
	r.react(func() { r.desk.typed(t.element, text, how) })
	if !limited || r.count < r.fault.count {
		return
	}
	if r.fault.kind == plannedRefocus {
		r.react(func() {
			if e := r.desk.objects[r.fault.focus]; e != nil {
				e.win.focus = e
			}
		})
	} else if r.rest != "" {
		// The app took no more of it.
		r.stopped = refusal.AnswerDispatchRefused
	}
}

// keyTarget finds the element that the keys are for. An act that names it gives it the
// keyboard focus before its first part, which is taken back when the check says no.
func (r *delivering) keyTarget(w *window) (target, refusal.Answer) {
	d := r.desk
	e := d.reach(w, r.in.Object)
	switch {
	case e == nil:
		return target{}, refusal.AnswerElementReleased
	case e.secure:
		return target{}, refusal.AnswerElementSecure
	case !r.fits(e):
		return target{}, refusal.AnswerElementNotActionable
	}
	t := target{win: w, element: e, surface: w.id}
	if p, _ := w.popupOf(e); p != nil {
		t.surface = p.id
	}
	if r.in.Focus && !r.begun {
		before := w.focus
		w.focus = e
		t.undo = func() { w.focus = before }
	}
	t.under.Surface, t.under.Node, t.under.HasNode = t.surface, e.reread(), true
	t.under.Focused = w.focus == e
	switch {
	case d.blocked(w):
		t.bar = refusal.AnswerWindowOccluded
	case !e.has(commonv1.ElementState_ELEMENT_STATE_ENABLED):
		t.bar = refusal.AnswerElementDisabled
	case !t.under.Focused:
		t.bar = refusal.AnswerFocusChanged
	}
	return t, 0
}

// fits says whether the element takes what the act brings.
func (r *delivering) fits(e *element) bool {
	text := r.in.Verb == commonv1.Verb_VERB_TYPE_TEXT || r.in.Verb == commonv1.Verb_VERB_PASTE
	return takesTyping(e) || !text && e.has(commonv1.ElementState_ELEMENT_STATE_FOCUSABLE)
}

// stroke presses the chord once and lets it go.
func (r *delivering) stroke(t target) {
	r.chordDown(t)
	r.strike(t)
	r.letGo()
}

// strike is one press, or one repetition while the key is held.
func (r *delivering) strike(t target) {
	r.count++
	r.react(func() { r.desk.key(t.element, r.in.Chord) })
}

// chordDown puts the chord down; a release is owed from here on (C7.4).
func (r *delivering) chordDown(t target) {
	key := r.in.Chord.Key
	if !commands(r.in.Chord) && utf8.RuneCountInString(key) == 1 {
		key = "" // It is text (C10.6).
	}
	r.press(r.in.Chord.String(), func(down bool) {
		kind := InputKeyUp
		if down {
			kind = InputKeyDown
		}
		r.raw(t, InputEvent{Kind: kind, Key: key, Modifiers: r.in.Chord.Modifiers})
	})
}

// holding prepares a chord that is held: it goes down, repeats, and goes up in the end.
func (r *delivering) holding() {
	passed, begun, over := time.Duration(0), false, false
	r.next = func() (portion, bool) {
		p := portion{checked: true, look: r.keyTarget, send: r.strike}
		switch {
		case over:
			return portion{}, false
		case !begun:
			begun = true
			p.send = func(t target) {
				r.chordDown(t)
				r.strike(t)
			}
			return p, true
		case passed == 0:
			p.wait = repeatAfter
		default:
			p.wait = repeatEvery
		}
		if passed += p.wait; passed > r.in.Hold {
			over = true
			return portion{wait: p.wait - (passed - r.in.Hold), look: anywhere, send: func(target) { r.letGo() }}, true
		}
		return p, true
	}
}

// anywhere is where something is released: nothing has to be there for that.
func anywhere(w *window) (target, refusal.Answer) { return target{win: w}, 0 }
