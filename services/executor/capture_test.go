package executor

import (
	"bytes"
	"image"
	"image/png"
	"math"
	"testing"
	"time"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
	"fairlead.dev/services/shared/refusal"
)

func (r *rig) zoom(snap *executorv1.Snapshot, region *commonv1.Rect, edit func(*commonv1.PermitClaims)) *executorv1.CaptureResponse {
	r.t.Helper()
	resp, err := r.host.Capture(r.ctx(), &executorv1.CaptureRequest{
		Fence: r.fence, SessionId: testSession, SnapshotId: snap.GetSnapshotId(), Region: region,
		Picture: &executorv1.PictureRequest{Permit: r.read(func(c *commonv1.PermitClaims) {
			forPictures(editor.App)(c)
			if edit != nil {
				edit(c)
			}
		})},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return resp
}

func region(x, y, w, h float64) *commonv1.Rect {
	return &commonv1.Rect{X: x, Y: y, Width: w, Height: h}
}

// A part is taken at source resolution, with its own id and transform, painted as the
// whole was (C2.2, C2.10).
func TestCaptureIsThePartAtSourceResolution(t *testing.T) {
	desk := openFake()
	r := ready(t, desk)
	snap := r.picture(nil)
	resp := r.zoom(snap, region(5, 140, 100, 50), nil)
	p := resp.GetPicture()
	if resp.GetCode() != 0 || p == nil || p.GetPictureId() == snap.GetPicture().GetPictureId() || p.GetPictureId() == "" ||
		p.GetWidth() != 100 || p.GetHeight() != 50 || p.GetSourceWidth() != 100 || p.GetPaintedRegions() != 1 ||
		resp.GetRedaction() != commonv1.Redaction_REDACTION_PROVEN {
		t.Fatalf("got %v %v %v", resp.GetCode(), resp.GetPictureAbsence(), p)
	}
	tr := p.GetTransform()
	if tr.GetScaleX() != 1 || tr.GetScaleY() != 1 || tr.GetOffsetX() != 5 || tr.GetOffsetY() != 140 {
		t.Fatalf("transform %v", tr)
	}
	whole, err := png.Decode(bytes.NewReader(snap.GetPicture().GetData()))
	if err != nil {
		t.Fatal(err)
	}
	part, err := png.Decode(bytes.NewReader(p.GetData()))
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []image.Point{{0, 0}, {5, 10}, {15, 20}, {95, 25}, {99, 49}} {
		if whole.At(at.X+5, at.Y+140) != part.At(at.X, at.Y) {
			t.Errorf("pixel %v differs from the picture of the snapshot", at)
		}
	}
	if got := r.zoom(snap, region(200, 10, 10, 10), nil).GetPicture().GetPaintedRegions(); got != 0 {
		t.Errorf("%d painted regions where nothing is secure", got)
	}
	// It spends nothing and supersedes nothing.
	if resp := r.act(snap, nodeButton, click()); resp.GetCode() != 0 {
		t.Fatal(resp.GetCode())
	}
}

func TestCaptureIsClippedToTheWindow(t *testing.T) {
	r := ready(t, openFake())
	p := r.zoom(r.snapshot(editor), region(-100, 250, 5000, 1000), nil).GetPicture()
	if p.GetWidth() != 400 || p.GetHeight() != 50 || p.GetTransform().GetOffsetX() != 0 ||
		p.GetTransform().GetOffsetY() != 250 {
		t.Fatalf("got %v", p)
	}
}

func TestCaptureOfAnotherMomentIsRefused(t *testing.T) {
	some := region(0, 0, 50, 50)
	cases := []struct {
		name    string
		region  *commonv1.Rect
		edit    func(*commonv1.PermitClaims)
		happens func(*rig, *fake)
		want    refusal.Answer
	}{
		{"moved", some, nil, func(_ *rig, f *fake) { f.windows[0].Bounds.X++ }, refusal.AnswerWindowChanged},
		{"rescaled", some, nil, func(_ *rig, f *fake) { f.windows[0].Scale = 2 }, refusal.AnswerWindowChanged},
		{"a popup", some, nil, func(_ *rig, f *fake) {
			f.windows[0].Surfaces = append(f.windows[0].Surfaces, Surface{ID: 77, Bounds: Rect{100, 100, 9, 9}})
		}, refusal.AnswerWindowChanged},
		{"navigated", some, nil, func(_ *rig, f *fake) { f.windows[0].Page.Document = "2" }, refusal.AnswerPageChanged},
		{"hidden", some, nil, func(_ *rig, f *fake) { f.windows[0].Hidden = true }, refusal.AnswerWindowHidden},
		{"gone", some, nil, func(_ *rig, f *fake) { f.windows = f.windows[1:] }, refusal.AnswerWindowGone},
		{"locked", some, nil, func(_ *rig, f *fake) { f.desk.Locked = true }, refusal.AnswerScreenLocked},
		{"expired", some, nil, func(r *rig, _ *fake) { r.now.Add(int64(121 * time.Second)) }, refusal.AnswerSnapshotExpired},
		{"moved meanwhile", some, nil, func(_ *rig, f *fake) {
			f.afterCapture = func(f *fake) { f.windows[0].Bounds.X = 7 }
		}, refusal.AnswerWindowChanged},
		{"outside", region(400, 0, 10, 10), nil, nil, refusal.AnswerInvalidPoint},
		{"above", region(0, -20, 10, 10), nil, nil, refusal.AnswerInvalidPoint},
		{"empty", region(5, 5, 0, 10), nil, nil, refusal.AnswerInvalidPoint},
		{"inside out", region(50, 50, -10, 10), nil, nil, refusal.AnswerInvalidPoint},
		{"permit of another app", some, func(c *commonv1.PermitClaims) { c.AppId = other.App }, nil, refusal.AnswerPermitMismatch},
		{"permit to read", some, func(c *commonv1.PermitClaims) {
			c.Class = commonv1.LeaseClass_LEASE_CLASS_METADATA_READ
		}, nil, refusal.AnswerPermitMismatch},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			desk := openFake()
			r := ready(t, desk)
			snap := r.snapshot(editor)
			if c.happens != nil {
				desk.change(func(f *fake) { c.happens(r, f) })
			}
			resp := r.zoom(snap, c.region, c.edit)
			if resp.GetCode() != c.want || resp.GetPicture() != nil {
				t.Fatalf("got %v, picture %v", resp.GetCode(), resp.GetPicture() != nil)
			}
		})
	}
	t.Run("no number", func(t *testing.T) {
		r := ready(t, openFake())
		snap := r.snapshot(editor)
		for _, bad := range []*commonv1.Rect{region(math.NaN(), 5, 10, 10), region(5, 5, math.Inf(1), 10)} {
			_, err := r.e.zoom(r.ctx(), &executorv1.CaptureRequest{
				SessionId: testSession, SnapshotId: snap.GetSnapshotId(), Region: bad,
				Picture: &executorv1.PictureRequest{Permit: r.read(forPictures(editor.App))},
			})
			if a, _ := told(err, 0); a != refusal.AnswerInvalidPoint {
				t.Errorf("%v: got %v", bad, a)
			}
		}
	})
	t.Run("spent", func(t *testing.T) {
		r := ready(t, openFake())
		snap := r.snapshot(editor)
		r.act(snap, nodeButton, click())
		if c := r.zoom(snap, some, nil).GetCode(); c != refusal.AnswerSnapshotSpent {
			t.Fatal(c)
		}
	})
}

// Secure regions are those of the tree as it is now, and a part of a window whose secure
// regions are not known needs a permit that says so (C2.10).
func TestCapturePaintsWhatIsSecureNow(t *testing.T) {
	desk := openFake()
	r := ready(t, desk)
	snap := r.snapshot(editor)
	desk.change(func(f *fake) { f.node("field").Secure = true })
	p := r.zoom(snap, region(0, 0, 400, 300), nil).GetPicture()
	if p.GetPaintedRegions() != 2 {
		t.Fatalf("painted %d", p.GetPaintedRegions())
	}
	desk.change(func(f *fake) {
		f.trees[editor.ID].Truncations = []Truncation{{Kind: commonv1.TruncationKind_TRUNCATION_KIND_TIME}}
	})
	resp := r.zoom(snap, region(0, 0, 50, 50), nil)
	if resp.GetPicture() != nil || resp.GetPictureAbsence() != commonv1.PictureAbsence_PICTURE_ABSENCE_REDACTION {
		t.Fatalf("got %v", resp.GetPictureAbsence())
	}
	resp = r.zoom(snap, region(0, 0, 50, 50), func(c *commonv1.PermitClaims) { c.UnprovenRedaction = true })
	if resp.GetPicture() == nil || resp.GetRedaction() != commonv1.Redaction_REDACTION_UNPROVEN {
		t.Fatalf("got %v", resp.GetPictureAbsence())
	}
}

func TestDeskIsToldUnderADeskPermit(t *testing.T) {
	desk := newFake()
	r := ready(t, desk)
	ask := func(edit func(*commonv1.PermitClaims)) *executorv1.GetDeskResponse {
		resp, err := r.host.GetDesk(r.ctx(), &executorv1.GetDeskRequest{
			Fence: r.fence, SessionId: testSession, Permit: r.read(edit),
		})
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
	onDesk := func(c *commonv1.PermitClaims) { c.Desk = true }
	got := ask(onDesk)
	if got.GetCode() != 0 || got.GetUserPointer().GetX() != 5 || got.GetAgentPointer() != nil {
		t.Fatalf("got %v", got)
	}
	desk.change(func(f *fake) { f.desk.AgentPointer = &Point{X: 70, Y: 80} })
	if got = ask(onDesk); got.GetAgentPointer().GetX() != 70 || got.GetAgentPointer().GetY() != 80 {
		t.Fatalf("got %v", got)
	}
	if got = ask(forApp(editor.App)); got.GetCode() != refusal.AnswerPermitMismatch || got.GetUserPointer() != nil {
		t.Fatalf("got %v", got)
	}
	if got = ask(func(c *commonv1.PermitClaims) {
		c.Desk, c.Class = true, commonv1.LeaseClass_LEASE_CLASS_SCREENSHOT_READ
	}); got.GetCode() != refusal.AnswerPermitMismatch {
		t.Fatalf("got %v", got)
	}
	desk.change(func(f *fake) { f.desk.Locked = true })
	if got = ask(onDesk); got.GetCode() != refusal.AnswerScreenLocked {
		t.Fatalf("got %v", got)
	}
}

// A peek is not kept, supersedes nothing, is no observation of the app, and no act can
// quote it.
func TestPeekLeavesEverythingAsItWas(t *testing.T) {
	desk := newFake()
	r := ready(t, desk)
	peek := func() *executorv1.Snapshot {
		resp, err := r.host.Snapshot(r.ctx(), &executorv1.SnapshotRequest{
			Fence: r.fence, SessionId: testSession, Permit: r.read(forApp(editor.App)), Window: fromWindow(editor), Peek: true,
		})
		if err != nil || resp.GetCode() != 0 {
			t.Fatalf("%v %v", resp.GetCode(), err)
		}
		return resp.GetSnapshot()
	}
	first := r.snapshot(editor)
	desk.change(func(f *fake) { f.windows = append(f.windows, fakeWindow(editor2, "New", Rect{900, 0, 9, 9}, 2)) })
	p := peek()
	if len(p.GetElements()) != len(first.GetElements()) || len(p.GetRelated()) != 1 || !p.GetRelated()[0].GetOpenedSince() {
		t.Fatalf("got %v", p.GetRelated())
	}
	refusedAs(t, r.act(p, nodeButton, click()), refusal.AnswerSnapshotUnknown)
	if again := peek(); !again.GetRelated()[0].GetOpenedSince() {
		t.Fatal("a peek was taken for a look")
	}
	for range 20 {
		peek()
	}
	desk.change(func(f *fake) {
		f.deliver = func(q Performance) Delivery { return Delivery{Sent: Unanswered, Route: q.Routes[0]} }
	})
	resp := r.act(first, nodeButton, click())
	if resp.GetOutcome() != commonv1.Outcome_OUTCOME_UNKNOWN {
		t.Fatalf("the first snapshot is not live: %v", resp.GetCode())
	}
	peek()
	refusedAs(t, r.act(resp.GetAfter(), nodeButton, click()), refusal.AnswerTargetUnresponsive)
}
