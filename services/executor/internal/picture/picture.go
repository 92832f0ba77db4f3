// Package picture turns a capture into the model copy (C2.9): secure regions painted
// over, at most so many pixels on the long edge, encoded. Pure functions over images.
package picture

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"image/png"
	"math"
)

const (
	// LongEdge is the most pixels of the model copy's long edge.
	LongEdge = 1600
	// BytesMax is the hard cap of an encoded picture.
	BytesMax = 8 << 20
	// PixelsMax is the most pixels of a source.
	PixelsMax = 50_000_000
	// quality of JPEG.
	quality = 85
	// margin is painted around a secure region, for edges that fall between pixels.
	margin = 1
)

// ErrTooLarge means that the picture is over a hard cap.
var ErrTooLarge = errors.New("picture: over the hard cap")

// Region is a rectangle in pixels of the source.
type Region struct{ X, Y, W, H float64 }

// Paint covers the regions and returns how many lie in the picture.
func Paint(img *image.RGBA, regions []Region) int {
	ink := image.NewUniform(color.RGBA{A: 0xff})
	for _, r := range regions {
		draw.Draw(img, r.box().Add(img.Rect.Min).Intersect(img.Rect), ink, image.Point{}, draw.Src)
	}
	return Touching(regions, img.Rect.Sub(img.Rect.Min))
}

// Touching returns how many of the regions lie in a part of the picture.
func Touching(regions []Region, part image.Rectangle) int {
	n := 0
	for _, r := range regions {
		if r.box().Overlaps(part) {
			n++
		}
	}
	return n
}

// box is what is painted of a region.
func (r Region) box() image.Rectangle {
	return image.Rect(
		int(math.Floor(r.X))-margin, int(math.Floor(r.Y))-margin,
		int(math.Ceil(r.X+r.W))+margin, int(math.Ceil(r.Y+r.H))+margin,
	)
}

// Shrink returns the picture with at most LongEdge pixels on its long edge. Every
// pixel of the result is the mean of the area it stands for.
func Shrink(img *image.RGBA) *image.RGBA {
	w, h := img.Rect.Dx(), img.Rect.Dy()
	long := max(w, h)
	if long <= LongEdge {
		return img
	}
	dw := max(1, (w*LongEdge+long/2)/long)
	dh := max(1, (h*LongEdge+long/2)/long)
	return shrinkRows(shrinkColumns(img, dw), dh)
}

// share is one source pixel's part in a target pixel, in 1/65536.
type share struct {
	from  int
	parts []uint32
}

func shares(from, to int) []share {
	const whole = 1 << 16
	out := make([]share, to)
	ratio := float64(from) / float64(to)
	for i := range out {
		lo, hi := float64(i)*ratio, float64(i+1)*ratio
		first, last := int(lo), min(from-1, int(math.Ceil(hi))-1)
		s := share{from: first, parts: make([]uint32, 0, last-first+1)}
		left := uint32(whole)
		for j := first; j < last; j++ {
			covered := math.Min(hi, float64(j+1)) - math.Max(lo, float64(j))
			part := min(left, uint32(covered/ratio*whole))
			s.parts = append(s.parts, part)
			left -= part
		}
		s.parts = append(s.parts, left)
		out[i] = s
	}
	return out
}

func shrinkColumns(img *image.RGBA, dw int) *image.RGBA {
	h := img.Rect.Dy()
	out := image.NewRGBA(image.Rect(0, 0, dw, h))
	cols := shares(img.Rect.Dx(), dw)
	for y := range h {
		src := img.Pix[y*img.Stride:]
		dst := out.Pix[y*out.Stride:]
		for x := range cols {
			mix(dst[4*x:4*x+4:4*x+4], src[4*cols[x].from:], 4, cols[x].parts)
		}
	}
	return out
}

func shrinkRows(img *image.RGBA, dh int) *image.RGBA {
	w := img.Rect.Dx()
	out := image.NewRGBA(image.Rect(0, 0, w, dh))
	rows := shares(img.Rect.Dy(), dh)
	for y := range rows {
		dst := out.Pix[y*out.Stride:]
		for x := range w {
			mix(dst[4*x:4*x+4:4*x+4], img.Pix[rows[y].from*img.Stride+4*x:], img.Stride, rows[y].parts)
		}
	}
	return out
}

func mix(dst, src []byte, stride int, parts []uint32) {
	var r, g, b, a uint32
	for i, p := range parts {
		s := src[i*stride : i*stride+4 : i*stride+4]
		r += p * uint32(s[0])
		g += p * uint32(s[1])
		b += p * uint32(s[2])
		a += p * uint32(s[3])
	}
	const half = 1 << 15
	dst[0], dst[1], dst[2], dst[3] = byte((r+half)>>16), byte((g+half)>>16), byte((b+half)>>16), byte((a+half)>>16)
}

// Encode returns the encoded picture, or ErrTooLarge.
func Encode(img *image.RGBA, asJPEG bool) ([]byte, error) { return encode(img, asJPEG, BytesMax) }

func encode(img *image.RGBA, asJPEG bool, most int) ([]byte, error) {
	var b bytes.Buffer
	var err error
	if asJPEG {
		err = jpeg.Encode(&b, img, &jpeg.Options{Quality: quality})
	} else {
		enc := png.Encoder{CompressionLevel: png.BestSpeed}
		err = enc.Encode(&b, img)
	}
	if err != nil {
		return nil, fmt.Errorf("encoding a picture: %w", err)
	}
	if b.Len() > most {
		return nil, ErrTooLarge
	}
	return b.Bytes(), nil
}
