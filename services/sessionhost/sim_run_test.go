package sessionhost

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	policyv1 "fairlead.dev/gen/fairlead/policy/v1"
	"fairlead.dev/services/sessionhost/internal/executorlink"
	"fairlead.dev/services/sessionhost/internal/feed"
	"fairlead.dev/services/sessionhost/internal/keyboard"
	"fairlead.dev/services/sessionhost/internal/lane"
	machine "fairlead.dev/services/sessionhost/internal/session"
	"fairlead.dev/services/sessionhost/internal/timeline"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
)

const (
	placeCount = 6
	weather    = 2000 // steps until it may change
)

// sim is one run: a host without goroutines, links or clocks, whose sessions, calls, user,
// desk and policy take their steps one at a time, in an order drawn from a seed. Every
// rule is the host's own; what stands here is who does what when, and what must hold.
type sim struct {
	rng     *rand.Rand
	host    *Host
	events  *feed.Subscription[timeline.Event]
	lanes   lane.Table
	takers  map[uint64]*task
	number  uint64 // the latest number a taker of a lane got
	desk    *desk
	rules   rules
	places  [placeCount]*place
	stages  map[string]func(*sim, *task) (wait bool, err error)
	acts    []stage // of act.go
	starts  []stage // of launch.go
	running []*task
	flying  []*task // sent, and still in its lane
	agenda  []func()
	crowd   []func() // acts of nobody, which keep lanes
	quiet   bool     // nothing new happens
	storm   bool     // much happens
	late    bool     // some state has seen too little, as of the latest look
	// looksAgain is the step of the next look.
	looksAgain int

	count  *count
	trace  simTrace
	step   int
	target int // steps of the whole run
	seq    uint64
	failed string

	// What the step that runs now is about.
	actor   *place
	what    string
	n       int64
	code    refusal.Code
	moves   []machine.Event
	granted *place // who may have got the keyboard in it
	renewed *place // whose keyboard may have moved on in it
	views   [placeCount]view
}

// place is one session and its client. When the session ends, another takes its place.
type place struct {
	no     int
	s      *session
	st     *state
	over   bool
	busy   bool
	ill    keyboard.Cause // what its next act is to lose the keyboard by, if it can
	client client
	truth  truth
}

func newSim(seed uint64, steps int) *sim {
	books := newBooks()
	books.now = func() time.Time { return time.Time{} }
	m := &sim{
		rng: rand.New(rand.NewPCG(seed, 0)), takers: map[uint64]*task{}, desk: &desk{spent: map[ident.SnapshotID]bool{}},
		stages: stages(), rules: rules{leases: map[ident.SessionID]bool{}}, count: newCount(), target: steps,
		host: &Host{
			cfg: Config{Generation: 1, Log: slog.New(slog.DiscardHandler)}, books: books,
			outbox: make(chan *policyv1.SettleRequest, outboxMax), sessions: map[ident.SessionID]*session{},
			stir: make(chan struct{}),
		},
	}
	m.acts, m.starts = mustRead("act.go", "actOn", actStages), mustRead("launch.go", "launch", launchStages)
	m.events, _ = books.events.Subscribe("", func(e timeline.Event) (timeline.Event, bool) { return e, true })
	m.attach()
	for i := range m.desk.windows {
		m.desk.renew(i, false)
	}
	for i := range m.places {
		m.open(i)
	}
	return m
}

func (m *sim) fail(format string, args ...any) {
	if m.failed == "" {
		m.failed = fmt.Sprintf(format, args...)
	}
}

func (m *sim) chance(percent int) bool { return m.rng.IntN(100) < percent }

// open puts a session into a place.
func (m *sim) open(i int) {
	s := newSession(m.host, uint32(i))
	m.number++
	s.id = ident.SessionID(fmt.Sprintf("s%d-%d", i, m.number))
	m.host.sessions[s.id] = s
	p := &place{no: i, s: s, st: newState(s.id, s.actKey, 1, m.host.books), truth: newTruth()}
	m.host.books.note(timeline.Event{Session: s.id, Kind: timeline.SessionOpened})
	p.client.fence = m.host.fenceOf(s)
	m.places[i] = p
	m.views[i] = p.look()
	if m.host.locked.Load() {
		m.tell(p, mark{kind: markLocked})
	}
}

// attach gives the host another executor.
func (m *sim) attach() {
	m.host.executors++
	m.desk.link = &executorlink.Link{Generation: m.host.executors}
	m.host.executor = m.desk.link
}

// run takes steps until the run is over or something does not hold.
func (m *sim) run() {
	for m.step < m.target && m.failed == "" {
		if m.step%weather == 0 {
			m.storm = m.chance(30)
		}
		m.one()
		if m.step%20_000 == 0 && m.failed == "" {
			m.drain()
		}
	}
	m.drain()
}

// drain lets everything that was begun end, with nothing new happening: no act waits for
// ever.
func (m *sim) drain() {
	m.quiet = true
	for _, leave := range m.crowd {
		leave()
	}
	m.crowd = nil
	for range 20_000 {
		if m.failed != "" || !m.one() {
			break
		}
	}
	m.quiet = false
	held, waiting := m.lanes.Count()
	switch {
	case m.failed != "":
	case len(m.running) > 0 || held > 0 || waiting > 0:
		m.fail("it does not drain: %d calls run, %d lanes are held, %d wait", len(m.running), held, waiting)
	case m.host.waiting.Load() != 0:
		m.fail("%d calls wait where there are none", m.host.waiting.Load())
	case len(m.flying) > 0 || len(m.takers) > 0:
		m.fail("an act is still out")
	}
	for _, p := range m.places {
		if p.st.inflight != nil || p.client.open != 0 {
			m.fail("s%d: %d calls were never answered", p.no, p.client.open)
		}
	}
}

// one takes one step; it reports whether there was one to take.
func (m *sim) one() bool {
	m.actor, m.what, m.n, m.code, m.granted, m.renewed = nil, "", 0, 0, nil, nil
	if !m.choose() {
		return false
	}
	m.step++
	m.check()
	l := line{step: m.step, place: -1, what: m.what, n: m.n, code: m.code}
	if m.actor != nil {
		l.place, l.state = m.actor.no, m.actor.st.machine
	}
	m.trace.add(l)
	return true
}

func (m *sim) choose() bool {
	switch n := m.rng.IntN(100); {
	case len(m.agenda) > 0 && (n < 30 || m.quiet):
		f := m.agenda[0]
		m.agenda = m.agenda[1:]
		f()
		return true
	case !m.quiet && n < 3:
		m.steers()
		return true
	case !m.quiet && (n < 5 || n < 10 && m.storm):
		m.happen()
		return true
	case n < 60 && m.advanceOne():
		return true
	}
	first := m.rng.IntN(placeCount)
	for i := range m.places {
		if p := m.places[(first+i)%placeCount]; m.turnOf(p) {
			return true
		}
	}
	return m.advanceOne()
}

// turnOf takes a step of a session or its client.
func (m *sim) turnOf(p *place) bool {
	m.actor = p
	switch {
	case len(p.s.marks) > 0 && (m.quiet || m.chance(30)):
		m.what = "heeds"
		_ = m.do(p, func(*state) error { return nil })
	case !p.busy && len(p.s.inbox) > 0:
		c := <-p.s.inbox
		m.host.waiting.Add(-1)
		c.run(c)
	case !m.quiet && (p.client.open == 0 || m.chance(4)):
		return m.clientStep(p)
	default:
		return false
	}
	return true
}

// advanceOne advances one of the calls that run.
func (m *sim) advanceOne() bool {
	if len(m.running) == 0 {
		return false
	}
	first := m.rng.IntN(len(m.running))
	for i := range m.running {
		t := m.running[(first+i)%len(m.running)]
		if t.queues() {
			continue
		}
		m.actor = t.p
		m.advance(t)
		return true
	}
	return false
}

// do is one step of a session, as its goroutine takes it: what it was told is heeded
// first.
func (m *sim) do(p *place, f func(*state) error) error {
	m.heed(p)
	if p.over {
		return refusal.New(refusal.SessionUnknown)
	}
	before := p.st.machine
	m.moves = m.moves[:0]
	err := f(p.st)
	m.moved(p, before, m.moves...)
	p.s.shown.Store(uint64(p.st.machine.Generation))
	return err
}

// tell tells a session something.
func (m *sim) tell(p *place, k mark) {
	p.s.mark(k)
	p.toldOf(k.kind)
}

// heed applies what a session was told.
func (m *sim) heed(p *place) {
	marks := p.s.marks
	p.s.marks = nil
	select {
	case <-p.s.wake:
	default:
	}
	for _, k := range marks {
		if p.over {
			return
		}
		c := consequences[k.kind]
		before, concerned := p.st.machine, !c.window || p.st.concerns(k.window)
		if t := m.inFlight(p); t != nil && t.b.frame != nil && k.kind == markInput && (k.window == t.b.frame.Window || k.window == (ident.Window{})) {
			t.disturbed = true
		}
		if p.st.suffer(k) {
			m.inFlight(p).cancelled = true
		}
		m.count.marks[k.kind]++
		var events []machine.Event
		if c.moves && concerned {
			events = append(events, c.event)
		}
		m.moved(p, before, events...)
		m.heeded(p, k)
		switch {
		case k.kind == markResume:
			clear(p.st.said)
		case spoken[k.kind].gives && !p.st.said[k.kind]:
			p.st.said[k.kind] = true
			delete(m.rules.leases, p.s.id)
		}
		if k.kind == markEnd {
			m.ends(p)
		}
	}
	if !p.over && p.st.machine.Holds&p.truth.said != p.truth.said {
		m.fail("s%d: the user said %v, and it is held by %v", p.no, p.truth.said, p.st.machine.Holds)
	}
}

// inFlight is the act of a session that is with the executor.
func (m *sim) inFlight(p *place) *task {
	for _, t := range m.running {
		if t.p == p && t.sent && p.st.inflight != nil {
			return t
		}
	}
	return nil
}

// ends is the end of a session: who waits hears of it, and another takes its place.
func (m *sim) ends(p *place) {
	p.over = true
	m.host.books.ended(p.s.id)
	m.host.waiting.Add(-int64(len(p.s.inbox)))
	for _, t := range slices.Clone(p.client.tasks) {
		if t.c.leave() {
			m.answered(t, nil, refusal.New(refusal.SessionUnknown))
		}
	}
	delete(m.rules.leases, p.s.id)
	m.open(p.no)
}

// task is one call on its way.
type task struct {
	p    *place
	c    *call
	req  fenced
	plan []stage
	pc   int // -1 before it has entered
	sub  int // steps taken within the stage
	told bool
	left bool // its caller is gone

	act    *hostv1.ActRequest
	b      *bound
	joined *running // the running act it is, or has joined
	seq    *sequence
	i      int
	first  int // where the plan of each step begins

	taker     uint64
	key_      lane.Key
	holds     bool // its lane
	lets      bool // go of it at the end
	window    ident.Window
	link      *executorlink.Link
	permitted bool
	intent    string
	settled   int
	losses    int
	sent      bool
	taken     bool
	arrived   bool
	reached   bool
	cancelled bool
	disturbed bool
	answer    *executorv1.DispatchResponse
	launch    *executorv1.LaunchAppResponse
	launchErr error
	seen      *seenWindow
	resp      *hostv1.ActResponse
	err       error
	failedAt  stage
	unwound   int
	unusable  error
	turn      string
	lost      int // what had been lost when the lane was its own
	others    []witness
}

// queues reports whether a task can only wait for its lane.
func (t *task) queues() bool {
	return t.taker != 0 && !t.holds && !t.left
}

// submit is a call's arrival.
func (m *sim) submit(p *place, t *task, what string) {
	m.what = "asks for " + what
	t.p, t.pc = p, -1
	t.c = &call{s: p.s}
	t.c.run = func(*call) {
		p.busy = true
		m.running = append(m.running, t)
		m.n = int64(t.c.arrival)
		if t.c.arrival <= p.truth.ran {
			m.fail("call %d runs after call %d", t.c.arrival, p.truth.ran)
		}
		p.truth.ran = t.c.arrival
		m.advance(t)
	}
	p.client.open++
	p.client.tasks = append(p.client.tasks, t)
	if err := m.host.admit(p.s, t.c); err != nil {
		m.finished(t, nil, err)
		return
	}
	m.n = int64(t.c.arrival)
}

// advance takes the next step of a call.
func (m *sim) advance(t *task) {
	switch {
	case t.err != nil:
		m.unwind(t)
	case t.pc < 0:
		m.what = "enters"
		t.pc = 0
		if err := m.enter(t); err != nil {
			m.finished(t, nil, err)
		}
	default:
		for m.stage(t) {
		}
		if t.err == nil && t.pc >= len(t.plan) {
			m.finished(t, t.resp, nil)
		}
	}
}

// stage takes the next stage of a call; it reports whether the one after it belongs to
// the same step, because nothing waits in between.
func (m *sim) stage(t *task) (goesOn bool) {
	s := t.plan[t.pc]
	m.what = s.name
	wait, err := m.stages[s.name](m, t)
	if err != nil {
		t.err, t.failedAt = err, s
		m.code = refusal.As(err).Code
		return false
	}
	if !wait {
		t.pc, t.sub = t.pc+1, 0
	}
	return !wait && t.pc < len(t.plan) && (s.name == "leave" || s.name == "Generation" || s.name == "pictureAfter")
}

func (m *sim) enter(t *task) error {
	if t.left {
		return refusal.New(refusal.Aborted)
	}
	if t.c.stopped() {
		return refusal.New(refusal.UserStopped)
	}
	if err := m.do(t.p, func(st *state) error { return t.p.s.current(st, t.req) }); err != nil {
		return err
	}
	return t.unusable
}

// unwind is the way out of a story that failed, a step at a time and as its source says.
func (m *sim) unwind(t *task) {
	acts := t.b != nil && t.act.GetAct().GetLaunchApp() == nil
	for t.unwound++; ; t.unwound++ {
		switch {
		case t.unwound == 1 && t.failedAt.settles && t.intent != "":
			m.what = "settles"
			m.settle(t, notSent(t.err))
			return
		case t.unwound == 2 && t.failedAt.givesUp:
			m.what = "gives up"
			m.giveUp(t)
			return
		case t.unwound == 3 && t.failedAt.fails:
			m.what = "fails"
			t.err = m.failing(t, t.err)
		case t.unwound == 4 && acts:
			m.what = "is turned away"
			m.leaveLane(t)
			m.turnedAway(t)
		case t.unwound > 4:
			m.finished(t, nil, t.err)
			return
		}
		m.code = refusal.As(t.err).Code
	}
}

func (m *sim) turnedAway(t *task) {
	code := refusal.As(t.err).Code
	_ = m.do(t.p, func(st *state) error { st.turnedAway(code); return nil })
	if _, owns := m.host.books.keyboard.Of(t.p.s.id); owns && !t.p.over &&
		refusal.Of(code).GetClaimEnd() != commonv1.ClaimEnd_CLAIM_END_RETURNED {
		m.fail("the keyboard outlives %v", code)
	}
}

func (m *sim) giveUp(t *task) {
	why := refusal.As(t.err)
	t.err = m.do(t.p, func(st *state) error {
		err := st.giveUp(t.b, why)
		m.moves = append(m.moves, eventsOf(why.Code)...)
		if end := refusal.As(err).Claim.End; end == commonv1.ClaimEnd_CLAIM_END_RETIRED {
			m.claimEnds(t, end)
		} else if end == commonv1.ClaimEnd_CLAIM_END_RETURNED {
			m.claimEnds(t, end)
		} else {
			m.fail("an act that was not sent ends as %v", end)
		}
		t.p.refusedBy(why.Code)
		return err
	})
}

// failing is a read that failed.
func (m *sim) failing(t *task, err error) error {
	return m.do(t.p, func(st *state) error {
		if t.c.taken(st) == nil {
			code := refusal.As(err).Code
			m.moves = append(m.moves, eventsOf(code)...)
			t.p.refusedBy(code)
		}
		return t.c.fail(st, err)
	})
}

// leaveLane lets the next one have the lane.
func (m *sim) leaveLane(t *task) {
	if t.taker == 0 || !t.lets {
		return
	}
	next, ok := m.lanes.Release(t.key_, t.taker)
	delete(m.takers, t.taker)
	t.taker, t.holds = 0, false
	m.flying = slices.DeleteFunc(m.flying, func(o *task) bool { return o == t })
	m.comes(next, ok)
	// From here on nobody else may act on what he saw before (C2.5).
	for _, o := range t.others {
		spent := slices.ContainsFunc(o.p.s.marks, func(k mark) bool { return k.kind == markWindowSpent })
		if o.p.truth.frame != o.frame {
			continue
		}
		o.p.truth.losses++
		if !spent && !o.p.s.closed {
			m.fail("s%d still may act on what s%d has changed", o.p.no, t.p.no)
		}
	}
	t.others = nil
}

// witness is a session that has a frame of a window another one changes.
type witness struct {
	p     *place
	frame ident.Frame
}

func (m *sim) witnesses(t *task) (out []witness) {
	for _, q := range m.places {
		if q != t.p && q.truth.window == t.b.frame.Window {
			out = append(out, witness{q, q.truth.frame})
		}
	}
	return out
}

// comes gives a lane to whoever's turn it is.
func (m *sim) comes(next uint64, ok bool) {
	if !ok {
		return
	}
	if t := m.takers[next]; t != nil {
		t.holds, t.lost = true, t.p.truth.losses
	}
}

// finished is the end of a call.
func (m *sim) finished(t *task, resp *hostv1.ActResponse, err error) {
	if t.seq != nil && t.pc >= t.first && err != nil && refused(err) {
		err = atStep(err, t.i)
	}
	m.leaveLane(t)
	if t.intent != "" && t.settled != 1 {
		m.fail("an intent was settled %d times", t.settled)
	}
	if i := slices.Index(m.running, t); i >= 0 {
		m.running = slices.Delete(m.running, i, i+1)
		t.p.busy = false
	}
	m.answered(t, resp, err)
}

// answered is what the caller hears, once, and with it whoever joined.
func (m *sim) answered(t *task, resp *hostv1.ActResponse, err error) {
	if t.told {
		return
	}
	t.told = true
	c := &t.p.client
	c.open--
	if i := slices.Index(c.tasks, t); i >= 0 {
		c.tasks = slices.Delete(c.tasks, i, i+1)
	}
	c.old, c.fence = c.fence, m.host.fenceOf(t.p.s)
	r := resp.GetRefusal()
	if err != nil {
		r, _ = (*session)(nil).told(err)
		if t.b != nil && r != nil {
			m.count.ends[r.GetClaimEnd()]++
		}
	}
	if r != nil {
		m.count.codes[r.GetCode()]++
		m.code = r.GetCode()
	}
	if t.sent && resp == nil && t.seq == nil {
		m.fail("the outcome of an act that was sent is not told: %v", err)
	}
	if t.joined == nil || t.b == nil {
		return
	}
	t.p.s.over(t.b.asked, t.joined, resp, err)
	for _, o := range slices.Clone(c.tasks) {
		if o.joined == t.joined {
			m.answered(o, resp, err)
		}
	}
}

// settle closes an intent as the host does.
func (m *sim) settle(t *task, resp *hostv1.ActResponse) {
	if t.intent == "" {
		return
	}
	m.host.settle(t.c, t.intent, resp)
	for {
		select {
		case req := <-m.host.outbox:
			t.settled++
			if req.GetIntentId() != t.intent || req.GetOutcome() != resp.GetOutcome() {
				m.fail("an intent is settled as %v and was %v", req.GetOutcome(), resp.GetOutcome())
			}
			continue
		default:
		}
		return
	}
}

// stages is what each stage of a story does here: the host's own steps, with what comes
// from outside drawn.
func stages() map[string]func(*sim, *task) (wait bool, err error) {
	return map[string]func(*sim, *task) (bool, error){
		"claim": (*sim).claim, "lane": (*sim).take, "leave": (*sim).promises, "still": (*sim).still,
		"policyLink": (*sim).policyLink, "Generation": (*sim).generation, "Decide": (*sim).decides,
		"pictureAfter": (*sim).nothing, "dispatching": (*sim).dispatching, "Dispatch": (*sim).dispatch,
		"conclude": (*sim).conclude, "settle": (*sim).settles, "endElsewhere": (*sim).endElsewhere,
		"recorded": (*sim).recorded, "looking": (*sim).looking, "GetWindowId": (*sim).launchHint,
		"ResolveApp": (*sim).resolve, "launching": (*sim).dispatching, "Launch": (*sim).launch,
		"launched": (*sim).launched, "read": (*sim).read, "keep": (*sim).keep, "acquire": (*sim).acquire,
		"begin": (*sim).begin, "told": (*sim).toldBefore, "foreseen": (*sim).foreseen, "bindStep": (*sim).bindStep,
		"next": (*sim).next,
	}
}

func (m *sim) nothing(*task) (bool, error) { return false, nil }

// promises notes that the story lets go of its lane, however it ends.
func (m *sim) promises(t *task) (bool, error) {
	t.lets = true
	return false, nil
}

func (m *sim) claim(t *task) (bool, error) {
	var replay *hostv1.ActResponse
	err := m.do(t.p, func(st *state) (why error) {
		replay, why = st.claim(t.b)
		return why
	})
	m.claimed(t, replay, err)
	if err != nil && refusal.As(err).Code == refusal.RepeatedFailure && t.b.ref == t.p.truth.frame {
		t.p.truth.acts[t.key()] = commonv1.ClaimEnd_CLAIM_END_RETIRED
	}
	if err == nil && replay != nil {
		t.resp, t.pc = replay, len(t.plan)
		return true, nil
	}
	return false, err
}

func (m *sim) take(t *task) (bool, error) {
	if t.taker == 0 {
		m.number++
		t.key_ = lane.Key{Launch: true}
		if t.link != nil {
			t.key_.Executor = t.link.Generation
		}
		if t.b.frame != nil {
			t.key_ = t.b.lane
		}
		switch m.lanes.Take(t.key_, m.number) {
		case lane.Busy:
			return false, refusal.New(refusal.Busy)
		case lane.Held:
			t.holds, t.lost = true, t.p.truth.losses
		}
		t.taker = m.number
		m.takers[m.number] = t
		if !t.holds {
			m.lawful(t)
		}
	}
	if t.holds && !t.left {
		return false, nil
	}
	if t.left {
		next, ok := m.lanes.Leave(t.key_, t.taker)
		delete(m.takers, t.taker)
		t.taker, t.holds = 0, false
		m.comes(next, ok)
		return false, refusal.New(refusal.Aborted)
	}
	return true, nil
}

// lawful checks that an act waits for nothing but an act on the same window.
func (m *sim) lawful(t *task) {
	if len(m.crowd) > 0 {
		return
	}
	for _, o := range m.running {
		same := o.b != nil && (o.b.frame == nil) == (t.b.frame == nil) &&
			(o.b.frame == nil || o.b.frame.Window.ID == t.b.frame.Window.ID && o.b.frame.Executor == t.b.frame.Executor)
		if o != t && o.holds && same {
			return
		}
	}
	m.fail("%v waits for an act on another window", t.b.asked.id)
}

func (m *sim) still(t *task) (bool, error) {
	if t.left {
		return false, refusal.New(refusal.Aborted)
	}
	ticket := t.c.held
	if ticket == nil {
		ticket = &t.b.ticket
	}
	return false, m.do(t.p, func(st *state) error { return st.mayKeep(*ticket, t.c.stopped) })
}

func (m *sim) policyLink(t *task) (bool, error) {
	if m.rules.gone || m.desk.link == nil {
		return false, refusal.New(refusal.ServiceUnavailable)
	}
	t.link = m.desk.link
	return false, m.do(t.p, func(st *state) error {
		if st.executor != 0 && st.executor != t.link.Generation {
			delete(m.rules.leases, t.p.s.id)
		}
		st.executor = t.link.Generation
		return nil
	})
}

func (m *sim) generation(t *task) (bool, error) {
	if t.link.Generation != t.b.frame.Executor {
		return false, refusal.New(refusal.StaleGeneration)
	}
	return false, nil
}

func (m *sim) decides(t *task) (bool, error) {
	if t.lost != t.losses {
		m.fail("policy is asked about an act that had lost its ticket")
	}
	if t.b.frame != nil && t.b.frame.Executor != t.link.Generation {
		m.fail("policy is asked about a frame of executor %d for executor %d", t.b.frame.Executor, t.link.Generation)
	}
	if err := m.decide(t.p.s.id); err != nil {
		return false, err
	}
	m.number++
	t.permitted, t.intent = true, fmt.Sprint("i", m.number)
	return false, nil
}

func (m *sim) dispatching(t *task) (bool, error) {
	if t.left {
		return false, refusal.New(refusal.Aborted)
	}
	in := &inflight{link: t.link, dispatch: t.b.dispatch}
	b, ticket := t.b, t.b.ticket
	if b.frame != nil {
		in.window = b.frame.Window
	} else {
		b, ticket = nil, *t.c.held
	}
	return false, m.do(t.p, func(st *state) error {
		if err := st.send(ticket, b, in, t.c.stopped, t.c.sending); err != nil {
			return err
		}
		m.dispatched(t)
		return nil
	})
}

func (m *sim) dispatch(t *task) (bool, error) {
	if !t.taken {
		m.arrives(t)
		return true, nil
	}
	if m.chance(40) && !m.quiet {
		return true, nil
	}
	a, err := m.answers(t)
	if err != nil {
		a = unansweredDispatch(err)
	}
	if n, known := commonv1.ExecutorCode_name[int32(a.GetCode())]; known && n != "" {
		m.n = int64(a.GetCode())
	}
	t.answer = a
	return false, nil
}

// after reads the tree an act left, as the host does.
func (m *sim) after(t *task, resp *hostv1.ActResponse) *seenWindow {
	if t.answer.GetAfter() == nil || resp.GetOutcome() == commonv1.Outcome_OUTCOME_REFUSED {
		return nil
	}
	seen, err := readAfter(t.answer.GetAfter(), t.b.base, t.p.s.actKey)
	if errors.Is(err, errNotTheWhole) {
		w := m.desk.find(t.b.frame.Window)
		switch {
		case m.rules.gone || t.link != m.desk.link || w == nil:
			err = refusal.New(refusal.ServiceUnavailable)
		default:
			seen, err = readSnapshot(m.desk.snapshot(w))
		}
	}
	if err == nil && seen.snap.GetDestination() == blockedAt {
		err = refusal.New(refusal.BlockedURL)
	}
	if err != nil {
		unseen(resp, err)
		return nil
	}
	return seen
}

func (m *sim) conclude(t *task) (bool, error) {
	resp := respond(t.b.actID, t.answer)
	seen := m.after(t, resp)
	alive := func() bool { return t.link == m.desk.link }
	_, owned := m.host.books.keyboard.Of(t.p.s.id)
	err := m.do(t.p, func(st *state) error {
		free := seen != nil && alive() && st.machine.Holds == 0 &&
			st.machine.Base != machine.Stopped && st.machine.Base != machine.Ended
		st.conclude(t.b, alive, seen, resp)
		m.concluded(t, resp, true)
		code := resp.GetRefusal().GetCode()
		m.moves = append(m.moves, eventsOf(code)...)
		m.claimEnds(t, t.p.truth.sent[t.b.asked.id])
		t.p.refusedBy(code)
		switch {
		case resp.GetObservation() != nil:
			m.moves = append(m.moves, machine.Observed)
			m.observed(t.p, resp.GetObservation(), seen)
		case resp.GetOutcome() != commonv1.Outcome_OUTCOME_REFUSED:
			m.moves = append(m.moves, machine.LostTrack)
		}
		if free && resp.GetObservation() == nil && len(eventsOf(code)) == 0 {
			m.fail("what an act left is not shown, and nothing forbids it")
		}
		return nil
	})
	if err != nil {
		withhold(resp)
		resp.Verified = verified(resp)
		m.concluded(t, resp, false)
	} else {
		m.mayType(t, seen, resp, owned)
	}
	if resp.GetOutcome() != commonv1.Outcome_OUTCOME_REFUSED {
		t.others = m.witnesses(t)
	}
	t.resp, m.code = resp, resp.GetRefusal().GetCode()
	m.n = int64(resp.GetOutcome())
	return false, nil
}

// mayType notes whether an act gave the keyboard to its session, or let it keep it (C8.2).
func (m *sim) mayType(t *task, seen *seenWindow, resp *hostv1.ActResponse, owned bool) {
	_, owns := m.host.books.keyboard.Of(t.p.s.id)
	if !resp.GetVerified() || resp.GetObservation() == nil {
		if owns && resp.GetRefusal().GetClaimEnd() != commonv1.ClaimEnd_CLAIM_END_RETURNED {
			m.fail("the keyboard outlives an act that came out as %v", resp.GetOutcome())
		}
		return
	}
	if owned {
		m.renewed = t.p
	}
	focused := -1
	for i, e := range seen.snap.GetElements() {
		if slices.Contains(e.GetStates(), commonv1.ElementState_ELEMENT_STATE_FOCUSED) {
			if focused >= 0 {
				return
			}
			focused = i
		}
	}
	i := t.target()
	takes := kinds[i].takes || t.b.verb == commonv1.Verb_VERB_FOCUS_ELEMENT
	if focused == i && takes && !t.b.owned && !t.disturbed {
		m.granted = t.p
	}
}

func (m *sim) settles(t *task) (bool, error) {
	m.settle(t, t.resp)
	return false, nil
}

func (m *sim) endElsewhere(t *task) (bool, error) {
	m.host.endElsewhere(t.p.s, t.b, t.resp)
	return false, nil
}

func (m *sim) recorded(t *task) (bool, error) {
	var replay *hostv1.ActResponse
	err := m.do(t.p, func(st *state) (why error) {
		replay, why = st.acts.recorded(t.b.asked)
		return why
	})
	if err == nil && replay != nil {
		t.resp, t.pc = replay, len(t.plan)
		return true, nil
	}
	return false, err
}

func (m *sim) looking(t *task) (bool, error) {
	if t.sub == 0 {
		t.sub = 1
		err := m.do(t.p, func(st *state) error {
			if !m.host.locked.Load() {
				m.moves = append(m.moves, machine.Unlock)
				t.p.truth.holds &^= machine.ScreenLocked
			}
			return t.c.hold(st)
		})
		t.losses = t.p.truth.losses
		return true, err
	}
	if _, err := m.policyLink(t); err != nil {
		return false, m.failing(t, err)
	}
	return false, nil
}

func (m *sim) launchHint(t *task) (bool, error) {
	if t.b.hint.GetWindowId() != 0 {
		return false, refusal.New(refusal.TargetMismatch)
	}
	return false, nil
}

func (m *sim) resolve(t *task) (bool, error) {
	if t.link != m.desk.link {
		return false, refusal.New(refusal.ServiceUnavailable)
	}
	if m.chance(10) {
		return false, refusal.FromAnswer(m.count.rareAnswer(m.rng), nil)
	}
	return false, nil
}

func (m *sim) launch(t *task) (bool, error) {
	switch {
	case t.link != m.desk.link:
		t.launchErr = refusal.New(refusal.OutcomeUnknown)
	case m.chance(20):
		t.launch = &executorv1.LaunchAppResponse{
			Outcome: commonv1.Outcome_OUTCOME_REFUSED, Route: commonv1.Route_ROUTE_NONE, Code: m.count.rareAnswer(m.rng),
		}
	default:
		t.reached = true
		t.launch = &executorv1.LaunchAppResponse{
			Outcome: commonv1.Outcome_OUTCOME_OK, Effect: commonv1.Effect_EFFECT_CONFIRMED,
			Route: commonv1.Route_ROUTE_ACCESSIBILITY_ACTION,
		}
	}
	return false, nil
}

func (m *sim) launched(t *task) (bool, error) {
	t.resp = launched(t.b.actID, t.launch, t.launchErr)
	err := m.do(t.p, func(st *state) error {
		if t.resp.GetOutcome() != commonv1.Outcome_OUTCOME_REFUSED {
			m.moves = append(m.moves, machine.LostTrack)
			t.p.truth.endFrame("launch")
		}
		code := t.resp.GetRefusal().GetCode()
		m.moves = append(m.moves, eventsOf(code)...)
		t.p.refusedBy(code)
		st.launched(t.b, t.resp)
		return nil
	})
	m.concluded(t, t.resp, err == nil)
	return false, nil
}

// read is a look at a window, which may fail in every way a read can.
func (m *sim) read(t *task) (bool, error) {
	w := m.desk.find(t.window)
	var err error
	switch {
	case t.link != m.desk.link:
		err = refusal.New(refusal.ServiceUnavailable)
	case m.rules.gone:
		err = refusal.New(refusal.ServiceUnavailable)
	case m.host.locked.Load():
		err = refusal.FromAnswer(refusal.AnswerScreenLocked, nil)
	case w == nil:
		err = refusal.New(refusal.TargetMissing)
	case machine.Status(t.p.st.machine) == machine.ShownUnobserved && m.chance(3) &&
		m.count.pairs[machine.ShownUnobserved][machine.Intervene] < m.due():
		err = refusal.FromAnswer(refusal.AnswerPhysicalInputActive, nil)
	case m.chance(7):
		err = refusal.FromAnswer(m.count.rareAnswer(m.rng), nil)
	case m.chance(2):
		err = refusal.New(m.count.rareCode(m.rng, policySays))
	case w.blocked:
		err = refusal.New(refusal.BlockedURL)
	default:
		t.seen, err = readSnapshot(m.desk.snapshot(w))
	}
	if err != nil {
		return false, m.failing(t, err)
	}
	return false, nil
}

func (m *sim) keep(t *task) (bool, error) {
	return false, m.do(t.p, func(st *state) error {
		if err := st.mayKeep(*t.c.held, t.c.stopped); err != nil {
			return err
		}
		if t.p.truth.losses != t.losses || t.c.arrival <= t.p.truth.covered {
			m.fail("what was read before authority was taken is kept")
		}
		obs := st.looked(t.seen, t.link.Generation, wanted{render: commonv1.Render(m.rng.IntN(5))})
		m.moves = append(m.moves, machine.Observed)
		m.observed(t.p, obs, t.seen)
		if _, owns := m.host.books.keyboard.Of(t.p.s.id); owns {
			m.fail("the keyboard outlives a new observation")
		}
		return nil
	})
}

func (m *sim) acquire(t *task) (bool, error) {
	if t.sub == 0 {
		t.sub = 1
		switch {
		case m.rules.gone:
			return false, m.failing(t, refusal.New(refusal.ServiceUnavailable))
		case m.chance(10):
			return false, m.failing(t, refusal.New(m.count.rareCode(m.rng, policySays)))
		}
		return true, nil
	}
	_, err := m.still(t)
	m.rules.leases[t.p.s.id] = err == nil
	return false, err
}

func (m *sim) begin(t *task) (bool, error) {
	return false, m.do(t.p, func(st *state) error {
		over, why := st.begin(ident.TurnID(t.turn))
		if why != nil {
			return why
		}
		m.moves = append(m.moves, machine.BeginTurn)
		if t.p.truth.holds.Has(machine.HeldStopped) || t.p.truth.holds.Has(machine.BlockedURL) {
			m.fail("a turn began under %v", t.p.truth.holds)
		}
		t.p.truth.endFrame("turn")
		t.p.truth.losses++
		t.p.client.turn = t.turn
		if over {
			delete(m.rules.leases, t.p.s.id)
		}
		return nil
	})
}

func (m *sim) toldBefore(t *task) (bool, error) {
	var before *hostv1.ActResponse
	err := m.do(t.p, func(st *state) (why error) {
		before, why = st.acts.recorded(t.p.s.stepAsked(t.seq, 0))
		return why
	})
	if err == nil && before != nil {
		t.resp, t.pc = before, len(t.plan)
		return true, nil
	}
	return false, err
}

func (m *sim) foreseen(t *task) (bool, error) {
	if t.sub == 0 {
		t.sub = 1
		return true, m.do(t.p, func(st *state) error {
			f, why := st.quoted(t.seq.ref)
			switch {
			case why != nil:
				return why
			case contradicts(t.seq.hint, f):
				return refusal.New(refusal.TargetMismatch)
			}
			return nil
		})
	}
	if err := m.decide(t.p.s.id); err != nil {
		return false, m.failing(t, err)
	}
	return false, nil
}

func (m *sim) bindStep(t *task) (bool, error) {
	one := t.seq.steps[t.i]
	t.b = m.stepOf(t, one)
	err := m.do(t.p, func(st *state) error { return st.bindStep(t.b, one, t.i) })
	if err != nil {
		t.b = nil
	}
	return false, err
}

// next goes on with the next step of a sequence, or ends it.
func (m *sim) next(t *task) (bool, error) {
	m.leaveLane(t)
	ok := t.resp.GetOutcome() == commonv1.Outcome_OUTCOME_OK && t.resp.GetObservation() != nil
	if t.i++; ok && t.i < len(t.seq.steps) {
		if t.intent != "" && t.settled != 1 {
			m.fail("an intent was settled %d times", t.settled)
		}
		again := &task{
			p: t.p, c: t.c, req: t.req, plan: t.plan, pc: t.first - 1, seq: t.seq, i: t.i, first: t.first,
			left: t.left, told: t.told,
		}
		*t = *again
		m.bindNext(t)
		return false, nil
	}
	t.pc = len(t.plan)
	return true, nil
}

// bindNext leaves the plan at the step before the binding of the next one.
func (m *sim) bindNext(t *task) { t.pc = t.first - 1 }
