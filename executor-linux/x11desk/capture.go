package x11desk

import (
	"context"
	"image"
	"image/color"
	"image/draw"
	"time"

	"fairlead.dev/executor-linux/internal/x11"
	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
)

// captureMax bounds one capture with all of its surfaces.
const captureMax = 6 * time.Second

// Capture takes all surfaces of a window as they look, covered or not, without a
// cursor. Where a popup reaches beyond the toplevel, what belongs to neither is black.
func (d *Desk) Capture(ctx context.Context, id ident.Window) (*executor.Capture, error) {
	ctx, cancel := context.WithTimeout(ctx, captureMax)
	defer cancel()
	windows, err := d.list(ctx)
	if err != nil {
		return nil, err
	}
	w, err := find(windows, id)
	if err != nil {
		return nil, err
	}
	if w.Hidden {
		return nil, executor.Fail(refusal.AnswerWindowHidden)
	}
	k, err := d.camera()
	if err != nil {
		return nil, failure(ctx, err, commonv1.Stage_STAGE_CAPTURE)
	}
	pictures := make([]*x11.Picture, len(w.surfaces))
	area := image.Rectangle{}
	for i, s := range w.surfaces {
		if pictures[i], err = k.Capture(ctx, s.ID); err != nil {
			if i > 0 && answerOf(ctx, err) != refusal.AnswerTimeout {
				// A popup that closed meanwhile: what was listed is not what there is.
				return nil, executor.Fail(refusal.AnswerCaptureFailed)
			}
			return nil, failure(ctx, err, commonv1.Stage_STAGE_CAPTURE)
		}
		area = area.Union(pictures[i].Bounds)
	}
	return compose(pictures, area)
}

// compose puts the pictures of the surfaces over each other, lowest first.
func compose(pictures []*x11.Picture, area image.Rectangle) (*executor.Capture, error) {
	base := pictures[0]
	out := &executor.Capture{
		Image: base.Image, Scale: 1,
		OffsetX: float64(area.Min.X - base.Bounds.Min.X), OffsetY: float64(area.Min.Y - base.Bounds.Min.Y),
	}
	if len(pictures) == 1 {
		return out, nil
	}
	if area.Dx()*area.Dy() > x11.PixelsMax {
		return nil, executor.Fail(refusal.AnswerResponseTooLarge)
	}
	out.Image = image.NewRGBA(image.Rectangle{Max: area.Size()})
	draw.Draw(out.Image, out.Image.Rect, image.NewUniform(color.Black), image.Point{}, draw.Src)
	for _, p := range pictures {
		draw.Draw(out.Image, p.Bounds.Sub(area.Min), p.Image, image.Point{}, draw.Src)
	}
	return out, nil
}
