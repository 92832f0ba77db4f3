package rpc

import (
	"context"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// errUnknownField refuses a request with a field this schema does not have: it may
// carry meaning this process would ignore (C0.11).
var errUnknownField = status.Error(codes.InvalidArgument,
	"the request has a field this version does not know; use the schema this server shows by reflection")

func closedUnary(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if err := closed(req); err != nil {
		return nil, err
	}
	return next(ctx, req)
}

func closedStreamed(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	return next(srv, closedStream{ss})
}

type closedStream struct{ grpc.ServerStream }

func (c closedStream) RecvMsg(m any) error {
	if err := c.ServerStream.RecvMsg(m); err != nil {
		return err
	}
	return closed(m)
}

// closed checks messages of fairlead; health and reflection are not ours to close.
func closed(req any) error {
	m, ok := req.(proto.Message)
	if !ok || !strings.HasPrefix(string(m.ProtoReflect().Descriptor().FullName()), "fairlead.") {
		return nil
	}
	if Unknown(m) {
		return errUnknownField
	}
	return nil
}

// Unknown reports whether the message, or one inside it, has a field the linked
// schema does not know.
func Unknown(m proto.Message) bool { return unknown(m.ProtoReflect()) }

func unknown(m protoreflect.Message) bool {
	if len(m.GetUnknown()) > 0 {
		return true
	}
	found := false
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.Message() == nil:
		case fd.IsList():
			for i := 0; i < v.List().Len() && !found; i++ {
				found = unknown(v.List().Get(i).Message())
			}
		default:
			found = unknown(v.Message())
		}
		return !found
	})
	return found
}
