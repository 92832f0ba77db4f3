package sessionhost

import (
	"encoding/binary"
	"fmt"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
	"fairlead.dev/services/sessionhost/internal/executorlink"
	"fairlead.dev/services/sessionhost/internal/keyboard"
	machine "fairlead.dev/services/sessionhost/internal/session"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/permit"
	"fairlead.dev/services/shared/refusal"
)

// desk is a desk of a few windows and the executor on it. It knows nothing of the host's
// rules: what it answers is drawn, within what is true.
type desk struct {
	link    *executorlink.Link // nil while there is no executor
	windows [windowCount]*simWindow
	last    uint64 // the latest number given to a window, an object, a snapshot
	spent   map[ident.SnapshotID]bool
}

const windowCount = 4

// simWindow is one window. Its elements are always of the same kinds; their objects come
// and go.
type simWindow struct {
	id      ident.Window
	objects [len(kinds)]ident.Object
	focus   int // the element that has the focus; none and both are possible
	page    int // the document it shows; 0 for a window that is no page
	blocked bool
	popup   bool
	picture bool
}

const (
	focusNone = -1
	focusTwo  = -2
)

// kinds are the elements of every window.
var kinds = [...]struct {
	role   commonv1.Role
	name   string
	states []commonv1.ElementState
	takes  bool // keys
}{
	{role: commonv1.Role_ROLE_GROUP, name: "all"},
	{role: commonv1.Role_ROLE_BUTTON, name: "ok", states: enabled},
	{role: commonv1.Role_ROLE_TEXT_FIELD, name: "name", states: editable, takes: true},
	{role: commonv1.Role_ROLE_TERMINAL, name: "shell", states: enabled, takes: true},
	{role: commonv1.Role_ROLE_SECURE_FIELD, name: "pin", states: editable},
	{role: commonv1.Role_ROLE_BUTTON, name: "twin", states: enabled},
	{role: commonv1.Role_ROLE_BUTTON, name: "twin", states: enabled},
	{role: commonv1.Role_ROLE_BUTTON, name: "dead"},
}

// dead is the element whose acts are always refused.
const dead = 7

var (
	enabled  = []commonv1.ElementState{commonv1.ElementState_ELEMENT_STATE_ENABLED}
	editable = append(enabled[:1:1], commonv1.ElementState_ELEMENT_STATE_EDITABLE)
)

func (d *desk) next() uint64 { d.last++; return d.last }

// renew puts another window into a place: with a number of its own, or with the one of
// the window before it.
func (d *desk) renew(i int, recycled bool) {
	n := d.next()
	w := &simWindow{
		id:    ident.Window{ID: n, PID: int32(n), Start: n, App: fmt.Sprintf("app%d", i), Birth: n},
		focus: focusNone, picture: true,
	}
	if old := d.windows[i]; old != nil && recycled {
		w.id.ID = old.id.ID
	}
	if i >= windowCount/2 {
		w.page = 1
	}
	for j := range w.objects {
		w.objects[j] = ident.Object(d.next())
	}
	d.windows[i] = w
}

// find returns the window that is meant, if it is still there.
func (d *desk) find(w ident.Window) *simWindow {
	for _, one := range d.windows {
		if one.id == w {
			return one
		}
	}
	return nil
}

const blockedAt = "https://blocked:443"

// snapshot is what the executor reads of a window.
func (d *desk) snapshot(w *simWindow) *executorv1.Snapshot {
	n := d.next()
	frame := &commonv1.Rect{Width: 100, Height: 80}
	s := &executorv1.Snapshot{
		SnapshotId: fmt.Sprintf("n%d", n), Window: windowToWire(w.id), Title: "title", Bounds: frame,
		Surfaces: []*commonv1.Surface{{SurfaceId: w.id.ID, Bounds: frame}},
		Displays: []*commonv1.Display{{
			Bounds: &commonv1.Rect{Width: 200, Height: 200}, PixelWidth: 200, PixelHeight: 200, Scale: 1,
		}},
		Elements: make([]*commonv1.Element, len(kinds)), Tokens: make([]byte, len(kinds)*16),
		Digests: make([]byte, len(kinds)*16), Objects: make([]byte, 0, len(kinds)*8),
	}
	if w.popup {
		s.Surfaces = append(s.Surfaces, &commonv1.Surface{
			SurfaceId: w.id.ID + 1<<32, Bounds: &commonv1.Rect{X: 50, Y: 50, Width: 100, Height: 20}, Order: 1,
		})
	}
	if w.page != 0 {
		s.Page = &commonv1.PageIdentity{Endpoint: "e", Target: "t", Document: fmt.Sprint(w.page)}
		s.Destination = "https://a:443"
	}
	if w.blocked {
		s.Destination = blockedAt
	}
	if w.picture {
		s.Picture = &commonv1.Picture{
			PictureId: "p" + s.SnapshotId, Width: 100, Height: 80, Transform: &commonv1.Transform{ScaleX: 1, ScaleY: 1},
		}
	}
	for i, k := range kinds {
		states := k.states
		if w.focus == i || w.focus == focusTwo && (i == 2 || i == 3) {
			states = append(states[:len(states):len(states)], commonv1.ElementState_ELEMENT_STATE_FOCUSED)
		}
		s.Elements[i] = &commonv1.Element{
			Depth: uint32(min(i, 1)), Role: k.role, Name: k.name, States: states,
			Bounds: &commonv1.Rect{X: 1, Y: float64(10 * i), Width: 90, Height: 9},
		}
		binary.BigEndian.PutUint64(s.Tokens[i*16:], n)
		s.Tokens[i*16+15] = byte(i)
		binary.BigEndian.PutUint64(s.Digests[i*16:], uint64(w.objects[i]))
		s.Objects = binary.BigEndian.AppendUint64(s.Objects, uint64(w.objects[i]))
	}
	return s
}

// change turns a snapshot into a change against a tree, with a digest that is right or not.
func change(s *executorv1.Snapshot, base *seenWindow, key ident.ActKey, right bool) {
	d := permit.TreeDigest(key, s.Elements, s.Digests, s.Objects)
	if !right {
		d[0]++
	}
	s.BaseSnapshotId, s.TreeDigest = base.snap.GetSnapshotId(), d[:]
	s.Kept = make([]uint32, len(s.Elements))
	fresh := s.Elements
	s.Elements = nil
	for i, e := range fresh {
		old := base.snap.GetElements()[i]
		if base.objects[i] == ident.Object(binary.BigEndian.Uint64(s.Objects[i*8:])) && len(old.GetStates()) == len(e.GetStates()) {
			s.Kept[i] = uint32(i + 1)
		} else {
			s.Elements = append(s.Elements, e)
		}
	}
}

// arrives is the executor's first look at a dispatch. Nothing may reach it on a snapshot
// that was used, nor after its end.
func (m *sim) arrives(t *task) {
	t.taken = true
	if t.link != m.desk.link {
		return
	}
	id := t.b.frame.Snapshot
	if m.desk.spent[id] {
		m.fail("a dispatch on a snapshot that was used")
	}
	t.arrived = true
}

// answers is what comes of a dispatch: err is a call that broke.
func (m *sim) answers(t *task) (a *executorv1.DispatchResponse, err error) {
	if t.link != m.desk.link {
		if t.arrived || m.chance(50) {
			return nil, refusal.New(refusal.OutcomeUnknown)
		}
		return nil, refusal.New(refusal.ServiceUnavailable)
	}
	w := m.desk.find(t.b.frame.Window)
	switch {
	case w == nil:
		return refusedWith(refusal.AnswerWindowGone), nil
	case m.host.locked.Load() && m.chance(50):
		return refusedWith(refusal.AnswerScreenLocked), nil
	case t.cancelled && m.chance(20):
		return refusedWith(refusal.AnswerAborted), nil
	case t.b.elementID != 0 && t.target() == dead:
		return refusedWith(refusal.AnswerElementDisabled), nil
	}
	switch m.wish(t) {
	case machine.Intervene:
		return refusedWith(refusal.AnswerPhysicalInputActive), nil
	case machine.Lock:
		return refusedWith(refusal.AnswerScreenLocked), nil
	case machine.LostTrack:
		return m.sentWith(t, w, commonv1.Outcome_OUTCOME_UNKNOWN), nil
	case machine.BlockedDestination:
		w.blocked = true
		a := m.sentWith(t, w, commonv1.Outcome_OUTCOME_OK)
		w.blocked = false
		return a, nil
	}
	switch n := m.rng.IntN(100); {
	case n < 27:
		return refusedWith(m.count.rareAnswer(m.rng)), nil
	case n < 35:
		return m.sentWith(t, w, commonv1.Outcome_OUTCOME_FAILED), nil
	case n < 42:
		return m.sentWith(t, w, commonv1.Outcome_OUTCOME_UNKNOWN), nil
	case n < 44:
		return m.sentWith(t, w, 99), nil
	case n < 46:
		m.desk.spent[t.b.frame.Snapshot] = true
		return nil, refusal.New(refusal.OutcomeUnknown)
	default:
		return m.sentWith(t, w, commonv1.Outcome_OUTCOME_OK), nil
	}
}

// wish steers towards what is rare: an event that the act's end would be to the session
// as it is, where something holds it.
func (m *sim) wish(t *task) machine.Event {
	status := machine.Status(t.p.st.machine)
	_, owns := m.host.books.keyboard.Of(t.p.s.id)
	switch {
	case owns && t.p.ill == keyboard.ByIntervention:
		return machine.Intervene
	case owns && t.p.ill == keyboard.ByFailure:
		return machine.LostTrack
	case status == machine.ShownActive && m.count.pairs[machine.ShownIntervention][machine.Pause] < m.due() && m.chance(10):
		return machine.Intervene
	case status == machine.ShownActive && m.chance(92) || m.chance(10):
		return machine.ContentChanged
	}
	return m.count.rareEvent(status, machine.Intervene, machine.Lock, machine.LostTrack, machine.BlockedDestination)
}

func refusedWith(code refusal.Answer) *executorv1.DispatchResponse {
	return &executorv1.DispatchResponse{
		Outcome: commonv1.Outcome_OUTCOME_REFUSED, Route: commonv1.Route_ROUTE_NONE, Code: code,
	}
}

// sentWith is the answer of an act that was sent: the window has changed, and is read
// again or not.
func (m *sim) sentWith(t *task, w *simWindow, o commonv1.Outcome) *executorv1.DispatchResponse {
	m.desk.spent[t.b.frame.Snapshot] = true
	t.reached = true
	a := &executorv1.DispatchResponse{Outcome: o, Route: commonv1.Route_ROUTE_ACCESSIBILITY_ACTION}
	if o == commonv1.Outcome_OUTCOME_OK && m.chance(90) {
		a.Effect = commonv1.Effect_EFFECT_CONFIRMED
		a.Verification = &commonv1.Verification{}
	}
	if o == commonv1.Outcome_OUTCOME_FAILED {
		a.Code = refusal.AnswerDispatchRefused
	}
	m.happens(t, w)
	switch n := m.rng.IntN(40); {
	case n == 0:
		a.ObservationMissing = commonv1.ObservationMissing_OBSERVATION_MISSING_TARGET_CLOSED
	case n == 1:
		a.ObservationMissing = commonv1.ObservationMissing_OBSERVATION_MISSING_TARGET_MINIMISED
	case n == 2:
		a.ObservationMissing = commonv1.ObservationMissing_OBSERVATION_MISSING_CAPTURE_FAILED
	case n == 3:
		a.ObservationMissing = commonv1.ObservationMissing_OBSERVATION_MISSING_TIMEOUT
	default:
		a.After = m.desk.snapshot(w)
		if t.b.base != nil && m.chance(50) {
			change(a.After, t.b.base, t.p.s.actKey, m.chance(80))
		} else if m.chance(2) {
			a.After.Surfaces = nil // cannot be read
		}
	}
	return a
}

// happens is what an act does to its window: mostly what it is for.
func (m *sim) happens(t *task, w *simWindow) {
	switch i := t.target(); {
	case m.chance(4):
		w.focus = focusTwo
	case m.chance(5):
		w.focus = focusNone
	case m.chance(8):
		w.objects[1+m.rng.IntN(dead-1)] = ident.Object(m.desk.next())
	case t.b.verb == commonv1.Verb_VERB_NAVIGATE && w.page != 0:
		w.page++
	case i > 0 && (kinds[i].takes || t.b.verb == commonv1.Verb_VERB_FOCUS_ELEMENT):
		w.focus = i
	}
}

// target is the element that an act is bound to, or that its point is on.
func (t *task) target() int {
	switch {
	case t.b.element != nil:
		return int(t.b.element.Token[15])
	case len(t.b.points) == 1 && t.b.points[0].Surface == t.b.frame.Window.ID:
		if i := int(t.b.points[0].At.Y) / 10; i < len(kinds) {
			return i
		}
	}
	return 0
}

// rules is policy: what it has given and what it answers.
type rules struct {
	gone   bool
	leases map[ident.SessionID]bool
}

// refusals of policy, of every code it can say. The machines feed them through.
var policySays = []refusal.Code{
	refusal.ApprovalRequired, refusal.ApprovalDenied, refusal.ApprovalExpired, refusal.PolicyForbidden,
	refusal.BudgetExhausted, refusal.SensitiveTarget, refusal.SecureField, refusal.NoPermittedRoute,
	refusal.ConsentRequired, refusal.VisionUnsupported, refusal.Timeout, refusal.ServiceUnavailable,
	refusal.ServiceMismatch, refusal.LeaseRequired,
}

// decide is policy's answer about an act.
func (m *sim) decide(s ident.SessionID) error {
	switch {
	case m.rules.gone:
		return refusal.New(refusal.ServiceUnavailable)
	case !m.rules.leases[s]:
		return refusal.New(refusal.LeaseRequired)
	case m.chance(12):
		return refusal.New(m.count.rareCode(m.rng, policySays))
	}
	return nil
}
