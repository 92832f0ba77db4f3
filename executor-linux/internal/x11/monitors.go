package x11

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"strconv"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/randr"
	"github.com/jezek/xgb/xproto"
)

// monitorsMax bounds the list of monitors; more is refused.
const monitorsMax = 64

// Monitor is one monitor of the screen.
type Monitor struct {
	// Name is the server's name for it ("DP-1"); "screen" without RandR.
	Name    string
	Primary bool
	// Bounds are root pixels. On X11 these are the display's own coordinates:
	// there is no scaling between them and the picture.
	Bounds image.Rectangle
	// MilliWidth and MilliHeight are the physical size in millimetres, zero unknown.
	MilliWidth, MilliHeight int
	// Scale is how much larger than 96 dpi toolkits are told to draw (Xft.dpi), one
	// number for all monitors of a screen; zero when the desk does not say.
	Scale float64
}

// Monitors lists the active monitors, else the whole screen as one.
func (c *Conn) Monitors(ctx context.Context) ([]Monitor, error) {
	m, err := Call(ctx, c, c.monitors)
	if err != nil {
		return nil, fmt.Errorf("list monitors: %w", err)
	}
	return m, nil
}

func (c *Conn) monitors(x *xgb.Conn) ([]Monitor, error) {
	const resourcesMax = 1 << 14 // in units of four bytes
	resources := xproto.GetProperty(x, false, c.Root, xproto.AtomResourceManager, xproto.AtomString, 0, resourcesMax)
	geometry := xproto.GetGeometry(x, xproto.Drawable(c.Root))
	var list *randr.GetMonitorsReply
	if _, ok := c.extensions[extRandR]; ok {
		r, err := randr.GetMonitors(x, c.Root, true).Reply()
		// An X error means a RandR before 1.5, which has no monitors.
		if _, lost := deadOrLost(err); lost != nil {
			return nil, lost
		}
		list = r
	}
	res, err := resources.Reply()
	if err != nil {
		return nil, err
	}
	g, err := geometry.Reply()
	if err != nil {
		return nil, err
	}
	scale := float64(xftDPI(res.Value)) / 96
	if list == nil || len(list.Monitors) == 0 {
		all := image.Rect(0, 0, int(g.Width), int(g.Height))
		return []Monitor{{Name: "screen", Primary: true, Bounds: all, Scale: scale}}, nil
	}
	if len(list.Monitors) > monitorsMax {
		return nil, ErrLimit
	}
	names := make([]xproto.GetAtomNameCookie, len(list.Monitors))
	for i, m := range list.Monitors {
		names[i] = xproto.GetAtomName(x, m.Name)
	}
	out := make([]Monitor, len(list.Monitors))
	for i, m := range list.Monitors {
		name, err := names[i].Reply()
		if err != nil {
			return nil, err
		}
		at := image.Pt(int(m.X), int(m.Y))
		out[i] = Monitor{
			Name: name.Name, Primary: m.Primary, Scale: scale,
			Bounds:     image.Rectangle{Min: at, Max: at.Add(image.Pt(int(m.Width), int(m.Height)))},
			MilliWidth: int(m.WidthInMillimeters), MilliHeight: int(m.HeightInMillimeters),
		}
	}
	return out, nil
}

// xftDPI finds Xft.dpi in the resource database, zero when it is not there or absurd.
func xftDPI(resources []byte) int {
	for line := range bytes.Lines(resources) {
		value, ok := bytes.CutPrefix(line, []byte("Xft.dpi:"))
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(string(bytes.TrimSpace(value)), 64)
		if err == nil && n >= 48 && n <= 960 {
			return int(n + 0.5)
		}
	}
	return 0
}
