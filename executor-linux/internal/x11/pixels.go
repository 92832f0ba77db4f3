package x11

import (
	"image"
	"math/bits"
)

// PixelsMax is the largest picture taken, in pixels.
const PixelsMax = 50 << 20

// layout says how the server stores the pixels of a picture.
type layout struct {
	bitsPerPixel     int // 16 or 32
	stride           int // bytes from one row to the next
	red, green, blue uint32
}

// channel is one colour inside a pixel.
type channel struct{ mask, shift, max uint32 }

func newChannel(mask uint32) (channel, bool) {
	if mask == 0 {
		return channel{}, false
	}
	c := channel{mask: mask, shift: uint32(bits.TrailingZeros32(mask))}
	c.max = mask >> c.shift
	// A channel is one run of bits; anything else is no visual of this world.
	return c, c.max&(c.max+1) == 0
}

// to8 scales the channel to eight bits, rounding to the nearest.
func (c channel) to8(pixel uint32) byte {
	v := uint64(pixel&c.mask) >> c.shift
	return byte((v*255 + uint64(c.max)/2) / uint64(c.max))
}

// toRGBA converts server pixels into an opaque picture. Alpha is not looked at: what
// counts is the colour the window has, not what a compositor would mix in.
func toRGBA(data []byte, size image.Point, l layout) (*image.RGBA, error) {
	r, okR := newChannel(l.red)
	g, okG := newChannel(l.green)
	b, okB := newChannel(l.blue)
	if !okR || !okG || !okB || (l.bitsPerPixel != 32 && l.bitsPerPixel != 16) {
		return nil, ErrUnsupported
	}
	if l.stride*8 < size.X*l.bitsPerPixel || len(data) < l.stride*size.Y {
		return nil, errStream
	}
	m := image.NewRGBA(image.Rectangle{Max: size})
	plain := l.bitsPerPixel == 32 && l.red == 0xff0000 && l.green == 0xff00 && l.blue == 0xff
	for y := range size.Y {
		row, out := data[y*l.stride:(y+1)*l.stride], m.Pix[y*m.Stride:(y+1)*m.Stride]
		switch {
		case plain:
			plainRow(out, row)
		case l.bitsPerPixel == 32:
			for x := range size.X {
				p := le.Uint32(row[4*x:])
				out[4*x], out[4*x+1], out[4*x+2], out[4*x+3] = r.to8(p), g.to8(p), b.to8(p), 0xff
			}
		default:
			for x := range size.X {
				p := uint32(le.Uint16(row[2*x:]))
				out[4*x], out[4*x+1], out[4*x+2], out[4*x+3] = r.to8(p), g.to8(p), b.to8(p), 0xff
			}
		}
	}
	return m, nil
}

// plainRow swaps BGRX to RGBA, the format of nearly all desks, a word at a time.
func plainRow(out, row []byte) {
	row = row[:len(out)]
	for i := 0; i+4 <= len(out); i += 4 {
		p := le.Uint32(row[i:])
		le.PutUint32(out[i:], 0xff000000|p&0xff00|p>>16&0xff|p&0xff<<16)
	}
}
