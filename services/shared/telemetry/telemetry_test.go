package telemetry

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/encoding/protowire"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
)

const canary = "CANARY-7f3a"

func request() *hostv1.ActRequest {
	return &hostv1.ActRequest{
		Fence:   &commonv1.Fence{Host: 5},
		Session: &commonv1.SessionRef{SessionId: "s-1", SessionSecret: []byte(canary)},
		TurnId:  "t-1", ActId: "a-1",
		Act: &commonv1.Act{Act: &commonv1.Act_TypeText{TypeText: &commonv1.TypeText{Text: canary}}},
	}
}

func TestRedactKeepsOnlyWhatMayLeave(t *testing.T) {
	m := request()
	m.ProtoReflect().SetUnknown(protowire.AppendString(protowire.AppendTag(nil, 99, protowire.BytesType), canary))
	r := Redact(m)
	if strings.Contains(r.String(), canary) || len(r.ProtoReflect().GetUnknown()) > 0 {
		t.Errorf("left %v", r)
	}
	if r.GetActId() != "a-1" || r.GetSession().GetSessionId() != "s-1" || r.GetFence().GetHost() != 5 {
		t.Errorf("lost what may leave: %v", r)
	}
	if m.GetAct().GetTypeText().GetText() != canary {
		t.Error("the message itself was changed")
	}
	obs := Redact(&commonv1.Observation{Title: canary, Elements: []*commonv1.Element{{Name: canary}}, ElementCount: 1})
	if strings.Contains(obs.String(), canary) || obs.GetElementCount() != 1 {
		t.Errorf("left %v", obs)
	}
}

func TestSpansCarryListedFieldsOnly(t *testing.T) {
	for _, kv := range SpanAttributes(request()) {
		if strings.Contains(kv.Value.String(), canary) || !allowedField(kv.Key) {
			t.Errorf("%s=%s", kv.Key, kv.Value.String())
		}
	}
	if len(SpanAttributes(request())) < 3 {
		t.Error("listed fields are missing")
	}
}

func TestTheExporterFiltersWhateverWasRecorded(t *testing.T) {
	mem := tracetest.NewInMemoryExporter()
	p := sdktrace.NewTracerProvider(sdktrace.WithSyncer(Filter(mem)))
	state, err := trace.ParseTraceState("vendor=" + canary)
	if err != nil {
		t.Fatal(err)
	}
	parent := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceState: state})
	ctx := trace.ContextWithRemoteSpanContext(context.Background(), parent)
	_, s := p.Tracer("x").Start(ctx, "op", trace.WithLinks(trace.Link{
		SpanContext: parent, Attributes: []attribute.KeyValue{attribute.String("k", canary)},
	}))
	s.SetAttributes(attribute.String("server.address", canary), attribute.String("window.title", canary),
		attribute.String("rpc.method", "M"), attribute.String("fairlead.session_id", "s-1"), attribute.String("fairlead.text", canary))
	s.AddEvent(canary, trace.WithAttributes(attribute.String("a", canary)))
	s.RecordError(errors.New(canary))
	s.SetStatus(codes.Error, canary)
	s.End()
	for _, stub := range mem.GetSpans() {
		text := stub.Name
		for _, kv := range stub.Attributes {
			text += string(kv.Key) + kv.Value.String()
		}
		text += stub.Status.Description + stub.SpanContext.TraceState().String() + stub.Parent.TraceState().String()
		for _, l := range stub.Links {
			text += l.SpanContext.TraceState().String()
			for _, kv := range l.Attributes {
				text += kv.Value.String()
			}
		}
		if len(stub.Events) > 0 || strings.Contains(text, canary) {
			t.Errorf("left %q and %d events", text, len(stub.Events))
		}
		if len(stub.Attributes) != 2 {
			t.Errorf("kept %v", stub.Attributes)
		}
	}
}

func TestLogLinesDropKeysThatAreNotListed(t *testing.T) {
	var b bytes.Buffer
	NewLogger(&b, "host").LogAttrs(context.Background(), slog.LevelInfo, "line",
		slog.String("title", canary), slog.Any("err", errors.New(canary)), SessionID("s-1"), Count(3))
	if strings.Contains(b.String(), canary) || !strings.Contains(b.String(), `"session_id":"s-1"`) {
		t.Errorf("got %s", b.String())
	}
}
