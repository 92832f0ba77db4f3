package executor

import (
	"bytes"
	"image"
	"image/png"
	"strings"
	"testing"
	"time"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
)

func TestWindowIsFoundByItsWholeIdentity(t *testing.T) {
	cases := []struct {
		name string
		bend func(*ident.Window)
		want refusal.Answer
	}{
		{"same", func(*ident.Window) {}, 0},
		{"absent", func(w *ident.Window) { w.ID = 99 }, refusal.AnswerWindowGone},
		{"pid", func(w *ident.Window) { w.PID++ }, refusal.AnswerProcessReplaced},
		{"start", func(w *ident.Window) { w.Start++ }, refusal.AnswerProcessReplaced},
		{"birth", func(w *ident.Window) { w.Birth++ }, refusal.AnswerWindowChanged},
		{"app", func(w *ident.Window) { w.App = "exe:/x" }, refusal.AnswerWindowChanged},
	}
	r := ready(t, newFake())
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := editor
			c.bend(&w)
			if got := r.trySnapshot(w, r.read(forApp(w.App)), nil).GetCode(); got != c.want {
				t.Fatalf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestSnapshotEndsAreToldApart(t *testing.T) {
	desk := newFake()
	r := ready(t, desk)
	send := func(s *executorv1.Snapshot) refusal.Answer { return r.act(s, 1, click()).GetCode() }
	unknown := r.snapshot(other)
	unknown.SnapshotId = "s-never"
	if got := send(unknown); got != refusal.AnswerSnapshotUnknown {
		t.Fatal(got)
	}
	first := r.snapshot(editor)
	r.snapshot(other)
	second := r.snapshot(editor)
	if got := send(first); got != refusal.AnswerSnapshotSuperseded {
		t.Fatal(got)
	}
	if got := send(second); got != 0 {
		t.Fatal(got)
	}
	if got := send(second); got != refusal.AnswerSnapshotSpent {
		t.Fatal(got)
	}
	late := r.snapshot(editor)
	r.now.Add(int64(121 * time.Second))
	if got := send(late); got != refusal.AnswerSnapshotExpired {
		t.Fatal(got)
	}
}

func TestSecureValueNeverLeaves(t *testing.T) {
	desk := newFake()
	desk.node("secret").Value = "hunter2" // A platform must not, and still it does not leave.
	r := ready(t, desk)
	el := r.snapshot(editor).GetElements()[nodeSecret]
	if el.GetValue() != "" || el.GetName() != "Password" {
		t.Fatalf("got %q", el.GetValue())
	}
}

func TestTextsAreCutWholeAndSaid(t *testing.T) {
	desk := newFake()
	desk.node("field").Value = strings.Repeat("é", 600)
	desk.node("button").Name = "bad \xff bytes"
	r := ready(t, desk)
	els := r.snapshot(editor).GetElements()
	if got := els[nodeField]; got.GetValue() != strings.Repeat("é", 500) || !got.GetValueTruncated() {
		t.Fatalf("got %d characters, truncated %v", len([]rune(got.GetValue())), got.GetValueTruncated())
	}
	if got := els[nodeButton].GetName(); got != "bad \uFFFD bytes" {
		t.Fatalf("got %q", got)
	}
}

func TestTwoFocusClaimantsAreNone(t *testing.T) {
	desk := newFake()
	focus := func(o Object) {
		desk.node(o).States = desk.node(o).States.With(commonv1.ElementState_ELEMENT_STATE_FOCUSED)
	}
	focused := func(s *executorv1.Snapshot) (n int) {
		for _, el := range s.GetElements() {
			for _, st := range el.GetStates() {
				if st == commonv1.ElementState_ELEMENT_STATE_FOCUSED {
					n++
				}
			}
		}
		return n
	}
	r := ready(t, desk)
	desk.change(func(*fake) { focus("field") })
	if n := focused(r.snapshot(editor)); n != 1 {
		t.Fatal(n)
	}
	desk.change(func(*fake) { focus("button") })
	if n := focused(r.snapshot(editor)); n != 0 {
		t.Fatal(n)
	}
}

func TestRelatedWindowsAndTheirTitles(t *testing.T) {
	desk := newFake()
	r := ready(t, desk)
	r.snapshot(editor)
	desk.change(func(f *fake) {
		w := fakeWindow(editor2, "Delete the letter?", Rect{500, 500, 100, 100}, 2)
		w.Dialog, w.Modal, w.Owner = true, true, editor.ID
		f.windows = append(f.windows, w)
	})
	rel := r.snapshot(editor).GetRelated()
	if len(rel) != 1 || rel[0].GetTitle() != "Delete the letter?" || !rel[0].GetModal() || !rel[0].GetOpenedSince() ||
		rel[0].GetKind() != commonv1.RelatedKind_RELATED_KIND_DIALOG {
		t.Fatalf("got %v", rel)
	}
	narrow := r.read(func(c *commonv1.PermitClaims) { c.AppId, c.Window = editor.App, fromWindow(editor) })
	rel = r.trySnapshot(editor, narrow, nil).GetSnapshot().GetRelated()
	if len(rel) != 1 || rel[0].GetTitle() != "" || rel[0].GetOpenedSince() {
		t.Fatalf("got %v", rel)
	}
}

func TestTitlesAreHiddenWithoutAPermitForTheApp(t *testing.T) {
	r := ready(t, newFake())
	desk := r.read(func(c *commonv1.PermitClaims) { c.Desk = true })
	list := func(p ...*commonv1.Permit) []*executorv1.WindowFacts {
		resp, err := r.host.ListWindows(r.ctx(), &executorv1.ListWindowsRequest{
			Fence: r.fence, SessionId: testSession, Permits: p,
		})
		if err != nil || resp.GetCode() != 0 {
			t.Fatalf("ListWindows: %v %v", err, resp.GetCode())
		}
		return resp.GetWindows()
	}
	for _, w := range list(desk) {
		if w.GetTitle() != "" || w.GetBounds() != nil {
			t.Fatalf("a desk permit showed %q", w.GetTitle())
		}
	}
	both := list(desk, r.read(forApp(editor.App)))
	if len(both) != 2 || both[0].GetTitle() != "Letter to mum" || both[1].GetTitle() != "" {
		t.Fatalf("got %v", both)
	}
	if only := list(r.read(forApp(editor.App))); len(only) != 1 {
		t.Fatalf("an app permit listed %d windows", len(only))
	}
	resp, err := r.host.ListApps(r.ctx(), &executorv1.ListAppsRequest{
		Fence: r.fence, SessionId: testSession, Permit: r.read(forApp(editor.App)),
	})
	if err != nil || resp.GetCode() != refusal.AnswerPermitMismatch {
		t.Fatalf("ListApps without a desk permit: %v %v", resp.GetCode(), err)
	}
}

// picture asks for a picture under its own permit.
func (r *rig) picture(edit func(*commonv1.PermitClaims)) *executorv1.Snapshot {
	r.t.Helper()
	p := &executorv1.PictureRequest{Permit: r.read(func(c *commonv1.PermitClaims) {
		forPictures(editor.App)(c)
		if edit != nil {
			edit(c)
		}
	})}
	resp := r.trySnapshot(editor, r.read(forApp(editor.App)), p)
	if resp.GetCode() != 0 {
		r.t.Fatalf("Snapshot: %v", resp.GetCode())
	}
	return resp.GetSnapshot()
}

func TestPicturePaintsSecureFields(t *testing.T) {
	r := ready(t, newFake())
	snap := r.picture(nil)
	p := snap.GetPicture()
	if p == nil || snap.GetRedaction() != commonv1.Redaction_REDACTION_PROVEN || p.GetPaintedRegions() != 1 {
		t.Fatalf("got %v %v %d", snap.GetPictureAbsence(), snap.GetRedaction(), p.GetPaintedRegions())
	}
	img, err := png.Decode(bytes.NewReader(p.GetData()))
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []image.Point{{10, 150}, {9, 149}, {60, 160}, {110, 170}} {
		if r, g, b, _ := img.At(at.X, at.Y).RGBA(); r|g|b != 0 {
			t.Errorf("pixel %v of the secure field is not painted", at)
		}
	}
	if r, _, _, _ := img.At(200, 200).RGBA(); r == 0 {
		t.Error("the rest was painted too")
	}
}

func TestPictureNeedsKnownSecureRegions(t *testing.T) {
	cases := map[string]func(*fake){
		"no tree":  func(f *fake) { f.trees[editor.ID] = &Tree{Quality: commonv1.TreeQuality_TREE_QUALITY_NONE} },
		"no place": func(f *fake) { f.node("secret").Bounds = Rect{} },
		"cut": func(f *fake) {
			f.trees[editor.ID].Truncations = []Truncation{{Kind: commonv1.TruncationKind_TRUNCATION_KIND_DEPTH}}
		},
	}
	for name, happens := range cases {
		t.Run(name, func(t *testing.T) {
			desk := newFake()
			happens(desk)
			r := ready(t, desk)
			snap := r.picture(nil)
			if snap.GetPicture() != nil || snap.GetRedaction() != commonv1.Redaction_REDACTION_UNPROVEN ||
				snap.GetPictureAbsence() != commonv1.PictureAbsence_PICTURE_ABSENCE_REDACTION {
				t.Fatalf("got %v %v", snap.GetPictureAbsence(), snap.GetRedaction())
			}
			snap = r.picture(func(c *commonv1.PermitClaims) { c.UnprovenRedaction = true })
			if snap.GetPicture() == nil || snap.GetRedaction() != commonv1.Redaction_REDACTION_UNPROVEN {
				t.Fatalf("got %v %v", snap.GetPictureAbsence(), snap.GetRedaction())
			}
		})
	}
}

func TestPictureThatDoesNotSettle(t *testing.T) {
	cases := []struct {
		name   string
		moves  int
		absent commonv1.PictureAbsence
	}{
		{"once", 1, 0},
		{"always", 9, commonv1.PictureAbsence_PICTURE_ABSENCE_UNSETTLED},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			desk := newFake()
			left := c.moves
			desk.afterCapture = func(f *fake) {
				if left > 0 {
					left--
					f.node("field").Value += "."
				}
			}
			r := ready(t, desk)
			snap := r.picture(nil)
			if snap.GetPictureAbsence() != c.absent || (snap.GetPicture() != nil) != (c.absent == 0) {
				t.Fatalf("got %v", snap.GetPictureAbsence())
			}
			// The tree that came with it is the one that can be acted on.
			confirmed(t, r.act(snap, nodeField, setValue("x")), byValue)
		})
	}
}

func TestPictureNeedsItsOwnPermit(t *testing.T) {
	desk := newFake()
	r := ready(t, desk)
	read := r.read(forApp(editor.App))
	resp := r.trySnapshot(editor, read, &executorv1.PictureRequest{Permit: read})
	if resp.GetCode() != refusal.AnswerPermitMismatch {
		t.Fatal(resp.GetCode())
	}
	// After an act a picture that cannot be had is a detail, never an error of the act.
	o := r.order(r.snapshot(editor), nodeField, setValue("x"))
	o.req.Picture = &executorv1.PictureRequest{Permit: read}
	after := r.send(o)
	confirmed(t, after, byValue)
	if after.GetAfter().GetPictureAbsence() != commonv1.PictureAbsence_PICTURE_ABSENCE_LEASE {
		t.Fatal(after.GetAfter().GetPictureAbsence())
	}
}

func TestHiddenWindowHasNoPicture(t *testing.T) {
	desk := newFake()
	desk.windows[0].Hidden = true
	r := ready(t, desk)
	if got := r.picture(nil).GetPictureAbsence(); got != commonv1.PictureAbsence_PICTURE_ABSENCE_HIDDEN {
		t.Fatal(got)
	}
}

func TestLockedDeskIsNotRead(t *testing.T) {
	desk := newFake()
	desk.desk.Locked = true
	r := ready(t, desk)
	if got := r.trySnapshot(editor, r.read(forApp(editor.App)), nil).GetCode(); got != refusal.AnswerScreenLocked {
		t.Fatal(got)
	}
}

func TestObjectsKeepTheirHash(t *testing.T) {
	desk := newFake()
	r := ready(t, desk)
	a := r.snapshot(editor)
	desk.change(func(f *fake) { f.node("button").Name = "Renamed"; f.node("field").Object = "field2" })
	b := r.snapshot(editor)
	at := func(s *executorv1.Snapshot, i int) string { return string(s.GetObjects()[8*i : 8*i+8]) }
	if at(a, nodeButton) != at(b, nodeButton) || at(a, nodeField) == at(b, nodeField) {
		t.Fatal("an object's hash follows the object, and nothing else")
	}
	if bytes.Equal(a.GetTokens()[:16], b.GetTokens()[:16]) {
		t.Fatal("tokens belong to one snapshot")
	}
}
