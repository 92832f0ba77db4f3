package harness

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"

	"go.opentelemetry.io/otel/trace/noop"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	policyv1 "fairlead.dev/gen/fairlead/policy/v1"
	"fairlead.dev/services/shared/peersock"
	"fairlead.dev/services/shared/rpc"
)

// tapMax is the largest message that passes a tap.
const tapMax = 32 << 20

// Tap stands in the links from the host to policy and executor and sees every call and
// every answer: for tests of what goes over a link. It changes nothing.
type Tap struct {
	mu    sync.Mutex
	calls []Tapped
}

// Tapped is one call that was answered; Answer is the last one of a stream.
type Tapped struct {
	// Method is the method's own name.
	Method          string
	Request, Answer proto.Message
}

// Of returns the answered calls of a method, oldest first.
func (t *Tap) Of(method string) []Tapped {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []Tapped
	for _, c := range t.calls {
		if c.Method == method {
			out = append(out, c)
		}
	}
	return out
}

// Facts returns which facts about a session the host had policy record, in order.
func (t *Tap) Facts(session string) []policyv1.SessionEventKind {
	var out []policyv1.SessionEventKind
	for _, c := range t.Of("Append") {
		req, _ := c.Request.(*policyv1.AppendRequest)
		if f := req.GetSession(); f.GetSessionId() == session {
			out = append(out, f.GetKind())
		}
	}
	return out
}

// stand puts the tap between the host and a process. It returns a function that passes
// calls until the context ends.
func (t *Tap) stand(toHost, toProcess net.Conn) (serve func(context.Context) error, err error) {
	back, err := rpc.Dial(toProcess, noop.NewTracerProvider())
	if err != nil {
		return nil, err
	}
	front := grpc.NewServer(
		grpc.MaxRecvMsgSize(tapMax), grpc.MaxSendMsgSize(tapMax),
		grpc.UnknownServiceHandler(func(_ any, s grpc.ServerStream) error { return t.pass(s, back) }),
	)
	return func(ctx context.Context) error {
		served := make(chan error, 1)
		go func() { served <- front.Serve(peersock.One(toHost)) }()
		<-ctx.Done()
		front.Stop()
		err := <-served
		if errors.Is(err, grpc.ErrServerStopped) {
			err = nil
		}
		return errors.Join(err, back.Close())
	}, nil
}

// pass passes one call on, and its answers back.
func (t *Tap) pass(front grpc.ServerStream, back *grpc.ClientConn) error {
	path, _ := grpc.MethodFromServerStream(front)
	m, req, err := called(path)
	if err != nil {
		return err
	}
	if err := front.RecvMsg(req); err != nil {
		return err
	}
	s, err := back.NewStream(front.Context(), &grpc.StreamDesc{ServerStreams: true}, path)
	if err != nil {
		return err
	}
	if err := s.SendMsg(req); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if err := s.CloseSend(); err != nil {
		return err
	}
	if header, err := s.Header(); err == nil && m.IsStreamingServer() {
		if err := front.SendHeader(header); err != nil {
			return err
		}
	}
	out, err := protoregistry.GlobalTypes.FindMessageByName(m.Output().FullName())
	if err != nil {
		return err
	}
	for {
		answer := out.New().Interface()
		if err := s.RecvMsg(answer); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		t.mu.Lock()
		t.calls = append(t.calls, Tapped{string(m.Name()), req, answer})
		t.mu.Unlock()
		if err := front.SendMsg(answer); err != nil {
			return err
		}
	}
}

// called is a method and an empty request of it.
func called(path string) (protoreflect.MethodDescriptor, proto.Message, error) {
	name := strings.ReplaceAll(strings.TrimPrefix(path, "/"), "/", ".")
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name))
	if err != nil {
		return nil, nil, status.Error(codes.Unimplemented, "no such method")
	}
	m, ok := d.(protoreflect.MethodDescriptor)
	if !ok {
		return nil, nil, status.Error(codes.Unimplemented, "no method")
	}
	in, err := protoregistry.GlobalTypes.FindMessageByName(m.Input().FullName())
	if err != nil {
		return nil, nil, err
	}
	return m, in.New().Interface(), nil
}
