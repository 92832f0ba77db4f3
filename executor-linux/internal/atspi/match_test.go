package atspi

import "testing"

func win(id uint32, title string, client, frame Rect) WindowFacts {
	return WindowFacts{ID: id, PID: 10, Title: title, Client: client, Frame: frame}
}

func TestMatchToplevel(t *testing.T) {
	pad := win(1, "Untitled - Mousepad", Rect{101, 121, 640, 480}, Rect{100, 100, 642, 502})
	dialog := win(2, "Save", Rect{300, 300, 400, 200}, Rect{299, 279, 402, 222})
	same := win(3, "Untitled - Mousepad", Rect{501, 121, 640, 480}, Rect{500, 100, 642, 502})
	shadow := WindowFacts{
		ID: 4, PID: 10, Title: "Calculator", Client: Rect{0, 0, 403, 560}, Frame: Rect{0, 0, 403, 560},
		HasShadow: true, Shadow: Margins{Left: 20, Right: 28, Top: 16, Bottom: 48},
	}
	border := win(5, "Calculator", Rect{0, 0, 365, 506}, Rect{0, 0, 365, 506})
	double := win(6, "Big", Rect{200, 100, 1280, 960}, Rect{200, 100, 1280, 960})
	other := pad
	other.PID = 11
	top := func(kit Toolkit, name string, r Rect) Toplevel {
		return Toplevel{PID: 10, Toolkit: kit, Name: name, Screen: r, Placed: true}
	}
	for _, tt := range []struct {
		name    string
		windows []WindowFacts
		top     Toplevel
		want    Match
	}{
		{
			"GTK3 by title, frame size and position",
			[]WindowFacts{dialog, pad, same},
			top(ToolkitGTK3, "Untitled - Mousepad", Rect{100, 100, 642, 502}),
			Match{Verdict: VerdictMatched, ID: 1, Proven: true, Scale: 1},
		},
		{
			"same title and size elsewhere",
			[]WindowFacts{pad, same},
			top(ToolkitGTK3, "Untitled - Mousepad", Rect{0, 0, 642, 502}),
			Match{Verdict: VerdictAmbiguous},
		},
		{
			"GTK4 has no position to tell two windows apart",
			[]WindowFacts{shadow, {
				ID: 9, PID: 10, Title: "Calculator",
				Client: shadow.Client, Frame: shadow.Frame, HasShadow: true, Shadow: shadow.Shadow,
			}},
			top(ToolkitGTK4, "Calculator", Rect{0, 0, 355, 496}),
			Match{Verdict: VerdictAmbiguous},
		},
		{
			"GTK4 with a shadow",
			[]WindowFacts{dialog, shadow},
			top(ToolkitGTK4, "Calculator", Rect{0, 0, 355, 496}),
			Match{Verdict: VerdictMatched, ID: 4, Proven: true, Scale: 1, OffsetX: 20, OffsetY: 16},
		},
		{
			"GTK4 without a compositor",
			[]WindowFacts{border},
			top(ToolkitGTK4, "Calculator", Rect{0, 0, 355, 496}),
			Match{Verdict: VerdictMatched, ID: 5, Proven: true, Scale: 1, OffsetX: 5, OffsetY: 5},
		},
		{
			"scale 2",
			[]WindowFacts{double, pad},
			top(ToolkitQt, "Big", Rect{100, 50, 640, 480}),
			Match{Verdict: VerdictMatched, ID: 6, Proven: true, Scale: 2},
		},
		{
			"Chromium at scale 2 has no proven places",
			[]WindowFacts{double},
			top(ToolkitChromium, "Big", Rect{0, 0, 640, 480}),
			Match{Verdict: VerdictMatched, ID: 6},
		},
		{
			"LibreOffice counts from the frame",
			[]WindowFacts{pad},
			top(ToolkitLibreOffice, "Untitled - Mousepad", Rect{100, 100, 642, 502}),
			Match{Verdict: VerdictMatched, ID: 1, Proven: true, Scale: 1, OffsetX: -1, OffsetY: -21},
		},
		{
			"unknown toolkit has no proven places",
			[]WindowFacts{pad},
			top(ToolkitUnknown, "Untitled - Mousepad", Rect{100, 100, 642, 502}),
			Match{Verdict: VerdictMatched, ID: 1},
		},
		{
			"title alone",
			[]WindowFacts{pad},
			top(ToolkitGTK3, "Untitled - Mousepad", Rect{0, 0, 5, 5}),
			Match{Verdict: VerdictMatched, ID: 1},
		},
		{
			"size alone",
			[]WindowFacts{pad, dialog},
			top(ToolkitGTK3, "", Rect{7, 7, 400, 200}),
			Match{Verdict: VerdictMatched, ID: 2, Proven: true, Scale: 1},
		},
		{"position alone is too little", []WindowFacts{pad}, top(ToolkitGTK3, "", Rect{100, 100, 5, 5}), Match{}},
		{"another process", []WindowFacts{other}, top(ToolkitGTK3, "Untitled - Mousepad", Rect{100, 100, 642, 502}), Match{}},
		{"no windows", nil, top(ToolkitGTK3, "x", Rect{0, 0, 1, 1}), Match{}},
		{"no pid", []WindowFacts{{ID: 1, Title: "x", Client: Rect{0, 0, 9, 9}}}, Toplevel{Name: "x"}, Match{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := MatchToplevel(tt.windows, tt.top); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
			// The order of the windows must not matter.
			reversed := make([]WindowFacts, 0, len(tt.windows))
			for i := len(tt.windows) - 1; i >= 0; i-- {
				reversed = append(reversed, tt.windows[i])
			}
			if got := MatchToplevel(reversed, tt.top); got != tt.want {
				t.Errorf("reversed: got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestPlaceScalesEdges(t *testing.T) {
	m := Match{Scale: 1.5, OffsetX: 5, OffsetY: 5}
	if got := m.Place(Rect{1, 1, 1, 3}); got != (Rect{7, 7, 1, 4}) {
		t.Errorf("%v", got)
	}
}
