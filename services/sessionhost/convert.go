package sessionhost

import (
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"net/url"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	"fairlead.dev/services/sessionhost/internal/frame"
	"fairlead.dev/services/sessionhost/internal/revision"
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
	fd := idField(a)
	if fd == nil {
		return 0
	}
	return uint32(oneAct(a).Get(fd).Uint())
}

// setElement makes an act name an element.
func setElement(a *commonv1.Act, id uint32) {
	if fd := idField(a); fd != nil {
		oneAct(a).Set(fd, protoreflect.ValueOfUint32(id))
	}
}

// idField is the field in which the act names its element, nil when it names none.
func idField(a *commonv1.Act) protoreflect.FieldDescriptor {
	m := oneAct(a)
	if m == nil {
		return nil
	}
	return m.Descriptor().Fields().ByName("element_id")
}

// oneAct is the message of the one act, nil when there is none.
func oneAct(a *commonv1.Act) protoreflect.Message {
	m := a.ProtoReflect()
	fd := m.WhichOneof(m.Descriptor().Oneofs().Get(0))
	if fd == nil {
		return nil
	}
	return m.Get(fd).Message()
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

// seenWindow is a checked snapshot with its whole tree (C2.4).
type seenWindow struct {
	snap    *executorv1.Snapshot
	window  ident.Window
	objects []ident.Object
	// cut is how many elements the agent was not shown.
	cut int
}

// errNotTheWhole says that a change does not make the tree its digest is of.
var errNotTheWhole = errors.New("the change does not make the whole")

// readAfter checks the tree an act left, which may be a change against the quoted one.
func readAfter(s *executorv1.Snapshot, base *seenWindow, key ident.ActKey) (*seenWindow, error) {
	if s.GetBaseSnapshotId() == "" {
		return readSnapshot(s)
	}
	if base == nil || s.GetBaseSnapshotId() != base.snap.GetSnapshotId() {
		return nil, refusal.New(refusal.ServiceMismatch)
	}
	whole, ok := revision.Patch(base.snap.GetElements(), s.GetKept(), s.GetElements())
	if !ok {
		return nil, refusal.New(refusal.ServiceMismatch)
	}
	digest := permit.TreeDigest(key, whole, s.GetDigests(), s.GetObjects())
	if !hmac.Equal(digest[:], s.GetTreeDigest()) {
		return nil, errNotTheWhole
	}
	s.Elements, s.Kept, s.BaseSnapshotId = whole, nil, ""
	return readSnapshot(s)
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
		Root: w.window.ID, Page: pageFromWire(w.snap.GetPage()), Destination: w.snap.GetDestination(),
		Bounds: rectFromWire(w.snap.GetBounds()), Elements: make(map[uint32]frame.Element, len(ids)), Wanted: want,
	}
	for _, s := range w.snap.GetSurfaces() {
		f.Surfaces = append(f.Surfaces, frame.Surface{
			ID: s.GetSurfaceId(), Bounds: rectFromWire(s.GetBounds()), Order: int(s.GetOrder()),
		})
	}
	for _, d := range w.snap.GetDisplays() {
		f.Displays = append(f.Displays, frame.Display{
			Bounds: rectFromWire(d.GetBounds()), PixelW: int(d.GetPixelWidth()), PixelH: int(d.GetPixelHeight()),
			Scale: d.GetScale(),
		})
	}
	for i, id := range ids {
		f.Elements[id] = w.element(i)
	}
	if p := w.snap.GetPicture(); p != nil {
		f.AddPicture(pictureFromWire(p))
	}
	return f
}

// element is what an act needs of one element.
func (w *seenWindow) element(i int) frame.Element {
	e := w.snap.GetElements()[i]
	var has [32]bool
	for _, s := range e.GetStates() {
		has[s] = true
	}
	return frame.Element{
		Token:  ident.Token(w.snap.GetTokens()[i*16 : i*16+16]),
		Digest: ident.Digest(w.snap.GetDigests()[i*16 : i*16+16]),
		Role:   int32(e.GetRole()), Name: e.GetName(), Secure: secure(e),
		Enabled:   has[commonv1.ElementState_ELEMENT_STATE_ENABLED],
		Focused:   has[commonv1.ElementState_ELEMENT_STATE_FOCUSED],
		TakesKeys: !secure(e) && (has[commonv1.ElementState_ELEMENT_STATE_EDITABLE] || takesKeys(e.GetRole())),
		Surface:   w.snap.GetSurfaces()[e.GetSurface()].GetSurfaceId(), Bounds: rectFromWire(e.GetBounds()),
	}
}

// takesKeys says which roles take keys without being editable text (C8.2).
func takesKeys(r commonv1.Role) bool {
	switch r {
	case commonv1.Role_ROLE_TERMINAL, commonv1.Role_ROLE_DOCUMENT, commonv1.Role_ROLE_WEB_AREA,
		commonv1.Role_ROLE_CANVAS, commonv1.Role_ROLE_TABLE, commonv1.Role_ROLE_TREE:
		return true
	default:
		return false
	}
}

func rectFromWire(r *commonv1.Rect) frame.Rect {
	return frame.Rect{X: r.GetX(), Y: r.GetY(), W: r.GetWidth(), H: r.GetHeight()}
}

func pictureFromWire(p *commonv1.Picture) frame.Picture {
	t := p.GetTransform()
	return frame.Picture{
		ID: ident.PictureID(p.GetPictureId()), Width: int(p.GetWidth()), Height: int(p.GetHeight()),
		Transform: frame.Transform{
			ScaleX: t.GetScaleX(), ScaleY: t.GetScaleY(), OffsetX: t.GetOffsetX(), OffsetY: t.GetOffsetY(),
		},
	}
}

func pointsToWire(points []frame.SurfacePoint) []*commonv1.SurfacePoint {
	var out []*commonv1.SurfacePoint
	for _, p := range points {
		out = append(out, &commonv1.SurfacePoint{SurfaceId: p.Surface, Point: &commonv1.Point{X: p.At.X, Y: p.At.Y}})
	}
	return out
}

// pixelsOf returns the picture and the pixels a point act names.
func pixelsOf(a *commonv1.Act) (ident.PictureID, []frame.Point) {
	switch x := a.GetAct().(type) {
	case *commonv1.Act_ClickPoint:
		return ident.PictureID(x.ClickPoint.GetPictureId()), pixels(x.ClickPoint.GetPoint())
	case *commonv1.Act_HoverPoint:
		return ident.PictureID(x.HoverPoint.GetPictureId()), pixels(x.HoverPoint.GetPoint())
	case *commonv1.Act_ScrollPoint:
		return ident.PictureID(x.ScrollPoint.GetPictureId()), pixels(x.ScrollPoint.GetPoint())
	case *commonv1.Act_Drag:
		return ident.PictureID(x.Drag.GetPictureId()), pixels(x.Drag.GetPath()...)
	default:
		return "", nil
	}
}

func pixels(points ...*commonv1.Point) []frame.Point {
	out := make([]frame.Point, len(points))
	for i, p := range points {
		out[i] = frame.Point{X: p.GetX(), Y: p.GetY()}
	}
	return out
}

// textsOf returns every text an act carries: what an agent could have copied from an
// observation.
func textsOf(a *commonv1.Act) []string {
	m := oneAct(a)
	if m == nil {
		return nil
	}
	var out []string
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.Kind() != protoreflect.StringKind:
		case fd.IsList():
			for i := range v.List().Len() {
				out = append(out, v.List().Get(i).String())
			}
		default:
			out = append(out, v.String())
		}
		return true
	})
	return out
}

// destinationOf is where a page act leads, or where the bound page is: scheme, host and
// port. A destination that cannot be read is told as it is; policy refuses it.
func destinationOf(a *commonv1.Act, f *frame.Frame) string {
	n := a.GetNavigate()
	if n == nil {
		return f.Destination
	}
	u, err := url.Parse(n.GetUrl())
	if err != nil || u.Scheme == "" {
		return "unreadable:"
	}
	if u.Host == "" && u.Scheme == "about" {
		return u.Scheme + ":" + u.Opaque // only the blank page is a place
	}
	if u.Host == "" {
		return u.Scheme + ":"
	}
	return u.Scheme + "://" + u.Host
}

// observation is what the agent sees of a snapshot. base is the tree of the frame an act
// quoted, when only what changed since is asked for.
func (w *seenWindow) observation(f ident.Frame, ids []uint32, render commonv1.Render, base *seenWindow,
	baseFrame ident.Frame,
) *commonv1.Observation {
	s := w.snap
	o := &commonv1.Observation{
		Frame: frameToWire(f), CapturedUnixMs: s.GetCapturedUnixMs(), Window: s.GetWindow(), Title: s.GetTitle(),
		Bounds: s.GetBounds(), Stacking: s.GetStacking(), Surfaces: s.GetSurfaces(), Related: s.GetRelated(),
		Page: s.GetPage(), Displays: s.GetDisplays(), ContentDigest: s.GetContentDigest(),
		Truncations: s.GetTruncations(), TreeQuality: s.GetTreeQuality(), Picture: s.GetPicture(),
		PictureAbsence: s.GetPictureAbsence(), Redaction: s.GetRedaction(),
		ElementCount: uint32(len(ids)), Hidden: s.GetHidden(),
	}
	w.number(ids)
	if render == commonv1.Render_RENDER_CHANGES && w.since(o, base, baseFrame) {
		return o
	}
	if render == commonv1.Render_RENDER_ELEMENTS || render == commonv1.Render_RENDER_BOTH {
		o.Elements = s.GetElements()
	}
	if render != commonv1.Render_RENDER_ELEMENTS {
		o.Outline, w.cut = outlineOf(s)
	}
	o.Truncations = withCut(o.Truncations, w.cut)
	return o
}

func withCut(list []*commonv1.Truncation, cut int) []*commonv1.Truncation {
	if cut == 0 {
		return list
	}
	return append(slices.Clip(list), &commonv1.Truncation{
		Kind: commonv1.TruncationKind_TRUNCATION_KIND_OUTLINE, Missing: uint32(cut),
	})
}

// number gives the elements their ids. An element that came with an earlier tree may be
// on its way to a client right now, so it is not written to.
func (w *seenWindow) number(ids []uint32) {
	elements := w.snap.GetElements()
	for i, e := range elements {
		switch e.GetId() {
		case ids[i]:
		case 0:
			e.Id = ids[i]
		default:
			elements[i], _ = proto.Clone(e).(*commonv1.Element)
			elements[i].Id = ids[i]
		}
	}
}

// since renders the tree as a difference against the one the act quoted (C2.4), where
// that says it all: the agent was shown the whole of that one, and most of it stays.
func (w *seenWindow) since(o *commonv1.Observation, base *seenWindow, f ident.Frame) bool {
	if base == nil || base.window != w.window || base.cut > 0 {
		return false
	}
	elements := w.snap.GetElements()
	d := revision.Compare(base.entries(), w.entries())
	if len(d.Changes)+len(d.Removed) > max(8, len(elements)/2) {
		return false
	}
	o.Difference = &commonv1.Difference{Base: frameToWire(f), Unchanged: d.Unchanged, Removed: d.Removed}
	for _, p := range d.Pieces {
		if d.Unchanged {
			break
		}
		piece := &commonv1.DifferencePiece{From: uint32(p.From), Count: uint32(p.Count)}
		if p.Count == 0 {
			piece = &commonv1.DifferencePiece{Element: elements[p.Put]}
		}
		o.Difference.Pieces = append(o.Difference.Pieces, piece)
	}
	var cut int
	o.Outline, cut = changesOf(w.snap, d, f)
	o.Truncations = withCut(o.Truncations, cut)
	w.cut = cut
	return true
}

// entries is what a comparison looks at: everything the agent is shown of an element.
func (w *seenWindow) entries() []revision.Entry {
	out := make([]revision.Entry, len(w.snap.GetElements()))
	var buf []byte
	for i, e := range w.snap.GetElements() {
		buf, _ = proto.MarshalOptions{Deterministic: true}.MarshalAppend(buf[:0], e)
		sum := sha256.Sum256(buf)
		out[i] = revision.Entry{ID: e.GetId(), Depth: e.GetDepth(), Content: [16]byte(sum[:16])}
	}
	return out
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
