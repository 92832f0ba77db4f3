package virtualdesk

import (
	"context"
	"slices"
	"time"

	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/refusal"
)

// seatWaitDefault is how long a delivery waits for the agent's seat (protocol.md, limits).
const seatWaitDefault = 3 * time.Second

// seat is the agent's own pointer and keyboard; the user's are never used (C0.3). One
// delivery has it at a time.
type seat struct {
	pointer executor.Point
	// held is what is down: buttons, keys and modifiers, in the order they went down.
	held []string
}

// takeSeat waits for the seat, without the desk's lock. Whoever got it gives it back.
func (d *Desk) takeSeat(ctx context.Context) refusal.Answer {
	select {
	case <-d.seatFree:
		return 0
	default:
	}
	t := time.NewTimer(d.seatWait)
	defer t.Stop()
	select {
	case <-d.seatFree:
		return 0
	case <-t.C:
		return refusal.AnswerSeatTaken
	case <-ctx.Done():
		return ended(ctx)
	case <-d.done:
		return refusal.AnswerUnavailable
	}
}

func (d *Desk) giveSeat() { d.seatFree <- struct{}{} }

func (s *seat) down(name string) { s.held = append(s.held, name) }

func (s *seat) up(name string) {
	if i := slices.Index(s.held, name); i >= 0 {
		s.held = slices.Delete(s.held, i, i+1)
	}
}

// Held returns what is down on the agent's seat. Between deliveries it is empty (C7.4).
func (d *Desk) Held() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.seat.held)
}
