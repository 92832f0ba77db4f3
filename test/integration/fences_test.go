package integration

import (
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	"fairlead.dev/services/shared/refusal"
	"fairlead.dev/services/virtualdesk"
	"fairlead.dev/test/harness"
)

// TestEachCallChecksTheGenerationsItDeclares sends every call of the host with one wrong
// generation at a time. What the schema declares is what the host does (C1.2).
func TestEachCallChecksTheGenerationsItDeclares(t *testing.T) {
	sys := harness.Start(t, harness.Options{})
	looked := 0
	for _, name := range []string{"LeaseService", "ObserveService", "ActService", "ReleaseService"} {
		d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName("fairlead.host.v1." + name))
		if err != nil {
			t.Fatal(err)
		}
		methods := d.(protoreflect.ServiceDescriptor).Methods()
		for i := range methods.Len() {
			m := methods.Get(i)
			looked++
			t.Run(string(m.Name()), func(t *testing.T) { checkFences(t, sys, m) })
		}
	}
	if looked < 20 {
		t.Fatalf("only %d calls were looked at", looked)
	}
}

// wrongFences are the current fence with one generation that is over, or not asserted.
func wrongFences(now *commonv1.Fence) map[string]*commonv1.Fence {
	out := map[string]*commonv1.Fence{}
	for name, spoil := range map[string]func(*commonv1.Fence){
		"host":     func(f *commonv1.Fence) { f.Host-- },
		"executor": func(f *commonv1.Fence) { f.Executor += 7 },
		"policy":   func(f *commonv1.Fence) { f.Policy += 7 },
		"session":  func(f *commonv1.Fence) { f.Session += 7 },
		"nothing":  func(f *commonv1.Fence) { f.Host, f.Session = 0, 0 },
	} {
		f, _ := proto.Clone(now).(*commonv1.Fence)
		spoil(f)
		out[name] = f
	}
	return out
}

func checkFences(t *testing.T, sys *harness.System, m protoreflect.MethodDescriptor) {
	check, _ := proto.GetExtension(m.Options(), commonv1.E_FenceCheck).(commonv1.FenceCheck)
	for _, name := range []string{"host", "executor", "policy", "session", "nothing", "right"} {
		t.Run(name, func(t *testing.T) {
			a := sys.AgentOf(t)
			a.AcquireAll(virtualdesk.FormID)
			f := a.Fence
			if name != "right" {
				f = wrongFences(a.Fence)[name]
			}
			code, unusable := call(t, sys, m, a, f)
			stale, asked := code == refusal.StaleGeneration, unusable
			wantStale := check == commonv1.FenceCheck_FENCE_CHECK_ASSERTED && name != "right" && name != "nothing" ||
				check == commonv1.FenceCheck_FENCE_CHECK_HOST && name == "host"
			wantAsked := check == commonv1.FenceCheck_FENCE_CHECK_ASSERTED && name == "nothing"
			if stale != wantStale || asked != wantAsked {
				t.Errorf("declared %v: stale = %v (%v), asked for the fence = %v", check, stale, code, asked)
			}
		})
	}
}

// call makes one call with a whole request, and says how it was refused.
func call(
	t *testing.T, sys *harness.System, m protoreflect.MethodDescriptor, a *harness.Agent, f *commonv1.Fence,
) (code refusal.Code, unusable bool) {
	t.Helper()
	req := whole(t, m, a, f)
	path := "/" + string(m.Parent().FullName()) + "/" + string(m.Name())
	out, err := protoregistry.GlobalTypes.FindMessageByName(m.Output().FullName())
	if err != nil {
		t.Fatal(err)
	}
	resp := out.New().Interface()
	cc := sys.Dial("agent")
	if !m.IsStreamingServer() {
		err = cc.Invoke(a.Context(), path, req, resp)
	} else {
		err = first(a, cc, path, req, resp)
	}
	if err != nil {
		return 0, strings.Contains(err.Error(), "fence.host and fence.session are required")
	}
	fd := resp.ProtoReflect().Descriptor().Fields().ByName("refusal")
	if fd == nil {
		return 0, false
	}
	r, _ := resp.ProtoReflect().Get(fd).Message().Interface().(*commonv1.Refusal)
	return r.GetCode(), false
}

// first makes a streaming call and takes its first event, or its header where there is
// nothing to tell yet.
func first(a *harness.Agent, cc *grpc.ClientConn, path string, req, resp proto.Message) error {
	s, err := cc.NewStream(a.Context(), &grpc.StreamDesc{ServerStreams: true}, path)
	if err != nil {
		return err
	}
	if err := s.SendMsg(req); err != nil {
		return err
	}
	if err := s.CloseSend(); err != nil {
		return err
	}
	if strings.Contains(path, "/Watch") {
		_, err := s.Header()
		return err
	}
	return s.RecvMsg(resp)
}

// whole is a request in which nothing but the fence can be wrong.
func whole(t *testing.T, m protoreflect.MethodDescriptor, a *harness.Agent, f *commonv1.Fence) proto.Message {
	t.Helper()
	in, err := protoregistry.GlobalTypes.FindMessageByName(m.Input().FullName())
	if err != nil {
		t.Fatal(err)
	}
	req := in.New()
	set := func(name string, v protoreflect.Value) {
		if fd := req.Descriptor().Fields().ByName(protoreflect.Name(name)); fd != nil {
			req.Set(fd, v)
		}
	}
	frame := &commonv1.FrameRef{FrameId: "f-none", Epoch: 1}
	set("fence", protoreflect.ValueOfMessage(f.ProtoReflect()))
	set("session", protoreflect.ValueOfMessage(a.Session.ProtoReflect()))
	set("turn_id", protoreflect.ValueOfString(a.Turn))
	switch r := req.Interface().(type) {
	case *hostv1.OpenSessionRequest:
		r.ClientName = "test"
	case *hostv1.AcquireRequest:
		r.Class, r.Target = commonv1.LeaseClass_LEASE_CLASS_METADATA_READ, harness.App(virtualdesk.FormID)
	case *hostv1.ObserveRequest:
		r.Target = &hostv1.ObserveRequest_AppId{AppId: "no.such.app"}
	case *hostv1.WaitForRequest:
		r.Condition = &hostv1.WaitForRequest_DurationMs{DurationMs: 1}
	case *hostv1.ZoomRequest:
		r.Frame, r.PictureId, r.From, r.To = frame, "p", &commonv1.Point{}, &commonv1.Point{X: 1, Y: 1}
	case *hostv1.GetPictureRequest:
		r.Frame, r.PictureId = frame, "p"
	case *hostv1.ActRequest:
		r.ActId, r.Frame, r.Act = "a", frame, harness.Click(1)
	case *hostv1.ActSequenceRequest:
		r.ActId, r.Frame = "a", frame
		r.Steps = []*hostv1.SequenceStep{{Act: harness.Click(0), Role: commonv1.Role_ROLE_BUTTON, Name: "OK"}}
	case *hostv1.GetActRequest:
		r.ActId = "a"
	case *hostv1.ReleaseRequest:
		r.LeaseId = "l"
	}
	return req.Interface()
}
