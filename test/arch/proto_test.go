// Package arch holds the rules that a machine can check about the house: the schema,
// the imports, the modules. Each rule names its reason.
package arch

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	_ "fairlead.dev/gen/fairlead/executor/v1"
	_ "fairlead.dev/gen/fairlead/host/v1"
	_ "fairlead.dev/gen/fairlead/policy/v1"
)

func eachFile(f func(protoreflect.FileDescriptor)) {
	protoregistry.GlobalFiles.RangeFiles(func(fd protoreflect.FileDescriptor) bool {
		if strings.HasPrefix(string(fd.Package()), "fairlead.") {
			f(fd)
		}
		return true
	})
}

func eachMessage(f func(protoreflect.MessageDescriptor)) {
	var walk func(protoreflect.MessageDescriptors)
	walk = func(ms protoreflect.MessageDescriptors) {
		for i := range ms.Len() {
			f(ms.Get(i))
			walk(ms.Get(i).Messages())
		}
	}
	eachFile(func(fd protoreflect.FileDescriptor) { walk(fd.Messages()) })
}

func eachField(f func(protoreflect.FieldDescriptor)) {
	eachMessage(func(m protoreflect.MessageDescriptor) {
		for i := range m.Fields().Len() {
			f(m.Fields().Get(i))
		}
	})
}

func eachMethod(f func(protoreflect.MethodDescriptor)) {
	eachFile(func(fd protoreflect.FileDescriptor) {
		for i := range fd.Services().Len() {
			s := fd.Services().Get(i)
			for j := range s.Methods().Len() {
				f(s.Methods().Get(j))
			}
		}
	})
}

// C1.1: a Fence is the first field of every request, response and streamed event.
func TestFenceIsFirstEverywhere(t *testing.T) {
	n := 0
	eachMethod(func(m protoreflect.MethodDescriptor) {
		for _, msg := range []protoreflect.MessageDescriptor{m.Input(), m.Output()} {
			n++
			fd := msg.Fields().ByNumber(1)
			if fd == nil || fd.Name() != "fence" || fd.Message() == nil || fd.Message().FullName() != "fairlead.common.v1.Fence" {
				t.Errorf("%s: field 1 is not the fence", msg.FullName())
			}
		}
	})
	if n < 40 {
		t.Fatalf("only %d messages were looked at", n)
	}
}

// C10.6: every field declares who may see it.
func TestEveryFieldDeclaresItsSensitivity(t *testing.T) {
	n := 0
	eachField(func(fd protoreflect.FieldDescriptor) {
		n++
		s, _ := proto.GetExtension(fd.Options(), commonv1.E_Sensitivity).(commonv1.Sensitivity)
		if s == commonv1.Sensitivity_SENSITIVITY_UNSPECIFIED {
			t.Errorf("%s declares no sensitivity", fd.FullName())
		}
		span, _ := proto.GetExtension(fd.Options(), commonv1.E_Span).(bool)
		if span && s != commonv1.Sensitivity_SENSITIVITY_PUBLIC && s != commonv1.Sensitivity_SENSITIVITY_IDENTIFIER {
			t.Errorf("%s may go on spans although it is %v", fd.FullName(), s)
		}
	})
	if n < 300 {
		t.Fatalf("only %d fields were looked at", n)
	}
}

// Content and secrets by the names they go by: a marker that is wrong is worse than none.
func TestTellingNamesAreNotPublic(t *testing.T) {
	private := map[string]bool{
		"title": true, "value": true, "text": true, "outline": true, "data": true, "url": true, "session_secret": true,
		"act_key": true, "tokens": true, "token": true, "digests": true, "act_digest": true, "keys": true, "option": true,
		"description": true, "client_name": true, "filter": true, "claims": true, "signature": true, "incarnation": true,
	}
	eachField(func(fd protoreflect.FieldDescriptor) {
		s, _ := proto.GetExtension(fd.Options(), commonv1.E_Sensitivity).(commonv1.Sensitivity)
		public := s == commonv1.Sensitivity_SENSITIVITY_PUBLIC || s == commonv1.Sensitivity_SENSITIVITY_IDENTIFIER
		if private[string(fd.Name())] && public && fd.Kind() != protoreflect.Uint32Kind {
			t.Errorf("%s is %v", fd.FullName(), s)
		}
	})
}

// No maps, no Any, no Struct, and a bound on everything whose size a sender chooses (C0.10).
func TestNothingIsUnbounded(t *testing.T) {
	eachField(func(fd protoreflect.FieldDescriptor) {
		rules, _ := proto.GetExtension(fd.Options(), validate.E_Field).(*validate.FieldRules)
		switch {
		case fd.IsMap():
			t.Errorf("%s is a map", fd.FullName())
		case fd.Message() != nil && strings.HasPrefix(string(fd.Message().FullName()), "google.protobuf."):
			t.Errorf("%s is a %s", fd.FullName(), fd.Message().FullName())
		case fd.IsList() && (!rules.GetRepeated().HasMaxItems() || !boundedScalar(fd, rules.GetRepeated().GetItems())):
			t.Errorf("%s has no bound", fd.FullName())
		case !fd.IsList() && !boundedScalar(fd, rules):
			t.Errorf("%s has no bound", fd.FullName())
		}
	})
}

func boundedScalar(fd protoreflect.FieldDescriptor, r *validate.FieldRules) bool {
	switch fd.Kind() {
	case protoreflect.StringKind:
		s := r.GetString()
		return s.HasMaxLen() || s.HasMaxBytes() || s.HasLen()
	case protoreflect.BytesKind:
		return r.GetBytes().HasMaxLen() || r.GetBytes().HasLen()
	default:
		return true
	}
}

// Only server streams, and only for watching (protocol.md).
func TestNoClientStreaming(t *testing.T) {
	eachMethod(func(m protoreflect.MethodDescriptor) {
		if m.IsStreamingClient() {
			t.Errorf("%s streams from the client", m.FullName())
		}
	})
}

// The canonical form has no place for these kinds.
func TestOnlyKindsWithACanonicalForm(t *testing.T) {
	eachField(func(fd protoreflect.FieldDescriptor) {
		switch fd.Kind() {
		case protoreflect.GroupKind, protoreflect.FloatKind, protoreflect.Sint32Kind, protoreflect.Sint64Kind,
			protoreflect.Fixed32Kind, protoreflect.Fixed64Kind, protoreflect.Sfixed32Kind, protoreflect.Sfixed64Kind:
			t.Errorf("%s is a %v", fd.FullName(), fd.Kind())
		}
	})
}

func TestEveryRefusalCodeHasItsRule(t *testing.T) {
	values := commonv1.RefusalCode(0).Descriptor().Values()
	sentences := map[string]bool{}
	for i := 1; i < values.Len(); i++ {
		v := values.Get(i)
		r, _ := proto.GetExtension(v.Options(), commonv1.E_Refusal).(*commonv1.RefusalRule)
		switch {
		case r.GetSentence() == "" || r.GetNextMove() == 0 || r.GetClaimEnd() == 0:
			t.Errorf("%s lacks a sentence, next move or claim ending", v.Name())
		case !strings.HasSuffix(r.GetSentence(), ".") || strings.Count(r.GetSentence(), ".")+strings.Count(r.GetSentence(), ";") < 2:
			t.Errorf("%s: the sentence does not say cause and next move: %q", v.Name(), r.GetSentence())
		case sentences[r.GetSentence()]:
			t.Errorf("%s repeats a sentence", v.Name())
		case r.GetClaimEnd() == commonv1.ClaimEnd_CLAIM_END_CONSUMED && r.GetFrameStillCurrent():
			t.Errorf("%s consumes a frame that stays current", v.Name())
		}
		sentences[r.GetSentence()] = true
	}
}

func TestExecutorAnswersMapTotally(t *testing.T) {
	values := commonv1.ExecutorCode(0).Descriptor().Values()
	for i := 1; i < values.Len(); i++ {
		v := values.Get(i)
		c, _ := proto.GetExtension(v.Options(), commonv1.E_ToldAs).(commonv1.RefusalCode)
		if commonv1.RefusalCode(0).Descriptor().Values().ByNumber(c.Number()) == nil || c == 0 {
			t.Errorf("%s is told as nothing", v.Name())
		}
	}
}

func TestVerbsAndActsAreTheSameSet(t *testing.T) {
	verbs := commonv1.Verb(0).Descriptor().Values()
	members := (&commonv1.Act{}).ProtoReflect().Descriptor().Fields()
	if verbs.Len()-1 != members.Len() {
		t.Errorf("%d verbs, %d acts", verbs.Len()-1, members.Len())
	}
	for i := range members.Len() {
		fd := members.Get(i)
		v := verbs.ByNumber(protoreflect.EnumNumber(fd.Number()))
		if v == nil || string(v.Name()) != "VERB_"+strings.ToUpper(string(fd.Name())) {
			t.Errorf("act %s has no verb of its number", fd.Name())
			continue
		}
		r, _ := proto.GetExtension(v.Options(), commonv1.E_Verb).(*commonv1.VerbRule)
		if r.GetClass() == 0 || r.GetBinding() == 0 || len(r.GetConfirmedBy()) == 0 {
			t.Errorf("%s lacks class, binding or confirmation", v.Name())
		}
	}
}

func TestEveryRouteHasItsPair(t *testing.T) {
	values := commonv1.Route(0).Descriptor().Values()
	for i := 2; i < values.Len(); i++ {
		v := values.Get(i)
		r, _ := proto.GetExtension(v.Options(), commonv1.E_Route).(*commonv1.RouteRule)
		if r.GetTier() == 0 || len(r.GetClasses()) == 0 {
			t.Errorf("%s lacks tier or classes", v.Name())
		}
	}
}
