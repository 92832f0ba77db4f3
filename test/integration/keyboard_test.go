package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	"fairlead.dev/services/shared/refusal"
	"fairlead.dev/services/virtualdesk"
	"fairlead.dev/test/harness"
)

const (
	isArea  = commonv1.Role_ROLE_TEXT_AREA
	isTable = commonv1.Role_ROLE_TABLE

	seat = commonv1.Route_ROUTE_AGENT_SEAT

	kindGranted = hostv1.TimelineKind_TIMELINE_KIND_KEYBOARD_GRANTED
	kindRevoked = hostv1.TimelineKind_TIMELINE_KIND_KEYBOARD_REVOKED
)

// typing is a desk with something for keys, on which everything is permitted.
func typing(t *testing.T) *harness.System {
	t.Helper()
	return harness.Start(t, harness.Options{
		Bundle: allBundle, Desk: virtualdesk.Config{Running: []string{virtualdesk.WorkbenchID, virtualdesk.BrowserID}},
	})
}

// every is a session with every class of lease on an app, and a frame with a picture.
func every(t *testing.T, s *harness.System, app, title string) *harness.Agent {
	t.Helper()
	a := s.AgentOf(t)
	a.AcquireEvery(app)
	a.SeePicture(app, title)
	return a
}

// clickAt clicks the middle of an element in the frame's own picture.
func clickAt(a *harness.Agent, role commonv1.Role, name string) *commonv1.Act {
	x, y := harness.Centre(a.Frame, a.Frame.GetPicture(), a.Element(role, name))
	return harness.ClickPoint(pictureID(a), x, y)
}

// C8.2: who put the focus into something that takes keys, by an act that was verified,
// owns it: editable text, a canvas, a grid. Then it may be typed into without a name.
func TestVerifiedActThatPutsTheFocusGivesTheKeyboard(t *testing.T) {
	for _, tt := range []struct {
		name, app, title, element string
		role                      commonv1.Role
		act                       func(a *harness.Agent, role commonv1.Role, name string) *commonv1.Act
	}{
		{"focus_element on a text field", form, "Form", "Name", isText, focus},
		{"focus_element on a text area", form, "Form", "Notes", isArea, focus},
		{"focus_element on a terminal", virtualdesk.WorkbenchID, "Workbench", "Terminal", commonv1.Role_ROLE_TERMINAL, focus},
		{"focus_element on a grid", virtualdesk.WorkbenchID, "Workbench", "Grid", isTable, focus},
		{"focus_element on a canvas", virtualdesk.WorkbenchID, "Workbench", "Pad", commonv1.Role_ROLE_CANVAS, focus},
		{"focus_element in a page", virtualdesk.BrowserID, "Browser", "Search", isText, focus},
		{"click at a canvas", virtualdesk.WorkbenchID, "Workbench", "Pad", commonv1.Role_ROLE_CANVAS, clickAt},
		{"typing into a named field", form, "Form", "Name", isText, func(a *harness.Agent, r commonv1.Role, n string) *commonv1.Act {
			return harness.TypeText(a.Element(r, n).GetId(), "begun ")
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := typing(t)
			user := s.User()
			a := s.AgentOf(t)
			a.AcquireEvery(tt.app)
			a.SeePicture(tt.app, tt.title)
			if tt.app == virtualdesk.BrowserID {
				harness.Refused(t, a.Do(harness.Navigate(virtualdesk.ShopAddress)).GetRefusal(), 0)
			}
			r := a.Do(tt.act(a, tt.role, tt.element))
			if !r.GetVerified() {
				t.Fatalf("not verified: %v, %v, %v", r.GetEffect(), r.GetVerification(), r.GetRefusal())
			}
			if got := user.Counts().GetKeyboards(); got != 1 || count(user.Kinds(a.ID()), kindGranted) != 1 {
				t.Fatalf("%d keyboards, %v", got, user.Kinds(a.ID()))
			}
			mark := s.Mark()
			act, count := harness.Append("typed"), uint32(5)
			if tt.role == commonv1.Role_ROLE_CANVAS {
				act, count = harness.PressKeys("x"), 1
			}
			r = a.Do(act)
			if r.GetOutcome() != commonv1.Outcome_OUTCOME_OK || r.GetDeliveredCount() != count {
				t.Errorf("outcome %v, delivered %d, %v", r.GetOutcome(), r.GetDeliveredCount(), r.GetRefusal())
			}
			s.Touched(t, mark, tt.element)
			undisturbed(t, r)
		})
	}
}

func focus(a *harness.Agent, role commonv1.Role, name string) *commonv1.Act {
	return harness.Focus(a.Element(role, name).GetId())
}

// C8.2: a verified click into editable text gives its keyboard, by the element or by the
// pixel that shows it.
func TestClickIntoEditableTextGivesTheKeyboard(t *testing.T) {
	for name, act := range map[string]func(*harness.Agent) *commonv1.Act{
		"click_point":   func(a *harness.Agent) *commonv1.Act { return clickAt(a, isText, "Name") },
		"click_element": func(a *harness.Agent) *commonv1.Act { return harness.Click(a.Element(isText, "Name").GetId()) },
	} {
		t.Run(name, func(t *testing.T) {
			s := typing(t)
			a := every(t, s, form, "Form")
			r := a.Do(act(a))
			if !r.GetVerified() {
				t.Errorf("not verified: %v, %v, %v", r.GetEffect(), r.GetVerification(), r.GetRefusal())
			}
			harness.Verified(t, a.Do(harness.Append("typed")), textReadback)
		})
	}
}

// C8.2: what takes no keys is no target, and neither is what has the focus without an act
// of this session.
func TestFocusThatIsNoTargetGivesNoKeyboard(t *testing.T) {
	s := typing(t)
	user := s.User()
	a := every(t, s, form, "Form")
	a.Do(harness.Click(a.Element(isCheck, "Subscribe").GetId()))
	harness.NothingSent(t, a.Do(harness.Append("x")), refusal.KeyboardNotOwned)
	s.Must(s.Desk.UserFocuses(s.Object("Form", isText, "Name")))
	a.See(form, "Form")
	harness.NothingSent(t, a.Do(harness.PressKeys("a")), refusal.KeyboardNotOwned)
	if user.Counts().GetKeyboards() != 0 || count(user.Kinds(a.ID()), kindGranted) != 0 {
		t.Errorf("%v", user.Kinds(a.ID()))
	}
}

// C8.1: an owned target takes texts, chords and held keys, each on the frame that the act
// before it returned, and nothing of it leaves the agent's own seat.
func TestOwnedTargetTakesTextChordsAndHeldKeys(t *testing.T) {
	s := typing(t)
	user := s.User()
	a := every(t, s, form, "Form")
	harness.Verified(t, a.Do(focus(a, isArea, "Notes")), stateReadback)
	notesAre := func(want string) {
		t.Helper()
		if got := s.Value("Form", isArea, "Notes"); got != want {
			t.Fatalf("the field holds %q, want %q", got, want)
		}
	}
	r := a.Do(harness.Append("東京🦊 tower"))
	harness.Verified(t, r, textReadback)
	if r.GetDeliveredCount() != 9 || r.GetRoute() != seat {
		t.Errorf("delivered %d by %v", r.GetDeliveredCount(), r.GetRoute())
	}
	notesAre("東京🦊 tower")
	press := harness.PressKeys("Backspace")
	press.GetPressKeys().Repeat = 5
	r = a.Do(press)
	harness.Verified(t, r, treeDelta)
	if r.GetDeliveredCount() != 5 {
		t.Errorf("%d presses", r.GetDeliveredCount())
	}
	notesAre("東京🦊 ")
	harness.Verified(t, a.Do(harness.PressKeys("shift+x")), treeDelta)
	held := a.Do(harness.HoldKeys("z", 620))
	harness.Verified(t, held, treeDelta)
	n := int(held.GetDeliveredCount())
	if n < 2 {
		t.Errorf("a key held for 620 ms came %d times", n)
	}
	notesAre("東京🦊 x" + strings.Repeat("z", n))
	replace := harness.TypeText(0, "all new")
	replace.GetTypeText().Mode = commonv1.TextMode_TEXT_MODE_REPLACE
	harness.Verified(t, a.Do(replace), textReadback)
	notesAre("all new")
	if user.Counts().GetKeyboards() != 1 || len(user.Losses(a.ID())) != 0 {
		t.Errorf("lost: %v", user.Losses(a.ID()))
	}
	if down := s.Desk.Held(); len(down) != 0 {
		t.Errorf("still down: %v", down)
	}
}

// C8.3: ownership lives on only through verified acts. A chord of which nothing was seen
// proves nothing, so whoever wants to type on focuses again.
func TestChordThatNothingConfirmsEndsTheOwnership(t *testing.T) {
	s := typing(t)
	user := s.User()
	a := every(t, s, form, "Form")
	harness.Verified(t, a.Do(focus(a, isText, "Name")), stateReadback)
	r := a.Do(harness.PressKeys("F9"))
	if r.GetOutcome() != commonv1.Outcome_OUTCOME_OK || r.GetVerified() || r.GetEffect() != commonv1.Effect_EFFECT_UNVERIFIABLE {
		t.Errorf("outcome %v, effect %v", r.GetOutcome(), r.GetEffect())
	}
	harness.NothingSent(t, a.Do(harness.Append("x")), refusal.KeyboardNotOwned)
	if got := user.Losses(a.ID()); len(got) != 1 {
		t.Errorf("lost: %v", got)
	}
}

// C7.4, C8.5: part of a text is UNKNOWN with the exact count; frame and keyboard are gone.
func TestPartOfAnOwnedTextIsUnknownAndEndsFrameAndKeyboard(t *testing.T) {
	for name, fault := range map[string]func(*harness.System) error{
		"the app takes no more": func(s *harness.System) error { return s.Desk.PartialNext(form, 3) },
		"the focus goes elsewhere": func(s *harness.System) error {
			return s.Desk.MoveFocusNext(s.Object("Form", isArea, "Notes"), 3)
		},
	} {
		for _, submits := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, submit %v", name, submits), func(t *testing.T) {
				s := harness.Start(t, harness.Options{})
				user := s.User()
				a := owned(t, s, "Form", isText, "Name")
				s.Must(fault(s))
				spent, act := a.Frame.GetFrame(), harness.Append("東京🦊 tower")
				act.GetTypeText().Submit = submits
				mark := s.Mark()
				r := a.Do(act)
				harness.Unknown(t, r)
				if r.GetDeliveredCount() != 3 || s.Value("Form", isText, "Name") != "東京🦊" {
					t.Errorf("delivered %d, the field holds %q", r.GetDeliveredCount(), s.Value("Form", isText, "Name"))
				}
				// Nothing went to where the focus went, and Return was not pressed (C8.5).
				s.Touched(t, mark, "Name")
				if got := s.Value("Form", isArea, "Notes"); got != "" {
					t.Errorf("the other field holds %q", got)
				}
				mark = s.Mark()
				harness.NothingSent(t, a.DoOn(spent, act), refusal.DuplicateAction)
				harness.NothingSent(t, a.Do(harness.Append("x")), refusal.KeyboardNotOwned)
				s.Untouched(t, mark)
				if got := user.Losses(a.ID()); len(got) != 1 || user.Counts().GetKeyboards() != 0 {
					t.Errorf("lost: %v", got)
				}
			})
		}
	}
}

// C8.5: Return is pressed after the whole text was read back, and in the same act.
func TestSubmitIsPressedAfterTheWholeTextIsThere(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	a := owned(t, s, "Form", isText, "Name")
	mark := s.Mark()
	r := a.Do(harness.Submitted(harness.Append("whole")))
	harness.Verified(t, r, textReadback)
	got := s.Reached(mark)
	if len(got) != 2 || got[0].Verb != commonv1.Verb_VERB_TYPE_TEXT || got[1].Verb != commonv1.Verb_VERB_PRESS_KEYS ||
		got[0].Element != "Name" || got[1].Element != "Name" {
		t.Errorf("reached: %+v", got)
	}
	if !harness.Shows(r.GetObservation(), "Name submitted") || s.Value("Form", isText, "Name") != "whole" {
		t.Errorf("%s", r.GetObservation().GetOutline())
	}
}

// C8.3: everything that ends ownership, by its own cause, and nothing typed afterwards.
func TestKeyboardIsLost(t *testing.T) {
	type loss = hostv1.KeyboardLoss
	const (
		failure     = hostv1.KeyboardLoss_KEYBOARD_LOSS_FAILURE
		refusedAct  = hostv1.KeyboardLoss_KEYBOARD_LOSS_REFUSED
		observation = hostv1.KeyboardLoss_KEYBOARD_LOSS_OBSERVATION
		input       = hostv1.KeyboardLoss_KEYBOARD_LOSS_INPUT
		generation  = hostv1.KeyboardLoss_KEYBOARD_LOSS_GENERATION
		turn        = hostv1.KeyboardLoss_KEYBOARD_LOSS_TURN
		session     = hostv1.KeyboardLoss_KEYBOARD_LOSS_SESSION
		stop        = hostv1.KeyboardLoss_KEYBOARD_LOSS_STOP
		pause       = hostv1.KeyboardLoss_KEYBOARD_LOSS_PAUSE
		lock        = hostv1.KeyboardLoss_KEYBOARD_LOSS_LOCK
		target      = hostv1.KeyboardLoss_KEYBOARD_LOSS_TARGET
		replaced    = hostv1.KeyboardLoss_KEYBOARD_LOSS_REPLACED
	)
	type scene struct {
		*testing.T
		s    *harness.System
		user *harness.User
		a    *harness.Agent
	}
	for _, tt := range []struct {
		name string
		does func(sc scene)
		why  loss
		then refusal.Code
	}{
		{"another observation", func(sc scene) { sc.a.See(form, "Form") }, observation, refusal.KeyboardNotOwned},
		{"an observation of another window", func(sc scene) { sc.a.See(form, "Log") }, observation, refusal.KeyboardNotOwned},
		{"a refused act", func(sc scene) {
			harness.NothingSent(sc, sc.a.Do(press(sc.a, "Delete")), refusal.UnsupportedAction)
		}, refusedAct, refusal.KeyboardNotOwned},
		{"an act on a stale frame", func(sc scene) {
			f := &commonv1.FrameRef{FrameId: "f-old", Epoch: sc.a.Frame.GetFrame().GetEpoch() - 1}
			harness.NothingSent(sc, sc.a.DoOn(f, press(sc.a, "More")), refusal.StaleEpoch)
		}, refusedAct, refusal.KeyboardNotOwned},
		{"a failed act", func(sc scene) {
			sc.s.Must(sc.s.Desk.DeclineNext(form))
			harness.Refused(sc, sc.a.Do(harness.Append("x")).GetRefusal(), refusal.DispatchRefused)
		}, failure, refusal.KeyboardNotOwned},
		{"an act that nobody knows the outcome of", func(sc scene) {
			sc.s.Must(sc.s.Desk.UnansweredNext(form, false))
			harness.Unknown(sc, sc.a.Do(harness.Append("x")))
		}, failure, refusal.KeyboardNotOwned},
		{"a stop", func(sc scene) { sc.user.Stop(sc.a.ID()) }, stop, refusal.UserStopped},
		{"a stop of all", func(sc scene) { sc.user.StopAll() }, stop, refusal.UserStopped},
		{"a pause", func(sc scene) { sc.user.Pause(sc.a.ID()); sc.user.Resume(sc.a.ID()) }, pause, refusal.StaleGeneration},
		{"a take-over", func(sc scene) { sc.user.TakeOver(sc.a.ID()) }, pause, refusal.Paused},
		{"the end of the turn", func(sc scene) { sc.a.EndTurn() }, turn, refusal.TurnEnded},
		{"another turn", func(sc scene) { sc.a.BeginTurn() }, turn, refusal.NoActiveFrame},
		{"the end of the session", func(sc scene) { sc.a.EndSession() }, session, refusal.SessionUnknown},
		{"the lock", func(sc scene) {
			sc.s.Must(sc.s.Desk.Lock())
			sc.s.Await("the session is locked", func() bool { return len(sc.a.State().GetHolds()) == 1 })
		}, lock, refusal.ScreenLocked},
		{"the user's input into the window between acts", func(sc scene) {
			sc.s.Must(sc.s.Desk.UserInput(sc.s.Window("Form").ID))
		}, input, refusal.KeyboardNotOwned},
		{"the user's own typing", func(sc scene) {
			sc.s.Must(sc.s.Desk.UserTypes(sc.s.Window("Form").ID, "user"))
		}, input, refusal.KeyboardNotOwned},
		{"another session's act on the window", func(sc scene) {
			b := ready(sc.T, sc.s, form, "Form")
			harness.Verified(sc, b.Do(press(b, "More")), windowSet)
		}, replaced, refusal.ReobserveRequired},
		{
			"another session that focuses there", func(sc scene) { owned(sc.T, sc.s, "Form", isArea, "Notes") },
			replaced, refusal.ReobserveRequired,
		},
		{
			"the window is gone", func(sc scene) { sc.s.Must(sc.s.Desk.CloseWindow(sc.s.Window("Form").ID)) },
			target, refusal.KeyboardNotOwned,
		},
		{"the app is gone", func(sc scene) { sc.s.Must(sc.s.Desk.Die(form)) }, target, refusal.KeyboardNotOwned},
		{"another executor", func(sc scene) { sc.s.RestartExecutor() }, generation, refusal.StaleGeneration},
		{"another policy", func(sc scene) { sc.s.RestartPolicy() }, generation, refusal.StaleGeneration},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := harness.Start(t, harness.Options{})
			user := s.User()
			a := owned(t, s, "Form", isText, "Name")
			old := a.Frame.GetFrame()
			tt.does(scene{t, s, user, a})
			s.Await("the keyboard is lost", func() bool { return len(user.Losses(a.ID())) > 0 })
			// Only the first loss is one: nothing is lost twice.
			if got := user.Losses(a.ID()); len(got) != 1 || got[0] != tt.why {
				t.Errorf("lost by %v, want %v", got, tt.why)
			}
			inOrder(t, user.Kinds(a.ID()), kindGranted, kindRevoked)
			mark := s.Mark()
			harness.NothingSent(t, a.Do(harness.Append("never")), tt.then)
			// Nor on the frame by which it was owned.
			r := a.DoOn(old, harness.Append("never again"))
			if r.GetOutcome() != commonv1.Outcome_OUTCOME_REFUSED || r.GetRefusal() == nil {
				t.Errorf("outcome %v", r.GetOutcome())
			}
			s.Untouched(t, mark)
		})
	}
}

// C8.2, C8.3: an act of its own that puts the focus elsewhere moves the ownership along;
// people are told that the old target is lost, and nothing more goes there.
func TestOwnershipFollowsTheSessionsOwnFocus(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	user := s.User()
	a := owned(t, s, "Form", isText, "Name")
	harness.Verified(t, a.Do(focus(a, isArea, "Notes")), stateReadback)
	harness.Verified(t, a.Do(harness.Append("here")), textReadback)
	if name, area := s.Value("Form", isText, "Name"), s.Value("Form", isArea, "Notes"); name != "" || area != "here" {
		t.Errorf("Name holds %q, Notes %q", name, area)
	}
	if got := user.Counts().GetKeyboards(); got != 1 {
		t.Errorf("%d keyboards", got)
	}
	inOrder(t, user.Kinds(a.ID()), kindGranted, kindRevoked, kindGranted)
	if got := user.Losses(a.ID()); !slices.Equal(got, []hostv1.KeyboardLoss{hostv1.KeyboardLoss_KEYBOARD_LOSS_REPLACED}) {
		t.Errorf("lost by %v", got)
	}
}

// C8.1, C1.4: a page that was replaced is another target.
func TestKeyboardOfAPageIsLostWithThePage(t *testing.T) {
	s := typing(t)
	a := every(t, s, virtualdesk.BrowserID, "Browser")
	harness.Refused(t, a.Do(harness.Navigate(virtualdesk.ShopAddress)).GetRefusal(), 0)
	harness.Verified(t, a.Do(focus(a, isText, "Search")), stateReadback)
	r := a.Do(harness.Append("tea"))
	harness.Verified(t, r, commonv1.VerificationMethod_VERIFICATION_METHOD_PAGE_READBACK)
	s.Must(s.Desk.ReloadPage(s.Window(a.Frame.GetTitle()).ID))
	mark := s.Mark()
	harness.NothingSent(t, a.Do(harness.Append("x")), refusal.PageTargetChanged)
	harness.NothingSent(t, a.Do(harness.Append("y")), refusal.KeyboardNotOwned)
	s.Untouched(t, mark)
	if got := s.User().Losses(a.ID()); len(got) != 1 {
		t.Errorf("lost: %v", got)
	}
}

// C10.4, C8.5: a field that became secure takes nothing, also from its owner.
func TestOwnedFieldThatBecameSecureTakesNothing(t *testing.T) {
	s := typing(t)
	a := every(t, s, form, "Form")
	secretField := a.Element(commonv1.Role_ROLE_SECURE_FIELD, "Password").GetId()
	for _, act := range []*commonv1.Act{
		harness.Focus(secretField), harness.TypeText(secretField, "x"), clickAt(a, commonv1.Role_ROLE_SECURE_FIELD, "Password"),
	} {
		harness.NothingSent(t, a.Do(act), refusal.SecureField)
	}
	harness.Verified(t, a.Do(focus(a, isText, "Name")), stateReadback)
	s.Must(s.Desk.MakeSecure(s.Object("Form", isText, "Name"), true))
	mark := s.Mark()
	harness.NothingSent(t, a.Do(harness.Append("x")), refusal.SecureField)
	s.Untouched(t, mark)
	if n := len(s.Desk.Inputs(s.Window("Form").ID)); n != 0 {
		t.Errorf("%d events of input reached the window", n)
	}
}

// C0.11, protocol.md: Delete means opposite things on the two platforms.
func TestAmbiguousKeyIsRefusedByItsOwnCode(t *testing.T) {
	s := typing(t)
	a := every(t, s, form, "Form")
	harness.Verified(t, a.Do(focus(a, isText, "Name")), stateReadback)
	mark := s.Mark()
	for _, keys := range []string{"Delete", "del", "ctrl+DELETE"} {
		harness.NothingSent(t, a.Do(harness.PressKeys(keys)), refusal.AmbiguousKey)
		harness.NothingSent(t, a.Do(harness.HoldKeys(keys, 10)), refusal.AmbiguousKey)
	}
	for _, keys := range []string{"ctrl+", "ctrl", "a+b", "hyper+a", "ctrl+ctrl+a", "ab", "Super+Nothing"} {
		_, err := a.Send(on(a, harness.PressKeys(keys)))
		harness.Status(t, err, codes.InvalidArgument)
	}
	s.Untouched(t, mark)
}

// C3.1: two spellings of a chord are one act: the same act id answers from the record.
func TestSpellingsOfOneChordAreOneAct(t *testing.T) {
	s := typing(t)
	a := every(t, s, form, "Form")
	harness.Verified(t, a.Do(focus(a, isText, "Name")), stateReadback)
	harness.Verified(t, a.Do(harness.Append("text")), textReadback)
	frame, mark := a.Frame.GetFrame(), s.Mark()
	send := func(keys string, repeat uint32) (*hostv1.ActResponse, error) {
		act := harness.PressKeys(keys)
		act.GetPressKeys().Repeat = repeat
		return a.Send(&hostv1.ActRequest{ActId: "chord", Frame: frame, Act: act})
	}
	for i, keys := range []string{"Ctrl+Shift+backspace", "control+shift+Backspace", "SHIFT+ctrl+BackSpace"} {
		r, err := send(keys, uint32(i%2))
		s.Must(err)
		if r.GetOutcome() != commonv1.Outcome_OUTCOME_OK {
			t.Errorf("%s: %v", keys, r.GetRefusal())
		}
	}
	s.Touched(t, mark, "Name")
	for _, other := range []func() (*hostv1.ActResponse, error){
		func() (*hostv1.ActResponse, error) { return send("ctrl+backspace", 1) },
		func() (*hostv1.ActResponse, error) { return send("ctrl+shift+backspace", 2) },
	} {
		_, err := other()
		harness.Status(t, err, codes.InvalidArgument)
	}
	s.Touched(t, mark, "Name")
}

// C8: at any moment a window has one owner or none, and what a session types lands in the
// window that it owns and in no other, whatever the others do meanwhile.
func TestSessionsThatTypeAtOnceNeverShareAWindow(t *testing.T) {
	const windows, each, rounds = 3, 2, 4
	s := typing(t)
	user := s.User()
	titles := make([]string, windows)
	ids := make([]uint64, windows)
	for i := range titles {
		id, err := s.Desk.Cover(s.Window("Form").ID, calculator)
		s.Must(err)
		s.Must(s.Desk.Move(id, float64(2000+700*i), 0))
		s.Must(s.Desk.Populate(id, 12))
		titles[i], ids[i] = fmt.Sprintf("window %d", i), id
	}
	var agents []*harness.Agent
	for i := range windows * each {
		a := s.AgentOf(t)
		a.AcquireAll(calculator)
		for _, w := range a.Windows(calculator) {
			if w.GetWindow().GetWindowId() == ids[i%windows] {
				harness.Refused(t, a.Look(harness.OfWindow(w.GetWindow())).GetRefusal(), 0)
			}
		}
		agents = append(agents, a)
	}
	done := make(chan struct{})
	most := make(chan uint32, 1)
	go func() {
		top := uint32(0)
		for {
			select {
			case <-done:
				most <- top
				return
			default:
				top = max(top, user.Counts().GetKeyboards())
			}
		}
	}()
	var g errgroup.Group
	for i, a := range agents {
		g.Go(func() error { return typeAlone(a, fmt.Sprintf("<%d>", i), rounds) })
	}
	s.Must(g.Wait())
	close(done)
	if top := <-most; top > windows {
		t.Errorf("%d owners of %d windows", top, windows)
	}
	for w, id := range ids {
		var texts string
		for i := range 3 {
			n := fmt.Sprintf("Item %d", 2+4*i)
			if o, err := s.Desk.Element(id, isText, n); err == nil {
				node, err := s.Desk.Reread(t.Context(), agents[w].Identity(), o)
				s.Must(err)
				texts += node.Value
			}
		}
		for i := range agents {
			mine := i%windows == w
			if landed := strings.Contains(texts, fmt.Sprintf("<%d>", i)); landed && !mine {
				t.Errorf("what session %d typed is in %s: %q", i, titles[w], texts)
			}
		}
		typed := 0
		for _, e := range s.Desk.Journal(id) {
			if e.Verb == commonv1.Verb_VERB_TYPE_TEXT {
				typed++
			}
		}
		if typed == 0 {
			t.Errorf("nobody typed into %s", titles[w])
		}
		if got := strings.Count(texts, "<"); got > typed {
			t.Errorf("%d texts of %d acts", got, typed)
		}
	}
}

// typeAlone focuses the window's text and types into it, looking again whenever another
// session was there first.
func typeAlone(a *harness.Agent, text string, times int) error {
	window := a.Frame.GetWindow()
	for typed, tries := 0, 0; typed < times; tries++ {
		if tries > 400 {
			return fmt.Errorf("session typed %d times in %d tries", typed, tries)
		}
		r, err := a.TryLook(harness.OfWindow(window))
		if err != nil {
			return err
		}
		e, err := harness.Find(r.GetObservation(), isText, "Item 2")
		if err != nil {
			continue
		}
		focused, err := a.Send(on(a, harness.Focus(e.GetId())))
		if err != nil {
			return err
		}
		if !focused.GetVerified() {
			continue
		}
		did, err := a.Send(on(a, harness.Append(text)))
		if err != nil {
			return err
		}
		switch code := did.GetRefusal().GetCode(); {
		case did.GetOutcome() == commonv1.Outcome_OUTCOME_OK:
			typed++
		case !slices.Contains([]refusal.Code{
			refusal.KeyboardNotOwned, refusal.ReobserveRequired, refusal.NoActiveFrame, refusal.StaleFrame, refusal.StaleEpoch,
			refusal.TargetChanged,
		}, code):
			return fmt.Errorf("refused with %v", code)
		}
	}
	return nil
}

// C4.2: the seat is taken at most 2 s at a time: a window that takes its time for a long
// text keeps no other from its own.
func TestSlowWindowDoesNotKeepTheSeat(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	s.Must(s.Desk.Start(notes))
	user := s.User()
	slowest := owned(t, s, "Form", isArea, "Notes")
	other := ready(t, s, notes, "Untitled note")
	harness.Verified(t, other.Do(focus(other, isArea, "Note")), stateReadback)
	s.Must(s.Desk.Pace(form, 500*time.Millisecond))
	running := slowest.Start(slowest.Context(), on(slowest, harness.Append(strings.Repeat("x", 480))))
	s.Await("some of it arrives", func() bool { return s.Value("Form", isArea, "Notes") != "" })
	harness.Verified(t, other.Do(harness.Append("here")), textReadback)
	if user.Counts().GetActsInFlight() != 1 {
		t.Error("the slow one ended first")
	}
	harness.Verified(t, slowest.Wait(running).ActResponse, textReadback)
	if got := s.Value("Untitled note", isArea, "Note"); got != "here" {
		t.Errorf("the note is %q", got)
	}
}

// C7.4, C8.5: no character is split and no count is off, wherever the text is cut.
func TestCutTextIsCountedInCharactersWhereverItIsCut(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	const text = "aé東🦊\u0301ß-İ x"
	for cut := 1; cut < utf8.RuneCountInString(text); cut++ {
		s.Must(s.Desk.Relaunch(form))
		a := owned(t, s, "Form", isText, "Name")
		s.Must(s.Desk.PartialNext(form, cut))
		r := a.Do(harness.Append(text))
		harness.Unknown(t, r)
		want := string([]rune(text)[:cut])
		if got := s.Value("Form", isText, "Name"); got != want || int(r.GetDeliveredCount()) != cut {
			t.Errorf("cut at %d: delivered %d, %q", cut, r.GetDeliveredCount(), got)
		}
	}
}

// C8.4, C0.3: typing never asks who has the user's focus and never takes it.
func TestTypingLeavesTheUsersWindowAlone(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	s.Must(s.Desk.UserActivates(s.Window("Calculator").ID))
	before, err := s.Desk.Desk(t.Context())
	s.Must(err)
	a := owned(t, s, "Form", isText, "Name")
	s.Must(s.Desk.Pace(form, 2*time.Millisecond))
	r := a.Do(harness.Append(strings.Repeat("x", 100)))
	harness.Verified(t, r, textReadback)
	undisturbed(t, r)
	after, err := s.Desk.Desk(t.Context())
	s.Must(err)
	if before.Focus != after.Focus || before.Active != after.Active || !slices.Equal(before.Stacking, after.Stacking) ||
		before.PointerX != after.PointerX || before.PointerY != after.PointerY {
		t.Errorf("before %+v, after %+v", before, after)
	}
	if n := len(s.Desk.Inputs(s.Window("Calculator").ID)); n != 0 {
		t.Errorf("%d events of input reached the user's window", n)
	}
}
