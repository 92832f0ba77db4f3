package policy

import (
	"fairlead.dev/services/shared/refusal"
	"fairlead.dev/services/shared/telemetry"
)

// foresee says of a sequence whether any of its steps would be refused now: the first one
// that would, counted from 1, and why (C3.9). Each step is judged by the function that
// judges acts (C0.8). Nothing is signed and no intent is recorded, because a yes lets
// nothing be sent: each step is decided on again when its turn comes. The answer goes on
// record as one decision; an answer that cannot is no answer, and of no step.
func (p *Policy) foresee(steps []act) (uint32, answer) {
	step, ans := p.judgeAll(steps)
	// A yes is about where the sequence begins and no one verb; a no is about its step.
	first := steps[0]
	about := act{
		session: first.session, id: first.id, app: first.app, hasWindow: first.hasWindow, window: first.window,
	}
	if step != 0 {
		about = steps[step-1]
	}
	d := decisionRecord(p.generation, about, ans)
	d.Steps, d.Step = uint32(len(steps)), step
	if !p.note(d) {
		return 0, answer{code: refusal.ServiceUnavailable}
	}
	if step != 0 {
		p.log.Info("sequence refused", telemetry.SessionID(about.session), telemetry.ActID(about.id),
			telemetry.Enum(ans.code), telemetry.Count(int(step)))
	}
	return step, ans
}

// judgeAll judges the steps up to the first that is refused. A yes reaches as far as the
// step that reaches furthest.
func (p *Policy) judgeAll(steps []act) (uint32, answer) {
	var yes answer
	for i, a := range steps {
		ans := p.judge(a)
		if ans.code != 0 {
			return uint32(i) + 1, ans
		}
		yes.effect = max(yes.effect, ans.effect)
	}
	return 0, yes
}
