// Package executorlink is the host's end of one executor incarnation (C9.3). The
// Attach stream is the link: its end is the end of the incarnation, and a Link is
// never used again after it. It says what is known about a call that failed: proof
// that nothing was written makes it SERVICE_UNAVAILABLE, anything else about an act
// is OUTCOME_UNKNOWN. One goroutine reads the stream until the link ends.
package executorlink

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
	"fairlead.dev/services/shared/rpc"
)

// Bounds of calls on the link.
const (
	handshakeMax = 10 * time.Second
	cancelMax    = 2 * time.Second
	// violationsMax is how many answers may be unreadable before the incarnation ends (C9.6).
	violationsMax = 2
)

// Link is one attached executor incarnation.
type Link struct {
	Generation  ident.Generation
	Incarnation ident.Incarnation
	Version     string
	Platform    string
	// Locked says whether the screen was locked when the link began.
	Locked bool

	conn   *grpc.ClientConn
	client executorv1.ExecutorServiceClient
	done   chan struct{}
	desk   func(*executorv1.DeskEvent)

	mu         sync.Mutex
	fence      ident.Fence
	abilities  []*commonv1.Ability
	violations int
}

// Config is what a link needs.
type Config struct {
	Conn   net.Conn
	Traces trace.TracerProvider
	// DeskEvent is told what happens on the desk; it must not block.
	DeskEvent func(*executorv1.DeskEvent)
	// Host is the host's generation; Executor is the one it assigns to this incarnation.
	Host, Executor ident.Generation
}

// Attach opens the link and waits for the handshake.
func Attach(ctx context.Context, cfg Config) (*Link, error) {
	cc, err := rpc.Dial(cfg.Conn, cfg.Traces)
	if err != nil {
		return nil, fmt.Errorf("dialling executor: %w", err)
	}
	l := &Link{
		Generation: cfg.Executor, conn: cc, client: executorv1.NewExecutorServiceClient(cc),
		done: make(chan struct{}), desk: cfg.DeskEvent,
		fence: ident.Fence{Host: cfg.Host, Executor: cfg.Executor},
	}
	if err := l.handshake(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("attaching executor: %w", err), cc.Close())
	}
	return l, nil
}

func (l *Link) handshake(ctx context.Context) error {
	// The stream lives as long as the link, not as long as the call that attached it.
	stream, err := l.client.Attach(context.WithoutCancel(ctx), &executorv1.AttachRequest{Fence: l.wireFence()})
	if err != nil {
		return err
	}
	first := make(chan *executorv1.Handshake, 1)
	go l.read(stream, first)
	timer := time.NewTimer(handshakeMax)
	defer timer.Stop()
	select {
	case h := <-first:
		if len(h.GetIncarnation()) != len(l.Incarnation) {
			return errors.New("the first event was no handshake")
		}
		copy(l.Incarnation[:], h.GetIncarnation())
		l.Version, l.Platform, l.Locked = h.GetVersion(), h.GetPlatform(), h.GetLocked()
		l.setAbilities(h.GetAbilities())
		return nil
	case <-l.done:
		return errors.New("the executor closed the link")
	case <-timer.C:
		return errors.New("no handshake in time")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (l *Link) read(stream executorv1.ExecutorService_AttachClient, first chan<- *executorv1.Handshake) {
	defer close(l.done)
	for begun := false; ; {
		ev, err := stream.Recv()
		if err != nil {
			return
		}
		switch e := ev.GetEvent().(type) {
		case *executorv1.AttachResponse_Handshake:
			if !begun {
				begun = true
				first <- e.Handshake
			}
		case *executorv1.AttachResponse_Abilities:
			l.setAbilities(e.Abilities.GetAbilities())
		case *executorv1.AttachResponse_Desk:
			l.tell(e.Desk)
		default:
			// A member this host does not know may carry meaning it would miss (C0.11).
			l.Violated()
		}
	}
}

// tell passes an event on. One whose kind is not known is the worst of those that are:
// the user may have been anywhere (C9.6).
func (l *Link) tell(e *executorv1.DeskEvent) {
	_, known := executorv1.DeskEventKind_name[int32(e.GetKind())]
	if !known || e.GetKind() == executorv1.DeskEventKind_DESK_EVENT_KIND_UNSPECIFIED || rpc.Unknown(e) {
		l.Violated()
		e = &executorv1.DeskEvent{Kind: executorv1.DeskEventKind_DESK_EVENT_KIND_PHYSICAL_INPUT}
	}
	l.desk(e)
}

// Done is closed when the incarnation has ended.
func (l *Link) Done() <-chan struct{} { return l.done }

// Alive reports whether the incarnation has not ended.
func (l *Link) Alive() bool {
	select {
	case <-l.done:
		return false
	default:
		return true
	}
}

// Close ends the incarnation.
func (l *Link) Close() error { return l.conn.Close() }

// Abilities returns what the executor last said it can do.
func (l *Link) Abilities() []*commonv1.Ability {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.abilities
}

func (l *Link) setAbilities(a []*commonv1.Ability) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.abilities = a
}

// Degraded reports whether an answer could not be read.
func (l *Link) Degraded() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.violations > 0
}

// Violated counts an answer that could not be read; the second ends the incarnation (C9.6).
func (l *Link) Violated() {
	l.mu.Lock()
	l.violations++
	over := l.violations >= violationsMax
	l.mu.Unlock()
	if over {
		// The error has no one to go to: the link is given up either way.
		_ = l.conn.Close()
	}
}

func (l *Link) wireFence() *commonv1.Fence {
	l.mu.Lock()
	defer l.mu.Unlock()
	return &commonv1.Fence{Host: uint64(l.fence.Host), Executor: uint64(l.fence.Executor)}
}

// readable checks that an answer holds nothing this schema does not know. Trees are
// checked by the caller, which walks them anyway.
func (l *Link) readable(m proto.Message) error {
	if rpc.Unknown(m) {
		l.Violated()
		return refusal.New(refusal.ServiceMismatch)
	}
	return nil
}

// readFailed says what a failed read is: nothing was changed by it either way.
func readFailed(ctx context.Context) error {
	if ctx.Err() != nil {
		return refusal.With(refusal.Timeout, &refusal.Detail{Stage: commonv1.Stage_STAGE_WALK})
	}
	return refusal.New(refusal.ServiceUnavailable)
}

// actFailed says what a failed act is.
func actFailed(w *rpc.Written) error {
	if w.MaybeSent() {
		return refusal.New(refusal.OutcomeUnknown)
	}
	return refusal.New(refusal.ServiceUnavailable)
}
