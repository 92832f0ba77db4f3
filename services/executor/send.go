package executor

import (
	"context"
	"time"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor/internal/digest"
	"fairlead.dev/services/executor/internal/refetch"
	"fairlead.dev/services/shared/permit"
	"fairlead.dev/services/shared/refusal"
)

const (
	// arriveMax is how long a typed text may take to show before Return is given up.
	arriveMax = time.Second
	// returnKey submits.
	returnKey = "Return"
)

// way is one way for an act to go: which call of the platform, with routes of which class.
type way int

// The ways. An act has at most two, in order.
const (
	byElement way = iota + 1
	byPointer
	byKeys
	byWindow
)

// class is the class of the routes of a way (C7.5).
func (w way) class() commonv1.LeaseClass {
	switch w {
	case byPointer:
		return commonv1.LeaseClass_LEASE_CLASS_POINTER_MUTATION
	case byKeys:
		return commonv1.LeaseClass_LEASE_CLASS_KEYBOARD_MUTATION
	default:
		return commonv1.LeaseClass_LEASE_CLASS_SEMANTIC_MUTATION
	}
}

// ability is what a way needs of the system.
func (w way) ability() commonv1.AbilityKind {
	switch w {
	case byPointer:
		return commonv1.AbilityKind_ABILITY_KIND_POINTER
	case byKeys:
		return commonv1.AbilityKind_ABILITY_KIND_KEYBOARD
	default:
		return commonv1.AbilityKind_ABILITY_KIND_SEMANTIC
	}
}

// send goes the act's ways in order. Only what was not offered before any side effect may
// be followed by another one (C7.5).
func (d *dispatch) send(ctx context.Context) Delivery {
	var out Delivery
	for _, w := range d.plan.ways {
		d.way = w
		if out = d.sendBy(ctx, w); out.Sent != NotSent || !notOffered(out.Answer) {
			break
		}
	}
	return out
}

func notOffered(a refusal.Answer) bool {
	switch a {
	case refusal.AnswerNotSupported, refusal.AnswerNoPermittedRoute, refusal.AnswerElementNotActionable:
		return true
	default:
		return false
	}
}

// sendBy has the platform read, check and send in one step. If only the reference is
// gone, one re-walk may find the one element that is the same in every respect (C6.2).
func (d *dispatch) sendBy(ctx context.Context, w way) Delivery {
	delivery := d.attempt(ctx, w)
	if d.index < 0 || delivery.Sent != NotSent || delivery.Answer != refusal.AnswerElementReleased {
		return delivery
	}
	object, a := d.refetched(ctx)
	if a != 0 {
		return Refused(a)
	}
	d.object = object
	return d.attempt(ctx, w)
}

// attempt sends by one way. What has to be looked at beforehand is, and the platform asks
// again in the same step as the send.
func (d *dispatch) attempt(ctx context.Context, w way) Delivery {
	if d.index >= 0 {
		d.plan.bind(d.look.window.Identity, d.object)
	}
	routes := d.plan.routesFor(w)
	platform := d.e.cfg.Platform
	switch w {
	case byPointer:
		if a := d.readyToPoint(ctx); a != 0 {
			return Refused(a)
		}
		in := d.plan.input
		in.Routes = routes
		return d.once(func() Delivery { return platform.Deliver(ctx, in, d.pointed) })
	case byKeys:
		in := d.plan.input
		in.Routes = routes
		return d.submit(ctx, d.once(func() Delivery { return platform.Deliver(ctx, in, d.keyed) }))
	case byWindow:
		if a := d.readyToManage(ctx); a != 0 {
			return Refused(a)
		}
		m := d.plan.manage
		m.Routes = routes
		return d.once(func() Delivery { return platform.Manage(ctx, m, d.managed) })
	default:
		p := d.plan.perf
		p.Routes = routes
		return d.once(func() Delivery { return platform.Perform(ctx, p, d.check) })
	}
}

// submit presses Return after a text that was typed by keys, once all of it was read back
// and while it still stands there; after anything less never (C8.5).
func (d *dispatch) submit(ctx context.Context, typed Delivery) Delivery {
	whole := typed.Sent == Accepted && typed.Stopped == 0 && typed.Count == d.plan.typed
	if !d.plan.submit || !whole {
		return typed
	}
	if !d.arrived(ctx) {
		typed.Stopped = refusal.AnswerElementChanged
		return typed
	}
	d.submitting = true
	pressed := d.e.cfg.Platform.Deliver(ctx, Input{
		Window: d.plan.input.Window, Verb: commonv1.Verb_VERB_PRESS_KEYS, Object: d.object,
		Routes: d.plan.routesFor(byKeys),
		Chord:  permit.Chord{Key: returnKey}, Repeat: 1,
	}, d.keyed)
	typed.Settled = typed.Settled && pressed.Settled
	switch {
	case pressed.Sent == NotSent && pressed.Answer == 0, pressed.Sent == Accepted && pressed.Count == 0:
		typed.Stopped = refusal.AnswerUnavailable
	case pressed.Sent == NotSent:
		typed.Stopped = pressed.Answer
	default:
		typed.Sent, typed.Stopped = pressed.Sent, pressed.Stopped
	}
	return typed
}

// arrived waits for the whole text to be read back.
func (d *dispatch) arrived(ctx context.Context) bool {
	ctx, stop := context.WithTimeout(ctx, arriveMax)
	defer stop()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		n, err := d.e.cfg.Platform.Reread(ctx, d.target.Identity, d.object)
		if err == nil && d.typedInto(&n) {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
}

// typedInto reports whether an element holds exactly the text that was to be typed.
func (d *dispatch) typedInto(n *Node) bool {
	return d.plan.claim.TextKnown && !n.ValueTruncated && n.Value == d.plan.claim.Text
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
