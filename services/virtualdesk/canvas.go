package virtualdesk

import (
	"image"
	"image/color"
	"image/draw"
	"math"
	"unicode/utf8"

	"golang.org/x/image/font/basicfont"
	"golang.org/x/image/font/inconsolata"
	"golang.org/x/image/math/fixed"

	"fairlead.dev/services/executor"
)

// canvas draws on a picture in points. Points of the toplevel surface become pixels
// by one function, at, for everything that is drawn (C0.8).
type canvas struct {
	img    *image.RGBA
	scale  float64
	ox, oy float64 // points of the toplevel surface at the picture's top left corner
	dx, dy float64 // points of the toplevel surface at the origin of the surface drawn
}

// The font is a bitmap; characters are 8 by 16 points and drawn at whole multiples.
const (
	charW    = 8
	charH    = 16
	baseline = 14
)

func regular() *basicfont.Face { return inconsolata.Regular8x16 }
func bold() *basicfont.Face    { return inconsolata.Bold8x16 }

func (c *canvas) at(x, y float64) (px, py float64) {
	return (x + c.dx - c.ox) * c.scale, (y + c.dy - c.oy) * c.scale
}

// box is a rectangle in whole pixels.
func (c *canvas) box(r executor.Rect) image.Rectangle {
	x0, y0 := c.at(r.X, r.Y)
	x1, y1 := c.at(r.X+r.W, r.Y+r.H)
	return image.Rect(int(math.Round(x0)), int(math.Round(y0)), int(math.Round(x1)), int(math.Round(y1)))
}

// fill fills a rectangle.
func (c *canvas) fill(r executor.Rect, col color.RGBA) {
	draw.Draw(c.img, c.box(r), image.NewUniform(col), image.Point{}, draw.Src)
}

// round fills a rectangle whose corners have a radius, smoothly.
func (c *canvas) round(r executor.Rect, radius float64, col color.RGBA) {
	b := c.box(r)
	rad := min(radius*c.scale, float64(b.Dx())/2, float64(b.Dy())/2)
	k := int(math.Ceil(rad))
	if k <= 0 {
		c.fill(r, col)
		return
	}
	src := image.NewUniform(col)
	for _, part := range []image.Rectangle{
		image.Rect(b.Min.X+k, b.Min.Y, b.Max.X-k, b.Max.Y),
		image.Rect(b.Min.X, b.Min.Y+k, b.Min.X+k, b.Max.Y-k),
		image.Rect(b.Max.X-k, b.Min.Y+k, b.Max.X, b.Max.Y-k),
	} {
		if !part.Empty() {
			draw.Draw(c.img, part, src, image.Point{}, draw.Src)
		}
	}
	for y := range k {
		for x := range k {
			d := math.Hypot(rad-float64(x)-0.5, rad-float64(y)-0.5)
			cover := min(max(rad-d+0.5, 0), 1)
			for _, p := range corners(b, x, y) {
				c.blend(p.X, p.Y, col, cover)
			}
		}
	}
}

// corners are the four pixels at the same distance from their corner, each once.
func corners(b image.Rectangle, x, y int) []image.Point {
	ps := []image.Point{{b.Min.X + x, b.Min.Y + y}}
	if mx := b.Max.X - 1 - x; mx > b.Min.X+x {
		ps = append(ps, image.Pt(mx, b.Min.Y+y))
	}
	if my := b.Max.Y - 1 - y; my > b.Min.Y+y {
		for _, p := range ps[:len(ps):len(ps)] {
			ps = append(ps, image.Pt(p.X, my))
		}
	}
	return ps
}

// bordered fills a rounded rectangle with a border of a width inside it.
func (c *canvas) bordered(r executor.Rect, s look) {
	c.round(r, s.radius, s.border)
	c.round(inset(r, s.width), s.radius-s.width, s.back)
}

type look struct {
	radius, width float64
	border, back  color.RGBA
}

func inset(r executor.Rect, by float64) executor.Rect {
	return rect(r.X+by, r.Y+by, r.W-2*by, r.H-2*by)
}

// disc fills a circle.
func (c *canvas) disc(x, y, radius float64, col color.RGBA) {
	c.round(rect(x-radius, y-radius, 2*radius, 2*radius), radius, col)
}

// stroke draws a line of a width through points, smoothly.
func (c *canvas) stroke(width float64, col color.RGBA, points ...[2]float64) {
	half := width * c.scale / 2
	area := image.Rectangle{}
	ps := make([][2]float64, 0, len(points))
	for _, p := range points {
		x, y := c.at(p[0], p[1])
		ps = append(ps, [2]float64{x, y})
		reach := int(half + 2)
		area = area.Union(image.Rect(int(x)-reach, int(y)-reach, int(x)+reach+1, int(y)+reach+1))
	}
	for y := area.Min.Y; y < area.Max.Y; y++ {
		for x := area.Min.X; x < area.Max.X; x++ {
			d := math.Inf(1)
			for i := 1; i < len(ps); i++ {
				d = min(d, distance(float64(x)+0.5, float64(y)+0.5, ps[i-1], ps[i]))
			}
			if cover := min(max(half-d+0.5, 0), 1); cover > 0 {
				c.blend(x, y, col, cover)
			}
		}
	}
}

// distance is from a point to the line between a and b.
func distance(x, y float64, a, b [2]float64) float64 {
	vx, vy := b[0]-a[0], b[1]-a[1]
	t := 0.0
	if l := vx*vx + vy*vy; l > 0 {
		t = min(max(((x-a[0])*vx+(y-a[1])*vy)/l, 0), 1)
	}
	return math.Hypot(x-a[0]-t*vx, y-a[1]-t*vy)
}

// blend mixes an opaque color into one pixel.
func (c *canvas) blend(x, y int, col color.RGBA, cover float64) {
	if cover <= 0 || !(image.Point{X: x, Y: y}).In(c.img.Rect) {
		return
	}
	i := c.img.PixOffset(x, y)
	p := c.img.Pix[i : i+4 : i+4]
	mix := func(old, now uint8) uint8 { return uint8(float64(old)*(1-cover) + float64(now)*cover + 0.5) }
	p[0], p[1], p[2], p[3] = mix(p[0], col.R), mix(p[1], col.G), mix(p[2], col.B), mix(p[3], 255)
}

// Where a text stands in its rectangle.
type alignment int

const (
	left alignment = iota
	center
	right
)

type lettering struct {
	face  *basicfont.Face
	color color.RGBA
	align alignment
	size  int // multiple of the font's size, 0 means 1
}

// text writes one line, vertically centred, cut with an ellipsis when it is too long.
// Glyphs keep their shape: between whole scales they are smaller than their cell.
func (c *canvas) text(r executor.Rect, s string, l lettering) {
	size := float64(max(1, l.size))
	wide := charW * size
	s = fit(s, int(r.W/wide))
	x := r.X
	if free := r.W - float64(utf8.RuneCountInString(s))*wide; l.align == center {
		x += free / 2
	} else if l.align == right {
		x += free
	}
	k := max(1, int(size*c.scale))
	slack := size*c.scale - float64(k)
	px, py := c.at(x, r.Y+(r.H-charH*size)/2)
	px, py = px+slack*charW/2, py+slack*charH/2
	for i, ch := range []rune(s) {
		at := image.Pt(int(math.Round(px+float64(i)*wide*c.scale)), int(math.Round(py)))
		c.glyph(at, ch, k, l)
	}
}

func fit(s string, chars int) string {
	if utf8.RuneCountInString(s) <= chars {
		return s
	}
	if chars < 1 {
		return ""
	}
	return cutText(s, chars-1) + "…"
}

// glyph draws one character k times as large as the font has it; what the font lacks
// shows as a question mark, so that nothing is invisible.
func (c *canvas) glyph(at image.Point, ch rune, k int, l lettering) {
	dr, mask, mp, _, ok := l.face.Glyph(fixed.P(0, baseline), ch)
	if !ok {
		dr, mask, mp, _, _ = l.face.Glyph(fixed.P(0, baseline), '?')
	}
	alpha, ok := mask.(*image.Alpha)
	if !ok {
		return
	}
	for y := range dr.Dy() {
		for x := range dr.Dx() {
			a := alpha.AlphaAt(mp.X+x, mp.Y+y).A
			if a == 0 {
				continue
			}
			for i := range k * k {
				c.blend(at.X+(dr.Min.X+x)*k+i%k, at.Y+(dr.Min.Y+y)*k+i/k, l.color, float64(a)/255)
			}
		}
	}
}
