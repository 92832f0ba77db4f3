package executor

import (
	"context"
	"errors"
	"image"
	"math"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
	"fairlead.dev/services/executor/internal/picture"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
)

// attemptsMax is how often a picture is taken before the frame has none (C2.1).
const attemptsMax = 2

// pictureWish is a picture that may be taken.
type pictureWish struct {
	format commonv1.PictureFormat
	// unproven says that the permit names pictures whose secure regions are not known (C2.10).
	unproven bool
	// refused says that there is no permit for it: the look has none and says so.
	refused bool
	// region is the part that is wanted, in points of the toplevel; nil for all of it.
	region *Rect
}

// taken is what became of a picture, and the look that belongs to it.
type taken struct {
	look      *look
	picture   *commonv1.Picture
	absence   commonv1.PictureAbsence
	redaction commonv1.Redaction
	// scale and tiles are what the look remembers of it.
	scale float64
	tiles picture.Tiles
}

// mayPicture checks the picture's own permit.
func (e *Executor) mayPicture(
	p *executorv1.PictureRequest, s *session, w ident.Window,
) (*pictureWish, refusal.Answer) {
	h, _, a := e.mayRead(p.GetPermit(), s, commonv1.LeaseClass_LEASE_CLASS_SCREENSHOT_READ, w)
	if a != 0 {
		return nil, a
	}
	return &pictureWish{format: p.GetFormat(), unproven: h.claims.GetUnprovenRedaction()}, 0
}

// photograph takes the picture that belongs to a look. Geometry and tree are read
// before and after; if they differ it is taken once more, then there is none (C2.1).
func (e *Executor) photograph(ctx context.Context, before *look, ask wish) (taken, error) {
	if absence := absentFrom(before, ask.picture); absence != 0 {
		return taken{look: before, absence: absence, redaction: unproven(before, absence)}, nil
	}
	for range attemptsMax {
		c, err := e.cfg.Platform.Capture(ctx, before.window.Identity)
		if err != nil || !usable(c) {
			return taken{look: before, absence: captureAbsence(err)}, nil
		}
		after, err := e.again(ctx, ask)
		if err != nil {
			return taken{}, err
		}
		if !before.sameScene(after) {
			before = after
			continue
		}
		// The later look is the one to keep; it shows the same.
		if absence := absentFrom(after, ask.picture); absence != 0 {
			return taken{look: after, absence: absence, redaction: unproven(after, absence)}, nil
		}
		return e.develop(after, c, ask.picture), nil
	}
	return taken{look: before, absence: commonv1.PictureAbsence_PICTURE_ABSENCE_UNSETTLED}, nil
}

// again looks at geometry and tree once more.
func (e *Executor) again(ctx context.Context, ask wish) (*look, error) {
	windows, err := e.cfg.Platform.Windows(ctx)
	if err != nil {
		return nil, err
	}
	w, a := find(windows, ask.window)
	if a != 0 {
		return nil, Fail(a)
	}
	return e.read(ctx, w, ask)
}

// absentFrom says why no picture of this look may be taken.
func absentFrom(l *look, p *pictureWish) commonv1.PictureAbsence {
	switch {
	case p.refused:
		return commonv1.PictureAbsence_PICTURE_ABSENCE_LEASE
	case l.window.Hidden:
		return commonv1.PictureAbsence_PICTURE_ABSENCE_HIDDEN
	case !proven(l) && !p.unproven:
		return commonv1.PictureAbsence_PICTURE_ABSENCE_REDACTION
	default:
		return 0
	}
}

func unproven(l *look, absence commonv1.PictureAbsence) commonv1.Redaction {
	if absence == commonv1.PictureAbsence_PICTURE_ABSENCE_REDACTION && !proven(l) {
		return commonv1.Redaction_REDACTION_UNPROVEN
	}
	return commonv1.Redaction_REDACTION_UNSPECIFIED
}

func captureAbsence(err error) commonv1.PictureAbsence {
	var f *Failure
	if errors.As(err, &f) && f.Answer == refusal.AnswerWindowHidden {
		return commonv1.PictureAbsence_PICTURE_ABSENCE_HIDDEN
	}
	return commonv1.PictureAbsence_PICTURE_ABSENCE_CAPTURE_FAILED
}

// proven reports whether the tree says where every secure region is (C2.10).
func proven(l *look) bool {
	if !l.complete() {
		return false
	}
	for i := range l.nodes {
		n := &l.nodes[i]
		offscreen := n.States.Has(commonv1.ElementState_ELEMENT_STATE_OFFSCREEN)
		if n.Secure && !offscreen && (n.Bounds.W <= 0 || n.Bounds.H <= 0) {
			return false
		}
	}
	return true
}

// develop paints over what is secure, cuts out the part that is wanted, shrinks, encodes.
func (e *Executor) develop(l *look, c *Capture, p *pictureWish) taken {
	out := taken{look: l, absence: commonv1.PictureAbsence_PICTURE_ABSENCE_TOO_LARGE}
	part := c.Image.Rect.Sub(c.Image.Rect.Min)
	if part.Dx()*part.Dy() > picture.PixelsMax {
		return out
	}
	if p.region != nil {
		part = pixels(c, *p.region)
	}
	if part.Empty() {
		out.absence = commonv1.PictureAbsence_PICTURE_ABSENCE_CAPTURE_FAILED
		return out
	}
	regions := secureRegions(l, c)
	if p.region == nil {
		out.tiles, out.scale = e.remember(l, c), c.Scale
	} else {
		picture.Paint(c.Image, regions)
	}
	painted := picture.Touching(regions, part)
	src := c.Image
	if p.region != nil {
		src = picture.Cut(src, part)
	}
	small := picture.Shrink(src)
	format := commonv1.PictureFormat_PICTURE_FORMAT_PNG
	if p.format == commonv1.PictureFormat_PICTURE_FORMAT_JPEG {
		format = p.format
	}
	data, err := picture.Encode(small, format == commonv1.PictureFormat_PICTURE_FORMAT_JPEG)
	if err != nil {
		if !errors.Is(err, picture.ErrTooLarge) {
			out.absence = commonv1.PictureAbsence_PICTURE_ABSENCE_CAPTURE_FAILED
		}
		return out
	}
	out.absence, out.redaction = 0, commonv1.Redaction_REDACTION_UNPROVEN
	if proven(l) {
		out.redaction = commonv1.Redaction_REDACTION_PROVEN
	}
	w, h, dw, dh := part.Dx(), part.Dy(), small.Rect.Dx(), small.Rect.Dy()
	out.picture = &commonv1.Picture{
		PictureId: ident.New("p"), Format: format, Width: uint32(dw), Height: uint32(dh),
		SourceWidth: uint32(w), SourceHeight: uint32(h), Data: data, PaintedRegions: uint32(painted),
		Transform: &commonv1.Transform{
			ScaleX: float64(w) / float64(dw) / c.Scale, ScaleY: float64(h) / float64(dh) / c.Scale,
			OffsetX: c.OffsetX + float64(part.Min.X)/c.Scale, OffsetY: c.OffsetY + float64(part.Min.Y)/c.Scale,
		},
	}
	return out
}

// pixels is the part of a capture that a region of the toplevel covers, clipped to it.
func pixels(c *Capture, r Rect) image.Rectangle {
	x, y := bounded((r.X-c.OffsetX)*c.Scale), bounded((r.Y-c.OffsetY)*c.Scale)
	x2, y2 := bounded((r.X+r.W-c.OffsetX)*c.Scale), bounded((r.Y+r.H-c.OffsetY)*c.Scale)
	part := image.Rectangle{
		Min: image.Pt(int(math.Floor(x)), int(math.Floor(y))),
		Max: image.Pt(int(math.Ceil(x2)), int(math.Ceil(y2))),
	}
	return part.Intersect(c.Image.Rect.Sub(c.Image.Rect.Min))
}

// secureRegions are the places of secure elements in pixels of the capture.
func secureRegions(l *look, c *Capture) []picture.Region {
	var out []picture.Region
	origin := toplevelOrigin(&l.window)
	for i := range l.nodes {
		n := &l.nodes[i]
		if !n.Secure || n.Bounds.W <= 0 || n.Bounds.H <= 0 {
			continue
		}
		x, y := n.Bounds.X-c.OffsetX, n.Bounds.Y-c.OffsetY
		if s := l.surfaceIndex(i); s < len(l.window.Surfaces) {
			x += l.window.Surfaces[s].Bounds.X - origin.X
			y += l.window.Surfaces[s].Bounds.Y - origin.Y
		}
		x, y = bounded(x*c.Scale), bounded(y*c.Scale)
		out = append(out, picture.Region{X: x, Y: y, W: bounded(n.Bounds.W * c.Scale), H: bounded(n.Bounds.H * c.Scale)})
	}
	return out
}

// bounded keeps a coordinate that an app made up within what an integer can hold.
func bounded(v float64) float64 {
	const far = 1 << 24
	if math.IsNaN(v) {
		return 0
	}
	return math.Max(-far, math.Min(far, v))
}

func toplevelOrigin(w *Window) Rect {
	for _, s := range w.Surfaces {
		if s.Kind == commonv1.SurfaceKind_SURFACE_KIND_TOPLEVEL {
			return s.Bounds
		}
	}
	return w.Bounds
}
