package executor

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
	"fairlead.dev/services/shared/refusal"
)

func contextWithCancel(t *testing.T) (context.Context, context.CancelFunc) {
	return context.WithCancel(t.Context())
}

func TestCallsNeedAnAttachedHost(t *testing.T) {
	r := newRig(t, newFake())
	_, err := r.host.BeginSession(r.ctx(), &executorv1.BeginSessionRequest{
		Fence: r.fence, SessionId: testSession, ActKey: r.actKey[:],
	})
	if status.Code(err) != codes.PermissionDenied {
		t.Fatal(err)
	}
	_, err = r.host.EndSession(r.ctx(), &executorv1.EndSessionRequest{SessionId: testSession})
	if status.Code(err) != codes.PermissionDenied {
		t.Fatal(err)
	}
	r.attach()
	r.begin(testSession)
}

func TestOneAttachPerIncarnation(t *testing.T) {
	r := newRig(t, newFake())
	r.attach()
	second, err := r.host.Attach(r.ctx(), &executorv1.AttachRequest{Fence: r.fence})
	if err == nil {
		_, err = second.Recv()
	}
	if status.Code(err) != codes.PermissionDenied {
		t.Fatal(err)
	}
}

func TestStaleFenceIsRefusedExceptWhereItTakesAway(t *testing.T) {
	r := ready(t, newFake())
	stale := &commonv1.Fence{Host: 5, Executor: 8}
	_, err := r.host.Snapshot(r.ctx(), &executorv1.SnapshotRequest{
		Fence: stale, SessionId: testSession, Permit: &commonv1.Permit{}, Window: fromWindow(editor),
	})
	if status.Code(err) != codes.PermissionDenied {
		t.Fatal(err)
	}
	if _, err := r.host.Cancel(r.ctx(), &executorv1.CancelRequest{
		Fence: stale, SessionId: testSession, DispatchId: "d",
	}); err != nil {
		t.Fatal(err)
	}
	end, err := r.host.EndSession(r.ctx(), &executorv1.EndSessionRequest{Fence: stale, SessionId: testSession})
	if err != nil || !end.GetKnown() {
		t.Fatal(err)
	}
	if c := r.trySnapshot(editor, r.read(forApp(editor.App)), nil).GetCode(); c != refusal.AnswerSessionUnknown {
		t.Fatal(c)
	}
}

func TestLosingTheHostEndsTheIncarnation(t *testing.T) {
	r := ready(t, newFake())
	r.snapshot(editor)
	r.detach()
	r.wait()
	if n := len(r.e.state.sessions); n != 0 {
		t.Fatalf("%d sessions are remembered", n)
	}
	if err := r.e.Serve(t.Context(), &net.UnixConn{}, nil, nil); !errors.Is(err, ErrServed) {
		t.Fatal(err)
	}
}

func TestLosingTheConnectionEndsTheIncarnation(t *testing.T) {
	r := ready(t, newFake())
	_ = r.hostConn.Close()
	r.wait()
}

func TestAbilitiesChangedIsTold(t *testing.T) {
	desk := newFake()
	r := ready(t, desk)
	desk.change(func(f *fake) { f.emit(Change{Kind: ChangeAbilities}) }) // Nothing differs: silence.
	desk.change(func(f *fake) {
		f.abilities[0].Able = false
		f.emit(Change{Kind: ChangeAbilities})
	})
	ev, err := r.events.Recv()
	if err != nil {
		t.Fatal(err)
	}
	if got := ev.GetAbilities().GetAbilities(); len(got) != 1 || got[0].GetAble() || ev.GetFence().GetExecutor() != 9 {
		t.Fatalf("got %v", ev)
	}
}

func TestHaltRefusesEverythingAndCancels(t *testing.T) {
	desk := newFake()
	r := ready(t, desk)
	reached, goOn := make(chan struct{}), make(chan struct{})
	desk.beforeCheck = func() { close(reached); <-goOn }
	o := r.order(r.snapshot(editor), nodeField, setValue("new"))
	got := make(chan *executorv1.DispatchResponse, 1)
	go func() { got <- r.send(o) }()
	<-reached
	time.AfterFunc(50*time.Millisecond, func() { close(goOn) })
	h, err := r.halt.Halt(r.ctx(), &executorv1.HaltRequest{})
	if err != nil || h.GetDispatchesCancelled() != 1 {
		t.Fatalf("Halt: %v %v", h, err)
	}
	refusedAs(t, <-got, refusal.AnswerHalted)
	if c := r.trySnapshot(editor, r.read(forApp(editor.App)), nil).GetCode(); c != refusal.AnswerHalted {
		t.Fatal(c)
	}
	b, err := r.host.BeginSession(r.ctx(), &executorv1.BeginSessionRequest{
		Fence: r.fence, SessionId: "s-9", ActKey: r.actKey[:],
	})
	if err != nil || b.GetCode() != refusal.AnswerHalted {
		t.Fatalf("BeginSession: %v %v", b.GetCode(), err)
	}
	again, err := r.halt.Halt(r.ctx(), &executorv1.HaltRequest{})
	if err != nil || again.GetDispatchesCancelled() != 0 {
		t.Fatalf("Halt again: %v %v", again, err)
	}
	st, err := r.halt.GetHaltState(r.ctx(), &executorv1.GetHaltStateRequest{})
	if err != nil || !st.GetHalted() || st.GetSessions() != 0 || st.GetDispatches() != 0 {
		t.Fatalf("GetHaltState: %v %v", st, err)
	}
	if len(desk.sent()) != 0 {
		t.Fatal("something was sent")
	}
}

func TestHaltNeedsNoHost(t *testing.T) {
	r := newRig(t, newFake())
	if _, err := r.halt.Halt(r.ctx(), &executorv1.HaltRequest{}); err != nil {
		t.Fatal(err)
	}
}

func TestLinksServeOnlyTheirOwnService(t *testing.T) {
	r := ready(t, newFake())
	onHost := executorv1.NewHaltServiceClient(r.hostConn)
	if _, err := onHost.Halt(r.ctx(), &executorv1.HaltRequest{}); status.Code(err) != codes.Unimplemented {
		t.Fatal(err)
	}
	debug := executorv1.NewDebugServiceClient(r.hostConn)
	_, err := debug.ListWindowIdentities(r.ctx(), &executorv1.ListWindowIdentitiesRequest{})
	if status.Code(err) != codes.Unimplemented {
		t.Fatal(err)
	}
}
