package virtualdesk

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
)

// notes is a bench whose note pad holds a text, with the caret behind it.
func notes(t *testing.T, text string) (stage, ident.Window, executor.Object) {
	s := newBench(t)
	w := s.window("Untitled note")
	o := s.object(w, commonv1.Role_ROLE_TEXT_AREA, "Note")
	s.must(s.SetValue(o, text))
	return s, w, o
}

func TestTextIsTypedInChunksThatSplitNoCharacter(t *testing.T) {
	s, w, o := notes(t, "old")
	text := strings.Repeat("ü日🙂x", 20)
	var asked seen
	got := s.Deliver(t.Context(), typeInto(w, o, text), asked.agree)
	if got.Sent != executor.Accepted || got.Count != 80 || got.Stopped != 0 || !slices.Equal(asked.at, []int{0, 32, 64}) {
		t.Errorf("%+v, asked %v", got, asked.at)
	}
	for i, u := range asked.was {
		if u.Surface != w.ID || u.Node.Object != o || !u.Focused || !utf8.ValidString(u.Node.Value) {
			t.Errorf("%d: %+v", i, u)
		}
	}
	if v := s.value(w, o); v != text {
		t.Errorf("%q", v)
	}
	for _, e := range s.Inputs(w.ID) {
		if e.Kind != InputText || e.Key != "" || e.Characters > 32 {
			t.Errorf("%+v", e)
		}
	}
}

func TestTypingModesAndPaste(t *testing.T) {
	paste, typing := commonv1.Verb_VERB_PASTE, commonv1.Verb_VERB_TYPE_TEXT
	replace, after := commonv1.TextMode_TEXT_MODE_REPLACE, commonv1.TextMode_TEXT_MODE_APPEND
	for _, tt := range []struct {
		verb commonv1.Verb
		mode commonv1.TextMode
		text string
		want string
	}{
		{typing, 0, "new", "new"},
		{typing, replace, "", ""},
		{typing, after, "\nnew", "one two\nnew"},
		{paste, 0, "X", "one Xtwo"},
		{paste, replace, "X", "X"},
		{paste, after, "X", "one twoX"},
	} {
		s, w, o := notes(t, "one two")
		for range 3 {
			s.sent(pressInto(t, w, o, "Left"))
		}
		in := typeInto(w, o, tt.text)
		in.Verb, in.Mode = tt.verb, tt.mode
		if got := s.sent(in); got.Count != characters(tt.text) || s.value(w, o) != tt.want {
			t.Errorf("%v %v: %q, %+v", tt.verb, tt.mode, s.value(w, o), got)
		}
	}
	s := newStage(t)
	w := s.window("Form")
	o := s.object(w, commonv1.Role_ROLE_TEXT_FIELD, "Name")
	if got := s.sent(typeInto(w, o, "a\r\nb")); got.Count != 4 || s.value(w, o) != "a  b" {
		t.Errorf("one line: %+v, %q", got, s.value(w, o))
	}
}

func TestPasteIsOneStep(t *testing.T) {
	s, w, o := notes(t, "")
	in := typeInto(w, o, strings.Repeat("日", 100))
	in.Verb = commonv1.Verb_VERB_PASTE
	var asked seen
	if got := s.Deliver(t.Context(), in, asked.agree); got.Count != 100 || len(asked.at) != 1 {
		t.Errorf("%+v, asked %v", got, asked.at)
	}
	if s.desk().Clipboard != clipboardOwner {
		t.Error("the user's clipboard was taken")
	}
}

func TestTypingThatTheCheckStopsIsToldWithItsCount(t *testing.T) {
	s, w, o := notes(t, "")
	var asked seen
	got := s.Deliver(t.Context(), typeInto(w, o, strings.Repeat("a", 100)), asked.until(2, refusal.AnswerAborted))
	if got.Sent != executor.Accepted || got.Stopped != refusal.AnswerAborted || got.Count != 64 ||
		s.value(w, o) != strings.Repeat("a", 64) {
		t.Errorf("%+v, %d characters", got, len(s.value(w, o)))
	}
	if j := s.Journal(w.ID); len(j) != 1 || j[0].Count != 64 || j[0].Stopped != refusal.AnswerAborted {
		t.Errorf("%+v", j)
	}
}

func TestFocusThatMovesInTheMiddleStopsTheTyping(t *testing.T) {
	s := newStage(t)
	w := s.window("Form")
	name, other := s.object(w, commonv1.Role_ROLE_TEXT_FIELD, "Name"), s.object(w, commonv1.Role_ROLE_TEXT_AREA, "Notes")
	s.must(s.MoveFocusNext(other, 5))
	s.mustPress(w, "More")
	var asked seen
	got := s.Deliver(t.Context(), typeInto(w, name, "0123456789"), asked.agree)
	if got.Sent != executor.Accepted || got.Stopped != refusal.AnswerFocusChanged || got.Count != 5 ||
		s.value(w, name) != "01234" || s.value(w, other) != "" {
		t.Errorf("%+v, %q, %q", got, s.value(w, name), s.value(w, other))
	}
	if len(asked.was) != 2 || asked.was[1].Focused || asked.at[1] != 5 {
		t.Errorf("asked %+v", asked)
	}
}

func TestPartialNextAppliesToKeysToo(t *testing.T) {
	for n, want := range map[int]string{0: "", 3: "Grü", 40: strings.Repeat("x", 40)} {
		s, w, o := notes(t, "old")
		s.must(s.PartialNext(NotesID, n))
		s.sent(pressInto(t, w, o, "End"))
		text := "Grüße"
		if n == 40 {
			text = strings.Repeat("x", 100)
		}
		got := s.Deliver(t.Context(), typeInto(w, o, text), anyInput)
		if got.Sent != executor.Accepted || got.Count != n || got.Stopped != refusal.AnswerDispatchRefused ||
			s.value(w, o) != want {
			t.Errorf("%d: %+v, %q", n, got, s.value(w, o))
		}
	}
}

func TestKeysGoToTheFocusedElementOnly(t *testing.T) {
	s := newStage(t)
	w := s.window("Form")
	name, notes := s.object(w, commonv1.Role_ROLE_TEXT_FIELD, "Name"), s.object(w, commonv1.Role_ROLE_TEXT_AREA, "Notes")
	owned := typeInto(w, name, "x")
	owned.Focus = false
	var asked seen
	s.refused(s.Deliver(t.Context(), owned, asked.agree), refusal.AnswerFocusChanged)
	if asked.was[0].Focused {
		t.Error("said to be focused")
	}
	s.untouched()
	s.must(s.UserFocuses(name))
	s.sent(owned)
	if s.value(w, name) != "x" || s.focused(w) != name {
		t.Error("not typed")
	}
	s.refused(s.Deliver(t.Context(), typeInto(w, notes, "y"), asked.until(1, refusal.AnswerElementChanged)),
		refusal.AnswerElementChanged)
	if !asked.was[1].Focused || s.focused(w) != name || s.value(w, notes) != "" {
		t.Errorf("the focus was not put back: %+v", asked.was)
	}
}

func TestElementsThatTakeNoKeysAreRefused(t *testing.T) {
	s := newBench(t)
	form, bench := s.window("Form"), s.window("Workbench")
	secret := s.object(form, commonv1.Role_ROLE_SECURE_FIELD, "Password")
	box := s.object(form, commonv1.Role_ROLE_CHECK_BOX, "Subscribe")
	gone := s.object(form, commonv1.Role_ROLE_TEXT_AREA, "Notes")
	disabled := s.object(form, commonv1.Role_ROLE_TEXT_FIELD, "Name")
	s.must(s.RemoveElement(gone))
	s.must(s.DisableElement(disabled, true))
	long := pressInto(t, form, box, "Space")
	long.Verb, long.Hold = commonv1.Verb_VERB_HOLD_KEYS, holdMax+1
	often := pressInto(t, form, box, "Space")
	often.Repeat = pressesMax + 1
	for i, tt := range []struct {
		in   executor.Input
		want refusal.Answer
	}{
		{typeInto(form, secret, "x"), refusal.AnswerElementSecure},
		{pressInto(t, form, secret, "a"), refusal.AnswerElementSecure},
		{typeInto(form, gone, "x"), refusal.AnswerElementReleased},
		{typeInto(bench, disabled, "x"), refusal.AnswerElementReleased},
		{typeInto(form, disabled, "x"), refusal.AnswerElementDisabled},
		{typeInto(form, box, "x"), refusal.AnswerElementNotActionable},
		{
			pressInto(t, form, s.object(form, commonv1.Role_ROLE_HEADING, "Account"), "a"),
			refusal.AnswerElementNotActionable,
		},
		{keysTo(form, box, commonv1.Verb_VERB_PRESS_KEYS), refusal.AnswerNotSupported},
		{long, refusal.AnswerNotSupported},
		{often, refusal.AnswerNotSupported},
	} {
		if got := s.Deliver(t.Context(), tt.in, anyInput); got != executor.Refused(tt.want) {
			t.Errorf("%d: %+v, want %v", i, got, tt.want)
		}
	}
	s.untouched()
	_, err := s.OpenModal(form.ID)
	s.must(err)
	s.refused(s.Deliver(t.Context(), pressInto(t, form, box, "Space"), anyInput), refusal.AnswerWindowOccluded)
	s.unreached(form.ID)
}

func TestFieldThatBecomesSecureTakesNoMoreOfTheText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		w := s.window("Form")
		o := s.object(w, commonv1.Role_ROLE_TEXT_FIELD, "Name")
		s.must(s.Pace(FormID, time.Second))
		time.AfterFunc(500*time.Millisecond, func() { s.must(s.MakeSecure(o, true)) })
		got := s.Deliver(t.Context(), typeInto(w, o, strings.Repeat("a", 40)), anyInput)
		if got.Stopped != refusal.AnswerElementSecure || got.Count != 32 {
			t.Errorf("%+v", got)
		}
	})
}

func TestKeysEditText(t *testing.T) {
	type keys = []string
	for _, tt := range []struct {
		text string
		keys keys
		want string
	}{
		{"ab", keys{"c"}, "abc"},
		{"ab", keys{"Space", "shift+C"}, "ab C"},
		{"ab", keys{"Return", "c"}, "ab\nc"},
		{"日本", keys{"Backspace"}, "日"},
		{"a", keys{"Backspace", "Backspace"}, ""},
		{"ab", keys{"Left", "ForwardDelete"}, "a"},
		{"ab", keys{"Home", "x"}, "xab"},
		{"ab\ncd", keys{"Home", "x"}, "ab\nxcd"},
		{"ab\ncd", keys{"Up", "x"}, "abx\ncd"},
		{"ab\ncd", keys{"ctrl+Home", "Down", "x"}, "ab\nxcd"},
		{"ab\ncd", keys{"ctrl+Home", "End", "x"}, "abx\ncd"},
		{"abc\nd", keys{"ctrl+Home", "Right", "Right", "Down", "x"}, "abc\ndx"},
		{"ab", keys{"ctrl+a", "x"}, "x"},
		{"ab", keys{"cmd+a", "Backspace"}, ""},
		{"abc", keys{"shift+Left", "shift+Left", "x"}, "ax"},
		{"abc", keys{"shift+Home", "ForwardDelete"}, ""},
		{"", keys{"Backspace", "ForwardDelete", "Left", "Up", "x"}, "x"},
		{"ab", keys{"ctrl+z", "F5", "Insert"}, "ab"},
		{"ab", keys{"ctrl+a", "ctrl+x"}, ""},
	} {
		s, w, o := notes(t, tt.text)
		for _, k := range tt.keys {
			s.sent(pressInto(t, w, o, k))
		}
		if v := s.value(w, o); v != tt.want {
			t.Errorf("%q and %v gives %q, want %q", tt.text, tt.keys, v, tt.want)
		}
	}
}

func TestCopyingTakesTheUsersClipboardAndIsSeen(t *testing.T) {
	s, w, o := notes(t, "ab")
	s.sent(pressInto(t, w, o, "ctrl+a"))
	if s.desk().Clipboard != clipboardOwner {
		t.Error("taken by selecting")
	}
	s.sent(pressInto(t, w, o, "ctrl+c"))
	if s.desk().Clipboard != w.ID || s.value(w, o) != "ab" {
		t.Error("copying is not seen")
	}
}

func TestKeysUseControls(t *testing.T) {
	form := func(s stage) ident.Window { return s.window("Form") }
	bench := func(s stage) ident.Window { return s.window("Workbench") }
	for _, tt := range []struct {
		window func(stage) ident.Window
		role   commonv1.Role
		name   string
		keys   []string
		shows  func(stage, executor.Node) bool
	}{
		{form, commonv1.Role_ROLE_CHECK_BOX, "Subscribe", []string{"Space"}, checked},
		{form, commonv1.Role_ROLE_CHECK_BOX, "Subscribe", []string{"Return"}, unchecked},
		{form, commonv1.Role_ROLE_BUTTON, "Submit", []string{"Return"}, func(s stage, _ executor.Node) bool {
			return s.window("Confirm").ID != 0
		}},
		{form, commonv1.Role_ROLE_LINK, "Help", []string{"Space"}, func(s stage, _ executor.Node) bool {
			return s.node(s.window("Form"), commonv1.Role_ROLE_LABEL, "Help opened").Name != ""
		}},
		{form, commonv1.Role_ROLE_SLIDER, "Volume", []string{"Up", "Right", "Down"}, valued("31")},
		{form, commonv1.Role_ROLE_SLIDER, "Volume", []string{"End"}, valued("100")},
		{form, commonv1.Role_ROLE_SPIN_BUTTON, "Quantity", []string{"Home", "Left"}, valued("0")},
		{form, commonv1.Role_ROLE_COMBO_BOX, "Color", []string{"Down"}, valued("Blue")},
		{form, commonv1.Role_ROLE_COMBO_BOX, "Color", []string{"Up", "Up"}, valued("Red")},
		{bench, commonv1.Role_ROLE_TERMINAL, "Terminal", []string{"l", "x", "Backspace", "s", "Return"}, valued("$ ls\nran ls\n$ ")},
		{bench, commonv1.Role_ROLE_TABLE, "Grid", []string{"Down", "Right", "4", "2"}, valued("B2")},
		{bench, commonv1.Role_ROLE_CANVAS, "Pad", []string{"Up", "a"}, valued("keys 2")},
	} {
		t.Run(tt.name+" "+strings.Join(tt.keys, " "), func(t *testing.T) {
			s := newBench(t)
			w := tt.window(s)
			o := s.object(w, tt.role, tt.name)
			for _, k := range tt.keys {
				s.sent(pressInto(t, w, o, k))
			}
			n, err := s.Reread(t.Context(), w, o)
			if err != nil || !tt.shows(s, n) {
				t.Errorf("%+v, %v", n, err)
			}
		})
	}
}

func checked(_ stage, n executor.Node) bool {
	return n.States.Has(commonv1.ElementState_ELEMENT_STATE_CHECKED)
}
func unchecked(s stage, n executor.Node) bool { return !checked(s, n) }
func valued(want string) func(stage, executor.Node) bool {
	return func(_ stage, n executor.Node) bool { return n.Value == want }
}

func TestTerminalAndGridTakeText(t *testing.T) {
	s := newBench(t)
	w := s.window("Workbench")
	screen, grid := s.object(w, 0, "Terminal"), s.object(w, commonv1.Role_ROLE_TABLE, "Grid")
	s.sent(typeInto(w, screen, "make\n"))
	if v := s.value(w, screen); v != "$ make\nran make\n$ " {
		t.Errorf("%q", v)
	}
	s.sent(typeInto(w, grid, "12"))
	s.sent(clickAt(w, s.on(w, commonv1.Role_ROLE_CELL, "C2")))
	s.sent(typeInto(w, grid, "7"))
	pad := s.object(w, 0, "Pad")
	s.sent(typeInto(w, pad, "日本"))
	if v := s.value(w, pad); v != "keys 2" {
		t.Errorf("%q", v)
	}
	if s.node(w, commonv1.Role_ROLE_CELL, "A1").Value != "12" || s.node(w, commonv1.Role_ROLE_CELL, "C2").Value != "7" {
		t.Error("not in their cells")
	}
}

func TestRepeatedKeyThatMovesTheFocusStopsThere(t *testing.T) {
	s := newStage(t)
	w := s.window("Form")
	name := s.object(w, commonv1.Role_ROLE_TEXT_FIELD, "Name")
	in := pressInto(t, w, name, "Tab")
	in.Repeat = 3
	got := s.Deliver(t.Context(), in, anyInput)
	if got.Count != 1 || got.Stopped != refusal.AnswerFocusChanged ||
		s.focused(w) != s.object(w, commonv1.Role_ROLE_TEXT_AREA, "Notes") {
		t.Errorf("%+v", got)
	}
	in = pressInto(t, w, s.focused(w), "shift+Tab")
	s.sent(in)
	if s.focused(w) != name {
		t.Error("not back")
	}
	in = pressInto(t, w, name, "x")
	in.Repeat = 5
	var asked seen
	if got := s.Deliver(t.Context(), in, asked.agree); got.Count != 5 || !slices.Equal(asked.at, []int{0, 1, 2, 3, 4}) ||
		s.value(w, name) != "xxxxx" {
		t.Errorf("%+v, asked %v", got, asked.at)
	}
}

func TestReturnOnADialogClosesItAndTheRestGoesNowhere(t *testing.T) {
	s := newStage(t)
	form := s.window("Form")
	s.mustPress(form, "Submit")
	w := s.window("Confirm")
	in := pressInto(t, w, s.object(w, 0, "OK"), "Return")
	in.Repeat = 2
	got := s.Deliver(t.Context(), in, anyInput)
	if got.Count != 1 || got.Stopped != refusal.AnswerWindowGone {
		t.Errorf("%+v", got)
	}
	s.nothingHeld()
	s.mustPress(form, "Submit")
	w = s.window("Confirm")
	s.sent(pressInto(t, w, s.object(w, 0, "OK"), "Escape"))
	if s.node(form, commonv1.Role_ROLE_LABEL, "Not sent").Name == "" {
		t.Error("not cancelled")
	}
}

func TestShortcutRunsItsMenuEntry(t *testing.T) {
	s, w, o := notes(t, "text")
	s.sent(pressInto(t, w, o, "ctrl+s"))
	if s.node(w, commonv1.Role_ROLE_LABEL, "Saved").Name == "" {
		t.Error("not saved")
	}
	down := s.Inputs(w.ID)[0]
	if down.Kind != InputKeyDown || down.Key != "s" || len(down.Modifiers) != 1 {
		t.Errorf("%+v", down)
	}
	s.sent(pressInto(t, w, o, "s"))
	if in := s.Inputs(w.ID)[2]; in.Key != "" {
		t.Errorf("text in the journal: %+v", in)
	}
}

func TestHeldKeyRepeatsAndIsReleased(t *testing.T) {
	for _, tt := range []struct {
		hold, cancel time.Duration
		count        int
		stopped      refusal.Answer
	}{
		{0, time.Hour, 1, 0},
		{300 * time.Millisecond, time.Hour, 1, 0},
		{400 * time.Millisecond, time.Hour, 2, 0},
		{time.Second, time.Hour, 14, 0},
		{10 * time.Second, 520 * time.Millisecond, 4, refusal.AnswerAborted},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newStage(t)
			w := s.window("Form")
			o := s.object(w, commonv1.Role_ROLE_TEXT_FIELD, "Name")
			in := pressInto(t, w, o, "x")
			in.Verb, in.Hold = commonv1.Verb_VERB_HOLD_KEYS, tt.hold
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			time.AfterFunc(tt.cancel, cancel)
			began := time.Now()
			got := s.Deliver(ctx, in, anyInput)
			if got.Sent != executor.Accepted || got.Count != tt.count || got.Stopped != tt.stopped ||
				len(s.value(w, o)) != tt.count || time.Since(began) != min(tt.hold, tt.cancel) {
				t.Errorf("%v: %+v after %v, %q", tt.hold, got, time.Since(began), s.value(w, o))
			}
			s.nothingHeld()
			if in := s.Inputs(w.ID); in[len(in)-1].Kind != InputKeyUp || len(in) != 2 {
				t.Errorf("%+v", in)
			}
			cancel()
			synctest.Wait()
		})
	}
}

func TestHeldKeyIsReleasedWhenTheFocusMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		w := s.window("Form")
		o := s.object(w, commonv1.Role_ROLE_TEXT_FIELD, "Name")
		in := pressInto(t, w, o, "x")
		in.Verb, in.Hold = commonv1.Verb_VERB_HOLD_KEYS, time.Second
		time.AfterFunc(200*time.Millisecond, func() {
			if held := s.Held(); !slices.Equal(held, []string{"x"}) {
				t.Errorf("held: %v", held)
			}
			s.must(s.UserFocuses(s.object(w, 0, "Pinned")))
		})
		got := s.Deliver(t.Context(), in, anyInput)
		if got.Count != 1 || got.Stopped != refusal.AnswerFocusChanged {
			t.Errorf("%+v", got)
		}
		s.nothingHeld()
	})
}

func TestSeatIsWaitedForAndThenRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, err := New(Config{})
		if err != nil {
			t.Fatal(err)
		}
		s := stage{d, t}
		defer func() { s.must(s.Close()) }()
		w := s.window("Form")
		in := typeInto(w, s.object(w, commonv1.Role_ROLE_TEXT_FIELD, "Name"), "x")
		s.must(s.TakeSeat(time.Minute))
		if s.TakeSeat(1) == nil {
			t.Error("taken twice")
		}
		began := time.Now()
		s.refused(s.Deliver(t.Context(), in, anyInput), refusal.AnswerSeatTaken)
		if time.Since(began) != seatWaitDefault {
			t.Errorf("waited %v", time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		s.refused(s.Deliver(ctx, in, anyInput), refusal.AnswerTimeout)
		s.untouched()
		s.mustPress(w, "More") // Semantic acts need no seat.
		time.Sleep(time.Minute)
		synctest.Wait()
		s.sent(in)
		s.must(s.TakeSeat(time.Second))
		s.sent(in) // It waits.
	})
}

func TestAppThatNeedsTheForegroundTakesInputOnlyThere(t *testing.T) {
	s := newStage(t)
	w := s.window("Form")
	in := typeInto(w, s.object(w, commonv1.Role_ROLE_TEXT_FIELD, "Name"), "x")
	s.must(s.UserActivates(s.window("Calculator").ID))
	s.must(s.NeedForeground(FormID, true))
	s.refused(s.Deliver(t.Context(), in, anyInput), refusal.AnswerForegroundNeeded)
	s.untouched()
	s.must(s.UserActivates(w.ID))
	s.sent(in)
}

func TestFaultsOfOneActApplyToInput(t *testing.T) {
	plan := func(f func(stage) error) func(stage) { return func(s stage) { s.must(f(s)) } }
	for name, tt := range map[string]struct {
		fault func(stage)
		sent  executor.Sent
		value string
	}{
		"declined":    {plan(func(s stage) error { return s.DeclineNext(FormID) }), executor.Declined, ""},
		"no op":       {plan(func(s stage) error { return s.NoOpNext(FormID) }), executor.Accepted, ""},
		"happens":     {plan(func(s stage) error { return s.UnansweredNext(FormID, true) }), executor.Unanswered, "text"},
		"not":         {plan(func(s stage) error { return s.UnansweredNext(FormID, false) }), executor.Unanswered, ""},
		"disturbance": {plan(func(s stage) error { return s.DisturbNext(FormID, DisturbPointer) }), executor.Accepted, "text"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			w := s.window("Form")
			o := s.object(w, commonv1.Role_ROLE_TEXT_FIELD, "Name")
			before := s.desk()
			tt.fault(s)
			got := s.Deliver(t.Context(), typeInto(w, o, "text"), anyInput)
			if got.Sent != tt.sent || s.value(w, o) != tt.value {
				t.Errorf("%+v, %q", got, s.value(w, o))
			}
			if moved := s.desk().PointerX != before.PointerX; moved != (name == "disturbance") {
				t.Errorf("the user's pointer moved: %v", moved)
			}
			s.nothingHeld()
			s.sent(typeInto(w, o, "again"))
			if s.value(w, o) != "again" {
				t.Error("the fault stays")
			}
		})
	}
}

func TestInputToAnAppThatFreezesMayStillHappen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		w := s.window("Form")
		o := s.object(w, commonv1.Role_ROLE_TEXT_FIELD, "Name")
		text := strings.Repeat("a", 40)
		s.must(s.FreezeNext(FormID))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if got := s.Deliver(ctx, typeInto(w, o, text), anyInput); got.Sent != executor.Unanswered {
			t.Errorf("%+v", got)
		}
		s.refused(s.Deliver(ctx, typeInto(w, o, "b"), anyInput), refusal.AnswerTimeout)
		s.must(s.Thaw(FormID))
		if s.value(w, o) != text {
			t.Errorf("%q", s.value(w, o))
		}
		s.must(s.FreezeNext(FormID))
		time.AfterFunc(time.Second, func() { s.must(s.Thaw(FormID)) })
		if got := s.Deliver(t.Context(), typeInto(w, o, "c"), anyInput); got.Sent != executor.Accepted || got.Count != 1 {
			t.Errorf("%+v", got)
		}
		s.must(s.Freeze(FormID))
		late, end := context.WithTimeout(t.Context(), time.Second)
		defer end()
		s.refused(s.Deliver(late, typeInto(w, o, "d"), anyInput), refusal.AnswerTargetUnresponsive)
	})
}

func TestDelayedInputIsNotSettledAndComesWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		w := s.window("Form")
		o := s.object(w, commonv1.Role_ROLE_TEXT_FIELD, "Name")
		text := strings.Repeat("ab", 40)
		s.must(s.Delay(FormID, time.Second))
		got := s.Deliver(t.Context(), typeInto(w, o, text), anyInput)
		if got.Sent != executor.Accepted || got.Settled || got.Count != 80 || s.value(w, o) != "" {
			t.Errorf("%+v, %q", got, s.value(w, o))
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if s.value(w, o) != text {
			t.Errorf("%q", s.value(w, o))
		}
	})
}

func TestPacedTypingIsCutAtACharacterWhenItsCallEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		w := s.window("Form")
		o := s.object(w, commonv1.Role_ROLE_TEXT_FIELD, "Name")
		s.must(s.Pace(FormID, time.Second))
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		got := s.Deliver(ctx, typeInto(w, o, strings.Repeat("日", 200)), anyInput)
		if got.Count != 64 || got.Stopped != refusal.AnswerTimeout || s.value(w, o) != strings.Repeat("日", 64) {
			t.Errorf("%+v", got)
		}
	})
}

func TestInputsOfManyWaitForEachOther(t *testing.T) {
	s := newStage(t)
	w := s.window("Form")
	o := s.object(w, commonv1.Role_ROLE_TEXT_AREA, "Notes")
	const typists = 8
	done := make(chan executor.Delivery, typists)
	for i := range typists {
		in := typeInto(w, o, strings.Repeat(string(rune('a'+i)), 100))
		in.Mode = commonv1.TextMode_TEXT_MODE_APPEND
		go func() { done <- s.Deliver(t.Context(), in, anyInput) }()
	}
	for range typists {
		if got := <-done; got.Sent != executor.Accepted || got.Count != 100 {
			t.Errorf("%+v", got)
		}
	}
	text := s.value(w, o)
	n, err := s.ReadTree(t.Context(), w, executor.TreeLimits{Text: 2000})
	s.must(err)
	for _, x := range n.Nodes {
		if x.Object == o {
			text = x.Value
		}
	}
	if len(slices.Compact([]rune(text))) != typists || len(text) != 100*typists {
		t.Errorf("mixed: %q", text)
	}
}
