package hostile

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	policyv1 "fairlead.dev/gen/fairlead/policy/v1"
	"fairlead.dev/test/harness"
)

// streamMax is how long a stream may stand when nothing is wrong enough with it.
const streamMax = 50 * time.Millisecond

// method is one RPC of a service.
type method struct {
	desc protoreflect.MethodDescriptor
	path string
}

func methods(t *testing.T, file protoreflect.FileDescriptor, service string) []method {
	t.Helper()
	s := file.Services().ByName(protoreflect.Name(service))
	if s == nil {
		t.Fatalf("no service %s", service)
	}
	var out []method
	for i := range s.Methods().Len() {
		m := s.Methods().Get(i)
		out = append(out, method{m, "/" + string(s.FullName()) + "/" + string(m.Name())})
	}
	return out
}

func typeOf(t *testing.T, d protoreflect.MessageDescriptor) protoreflect.MessageType {
	t.Helper()
	mt, err := protoregistry.GlobalTypes.FindMessageByName(d.FullName())
	if err != nil {
		t.Fatal(err)
	}
	return mt
}

// call makes one call of any kind and returns its answer and its status.
func call(t *testing.T, cc *grpc.ClientConn, m method, req proto.Message) (proto.Message, codes.Code) {
	t.Helper()
	resp := typeOf(t, m.desc.Output()).New().Interface()
	if !m.desc.IsStreamingServer() {
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		defer cancel()
		return resp, status.Code(cc.Invoke(ctx, m.path, req, resp))
	}
	ctx, cancel := context.WithTimeout(t.Context(), streamMax)
	defer cancel()
	stream, err := cc.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, m.path)
	if err == nil {
		err = stream.SendMsg(req)
	}
	if err == nil || err == io.EOF {
		err = stream.RecvMsg(resp)
	}
	if status.Code(err) == codes.DeadlineExceeded || err == io.EOF {
		return resp, codes.OK
	}
	return resp, status.Code(err)
}

// clear are the statuses that say what was wrong with a call.
func clear(c codes.Code) bool {
	switch c {
	case codes.OK, codes.InvalidArgument, codes.Unauthenticated, codes.PermissionDenied, codes.NotFound,
		codes.Unavailable, codes.ResourceExhausted:
		return true
	}
	return false
}

// attackFields sends every mutation of every request of a service.
func attackFields(
	t *testing.T, cc *grpc.ClientConn, ms []method, known func() map[protoreflect.FullName]proto.Message,
) int {
	t.Helper()
	sent := 0
	for _, m := range ms {
		t.Run(strings.TrimPrefix(m.path, "/fairlead."), func(t *testing.T) {
			for _, base := range bases(typeOf(t, m.desc.Input()), known()) {
				// Only what is fine in itself can be told apart by one fault.
				if _, code := call(t, cc, m, base); code == codes.InvalidArgument {
					t.Errorf("the request without a fault is refused: %v", base)
				}
				for _, mut := range mutations(base) {
					sent++
					_, code := call(t, cc, m, mut.msg)
					if mut.closed && code != codes.InvalidArgument || !clear(code) {
						t.Errorf("%s: %v", mut.name, code)
					}
				}
			}
		})
	}
	return sent
}

func TestRequestsOutOfRangeAreRefusedAndAnActWorksAfterwards(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	// A session that has something to lose, for the requests to be about.
	a := s.Agent()
	known := func() map[protoreflect.FullName]proto.Message {
		return map[protoreflect.FullName]proto.Message{
			"fairlead.common.v1.Fence": a.Fence, "fairlead.common.v1.SessionRef": a.Session,
			// A step is an act on an element that it does not name by id.
			"fairlead.host.v1.SequenceStep": &hostv1.SequenceStep{
				Act: harness.Click(0), Role: commonv1.Role_ROLE_BUTTON, Name: "7",
			},
		}
	}
	agent, user := s.Dial("agent"), s.Dial("user")
	sent := 0
	for _, f := range []struct {
		cc      *grpc.ClientConn
		file    protoreflect.FileDescriptor
		service string
	}{
		{agent, hostv1.File_fairlead_host_v1_lease_service_proto, "LeaseService"},
		{agent, hostv1.File_fairlead_host_v1_observe_service_proto, "ObserveService"},
		{agent, hostv1.File_fairlead_host_v1_act_service_proto, "ActService"},
		{agent, hostv1.File_fairlead_host_v1_release_service_proto, "ReleaseService"},
		{agent, hostv1.File_fairlead_host_v1_status_service_proto, "StatusService"},
		{user, hostv1.File_fairlead_host_v1_control_service_proto, "ControlService"},
		{user, hostv1.File_fairlead_host_v1_status_service_proto, "StatusService"},
	} {
		sent += attackFields(t, f.cc, methods(t, f.file, f.service), known)
	}
	t.Logf("%d requests", sent)
	if sent < 500 {
		t.Errorf("only %d requests were made", sent)
	}
	s.Untouched(t, 0)
	// Stop of everything was among them.
	s.User().Resume("")
	works(t, s)
}

func TestRequestsOutOfRangeOnALinkAreRefused(t *testing.T) {
	none := func() map[protoreflect.FullName]proto.Message {
		return map[protoreflect.FullName]proto.Message{"fairlead.common.v1.Fence": &commonv1.Fence{Host: 1, Executor: 1}}
	}
	t.Run("policy", func(t *testing.T) {
		p := harness.Policy(t, harness.Bundle)
		known := func() map[protoreflect.FullName]proto.Message {
			return map[protoreflect.FullName]proto.Message{"fairlead.common.v1.Fence": &commonv1.Fence{Host: 1, Policy: 1}}
		}
		ms := methods(t, policyv1.File_fairlead_policy_v1_decision_service_proto, "DecisionService")
		host, launcher := p.Dial(p.Host), p.Dial(p.Launcher)
		t.Run("host", func(t *testing.T) { attackFields(t, host, ms, known) })
		t.Run("launcher", func(t *testing.T) { attackFields(t, launcher, ms, known) })
		p.Lives()
		_, err := policyv1.NewDecisionServiceClient(host).BeginSession(p.Context(), &policyv1.BeginSessionRequest{
			Fence: &commonv1.Fence{Host: 1, Policy: 1}, SessionId: "s-after", ClientName: "test",
		})
		if err != nil {
			t.Error(err)
		}
	})
	t.Run("executor", func(t *testing.T) {
		p := harness.Executor(t)
		host, launcher := p.Dial(p.Host), p.Dial(p.Launcher)
		stream, err := executorv1.NewExecutorServiceClient(host).Attach(t.Context(),
			&executorv1.AttachRequest{Fence: &commonv1.Fence{Host: 1, Executor: 1}})
		if err == nil {
			_, err = stream.Recv()
		}
		if err != nil {
			t.Fatal(err)
		}
		all := methods(t, executorv1.File_fairlead_executor_v1_executor_service_proto, "ExecutorService")
		attackFields(t, host, all, none)
		p.Lives()
		if n := len(p.Desk.Events()); n != 0 {
			t.Errorf("%d acts reached the desk", n)
		}
		halt := methods(t, executorv1.File_fairlead_executor_v1_halt_service_proto, "HaltService")
		attackFields(t, launcher, halt, none)
		p.Lives()
	})
}

func TestRequestOverTheLimitIsRefusedUnread(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	a := s.Agent()
	big := &hostv1.ActRequest{
		Fence: a.Fence, Session: a.Session, TurnId: a.Turn, ActId: "big",
		Act: harness.SetValue(1, strings.Repeat("x", 300<<10)),
	}
	_, err := a.Acts.Act(a.Context(), big)
	harness.Status(t, err, codes.ResourceExhausted)
	_, err = hostv1.NewControlServiceClient(s.Dial("user")).Stop(a.Context(),
		&hostv1.StopRequest{SessionId: strings.Repeat("x", 300<<10)})
	harness.Status(t, err, codes.ResourceExhausted)
	p := harness.Policy(t, harness.Bundle)
	_, err = policyv1.NewDecisionServiceClient(p.Dial(p.Host)).BeginSession(p.Context(),
		&policyv1.BeginSessionRequest{SessionId: strings.Repeat("x", 300<<10)})
	harness.Status(t, err, codes.ResourceExhausted)
	works(t, s)
}

// What one audience is offered is not there for the other.
func TestServiceOfTheOtherAudienceIsNotThere(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	a := s.Agent()
	_, err := hostv1.NewControlServiceClient(s.Dial("agent")).Stop(a.Context(),
		&hostv1.StopRequest{SessionId: a.Session.GetSessionId()})
	harness.Status(t, err, codes.Unimplemented)
	_, err = hostv1.NewActServiceClient(s.Dial("user")).Act(a.Context(), &hostv1.ActRequest{})
	harness.Status(t, err, codes.Unimplemented)
	for _, audience := range []string{"agent", "user"} {
		_, err = executorv1.NewExecutorServiceClient(s.Dial(audience)).Dispatch(a.Context(), &executorv1.DispatchRequest{})
		harness.Status(t, err, codes.Unimplemented)
		_, err = policyv1.NewDecisionServiceClient(s.Dial(audience)).Decide(a.Context(), &policyv1.DecideRequest{})
		harness.Status(t, err, codes.Unimplemented)
	}
	works(t, s)
}
