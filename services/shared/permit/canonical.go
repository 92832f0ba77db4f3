package permit

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Canonical returns the one byte form of a message: the protobuf wire format with
// fields in number order, absent fields left out, repeated scalars packed and
// unknown fields left out. Unlike the library's deterministic mode it does not
// depend on the version of the library. Every field of the schema is covered, so a
// new field cannot be forgotten. Maps and extensions do not exist in our messages.
func Canonical(m proto.Message) []byte { return appendMessage(nil, m.ProtoReflect()) }

func appendMessage(b []byte, m protoreflect.Message) []byte {
	fields := m.Descriptor().Fields()
	for _, fd := range inNumberOrder(fields) {
		if !m.Has(fd) {
			continue
		}
		v := m.Get(fd)
		switch {
		case !fd.IsList():
			b = appendTag(b, fd)
			b = appendValue(b, fd, v)
		case packable(fd):
			var body []byte
			for i := range v.List().Len() {
				body = appendValue(body, fd, v.List().Get(i))
			}
			b = protowire.AppendTag(b, fd.Number(), protowire.BytesType)
			b = protowire.AppendBytes(b, body)
		default:
			for i := range v.List().Len() {
				b = appendTag(b, fd)
				b = appendValue(b, fd, v.List().Get(i))
			}
		}
	}
	return b
}

func inNumberOrder(fields protoreflect.FieldDescriptors) []protoreflect.FieldDescriptor {
	out := make([]protoreflect.FieldDescriptor, fields.Len())
	for i := range out {
		out[i] = fields.Get(i)
		for j := i; j > 0 && out[j].Number() < out[j-1].Number(); j-- {
			out[j], out[j-1] = out[j-1], out[j]
		}
	}
	return out
}

func packable(fd protoreflect.FieldDescriptor) bool {
	switch fd.Kind() {
	case protoreflect.StringKind, protoreflect.BytesKind, protoreflect.MessageKind, protoreflect.GroupKind:
		return false
	default:
		return true
	}
}

func appendTag(b []byte, fd protoreflect.FieldDescriptor) []byte {
	return protowire.AppendTag(b, fd.Number(), wireType(fd.Kind()))
}

func wireType(k protoreflect.Kind) protowire.Type {
	switch k {
	case protoreflect.DoubleKind, protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind:
		return protowire.Fixed64Type
	case protoreflect.FloatKind, protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind:
		return protowire.Fixed32Type
	case protoreflect.StringKind, protoreflect.BytesKind, protoreflect.MessageKind:
		return protowire.BytesType
	default:
		return protowire.VarintType
	}
}

func appendValue(b []byte, fd protoreflect.FieldDescriptor, v protoreflect.Value) []byte {
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return protowire.AppendVarint(b, protowire.EncodeBool(v.Bool()))
	case protoreflect.EnumKind:
		return protowire.AppendVarint(b, uint64(v.Enum()))
	case protoreflect.Int32Kind, protoreflect.Int64Kind:
		return protowire.AppendVarint(b, uint64(v.Int()))
	case protoreflect.Uint32Kind, protoreflect.Uint64Kind:
		return protowire.AppendVarint(b, v.Uint())
	case protoreflect.DoubleKind:
		return protowire.AppendFixed64(b, math.Float64bits(v.Float()))
	case protoreflect.StringKind:
		return protowire.AppendString(b, v.String())
	case protoreflect.BytesKind:
		return protowire.AppendBytes(b, v.Bytes())
	case protoreflect.MessageKind:
		return protowire.AppendBytes(b, appendMessage(nil, v.Message()))
	default:
		// A kind that no fairlead message uses; a descriptor test keeps it so.
		panic("permit: field kind without a canonical form")
	}
}
