package executor

import (
	"context"
	"slices"
	"sync"
	"time"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
	"fairlead.dev/services/executor/internal/deskfeed"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
)

const (
	// lockEvery is how often a locked desk is looked at: a platform may not say when it
	// was unlocked.
	lockEvery = 500 * time.Millisecond
	// listEvery is how often at most the windows are listed to see which ended.
	listEvery = 100 * time.Millisecond
	// lookMax bounds one look at the desk or its windows.
	lookMax = 2 * time.Second
)

// deskWatch is what happens on the desk between and during calls. Its reader, one
// goroutine, only takes notes, so that the platform is never kept waiting; the goroutine
// of Attach looks again and tells the host, at the speed of the host.
type deskWatch struct {
	start time.Time
	// wake holds one wish to look at the notes.
	wake chan struct{}

	mu   sync.Mutex
	feed deskfeed.Feed
	// What to look at again. lost says that changes were lost, so that everything is.
	abilities, windows, lock, lost bool
	// input is how much hardware input there was when it was last looked at, 0 for unknown.
	input uint64
	// locked is the lock as it was last seen; looked is when.
	locked bool
	looked time.Duration
	// known is the windows as they were last listed; listed is when.
	known  []ident.Window
	listed time.Duration
}

// newDeskWatch has seen nothing yet, so everything is to be looked at.
func newDeskWatch() *deskWatch {
	return &deskWatch{
		start: time.Now(), wake: make(chan struct{}, 1), windows: true, lock: true, listed: -listEvery,
	}
}

func (w *deskWatch) now() time.Duration { return time.Since(w.start) }

func (w *deskWatch) poke() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// follow takes notes until the subscription or the link ends. Running dispatches learn of
// the user's input at once (C12.2).
func (e *Executor) follow(ctx context.Context, changes <-chan Change) {
	for {
		select {
		case <-ctx.Done():
			return
		case c, ok := <-changes:
			if !ok {
				return
			}
			if c.Kind == ChangeInput {
				e.userInput(c.Window)
			}
			e.watch.note(c)
		}
	}
}

func (w *deskWatch) note(c Change) {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.poke()
	switch c.Kind {
	case ChangeInput:
		w.feed.Add(deskfeed.Event{Kind: deskfeed.Input, Window: c.Window})
		w.lock = true // The next look counts it.
	case ChangeWindows:
		w.windows = true
	case ChangeTree:
		w.content(c)
	case ChangeAbilities:
		w.abilities = true
	case ChangeLock:
		w.lock = true
	case ChangeLost:
		w.windows, w.lock, w.abilities, w.lost = true, true, true, true
	}
}

// content notes that a window changed: the one that is named, else those of the process,
// else any.
func (w *deskWatch) content(c Change) {
	if c.Window != (ident.Window{}) {
		w.feed.Add(deskfeed.Event{Kind: deskfeed.Content, Window: c.Window})
		return
	}
	found := false
	for _, k := range w.known {
		if c.PID != 0 && k.PID == c.PID {
			found = true
			w.feed.Add(deskfeed.Event{Kind: deskfeed.Content, Window: k})
		}
	}
	if !found {
		w.feed.Add(deskfeed.Event{Kind: deskfeed.Content})
	}
}

// sawLock notes that a call was refused because the screen is locked. The desk is then
// looked at until it is unlocked, whether the platform tells or not (C12.3).
func (w *deskWatch) sawLock() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.setLock(true)
	w.poke()
}

// setLock notes the lock as it was seen now; a change is told. The mutex is held.
func (w *deskWatch) setLock(locked bool) {
	w.looked = w.now()
	if locked == w.locked {
		return
	}
	w.locked = locked
	kind := deskfeed.Unlocked
	if locked {
		kind = deskfeed.Locked
	}
	w.feed.Add(deskfeed.Event{Kind: kind})
}

// due says how long it is until there is something to look at or to tell.
func (w *deskWatch) due() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	now, soonest := w.now(), time.Hour
	if d, ok := w.feed.Due(now); ok {
		soonest = d
	}
	if w.abilities || w.lock {
		soonest = 0
	}
	if w.locked {
		soonest = min(soonest, w.looked+lockEvery-now)
	}
	if w.windows {
		soonest = min(soonest, w.listed+listEvery-now)
	}
	return max(0, soonest)
}

// lookAgain looks at the lock and the windows where a note says so and it is time. A look
// that fails tells nothing, and is taken again.
func (e *Executor) lookAgain(ctx context.Context) {
	w := e.watch
	w.mu.Lock()
	now := w.now()
	lock := w.lock || w.locked && now >= w.looked+lockEvery
	windows := w.windows && now >= w.listed+listEvery
	w.lock = false
	w.mu.Unlock()
	ctx, stop := context.WithTimeout(ctx, lookMax)
	defer stop()
	if lock {
		e.lookAtDesk(ctx)
	}
	if windows {
		e.lookAtWindows(ctx)
	}
}

// lookAtDesk looks at the lock, and whether there was input among what was lost: only
// what the platform counts and did not count is known not to have happened.
func (e *Executor) lookAtDesk(ctx context.Context) {
	w := e.watch
	w.mu.Lock()
	lost, before := w.lost, w.looked
	w.lost = false
	w.mu.Unlock()
	desk, err := e.cfg.Platform.Desk(ctx)
	if a, _ := told(err, commonv1.Stage_STAGE_UNSPECIFIED); err != nil {
		desk = DeskState{Locked: a == refusal.AnswerScreenLocked}
	}
	w.mu.Lock()
	input := desk.Input == 0 || desk.Input != w.input
	w.input = desk.Input
	if lost {
		w.feed.Lose(input)
	}
	switch known := err == nil || desk.Locked; {
	case !known:
		w.looked = w.now()
	case desk.Locked || w.looked == before:
		w.setLock(desk.Locked)
	default:
		// A call saw the lock while this look was on its way; it may be the older one.
		w.lock = true
	}
	w.mu.Unlock()
	if lost && input {
		e.userInput(ident.Window{})
	}
}

// lookAtWindows tells which windows are gone, or are another one now.
func (e *Executor) lookAtWindows(ctx context.Context) {
	w := e.watch
	w.mu.Lock()
	w.windows, w.listed = false, w.now()
	w.mu.Unlock()
	list, err := e.cfg.Platform.Windows(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		// In a moment more than the shortest time: what fails now may fail for a while.
		w.windows, w.listed = true, w.now()+lockEvery
		return
	}
	now := make([]ident.Window, 0, len(list))
	for i := range list {
		now = append(now, list[i].Identity)
	}
	for _, was := range w.known {
		if !containsWindow(now, was) {
			w.feed.Add(deskfeed.Event{Kind: deskfeed.Ended, Window: was})
		}
	}
	w.known = now
}

// saw notes a window that was looked at, so that its end is told also where it came and
// went between two listings.
func (w *deskWatch) saw(id ident.Window) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !containsWindow(w.known, id) {
		w.known, w.windows = append(w.known, id), true
		w.poke()
	}
}

// take returns what is to be told now, and whether abilities are to be looked at.
func (w *deskWatch) take() (events []deskfeed.Event, abilities bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	abilities, w.abilities = w.abilities, false
	return w.feed.Take(w.now()), abilities
}

// isLocked is the lock as it was last seen.
func (w *deskWatch) isLocked() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.locked
}

// tell carries the notes to the host until the link ends.
func (e *Executor) tell(
	ctx context.Context, fence *commonv1.Fence, abilities []Ability, send func(*executorv1.AttachResponse) error,
) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-e.state.over:
			return nil
		case <-e.watch.wake:
		case <-timer.C:
		}
		e.lookAgain(ctx)
		events, again := e.watch.take()
		for _, ev := range events {
			if err := send(deskEvent(fence, ev)); err != nil {
				return err
			}
		}
		if again {
			if now := e.cfg.Platform.Abilities(ctx); !slices.Equal(now, abilities) {
				abilities = now
				if err := send(e.abilitiesChanged(fence, now)); err != nil {
					return err
				}
			}
		}
		timer.Reset(e.watch.due())
	}
}

func deskEvent(fence *commonv1.Fence, ev deskfeed.Event) *executorv1.AttachResponse {
	out := &executorv1.DeskEvent{Kind: executorv1.DeskEventKind(ev.Kind)}
	if ev.Window != (ident.Window{}) {
		out.Window = fromWindow(ev.Window)
	}
	return &executorv1.AttachResponse{Fence: fence, Event: &executorv1.AttachResponse_Desk{Desk: out}}
}
