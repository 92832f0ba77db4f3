// Package refusal is the closed vocabulary of "no". A refusal is a code; its
// sentence, next move, claim ending and effect on the session are options on the
// enum in proto/fairlead/common/v1/refusal.proto and are read from the descriptor,
// so they stand in exactly one place (C0.8, C10.8). Inside a process a refusal
// travels as an *Error; across processes as a commonv1.Refusal in a normal
// response. A gRPC status is only for requests that were unusable.
package refusal

import (
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
)

type (
	// Code is a refusal code.
	Code = commonv1.RefusalCode
	// Answer is an executor's finer code.
	Answer = commonv1.ExecutorCode
	// Detail holds enums and numbers about a refusal.
	Detail = commonv1.RefusalDetail
	// Rule is what the product knows about a code.
	Rule = commonv1.RefusalRule
)

// Error is a refusal on its way to the caller.
type Error struct {
	Code   Code
	Detail *Detail
	// Claim is what really happened to the claim; without it the rule's usual ending is told.
	Claim *Claim
}

// Claim is the end of one claim.
type Claim struct {
	End          commonv1.ClaimEnd
	FrameCurrent bool
}

// Error returns the fixed sentence of the code.
func (e *Error) Error() string { return Of(e.Code).GetSentence() }

// New returns a refusal without detail.
func New(code Code) *Error { return &Error{Code: code} }

// With returns a refusal with detail.
func With(code Code, detail *Detail) *Error { return &Error{Code: code, Detail: detail} }

// FromAnswer returns the refusal an executor answer is told as.
func FromAnswer(a Answer, detail *Detail) *Error {
	d := &Detail{}
	if detail != nil {
		d, _ = proto.Clone(detail).(*Detail)
	}
	d.ExecutorCode = a
	return &Error{Code: ToldAs(a), Detail: d}
}

// As returns the refusal in err. An error that is none is told as the worst case
// of a call that may not have been sent: SERVICE_UNAVAILABLE.
func As(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return New(ServiceUnavailable)
}

// Wire returns the refusal as it travels in a response. Of the two facts about the
// claim, what really happened to it wins over the rule's usual ending.
func (e *Error) Wire() *commonv1.Refusal {
	r := Of(e.Code)
	w := &commonv1.Refusal{
		Code:              e.Code,
		NextMove:          r.GetNextMove(),
		FrameStillCurrent: r.GetFrameStillCurrent(),
		ClaimEnd:          r.GetClaimEnd(),
		Detail:            e.Detail,
		Sentence:          r.GetSentence(),
	}
	if e.Claim != nil {
		w.ClaimEnd, w.FrameStillCurrent = e.Claim.End, e.Claim.FrameCurrent
	}
	return w
}

var rules, tellings = readRules(), readTellings()

// Of returns the rule of a code. A code that is not in the vocabulary has the rule
// of OUTCOME_UNKNOWN, the worst case.
func Of(code Code) *Rule {
	if r, ok := rules[code]; ok {
		return r
	}
	return rules[OutcomeUnknown]
}

// ToldAs returns the refusal code an executor answer is told as; an answer that is
// not in the vocabulary is OUTCOME_UNKNOWN (C9.6).
func ToldAs(a Answer) Code {
	if c, ok := tellings[a]; ok {
		return c
	}
	return OutcomeUnknown
}

func readRules() map[Code]*Rule {
	m := map[Code]*Rule{}
	eachValue(Code(0).Descriptor(), func(n protoreflect.EnumNumber, opts proto.Message) {
		if r, ok := proto.GetExtension(opts, commonv1.E_Refusal).(*Rule); ok && r != nil {
			m[Code(n)] = r
		}
	})
	return m
}

func readTellings() map[Answer]Code {
	m := map[Answer]Code{}
	eachValue(Answer(0).Descriptor(), func(n protoreflect.EnumNumber, opts proto.Message) {
		if c, ok := proto.GetExtension(opts, commonv1.E_ToldAs).(Code); ok && c != 0 {
			m[Answer(n)] = c
		}
	})
	return m
}

func eachValue(d protoreflect.EnumDescriptor, f func(protoreflect.EnumNumber, proto.Message)) {
	for i := range d.Values().Len() {
		v := d.Values().Get(i)
		f(v.Number(), v.Options())
	}
}

// Unusable is the status of a request that cannot be understood (error layer 1).
// The reason is a constant of our own, never anything the caller sent.
func Unusable(reason string) error { return status.Error(codes.InvalidArgument, reason) }

// NotAllowed is the status of a caller that may not make the call at all.
func NotAllowed(reason string) error { return status.Error(codes.PermissionDenied, reason) }

// Unauthenticated is the status of a caller whose session secret is wrong.
func Unauthenticated(reason string) error { return status.Error(codes.Unauthenticated, reason) }

// Unavailable is the status of a service that cannot take the call now.
func Unavailable(reason string) error { return status.Error(codes.Unavailable, reason) }
