package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"go.opentelemetry.io/otel/trace/noop"
	"google.golang.org/grpc"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	"fairlead.dev/services/shared/peersock"
	"fairlead.dev/services/shared/rpc"
	"fairlead.dev/services/shared/telemetry"
)

const (
	// echoRole is the argument that makes this program an echo server.
	echoRole = "-serve-echo"
	echoName = "echo.sock"
	// startMax bounds the wait for a process to be there.
	startMax  = 10 * time.Second
	pollEvery = 50 * time.Millisecond
)

// stub answers BeginTurn without any work: what is left is the socket, gRPC and the
// one interceptor chain of every fairlead server.
type stub struct {
	hostv1.UnimplementedLeaseServiceServer
}

// BeginTurn answers at once.
func (stub) BeginTurn(_ context.Context, req *hostv1.BeginTurnRequest) (*hostv1.BeginTurnResponse, error) {
	return &hostv1.BeginTurnResponse{Fence: req.GetFence(), TurnId: req.GetSession().GetSessionId()}, nil
}

func echoServer() (*grpc.Server, error) {
	s, err := rpc.NewServer(rpc.ServerConfig{
		Role: "echo", Log: telemetry.NewLogger(io.Discard, "echo"), Traces: noop.NewTracerProvider(),
		RequestMax: rpc.RequestMax, CallMax: rpc.CallMax,
	})
	if err != nil {
		return nil, err
	}
	hostv1.RegisterLeaseServiceServer(s, stub{})
	return s, nil
}

// serveEcho is the echo process: it serves until its standard input ends.
func serveEcho(dir string) error {
	s, err := echoServer()
	if err != nil {
		return err
	}
	l, err := peersock.Listen(dir, echoName)
	if err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		s.Stop()
	}()
	return s.Serve(l)
}

// startEcho starts the echo server, in a process of its own or in this one.
func startEcho(ctx context.Context, dir string, apart bool) (*echo, func() error, error) {
	begin := echoHere
	if apart {
		begin = echoApart
	}
	end, err := begin(dir)
	if err != nil {
		return nil, nil, err
	}
	cc, err := rpc.DialSocket(filepath.Join(dir, echoName), noop.NewTracerProvider())
	if err != nil {
		return nil, nil, errors.Join(err, end())
	}
	e := &echo{lease: hostv1.NewLeaseServiceClient(cc), req: echoRequest()}
	both := func() error { return errors.Join(cc.Close(), end()) }
	if err := await(ctx, e.call); err != nil {
		return nil, nil, errors.Join(err, both())
	}
	return e, both, nil
}

func echoHere(dir string) (func() error, error) {
	s, err := echoServer()
	if err != nil {
		return nil, err
	}
	l, err := peersock.Listen(dir, echoName)
	if err != nil {
		return nil, err
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	return func() error { s.Stop(); return <-done }, nil
}

func echoApart(dir string) (func() error, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, echoRole, dir)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return func() error { return errors.Join(in.Close(), cmd.Wait()) }, nil
}

// echoRequest is as large as the part that every request of a session has.
func echoRequest() *hostv1.BeginTurnRequest {
	return &hostv1.BeginTurnRequest{
		Fence:   &commonv1.Fence{Host: uint64(time.Now().UnixMilli()), Executor: 1, Policy: 1, Session: 1},
		Session: &commonv1.SessionRef{SessionId: "s-0123456789abcdef", SessionSecret: make([]byte, 16)},
	}
}

// echo is the client of an echo server.
type echo struct {
	lease hostv1.LeaseServiceClient
	req   *hostv1.BeginTurnRequest
}

func (e *echo) call(ctx context.Context) error {
	_, err := e.lease.BeginTurn(ctx, e.req)
	return err
}

// three is three echoes, one after the other.
func (e *echo) three(ctx context.Context) error {
	for range 3 {
		if err := e.call(ctx); err != nil {
			return err
		}
	}
	return nil
}

// await tries until it works or the time for a start is over; then it tells what was
// wrong the last time.
func await(ctx context.Context, try func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, startMax)
	defer cancel()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	var last error
	for {
		err := try(ctx)
		if err == nil {
			return nil
		}
		if last == nil || ctx.Err() == nil {
			last = err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return last
		}
	}
}
