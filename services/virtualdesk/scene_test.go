package virtualdesk

import (
	"slices"
	"testing"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/refusal"
)

func TestSceneHasTwoAppsThreeWindowsAndEveryUsualControl(t *testing.T) {
	s := newStage(t)
	apps, err := s.Apps(t.Context(), "")
	s.must(err)
	if len(apps) != 2 || apps[0].ID != CalculatorID || apps[1].ID != FormID || apps[1].Windows != 2 {
		t.Errorf("apps: %+v", apps)
	}
	ws := s.windows()
	if len(ws) != 3 {
		t.Fatalf("%d windows", len(ws))
	}
	births := map[uint64]bool{}
	roles := map[commonv1.Role]bool{}
	for i, w := range ws {
		id := w.Identity
		if w.Stacking != i || len(w.Surfaces) != 1 || id.PID == 0 || id.Start == 0 || id.Birth == 0 || births[id.Birth] {
			t.Errorf("window %+v", w)
		}
		births[id.Birth] = true
		for _, n := range s.tree(id).Nodes {
			roles[n.Role] = true
		}
	}
	for _, want := range []commonv1.Role{
		commonv1.Role_ROLE_WINDOW, commonv1.Role_ROLE_HEADING, commonv1.Role_ROLE_LABEL, commonv1.Role_ROLE_TEXT_FIELD,
		commonv1.Role_ROLE_TEXT_AREA, commonv1.Role_ROLE_SECURE_FIELD, commonv1.Role_ROLE_CHECK_BOX,
		commonv1.Role_ROLE_SWITCH, commonv1.Role_ROLE_TOGGLE_BUTTON, commonv1.Role_ROLE_RADIO_BUTTON,
		commonv1.Role_ROLE_SLIDER, commonv1.Role_ROLE_SPIN_BUTTON, commonv1.Role_ROLE_COMBO_BOX,
		commonv1.Role_ROLE_OPTION, commonv1.Role_ROLE_TABLE, commonv1.Role_ROLE_ROW, commonv1.Role_ROLE_DISCLOSURE,
		commonv1.Role_ROLE_PROGRESS_BAR, commonv1.Role_ROLE_LINK, commonv1.Role_ROLE_MENU_BAR,
		commonv1.Role_ROLE_MENU, commonv1.Role_ROLE_BUTTON, commonv1.Role_ROLE_LIST, commonv1.Role_ROLE_WEB_AREA,
	} {
		if !roles[want] {
			t.Errorf("no %v", want)
		}
	}
}

func TestTreeIsInDocumentOrderWithItsParentsBefore(t *testing.T) {
	s := newStage(t)
	w := s.window("Form")
	s.mustPress(w, "More")
	tree := s.tree(w)
	popup := 0
	for i, n := range tree.Nodes {
		if n.Parent >= i || n.Parent < 0 != (i == 0) {
			t.Errorf("node %d has parent %d", i, n.Parent)
		}
		popup += n.Surface
	}
	if popup != 4 || len(s.listed(w.ID).Surfaces) != 2 {
		t.Errorf("popup nodes %d, surfaces %d", popup, len(s.listed(w.ID).Surfaces))
	}
	if len(tree.Truncations) != 0 || tree.Quality != commonv1.TreeQuality_TREE_QUALITY_USABLE {
		t.Errorf("%+v", tree)
	}
}

func TestDisplaysHaveDifferentScalesAndOneNegativeOrigin(t *testing.T) {
	s := newStage(t)
	ds, err := s.Displays(t.Context())
	s.must(err)
	if len(ds) != 2 || ds[0].Scale != 1 || ds[1].Scale != 2 || ds[1].Bounds.X >= 0 || ds[1].PixelW != 2560 {
		t.Errorf("%+v", ds)
	}
	if c, f := s.window("Calculator"), s.window("Form"); s.listed(c.ID).Scale != 2 || s.listed(f.ID).Scale != 1 {
		t.Error("windows are not on both displays")
	}
}

func TestCalculatorComputes(t *testing.T) {
	tests := []struct {
		name, want string
		keys       []string
	}{
		{"product", "42", []string{"7", "×", "6", "="}},
		{"chain", "20", []string{"2", "+", "3", "×", "4", "="}},
		{"difference below zero", "-5", []string{"4", "−", "9", "="}},
		{"quotient", "0.25", []string{"1", "÷", "4", "="}},
		{"nothing by nothing", "Error", []string{"0", "÷", "0", "="}},
		{"after an error", "7", []string{"1", "÷", "0", "=", "7"}},
		{"operator changed", "3", []string{"9", "+", "−", "6", "="}},
		{"several digits", "123", []string{"0", "1", "2", "3"}},
		{"cleared", "0", []string{"8", "8", "C"}},
		{"goes on after equals", "10", []string{"2", "×", "3", "=", "+", "4", "="}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newStage(t)
			w := s.window("Calculator")
			for _, k := range tt.keys {
				s.mustPress(w, k)
			}
			if got := s.node(w, commonv1.Role_ROLE_TEXT_FIELD, "Display").Value; got != tt.want {
				t.Errorf("%v shows %q, want %q", tt.keys, got, tt.want)
			}
			if got := len(s.Journal(w.ID)); got != len(tt.keys) {
				t.Errorf("%d events for %d keys", got, len(tt.keys))
			}
		})
	}
}

func TestSubmitOpensAModalDialogThatBlocksItsApp(t *testing.T) {
	s := newStage(t)
	form, log, calc := s.window("Form"), s.window("Log"), s.window("Calculator")
	before := s.desk()
	s.mustPress(form, "Submit")
	dialog := s.window("Confirm")
	l := s.listed(dialog.ID)
	if !l.Dialog || !l.Modal || l.Owner != form.ID || l.Stacking != s.listed(form.ID).Stacking+1 {
		t.Errorf("%+v", l)
	}
	s.refused(s.press(form, "Submit"), refusal.AnswerWindowOccluded)
	s.refused(s.press(log, "Clear"), refusal.AnswerWindowOccluded)
	s.mustPress(calc, "1")
	s.mustPress(dialog, "OK")
	if got := s.readAnswer(t.Context(), dialog); got != refusal.AnswerWindowGone {
		t.Errorf("dialog: %v", got)
	}
	if s.node(form, commonv1.Role_ROLE_LABEL, "Form sent").Name == "" {
		t.Error("the status does not say so")
	}
	s.mustPress(log, "Clear")
	after := s.desk()
	if before.Focus != after.Focus || before.Active != after.Active || before.PointerX != after.PointerX ||
		before.Clipboard != after.Clipboard || !slices.Equal(before.Stacking, after.Stacking) {
		t.Errorf("the user's desk changed: %+v, %+v", before, after)
	}
}

func TestLaunchGivesANewProcessWithoutFocus(t *testing.T) {
	s := newStage(t)
	before := s.desk()
	found, err := s.Apps(t.Context(), "NOTE")
	s.must(err)
	if len(found) != 1 || found[0].Running {
		t.Fatalf("%+v", found)
	}
	r, err := s.Resolve(t.Context(), NotesID)
	s.must(err)
	if !r.Installed || r.Running {
		t.Errorf("%+v", r)
	}
	got := s.Launch(t.Context(), r)
	w := s.window("Untitled note")
	if got.Sent != executor.Accepted || got.Route != commonv1.Route_ROUTE_WINDOW_MANAGEMENT || got.PID != w.PID {
		t.Errorf("%+v, %+v", got, w)
	}
	after := s.desk()
	if after.Focus != before.Focus || after.Active != before.Active || after.Stacking[3] != before.Active {
		t.Errorf("focus moved: %+v", after)
	}
	s.refused(s.Launch(t.Context(), r), refusal.AnswerResolutionChanged)
	s.must(s.Die(NotesID))
	if again := s.Launch(t.Context(), r); again.PID == got.PID || s.window("Untitled note").Birth == w.Birth {
		t.Error("the same process came back")
	}
	r.AppID = "nothing"
	s.refused(s.Launch(t.Context(), r), refusal.AnswerAppNotFound)
	if _, err := s.Resolve(t.Context(), "nothing"); answerOf(err) != refusal.AnswerAppNotFound {
		t.Error(err)
	}
}

func TestRunningAppWithoutWindowsGetsThemAgain(t *testing.T) {
	s := newStage(t)
	w := s.window("Calculator")
	s.must(s.CloseWindow(w.ID))
	r, err := s.Resolve(t.Context(), CalculatorID)
	s.must(err)
	if got := s.Launch(t.Context(), r); got.PID != w.PID || s.window("Calculator").Birth == w.Birth {
		t.Errorf("%+v", got)
	}
}

func TestTruncationsAreMarked(t *testing.T) {
	s := newStage(t)
	w := s.window("Form")
	whole := len(s.tree(w).Nodes)
	cut, err := s.ReadTree(t.Context(), w, executor.TreeLimits{Elements: 10})
	s.must(err)
	want := executor.Truncation{Kind: commonv1.TruncationKind_TRUNCATION_KIND_ELEMENTS, Missing: whole - 10}
	if len(cut.Nodes) != 10 || !slices.Equal(cut.Truncations, []executor.Truncation{want}) {
		t.Errorf("%d nodes, %+v", len(cut.Nodes), cut.Truncations)
	}
	flat, err := s.ReadTree(t.Context(), w, executor.TreeLimits{Depth: 2})
	s.must(err)
	want = executor.Truncation{
		Kind: commonv1.TruncationKind_TRUNCATION_KIND_DEPTH, Missing: whole - len(flat.Nodes),
	}
	if !slices.Equal(flat.Truncations, []executor.Truncation{want}) {
		t.Errorf("%+v", flat.Truncations)
	}
	s.must(s.SetValue(s.object(w, commonv1.Role_ROLE_TEXT_FIELD, "Name"), "ééééé"))
	short, err := s.ReadTree(t.Context(), w, executor.TreeLimits{Text: 3})
	s.must(err)
	i := slices.IndexFunc(short.Nodes, func(n executor.Node) bool { return n.Identifier == "nam" && n.TakesText })
	if n := short.Nodes[i]; n.Value != "ééé" || !n.ValueTruncated {
		t.Errorf("%q %v", n.Value, n.ValueTruncated)
	}
}

func TestLogListsOnlyWhatIsInView(t *testing.T) {
	s := newStage(t)
	w := s.window("Form")
	o := s.object(w, commonv1.Role_ROLE_LINK, "Help")
	for range logRows + 4 {
		s.Perform(t.Context(), click(w, o), agrees)
	}
	tree := s.tree(s.window("Log"))
	want := executor.Truncation{Kind: commonv1.TruncationKind_TRUNCATION_KIND_VIRTUAL, Missing: 5}
	if !slices.Equal(tree.Truncations, []executor.Truncation{want}) {
		t.Errorf("%+v", tree.Truncations)
	}
}

func TestPopulateHasExactlySoManyElements(t *testing.T) {
	s := newStage(t)
	w := s.window("Form")
	for _, n := range []int{0, 1, 2, 100, 1000, 5000} {
		s.must(s.Populate(w.ID, n))
		tree, err := s.ReadTree(t.Context(), w, executor.TreeLimits{Elements: 5000})
		s.must(err)
		if len(tree.Nodes) != n || len(tree.Truncations) != 0 {
			t.Errorf("%d nodes for %d", len(tree.Nodes), n)
		}
		if _, err := s.Capture(t.Context(), w); err != nil {
			t.Error(err)
		}
	}
	s.mustPress(w, "Item 0")
	if s.Populate(w.ID, 5001) == nil {
		t.Error("over the hard maximum")
	}
}

func BenchmarkReadTree1000(b *testing.B) {
	d, err := New(Config{})
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	w, err := d.Window("Form")
	if err != nil {
		b.Fatal(err)
	}
	if err := d.Populate(w.ID, 1000); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := d.ReadTree(b.Context(), w, executor.TreeLimits{}); err != nil {
			b.Fatal(err)
		}
	}
}
