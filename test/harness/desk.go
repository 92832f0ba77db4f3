package harness

import (
	"testing"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/virtualdesk"
)

// Window returns the identity of the topmost window of the virtual desk with a title.
func (s *System) Window(title string) ident.Window {
	s.tb.Helper()
	w, err := s.Desk.Window(title)
	if err != nil {
		s.tb.Fatalf("window %q: %v", title, err)
	}
	return w
}

// Object returns an element of the virtual desk, for faults.
func (s *System) Object(window string, role commonv1.Role, name string) executor.Object {
	s.tb.Helper()
	o, err := s.Desk.Element(s.Window(window).ID, role, name)
	if err != nil {
		s.tb.Fatalf("element %q of window %q: %v", name, window, err)
	}
	return o
}

// Value returns what an element of the virtual desk holds, whatever agents were shown.
func (s *System) Value(window string, role commonv1.Role, name string) string {
	s.tb.Helper()
	n, err := s.Desk.Reread(s.tb.Context(), s.Window(window), s.Object(window, role, name))
	if err != nil {
		s.tb.Fatalf("reading %q of window %q: %v", name, window, err)
	}
	return n.Value
}

// Must fails the test when a fault could not be injected.
func (s *System) Must(err error) {
	s.tb.Helper()
	s.must(err)
}

// Reached returns what reached the desk since the mark that Mark returned.
func (s *System) Reached(mark int) []virtualdesk.Event { return s.Desk.Events()[mark:] }

// Mark returns the length of the desk's journal.
func (s *System) Mark() int { return len(s.Desk.Events()) }

// Untouched fails the test when an act reached anything since the mark.
func (s *System) Untouched(tb testing.TB, mark int) {
	tb.Helper()
	if got := s.Reached(mark); len(got) != 0 {
		tb.Errorf("%d acts reached the desk, the first: %v on %q", len(got), got[0].Verb, got[0].Element)
	}
}

// Touched fails the test unless exactly the named elements were reached since the mark.
func (s *System) Touched(tb testing.TB, mark int, elements ...string) {
	tb.Helper()
	got := s.Reached(mark)
	same := len(got) == len(elements)
	for i := 0; same && i < len(got); i++ {
		same = got[i].Element == elements[i]
	}
	if !same {
		tb.Errorf("reached: %+v, want %q", got, elements)
	}
}
