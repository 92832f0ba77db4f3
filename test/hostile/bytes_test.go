package hostile

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	policyv1 "fairlead.dev/gen/fairlead/policy/v1"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
	"fairlead.dev/test/harness"
)

// answerMax is how long a server may take to answer what is no call.
const answerMax = 250 * time.Millisecond

const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// HTTP/2 frame types.
const (
	typeData         = 0
	typeHeaders      = 1
	typePriority     = 2
	typeReset        = 3
	typeSettings     = 4
	typePush         = 5
	typePing         = 6
	typeGoAway       = 7
	typeWindow       = 8
	typeContinuation = 9
)

func frame(kind, flags byte, stream uint32, payload []byte) []byte {
	b := []byte{byte(len(payload) >> 16), byte(len(payload) >> 8), byte(len(payload)), kind, flags}
	return append(binary.BigEndian.AppendUint32(b, stream), payload...)
}

func spoken(frames ...[]byte) []byte {
	b := append([]byte(preface), frame(typeSettings, 0, 0, nil)...)
	for _, f := range frames {
		b = append(b, f...)
	}
	return b
}

func noise(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 7))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

type attack struct {
	name  string
	bytes []byte
}

func attacks() []attack {
	out := []attack{
		{"nothing", nil},
		{"HTTP/1.1", []byte("POST /fairlead.host.v1.ActService/Act HTTP/1.1\r\nHost: x\r\n\r\n")},
		{"TLS hello", append([]byte{0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3}, noise(1, 500)...)},
		{"half a preface", []byte(preface[:11])},
		{"preface only", []byte(preface)},
		{"half a frame", append([]byte(preface), frame(typeSettings, 0, 0, nil)[:5]...)},
		{"settings of a wrong size", append([]byte(preface), frame(typeSettings, 0, 0, noise(2, 7))...)},
		{"settings with absurd values", append([]byte(preface), frame(typeSettings, 0, 0, []byte{
			0, 4, 0xff, 0xff, 0xff, 0xff, 0, 5, 0, 0, 0, 1, 0, 1, 0xff, 0xff, 0xff, 0xff,
		})...)},
		{"headers that are no HPACK", spoken(frame(typeHeaders, 4, 1, noise(3, 300)))},
		{"headers without end, then data", spoken(frame(typeHeaders, 0, 1, noise(4, 9)), frame(typeData, 1, 1, []byte("x")))},
		{"data of no stream", spoken(frame(typeData, 1, 0, []byte("x")), frame(typeData, 1, 9, noise(5, 900)))},
		{"reset of no stream", spoken(frame(typeReset, 0, 0, []byte{0, 0, 0, 1}))},
		{"window of nothing", spoken(frame(typeWindow, 0, 0, []byte{0, 0, 0, 0}))},
		{"window that overflows", spoken(frame(typeWindow, 0, 0, []byte{0x7f, 0xff, 0xff, 0xff}))},
		{"push to a server", spoken(frame(typePush, 4, 2, noise(6, 40)))},
		{"priority on itself", spoken(frame(typePriority, 0, 3, []byte{0, 0, 0, 3, 1}))},
		{"frame larger than agreed", spoken([]byte{0xff, 0xff, 0xff, typeData, 0, 0, 0, 0, 1}, noise(7, 4000))},
		{"go away, then go on", spoken(frame(typeGoAway, 0, 0, make([]byte, 8)), frame(typePing, 0, 0, make([]byte, 8)))},
		{"unknown frame type", spoken(frame(0xee, 0xff, 5, noise(8, 100)))},
		{"pings", spoken(bytes.Repeat(frame(typePing, 0, 0, make([]byte, 8)), 2000))},
		{"continuations", spoken(frame(typeHeaders, 0, 1, []byte{0x82}),
			bytes.Repeat(frame(typeContinuation, 0, 1, []byte{0x82}), 2000))},
		{"settings again and again", spoken(bytes.Repeat(frame(typeSettings, 0, 0, nil), 2000))},
	}
	for seed := range uint64(6) {
		out = append(out, attack{"random bytes", noise(100+seed, 1<<(2*seed))},
			attack{"random bytes after the preface", append(spoken(), noise(200+seed, 1<<(2*seed))...)})
	}
	return out
}

// talk sends bytes and reads until the server hangs up or says nothing more.
func talk(t *testing.T, c net.Conn, b []byte) {
	t.Helper()
	if err := c.SetDeadline(time.Now().Add(answerMax)); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); _, _ = io.Copy(io.Discard, c) }()
	// The server may hang up while we talk.
	_, _ = c.Write(b)
	if u, ok := c.(*net.UnixConn); ok {
		_ = u.CloseWrite()
	}
	<-done
	_ = c.Close()
}

func TestBytesThatAreNoCallEndOnlyTheirConnection(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	for _, audience := range []string{"agent", "user"} {
		t.Run(audience, func(t *testing.T) {
			before := s.AgentOf(t)
			for _, a := range attacks() {
				t.Run(a.name, func(t *testing.T) { talk(t, s.Raw(t, audience), a.bytes) })
			}
			// Another connection's session did not notice.
			before.AcquireAll(calculator)
			before.See(calculator, "Calculator")
			works(t, s)
		})
	}
}

func TestBytesThatAreNoCallOnALinkEndNoProcess(t *testing.T) {
	for _, a := range attacks() {
		t.Run("policy/"+a.name, func(t *testing.T) {
			p := harness.Policy(t, harness.Bundle)
			talk(t, p.Host, a.bytes)
			p.Lives()
			// The launcher's link still takes what the launcher has to say.
			_, err := policyv1.NewDecisionServiceClient(p.Dial(p.Launcher)).Append(p.Context(), &policyv1.AppendRequest{
				Record: &policyv1.AppendRequest_Process{Process: &policyv1.ProcessEvent{
					Kind: policyv1.ProcessEventKind_PROCESS_EVENT_KIND_STARTED,
					Role: commonv1.ProcessRole_PROCESS_ROLE_HOST,
				}},
			})
			if err != nil {
				t.Error(err)
			}
		})
		t.Run("executor/"+a.name, func(t *testing.T) {
			p := harness.Executor(t)
			talk(t, p.Launcher, a.bytes)
			p.Lives()
			cc := executorv1.NewExecutorServiceClient(p.Dial(p.Host))
			stream, err := cc.Attach(p.Context(), &executorv1.AttachRequest{Fence: &commonv1.Fence{Host: 1, Executor: 1}})
			if err == nil {
				_, err = stream.Recv()
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}
