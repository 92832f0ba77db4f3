package executor

import (
	"context"
	"errors"
	"time"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
)

// wish is what one look at a window should have.
type wish struct {
	window ident.Window
	limits TreeLimits
	// text is how much of each text to read; longer ones are only read to check what was typed.
	text int
	// wide says that titles of the app's other windows may be shown (C10.4).
	wide bool
	// picture is nil when none is wanted.
	picture *pictureWish
	// asked says that somebody asks to look, now: a picture over the hard cap refuses that
	// (C2.9). After an act it is a detail.
	asked bool
	// peek says that it is only looked at: nothing is kept and nothing superseded.
	peek bool
	// base is the look that the tree may be told as a change of, nil for none (C2.4).
	base   *look
	baseID ident.SnapshotID
}

// seen is one look at a window, registered and ready to travel.
type seen struct {
	look *look
	wire *executorv1.Snapshot
}

// Snapshot reads one window under a read permit (C2.1). A read spends nothing.
func (l *hostLink) Snapshot(
	ctx context.Context, req *executorv1.SnapshotRequest,
) (*executorv1.SnapshotResponse, error) {
	fence, err := l.e.gate(req.GetFence())
	if err != nil {
		return nil, err
	}
	defer l.e.calls.Done()
	out := &executorv1.SnapshotResponse{Fence: fence}
	snap, err := l.e.snapshot(ctx, req)
	if err != nil {
		out.Code, out.Detail = l.e.told(err, commonv1.Stage_STAGE_WALK)
		return out, nil
	}
	if !req.GetPeek() {
		l.e.reopen(snap.look.window.Identity.App)
	}
	out.Snapshot = snap.wire
	return out, nil
}

func (e *Executor) snapshot(ctx context.Context, req *executorv1.SnapshotRequest) (*seen, error) {
	s, a := e.session(req.GetSessionId())
	if a != 0 {
		return nil, Fail(a)
	}
	w := toWindow(req.GetWindow())
	_, sc, a := e.mayRead(req.GetPermit(), s, commonv1.LeaseClass_LEASE_CLASS_METADATA_READ, w)
	if a != 0 {
		return nil, Fail(a)
	}
	ask := wish{window: w, limits: toLimits(req.GetLimits()), text: textMax, wide: sc.wide(), peek: req.GetPeek()}
	ask.asked = true
	if p := req.GetPicture(); p != nil {
		ask.picture, a = e.mayPicture(p, s, w)
		if a != 0 {
			return nil, Fail(a)
		}
	}
	if err := e.unlocked(ctx); err != nil {
		return nil, err
	}
	windows, err := e.cfg.Platform.Windows(ctx)
	if err != nil {
		return nil, err
	}
	return e.see(ctx, s, windows, ask)
}

// see looks at one window and registers what it saw.
func (e *Executor) see(ctx context.Context, s *session, windows []Window, ask wish) (*seen, error) {
	w, a := find(windows, ask.window)
	if a != 0 {
		return nil, Fail(a)
	}
	displays, err := e.cfg.Platform.Displays(ctx)
	if err != nil {
		return nil, err
	}
	l, err := e.read(ctx, w, ask)
	if err != nil {
		return nil, err
	}
	var pic taken
	if ask.picture != nil {
		pic, err = e.photograph(ctx, l, ask)
		if err != nil {
			return nil, err
		}
		if pic.look != l {
			l = pic.look
			if windows, err = e.cfg.Platform.Windows(ctx); err != nil {
				return nil, err
			}
		}
	}
	if pic, err = fitting(l, pic, ask.limits.Text); err != nil {
		return nil, err
	}
	if ask.asked && pic.absence == commonv1.PictureAbsence_PICTURE_ABSENCE_TOO_LARGE {
		return nil, Fail(refusal.AnswerResponseTooLarge)
	}
	e.watch.saw(l.window.Identity)
	l.wide, l.shown = ask.wide, ask.limits.Text
	l.pictured, l.scale, l.tiles = pic.picture != nil, pic.scale, pic.tiles
	id := ident.SnapshotID(ident.New("s"))
	related, a := e.register(s, id, l, windows, ask.peek)
	if a != 0 {
		return nil, Fail(a)
	}
	wire := e.wire(id, l, displays, related, pic)
	if ask.base != nil {
		l.asChange(wire, ask.base, ask.baseID, s.key)
	}
	return &seen{look: l, wire: wire}, nil
}

// fitting keeps an answer within what a message may carry: first without its picture,
// then not at all. Nothing is left out silently (C2.9).
func fitting(l *look, pic taken, text int) (taken, error) {
	tree := l.weight(text)
	if tree > answerMax {
		return pic, Fail(refusal.AnswerResponseTooLarge)
	}
	if tree+len(pic.picture.GetData()) > answerMax {
		return taken{look: pic.look, absence: commonv1.PictureAbsence_PICTURE_ABSENCE_TOO_LARGE}, nil
	}
	return pic, nil
}

// read walks the tree of a window.
func (e *Executor) read(ctx context.Context, w *Window, ask wish) (*look, error) {
	limits := ask.limits
	limits.Text = ask.text
	ctx, stop := context.WithTimeout(ctx, walkMax)
	defer stop()
	t, err := e.cfg.Platform.ReadTree(ctx, w.Identity, limits)
	if err != nil {
		return nil, err
	}
	return e.record(w, t, limits), nil
}

// register keeps a look under its id, and says what other toplevels the app has and
// which of them opened since the session last looked at this window. A peek leaves both
// as they were.
func (e *Executor) register(
	s *session, id ident.SnapshotID, l *look, windows []Window, peek bool,
) ([]*commonv1.RelatedWindow, refusal.Answer) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.state.halted:
		return nil, refusal.AnswerHalted
	case s.ended:
		return nil, refusal.AnswerSessionUnknown
	}
	list, now := s.related(l, windows)
	if peek {
		return list, 0
	}
	s.looks.Add(id, l.window.Identity, e.cfg.Clock(), l)
	if _, seenBefore := s.known[l.window.Identity]; len(s.known) >= knownMax && !seenBefore {
		clear(s.known)
	}
	s.known[l.window.Identity] = now
	return list, 0
}

// related lists the other toplevels of the app: never merged, only listed (C2.1).
func (s *session) related(l *look, windows []Window) (out []*commonv1.RelatedWindow, now []ident.Window) {
	own := l.window.Identity
	before, seenBefore := s.known[own]
	for i := range windows {
		w := &windows[i]
		if w.Identity == own || w.Identity.App != own.App {
			continue
		}
		now = append(now, w.Identity)
		if len(out) == relatedMax {
			continue
		}
		r := &commonv1.RelatedWindow{
			Window: fromWindow(w.Identity), Kind: commonv1.RelatedKind_RELATED_KIND_WINDOW,
			Modal: blocks(windows, w, &l.window), OpenedSince: seenBefore && !containsWindow(before, w.Identity),
		}
		if w.Dialog && (w.Owner == own.ID || w.Owner == 0) {
			r.Kind = commonv1.RelatedKind_RELATED_KIND_DIALOG
		}
		if l.wide {
			r.Title = clean(w.Title, nameMax)
		}
		out = append(out, r)
	}
	return out, now
}

func containsWindow(list []ident.Window, w ident.Window) bool {
	for _, o := range list {
		if o == w {
			return true
		}
	}
	return false
}

// wire is the snapshot as it travels.
func (e *Executor) wire(
	id ident.SnapshotID, l *look, displays []Display, related []*commonv1.RelatedWindow, pic taken,
) *executorv1.Snapshot {
	w := &l.window
	tokens, objects := e.packed(l)
	return &executorv1.Snapshot{
		SnapshotId: string(id), CapturedUnixMs: uint64(time.Now().UnixMilli()),
		Window: fromWindow(w.Identity), Title: clean(w.Title, nameMax),
		Bounds: fromRect(w.Bounds), Stacking: uint32(max(0, w.Stacking)),
		Surfaces: fromSurfaces(w.Surfaces), Related: related, Page: fromPage(w.Page),
		Displays: fromDisplays(displays, w), ContentDigest: l.content[:],
		Elements: fromNodes(l), Tokens: tokens, Digests: l.digests, Objects: objects,
		Truncations: fromTruncations(l.truncations), TreeQuality: l.quality, Hidden: w.Hidden,
		Picture: pic.picture, PictureAbsence: pic.absence, Redaction: pic.redaction,
		Destination: clean(w.Destination, nameMax),
	}
}

// packed is the tokens and object hashes of a look, in two fixed-width fields.
func (e *Executor) packed(l *look) (tokens, objects []byte) {
	tokens = make([]byte, 0, len(l.nodes)*tokenSize)
	objects = make([]byte, 0, len(l.nodes)*objectSize)
	for i := range l.nodes {
		t := l.token(i)
		tokens = append(tokens, t[:]...)
		o := uint64(e.keys.Object(string(l.nodes[i].Object), l.nodes[i].Renderer))
		for shift := 56; shift >= 0; shift -= 8 {
			objects = append(objects, byte(o>>shift))
		}
	}
	return tokens, objects
}

// unlocked refuses every call that reads or changes a locked desk (C12.3).
func (e *Executor) unlocked(ctx context.Context) error {
	_, err := e.deskNow(ctx)
	return err
}

// deskNow samples the desk, which must not be locked.
func (e *Executor) deskNow(ctx context.Context) (DeskState, error) {
	desk, err := e.cfg.Platform.Desk(ctx)
	if err == nil && desk.Locked {
		err = Fail(refusal.AnswerScreenLocked)
	}
	return desk, err
}

// told is told, and keeps an eye on the lock when that is what it is about.
func (e *Executor) told(err error, stage commonv1.Stage) (refusal.Answer, *commonv1.RefusalDetail) {
	a, detail := told(err, stage)
	if a == refusal.AnswerScreenLocked {
		e.watch.sawLock()
	}
	return a, detail
}

// reopen lets acts on an app go on: it answered, and it has been observed (C7.7).
func (e *Executor) reopen(app string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.state.closed, app)
}

// told is the answer to tell for an error of the platform, with the stage that ran
// out of time. An error that is no answer is the worst case of a read.
func told(err error, stage commonv1.Stage) (refusal.Answer, *commonv1.RefusalDetail) {
	var f *Failure
	switch {
	case errors.As(err, &f):
	case errors.Is(err, context.DeadlineExceeded):
		f = &Failure{Answer: refusal.AnswerTimeout}
	case errors.Is(err, context.Canceled):
		f = &Failure{Answer: refusal.AnswerAborted}
	default:
		f = &Failure{Answer: refusal.AnswerCaptureFailed}
	}
	if f.Answer != refusal.AnswerTimeout {
		if f.Candidates == 0 && f.Ability == 0 {
			return f.Answer, nil
		}
		return f.Answer, &commonv1.RefusalDetail{Candidates: uint32(max(0, f.Candidates)), Ability: f.Ability}
	}
	if f.Stage != commonv1.Stage_STAGE_UNSPECIFIED {
		stage = f.Stage
	}
	return f.Answer, &commonv1.RefusalDetail{Stage: stage}
}
