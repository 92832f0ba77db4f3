package harness

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/png"
	"io"

	"google.golang.org/grpc"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	"fairlead.dev/services/shared/ident"
)

// AcquireEvery leases every class on an app; the bundle has to allow the pointer.
func (a *Agent) AcquireEvery(app string) {
	a.tb.Helper()
	a.AcquireAll(app)
	r := a.Acquire(commonv1.LeaseClass_LEASE_CLASS_POINTER_MUTATION, App(app))
	a.no("Acquire the pointer", r.GetRefusal(), nil)
}

// SeePicture observes the window of an app that has one such title, with a picture.
func (a *Agent) SeePicture(app, title string) *commonv1.Observation {
	a.tb.Helper()
	a.See(app, title)
	req := OfWindow(a.Frame.GetWindow())
	req.Picture = true
	r := a.Look(req)
	a.no("Observe "+title, r.GetRefusal(), nil)
	if r.GetObservation().GetPicture() == nil {
		a.tb.Fatalf("no picture of %s: %v", title, r.GetObservation().GetPictureAbsence())
	}
	return r.GetObservation()
}

// Wish fills in a wait request and sends it; its answer comes later.
func (a *Agent) Wish(req *hostv1.WaitForRequest) <-chan *hostv1.WaitForResponse {
	a.tb.Helper()
	req.Fence, req.Session, req.TurnId = a.Fence, a.Session, a.Turn
	out := make(chan *hostv1.WaitForResponse, 1)
	ctx := a.Context()
	go func() {
		// An error is no answer; whoever waits for one fails.
		r, _ := a.Observe.WaitFor(ctx, req)
		out <- r
	}()
	return out
}

// WaitFor waits for something, and returns the whole answer.
func (a *Agent) WaitFor(req *hostv1.WaitForRequest) *hostv1.WaitForResponse {
	a.tb.Helper()
	return a.Waited(a.Wish(req))
}

// Waited waits for the answer to a wait, and takes its fence and observation.
func (a *Agent) Waited(from <-chan *hostv1.WaitForResponse) *hostv1.WaitForResponse {
	a.tb.Helper()
	select {
	case r := <-from:
		if r == nil {
			a.tb.Fatal("WaitFor failed")
		}
		a.Fence = orElse(r.GetFence(), a.Fence)
		if r.GetObservation() != nil {
			a.Frame = r.GetObservation()
		}
		return r
	case <-a.Context().Done():
		a.tb.Fatal("no answer to WaitFor")
		return nil
	}
}

// Zoom takes a part of a picture of the latest frame again. Corners are pixels of it.
func (a *Agent) Zoom(picture *commonv1.Picture, part image.Rectangle) *hostv1.ZoomResponse {
	a.tb.Helper()
	r, err := a.Observe.Zoom(a.Context(), &hostv1.ZoomRequest{
		Fence: a.Fence, Session: a.Session, TurnId: a.Turn, Frame: a.Frame.GetFrame(), PictureId: picture.GetPictureId(),
		From: &commonv1.Point{X: float64(part.Min.X), Y: float64(part.Min.Y)},
		To:   &commonv1.Point{X: float64(part.Max.X), Y: float64(part.Max.Y)},
	})
	if err != nil {
		a.tb.Fatalf("Zoom: %v", err)
	}
	a.Fence = r.GetFence()
	return r
}

// Cursor tells where the pointers are.
func (a *Agent) Cursor() *hostv1.GetCursorResponse {
	a.tb.Helper()
	r, err := a.Observe.GetCursor(a.Context(), &hostv1.GetCursorRequest{
		Fence: a.Fence, Session: a.Session, TurnId: a.Turn,
	})
	if err != nil {
		a.tb.Fatalf("GetCursor: %v", err)
	}
	return r
}

// Picture gets a picture of a frame again: its pieces.
func (a *Agent) Picture(frame *commonv1.FrameRef, id string) []*hostv1.GetPictureResponse {
	a.tb.Helper()
	stream, err := a.Observe.GetPicture(a.Context(), &hostv1.GetPictureRequest{
		Fence: a.Fence, Session: a.Session, TurnId: a.Turn, Frame: frame, PictureId: id,
	})
	if err != nil {
		a.tb.Fatalf("GetPicture: %v", err)
	}
	var out []*hostv1.GetPictureResponse
	for {
		piece, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			a.tb.Fatalf("GetPicture: %v", err)
		}
		out = append(out, piece)
	}
}

// Recorded tells what is known of an act id.
func (a *Agent) Recorded(act string) *hostv1.GetActResponse {
	a.tb.Helper()
	r, err := a.Acts.GetAct(a.Context(), &hostv1.GetActRequest{Session: a.Session, ActId: act})
	a.no("GetAct", r.GetRefusal(), err)
	return r
}

// Step is one step of a sequence.
func Step(role commonv1.Role, name string, act *commonv1.Act) *hostv1.SequenceStep {
	return &hostv1.SequenceStep{Act: act, Role: role, Name: name}
}

// Sequence does the steps on the latest frame under an act id, and returns every event.
func (a *Agent) Sequence(act string, steps ...*hostv1.SequenceStep) []*hostv1.ActSequenceResponse {
	a.tb.Helper()
	out, err := a.SequenceOf(a.Context(), &hostv1.ActSequenceRequest{
		ActId: act, Frame: a.Frame.GetFrame(), Steps: steps,
	}, nil)
	if err != nil {
		a.tb.Fatalf("ActSequence: %v", err)
	}
	return out
}

// SequenceOf does a sequence and returns every event, each also told as it comes.
func (a *Agent) SequenceOf(
	ctx context.Context, req *hostv1.ActSequenceRequest, tell func(*hostv1.ActSequenceResponse),
) ([]*hostv1.ActSequenceResponse, error) {
	req.Fence, req.Session, req.TurnId = a.Fence, a.Session, a.Turn
	if req.GetAfter() == nil {
		req.After = &hostv1.After{Render: commonv1.Render_RENDER_BOTH}
	}
	stream, err := a.Acts.ActSequence(ctx, req)
	if err != nil {
		return nil, err
	}
	var out []*hostv1.ActSequenceResponse
	for {
		e, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out = append(out, e)
		a.Fence = orElse(e.GetFence(), a.Fence)
		if o := e.GetResult().GetObservation(); o != nil {
			a.Frame = o
		}
		if tell != nil {
			tell(e)
		}
	}
}

// Image decodes a picture.
func (s *System) Image(p *commonv1.Picture) image.Image {
	s.tb.Helper()
	img, err := png.Decode(bytes.NewReader(p.GetData()))
	s.must(err)
	return img
}

// Pixel is the pixel of a picture that shows a point of the toplevel.
func Pixel(p *commonv1.Picture, x, y float64) (px, py float64) {
	t := p.GetTransform()
	return (x - t.GetOffsetX()) / t.GetScaleX(), (y - t.GetOffsetY()) / t.GetScaleY()
}

// Centre is the pixel of a picture that shows the middle of an element of a frame.
func Centre(o *commonv1.Observation, p *commonv1.Picture, e *commonv1.Element) (px, py float64) {
	b := e.GetBounds()
	x, y := b.GetX()+b.GetWidth()/2, b.GetY()+b.GetHeight()/2
	on := o.GetSurfaces()[e.GetSurface()].GetBounds()
	return Pixel(p, x+on.GetX()-o.GetBounds().GetX(), y+on.GetY()-o.GetBounds().GetY())
}

// Kinds is what happened to a session, as kinds in order.
func (u *User) Kinds(session string) []hostv1.TimelineKind {
	u.s.tb.Helper()
	var out []hostv1.TimelineKind
	for _, e := range u.Timeline(session) {
		out = append(out, e.GetKind())
	}
	return out
}

// Losses is why a session lost its keyboard target, each time it did.
func (u *User) Losses(session string) []hostv1.KeyboardLoss {
	u.s.tb.Helper()
	var out []hostv1.KeyboardLoss
	for _, e := range u.Timeline(session) {
		if e.GetKind() == hostv1.TimelineKind_TIMELINE_KIND_KEYBOARD_REVOKED {
			out = append(out, e.GetKeyboardLoss())
		}
	}
	return out
}

// Held is how many sessions are under a hold.
func (u *User) Held(hold hostv1.Hold) uint32 {
	u.s.tb.Helper()
	for _, h := range u.Counts().GetHolds() {
		if h.GetHold() == hold {
			return h.GetSessions()
		}
	}
	return 0
}

// ID is the session's id.
func (a *Agent) ID() string { return a.Session.GetSessionId() }

// Renewed copies the current fence, as a client does that looks at its session again.
func (a *Agent) Renewed() { a.tb.Helper(); a.Fence = a.State().GetFence() }

// TryLook observes, for a goroutine that may not end the test.
func (a *Agent) TryLook(req *hostv1.ObserveRequest) (*hostv1.ObserveResponse, error) {
	req.Fence, req.Session, req.TurnId = a.Fence, a.Session, a.Turn
	req.Render = commonv1.Render_RENDER_BOTH
	r, err := a.Observe.Observe(a.Context(), req)
	a.Fence = orElse(r.GetFence(), a.Fence)
	if r.GetObservation() != nil {
		a.Frame = r.GetObservation()
	}
	return r, err
}

// Identity is the window of the latest frame.
func (a *Agent) Identity() ident.Window {
	w := a.Frame.GetWindow()
	return ident.Window{
		ID: w.GetWindowId(), PID: w.GetPid(), Start: w.GetProcessStart(), App: w.GetAppId(), Birth: w.GetBirth(),
	}
}

// Over is the same session on another connection, as a client that comes back.
func (a *Agent) Over(cc grpc.ClientConnInterface) *Agent {
	again := Connect(a.tb, cc)
	again.Session, again.Turn, again.Fence, again.Frame = a.Session, a.Turn, a.Fence, a.Frame
	again.acts.Store(a.acts.Load())
	return again
}
