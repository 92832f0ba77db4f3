package executor

import (
	"slices"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
)

// deskReport says what happened to the user's desk between two samples (C12.5). What
// hardware input explains is the user's; anything else is the act's. Parts that no
// sample covers are not measured, and said to be so by saying nothing.
func deskReport(before, after DeskState, err error) *commonv1.Desk {
	if err != nil {
		return &commonv1.Desk{}
	}
	by := commonv1.DeskChange_DESK_CHANGE_BY_ACT
	if before.Input != after.Input {
		by = commonv1.DeskChange_DESK_CHANGE_BY_USER
	}
	part := func(same bool) commonv1.DeskChange {
		if same {
			return commonv1.DeskChange_DESK_CHANGE_UNCHANGED
		}
		return by
	}
	return &commonv1.Desk{
		Pointer:   part(before.PointerX == after.PointerX && before.PointerY == after.PointerY),
		Focus:     part(before.Focus == after.Focus),
		Active:    part(before.Active == after.Active),
		Stacking:  part(sameOrder(before.Stacking, after.Stacking)),
		Clipboard: part(before.Clipboard == after.Clipboard),
	}
}

// sameOrder reports whether the windows that are in both lists stand in the same
// order: one that opened or closed does not change how the others lie.
func sameOrder(a, b []uint64) bool {
	return slices.Equal(common(a, b), common(b, a))
}

func common(list, other []uint64) []uint64 {
	out := make([]uint64, 0, len(list))
	for _, id := range list {
		if slices.Contains(other, id) {
			out = append(out, id)
		}
	}
	return out
}
