package executor

import (
	"context"

	"go.opentelemetry.io/otel/trace"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
	"fairlead.dev/services/executor/internal/digest"
	"fairlead.dev/services/executor/internal/refetch"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/permit"
	"fairlead.dev/services/shared/refusal"
	"fairlead.dev/services/shared/telemetry"
)

// dispatch is one act on one snapshot, from its arrival to what is told of it.
type dispatch struct {
	e        *Executor
	s        *session
	req      *executorv1.DispatchRequest
	verb     commonv1.Verb
	snapshot ident.SnapshotID
	running  *running

	// What it was found to be about.
	permit *held
	look   *look
	index  int
	plan   planned

	// The desktop just before the send.
	before  DeskState
	windows []Window
	target  *Window

	// What the check saw and decided.
	changed    []commonv1.ElementProperty
	candidates int
	committed  bool
	sentTo     Node
}

// Dispatch checks the permit and the target and sends the act in one step (C6, C10.9).
// A caller that goes away does not end it half way.
func (l *hostLink) Dispatch(
	ctx context.Context, req *executorv1.DispatchRequest,
) (*executorv1.DispatchResponse, error) {
	fence, err := l.e.gate(req.GetFence())
	if err != nil {
		return nil, err
	}
	defer l.e.calls.Done()
	out, err := l.e.dispatch(ctx, req)
	if err != nil {
		return nil, err
	}
	out.Fence = fence
	if span := trace.SpanFromContext(ctx); span.IsRecording() {
		span.SetAttributes(telemetry.SpanAttributes(out)...)
	}
	return out, nil
}

func (e *Executor) dispatch(
	caller context.Context, req *executorv1.DispatchRequest,
) (*executorv1.DispatchResponse, error) {
	s, a := e.session(req.GetSessionId())
	if a != 0 {
		return refused(a, nil), nil
	}
	send, whole, r, leave, err := e.enter(caller, s, req.GetDispatchId())
	if err != nil {
		return nil, err
	}
	defer leave()
	d := &dispatch{
		e: e, s: s, req: req, running: r,
		verb: permit.VerbOf(req.GetAct()), snapshot: ident.SnapshotID(req.GetSnapshotId()),
	}
	return d.run(send, whole), nil
}

// run tells the story of a dispatch: allowed, prepared, sent, observed.
func (d *dispatch) run(send, whole context.Context) *executorv1.DispatchResponse {
	if a := d.allowed(); a != 0 {
		return d.refuse(a)
	}
	if err := d.prepared(send); err != nil {
		return d.refuseFor(err)
	}
	changes, unsubscribe := d.e.cfg.Platform.Watch()
	defer unsubscribe()
	delivery := d.send(send)
	if delivery.Sent == NotSent {
		return d.refuse(delivery.Answer)
	}
	d.settle(send, changes, delivery)
	return d.observe(whole, delivery)
}

// allowed finds snapshot, permit and element, and derives the act again (C10.9). It
// looks at nothing but the executor's own memory.
func (d *dispatch) allowed() refusal.Answer {
	h, a := d.e.hold(d.req.GetPermit(), commonv1.PermitKind_PERMIT_KIND_ACT, d.s)
	if a != 0 {
		return a
	}
	d.permit = h
	if d.look, a = d.e.findLook(d.s, d.snapshot); a != 0 {
		return a
	}
	ownedTarget := d.verb == commonv1.Verb_VERB_TYPE_TEXT && len(d.req.GetToken()) == 0
	if !supported(d.verb) || ownedTarget {
		return refusal.AnswerNotSupported
	}
	var ok bool
	if d.index, ok = d.look.index(d.req.GetToken()); !ok {
		return refusal.AnswerElementUnknown
	}
	if a := h.matches(d.derived()); a != 0 {
		return a
	}
	d.plan, a = plan(d.req.GetAct(), &d.look.nodes[d.index], h.claims.GetRoutes())
	d.plan.perf.Window = d.look.window.Identity
	return a
}

func (e *Executor) findLook(s *session, id ident.SnapshotID) (*look, refusal.Answer) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return s.looks.Find(id, e.cfg.Clock())
}

// derived is the act as the executor knows it: the arguments in hand, everything else
// from its own snapshot.
func (d *dispatch) derived() *derived {
	element := d.look.digest(d.index)
	w := d.look.window
	return &derived{
		verb: d.verb, app: w.Identity.App, window: w.Identity, page: w.Page, snapshot: d.snapshot, key: d.s.key,
		act: &commonv1.BoundAct{
			Verb: d.verb, Arguments: permit.Arguments(d.req.GetAct()),
			Window: fromWindow(w.Identity), Page: fromPage(w.Page), ElementDigest: element[:],
		},
	}
}

// prepared looks at desk and window as they are now, just before the send.
func (d *dispatch) prepared(ctx context.Context) error {
	var err error
	if d.before, err = d.e.cfg.Platform.Desk(ctx); err != nil {
		return err
	}
	if d.before.Locked {
		return Fail(refusal.AnswerScreenLocked)
	}
	if d.e.isClosed(d.look.window.Identity.App) {
		return Fail(refusal.AnswerTargetUnresponsive)
	}
	if d.windows, err = d.e.cfg.Platform.Windows(ctx); err != nil {
		return err
	}
	var a refusal.Answer
	d.target, a = find(d.windows, d.look.window.Identity)
	switch {
	case a != 0:
		return Fail(a)
	case d.target.Page != d.look.window.Page:
		return Fail(refusal.AnswerPageChanged)
	case blocked(d.windows, d.target):
		return Fail(refusal.AnswerWindowOccluded)
	}
	return nil
}

// isClosed reports whether an app owes an answer since a send (C7.7).
func (e *Executor) isClosed(app string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.state.closed[app]
}

// send has the platform read, check and send in one step. If only the reference is
// gone, one re-walk may find the one element that is the same in every respect (C6.2).
func (d *dispatch) send(ctx context.Context) Delivery {
	delivery := d.perform(ctx)
	if delivery.Sent != NotSent || delivery.Answer != refusal.AnswerElementReleased {
		return delivery
	}
	object, a := d.refetched(ctx)
	if a != 0 {
		return Refused(a)
	}
	d.plan.perf.Object = object
	return d.perform(ctx)
}

// perform sends at most once. A platform that says "not sent" gives proof of it, so
// what the check spent is given back (C6.5); anything else spends for good.
func (d *dispatch) perform(ctx context.Context) Delivery {
	settled := false
	defer func() {
		if !settled && d.committed {
			// The platform panicked: nobody knows whether anything was sent.
			d.consume()
		}
	}()
	d.changed = nil
	delivery := d.e.cfg.Platform.Perform(ctx, d.plan.perf, d.check)
	settled = true
	switch {
	case delivery.Sent != NotSent:
		d.consume()
	case d.committed:
		d.committed = false
		d.e.restore(d.permit, func() { d.s.looks.Restore(d.snapshot) })
	}
	if delivery.Sent == NotSent && delivery.Answer == 0 {
		delivery.Answer = refusal.AnswerUnavailable
	}
	return delivery
}

// consume spends the snapshot for good. A platform that sent without asking the check
// is broken; what it was given is spent all the same.
func (d *dispatch) consume() {
	d.e.mu.Lock()
	defer d.e.mu.Unlock()
	d.s.looks.Consume(d.snapshot)
	if !d.committed {
		_ = d.e.state.spent.take(d.permit.id, d.permit.expires, d.e.bootNow())
	}
}

// refetched walks the window once more for the one element that is the same.
func (d *dispatch) refetched(ctx context.Context) (Object, refusal.Answer) {
	limits := d.look.limits
	limits.Text = textMax
	t, err := d.e.cfg.Platform.ReadTree(ctx, d.target.Identity, limits)
	if err != nil {
		a, _ := told(err, commonv1.Stage_STAGE_WALK)
		return "", a
	}
	now := d.e.record(d.target, t, limits)
	found := refetch.Find(d.look.signatures(), d.index, now.signatures())
	d.candidates = found.Candidates
	if found.Answer != 0 {
		return "", found.Answer
	}
	return now.nodes[found.Index].Object, 0
}

func (l *look) signatures() []refetch.Signature {
	out := make([]refetch.Signature, len(l.nodes))
	for i := range l.nodes {
		n := &l.nodes[i]
		out[i] = refetch.Signature{
			Digest: l.digest(i), Value: digest.Clip(n.Value, textMax), Depth: int(l.depths[i]), Renderer: n.Renderer,
			X: n.Bounds.X, Y: n.Bounds.Y, W: n.Bounds.W, H: n.Bounds.H,
		}
	}
	return out
}

// refuse tells that nothing was sent, and why.
func (d *dispatch) refuse(a refusal.Answer) *executorv1.DispatchResponse {
	if a == refusal.AnswerTimeout {
		return refused(a, &commonv1.RefusalDetail{Stage: commonv1.Stage_STAGE_SEND})
	}
	detail := &commonv1.RefusalDetail{}
	switch a {
	case refusal.AnswerElementDigestMismatch, refusal.AnswerElementChanged:
		detail.Changed = d.changed
	case refusal.AnswerElementAmbiguous:
		detail.Candidates = uint32(d.candidates)
	case refusal.AnswerPermissionMissing:
		detail.Ability = commonv1.AbilityKind_ABILITY_KIND_SEMANTIC
	default:
		detail = nil
	}
	return refused(a, detail)
}

func (d *dispatch) refuseFor(err error) *executorv1.DispatchResponse {
	a, detail := told(err, commonv1.Stage_STAGE_QUEUE)
	return refused(a, detail)
}

func refused(a refusal.Answer, detail *commonv1.RefusalDetail) *executorv1.DispatchResponse {
	return &executorv1.DispatchResponse{
		Code: a, Detail: detail, Outcome: commonv1.Outcome_OUTCOME_REFUSED, Route: commonv1.Route_ROUTE_NONE,
	}
}
