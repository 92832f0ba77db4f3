package privacy

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.uber.org/goleak"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/telemetry"
	"fairlead.dev/services/virtualdesk"
	"fairlead.dev/test/harness"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// mark begins every planted string.
const mark = "canary"

// The planted strings, each by where it stands.
const (
	typed    = "canary-typed-text"
	set      = "canary-set-value"
	title    = "canary-window-title"
	name     = "canary-element-name"
	describe = "canary-description"
	value    = "canary-value"
	password = "canary-password"
	client   = "canary-client-name"
	filter   = "canary-filter"
	option   = "canary-option"
	failure  = "canary-platform-error"
	header   = "canary-trace-state"
	baggage  = "canary-baggage"
)

// virtual is the desk below, under a name that hides none of its methods.
type virtual = virtualdesk.Desk

// desk is a virtual desk whose titles are marked, and whose errors are when it is told to.
type desk struct {
	*virtual
	mu     sync.Mutex
	broken bool
}

func (d *desk) breakDown(broken bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.broken = broken
}

func (d *desk) Windows(ctx context.Context) ([]executor.Window, error) {
	windows, err := d.virtual.Windows(ctx)
	for i := range windows {
		windows[i].Title = title + " " + windows[i].Title
	}
	return windows, err
}

func (d *desk) ReadTree(ctx context.Context, w ident.Window, l executor.TreeLimits) (*executor.Tree, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.broken {
		return nil, errors.New(failure)
	}
	return d.virtual.ReadTree(ctx, w, l)
}

// heard is everything that left the processes beside the answers.
type heard struct {
	mu       sync.Mutex
	log      strings.Builder
	statuses []string
}

func (h *heard) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.log.Write(b)
}

func (h *heard) lines() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.log.String()
}

// failed keeps a status with all its details.
func (h *heard) failed(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		t.Error("the call was to fail")
		return
	}
	st := status.Convert(err)
	h.statuses = append(h.statuses, fmt.Sprintf("%v %s %v", st.Code(), st.Message(), st.Details()))
}

func TestNoWordOfThePersonOrTheAgentLeavesBesideTheAnswers(t *testing.T) {
	h, spans := &heard{}, tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(telemetry.Filter(spans)))
	inner, err := virtualdesk.New(virtualdesk.Config{Password: password})
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{virtual: inner}
	var session *commonv1.SessionRef
	t.Run("story", func(t *testing.T) {
		s := harness.Start(t, harness.Options{
			Bundle: "../testdata/bundles/all.cedar", Platform: d, Log: h, Traces: provider,
		})
		session = story(t, s, d, h)
	})
	logged, traced := h.lines(), fmt.Sprintf("%+v", spans.GetSpans())
	secrets := []string{
		mark, string(session.GetSessionSecret()), hex.EncodeToString(session.GetSessionSecret()),
		base64.StdEncoding.EncodeToString(session.GetSessionSecret()),
	}
	for where, text := range map[string]string{
		"the log": logged, "the spans": traced, "the error statuses": strings.Join(h.statuses, "\n"),
	} {
		for _, s := range secrets {
			if i := strings.Index(text, s); i >= 0 {
				t.Errorf("%s: %q in …%s…", where, s, text[max(0, i-200):min(len(text), i+200)])
			}
		}
	}
	// What may leave did: an empty log would prove nothing.
	for _, want := range []string{`"role":"host"`, `"role":"policy"`, `"role":"executor"`, session.GetSessionId()} {
		if !strings.Contains(logged, want) {
			t.Errorf("no %s in the log", want)
		}
	}
	for _, want := range []string{
		"ActService/Act", "DecisionService/Decide", "ExecutorService/Dispatch", "fairlead.outcome",
	} {
		if !strings.Contains(traced, want) {
			t.Errorf("no %s in the spans", want)
		}
	}
	if len(h.statuses) < 5 {
		t.Errorf("%d statuses", len(h.statuses))
	}
}

// story is a session in which every planted string passes by.
func story(t *testing.T, s *harness.System, d *desk, h *heard) *commonv1.SessionRef {
	a := harness.Connect(t, s.Dial("agent"))
	a.Open(&hostv1.OpenSessionRequest{
		ClientName: client, Vision: true, PictureDestination: hostv1.PictureDestination_PICTURE_DESTINATION_LOCAL,
	})
	a.BeginTurn()
	a.AcquireAll(virtualdesk.FormID)
	plant(t, d)
	_, err := a.Observe.ListApps(a.Context(), &hostv1.ListAppsRequest{
		Fence: a.Fence, Session: a.Session, TurnId: a.Turn, Filter: filter,
	})
	s.Must(err)
	see := func() {
		t.Helper()
		for _, w := range a.Windows(virtualdesk.FormID) {
			if strings.HasSuffix(w.GetTitle(), " Form") {
				req := harness.OfWindow(w.GetWindow())
				req.Picture = true
				harness.Refused(t, a.Look(req).GetRefusal(), 0)
			}
		}
	}
	see()
	for _, shown := range []string{name, value} {
		if !harness.Shows(a.Frame, shown) {
			t.Errorf("the agent was not shown %q", shown)
		}
	}
	field := func() uint32 { return a.Element(commonv1.Role_ROLE_TEXT_FIELD, "Name").GetId() }
	harness.Verified(t, a.Do(harness.SetValue(field(), set)),
		commonv1.VerificationMethod_VERIFICATION_METHOD_VALUE_READBACK)
	harness.Verified(t, a.Do(harness.TypeText(field(), typed)),
		commonv1.VerificationMethod_VERIFICATION_METHOD_TEXT_READBACK)
	// Refusals of every part: host, policy, executor, platform.
	a.Do(harness.SetValue(9999, set))
	a.Do(harness.TypeText(0, typed))
	a.Do(harness.SetValue(a.Element(commonv1.Role_ROLE_SECURE_FIELD, "Password").GetId(), typed))
	a.Do(harness.Select(option)(a.Element(commonv1.Role_ROLE_COMBO_BOX, "Color").GetId()))
	s.Must(d.PartialNext(virtualdesk.FormID, 3))
	harness.Unknown(t, a.Do(harness.TypeText(field(), typed)))
	s.Must(d.UnansweredNext(virtualdesk.FormID, true))
	harness.Unknown(t, a.Do(harness.SetValue(field(), set)))
	d.breakDown(true)
	if r := a.Look(harness.OfWindow(a.Frame.GetWindow())); r.GetRefusal() == nil {
		t.Error("a broken platform was observed")
	}
	d.breakDown(false)
	see()
	unusable(t, a, h)
	user := s.User()
	user.Stop(a.Session.GetSessionId())
	user.Resume(a.Session.GetSessionId())
	a.EndSession()
	return a.Session
}

// plant marks names, descriptions and values on the desk.
func plant(t *testing.T, d *desk) {
	t.Helper()
	w, err := d.Window("Form")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []struct {
		role   commonv1.Role
		name   string
		change func(executor.Object) error
	}{
		{commonv1.Role_ROLE_BUTTON, "More", func(o executor.Object) error { return d.Relabel(o, name) }},
		{commonv1.Role_ROLE_BUTTON, "Submit", func(o executor.Object) error { return d.Redescribe(o, describe) }},
		{commonv1.Role_ROLE_TEXT_AREA, "Notes", func(o executor.Object) error { return d.SetValue(o, value) }},
	} {
		o, err := d.Element(w.ID, p.role, p.name)
		if err == nil {
			err = p.change(o)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// unusable sends requests that are answered by a status, with marked strings in them,
// in their headers and in fields that the schema does not have.
func unusable(t *testing.T, a *harness.Agent, h *heard) {
	ctx := metadata.AppendToOutgoingContext(a.Context(),
		"traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		"tracestate", "x="+header, "baggage", "who="+baggage)
	send := func(change func(*hostv1.ActRequest)) {
		req := &hostv1.ActRequest{Frame: a.Frame.GetFrame(), Act: harness.SetValue(1, set)}
		a.Fill(req)
		change(req)
		_, err := a.Acts.Act(ctx, req)
		h.failed(t, err)
	}
	send(func(r *hostv1.ActRequest) { r.Act = harness.SetValue(1, strings.Repeat(set, 800)) })
	send(func(r *hostv1.ActRequest) { r.Act = harness.SetValue(0, set) })
	send(func(r *hostv1.ActRequest) { r.Frame = nil })
	send(func(r *hostv1.ActRequest) {
		r.Act.ProtoReflect().SetUnknown(protowire.AppendString(protowire.AppendTag(nil, 19_999, protowire.BytesType), typed))
	})
	send(func(r *hostv1.ActRequest) {
		r.Session = &commonv1.SessionRef{SessionId: r.GetSession().GetSessionId(), SessionSecret: []byte(mark + "0123456789")}
	})
	_, err := a.Lease.OpenSession(ctx, &hostv1.OpenSessionRequest{ClientName: strings.Repeat(client, 10)})
	h.failed(t, err)
	short, cancel := context.WithTimeout(ctx, time.Nanosecond)
	defer cancel()
	_, err = a.Observe.ListApps(short, &hostv1.ListAppsRequest{Filter: filter})
	h.failed(t, err)
}

func TestFilterDropsWhatInstrumentationWouldTell(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(telemetry.Filter(spans)))
	_, span := provider.Tracer("test").Start(t.Context(), "call")
	span.AddEvent(mark)
	span.RecordError(errors.New(mark))
	span.SetStatus(2, mark)
	span.End()
	if text := fmt.Sprintf("%+v", spans.GetSpans()); strings.Contains(text, mark) || len(spans.GetSpans()) != 1 {
		t.Error(text)
	}
}
