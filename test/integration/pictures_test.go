package integration

import (
	"bytes"
	"image"
	"math"
	"slices"
	"testing"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	"fairlead.dev/services/shared/refusal"
	"fairlead.dev/services/virtualdesk"
	"fairlead.dev/test/harness"
)

// around is the part of a picture that shows an element, with a margin in pixels.
func around(o *commonv1.Observation, e *commonv1.Element, margin float64) image.Rectangle {
	p := o.GetPicture()
	b := e.GetBounds()
	x0, y0 := harness.Pixel(p, b.GetX(), b.GetY())
	x1, y1 := harness.Pixel(p, b.GetX()+b.GetWidth(), b.GetY()+b.GetHeight())
	return image.Rect(
		int(math.Floor(x0-margin)), int(math.Floor(y0-margin)), int(math.Ceil(x1+margin)), int(math.Ceil(y1+margin)),
	).Intersect(image.Rect(0, 0, int(p.GetWidth()), int(p.GetHeight())))
}

// C2.2: a zoom has its own id and transform, belongs to the same frame and spends nothing;
// a pixel of it means what it shows, at every scale and origin.
func TestPixelOfAZoomMeansWhatTheZoomShows(t *testing.T) {
	for _, tt := range []struct {
		name, app, title, element string
		role                      commonv1.Role
		change                    func(*virtualdesk.Desk) error
	}{
		{name: "scale 1", app: form, title: "Form", element: "Submit", role: isButton},
		{name: "scale 2, left of and above the origin", app: calculator, title: "Calculator", element: "7", role: isButton},
		{
			name: "scale 1.5", app: form, title: "Form", element: "Help", role: commonv1.Role_ROLE_LINK,
			change: func(d *virtualdesk.Desk) error { return d.SetScale(0, 1.5) },
		},
		{
			name: "an odd origin", app: calculator, title: "Calculator", element: "=", role: isButton,
			change: func(d *virtualdesk.Desk) error { return d.MoveDisplay(1, -2003.5, -17.25) },
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := harness.Start(t, harness.Options{Bundle: allBundle})
			if tt.change != nil {
				s.Must(tt.change(s.Desk))
			}
			a := s.AgentOf(t)
			a.AcquireEvery(tt.app)
			o := a.SeePicture(tt.app, tt.title)
			e := a.Element(tt.role, tt.element)
			own := o.GetPicture()
			z := a.Zoom(own, around(o, e, 5))
			harness.Refused(t, z.GetRefusal(), 0)
			p := z.GetPicture()
			if p.GetPictureId() == "" || p.GetPictureId() == own.GetPictureId() || z.GetRedaction() != commonv1.Redaction_REDACTION_PROVEN {
				t.Errorf("picture %q, redaction %v", p.GetPictureId(), z.GetRedaction())
			}
			img := s.Image(p)
			if b := img.Bounds(); b.Dx() != int(p.GetWidth()) || b.Dy() != int(p.GetHeight()) || b.Dx() >= int(own.GetWidth()) {
				t.Errorf("%v, said to be %d by %d", b, p.GetWidth(), p.GetHeight())
			}
			if got := a.State().GetFrame(); got.GetFrameId() != o.GetFrame().GetFrameId() {
				t.Error("the zoom made another frame")
			}
			// Every corner pixel of the element and its middle, in the zoom, is the element.
			b := e.GetBounds()
			x0, y0 := harness.Pixel(p, b.GetX(), b.GetY())
			x1, y1 := harness.Pixel(p, b.GetX()+b.GetWidth(), b.GetY()+b.GetHeight())
			for i, at := range [][2]float64{
				{(x0 + x1) / 2, (y0 + y1) / 2},
				{math.Ceil(x0), math.Ceil(y0)},
				{math.Ceil(x1) - 2, math.Ceil(y1) - 2},
			} {
				mark := s.Mark()
				r := a.Do(harness.ClickPoint(p.GetPictureId(), at[0], at[1]))
				if r.GetOutcome() != commonv1.Outcome_OUTCOME_OK || r.GetRoute() != commonv1.Route_ROUTE_AGENT_SEAT {
					t.Fatalf("click %d: outcome %v, %v", i, r.GetOutcome(), r.GetRefusal())
				}
				s.Touched(t, mark, tt.element)
				if r.GetObservation().GetPicture() == nil {
					t.Fatalf("no picture after a frame with one: %v", r.GetObservation().GetPictureAbsence())
				}
				s.Must(s.Desk.Relaunch(tt.app))
				o = a.SeePicture(tt.app, tt.title)
				e = a.Element(tt.role, tt.element)
				z = a.Zoom(o.GetPicture(), around(o, e, 5))
				harness.Refused(t, z.GetRefusal(), 0)
				p = z.GetPicture()
			}
		})
	}
}

// C2.2: a zoom is taken of the window as the frame showed it, or not at all.
func TestZoomIsRefusedWhenTheWindowIsNotWhereItWas(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(t *testing.T, s *harness.System, a *harness.Agent)
		want   refusal.Code
	}{
		{"moved", func(_ *testing.T, s *harness.System, _ *harness.Agent) {
			s.Must(s.Desk.Move(s.Window("Form").ID, 90, 70))
		}, refusal.TargetChanged},
		{"resized", func(_ *testing.T, s *harness.System, _ *harness.Agent) {
			s.Must(s.Desk.Resize(s.Window("Form").ID, 700, 600))
		}, refusal.TargetChanged},
		{"a popup opened", func(_ *testing.T, s *harness.System, _ *harness.Agent) {
			s.Must(s.Desk.ToggleByUser(s.Object("Form", isButton, "More")))
		}, refusal.TargetChanged},
		{"another scale", func(_ *testing.T, s *harness.System, _ *harness.Agent) { s.Must(s.Desk.SetScale(0, 2)) }, refusal.TargetChanged},
		{"minimised", func(_ *testing.T, s *harness.System, _ *harness.Agent) {
			s.Must(s.Desk.Minimize(s.Window("Form").ID))
		}, refusal.WindowHidden},
		{"gone", func(_ *testing.T, s *harness.System, _ *harness.Agent) {
			s.Must(s.Desk.CloseWindow(s.Window("Form").ID))
		}, refusal.TargetMissing},
		{"another window in its place", func(_ *testing.T, s *harness.System, _ *harness.Agent) {
			_, err := s.Desk.ReplaceWindow(s.Window("Form").ID)
			s.Must(err)
		}, refusal.TargetMissing},
		{"without its lease", func(_ *testing.T, s *harness.System, a *harness.Agent) {
			for _, l := range a.State().GetLeases() {
				if l.GetClass() == screenshot {
					a.GiveBack(l.GetLeaseId())
				}
			}
		}, refusal.LeaseRequired},
		{"after a stop", func(_ *testing.T, s *harness.System, a *harness.Agent) { s.User().Stop(a.ID()) }, refusal.UserStopped},
		{"after another session acted", func(t *testing.T, s *harness.System, a *harness.Agent) {
			b := ready(t, s, form, "Form")
			harness.Verified(t, b.Do(press(b, "More")), windowSet)
			s.Await("the frame ended", func() bool { return a.State().GetFrame() == nil })
		}, refusal.NoActiveFrame},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := harness.Start(t, harness.Options{})
			a := s.AgentOf(t)
			a.AcquireAll(form)
			o := a.SeePicture(form, "Form")
			part := around(o, a.Element(isButton, "Submit"), 2)
			harness.Refused(t, a.Zoom(o.GetPicture(), part).GetRefusal(), 0)
			tt.change(t, s, a)
			r := a.Zoom(o.GetPicture(), part)
			harness.Refused(t, r.GetRefusal(), tt.want)
			if r.GetPicture() != nil {
				t.Error("a picture came along")
			}
		})
	}
}

// C2.2, C3.3: corners are pixels of a picture of the current frame; no smaller or other
// region is taken instead.
func TestZoomOfWhatIsNoPartOfAPictureIsRefused(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	a := s.AgentOf(t)
	a.AcquireAll(form)
	o := a.SeePicture(form, "Form")
	p := o.GetPicture()
	w, h := int(p.GetWidth()), int(p.GetHeight())
	for _, part := range []image.Rectangle{
		{Max: image.Pt(w+1, h)},
		{Max: image.Pt(w, h+1)},
		{Min: image.Pt(-1, 0), Max: image.Pt(4, 4)},
		{Min: image.Pt(4, 4), Max: image.Pt(4, 8)},
		{Min: image.Pt(4, 4), Max: image.Pt(4, 4)},
	} {
		harness.Refused(t, a.Zoom(p, part).GetRefusal(), refusal.InvalidCoordinate)
	}
	// Corners may come in any order; the whole is a region too.
	harness.Refused(t, a.Zoom(p, image.Rectangle{Min: image.Pt(w, h)}).GetRefusal(), 0)
	harness.Refused(t, a.Zoom(&commonv1.Picture{PictureId: "p-none"}, image.Rect(0, 0, 4, 4)).GetRefusal(), refusal.InvalidBinding)
	a.See(form, "Form")
	harness.Refused(t, a.Zoom(p, image.Rect(0, 0, 4, 4)).GetRefusal(), refusal.NoPicture)
}

// C2.10: secure regions are painted over in every picture, zooms of nothing else included.
func TestZoomPaintsSecureFieldsOver(t *testing.T) {
	for name, app := range map[string]string{"shown": secret, "of another length": secret + secret} {
		t.Run(name, func(t *testing.T) {
			s := harness.Start(t, harness.Options{Desk: virtualdesk.Config{Password: app}})
			s.Must(s.Desk.SetScale(0, 2))
			a := s.AgentOf(t)
			a.AcquireAll(form)
			o := a.SeePicture(form, "Form")
			field := a.Element(commonv1.Role_ROLE_SECURE_FIELD, "Password")
			z := a.Zoom(o.GetPicture(), around(o, field, 12))
			harness.Refused(t, z.GetRefusal(), 0)
			p, img := z.GetPicture(), s.Image(z.GetPicture())
			if p.GetPaintedRegions() == 0 {
				t.Error("nothing is said to be painted over")
			}
			b := field.GetBounds()
			x0, y0 := harness.Pixel(p, b.GetX(), b.GetY())
			x1, y1 := harness.Pixel(p, b.GetX()+b.GetWidth(), b.GetY()+b.GetHeight())
			inside := image.Rect(int(math.Ceil(x0)), int(math.Ceil(y0)), int(x1), int(y1)).Intersect(img.Bounds())
			if inside.Empty() {
				t.Fatalf("the field is not in the zoom: %v of %v", inside, img.Bounds())
			}
			seen := map[[3]uint32]bool{}
			for y := inside.Min.Y; y < inside.Max.Y; y++ {
				for x := inside.Min.X; x < inside.Max.X; x++ {
					r, g, b, _ := img.At(x, y).RGBA()
					seen[[3]uint32{r, g, b}] = true
				}
			}
			if len(seen) != 1 {
				t.Errorf("%d colours where the secure field is", len(seen))
			}
			if got := img.Bounds(); inside == got {
				t.Error("nothing else is in the zoom")
			}
		})
	}
}

// assembled is a picture as its pieces bring it.
func assembled(t *testing.T, pieces []*hostv1.GetPictureResponse) (*commonv1.Picture, []byte) {
	t.Helper()
	var data []byte
	for i, p := range pieces {
		if p.GetRefusal() != nil || len(p.GetData()) > 64<<10 {
			t.Fatalf("piece %d: %v, %d bytes", i, p.GetRefusal(), len(p.GetData()))
		}
		if last := i == len(pieces)-1; p.GetLast() != last || (p.GetPicture() != nil) != (i == 0) {
			t.Errorf("piece %d of %d: last %v, picture %v", i, len(pieces), p.GetLast(), p.GetPicture() != nil)
		}
		data = append(data, p.GetData()...)
	}
	return pieces[0].GetPicture(), data
}

// protocol.md: GetPicture sends the same bytes again, in pieces, for the frame's own
// picture and for its latest zoom.
func TestPictureIsSentAgainByteForByte(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	s.Must(s.Desk.SetScale(0, 2))
	id := s.Window("Form").ID
	s.Must(s.Desk.Resize(id, 1300, 860))
	s.Must(s.Desk.Populate(id, 900))
	a := s.AgentOf(t)
	a.AcquireAll(form)
	o := a.SeePicture(form, "Form")
	z := a.Zoom(o.GetPicture(), image.Rect(0, 0, 300, 200))
	harness.Refused(t, z.GetRefusal(), 0)
	most := 0
	for _, p := range []*commonv1.Picture{o.GetPicture(), z.GetPicture()} {
		pieces := a.Picture(a.Frame.GetFrame(), p.GetPictureId())
		most = max(most, len(pieces))
		head, data := assembled(t, pieces)
		if !bytes.Equal(data, p.GetData()) {
			t.Errorf("%d bytes, %d before", len(data), len(p.GetData()))
		}
		if head.GetPictureId() != p.GetPictureId() || head.GetWidth() != p.GetWidth() || head.GetFormat() != p.GetFormat() ||
			head.GetTransform().GetScaleX() != p.GetTransform().GetScaleX() || len(head.GetData()) != 0 {
			t.Errorf("%v", head)
		}
	}
	if most < 2 {
		t.Error("no picture came in pieces")
	}
	if got := a.State().GetFrame(); got.GetFrameId() != o.GetFrame().GetFrameId() {
		t.Error("the frame is another one")
	}
	// The oldest zoom made room for a newer one: pictures kept, 2 per session.
	harness.Refused(t, a.Zoom(o.GetPicture(), image.Rect(0, 0, 30, 20)).GetRefusal(), 0)
	harness.Refused(t, a.Picture(a.Frame.GetFrame(), z.GetPicture().GetPictureId())[0].GetRefusal(), refusal.NoPicture)
	assembled(t, a.Picture(a.Frame.GetFrame(), o.GetPicture().GetPictureId()))
}

// protocol.md: a picture is sent again for the current frame only, under a lease that
// lives now.
func TestPictureIsNotSentAgainWhenItsFrameOrLeaseIsOver(t *testing.T) {
	for _, tt := range []struct {
		name string
		ends func(*testing.T, *harness.System, *harness.Agent)
		want []refusal.Code
	}{
		{"another observation", func(_ *testing.T, _ *harness.System, a *harness.Agent) {
			a.SeePicture(form, "Form")
		}, []refusal.Code{refusal.StaleEpoch, refusal.StaleFrame}},
		{"an act", func(t *testing.T, _ *harness.System, a *harness.Agent) {
			harness.Verified(t, a.Do(press(a, "More")), windowSet)
		}, []refusal.Code{refusal.StaleEpoch}},
		{"the lease given back", func(_ *testing.T, s *harness.System, a *harness.Agent) {
			for _, l := range a.State().GetLeases() {
				if l.GetClass() == screenshot {
					a.GiveBack(l.GetLeaseId())
				}
			}
		}, []refusal.Code{refusal.LeaseRequired}},
		{"a pause", func(_ *testing.T, s *harness.System, a *harness.Agent) {
			s.User().Pause(a.ID())
		}, []refusal.Code{refusal.Paused}},
		{"a stop", func(_ *testing.T, s *harness.System, a *harness.Agent) {
			s.User().Stop(a.ID())
		}, []refusal.Code{refusal.UserStopped}},
		{"another executor", func(_ *testing.T, s *harness.System, a *harness.Agent) {
			s.RestartExecutor()
			a.Renewed()
		}, []refusal.Code{refusal.NoActiveFrame}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := harness.Start(t, harness.Options{})
			a := s.AgentOf(t)
			a.AcquireAll(form)
			o := a.SeePicture(form, "Form")
			assembled(t, a.Picture(o.GetFrame(), o.GetPicture().GetPictureId()))
			tt.ends(t, s, a)
			pieces := a.Picture(o.GetFrame(), o.GetPicture().GetPictureId())
			if len(pieces) != 1 || !pieces[0].GetLast() || len(pieces[0].GetData()) != 0 || pieces[0].GetPicture() != nil ||
				!slices.Contains(tt.want, pieces[0].GetRefusal().GetCode()) {
				t.Errorf("%d pieces, the first: %v", len(pieces), pieces[0].GetRefusal().GetCode())
			}
		})
	}
}

// protocol.md: GetCursor is a pure read of the user's pointer and the agent's.
func TestCursorIsReadAndNothingMoves(t *testing.T) {
	s := harness.Start(t, harness.Options{Bundle: allBundle})
	a := s.AgentOf(t)
	a.AcquireEvery(form)
	o := a.SeePicture(form, "Form")
	harness.Refused(t, a.Acquire(metadata, harness.Desk()).GetRefusal(), 0)
	s.Must(s.Desk.UserPointerMoves(123, 45))
	before, err := s.Desk.Desk(t.Context())
	s.Must(err)
	frame := a.State().GetFrame()
	for range 3 {
		r := a.Cursor()
		harness.Refused(t, r.GetRefusal(), 0)
		if r.GetUser().GetX() != 123 || r.GetUser().GetY() != 45 {
			t.Errorf("the user's pointer is said to be at %v", r.GetUser())
		}
		if agent := before.AgentPointer; agent != nil && (r.GetAgent().GetX() != agent.X || r.GetAgent().GetY() != agent.Y) {
			t.Errorf("the agent's pointer is said to be at %v", r.GetAgent())
		}
	}
	after, err := s.Desk.Desk(t.Context())
	s.Must(err)
	if after.PointerX != before.PointerX || after.PointerY != before.PointerY || after.Input != before.Input ||
		after.Focus != before.Focus || after.Active != before.Active || !slices.Equal(after.Stacking, before.Stacking) {
		t.Errorf("before %+v, after %+v", before, after)
	}
	if got := a.State().GetFrame(); got.GetFrameId() != frame.GetFrameId() {
		t.Error("the frame is another one")
	}
	s.Untouched(t, 0)
	// The agent's own pointer goes where it clicks; the user's stays.
	e := a.Element(isButton, "Submit")
	x, y := harness.Centre(o, o.GetPicture(), e)
	harness.Verified(t, a.Do(harness.ClickPoint(o.GetPicture().GetPictureId(), x, y)), windowSet)
	r := a.Cursor()
	b := o.GetBounds()
	wantX := b.GetX() + e.GetBounds().GetX() + e.GetBounds().GetWidth()/2
	wantY := b.GetY() + e.GetBounds().GetY() + e.GetBounds().GetHeight()/2
	if math.Abs(r.GetAgent().GetX()-wantX) > 1 || math.Abs(r.GetAgent().GetY()-wantY) > 1 ||
		r.GetUser().GetX() != 123 || r.GetUser().GetY() != 45 {
		t.Errorf("agent at %v, want %v, %v; user at %v", r.GetAgent(), wantX, wantY, r.GetUser())
	}
}

// The cursor needs the desk's own lease.
func TestCursorNeedsALease(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	a := s.Agent()
	r := a.Cursor()
	harness.Refused(t, r.GetRefusal(), refusal.LeaseRequired)
	if r.GetUser() != nil || r.GetAgent() != nil {
		t.Errorf("%v", r)
	}
}
