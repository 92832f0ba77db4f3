package executor

import (
	"math/bits"
	"strings"
	"unicode/utf8"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
	"fairlead.dev/services/executor/internal/digest"
	"fairlead.dev/services/shared/ident"
)

// Limits of what one answer carries (protocol.md, Limits, and the schema).
const (
	elementsDefault = 1500
	elementsMax     = 5000
	depthDefault    = 64
	textMax         = 500
	nameMax         = 512
	pathMax         = 4096
	actionsMax      = 20
	surfacesMax     = 64
	relatedMax      = 64
	displaysMax     = 16
	truncationsMax  = 8
	changesMax      = 64
	listMax         = 1024
	// answerMax leaves room in a message for everything but tree and picture.
	answerMax = 15 << 20
)

func toWindow(w *commonv1.WindowIdentity) ident.Window {
	return ident.Window{
		ID: w.GetWindowId(), PID: w.GetPid(), Start: w.GetProcessStart(), App: w.GetAppId(), Birth: w.GetBirth(),
	}
}

func fromWindow(w ident.Window) *commonv1.WindowIdentity {
	return &commonv1.WindowIdentity{WindowId: w.ID, Pid: w.PID, ProcessStart: w.Start, AppId: w.App, Birth: w.Birth}
}

func toPage(p *commonv1.PageIdentity) ident.Page {
	return ident.Page{Endpoint: p.GetEndpoint(), Target: p.GetTarget(), Document: p.GetDocument()}
}

// fromPage returns nil where no page is bound: an empty message has other canonical bytes.
func fromPage(p ident.Page) *commonv1.PageIdentity {
	if p == (ident.Page{}) {
		return nil
	}
	return &commonv1.PageIdentity{Endpoint: p.Endpoint, Target: p.Target, Document: p.Document}
}

func toFence(f *commonv1.Fence) ident.Fence {
	return ident.Fence{
		Host: ident.Generation(f.GetHost()), Executor: ident.Generation(f.GetExecutor()),
		Policy: ident.Generation(f.GetPolicy()), Session: ident.Generation(f.GetSession()),
	}
}

func fromFence(f ident.Fence) *commonv1.Fence {
	return &commonv1.Fence{
		Host: uint64(f.Host), Executor: uint64(f.Executor), Policy: uint64(f.Policy), Session: uint64(f.Session),
	}
}

// toLimits fills in the defaults. Text is what one caller wants to see; a walk always
// reads up to textMax, so that what is recorded does not depend on it.
func toLimits(l *executorv1.TreeLimits) TreeLimits {
	out := TreeLimits{Elements: int(l.GetElements()), Depth: int(l.GetDepth()), Text: int(l.GetText())}
	if out.Elements <= 0 {
		out.Elements = elementsDefault
	}
	if out.Depth <= 0 {
		out.Depth = depthDefault
	}
	if out.Text <= 0 {
		out.Text = textMax
	}
	out.Elements, out.Text = min(out.Elements, elementsMax), min(out.Text, textMax)
	return out
}

func fromRect(r Rect) *commonv1.Rect {
	return &commonv1.Rect{X: r.X, Y: r.Y, Width: r.W, Height: r.H}
}

func toRect(r *commonv1.Rect) Rect {
	return Rect{X: r.GetX(), Y: r.GetY(), W: r.GetWidth(), H: r.GetHeight()}
}

// clean returns text that may travel: valid, and at most so many characters long.
func clean(s string, limit int) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	return digest.Clip(s, limit)
}

// appName is an app id as it travels.
func appName(s string) string { return clean(s, nameMax) }

func fromAbilities(abilities []Ability) []*commonv1.Ability {
	out := make([]*commonv1.Ability, 0, len(abilities))
	for _, a := range abilities {
		out = append(out, &commonv1.Ability{Kind: a.Kind, Able: a.Able, Reason: a.Reason})
	}
	return out
}

func fromResolution(r Resolution) *commonv1.Resolution {
	return &commonv1.Resolution{
		AppId: appName(r.AppID), Executable: clean(r.Executable, pathMax), Installed: r.Installed, Running: r.Running,
	}
}

func fromApps(apps []App) ([]*executorv1.AppFacts, bool) {
	cut := len(apps) > listMax
	out := make([]*executorv1.AppFacts, 0, min(len(apps), listMax))
	for _, a := range apps[:min(len(apps), listMax)] {
		out = append(out, &executorv1.AppFacts{
			AppId: appName(a.ID), Name: clean(a.Name, nameMax), Running: a.Running, Windows: uint32(max(0, a.Windows)),
		})
	}
	return out, cut
}

func fromSurfaces(surfaces []Surface) []*commonv1.Surface {
	out := make([]*commonv1.Surface, 0, len(surfaces))
	for _, s := range surfaces[:min(len(surfaces), surfacesMax)] {
		out = append(out, &commonv1.Surface{
			SurfaceId: s.ID, Kind: s.Kind, Bounds: fromRect(s.Bounds), Order: uint32(max(0, s.Order)),
		})
	}
	return out
}

// fromDisplays lists the displays that the window or any of its surfaces touches. A scale
// that is not proven is not shown (C2.2).
func fromDisplays(displays []Display, w *Window) []*commonv1.Display {
	var out []*commonv1.Display
	for _, d := range displays {
		touched := overlaps(d.Bounds, w.Bounds)
		for _, s := range w.Surfaces {
			touched = touched || overlaps(d.Bounds, s.Bounds)
		}
		if !touched || len(out) == displaysMax {
			continue
		}
		scale := d.Scale
		if d.MixedOrUnsure {
			scale = 0
		}
		out = append(out, &commonv1.Display{
			Bounds: fromRect(d.Bounds), PixelWidth: uint32(max(0, d.PixelW)), PixelHeight: uint32(max(0, d.PixelH)),
			Scale: scale,
		})
	}
	return out
}

func fromTruncations(cuts []Truncation) []*commonv1.Truncation {
	var out []*commonv1.Truncation
	for _, t := range cuts[:min(len(cuts), truncationsMax)] {
		out = append(out, &commonv1.Truncation{Kind: t.Kind, Missing: uint32(max(0, t.Missing))})
	}
	return out
}

// fromNodes lists the elements. One allocation holds them all, one their places, and
// equal sets of states share one list: messages are only marshalled from here on.
func fromNodes(l *look) []*commonv1.Element {
	n, text := len(l.nodes), l.shown
	els, rects, out := make([]commonv1.Element, n), make([]commonv1.Rect, n), make([]*commonv1.Element, n)
	shared := map[States][]commonv1.ElementState{}
	for i := range l.nodes {
		node, r, el := &l.nodes[i], &rects[i], &els[i]
		r.X, r.Y, r.Width, r.Height = node.Bounds.X, node.Bounds.Y, node.Bounds.W, node.Bounds.H
		el.Depth, el.Role, el.Bounds = uint32(l.depths[i]), node.Role, r
		el.Name, el.Description = clean(node.Name, text), clean(node.Description, text)
		el.Identifier = clean(node.Identifier, text)
		el.Value, el.ValueTruncated = valueShown(node, text)
		el.States = fromStates(shared, l.states(i))
		el.Actions = node.Actions[:min(len(node.Actions), actionsMax)]
		el.Surface = uint32(l.surfaceIndex(i))
		if node.Range != nil {
			lo, hi := node.Range.Min, node.Range.Max
			el.RangeMin, el.RangeMax = &lo, &hi
		}
		out[i] = el
	}
	return out
}

// valueShown is the value as it travels, and whether it is longer than that. A secure one
// never travels.
func valueShown(n *Node, text int) (string, bool) {
	if n.Secure {
		return "", false
	}
	v := clean(n.Value, text)
	return v, n.ValueTruncated || len(v) < len(n.Value)
}

func fromStates(shared map[States][]commonv1.ElementState, s States) []commonv1.ElementState {
	if list, ok := shared[s]; ok {
		return list
	}
	var list []commonv1.ElementState
	for rest := uint32(s &^ 1); rest != 0; rest &= rest - 1 {
		st := commonv1.ElementState(bits.TrailingZeros32(rest))
		if _, ok := commonv1.ElementState_name[int32(st)]; ok {
			list = append(list, st)
		}
	}
	shared[s] = list
	return list
}

func fromChanges(changes []windowChange) []*commonv1.WindowChange {
	var out []*commonv1.WindowChange
	for _, c := range changes[:min(len(changes), changesMax)] {
		out = append(out, &commonv1.WindowChange{Kind: c.kind, Window: fromWindow(c.window)})
	}
	return out
}
