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
		case fd.Name() == "keys":
			m.Set(fd, protoreflect.ValueOfString("Right"))
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

// PressKeys presses a chord on the owned keyboard target.
func PressKeys(keys string) *commonv1.Act {
	return &commonv1.Act{Act: &commonv1.Act_PressKeys{PressKeys: &commonv1.PressKeys{Keys: keys}}}
}

// HoldKeys holds a chord on the owned keyboard target.
func HoldKeys(keys string, ms uint32) *commonv1.Act {
	return &commonv1.Act{Act: &commonv1.Act_HoldKeys{HoldKeys: &commonv1.HoldKeys{Keys: keys, DurationMs: ms}}}
}

// ClickPoint clicks a pixel of a picture.
func ClickPoint(picture string, x, y float64) *commonv1.Act {
	return &commonv1.Act{Act: &commonv1.Act_ClickPoint{
		ClickPoint: &commonv1.ClickPoint{PictureId: picture, Point: &commonv1.Point{X: x, Y: y}},
	}}
}

// Drag drags along pixels of a picture.
func Drag(picture string, path ...*commonv1.Point) *commonv1.Act {
	return &commonv1.Act{Act: &commonv1.Act_Drag{Drag: &commonv1.Drag{PictureId: picture, Path: path}}}
}

// CloseWindow asks the bound window to close.
func CloseWindow() *commonv1.Act {
	return &commonv1.Act{Act: &commonv1.Act_CloseWindow{CloseWindow: &commonv1.CloseWindow{}}}
}

// Navigate navigates the bound page.
func Navigate(url string) *commonv1.Act {
	return &commonv1.Act{Act: &commonv1.Act_Navigate{Navigate: &commonv1.Navigate{Url: url}}}
}

// Append adds to the text of the keyboard target that the session owns.
func Append(text string) *commonv1.Act {
	act := TypeText(0, text)
	act.GetTypeText().Mode = commonv1.TextMode_TEXT_MODE_APPEND
	return act
}

// Submitted is the same typing with Return after it.
func Submitted(act *commonv1.Act) *commonv1.Act {
	act.GetTypeText().Submit = true
	return act
}
