package permit

import (
	"bytes"
	"math"
	"strconv"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/shared/ident"
)

// full is an element with every field set.
func full() *commonv1.Element {
	lo, hi := 0.0, 10.0
	return &commonv1.Element{
		Id: 7, Depth: 3, Role: commonv1.Role_ROLE_SLIDER, Name: "Size", Description: "of the letters", Value: "5",
		States:  []commonv1.ElementState{1, 2, 16},
		Actions: []commonv1.ElementAction{1, 8}, Bounds: &commonv1.Rect{X: -1.5, Width: 10, Height: 3},
		Surface: 2, ValueTruncated: true, RangeMin: &lo, RangeMax: &hi, Identifier: "size",
	}
}

func withoutID(el *commonv1.Element) *commonv1.Element {
	c, _ := proto.Clone(el).(*commonv1.Element)
	c.Id = 0
	return c
}

// The fast form of an element is its canonical form, whatever is set and whatever is not.
func TestElementBytesAreTheCanonicalOnes(t *testing.T) {
	cases := []*commonv1.Element{
		full(),
		{},
		{Bounds: &commonv1.Rect{}},
		{Bounds: &commonv1.Rect{Y: math.NaN()}},
	}
	fields := full().ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		if !full().ProtoReflect().Has(fields.Get(i)) {
			t.Fatalf("the full element lacks %s", fields.Get(i).Name())
		}
		one := full()
		one.ProtoReflect().Clear(fields.Get(i))
		cases = append(cases, one)
	}
	for _, el := range cases {
		if got, want := appendElement(nil, el), Canonical(withoutID(el)); !bytes.Equal(got, want) {
			t.Errorf("%v: got %x, want %x", el, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		el := &commonv1.Element{
			Depth: rapid.Uint32().Draw(t, "depth"), Name: rapid.String().Draw(t, "name"),
			Value:  rapid.String().Draw(t, "value"),
			States: rapid.SliceOf(rapid.Map(rapid.Int32(), func(n int32) commonv1.ElementState { return commonv1.ElementState(n) })).Draw(t, "states"),
			Bounds: &commonv1.Rect{X: 0 + rapid.Float64().Draw(t, "x"), Height: 0 + rapid.Float64().Draw(t, "h")},
		}
		if !bytes.Equal(appendElement(nil, el), Canonical(el)) {
			t.Fatalf("%v differs", el)
		}
	})
}

// Every field counts but the id, which is the host's own.
func TestTreeDigestCoversTheWholeTree(t *testing.T) {
	key := ident.ActKey{1}
	digests, objects := []byte("0123456789abcdef"), []byte("01234567")
	of := func(els ...*commonv1.Element) Digest { return TreeDigest(key, els, digests, objects) }
	want := of(full())
	fields := full().ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		el := full()
		el.ProtoReflect().Clear(fields.Get(i))
		if same := of(el) == want; same != (fields.Get(i).Name() == "id") {
			t.Errorf("without %s: the same %v", fields.Get(i).Name(), same)
		}
	}
	other := full()
	other.Id = 99
	if of(other) != want {
		t.Error("the id counts")
	}
	for name, got := range map[string]Digest{
		"one more": of(full(), &commonv1.Element{}), "none": of(),
		"other key":     TreeDigest(ident.ActKey{2}, []*commonv1.Element{full()}, digests, objects),
		"other digests": TreeDigest(key, []*commonv1.Element{full()}, digests[1:], objects),
		"other objects": TreeDigest(key, []*commonv1.Element{full()}, digests, objects[1:]),
		"moved bytes": TreeDigest(key, []*commonv1.Element{full()}, digests[:15],
			append([]byte{digests[15]}, objects...)),
	} {
		if got == want {
			t.Errorf("%s is not noticed", name)
		}
	}
	signed := full()
	signed.Bounds.Y = math.Copysign(0, -1)
	if of(signed) != want {
		t.Error("the sign of a zero counts")
	}
	a, b := &commonv1.Element{Name: "a"}, &commonv1.Element{Name: "b"}
	if of(a, b) == of(b, a) {
		t.Error("the order does not count")
	}
}

// What only one end can see must not change what was signed before (C3.2).
func TestAnActThatIsNotOwnedHasTheBytesItHad(t *testing.T) {
	act := &commonv1.BoundAct{Verb: commonv1.Verb_VERB_TYPE_TEXT, ElementDigest: []byte{9}}
	named := Canonical(act)
	act.Owned = true
	owned := Canonical(act)
	if bytes.Equal(named, owned) || !bytes.HasPrefix(owned, named) {
		t.Errorf("named %x, owned %x", named, owned)
	}
}

func TestSurfacePointsAreWhole(t *testing.T) {
	p := func(x float64) *commonv1.SurfacePoint {
		return &commonv1.SurfacePoint{SurfaceId: 3, Point: &commonv1.Point{X: x}}
	}
	of := func(points ...*commonv1.SurfacePoint) Digest {
		return ActDigest(ident.ActKey{1}, &commonv1.BoundAct{Verb: commonv1.Verb_VERB_DRAG, Points: points})
	}
	if of(p(1), p(2)) == of(p(2), p(1)) || of(p(1)) == of(p(1), p(1)) || of(p(1)) == of(p(2)) {
		t.Error("points are left out of the act digest")
	}
}

func BenchmarkTreeDigest(b *testing.B) {
	els := make([]*commonv1.Element, 1000)
	for i := range els {
		els[i] = full()
		els[i].Name = "Row " + strconv.Itoa(i)
	}
	digests, objects := make([]byte, 16_000), make([]byte, 8_000)
	for b.Loop() {
		TreeDigest(ident.ActKey{1}, els, digests, objects)
	}
}
