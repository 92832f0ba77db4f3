package virtualdesk

import (
	"context"
	"math"
	"slices"
	"strings"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
)

var _ executor.Platform = (*Desk)(nil)

// Name returns "virtual".
func (d *Desk) Name() string { return "virtual" }

// Abilities says what works now: everything, unless its permission is taken away (C9.5).
func (d *Desk) Abilities(context.Context) []executor.Ability {
	d.mu.Lock()
	defer d.mu.Unlock()
	offered := func(k commonv1.AbilityKind) executor.Ability {
		switch {
		case d.closed:
			return executor.Ability{Kind: k, Reason: commonv1.AbilityReason_ABILITY_REASON_SERVICE_MISSING}
		case d.denied[k]:
			return executor.Ability{Kind: k, Reason: commonv1.AbilityReason_ABILITY_REASON_PERMISSION}
		}
		return executor.Ability{Kind: k, Able: true}
	}
	return []executor.Ability{
		offered(commonv1.AbilityKind_ABILITY_KIND_WINDOWS),
		offered(commonv1.AbilityKind_ABILITY_KIND_TREE),
		offered(commonv1.AbilityKind_ABILITY_KIND_CAPTURE),
		offered(commonv1.AbilityKind_ABILITY_KIND_SEMANTIC),
		offered(commonv1.AbilityKind_ABILITY_KIND_LAUNCH),
		offered(commonv1.AbilityKind_ABILITY_KIND_POINTER),
		offered(commonv1.AbilityKind_ABILITY_KIND_KEYBOARD),
		offered(commonv1.AbilityKind_ABILITY_KIND_PAGE),
	}
}

// Apps lists running apps that have windows; with a filter every app whose id or name
// contains it, case folded, also installed and window-less ones.
func (d *Desk) Apps(ctx context.Context, filter string) ([]executor.App, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if a := d.usable(ctx, commonv1.AbilityKind_ABILITY_KIND_WINDOWS); a != 0 {
		return nil, failAt(a, commonv1.Stage_STAGE_WALK)
	}
	want := strings.ToLower(filter)
	var apps []executor.App
	for _, a := range d.installed {
		n := len(d.windowsOf(a))
		matches := strings.Contains(strings.ToLower(a.id), want) || strings.Contains(strings.ToLower(a.name), want)
		if !matches || want == "" && n == 0 {
			continue
		}
		apps = append(apps, executor.App{ID: a.id, Name: a.name, Running: a.running, Windows: n})
	}
	return apps, nil
}

// Windows lists the toplevels in stacking order, lowest first, with their surfaces.
func (d *Desk) Windows(ctx context.Context) ([]executor.Window, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if a := d.usable(ctx, commonv1.AbilityKind_ABILITY_KIND_WINDOWS); a != 0 {
		return nil, failAt(a, commonv1.Stage_STAGE_WALK)
	}
	windows := make([]executor.Window, 0, len(d.stack))
	for _, w := range d.stack {
		windows = append(windows, d.listed(w))
	}
	return windows, nil
}

// listed is a window as it is listed.
func (d *Desk) listed(w *window) executor.Window {
	return executor.Window{
		Identity: w.identity(), Title: w.title, Bounds: w.bounds, Stacking: slices.Index(d.stack, w),
		Hidden: w.hidden, Dialog: w.dialog, Modal: w.modal, Owner: w.owner,
		Surfaces: w.surfaces(), Scale: d.scaleOf(w.bounds), Page: w.page, Destination: w.destination,
	}
}

func (w *window) surfaces() []executor.Surface {
	s := []executor.Surface{{
		ID: w.id, Kind: commonv1.SurfaceKind_SURFACE_KIND_TOPLEVEL, Bounds: w.bounds,
	}}
	for i, p := range w.popups {
		s = append(s, executor.Surface{
			ID: p.id, Kind: p.kind, Bounds: shift(p.bounds, w.bounds.X, w.bounds.Y), Order: i + 1,
		})
	}
	return s
}

// Displays lists the displays; origins may be negative.
func (d *Desk) Displays(ctx context.Context) ([]executor.Display, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if a := d.usable(ctx, commonv1.AbilityKind_ABILITY_KIND_WINDOWS); a != 0 {
		return nil, failAt(a, commonv1.Stage_STAGE_WALK)
	}
	displays := make([]executor.Display, 0, len(d.screens))
	for _, s := range d.screens {
		displays = append(displays, executor.Display{
			Bounds: s.bounds, Scale: s.scale, MixedOrUnsure: s.unsure,
			PixelW: int(math.Round(s.bounds.W * s.scale)), PixelH: int(math.Round(s.bounds.H * s.scale)),
		})
	}
	return displays, nil
}

// Resolve says what an app id stands for right now (C3.7).
func (d *Desk) Resolve(ctx context.Context, appID string) (executor.Resolution, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if a := d.usable(ctx, commonv1.AbilityKind_ABILITY_KIND_LAUNCH); a != 0 {
		return executor.Resolution{}, failAt(a, commonv1.Stage_STAGE_WALK)
	}
	a := d.appByID(appID)
	if a == nil || appID == ident.UnknownApp {
		return executor.Resolution{}, executor.Fail(refusal.AnswerAppNotFound)
	}
	return a.resolution(), nil
}

func (a *app) resolution() executor.Resolution {
	return executor.Resolution{AppID: a.id, Executable: a.executable, Installed: true, Running: a.running}
}

// Launch starts a resolved app, below the window the user has and without focus. A
// running app keeps its process; it gets its windows again if it has none.
func (d *Desk) Launch(ctx context.Context, r executor.Resolution) executor.Delivery {
	d.mu.Lock()
	defer d.mu.Unlock()
	if a := d.usable(ctx, commonv1.AbilityKind_ABILITY_KIND_LAUNCH); a != 0 {
		return executor.Refused(a)
	}
	a := d.appByID(r.AppID)
	switch {
	case a == nil:
		return executor.Refused(refusal.AnswerAppNotFound)
	case a.resolution() != r:
		return executor.Refused(refusal.AnswerResolutionChanged)
	case a.thaw != nil:
		return executor.Refused(refusal.AnswerTargetUnresponsive)
	}
	s := step{route: commonv1.Route_ROUTE_WINDOW_MANAGEMENT, do: func() { d.start(a) }}
	delivery := d.send(ctx, sending{app: a, event: Event{App: a.id, Verb: commonv1.Verb_VERB_LAUNCH_APP}}, s)
	if delivery.Sent == executor.Accepted && a.running {
		delivery.PID = a.pid
	}
	return delivery
}

// start gives an app a process or its windows again, below the user's active window.
func (d *Desk) start(a *app) {
	switch {
	case !a.running:
		d.startProcess(a)
	case len(d.windowsOf(a)) == 0:
		a.build(d, a)
	default:
		return
	}
	for _, w := range d.windowsOf(a) {
		d.restackBelowActive(w)
	}
}

func (d *Desk) restackBelowActive(w *window) {
	var below *window
	for _, o := range d.stack {
		if o.id == d.user.active {
			break
		}
		if o != w {
			below = o
		}
	}
	d.restack(w, below)
}

// Desk samples what belongs to the user. It answers while the screen is locked.
func (d *Desk) Desk(ctx context.Context) (executor.DeskState, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return executor.DeskState{}, executor.Fail(refusal.AnswerUnavailable)
	}
	if ctx.Err() != nil {
		return executor.DeskState{}, failAt(ended(ctx), commonv1.Stage_STAGE_WALK)
	}
	s := executor.DeskState{
		PointerX: d.user.pointerX, PointerY: d.user.pointerY,
		Focus: d.user.focus, Active: d.user.active, Clipboard: d.user.clipboard, Locked: d.user.locked,
		Stacking:     make([]uint64, 0, len(d.stack)),
		AgentPointer: &executor.Point{X: d.seat.pointer.X, Y: d.seat.pointer.Y}, Input: d.user.input,
	}
	for _, w := range d.stack {
		s.Stacking = append(s.Stacking, w.id)
	}
	return s, nil
}
