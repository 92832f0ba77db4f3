package harness

import (
	"context"
	"errors"
	"io"
	"net"

	"go.opentelemetry.io/otel/trace/noop"
	"google.golang.org/grpc"

	"fairlead.dev/services/shared/peersock"
	"fairlead.dev/services/shared/rpc"
)

// Alter changes an answer of the executor on its way to the host, or returns it as it is.
// method is the call's full name.
type Alter func(method string, answer []byte) []byte

// bytesOf passes messages as they are on the wire.
type bytesOf struct{}

func (bytesOf) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil }

func (bytesOf) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = append([]byte(nil), data...)
	return nil
}

func (bytesOf) Name() string { return "proto" }

// between stands in the link of host and executor and passes every call on.
func (s *System) between(ctx context.Context, toHost, toExecutor net.Conn, alter Alter) error {
	cc, err := rpc.Dial(toExecutor, noop.NewTracerProvider())
	if err != nil {
		return err
	}
	defer func() { _ = cc.Close() }()
	pass := func(_ any, host grpc.ServerStream) error {
		method, _ := grpc.MethodFromServerStream(host)
		return passOn(cc, host, method, alter)
	}
	srv := grpc.NewServer(
		grpc.Creds(peersock.Credentials{Inherited: true}), grpc.ForceServerCodec(bytesOf{}),
		grpc.UnknownServiceHandler(pass), grpc.MaxRecvMsgSize(rpc.MessageMax), grpc.MaxSendMsgSize(rpc.MessageMax),
	)
	stop := context.AfterFunc(ctx, srv.Stop)
	defer stop()
	if err := srv.Serve(peersock.One(toHost)); !errors.Is(err, grpc.ErrServerStopped) {
		return err
	}
	return nil
}

// passOn passes one call on until both of its ends are done.
func passOn(cc *grpc.ClientConn, host grpc.ServerStream, method string, alter Alter) error {
	ctx, cancel := context.WithCancel(host.Context())
	defer cancel()
	both := &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}
	far, err := cc.NewStream(ctx, both, method, grpc.ForceCodec(bytesOf{}))
	if err != nil {
		return err
	}
	// It ends with the call, which ends when this returns. What fails here is told to
	// whoever receives below.
	go func() {
		for {
			var m []byte
			if err := host.RecvMsg(&m); err != nil {
				if errors.Is(err, io.EOF) {
					_ = far.CloseSend()
				}
				return
			}
			if far.SendMsg(&m) != nil {
				return
			}
		}
	}()
	for {
		var m []byte
		err := far.RecvMsg(&m)
		if err == nil {
			m = alter(method, m)
			err = host.SendMsg(&m)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
