// Package telemetry is the only way out for facts about calls: it holds the one
// redaction function, the constructors of log and span attributes, and the exporter
// wrapper that filters again by key (C10.6). What may leave is an allow-list in the
// schema; a field that declares nothing counts as SECRET. Typed text, titles, values,
// coordinates, pictures, URLs and paths never leave.
package telemetry

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
)

// SensitivityOf returns the declared sensitivity of a field; undeclared is SECRET.
func SensitivityOf(fd protoreflect.FieldDescriptor) commonv1.Sensitivity {
	s, _ := proto.GetExtension(fd.Options(), commonv1.E_Sensitivity).(commonv1.Sensitivity)
	if s == commonv1.Sensitivity_SENSITIVITY_UNSPECIFIED {
		return commonv1.Sensitivity_SENSITIVITY_SECRET
	}
	return s
}

func mayLeave(fd protoreflect.FieldDescriptor) bool {
	s := SensitivityOf(fd)
	return s == commonv1.Sensitivity_SENSITIVITY_PUBLIC || s == commonv1.Sensitivity_SENSITIVITY_IDENTIFIER
}

// Redact returns a copy of the message that carries PUBLIC and IDENTIFIER fields only.
func Redact[M proto.Message](m M) M {
	c := proto.Clone(m)
	redact(c.ProtoReflect())
	out, _ := c.(M)
	return out
}

func redact(m protoreflect.Message) {
	m.SetUnknown(nil)
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case !mayLeave(fd):
			m.Clear(fd)
		case fd.Message() == nil:
		case fd.IsList():
			for i := range v.List().Len() {
				redact(v.List().Get(i).Message())
			}
		default:
			redact(v.Message())
		}
		return true
	})
}
