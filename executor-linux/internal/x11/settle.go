package x11

import (
	"context"
	"image"
	"time"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/composite"
	"github.com/jezek/xgb/damage"
	"github.com/jezek/xgb/shape"
	"github.com/jezek/xgb/xfixes"
	"github.com/jezek/xgb/xproto"
)

const (
	// framesMax bounds the windows whose pixels the server keeps for us; the one not
	// used for the longest time is let go.
	framesMax = 64
	// repaintMax is how long an application may take to paint what was covered.
	repaintMax = time.Second
	// paintStart is how long we wait for an application to begin painting. Some never
	// do, where the server's background is all there is.
	paintStart = 250 * time.Millisecond
	// paintQuiet is how long a painted window must be still: three display frames.
	paintQuiet = 50 * time.Millisecond
	// paintBusy is how long we wait for stillness; an animation has none.
	paintBusy = 300 * time.Millisecond
)

// frame is a child of the root whose pixels the server keeps off the screen.
//
// When redirection begins, the server copies what is on the screen: where the window
// was covered these are another window's pixels. It then tells the application to
// paint there. So right after the beginning a picture would lie, and could show a
// window that the caller may not see. unproven is the part not painted since; a
// picture is given only when it is empty. Mapping and resizing make new pixels in
// the same way, so they make the frame stale: redirection ends and begins again,
// which is invisible, and asks the application for exactly the covered part.
type frame struct {
	redirected    bool
	stale         bool
	width, height uint16
	used          uint64
	proof         *proof // while proving
}

// proof follows the painting of one frame since its redirection began.
type proof struct {
	unproven region
	// covered: something had to be painted when redirection began.
	covered bool
	// sequences are the requests of ours after which painting was seen. What came
	// while redirection began is the server's background, later is the application.
	sequences map[uint16]struct{}
	begin     uint16
	changed   chan struct{} // capacity one: something was painted
}

// painted reports whether the application painted, not only the server.
func (p *proof) painted() bool {
	for s := range p.sequences {
		if int16(s-p.begin) > 0 { // sequence numbers wrap
			return true
		}
	}
	return false
}

// note follows the frames' events. It runs in the reader: server order, no waiting.
func (k *Capturer) note(buf []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.frames) == 0 {
		return
	}
	w := xproto.Window(le.Uint32(buf[8:]))
	switch code := buf[0]; code {
	case xproto.DestroyNotify:
		delete(k.frames, w)
	case xproto.MapNotify, xproto.UnmapNotify:
		if f := k.frames[w]; f != nil {
			f.stale = true
		}
	case xproto.ConfigureNotify:
		width, height := le.Uint16(buf[20:]), le.Uint16(buf[22:])
		if f := k.frames[w]; f != nil && (f.width != width || f.height != height) {
			f.width, f.height, f.stale = width, height, true
		}
	default:
		if ext, ok := k.conn.Extension(extDamage); ok && code == ext.FirstEvent {
			k.damaged(buf)
		}
	}
}

// damaged takes one DamageNotify: a rectangle of the frame was painted.
func (k *Capturer) damaged(buf []byte) {
	f := k.frames[xproto.Window(le.Uint32(buf[4:]))]
	if f == nil || f.proof == nil {
		return
	}
	at := image.Pt(int(int16(le.Uint16(buf[16:]))), int(int16(le.Uint16(buf[18:]))))
	size := image.Pt(int(le.Uint16(buf[20:])), int(le.Uint16(buf[22:])))
	f.proof.unproven = f.proof.unproven.without(image.Rectangle{Min: at, Max: at.Add(size)})
	f.proof.sequences[le.Uint16(buf[2:])] = struct{}{}
	select {
	case f.proof.changed <- struct{}{}:
	default:
	}
}

// fresh reports whether the frame's pixels are still the ones that were proven.
func (k *Capturer) fresh(w xproto.Window) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	f := k.frames[w]
	return f != nil && f.redirected && !f.stale
}

// settle makes the frame's pixels its own: redirected and painted.
func (k *Capturer) settle(ctx context.Context, w xproto.Window) error {
	k.mu.Lock()
	f := k.frames[w]
	if f == nil {
		f = &frame{}
		k.frames[w] = f
	}
	k.clock++
	f.used = k.clock
	ready := f.redirected && !f.stale
	k.mu.Unlock()
	if ready {
		return nil
	}
	if err := k.dropOldest(ctx); err != nil {
		return err
	}
	p, err := callFor(ctx, k, func(x *xgb.Conn) (*proof, error) { return k.redirect(x, w, f) })
	if err == nil {
		err = k.awaitPainting(ctx, p)
	}
	k.mu.Lock()
	f.proof = nil
	f.stale = f.stale || err != nil
	k.mu.Unlock()
	_, stopErr := callFor(ctx, k, func(x *xgb.Conn) (struct{}, error) {
		// The server may have destroyed it with the window, which is no failure.
		_, lost := deadOrLost(damage.DestroyChecked(x, k.damage).Check())
		return struct{}{}, lost
	})
	if err == nil {
		err = stopErr
	}
	return err
}

// redirect begins (or begins anew) the redirection of a frame in one burst, with the
// part that is visible before it, and watches painting from before it.
func (k *Capturer) redirect(x *xgb.Conn, w xproto.Window, f *frame) (*proof, error) {
	g, err := xproto.GetGeometry(x, xproto.Drawable(w)).Reply()
	if err != nil {
		return nil, err
	}
	outline, err := k.shape(x, w)
	if err != nil {
		return nil, err
	}
	// Until the visible part is known everything is unproven; painting that is seen
	// before then counts already.
	extent := image.Rect(0, 0, int(g.Width), int(g.Height))
	p := &proof{unproven: outline.inside(extent), sequences: map[uint16]struct{}{}, changed: make(chan struct{}, 1)}
	hidden := p.unproven
	k.mu.Lock()
	again := f.redirected
	f.stale, f.width, f.height, f.proof = false, g.Width, g.Height, p
	k.mu.Unlock()
	if again {
		composite.UnredirectWindow(x, w, composite.RedirectAutomatic)
	}
	created := damage.CreateChecked(x, k.damage, xproto.Drawable(w), damage.ReportLevelRawRectangles)
	clip := composite.CreateRegionFromBorderClipChecked(x, k.scratch, w)
	begun := composite.RedirectWindowChecked(x, w, composite.RedirectAutomatic)
	fetched := xfixes.FetchRegion(x, k.scratch)
	xfixes.DestroyRegion(x, k.scratch)
	visible, fetchErr := fetched.Reply()
	for _, err := range []error{created.Check(), clip.Check(), begun.Check(), fetchErr} {
		if err != nil {
			return nil, err
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	f.redirected = true
	p.begin = begun.Sequence
	for _, r := range visible.Rectangles {
		hidden = hidden.without(rectangle(r))
		p.unproven = p.unproven.without(rectangle(r))
	}
	p.covered = len(hidden) > 0
	return p, nil
}

// shape is the bounding shape of a window, relative to its origin.
func (k *Capturer) shape(x *xgb.Conn, w xproto.Window) (region, error) {
	made := xfixes.CreateRegionFromWindowChecked(x, k.scratch, w, shape.SkBounding)
	fetched := xfixes.FetchRegion(x, k.scratch)
	xfixes.DestroyRegion(x, k.scratch)
	r, err := fetched.Reply()
	if madeErr := made.Check(); madeErr != nil {
		return nil, madeErr
	}
	if err != nil {
		return nil, err
	}
	out := make(region, len(r.Rectangles))
	for i, rect := range r.Rectangles {
		out[i] = rectangle(rect)
	}
	return out, nil
}

func rectangle(r xproto.Rectangle) image.Rectangle {
	at := image.Pt(int(r.X), int(r.Y))
	return image.Rectangle{Min: at, Max: at.Add(image.Pt(int(r.Width), int(r.Height)))}
}

// awaitPainting waits until nothing is unproven and the application has painted and
// is still. Where nothing was covered there is nothing to wait for.
func (k *Capturer) awaitPainting(ctx context.Context, p *proof) error {
	deadline := time.Now().Add(repaintMax)
	proven, painted := false, false
	for {
		k.mu.Lock()
		nowProven, nowPainted := len(p.unproven) == 0, p.painted()
		k.mu.Unlock()
		if nowProven && !p.covered {
			return nil
		}
		if nowProven && !proven {
			deadline = time.Now().Add(paintStart)
		}
		if nowProven && nowPainted && !(proven && painted) {
			deadline = time.Now().Add(paintBusy)
		}
		proven, painted = nowProven, nowPainted
		wait := time.Until(deadline)
		if proven && painted {
			wait = min(wait, paintQuiet)
		}
		timer := time.NewTimer(wait)
		select {
		case <-p.changed:
			timer.Stop()
		case <-timer.C:
			if !proven {
				return ErrUnsettled
			}
			return nil
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		case <-k.conn.Done():
			timer.Stop()
			return ErrClosed
		}
	}
}

// dropOldest lets go of one frame when there are too many.
func (k *Capturer) dropOldest(ctx context.Context) error {
	k.mu.Lock()
	var oldest xproto.Window
	if len(k.frames) > framesMax {
		for w, f := range k.frames {
			if oldest == 0 || f.used < k.frames[oldest].used {
				oldest = w
			}
		}
		delete(k.frames, oldest)
	}
	k.mu.Unlock()
	if oldest == 0 {
		return nil
	}
	_, err := callFor(ctx, k, func(x *xgb.Conn) (struct{}, error) {
		_, lost := deadOrLost(composite.UnredirectWindowChecked(x, oldest, composite.RedirectAutomatic).Check())
		return struct{}{}, lost
	})
	return err
}
