package executor

import (
	"crypto/ed25519"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/shared/permit"
	"fairlead.dev/services/shared/refusal"
)

// Each way a permit can be wrong is refused by its own name, and nothing is sent (C10.9).
func TestActPermitIsDerivedAgain(t *testing.T) {
	cases := []struct {
		name string
		bend func(*rig, *order)
		want refusal.Answer
	}{
		{"missing", func(_ *rig, o *order) { o.req.Permit = &commonv1.Permit{} }, refusal.AnswerPermitMissing},
		{"bad signature", func(_ *rig, o *order) {
			_, stranger, _ := ed25519.GenerateKey(nil)
			o.sign = func(c *commonv1.PermitClaims) *commonv1.Permit { return permit.Sign(stranger, c) }
		}, refusal.AnswerPermitInvalid},
		{"changed after signing", func(r *rig, o *order) {
			o.sign = func(c *commonv1.PermitClaims) *commonv1.Permit {
				p := permit.Sign(r.key, c)
				p.Claims[len(p.Claims)-1] ^= 1
				return p
			}
		}, refusal.AnswerPermitInvalid},
		{"not canonical", func(r *rig, o *order) { o.sign = r.signLoosely }, refusal.AnswerPermitInvalid},
		{"expired", func(r *rig, _ *order) { r.now.Add(int64(6 * time.Second)) }, refusal.AnswerPermitExpired},
		{
			"read permit", func(_ *rig, o *order) { o.claims.Kind = commonv1.PermitKind_PERMIT_KIND_READ },
			refusal.AnswerPermitMismatch,
		},
		{"other session", func(_ *rig, o *order) { o.claims.SessionId = "s-2" }, refusal.AnswerPermitMismatch},
		{"other incarnation", func(_ *rig, o *order) { o.claims.Incarnation = randomID() }, refusal.AnswerPermitMismatch},
		{"no policy generation", func(_ *rig, o *order) { o.claims.PolicyGeneration = 0 }, refusal.AnswerPermitMismatch},
		{"other class", func(_ *rig, o *order) {
			o.claims.Class = commonv1.LeaseClass_LEASE_CLASS_POINTER_MUTATION
		}, refusal.AnswerPermitMismatch},
		{"other verb", func(_ *rig, o *order) { o.claims.Verb = commonv1.Verb_VERB_PERFORM }, refusal.AnswerPermitMismatch},
		{"other app", func(_ *rig, o *order) { o.claims.AppId = other.App }, refusal.AnswerPermitMismatch},
		{"other window", func(_ *rig, o *order) { o.claims.Window = fromWindow(other) }, refusal.AnswerPermitMismatch},
		{"other birth", func(_ *rig, o *order) {
			w := editor
			w.Birth++
			o.claims.Window = fromWindow(w)
		}, refusal.AnswerPermitMismatch},
		{"a page", func(_ *rig, o *order) {
			o.claims.Page = &commonv1.PageIdentity{Target: "t"}
		}, refusal.AnswerPermitMismatch},
		{"other snapshot", func(r *rig, o *order) {
			o.claims.SnapshotId = r.snapshot(other).GetSnapshotId()
		}, refusal.AnswerPermitMismatch},
		{"other argument", func(_ *rig, o *order) { o.req.Act.GetSetValue().Value = "evil" }, refusal.AnswerPermitMismatch},
		{"other element", func(r *rig, o *order) {
			copy(o.req.Token[12:], []byte{0, 0, 0, nodeCheck})
		}, refusal.AnswerPermitMismatch},
		{"no route", func(_ *rig, o *order) { o.claims.Routes = nil }, refusal.AnswerPermitMismatch},
		{"route none", func(_ *rig, o *order) {
			o.claims.Routes = []commonv1.Route{commonv1.Route_ROUTE_NONE}
		}, refusal.AnswerPermitMismatch},
		{"unknown route", func(_ *rig, o *order) { o.claims.Routes = []commonv1.Route{99} }, refusal.AnswerPermitMismatch},
		{"an extra", func(_ *rig, o *order) {
			o.claims.Extras = []commonv1.PermitExtra{commonv1.PermitExtra_PERMIT_EXTRA_CLIPBOARD}
		}, refusal.AnswerPermitMismatch},
		{"the desk", func(_ *rig, o *order) { o.claims.Desk = true }, refusal.AnswerPermitMismatch},
		{"other key", func(_ *rig, o *order) {
			d := permit.ActDigest([32]byte{1}, o.bound)
			o.claims.ActDigest = d[:]
		}, refusal.AnswerPermitMismatch},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			desk := newFake()
			r := ready(t, desk)
			o := r.order(r.snapshot(editor), nodeField, setValue("new"))
			o.req.Token = append([]byte(nil), o.req.Token...)
			c.bend(r, o)
			refusedAs(t, r.send(o), c.want)
			if n := len(desk.sent()); n != 0 {
				t.Fatalf("%d acts were sent", n)
			}
		})
	}
}

// signLoosely signs bytes that say the same in another order.
func (r *rig) signLoosely(c *commonv1.PermitClaims) *commonv1.Permit {
	id := proto.Clone(c).(*commonv1.PermitClaims)
	session := &commonv1.PermitClaims{SessionId: c.GetSessionId()}
	id.SessionId = ""
	b := append(permit.Canonical(session), permit.Canonical(id)...)
	const domain = "fairlead permit v1\x00"
	return &commonv1.Permit{Claims: b, Signature: ed25519.Sign(r.key, append([]byte(domain), b...))}
}

func TestReplayedPermitSendsOnce(t *testing.T) {
	desk := newFake()
	r := ready(t, desk)
	o := r.order(r.snapshot(editor), nodeField, setValue("new"))
	confirmed(t, r.send(o), commonv1.VerificationMethod_VERIFICATION_METHOD_VALUE_READBACK)
	o.req.DispatchId = "again"
	refusedAs(t, r.send(o), refusal.AnswerPermitSpent)
	if n := len(desk.sent()); n != 1 {
		t.Fatalf("%d acts were sent", n)
	}
}

func TestSpentSnapshotTakesNoSecondPermit(t *testing.T) {
	desk := newFake()
	r := ready(t, desk)
	snap := r.snapshot(editor)
	r.act(snap, nodeField, setValue("new"))
	refusedAs(t, r.act(snap, nodeField, setValue("newer")), refusal.AnswerSnapshotSpent)
	if n := len(desk.sent()); n != 1 {
		t.Fatalf("%d acts were sent", n)
	}
}

func TestReadPermitScope(t *testing.T) {
	cases := []struct {
		name string
		edit func(*commonv1.PermitClaims)
		want refusal.Answer
	}{
		{"app", forApp(editor.App), 0},
		{"window", func(c *commonv1.PermitClaims) { c.AppId, c.Window = editor.App, fromWindow(editor) }, 0},
		{"other app", forApp(other.App), refusal.AnswerPermitMismatch},
		{"other window of the app", func(c *commonv1.PermitClaims) {
			c.AppId, c.Window = editor.App, fromWindow(editor2)
		}, refusal.AnswerPermitMismatch},
		{"desk", func(c *commonv1.PermitClaims) { c.Desk = true }, refusal.AnswerPermitMismatch},
		{"pictures only", forPictures(editor.App), refusal.AnswerPermitMismatch},
		{"act", func(c *commonv1.PermitClaims) {
			c.AppId, c.Kind = editor.App, commonv1.PermitKind_PERMIT_KIND_ACT
		}, refusal.AnswerPermitMismatch},
		{"expired", func(c *commonv1.PermitClaims) { c.AppId, c.ExpiresBootMs = editor.App, 1 }, refusal.AnswerPermitExpired},
		{"window of another app", func(c *commonv1.PermitClaims) {
			c.AppId, c.Window = other.App, fromWindow(editor)
		}, refusal.AnswerPermitMismatch},
		{"a verb", func(c *commonv1.PermitClaims) {
			c.AppId, c.Verb = editor.App, commonv1.Verb_VERB_SET_VALUE
		}, refusal.AnswerPermitMismatch},
		{"a snapshot", func(c *commonv1.PermitClaims) {
			c.AppId, c.SnapshotId = editor.App, "s-1"
		}, refusal.AnswerPermitMismatch},
		{"an act", func(c *commonv1.PermitClaims) {
			c.AppId, c.ActDigest = editor.App, make([]byte, 32)
		}, refusal.AnswerPermitMismatch},
		{"a route", func(c *commonv1.PermitClaims) {
			c.AppId, c.Routes = editor.App, []commonv1.Route{commonv1.Route_ROUTE_ACCESSIBILITY_ACTION}
		}, refusal.AnswerPermitMismatch},
		{"an extra", func(c *commonv1.PermitClaims) {
			c.AppId, c.Extras = editor.App, []commonv1.PermitExtra{commonv1.PermitExtra_PERMIT_EXTRA_CLIPBOARD}
		}, refusal.AnswerPermitMismatch},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := ready(t, newFake())
			resp := r.trySnapshot(editor, r.read(c.edit), nil)
			if resp.GetCode() != c.want || (resp.GetSnapshot() != nil) != (c.want == 0) {
				t.Fatalf("got %v, want %v", resp.GetCode(), c.want)
			}
		})
	}
}

func TestReadPermitMayBeUsedAgain(t *testing.T) {
	r := ready(t, newFake())
	p := r.read(forApp(editor.App))
	for range 3 {
		if c := r.trySnapshot(editor, p, nil).GetCode(); c != 0 {
			t.Fatal(c)
		}
	}
}
