package telemetry

import (
	"context"
	"fmt"
	"os"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
)

// attributePrefix begins every attribute that comes from a field of ours.
const attributePrefix = "fairlead."

// spanKeys are the keys of the instrumentation library that may leave. Its
// server.address is the socket path and stays here.
var spanKeys = map[attribute.Key]bool{
	"rpc.method": true, "rpc.system.name": true, "rpc.response.status_code": true,
}

// SpanAttributes returns the fields of the message that are marked for spans.
func SpanAttributes(m proto.Message) []attribute.KeyValue {
	return appendSpan(nil, m.ProtoReflect())
}

func appendSpan(out []attribute.KeyValue, m protoreflect.Message) []attribute.KeyValue {
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if !mayLeave(fd) || fd.IsList() {
			return true
		}
		if fd.Message() != nil {
			out = appendSpan(out, v.Message())
			return true
		}
		if listed, _ := proto.GetExtension(fd.Options(), commonv1.E_Span).(bool); listed {
			out = append(out, attribute.String(attributePrefix+string(fd.Name()), printable(fd, v)))
		}
		return true
	})
	return out
}

func printable(fd protoreflect.FieldDescriptor, v protoreflect.Value) string {
	if fd.Enum() == nil {
		return fmt.Sprint(v.Interface())
	}
	if d := fd.Enum().Values().ByNumber(v.Enum()); d != nil {
		return string(d.Name())
	}
	return "unknown"
}

// Propagator joins the caller's trace and drops its baggage: baggage is the agent's words.
func Propagator() propagation.TextMapPropagator { return propagation.TraceContext{} }

// Provider returns the tracer provider of a process and how to end it. It is off, and
// links nothing to the network, unless the standard OTLP endpoint variable is set.
// Only mains call it.
func Provider(ctx context.Context, role, version string) (trace.TracerProvider, func(context.Context) error, error) {
	if os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") == "" && os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") == "" {
		return noop.NewTracerProvider(), func(context.Context) error { return nil }, nil
	}
	exp, err := otlptracegrpc.New(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("starting trace export: %w", err)
	}
	res := resource.NewSchemaless(
		attribute.String("service.name", "fairlead-"+role), attribute.String("service.version", version))
	p := sdktrace.NewTracerProvider(sdktrace.WithBatcher(Filter(exp)), sdktrace.WithResource(res))
	return p, p.Shutdown, nil
}

// Filter wraps an exporter so that only allow-listed attributes pass: no events, no
// status texts, no links' attributes, whoever recorded them.
func Filter(next sdktrace.SpanExporter) sdktrace.SpanExporter { return filter{next} }

type filter struct{ next sdktrace.SpanExporter }

func (f filter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	out := make([]sdktrace.ReadOnlySpan, len(spans))
	for i, s := range spans {
		out[i] = redacted{s}
	}
	return f.next.ExportSpans(ctx, out)
}

func (f filter) Shutdown(ctx context.Context) error { return f.next.Shutdown(ctx) }

// redacted is a view of a span with only what may leave.
type redacted struct{ sdktrace.ReadOnlySpan }

func (r redacted) Attributes() []attribute.KeyValue {
	var out []attribute.KeyValue
	for _, kv := range r.ReadOnlySpan.Attributes() {
		if spanKeys[kv.Key] || allowedField(kv.Key) {
			out = append(out, kv)
		}
	}
	return out
}

// allowedField asks the schema again: a key counts only if some message lists it.
func allowedField(k attribute.Key) bool { return listedFields()[string(k)] }

func (r redacted) Events() []sdktrace.Event { return nil }

func (r redacted) Links() []sdktrace.Link {
	out := make([]sdktrace.Link, 0, len(r.ReadOnlySpan.Links()))
	for _, l := range r.ReadOnlySpan.Links() {
		out = append(out, sdktrace.Link{SpanContext: l.SpanContext.WithTraceState(trace.TraceState{})})
	}
	return out
}

func (r redacted) Status() sdktrace.Status {
	return sdktrace.Status{Code: r.ReadOnlySpan.Status().Code}
}

func (r redacted) SpanContext() trace.SpanContext {
	return r.ReadOnlySpan.SpanContext().WithTraceState(trace.TraceState{})
}

func (r redacted) Parent() trace.SpanContext {
	return r.ReadOnlySpan.Parent().WithTraceState(trace.TraceState{})
}
