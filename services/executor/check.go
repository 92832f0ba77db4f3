package executor

import (
	"slices"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor/internal/digest"
	"fairlead.dev/services/shared/permit"
	"fairlead.dev/services/shared/refusal"
)

// check is asked by the platform about the element as it is now, in the same step as
// the send (C6.2). Its zero is the point of no return: permit and snapshot are spent.
func (d *dispatch) check(now Node) refusal.Answer {
	if a := d.mayGoOn(); a != 0 {
		return a
	}
	if a := d.same(&now); a != 0 {
		return a
	}
	if d.req.GetOwned() && !now.States.Has(commonv1.ElementState_ELEMENT_STATE_FOCUSED) {
		return refusal.AnswerFocusChanged
	}
	at := spot{surface: d.look.surfaceID(d.index), bounds: now.Bounds}
	if a := cover(d.windows, d.target, at, d.look.window.Surfaces); a != 0 {
		return a
	}
	return d.commit(now)
}

// commit spends permit and snapshot, once, when everything else agreed.
func (d *dispatch) commit(now Node) refusal.Answer {
	if d.committed {
		return 0
	}
	spend := func() refusal.Answer { return d.s.looks.Spend(d.snapshot, d.e.cfg.Clock()) }
	if a := d.e.commit(d.running, d.permit, spend); a != 0 {
		return a
	}
	d.committed, d.sentTo = true, now
	d.plan.expect(&now)
	return 0
}

// mayGoOn is the first question of every check: may this dispatch send, or send more? It
// first reads what happened meanwhile, so that nothing follows the user's own input into
// the window (C12.2).
func (d *dispatch) mayGoOn() refusal.Answer {
	for d.noticed() {
	}
	if a := d.e.mayGoOn(d.running); a != 0 || d.committed {
		return a
	}
	return d.e.live(d)
}

// noticed reads one change, if there is one. What was lost here is not lost on the link,
// whose reader makes the dispatch yield.
func (d *dispatch) noticed() bool {
	select {
	case c, ok := <-d.changes:
		switch {
		case !ok:
			d.changes = nil
			return false
		case c.Kind == ChangeInput:
			d.e.userInput(c.Window)
		}
		d.moved = d.moved || d.committed && d.concerns(c)
		return true
	default:
		return false
	}
}

// pointed is asked at each point where a button changes and at the end of a path: the
// topmost surface and what lies there are what the frame showed (C6.1).
func (d *dispatch) pointed(at int, now Under) refusal.Answer {
	if a := d.mayGoOn(); a != 0 {
		return a
	}
	if at < 0 || at >= len(d.plan.input.Points) {
		return refusal.AnswerInvalidPoint
	}
	if a := d.topmost(d.plan.input.Points[at].Surface, now.Surface); a != 0 {
		return a
	}
	if d.index >= 0 {
		if a := d.within(&now); a != 0 {
			return a
		}
		return d.commit(d.sentTo)
	}
	if a := d.shown(at, &now); a != 0 {
		return a
	}
	return d.commit(now.Node)
}

// topmost answers what lies over the surface that was recorded at a point: a window of
// anyone or a surface the frame showed, or one that opened since.
func (d *dispatch) topmost(recorded, now uint64) refusal.Answer {
	switch now {
	case recorded:
		return 0
	case 0:
		return refusal.AnswerInvalidPoint
	}
	if _, ok := surfaceByID(d.look.window.Surfaces, now); ok {
		return refusal.AnswerWindowOccluded
	}
	for i := range d.windows {
		w := &d.windows[i]
		if _, ok := surfaceByID(w.Surfaces, now); ok && w.Identity != d.target.Identity {
			return refusal.AnswerWindowOccluded
		}
	}
	return refusal.AnswerSurfaceNotInFrame
}

// shown compares what is at a point with what the snapshot recorded there. Where it
// recorded no element the picture was compared already.
func (d *dispatch) shown(at int, now *Under) refusal.Answer {
	recorded, _ := surfaceByID(d.look.window.Surfaces, d.plan.input.Points[at].Surface)
	if now.Bounds != (Rect{}) && now.Bounds != recorded.Bounds {
		return refusal.AnswerWindowChanged
	}
	if now.HasNode && now.Node.Secure {
		return refusal.AnswerElementSecure
	}
	i := d.hits[at]
	if i < 0 {
		return 0
	}
	was := &d.look.nodes[i]
	switch {
	case !now.HasNode, now.Node.Object != was.Object, now.Node.Renderer != was.Renderer:
		return refusal.AnswerElementReleased
	case d.look.digestOf(d.e.keys.Hasher(), i, &now.Node) != d.look.digest(i):
		d.changed = changedProperties(was, &now.Node)
		return refusal.AnswerElementDigestMismatch
	}
	return 0
}

// within compares what is at the centre of a bound element with it: the element as it was
// just read, or a descendant that the snapshot recorded (C7.5).
func (d *dispatch) within(now *Under) refusal.Answer {
	if !now.HasNode {
		return refusal.AnswerWindowOccluded
	}
	n := &now.Node
	if n.Object == d.object {
		return d.same(n)
	}
	i := d.look.at(n.Object, n.Renderer)
	switch {
	case i < 0 || !d.look.below(i, d.index):
		return refusal.AnswerWindowOccluded
	case n.Secure:
		return refusal.AnswerElementSecure
	case d.look.digestOf(d.e.keys.Hasher(), i, n) != d.look.digest(i):
		d.changed = changedProperties(&d.look.nodes[i], n)
		return refusal.AnswerElementDigestMismatch
	}
	return 0
}

// keyed is asked at each chunk of keys: the bound element has the application's focus
// (C8.1), and at the first one it is what the snapshot recorded.
func (d *dispatch) keyed(_ int, now Under) refusal.Answer {
	if a := d.mayGoOn(); a != 0 {
		return a
	}
	n := &now.Node
	switch {
	case !now.HasNode, n.Object != d.object, n.Renderer != d.look.nodes[d.index].Renderer,
		now.Surface != d.look.surfaceID(d.index), !now.Focused:
		return refusal.AnswerFocusChanged
	case n.Secure:
		return refusal.AnswerElementSecure
	case d.submitting && !d.typedInto(n):
		return refusal.AnswerElementChanged
	case d.committed && !n.States.Has(commonv1.ElementState_ELEMENT_STATE_ENABLED):
		return refusal.AnswerElementDisabled
	case d.committed:
		return 0
	}
	if a := d.same(n); a != 0 {
		return a
	}
	return d.commit(*n)
}

// managed is asked about the window as it is now, in the same step as the send.
func (d *dispatch) managed(now Window) refusal.Answer {
	if a := d.mayGoOn(); a != 0 {
		return a
	}
	switch was := &d.look.window; {
	case now.Identity != was.Identity:
		return refusal.AnswerWindowChanged
	case now.Page != was.Page:
		return refusal.AnswerPageChanged
	}
	return d.commit(d.sentTo)
}

// live answers why this dispatch may not send any more, before anything is compared: an
// act that was sent already changed its target, and that is not what to say then.
func (e *Executor) live(d *dispatch) refusal.Answer {
	e.mu.Lock()
	defer e.mu.Unlock()
	if a := e.mayStillSend(d.running); a != 0 {
		return a
	}
	if e.state.spent.has(d.permit.id) {
		return refusal.AnswerPermitSpent
	}
	_, a := d.s.looks.Find(d.snapshot, e.cfg.Clock())
	return a
}

// same compares the element as it is now with the one that the snapshot recorded.
func (d *dispatch) same(now *Node) refusal.Answer {
	was := &d.look.nodes[d.index]
	switch {
	case now.Renderer != was.Renderer:
		// Another renderer process drew it (C2.8).
		return refusal.AnswerElementReleased
	case d.look.digestOf(d.e.keys.Hasher(), d.index, now) != d.look.digest(d.index):
		d.changed = changedProperties(was, now)
		return refusal.AnswerElementDigestMismatch
	case now.Secure:
		return refusal.AnswerElementSecure
	case !now.States.Has(commonv1.ElementState_ELEMENT_STATE_ENABLED):
		return refusal.AnswerElementDisabled
	case permit.RuleOf(d.verb).GetComparesValue():
		d.changed = changedByUser(was, now)
		if len(d.changed) > 0 {
			return refusal.AnswerElementChanged
		}
	}
	return 0
}

// changedProperties says which parts of the content differ, never how (C6.4).
func changedProperties(was, now *Node) []commonv1.ElementProperty {
	enabled := commonv1.ElementState_ELEMENT_STATE_ENABLED
	var out []commonv1.ElementProperty
	note := func(differs bool, p commonv1.ElementProperty) {
		if differs {
			out = append(out, p)
		}
	}
	note(was.Role != now.Role || differ(was.Subrole, now.Subrole), commonv1.ElementProperty_ELEMENT_PROPERTY_ROLE)
	note(differ(was.Name, now.Name), commonv1.ElementProperty_ELEMENT_PROPERTY_NAME)
	note(differ(was.Description, now.Description), commonv1.ElementProperty_ELEMENT_PROPERTY_DESCRIPTION)
	note(differ(was.Identifier, now.Identifier), commonv1.ElementProperty_ELEMENT_PROPERTY_IDENTIFIER)
	note(was.States.Has(enabled) != now.States.Has(enabled), commonv1.ElementProperty_ELEMENT_PROPERTY_ENABLED)
	note(was.Secure != now.Secure, commonv1.ElementProperty_ELEMENT_PROPERTY_SECURE)
	note(actionBits(was.Actions) != actionBits(now.Actions), commonv1.ElementProperty_ELEMENT_PROPERTY_ACTIONS)
	note(editable(was) != editable(now), commonv1.ElementProperty_ELEMENT_PROPERTY_STATE)
	note(!editable(was) && !editable(now) && differ(was.Value, now.Value),
		commonv1.ElementProperty_ELEMENT_PROPERTY_VALUE)
	return out
}

// changedByUser compares what the user can change: value and state.
func changedByUser(was, now *Node) []commonv1.ElementProperty {
	var out []commonv1.ElementProperty
	if valuesDiffer(was, now) {
		out = append(out, commonv1.ElementProperty_ELEMENT_PROPERTY_VALUE)
	}
	if (was.States^now.States)&comparedStates != 0 {
		out = append(out, commonv1.ElementProperty_ELEMENT_PROPERTY_STATE)
	}
	return slices.Clip(out)
}

// valuesDiffer compares whole values where both were read in full, else as much as
// every walk reads.
func valuesDiffer(was, now *Node) bool {
	if !was.ValueTruncated && !now.ValueTruncated {
		return was.Value != now.Value
	}
	return differ(was.Value, now.Value)
}

// differ compares texts as far as every walk reads them.
func differ(was, now string) bool {
	return was != now && digest.Clip(was, textMax) != digest.Clip(now, textMax)
}
