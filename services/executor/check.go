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
	if a := d.e.live(d); a != 0 {
		return a
	}
	if a := d.same(&now); a != 0 {
		return a
	}
	at := spot{surface: d.look.surfaceID(d.index), bounds: now.Bounds}
	if a := cover(d.windows, d.target, at, d.look.window.Surfaces); a != 0 {
		return a
	}
	spend := func() refusal.Answer { return d.s.looks.Spend(d.snapshot, d.e.cfg.Clock()) }
	if a := d.e.commit(d.running, d.permit, spend); a != 0 {
		return a
	}
	d.committed, d.sentTo = true, now
	return 0
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
