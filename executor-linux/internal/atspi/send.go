package atspi

import (
	"context"
	"errors"
	"time"
)

// actTime is how long the answer to an act is waited for. Actions that open dialogs of their own loop answer late or
// never; the outcome is then unknown (C7.7).
const actTime = 3 * time.Second

// Sent says how far an act got (C7.1).
type Sent uint8

const (
	// SentNothing: provably no application has seen the act.
	SentNothing Sent = iota
	// SentAccepted: the application answered yes. Whether anything happened is for a readback to say (C7.2).
	SentAccepted
	// SentDeclined: the application answered no, or with an error.
	SentDeclined
	// SentUnanswered: it may have happened, may still happen, or not; never send it again (C0.5).
	SentUnanswered
)

// String names the outcome.
func (s Sent) String() string {
	switch s {
	case SentAccepted:
		return "accepted"
	case SentDeclined:
		return "declined"
	case SentUnanswered:
		return "unanswered"
	case SentNothing:
	}
	return "nothing"
}

// send performs one act. Everything before it may be given up; from the write on, the caller's context only decides
// how long is waited, so that what is reported as not sent was not sent.
func (c *Client) send(ctx context.Context, r request, accepted func([]any) bool) (Sent, error) {
	if err := context.Cause(ctx); err != nil {
		return SentNothing, err
	}
	life, cancel := context.WithTimeout(context.WithoutCancel(ctx), actTime)
	defer cancel()
	call := c.start(life, r)
	select {
	case <-call.Done:
	case <-ctx.Done():
		// An answer that is already here counts.
		select {
		case <-call.Done:
		default:
			return SentUnanswered, ErrNoAnswer
		}
	}
	if call.Err != nil {
		return sentError(call.Err)
	}
	if !accepted(call.Body) {
		return SentDeclined, nil
	}
	return SentAccepted, nil
}

// sentError decides what an error says about how far the act got.
func sentError(err error) (Sent, error) {
	if errors.Is(err, errWrite) {
		return SentNothing, ErrClosed
	}
	switch e := classify(err); e {
	case errNotRouted:
		return SentNothing, ErrClosed
	case ErrInvalid:
		return SentNothing, e
	case ErrGone:
		// The bus has no such name: nobody received the message.
		return SentNothing, e
	case errNoMember:
		return SentDeclined, ErrGone
	case ErrAnswered:
		return SentDeclined, e
	}
	return SentUnanswered, ErrNoAnswer
}

// saidYes accepts a boolean answer of true.
func saidYes(body []any) bool {
	yes, ok := asBool(body)
	return ok && yes
}

// saidAnything accepts an empty answer.
func saidAnything([]any) bool { return true }
