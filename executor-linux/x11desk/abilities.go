package x11desk

import (
	"context"
	"time"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
)

// measureMax bounds the measurement of the abilities.
const measureMax = 2 * time.Second

// Abilities measures what works now (C9.5): each is asked for, not read off a setting.
func (d *Desk) Abilities(ctx context.Context) []executor.Ability {
	ctx, cancel := context.WithTimeout(ctx, measureMax)
	defer cancel()
	windows := d.canList(ctx)
	tree := windows && d.canRead(ctx)
	measured := func(k commonv1.AbilityKind, able bool) executor.Ability {
		a := executor.Ability{Kind: k, Able: able}
		if !able {
			a.Reason = commonv1.AbilityReason_ABILITY_REASON_SERVICE_MISSING
		}
		return a
	}
	missing := func(k commonv1.AbilityKind) executor.Ability {
		return executor.Ability{Kind: k, Reason: commonv1.AbilityReason_ABILITY_REASON_NOT_OFFERED}
	}
	return []executor.Ability{
		measured(commonv1.AbilityKind_ABILITY_KIND_WINDOWS, windows),
		measured(commonv1.AbilityKind_ABILITY_KIND_TREE, tree),
		measured(commonv1.AbilityKind_ABILITY_KIND_CAPTURE, windows && d.canCapture()),
		measured(commonv1.AbilityKind_ABILITY_KIND_SEMANTIC, tree),
		measured(commonv1.AbilityKind_ABILITY_KIND_LAUNCH, windows && d.canLaunch()),
		missing(commonv1.AbilityKind_ABILITY_KIND_POINTER),
		missing(commonv1.AbilityKind_ABILITY_KIND_KEYBOARD),
		missing(commonv1.AbilityKind_ABILITY_KIND_PAGE),
	}
}

func (d *Desk) canList(ctx context.Context) bool {
	_, err := d.x.UserState(ctx)
	return err == nil
}

func (d *Desk) canRead(ctx context.Context) bool {
	client, err := d.ally.get(ctx)
	if err != nil {
		return false
	}
	apps, err := client.Applications(ctx)
	if err == nil {
		d.hints.buses(apps)
	}
	return err == nil
}

// canCapture connects the capturer, which asks the server for all that it needs.
func (d *Desk) canCapture() bool {
	_, err := d.camera()
	return err == nil
}

func (d *Desk) canLaunch() bool {
	_, err := d.apps.DesktopApps()
	return err == nil
}
