package virtualdesk

import (
	"math"
	"strconv"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
)

// digitsMax is how many digits the calculator takes.
const digitsMax = 12

// sum is the state of a pocket calculator: what is shown, what waits for its second
// operand, and whether the next digit begins a new number.
type sum struct {
	shown string
	left  float64
	op    string
	fresh bool
}

func newSum() sum { return sum{shown: "0", fresh: true} }

// key presses one key and returns the new state.
func (s sum) key(k string) sum {
	switch {
	case k == "C":
		return newSum()
	case len(k) == 1 && k[0] >= '0' && k[0] <= '9':
		return s.digit(k)
	case k == "=":
		s = s.resolve()
		s.op, s.fresh = "", true
		return s
	}
	if !s.fresh || s.op == "" {
		s = s.resolve()
	}
	s.op, s.fresh = k, true
	return s
}

func (s sum) digit(k string) sum {
	if s.fresh {
		s.shown, s.fresh = k, false
		return s
	}
	if s.shown == "0" {
		s.shown = k
	} else if len(s.shown) < digitsMax {
		s.shown += k
	}
	return s
}

// text is what the display shows: every key changes it, so that every press can be
// confirmed by reading it back.
func (s sum) text() string {
	switch {
	case s.op == "":
		return s.shown
	case s.fresh:
		return s.shown + " " + s.op
	default:
		return strconv.FormatFloat(s.left, 'g', digitsMax, 64) + " " + s.op + " " + s.shown
	}
}

// resolve applies the waiting operator to what is shown.
func (s sum) resolve() sum {
	right, err := strconv.ParseFloat(s.shown, 64)
	if err != nil {
		return newSum()
	}
	switch s.op {
	case "+":
		right = s.left + right
	case "−":
		right = s.left - right
	case "×":
		right = s.left * right
	case "÷":
		right = s.left / right
	}
	s.left, s.shown = right, "Error"
	if !math.IsNaN(right) && !math.IsInf(right, 0) {
		s.shown = strconv.FormatFloat(right, 'g', digitsMax, 64)
	}
	return s
}

// buildCalculator opens the calculator's window. Its state lives and dies with it.
func buildCalculator(d *Desk, a *app) {
	w := d.openWindow(a, frame{
		title: "Calculator", bounds: rect(-1100, 40, 260, 364), role: commonv1.Role_ROLE_WINDOW,
	})
	display := plain(commonv1.Role_ROLE_TEXT_FIELD, "Display", rect(16, 46, 228, 52))
	display.states = enabled(commonv1.ElementState_ELEMENT_STATE_READ_ONLY)
	display.ident, display.value = "display", "0"
	d.attach(w.root, display)
	pad := d.attach(w.root, plain(commonv1.Role_ROLE_GROUP, "Keys", rect(16, 112, 228, 232)))
	state := newSum()
	press := func(d *Desk, e *element) {
		state = state.key(e.name)
		if shown := e.win.find("display"); shown != nil {
			shown.value = state.text()
		}
	}
	for i, k := range []string{"7", "8", "9", "÷", "4", "5", "6", "×", "1", "2", "3", "−", "0", "C", "=", "+"} {
		b := button(k, keyBounds(i), press)
		b.ident = "key-" + k
		b.primary = k == "="
		d.attach(pad, b)
	}
}

func keyBounds(i int) executor.Rect {
	return rect(16+float64(i%4)*58, 112+float64(i/4)*59, 54, 54)
}
