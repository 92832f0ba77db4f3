package virtualdesk

import (
	"cmp"
	"slices"
	"time"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
)

// Faults of an application: what it makes of the acts it is sent, and how its process
// fares. Those called ...Next wait, in order, for one act each, launches included.

// plannedMax bounds how many acts ahead faults can be planned for one app; more is
// ErrNotThere, as the place for it is not there.
const plannedMax = 16

// planned is what an app will make of one act.
type planned struct {
	kind        plannedKind
	count       int
	happens     bool
	disturbance Disturbance
	focus       executor.Object
}

type plannedKind int

const (
	plannedNone plannedKind = iota
	plannedDecline
	plannedNoOp
	plannedUnanswered
	plannedFreeze
	plannedPartial
	plannedDisturb
	plannedRefocus
)

// Disturbance is a set of parts of the user's desk (C12.5).
type Disturbance uint8

// Parts of the user's desk that an act may be made to change.
const (
	DisturbFocus Disturbance = 1 << iota
	DisturbActive
	DisturbStacking
	DisturbPointer
	DisturbClipboard
)

// takePlanned takes the next fault of an app; one for text waits for an act with text.
func (a *app) takePlanned(text bool) planned {
	if len(a.planned) == 0 {
		return planned{}
	}
	f := a.planned[0]
	if !text && (f.kind == plannedPartial || f.kind == plannedRefocus) {
		return planned{}
	}
	a.planned = append([]planned(nil), a.planned[1:]...)
	return f
}

func (d *Desk) foresee(appID string, f planned) error {
	return d.faultApp(appID, func(a *app) error {
		if len(a.planned) >= plannedMax {
			return ErrNotThere
		}
		a.planned = append(a.planned, f)
		return nil
	})
}

// DeclineNext makes the app say no to its next act: FAILED, not refused (C7.1).
func (d *Desk) DeclineNext(appID string) error {
	return d.foresee(appID, planned{kind: plannedDecline})
}

// NoOpNext makes the app accept its next act and change nothing (SUSPECTED_NOOP, C7.2).
func (d *Desk) NoOpNext(appID string) error { return d.foresee(appID, planned{kind: plannedNoOp}) }

// UnansweredNext makes the answer to the app's next act get lost at once: UNKNOWN
// (C7.1). The act is in the journal and has its effect only when happens is true.
func (d *Desk) UnansweredNext(appID string, happens bool) error {
	return d.foresee(appID, planned{kind: plannedUnanswered, happens: happens})
}

// FreezeNext freezes the app in the middle of its next act: the send blocks until its
// context ends and is Unanswered, and the effect comes when the app thaws (C7.7).
func (d *Desk) FreezeNext(appID string) error { return d.foresee(appID, planned{kind: plannedFreeze}) }

// PartialNext lets only the first n characters of the app's next text arrive (C7.4).
// Acts without text pass it by.
func (d *Desk) PartialNext(appID string, n int) error {
	return d.foresee(appID, planned{kind: plannedPartial, count: max(n, 0)})
}

// DisturbNext makes the app's next act change parts of the user's desk (C12.5):
// focus and activation go to the app's top window, which is raised, the pointer is
// moved and the clipboard taken.
func (d *Desk) DisturbNext(appID string, parts Disturbance) error {
	return d.foresee(appID, planned{kind: plannedDisturb, disturbance: parts})
}

// disturb does what only a fault may do to what belongs to the user.
func (d *Desk) disturb(a *app, parts Disturbance) {
	ws := d.windowsOf(a)
	if parts == 0 || len(ws) == 0 {
		return
	}
	top := ws[len(ws)-1]
	if parts&DisturbFocus != 0 {
		d.user.focus = top.id
	}
	if parts&DisturbActive != 0 {
		d.user.active = top.id
	}
	if parts&DisturbStacking != 0 {
		d.restack(top, d.stack[len(d.stack)-1])
	}
	if parts&DisturbPointer != 0 {
		d.user.pointerX, d.user.pointerY = top.bounds.X+1, top.bounds.Y+1
	}
	if parts&DisturbClipboard != 0 {
		d.user.clipboard = top.id
	}
	d.emit(executor.ChangeWindows, a.pid)
}

// Delay makes the effect of each of the app's acts come that much later, told by a
// change event; Delivery.Settled is false. Zero ends it.
func (d *Desk) Delay(appID string, after time.Duration) error {
	return d.faultApp(appID, func(a *app) error {
		a.delay = max(after, 0)
		return nil
	})
}

// Freeze makes the app stop answering: calls on its windows block until their context
// ends, and then say TARGET_UNRESPONSIVE with nothing sent (C7.7). A caller that
// cancels hears ABORTED.
func (d *Desk) Freeze(appID string) error {
	return d.faultApp(appID, func(a *app) error {
		if !a.running {
			return ErrNotThere
		}
		if a.thaw == nil {
			a.thaw = make(chan struct{})
		}
		return nil
	})
}

// Thaw makes a frozen app answer again and do what it was asked for before it froze.
func (d *Desk) Thaw(appID string) error {
	return d.faultApp(appID, func(a *app) error {
		if a.thaw != nil {
			a.melt()
		}
		return nil
	})
}

// melt ends the freeze of an app that is frozen.
func (a *app) melt() {
	late := a.late
	close(a.thaw)
	a.thaw, a.late = nil, nil
	for _, do := range late {
		do()
	}
}

// Die ends the app's process and all its windows (TARGET_MISSING).
func (d *Desk) Die(appID string) error {
	return d.faultApp(appID, func(a *app) error {
		if !a.running {
			return ErrNotThere
		}
		d.endProcess(a)
		return nil
	})
}

// Relaunch ends the app's process, if it runs, and starts another whose windows have
// the same window ids, places and titles: only process and birth tell (C1.3,
// PROCESS_REPLACED).
func (d *Desk) Relaunch(appID string) error {
	return d.faultApp(appID, func(a *app) error {
		if a.running {
			// Only what is opened at start gets its id again, in the order of creation.
			ws := d.windowsOf(a)
			slices.SortFunc(ws, func(x, y *window) int { return cmp.Compare(x.birth, y.birth) })
			reuse := make([]uint64, 0, len(ws))
			for _, w := range ws {
				if !w.dialog {
					reuse = append(reuse, w.id)
				}
			}
			d.endProcess(a)
			a.reuse = reuse
		}
		d.startProcess(a)
		return nil
	})
}

// Lock locks the screen: no call reads or changes the desk until Unlock (C12.3).
func (d *Desk) Lock() error { return d.setLocked(true) }

// Unlock unlocks the screen.
func (d *Desk) Unlock() error { return d.setLocked(false) }

func (d *Desk) setLocked(locked bool) error {
	return d.fault(func() error {
		d.user.locked = locked
		d.emit(executor.ChangeLock, 0)
		return nil
	})
}

// UserPointerMoves moves the user's pointer, as the user does. Display-logical points.
func (d *Desk) UserPointerMoves(x, y float64) error {
	return d.fault(func() error {
		d.user.pointerX, d.user.pointerY = x, y
		d.user.input++
		return nil
	})
}

// UserActivates lets the user go to a window: it is raised, active and has the focus.
func (d *Desk) UserActivates(windowID uint64) error {
	return d.faultWindow(windowID, func(w *window) error {
		d.restack(w, d.stack[len(d.stack)-1])
		d.user.focus, d.user.active = w.id, w.id
		d.user.input++
		d.emit(executor.ChangeWindows, w.app.pid)
		return nil
	})
}

// SetPermission takes an operating-system permission away or gives it back
// (PERMISSION_MISSING, C9.5).
func (d *Desk) SetPermission(kind commonv1.AbilityKind, granted bool) error {
	return d.fault(func() error {
		d.denied[kind] = !granted
		d.emit(executor.ChangeAbilities, 0)
		return nil
	})
}

// fault runs f under the desk's lock.
func (d *Desk) fault(f func() error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return ErrClosed
	}
	return f()
}

func (d *Desk) faultApp(id string, f func(*app) error) error {
	return d.fault(func() error {
		a := d.appByID(id)
		if a == nil {
			return ErrNotThere
		}
		return f(a)
	})
}

func (d *Desk) faultWindow(id uint64, f func(*window) error) error {
	return d.fault(func() error {
		w := d.byID(id)
		if w == nil {
			return ErrNotThere
		}
		return f(w)
	})
}

// faultElement runs f on an element and tells watchers that the tree changed.
func (d *Desk) faultElement(o executor.Object, f func(*element) error) error {
	return d.fault(func() error {
		e := d.objects[o]
		if e == nil {
			return ErrNotThere
		}
		pid := e.win.app.pid
		err := f(e)
		d.emit(executor.ChangeTree, pid)
		return err
	})
}
