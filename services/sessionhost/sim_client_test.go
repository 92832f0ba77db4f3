package sessionhost

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	"fairlead.dev/services/sessionhost/internal/keyboard"
	"fairlead.dev/services/sessionhost/internal/lane"
	machine "fairlead.dev/services/sessionhost/internal/session"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/permit"
)

// client is an agent: what it was told, and what it did lately.
type client struct {
	turn       string
	fence, old *commonv1.Fence
	seen       *seenWindow
	frame      ident.Frame
	past       []ident.Frame
	acts       []*hostv1.ActRequest
	open       int // calls it waits for
	tasks      []*task
	n          int
	stubborn   int         // how often it still tries what is always refused
	tried      ident.Frame // where it tried last
}

const remembered = 6

// sees keeps an observation.
func (c *client) sees(obs *commonv1.Observation, seen *seenWindow) {
	c.past = append(c.past, c.frame)
	c.past = c.past[max(0, len(c.past)-remembered):]
	c.frame, c.seen = frameFromWire(obs.GetFrame()), seen
}

// simRequest is what every request says; simTurned belongs to a turn too.
type simRequest struct{ fence *commonv1.Fence }

func (r simRequest) GetFence() *commonv1.Fence        { return r.fence }
func (r simRequest) GetSession() *commonv1.SessionRef { return nil }

type simTurned struct {
	simRequest
	turn string
}

func (r simTurned) GetTurnId() string { return r.turn }

// request is a request as the client makes it: mostly with what it was told last.
func (m *sim) request(p *place) simTurned {
	r := simTurned{simRequest{p.client.fence}, p.client.turn}
	switch {
	case p.client.old != nil && m.chance(2):
		r.fence = p.client.old
	case m.chance(1):
		r.turn = "t-old"
	}
	return r
}

// clientStep is what a client does next, if anything: mostly what makes sense.
func (m *sim) clientStep(p *place) bool {
	status := machine.Status(p.st.machine)
	n := m.rng.IntN(100)
	away := status < machine.ShownNoTurn || m.desk.link == nil || m.rules.gone
	if away && n < 12 && m.chance(70) || (m.desk.link == nil || m.rules.gone) && m.chance(80) {
		return false // it waits, mostly
	}
	switch {
	case n < 3:
		m.asksToBegin(p)
	case n < 4:
		m.endsTurn(p)
	case n < 6:
		m.asksForLease(p)
	case n < 9:
		m.asksToRead(p, false)
	case n < 12:
		m.asksToAct(p)
	case p.client.stubborn > 0 && status == machine.ShownActive && p.client.tried == p.client.frame:
		m.asksToRead(p, true)
	case p.client.stubborn > 0 && status == machine.ShownActive:
		m.asksToAct(p)
	case status == machine.ShownNoTurn && m.chance(50):
		return false
	case status == machine.ShownNoTurn || status == machine.ShownUserStopped || status == machine.ShownEnded:
		if n < 40 && (!p.truth.holds.Has(machine.HeldStopped) || m.chance(5)) {
			m.asksToBegin(p)
		}
	case status == machine.ShownStopped || status == machine.ShownBlockedURL:
		if n < 14 && m.chance(30) {
			m.what = "ends its session"
			m.endSession(p)
		}
	case status < machine.ShownNoTurn && m.count.pairs[status][machine.BeginTurn] < m.due() && n < 40:
		m.asksToBegin(p)
	case status < machine.ShownNoTurn:
		return false // it waits for the user
	case !m.rules.leases[p.s.id] && n < 70:
		m.asksForLease(p)
	case status != machine.ShownActive || n < 15:
		m.asksToRead(p, true)
	case n < 24:
		m.asksForSequence(p)
	case n < 29:
		m.asksToLaunch(p)
	default:
		m.asksToAct(p)
	}
	return m.what != ""
}

func (m *sim) endSession(p *place) {
	p.s.closed = true
	delete(m.host.sessions, p.s.id)
	m.tell(p, mark{kind: markEnd})
}

func (m *sim) asksToBegin(p *place) {
	p.client.n++
	m.submit(p, &task{
		req: m.request(p).simRequest, plan: []stage{{name: "begin"}}, turn: fmt.Sprint("t", p.client.n),
	}, "a turn")
}

// endsTurn is a call that does not queue.
func (m *sim) endsTurn(p *place) {
	m.what = "ends its turn"
	_ = m.do(p, func(st *state) error {
		before := st.machine
		if p.client.turn != "" {
			m.moves = append(m.moves, machine.EndTurn)
		}
		if st.end(ident.TurnID(p.client.turn)) {
			p.truth.endFrame("turn")
			p.truth.losses++
			delete(m.rules.leases, p.s.id)
			if t := m.inFlight(p); t != nil {
				t.cancelled = true
			}
		} else if p.client.turn == "" && st.machine == before {
			m.moves = append(m.moves, machine.EndTurn)
		}
		return nil
	})
}

func (m *sim) asksForLease(p *place) {
	m.submit(p, &task{req: m.request(p), plan: []stage{{name: "looking"}, {name: "acquire"}}}, "a lease")
}

func (m *sim) asksToRead(p *place, keeps bool) {
	t := &task{req: m.request(p), plan: []stage{{name: "looking"}, {name: "read"}, {name: "keep"}}}
	if !keeps {
		t.plan = []stage{{name: "looking"}, {name: "read"}, {name: "still"}}
	}
	t.window = m.desk.windows[m.rng.IntN(windowCount)].id
	if p.client.seen != nil && m.chance(70) && (m.desk.find(p.client.seen.window) != nil || m.chance(20)) {
		t.window = p.client.seen.window
	}
	m.submit(p, t, "a look")
}

func (m *sim) asksToLaunch(p *place) {
	p.client.n++
	a := &hostv1.ActRequest{
		ActId: fmt.Sprint("l", p.client.n),
		Act:   &commonv1.Act{Act: &commonv1.Act_LaunchApp{LaunchApp: &commonv1.LaunchApp{AppId: "app"}}},
	}
	if m.chance(10) {
		a.Hint = &hostv1.TargetHint{WindowId: 1}
	}
	m.sends(p, a, m.starts, "a launch")
}

// asksToAct sends an act: a new one, or one it sent before.
func (m *sim) asksToAct(p *place) {
	c := &p.client
	a := m.newAct(p)
	if len(c.acts) > 0 && c.stubborn == 0 && m.chance(9) {
		a, _ = proto.Clone(c.acts[m.rng.IntN(len(c.acts))]).(*hostv1.ActRequest)
		switch n := m.rng.IntN(10); {
		case n < 4:
			c.n++
			a.ActId = fmt.Sprint("a", c.n)
		case n == 4:
			a.Hint = &hostv1.TargetHint{AppId: "other"}
		}
	}
	kept, _ := proto.Clone(a).(*hostv1.ActRequest)
	c.acts = append(c.acts, kept)
	c.acts = c.acts[max(0, len(c.acts)-remembered):]
	m.sends(p, a, m.acts, "an act")
}

// sends is Act up to the queue.
func (m *sim) sends(p *place, a *hostv1.ActRequest, plan []stage, what string) {
	t := &task{req: m.request(p), plan: plan, act: a}
	b, err := p.s.theAct(a)
	switch {
	case err != nil && !refused(err):
		return
	case err != nil:
		t.unusable = err
	default:
		r, first, err := p.s.join(b.asked)
		if err != nil || !first {
			m.joins(p, t, r, err)
			return
		}
		t.b, t.joined = b, r
	}
	m.submit(p, t, what)
}

// joins is the same act, sent again while it runs.
func (m *sim) joins(p *place, t *task, r *running, err error) {
	m.what = "joins"
	t.p, t.c, t.joined = p, &call{s: p.s}, r
	p.client.open++
	p.client.tasks = append(p.client.tasks, t)
	if err != nil {
		t.joined = nil
		m.answered(t, nil, err)
	}
}

// newAct makes an act out of what the client sees.
func (m *sim) newAct(p *place) *hostv1.ActRequest {
	c := &p.client
	c.n++
	a := &hostv1.ActRequest{ActId: fmt.Sprint("a", c.n), Frame: frameToWire(m.quote(p)), Act: &commonv1.Act{}}
	i := 1 + m.rng.IntN(len(kinds)-1)
	if c.stubborn > 0 {
		c.stubborn--
		c.tried = c.frame
		a.Act.Act = &commonv1.Act_ClickElement{ClickElement: &commonv1.ClickElement{ElementId: m.element(p, dead)}}
		a.Frame = frameToWire(c.frame)
		return a
	}
	if m.chance(2) {
		c.stubborn = 10
	}
	switch {
	case m.chance(5):
		a.Hint = &hostv1.TargetHint{AppId: "other"}
	case m.chance(10) && c.seen != nil:
		a.Hint = &hostv1.TargetHint{AppId: c.seen.window.App}
	}
	m.fill(p, a.Act, i)
	return a
}

func (m *sim) fill(p *place, a *commonv1.Act, i int) {
	keys := []string{"ctrl+a", "Return", "Delete"}[min(2, m.rng.IntN(9)/3)]
	text := fmt.Sprint("text", m.rng.IntN(50))
	if m.chance(5) {
		text = "[withheld: secure field]"
	}
	n := m.rng.IntN(100)
	switch _, owns := m.host.books.keyboard.Of(p.s.id); {
	case owns && n < 40:
		n = 50 // it types where it may
	case !owns && n >= 46 && n < 68 && m.chance(75):
		n, i = n%34, 2+n%2
	case !owns && m.chance(50), n < 34 && m.chance(60):
		n, i = n%34, 2+n%2
	case i == dead && m.chance(60):
		i = 1
	}
	switch {
	case n < 22:
		a.Act = &commonv1.Act_ClickElement{ClickElement: &commonv1.ClickElement{ElementId: m.element(p, i)}}
	case n < 34:
		a.Act = &commonv1.Act_FocusElement{FocusElement: &commonv1.FocusElement{ElementId: m.element(p, i)}}
	case n < 46:
		a.Act = &commonv1.Act_TypeText{TypeText: &commonv1.TypeText{Text: text, ElementId: m.element(p, 2+i%3)}}
	case n < 58:
		a.Act = &commonv1.Act_TypeText{TypeText: &commonv1.TypeText{Text: text}}
	case n < 66:
		a.Act = &commonv1.Act_PressKeys{PressKeys: &commonv1.PressKeys{Keys: keys}}
	case n < 68:
		a.Act = &commonv1.Act_HoldKeys{HoldKeys: &commonv1.HoldKeys{Keys: keys, DurationMs: 10}}
	case n < 71:
		a.Act = &commonv1.Act_Paste{Paste: &commonv1.Paste{Text: text, ElementId: m.element(p, 2)}}
	case n < 76:
		a.Act = &commonv1.Act_SetValue{SetValue: &commonv1.SetValue{Value: text, ElementId: m.element(p, 2)}}
	case n < 90:
		a.Act = &commonv1.Act_ClickPoint{ClickPoint: m.point(p, i)}
	case n < 94:
		a.Act = &commonv1.Act_CloseWindow{CloseWindow: &commonv1.CloseWindow{}}
	case n < 97:
		a.Act = &commonv1.Act_Navigate{Navigate: &commonv1.Navigate{Url: "https://a/" + text}}
	default:
		a.Act = &commonv1.Act_Reload{Reload: &commonv1.Reload{}}
	}
}

func (m *sim) point(p *place, i int) *commonv1.ClickPoint {
	at := &commonv1.ClickPoint{Point: &commonv1.Point{X: 20, Y: float64(10*i + 5)}}
	if p.client.seen != nil {
		at.PictureId = p.client.seen.snap.GetPicture().GetPictureId()
	}
	switch m.rng.IntN(10) {
	case 0:
		at.Point.X = 1000
	case 1:
		at.PictureId = "p-invented"
	case 2:
		at.Point.X, at.Point.Y = 70, 60 // on the popup, where there is one
	}
	return at
}

// element is the id of an element, as the client read it; now and then one it made up.
func (m *sim) element(p *place, i int) uint32 {
	switch {
	case p.client.seen == nil:
		return 1
	case m.chance(3):
		return 1 << 30
	}
	return p.client.seen.snap.GetElements()[i].GetId()
}

// quote is the frame an act is said to be based on: mostly the current one.
func (m *sim) quote(p *place) ident.Frame {
	c := &p.client
	switch n := m.rng.IntN(100); {
	case n < 4 && len(c.past) > 0:
		return c.past[len(c.past)-1]
	case n < 6 && len(c.past) > 0:
		return c.past[m.rng.IntN(len(c.past))]
	case n < 7:
		return ident.Frame{ID: "f-invented", Epoch: c.frame.Epoch}
	}
	return c.frame
}

func (m *sim) asksForSequence(p *place) {
	p.client.n++
	req := &hostv1.ActSequenceRequest{ActId: fmt.Sprint("q", p.client.n), Frame: frameToWire(m.quote(p))}
	for range 1 + m.rng.IntN(3) {
		k := kinds[1+m.rng.IntN(len(kinds)-1)]
		step := &hostv1.SequenceStep{Role: k.role, Name: k.name, Act: &commonv1.Act{
			Act: &commonv1.Act_ClickElement{ClickElement: &commonv1.ClickElement{}},
		}}
		if k.takes {
			step.Act.Act = &commonv1.Act_TypeText{TypeText: &commonv1.TypeText{Text: "in sequence"}}
		}
		req.Steps = append(req.Steps, step)
	}
	q, err := p.s.theSequence(req)
	if err != nil {
		m.fail("a sequence cannot be read: %v", err)
		return
	}
	t := &task{req: m.request(p), seq: q, plan: []stage{{name: "told"}, {name: "foreseen"}, {name: "bindStep"}}}
	t.first = 2
	t.plan = append(append(t.plan, m.acts...), stage{name: "next"})
	m.submit(p, t, "a sequence")
}

// stepOf is one step of a sequence as the single act it is.
func (m *sim) stepOf(t *task, one sequenceStep) *bound {
	a, _ := proto.Clone(one.act).(*commonv1.Act)
	return &bound{
		asked: t.p.s.stepAsked(t.seq, t.i), act: a, args: permit.Arguments(a), verb: permit.VerbOf(a), ref: t.seq.ref,
		hint: t.seq.hint, after: t.seq.afterStep(t.i), actID: t.seq.stepID(t.i), dispatch: "d",
	}
}

// recovers gives back what was taken away, so that there is something to take.
func (m *sim) recovers() {
	switch {
	case len(m.crowd) > 0:
		m.crowds(ident.Window{})
	case m.desk.link == nil:
		m.processes()
	case m.rules.gone:
		m.policies()
	case m.host.locked.Load():
		m.locks(false)
	case m.chance(50):
		m.what = "user resumes"
		for _, q := range m.places {
			if q.truth.holds != 0 {
				m.tell(q, mark{kind: markResume})
			}
		}
	default:
		m.what = "calm"
		for _, q := range m.places {
			if q.truth.holds != 0 {
				m.tell(q, mark{kind: markCalm})
			}
		}
	}
}

// happen is a step of the user, the desk or the processes around the host.
func (m *sim) happen() {
	p := m.places[m.rng.IntN(placeCount)]
	w := m.rng.IntN(windowCount)
	switch n := m.rng.IntN(100); {
	case !m.storm && n < 50, n < 10:
		m.recovers()
	case !m.storm && n < 60:
		m.leavesOne(p)
	case !m.storm:
		m.deskChanges(w)
	case n < 24:
		m.deskChanges(w)
	case n < 30:
		m.leavesOne(p)
	case n < 33:
		m.stops(p)
	case n < 34:
		m.stopsAll()
	case n < 46:
		m.what = "user pauses"
		m.tell(p, mark{kind: markPause})
	case n < 48:
		m.what = "user takes over"
		m.tell(p, mark{kind: markTakeOver})
	case n < 53:
		m.what = "user resumes"
		for _, q := range m.places {
			m.tell(q, mark{kind: markResume})
		}
	case n < 60:
		m.locks(!m.host.locked.Load() && m.chance(30))
	case n < 76:
		m.deskChanges(w)
	case n < 80:
		m.processes()
	case n < 84:
		m.policies()
	case n < 87:
		m.what = "a lease ends"
		delete(m.rules.leases, p.s.id)
		m.tell(p, mark{kind: markLeaseEnded})
	case n < 92:
		m.leavesOne(p)
	case n < 94:
		m.what = "client is gone"
		for _, t := range append([]*task{}, p.client.tasks...) {
			m.leaves(t)
		}
		m.tell(p, mark{kind: markClientGone})
	case n < 97:
		m.what = "calm"
		m.tell(p, mark{kind: markCalm})
	case n < 98:
		m.floods(p)
	case n < 99:
		m.crowds(m.desk.windows[w].id)
	default:
		m.what = "user ends a session"
		m.endSession(p)
	}
}

// deskChanges is what happens on a desk that people use.
func (m *sim) deskChanges(w int) {
	window := m.desk.windows[w]
	switch n := m.rng.IntN(10); {
	case n < 3:
		m.what = "user's input"
		m.host.deskEvent(&executorv1.DeskEvent{
			Kind: executorv1.DeskEventKind_DESK_EVENT_KIND_PHYSICAL_INPUT, Window: windowToWire(window.id),
		})
	case n < 5:
		m.what = "window replaced"
		old := window.id
		m.desk.renew(w, m.chance(50))
		m.host.deskEvent(&executorv1.DeskEvent{
			Kind: executorv1.DeskEventKind_DESK_EVENT_KIND_WINDOW_ENDED, Window: windowToWire(old),
		})
	default:
		m.what = "window changes"
		window.popup, window.picture, window.blocked = m.chance(30), m.chance(85), window.page != 0 && m.chance(10)
		window.objects[1+m.rng.IntN(dead-1)] = ident.Object(m.desk.next())
		for _, q := range m.places {
			m.tell(q, mark{kind: markContent})
		}
	}
}

func (m *sim) leavesOne(p *place) {
	m.what = "client leaves a call"
	if len(p.client.tasks) > 0 {
		m.leaves(p.client.tasks[m.rng.IntN(len(p.client.tasks))])
	}
}

// leaves is a caller that goes: it hears that nothing was sent only when that is so.
func (m *sim) leaves(t *task) {
	if t.b == nil && t.joined != nil {
		m.answered(t, nil, errGone)
		return
	}
	t.left = true
	if t.c.leave() {
		m.answered(t, nil, errGone)
	}
}

// stops is the user's stop: a mark before it is an action (C4.3).
func (m *sim) stops(p *place) {
	m.what = "user stops"
	if n := len(m.running); n > 0 && m.chance(70) {
		p = m.running[m.rng.IntN(n)].p
	}
	at := m.host.arrivals.Load()
	p.s.stopMark.Store(at)
	p.truth.covered = at
	m.agenda = append(m.agenda, func() {
		m.what = "the stop is told"
		m.tell(p, mark{kind: markStop})
	})
}

func (m *sim) stopsAll() {
	m.what = "user stops all"
	at := m.host.arrivals.Load()
	m.host.stopAllMark.Store(at)
	for _, p := range m.places {
		p.truth.covered = at
		m.agenda = append(m.agenda, func() {
			m.what = "the stop of all is told"
			m.tell(p, mark{kind: markStopAll})
		})
	}
}

func (m *sim) locks(locked bool) {
	m.what = "screen unlocks"
	kind := markUnlocked
	if locked {
		m.what, kind = "screen locks", markLocked
	}
	m.host.lock(locked)
	for _, p := range m.places {
		p.toldOf(kind)
	}
}

// processes ends an executor, or brings another.
func (m *sim) processes() {
	if m.desk.link == nil {
		m.what = "executor comes"
		m.attach()
		return
	}
	m.what = "executor ends"
	m.desk.link, m.host.executor = nil, nil
	if m.chance(40) {
		m.what = "executor is replaced"
		m.attach()
	}
	for _, p := range m.places {
		m.agenda = append(m.agenda, func() {
			m.what = "the executor's end is told"
			m.tell(p, mark{kind: markExecutor})
		})
	}
}

func (m *sim) policies() {
	if m.rules.gone {
		m.what, m.rules.gone = "policy comes", false
		return
	}
	m.what, m.rules.gone = "policy ends", true
	clear(m.rules.leases)
	for _, p := range m.places {
		m.agenda = append(m.agenda, func() {
			m.what = "policy's end is told"
			m.tell(p, mark{kind: markPolicy})
		})
	}
}

// floods tells a session more than it keeps, before it can heed any of it.
func (m *sim) floods(p *place) {
	m.what = "flood"
	words := []markKind{markStop, markResume, markPause, markTakeOver, markUnlocked, markWindowSpent}
	for i := range marksMax + 10 {
		k := mark{kind: markInput, window: ident.Window{ID: uint64(i + 1)}}
		if m.chance(10) {
			k = mark{kind: words[m.rng.IntN(len(words))], window: ident.Window{ID: uint64(i + 1)}}
		}
		m.tell(p, k)
	}
}

// crowds fills a lane, or the host's queue, with acts of nobody.
func (m *sim) crowds(w ident.Window) {
	if len(m.crowd) > 0 {
		m.what = "crowd goes"
		for _, leave := range m.crowd {
			leave()
		}
		m.crowd = nil
		return
	}
	if m.what = "crowd in the queue"; m.chance(30) {
		m.host.waiting.Add(queueHost - queueReserve)
		m.crowd = append(m.crowd, func() { m.host.waiting.Add(-(queueHost - queueReserve)) })
		return
	}
	m.what = "crowd in a lane"
	k := lane.Key{Executor: m.host.executors, Root: w.ID}
	for range 34 {
		m.number++
		who := m.number
		if m.lanes.Take(k, who) != lane.Busy {
			m.crowd = append(m.crowd, func() {
				m.comes(m.lanes.Leave(k, who))
			})
		}
	}
}

// due is how often something should have been reached by now: a little more than asked
// for.
func (m *sim) due() int { return 1 + floor*5/4*m.step/simWhole }

// steers gives every session what its state has seen least often, as far as the run is
// behind; or what takes its keyboard in the rarest way.
func (m *sim) steers() {
	m.what = "steers"
	for _, p := range m.places {
		if p.over || len(p.s.marks) > 0 {
			continue
		}
		o, owns := m.host.books.keyboard.Of(p.s.id)
		switch {
		case p.st.inflight != nil && (!owns || m.chance(20)):
			m.takesAct(p)
			continue
		case owns:
			m.takesKeyboard(p, o)
			continue
		}
		if !m.storm && m.chance(50) && machine.Status(p.st.machine) > machine.ShownNoTurn {
			continue
		}
		if e, wanted := m.wants(p); wanted {
			m.tells(p, e)
		}
		if machine.Status(p.st.machine) < machine.ShownUnobserved {
			m.walks(p)
		}
	}
}

// takesAct takes authority away while an act is with the executor, so that it ends under
// whatever has seen that least often.
func (m *sim) takesAct(p *place) {
	seen := func(e machine.Event) int {
		row := &m.count.pairs[leads[e]]
		return min(row[machine.Intervene], row[machine.BlockedDestination])
	}
	rare := slices.MinFunc(takeAway, func(a, b machine.Event) int { return seen(a) - seen(b) })
	if seen(rare) < m.due() {
		m.tells(p, rare)
	}
}

// takeAway is what takes authority away, leads the status it leads a session with an act to.
var (
	takeAway = []machine.Event{
		machine.Pause, machine.Lock, machine.StopByUser, machine.EndTurn, machine.PolicyGone,
	}
	leads = map[machine.Event]machine.Shown{
		machine.Pause: machine.ShownPaused, machine.Lock: machine.ShownScreenLocked,
		machine.StopByUser: machine.ShownUserStopped, machine.EndTurn: machine.ShownEnded,
		machine.PolicyGone: machine.ShownReobserve,
	}
)

// walk is how far a session that can do nothing is led through the states in one step.
const walk = 10

// wants is the event that the state of a session has seen least often, if it has seen it
// too seldom. What leads out of a rare state is wanted last, or now and then.
func (m *sim) wants(p *place) (best machine.Event, found bool) {
	s := p.st.machine
	cell := &m.count.grid[s.Base][s.Holds]
	pairs := &m.count.pairs[machine.Status(s)]
	early := m.chance(8)
	for _, leaving := range []bool{early, !early} {
		for _, e := range steered {
			if leadsOut(s, e) != leaving || cell[e] > m.due()/10 && pairs[e] >= m.due() {
				continue
			}
			if !found || cell[e] < cell[best] {
				best, found = e, true
			}
		}
		if found {
			return best, true
		}
	}
	return 0, false
}

// leadsOut reports whether an event ends a state that is hard to come by.
func leadsOut(s machine.State, e machine.Event) bool {
	if !s.Holds.Has(machine.Intervention) && !s.Holds.Has(machine.BlockedURL) {
		return false
	}
	to := machine.Step(s, e)
	return to.Base != s.Base || s.Holds.Has(machine.Intervention) && !to.Holds.Has(machine.Intervention)
}

// behind reports whether some state has seen too little so far.
func (m *sim) behind() bool {
	if m.step >= m.looksAgain {
		m.looksAgain = m.step + 5000
		m.late = false
		for _, c := range m.count.told() {
			m.late = m.late || c.why == "" && c.n < m.due()/10
		}
	}
	return m.late
}

// walks leads a session on, always by what its state has seen least often.
func (m *sim) walks(p *place) {
	was := m.actor
	m.actor = p
	n := walk
	if p.truth.holds.Has(machine.Intervention) {
		n *= 8 // it is rare
	}
	for range n {
		_ = m.do(p, func(*state) error { return nil })
		m.check()
		e, wanted := m.wants(p)
		if rare := leadsOut(p.st.machine, machine.EndTurn); p.over || !wanted && !(rare && m.behind()) {
			break
		}
		for !wanted {
			e = steered[m.rng.IntN(len(steered))] // on, to states that have seen less
			wanted = !leadsOut(p.st.machine, e)
		}
		m.tells(p, e)
	}
	if !p.over && m.chance(60) {
		for _, e := range []machine.Event{machine.Resume, machine.Unlock, machine.InterventionOver} {
			m.tells(p, e)
		}
	}
	m.actor, m.what = was, "steers"
}

// tells brings an event about, from outside.
func (m *sim) tells(p *place, e machine.Event) {
	w := p.truth.window
	if w == (ident.Window{}) {
		w = p.st.touched
	}
	switch e {
	case machine.EndTurn:
		m.endsTurnOf(p)
	case machine.StopByUser:
		p.truth.covered = m.host.arrivals.Load()
		p.s.stopMark.Store(p.truth.covered)
		m.tell(p, mark{kind: markStop})
	case machine.LostTrack:
		m.tell(p, mark{kind: markWindowSpent, window: w})
	default:
		m.tell(p, mark{kind: marksOf[e]})
	}
}

// endsTurnOf is a step of its own within another.
func (m *sim) endsTurnOf(p *place) {
	was := m.actor
	m.actor = p
	m.endsTurn(p)
	m.check()
	m.actor, m.what = was, "steers"
}

// takesKeyboard takes the keyboard of a session in the way that is rarest.
func (m *sim) takesKeyboard(p *place, o keyboard.Owner) {
	rare := slices.MinFunc(keyboard.Causes(), func(a, b keyboard.Cause) int {
		return m.count.losses[a] - m.count.losses[b]
	})
	if m.count.losses[rare] >= m.due() {
		return
	}
	switch p.ill = rare; rare {
	case keyboard.ByObservation:
		if p.client.open == 0 {
			m.asksToRead(p, true)
		}
	case keyboard.ByInput:
		m.tell(p, mark{kind: markInput, window: o.Window})
	case keyboard.ByTargetChange:
		m.tell(p, mark{kind: markWindowEnded, window: o.Window})
	case keyboard.ByGeneration:
		m.tells(p, machine.PolicyGone)
	case keyboard.ByTurnEnd:
		m.endsTurnOf(p)
	case keyboard.BySessionEnd:
		m.endSession(p)
	case keyboard.ByStop:
		m.tells(p, machine.StopByUser)
	case keyboard.ByPause:
		m.tells(p, machine.Pause)
	case keyboard.ByLock:
		m.tells(p, machine.Lock)
	case keyboard.ByReplacement:
		m.tells(p, machine.LostTrack)
	case keyboard.ByClientGone:
		m.tell(p, mark{kind: markClientGone})
	case keyboard.ByAbort:
		for _, t := range m.running {
			if t.p == p && t.b != nil && !t.sent {
				m.leaves(t)
			}
		}
	}
}

// steered are the events that can be told at any time.
var steered = []machine.Event{
	machine.EndTurn, machine.StopByUser, machine.Resume, machine.Pause, machine.TakeOver, machine.Lock, machine.Unlock,
	machine.InterventionOver, machine.LostTrack, machine.ExecutorGone, machine.PolicyGone, machine.ContentChanged,
}

var marksOf = map[machine.Event]markKind{
	machine.Resume: markResume, machine.Pause: markPause, machine.TakeOver: markTakeOver, machine.Lock: markLocked,
	machine.Unlock: markUnlocked, machine.InterventionOver: markCalm, machine.ExecutorGone: markExecutor,
	machine.PolicyGone: markPolicy, machine.ContentChanged: markContent,
}
