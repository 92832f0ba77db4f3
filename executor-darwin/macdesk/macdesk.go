// Package macdesk holds the place of the macOS Platform: it offers nothing yet, and
// says so in the vocabulary that every other executor uses, so that host, policy and
// launcher run unchanged on a Mac and tell the agent the truth.
//
// Contract. Each method answers AnswerUnavailable, each ability is NOT_OFFERED (C9.5),
// and nothing of the desktop is touched. It starts no goroutine.
//
// It must never pretend: an empty list would say that there are no windows.
package macdesk

import (
	"context"
	"sync"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
)

var _ executor.Platform = (*Desk)(nil)

// Desk is a desktop that offers nothing.
type Desk struct{}

// New returns the desktop.
func New() *Desk { return &Desk{} }

// Name returns "macos".
func (*Desk) Name() string { return "macos" }

// Abilities says that nothing is offered.
func (*Desk) Abilities(context.Context) []executor.Ability {
	kinds := []commonv1.AbilityKind{
		commonv1.AbilityKind_ABILITY_KIND_WINDOWS, commonv1.AbilityKind_ABILITY_KIND_TREE,
		commonv1.AbilityKind_ABILITY_KIND_CAPTURE, commonv1.AbilityKind_ABILITY_KIND_SEMANTIC,
		commonv1.AbilityKind_ABILITY_KIND_LAUNCH, commonv1.AbilityKind_ABILITY_KIND_POINTER,
		commonv1.AbilityKind_ABILITY_KIND_KEYBOARD, commonv1.AbilityKind_ABILITY_KIND_PAGE,
	}
	out := make([]executor.Ability, 0, len(kinds))
	for _, k := range kinds {
		out = append(out, executor.Ability{Kind: k, Reason: commonv1.AbilityReason_ABILITY_REASON_NOT_OFFERED})
	}
	return out
}

func unavailable() error { return executor.Fail(refusal.AnswerUnavailable) }

// Apps is not offered.
func (*Desk) Apps(context.Context, string) ([]executor.App, error) { return nil, unavailable() }

// Windows is not offered.
func (*Desk) Windows(context.Context) ([]executor.Window, error) { return nil, unavailable() }

// Displays is not offered.
func (*Desk) Displays(context.Context) ([]executor.Display, error) { return nil, unavailable() }

// ReadTree is not offered.
func (*Desk) ReadTree(context.Context, ident.Window, executor.TreeLimits) (*executor.Tree, error) {
	return nil, unavailable()
}

// Reread is not offered.
func (*Desk) Reread(context.Context, ident.Window, executor.Object) (executor.Node, error) {
	return executor.Node{}, unavailable()
}

// Perform sends nothing and does not ask the check.
func (*Desk) Perform(context.Context, executor.Performance, executor.Check) executor.Delivery {
	return executor.Refused(refusal.AnswerUnavailable)
}

// Deliver sends nothing and does not ask the check.
func (*Desk) Deliver(context.Context, executor.Input, executor.InputCheck) executor.Delivery {
	return executor.Refused(refusal.AnswerUnavailable)
}

// Manage sends nothing and does not ask the check.
func (*Desk) Manage(context.Context, executor.Management, executor.WindowCheck) executor.Delivery {
	return executor.Refused(refusal.AnswerUnavailable)
}

// Capture is not offered.
func (*Desk) Capture(context.Context, ident.Window) (*executor.Capture, error) {
	return nil, unavailable()
}

// Resolve is not offered.
func (*Desk) Resolve(context.Context, string) (executor.Resolution, error) {
	return executor.Resolution{}, unavailable()
}

// Launch starts nothing.
func (*Desk) Launch(context.Context, executor.Resolution) executor.Delivery {
	return executor.Refused(refusal.AnswerUnavailable)
}

// Desk is not offered.
func (*Desk) Desk(context.Context) (executor.DeskState, error) {
	return executor.DeskState{}, unavailable()
}

// Watch returns a stream on which nothing ever comes; ending it closes it.
func (*Desk) Watch(int32) (<-chan executor.Change, func()) {
	ch := make(chan executor.Change)
	return ch, sync.OnceFunc(func() { close(ch) })
}

// Close has nothing to let go of.
func (*Desk) Close() error { return nil }
