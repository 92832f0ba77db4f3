package virtualdesk

import (
	"math"
	"slices"
	"testing"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
)

func anyWindow(executor.Window) refusal.Answer { return 0 }

func verbOn(w ident.Window, v commonv1.Verb) executor.Management {
	return executor.Management{Window: w, Verb: v, Routes: []commonv1.Route{
		commonv1.Route_ROUTE_WINDOW_MANAGEMENT, commonv1.Route_ROUTE_PAGE_DOM,
	}}
}

func (s stage) managed(m executor.Management) executor.Delivery {
	s.t.Helper()
	got := s.Manage(s.t.Context(), m, anyWindow)
	if got.Sent != executor.Accepted || !got.Settled {
		s.t.Fatalf("%v: %+v", m.Verb, got)
	}
	return got
}

func invoke(w ident.Window, path ...string) executor.Management {
	m := verbOn(w, commonv1.Verb_VERB_INVOKE_MENU)
	m.Path = path
	return m
}

func navigateTo(w ident.Window, url string) executor.Management {
	m := verbOn(w, commonv1.Verb_VERB_NAVIGATE)
	m.URL = url
	return m
}

func TestWindowIsMovedResizedMinimisedAndClosed(t *testing.T) {
	s := newBench(t)
	w := s.window("Calculator")
	move, resize := verbOn(w, commonv1.Verb_VERB_MOVE_WINDOW), verbOn(w, commonv1.Verb_VERB_RESIZE_WINDOW)
	move.X, move.Y = 300, -40
	resize.W, resize.H = 500, 10
	var was executor.Window
	got := s.Manage(t.Context(), move, func(now executor.Window) refusal.Answer {
		was = now
		return 0
	})
	if got.Route != commonv1.Route_ROUTE_WINDOW_MANAGEMENT || was.Identity != w || was.Bounds.X != -1100 {
		t.Errorf("%+v, %+v", got, was)
	}
	s.managed(resize)
	if l := s.listed(w.ID); l.Bounds != rect(300, -40, 500, lowest) || l.Scale != 1 {
		t.Errorf("%+v", l)
	}
	s.managed(verbOn(w, commonv1.Verb_VERB_MINIMIZE_WINDOW))
	if !s.listed(w.ID).Hidden {
		t.Error("not hidden")
	}
	s.managed(verbOn(w, commonv1.Verb_VERB_CLOSE_WINDOW))
	if got := s.readAnswer(t.Context(), w); got != refusal.AnswerWindowGone {
		t.Errorf("%v", got)
	}
	if j := s.Journal(w.ID); len(j) != 4 || j[3].Verb != commonv1.Verb_VERB_CLOSE_WINDOW {
		t.Errorf("%+v", j)
	}
}

func TestWindowVerbsChangeNothingWhenTheyAreRefused(t *testing.T) {
	s := newBench(t)
	form, browser := s.window("Form"), s.window("Browser")
	before := s.windows()
	for _, m := range []executor.Management{
		verbOn(form, commonv1.Verb_VERB_MOVE_WINDOW), verbOn(form, commonv1.Verb_VERB_RESIZE_WINDOW),
		verbOn(form, commonv1.Verb_VERB_MINIMIZE_WINDOW), verbOn(form, commonv1.Verb_VERB_CLOSE_WINDOW),
		invoke(form, "File", "Clear form"), navigateTo(browser, ShopAddress), verbOn(browser, commonv1.Verb_VERB_RELOAD),
	} {
		refuses := func(executor.Window) refusal.Answer { return refusal.AnswerPageChanged }
		s.refused(s.Manage(t.Context(), m, refuses), refusal.AnswerPageChanged)
		s.refused(s.Manage(t.Context(), m, nil), refusal.AnswerDispatchRefused)
		m.Routes = seatOnly()
		s.refused(s.Manage(t.Context(), m, anyWindow), refusal.AnswerNoPermittedRoute)
	}
	nowhere, form2 := verbOn(form, commonv1.Verb_VERB_MOVE_WINDOW), form
	nowhere.X = math.Inf(1)
	s.refused(s.Manage(t.Context(), nowhere, anyWindow), refusal.AnswerInvalidPoint)
	s.refused(s.Manage(t.Context(), verbOn(form, commonv1.Verb_VERB_LAUNCH_APP), anyWindow), refusal.AnswerNotSupported)
	form2.Birth++
	s.refused(s.Manage(t.Context(), verbOn(form2, commonv1.Verb_VERB_CLOSE_WINDOW), anyWindow), refusal.AnswerWindowChanged)
	s.untouched()
	if !slices.EqualFunc(before, s.windows(), func(a, b executor.Window) bool {
		return a.Identity == b.Identity && a.Bounds == b.Bounds && a.Hidden == b.Hidden && a.Page == b.Page
	}) {
		t.Error("something changed")
	}
}

func TestModalWindowBlocksWhatItsAppWouldDo(t *testing.T) {
	s := newBench(t)
	w := s.window("Form")
	dialog, err := s.OpenModal(w.ID)
	s.must(err)
	s.refused(s.Manage(t.Context(), verbOn(w, commonv1.Verb_VERB_CLOSE_WINDOW), anyWindow), refusal.AnswerWindowOccluded)
	s.refused(s.Manage(t.Context(), invoke(w, "File", "Clear form"), anyWindow), refusal.AnswerWindowOccluded)
	s.managed(verbOn(w, commonv1.Verb_VERB_MINIMIZE_WINDOW)) // That is the window manager's.
	resize := verbOn(s.listed(dialog).Identity, commonv1.Verb_VERB_RESIZE_WINDOW)
	resize.W, resize.H = 500, 500
	s.refused(s.Manage(t.Context(), resize, anyWindow), refusal.AnswerNotSupported)
}

func TestUsersWindowThatIsMinimisedGivesTheFocusToTheNext(t *testing.T) {
	s := newStage(t)
	w := s.window("Log")
	s.managed(verbOn(w, commonv1.Verb_VERB_MINIMIZE_WINDOW))
	if d := s.desk(); d.Focus != s.window("Form").ID || d.Active != d.Focus {
		t.Errorf("%+v", d)
	}
}

func TestChangedNoteAsksBeforeItCloses(t *testing.T) {
	closing := func(t *testing.T) (stage, ident.Window, ident.Window) {
		s, w, o := notes(t, "")
		s.sent(typeInto(w, o, "dear diary"))
		s.managed(verbOn(w, commonv1.Verb_VERB_CLOSE_WINDOW))
		ask := s.window("Save?")
		if l := s.listed(ask.ID); !l.Modal || l.Owner != w.ID || s.readAnswer(t.Context(), w) != 0 {
			t.Errorf("%+v", l)
		}
		return s, w, ask
	}
	for _, answer := range []string{"Save", "Discard"} {
		s, w, ask := closing(t)
		s.mustPress(ask, answer)
		if s.readAnswer(t.Context(), w) != refusal.AnswerWindowGone ||
			s.readAnswer(t.Context(), ask) != refusal.AnswerWindowGone {
			t.Errorf("%s: still there", answer)
		}
	}
	s, w, ask := closing(t)
	s.mustPress(ask, "Cancel")
	if s.readAnswer(t.Context(), w) != 0 || s.readAnswer(t.Context(), ask) != refusal.AnswerWindowGone {
		t.Error("not cancelled")
	}
	s.managed(invoke(w, "File", "Save"))
	s.managed(invoke(w, "File", "Close"))
	if s.readAnswer(t.Context(), w) != refusal.AnswerWindowGone {
		t.Error("a note that was kept asks")
	}
}

func TestMenuIsInvokedWithoutOpening(t *testing.T) {
	s := newBench(t)
	w := s.window("Form")
	name := s.object(w, commonv1.Role_ROLE_TEXT_FIELD, "Name")
	s.must(s.SetValue(name, "Ada"))
	changes, stop := s.Watch(0)
	defer stop()
	m := invoke(w, "File", "Clear form")
	m.Routes = append(m.Routes, commonv1.Route_ROUTE_ACCESSIBILITY_ACTION)
	if got := s.managed(m); got.Route != commonv1.Route_ROUTE_ACCESSIBILITY_ACTION {
		t.Errorf("%+v", got)
	}
	if s.value(w, name) != "" || len(s.listed(w.ID).Surfaces) != 1 {
		t.Error("not cleared")
	}
	for len(changes) > 0 {
		if c := <-changes; c.Kind == executor.ChangeWindows {
			t.Error("a menu opened")
		}
	}
	if j := s.Journal(w.ID); len(j) != 1 || j[0].Element != "Clear form" {
		t.Errorf("%+v", j)
	}
	s.managed(invoke(w, "File", "Keep open"))
	s.sent(clickAt(w, s.on(w, commonv1.Role_ROLE_MENU, "File")))
	keep := s.object(w, commonv1.Role_ROLE_CHECK_MENU_ITEM, "Keep open")
	if n, err := s.Reread(t.Context(), w, keep); err != nil || !checked(s, n) {
		t.Errorf("%+v, %v", n, err)
	}
	m = invoke(w)
	m.Object = keep
	s.managed(m)
	if n, err := s.Reread(t.Context(), w, keep); err != nil || checked(s, n) {
		t.Errorf("%+v, %v", n, err)
	}
	m.Object = s.object(w, commonv1.Role_ROLE_MENU_ITEM, "Clear form")
	s.managed(m)
	if len(s.listed(w.ID).Surfaces) != 1 {
		t.Error("the menu stays open")
	}
	s.refused(s.Manage(t.Context(), m, anyWindow), refusal.AnswerElementReleased)
	for _, path := range [][]string{{"File"}, {"File", "Nothing"}, {"Edit", "Clear form"}, {}, {"File", "Clear form", "x"}} {
		s.refused(s.Manage(t.Context(), invoke(w, path...), anyWindow), refusal.AnswerElementNotActionable)
	}
	m.Object = s.object(w, 0, "Submit")
	s.refused(s.Manage(t.Context(), m, anyWindow), refusal.AnswerElementNotActionable)
}

func TestWindowVerbsHaveTheFaultsOfOneAct(t *testing.T) {
	s := newBench(t)
	w := s.window("Form")
	s.must(s.DeclineNext(FormID))
	if got := s.Manage(t.Context(), verbOn(w, commonv1.Verb_VERB_CLOSE_WINDOW), anyWindow); got.Sent != executor.Declined {
		t.Errorf("%+v", got)
	}
	s.must(s.NoOpNext(FormID))
	s.managed(verbOn(w, commonv1.Verb_VERB_MINIMIZE_WINDOW))
	if l := s.listed(w.ID); l.Hidden {
		t.Error("not a no-op")
	}
}
