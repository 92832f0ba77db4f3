package executor

import (
	"context"
	"image"
	"time"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/permit"
	"fairlead.dev/services/shared/refusal"
)

// Platform is the seam between the executor and one kind of desktop. Everything the
// executor knows about permits, snapshots and evidence lies above it; everything
// about a window system lies below. Each method is bounded by its context and by
// limits of its own, answers about the desktop as it is now (C0.9), may be called
// from several goroutines, and never moves the user's pointer, focus or stacking
// (C0.3). A failure is an error made by Fail with an executor answer.
type Platform interface {
	// Name says which kind of desktop: "x11", "virtual", "macos".
	Name() string
	// Abilities measures what works now (C9.5).
	Abilities(ctx context.Context) []Ability
	// Apps lists running apps that have windows; with a filter also installed and
	// window-less ones whose id or name contains it, case folded.
	Apps(ctx context.Context, filter string) ([]App, error)
	// Windows lists toplevels in stacking order, lowest first, with their surfaces.
	Windows(ctx context.Context) ([]Window, error)
	// Displays lists the displays.
	Displays(ctx context.Context) ([]Display, error)
	// ReadTree reads the elements of one window. Every part of the identity must hold.
	ReadTree(ctx context.Context, w ident.Window, limits TreeLimits) (*Tree, error)
	// Reread reads one element again, ancestors not included.
	Reread(ctx context.Context, w ident.Window, object Object) (Node, error)
	// Perform reads the element again, asks check about it, and sends the act only
	// when check answers zero: one step, as far as the window system allows it (C6.2).
	Perform(ctx context.Context, p Performance, check Check) Delivery
	// Deliver sends pointer or keyboard input that is addressed to a bound window, by one
	// of the permitted routes and by no other. It looks at what is at the point, or has
	// the keyboard, asks check about it, and goes on only while check answers zero: at
	// each point where a button changes and at the end of a path, or at each chunk of
	// keys (C6.1, C8). What is down when it ends is released on every path (C7.4).
	Deliver(ctx context.Context, in Input, check InputCheck) Delivery
	// Manage does an act bound to a window or its page as a whole, and asks check about the
	// window as it is now in the same step as the send.
	Manage(ctx context.Context, m Management, check WindowCheck) Delivery
	// Capture takes all surfaces of a window, covered or not, without a cursor (C2.9).
	Capture(ctx context.Context, w ident.Window) (*Capture, error)
	// Resolve says what an app id stands for right now (C3.7).
	Resolve(ctx context.Context, appID string) (Resolution, error)
	// Launch starts a resolved app without giving it focus.
	Launch(ctx context.Context, r Resolution) Delivery
	// Desk samples what belongs to the user.
	Desk(ctx context.Context) (DeskState, error)
	// Watch subscribes to changes of one process, or with 0 to all; a change of no process
	// is for everybody. The channel is bounded, and filled by Offer. The returned function
	// ends the subscription.
	Watch(pid int32) (<-chan Change, func())
	// Close lets go of everything.
	Close() error
}

// Check looks at an element as it is now and answers zero to let the act be sent. It
// is called at most once and must not block.
type Check func(now Node) refusal.Answer

// InputCheck looks at where input would go right now and answers zero to go on. at is
// the index of the point, or the number of characters delivered so far. It must not block.
type InputCheck func(at int, now Under) refusal.Answer

// WindowCheck looks at a window as it is now and answers zero to let the act be sent. It
// is called at most once and must not block.
type WindowCheck func(now Window) refusal.Answer

// Under is what input would reach right now.
type Under struct {
	// Surface is the topmost surface of any app at the point, 0 for none; for keys the
	// surface of the keyboard target.
	Surface uint64
	// Bounds is the place of Surface right now, for a pointer; zero where it is not told.
	Bounds Rect
	// Node is the element that the accessibility hit test answers at the point, or the
	// keyboard target read again. Without HasNode there is none.
	Node    Node
	HasNode bool
	// Focused says that the application says that Node has its keyboard focus (C2.3).
	Focused bool
}

// Failure is a platform's error: an executor answer, and what it was about.
type Failure struct {
	Answer refusal.Answer
	// Stage is set with AnswerTimeout.
	Stage commonv1.Stage
	// Candidates is set when several windows match.
	Candidates int
	// Ability may be set with AnswerPermissionMissing: which one is not granted (C9.5).
	Ability commonv1.AbilityKind
}

// Error returns the answer's name.
func (f *Failure) Error() string { return "executor: " + f.Answer.String() }

// Fail returns a platform error.
func Fail(a refusal.Answer) error { return &Failure{Answer: a} }

// Ability is the live state of one ability.
type Ability struct {
	Kind   commonv1.AbilityKind
	Able   bool
	Reason commonv1.AbilityReason
}

// App is one application.
type App struct {
	ID      string
	Name    string
	Running bool
	Windows int
}

// Point is a point in logical points.
type Point struct{ X, Y float64 }

// Rect is a rectangle in logical points.
type Rect struct{ X, Y, W, H float64 }

// Display is one display.
type Display struct {
	Bounds        Rect
	PixelW        int
	PixelH        int
	Scale         float64
	MixedOrUnsure bool
}

// Surface is the toplevel or a popup, menu or sheet attributed to it.
type Surface struct {
	ID     uint64
	Kind   commonv1.SurfaceKind
	Bounds Rect // display-logical points
	Order  int
}

// Window is one toplevel.
type Window struct {
	Identity ident.Window
	Title    string
	Bounds   Rect // display-logical points
	Stacking int
	Hidden   bool
	Dialog   bool
	Modal    bool
	// Owner is the window id of the toplevel this dialog belongs to, 0 for none.
	Owner    uint64
	Surfaces []Surface // at least the toplevel, lowest first
	Scale    float64   // pixels per point
	Page     ident.Page
	// Destination is where the bound page is: scheme, host and port, nothing else.
	Destination string
}

// TreeLimits bounds a walk; zero fields mean the defaults.
type TreeLimits struct{ Elements, Depth, Text int }

// Object is the platform's own name of an element's object. It never leaves the executor.
type Object string

// States is a set of ElementState members, one bit each by number.
type States uint32

// Has reports whether a state is in the set.
func (s States) Has(st commonv1.ElementState) bool { return s&(1<<uint(st)) != 0 }

// With returns the set with a state added.
func (s States) With(st commonv1.ElementState) States { return s | 1<<uint(st) }

// TextRange is a part of a text, in characters; a caret is one of no length.
type TextRange struct{ Start, Length int }

// Range is the range of a slider, spin button and the like.
type Range struct{ Min, Max, Step float64 }

// Node is one element as the platform reads it.
type Node struct {
	Object      Object
	Parent      int // index of the parent in Tree.Nodes, -1 for the root; unset by Reread
	Role        commonv1.Role
	Subrole     string
	Identifier  string
	Name        string
	Description string
	// Value is the text, or the number in C notation. Always empty when Secure.
	Value          string
	ValueTruncated bool
	// TakesText says that its text can be set; TakesNumber that its number can be.
	TakesText, TakesNumber bool
	Secure                 bool
	States                 States
	Actions                []commonv1.ElementAction
	Bounds                 Rect // points of its surface
	Surface                int  // index into Window.Surfaces
	Range                  *Range
	// Selection is the selected part of the text, nil where none is told. Never when Secure.
	Selection *TextRange
	// Renderer is the generation of the process that owns the element, when that is
	// not the window's own process (C2.8).
	Renderer uint64
	// FromPage says that it was read from the page's own document, not from a mirror of it.
	FromPage bool
}

// Tree is the elements of one window in document order.
type Tree struct {
	Nodes       []Node
	Truncations []Truncation
	Quality     commonv1.TreeQuality
}

// Truncation is a visible cut.
type Truncation struct {
	Kind    commonv1.TruncationKind
	Missing int
}

// Performance is one element act.
type Performance struct {
	Window ident.Window
	Object Object
	Verb   commonv1.Verb
	Routes []commonv1.Route // permitted routes; no other may be used
	Text   string           // set_value on text, type_text
	Number float64          // set_value on a number
	Mode   commonv1.TextMode
	Submit bool
	Action commonv1.ElementAction // perform
	On     bool                   // set_checked, set_expanded

	Selection TextRange          // select_text
	Direction commonv1.Direction // scroll_element
	Amount    int                // scroll_element, tenths of a page
}

// SurfacePoint is a point of one surface.
type SurfacePoint struct {
	Surface uint64
	X, Y    float64
}

// Input is one pointer or keyboard act on a bound window.
type Input struct {
	Window ident.Window
	Verb   commonv1.Verb
	Routes []commonv1.Route // permitted routes; no other may be used

	// Points is where a pointer act goes: one point, or the path of a drag.
	Points    []SurfacePoint
	Button    commonv1.Button
	Count     int
	Modifiers []commonv1.Modifier
	Direction commonv1.Direction
	Amount    int // tenths of a page

	// Object is the element that keys go to. Focus says that the act names it, so that it
	// is given the application's focus first, in the same step; without Focus it must have it.
	Object Object
	Focus  bool
	Text   string
	Mode   commonv1.TextMode
	Chord  permit.Chord
	Repeat int
	Hold   time.Duration
}

// Management is one act on a window or its page: move_window, resize_window,
// minimize_window, close_window, invoke_menu, navigate, go_back, reload.
type Management struct {
	Window ident.Window
	Verb   commonv1.Verb
	Routes []commonv1.Route // permitted routes; no other may be used
	X, Y   float64          // move_window, display-logical points
	W, H   float64          // resize_window
	Path   []string         // invoke_menu, titles from the menu bar down
	Object Object           // invoke_menu by an element, instead of a path
	URL    string           // navigate
}

// Sent says how far an act got.
type Sent int

// How far an act got. NotSent is proof that nothing was sent.
const (
	NotSent Sent = iota
	Accepted
	Declined
	Unanswered
)

// Delivery is what became of a send.
type Delivery struct {
	Sent  Sent
	Route commonv1.Route
	// Answer says why nothing was sent, with NotSent.
	Answer refusal.Answer
	// Count is how many characters were delivered, for typing, or key presses for keys.
	Count int
	// Stopped says why a delivery that had begun was not finished: some of it arrived (C7.4).
	Stopped refusal.Answer
	// Settled says that the effect, if any, is complete: nothing to wait for.
	Settled bool
	// PID is the launched process.
	PID int32
}

// Refused returns a delivery with proof that nothing was sent.
func Refused(a refusal.Answer) Delivery {
	return Delivery{Sent: NotSent, Route: commonv1.Route_ROUTE_NONE, Answer: a}
}

// Capture is a picture of all surfaces of a window.
type Capture struct {
	Image *image.RGBA
	// Scale is pixels per point.
	Scale float64
	// OffsetX and OffsetY place the picture's top left corner in points of the toplevel surface.
	OffsetX, OffsetY float64
}

// Resolution is what an app id stands for.
type Resolution struct {
	AppID      string
	Executable string
	Installed  bool
	Running    bool
}

// DeskState is a sample of what belongs to the user.
type DeskState struct {
	PointerX, PointerY float64
	Focus              uint64
	Active             uint64
	Stacking           []uint64
	Clipboard          uint64
	Locked             bool
	// AgentPointer is the agent's own pointer, nil where there is none.
	AgentPointer *Point
	// Input counts the user's hardware input events, 0 where they cannot be told. A
	// change of the desk between two samples that Input explains is the user's (C12.5).
	Input uint64
}

// ChangeKind is what to look at again.
type ChangeKind int

// What to look at again.
const (
	ChangeWindows ChangeKind = iota + 1
	ChangeTree
	ChangeAbilities
	// ChangeInput is hardware input by the user into Window; the zero window may be any.
	ChangeInput
	// ChangeLock says that the screen was locked or unlocked.
	ChangeLock
	// ChangeLost says that events did not fit: anything may have happened.
	ChangeLost
)

// Change says "look again".
type Change struct {
	Kind   ChangeKind
	PID    int32
	Window ident.Window
}
