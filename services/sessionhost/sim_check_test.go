package sessionhost

import (
	"fmt"
	"strings"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	"fairlead.dev/services/sessionhost/internal/frame"
	"fairlead.dev/services/sessionhost/internal/keyboard"
	machine "fairlead.dev/services/sessionhost/internal/session"
	"fairlead.dev/services/sessionhost/internal/timeline"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/permit"
	"fairlead.dev/services/shared/refusal"
)

// truth is what is known about one session without looking at its state: what happened
// to it, told in words of the contract.
type truth struct {
	// losses counts what took authority away, from the moment the session was told.
	losses int
	// covered is the highest arrival number that a stop covers (C4.3).
	covered uint64
	// said is the holds of the user's words that stand, holds all that were heeded.
	said, holds machine.Holds
	// frame is the one observation that may be acted on.
	frame  ident.Frame
	window ident.Window
	dead   map[ident.FrameID]string // how each other one ended
	acts   map[string]commonv1.ClaimEnd
	ids    map[uint32]object
	shown  map[object]uint32 // the ids of the latest tree
	sent   map[ident.ActID]commonv1.ClaimEnd
	ran    uint64 // the arrival number of the latest call that ran
}

// object is an element's own object, in its window.
type object struct {
	window ident.Window
	object ident.Object
}

func newTruth() truth {
	return truth{
		dead: map[ident.FrameID]string{}, acts: map[string]commonv1.ClaimEnd{}, ids: map[uint32]object{},
		sent: map[ident.ActID]commonv1.ClaimEnd{},
	}
}

// endFrame ends the current observation.
func (u *truth) endFrame(how string) {
	if u.frame.ID != "" {
		u.dead[u.frame.ID] = how
	}
	u.frame, u.window = ident.Frame{}, ident.Window{}
}

// told notes that a session is told something. It has to be heeded before the session's
// next step, so from here on nothing runs on what it takes away.
func (p *place) toldOf(k markKind) {
	u := &p.truth
	switch k {
	case markStop, markStopAll:
		u.said |= machine.HeldStopped
	case markPause, markTakeOver:
		u.said |= machine.Paused
	case markResume:
		u.said = 0
	}
	switch k {
	case markStop, markStopAll, markPause, markTakeOver, markLocked, markExecutor, markPolicy, markEnd:
		u.losses++
	}
}

// heeded applies a mark to what is known.
func (m *sim) heeded(p *place, k mark) {
	u := &p.truth
	switch k.kind {
	case markStop, markStopAll:
		u.holds |= machine.HeldStopped
		u.endFrame("stop")
	case markPause, markTakeOver:
		u.holds |= machine.Paused
		u.endFrame("pause")
	case markLocked:
		u.holds |= machine.ScreenLocked
		u.endFrame("lock")
	case markExecutor, markPolicy:
		u.endFrame("generation")
		u.shown = nil
	case markResume:
		u.holds &^= machine.HeldStopped | machine.Paused
	case markUnlocked:
		u.holds &^= machine.ScreenLocked
	case markCalm:
		u.holds &^= machine.Intervention
	case markWindowSpent:
		if k.window == u.window || k.window == (ident.Window{}) {
			u.endFrame("acted on by another session")
		}
	}
	if u.losesKeyboard(k) {
		if _, owns := m.host.books.keyboard.Of(p.s.id); owns {
			m.fail("the keyboard outlives mark %d", k.kind)
		}
	}
}

// losesKeyboard reports whether nothing may be typed after a mark, whatever the window.
func (u *truth) losesKeyboard(k mark) bool {
	switch k.kind {
	case markResume, markUnlocked, markCalm, markLeaseEnded, markContent, markWindowSpent:
		return false
	case markInput, markWindowEnded:
		return k.window == u.window || k.window == (ident.Window{})
	}
	return true
}

// refusedBy moves what is known as a refusal code says (C5.5).
func (p *place) refusedBy(code refusal.Code) {
	u := &p.truth
	switch code {
	case refusal.UserIntervened:
		u.holds |= machine.Intervention
	case refusal.ScreenLocked:
		u.holds |= machine.ScreenLocked
	case refusal.BlockedURL:
		u.holds |= machine.BlockedURL
	case refusal.OutcomeUnknown, refusal.ServiceUnavailable, refusal.ServiceMismatch:
	default:
		return
	}
	u.endFrame(shortName(code.String()))
}

// eventsOf is what a refusal code is to the machine.
func eventsOf(code refusal.Code) []machine.Event {
	switch code {
	case refusal.UserIntervened:
		return []machine.Event{machine.Intervene}
	case refusal.ScreenLocked:
		return []machine.Event{machine.Lock}
	case refusal.BlockedURL:
		return []machine.Event{machine.BlockedDestination}
	case refusal.OutcomeUnknown, refusal.ServiceUnavailable, refusal.ServiceMismatch:
		return []machine.Event{machine.LostTrack}
	}
	return nil
}

// moved checks that a step moved the machine by these events and nothing else, and
// counts them.
func (m *sim) moved(p *place, before machine.State, events ...machine.Event) {
	begun, resumed := false, false
	at := before
	for _, e := range events {
		m.count.event(at, e)
		at = machine.Step(at, e)
		begun, resumed = begun || e == machine.BeginTurn, resumed || e == machine.Resume
	}
	now := p.st.machine
	switch {
	case now != at:
		m.fail("the machine went from %v to %v, which %v does not explain", before, now, events)
	case (before.Base == machine.Stopped || before.Base == machine.Ended) && now.Base != before.Base && !begun:
		m.fail("%v became %v", before.Base, now.Base)
	case before.Holds.Has(machine.BlockedURL) && !now.Holds.Has(machine.BlockedURL):
		m.fail("BLOCKED_URL was lifted")
	case before.Holds.Has(machine.HeldStopped) && !now.Holds.Has(machine.HeldStopped) && !resumed:
		m.fail("STOPPED was lifted by %v", events)
	}
}

// claimed checks an act that took the claim, or was refused it, or was answered from the
// record.
func (m *sim) claimed(t *task, replay *hostv1.ActResponse, err error) {
	u := &t.p.truth
	t.losses = u.losses
	before, known := u.acts[t.key()]
	sentAs, wasSent := u.sent[t.b.asked.id]
	switch {
	case t.p.over, err != nil && !refused(err): // no session, or no request that can be understood
	case replay != nil && wasSent && sentAs == commonv1.ClaimEnd_CLAIM_END_RETURNED:
		m.fail("an act whose claim was returned is answered from the record")
	case replay != nil:
	case wasSent && sentAs != commonv1.ClaimEnd_CLAIM_END_RETURNED:
		m.fail("an act that was sent before is not answered from the record: %v", err)
	case err == nil:
		if how := u.dead[t.b.ref.ID]; how != "" || u.frame != t.b.ref {
			m.fail("a frame that ended by %q was claimed; %v is current", how, u.frame)
		}
		if known && before != commonv1.ClaimEnd_CLAIM_END_RETURNED {
			m.fail("an act that was %v on this frame was claimed again", before)
		}
	case known && before == commonv1.ClaimEnd_CLAIM_END_RETURNED:
		switch refusal.As(err).Code {
		case refusal.RetiredAction, refusal.DuplicateAction, refusal.ActionInProgress:
			m.fail("an act whose claim was returned is refused: %v", err)
		}
	case known && before == commonv1.ClaimEnd_CLAIM_END_RETIRED && u.frame == t.b.ref && u.holds == 0:
		switch refusal.As(err).Code {
		case refusal.RetiredAction, refusal.ReobserveRequired, refusal.NoActiveFrame, refusal.TurnEnded,
			refusal.UserStopped, refusal.TargetMismatch:
		default:
			m.fail("an act that was retired on this frame is refused as %v", err)
		}
	}
}

// key names an act on its frame. Typing on the owned target has none: what it is depends
// on the target.
func (t *task) key() string {
	if t.b.owned || elementOf(t.b.act) == 0 && t.b.act.GetClickPoint() == nil {
		return ""
	}
	return string(t.b.ref.ID) + string(permit.Canonical(t.b.act))
}

// sending checks the one moment that cannot be taken back.
func (m *sim) dispatched(t *task) {
	p, u, b := t.p, &t.p.truth, t.b
	t.sent = true
	switch {
	case t.c.arrival <= u.covered:
		m.fail("call %d was sent; a stop covers up to %d", t.c.arrival, u.covered)
	case u.holds != 0 || u.said != 0:
		m.fail("sent under %v", u.holds|u.said)
	case u.losses != t.losses:
		m.fail("sent although authority was taken since the ticket")
	case t.left:
		m.fail("sent although its caller had left")
	case p.over:
		m.fail("sent for a session that has ended")
	case !t.permitted:
		m.fail("sent without a permit")
	}
	if end, again := u.sent[b.asked.id]; again && end != commonv1.ClaimEnd_CLAIM_END_RETURNED {
		m.fail("%v was sent before, and its claim was %v", b.asked.id, end)
	}
	u.sent[b.asked.id] = commonv1.ClaimEnd_CLAIM_END_UNSPECIFIED
	if b.verb == commonv1.Verb_VERB_LAUNCH_APP {
		m.exclusive(t, func(o *task) bool { return o.b.frame == nil && o.link == t.link })
		return
	}
	if how := u.dead[b.frame.ID]; how != "" || u.frame != b.frame.Frame {
		m.fail("sent on a frame that ended by %q", how)
	}
	if b.frame.Executor != t.link.Generation {
		m.fail("a frame of executor %d was sent to %d", b.frame.Executor, t.link.Generation)
	}
	if o, owns := m.host.books.keyboard.Of(p.s.id); b.owned && (!owns || o.Frame != b.frame.Frame || o.Element != b.elementID) {
		m.fail("typed on a target that the session does not own")
	}
	m.exclusive(t, func(o *task) bool {
		return o.b.frame != nil && o.b.frame.Window == b.frame.Window && o.b.frame.Executor == b.frame.Executor
	})
}

// exclusive checks that nobody else is between lane and end on the same.
func (m *sim) exclusive(t *task, same func(*task) bool) {
	for _, o := range m.flying {
		if o != t && same(o) {
			m.fail("two acts at once on one lane: %v and %v", o.b.asked.id, t.b.asked.id)
		}
	}
	m.flying = append(m.flying, t)
}

// ended checks how an act's end is told, and what became of its claim.
func (m *sim) concluded(t *task, resp *hostv1.ActResponse, stood bool) {
	u, code := &t.p.truth, resp.GetRefusal().GetCode()
	refusedNow := resp.GetOutcome() == commonv1.Outcome_OUTCOME_REFUSED
	switch {
	case t.reached && refusedNow:
		m.fail("an act that was sent is told as refused")
	case resp.GetOutcome() == commonv1.Outcome_OUTCOME_UNSPECIFIED:
		m.fail("the outcome of an act that was sent is not told")
	case refusedNow && code == 0:
		m.fail("refused without a refusal")
	case resp.GetVerified() && (!t.reached || resp.GetEffect() != commonv1.Effect_EFFECT_CONFIRMED):
		m.fail("verified without evidence")
	}
	end := commonv1.ClaimEnd_CLAIM_END_CONSUMED
	if refusedNow {
		end = commonv1.ClaimEnd_CLAIM_END_RETIRED
		if refusal.Of(code).GetClaimEnd() == commonv1.ClaimEnd_CLAIM_END_RETURNED {
			end = commonv1.ClaimEnd_CLAIM_END_RETURNED
		}
	}
	u.sent[t.b.asked.id] = end
	m.count.ends[end]++
	if !stood {
		return
	}
	if r := resp.GetRefusal(); r != nil && t.b.frame != nil && r.GetClaimEnd() != end {
		m.fail("the claim was %v, and %v is told", end, r.GetClaimEnd())
	}
}

// claimEnds notes how a claim ended, and that its frame did if it was consumed.
func (m *sim) claimEnds(t *task, end commonv1.ClaimEnd) {
	u := &t.p.truth
	if k := t.key(); k != "" {
		u.acts[k] = end
	}
	if end == commonv1.ClaimEnd_CLAIM_END_CONSUMED && u.frame == t.b.frame.Frame {
		u.endFrame("consumed")
	}
}

// observed checks a new observation: its frame is a new one, and its ids name what they
// named before.
func (m *sim) observed(p *place, obs *commonv1.Observation, seen *seenWindow) {
	u := &p.truth
	ref := frameFromWire(obs.GetFrame())
	if u.holds != 0 {
		m.fail("an observation under %v", u.holds)
	}
	u.endFrame("a newer one")
	if u.dead[ref.ID] != "" {
		m.fail("a frame id came twice")
	}
	u.frame, u.window = ref, seen.window
	if f := p.st.frames.Current(); f == nil || f.Frame != ref {
		m.fail("the observation is not the current frame")
		return
	}
	shown := map[object]uint32{}
	for i, e := range seen.snap.GetElements() {
		is := object{seen.window, seen.objects[i]}
		if was, known := u.ids[e.GetId()]; known && was != is {
			m.fail("id %d named %v and names %v", e.GetId(), was, is)
		}
		if was, known := u.shown[is]; known && was != e.GetId() {
			m.fail("%v was %d and is %d", is, was, e.GetId())
		}
		u.ids[e.GetId()], shown[is] = is, e.GetId()
	}
	u.shown = shown
	p.client.sees(obs, seen)
}

// view is what other sessions' steps may not change of a session.
type view struct {
	machine machine.State
	frame   *frame.Frame
	owner   keyboard.Owner
	owns    bool
}

func (p *place) look() view {
	v := view{machine: p.st.machine, frame: p.st.frames.Current()}
	v.owner, v.owns = p.st.books.keyboard.Of(p.s.id)
	return v
}

// check looks at everything after a step.
func (m *sim) check() {
	m.timeline()
	for i, p := range m.places {
		v := p.look()
		was := m.views[i]
		if v.frame == nil != (p.truth.frame.ID == "") || v.frame != nil && v.frame.Frame != p.truth.frame {
			m.fail("s%d: its frame is %v and should be %v", i, v.frame, p.truth.frame)
		}
		if v.machine.Holds != p.truth.holds {
			m.fail("s%d: held by %v and should be by %v", i, v.machine.Holds, p.truth.holds)
		}
		m.owner(p, was, v)
		if p != m.actor && was.owns == v.owns && was != v {
			m.fail("s%d changed in a step of another session", i)
		}
		m.views[i] = v
	}
	m.granted = nil
}

// owner checks who may type.
func (m *sim) owner(p *place, was, v view) {
	if !v.owns {
		if was.owns && p != m.actor && (m.granted == nil || !sharesFocus(was.owner, m.granted)) {
			m.fail("s%d lost its keyboard in a step of another session", p.no)
		}
		return
	}
	if !was.owns && m.granted != p {
		m.fail("s%d got the keyboard without a verified act that gave the focus", p.no)
	}
	if v.frame == nil || v.owner.Frame != v.frame.Frame {
		m.fail("s%d owns the keyboard of a frame that is over", p.no)
	}
	for _, q := range m.places {
		if o, owns := m.host.books.keyboard.Of(q.s.id); q != p && owns && o.Executor == v.owner.Executor && o.Root == v.owner.Root {
			m.fail("s%d and s%d own one keyboard", p.no, q.no)
		}
	}
}

func sharesFocus(o keyboard.Owner, p *place) bool {
	now, owns := p.st.books.keyboard.Of(p.s.id)
	return owns && now.Executor == o.Executor && now.Root == o.Root
}

// timeline reads what people were told: in order, and complete.
func (m *sim) timeline() {
	for {
		select {
		case e := <-m.events.Events:
			if e.Seq <= m.seq {
				m.fail("event %d after %d", e.Seq, m.seq)
			}
			m.seq = e.Seq
			switch e.Kind {
			case timeline.KeyboardRevoked:
				m.count.losses[keyboard.Cause(e.Cause)]++
			case timeline.KeyboardGranted:
				m.count.grants++
			}
		default:
			return
		}
	}
}

// line is one step of the trace.
type line struct {
	step  int
	place int
	what  string
	n     int64
	code  refusal.Code
	state machine.State
}

// String is the compact form.
func (l line) String() string {
	code := ""
	if l.code != 0 {
		code = " " + shortName(l.code.String())
	}
	return fmt.Sprintf("%8d s%d %s %d%s  [%v|%v r%d g%d]", l.step, l.place, l.what, l.n, code,
		l.state.Base, l.state.Holds, l.state.Revision, l.state.Generation)
}

// simTrace is the latest steps, and a hash of all.
type simTrace struct {
	ring [traced]line
	n    int
	hash uint64
}

const traced = 60

func (t *simTrace) add(l line) {
	t.ring[t.n%traced] = l
	t.n++
	for _, x := range [...]uint64{
		uint64(l.place), uint64(len(l.what)), uint64(l.n), uint64(l.code), uint64(l.state.Base), uint64(l.state.Holds),
		l.state.Revision, uint64(l.state.Generation),
	} {
		t.hash = (t.hash ^ x) * 1099511628211
	}
}

func (t *simTrace) String() string {
	var b strings.Builder
	for i := max(0, t.n-traced); i < t.n; i++ {
		b.WriteString(t.ring[i%traced].String() + "\n")
	}
	return b.String()
}
