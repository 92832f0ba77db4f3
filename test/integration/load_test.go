package integration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	"fairlead.dev/services/shared/refusal"
	"fairlead.dev/test/harness"
)

const (
	// loadSessions is how many sessions there are in all, loadOpen how many at once: below
	// the limits of an account and of its connections (protocol.md, Limits).
	loadSessions = 1000
	loadOpen     = 80
	loadWindows  = 16
	// loadCalls is how many calls a session makes besides those that begin it.
	loadCalls = 3
	// loadConns is over how many connections they come, those that vanish aside.
	loadConns = 16
	// loadMax bounds all of it, with the race detector on a machine that does other things
	// besides; alone it takes a fraction of that.
	loadMax = 3 * time.Minute
)

// crowd is all visitors together, and what they were answered.
type crowd struct {
	s       *harness.System
	user    hostv1.ControlServiceClient
	conns   []*grpc.ClientConn
	windows []*commonv1.WindowIdentity
	began   time.Time

	mu sync.Mutex
	// answers counts calls by name and code; zero is a yes.
	answers map[string]map[refusal.Code]int
	// left are the sessions whose clients went without a word.
	left []*visitor
}

func (c *crowd) note(call string, r *commonv1.Refusal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.answers[call] == nil {
		c.answers[call] = map[refusal.Code]int{}
	}
	c.answers[call][r.GetCode()]++
}

func (c *crowd) yes(call string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.answers[call][0]
}

// visitor is one session and the connection it came over.
type visitor struct {
	c       *crowd
	conn    *grpc.ClientConn
	rnd     *rand.Rand
	lease   hostv1.LeaseServiceClient
	observe hostv1.ObserveServiceClient
	act     hostv1.ActServiceClient
	release hostv1.ReleaseServiceClient
	session *commonv1.SessionRef
	turn    string
	fence   *commonv1.Fence
	frame   *commonv1.Observation
	acts    int
}

// The answers that carry a fence, and may carry a refusal.
type answered interface {
	GetFence() *commonv1.Fence
	GetRefusal() *commonv1.Refusal
}

// took takes an answer's fence and counts it. Nothing but a refusal is a no here.
func (v *visitor) took(call string, a answered, err error) (yes bool, _ error) {
	if err != nil {
		return false, fmt.Errorf("%s: %w", call, err)
	}
	if f := a.GetFence(); f != nil {
		v.fence = f
	}
	v.c.note(call, a.GetRefusal())
	return a.GetRefusal() == nil, nil
}

func (v *visitor) open(ctx context.Context) error {
	for {
		r, err := v.lease.OpenSession(ctx, &hostv1.OpenSessionRequest{
			ClientName: "load", Vision: true, PictureDestination: hostv1.PictureDestination_PICTURE_DESTINATION_LOCAL,
		})
		yes, err := v.took("OpenSession", r, err)
		if err != nil {
			return err
		}
		if yes {
			v.session = &commonv1.SessionRef{SessionId: r.GetSessionId(), SessionSecret: r.GetSessionSecret()}
			return v.begin(ctx)
		}
		if code := r.GetRefusal().GetCode(); code != refusal.UserStopped {
			return fmt.Errorf("OpenSession: %v", code)
		}
		if _, err := v.c.user.Resume(ctx, &hostv1.ResumeRequest{}); err != nil {
			return err
		}
	}
}

func (v *visitor) begin(ctx context.Context) error {
	r, err := v.lease.BeginTurn(ctx, &hostv1.BeginTurnRequest{Fence: v.fence, Session: v.session})
	if yes, err := v.took("BeginTurn", r, err); err != nil || !yes {
		return err
	}
	v.turn = r.GetTurnId()
	classes := []commonv1.LeaseClass{metadata, semantic, keyboard, screenshot}
	for _, class := range classes[:2+v.rnd.IntN(3)] {
		if err := v.acquire(ctx, class); err != nil {
			return err
		}
	}
	return v.look(ctx)
}

func (v *visitor) acquire(ctx context.Context, class commonv1.LeaseClass) error {
	r, err := v.lease.Acquire(ctx, &hostv1.AcquireRequest{
		Fence: v.fence, Session: v.session, TurnId: v.inTurn(), Class: class, Target: harness.App(calculator),
	})
	_, err = v.took("Acquire", r, err)
	return err
}

// inTurn is the turn, or a name that is none while there is none.
func (v *visitor) inTurn() string {
	if v.turn == "" {
		return "t-none"
	}
	return v.turn
}

func (v *visitor) look(ctx context.Context) error { return v.lookWith(ctx, false) }

func (v *visitor) lookWith(ctx context.Context, picture bool) error {
	w := v.c.windows[v.rnd.IntN(len(v.c.windows))]
	r, err := v.observe.Observe(ctx, &hostv1.ObserveRequest{
		Fence: v.fence, Session: v.session, TurnId: v.inTurn(), Render: commonv1.Render_RENDER_ELEMENTS,
		Target: &hostv1.ObserveRequest_Window{Window: w}, Picture: picture,
	})
	if yes, err := v.took("Observe", r, err); err != nil || !yes {
		return err
	}
	v.frame = r.GetObservation()
	return nil
}

func (v *visitor) element(role commonv1.Role) uint32 {
	for _, e := range v.frame.GetElements() {
		if e.GetRole() == role {
			return e.GetId()
		}
	}
	return 1
}

// do sends an act on the latest frame.
func (v *visitor) do(ctx context.Context, act *commonv1.Act) error {
	v.acts++
	frame := v.frame.GetFrame()
	if frame == nil {
		frame = &commonv1.FrameRef{FrameId: "f-none", Epoch: 1}
	}
	r, err := v.act.Act(ctx, &hostv1.ActRequest{
		Fence: v.fence, Session: v.session, TurnId: v.inTurn(), ActId: fmt.Sprintf("act %d", v.acts), Frame: frame, Act: act,
		After: &hostv1.After{Render: commonv1.Render_RENDER_ELEMENTS},
	})
	_, err = v.took("Act", r, err)
	if r.GetObservation() != nil {
		v.frame = r.GetObservation()
	}
	return err
}

func (v *visitor) sequence(ctx context.Context) error {
	v.acts++
	frame := v.frame.GetFrame()
	if frame == nil {
		return v.look(ctx)
	}
	check := harness.Step(isCheck, "Item 1", harness.Click(0))
	stream, err := v.act.ActSequence(ctx, &hostv1.ActSequenceRequest{
		Fence: v.fence, Session: v.session, TurnId: v.inTurn(), ActId: fmt.Sprintf("seq %d", v.acts), Frame: frame,
		Steps: []*hostv1.SequenceStep{check, check}, After: &hostv1.After{Render: commonv1.Render_RENDER_ELEMENTS},
	})
	for err == nil {
		var e *hostv1.ActSequenceResponse
		if e, err = stream.Recv(); errors.Is(err, io.EOF) {
			return nil
		}
		if _, err = v.took("ActSequence", e, err); e.GetResult().GetObservation() != nil {
			v.frame = e.GetResult().GetObservation()
		}
	}
	return err
}

func (v *visitor) wait(ctx context.Context) error {
	r, err := v.observe.WaitFor(ctx, &hostv1.WaitForRequest{
		Fence: v.fence, Session: v.session, TurnId: v.inTurn(), TimeoutMs: 60,
		Target:    &hostv1.WaitForRequest_Window{Window: v.c.windows[v.rnd.IntN(len(v.c.windows))]},
		Condition: &hostv1.WaitForRequest_TextPresent{TextPresent: []string{"Item", "never"}[v.rnd.IntN(2)]},
	})
	_, err = v.took("WaitFor", r, err)
	return err
}

func (v *visitor) zoom(ctx context.Context) error {
	p, frame := v.frame.GetPicture(), v.frame.GetFrame()
	if p == nil {
		return v.look(ctx)
	}
	r, err := v.observe.Zoom(ctx, &hostv1.ZoomRequest{
		Fence: v.fence, Session: v.session, TurnId: v.inTurn(), Frame: frame, PictureId: p.GetPictureId(),
		From: &commonv1.Point{}, To: &commonv1.Point{X: 40, Y: 30},
	})
	_, err = v.took("Zoom", r, err)
	return err
}

// giveBack gives up one lease; the next acquire may take it again.
func (v *visitor) giveBack(ctx context.Context) error {
	list, err := v.lease.ListLeases(ctx, &hostv1.ListLeasesRequest{Session: v.session})
	if _, err := v.took("ListLeases", list, err); err != nil || len(list.GetLeases()) == 0 {
		return err
	}
	r, err := v.release.Release(ctx, &hostv1.ReleaseRequest{Session: v.session, LeaseId: list.GetLeases()[0].GetLeaseId()})
	_, err = v.took("Release", r, err)
	return err
}

// userDoes is what the user does to the session meanwhile.
func (v *visitor) userDoes(ctx context.Context) error {
	id := v.session.GetSessionId()
	var err error
	switch v.rnd.IntN(4) {
	case 0:
		_, err = v.c.user.Stop(ctx, &hostv1.StopRequest{SessionId: id})
	case 1:
		_, err = v.c.user.Pause(ctx, &hostv1.PauseRequest{SessionId: id})
	case 2:
		_, err = v.c.user.TakeOver(ctx, &hostv1.TakeOverRequest{SessionId: id})
	default:
		// The user's own hand, in a window that somebody may be acting on.
		w := v.c.windows[v.rnd.IntN(len(v.c.windows))]
		return v.c.s.Desk.UserInput(w.GetWindowId())
	}
	if err == nil && v.rnd.IntN(3) > 0 {
		if _, err = v.c.user.Resume(ctx, &hostv1.ResumeRequest{SessionId: id}); err == nil {
			err = v.begin(ctx)
		}
	}
	return err
}

// call makes one of the calls.
func (v *visitor) call(ctx context.Context) error {
	does := v.rnd.IntN(12)
	if does <= 7 {
		// What grounds it is fresh, unless another session was faster.
		if err := v.lookWith(ctx, does == 7); err != nil {
			return err
		}
	}
	switch does {
	case 0, 1, 2:
		return v.do(ctx, harness.Click(v.element(isCheck)))
	case 3:
		return v.do(ctx, harness.SetValue(v.element(isText), "value"))
	case 4:
		if err := v.do(ctx, harness.Focus(v.element(isText))); err != nil {
			return err
		}
		return v.do(ctx, harness.Append("typed"))
	case 5:
		return v.sequence(ctx)
	case 6:
		return v.wait(ctx)
	case 7:
		return v.zoom(ctx)
	case 8:
		if err := v.giveBack(ctx); err != nil {
			return err
		}
		return v.acquire(ctx, metadata)
	case 9:
		return v.userDoes(ctx)
	case 10:
		r, err := v.release.EndTurn(ctx, &hostv1.EndTurnRequest{Session: v.session, TurnId: v.inTurn()})
		if _, err := v.took("EndTurn", r, err); err != nil {
			return err
		}
		return v.begin(ctx)
	default:
		return v.look(ctx)
	}
}

// vanish closes the connection under a call that runs.
func (v *visitor) vanish(ctx context.Context) error {
	left := make(chan error, 1)
	go func() { left <- v.do(ctx, harness.Click(v.element(isCheck))) }()
	if v.rnd.IntN(2) == 0 {
		// Sometimes before it was sent, sometimes while it runs.
		pause := time.NewTimer(time.Duration(v.rnd.IntN(3000)) * time.Microsecond)
		<-pause.C
	}
	err := v.conn.Close()
	if cut := <-left; cut != nil {
		if code := status.Code(errors.Unwrap(cut)); code != codes.Canceled && code != codes.Unavailable {
			return cut
		}
	}
	v.c.mu.Lock()
	v.c.left = append(v.c.left, v)
	v.c.mu.Unlock()
	return err
}

// visit is the life of one session.
func (c *crowd) visit(ctx context.Context, n int) error {
	vanishes := n%20 == 3
	conn := c.conns[n%loadConns]
	if vanishes {
		conn = c.s.Dial("agent")
	}
	v := &visitor{
		c: c, conn: conn, rnd: rand.New(rand.NewPCG(uint64(n), 1)), lease: hostv1.NewLeaseServiceClient(conn),
		observe: hostv1.NewObserveServiceClient(conn), act: hostv1.NewActServiceClient(conn),
		release: hostv1.NewReleaseServiceClient(conn),
	}
	if err := v.open(ctx); err != nil {
		return err
	}
	for range loadCalls {
		if err := v.call(ctx); err != nil {
			return err
		}
	}
	if n%400 == 17 {
		if _, err := c.user.StopAll(ctx, &hostv1.StopAllRequest{}); err != nil {
			return err
		}
		if _, err := c.user.Resume(ctx, &hostv1.ResumeRequest{}); err != nil {
			return err
		}
	}
	if vanishes {
		return v.vanish(ctx)
	}
	r, err := v.release.EndSession(ctx, &hostv1.EndSessionRequest{Session: v.session})
	_, err = v.took("EndSession", r, err)
	return err
}

// 1,000 sessions come and go, make all kinds of calls at once on a few windows, are
// stopped and paused, or vanish: whatever happens, everything is let go of (C4.4, C9.3).
func TestThousandSessionsLeaveNothingBehind(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), loadMax)
	defer cancel()
	c := &crowd{
		s: s, user: hostv1.NewControlServiceClient(s.Dial("user")), answers: map[string]map[refusal.Code]int{}, began: time.Now(),
	}
	for i := range loadWindows {
		id, err := s.Desk.Cover(s.Window("Form").ID, calculator)
		s.Must(err)
		s.Must(s.Desk.Move(id, float64(2000+700*i), 0))
		s.Must(s.Desk.Populate(id, 12))
		w := s.Window("Cover")
		c.windows = append(c.windows, &commonv1.WindowIdentity{
			WindowId: w.ID, Pid: w.PID, ProcessStart: w.Start, AppId: w.App, Birth: w.Birth,
		})
	}
	for range loadConns {
		c.conns = append(c.conns, s.Dial("agent"))
	}
	var g errgroup.Group
	g.SetLimit(loadOpen)
	for n := range loadSessions {
		g.Go(func() error { return c.visit(ctx, n) })
	}
	s.Must(g.Wait())
	if len(c.left) != loadSessions/20 {
		t.Errorf("%d clients vanished", len(c.left))
	}
	// Whoever vanished left a session behind until it is idle; ended, it leaves nothing.
	end := hostv1.NewReleaseServiceClient(s.Dial("agent"))
	for _, v := range c.left {
		r, err := end.EndSession(ctx, &hostv1.EndSessionRequest{Session: v.session})
		s.Must(err)
		harness.Refused(t, r.GetRefusal(), 0)
	}
	t.Logf("%d sessions in %v", loadSessions, time.Since(c.began))
	for call, codes := range c.answers {
		t.Logf("%-12s %v", call, codes)
	}
	for call, least := range map[string]int{
		"OpenSession": loadSessions, "Observe": loadSessions, "Acquire": loadSessions, "Act": loadSessions / 4,
		"ActSequence": 50, "WaitFor": loadSessions / 10, "Zoom": 10, "Release": loadSessions / 10, "EndTurn": loadSessions / 10,
	} {
		if got := c.yes(call); got < least {
			t.Errorf("only %d times yes to %s", got, call)
		}
	}
	nothingHeld(t, s, s.User())
	if st := s.User().Counts(); st.GetSubscribers() != 0 || st.GetStoppedAll() {
		t.Errorf("%v", st)
	}
}
