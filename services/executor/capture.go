package executor

import (
	"context"
	"slices"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
)

// Capture takes a part of a live snapshot's window again, at source resolution as far as
// the long edge of a picture allows. It spends nothing and keeps nothing.
func (l *hostLink) Capture(
	ctx context.Context, req *executorv1.CaptureRequest,
) (*executorv1.CaptureResponse, error) {
	fence, err := l.e.gate(req.GetFence())
	if err != nil {
		return nil, err
	}
	defer l.e.calls.Done()
	out := &executorv1.CaptureResponse{Fence: fence}
	pic, err := l.e.zoom(ctx, req)
	if err != nil {
		out.Code, out.Detail = l.e.told(err, commonv1.Stage_STAGE_CAPTURE)
		return out, nil
	}
	out.Picture, out.PictureAbsence, out.Redaction = pic.picture, pic.absence, pic.redaction
	return out, nil
}

func (e *Executor) zoom(ctx context.Context, req *executorv1.CaptureRequest) (taken, error) {
	s, a := e.session(req.GetSessionId())
	if a != 0 {
		return taken{}, Fail(a)
	}
	quoted, a := e.findLook(s, ident.SnapshotID(req.GetSnapshotId()))
	if a != 0 {
		return taken{}, Fail(a)
	}
	ask := wish{window: quoted.window.Identity, limits: quoted.limits, text: textMax}
	if ask.picture, a = e.mayPicture(req.GetPicture(), s, ask.window); a != 0 {
		return taken{}, Fail(a)
	}
	region := toRect(req.GetRegion())
	if finite(region.X, region.Y, region.W, region.H) != 0 || region.W <= 0 || region.H <= 0 {
		return taken{}, Fail(refusal.AnswerInvalidPoint)
	}
	ask.picture.region = &region
	if err := e.unlocked(ctx); err != nil {
		return taken{}, err
	}
	now, err := e.again(ctx, ask)
	if err != nil {
		return taken{}, err
	}
	if a := inPlace(quoted, now, region); a != 0 {
		return taken{}, Fail(a)
	}
	pic, err := e.photograph(ctx, now, ask)
	if err == nil {
		if a := inPlace(quoted, pic.look, region); a != 0 {
			err = Fail(a)
		}
	}
	return pic, err
}

// inPlace answers why a region of the quoted window can no longer be taken: the window is
// hidden, elsewhere or another page, or the region lies outside of it.
func inPlace(quoted, now *look, region Rect) refusal.Answer {
	was, is := &quoted.window, &now.window
	switch {
	case is.Hidden:
		return refusal.AnswerWindowHidden
	case is.Page != was.Page:
		return refusal.AnswerPageChanged
	case is.Bounds != was.Bounds || is.Scale != was.Scale || !slices.Equal(is.Surfaces, was.Surfaces):
		return refusal.AnswerWindowChanged
	}
	origin := toplevelOrigin(is)
	for _, s := range is.Surfaces {
		if overlaps(region, Rect{X: s.Bounds.X - origin.X, Y: s.Bounds.Y - origin.Y, W: s.Bounds.W, H: s.Bounds.H}) {
			return 0
		}
	}
	return refusal.AnswerInvalidPoint
}

// GetDesk tells where the pointers are, under a read permit for the desk.
func (l *hostLink) GetDesk(
	ctx context.Context, req *executorv1.GetDeskRequest,
) (*executorv1.GetDeskResponse, error) {
	fence, err := l.e.gate(req.GetFence())
	if err != nil {
		return nil, err
	}
	defer l.e.calls.Done()
	out := &executorv1.GetDeskResponse{Fence: fence}
	desk, err := l.e.askDesk(ctx, req)
	if err != nil {
		out.Code, _ = l.e.told(err, commonv1.Stage_STAGE_QUEUE)
		return out, nil
	}
	out.UserPointer = &commonv1.Point{X: desk.PointerX, Y: desk.PointerY}
	if p := desk.AgentPointer; p != nil {
		out.AgentPointer = &commonv1.Point{X: p.X, Y: p.Y}
	}
	return out, nil
}

func (e *Executor) askDesk(ctx context.Context, req *executorv1.GetDeskRequest) (DeskState, error) {
	s, a := e.session(req.GetSessionId())
	if a != 0 {
		return DeskState{}, Fail(a)
	}
	scopes, a := e.scopes(s, req.GetPermit())
	if a == 0 && !scopes[0].desk {
		a = refusal.AnswerPermitMismatch
	}
	if a != 0 {
		return DeskState{}, Fail(a)
	}
	return e.deskNow(ctx)
}
