package frame

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
)

// display returns a proven display.
func display(x, y, w, h, scale float64) Display {
	return Display{
		Bounds: Rect{x, y, w, h}, Scale: scale,
		PixelW: int(math.Round(w * scale)), PixelH: int(math.Round(h * scale)),
	}
}

// shot returns the picture that a capture of a part of the toplevel gives: whole pixels,
// and not more than most of them across or down.
func shot(id ident.PictureID, part Rect, scale float64, most int) Picture {
	w, h := int(math.Ceil(part.W*scale)), int(math.Ceil(part.H*scale))
	dw, dh := w, h
	if long := max(w, h); long > most {
		dw, dh = max(1, (w*most+long/2)/long), max(1, (h*most+long/2)/long)
	}
	return Picture{ID: id, Width: dw, Height: dh, Transform: Transform{
		ScaleX: float64(w) / float64(dw) / scale, ScaleY: float64(h) / float64(dh) / scale,
		OffsetX: part.X, OffsetY: part.Y,
	}}
}

// menuFrame is a window at (100,50) of 400x300 points with a menu that reaches out below
// it, on a 1x display with a 2x display to the left of it, at negative origin.
func menuFrame() *Frame {
	f := &Frame{
		Bounds: Rect{100, 50, 400, 300},
		Surfaces: []Surface{
			{ID: 1, Bounds: Rect{100, 50, 400, 300}},
			{ID: 3, Bounds: Rect{130, 80, 50, 50}, Order: 2},
			{ID: 2, Bounds: Rect{120, 70, 100, 400}, Order: 1},
		},
		Displays: []Display{display(0, 0, 1000, 800, 1), display(-500, 0, 500, 400, 2)},
	}
	f.AddPicture(shot("p", Rect{0, 0, 400, 420}, 1, 1600))
	f.AddPicture(shot("z", Rect{20, 20, 40, 40}, 2, 1600))
	return f
}

func TestAPixelResolvesToTheTopmostSurfaceThere(t *testing.T) {
	for _, tc := range []struct {
		name    string
		picture ident.PictureID
		at      Point
		want    SurfacePoint
	}{
		{"the first pixel is its centre", "p", Point{0, 0}, SurfacePoint{1, Point{0.5, 0.5}}},
		{"anywhere in a pixel is that pixel", "p", Point{0.9, 0.1}, SurfacePoint{1, Point{0.5, 0.5}}},
		{"the last pixel of the window", "p", Point{399, 299}, SurfacePoint{1, Point{399.5, 299.5}}},
		{"left of the menu", "p", Point{19, 20}, SurfacePoint{1, Point{19.5, 20.5}}},
		{"the menu's first pixel", "p", Point{20, 20}, SurfacePoint{2, Point{0.5, 0.5}}},
		{"the menu over the window's edge", "p", Point{50, 350}, SurfacePoint{2, Point{30.5, 330.5}}},
		{"the submenu, whatever the order of the list", "p", Point{40, 40}, SurfacePoint{3, Point{10.5, 10.5}}},
		{"a zoom has its own transform", "z", Point{21, 20}, SurfacePoint{3, Point{0.75, 0.25}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, why := menuFrame().Resolve(tc.picture, []Point{tc.at})
			if why != nil || len(got) != 1 || got[0] != tc.want {
				t.Errorf("got %v, %v, want %v", got, code(why), tc.want)
			}
		})
	}
}

func TestAPathStaysInOneWindowsSurfaces(t *testing.T) {
	got, why := menuFrame().Resolve("p", []Point{{10, 10}, {50, 350}, {40, 40}})
	want := []SurfacePoint{{1, Point{10.5, 10.5}}, {2, Point{30.5, 330.5}}, {3, Point{10.5, 10.5}}}
	if why != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v", got, code(why))
	}
}

// A surface of 10.25 points at 1x is 11 pixels, of which the last shows a quarter of it.
func TestAPixelCoveredInPartIsTheMiddleOfThatPart(t *testing.T) {
	f := &Frame{
		Bounds: Rect{0, 0, 10.25, 10.25}, Surfaces: []Surface{{ID: 1, Bounds: Rect{0, 0, 10.25, 10.25}}},
		Displays: []Display{display(0, 0, 100, 100, 1)},
	}
	f.AddPicture(shot("p", f.Bounds, 1, 1600))
	got, why := f.Resolve("p", []Point{{10, 10}, {10, 3}})
	want := []SurfacePoint{{1, Point{10.125, 10.125}}, {1, Point{10.125, 3.5}}}
	if why != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, code(why), want)
	}
	// Less than a pixel can show is a gap, not a surface.
	f.Surfaces[0].Bounds.W = 10.001
	if got, why := f.Resolve("p", []Point{{10, 3}}); code(why) != refusal.InvalidCoordinate {
		t.Errorf("got %v, %v", got, code(why))
	}
}

func TestPointsAreRefused(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	in := []Point{{10, 10}}
	for _, tc := range []struct {
		name    string
		change  func(*Frame)
		picture ident.PictureID
		at      []Point
		want    refusal.Code
	}{
		{"no picture", func(f *Frame) { f.pictures = nil }, "p", in, refusal.NoPicture},
		{"no picture before a wrong one", func(f *Frame) { f.pictures = nil }, "x", nil, refusal.NoPicture},
		{"another frame's picture", nil, "x", in, refusal.InvalidBinding},
		{"no picture named", nil, "", in, refusal.InvalidBinding},
		{"a wrong picture before a wrong point", nil, "x", []Point{{-1, -1}}, refusal.InvalidBinding},
		{"no point", nil, "p", nil, refusal.InvalidCoordinate},
		{"left of the picture", nil, "p", []Point{{-0.001, 10}}, refusal.InvalidCoordinate},
		{"above the picture", nil, "p", []Point{{10, -1}}, refusal.InvalidCoordinate},
		{"right of the picture", nil, "p", []Point{{400, 10}}, refusal.InvalidCoordinate},
		{"below the picture", nil, "p", []Point{{10, 420}}, refusal.InvalidCoordinate},
		{"in the model copy, outside the zoom", nil, "z", []Point{{80, 10}}, refusal.InvalidCoordinate},
		{"not a number", nil, "p", []Point{{nan, 10}}, refusal.InvalidCoordinate},
		{"not a number down", nil, "p", []Point{{10, nan}}, refusal.InvalidCoordinate},
		{"infinite", nil, "p", []Point{{inf, 10}}, refusal.InvalidCoordinate},
		{"infinite the other way", nil, "p", []Point{{10, -inf}}, refusal.InvalidCoordinate},
		{"beside the menu, below the window", nil, "p", []Point{{10, 350}}, refusal.InvalidCoordinate},
		{"one point of a path", nil, "p", []Point{{10, 10}, {10, 350}, {20, 20}}, refusal.InvalidCoordinate},
		{"no display listed", func(f *Frame) { f.Displays = nil }, "p", in, refusal.InvalidCoordinate},
		{"another display", func(f *Frame) { f.Displays = f.Displays[1:] }, "p", in, refusal.InvalidCoordinate},
		{"a display whose scale is not a number", func(f *Frame) { f.Displays[0].Scale = nan }, "p", in, refusal.InvalidCoordinate},
		{"a display without scale", func(f *Frame) { f.Displays[0].Scale = 0 }, "p", in, refusal.InvalidCoordinate},
		{"a display that contradicts itself across", func(f *Frame) { f.Displays[0].PixelW *= 2 }, "p", in, refusal.InvalidCoordinate},
		{"a display that contradicts itself down", func(f *Frame) { f.Displays[0].PixelH -= 2 }, "p", in, refusal.InvalidCoordinate},
		{"no surface", func(f *Frame) { f.Surfaces = nil }, "p", in, refusal.InvalidCoordinate},
		{"the surface ends before the point", func(f *Frame) { f.Surfaces = []Surface{{ID: 1, Bounds: Rect{100, 50, 10, 10}}} }, "p", in, refusal.InvalidCoordinate},
		{"the window's place is not known", func(f *Frame) { f.Bounds.X = nan }, "p", in, refusal.InvalidCoordinate},
		{"the window's place is nowhere", func(f *Frame) { f.Bounds.Y = inf }, "p", in, refusal.InvalidCoordinate},
		{"a middle that rounding puts on the edge", func(f *Frame) {
			f.Bounds, f.Surfaces = Rect{0, 0, 1, 1}, []Surface{{ID: 1, Bounds: Rect{0, 0, 1, 1}}}
			f.pictures[0].Transform = Transform{ScaleX: 0x1p-52, ScaleY: 0.1, OffsetX: 1 - 0x1p-53}
		}, "p", []Point{{0, 0}}, refusal.InvalidCoordinate},
		{"the surface's place is not known", func(f *Frame) { f.Surfaces[0].Bounds.X = nan }, "p", in, refusal.InvalidCoordinate},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := menuFrame()
			if tc.change != nil {
				tc.change(f)
			}
			got, why := f.Resolve(tc.picture, tc.at)
			if code(why) != tc.want || got != nil {
				t.Errorf("got %v, %v, want %v", got, code(why), tc.want)
			}
		})
	}
}

func TestAZoomsCornersSpanARegion(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	none := Rect{}
	for _, tc := range []struct {
		name    string
		picture ident.PictureID
		a, b    Point
		region  Rect
		want    refusal.Code
	}{
		{"the whole picture", "p", Point{0, 0}, Point{400, 420}, Rect{0, 0, 400, 420}, 0},
		{"a part", "p", Point{10, 20}, Point{30, 60}, Rect{10, 20, 20, 40}, 0},
		{"corners in any order", "p", Point{30, 20}, Point{10, 60}, Rect{10, 20, 20, 40}, 0},
		{"in a zoom", "z", Point{10, 20}, Point{30, 80}, Rect{25, 30, 10, 30}, 0},
		{"empty across", "p", Point{10, 20}, Point{10, 60}, none, refusal.InvalidCoordinate},
		{"empty down", "p", Point{10, 20}, Point{30, 20}, none, refusal.InvalidCoordinate},
		{"left of the picture", "p", Point{-1, 0}, Point{30, 60}, none, refusal.InvalidCoordinate},
		{"above the picture", "p", Point{0, -0.5}, Point{30, 60}, none, refusal.InvalidCoordinate},
		{"right of the picture", "p", Point{0, 0}, Point{400.5, 60}, none, refusal.InvalidCoordinate},
		{"below the picture", "p", Point{0, 421}, Point{30, 60}, none, refusal.InvalidCoordinate},
		{"not a number", "p", Point{nan, 0}, Point{30, 60}, none, refusal.InvalidCoordinate},
		{"not a number down", "p", Point{0, 0}, Point{30, nan}, none, refusal.InvalidCoordinate},
		{"infinite", "p", Point{0, 0}, Point{inf, 60}, none, refusal.InvalidCoordinate},
		{"another frame's picture", "x", Point{0, 0}, Point{30, 60}, none, refusal.InvalidBinding},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, why := menuFrame().Region(tc.picture, tc.a, tc.b)
			if code(why) != tc.want || got != tc.region {
				t.Errorf("got %v, %v, want %v, %v", got, code(why), tc.region, tc.want)
			}
		})
	}
	if _, why := new(Frame).Region("p", Point{0, 0}, Point{1, 1}); code(why) != refusal.NoPicture {
		t.Errorf("without a picture: %v", code(why))
	}
}

func TestTheModelCopyIsNeverForgotten(t *testing.T) {
	const zooms = 3 * picturesMax
	f := &Frame{}
	if f.HasPicture() {
		t.Error("a frame nobody photographed has a picture")
	}
	name := func(i int) ident.PictureID { return ident.PictureID(fmt.Sprint("p", i)) }
	for i := range zooms {
		f.AddPicture(shot(name(i), Rect{0, 0, 10, 10}, 1, 1600))
	}
	if !f.HasPicture() || len(f.pictures) != picturesMax {
		t.Fatalf("%d pictures", len(f.pictures))
	}
	for i := range zooms {
		_, kept := f.Picture(name(i))
		if want := i == 0 || i > zooms-picturesMax; kept != want {
			t.Errorf("picture %d is kept: %v", i, kept)
		}
	}
}

func TestAPictureThatMapsToNothingIsNotTaken(t *testing.T) {
	good := shot("p", Rect{0, 0, 10, 10}, 1, 1600)
	for name, spoil := range map[string]func(*Picture){
		"no id":                    func(p *Picture) { p.ID = "" },
		"no width":                 func(p *Picture) { p.Width = 0 },
		"negative height":          func(p *Picture) { p.Height = -1 },
		"no scale":                 func(p *Picture) { p.Transform.ScaleX = 0 },
		"mirrored":                 func(p *Picture) { p.Transform.ScaleY = -1 },
		"scale that is no number":  func(p *Picture) { p.Transform.ScaleX = math.NaN() },
		"infinite scale":           func(p *Picture) { p.Transform.ScaleY = math.Inf(1) },
		"offset that is no number": func(p *Picture) { p.Transform.OffsetX = math.NaN() },
		"infinite offset":          func(p *Picture) { p.Transform.OffsetY = math.Inf(-1) },
	} {
		t.Run(name, func(t *testing.T) {
			p, f := good, &Frame{}
			spoil(&p)
			f.AddPicture(p)
			if f.HasPicture() {
				t.Error("it was taken")
			}
		})
	}
}

func TestAPictureKeepsTheTransformItCameWith(t *testing.T) {
	f := &Frame{}
	first, second := shot("p", Rect{0, 0, 10, 10}, 1, 1600), shot("p", Rect{5, 5, 10, 10}, 2, 1600)
	f.AddPicture(first)
	f.AddPicture(second)
	if got, _ := f.Picture("p"); got != first || len(f.pictures) != 1 {
		t.Errorf("got %v of %d pictures", got, len(f.pictures))
	}
}

// scene is a window as a system could show it: displays side by side from any origin and
// at any scale, a toplevel somewhere over them, popups over it, one picture of them all.
type scene struct {
	frame   *Frame
	picture Picture
	desk    Rect // all displays together
}

func drawScale(t *rapid.T, label string) float64 {
	return rapid.OneOf(rapid.SampledFrom([]float64{1, 2, 1.25, 1.5, 3}), rapid.Float64Range(0.5, 4)).Draw(t, label)
}

func drawScene(t *rapid.T) scene {
	f := &Frame{}
	x, y := rapid.Float64Range(-5000, 5000).Draw(t, "x"), rapid.Float64Range(-5000, 5000).Draw(t, "y")
	s := scene{frame: f, desk: Rect{X: x, Y: y, H: math.Inf(1)}}
	for range rapid.IntRange(1, 3).Draw(t, "displays") {
		w, h := float64(rapid.IntRange(200, 2000).Draw(t, "wide")), float64(rapid.IntRange(200, 2000).Draw(t, "high"))
		f.Displays = append(f.Displays, display(x, y, w, h, drawScale(t, "display scale")))
		x, s.desk.W, s.desk.H = x+w, s.desk.W+w, min(s.desk.H, h)
	}
	size := rapid.Float64Range(1, 2500)
	f.Bounds = Rect{
		X: s.desk.X + rapid.Float64Range(-300, s.desk.W).Draw(t, "left"),
		Y: s.desk.Y + rapid.Float64Range(-300, s.desk.H).Draw(t, "top"),
		W: size.Draw(t, "width"), H: size.Draw(t, "height"),
	}
	f.Surfaces = []Surface{{ID: 1, Bounds: f.Bounds}}
	all := f.Bounds
	for i := range rapid.IntRange(0, 3).Draw(t, "popups") {
		p := Rect{
			X: f.Bounds.X + rapid.Float64Range(-50, f.Bounds.W).Draw(t, "popup left"),
			Y: f.Bounds.Y + rapid.Float64Range(-50, f.Bounds.H).Draw(t, "popup top"),
			W: rapid.Float64Range(1, 400).Draw(t, "popup width"), H: rapid.Float64Range(1, 400).Draw(t, "popup height"),
		}
		f.Surfaces = append(f.Surfaces, Surface{ID: uint64(i + 2), Bounds: p, Order: i + 1})
		right, bottom := max(all.X+all.W, p.X+p.W), max(all.Y+all.H, p.Y+p.H)
		all.X, all.Y = min(all.X, p.X), min(all.Y, p.Y)
		all.W, all.H = right-all.X, bottom-all.Y
	}
	part := all.shift(-f.Bounds.X, -f.Bounds.Y)
	s.picture = shot("p", part, drawScale(t, "capture scale"), rapid.SampledFrom([]int{100, 1600}).Draw(t, "most"))
	f.AddPicture(s.picture)
	return s
}

// drawPixel favours the edges, where rounding is.
func drawPixel(t *rapid.T, p Picture) Point {
	one := func(n int, label string) float64 {
		return float64(rapid.OneOf(rapid.Just(0), rapid.Just(n-1), rapid.IntRange(0, n-1)).Draw(t, label))
	}
	return Point{one(p.Width, "pixel x"), one(p.Height, "pixel y")}
}

// rounding is far more than floating point loses here and far less than a pixel.
const rounding = 1e-6

// grown returns the rectangle with a margin, or without one where it is negative.
func grown(r Rect, by float64) Rect { return Rect{r.X - by, r.Y - by, r.W + 2*by, r.H + 2*by} }

// checkHit holds what is resolved against the scene.
func checkHit(f *Frame, p Picture, pixel Point, got SurfacePoint) error {
	i := slices.IndexFunc(f.Surfaces, func(s Surface) bool { return s.ID == got.Surface })
	if i < 0 {
		return fmt.Errorf("surface %d is not in the frame", got.Surface)
	}
	s := f.Surfaces[i]
	if got.At.X < 0 || got.At.Y < 0 || got.At.X >= s.Bounds.W || got.At.Y >= s.Bounds.H {
		return fmt.Errorf("%v is outside its surface %v", got.At, s.Bounds)
	}
	desk := Point{s.Bounds.X + got.At.X, s.Bounds.Y + got.At.Y}
	back := Point{
		(desk.X - f.Bounds.X - p.Transform.OffsetX) / p.Transform.ScaleX,
		(desk.Y - f.Bounds.Y - p.Transform.OffsetY) / p.Transform.ScaleY,
	}
	if !grown(Rect{math.Floor(pixel.X), math.Floor(pixel.Y), 1, 1}, rounding).Contains(back) {
		return fmt.Errorf("pixel %v resolved to %v, which is pixel %v", pixel, desk, back)
	}
	for _, o := range f.Surfaces {
		if o.Order > s.Order && grown(o.Bounds, -rounding).Contains(desk) {
			return fmt.Errorf("surface %d covers %d at %v", o.ID, s.ID, desk)
		}
	}
	if !slices.ContainsFunc(f.Displays, func(d Display) bool { return grown(d.Bounds, rounding).Contains(desk) }) {
		return fmt.Errorf("%v is on no display", desk)
	}
	return nil
}

// shows reports whether the pixel shows nothing but the frame on proven displays, so that
// it must resolve; and hides, whether it shows nothing of it, so that it must not.
func shows(s scene, pixel Point) (shows, hides bool) {
	area, ok := s.picture.pixel(pixel)
	if !ok {
		return false, true
	}
	area = area.shift(s.frame.Bounds.X, s.frame.Bounds.Y)
	within := func(r Rect) bool {
		r = grown(r, -rounding)
		return area.X >= r.X && area.Y >= r.Y && area.X+area.W <= r.X+r.W && area.Y+area.H <= r.Y+r.H
	}
	apart := func(r Rect) bool {
		part := area.overlap(r)
		return part.W < rounding || part.H < rounding
	}
	surfaces := make([]Rect, 0, len(s.frame.Surfaces))
	for _, x := range s.frame.Surfaces {
		surfaces = append(surfaces, x.Bounds)
	}
	displays := make([]Rect, 0, len(s.frame.Displays))
	for _, d := range s.frame.Displays {
		displays = append(displays, d.Bounds)
	}
	shows = slices.ContainsFunc(surfaces, within) && slices.ContainsFunc(displays, within)
	nowhere := func(r Rect) bool { return !apart(r) }
	return shows, !slices.ContainsFunc(surfaces, nowhere) || !slices.ContainsFunc(displays, nowhere)
}

// Every scale, every origin, popups over the toplevel, displays of one or of mixed scales.
func TestAPointResolvesInsideItsSurface(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		pixel := drawPixel(t, s.picture)
		inside := rapid.Float64Range(0, 0.999)
		at := Point{pixel.X + inside.Draw(t, "in x"), pixel.Y + inside.Draw(t, "in y")}
		got, why := s.frame.Resolve("p", []Point{at})
		again, whyAgain := s.frame.Resolve("p", []Point{pixel})
		if code(why) != code(whyAgain) || !slices.Equal(got, again) {
			t.Fatalf("%v is %v, %v but %v is %v, %v", at, got, code(why), pixel, again, code(whyAgain))
		}
		shown, hidden := shows(s, pixel)
		switch {
		case why == nil && hidden:
			t.Fatalf("pixel %v shows no surface and resolved to %v", pixel, got[0])
		case why == nil:
			if err := checkHit(s.frame, s.picture, pixel, got[0]); err != nil {
				t.Fatal(err)
			}
		case shown:
			t.Fatalf("pixel %v shows the window and was refused: %v", pixel, code(why))
		case why.Code != refusal.InvalidCoordinate:
			t.Fatalf("refused as %v", why.Code)
		}
	})
}

// A window on one display has no dead pixel, at any scale: also not where its last pixel
// is covered in part only.
func TestEveryPixelOfAWindowResolves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.Float64Range(-5000, 5000)
		bounds := Rect{
			at.Draw(t, "x"), at.Draw(t, "y"),
			rapid.Float64Range(1, 2500).Draw(t, "w"), rapid.Float64Range(1, 2500).Draw(t, "h"),
		}
		f := &Frame{
			Bounds: bounds, Surfaces: []Surface{{ID: 1, Bounds: bounds}},
			Displays: []Display{display(-10_000, -10_000, 20_000, 20_000, drawScale(t, "display scale"))},
		}
		most := rapid.SampledFrom([]int{100, 1600, 1 << 20}).Draw(t, "most")
		p := shot("p", Rect{0, 0, bounds.W, bounds.H}, drawScale(t, "scale"), most)
		f.AddPicture(p)
		pixel := drawPixel(t, p)
		// The part of the last pixel that is covered; less than the eye can see may be refused.
		rim := min(1, bounds.W/p.Transform.ScaleX-pixel.X, bounds.H/p.Transform.ScaleY-pixel.Y)
		got, why := f.Resolve("p", []Point{pixel})
		if why != nil {
			if rim > visible+rounding {
				t.Fatalf("pixel %v of %v, covered to %v, was refused: %v", pixel, p, rim, code(why))
			}
			return
		}
		if err := checkHit(f, p, pixel, got[0]); err != nil {
			t.Fatal(err)
		}
	})
}

// A zoom's region taken again at any scale shows what its corners spanned.
func TestAZoomResolvesInsideItsRegion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		a, b := drawPixel(t, s.picture), drawPixel(t, s.picture)
		b = Point{max(a.X, b.X) + 1, max(a.Y, b.Y) + 1}
		r, why := s.frame.Region("p", a, b)
		if why != nil {
			t.Fatalf("region %v to %v: %v", a, b, code(why))
		}
		z := shot("z", r, drawScale(t, "zoom scale"), 1600)
		s.frame.AddPicture(z)
		pixel := drawPixel(t, z)
		got, why := s.frame.Resolve("z", []Point{pixel})
		if why != nil {
			return
		}
		if err := checkHit(s.frame, z, pixel, got[0]); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzResolve holds whatever an executor could say of a window and a picture against
// whatever an agent could point at: a point is refused, or it is inside its surface.
func FuzzResolve(f *testing.F) {
	// A plain window; a 2x display left of the origin; a fractional scale with a last pixel
	// in part; a shrunk picture; a menu over the edge; numbers that are none.
	f.Add(0.0, 0.0, 800.0, 600.0, 10.0, 10.0, 100.0, 50.0, 1.0, 0.0, 0.0, 800, 600, 1.0, 5.0, 5.0)
	f.Add(-1440.0, -900.0, 700.5, 500.5, 0.0, 0.0, 0.0, 0.0, 0.5, 0.0, 0.0, 1401, 1001, 2.0, 1400.0, 1000.0)
	f.Add(33.33, 66.67, 100.1, 100.1, 0.0, 0.0, 0.0, 0.0, 1/1.5, 0.0, 0.0, 151, 151, 1.5, 150.0, 150.0)
	f.Add(0.0, 25.0, 2560.0, 1415.0, 0.0, 0.0, 0.0, 0.0, 1.6, 0.0, 0.0, 1600, 884, 1.0, 1599.0, 883.0)
	f.Add(100.0, 50.0, 400.0, 300.0, -20.0, 250.0, 100.0, 200.0, 1.0, -20.0, 0.0, 420, 450, 1.0, 0.0, 449.0)
	f.Add(math.NaN(), math.Inf(1), 1e308, -1.0, 1e-308, math.Inf(-1), 0.0, math.NaN(), 1e308, -1e308, 1e308, 1, 1<<30, 1e-308, 0.0, math.NaN())
	f.Fuzz(func(t *testing.T, x, y, w, h, px, py, pw, ph, scale, ox, oy float64, wide, high int, displayScale, atX, atY float64) {
		fr := &Frame{
			Bounds: Rect{x, y, w, h},
			Surfaces: []Surface{
				{ID: 1, Bounds: Rect{x, y, w, h}}, {ID: 2, Bounds: Rect{x + px, y + py, pw, ph}, Order: 1},
			},
			Displays: []Display{display(-5000, -5000, 10_000, 10_000, displayScale)},
		}
		p := Picture{ID: "p", Width: wide, Height: high, Transform: Transform{scale, scale, ox, oy}}
		fr.AddPicture(p)
		if r, why := fr.Region("p", Point{}, Point{atX, atY}); why == nil && (!(r.W > 0) || !(r.H > 0)) {
			t.Fatalf("an empty region %v", r)
		}
		got, why := fr.Resolve("p", []Point{{atX, atY}})
		if why != nil {
			if got != nil || !fr.HasPicture() != (why.Code == refusal.NoPicture) {
				t.Fatalf("%v, %v", got, code(why))
			}
			return
		}
		s := fr.Surfaces[got[0].Surface-1]
		in := got[0].At
		if !(in.X >= 0 && in.Y >= 0 && in.X < s.Bounds.W && in.Y < s.Bounds.H) {
			t.Fatalf("%v is outside its surface %v", in, s.Bounds)
		}
		if desk := (Point{s.Bounds.X + in.X, s.Bounds.Y + in.Y}); !fr.Displays[0].Bounds.Contains(desk) {
			t.Fatalf("%v is on no display", desk)
		}
		if !(atX >= 0 && atY >= 0 && atX < float64(wide) && atY < float64(high)) {
			t.Fatalf("a point outside the picture resolved")
		}
	})
}
