package x11desk

import (
	"context"
	"image"
	"os"

	"github.com/jezek/xgb/xproto"

	"fairlead.dev/executor-linux/internal/x11"
	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
)

// listed is one toplevel with what the X server knows of it and of its popups. The
// first surface is the toplevel itself.
type listed struct {
	executor.Window
	surfaces []x11.Window
}

// Windows lists the toplevels in stacking order, lowest first. Popups, menus and
// tooltips are surfaces of the toplevel they belong to, never windows of their own;
// panels, desktops and windows of this process are not listed.
func (d *Desk) Windows(ctx context.Context) ([]executor.Window, error) {
	windows, err := d.list(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]executor.Window, len(windows))
	for i := range windows {
		out[i] = windows[i].Window
	}
	return out, nil
}

// list lists the toplevels with their surfaces.
func (d *Desk) list(ctx context.Context) ([]listed, error) {
	raw, err := d.x.Windows(ctx)
	if err != nil {
		return nil, failure(ctx, err, commonv1.Stage_STAGE_WALK)
	}
	var tops []listed
	index := map[xproto.Window]int{}
	ids := map[int]string{}
	for _, w := range raw {
		if w.PID == os.Getpid() || !isToplevel(&w) {
			continue
		}
		if _, known := ids[w.PID]; !known {
			ids[w.PID] = string(d.apps.ID(w.PID, w.ProcessStart))
		}
		index[w.ID] = len(tops)
		tops = append(tops, listed{Window: toWindow(&w, ids[w.PID], len(tops)), surfaces: []x11.Window{w}})
	}
	for i := range tops {
		owner := xproto.Window(tops[i].Owner)
		if _, ok := index[owner]; !ok || owner == tops[i].surfaces[0].ID {
			tops[i].Owner = 0
		}
	}
	attribute(tops, index, raw)
	d.hints.windows(tops)
	return tops, nil
}

// isToplevel reports whether a window is one that a person would call a window.
func isToplevel(w *x11.Window) bool {
	switch w.Type {
	case x11.TypeDock, x11.TypeDesktop, x11.TypeDND, x11.TypeNotification, x11.TypeTooltip,
		x11.TypeMenu, x11.TypeDropdownMenu, x11.TypePopupMenu, x11.TypeCombo:
		return false
	}
	return !w.Override
}

// isPopup reports whether a window is a surface of another one.
func isPopup(w *x11.Window) bool {
	switch w.Type {
	case x11.TypeDock, x11.TypeDesktop, x11.TypeDND, x11.TypeNotification:
		return false
	}
	return w.Mapped && !isToplevel(w)
}

func toWindow(w *x11.Window, app string, at int) executor.Window {
	return executor.Window{
		Identity: ident.Window{
			ID: uint64(w.ID), PID: int32(w.PID), Start: w.ProcessStart, App: app, Birth: uint64(w.Birth),
		},
		Title: w.Title, Bounds: toRect(w.Bounds), Stacking: at, Hidden: w.Hidden, Modal: w.Modal,
		Dialog: w.Type == x11.TypeDialog || w.TransientFor != 0 && w.Type != x11.TypeNormal,
		Owner:  uint64(w.TransientFor), Scale: 1,
		Surfaces: []executor.Surface{{
			ID: uint64(w.ID), Kind: commonv1.SurfaceKind_SURFACE_KIND_TOPLEVEL, Bounds: toRect(w.Bounds),
		}},
	}
}

func toRect(r image.Rectangle) executor.Rect {
	return executor.Rect{X: float64(r.Min.X), Y: float64(r.Min.Y), W: float64(r.Dx()), H: float64(r.Dy())}
}

// attribute makes each popup a surface of the toplevel it says it belongs to, when that
// is of the same process (a program's word about another program's window is not
// believed), else of the topmost toplevel of its process.
func attribute(tops []listed, index map[xproto.Window]int, raw []x11.Window) {
	byID := make(map[xproto.Window]*x11.Window, len(raw))
	for i := range raw {
		byID[raw[i].ID] = &raw[i]
	}
	for i := range raw {
		p := &raw[i]
		if p.PID == 0 || !isPopup(p) {
			continue
		}
		at, ok := rootOf(p, byID, index)
		if !ok || tops[at].surfaces[0].PID != p.PID || tops[at].surfaces[0].ProcessStart != p.ProcessStart {
			if at, ok = topmost(tops, p); !ok {
				continue
			}
		}
		t := &tops[at]
		t.Surfaces = append(t.Surfaces, executor.Surface{
			ID: uint64(p.ID), Kind: kindOf(p.Type), Bounds: toRect(p.Bounds), Order: len(t.Surfaces),
		})
		t.surfaces = append(t.surfaces, *p)
	}
}

// ownersMax bounds the walk from a submenu to its toplevel.
const ownersMax = 16

// rootOf follows a popup's owners to a toplevel.
func rootOf(p *x11.Window, byID map[xproto.Window]*x11.Window, index map[xproto.Window]int) (int, bool) {
	for range ownersMax {
		if p == nil || p.TransientFor == 0 {
			return 0, false
		}
		if at, ok := index[p.TransientFor]; ok {
			return at, true
		}
		p = byID[p.TransientFor]
	}
	return 0, false
}

// topmost is the highest visible toplevel of a popup's process.
func topmost(tops []listed, p *x11.Window) (int, bool) {
	for i := len(tops) - 1; i >= 0; i-- {
		w := &tops[i].surfaces[0]
		if w.PID == p.PID && w.ProcessStart == p.ProcessStart && !w.Hidden {
			return i, true
		}
	}
	return 0, false
}

func kindOf(t x11.Type) commonv1.SurfaceKind {
	switch t {
	case x11.TypeMenu, x11.TypeDropdownMenu, x11.TypePopupMenu:
		return commonv1.SurfaceKind_SURFACE_KIND_MENU
	case x11.TypeTooltip:
		return commonv1.SurfaceKind_SURFACE_KIND_TOOLTIP
	}
	return commonv1.SurfaceKind_SURFACE_KIND_POPUP
}

// find returns the window of exactly this identity, or what became of it (C1.3).
func find(windows []listed, id ident.Window) (*listed, error) {
	for i := range windows {
		w := &windows[i]
		switch now := w.Identity; {
		case now.ID != id.ID:
			continue
		case now == id:
			return w, nil
		case now.PID != id.PID || now.Start != id.Start:
			return nil, executor.Fail(refusal.AnswerProcessReplaced)
		default:
			return nil, executor.Fail(refusal.AnswerWindowChanged)
		}
	}
	return nil, executor.Fail(refusal.AnswerWindowGone)
}
