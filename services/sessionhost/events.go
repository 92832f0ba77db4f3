package sessionhost

import (
	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
)

// deskEvent takes what an executor says happened on the desk. Content that changed is
// never taken for the user (C2.7): only what is attributed to hardware is.
func (h *Host) deskEvent(e *executorv1.DeskEvent) {
	w := windowFromWire(e.GetWindow())
	switch e.GetKind() {
	case executorv1.DeskEventKind_DESK_EVENT_KIND_PHYSICAL_INPUT:
		h.each(func(s *session) { s.mark(mark{kind: markInput, window: w}) })
	case executorv1.DeskEventKind_DESK_EVENT_KIND_WINDOW_ENDED:
		h.each(func(s *session) { s.mark(mark{kind: markWindowEnded, window: w}) })
		h.stirAll()
	case executorv1.DeskEventKind_DESK_EVENT_KIND_LOCKED:
		h.lock(true)
	case executorv1.DeskEventKind_DESK_EVENT_KIND_UNLOCKED:
		h.lock(false)
	case executorv1.DeskEventKind_DESK_EVENT_KIND_CONTENT_CHANGED:
		h.stirAll()
	}
}

// lock keeps what the executor last said about the screen, and tells every session. A
// session that opens meanwhile is told when it begins its first turn.
func (h *Host) lock(locked bool) {
	h.locked.Store(locked)
	kind := markUnlocked
	if locked {
		kind = markLocked
	}
	h.each(func(s *session) { s.mark(mark{kind: kind}) })
}

// stirred returns a channel that is closed when a window's content changes next.
func (h *Host) stirred() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.stir
}

// stirAll tells every wait to look again.
func (h *Host) stirAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	close(h.stir)
	h.stir = make(chan struct{})
}
