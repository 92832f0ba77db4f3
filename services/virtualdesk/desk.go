package virtualdesk

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
)

// Ids of the apps of the default scene.
const (
	CalculatorID = "fairlead.virtual.calculator"
	FormID       = "fairlead.virtual.form"
	NotesID      = "fairlead.virtual.notes"
)

// Ids of apps that are installed, and run only when Config.Running, Start or a launch
// says so.
const (
	BrowserID   = "fairlead.virtual.browser"
	WorkbenchID = "fairlead.virtual.workbench"
	CanvasID    = "fairlead.virtual.canvas"
)

// ErrNotThere is the answer of a fault that names a window, app, element or display
// that the desk does not have.
var ErrNotThere = errors.New("virtualdesk: not there")

// ErrClosed is the answer of a fault on a closed desk.
var ErrClosed = errors.New("virtualdesk: closed")

const (
	// unresponsiveDefault is the desk's own limit on waiting for a frozen app, for
	// calls whose context has no nearer end (C0.10).
	unresponsiveDefault = 10 * time.Second
	firstPID            = 4001
	firstWindow         = 0x1001
	// firstStart is the start time of the first process, in microseconds of no
	// particular clock; later ones only grow.
	firstStart = 1_000_000
	// clipboardOwner is the user's own clipboard owner, a window of no app.
	clipboardOwner = 0x77
)

// Config says what a desk starts with. The zero value is the default scene.
type Config struct {
	// Password fills the form's secure field. Empty means a value of the desk's own.
	Password string
	// Unresponsive is how long a call waits for a frozen app when its context does
	// not end sooner. Zero means 10 s.
	Unresponsive time.Duration
	// SeatWait is how long a delivery waits for the agent's seat. Zero means 3 s.
	SeatWait time.Duration
	// Running are ids of installed apps that run from the beginning, besides those of the
	// default scene.
	Running []string
}

// Desk is a desktop made of Go values. Its methods may be called from several goroutines.
type Desk struct {
	password     string
	unresponsive time.Duration
	seatWait     time.Duration
	// seatFree holds one thing while the agent's seat is free.
	seatFree chan struct{}

	mu        sync.Mutex
	closed    bool
	done      chan struct{} // closed by Close
	running   sync.WaitGroup
	timers    map[*time.Timer]struct{}
	installed []*app
	stack     []*window // lowest first
	screens   []screen
	user      user
	denied    map[commonv1.AbilityKind]bool
	objects   map[executor.Object]*element
	journal   []Event
	inputs    []InputEvent
	seat      seat
	redirects map[string]string
	watchers  map[chan executor.Change]int32 // by the process each is about, 0 for all
	next      counters
}

type counters struct {
	object, window, birth, start, event, input, document, renderer uint64
	pid                                                            int32
}

// user is what acts never change (C0.3).
type user struct {
	pointerX, pointerY       float64
	focus, active, clipboard uint64
	locked                   bool
	// input counts hardware input events (C12.5).
	input uint64
}

type screen struct {
	bounds executor.Rect
	scale  float64
	unsure bool
}

// New returns a desk with the default scene.
func New(cfg Config) (*Desk, error) {
	if cfg.Unresponsive < 0 || cfg.SeatWait < 0 {
		return nil, errors.New("virtualdesk: a limit in Config is negative")
	}
	d := &Desk{
		password:     cfg.Password,
		unresponsive: cfg.Unresponsive,
		seatWait:     cfg.SeatWait,
		seatFree:     make(chan struct{}, 1),
		done:         make(chan struct{}),
		timers:       map[*time.Timer]struct{}{},
		denied:       map[commonv1.AbilityKind]bool{},
		objects:      map[executor.Object]*element{},
		watchers:     map[chan executor.Change]int32{},
		redirects:    map[string]string{},
		next:         counters{window: firstWindow, start: firstStart, pid: firstPID},
	}
	if d.password == "" {
		d.password = "virtual-secret"
	}
	if d.unresponsive == 0 {
		d.unresponsive = unresponsiveDefault
	}
	if d.seatWait == 0 {
		d.seatWait = seatWaitDefault
	}
	d.giveSeat()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.buildScene()
	for _, id := range cfg.Running {
		a := d.appByID(id)
		if a == nil {
			return nil, ErrNotThere
		}
		d.start(a)
	}
	return d, nil
}

// Close lets go of everything: it ends subscriptions, waits for delayed effects that
// run and drops the others. Every later call answers AnswerUnavailable. It may be
// called more than once.
func (d *Desk) Close() error {
	d.mu.Lock()
	if !d.closed {
		d.closed = true
		close(d.done)
		for t := range d.timers {
			if t.Stop() {
				d.running.Done()
			}
		}
		clear(d.timers)
		for ch := range d.watchers {
			close(ch)
		}
		clear(d.watchers)
	}
	d.mu.Unlock()
	d.running.Wait()
	return nil
}

// usable answers why no call may read or change the desk now, or zero. A locked
// screen answers no call that reads or changes it (C12.3).
func (d *Desk) usable(ctx context.Context, kind commonv1.AbilityKind) refusal.Answer {
	switch {
	case d.closed:
		return refusal.AnswerUnavailable
	case ctx.Err() != nil:
		return ended(ctx)
	case d.user.locked:
		return refusal.AnswerScreenLocked
	case d.denied[kind]:
		return refusal.AnswerPermissionMissing
	}
	return 0
}

// ended tells a deadline from a caller that gave up.
func ended(ctx context.Context) refusal.Answer {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return refusal.AnswerTimeout
	}
	return refusal.AnswerAborted
}

// failAt is a platform error; the stage is told with a timeout only (C9.7).
func failAt(a refusal.Answer, stage commonv1.Stage) error {
	if a != refusal.AnswerTimeout {
		stage = commonv1.Stage_STAGE_UNSPECIFIED
	}
	return &executor.Failure{Answer: a, Stage: stage}
}

// enter takes the desk's lock, which the caller must let go of whatever the answer,
// and finds a window by every part of its identity. While the window's app is frozen
// it waits, without the lock, until the app answers or the call ends (C7.7).
func (d *Desk) enter(ctx context.Context, id ident.Window, kind commonv1.AbilityKind) (*window, refusal.Answer) {
	d.mu.Lock()
	var limit <-chan time.Time
	for {
		if a := d.usable(ctx, kind); a != 0 {
			return nil, a
		}
		w, a := d.identified(id)
		if a != 0 || w.app.thaw == nil {
			return w, a
		}
		if limit == nil {
			t := time.NewTimer(d.unresponsive)
			defer t.Stop()
			limit = t.C
		}
		if a := d.awaitThaw(ctx, w.app.thaw, limit); a != 0 {
			return nil, a
		}
	}
}

func (d *Desk) awaitThaw(ctx context.Context, thaw <-chan struct{}, limit <-chan time.Time) refusal.Answer {
	d.mu.Unlock()
	defer d.mu.Lock()
	select {
	case <-thaw:
		return 0
	case <-d.done:
		return refusal.AnswerUnavailable
	case <-limit:
		return refusal.AnswerTargetUnresponsive
	case <-ctx.Done():
		if ended(ctx) == refusal.AnswerAborted {
			return refusal.AnswerAborted
		}
		return refusal.AnswerTargetUnresponsive
	}
}

// identified finds a window; every part of the identity must hold (C1.3).
func (d *Desk) identified(id ident.Window) (*window, refusal.Answer) {
	w := d.byID(id.ID)
	switch {
	case w == nil:
		return nil, refusal.AnswerWindowGone
	case w.app.pid != id.PID || w.app.start != id.Start:
		return nil, refusal.AnswerProcessReplaced
	case w.app.id != id.App || w.birth != id.Birth:
		return nil, refusal.AnswerWindowChanged
	}
	return w, 0
}

func (d *Desk) byID(id uint64) *window {
	for _, w := range d.stack {
		if w.id == id {
			return w
		}
	}
	return nil
}

func (d *Desk) newObject() executor.Object {
	d.next.object++
	return executor.Object("v" + strconv.FormatUint(d.next.object, 10))
}

// newBirth counts the creations of windows (C1.3).
func (d *Desk) newBirth() uint64 {
	d.next.birth++
	return d.next.birth
}

// newID is an id no surface of this desk has had.
func (d *Desk) newID() uint64 {
	d.next.window += 2
	return d.next.window
}

func (d *Desk) newPage(target string) ident.Page {
	d.next.document++
	return ident.Page{
		Endpoint: "virtual", Target: target, Document: fmt.Sprintf("document-%d", d.next.document),
	}
}
