package x11desk

import (
	"context"
	"errors"
	"time"

	"fairlead.dev/executor-linux/internal/atspi"
	"fairlead.dev/executor-linux/internal/x11"
	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
)

// place is a window as both sides know it: the X server and its application.
type place struct {
	client *atspi.Client
	window *listed
	app    atspi.Application
	// tops are the accessible toplevels of its surfaces, the window's own first.
	tops []top
}

// top is the accessible toplevel of one surface.
type top struct {
	ref     atspi.Ref
	kit     atspi.Toolkit
	match   atspi.Match
	surface int
}

// noTree says that a window has no elements to read, and of what kind that is.
type noTree struct{ quality commonv1.TreeQuality }

func (e *noTree) Error() string { return "x11desk: " + e.quality.String() }

// startingFor is how long a new process may take to describe its windows before "it has
// not yet" becomes "it does not".
const startingFor = 5 * time.Second

func missingTree(w *listed) error {
	if processAge(w.Identity.Start) < startingFor {
		return &noTree{commonv1.TreeQuality_TREE_QUALITY_NOT_READY}
	}
	return &noTree{commonv1.TreeQuality_TREE_QUALITY_NONE}
}

// locate finds a window and its accessible toplevels as they are now. The application
// that was found last time is only where it looks first: its bus name is unique while
// the bus lives, and what it says is matched with the windows again each time.
func (d *Desk) locate(ctx context.Context, id ident.Window) (*place, error) {
	windows, err := d.list(ctx)
	if err != nil {
		return nil, err
	}
	w, err := find(windows, id)
	if err != nil {
		return nil, err
	}
	client, err := d.ally.get(ctx)
	if err != nil {
		return nil, executor.Fail(refusal.AnswerUnavailable)
	}
	facts := factsOf(windows, w)
	if app, ok := d.hints.app(id); ok {
		p, err := d.place(ctx, client, app, w, facts)
		if p != nil || errors.Is(err, atspi.ErrUnresponsive) {
			return p, err
		}
	}
	return d.search(ctx, client, w, facts)
}

// search looks for the window among all applications of its process.
func (d *Desk) search(
	ctx context.Context, client *atspi.Client, w *listed, facts []atspi.WindowFacts,
) (*place, error) {
	apps, err := client.Applications(ctx)
	if err != nil {
		return nil, err
	}
	d.hints.buses(apps)
	missing := missingTree(w)
	for _, app := range apps {
		if app.PID == 0 || app.PID != uint32(w.Identity.PID) {
			continue
		}
		if app.Unresponsive {
			return nil, atspi.ErrUnresponsive
		}
		p, err := d.place(ctx, client, app, w, facts)
		switch {
		case p != nil:
			d.hints.keep(w.Identity, app)
			return p, nil
		case err != nil:
			missing = err
		}
	}
	return nil, missing
}

// place matches an application's toplevels with the windows of its process. Without an
// error and without a place the window is not among them.
func (d *Desk) place(
	ctx context.Context, client *atspi.Client, app atspi.Application, w *listed, facts []atspi.WindowFacts,
) (*place, error) {
	if err := client.Alive(ctx, app.Root); err != nil {
		return nil, err
	}
	tops, err := client.Toplevels(ctx, app)
	if err != nil {
		return nil, err
	}
	if len(tops) == 0 {
		return nil, &noTree{commonv1.TreeQuality_TREE_QUALITY_NOT_READY}
	}
	matched, rivals := assign(tops, facts)
	p := &place{client: client, window: w, app: app}
	for i, s := range w.surfaces {
		t, ok := matched[uint32(s.ID)]
		if !ok {
			if i == 0 && rivals > 1 {
				return nil, &executor.Failure{Answer: refusal.AnswerElementAmbiguous, Candidates: rivals}
			}
			if i == 0 {
				return nil, nil
			}
			continue
		}
		t.surface = i
		p.tops = append(p.tops, t)
	}
	return p, nil
}

// assign pairs toplevels with windows. A pair that is certain takes its window away from
// the rest, so that what is left may become certain too; two toplevels that fit one
// window are no pair. rivals counts toplevels that fit several windows equally.
func assign(tops []atspi.Toplevel, facts []atspi.WindowFacts) (matched map[uint32]top, rivals int) {
	matched = map[uint32]top{}
	rest := tops
	for {
		claims := map[uint32][]top{}
		var unclear []atspi.Toplevel
		rivals = 0
		for _, t := range rest {
			m := atspi.MatchToplevel(facts, t)
			switch m.Verdict {
			case atspi.VerdictMatched:
				claims[m.ID] = append(claims[m.ID], top{ref: t.Ref, kit: t.Toolkit, match: m})
			case atspi.VerdictAmbiguous:
				rivals++
				unclear = append(unclear, t)
			default:
				unclear = append(unclear, t)
			}
		}
		taken := false
		for id, list := range claims {
			if len(list) > 1 {
				rivals += len(list)
				continue
			}
			matched[id], taken = list[0], true
		}
		if !taken || len(unclear) == 0 {
			return matched, rivals
		}
		rest = unclear
		left := facts[:0:0]
		for _, f := range facts {
			if _, gone := matched[f.ID]; !gone {
				left = append(left, f)
			}
		}
		facts = left
	}
}

// factsOf describes all windows and popups of a window's process for the match.
func factsOf(windows []listed, w *listed) []atspi.WindowFacts {
	var out []atspi.WindowFacts
	for i := range windows {
		if windows[i].Identity.PID != w.Identity.PID || windows[i].Identity.Start != w.Identity.Start {
			continue
		}
		for _, s := range windows[i].surfaces {
			out = append(out, atspi.WindowFacts{
				ID: uint32(s.ID), PID: uint32(s.PID), Title: s.Title,
				Client: pixels(toRect(s.Bounds)), Frame: pixels(toRect(s.FrameBounds)),
				Shadow: atspi.Margins{
					Left: s.Shadow.Left, Right: s.Shadow.Right, Top: s.Shadow.Top, Bottom: s.Shadow.Bottom,
				},
				HasShadow: s.Shadow != x11.Extents{},
			})
		}
	}
	return out
}

func pixels(r executor.Rect) atspi.Rect {
	return atspi.Rect{X: int(r.X), Y: int(r.Y), W: int(r.W), H: int(r.H)}
}
