package x11desk

import (
	"sync"

	"fairlead.dev/executor-linux/internal/atspi"
	"fairlead.dev/services/shared/ident"
)

// hintsMax bounds each memory; beyond it everything is forgotten and found again.
const hintsMax = 1024

// hints are what was true when it was last looked at. None decides anything: an
// application is proven again by locate, and a process id of an event only says whose
// watchers need not look again.
type hints struct {
	mu     sync.Mutex
	apps   map[process]atspi.Application
	byBus  map[string]int32
	owners map[uint64]int32
}

type process struct {
	pid   int32
	start uint64
}

func (h *hints) app(w ident.Window) (atspi.Application, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	app, ok := h.apps[process{w.PID, w.Start}]
	return app, ok
}

func (h *hints) keep(w ident.Window, app atspi.Application) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.apps == nil || len(h.apps) >= hintsMax {
		h.apps = map[process]atspi.Application{}
	}
	h.apps[process{w.PID, w.Start}] = app
}

func (h *hints) buses(apps []atspi.Application) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.byBus == nil || len(h.byBus) >= hintsMax {
		h.byBus = map[string]int32{}
	}
	for _, app := range apps {
		h.byBus[app.Root.Bus] = int32(app.PID)
	}
}

func (h *hints) windows(tops []listed) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.owners = make(map[uint64]int32, len(tops))
	for i := range tops {
		for _, s := range tops[i].Surfaces {
			h.owners[s.ID] = tops[i].Identity.PID
		}
	}
}

// ofBus is the process of a connection, 0 when it is not known.
func (h *hints) ofBus(bus string) int32 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.byBus[bus]
}

// ofWindow is the process of a window, 0 when it is not known.
func (h *hints) ofWindow(id uint64) int32 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.owners[id]
}
