package telemetry

import (
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
)

// listedFields is the set of span attribute keys that the linked schema lists.
var listedFields = sync.OnceValue(func() map[string]bool {
	keys := map[string]bool{}
	protoregistry.GlobalFiles.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		if strings.HasPrefix(string(f.Package()), "fairlead.") {
			collect(keys, f.Messages())
		}
		return true
	})
	return keys
})

func collect(keys map[string]bool, messages protoreflect.MessageDescriptors) {
	for i := range messages.Len() {
		m := messages.Get(i)
		for j := range m.Fields().Len() {
			fd := m.Fields().Get(j)
			listed, _ := proto.GetExtension(fd.Options(), commonv1.E_Span).(bool)
			if listed && mayLeave(fd) {
				keys[attributePrefix+string(fd.Name())] = true
			}
		}
		collect(keys, m.Messages())
	}
}
