package x11

import (
	"context"
	"errors"
	"fmt"
	"image"
	"image/draw"
	"sync"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/composite"
	"github.com/jezek/xgb/damage"
	"github.com/jezek/xgb/shm"
	"github.com/jezek/xgb/xfixes"
	"github.com/jezek/xgb/xproto"
)

// captureTries is how often a picture is taken because the window changed meanwhile.
const captureTries = 3

// Picture is the content of one window.
type Picture struct {
	// Image is opaque and starts at 0,0; one pixel of it is one root pixel.
	Image *image.RGBA
	// Bounds is the part of the root plane shown: the window without its border,
	// also where it is covered or beyond the screen's edge.
	Bounds image.Rectangle
	// Depth is the colour depth of the pixels in bits.
	Depth int
}

// Capturer takes pictures of windows from their off-screen pixels. It has an X
// connection of its own, asks the server to keep those pixels (Composite, automatic
// redirection: the screen is painted as before), and stops when it is closed. After
// an ErrTimeout it is closed; make a new one.
type Capturer struct {
	conn    *Conn
	visuals map[xproto.Visualid]xproto.VisualInfo
	turn    chan struct{} // holds one token; who has it works with the fields below
	work    sync.Mutex    // held while a step uses segment; a step may outlive its Call
	segment segment
	noShm   bool
	pixmap  xproto.Pixmap // ids are used again and again: a connection has 2 million
	damage  damage.Damage
	scratch xfixes.Region

	mu     sync.Mutex // guards frames; taken by the reader of conn
	frames map[xproto.Window]*frame
	clock  uint64 // of uses, for frames
}

// NewCapturer connects to a display; arguments are as for Dial.
func NewCapturer(display, xauthority string) (*Capturer, error) {
	k := &Capturer{turn: make(chan struct{}, 1), frames: map[xproto.Window]*frame{}}
	// The reader may call note as soon as the connection is up; it uses only frames,
	// which is empty until the first capture.
	conn, err := DialWith(Options{Display: display, Xauthority: xauthority, OnEvent: k.note})
	if err != nil {
		return nil, err
	}
	k.conn = conn
	k.turn <- struct{}{}
	if err := k.prepare(); err != nil {
		k.Close()
		return nil, err
	}
	return k, nil
}

func (k *Capturer) prepare() error {
	c := k.conn
	for _, name := range []string{extComposite, extDamage, extXFixes} {
		if _, ok := c.Extension(name); !ok {
			return fmt.Errorf("%s: %w", name, ErrUnsupported)
		}
	}
	if c.setup.ImageByteOrder != xproto.ImageOrderLSBFirst {
		return fmt.Errorf("picture byte order: %w", ErrUnsupported)
	}
	_, hasShm := c.Extension(extShm)
	k.noShm = !hasShm
	k.visuals = map[xproto.Visualid]xproto.VisualInfo{}
	for _, d := range c.setup.Roots[0].AllowedDepths {
		for _, v := range d.Visuals {
			k.visuals[v.VisualId] = v
		}
	}
	var err [3]error
	k.pixmap, err[0] = xproto.NewPixmapId(c.x)
	k.damage, err[1] = damage.NewDamageId(c.x)
	k.scratch, err[2] = xfixes.NewRegionId(c.x)
	return errors.Join(err[:]...)
}

// Done is closed when the capturer's connection has ended.
func (k *Capturer) Done() <-chan struct{} { return k.conn.Done() }

// Close ends the connection, upon which the server stops keeping off-screen pixels,
// and waits for the capture in progress, which then ends at once.
func (k *Capturer) Close() {
	k.conn.Close()
	<-k.turn
	defer func() { k.turn <- struct{}{} }()
	k.work.Lock()
	defer k.work.Unlock()
	// The mapping is gone either way and Close has nobody to tell.
	_ = k.segment.drop(nil)
}

// Capture takes the picture of a window, which may be covered. It changes nothing
// the user can see. Errors: ErrHidden (not mapped), ErrGone, ErrLimit (larger than
// PixelsMax), ErrUnsupported (colours), ErrUnsettled (changing all the time, or it
// does not repaint what was covered, so the pixels might be another window's).
// Concurrent calls take turns.
func (k *Capturer) Capture(ctx context.Context, w xproto.Window) (*Picture, error) {
	select {
	case <-k.turn:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-k.conn.Done():
		return nil, ErrClosed
	}
	defer func() { k.turn <- struct{}{} }()
	p, err := k.capture(ctx, w)
	if errors.Is(err, ErrTimeout) {
		// The answer may come later and must not meet the next capture's requests.
		_ = k.conn.stream.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("capture window: %w", err)
	}
	return p, nil
}

func (k *Capturer) capture(ctx context.Context, w xproto.Window) (*Picture, error) {
	for range captureTries {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		before, err := k.call(ctx, func(x *xgb.Conn) (place, error) { return k.locate(x, w) })
		if err != nil {
			return nil, err
		}
		if err := k.settle(ctx, before.frame); err != nil {
			return nil, err
		}
		shot, err := callFor(ctx, k, func(x *xgb.Conn) (*Picture, error) { return k.read(x, before) })
		if err != nil {
			return nil, err
		}
		// Read again: geometry before and after must agree, or the picture is of no
		// one moment (C2.1).
		after, err := k.call(ctx, func(x *xgb.Conn) (place, error) { return k.locate(x, w) })
		if err != nil {
			return nil, err
		}
		if shot != nil && before == after && k.fresh(before.frame) {
			return shot, nil
		}
	}
	return nil, ErrUnsettled
}

// callFor is Call without the caller's cancellation: a capture's requests share ids
// and memory, so each step must have ended before the next begins.
func callFor[T any](ctx context.Context, k *Capturer, fn func(x *xgb.Conn) (T, error)) (T, error) {
	return Call(context.WithoutCancel(ctx), k.conn, func(x *xgb.Conn) (T, error) {
		k.work.Lock()
		defer k.work.Unlock()
		return fn(x)
	})
}

func (k *Capturer) call(ctx context.Context, fn func(x *xgb.Conn) (place, error)) (place, error) {
	return callFor(ctx, k, fn)
}

// place is where a window is, in the root and inside its frame's pixels.
type place struct {
	frame  xproto.Window
	visual xproto.Visualid // of the frame, whose pixels are read
	bounds image.Rectangle // in the root
	inner  image.Rectangle // in the frame's pixmap, which begins with its border
	border image.Point     // the frame's border
}

// locate finds the child of the root that holds w, and where.
func (k *Capturer) locate(x *xgb.Conn, w xproto.Window) (place, error) {
	top := w
	for depth := 0; ; depth++ {
		t, err := xproto.QueryTree(x, top).Reply()
		if err != nil {
			return place{}, err
		}
		if t.Parent == k.conn.Root {
			break
		}
		if t.Parent == 0 || depth == hitDepthMax {
			return place{}, ErrGone
		}
		top = t.Parent
	}
	attr := xproto.GetWindowAttributes(x, w)
	frameAttr := xproto.GetWindowAttributes(x, top)
	size := xproto.GetGeometry(x, xproto.Drawable(w))
	frameSize := xproto.GetGeometry(x, xproto.Drawable(top))
	root := xproto.TranslateCoordinates(x, w, k.conn.Root, 0, 0)
	inFrame := xproto.TranslateCoordinates(x, w, top, 0, 0)
	var errs [6]error
	a, e := attr.Reply()
	errs[0] = e
	fa, e := frameAttr.Reply()
	errs[1] = e
	g, e := size.Reply()
	errs[2] = e
	fg, e := frameSize.Reply()
	errs[3] = e
	at, e := root.Reply()
	errs[4] = e
	off, e := inFrame.Reply()
	errs[5] = e
	for _, err := range errs {
		if err != nil {
			return place{}, err
		}
	}
	if a.Class == xproto.WindowClassInputOnly || a.MapState != xproto.MapStateViewable {
		return place{}, ErrHidden
	}
	extent := image.Rect(0, 0, int(g.Width), int(g.Height))
	border := int(fg.BorderWidth)
	p := place{frame: top, visual: fa.Visual, border: image.Pt(border, border)}
	shift := image.Pt(int(off.DstX)+border, int(off.DstY)+border)
	pixmap := image.Rect(0, 0, int(fg.Width)+2*border, int(fg.Height)+2*border)
	p.inner = extent.Add(shift).Intersect(pixmap)
	if p.inner.Empty() {
		return place{}, ErrHidden // shaded: the frame is rolled up over the window
	}
	if p.inner.Dx()*p.inner.Dy() > PixelsMax {
		return place{}, ErrLimit
	}
	p.bounds = p.inner.Sub(shift).Add(image.Pt(int(at.DstX), int(at.DstY)))
	return p, nil
}

// read takes the pixels; nil without error means that the window changed its size.
func (k *Capturer) read(x *xgb.Conn, p place) (*Picture, error) {
	named := composite.NameWindowPixmapChecked(x, p.frame, k.pixmap)
	geometry := xproto.GetGeometry(x, xproto.Drawable(k.pixmap))
	g, geometryErr := geometry.Reply()
	if err := named.Check(); err != nil {
		if _, ok := err.(xproto.MatchError); ok {
			return nil, ErrHidden
		}
		return nil, err
	}
	defer xproto.FreePixmap(x, k.pixmap)
	if geometryErr != nil {
		return nil, geometryErr
	}
	if !p.inner.In(image.Rect(0, 0, int(g.Width), int(g.Height))) {
		return nil, nil
	}
	outline, err := k.shape(x, p.frame)
	if err != nil {
		return nil, err
	}
	l, err := k.layout(p, g.Depth)
	if err != nil {
		return nil, err
	}
	data, err := k.fetch(x, p.inner, l)
	if err != nil {
		return nil, err
	}
	m, err := toRGBA(data, p.inner.Size(), l)
	if err != nil {
		return nil, err
	}
	m = masked(m, outline, p)
	if len(k.segment.mem) > segmentKeep {
		err = k.segment.drop(x)
	}
	return &Picture{Image: m, Bounds: p.bounds, Depth: int(g.Depth)}, err
}

// masked keeps the pixels inside a frame's shape. Outside it a window has none; what
// is in memory there is whatever was on the screen once.
func masked(m *image.RGBA, outline region, p place) *image.RGBA {
	shift := p.border.Sub(p.inner.Min)
	if len(outline) == 1 && m.Rect.In(outline[0].Add(shift)) {
		return m
	}
	out := image.NewRGBA(m.Rect)
	draw.Draw(out, out.Rect, image.Black, image.Point{}, draw.Src)
	for _, r := range outline {
		r = r.Add(shift).Intersect(m.Rect)
		draw.Draw(out, r, m, r.Min, draw.Src)
	}
	return out
}

func (k *Capturer) layout(p place, depth byte) (layout, error) {
	v, ok := k.visuals[p.visual]
	if !ok || (v.Class != xproto.VisualClassTrueColor && v.Class != xproto.VisualClassDirectColor) {
		return layout{}, fmt.Errorf("colours of the window: %w", ErrUnsupported)
	}
	for _, f := range k.conn.setup.PixmapFormats {
		if f.Depth != depth || f.ScanlinePad < 8 {
			continue
		}
		pad := int(f.ScanlinePad)
		row := (p.inner.Dx()*int(f.BitsPerPixel) + pad - 1) / pad * pad / 8
		l := layout{bitsPerPixel: int(f.BitsPerPixel), stride: row}
		l.red, l.green, l.blue = v.RedMask, v.GreenMask, v.BlueMask
		return l, nil
	}
	return layout{}, fmt.Errorf("pixel format of the window: %w", ErrUnsupported)
}

// fetch reads a rectangle of the pixmap through shared memory, else the socket. With
// shared memory the bytes are valid until the next fetch.
func (k *Capturer) fetch(x *xgb.Conn, r image.Rectangle, l layout) ([]byte, error) {
	const allPlanes = 1<<32 - 1
	need := l.stride * r.Dy()
	at, size := r.Min, r.Size()
	if !k.noShm {
		if err := k.segment.grow(x, need); err != nil {
			// No shared memory with this server (a container, a limit): once is enough.
			k.noShm = true
		}
	}
	if k.noShm {
		img, err := xproto.GetImage(x, xproto.ImageFormatZPixmap, xproto.Drawable(k.pixmap), int16(at.X), int16(at.Y),
			uint16(size.X), uint16(size.Y), allPlanes).Reply()
		if err != nil {
			return nil, err
		}
		return img.Data, nil
	}
	r2, err := shm.GetImage(x, xproto.Drawable(k.pixmap), int16(at.X), int16(at.Y), uint16(size.X), uint16(size.Y),
		allPlanes, xproto.ImageFormatZPixmap, k.segment.id, 0).Reply()
	if err != nil {
		return nil, err
	}
	if int(r2.Size) < need {
		return nil, errStream
	}
	return k.segment.mem[:need], nil
}
