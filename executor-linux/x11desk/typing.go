package x11desk

import (
	"context"
	"time"
	"unicode/utf8"

	"fairlead.dev/executor-linux/internal/atspi"
	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/refusal"
)

const (
	// arriveMax is how long a typed text may take to show in its element.
	arriveMax = time.Second
	// arriveEvery is how often it is looked for.
	arriveEvery = 20 * time.Millisecond
	// textMax bounds the text that is read to add to it or to compare it; the accessibility
	// client reads no more.
	textMax = 100_000
)

const textRoute = commonv1.Route_ROUTE_ACCESSIBILITY_TEXT

// submitOf is the action that stands for Return in an element.
func submitOf(n *atspi.Node) atspi.Action {
	for _, a := range []atspi.Action{atspi.ActionConfirm, atspi.ActionActivate} {
		if n.Can(a) {
			return a
		}
	}
	return atspi.ActionNone
}

// write replaces the whole text. A spin button takes a text over only when it is
// activated, which belongs to the same write.
func (a *act) write(ctx context.Context, n *atspi.Node) executor.Delivery {
	sent, err := a.client.SetText(ctx, a.ref, a.Text)
	out := delivered(ctx, textRoute, sent, err)
	if out.Sent == executor.Accepted && n.Role == atspi.RoleSpinButton && n.Can(atspi.ActionActivate) {
		return a.then(ctx, atspi.ActionActivate, out)
	}
	return out
}

// then does a second action of the same act. Something was sent already, so it can no
// longer be refused: what is not answered is unknown.
func (a *act) then(ctx context.Context, which atspi.Action, sofar executor.Delivery) executor.Delivery {
	sent, _ := a.client.DoAction(ctx, a.ref, which)
	switch sent {
	case atspi.SentAccepted:
	case atspi.SentDeclined, atspi.SentNothing:
		sofar.Sent = executor.Declined
	default:
		sofar.Sent = executor.Unanswered
	}
	return sofar
}

// typeText puts the text in, reads it back, and presses Return only when all of it
// arrived (C8.5). Count is what was read back; a text that the application shows in
// another form counts as far as it agrees.
func (a *act) typeText(ctx context.Context, n *atspi.Node) executor.Delivery {
	wanted := a.Text
	var out executor.Delivery
	if a.Mode == commonv1.TextMode_TEXT_MODE_APPEND {
		before, err := a.client.ReadText(ctx, a.ref, textMax)
		if err != nil {
			return refusedFor(ctx, err)
		}
		if !before.Whole() {
			return executor.Refused(refusal.AnswerElementNotActionable)
		}
		wanted = before.Text + a.Text
		out = executor.Delivery{Sent: executor.Accepted, Route: textRoute}
		if a.Text != "" {
			sent, err := a.client.InsertText(ctx, a.ref, before.Len, a.Text)
			out = delivered(ctx, textRoute, sent, err)
		}
	} else {
		sent, err := a.client.SetText(ctx, a.ref, wanted)
		out = delivered(ctx, textRoute, sent, err)
	}
	if out.Sent != executor.Accepted {
		return out
	}
	out.Count = a.arrived(ctx, wanted)
	whole := out.Count == utf8.RuneCountInString(a.Text)
	switch {
	case a.Submit && whole:
		return a.then(ctx, submitOf(n), out)
	case n.Role == atspi.RoleSpinButton && n.Can(atspi.ActionActivate) && whole:
		return a.then(ctx, atspi.ActionActivate, out)
	}
	return out
}

// arrived waits for the wanted text and returns how many characters of the typed part
// are there.
func (a *act) arrived(ctx context.Context, wanted string) int {
	ctx, cancel := context.WithTimeout(ctx, arriveMax)
	defer cancel()
	before := utf8.RuneCountInString(wanted) - utf8.RuneCountInString(a.Text)
	tick := time.NewTicker(arriveEvery)
	defer tick.Stop()
	there := 0
	for {
		got, err := a.client.ReadText(ctx, a.ref, textMax)
		if err == nil {
			if got.Text == wanted {
				return utf8.RuneCountInString(a.Text)
			}
			there = min(max(0, agreeing(got.Text, wanted)-before), utf8.RuneCountInString(a.Text)-1)
		}
		select {
		case <-ctx.Done():
			return max(there, 0)
		case <-tick.C:
		}
	}
}

// agreeing is how many characters two texts begin with in common.
func agreeing(a, b string) int {
	n := 0
	for len(a) > 0 && len(b) > 0 {
		ra, size := utf8.DecodeRuneInString(a)
		rb, sizeB := utf8.DecodeRuneInString(b)
		if ra != rb {
			break
		}
		n, a, b = n+1, a[size:], b[sizeB:]
	}
	return n
}
