package executor

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/trace"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/permit"
	"fairlead.dev/services/shared/refusal"
	"fairlead.dev/services/shared/telemetry"
)

// ResolveApp says what an app id stands for right now. The resolution is kept like a
// snapshot, and spent like one (C3.7).
func (l *hostLink) ResolveApp(
	ctx context.Context, req *executorv1.ResolveAppRequest,
) (*executorv1.ResolveAppResponse, error) {
	fence, err := l.e.gate(req.GetFence())
	if err != nil {
		return nil, err
	}
	defer l.e.calls.Done()
	out := &executorv1.ResolveAppResponse{Fence: fence}
	s, a := l.e.session(req.GetSessionId())
	if a != 0 {
		out.Code = a
		return out, nil
	}
	r, err := l.e.resolve(ctx, req.GetAppId())
	if err != nil {
		out.Code, _ = l.e.told(err, commonv1.Stage_STAGE_QUEUE)
		return out, nil
	}
	id := ident.SnapshotID(ident.New("r"))
	l.e.keepResolution(s, id, r)
	out.ResolutionId, out.Resolution = string(id), fromResolution(r)
	return out, nil
}

func (e *Executor) resolve(ctx context.Context, app string) (Resolution, error) {
	if err := e.unlocked(ctx); err != nil {
		return Resolution{}, err
	}
	return e.cfg.Platform.Resolve(ctx, app)
}

func (e *Executor) keepResolution(s *session, id ident.SnapshotID, r Resolution) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s.resolutions.Add(id, ident.Window{}, e.cfg.Clock(), r)
}

// launch is one launch of one resolution.
type launch struct {
	e          *Executor
	s          *session
	running    *running
	id         ident.SnapshotID
	permit     *held
	resolution Resolution
	before     DeskState
	windows    []Window
}

// LaunchApp launches a resolved app without giving it focus.
func (l *hostLink) LaunchApp(
	ctx context.Context, req *executorv1.LaunchAppRequest,
) (*executorv1.LaunchAppResponse, error) {
	fence, err := l.e.gate(req.GetFence())
	if err != nil {
		return nil, err
	}
	defer l.e.calls.Done()
	out, err := l.e.launch(ctx, req)
	if err != nil {
		return nil, err
	}
	out.Fence = fence
	if span := trace.SpanFromContext(ctx); span.IsRecording() {
		span.SetAttributes(telemetry.SpanAttributes(out)...)
	}
	return out, nil
}

func (e *Executor) launch(
	caller context.Context, req *executorv1.LaunchAppRequest,
) (*executorv1.LaunchAppResponse, error) {
	s, a := e.session(req.GetSessionId())
	if a != 0 {
		return notLaunched(a), nil
	}
	send, whole, r, leave, err := e.enter(caller, s, req.GetDispatchId())
	if err != nil {
		return nil, err
	}
	defer leave()
	l := &launch{e: e, s: s, running: r, id: ident.SnapshotID(req.GetResolutionId())}
	if a := l.allowed(req.GetPermit()); a != 0 {
		return notLaunched(a), nil
	}
	if err := l.prepared(send); err != nil {
		a, _ := e.told(err, commonv1.Stage_STAGE_QUEUE)
		return notLaunched(a), nil
	}
	changes, unsubscribe := e.cfg.Platform.Watch(0)
	defer unsubscribe()
	delivery := l.send(send)
	if delivery.Sent == NotSent {
		return notLaunched(delivery.Answer), nil
	}
	if delivery.Sent == Accepted && !delivery.Settled {
		l.await(send, changes, time.Duration(req.GetWaitMs())*time.Millisecond)
	}
	return l.observe(whole, delivery), nil
}

// allowed derives the launch again from the executor's own resolution (C10.9).
func (l *launch) allowed(p *commonv1.Permit) refusal.Answer {
	h, a := l.e.hold(p, commonv1.PermitKind_PERMIT_KIND_ACT, l.s)
	if a != 0 {
		return a
	}
	l.permit = h
	l.e.mu.Lock()
	l.resolution, a = l.s.resolutions.Find(l.id, l.e.cfg.Clock())
	l.e.mu.Unlock()
	if a != 0 {
		return a
	}
	verb := commonv1.Verb_VERB_LAUNCH_APP
	act := &commonv1.Act{Act: &commonv1.Act_LaunchApp{
		LaunchApp: &commonv1.LaunchApp{AppId: appName(l.resolution.AppID)},
	}}
	return h.matches(&derived{
		verb: verb, app: appName(l.resolution.AppID), snapshot: l.id, key: l.s.key,
		act: &commonv1.BoundAct{
			Verb: verb, Arguments: permit.Arguments(act), Resolution: fromResolution(l.resolution),
		},
	})
}

// prepared looks at the desk and resolves again: the id must stand for the same thing.
func (l *launch) prepared(ctx context.Context) error {
	var err error
	if l.before, err = l.e.deskNow(ctx); err != nil {
		return err
	}
	if l.e.isClosed(l.resolution.AppID) {
		return Fail(refusal.AnswerTargetUnresponsive)
	}
	now, err := l.e.cfg.Platform.Resolve(ctx, l.resolution.AppID)
	if err != nil {
		return err
	}
	if now != l.resolution {
		return Fail(refusal.AnswerResolutionChanged)
	}
	l.windows, err = l.e.cfg.Platform.Windows(ctx)
	return err
}

// send spends permit and resolution and launches; proof that nothing was started gives
// both back.
func (l *launch) send(ctx context.Context) Delivery {
	spend := func() refusal.Answer { return l.s.resolutions.Spend(l.id, l.e.cfg.Clock()) }
	if a := l.e.commit(l.running, l.permit, spend); a != 0 {
		return Refused(a)
	}
	sent := true
	defer func() {
		if sent {
			l.e.mu.Lock()
			defer l.e.mu.Unlock()
			l.s.resolutions.Consume(l.id)
		}
	}()
	delivery := l.e.cfg.Platform.Launch(ctx, l.resolution)
	if delivery.Sent == NotSent {
		sent = false
		l.e.restore(l.permit, func() { l.s.resolutions.Restore(l.id) })
		if delivery.Answer == 0 {
			delivery.Answer = refusal.AnswerUnavailable
		}
	}
	return delivery
}

// observe looks for windows of the app that were not there. A launch whose window did
// not come in time is unverifiable: it may still be starting.
func (l *launch) observe(ctx context.Context, sent Delivery) *executorv1.LaunchAppResponse {
	out := &executorv1.LaunchAppResponse{
		Outcome: commonv1.Outcome_OUTCOME_OK, Route: sent.Route, Effect: commonv1.Effect_EFFECT_UNVERIFIABLE,
		Verification: &commonv1.Verification{Method: commonv1.VerificationMethod_VERIFICATION_METHOD_ACTION_RESULT},
	}
	switch sent.Sent {
	case Declined:
		out.Outcome, out.Code = commonv1.Outcome_OUTCOME_FAILED, refusal.AnswerDispatchRefused
	case Unanswered:
		out.Outcome, out.Code = commonv1.Outcome_OUTCOME_UNKNOWN, refusal.AnswerOutcomeUnknown
		l.e.closeApp(l.resolution.AppID)
	}
	opened := l.opened(ctx)
	out.WindowChanges = fromChanges(opened)
	if len(opened) > 0 && out.Outcome == commonv1.Outcome_OUTCOME_OK {
		out.Effect = commonv1.Effect_EFFECT_CONFIRMED
		out.Verification = &commonv1.Verification{
			Method: commonv1.VerificationMethod_VERIFICATION_METHOD_WINDOW_SET_CHANGE, ObservedChange: true,
		}
	}
	desk, err := l.e.cfg.Platform.Desk(ctx)
	out.Desk = deskReport(l.before, desk, err)
	return out
}

// await waits until a new window of the app is there, or the wait is over, or the launch
// is cancelled. It also looks now and then by itself: events may be lost.
func (l *launch) await(ctx context.Context, changes <-chan Change, wait time.Duration) {
	const lookEvery = 250 * time.Millisecond
	end := time.NewTimer(wait)
	defer end.Stop()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for len(l.opened(ctx)) == 0 {
		select {
		case <-ctx.Done():
			return
		case <-end.C:
			return
		case <-tick.C:
		case _, ok := <-changes:
			if !ok {
				changes = nil
			}
		}
	}
}

func (l *launch) opened(ctx context.Context) []windowChange {
	windows, err := l.e.cfg.Platform.Windows(ctx)
	if err != nil {
		return nil
	}
	var out []windowChange
	for _, c := range windowChanges(l.windows, windows, l.resolution.AppID) {
		if c.kind == commonv1.WindowChangeKind_WINDOW_CHANGE_KIND_OPENED {
			out = append(out, c)
		}
	}
	return out
}

func notLaunched(a refusal.Answer) *executorv1.LaunchAppResponse {
	return &executorv1.LaunchAppResponse{
		Code: a, Outcome: commonv1.Outcome_OUTCOME_REFUSED, Route: commonv1.Route_ROUTE_NONE,
	}
}
