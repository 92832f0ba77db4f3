package hostile

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"

	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	"fairlead.dev/test/harness"
)

// raw sends bytes as they are, as a message of the type the method expects.
type raw struct{}

func (raw) Marshal(v any) ([]byte, error) { b, _ := v.([]byte); return b, nil }
func (raw) Unmarshal([]byte, any) error   { return nil }
func (raw) Name() string                  { return "proto" }

// nested is a message in a message, too deep for anyone to have meant it.
func nested(depth int) []byte {
	var b []byte
	for range depth {
		b = protowire.AppendBytes(protowire.AppendTag(nil, 6, protowire.BytesType), b)
	}
	return b
}

func TestPayloadThatIsNoMessageIsRefused(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	payloads := map[string][]byte{
		"cut short":                {0x0a, 0x7f, 1, 2},
		"a length of 2^63":         {0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f},
		"a varint without end":     {0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		"field number zero":        {0x00, 0x00},
		"text that is no UTF-8":    {0x1a, 0x02, 0xff, 0xfe},
		"a group without end":      {0x0b, 0x0b, 0x0b},
		"a wrong wire type":        {0x0d, 1, 2, 3, 4},
		"messages in messages":     nested(5000),
		"one field ten thousandth": protowire.AppendVarint(protowire.AppendTag(nil, 10_000, protowire.VarintType), 1),
	}
	for seed := range uint64(20) {
		payloads["noise "+string(rune('a'+seed))] = noise(300+seed, 1+int(seed*13))
	}
	cc := s.Dial("agent")
	for name, payload := range payloads {
		t.Run(name, func(t *testing.T) {
			for _, m := range methods(t, hostv1.File_fairlead_host_v1_act_service_proto, "ActService") {
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				err := cc.Invoke(ctx, m.path, payload, nil, grpc.ForceCodec(raw{}))
				// grpc itself answers INTERNAL to bytes that are no message of the type.
				if c := status.Code(err); c != codes.InvalidArgument && c != codes.Internal {
					t.Errorf("%v", err)
				}
			}
		})
	}
	s.Untouched(t, 0)
	works(t, s)
}
