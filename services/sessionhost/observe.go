package sessionhost

import (
	"context"
	"time"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	policyv1 "fairlead.dev/gen/fairlead/policy/v1"
	"fairlead.dev/services/sessionhost/internal/executorlink"
	"fairlead.dev/services/sessionhost/internal/keyboard"
	"fairlead.dev/services/sessionhost/internal/policylink"
	machine "fairlead.dev/services/sessionhost/internal/session"
	"fairlead.dev/services/sessionhost/internal/timeline"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/permit"
	"fairlead.dev/services/shared/refusal"
)

// permitLife is how long a read permit is used again; policy lets it live longer.
const permitLife = 10 * time.Second

// scope is what a read permit is about: an app, a window, or with neither the desk.
type scope struct {
	class  commonv1.LeaseClass
	app    string
	window ident.Window
	// destination is where the page to be read is.
	destination string
}

func scopeOfLease(class commonv1.LeaseClass, t *commonv1.Target) scope {
	if w := t.GetWindow(); w != nil {
		return scope{class: class, window: windowFromWire(w.GetWindow())}
	}
	return scope{class: class, app: t.GetApp().GetAppId()}
}

// readPermit is a read permit in hand.
type readPermit struct {
	permit   *commonv1.Permit
	executor ident.Generation
	until    time.Duration // boot clock
}

// wanted is how a frame was asked for; the observation after an act follows it.
type wanted struct {
	limits *executorv1.TreeLimits
	render commonv1.Render
}

// observe reads one window and registers the frame.
func (h *Host) observe(ctx context.Context, c *call, req *hostv1.ObserveRequest) (*commonv1.Observation, error) {
	l, err := c.looking(ctx)
	if err != nil {
		return nil, err
	}
	w, err := c.resolveWindow(ctx, l, req)
	if err != nil {
		return nil, c.failed(err)
	}
	return c.look(ctx, l, w, wish{
		limits: &executorv1.TreeLimits{
			Elements: req.GetMaxElements(), Depth: req.GetMaxDepth(), Text: req.GetMaxText(),
		},
		picture: req.GetPicture(), format: req.GetFormat(), render: req.GetRender(),
	})
}

// wish is what one look at a window should carry.
type wish struct {
	limits  *executorv1.TreeLimits
	picture bool
	format  commonv1.PictureFormat
	render  commonv1.Render
}

// look reads a window and registers the frame. The session's ticket is checked when its
// turn comes and again when the read returns: a result that arrives after a stop is
// discarded (C2.6).
func (c *call) look(ctx context.Context, l looked, w ident.Window, want wish) (*commonv1.Observation, error) {
	order, absence, err := c.snapshotOrder(ctx, l, w, want)
	if err != nil {
		return nil, c.failed(err)
	}
	seen, err := c.snapshot(ctx, l, order)
	if err != nil {
		return nil, c.failed(err)
	}
	if absence != 0 {
		seen.snap.PictureAbsence = absence
	}
	var obs *commonv1.Observation
	err = c.do(func(st *state) error {
		if err := st.mayKeep(l.ticket, c.stopped); err != nil {
			return err
		}
		obs = st.looked(seen, l.executor.Generation, wanted{limits: order.GetLimits(), render: want.render})
		return nil
	})
	return obs, err
}

// looked is the step in which a look ends. It is an observation that no act returned, so
// it ends keyboard ownership (C8.3).
func (st *state) looked(seen *seenWindow, e ident.Generation, want wanted) *commonv1.Observation {
	st.loseKeyboard(keyboard.ByObservation)
	return st.register(seen, e, want, nil)
}

// snapshot reads a window and checks what was read, and where its page is.
func (c *call) snapshot(ctx context.Context, l looked, order *executorv1.SnapshotRequest) (*seenWindow, error) {
	snap, err := l.executor.Snapshot(ctx, order)
	if err != nil {
		return nil, err
	}
	seen, err := readSnapshot(snap)
	if err != nil {
		l.executor.Violated()
		return nil, err
	}
	return seen, c.mayBeThere(ctx, l.policy, l.executor, seen)
}

// mayBeThere asks policy whether the page a window shows may be read at all: a blocked
// destination ends the session's work (C5.5, C10.4).
func (c *call) mayBeThere(
	ctx context.Context, p *policylink.Link, e *executorlink.Link, seen *seenWindow,
) error {
	where := seen.snap.GetDestination()
	if where == "" {
		return nil
	}
	class := commonv1.LeaseClass_LEASE_CLASS_METADATA_READ
	key := scope{class: class, window: seen.window, destination: where}
	_, err := c.permitFor(ctx, p, e, key, targetOf(seen.window))
	if err != nil && refusal.As(err).Code == refusal.LeaseRequired {
		// The tree an act left is covered by the act's permit; only a block counts here.
		return nil
	}
	return err
}

// mayKeep says whether what a read brought may be kept: its ticket holds and no stop
// covers the call.
func (st *state) mayKeep(t machine.Ticket, stopped func() bool) error {
	if why := machine.Check(st.machine, t); why != nil {
		return why
	}
	if stopped() {
		return refusal.New(refusal.UserStopped)
	}
	return nil
}

// looked is what every read works with: its ticket and both links.
type looked struct {
	ticket   machine.Ticket
	policy   *policylink.Link
	executor *executorlink.Link
}

// looking is how every read begins: a ticket, both links, and a session that has begun
// on the executor.
func (c *call) looking(ctx context.Context) (l looked, err error) {
	if l.ticket, err = c.ticket(); err != nil {
		return l, err
	}
	if l.policy, l.executor, err = c.s.policyLink(ctx); err == nil {
		err = c.s.ensureBegun(ctx, l.executor)
	}
	if err != nil {
		err = c.failed(err)
	}
	return l, err
}

// ticket is the right to observe. The screen lock is looked up where it is kept: a
// refusal that came after the unlock must not hold the session (C0.9).
func (c *call) ticket() (machine.Ticket, error) {
	err := c.do(func(st *state) error { return c.hold(st) })
	if err != nil {
		return machine.Ticket{}, err
	}
	return *c.held, nil
}

func (c *call) hold(st *state) error {
	if !c.s.host.locked.Load() {
		st.suffer(mark{kind: markUnlocked})
	}
	t, no := machine.ObserveTicket(st.machine)
	if no != nil {
		return no
	}
	c.held = &t
	return nil
}

// failed moves the session as a failed read's code says, and returns the refusal. A
// failure that arrives after a stop is discarded like a success: the stop is what is
// told (C2.6).
func (c *call) failed(err error) error {
	return c.do(func(st *state) error { return c.fail(st, err) })
}

func (c *call) fail(st *state, err error) error {
	if held := c.taken(st); held != nil {
		return held
	}
	st.apply(refusal.As(err).Code)
	return err
}

// taken says what took the call's ticket away, other than that something moved on.
func (c *call) taken(st *state) error {
	if c.held == nil {
		return nil
	}
	if why := machine.Check(st.machine, *c.held); why != nil && why.Code != refusal.ReobserveRequired {
		return why
	}
	return nil
}

// register makes a snapshot the session's current frame and returns it as the agent
// sees it. by is the act that returned it, nil for a look.
func (st *state) register(seen *seenWindow, e ident.Generation, want wanted, by *bound) *commonv1.Observation {
	ids := st.ids.Assign(seen.window, seen.objects)
	st.forgetPictures()
	f := st.frames.Register(seen.frame(ids, e, want))
	st.machine = machine.Step(st.machine, machine.Observed)
	st.unknown = 0
	var base *seenWindow
	var quoted ident.Frame
	if by != nil {
		base, quoted = by.base, by.frame.Frame
	}
	obs := seen.observation(f.Frame, ids, want.render, base, quoted)
	st.seen = seen
	st.keepPicture(seen.snap.GetPicture())
	st.note(timeline.Observed)
	return obs
}

// wanted is how the observation after the act is asked for.
func (b *bound) wanted() wanted {
	w, _ := b.frame.Wanted.(wanted)
	if r := b.after.GetRender(); r != 0 {
		w.render = r
	}
	return w
}

// targeted is a request that names a window, or an app with one.
type targeted interface {
	GetWindow() *commonv1.WindowIdentity
	GetAppId() string
}

// resolveWindow finds the window that is meant. An app with several windows is
// ambiguous, with the list (C3.6); no window is ever picked.
func (c *call) resolveWindow(
	ctx context.Context, l looked, req targeted,
) (ident.Window, error) {
	if w := req.GetWindow(); w != nil {
		return windowFromWire(w), nil
	}
	list, err := c.windows(ctx, l)
	if err != nil {
		return ident.Window{}, err
	}
	var found []*commonv1.WindowIdentity
	for _, w := range list.GetWindows() {
		if w.GetWindow().GetAppId() == req.GetAppId() {
			found = append(found, w.GetWindow())
		}
	}
	switch len(found) {
	case 0:
		return ident.Window{}, refusal.New(refusal.TargetMissing)
	case 1:
		return windowFromWire(found[0]), nil
	default:
		return ident.Window{}, refusal.With(refusal.TargetAmbiguous, &refusal.Detail{
			Candidates: uint32(len(found)), Windows: found[:min(len(found), 32)],
		})
	}
}

// snapshotOrder builds the executor's order: the read permit, the limits, and the
// picture if one is wanted and may be taken. Why it may not is a detail.
func (c *call) snapshotOrder(
	ctx context.Context, l looked, w ident.Window, want wish,
) (*executorv1.SnapshotRequest, commonv1.PictureAbsence, error) {
	read, err := c.readPermit(ctx, l.policy, l.executor, commonv1.LeaseClass_LEASE_CLASS_METADATA_READ, w)
	if err != nil {
		return nil, 0, err
	}
	order := &executorv1.SnapshotRequest{
		SessionId: string(c.s.id), Permit: read, Window: windowToWire(w), Limits: want.limits,
	}
	if !want.picture {
		return order, 0, nil
	}
	picture, err := c.readPermit(ctx, l.policy, l.executor, commonv1.LeaseClass_LEASE_CLASS_SCREENSHOT_READ, w)
	if err != nil {
		return order, absenceOf(err), nil
	}
	order.Picture = &executorv1.PictureRequest{Permit: picture, Format: want.format}
	return order, 0, nil
}

func absenceOf(err error) commonv1.PictureAbsence {
	switch refusal.As(err).Code {
	case refusal.VisionUnsupported, refusal.ConsentRequired:
		return commonv1.PictureAbsence_PICTURE_ABSENCE_VISION
	default:
		return commonv1.PictureAbsence_PICTURE_ABSENCE_LEASE
	}
}

// readPermit returns a read permit for a window, asking policy when none is in hand.
func (c *call) readPermit(
	ctx context.Context, p *policylink.Link, e *executorlink.Link, class commonv1.LeaseClass, w ident.Window,
) (*commonv1.Permit, error) {
	return c.permitFor(ctx, p, e, scope{class: class, window: w}, targetOf(w))
}

// permitFor returns the permit of a scope, asking policy when none is in hand: every
// question goes on record, and one per look would fill it.
func (c *call) permitFor(
	ctx context.Context, p *policylink.Link, e *executorlink.Link, key scope, target *commonv1.Target,
) (*commonv1.Permit, error) {
	now := permit.BootClock()
	var inHand *commonv1.Permit
	var since uint64
	if err := c.do(func(st *state) error {
		if r, ok := st.permits.held[key]; ok && r.executor == e.Generation && now < r.until {
			inHand = r.permit
		}
		since = st.permits.dropped
		return nil
	}); err != nil || inHand != nil {
		return inHand, err
	}
	signed, err := p.Permit(ctx, &policyv1.PermitRequest{
		SessionId: string(c.s.id), Class: key.class, Target: target, Incarnation: e.Incarnation[:],
		Destination: key.destination,
	})
	if err != nil {
		return nil, err
	}
	return signed, c.do(func(st *state) error {
		st.permits.keep(key, since, readPermit{permit: signed, executor: e.Generation, until: now + permitLife})
		return nil
	})
}

// permits is the read permits in hand, and how often they were taken away.
type permits struct {
	held    map[scope]readPermit
	dropped uint64
}

// drop takes all of them away.
func (p *permits) drop() {
	clear(p.held)
	p.dropped++
}

// keep keeps a permit that was asked for when they had been taken away so often. One that
// was on its way when they were taken away is good for its one read and no more (C10.2).
func (p *permits) keep(key scope, since uint64, r readPermit) {
	if since != p.dropped {
		return
	}
	if len(p.held) >= queueHost {
		clear(p.held)
	}
	p.held[key] = r
}

// targetOf names the window, or the desk for the zero window.
func targetOf(w ident.Window) *commonv1.Target {
	if w == (ident.Window{}) {
		return &commonv1.Target{Target: &commonv1.Target_Desk{Desk: &commonv1.DeskTarget{}}}
	}
	return &commonv1.Target{Target: &commonv1.Target_Window{
		Window: &commonv1.WindowTarget{Window: windowToWire(w)},
	}}
}

// listPermits returns the permits a listing goes by: the desk for identities, and one
// for each app the session may read, whose titles may be shown (C10.4).
func (c *call) listPermits(
	ctx context.Context, p *policylink.Link, e *executorlink.Link,
) ([]*commonv1.Permit, error) {
	class := commonv1.LeaseClass_LEASE_CLASS_METADATA_READ
	desk, err := c.readPermit(ctx, p, e, class, ident.Window{})
	if err != nil {
		return nil, err
	}
	permits := []*commonv1.Permit{desk}
	leases, err := p.Leases(ctx, c.s.id)
	if err != nil {
		return nil, err
	}
	for _, l := range leases {
		if l.GetClass() != class || l.GetTarget().GetDesk() != nil || len(permits) == listPermitsMax {
			continue
		}
		signed, err := c.permitFor(ctx, p, e, scopeOfLease(class, l.GetTarget()), l.GetTarget())
		if err != nil {
			continue // the lease ended meanwhile: its titles are not shown
		}
		permits = append(permits, signed)
	}
	return permits, nil
}

// listPermitsMax is how many permits one listing carries.
const listPermitsMax = 32

// windows asks the executor for the windows, under the permits of the session.
func (c *call) windows(ctx context.Context, l looked) (*executorv1.ListWindowsResponse, error) {
	permits, err := c.listPermits(ctx, l.policy, l.executor)
	if err != nil {
		return nil, err
	}
	return l.executor.ListWindows(ctx, &executorv1.ListWindowsRequest{SessionId: string(c.s.id), Permits: permits})
}

// listApps lists apps under a ticket, like every read (C4.5).
func (h *Host) listApps(ctx context.Context, c *call, req *hostv1.ListAppsRequest) (*hostv1.ListAppsResponse, error) {
	l, err := c.looking(ctx)
	if err != nil {
		return nil, err
	}
	desk, err := c.readPermit(ctx, l.policy, l.executor, commonv1.LeaseClass_LEASE_CLASS_METADATA_READ, ident.Window{})
	if err != nil {
		return nil, c.failed(err)
	}
	list, err := l.executor.ListApps(ctx, &executorv1.ListAppsRequest{
		SessionId: string(c.s.id), Permit: desk, Filter: req.GetFilter(),
	})
	if err != nil {
		return nil, c.failed(err)
	}
	return appsToWire(list), c.still(ctx, l.ticket)
}

// listWindows lists windows under a ticket.
func (h *Host) listWindows(
	ctx context.Context, c *call, req *hostv1.ListWindowsRequest,
) (*hostv1.ListWindowsResponse, error) {
	l, err := c.looking(ctx)
	if err != nil {
		return nil, err
	}
	list, err := c.windows(ctx, l)
	if err != nil {
		return nil, c.failed(err)
	}
	return windowsToWire(list, req.GetAppId()), c.still(ctx, l.ticket)
}
