package executor

import (
	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
)

// find returns the window of exactly this identity, or what became of it (C1.3).
func find(windows []Window, id ident.Window) (*Window, refusal.Answer) {
	for i := range windows {
		w := &windows[i]
		switch {
		case w.Identity.ID != id.ID:
			continue
		case w.Identity == id:
			return w, 0
		case w.Identity.PID != id.PID || w.Identity.Start != id.Start:
			return nil, refusal.AnswerProcessReplaced
		default:
			return nil, refusal.AnswerWindowChanged
		}
	}
	return nil, refusal.AnswerWindowGone
}

func sameApp(a, b ident.Window) bool { return a.App == b.App && a.PID == b.PID && a.Start == b.Start }

// blocks reports whether a window keeps another of its own app from being used (C6.2):
// a visible modal one that belongs to it, or to the whole app.
func blocks(windows []Window, modal, target *Window) bool {
	switch {
	case !modal.Modal || modal.Hidden || modal.Identity == target.Identity, !sameApp(modal.Identity, target.Identity):
		return false
	case modal.Owner == target.Identity.ID:
		return true
	case modal.Owner != 0:
		return false
	default:
		return !descends(windows, target, modal)
	}
}

// descends reports whether a window was opened, perhaps over others, from an ancestor.
func descends(windows []Window, w, ancestor *Window) bool {
	owner := w.Owner
	for range windows {
		if owner == 0 {
			return false
		}
		if owner == ancestor.Identity.ID {
			return true
		}
		owner = ownerOf(windows, owner)
	}
	return false
}

func ownerOf(windows []Window, id uint64) uint64 {
	for i := range windows {
		if windows[i].Identity.ID == id {
			return windows[i].Owner
		}
	}
	return 0
}

// blocked reports whether any window blocks the target.
func blocked(windows []Window, target *Window) bool {
	for i := range windows {
		if blocks(windows, &windows[i], target) {
			return true
		}
	}
	return false
}

// spot is an element's place, to ask what of its own app lies over it.
type spot struct {
	surface uint64
	bounds  Rect
}

// cover answers what of the same process lies over an element's centre (C6.2): a
// surface the frame showed, or one that opened since. A window of another process never
// refuses. An element without a place cannot be covered.
func cover(windows []Window, target *Window, at spot, shown []Surface) refusal.Answer {
	if target.Hidden || at.bounds.W <= 0 || at.bounds.H <= 0 {
		return 0
	}
	own, ok := surfaceByID(target.Surfaces, at.surface)
	if !ok {
		return refusal.AnswerElementReleased
	}
	x := own.Bounds.X + at.bounds.X + at.bounds.W/2
	y := own.Bounds.Y + at.bounds.Y + at.bounds.H/2
	for _, s := range target.Surfaces {
		sheet := s.Kind == commonv1.SurfaceKind_SURFACE_KIND_SHEET
		if s.Order > own.Order && (sheet || contains(s.Bounds, x, y)) {
			return coveredBy(s, shown)
		}
	}
	for i := range windows {
		w := &windows[i]
		if w.Hidden || w.Stacking <= target.Stacking || !sameApp(w.Identity, target.Identity) {
			continue
		}
		for _, s := range w.Surfaces {
			if contains(s.Bounds, x, y) {
				return refusal.AnswerWindowOccluded
			}
		}
	}
	return 0
}

func coveredBy(s Surface, shown []Surface) refusal.Answer {
	if _, ok := surfaceByID(shown, s.ID); !ok {
		return refusal.AnswerSurfaceNotInFrame
	}
	return refusal.AnswerWindowOccluded
}

func surfaceByID(surfaces []Surface, id uint64) (Surface, bool) {
	for _, s := range surfaces {
		if s.ID == id {
			return s, true
		}
	}
	return Surface{}, false
}

func contains(r Rect, x, y float64) bool {
	return x >= r.X && y >= r.Y && x < r.X+r.W && y < r.Y+r.H
}

func overlaps(a, b Rect) bool {
	return a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H
}

// windowChange is what happened to one toplevel of the app.
type windowChange struct {
	kind   commonv1.WindowChangeKind
	window ident.Window
}

// windowChanges compares the toplevels of one app before and after an act.
func windowChanges(before, after []Window, app string) []windowChange {
	var out []windowChange
	for i := range after {
		w := &after[i]
		if w.Identity.App != app {
			continue
		}
		was := byIdentity(before, w.Identity)
		switch {
		case was == nil:
			out = append(out, windowChange{commonv1.WindowChangeKind_WINDOW_CHANGE_KIND_OPENED, w.Identity})
		case was.Bounds != w.Bounds || was.Hidden != w.Hidden:
			out = append(out, windowChange{commonv1.WindowChangeKind_WINDOW_CHANGE_KIND_CHANGED, w.Identity})
		}
	}
	for i := range before {
		w := &before[i]
		if w.Identity.App == app && byIdentity(after, w.Identity) == nil {
			out = append(out, windowChange{commonv1.WindowChangeKind_WINDOW_CHANGE_KIND_CLOSED, w.Identity})
		}
	}
	return out
}

// windowSetChanged reports whether a toplevel opened or closed.
func windowSetChanged(changes []windowChange) bool {
	for _, c := range changes {
		if c.kind != commonv1.WindowChangeKind_WINDOW_CHANGE_KIND_CHANGED {
			return true
		}
	}
	return false
}

func byIdentity(windows []Window, id ident.Window) *Window {
	for i := range windows {
		if windows[i].Identity == id {
			return &windows[i]
		}
	}
	return nil
}
