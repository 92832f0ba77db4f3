package executor

import (
	"context"
	"image"
	"image/color"
	"slices"
	"sync"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
)

// fake is the smallest desktop that the rules can be seen on: windows with trees, and
// acts that change a node. Everything a test wants to go wrong is a field or a hook.
type fake struct {
	mu        sync.Mutex
	windows   []Window
	trees     map[uint64]*Tree
	desk      DeskState
	abilities []Ability
	watchers  []chan Change
	apps      []App
	resolved  Resolution

	// journal is what was sent.
	journal []Performance
	// deliver replaces what becomes of a send; apply is what a send does.
	deliver func(Performance) Delivery
	apply   func(*fake, Performance, *Node)
	// beforeCheck runs before the check, without the lock.
	beforeCheck func()
	// afterCapture runs after each capture.
	afterCapture func(*fake)
	launch       func(*fake)
	treeErr      error

	// inputs and managed are what was sent that way, keys what was typed or pressed.
	inputs  []Input
	managed []Management
	keys    []string
	// focus is the element that has the keyboard.
	focus Object
	// onPart runs before each check of a delivery, with the lock held.
	onPart func(f *fake, at int)
	// under bends what a check sees.
	under func(at int, u *Under)
	// point and manage are what an input and a window act do.
	point  func(*fake, Input)
	manage func(*fake, Management)
	// arrive replaces what becomes of a delivery of an input or window act.
	arrive func(Delivery) Delivery
	// dot is a pixel of the picture that is not white.
	dot        image.Point
	captureErr error
	lists      int
	// waiting takes the place of a delivery; onDesk runs after each sample of the desk was
	// taken, before it is answered. Both run without the lock.
	waiting func(context.Context) Delivery
	onDesk  func()
}

var (
	editor  = ident.Window{ID: 10, PID: 100, Start: 1, App: "exe:/editor", Birth: 1}
	editor2 = ident.Window{ID: 11, PID: 100, Start: 1, App: "exe:/editor", Birth: 2}
	other   = ident.Window{ID: 20, PID: 200, Start: 2, App: "exe:/other", Birth: 3}
)

func states(more ...commonv1.ElementState) States {
	s := States(0).With(commonv1.ElementState_ELEMENT_STATE_ENABLED)
	for _, st := range more {
		s = s.With(st)
	}
	return s
}

// The nodes of the fake's editor, by index.
const (
	nodeRoot = iota
	nodeButton
	nodeField
	nodeCheck
	nodeSlider
	nodeSecret
	nodeCombo
	nodeRed
	nodeBlue
)

func editorNodes() []Node {
	press := []commonv1.ElementAction{commonv1.ElementAction_ELEMENT_ACTION_PRESS}
	return []Node{
		{
			Object: "root", Parent: -1, Role: commonv1.Role_ROLE_WINDOW, Name: "Editor",
			States: states(), Bounds: Rect{0, 0, 400, 300},
		},
		{
			Object: "button", Role: commonv1.Role_ROLE_BUTTON, Name: "Save",
			States: states(), Actions: press, Bounds: Rect{10, 10, 80, 30},
		},
		{
			Object: "field", Role: commonv1.Role_ROLE_TEXT_FIELD, Name: "Name", Value: "old",
			TakesText: true,
			States: states(commonv1.ElementState_ELEMENT_STATE_EDITABLE,
				commonv1.ElementState_ELEMENT_STATE_FOCUSABLE),
			Bounds: Rect{10, 50, 200, 30},
		},
		{
			Object: "check", Role: commonv1.Role_ROLE_CHECK_BOX, Name: "Wrap",
			States: states(commonv1.ElementState_ELEMENT_STATE_CHECKABLE), Actions: press,
			Bounds: Rect{10, 90, 80, 20},
		},
		{
			Object: "slider", Role: commonv1.Role_ROLE_SLIDER, Name: "Size", Value: "5",
			TakesNumber: true, Range: &Range{Min: 0, Max: 10, Step: 1},
			States: states(),
			Bounds: Rect{10, 120, 100, 20},
		},
		{
			Object: "secret", Role: commonv1.Role_ROLE_SECURE_FIELD, Name: "Password", Secure: true,
			TakesText: true,
			States:    states(),
			Bounds:    Rect{10, 150, 100, 20},
		},
		{
			Object: "combo", Role: commonv1.Role_ROLE_COMBO_BOX, Name: "Color", Value: "Red",
			States: states(), Bounds: Rect{10, 180, 100, 20},
		},
		{
			Object: "red", Parent: nodeCombo, Role: commonv1.Role_ROLE_OPTION, Name: "Red",
			States: states(commonv1.ElementState_ELEMENT_STATE_SELECTABLE,
				commonv1.ElementState_ELEMENT_STATE_SELECTED),
		},
		{
			Object: "blue", Parent: nodeCombo, Role: commonv1.Role_ROLE_OPTION, Name: "Blue",
			States: states(commonv1.ElementState_ELEMENT_STATE_SELECTABLE),
		},
	}
}

func fakeWindow(id ident.Window, title string, bounds Rect, stacking int) Window {
	return Window{
		Identity: id, Title: title, Bounds: bounds, Stacking: stacking, Scale: 1,
		Surfaces: []Surface{{ID: id.ID, Kind: commonv1.SurfaceKind_SURFACE_KIND_TOPLEVEL, Bounds: bounds}},
	}
}

func newFake() *fake {
	usable := commonv1.TreeQuality_TREE_QUALITY_USABLE
	return &fake{
		windows: []Window{
			fakeWindow(editor, "Letter to mum", Rect{100, 100, 400, 300}, 0),
			fakeWindow(other, "Other", Rect{0, 0, 300, 300}, 1),
		},
		trees: map[uint64]*Tree{
			editor.ID: {Nodes: editorNodes(), Quality: usable},
			other.ID: {Nodes: []Node{
				{Object: "o-root", Parent: -1, Role: commonv1.Role_ROLE_WINDOW, States: states()},
				{Object: "o-button", Role: commonv1.Role_ROLE_BUTTON, States: states(), Name: "Go"},
			}, Quality: usable},
		},
		desk:      DeskState{PointerX: 5, PointerY: 5, Focus: 20, Active: 20, Stacking: []uint64{10, 20}, Clipboard: 7},
		abilities: []Ability{{Kind: commonv1.AbilityKind_ABILITY_KIND_TREE, Able: true}},
		apps:      []App{{ID: editor.App, Name: "Editor", Running: true, Windows: 1}},
		resolved:  Resolution{AppID: "exe:/new", Executable: "/new", Installed: true},
		apply:     applyAct,
	}
}

// applyAct is what a good app does.
func applyAct(f *fake, p Performance, n *Node) {
	switch p.Verb {
	case commonv1.Verb_VERB_CLICK_ELEMENT:
		if n.Role == commonv1.Role_ROLE_CHECK_BOX {
			n.States ^= States(0).With(commonv1.ElementState_ELEMENT_STATE_CHECKED)
			return
		}
		n.Description = "pressed"
	case commonv1.Verb_VERB_SET_VALUE:
		if n.TakesText {
			n.Value = p.Text
		} else {
			n.Value = "7"
		}
	case commonv1.Verb_VERB_TYPE_TEXT:
		if p.Mode == commonv1.TextMode_TEXT_MODE_APPEND {
			n.Value += p.Text
		} else {
			n.Value = p.Text
		}
	case commonv1.Verb_VERB_SET_CHECKED:
		if p.On {
			n.States = n.States.With(commonv1.ElementState_ELEMENT_STATE_CHECKED)
		}
	case commonv1.Verb_VERB_FOCUS_ELEMENT:
		n.States = n.States.With(commonv1.ElementState_ELEMENT_STATE_FOCUSED)
	case commonv1.Verb_VERB_SELECT_OPTION:
		n.Value = p.Text
	}
	_ = f
}

func (f *fake) change(do func(*fake)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do(f)
}

func (f *fake) node(o Object) *Node {
	for _, t := range f.trees {
		for i := range t.Nodes {
			if t.Nodes[i].Object == o {
				return &t.Nodes[i]
			}
		}
	}
	return nil
}

func (f *fake) sent() []Performance {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]Performance(nil), f.journal...)
}

func (f *fake) Name() string { return "fake" }

func (f *fake) Abilities(context.Context) []Ability {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]Ability(nil), f.abilities...)
}

func (f *fake) Apps(context.Context, string) ([]App, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]App(nil), f.apps...), nil
}

func (f *fake) Windows(context.Context) ([]Window, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lists++
	return append([]Window(nil), f.windows...), nil
}

func (f *fake) Displays(context.Context) ([]Display, error) {
	return []Display{{Bounds: Rect{0, 0, 1000, 800}, PixelW: 1000, PixelH: 800, Scale: 1}}, nil
}

func (f *fake) ReadTree(_ context.Context, w ident.Window, _ TreeLimits) (*Tree, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.treeErr != nil {
		return nil, f.treeErr
	}
	t := f.trees[w.ID]
	if t == nil {
		return nil, Fail(refusal.AnswerWindowGone)
	}
	c := *t
	c.Nodes = append([]Node(nil), t.Nodes...)
	return &c, nil
}

func (f *fake) Reread(_ context.Context, _ ident.Window, o Object) (Node, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := f.node(o); n != nil {
		return *n, nil
	}
	return Node{}, Fail(refusal.AnswerElementReleased)
}

func (f *fake) Perform(_ context.Context, p Performance, check Check) Delivery {
	if f.beforeCheck != nil {
		f.beforeCheck()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.node(p.Object)
	if n == nil {
		return Refused(refusal.AnswerElementReleased)
	}
	if a := check(*n); a != 0 {
		return Refused(a)
	}
	d := Delivery{Sent: Accepted, Route: p.Routes[0], Count: len([]rune(p.Text)), Settled: true}
	if f.deliver != nil {
		d = f.deliver(p)
	}
	if d.Sent == NotSent {
		return d
	}
	f.journal = append(f.journal, p)
	if d.Sent == Accepted && f.apply != nil {
		f.apply(f, p, n)
	}
	return d
}

func (f *fake) Deliver(ctx context.Context, in Input, check InputCheck) Delivery {
	f.mu.Lock()
	waiting := f.waiting
	f.mu.Unlock()
	if waiting != nil {
		return waiting(ctx)
	}
	if f.beforeCheck != nil {
		f.beforeCheck()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	d := f.pointTo(in, check)
	if len(in.Points) == 0 {
		d = f.keyIn(ctx, in, check)
	}
	if f.arrive != nil && (d.Sent != NotSent || d.Answer == 0) {
		d = f.arrive(d)
	}
	return d
}

// ask has the check look at one part of a delivery.
func (f *fake) ask(at int, look func() Under, check InputCheck) refusal.Answer {
	if f.onPart != nil {
		f.onPart(f, at)
	}
	u := look()
	if f.under != nil {
		f.under(at, &u)
	}
	return check(at, u)
}

func (f *fake) pointTo(in Input, check InputCheck) Delivery {
	d := Delivery{Sent: Accepted, Route: in.Routes[0], Settled: true}
	for i, p := range in.Points {
		if i > 0 && i < len(in.Points)-1 {
			continue
		}
		if a := f.ask(i, func() Under { return f.at(in, p) }, check); a != 0 {
			if i == 0 {
				return Refused(a)
			}
			d.Stopped, d.Count = a, i
			break
		}
	}
	if len(in.Points) > 0 {
		f.inputs = append(f.inputs, in)
		if f.point != nil {
			f.point(f, in)
		}
	}
	return d
}

// at is what lies at a point: the window that is highest, and the last element there.
func (f *fake) at(in Input, p SurfacePoint) Under {
	var own Rect
	for _, w := range f.windows {
		if s, ok := surfaceByID(w.Surfaces, p.Surface); ok {
			own = s.Bounds
		}
	}
	var u Under
	for _, w := range f.windows {
		for _, s := range w.Surfaces {
			if !w.Hidden && contains(s.Bounds, own.X+p.X, own.Y+p.Y) {
				u.Surface, u.Bounds = s.ID, s.Bounds
			}
		}
	}
	for _, n := range f.trees[in.Window.ID].Nodes {
		if contains(n.Bounds, p.X, p.Y) {
			u.Node, u.HasNode = n, true
		}
	}
	return u
}

const chunk = 4

// keyIn types in chunks of a few characters, or presses a chord.
func (f *fake) keyIn(ctx context.Context, in Input, check InputCheck) Delivery {
	d := Delivery{Sent: Accepted, Route: in.Routes[0], Settled: true}
	before := f.focus
	if in.Focus {
		f.focus = in.Object
	}
	rest := []rune(in.Text)
	for first := true; first || len(rest) > 0 || d.Count < in.Repeat; first = false {
		a := f.ask(d.Count, func() Under { return f.keyTarget(in) }, check)
		if a == 0 && ctx.Err() != nil {
			a = refusal.AnswerAborted
		}
		if a != 0 && first {
			f.focus = before
			return Refused(a)
		}
		if a != 0 {
			d.Stopped = a
			break
		}
		n := f.node(in.Object)
		if in.Verb == commonv1.Verb_VERB_PRESS_KEYS || in.Verb == commonv1.Verb_VERB_HOLD_KEYS {
			d.Count++
			f.keys = append(f.keys, in.Chord.String())
			continue
		}
		if first && in.Mode == commonv1.TextMode_TEXT_MODE_REPLACE {
			n.Value = ""
		}
		part := rest[:min(chunk, len(rest))]
		rest = rest[len(part):]
		d.Count += len(part)
		f.keys = append(f.keys, string(part))
		if in.Verb == commonv1.Verb_VERB_PASTE && n.Selection != nil {
			was := []rune(n.Value)
			n.Value = string(was[:n.Selection.Start]) + string(part) + string(was[n.Selection.Start+n.Selection.Length:])
			n.Selection = &TextRange{Start: n.Selection.Start + len(part)}
			continue
		}
		n.Value += string(part)
	}
	f.inputs = append(f.inputs, in)
	if f.point != nil {
		f.point(f, in)
	}
	return d
}

func (f *fake) keyTarget(in Input) Under {
	n := f.node(in.Object)
	if n == nil {
		return Under{}
	}
	return Under{Surface: in.Window.ID, Node: *n, HasNode: true, Focused: f.focus == in.Object}
}

func (f *fake) Manage(_ context.Context, m Management, check WindowCheck) Delivery {
	if f.beforeCheck != nil {
		f.beforeCheck()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	i := indexByID(f.windows, m.Window.ID)
	if i < 0 {
		return Refused(refusal.AnswerWindowGone)
	}
	if a := check(f.windows[i]); a != 0 {
		return Refused(a)
	}
	d := Delivery{Sent: Accepted, Route: m.Routes[0], Settled: true}
	if f.arrive != nil {
		d = f.arrive(d)
	}
	if d.Sent == NotSent {
		return d
	}
	f.managed = append(f.managed, m)
	if d.Sent == Accepted && f.manage != nil {
		f.manage(f, m)
	}
	return d
}

func (f *fake) Capture(_ context.Context, w ident.Window) (*Capture, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	img := image.NewRGBA(image.Rect(0, 0, 400, 300))
	for i := range img.Pix {
		img.Pix[i] = 0xff
	}
	img.SetRGBA(20, 160, color.RGBA{R: 200, A: 255})
	img.SetRGBA(f.dot.X, f.dot.Y, color.RGBA{R: 100, A: 255})
	if f.captureErr != nil {
		return nil, f.captureErr
	}
	if f.afterCapture != nil {
		f.afterCapture(f)
	}
	return &Capture{Image: img, Scale: 1}, nil
}

func (f *fake) Resolve(_ context.Context, app string) (Resolution, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if app != f.resolved.AppID {
		return Resolution{}, Fail(refusal.AnswerAppNotFound)
	}
	return f.resolved, nil
}

func (f *fake) Launch(context.Context, Resolution) Delivery {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.journal = append(f.journal, Performance{Verb: commonv1.Verb_VERB_LAUNCH_APP})
	if f.launch != nil {
		f.launch(f)
	}
	return Delivery{Sent: Accepted, Route: commonv1.Route_ROUTE_WINDOW_MANAGEMENT}
}

func (f *fake) Desk(context.Context) (DeskState, error) {
	f.mu.Lock()
	now, hook := f.desk, f.onDesk
	f.mu.Unlock()
	if hook != nil {
		hook()
	}
	return now, nil
}

func (f *fake) Watch(int32) (<-chan Change, func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	ch := make(chan Change, 16)
	f.watchers = append(f.watchers, ch)
	return ch, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.watchers = slices.DeleteFunc(f.watchers, func(o chan Change) bool { return o == ch })
	}
}

// emit tells every watcher; the lock is held.
func (f *fake) emit(c Change) {
	for _, ch := range f.watchers {
		select {
		case ch <- c:
		default:
		}
	}
}

func (f *fake) Close() error { return nil }

// image7 is a pixel that no test points at.
var image7 = image.Point{X: 7, Y: 290}

// openFake is a fake where nothing lies over the editor.
func openFake() *fake {
	f := newFake()
	f.windows[1] = fakeWindow(other, "Other", Rect{700, 500, 90, 90}, 1)
	return f
}
