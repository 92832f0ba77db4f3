package x11desk

import (
	"context"

	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/refusal"
)

// Deliver sends nothing: this desktop has no pointer and keyboard of the agent's own yet,
// and the user's are not for use (C0.3). Abilities says so.
func (*Desk) Deliver(context.Context, executor.Input, executor.InputCheck) executor.Delivery {
	return executor.Refused(refusal.AnswerNotSupported)
}

// Manage sends nothing: window verbs, menus and pages are not offered here yet.
func (*Desk) Manage(context.Context, executor.Management, executor.WindowCheck) executor.Delivery {
	return executor.Refused(refusal.AnswerNotSupported)
}
