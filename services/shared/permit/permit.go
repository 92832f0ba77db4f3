// Package permit is where an act becomes bytes: the canonical form of a message, the
// act digest (C3.2), and policy's signature over what it allowed (C10.9). Each of
// these is one function with two callers (C0.8): host and executor derive the same
// digest, policy signs and the executor verifies the same bytes.
package permit

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/shared/ident"
)

const (
	actDomain    = "fairlead act v1\x00"
	permitDomain = "fairlead permit v1\x00"
	claimsMax    = 4096
)

// Why a permit is not believed.
var (
	ErrMissing   = errors.New("permit: missing")
	ErrSignature = errors.New("permit: signature does not verify")
	ErrBytes     = errors.New("permit: claims are not in canonical form")
)

// Digest is the act digest.
type Digest [sha256.Size]byte

// ActDigest returns HMAC-SHA-256 over the canonical bytes of the bound act under
// the session's act key.
func ActDigest(key ident.ActKey, act *commonv1.BoundAct) Digest {
	h := hmac.New(sha256.New, key[:])
	h.Write([]byte(actDomain))
	h.Write(Canonical(act))
	return Digest(h.Sum(nil))
}

// Sign returns policy's signature under the claims.
func Sign(key ed25519.PrivateKey, claims *commonv1.PermitClaims) *commonv1.Permit {
	b := Canonical(claims)
	return &commonv1.Permit{Claims: b, Signature: ed25519.Sign(key, signed(b))}
}

// Verify returns the claims under a valid signature. The bytes must be the canonical
// form of what they say, so that no two permits say the same.
func Verify(key ed25519.PublicKey, p *commonv1.Permit) (*commonv1.PermitClaims, error) {
	if len(p.GetClaims()) == 0 {
		return nil, ErrMissing
	}
	if len(p.GetClaims()) > claimsMax || !ed25519.Verify(key, signed(p.GetClaims()), p.GetSignature()) {
		return nil, ErrSignature
	}
	c := &commonv1.PermitClaims{}
	if err := proto.Unmarshal(p.GetClaims(), c); err != nil {
		return nil, fmt.Errorf("reading claims: %w", ErrBytes)
	}
	if !slices.Equal(Canonical(c), p.GetClaims()) {
		return nil, ErrBytes
	}
	return c, nil
}

func signed(claims []byte) []byte { return append([]byte(permitDomain), claims...) }

// VerbOf names the act: the verb whose number is the number of the member that is set.
func VerbOf(a *commonv1.Act) commonv1.Verb {
	fd := member(a)
	if fd == nil {
		return commonv1.Verb_VERB_UNSPECIFIED
	}
	return commonv1.Verb(fd.Number())
}

// RuleOf returns what the product knows about a verb, or nil for none.
func RuleOf(v commonv1.Verb) *commonv1.VerbRule {
	d := v.Descriptor().Values().ByNumber(v.Number())
	if d == nil {
		return nil
	}
	r, _ := proto.GetExtension(d.Options(), commonv1.E_Verb).(*commonv1.VerbRule)
	return r
}

// RouteRuleOf returns the tier and classes of a route, or nil for none.
func RouteRuleOf(r commonv1.Route) *commonv1.RouteRule {
	d := r.Descriptor().Values().ByNumber(r.Number())
	if d == nil {
		return nil
	}
	rule, _ := proto.GetExtension(d.Options(), commonv1.E_Route).(*commonv1.RouteRule)
	return rule
}

// Arguments returns a copy of the act with every frame reference cleared: what both
// ends can see of it (C3.2).
func Arguments(a *commonv1.Act) *commonv1.Act {
	c, _ := proto.Clone(a).(*commonv1.Act)
	fd := member(c)
	if fd == nil {
		return c
	}
	m := c.ProtoReflect().Mutable(fd).Message()
	fields := fd.Message().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if ref, _ := proto.GetExtension(f.Options(), commonv1.E_FrameReference).(bool); ref {
			m.Clear(f)
		}
	}
	return c
}

func member(a *commonv1.Act) protoreflect.FieldDescriptor {
	m := a.ProtoReflect()
	if !m.IsValid() {
		return nil
	}
	return m.WhichOneof(m.Descriptor().Oneofs().Get(0))
}
