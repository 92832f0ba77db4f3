package sessionhost

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	policyv1 "fairlead.dev/gen/fairlead/policy/v1"
	machine "fairlead.dev/services/sessionhost/internal/session"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/permit"
	"fairlead.dev/services/shared/refusal"
)

// ActSequence does up to 12 acts, each bound in the frame the one before it left (C3.9).
func (h *Host) ActSequence(req *hostv1.ActSequenceRequest, out hostv1.ActService_ActSequenceServer) error {
	s, err := h.authenticate(out.Context(), req)
	if err != nil {
		return h.refuseSequence(s, nil, err, out)
	}
	q, err := s.theSequence(req)
	if err != nil && !refused(err) {
		return err
	}
	unusable := err
	end, err := queued(out.Context(), h, s, req, func(ctx context.Context, c *call) (ending, error) {
		if unusable != nil {
			return ending{}, unusable
		}
		return h.sequence(ctx, c, q, func(step int, resp *hostv1.ActResponse) error {
			resp.Fence = h.fenceOf(s)
			return out.Send(&hostv1.ActSequenceResponse{Fence: h.fenceOf(s), Step: uint32(step), Result: resp})
		})
	})
	if err != nil {
		return h.refuseSequence(s, q, err, out)
	}
	return out.Send(&hostv1.ActSequenceResponse{
		Fence: h.fenceOf(s), CompletedSteps: uint32(end.done), Observation: end.left, Last: true,
	})
}

// ending is how a sequence ended: how many steps came out OK, and the frame that the step
// before the last one left, where that one returned none and it still stands.
type ending struct {
	done int
	left *commonv1.Observation
}

func (h *Host) refuseSequence(
	s *session, q *sequence, err error, out hostv1.ActService_ActSequenceServer,
) error {
	r, status := s.told(err)
	if r != nil && q != nil {
		r.FrameStillCurrent = s.currently(q.ref)
	}
	if status != nil {
		return status
	}
	return out.Send(&hostv1.ActSequenceResponse{Fence: h.fenceOf(s), Refusal: r, Last: true})
}

// sequence is a decoded sequence.
type sequence struct {
	id    string
	ref   ident.Frame
	hint  *hostv1.TargetHint
	after *hostv1.After
	steps []sequenceStep
}

type sequenceStep struct {
	act  *commonv1.Act
	role commonv1.Role
	name string
}

var errStep = refusal.Unusable("each step is an act on an element, without element_id: say its role and name")

// theSequence decodes a sequence once, before it queues (C3.1). Every step is an act on
// one element, found by role and name.
func (s *session) theSequence(req *hostv1.ActSequenceRequest) (*sequence, error) {
	q := &sequence{
		id: req.GetActId(), ref: frameFromWire(req.GetFrame()), hint: req.GetHint(), after: req.GetAfter(),
	}
	for i, one := range req.GetSteps() {
		if idField(one.GetAct()) == nil || elementOf(one.GetAct()) != 0 {
			return nil, errStep
		}
		a, err := normalised(one.GetAct())
		if err != nil {
			return nil, atStep(err, i)
		}
		q.steps = append(q.steps, sequenceStep{act: a, role: one.GetRole(), name: one.GetName()})
	}
	return q, nil
}

// atStep says which step a refusal is about.
func atStep(err error, i int) error {
	if !refused(err) {
		return err
	}
	why := refusal.As(err)
	d := &refusal.Detail{}
	if why.Detail != nil {
		d, _ = proto.Clone(why.Detail).(*refusal.Detail)
	}
	d.Step = uint32(i + 1)
	return &refusal.Error{Code: why.Code, Detail: d, Claim: why.Claim}
}

// sequence tells the story of a sequence. It is decided as a whole before anything is
// sent. Each step is then a single act with its own claim, permit and intent; it stops at
// the first that does not come out OK, with the frame it has. An id that was used is
// answered from the record, and nothing is done again (C0.5).
func (h *Host) sequence(
	ctx context.Context, c *call, q *sequence, tell func(int, *hostv1.ActResponse) error,
) (end ending, err error) {
	if done, known, err := c.told(q, tell); known || err != nil {
		return ending{done: done}, err
	}
	if err := c.foreseen(ctx, q); err != nil {
		return end, err
	}
	for i := range q.steps {
		resp, err := h.step(ctx, c, q, i)
		if err != nil && !refused(err) {
			return end, err
		}
		if err != nil {
			resp = c.refusedStep(q, i, err)
		}
		ok := resp.GetOutcome() == commonv1.Outcome_OUTCOME_OK && resp.GetObservation() != nil
		last := i == len(q.steps)-1 || !ok
		if resp.GetOutcome() == commonv1.Outcome_OUTCOME_OK {
			end.done++
		}
		if !last {
			// Only the last step that was begun shows its observation.
			end.left, resp.Observation = resp.GetObservation(), nil
		}
		if err := tell(i+1, resp); err != nil {
			return end, err
		}
		if last {
			end.left = c.stillShown(end.left, resp)
			return end, nil
		}
	}
	return end, nil
}

// refusedStep is a step that was refused before it was sent.
func (c *call) refusedStep(q *sequence, i int, err error) *hostv1.ActResponse {
	r, _ := c.s.told(atStep(err, i))
	return &hostv1.ActResponse{
		ActId: q.stepID(i), Refusal: r, Outcome: commonv1.Outcome_OUTCOME_REFUSED, Route: commonv1.Route_ROUTE_NONE,
	}
}

// stillShown is the observation of the step before, where the last one returned none and
// its frame is the current one: the frame the sequence stops with (C3.9).
func (c *call) stillShown(left *commonv1.Observation, last *hostv1.ActResponse) *commonv1.Observation {
	if left == nil || last.GetObservation() != nil || !c.s.currently(frameFromWire(left.GetFrame())) {
		return nil
	}
	return left
}

func (q *sequence) stepID(i int) string { return fmt.Sprintf("%s.%d", q.id, i+1) }

// told answers a sequence whose first step is on record from the record.
func (c *call) told(q *sequence, tell func(int, *hostv1.ActResponse) error) (done int, known bool, err error) {
	var before []*hostv1.ActResponse
	err = c.do(func(st *state) error {
		for i := range q.steps {
			r, err := st.acts.recorded(c.s.stepAsked(q, i))
			if err != nil || r == nil {
				return err
			}
			before = append(before, r)
		}
		return nil
	})
	for i, r := range before {
		if r.GetOutcome() == commonv1.Outcome_OUTCOME_OK {
			done++
		}
		if err == nil {
			err = tell(i+1, r)
		}
	}
	return done, len(before) > 0, err
}

func (s *session) stepAsked(q *sequence, i int) asked {
	step := q.steps[i]
	return askedBy(s.actKey, q.stepID(i), frameToWire(q.ref), q.hint, &hostv1.SequenceStep{
		Act: step.act, Role: step.role, Name: step.name,
	})
}

// foreseen binds the first step and asks policy about all of them, before anything is
// sent: a sequence is answered for as a whole (C3.9).
func (c *call) foreseen(ctx context.Context, q *sequence) error {
	var facts []*policyv1.ActFacts
	err := c.do(func(st *state) error {
		if _, no := machine.ActTicket(st.machine); no != nil {
			return no
		}
		f, why := st.quoted(q.ref)
		if why != nil {
			return why
		}
		if contradicts(q.hint, f) {
			return refusal.New(refusal.TargetMismatch)
		}
		for _, step := range q.steps {
			facts = append(facts, &policyv1.ActFacts{
				Verb: permit.VerbOf(step.act), Window: windowToWire(f.Window), Page: pageToWire(f.Page),
				AppId: f.Window.App, Role: step.role, Secure: step.role == commonv1.Role_ROLE_SECURE_FIELD,
				TextLength: textLength(step.act), Destination: f.Destination,
			})
		}
		return nil
	})
	if err != nil {
		return err
	}
	p, _, err := c.s.policyLink(ctx)
	if err != nil {
		return c.failed(err)
	}
	step, err := p.Foresee(ctx, &policyv1.ForeseeRequest{SessionId: string(c.s.id), ActId: q.id, Steps: facts})
	if err != nil && step > 0 {
		err = atStep(err, int(step)-1)
	}
	if err != nil {
		return c.failed(err)
	}
	return nil
}

// afterStep is how the observation after a step is asked for. Only the last one is
// shown, so only it carries a picture.
func (q *sequence) afterStep(i int) *hostv1.After {
	if i == len(q.steps)-1 {
		return q.after
	}
	return &hostv1.After{Picture: hostv1.PictureWish_PICTURE_WISH_WITHOUT}
}

// step does one step as the single act it is, on the frame that is current now.
func (h *Host) step(ctx context.Context, c *call, q *sequence, i int) (*hostv1.ActResponse, error) {
	one := q.steps[i]
	a, _ := proto.Clone(one.act).(*commonv1.Act)
	b := &bound{
		asked: c.s.stepAsked(q, i), act: a, args: permit.Arguments(a), verb: permit.VerbOf(a), ref: q.ref, hint: q.hint,
		after: q.afterStep(i), actID: q.stepID(i), dispatch: ident.New("d"),
	}
	if err := c.do(func(st *state) error { return st.bindStep(b, one, i) }); err != nil {
		return nil, err
	}
	return h.act(ctx, c, b)
}

// bindStep finds the one element a step is about: the first step's in the frame the
// sequence quotes, every other's in the one that is current now.
func (st *state) bindStep(b *bound, one sequenceStep, i int) error {
	if _, no := machine.ActTicket(st.machine); no != nil {
		return no // what holds the session says more than that its frame is gone
	}
	f := st.frames.Current()
	if f == nil {
		return refusal.New(refusal.NoActiveFrame)
	}
	if i > 0 {
		b.ref = f.Frame
	}
	id, why := f.Unique(int32(one.role), one.name)
	if why != nil {
		return why
	}
	setElement(b.act, id)
	return nil
}
