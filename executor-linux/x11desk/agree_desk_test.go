//go:build desk

package x11desk

import (
	"slices"
	"testing"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
)

// A walk and a read before a send must say the same of an element that did not change,
// or every act would be refused as changed (C0.8, C6.2).
func TestWalkAndRereadAgreeAboutEveryElement(t *testing.T) {
	for _, program := range []string{"gtk3-widget-factory", "gnome-calculator", "mousepad"} {
		t.Run(program, func(t *testing.T) {
			r := newRig(t, "openbox")
			w := r.window(r.start(program).PID())
			r.tree(w)
			r.until("a window at rest", func() bool {
				a, b := r.tree(w), r.tree(w)
				return len(a.Nodes) == len(b.Nodes)
			})
			tree := r.tree(w)
			differ := 0
			for _, was := range tree.Nodes {
				now, err := r.desk.Reread(t.Context(), w.Identity, was.Object)
				if err != nil {
					t.Errorf("%v %q: %v", was.Role, was.Name, err)
					continue
				}
				if what := difference(was, now); what != "" {
					differ++
					t.Errorf("%v %q: %s differs: %+v %+v", was.Role, was.Name, what, was, now)
				}
			}
			t.Logf("%d elements, %d differ", len(tree.Nodes), differ)
		})
	}
}

// difference names the first part that differs; the root alone has its parent in both.
func difference(a, b executor.Node) string {
	focused := executor.States(0).With(commonv1.ElementState_ELEMENT_STATE_FOCUSED)
	switch {
	case a.Object != b.Object:
		return "object"
	case a.Role != b.Role || a.Subrole != b.Subrole:
		return "role"
	case a.Name != b.Name || a.Description != b.Description || a.Identifier != b.Identifier:
		return "name"
	case a.Value != b.Value || a.ValueTruncated != b.ValueTruncated:
		return "value"
	case a.TakesText != b.TakesText || a.TakesNumber != b.TakesNumber || a.Secure != b.Secure:
		return "kind"
	case a.States&^focused != b.States&^focused:
		return "states"
	case !slices.Equal(a.Actions, b.Actions):
		return "actions"
	case a.Bounds != b.Bounds || a.Surface != b.Surface:
		return "place"
	}
	return ""
}
