package executor

import (
	"context"

	"go.opentelemetry.io/otel/trace"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
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

	// What it was found to be about. index is the bound element, object its own name as it
	// was last found; -1 and none for acts on points and on the window.
	permit *held
	look   *look
	index  int
	object Object
	// hits are the elements that the snapshot recorded at the points.
	hits []int
	plan planned

	// The desktop just before the send, and what changes from then on.
	before  DeskState
	windows []Window
	target  *Window
	changes <-chan Change

	// What the checks saw and decided.
	way        way
	changed    []commonv1.ElementProperty
	candidates int
	committed  bool
	submitting bool
	moved      bool
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
	sending, yield := context.WithCancel(send)
	defer yield()
	d.e.bind(d.running, d.look.window.Identity, yield)
	var unsubscribe func()
	d.changes, unsubscribe = d.e.cfg.Platform.Watch(d.look.window.Identity.PID)
	defer unsubscribe()
	if err := d.prepared(send); err != nil {
		return d.refuseFor(err)
	}
	delivery := d.send(sending)
	if delivery.Sent == NotSent {
		return d.refuse(d.why(delivery.Answer))
	}
	d.settle(send, delivery)
	return d.observe(whole, delivery)
}

// why is the answer to tell for a send that did not happen. A platform only knows that it
// was to stop, not for what reason.
func (d *dispatch) why(a refusal.Answer) refusal.Answer {
	if a == refusal.AnswerAborted {
		if reason := d.e.mayGoOn(d.running); reason != 0 {
			return reason
		}
	}
	return a
}

// allowed finds snapshot, permit and target, and derives the act again (C10.9). It
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
	if a := d.bound(); a != 0 {
		return a
	}
	if a := h.matches(d.derived()); a != 0 {
		return a
	}
	var n *Node
	if d.index >= 0 {
		n = &d.look.nodes[d.index]
		d.object = n.Object
	}
	if d.plan, a = plan(d.req.GetAct(), n, d.req.GetOwned(), h.claims.GetRoutes()); a != 0 {
		return a
	}
	d.plan.bind(d.look.window.Identity, d.object)
	return d.aim()
}

// bound finds what the act is bound to. What a verb is not bound to must not be there:
// nothing that was handed over is left unread.
func (d *dispatch) bound() refusal.Answer {
	d.index = -1
	binding := permit.RuleOf(d.verb).GetBinding()
	switch {
	case d.req.GetOwned() && binding != commonv1.Binding_BINDING_KEYBOARD:
		return refusal.AnswerNotSupported
	case len(d.req.GetPoints()) > 0 && binding != commonv1.Binding_BINDING_POINT:
		return refusal.AnswerInvalidPoint
	}
	menu := d.req.GetAct().GetInvokeMenu()
	switch binding {
	case commonv1.Binding_BINDING_ELEMENT:
		return d.element()
	case commonv1.Binding_BINDING_KEYBOARD:
		if onlyOwned(d.verb) && !d.req.GetOwned() {
			return refusal.AnswerNotSupported
		}
		return d.element()
	case commonv1.Binding_BINDING_WINDOW:
		if menu != nil && len(menu.GetPath()) == 0 {
			return d.element()
		}
	case commonv1.Binding_BINDING_PAGE:
		if d.look.window.Page == (ident.Page{}) {
			return refusal.AnswerNotSupported
		}
	case commonv1.Binding_BINDING_POINT:
	default:
		return refusal.AnswerNotSupported
	}
	if len(d.req.GetToken()) > 0 {
		return refusal.AnswerElementUnknown
	}
	return 0
}

// element finds the element that the token names in the quoted snapshot.
func (d *dispatch) element() refusal.Answer {
	i, ok := d.look.index(d.req.GetToken())
	if !ok {
		return refusal.AnswerElementUnknown
	}
	d.index = i
	return 0
}

func (e *Executor) findLook(s *session, id ident.SnapshotID) (*look, refusal.Answer) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return s.looks.Find(id, e.cfg.Clock())
}

// derived is the act as the executor knows it: arguments and points in hand, everything
// else from its own snapshot.
func (d *dispatch) derived() *derived {
	w := d.look.window
	act := &commonv1.BoundAct{
		Verb: d.verb, Arguments: permit.Arguments(d.req.GetAct()),
		Window: fromWindow(w.Identity), Page: fromPage(w.Page),
		Points: d.req.GetPoints(), Owned: d.req.GetOwned(),
	}
	if d.index >= 0 {
		element := d.look.digest(d.index)
		act.ElementDigest = element[:]
	}
	return &derived{
		verb: d.verb, app: w.Identity.App, window: w.Identity, page: w.Page, snapshot: d.snapshot, key: d.s.key,
		act: act,
	}
}

// prepared looks at desk and window as they are now, just before the send.
func (d *dispatch) prepared(ctx context.Context) error {
	var err error
	if d.before, err = d.e.deskNow(ctx); err != nil {
		return err
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

// once sends at most once. A platform that says "not sent" gives proof of it, so
// what the check spent is given back (C6.5); anything else spends for good.
func (d *dispatch) once(perform func() Delivery) Delivery {
	settled := false
	defer func() {
		if !settled && d.committed {
			// The platform panicked: nobody knows whether anything was sent.
			d.consume()
		}
	}()
	d.changed = nil
	delivery := perform()
	settled = true
	if delivery.Sent == NotSent && delivery.Count > 0 {
		// It contradicts itself; what arrived cannot be taken back.
		delivery.Sent = Unanswered
	}
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

// refuse tells that nothing was sent, and why.
func (d *dispatch) refuse(a refusal.Answer) *executorv1.DispatchResponse {
	switch a {
	case refusal.AnswerTimeout:
		return refused(a, &commonv1.RefusalDetail{Stage: commonv1.Stage_STAGE_SEND})
	case refusal.AnswerScreenLocked:
		d.e.watch.sawLock()
	}
	detail := &commonv1.RefusalDetail{}
	switch a {
	case refusal.AnswerElementDigestMismatch, refusal.AnswerElementChanged:
		detail.Changed = d.changed
	case refusal.AnswerElementAmbiguous:
		detail.Candidates = uint32(d.candidates)
	case refusal.AnswerPermissionMissing:
		detail.Ability = d.way.ability()
	default:
		detail = nil
	}
	return refused(a, detail)
}

func (d *dispatch) refuseFor(err error) *executorv1.DispatchResponse {
	a, detail := d.e.told(err, commonv1.Stage_STAGE_QUEUE)
	return refused(a, detail)
}

func refused(a refusal.Answer, detail *commonv1.RefusalDetail) *executorv1.DispatchResponse {
	return &executorv1.DispatchResponse{
		Code: a, Detail: detail, Outcome: commonv1.Outcome_OUTCOME_REFUSED, Route: commonv1.Route_ROUTE_NONE,
	}
}
