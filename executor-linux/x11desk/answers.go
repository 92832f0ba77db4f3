package x11desk

import (
	"context"
	"errors"

	"fairlead.dev/executor-linux/internal/atspi"
	"fairlead.dev/executor-linux/internal/x11"
	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/refusal"
)

// failure turns an error from below into one with an executor answer. The caller's own
// deadline comes first: a read that it cut short says nothing about the application.
func failure(ctx context.Context, err error, stage commonv1.Stage) error {
	var known *executor.Failure
	if err == nil || errors.As(err, &known) {
		return err
	}
	return &executor.Failure{Answer: answerOf(ctx, err), Stage: stage}
}

// answerOf is the answer that an error from below stands for.
func answerOf(ctx context.Context, err error) refusal.Answer {
	var known *executor.Failure
	if errors.As(err, &known) {
		return known.Answer
	}
	switch cause := ctx.Err(); {
	case errors.Is(cause, context.Canceled):
		return refusal.AnswerAborted
	case errors.Is(cause, context.DeadlineExceeded):
		return refusal.AnswerTimeout
	}
	for _, row := range answers() {
		if errors.Is(err, row.err) {
			return row.answer
		}
	}
	return refusal.AnswerUnavailable
}

// answers is the table of the errors of the packages below.
func answers() []struct {
	err    error
	answer refusal.Answer
} {
	return []struct {
		err    error
		answer refusal.Answer
	}{
		{atspi.ErrUnresponsive, refusal.AnswerTargetUnresponsive},
		{atspi.ErrNoAnswer, refusal.AnswerOutcomeUnknown},
		{atspi.ErrGone, refusal.AnswerElementReleased},
		{atspi.ErrSecure, refusal.AnswerElementSecure},
		{atspi.ErrUnsupported, refusal.AnswerElementNotActionable},
		{atspi.ErrInvalid, refusal.AnswerElementNotActionable},
		{atspi.ErrAnswered, refusal.AnswerDispatchRefused},
		{atspi.ErrProtocol, refusal.AnswerDispatchRefused},
		{x11.ErrTimeout, refusal.AnswerTimeout},
		{x11.ErrGone, refusal.AnswerWindowGone},
		{x11.ErrHidden, refusal.AnswerWindowHidden},
		{x11.ErrLimit, refusal.AnswerResponseTooLarge},
		{x11.ErrUnsettled, refusal.AnswerCaptureFailed},
		{x11.ErrUnsupported, refusal.AnswerCaptureFailed},
		{context.DeadlineExceeded, refusal.AnswerTimeout},
		{context.Canceled, refusal.AnswerAborted},
	}
}
