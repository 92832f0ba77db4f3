package sessionhost

import (
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	"fairlead.dev/services/shared/ident"
)

// snapshot is a good one with n elements.
func snapshot(n int) *executorv1.Snapshot {
	s := &executorv1.Snapshot{
		SnapshotId: "n-1", Window: &commonv1.WindowIdentity{WindowId: 1, AppId: "app"}, Title: "T",
		Surfaces: []*commonv1.Surface{{SurfaceId: 1}}, Tokens: make([]byte, 16*n), Digests: make([]byte, 16*n),
		Objects: make([]byte, 8*n),
	}
	for i := range n {
		s.Objects[i*8+7] = byte(i + 1)
		s.Elements = append(s.Elements, &commonv1.Element{
			Depth: uint32(min(i, 1)), Role: commonv1.Role_ROLE_BUTTON, Name: "b", Bounds: &commonv1.Rect{},
			States: []commonv1.ElementState{commonv1.ElementState_ELEMENT_STATE_ENABLED},
		})
	}
	return s
}

func unknown() []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, 99, protowire.VarintType), 1)
}

func TestAnAnswerThatCannotBeReadIsTheWorstCase(t *testing.T) {
	if _, err := readSnapshot(snapshot(3)); err != nil {
		t.Fatalf("a good snapshot: %v", err)
	}
	for name, spoil := range map[string]func(*executorv1.Snapshot){
		"no id":                func(s *executorv1.Snapshot) { s.SnapshotId = "" },
		"no window":            func(s *executorv1.Snapshot) { s.Window = nil },
		"no surface":           func(s *executorv1.Snapshot) { s.Surfaces = nil },
		"tokens too short":     func(s *executorv1.Snapshot) { s.Tokens = s.Tokens[1:] },
		"digests too long":     func(s *executorv1.Snapshot) { s.Digests = append(s.Digests, 0) },
		"objects missing":      func(s *executorv1.Snapshot) { s.Objects = nil },
		"unknown role":         func(s *executorv1.Snapshot) { s.Elements[1].Role = 9999 },
		"negative role":        func(s *executorv1.Snapshot) { s.Elements[1].Role = -1 },
		"unknown state":        func(s *executorv1.Snapshot) { s.Elements[1].States = []commonv1.ElementState{31} },
		"unknown action":       func(s *executorv1.Snapshot) { s.Elements[1].Actions = []commonv1.ElementAction{99} },
		"depth that jumps":     func(s *executorv1.Snapshot) { s.Elements[1].Depth = 2 },
		"root that is not one": func(s *executorv1.Snapshot) { s.Elements[0].Depth = 1 },
		"surface out of range": func(s *executorv1.Snapshot) { s.Elements[1].Surface = 1 },
		"nil element":          func(s *executorv1.Snapshot) { s.Elements[1] = nil },
		"value of a secure field": func(s *executorv1.Snapshot) {
			s.Elements[1].Role, s.Elements[1].Value = commonv1.Role_ROLE_SECURE_FIELD, "x"
		},
		"unknown field":             func(s *executorv1.Snapshot) { s.ProtoReflect().SetUnknown(unknown()) },
		"unknown field, element":    func(s *executorv1.Snapshot) { s.Elements[1].ProtoReflect().SetUnknown(unknown()) },
		"unknown field, rectangle":  func(s *executorv1.Snapshot) { s.Elements[1].Bounds.ProtoReflect().SetUnknown(unknown()) },
		"unknown enum in a surface": func(s *executorv1.Snapshot) { s.Surfaces[0].Kind = 99 },
	} {
		t.Run(name, func(t *testing.T) {
			s := snapshot(3)
			spoil(s)
			if _, err := readSnapshot(s); err == nil {
				t.Error("it was read")
			}
		})
	}
}

func TestADispatchAnswerThatCannotBeReadIsUnknown(t *testing.T) {
	for name, a := range map[string]*executorv1.DispatchResponse{
		"no outcome":     {},
		"unknown route":  {Outcome: commonv1.Outcome_OUTCOME_OK, Route: 99},
		"unknown effect": {Outcome: commonv1.Outcome_OUTCOME_OK, Effect: 99},
	} {
		if r := respond("a", a); r.GetOutcome() != commonv1.Outcome_OUTCOME_UNKNOWN || r.GetRefusal() == nil || verified(r) {
			t.Errorf("%s: %v", name, r)
		}
	}
}

func TestVerifiedNeedsOutcomeEffectAndSight(t *testing.T) {
	ok, confirmed := commonv1.Outcome_OUTCOME_OK, commonv1.Effect_EFFECT_CONFIRMED
	for outcome := range commonv1.Outcome_name {
		for effect := range commonv1.Effect_name {
			for missing := range commonv1.ObservationMissing_name {
				r := &hostv1.ActResponse{
					Outcome: commonv1.Outcome(outcome), Effect: commonv1.Effect(effect),
					ObservationMissing: commonv1.ObservationMissing(missing),
				}
				byDesign := missing == int32(commonv1.ObservationMissing_OBSERVATION_MISSING_TARGET_CLOSED) ||
					missing == int32(commonv1.ObservationMissing_OBSERVATION_MISSING_TARGET_MINIMISED)
				want := outcome == int32(ok) && effect == int32(confirmed) && byDesign
				if verified(r) != want {
					t.Errorf("outcome %d effect %d missing %d: verified = %v", outcome, effect, missing, !want)
				}
			}
		}
	}
}

// FuzzSnapshot feeds what an executor could answer: it is taken whole or refused, and
// what was taken renders.
func FuzzSnapshot(f *testing.F) {
	good, err := proto.Marshal(snapshot(3))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Fuzz(func(t *testing.T, b []byte) {
		s := &executorv1.Snapshot{}
		if proto.Unmarshal(b, s) != nil {
			return
		}
		w, err := readSnapshot(s)
		if err != nil {
			return
		}
		ids := make([]uint32, len(w.objects))
		for i := range ids {
			ids[i] = uint32(i + 1)
		}
		w.frame(ids, 1, wanted{})
		w.observation(ident.Frame{}, ids, commonv1.Render_RENDER_BOTH, nil, ident.Frame{})
		w.observation(ident.Frame{}, ids, commonv1.Render_RENDER_CHANGES, w, ident.Frame{})
	})
}
