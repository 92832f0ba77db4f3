package sessionhost

import (
	"context"
	"crypto/sha256"

	"google.golang.org/protobuf/proto"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/permit"
	"fairlead.dev/services/shared/refusal"
)

// actsMax is how many answers a session keeps, by act id.
const actsMax = 256

// actBook is the answers of one session's acts: outcome, refusal and digest, never the
// observation.
type actBook struct {
	records map[ident.ActID]*actRecord
	order   []ident.ActID // oldest first
}

// actRecord is what is kept of an act.
type actRecord struct {
	digest   [32]byte
	response *hostv1.ActResponse
}

// asked is one request under an act id.
type asked struct {
	id     ident.ActID
	digest [32]byte
}

var errOtherAct = refusal.Unusable("act_id was used for another act; use a fresh act_id")

// recorded returns the answer an act id got before (C0.5). The same id with other
// parameters is an unusable request.
func (b *actBook) recorded(a asked) (*hostv1.ActResponse, error) {
	r := b.records[a.id]
	if r == nil {
		return nil, nil
	}
	if r.digest != a.digest {
		return nil, errOtherAct
	}
	again, _ := proto.Clone(r.response).(*hostv1.ActResponse)
	return again, nil
}

// record keeps an answer. A returned claim records nothing: the same act may be sent
// again under its id (C3.5).
func (b *actBook) record(a asked, resp *hostv1.ActResponse) {
	if resp.GetRefusal().GetClaimEnd() == commonv1.ClaimEnd_CLAIM_END_RETURNED {
		return
	}
	if b.records == nil {
		b.records = map[ident.ActID]*actRecord{}
	}
	if _, known := b.records[a.id]; !known {
		if len(b.order) == actsMax {
			delete(b.records, b.order[0])
			b.order = b.order[1:]
		}
		b.order = append(b.order, a.id)
	}
	b.records[a.id] = &actRecord{digest: a.digest, response: withoutObservation(resp)}
}

func withoutObservation(resp *hostv1.ActResponse) *hostv1.ActResponse {
	return &hostv1.ActResponse{
		ActId: resp.GetActId(), Refusal: resp.GetRefusal(), Verified: resp.GetVerified(), Outcome: resp.GetOutcome(),
		Tier: resp.GetTier(), Route: resp.GetRoute(), Effect: resp.GetEffect(), Verification: resp.GetVerification(),
		DeliveredCount: resp.GetDeliveredCount(), MayStillHappen: resp.GetMayStillHappen(), Desk: resp.GetDesk(),
		WindowChanges: resp.GetWindowChanges(), ObservationMissing: resp.GetObservationMissing(),
	}
}

// askedBy tells two requests under one act id apart, without keeping either.
func askedBy(key ident.ActKey, id string, params ...proto.Message) asked {
	h := sha256.New()
	h.Write(key[:])
	for _, p := range params {
		b := permit.Canonical(p)
		h.Write([]byte{byte(len(b) >> 24), byte(len(b) >> 16), byte(len(b) >> 8), byte(len(b))})
		h.Write(b)
	}
	return asked{id: ident.ActID(id), digest: [32]byte(h.Sum(nil))}
}

// running is an act that waits or runs: who sends the same again joins it, up to as many
// as may wait in a session's queue.
type running struct {
	digest [32]byte
	joined int
	done   chan struct{}
	resp   *hostv1.ActResponse
	err    error
}

// join makes the caller the one who runs an act, or hands it the one that runs already.
// The same id with other parameters is an unusable request.
func (s *session) join(a asked) (r *running, first bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.running[a.id]; r != nil {
		switch {
		case r.digest != a.digest:
			return nil, false, errOtherAct
		case r.joined == queueSession:
			return nil, false, refusal.New(refusal.Busy)
		}
		r.joined++
		return r, false, nil
	}
	r = &running{digest: a.digest, done: make(chan struct{})}
	s.running[a.id] = r
	return r, true, nil
}

// await waits for the act that runs already and answers as it is answered.
func (r *running) await(ctx context.Context) (*hostv1.ActResponse, error) {
	select {
	case <-r.done:
		again, _ := proto.Clone(r.resp).(*hostv1.ActResponse)
		return again, r.err
	case <-ctx.Done():
		return nil, refusal.New(refusal.Aborted)
	}
}

// over hands the answer to whoever joined.
func (s *session) over(a asked, r *running, resp *hostv1.ActResponse, err error) {
	s.mu.Lock()
	delete(s.running, a.id)
	s.mu.Unlock()
	r.resp, r.err = resp, err
	close(r.done)
}

// runs reports whether an act of that id waits or runs.
func (s *session) runs(id ident.ActID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running[id] != nil
}

// GetAct tells the outcome recorded under an act id. It never looks at the fence.
func (h *Host) GetAct(ctx context.Context, req *hostv1.GetActRequest) (*hostv1.GetActResponse, error) {
	resp := &hostv1.GetActResponse{}
	s, err := h.authenticate(ctx, req)
	if err == nil {
		resp.State, resp.Result, err = s.known(ident.ActID(req.GetActId()))
	}
	resp.Fence = h.fenceOf(s)
	resp.Refusal, err = s.told(err)
	return resp, err
}

// known looks for a running act first: it is recorded before it stops running.
func (s *session) known(id ident.ActID) (hostv1.ActState, *hostv1.ActResponse, error) {
	if s.runs(id) {
		return hostv1.ActState_ACT_STATE_RUNNING, nil, nil
	}
	var result *hostv1.ActResponse
	err := s.do(func(st *state) {
		if r := st.acts.records[id]; r != nil {
			result, _ = proto.Clone(r.response).(*hostv1.ActResponse)
		}
	})
	if err != nil || result == nil {
		return hostv1.ActState_ACT_STATE_NOT_RECORDED, nil, err
	}
	return hostv1.ActState_ACT_STATE_ENDED, result, nil
}
