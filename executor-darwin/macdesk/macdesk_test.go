package macdesk

import (
	"errors"
	"testing"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
)

func TestEveryReadIsUnavailable(t *testing.T) {
	d := New()
	ctx := t.Context()
	reads := map[string]func() error{
		"Apps":     func() error { _, err := d.Apps(ctx, "x"); return err },
		"Windows":  func() error { _, err := d.Windows(ctx); return err },
		"Displays": func() error { _, err := d.Displays(ctx); return err },
		"ReadTree": func() error { _, err := d.ReadTree(ctx, ident.Window{}, executor.TreeLimits{}); return err },
		"Reread":   func() error { _, err := d.Reread(ctx, ident.Window{}, "x"); return err },
		"Capture":  func() error { _, err := d.Capture(ctx, ident.Window{}); return err },
		"Resolve":  func() error { _, err := d.Resolve(ctx, "x"); return err },
		"Desk":     func() error { _, err := d.Desk(ctx); return err },
	}
	for name, read := range reads {
		t.Run(name, func(t *testing.T) {
			var f *executor.Failure
			if err := read(); !errors.As(err, &f) || f.Answer != refusal.AnswerUnavailable {
				t.Errorf("answered %v", err)
			}
		})
	}
}

func TestNothingIsEverSent(t *testing.T) {
	d := New()
	check := func(executor.Node) refusal.Answer {
		t.Error("the check was asked")
		return 0
	}
	for name, got := range map[string]executor.Delivery{
		"Perform": d.Perform(t.Context(), executor.Performance{}, check),
		"Launch":  d.Launch(t.Context(), executor.Resolution{}),
	} {
		if got.Sent != executor.NotSent || got.Answer != refusal.AnswerUnavailable ||
			got.Route != commonv1.Route_ROUTE_NONE {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestNoAbilityIsOffered(t *testing.T) {
	seen := map[commonv1.AbilityKind]bool{}
	for _, a := range New().Abilities(t.Context()) {
		seen[a.Kind] = true
		if a.Able || a.Reason != commonv1.AbilityReason_ABILITY_REASON_NOT_OFFERED {
			t.Errorf("%+v", a)
		}
	}
	for k := range commonv1.AbilityKind_name {
		if k != 0 && !seen[commonv1.AbilityKind(k)] {
			t.Errorf("nothing is said of %v", commonv1.AbilityKind(k))
		}
	}
}

func TestWatchEndsTwice(t *testing.T) {
	d := New()
	changes, stop := d.Watch(0)
	stop()
	stop()
	if _, open := <-changes; open {
		t.Error("a change of nothing")
	}
	if d.Name() != "macos" || d.Close() != nil {
		t.Error("name or close")
	}
}
