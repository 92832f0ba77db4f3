package executor

import (
	"context"
	"image"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/shared/ident"
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
	// Capture takes all surfaces of a window, covered or not, without a cursor (C2.9).
	Capture(ctx context.Context, w ident.Window) (*Capture, error)
	// Resolve says what an app id stands for right now (C3.7).
	Resolve(ctx context.Context, appID string) (Resolution, error)
	// Launch starts a resolved app without giving it focus.
	Launch(ctx context.Context, r Resolution) Delivery
	// Desk samples what belongs to the user.
	Desk(ctx context.Context) (DeskState, error)
	// Watch subscribes to changes. The channel is bounded and lossy: an event says
	// "look again", never what changed. The returned function ends the subscription.
	Watch() (<-chan Change, func())
	// Close lets go of everything.
	Close() error
}

// Check looks at an element as it is now and answers zero to let the act be sent. It
// is called at most once and must not block.
type Check func(now Node) refusal.Answer

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
	// Renderer is the generation of the process that owns the element, when that is
	// not the window's own process (C2.8).
	Renderer uint64
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
	// Count is how many characters were delivered, for typing.
	Count int
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
)

// Change says "look again".
type Change struct {
	Kind ChangeKind
	PID  int32
}
