package harness

import (
	"google.golang.org/protobuf/reflect/protoreflect"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
)

// Click presses an element.
func Click(id uint32) *commonv1.Act {
	return &commonv1.Act{Act: &commonv1.Act_ClickElement{ClickElement: &commonv1.ClickElement{ElementId: id}}}
}

// SetValue sets an element's value.
func SetValue(id uint32, value string) *commonv1.Act {
	return &commonv1.Act{Act: &commonv1.Act_SetValue{SetValue: &commonv1.SetValue{ElementId: id, Value: value}}}
}

// TypeText types into a named element.
func TypeText(id uint32, text string) *commonv1.Act {
	return &commonv1.Act{Act: &commonv1.Act_TypeText{TypeText: &commonv1.TypeText{ElementId: id, Text: text}}}
}

// Launch launches an app.
func Launch(app string) *commonv1.Act {
	return &commonv1.Act{Act: &commonv1.Act_LaunchApp{LaunchApp: &commonv1.LaunchApp{AppId: app}}}
}

// Focus focuses an element.
func Focus(id uint32) *commonv1.Act {
	return &commonv1.Act{Act: &commonv1.Act_FocusElement{FocusElement: &commonv1.FocusElement{ElementId: id}}}
}

// Value sets a value, for an element yet to be named.
func Value(value string) func(uint32) *commonv1.Act {
	return func(id uint32) *commonv1.Act { return SetValue(id, value) }
}

// Type types in a mode, for an element yet to be named.
func Type(text string, mode commonv1.TextMode) func(uint32) *commonv1.Act {
	return func(id uint32) *commonv1.Act {
		act := TypeText(id, text)
		act.GetTypeText().Mode = mode
		return act
	}
}

// SetChecked checks or unchecks, for an element yet to be named.
func SetChecked(on bool) func(uint32) *commonv1.Act {
	return func(id uint32) *commonv1.Act {
		return &commonv1.Act{Act: &commonv1.Act_SetChecked{SetChecked: &commonv1.SetChecked{ElementId: id, Checked: on}}}
	}
}

// SetExpanded expands or collapses, for an element yet to be named.
func SetExpanded(on bool) func(uint32) *commonv1.Act {
	return func(id uint32) *commonv1.Act {
		args := &commonv1.SetExpanded{ElementId: id, Expanded: on}
		return &commonv1.Act{Act: &commonv1.Act_SetExpanded{SetExpanded: args}}
	}
}

// Select selects an option, for an element yet to be named.
func Select(option string) func(uint32) *commonv1.Act {
	return func(id uint32) *commonv1.Act {
		args := &commonv1.SelectOption{ElementId: id, Option: option}
		return &commonv1.Act{Act: &commonv1.Act_SelectOption{SelectOption: args}}
	}
}

// Perform does a secondary action, for an element yet to be named.
func Perform(action commonv1.ElementAction) func(uint32) *commonv1.Act {
	return func(id uint32) *commonv1.Act {
		return &commonv1.Act{Act: &commonv1.Act_Perform{Perform: &commonv1.Perform{ElementId: id, Action: action}}}
	}
}

// EveryAct returns one act of each verb, with arguments that a request may carry and
// no element.
func EveryAct() []*commonv1.Act {
	var out []*commonv1.Act
	fields := (&commonv1.Act{}).ProtoReflect().Descriptor().Oneofs().Get(0).Fields()
	for i := range fields.Len() {
		act := &commonv1.Act{}
		m := act.ProtoReflect()
		fill(m.Mutable(fields.Get(i)).Message())
		out = append(out, act)
	}
	return out
}

// BindTo names an element in an act that has a place for one.
func BindTo(act *commonv1.Act, id uint32) {
	m := act.ProtoReflect()
	args := m.Mutable(m.WhichOneof(m.Descriptor().Oneofs().Get(0))).Message()
	if fd := args.Descriptor().Fields().ByName("element_id"); fd != nil {
		args.Set(fd, protoreflect.ValueOfUint32(id))
	}
}

// fill gives every scalar field a small valid value.
func fill(m protoreflect.Message) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		switch {
		case fd.IsList() && fd.Kind() == protoreflect.StringKind:
			m.Mutable(fd).List().Append(protoreflect.ValueOfString("File"))
		case fd.IsList():
		case fd.Kind() == protoreflect.StringKind:
			m.Set(fd, protoreflect.ValueOfString("https://example.org/"))
		case fd.Kind() == protoreflect.DoubleKind:
			m.Set(fd, protoreflect.ValueOfFloat64(10))
		case fd.Kind() == protoreflect.EnumKind:
			m.Set(fd, protoreflect.ValueOfEnum(1))
		case fd.Kind() == protoreflect.Uint32Kind:
			m.Set(fd, protoreflect.ValueOfUint32(1))
		case fd.Kind() == protoreflect.MessageKind:
			fill(m.Mutable(fd).Message())
		}
	}
}
