package permit

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/shared/ident"
)

const treeDomain = "fairlead tree v1\x00"

// TreeDigest returns HMAC-SHA-256 over a whole tree under the session's act key: the
// canonical bytes of each element in order, with the packed digests and objects that
// belong to them. The executor states it when it sends a tree as a change, and the host
// compares it with the one it put together (C2.4). Ids are not covered: the host gives
// its own, and both ends call this with the elements they hold.
func TreeDigest(key ident.ActKey, elements []*commonv1.Element, digests, objects []byte) Digest {
	h := hmac.New(sha256.New, key[:])
	b := append(make([]byte, 0, 1024), treeDomain...)
	b = binary.AppendUvarint(b, uint64(len(elements)))
	h.Write(b)
	var body []byte
	for _, el := range elements {
		body = appendElement(body[:0], el)
		b = protowire.AppendBytes(b[:0], body)
		h.Write(b)
	}
	for _, packed := range [...][]byte{digests, objects} {
		h.Write(binary.AppendUvarint(b[:0], uint64(len(packed))))
		h.Write(packed)
	}
	return Digest(h.Sum(nil))
}

// appendElement appends what Canonical would, ids left out, without its cost: this runs
// over every element of every act. A test holds the two together for every field. A zero
// has no sign here: one that was copied on the way may have lost it.
func appendElement(b []byte, el *commonv1.Element) []byte {
	b = appendNumber(b, 2, uint64(el.GetDepth()))
	b = appendNumber(b, 3, uint64(el.GetRole()))
	b = appendText(b, 4, el.GetName())
	b = appendText(b, 5, el.GetDescription())
	b = appendText(b, 6, el.GetValue())
	b = appendNumbers(b, 7, el.GetStates())
	b = appendNumbers(b, 8, el.GetActions())
	if r := el.GetBounds(); r != nil {
		b = protowire.AppendTag(b, 9, protowire.BytesType)
		b = appendRect(b, r)
	}
	b = appendNumber(b, 10, uint64(el.GetSurface()))
	b = appendNumber(b, 11, protowire.EncodeBool(el.GetValueTruncated()))
	if el.RangeMin != nil {
		b = appendDouble(b, 12, el.GetRangeMin())
	}
	if el.RangeMax != nil {
		b = appendDouble(b, 13, el.GetRangeMax())
	}
	return appendText(b, 14, el.GetIdentifier())
}

func appendRect(b []byte, r *commonv1.Rect) []byte {
	const number = 9 // tag and bits of one side
	sides := [...]float64{r.GetX(), r.GetY(), r.GetWidth(), r.GetHeight()}
	size := 0
	for _, f := range sides {
		if f != 0 {
			size += number
		}
	}
	b = protowire.AppendVarint(b, uint64(size))
	for i, f := range sides {
		if f != 0 {
			b = appendDouble(b, protowire.Number(i+1), f)
		}
	}
	return b
}

func appendDouble(b []byte, n protowire.Number, f float64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(b, n, protowire.Fixed64Type), math.Float64bits(f))
}

func appendNumber(b []byte, n protowire.Number, v uint64) []byte {
	if v == 0 {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, n, protowire.VarintType), v)
}

func appendText(b []byte, n protowire.Number, s string) []byte {
	if s == "" {
		return b
	}
	return protowire.AppendString(protowire.AppendTag(b, n, protowire.BytesType), s)
}

func appendNumbers[E ~int32](b []byte, n protowire.Number, list []E) []byte {
	if len(list) == 0 {
		return b
	}
	size := 0
	for _, v := range list {
		size += protowire.SizeVarint(uint64(v))
	}
	b = protowire.AppendVarint(protowire.AppendTag(b, n, protowire.BytesType), uint64(size))
	for _, v := range list {
		b = protowire.AppendVarint(b, uint64(v))
	}
	return b
}
