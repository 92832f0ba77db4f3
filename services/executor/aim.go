package executor

import (
	"context"
	"math"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor/internal/picture"
	"fairlead.dev/services/executor/internal/readback"
	"fairlead.dev/services/shared/permit"
	"fairlead.dev/services/shared/refusal"
)

// pathPoints is how many points a drag may have.
const pathPoints = 64

// aim binds the points of a point act: each lies inside a surface of the quoted snapshot,
// which carries a picture, and on an element it recorded there if it recorded one (C6.1).
// Nothing is asked of the desktop yet.
func (d *dispatch) aim() refusal.Answer {
	if permit.RuleOf(d.verb).GetBinding() != commonv1.Binding_BINDING_POINT {
		return 0
	}
	points := d.req.GetPoints()
	least, most := 1, 1
	if d.verb == commonv1.Verb_VERB_DRAG {
		least, most = 2, pathPoints
	}
	if len(points) < least || len(points) > most || !d.look.pictured {
		return refusal.AnswerInvalidPoint
	}
	for _, p := range points {
		at := SurfacePoint{Surface: p.GetSurfaceId(), X: p.GetPoint().GetX(), Y: p.GetPoint().GetY()}
		s, ok := surfaceByID(d.look.window.Surfaces, at.Surface)
		switch {
		case !ok:
			return refusal.AnswerSurfaceNotInFrame
		case p.GetPoint() == nil || !contains(Rect{W: s.Bounds.W, H: s.Bounds.H}, at.X, at.Y):
			return refusal.AnswerInvalidPoint
		}
		hit := d.look.hit(at)
		if hit >= 0 && d.look.nodes[hit].Secure {
			return refusal.AnswerElementSecure
		}
		d.plan.input.Points = append(d.plan.input.Points, at)
		d.hits = append(d.hits, hit)
	}
	d.wants()
	return 0
}

// wants says what of the element at the first point shows that the act came out well: a
// drag that begins on a range changes its value, a left press on text focuses it.
func (d *dispatch) wants() {
	if d.hits[0] < 0 {
		return
	}
	n := &d.look.nodes[d.hits[0]]
	switch {
	case d.verb == commonv1.Verb_VERB_DRAG && (n.Range != nil || n.TakesNumber):
		d.plan.claim.Wish, d.object = readback.Slide, n.Object
	case d.verb == commonv1.Verb_VERB_CLICK_POINT && n.TakesText && d.plan.input.Button == commonv1.Button_BUTTON_LEFT:
		d.plan.claim.Wish, d.object = readback.Focus, n.Object
	}
}

// hit is the element that the snapshot recorded at a point: the last one in document
// order that is shown there, for later ones lie over earlier ones, and options that are
// open over everything. It is -1 where there is none, or no tree to tell. A desktop that
// draws otherwise answers another element at the send, and nothing is sent.
func (l *look) hit(p SurfacePoint) int {
	if l.quality != commonv1.TreeQuality_TREE_QUALITY_USABLE {
		return -1
	}
	found := -1
	for i := range l.nodes {
		over := found < 0 || l.nodes[found].Role != commonv1.Role_ROLE_OPTION ||
			l.nodes[i].Role == commonv1.Role_ROLE_OPTION
		if over && l.surfaceID(i) == p.Surface && l.showsAt(i, p) {
			found = i
		}
	}
	return found
}

// showsAt reports whether an element is shown at a point of its surface: it lies there, is
// in view, and no container that scrolls cuts it off.
func (l *look) showsAt(i int, p SurfacePoint) bool {
	if !contains(l.nodes[i].Bounds, p.X, p.Y) {
		return false
	}
	for j := i; j >= 0; j = l.parent(j) {
		n := &l.nodes[j]
		cut := j != i && scrolls(n.Role) && !contains(n.Bounds, p.X, p.Y)
		if cut || n.States.Has(commonv1.ElementState_ELEMENT_STATE_OFFSCREEN) {
			return false
		}
	}
	return true
}

// scrolls reports whether a container shows only a part of what is in it.
func scrolls(r commonv1.Role) bool {
	switch r {
	case commonv1.Role_ROLE_SCROLL_AREA, commonv1.Role_ROLE_LIST, commonv1.Role_ROLE_TABLE, commonv1.Role_ROLE_TREE,
		commonv1.Role_ROLE_WEB_AREA:
		return true
	default:
		return false
	}
}

// readyToPoint looks at what a pointer act needs just before its send.
func (d *dispatch) readyToPoint(ctx context.Context) refusal.Answer {
	if d.target.Hidden {
		return refusal.AnswerWindowHidden
	}
	if d.index >= 0 {
		return d.aimAtElement(ctx)
	}
	was := &d.look.window
	if d.target.Bounds != was.Bounds || d.target.Scale != was.Scale {
		return refusal.AnswerWindowChanged
	}
	for _, p := range d.plan.input.Points {
		before, _ := surfaceByID(was.Surfaces, p.Surface)
		if now, ok := surfaceByID(d.target.Surfaces, p.Surface); !ok || now.Bounds != before.Bounds {
			return refusal.AnswerWindowChanged
		}
	}
	return d.samePicture(ctx)
}

// samePicture compares what the picture showed around the points that no recorded element
// vouches for with what is there now. It is looked at before anything is pressed: a drag
// may change its own end.
func (d *dispatch) samePicture(ctx context.Context) refusal.Answer {
	last := len(d.hits) - 1
	if d.hits[0] >= 0 && d.hits[last] >= 0 {
		return 0
	}
	c, err := d.e.cfg.Platform.Capture(ctx, d.look.window.Identity)
	if err != nil || !usable(c) {
		a, _ := told(err, commonv1.Stage_STAGE_CAPTURE)
		return a
	}
	now := d.e.remember(d.look, c)
	for _, i := range [...]int{0, last} {
		if d.hits[i] >= 0 {
			continue
		}
		x, y := d.look.pixel(c, d.plan.input.Points[i])
		if c.Scale != d.look.scale || !d.look.tiles.Same(now, x, y) {
			return refusal.AnswerWindowChanged
		}
	}
	return 0
}

// usable reports whether a capture is one.
func usable(c *Capture) bool {
	return c != nil && c.Image != nil && c.Scale > 0 && !c.Image.Rect.Empty()
}

// remember paints over what is secure and keeps what is needed to tell later whether a
// picture still shows the same.
func (e *Executor) remember(l *look, c *Capture) picture.Tiles {
	picture.Paint(c.Image, secureRegions(l, c))
	return picture.TilesOf(e.seed, c.Image)
}

// pixel is where a point of a surface is in a capture.
func (l *look) pixel(c *Capture, p SurfacePoint) (x, y int) {
	s, _ := surfaceByID(l.window.Surfaces, p.Surface)
	origin := toplevelOrigin(&l.window)
	px := (p.X + s.Bounds.X - origin.X - c.OffsetX) * c.Scale
	py := (p.Y + s.Bounds.Y - origin.Y - c.OffsetY) * c.Scale
	return int(math.Floor(bounded(px))), int(math.Floor(bounded(py)))
}

// aimAtElement reads the bound element's place now and aims at its centre (C7.5).
func (d *dispatch) aimAtElement(ctx context.Context) refusal.Answer {
	now, err := d.e.cfg.Platform.Reread(ctx, d.target.Identity, d.object)
	if err != nil {
		a, _ := told(err, commonv1.Stage_STAGE_WALK)
		return a
	}
	if a := d.same(&now); a != 0 {
		return a
	}
	s, ok := surfaceByID(d.target.Surfaces, d.look.surfaceID(d.index))
	if !ok {
		return refusal.AnswerElementReleased
	}
	at := SurfacePoint{Surface: s.ID, X: now.Bounds.X + now.Bounds.W/2, Y: now.Bounds.Y + now.Bounds.H/2}
	if now.Bounds.W <= 0 || now.Bounds.H <= 0 || !contains(Rect{W: s.Bounds.W, H: s.Bounds.H}, at.X, at.Y) ||
		now.States.Has(commonv1.ElementState_ELEMENT_STATE_OFFSCREEN) {
		return refusal.AnswerElementNotActionable
	}
	d.plan.input.Points, d.sentTo = []SurfacePoint{at}, now
	return 0
}

// readyToManage looks at the menu element that a window act is bound to, if it is.
func (d *dispatch) readyToManage(ctx context.Context) refusal.Answer {
	if d.index < 0 {
		return 0
	}
	now, err := d.e.cfg.Platform.Reread(ctx, d.target.Identity, d.object)
	if err != nil {
		a, _ := told(err, commonv1.Stage_STAGE_WALK)
		return a
	}
	d.sentTo = now
	return d.same(&now)
}
