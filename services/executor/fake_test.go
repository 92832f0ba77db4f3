package executor

import (
	"context"
	"image"
	"image/color"
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

func (f *fake) Capture(_ context.Context, w ident.Window) (*Capture, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	img := image.NewRGBA(image.Rect(0, 0, 400, 300))
	for i := range img.Pix {
		img.Pix[i] = 0xff
	}
	img.SetRGBA(20, 160, color.RGBA{R: 200, A: 255})
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
	defer f.mu.Unlock()
	return f.desk, nil
}

func (f *fake) Watch() (<-chan Change, func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	ch := make(chan Change, 16)
	f.watchers = append(f.watchers, ch)
	return ch, func() {}
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
