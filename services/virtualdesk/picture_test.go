package virtualdesk

import (
	"bytes"
	"fmt"
	"image/color"
	"strings"
	"testing"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
)

func (s stage) picture(w ident.Window) *executor.Capture {
	s.t.Helper()
	c, err := s.Capture(s.t.Context(), w)
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

func TestCoveredWindowLooksLikeUncovered(t *testing.T) {
	s := newStage(t)
	w := s.window("Form")
	before := s.picture(w)
	for _, by := range []string{CalculatorID, FormID} {
		_, err := s.Cover(w.ID, by)
		s.must(err)
	}
	if !bytes.Equal(before.Image.Pix, s.picture(w).Image.Pix) {
		t.Error("the cover shows")
	}
	s.must(s.UserPointerMoves(100, 100))
	if !bytes.Equal(before.Image.Pix, s.picture(w).Image.Pix) {
		t.Error("the pointer shows")
	}
}

func TestPictureHasTheScaleOfItsDisplay(t *testing.T) {
	s := newStage(t)
	for title, want := range map[string][2]int{"Calculator": {520, 728}, "Form": {640, 580}} {
		c := s.picture(s.window(title))
		if size := c.Image.Rect.Size(); size.X != want[0] || size.Y != want[1] {
			t.Errorf("%s: %v at %v", title, size, c.Scale)
		}
	}
	s.must(s.SetScale(0, 1.25))
	if c := s.picture(s.window("Form")); c.Scale != 1.25 || c.Image.Rect.Dx() != 800 || c.Image.Rect.Dy() != 725 {
		t.Errorf("%v at %v", c.Image.Rect, c.Scale)
	}
}

func TestPictureHoldsAllSurfacesAndSaysWhereItBegins(t *testing.T) {
	s := newStage(t)
	w := s.window("Form")
	_, err := s.OpenPopup(w.ID, rect(-40, -20, 100, 60))
	s.must(err)
	s.mustPress(w, "More")
	c := s.picture(w)
	if c.OffsetX != -40 || c.OffsetY != -20 || c.Image.Rect.Dx() != 680 || c.Image.Rect.Dy() != 660 {
		t.Errorf("%v from %v, %v", c.Image.Rect, c.OffsetX, c.OffsetY)
	}
	k := colors()
	for name, p := range map[string]struct {
		x, y float64
		want color.RGBA
	}{
		"popup left above": {-35, -15, k.field}, "popup below": {460, 600, k.field},
		"between":    {-35, 300, color.RGBA{}},
		"the button": {30, 510, k.accent},
	} {
		if got := c.Image.RGBAAt(int(p.x-c.OffsetX), int(p.y-c.OffsetY)); got != p.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestPictureShowsTheState(t *testing.T) {
	s := newStage(t)
	w := s.window("Form")
	for _, name := range []string{"Subscribe", "Notifications", "Pinned", "Pro", "Details"} {
		before := s.picture(w)
		s.must(s.ToggleByUser(s.object(w, 0, name)))
		if bytes.Equal(before.Image.Pix, s.picture(w).Image.Pix) {
			t.Errorf("%s does not show", name)
		}
	}
}

func TestSecureValueIsNeverReadable(t *testing.T) {
	s := newStage(t)
	w := s.window("Form")
	o := s.object(w, commonv1.Role_ROLE_SECURE_FIELD, "Password")
	before := s.picture(w)
	var told strings.Builder
	look := func(v any, err error) { fmt.Fprintf(&told, "%+v %v\n", v, err) }
	for range 2 {
		look(s.ReadTree(t.Context(), w, executor.TreeLimits{}))
		look(s.Reread(t.Context(), w, o))
		look(s.Windows(t.Context()))
		look(s.Apps(t.Context(), "form"))
		look(s.Desk.Desk(t.Context()))
		p := click(w, o)
		p.Verb, p.Text = commonv1.Verb_VERB_SET_VALUE, "x"
		look(s.Perform(t.Context(), p, func(n executor.Node) refusal.Answer {
			look(n, nil)
			return 0
		}), nil)
		look(s.Events(), nil)
		look(s.Element(w.ID, 0, canary))
		_, err := s.ReplaceElement(o)
		s.must(err)
		o = s.object(w, commonv1.Role_ROLE_SECURE_FIELD, "Password")
		look(s.Reread(t.Context(), w, o))
		s.must(s.SetValue(o, canary+canary))
	}
	if strings.Contains(told.String(), canary) {
		t.Error("the secret was told")
	}
	if !bytes.Equal(before.Image.Pix, s.picture(w).Image.Pix) {
		t.Error("the picture depends on the secret")
	}
}

func TestCharacterTheFontLacksIsNotInvisible(t *testing.T) {
	s := newStage(t)
	w := s.window("Form")
	o := s.object(w, commonv1.Role_ROLE_TEXT_FIELD, "Name")
	s.must(s.SetValue(o, "a b"))
	blank := s.picture(w)
	s.must(s.SetValue(o, "a日b"))
	if bytes.Equal(blank.Image.Pix, s.picture(w).Image.Pix) {
		t.Error("it does not show")
	}
}
