package permit

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/shared/ident"
)

var update = flag.Bool("update", false, "rewrite golden vectors")

func claims() *commonv1.PermitClaims {
	return &commonv1.PermitClaims{
		PermitId: bytes.Repeat([]byte{1}, 16), Kind: commonv1.PermitKind_PERMIT_KIND_ACT, SessionId: "s-1",
		Incarnation: bytes.Repeat([]byte{2}, 16), Class: commonv1.LeaseClass_LEASE_CLASS_SEMANTIC_MUTATION,
		ExpiresBootMs: 12345, PolicyGeneration: 7, Verb: commonv1.Verb_VERB_SET_VALUE, AppId: "app",
		Window:     &commonv1.WindowIdentity{WindowId: 9, Pid: 10, ProcessStart: 11, AppId: "app", Birth: 12},
		Routes:     []commonv1.Route{commonv1.Route_ROUTE_ACCESSIBILITY_VALUE, commonv1.Route_ROUTE_ACCESSIBILITY_TEXT},
		SnapshotId: "n-1", ActDigest: bytes.Repeat([]byte{3}, 32),
	}
}

func key() ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))
}

func public() ed25519.PublicKey {
	p, _ := key().Public().(ed25519.PublicKey)
	return p
}

func TestASignedPermitVerifies(t *testing.T) {
	got, err := Verify(public(), Sign(key(), claims()))
	if err != nil || !proto.Equal(got, claims()) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestAPermitThatWasTouchedDoesNotVerify(t *testing.T) {
	for _, tc := range []struct {
		name  string
		touch func(*commonv1.Permit)
		want  error
	}{
		{"missing", func(p *commonv1.Permit) { p.Claims = nil }, ErrMissing},
		{"claim changed", func(p *commonv1.Permit) { p.Claims[len(p.Claims)-1] ^= 1 }, ErrSignature},
		{"claim added", func(p *commonv1.Permit) { p.Claims = append(p.Claims, 0x88, 1, 1) }, ErrSignature},
		{"signature changed", func(p *commonv1.Permit) { p.Signature[0] ^= 1 }, ErrSignature},
		{"signature missing", func(p *commonv1.Permit) { p.Signature = nil }, ErrSignature},
		{"signed by another key", func(p *commonv1.Permit) {
			_, other, _ := ed25519.GenerateKey(nil)
			o := Sign(other, claims())
			p.Claims, p.Signature = o.GetClaims(), o.GetSignature()
		}, ErrSignature},
		{"signed without the domain", func(p *commonv1.Permit) { p.Signature = ed25519.Sign(key(), p.Claims) }, ErrSignature},
		{"unknown field under a good signature", func(p *commonv1.Permit) {
			p.Claims = protowire.AppendVarint(protowire.AppendTag(p.Claims, 99, protowire.VarintType), 1)
			p.Signature = ed25519.Sign(key(), signed(p.Claims))
		}, ErrBytes},
		{"not canonical under a good signature", func(p *commonv1.Permit) {
			p.Claims = append(append([]byte{}, p.Claims...), p.Claims...)
			p.Signature = ed25519.Sign(key(), signed(p.Claims))
		}, ErrBytes},
		{"too long", func(p *commonv1.Permit) { p.Claims = make([]byte, claimsMax+1) }, ErrSignature},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := Sign(key(), claims())
			tc.touch(p)
			if _, err := Verify(public(), p); !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
		})
	}
}

// The canonical form is protobuf: everything it encodes reads back, and encodes again
// to the same bytes.
func TestCanonicalFormReadsBack(t *testing.T) {
	for _, m := range []proto.Message{
		claims(), &commonv1.BoundAct{Arguments: &commonv1.Act{Act: &commonv1.Act_Drag{Drag: &commonv1.Drag{
			Path: []*commonv1.Point{{X: 1.5, Y: -2}, {}}, Modifiers: []commonv1.Modifier{1, 4},
		}}}, Points: []*commonv1.SurfacePoint{{SurfaceId: 1 << 60}}},
		&commonv1.WindowIdentity{Pid: -1}, &commonv1.Element{RangeMin: proto.Float64(0)},
	} {
		b := Canonical(m)
		back := m.ProtoReflect().New().Interface()
		if err := proto.Unmarshal(b, back); err != nil || !proto.Equal(m, back) || !bytes.Equal(Canonical(back), b) {
			t.Errorf("%T: %v", m, err)
		}
		if lib, _ := (proto.MarshalOptions{Deterministic: true}).Marshal(m); !bytes.Equal(lib, b) {
			t.Errorf("%T: today's library writes other bytes; see whether the form moved", m)
		}
	}
}

func TestAnyDifferenceInTheBoundActChangesItsDigest(t *testing.T) {
	base := &commonv1.BoundAct{
		Verb:      commonv1.Verb_VERB_SET_VALUE,
		Arguments: &commonv1.Act{Act: &commonv1.Act_SetValue{SetValue: &commonv1.SetValue{Value: "a"}}},
		Window:    &commonv1.WindowIdentity{WindowId: 1, Pid: 2, ProcessStart: 3, AppId: "app", Birth: 4}, ElementDigest: []byte{1},
	}
	k := ident.NewActKey()
	seen := map[Digest]string{ActDigest(k, base): "base"}
	for name, change := range map[string]func(*commonv1.BoundAct){
		"verb":     func(a *commonv1.BoundAct) { a.Verb = commonv1.Verb_VERB_TYPE_TEXT },
		"argument": func(a *commonv1.BoundAct) { a.Arguments.GetSetValue().Value = "b" },
		"window":   func(a *commonv1.BoundAct) { a.Window.WindowId++ },
		"process":  func(a *commonv1.BoundAct) { a.Window.ProcessStart++ },
		"birth":    func(a *commonv1.BoundAct) { a.Window.Birth++ },
		"app":      func(a *commonv1.BoundAct) { a.Window.AppId = "other" },
		"element":  func(a *commonv1.BoundAct) { a.ElementDigest = []byte{2} },
		"page":     func(a *commonv1.BoundAct) { a.Page = &commonv1.PageIdentity{Target: "t"} },
	} {
		a, _ := proto.Clone(base).(*commonv1.BoundAct)
		change(a)
		d := ActDigest(k, a)
		if other, dup := seen[d]; dup {
			t.Errorf("%s and %s have one digest", name, other)
		}
		seen[d] = name
	}
	if d := ActDigest(ident.NewActKey(), base); seen[d] != "" {
		t.Error("another key gives the same digest")
	}
}

func TestArgumentsCarryNoFrameReference(t *testing.T) {
	fields := (&commonv1.Act{}).ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		act := &commonv1.Act{}
		m := act.ProtoReflect().Mutable(fd).Message()
		for j := range fd.Message().Fields().Len() {
			f := fd.Message().Fields().Get(j)
			switch {
			case f.IsList():
				m.Mutable(f)
			case f.Kind() == protoreflect.Uint32Kind:
				m.Set(f, protoreflect.ValueOfUint32(3))
			case f.Kind() == protoreflect.StringKind:
				m.Set(f, protoreflect.ValueOfString("p"))
			}
		}
		args := Arguments(act)
		am := args.ProtoReflect().Get(fd).Message()
		for j := range fd.Message().Fields().Len() {
			f := fd.Message().Fields().Get(j)
			ref, _ := proto.GetExtension(f.Options(), commonv1.E_FrameReference).(bool)
			if ref && am.Has(f) {
				t.Errorf("%s keeps %s", fd.Name(), f.Name())
			}
			if !ref && m.Has(f) && !am.Has(f) {
				t.Errorf("%s lost %s", fd.Name(), f.Name())
			}
		}
		if VerbOf(args) != commonv1.Verb(fd.Number()) {
			t.Errorf("%s is no longer itself", fd.Name())
		}
	}
}

// TestGoldenVectors fixes the bytes: a change here breaks running pairs of processes.
func TestGoldenVectors(t *testing.T) {
	p := Sign(key(), claims())
	got := fmt.Sprintf("claims    %x\nsignature %x\ndigest    %x\n", p.GetClaims(), p.GetSignature(),
		ActDigest(ident.ActKey{1, 2, 3}, &commonv1.BoundAct{Verb: commonv1.Verb_VERB_CLICK_ELEMENT, ElementDigest: []byte{9}}))
	const path = "testdata/vectors.golden"
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func FuzzVerify(f *testing.F) {
	p := Sign(key(), claims())
	f.Add(p.GetClaims(), p.GetSignature())
	f.Add([]byte{}, []byte{})
	f.Fuzz(func(t *testing.T, c, sig []byte) {
		got, err := Verify(public(), &commonv1.Permit{Claims: c, Signature: sig})
		if err == nil && !bytes.Equal(Canonical(got), c) {
			t.Error("a permit verified that is not in canonical form")
		}
	})
}
