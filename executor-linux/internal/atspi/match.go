package atspi

import (
	"math"
	"strings"
)

// WindowFacts is what the window system knows about one window.
type WindowFacts struct {
	ID uint32
	// PID is the peer process of the window's connection, from the kernel (C1.3), not from a property.
	PID   uint32
	Title string
	// Client and Frame are in the pixels of the screen; without a window manager they are equal.
	Client Rect
	Frame  Rect
	// Shadow is _NET_FRAME_EXTENTS' GTK sister: what of the client window is shadow, left, right, top and bottom.
	Shadow    Margins
	HasShadow bool
}

// Margins are widths of the four sides of a rectangle.
type Margins struct{ Left, Right, Top, Bottom int }

// Verdict is the result of a match.
type Verdict uint8

// The verdicts. Nothing but VerdictMatched names a window (C0.2).
const (
	VerdictNone Verdict = iota
	VerdictMatched
	// VerdictAmbiguous: several windows fit equally well.
	VerdictAmbiguous
)

// String names the verdict.
func (v Verdict) String() string {
	switch v {
	case VerdictMatched:
		return "matched"
	case VerdictAmbiguous:
		return "ambiguous"
	case VerdictNone:
	}
	return "none"
}

// Match is the window of a toplevel and, where the geometry is proven, how extents of its elements become pixels of
// the client window: pixel = extent * Scale + Offset.
type Match struct {
	Verdict Verdict
	ID      uint32
	// Proven says whether Scale and the offsets are known. Without it elements have no place (C2.2).
	Proven  bool
	Scale   float64
	OffsetX float64
	OffsetY float64
}

// Place converts extents of an element into pixels of the client window.
func (m Match) Place(r Rect) Rect {
	x, y := float64(r.X)*m.Scale+m.OffsetX, float64(r.Y)*m.Scale+m.OffsetY
	right, bottom := x+float64(r.W)*m.Scale, y+float64(r.H)*m.Scale
	left, top := int(math.Round(x)), int(math.Round(y))
	return Rect{X: left, Y: top, W: int(math.Round(right)) - left, H: int(math.Round(bottom)) - top}
}

const (
	// The points of the three kinds of evidence: a title alone is enough, a size alone too if nothing else has it,
	// a position alone is not.
	titlePoints    = 4
	prefixPoints   = 2
	sizePoints     = 3
	positionPoints = 2
	enoughPoints   = 3
	// slack is the difference in pixels that rounding explains.
	slack = 2
	// borderMax is the widest border that GTK4 draws inside the client window without telling (no compositor: 5).
	borderMax = 12
	// prefixMin is the shortest title that counts as the beginning of another.
	prefixMin = 4
)

// fit is how one window fits one toplevel.
type fit struct {
	points int
	scale  float64
	sized  bool
}

// MatchToplevel finds the window of a toplevel among the windows of the screen: same process, then title, size at
// some scale, and position. Two windows that fit equally well are refused as ambiguous.
func MatchToplevel(candidates []WindowFacts, top Toplevel) Match {
	best, second := fit{}, 0
	var window WindowFacts
	for _, w := range candidates {
		if top.PID == 0 || w.PID != top.PID || w.Client.Empty() {
			continue
		}
		f := fitOf(w, top)
		switch {
		case f.points > best.points:
			second = best.points
			best, window = f, w
		case f.points > second:
			second = f.points
		}
	}
	switch {
	case best.points < enoughPoints:
		return Match{Verdict: VerdictNone}
	case best.points == second:
		return Match{Verdict: VerdictAmbiguous}
	}
	return placed(window, top, best)
}

// fitOf weighs the evidence.
func fitOf(w WindowFacts, top Toplevel) fit {
	var f fit
	name, title := strings.TrimSpace(top.Name), strings.TrimSpace(w.Title)
	switch {
	case name == "" || title == "":
	case name == title:
		f.points += titlePoints
	case len(name) >= prefixMin && strings.HasPrefix(title, name):
		f.points += prefixPoints
	}
	if !top.Placed || top.Screen.Empty() {
		return f
	}
	if f.scale, f.sized = scaleOf(w, top.Screen); f.sized {
		f.points += sizePoints
	}
	scale := f.scale
	if !f.sized {
		scale = 1
	}
	if quirkOf(top.Toolkit).screen && (near(top.Screen, w.Client, scale) || near(top.Screen, w.Frame, scale)) {
		f.points += positionPoints
	}
	return f
}

// scaleOf finds the scale at which the toplevel has the size of the client window, of the frame, or of the client
// window without its shadow. Whole scales are tried first, because they are by far the most common.
func scaleOf(w WindowFacts, r Rect) (float64, bool) {
	for _, scale := range [...]float64{1, 2, 3, 1.25, 1.5, 1.75, 2.25, 2.5} {
		width, height := int(math.Round(float64(r.W)*scale)), int(math.Round(float64(r.H)*scale))
		same := func(r Rect) bool { return apart(width, r.W) <= slack && apart(height, r.H) <= slack }
		bare := w.Client
		if w.HasShadow {
			bare.W -= w.Shadow.Left + w.Shadow.Right
			bare.H -= w.Shadow.Top + w.Shadow.Bottom
		}
		if same(w.Client) || same(w.Frame) || same(bare) {
			return scale, true
		}
		border := w.Client.W - width
		if border > 0 && border == w.Client.H-height && border <= int(borderMax*scale) {
			return scale, true
		}
	}
	return 0, false
}

// near compares origins; toolkits report them in their own pixels.
func near(r, window Rect, scale float64) bool {
	x, y := int(math.Round(float64(r.X)*scale)), int(math.Round(float64(r.Y)*scale))
	return apart(x, window.X) <= slack && apart(y, window.Y) <= slack
}

func apart(a, b int) int { return max(a-b, b-a) }

// placed computes the geometry of a match from what the toolkit's extents are relative to.
func placed(w WindowFacts, top Toplevel, f fit) Match {
	m := Match{Verdict: VerdictMatched, ID: w.ID}
	q := quirkOf(top.Toolkit)
	if !f.sized || (q.mixedScale && f.scale != 1) {
		return m
	}
	m.Scale = f.scale
	switch q.origin {
	case originNone:
		return Match{Verdict: VerdictMatched, ID: w.ID}
	case originClient:
	case originContent:
		if w.HasShadow {
			m.OffsetX, m.OffsetY = float64(w.Shadow.Left), float64(w.Shadow.Top)
		} else {
			m.OffsetX = (float64(w.Client.W) - float64(top.Screen.W)*f.scale) / 2
			m.OffsetY = (float64(w.Client.H) - float64(top.Screen.H)*f.scale) / 2
		}
	case originFrame:
		m.OffsetX, m.OffsetY = float64(w.Frame.X-w.Client.X), float64(w.Frame.Y-w.Client.Y)
	}
	m.Proven = true
	return m
}
