package harness

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/shared/telemetry"
)

// Recorder writes the story of calls as data: each call of the agent with what may
// leave of its request and its answer, and between them the hops to policy and executor
// that it caused, from their spans. Ids are numbered in the order in which they appear,
// clocks are left out: two runs of one story are the same text.
type Recorder struct {
	spans    *tracetest.InMemoryExporter
	provider *sdktrace.TracerProvider

	mu    sync.Mutex
	text  strings.Builder
	names map[string]string
	kinds map[string]int
}

// NewRecorder returns a recorder. Its Traces go into the options of the system.
func NewRecorder() *Recorder {
	spans := tracetest.NewInMemoryExporter()
	return &Recorder{
		spans: spans, names: map[string]string{}, kinds: map[string]int{},
		provider: sdktrace.NewTracerProvider(sdktrace.WithSyncer(telemetry.Filter(spans))),
	}
}

// Traces is where the processes send their spans.
func (r *Recorder) Traces() trace.TracerProvider { return r.provider }

// Text is the story so far.
func (r *Recorder) Text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

// Note writes a line of the story that is no call.
func (r *Recorder) Note(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(&r.text, "-- %s\n\n", line)
}

// Record returns a connection whose unary calls are recorded.
func (r *Recorder) Record(s *System, cc grpc.ClientConnInterface) grpc.ClientConnInterface {
	return &recorded{ClientConnInterface: cc, r: r, s: s}
}

type recorded struct {
	grpc.ClientConnInterface
	r *Recorder
	s *System
}

// Invoke makes the call and records it.
func (c *recorded) Invoke(ctx context.Context, method string, req, resp any, opts ...grpc.CallOption) error {
	ctx, span := c.r.provider.Tracer("test").Start(ctx, "agent")
	err := c.ClientConnInterface.Invoke(ctx, method, req, resp, opts...)
	span.End()
	id := span.SpanContext().TraceID()
	var hops []tracetest.SpanStub
	// A server's span ends a moment after its answer arrived: wait until every call that
	// was made has been served.
	c.s.Await("the spans of the call", func() bool {
		hops = c.r.of(id, trace.SpanKindServer)
		return len(hops) > 0 && len(hops) == len(c.r.of(id, trace.SpanKindClient))
	})
	in, _ := req.(proto.Message)
	out, _ := resp.(proto.Message)
	c.r.write(method, in, out, hops, err)
	return err
}

// generations are the fields of a fence: they differ from run to run.
var generations = map[string]bool{"host": true, "executor": true, "policy": true, "session": true}

// of returns the spans of a kind of one trace, as they began.
func (r *Recorder) of(id trace.TraceID, kind trace.SpanKind) []tracetest.SpanStub {
	var out []tracetest.SpanStub
	for _, s := range r.spans.GetSpans() {
		if s.SpanContext.TraceID() == id && s.SpanKind == kind {
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, func(a, b tracetest.SpanStub) int { return a.StartTime.Compare(b.StartTime) })
	return out
}

func (r *Recorder) write(method string, req, resp proto.Message, hops []tracetest.SpanStub, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(&r.text, "agent -> host  %s\n", short(method))
	r.message("  ", telemetry.Redact(req).ProtoReflect())
	for _, h := range hops {
		if "/"+h.Name == method {
			continue
		}
		fmt.Fprintf(&r.text, "      host -> %s\n", short(h.Name))
		attrs := slices.Clone(h.Attributes)
		slices.SortFunc(attrs, func(a, b attribute.KeyValue) int { return cmp.Compare(a.Key, b.Key) })
		for _, kv := range attrs {
			if k, ours := strings.CutPrefix(string(kv.Key), "fairlead."); ours && !generations[k] {
				fmt.Fprintf(&r.text, "        %s: %s\n", k, r.named(k, kv.Value.AsString()))
			}
		}
	}
	if err != nil {
		fmt.Fprintf(&r.text, "host -> agent  %v\n\n", err)
		return
	}
	r.text.WriteString("host -> agent\n")
	r.message("  ", telemetry.Redact(resp).ProtoReflect())
	r.text.WriteString("\n")
}

func short(method string) string {
	return strings.ReplaceAll(strings.TrimPrefix(strings.TrimPrefix(method, "/"), "fairlead."), ".v1.", " ")
}

// message writes the set fields of a message, in the order of their numbers.
func (r *Recorder) message(indent string, m protoreflect.Message) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		switch {
		case !m.Has(fd):
		case fd.IsList():
			for j := range m.Get(fd).List().Len() {
				r.field(indent, fd, m.Get(fd).List().Get(j))
			}
		default:
			r.field(indent, fd, m.Get(fd))
		}
	}
}

func (r *Recorder) field(indent string, fd protoreflect.FieldDescriptor, v protoreflect.Value) {
	name := string(fd.Name())
	switch {
	case fd.Message() != nil && fd.Message().FullName() == "fairlead.common.v1.Fence":
		f, _ := v.Message().Interface().(*commonv1.Fence)
		fmt.Fprintf(&r.text, "%s%s: session %d\n", indent, name, f.GetSession())
	case fd.Message() != nil:
		fmt.Fprintf(&r.text, "%s%s\n", indent, name)
		r.message(indent+"  ", v.Message())
	case fd.Enum() != nil:
		fmt.Fprintf(&r.text, "%s%s: %s\n", indent, name, fd.Enum().Values().ByNumber(v.Enum()).Name())
	case fd.Kind() == protoreflect.StringKind:
		fmt.Fprintf(&r.text, "%s%s: %s\n", indent, name, r.named(name, v.String()))
	case strings.HasSuffix(name, "_ms"):
		fmt.Fprintf(&r.text, "%s%s: (a time)\n", indent, name)
	case fd.Kind() == protoreflect.BytesKind:
		fmt.Fprintf(&r.text, "%s%s: (%d bytes)\n", indent, name, len(v.Bytes()))
	default:
		fmt.Fprintf(&r.text, "%s%s: %v\n", indent, name, v.Interface())
	}
}

// named numbers the ids that the processes made.
func (r *Recorder) named(field, value string) string {
	kind, made := strings.CutSuffix(field, "_id")
	if !made || kind == "app" || kind == "act" || kind == "rule" {
		return value
	}
	if r.names[value] == "" {
		r.kinds[kind]++
		r.names[value] = fmt.Sprintf("%s-%d", kind, r.kinds[kind])
	}
	return r.names[value]
}
