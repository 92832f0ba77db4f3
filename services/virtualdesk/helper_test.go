package virtualdesk

import (
	"context"
	"errors"
	"testing"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
)

const canary = "canary-secret-7391"

// stage is a desk with the questions tests ask about it.
type stage struct {
	*Desk
	t *testing.T
}

func newStage(t *testing.T) stage {
	t.Helper()
	d, err := New(Config{Password: canary})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return stage{d, t}
}

func (s stage) window(title string) ident.Window {
	s.t.Helper()
	id, err := s.Window(title)
	if err != nil {
		s.t.Fatalf("window %q: %v", title, err)
	}
	return id
}

func (s stage) object(w ident.Window, role commonv1.Role, name string) executor.Object {
	s.t.Helper()
	o, err := s.Element(w.ID, role, name)
	if err != nil {
		s.t.Fatalf("element %v %q: %v", role, name, err)
	}
	return o
}

func (s stage) node(w ident.Window, role commonv1.Role, name string) executor.Node {
	s.t.Helper()
	n, err := s.Reread(s.t.Context(), w, s.object(w, role, name))
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

func (s stage) tree(w ident.Window) *executor.Tree {
	s.t.Helper()
	tree, err := s.ReadTree(s.t.Context(), w, executor.TreeLimits{})
	if err != nil {
		s.t.Fatal(err)
	}
	return tree
}

func (s stage) listed(id uint64) executor.Window {
	s.t.Helper()
	for _, w := range s.windows() {
		if w.Identity.ID == id {
			return w
		}
	}
	s.t.Fatalf("window %d is not listed", id)
	return executor.Window{}
}

func (s stage) windows() []executor.Window {
	s.t.Helper()
	ws, err := s.Windows(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return ws
}

func (s stage) desk() executor.DeskState {
	s.t.Helper()
	state, err := s.Desk.Desk(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return state
}

func allRoutes() []commonv1.Route {
	return []commonv1.Route{
		commonv1.Route_ROUTE_ACCESSIBILITY_ACTION, commonv1.Route_ROUTE_ACCESSIBILITY_VALUE,
		commonv1.Route_ROUTE_ACCESSIBILITY_SELECTION, commonv1.Route_ROUTE_ACCESSIBILITY_TEXT,
	}
}

func agrees(executor.Node) refusal.Answer { return 0 }

func click(w ident.Window, o executor.Object) executor.Performance {
	return executor.Performance{Window: w, Object: o, Verb: commonv1.Verb_VERB_CLICK_ELEMENT, Routes: allRoutes()}
}

func (s stage) press(w ident.Window, name string) executor.Delivery {
	s.t.Helper()
	return s.Perform(s.t.Context(), click(w, s.object(w, commonv1.Role_ROLE_BUTTON, name)), agrees)
}

func (s stage) mustPress(w ident.Window, name string) {
	s.t.Helper()
	if got := s.press(w, name); got.Sent != executor.Accepted || !got.Settled {
		s.t.Fatalf("press %q: %+v", name, got)
	}
}

func (s stage) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s stage) refused(got executor.Delivery, want refusal.Answer) {
	s.t.Helper()
	if got != executor.Refused(want) {
		s.t.Errorf("got %+v, want refused %v", got, want)
	}
}

func (s stage) untouched() {
	s.t.Helper()
	if events := s.Events(); len(events) != 0 {
		s.t.Errorf("something was touched: %+v", events)
	}
}

func answerOf(err error) refusal.Answer {
	var f *executor.Failure
	if errors.As(err, &f) {
		return f.Answer
	}
	return 0
}

// readAnswer is the answer of a read of a window, 0 when it succeeds.
func (s stage) readAnswer(ctx context.Context, w ident.Window) refusal.Answer {
	_, err := s.ReadTree(ctx, w, executor.TreeLimits{})
	return answerOf(err)
}
