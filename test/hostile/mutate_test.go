package hostile

import (
	"fmt"
	"math"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// mutation is a request with one thing wrong in it.
type mutation struct {
	name string
	msg  proto.Message
	// closed says that the schema itself forbids it: the answer must be INVALID_ARGUMENT.
	closed bool
}

// beyond are lengths over every bound of a request's text (protocol.md, Limits).
const beyond = 10_000

// mutations returns the request with each field of each message in it out of range.
func mutations(base proto.Message) []mutation {
	var out []mutation
	walk(base.ProtoReflect(), nil, func(path []protoreflect.FieldDescriptor, fd protoreflect.FieldDescriptor) {
		add := func(what string, closed bool, change func(m protoreflect.Message)) {
			c := proto.Clone(base)
			change(follow(c.ProtoReflect(), path))
			name := "itself"
			if fd != nil {
				name = string(fd.FullName())
			}
			out = append(out, mutation{fmt.Sprintf("%s %s", name, what), c, closed})
		}
		if fd == nil {
			add("has an unknown field", true, func(m protoreflect.Message) {
				m.SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 19_999, protowire.VarintType), 1))
			})
			return
		}
		add("is missing", false, func(m protoreflect.Message) { m.Clear(fd) })
		for _, v := range wrong(fd) {
			add(v.what, v.closed, func(m protoreflect.Message) { put(m, fd, v.value) })
		}
	})
	return out
}

// walk visits every message that is set, and every field of each of them.
func walk(
	m protoreflect.Message, path []protoreflect.FieldDescriptor,
	visit func(path []protoreflect.FieldDescriptor, fd protoreflect.FieldDescriptor),
) {
	visit(path, nil)
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		if fd.Message() == nil {
			visit(path, fd)
			continue
		}
		if !m.Has(fd) {
			continue
		}
		visit(path, fd)
		next := append(path[:len(path):len(path)], fd)
		walk(follow(m, []protoreflect.FieldDescriptor{fd}), next, visit)
	}
}

// follow goes down a path; of a list it takes the first.
func follow(m protoreflect.Message, path []protoreflect.FieldDescriptor) protoreflect.Message {
	for _, fd := range path {
		if fd.IsList() {
			m = m.Mutable(fd).List().Get(0).Message()
		} else {
			m = m.Mutable(fd).Message()
		}
	}
	return m
}

func put(m protoreflect.Message, fd protoreflect.FieldDescriptor, v protoreflect.Value) {
	if fd.IsList() {
		m.Mutable(fd).List().Append(v)
		return
	}
	m.Set(fd, v)
}

type wrongValue struct {
	what   string
	value  protoreflect.Value
	closed bool
}

// wrong returns values out of a field's range. Those of which the schema alone can
// tell, whatever the field means, are closed.
func wrong(fd protoreflect.FieldDescriptor) []wrongValue {
	switch fd.Kind() {
	case protoreflect.StringKind:
		return []wrongValue{
			{"is too long", protoreflect.ValueOfString(strings.Repeat("é", beyond)), true},
			{"holds controls", protoreflect.ValueOfString("a\x00b\x1b[2J\n"), false},
		}
	case protoreflect.BytesKind:
		return []wrongValue{{"is too long", protoreflect.ValueOfBytes(make([]byte, beyond)), true}}
	case protoreflect.EnumKind:
		return []wrongValue{
			{"is no member", protoreflect.ValueOfEnum(9999), true},
			{"is negative", protoreflect.ValueOfEnum(-1), true},
		}
	case protoreflect.DoubleKind:
		return []wrongValue{
			{"is no number", protoreflect.ValueOfFloat64(math.NaN()), true},
			{"is infinite", protoreflect.ValueOfFloat64(math.Inf(-1)), true},
			{"is huge", protoreflect.ValueOfFloat64(math.MaxFloat64), false},
		}
	case protoreflect.Uint32Kind:
		return []wrongValue{{"is huge", protoreflect.ValueOfUint32(math.MaxUint32), false}}
	case protoreflect.Uint64Kind:
		return []wrongValue{{"is huge", protoreflect.ValueOfUint64(math.MaxUint64), false}}
	case protoreflect.Int32Kind:
		return []wrongValue{{"is negative", protoreflect.ValueOfInt32(math.MinInt32), true}}
	case protoreflect.Int64Kind:
		return []wrongValue{{"is negative", protoreflect.ValueOfInt64(math.MinInt64), true}}
	}
	return nil
}

// bases returns valid-looking requests of a type: one for each member of each choice
// at any depth. The known messages are put wherever their type occurs.
func bases(d protoreflect.MessageType, known map[protoreflect.FullName]proto.Message) []proto.Message {
	out := []proto.Message{complete(d.New(), known, nil)}
	var choose func(md protoreflect.MessageDescriptor, chosen []protoreflect.FieldDescriptor)
	choose = func(md protoreflect.MessageDescriptor, chosen []protoreflect.FieldDescriptor) {
		for i := range md.Fields().Len() {
			fd := md.Fields().Get(i)
			if fd.Message() == nil || known[fd.Message().FullName()] != nil || len(chosen) > 4 {
				if fd.ContainingOneof() != nil && fd.Message() == nil {
					out = append(out, complete(d.New(), known, append(chosen[:len(chosen):len(chosen)], fd)))
				}
				continue
			}
			next := append(chosen[:len(chosen):len(chosen)], fd)
			if fd.ContainingOneof() != nil {
				out = append(out, complete(d.New(), known, next))
			}
			choose(fd.Message(), next)
		}
	}
	choose(d.Descriptor(), nil)
	return out
}

// complete sets every field to something small; of a choice the chosen member, or the first.
func complete(
	m protoreflect.Message, known map[protoreflect.FullName]proto.Message, chosen []protoreflect.FieldDescriptor,
) proto.Message {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		if o := fd.ContainingOneof(); o != nil && !o.IsSynthetic() && fd != member(o, chosen) {
			continue
		}
		if fd.Message() == nil {
			put(m, fd, small(fd))
			continue
		}
		var v proto.Message
		if k := known[fd.Message().FullName()]; k != nil {
			v = proto.Clone(k)
		} else {
			v = complete(newOf(m, fd), known, chosen)
		}
		put(m, fd, protoreflect.ValueOfMessage(v.ProtoReflect()))
	}
	return m.Interface()
}

func newOf(m protoreflect.Message, fd protoreflect.FieldDescriptor) protoreflect.Message {
	if fd.IsList() {
		return m.NewField(fd).List().NewElement().Message()
	}
	return m.NewField(fd).Message()
}

func member(o protoreflect.OneofDescriptor, chosen []protoreflect.FieldDescriptor) protoreflect.FieldDescriptor {
	for _, fd := range chosen {
		if fd.ContainingOneof() == o {
			return fd
		}
	}
	return o.Fields().Get(0)
}

func small(fd protoreflect.FieldDescriptor) protoreflect.Value {
	switch fd.Kind() {
	case protoreflect.StringKind:
		return protoreflect.ValueOfString("x")
	case protoreflect.BytesKind:
		if fd.Name() == "act_key" || fd.Name() == "act_digest" {
			return protoreflect.ValueOfBytes(make([]byte, 32))
		}
		return protoreflect.ValueOfBytes(make([]byte, 16))
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(1)
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(1)
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(true)
	case protoreflect.Uint32Kind:
		return protoreflect.ValueOfUint32(1)
	case protoreflect.Uint64Kind:
		return protoreflect.ValueOfUint64(1)
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(1)
	default:
		return protoreflect.ValueOfInt64(1)
	}
}
