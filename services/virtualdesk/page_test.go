package virtualdesk

import (
	"slices"
	"testing"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/refusal"
)

func TestNavigationGivesAnotherDocumentAndDestination(t *testing.T) {
	s := newBench(t)
	w := s.window("Browser")
	documents := map[string]bool{}
	at := func(want string) {
		t.Helper()
		l := s.listed(w.ID)
		if l.Destination != want || l.Page.Document == "" || documents[l.Page.Document] {
			t.Errorf("%+v, want %s", l, want)
		}
		documents[l.Page.Document] = true
	}
	at("https://start.test:443")
	old := s.object(w, commonv1.Role_ROLE_LINK, "Shop")
	if got := s.managed(navigateTo(w, ShopAddress)); got.Route != commonv1.Route_ROUTE_PAGE_DOM {
		t.Errorf("%+v", got)
	}
	at("https://shop.test:443")
	if _, err := s.Reread(t.Context(), w, old); answerOf(err) != refusal.AnswerElementReleased {
		t.Error(err)
	}
	s.managed(navigateTo(w, "http://Other.test:8080/path?q=1#x"))
	at("http://other.test:8080")
	s.managed(navigateTo(w, "http://plain.test"))
	at("http://plain.test:80")
	s.managed(verbOn(w, commonv1.Verb_VERB_GO_BACK))
	at("http://other.test:8080")
	s.managed(verbOn(w, commonv1.Verb_VERB_GO_BACK))
	at("https://shop.test:443")
	s.managed(verbOn(w, commonv1.Verb_VERB_RELOAD))
	at("https://shop.test:443")
	s.managed(verbOn(w, commonv1.Verb_VERB_GO_BACK))
	at("https://start.test:443")
	s.refused(s.Manage(t.Context(), verbOn(w, commonv1.Verb_VERB_GO_BACK), anyWindow), refusal.AnswerElementNotActionable)
	for _, url := range []string{"file:///etc/passwd", "javascript:x", "about:blank", "https://", "::", ""} {
		s.refused(s.Manage(t.Context(), navigateTo(w, url), anyWindow), refusal.AnswerNotSupported)
	}
	s.refused(s.Manage(t.Context(), navigateTo(s.window("Form"), ShopAddress), anyWindow), refusal.AnswerNotSupported)
	s.must(s.SetPermission(commonv1.AbilityKind_ABILITY_KIND_PAGE, false))
	s.refused(s.Manage(t.Context(), navigateTo(w, ShopAddress), anyWindow), refusal.AnswerPermissionMissing)
	for range historyMax + 5 {
		d := s.Desk
		d.mu.Lock()
		d.navigate(d.byID(w.ID), webAddress(ShopAddress))
		n := len(d.byID(w.ID).site.history)
		d.mu.Unlock()
		if n > historyMax {
			t.Fatal("the history is not bounded")
		}
	}
}

func TestRedirectLandsElsewhere(t *testing.T) {
	s := newBench(t)
	w := s.window("Browser")
	s.must(s.Redirect(ShopAddress, BankAddress))
	s.managed(navigateTo(w, ShopAddress))
	if l := s.listed(w.ID); l.Destination != "https://bank.test:443" {
		t.Errorf("%+v", l)
	}
	s.must(s.Redirect(BankAddress, ShopAddress)) // A circle ends somewhere.
	s.managed(navigateTo(w, ShopAddress))
	s.must(s.Redirect(ShopAddress, ""))
	s.must(s.Redirect(BankAddress, ""))
	s.managed(navigateTo(w, ShopAddress))
	if l := s.listed(w.ID); l.Destination != "https://shop.test:443" {
		t.Errorf("%+v", l)
	}
	for i := range redirectsMax + 1 {
		err := s.Redirect(ShopAddress+string(rune('a'+i)), BankAddress)
		if full := i == redirectsMax; full != (err != nil) {
			t.Errorf("%d: %v", i, err)
		}
	}
}

func TestLinksNavigateHoweverTheyArePressed(t *testing.T) {
	byKey := func(s stage) {
		w := s.window("Browser")
		s.sent(pressInto(s.t, w, s.object(w, commonv1.Role_ROLE_LINK, "Shop"), "Return"))
	}
	for name, press := range map[string]func(stage){
		"action": func(s stage) {
			w := s.window("Browser")
			s.mustPressObject(click(w, s.object(w, commonv1.Role_ROLE_LINK, "Shop")))
		},
		"pointer": func(s stage) {
			w := s.window("Browser")
			s.sent(clickAt(w, s.on(w, commonv1.Role_ROLE_LINK, "Shop")))
		},
		"page input": func(s stage) {
			w := s.window("Browser")
			in := clickAt(w, s.on(w, commonv1.Role_ROLE_LINK, "Shop"))
			in.Routes = []commonv1.Route{commonv1.Route_ROUTE_PAGE_INPUT}
			before := s.desk()
			if got := s.sent(in); got.Route != commonv1.Route_ROUTE_PAGE_INPUT {
				s.t.Errorf("%+v", got)
			}
			if *s.desk().AgentPointer != *before.AgentPointer {
				s.t.Error("the page's input moved a pointer")
			}
		},
		"key": byKey,
	} {
		s := newBench(t)
		w := s.window("Browser")
		before := s.listed(w.ID).Page
		press(s)
		if l := s.listed(w.ID); l.Destination != "https://shop.test:443" || l.Page == before {
			t.Errorf("%s: %+v", name, l)
		}
	}
	s := newBench(t)
	w := s.window("Browser")
	in := clickAt(w, s.on(w, commonv1.Role_ROLE_LINK, "Shop"))
	in.Button = commonv1.Button_BUTTON_MIDDLE
	s.sent(in)
	if s.node(w, commonv1.Role_ROLE_LABEL, "Auxiliary click on Shop").Name == "" {
		t.Error("the middle button is not seen")
	}
	in = clickAt(s.window("Form"), s.on(s.window("Form"), 0, "Submit"))
	in.Routes = []commonv1.Route{commonv1.Route_ROUTE_PAGE_INPUT}
	s.refused(s.Deliver(t.Context(), in, anyInput), refusal.AnswerNoPermittedRoute)
}

func TestAnotherHostHasAnotherRenderer(t *testing.T) {
	s := newBench(t)
	w := s.window("Browser")
	renderer := func() uint64 { return s.tree(w).Nodes[0].Renderer }
	s.managed(navigateTo(w, ShopAddress))
	first := renderer()
	s.managed(navigateTo(w, BasketAddress))
	if renderer() != first {
		t.Error("same host, another renderer")
	}
	s.managed(navigateTo(w, BankAddress))
	if renderer() == first {
		t.Error("another host, same renderer")
	}
}

func TestDocumentSetsAndSelectsAndNeverClicks(t *testing.T) {
	s := newBench(t)
	w, form := s.window("Browser"), s.window("Form")
	s.managed(navigateTo(w, ShopAddress))
	dom := []commonv1.Route{commonv1.Route_ROUTE_PAGE_DOM}
	search := s.object(w, commonv1.Role_ROLE_TEXT_FIELD, "Search")
	for _, p := range []executor.Performance{
		{Object: search, Verb: commonv1.Verb_VERB_SET_VALUE, Text: "tea"},
		{Object: search, Verb: commonv1.Verb_VERB_SELECT_TEXT, Selection: executor.TextRange{Start: 1, Length: 2}},
		{Object: s.object(w, commonv1.Role_ROLE_COMBO_BOX, "Size"), Verb: commonv1.Verb_VERB_SELECT_OPTION, Text: "Large"},
	} {
		p.Window, p.Routes = w, dom
		if got := s.Perform(t.Context(), p, agrees); got.Sent != executor.Accepted || got.Route != dom[0] {
			t.Errorf("%v: %+v", p.Verb, got)
		}
	}
	if s.value(w, search) != "tea" || s.node(w, commonv1.Role_ROLE_COMBO_BOX, "Size").Value != "Large" {
		t.Error("not set")
	}
	buy := click(w, s.object(w, 0, "Buy"))
	buy.Routes = dom
	s.refused(s.Perform(t.Context(), buy, agrees), refusal.AnswerNoPermittedRoute)
	set := executor.Performance{
		Window: form, Object: s.object(form, commonv1.Role_ROLE_TEXT_FIELD, "Name"),
		Verb: commonv1.Verb_VERB_SET_VALUE, Text: "x", Routes: dom,
	}
	s.refused(s.Perform(t.Context(), set, agrees), refusal.AnswerNoPermittedRoute)
}

func TestAppsBeyondTheDefaultSceneAreInstalledAndRunWhenAsked(t *testing.T) {
	s := newStage(t)
	for _, id := range []string{BrowserID, WorkbenchID, CanvasID} {
		r, err := s.Resolve(t.Context(), id)
		if err != nil || !r.Installed || r.Running {
			t.Errorf("%s: %+v, %v", id, r, err)
		}
		before := s.desk()
		s.must(s.Start(id))
		if after := s.desk(); after.Focus != before.Focus || len(after.Stacking) != len(before.Stacking)+1 ||
			slices.Index(after.Stacking, after.Active) != len(after.Stacking)-1 {
			t.Errorf("%s: %+v", id, after)
		}
	}
	s.untouched()
	if _, err := New(Config{Running: []string{"nothing"}}); err == nil {
		t.Error("an unknown app runs")
	}
}
