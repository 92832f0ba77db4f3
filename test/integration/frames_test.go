package integration

import (
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	"fairlead.dev/services/shared/refusal"
	"fairlead.dev/test/harness"
)

// Each row quotes something that is no authority; each has a code of its own, and
// nothing reaches the desk.
func TestActOnWhatIsNoFrameOfItIsRefusedByItsOwnCode(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	tests := []struct {
		name string
		want refusal.Code
		// send prepares, moves the mark past what it did, and sends.
		send func(t *testing.T, a *harness.Agent, mark *int) *hostv1.ActResponse
	}{
		{
			"stale epoch: another act on a spent frame", refusal.StaleEpoch,
			func(_ *testing.T, a *harness.Agent, mark *int) *hostv1.ActResponse {
				spent, other := a.Frame.GetFrame(), press(a, "8")
				a.Do(press(a, "7"))
				*mark = s.Mark()
				return a.DoOn(spent, other)
			},
		},
		{
			"stale frame: observed again since", refusal.StaleFrame,
			func(_ *testing.T, a *harness.Agent, _ *int) *hostv1.ActResponse {
				old := a.Frame.GetFrame()
				a.See(calculator, "Calculator")
				return a.DoOn(old, press(a, "7"))
			},
		},
		{
			"duplicate: the act that spent the frame, under another act id", refusal.DuplicateAction,
			func(_ *testing.T, a *harness.Agent, mark *int) *hostv1.ActResponse {
				spent, same := a.Frame.GetFrame(), press(a, "7")
				a.Do(same)
				*mark = s.Mark()
				return a.DoOn(spent, same)
			},
		},
		{
			"retired: the act the executor refused on this frame", refusal.RetiredAction,
			func(t *testing.T, a *harness.Agent, _ *int) *hostv1.ActResponse {
				o := s.Object("Calculator", commonv1.Role_ROLE_BUTTON, "7")
				s.Must(s.Desk.DisableElement(o, true))
				defer func() { s.Must(s.Desk.DisableElement(o, false)) }()
				harness.NothingSent(t, a.Do(press(a, "7")), refusal.TargetChanged)
				return a.Do(press(a, "7"))
			},
		},
		{
			"wrong binding: an element id the frame does not have", refusal.InvalidBinding,
			func(_ *testing.T, a *harness.Agent, _ *int) *hostv1.ActResponse { return a.Do(harness.Click(9999)) },
		},
		{
			"no active frame: nothing observed in this turn", refusal.NoActiveFrame,
			func(_ *testing.T, a *harness.Agent, _ *int) *hostv1.ActResponse {
				a.BeginTurn()
				a.AcquireAll(calculator)
				return a.Do(press(a, "7"))
			},
		},
		{
			"no active frame: nothing observed and nothing quoted", refusal.NoActiveFrame,
			func(_ *testing.T, a *harness.Agent, _ *int) *hostv1.ActResponse {
				a.BeginTurn()
				return a.DoOn(nil, harness.Click(1))
			},
		},
		{
			"other turn: a turn that is over", refusal.TurnEnded,
			func(_ *testing.T, a *harness.Agent, _ *int) *hostv1.ActResponse {
				act, old := on(a, press(a, "7")), a.Turn
				a.BeginTurn()
				a.Turn = old
				r, _ := a.Send(act)
				return r
			},
		},
		{
			"other turn: the turn ended and no other began", refusal.TurnEnded,
			func(_ *testing.T, a *harness.Agent, _ *int) *hostv1.ActResponse {
				a.EndTurn()
				return a.Do(press(a, "7"))
			},
		},
		{
			"frame of another session", refusal.StaleFrame,
			func(t *testing.T, a *harness.Agent, _ *int) *hostv1.ActResponse {
				b := ready(t, s, calculator, "Calculator")
				return a.DoOn(b.Frame.GetFrame(), press(a, "7"))
			},
		},
		{
			"epoch of the future", refusal.StaleEpoch,
			func(_ *testing.T, a *harness.Agent, _ *int) *hostv1.ActResponse {
				f := a.Frame.GetFrame()
				return a.DoOn(&commonv1.FrameRef{FrameId: f.GetFrameId(), Epoch: f.GetEpoch() + 1}, press(a, "7"))
			},
		},
		{
			"unknown session", refusal.SessionUnknown,
			func(_ *testing.T, a *harness.Agent, _ *int) *hostv1.ActResponse {
				a.Session = proto.CloneOf(a.Session)
				a.Session.SessionId = "s-nobody"
				return a.Do(press(a, "7"))
			},
		},
		{
			"session that ended", refusal.SessionUnknown,
			func(_ *testing.T, a *harness.Agent, _ *int) *hostv1.ActResponse {
				a.EndSession()
				return a.Do(press(a, "7"))
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := ready(t, s, calculator, "Calculator")
			mark := s.Mark()
			harness.NothingSent(t, tt.send(t, a, &mark), tt.want)
			s.Untouched(t, mark)
		})
	}
}

func TestStaleGenerationIsRefusedAndTheAnswerCarriesTheCurrentFence(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	a := ready(t, s, calculator, "Calculator")
	mark := s.Mark()
	for _, tt := range []struct {
		name  string
		field func(*commonv1.Fence) *uint64
	}{
		{"host", func(f *commonv1.Fence) *uint64 { return &f.Host }},
		{"session", func(f *commonv1.Fence) *uint64 { return &f.Session }},
		{"executor", func(f *commonv1.Fence) *uint64 { return &f.Executor }},
		{"policy", func(f *commonv1.Fence) *uint64 { return &f.Policy }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			current := a.Fence
			defer func() { a.Fence = current }()
			for _, wrong := range []uint64{*tt.field(current) + 1, *tt.field(current) - 1} {
				if wrong == 0 {
					continue
				}
				a.Fence = proto.CloneOf(current)
				*tt.field(a.Fence) = wrong
				r := a.Do(press(a, "7"))
				harness.NothingSent(t, r, refusal.StaleGeneration)
				if !proto.Equal(r.GetFence(), current) {
					t.Errorf("fence %v, want %v", r.GetFence(), current)
				}
			}
		})
	}
	s.Untouched(t, mark)
	if r := a.Do(press(a, "7")); r.GetOutcome() != commonv1.Outcome_OUTCOME_OK {
		t.Errorf("with the current fence: %v", r.GetRefusal())
	}
}

func TestRequestThatCannotBeUnderstoodIsAStatus(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	a := ready(t, s, calculator, "Calculator")
	mark := s.Mark()
	for _, tt := range []struct {
		name  string
		want  codes.Code
		spoil func(*hostv1.ActRequest)
	}{
		{"wrong secret", codes.Unauthenticated, func(r *hostv1.ActRequest) {
			r.Session = proto.CloneOf(r.GetSession())
			r.Session.SessionSecret[3] ^= 1
		}},
		{"short secret", codes.InvalidArgument, func(r *hostv1.ActRequest) {
			r.Session = &commonv1.SessionRef{SessionId: r.GetSession().GetSessionId(), SessionSecret: []byte{1}}
		}},
		{"no fence", codes.InvalidArgument, func(r *hostv1.ActRequest) { r.Fence = nil }},
		{"no session generation", codes.InvalidArgument, func(r *hostv1.ActRequest) {
			r.Fence = proto.CloneOf(r.GetFence())
			r.Fence.Session = 0
		}},
		{"no frame quoted although there is one", codes.InvalidArgument, func(r *hostv1.ActRequest) { r.Frame = nil }},
		{"no element named", codes.InvalidArgument, func(r *hostv1.ActRequest) { r.Act = harness.Click(0) }},
		{"no act", codes.InvalidArgument, func(r *hostv1.ActRequest) { r.Act = nil }},
		{"empty act", codes.InvalidArgument, func(r *hostv1.ActRequest) { r.Act = &commonv1.Act{} }},
		{"no act id", codes.InvalidArgument, func(r *hostv1.ActRequest) { r.ActId = "" }},
		{"no turn", codes.InvalidArgument, func(r *hostv1.ActRequest) { r.TurnId = "" }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req := on(a, press(a, "7"))
			a.Fill(req)
			tt.spoil(req)
			_, err := a.Acts.Act(a.Context(), req)
			harness.Status(t, err, tt.want)
		})
	}
	s.Untouched(t, mark)
	if r := a.Do(press(a, "7")); r.GetOutcome() != commonv1.Outcome_OUTCOME_OK {
		t.Errorf("the frame did not stay current: %v", r.GetRefusal())
	}
}

func TestActIDAnswersTheSameActFromTheRecordAndSendsOnce(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	a := ready(t, s, calculator, "Calculator")
	mark := s.Mark()
	req := on(a, press(a, "7"))
	req.ActId = "once"
	first, err := a.Send(req)
	s.Must(err)
	harness.Verified(t, first, commonv1.VerificationMethod_VERIFICATION_METHOD_TREE_DELTA)

	again, err := a.Send(&hostv1.ActRequest{ActId: "once", Frame: req.GetFrame(), Act: req.GetAct()})
	s.Must(err)
	want := proto.CloneOf(first)
	want.Observation, want.ObservationMissing = nil, 0
	if !proto.Equal(again, want) {
		t.Errorf("recorded answer:\n%v\nwant\n%v", again, want)
	}
	_, err = a.Send(&hostv1.ActRequest{ActId: "once", Frame: req.GetFrame(), Act: press(a, "8")})
	harness.Status(t, err, codes.InvalidArgument)
	s.Touched(t, mark, "7")
}

func TestRefusedActIsRecordedUnderItsActID(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	a := ready(t, s, form, "Form")
	mark := s.Mark()
	send := func() *hostv1.ActResponse {
		req := on(a, press(a, "Delete"))
		req.ActId = "refused"
		r, err := a.Send(req)
		s.Must(err)
		return r
	}
	first, again := send(), send()
	harness.NothingSent(t, first, refusal.UnsupportedAction)
	harness.NothingSent(t, again, refusal.UnsupportedAction)
	s.Untouched(t, mark)
}
