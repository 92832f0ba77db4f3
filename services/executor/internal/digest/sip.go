package digest

import (
	"encoding/binary"
	"math/bits"
)

// sip is SipHash-2-4 of the text followed by a number: a keyed function whose outputs
// tell nothing about its inputs, and cheap enough for every element of every tree.
func sip(key [2]uint64, s string, n uint64) uint64 {
	v := lanes{
		key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d,
		key[0] ^ 0x6c7967656e657261, key[1] ^ 0x7465646279746573,
	}
	length := uint64(len(s) + 8)
	v.absorb(n)
	for len(s) >= 8 {
		v.absorb(uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56)
		s = s[8:]
	}
	var tail [8]byte
	copy(tail[:], s)
	v.absorb(binary.LittleEndian.Uint64(tail[:]) | length<<56)
	v[2] ^= 0xff
	for range 4 {
		v.round()
	}
	return v[0] ^ v[1] ^ v[2] ^ v[3]
}

type lanes [4]uint64

func (v *lanes) absorb(m uint64) {
	v[3] ^= m
	v.round()
	v.round()
	v[0] ^= m
}

func (v *lanes) round() {
	v[0] += v[1]
	v[1] = bits.RotateLeft64(v[1], 13) ^ v[0]
	v[0] = bits.RotateLeft64(v[0], 32)
	v[2] += v[3]
	v[3] = bits.RotateLeft64(v[3], 16) ^ v[2]
	v[0] += v[3]
	v[3] = bits.RotateLeft64(v[3], 21) ^ v[0]
	v[2] += v[1]
	v[1] = bits.RotateLeft64(v[1], 17) ^ v[2]
	v[2] = bits.RotateLeft64(v[2], 32)
}
