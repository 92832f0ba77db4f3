package sessionhost

import (
	"context"

	"google.golang.org/protobuf/proto"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	"fairlead.dev/services/sessionhost/internal/frame"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
)

// Bounds of the pictures a host keeps so that they can be sent again.
const (
	picturesKept  = 2 // of one session: the frame's own, and the latest zoom
	picturesBytes = 256 << 20
	pieceBytes    = 64 << 10
)

// keepPicture keeps a picture of the current frame. One that does not fit is not kept.
func (st *state) keepPicture(p *commonv1.Picture) {
	if p == nil {
		return
	}
	if len(st.pictures) == picturesKept {
		st.books.kept(-len(st.pictures[picturesKept-1].GetData()))
		st.pictures = st.pictures[:picturesKept-1]
	}
	if st.books.kept(len(p.GetData())) {
		st.pictures = append(st.pictures, p)
	}
}

func (st *state) forgetPictures() {
	for _, p := range st.pictures {
		st.books.kept(-len(p.GetData()))
	}
	st.pictures = nil
}

// kept counts the bytes of all pictures, and reports whether more of them fit.
func (b *books) kept(bytes int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if bytes > 0 && b.pictured+bytes > picturesBytes {
		return false
	}
	b.pictured += bytes
	return true
}

// quoted returns the current frame if it is the quoted one.
func (st *state) quoted(ref ident.Frame) (*frame.Frame, *refusal.Error) {
	switch f := st.frames.Current(); {
	case f == nil:
		return nil, refusal.New(refusal.NoActiveFrame)
	case f.Epoch != ref.Epoch:
		return nil, refusal.New(refusal.StaleEpoch)
	case f.ID != ref.ID:
		return nil, refusal.New(refusal.StaleFrame)
	default:
		return f, nil
	}
}

// Zoom takes a region of the current frame's window again (C2.2).
func (h *Host) Zoom(ctx context.Context, req *hostv1.ZoomRequest) (*hostv1.ZoomResponse, error) {
	got, s, err := admitted(ctx, h, req, h.zoom)
	resp := &hostv1.ZoomResponse{Fence: h.fenceOf(s)}
	if err == nil {
		resp.Picture, resp.Redaction = got.GetPicture(), got.GetRedaction()
	}
	resp.Refusal, err = s.told(err)
	return resp, err
}

// zoom binds both corners to the frame's one window (C3.3). The frame stays as it is,
// with one picture more.
func (h *Host) zoom(ctx context.Context, c *call, req *hostv1.ZoomRequest) (*executorv1.CaptureResponse, error) {
	l, err := c.looking(ctx)
	if err != nil {
		return nil, err
	}
	ref := frameFromWire(req.GetFrame())
	f, err := c.quoted(ref)
	if err != nil {
		return nil, err
	}
	// Whether there may be a picture at all comes before where in it.
	read, err := c.readPermit(ctx, l.policy, l.executor, commonv1.LeaseClass_LEASE_CLASS_SCREENSHOT_READ, f.Window)
	if err != nil {
		return nil, c.failed(err)
	}
	region, err := c.region(f, req)
	if err != nil {
		return nil, err
	}
	got, err := l.executor.Capture(ctx, &executorv1.CaptureRequest{
		SessionId: string(c.s.id), SnapshotId: string(f.Snapshot),
		Region:  &commonv1.Rect{X: region.X, Y: region.Y, Width: region.W, Height: region.H},
		Picture: &executorv1.PictureRequest{Permit: read, Format: req.GetFormat()},
	})
	if err != nil {
		return nil, c.failed(err)
	}
	if got.GetPicture() == nil {
		return nil, refusal.New(noPicture(got.GetPictureAbsence()))
	}
	return got, c.do(func(st *state) error {
		if err := st.mayKeep(l.ticket, c.stopped); err != nil {
			return err
		}
		current, why := st.quoted(ref)
		if why != nil {
			return why
		}
		current.AddPicture(pictureFromWire(got.GetPicture()))
		st.keepPicture(got.GetPicture())
		return nil
	})
}

// quoted returns the current frame if it is the quoted one.
func (c *call) quoted(ref ident.Frame) (*frame.Frame, error) {
	var f *frame.Frame
	err := c.do(func(st *state) error {
		var why *refusal.Error
		if f, why = st.quoted(ref); why != nil {
			return why
		}
		return nil
	})
	return f, err
}

// region is what two corners of a picture bound, in points of the frame's window (C3.3).
func (c *call) region(f *frame.Frame, req *hostv1.ZoomRequest) (region frame.Rect, err error) {
	err = c.do(func(st *state) error {
		corners := pixels(req.GetFrom(), req.GetTo())
		var why *refusal.Error
		if region, why = f.Region(ident.PictureID(req.GetPictureId()), corners[0], corners[1]); why != nil {
			return why
		}
		return nil
	})
	return region, err
}

// noPicture is the refusal for a picture that was asked for by itself and is not there.
func noPicture(a commonv1.PictureAbsence) refusal.Code {
	switch a {
	case commonv1.PictureAbsence_PICTURE_ABSENCE_TOO_LARGE:
		return refusal.PictureTooLarge
	case commonv1.PictureAbsence_PICTURE_ABSENCE_HIDDEN:
		return refusal.WindowHidden
	case commonv1.PictureAbsence_PICTURE_ABSENCE_REDACTION:
		return refusal.PolicyForbidden
	default:
		return refusal.CaptureFailed
	}
}

// GetPicture sends a kept picture of the current frame again, in pieces.
func (h *Host) GetPicture(req *hostv1.GetPictureRequest, out hostv1.ObserveService_GetPictureServer) error {
	p, s, err := admitted(out.Context(), h, req, h.picture)
	if err != nil {
		r, err := s.told(err)
		if err != nil {
			return err
		}
		return out.Send(&hostv1.GetPictureResponse{Fence: h.fenceOf(s), Refusal: r, Last: true})
	}
	head, _ := proto.Clone(p).(*commonv1.Picture)
	head.Data = nil
	for data := p.GetData(); ; head = nil {
		n := min(len(data), pieceBytes)
		piece := &hostv1.GetPictureResponse{
			Fence: h.fenceOf(s), Picture: head, Data: data[:n], Last: n == len(data),
		}
		if err := out.Send(piece); err != nil || piece.GetLast() {
			return err
		}
		data = data[n:]
	}
}

func (h *Host) picture(ctx context.Context, c *call, req *hostv1.GetPictureRequest) (*commonv1.Picture, error) {
	l, err := c.looking(ctx)
	if err != nil {
		return nil, err
	}
	var f *frame.Frame
	var kept *commonv1.Picture
	err = c.do(func(st *state) error {
		var why *refusal.Error
		if f, why = st.quoted(frameFromWire(req.GetFrame())); why != nil {
			return why
		}
		if _, known := f.Picture(ident.PictureID(req.GetPictureId())); !known {
			return refusal.New(refusal.InvalidBinding)
		}
		for _, p := range st.pictures {
			if p.GetPictureId() == req.GetPictureId() {
				kept = p
				return nil
			}
		}
		return refusal.New(refusal.NoPicture)
	})
	if err != nil {
		return nil, err
	}
	// What may be looked at is asked now, not remembered.
	class := commonv1.LeaseClass_LEASE_CLASS_SCREENSHOT_READ
	if _, err := c.readPermit(ctx, l.policy, l.executor, class, f.Window); err != nil {
		return nil, c.failed(err)
	}
	return kept, c.still(ctx, l.ticket)
}
