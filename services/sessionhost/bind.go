package sessionhost

import (
	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	policyv1 "fairlead.dev/gen/fairlead/policy/v1"
	"fairlead.dev/services/sessionhost/internal/executorlink"
	"fairlead.dev/services/sessionhost/internal/frame"
	"fairlead.dev/services/sessionhost/internal/keyboard"
	"fairlead.dev/services/sessionhost/internal/lane"
	"fairlead.dev/services/sessionhost/internal/outline"
	machine "fairlead.dev/services/sessionhost/internal/session"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/permit"
	"fairlead.dev/services/shared/refusal"
)

// bound is an act after step 1: everything later steps need, and nothing they could
// reinterpret. Nobody sees element ids or picture pixels from here on.
type bound struct {
	asked   asked
	act     *commonv1.Act // as the agent sent it, normalised
	args    *commonv1.Act // without frame references
	verb    commonv1.Verb
	ref     ident.Frame
	hint    *hostv1.TargetHint
	after   *hostv1.After
	actID   string
	ticket  machine.Ticket
	frame   *frame.Frame
	base    *seenWindow // the tree the frame shows
	digest  permit.Digest
	element *frame.Element
	// elementID is the stable id of element, owned says that it is the session's keyboard
	// target and not named by the act.
	elementID uint32
	owned     bool
	points    []frame.SurfacePoint
	lane      lane.Key
	// dispatch is the name to cancel it by.
	dispatch string
	// absence is why the observation after it has no picture that was wished for.
	absence commonv1.PictureAbsence
	// where is the destination a page act leads to, or where the bound page is.
	where string
}

// claim is the one step of the session that takes ticket, claim, binding and digest
// (C3.1). An act id that was answered before is answered again from the record (C0.5).
func (st *state) claim(b *bound) (*hostv1.ActResponse, error) {
	if replay, err := st.acts.recorded(b.asked); err != nil || replay != nil {
		return replay, err
	}
	t, no := machine.ActTicket(st.machine)
	switch {
	case no == nil && b.ref == (ident.Frame{}):
		return nil, errNoFrame
	case no != nil && st.frames.Find(b.ref) == nil:
		return nil, st.unclaimed(no, b)
	}
	f, digest, why := st.frames.Claim(b.ref, func(f *frame.Frame) (permit.Digest, *refusal.Error) {
		return b.bindTo(st, f)
	})
	switch {
	case why != nil && no != nil && why.Code != refusal.DuplicateAction:
		return nil, st.unclaimed(no, b)
	case why != nil:
		return nil, st.unclaimed(why, b)
	case no != nil:
		st.frames.Return(f)
		return nil, st.unclaimed(no, b)
	case st.failures[digest] >= failedMax:
		st.frames.Retire(f, digest)
		return nil, refusal.New(refusal.RepeatedFailure)
	}
	if b.owned {
		f.KeysTo = b.elementID
	}
	b.ticket, b.frame, b.digest, b.base = t, f, digest, st.seen
	b.lane = lane.Key{Executor: f.Executor, Root: f.Root}
	return nil, nil
}

var errNoFrame = refusal.Unusable("the act needs frame: copy it from the observation the act is based on")

// unclaimed is a refusal of an act that never had the claim.
func (st *state) unclaimed(why *refusal.Error, b *bound) error {
	f := st.frames.Current()
	return &refusal.Error{Code: why.Code, Detail: why.Detail, Claim: &refusal.Claim{
		End: commonv1.ClaimEnd_CLAIM_END_NONE, FrameCurrent: f != nil && f.Frame == b.ref,
	}}
}

// bindTo binds the act to a frame and returns its digest (C3.2). It may be asked about a
// frame that ended, and changes nothing but b.
func (b *bound) bindTo(st *state, f *frame.Frame) (permit.Digest, *refusal.Error) {
	b.element, b.elementID, b.owned, b.points = nil, 0, false, nil
	a := &commonv1.BoundAct{
		Verb: b.verb, Arguments: b.args, Window: windowToWire(f.Window), Page: pageToWire(f.Page),
	}
	why := b.bindTarget(st, f)
	if b.element != nil {
		a.ElementDigest, a.Owned = b.element.Digest[:], b.owned
	}
	a.Points = pointsToWire(b.points)
	digest := permit.ActDigest(st.actKey, a)
	if why == nil && contradicts(b.hint, f) {
		why = refusal.New(refusal.TargetMismatch)
	}
	b.where = destinationOf(b.act, f)
	return digest, why
}

// bindTarget finds what the act is bound to inside the frame, and nothing else.
func (b *bound) bindTarget(st *state, f *frame.Frame) *refusal.Error {
	switch permit.RuleOf(b.verb).GetBinding() {
	case commonv1.Binding_BINDING_ELEMENT:
		return b.bindElement(f, elementOf(b.act))
	case commonv1.Binding_BINDING_POINT:
		return b.bindPoints(f)
	case commonv1.Binding_BINDING_WINDOW:
		if id := elementOf(b.act); id != 0 {
			return b.bindElement(f, id)
		}
		return nil
	case commonv1.Binding_BINDING_PAGE:
		if f.Page == (ident.Page{}) {
			return refusal.New(refusal.UnsupportedAction)
		}
		return nil
	case commonv1.Binding_BINDING_KEYBOARD:
		return b.bindKeyboard(st, f)
	default:
		return refusal.New(refusal.InvalidBinding)
	}
}

func (b *bound) bindElement(f *frame.Frame, id uint32) *refusal.Error {
	e, ok := f.Elements[id]
	if !ok {
		return refusal.New(refusal.InvalidBinding)
	}
	b.element, b.elementID = &e, id
	return nil
}

// bindPoints resolves picture pixels to points of the frame's surfaces, once (C2.2).
// Both ends of a drag bind to the frame's one window by construction (C3.3).
func (b *bound) bindPoints(f *frame.Frame) *refusal.Error {
	picture, at := pixelsOf(b.act)
	points, why := f.Resolve(picture, at)
	b.points = points
	return why
}

// bindKeyboard binds typing to the element it names, or to the target the session owns (C8.1).
func (b *bound) bindKeyboard(st *state, f *frame.Frame) *refusal.Error {
	if id := elementOf(b.act); id != 0 {
		return b.bindElement(f, id)
	}
	if f.KeysTo != 0 && f != st.frames.Current() {
		// An act on a frame that is over is only told apart from the one that used it up.
		b.owned = true
		return b.bindElement(f, f.KeysTo)
	}
	o, owns := st.owner()
	if !owns {
		return refusal.New(refusal.KeyboardNotOwned)
	}
	if why := st.mayType(f, o.Element); why != nil {
		return why
	}
	b.owned = true
	return b.bindElement(f, o.Element)
}

// mayType says whether the session owns this element of this frame as its keyboard
// target, down to the last generation (C8.1).
func (st *state) mayType(f *frame.Frame, element uint32) *refusal.Error {
	st.books.mu.Lock()
	defer st.books.mu.Unlock()
	return st.books.keyboard.Check(st.ownerOf(f, element))
}

// ownerOf is who would own the keyboard by this frame and element.
func (st *state) ownerOf(f *frame.Frame, element uint32) keyboard.Owner {
	return keyboard.Owner{
		Session: st.id, Turn: st.turn, Host: st.host, Executor: f.Executor, Window: f.Window, Root: f.Root,
		Page: f.Page, Frame: f.Frame, Element: element,
	}
}

// contradicts reports whether a hint names another app or window than the frame shows.
// A hint never selects anything (C3.6).
func contradicts(h *hostv1.TargetHint, f *frame.Frame) bool {
	return h.GetAppId() != "" && h.GetAppId() != f.Window.App || h.GetWindowId() != 0 && h.GetWindowId() != f.Window.ID
}

// normalised is the act as everything after this reads it: decoded once, before it
// queues (C3.1), with defaults spelled out, so that two ways to say the same are the same act.
func normalised(a *commonv1.Act) (*commonv1.Act, error) {
	switch x := a.GetAct().(type) {
	case *commonv1.Act_PressKeys:
		chord, err := permit.ParseChord(x.PressKeys.GetKeys())
		if err != nil {
			return nil, err
		}
		x.PressKeys.Keys, x.PressKeys.Repeat = chord.String(), max(x.PressKeys.GetRepeat(), 1)
	case *commonv1.Act_HoldKeys:
		chord, err := permit.ParseChord(x.HoldKeys.GetKeys())
		if err != nil {
			return nil, err
		}
		x.HoldKeys.Keys = chord.String()
	case *commonv1.Act_ClickElement:
		x.ClickElement.Button, x.ClickElement.Count = pressed(x.ClickElement.GetButton()), max(x.ClickElement.GetCount(), 1)
	case *commonv1.Act_ClickPoint:
		x.ClickPoint.Button, x.ClickPoint.Count = pressed(x.ClickPoint.GetButton()), max(x.ClickPoint.GetCount(), 1)
	case *commonv1.Act_Drag:
		x.Drag.Button = pressed(x.Drag.GetButton())
	case *commonv1.Act_TypeText:
		if x.TypeText.GetMode() == commonv1.TextMode_TEXT_MODE_UNSPECIFIED {
			x.TypeText.Mode = commonv1.TextMode_TEXT_MODE_REPLACE
		}
	}
	for _, text := range textsOf(a) {
		if outline.Withheld(text) {
			return nil, refusal.New(refusal.WithheldValueReplayed)
		}
	}
	return a, nil
}

func pressed(b commonv1.Button) commonv1.Button {
	if b == commonv1.Button_BUTTON_UNSPECIFIED {
		return commonv1.Button_BUTTON_LEFT
	}
	return b
}

// question is what policy is asked: facts that the host resolved, no words of the agent.
func (b *bound) question(s *session, e *executorlink.Link) *policyv1.DecideRequest {
	return &policyv1.DecideRequest{
		SessionId: string(s.id), ActId: b.actID, Facts: b.facts(), ActDigest: b.digest[:],
		Incarnation: e.Incarnation[:], SnapshotId: string(b.frame.Snapshot),
	}
}

func (b *bound) facts() *policyv1.ActFacts {
	facts := &policyv1.ActFacts{
		Verb: b.verb, Window: windowToWire(b.frame.Window), Page: pageToWire(b.frame.Page),
		AppId: b.frame.Window.App, TextLength: textLength(b.args), Destination: b.where, Owned: b.owned,
	}
	if b.element != nil {
		facts.Role, facts.Secure = commonv1.Role(b.element.Role), b.element.Secure
		facts.ElementDigest = b.element.Digest[:]
	}
	return facts
}

// order is what the executor is told to do.
func (b *bound) order(s *session, p *commonv1.Permit, picture *executorv1.PictureRequest) *executorv1.DispatchRequest {
	req := &executorv1.DispatchRequest{
		SessionId: string(s.id), DispatchId: b.dispatch, Permit: p, SnapshotId: string(b.frame.Snapshot),
		Act: b.args, SettleMs: settleMS, Picture: picture, Points: pointsToWire(b.points), Owned: b.owned,
		AsChange: b.base != nil,
	}
	if b.element != nil {
		req.Token = b.element.Token[:]
	}
	if w, ok := b.frame.Wanted.(wanted); ok {
		req.Limits = w.limits
	}
	return req
}
