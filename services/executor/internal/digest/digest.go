// Package digest is the one element content digest (C6.2) and the keyed hash of an
// element's object. The same function serves the snapshot that records and the
// dispatch that checks (C0.8). Everything is keyed with keys of one incarnation, so
// that nothing that leaves the executor can be looked up in a table of likely
// contents (C2.1). A Hasher is for one goroutine; Keys may be shared.
package digest

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"math"

	"fairlead.dev/services/shared/ident"
)

const (
	// AncestorsMax is how many ancestors count towards the digest (C6.2).
	AncestorsMax = 8
	// textMax is how many characters of a field count. Both callers may have read more or
	// exactly this much of a longer text, and must come to the same digest.
	textMax = 500

	elementDomain = "fairlead element v1\x00"
	contentDomain = "fairlead content v1\x00"
)

// Keys are the keys of one incarnation.
type Keys struct {
	content [32]byte
	object  [2]uint64
}

// NewKeys returns random keys.
func NewKeys() *Keys {
	var b [48]byte
	if _, err := rand.Read(b[:]); err != nil {
		panic("digest: the system has no randomness")
	}
	k := &Keys{}
	copy(k.content[:], b[:32])
	k.object[0] = binary.LittleEndian.Uint64(b[32:])
	k.object[1] = binary.LittleEndian.Uint64(b[40:])
	return k
}

// Object returns the keyed hash of an element's own object: the same object of the
// same renderer generation keeps it, and it cannot be guessed (C2.8).
func (k *Keys) Object(object string, renderer uint64) ident.Object {
	return ident.Object(sip(k.object, object, renderer))
}

// Element is what the digest covers: no geometry, no focus, no sibling index, and
// the value only where the user cannot edit it.
type Element struct {
	Role        int32
	Subrole     string
	Identifier  string
	Name        string
	Description string
	Secure      bool
	Enabled     bool
	// Actions has one bit for each advertised action, by its number: order is not content.
	Actions uint32
	// Ancestors holds the roles of the nearest ancestors, nearest first.
	Ancestors [AncestorsMax]int32
	// Depth is how many of them there are.
	Depth int
	// Editable says that the user can change the value, which then does not count.
	Editable bool
	Value    string
}

// Hasher computes digests without garbage.
type Hasher struct {
	mac hash.Hash
	buf []byte
	sum [sha256.Size]byte
}

// Hasher returns a hasher under the keys.
func (k *Keys) Hasher() *Hasher {
	return &Hasher{mac: hmac.New(sha256.New, k.content[:]), buf: make([]byte, 0, 512)}
}

// Element returns the content digest of one element.
func (h *Hasher) Element(e *Element) ident.Digest {
	b := append(h.buf[:0], elementDomain...)
	b = binary.AppendVarint(b, int64(e.Role))
	b = appendText(b, e.Subrole)
	b = appendText(b, e.Identifier)
	b = appendText(b, e.Name)
	b = appendText(b, e.Description)
	b = append(b, bit(e.Secure)|bit(e.Enabled)<<1|bit(e.Editable)<<2)
	b = binary.AppendUvarint(b, uint64(e.Actions))
	b = append(b, byte(e.Depth))
	for _, role := range e.Ancestors[:e.Depth] {
		b = binary.AppendVarint(b, int64(role))
	}
	if !e.Editable && !e.Secure {
		b = appendText(b, e.Value)
	}
	h.buf = b
	return h.finish(b)
}

// Shown is what a window shows of one element beyond its content digest.
type Shown struct {
	Digest     ident.Digest
	Depth      int
	States     uint32
	Value      string
	X, Y, W, H float64
	Surface    int
}

// Begin starts the digest of a whole window.
func (h *Hasher) Begin() {
	h.mac.Reset()
	h.buf = append(h.buf[:0], contentDomain...)
	h.mac.Write(h.buf)
}

// Add adds one element to the digest of a window.
func (h *Hasher) Add(s *Shown) {
	b := append(h.buf[:0], s.Digest[:]...)
	b = binary.AppendUvarint(b, uint64(s.Depth))
	b = binary.AppendUvarint(b, uint64(s.States))
	b = binary.AppendUvarint(b, uint64(s.Surface))
	for _, f := range [...]float64{s.X, s.Y, s.W, s.H} {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(f))
	}
	b = appendText(b, s.Value)
	h.buf = b
	h.mac.Write(b)
}

// End returns the digest of the window.
func (h *Hasher) End() ident.Digest {
	var d ident.Digest
	copy(d[:], h.mac.Sum(h.sum[:0]))
	return d
}

func (h *Hasher) finish(b []byte) ident.Digest {
	h.mac.Reset()
	h.mac.Write(b)
	return h.End()
}

// appendText appends the text behind its length, so that no two lists of fields have
// the same bytes.
func appendText(b []byte, s string) []byte {
	if len(s) > textMax {
		s = Clip(s, textMax)
	}
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

// Clip returns at most limit characters of a text; no character is split.
func Clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	n := 0
	for i := range s {
		if n == limit {
			return s[:i]
		}
		n++
	}
	return s
}

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}
