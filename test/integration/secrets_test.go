package integration

import (
	"bytes"
	"image"
	"image/png"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	"fairlead.dev/services/shared/refusal"
	"fairlead.dev/services/virtualdesk"
	"fairlead.dev/test/harness"
)

const secret = "canary-of-a-secret"

func TestSecureFieldIsListedWithoutItsValueAndTakesNoAct(t *testing.T) {
	s := harness.Start(t, harness.Options{
		Bundle: "../testdata/bundles/all.cedar", Desk: virtualdesk.Config{Password: secret},
	})
	a := s.Agent()
	a.AcquireAll(form)
	shown := a.See(form, "Form")
	field := a.Element(commonv1.Role_ROLE_SECURE_FIELD, "Password")
	wire, err := proto.Marshal(shown)
	s.Must(err)
	if field.GetValue() != "" || strings.Contains(shown.GetOutline(), secret) || bytes.Contains(wire, []byte(secret)) {
		t.Error("the value of a secure field left the executor")
	}
	for _, tt := range []struct {
		name string
		act  *commonv1.Act
	}{
		{"click", harness.Click(field.GetId())},
		{"focus_element", harness.Focus(field.GetId())},
		{"set_value", harness.SetValue(field.GetId(), "guess")},
		{"type_text", harness.TypeText(field.GetId(), "guess")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			harness.NothingSent(t, a.Do(tt.act), refusal.SecureField)
		})
	}
	s.Untouched(t, 0)
}

// Where the secure field is, the picture is one colour, whatever the field holds.
func TestPictureShowsTheWindowAndPaintsSecureFieldsOver(t *testing.T) {
	s := harness.Start(t, harness.Options{Desk: virtualdesk.Config{Password: secret}})
	a := s.Agent()
	a.AcquireAll(form)
	shown := a.See(form, "Form")
	if shown.GetPicture() != nil || shown.GetPictureAbsence() != 0 {
		t.Errorf("a picture nobody asked for: %v", shown.GetPictureAbsence())
	}
	r := a.Look(withPicture(shown.GetWindow()))
	harness.Refused(t, r.GetRefusal(), 0)
	p := r.GetObservation().GetPicture()
	img, err := png.Decode(bytes.NewReader(p.GetData()))
	if err != nil {
		t.Fatalf("absence %v: %v", r.GetObservation().GetPictureAbsence(), err)
	}
	if b := img.Bounds(); b.Dx() != int(p.GetWidth()) || b.Dy() != int(p.GetHeight()) || b.Dx() > 1600 || b.Dy() > 1600 {
		t.Errorf("%v, said to be %d by %d", b, p.GetWidth(), p.GetHeight())
	}
	if r.GetObservation().GetRedaction() != commonv1.Redaction_REDACTION_PROVEN {
		t.Errorf("redaction %v", r.GetObservation().GetRedaction())
	}
	scale := float64(img.Bounds().Dx()) / r.GetObservation().GetBounds().GetWidth()
	if n := colours(img, a.Element(commonv1.Role_ROLE_SECURE_FIELD, "Password").GetBounds(), scale); n != 1 {
		t.Errorf("%d colours where the secure field is", n)
	}
	if n := colours(img, a.Element(isButton, "Submit").GetBounds(), scale); n < 2 {
		t.Error("the rest of the window is not shown")
	}
	// The observation after an act follows the frame it was bound to.
	after := a.Do(press(a, "More")).GetObservation()
	if after.GetPicture() == nil || after.GetPicture().GetPictureId() == p.GetPictureId() {
		t.Errorf("no fresh picture after the act: %v", after.GetPictureAbsence())
	}
}

func withPicture(w *commonv1.WindowIdentity) *hostv1.ObserveRequest {
	req := harness.OfWindow(w)
	req.Picture, req.Format = true, commonv1.PictureFormat_PICTURE_FORMAT_PNG
	return req
}

// colours counts the colours of a rectangle of the window, a pixel inside its edges.
func colours(img image.Image, r *commonv1.Rect, scale float64) int {
	seen := map[[4]uint32]bool{}
	for y := int(r.GetY()*scale) + 1; y < int((r.GetY()+r.GetHeight())*scale)-1; y++ {
		for x := int(r.GetX()*scale) + 1; x < int((r.GetX()+r.GetWidth())*scale)-1; x++ {
			r, g, b, a := img.At(x, y).RGBA()
			seen[[4]uint32{r, g, b, a}] = true
		}
	}
	return len(seen)
}

func TestPictureNeedsALeaseAndAClientThatReadsPictures(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	for _, tt := range []struct {
		name           string
		lease, vision  bool
		destination    hostv1.PictureDestination
		want           commonv1.PictureAbsence
		pictureOffered bool
	}{
		{name: "lease and vision", lease: true, vision: true, destination: local, pictureOffered: true},
		{name: "no lease", vision: true, destination: local, want: commonv1.PictureAbsence_PICTURE_ABSENCE_LEASE},
		{name: "no vision", lease: true, destination: local, want: commonv1.PictureAbsence_PICTURE_ABSENCE_VISION},
		{
			name: "pictures go nowhere", lease: true, vision: true,
			want: commonv1.PictureAbsence_PICTURE_ABSENCE_VISION,
		},
		{
			name: "no consent for the destination", lease: true, vision: true,
			destination: hostv1.PictureDestination_PICTURE_DESTINATION_REMOTE_MODEL,
			want:        commonv1.PictureAbsence_PICTURE_ABSENCE_VISION,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := harness.Connect(t, s.Dial("agent"))
			a.Open(&hostv1.OpenSessionRequest{ClientName: "test", Vision: tt.vision, PictureDestination: tt.destination})
			a.BeginTurn()
			a.Acquire(commonv1.LeaseClass_LEASE_CLASS_METADATA_READ, harness.App(form))
			if tt.lease {
				a.Acquire(commonv1.LeaseClass_LEASE_CLASS_SCREENSHOT_READ, harness.App(form))
			}
			r := a.Look(withPicture(a.See(form, "Form").GetWindow()))
			harness.Refused(t, r.GetRefusal(), 0)
			o := r.GetObservation()
			if (o.GetPicture() != nil) != tt.pictureOffered || o.GetPictureAbsence() != tt.want {
				t.Errorf("picture %v, absence %v", o.GetPicture() != nil, o.GetPictureAbsence())
			}
			if len(o.GetElements()) == 0 {
				t.Error("without a picture the elements are still shown")
			}
		})
	}
}

const local = hostv1.PictureDestination_PICTURE_DESTINATION_LOCAL
