package x11desk

import (
	"context"
	"errors"
	"slices"

	"fairlead.dev/executor-linux/internal/atspi"
	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/refusal"
)

// act is one performance on its way.
type act struct {
	executor.Performance
	client *atspi.Client
	ref    atspi.Ref
	top    *top
	// option is what select_option, or a press on an item, selects.
	option *option
}

// step is the one call that an act sends.
type step struct {
	route commonv1.Route
	// held says that the wanted end state was there already: there is nothing to send.
	held bool
	send func(context.Context) executor.Delivery
}

// Perform does one element act: the application is probed, the element read again, the
// check asked, and one call sent (C6.2, C7.7). The order of refusal: window,
// reference, secure, verb, check, disabled, not offered, no permitted route. What may
// still refuse after the check does so with proof that nothing was sent.
func (d *Desk) Perform(ctx context.Context, p executor.Performance, check executor.Check) executor.Delivery {
	where, err := d.locate(ctx, p.Window)
	if err != nil {
		return refusedFor(ctx, err)
	}
	ref, t, ok := where.element(p.Object)
	if !ok {
		return executor.Refused(refusal.AnswerElementReleased)
	}
	a := &act{Performance: p, client: where.client, ref: ref, top: t}
	seen, err := a.client.Reread(ctx, t.ref, ref)
	if err != nil {
		return refusedFor(ctx, err)
	}
	if seen.States.Has(atspi.StateSecure) {
		return executor.Refused(refusal.AnswerElementSecure)
	}
	if !supported(p.Verb) {
		return executor.Refused(refusal.AnswerNotSupported)
	}
	// Items are looked up before the check, so that nothing lies between it and the send.
	found := a.lookup(ctx, &seen)
	if a.option != nil || found != 0 {
		if seen, err = a.client.Reread(ctx, t.ref, ref); err != nil {
			return refusedFor(ctx, err)
		}
	}
	now := toNode(&seen, t)
	if answer := admit(now, check); answer != 0 {
		return executor.Refused(answer)
	}
	if found != 0 {
		return executor.Refused(found)
	}
	s, answer := a.plan(&seen)
	switch {
	case answer != 0:
		return executor.Refused(answer)
	case !slices.Contains(p.Routes, s.route):
		return executor.Refused(refusal.AnswerNoPermittedRoute)
	case ctx.Err() != nil:
		return refusedFor(ctx, ctx.Err())
	case s.held:
		// The act names an end state, and that is what there is: sending would undo it.
		// The readback confirms it like any other (C7.2).
		return executor.Delivery{Sent: executor.Accepted, Route: s.route, Settled: true}
	}
	return s.send(ctx)
}

func supported(v commonv1.Verb) bool {
	switch v {
	case commonv1.Verb_VERB_CLICK_ELEMENT, commonv1.Verb_VERB_SET_VALUE, commonv1.Verb_VERB_SELECT_OPTION,
		commonv1.Verb_VERB_PERFORM, commonv1.Verb_VERB_SET_EXPANDED, commonv1.Verb_VERB_SET_CHECKED,
		commonv1.Verb_VERB_TYPE_TEXT:
		return true
	}
	return false
}

// admit asks the executor about the element as it is now.
func admit(now executor.Node, check executor.Check) refusal.Answer {
	if now.Secure {
		return refusal.AnswerElementSecure
	}
	if check != nil {
		if a := check(now); a != 0 {
			return a
		}
	}
	if !now.States.Has(commonv1.ElementState_ELEMENT_STATE_ENABLED) {
		return refusal.AnswerElementDisabled
	}
	return 0
}

// refusedFor is the refusal for an error before anything was sent.
func refusedFor(ctx context.Context, err error) executor.Delivery {
	var none *noTree
	if errors.As(err, &none) {
		return executor.Refused(refusal.AnswerElementReleased)
	}
	return executor.Refused(answerOf(ctx, err))
}

// delivered turns what a send came to into a delivery. An error with proof that nothing
// was sent is a refusal; the words of the application are dropped.
func delivered(ctx context.Context, route commonv1.Route, sent atspi.Sent, err error) executor.Delivery {
	out := executor.Delivery{Route: route}
	switch sent {
	case atspi.SentNothing:
		return refusedFor(ctx, err)
	case atspi.SentAccepted:
		out.Sent = executor.Accepted
	case atspi.SentDeclined:
		out.Sent = executor.Declined
	default:
		out.Sent = executor.Unanswered
	}
	return out
}
