package x11desk

import (
	"context"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
)

// Desk samples what belongs to the user. It answers while the screen is locked.
func (d *Desk) Desk(ctx context.Context) (executor.DeskState, error) {
	// Counted before the rest is read: input that comes while it is read is counted by the
	// later sample only, which then explains the difference.
	input := d.input.count()
	u, err := d.x.UserState(ctx)
	if err != nil {
		return executor.DeskState{}, failure(ctx, err, commonv1.Stage_STAGE_WALK)
	}
	s := executor.DeskState{
		PointerX: float64(u.Pointer.X), PointerY: float64(u.Pointer.Y), Focus: uint64(u.Focus),
		Active: uint64(u.Active), Clipboard: uint64(u.Clipboard), Input: input,
		Stacking: make([]uint64, 0, len(u.Stack)), Locked: d.lock.locked(ctx),
	}
	for _, w := range u.Stack {
		s.Stacking = append(s.Stacking, uint64(w))
	}
	return s, nil
}

// Displays lists the monitors. Points are root pixels, so their scale is 1.
func (d *Desk) Displays(ctx context.Context) ([]executor.Display, error) {
	monitors, err := d.x.Monitors(ctx)
	if err != nil {
		return nil, failure(ctx, err, commonv1.Stage_STAGE_WALK)
	}
	out := make([]executor.Display, 0, len(monitors))
	for _, m := range monitors {
		out = append(out, executor.Display{
			Bounds: toRect(m.Bounds), PixelW: m.Bounds.Dx(), PixelH: m.Bounds.Dy(), Scale: 1,
		})
	}
	return out, nil
}
