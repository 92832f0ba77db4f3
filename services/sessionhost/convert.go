package sessionhost

import (
	"google.golang.org/protobuf/reflect/protoreflect"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	"fairlead.dev/services/sessionhost/internal/frame"
	machine "fairlead.dev/services/sessionhost/internal/session"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/permit"
	"fairlead.dev/services/shared/refusal"
	"fairlead.dev/services/shared/rpc"
)

// Bounds of an executor's tree; a larger one is a protocol violation.
const (
	elementsMax = 5000
	depthMax    = 64
	objectSize  = 8
)

func fenceFromWire(f *commonv1.Fence) ident.Fence {
	return ident.Fence{
		Host: ident.Generation(f.GetHost()), Executor: ident.Generation(f.GetExecutor()),
		Policy: ident.Generation(f.GetPolicy()), Session: ident.Generation(f.GetSession()),
	}
}

func frameFromWire(f *commonv1.FrameRef) ident.Frame {
	return ident.Frame{ID: ident.FrameID(f.GetFrameId()), Epoch: ident.Epoch(f.GetEpoch())}
}

func frameToWire(f ident.Frame) *commonv1.FrameRef {
	return &commonv1.FrameRef{FrameId: string(f.ID), Epoch: uint64(f.Epoch)}
}

func windowFromWire(w *commonv1.WindowIdentity) ident.Window {
	return ident.Window{
		ID: w.GetWindowId(), PID: w.GetPid(), Start: w.GetProcessStart(), App: w.GetAppId(), Birth: w.GetBirth(),
	}
}

func windowToWire(w ident.Window) *commonv1.WindowIdentity {
	return &commonv1.WindowIdentity{
		WindowId: w.ID, Pid: w.PID, ProcessStart: w.Start, AppId: w.App, Birth: w.Birth,
	}
}

func pageFromWire(p *commonv1.PageIdentity) ident.Page {
	return ident.Page{Endpoint: p.GetEndpoint(), Target: p.GetTarget(), Document: p.GetDocument()}
}

// pageToWire is nil for a window without a bound page: absent on both ends (C3.2).
func pageToWire(p ident.Page) *commonv1.PageIdentity {
	if p == (ident.Page{}) {
		return nil
	}
	return &commonv1.PageIdentity{Endpoint: p.Endpoint, Target: p.Target, Document: p.Document}
}

// elementOf returns the element id an act names, or zero.
func elementOf(a *commonv1.Act) uint32 {
	m := a.ProtoReflect()
	fd := m.WhichOneof(m.Descriptor().Oneofs().Get(0))
	if fd == nil {
		return 0
	}
	id := fd.Message().Fields().ByName("element_id")
	if id == nil {
		return 0
	}
	return uint32(m.Get(fd).Message().Get(id).Uint())
}

// complete asks an agent for the frame references its act cannot do without.
func complete(a *commonv1.Act) error {
	if permit.RuleOf(permit.VerbOf(a)).GetBinding() == commonv1.Binding_BINDING_ELEMENT && elementOf(a) == 0 {
		return refusal.Unusable("the act needs element_id: the number in brackets before an element of the observation")
	}
	return nil
}

// textLength is how many characters of text the arguments carry.
func textLength(a *commonv1.Act) uint32 {
	var n int
	switch x := a.GetAct().(type) {
	case *commonv1.Act_SetValue:
		n = len([]rune(x.SetValue.GetValue()))
	case *commonv1.Act_TypeText:
		n = len([]rune(x.TypeText.GetText()))
	case *commonv1.Act_Paste:
		n = len([]rune(x.Paste.GetText()))
	}
	return uint32(n)
}

// seenWindow is a checked snapshot.
type seenWindow struct {
	snap    *executorv1.Snapshot
	window  ident.Window
	objects []ident.Object
}

// readSnapshot checks an executor's snapshot. It is total: every snapshot is either
// taken or SERVICE_MISMATCH, and none can make the host panic or misread (C9.6).
func readSnapshot(s *executorv1.Snapshot) (*seenWindow, error) {
	n := len(s.GetElements())
	if s.GetSnapshotId() == "" || s.GetWindow() == nil || n > elementsMax || len(s.GetSurfaces()) == 0 ||
		len(s.GetTokens()) != n*len(ident.Token{}) || len(s.GetDigests()) != n*len(ident.Digest{}) ||
		len(s.GetObjects()) != n*objectSize {
		return nil, refusal.New(refusal.ServiceMismatch)
	}
	if !readableElements(s) || !readableRest(s) {
		return nil, refusal.New(refusal.ServiceMismatch)
	}
	w := &seenWindow{snap: s, window: windowFromWire(s.GetWindow()), objects: make([]ident.Object, n)}
	for i := range w.objects {
		var o uint64
		for _, b := range s.GetObjects()[i*objectSize : (i+1)*objectSize] {
			o = o<<8 | uint64(b)
		}
		w.objects[i] = ident.Object(o)
	}
	return w, nil
}

// readableElements checks the tree by hand: it is the one large part of any answer.
func readableElements(s *executorv1.Snapshot) bool {
	deepest := uint32(0)
	for i, e := range s.GetElements() {
		if e == nil || len(e.ProtoReflect().GetUnknown()) > 0 || len(e.GetBounds().ProtoReflect().GetUnknown()) > 0 {
			return false
		}
		if e.GetDepth() > depthMax || i > 0 && e.GetDepth() > deepest+1 || i == 0 && e.GetDepth() != 0 {
			return false
		}
		deepest = e.GetDepth()
		if roleWords.of(int32(e.GetRole())) == "" || int(e.GetSurface()) >= len(s.GetSurfaces()) {
			return false
		}
		for _, st := range e.GetStates() {
			if stateWords.of(int32(st)) == "" {
				return false
			}
		}
		for _, a := range e.GetActions() {
			if actionWords.of(int32(a)) == "" {
				return false
			}
		}
		if secure(e) && e.GetValue() != "" {
			// The value of a secure field never leaves the executor (C2.10).
			return false
		}
	}
	return true
}

func secure(e *commonv1.Element) bool { return e.GetRole() == commonv1.Role_ROLE_SECURE_FIELD }

// readableRest checks everything but the tree for members this schema does not know.
func readableRest(s *executorv1.Snapshot) bool {
	elements := s.Elements
	s.Elements = nil
	defer func() { s.Elements = elements }()
	return !rpc.Unknown(s) && knownEnums(s.ProtoReflect())
}

// readableAnswer checks a dispatch's answer, its tree excepted.
func readableAnswer(a *executorv1.DispatchResponse) bool {
	after := a.After
	a.After = nil
	defer func() { a.After = after }()
	return !rpc.Unknown(a) && knownEnums(a.ProtoReflect()) && a.GetOutcome() != commonv1.Outcome_OUTCOME_UNSPECIFIED
}

// knownEnums reports whether every enum in the message is a member this schema knows (C0.11).
func knownEnums(m protoreflect.Message) bool {
	known := true
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.Enum() != nil && fd.IsList():
			for i := 0; i < v.List().Len() && known; i++ {
				known = fd.Enum().Values().ByNumber(v.List().Get(i).Enum()) != nil
			}
		case fd.Enum() != nil:
			known = fd.Enum().Values().ByNumber(v.Enum()) != nil
		case fd.Message() != nil && fd.IsList():
			for i := 0; i < v.List().Len() && known; i++ {
				known = knownEnums(v.List().Get(i).Message())
			}
		case fd.Message() != nil:
			known = knownEnums(v.Message())
		}
		return known
	})
	return known
}

// frame is what the session keeps of a snapshot.
func (w *seenWindow) frame(ids []uint32, executor ident.Generation, want wanted) frame.Frame {
	f := frame.Frame{
		Snapshot: ident.SnapshotID(w.snap.GetSnapshotId()), Executor: executor, Window: w.window,
		Root: w.window.ID, Page: pageFromWire(w.snap.GetPage()), HasPicture: w.snap.GetPicture() != nil,
		Elements: make(map[uint32]frame.Element, len(ids)), Wanted: want,
	}
	for i, id := range ids {
		e := w.snap.GetElements()[i]
		f.Elements[id] = frame.Element{
			Token:  ident.Token(w.snap.GetTokens()[i*16 : i*16+16]),
			Digest: ident.Digest(w.snap.GetDigests()[i*16 : i*16+16]),
			Role:   int32(e.GetRole()), Secure: secure(e),
		}
	}
	return f
}

// observation is what the agent sees of a snapshot.
func (w *seenWindow) observation(f ident.Frame, ids []uint32, render commonv1.Render) *commonv1.Observation {
	s := w.snap
	o := &commonv1.Observation{
		Frame: frameToWire(f), CapturedUnixMs: s.GetCapturedUnixMs(), Window: s.GetWindow(), Title: s.GetTitle(),
		Bounds: s.GetBounds(), Stacking: s.GetStacking(), Surfaces: s.GetSurfaces(), Related: s.GetRelated(),
		Page: s.GetPage(), Displays: s.GetDisplays(), ContentDigest: s.GetContentDigest(),
		Truncations: s.GetTruncations(), TreeQuality: s.GetTreeQuality(), Picture: s.GetPicture(),
		PictureAbsence: s.GetPictureAbsence(), Redaction: s.GetRedaction(),
		ElementCount: uint32(len(ids)), Hidden: s.GetHidden(),
	}
	for i, e := range s.GetElements() {
		e.Id = ids[i]
	}
	if render != commonv1.Render_RENDER_OUTLINE && render != commonv1.Render_RENDER_UNSPECIFIED {
		o.Elements = s.GetElements()
	}
	if render != commonv1.Render_RENDER_ELEMENTS {
		text, cut := outlineOf(s)
		o.Outline = text
		if cut > 0 {
			o.Truncations = append(o.Truncations, &commonv1.Truncation{
				Kind: commonv1.TruncationKind_TRUNCATION_KIND_OUTLINE, Missing: uint32(cut),
			})
		}
	}
	return o
}

func appsToWire(list *executorv1.ListAppsResponse) *hostv1.ListAppsResponse {
	resp := &hostv1.ListAppsResponse{Truncated: list.GetTruncated()}
	for _, a := range list.GetApps() {
		resp.Apps = append(resp.Apps, &hostv1.App{
			AppId: a.GetAppId(), Name: a.GetName(), Running: a.GetRunning(), Windows: a.GetWindows(),
		})
	}
	return resp
}

// windowsToWire turns the executor's list, lowest first, into the agent's, topmost first.
func windowsToWire(list *executorv1.ListWindowsResponse, app string) *hostv1.ListWindowsResponse {
	resp := &hostv1.ListWindowsResponse{Truncated: list.GetTruncated()}
	all := list.GetWindows()
	for i := len(all) - 1; i >= 0; i-- {
		w := all[i]
		if app != "" && w.GetWindow().GetAppId() != app {
			continue
		}
		resp.Windows = append(resp.Windows, &hostv1.Window{
			Window: w.GetWindow(), Title: w.GetTitle(), Bounds: w.GetBounds(), Stacking: w.GetStacking(),
			Hidden: w.GetHidden(), Dialog: w.GetDialog(), Modal: w.GetModal(),
		})
	}
	return resp
}

// baseToWire names a base status on the wire, by the machine's own number.
var baseToWire = [...]hostv1.BaseStatus{
	hostv1.BaseStatus_BASE_STATUS_UNSPECIFIED, hostv1.BaseStatus_BASE_STATUS_UNOBSERVED,
	hostv1.BaseStatus_BASE_STATUS_ACTIVE, hostv1.BaseStatus_BASE_STATUS_REOBSERVE_REQUIRED,
	hostv1.BaseStatus_BASE_STATUS_USER_STOPPED, hostv1.BaseStatus_BASE_STATUS_ENDED,
}

func holdsToWire(h machine.Holds) []hostv1.Hold {
	var out []hostv1.Hold
	for i := range 5 {
		if h.Has(1 << i) {
			out = append(out, hostv1.Hold(i+1))
		}
	}
	return out
}

// isLaunch reports whether the act is the one that needs no frame (C3.7).
func isLaunch(a *commonv1.Act) bool { return permit.VerbOf(a) == commonv1.Verb_VERB_LAUNCH_APP }
