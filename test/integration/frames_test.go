package integration

import (
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
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

// applied is the tree that a difference makes of the one it is against (C2.4).
func applied(t *testing.T, old []*commonv1.Element, o *commonv1.Observation) []*commonv1.Element {
	t.Helper()
	d := o.GetDifference()
	if d == nil {
		t.Fatalf("no difference: %s", o.GetOutline())
	}
	if d.GetUnchanged() {
		if len(d.GetPieces())+len(d.GetRemoved()) != 0 {
			t.Errorf("nothing changed, and %v", d)
		}
		return old
	}
	var out []*commonv1.Element
	for _, p := range d.GetPieces() {
		if p.GetElement() != nil {
			out = append(out, p.GetElement())
			continue
		}
		out = append(out, old[p.GetFrom():p.GetFrom()+p.GetCount()]...)
	}
	for _, gone := range d.GetRemoved() {
		if slices.ContainsFunc(out, func(e *commonv1.Element) bool { return e.GetId() == gone }) {
			t.Errorf("%d is removed and there", gone)
		}
	}
	return out
}

func sameTree(t *testing.T, what string, got, want []*commonv1.Element) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d elements, want %d", what, len(got), len(want))
	}
	for i := range want {
		if !proto.Equal(got[i], want[i]) {
			t.Fatalf("%s: element %d is\n%v\nwant\n%v", what, i, got[i], want[i])
		}
	}
}

// C2.4: a difference applied to the tree it is against is the tree of now, act after act,
// and the agent reads it in fewer words. An explicit observe is always the whole.
func TestDifferenceAppliedToTheOldTreeIsTheTreeOfNow(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	a := ready(t, s, form, "Form")
	tree := a.Frame.GetElements()
	details := commonv1.Role_ROLE_DISCLOSURE
	byName := func(role commonv1.Role, name string) uint32 {
		t.Helper()
		for _, e := range tree {
			if e.GetRole() == role && e.GetName() == name {
				return e.GetId()
			}
		}
		t.Fatalf("no %q", name)
		return 0
	}
	for i, act := range []func() *commonv1.Act{
		func() *commonv1.Act { return harness.SetValue(byName(isText, "Name"), "Zoë 🦊") },
		func() *commonv1.Act { return harness.SetExpanded(true)(byName(details, "Details")) },
		func() *commonv1.Act { return harness.Click(byName(isCheck, "Advanced")) },
		func() *commonv1.Act { return harness.Click(byName(isButton, "More")) },
		func() *commonv1.Act { return harness.SetExpanded(false)(byName(details, "Details")) },
		func() *commonv1.Act { return harness.SetExpanded(false)(byName(details, "Details")) },
		func() *commonv1.Act { return harness.Click(byName(isButton, "More")) },
	} {
		quoted := a.Frame.GetFrame()
		req := on(a, act())
		req.After = &hostv1.After{Render: commonv1.Render_RENDER_CHANGES}
		r, err := a.Send(req)
		s.Must(err)
		o := r.GetObservation()
		if r.GetOutcome() != commonv1.Outcome_OUTCOME_OK || o == nil || len(o.GetElements()) != 0 {
			t.Fatalf("act %d: %v, %v", i, r.GetOutcome(), r.GetRefusal())
		}
		if d := o.GetDifference(); !proto.Equal(d.GetBase(), quoted) || d.GetUnchanged() != (i == 5) {
			t.Errorf("act %d: base %v, unchanged %v", i, d.GetBase(), d.GetUnchanged())
		}
		tree = applied(t, tree, o)
		if int(o.GetElementCount()) != len(tree) {
			t.Errorf("act %d: %d elements, said to be %d", i, len(tree), o.GetElementCount())
		}
	}
	full := a.Look(&hostv1.ObserveRequest{
		Target: &hostv1.ObserveRequest_Window{Window: a.Frame.GetWindow()}, Render: commonv1.Render_RENDER_ELEMENTS,
	})
	sameTree(t, "after all acts", tree, full.GetObservation().GetElements())
	// Whoever asks for changes without an act gets all of it.
	explicit := a.Look(&hostv1.ObserveRequest{
		Target: &hostv1.ObserveRequest_Window{Window: a.Frame.GetWindow()}, Render: commonv1.Render_RENDER_CHANGES,
	}).GetObservation()
	if explicit.GetDifference() != nil || !strings.Contains(explicit.GetOutline(), "Submit") {
		t.Errorf("an explicit observe is a difference: %s", explicit.GetOutline())
	}
}

// C2.4: an act that leaves another tree is answered with all of it.
func TestTreeThatIsAnotherOneIsSentWhole(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	a := ready(t, s, form, "Form")
	s.Must(s.Desk.Delay(form, 300*time.Millisecond))
	req := on(a, press(a, "More"))
	req.After = &hostv1.After{Render: commonv1.Render_RENDER_CHANGES}
	running := a.Start(a.Context(), req)
	s.AwaitReached(0, 1)
	s.Must(s.Desk.Populate(s.Window("Form").ID, 60))
	r := a.Wait(running)
	if o := r.GetObservation(); o.GetDifference() != nil || !strings.Contains(o.GetOutline(), "Item 3") {
		t.Errorf("%v, %s", r.GetRefusal(), o.GetOutline())
	}
}

// C2.4: what an act leaves comes from the executor as a change against the quoted tree,
// and the host holds the whole of it all the same.
func TestChangeAgainstTheQuotedTreeMakesTheWholeTree(t *testing.T) {
	tap := &harness.Tap{}
	s := harness.Start(t, harness.Options{Tap: tap})
	a := ready(t, s, form, "Form")
	for _, act := range []*commonv1.Act{
		harness.SetValue(a.Element(isText, "Name").GetId(), "x"),
		harness.SetExpanded(true)(a.Element(commonv1.Role_ROLE_DISCLOSURE, "Details").GetId()),
	} {
		snapshots := len(tap.Of("Snapshot"))
		r := a.Do(act)
		sent := tap.Of("Dispatch")
		answer, _ := sent[len(sent)-1].Answer.(*executorv1.DispatchResponse)
		after := answer.GetAfter()
		if after.GetBaseSnapshotId() == "" || len(after.GetElements()) >= int(r.GetObservation().GetElementCount())/2 {
			t.Errorf("%d of %d elements travelled", len(after.GetElements()), r.GetObservation().GetElementCount())
		}
		if n := len(tap.Of("Snapshot")) - snapshots; n != 0 {
			t.Errorf("the window was read %d times more", n)
		}
		got := a.Frame.GetElements()
		a.See(form, "Form")
		sameTree(t, "after the act", got, a.Frame.GetElements())
	}
}

// C2.4: where the digest of the whole does not match, the host asks for all of it.
func TestChangeWhoseDigestIsWrongMakesTheHostAskForAllOfIt(t *testing.T) {
	tap := &harness.Tap{}
	s := harness.Start(t, harness.Options{Tap: tap, Alter: func(method string, answer []byte) []byte {
		d := &executorv1.DispatchResponse{}
		if !strings.HasSuffix(method, "/Dispatch") || proto.Unmarshal(answer, d) != nil || len(d.GetAfter().GetTreeDigest()) == 0 {
			return answer
		}
		d.After.TreeDigest[0] ^= 1
		wrong, err := proto.Marshal(d)
		if err != nil {
			return answer
		}
		return wrong
	}})
	a := ready(t, s, form, "Form")
	snapshots := len(tap.Of("Snapshot"))
	r := a.Do(harness.SetValue(a.Element(isText, "Name").GetId(), "x"))
	harness.Verified(t, r, valueReadback)
	if n := len(tap.Of("Snapshot")) - snapshots; n != 1 {
		t.Errorf("the window was read %d times more", n)
	}
	got := a.Frame.GetElements()
	a.See(form, "Form")
	sameTree(t, "after the act", got, a.Frame.GetElements())
	if s.User().Counts().GetFence().GetExecutor() != a.Fence.GetExecutor() {
		t.Error("the executor was given up")
	}
	harness.Verified(t, a.Do(harness.SetValue(a.Element(isText, "Name").GetId(), "y")), valueReadback)
}

// protocol.md: a picture after an act by default if the quoted frame had one and the
// lease lives; one that cannot be had is a detail, never an error of the act.
func TestPictureAfterAnActIsADetail(t *testing.T) {
	const with, without = hostv1.PictureWish_PICTURE_WISH_WITH, hostv1.PictureWish_PICTURE_WISH_WITHOUT
	for _, tt := range []struct {
		name           string
		before, leased bool
		wish           hostv1.PictureWish
		want           bool
		absence        commonv1.PictureAbsence
	}{
		{name: "as before: with one", before: true, leased: true, want: true},
		{name: "as before: without one", leased: true},
		{name: "asked for", leased: true, wish: with, want: true},
		{name: "not wanted", before: true, leased: true, wish: without},
		{name: "asked for without a lease", wish: with, absence: commonv1.PictureAbsence_PICTURE_ABSENCE_LEASE},
		{name: "as before, the lease is over", before: true, absence: commonv1.PictureAbsence_PICTURE_ABSENCE_LEASE},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := harness.Start(t, harness.Options{})
			a := ready(t, s, calculator, "Calculator")
			if tt.before {
				a.SeePicture(calculator, "Calculator")
			}
			for _, l := range a.State().GetLeases() {
				if l.GetClass() == screenshot && !tt.leased {
					a.GiveBack(l.GetLeaseId())
				}
			}
			req := on(a, press(a, "7"))
			req.After = &hostv1.After{Picture: tt.wish, Render: commonv1.Render_RENDER_BOTH}
			r, err := a.Send(req)
			s.Must(err)
			harness.Verified(t, r, treeDelta)
			o := r.GetObservation()
			if (o.GetPicture() != nil) != tt.want || o.GetPictureAbsence() != tt.absence {
				t.Errorf("picture %v, absence %v", o.GetPicture() != nil, o.GetPictureAbsence())
			}
		})
	}
}
