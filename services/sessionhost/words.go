package sessionhost

import (
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
	"fairlead.dev/services/sessionhost/internal/outline"
	"fairlead.dev/services/sessionhost/internal/revision"
	"fairlead.dev/services/shared/ident"
)

// words are the members of an enum in the agent's words: ROLE_CHECK_BOX is "check box".
type words []string

var (
	roleWords   = wordsOf(commonv1.Role(0).Descriptor(), "ROLE_")
	stateWords  = wordsOf(commonv1.ElementState(0).Descriptor(), "ELEMENT_STATE_")
	actionWords = wordsOf(commonv1.ElementAction(0).Descriptor(), "ELEMENT_ACTION_")
)

func wordsOf(d protoreflect.EnumDescriptor, prefix string) words {
	out := words{}
	for i := range d.Values().Len() {
		v := d.Values().Get(i)
		for len(out) <= int(v.Number()) {
			out = append(out, "")
		}
		w := strings.TrimPrefix(string(v.Name()), prefix)
		out[v.Number()] = strings.ReplaceAll(strings.ToLower(w), "_", " ")
	}
	return out
}

// of returns the word of a member, or nothing for a number that is no member.
func (w words) of(n int32) string {
	if n < 0 || int(n) >= len(w) {
		return ""
	}
	return w[n]
}

// outlineOf writes the text the agent reads, and says how many elements were cut.
func outlineOf(s *executorv1.Snapshot) (string, int) {
	return outline.Write(headOf(s), linesOf(s.GetElements()))
}

func headOf(s *executorv1.Snapshot) outline.Head {
	return outline.Head{Title: s.GetTitle(), App: s.GetWindow().GetAppId(), Notes: notesOf(s)}
}

func linesOf(elements []*commonv1.Element) []outline.Line {
	lines := make([]outline.Line, len(elements))
	// One list holds the words of all lines.
	said := make([]string, 0, 2*len(lines))
	for i, e := range elements {
		facts := len(said)
		said = appendFacts(said, e)
		actions := len(said)
		said = appendActions(said, e)
		lines[i] = outline.Line{
			ID: e.GetId(), Depth: e.GetDepth(), Role: roleWords.of(int32(e.GetRole())), Name: e.GetName(),
			Value: e.GetValue(), Facts: said[facts:actions], Actions: said[actions:], Withheld: secure(e),
		}
	}
	return lines
}

// changesOf writes only what changed since a frame.
func changesOf(s *executorv1.Snapshot, d revision.Difference, since ident.Frame) (string, int) {
	var lines []outline.ChangeLine
	for _, id := range d.Removed {
		lines = append(lines, outline.ChangeLine{Kind: outline.Removed, Line: outline.Line{ID: id}})
	}
	kinds := [...]outline.ChangeKind{
		revision.Added: outline.Added, revision.Changed: outline.Changed, revision.Moved: outline.Moved,
	}
	for _, c := range d.Changes {
		line := linesOf(s.GetElements()[c.At : c.At+1])[0]
		lines = append(lines, outline.ChangeLine{Kind: kinds[c.Kind], Line: line, Under: c.Under, After: c.After})
	}
	return outline.WriteChanges(headOf(s), string(since.ID), lines)
}

// appendFacts says the states an agent cannot guess from the role.
func appendFacts(out []string, e *commonv1.Element) []string {
	var has [32]bool
	for _, st := range e.GetStates() {
		has[st] = true
	}
	say := func(when bool, word string) {
		if when {
			out = append(out, word)
		}
	}
	say(!has[commonv1.ElementState_ELEMENT_STATE_ENABLED] && interactive(e), "disabled")
	if has[commonv1.ElementState_ELEMENT_STATE_CHECKABLE] {
		say(has[commonv1.ElementState_ELEMENT_STATE_CHECKED], "checked")
		say(!has[commonv1.ElementState_ELEMENT_STATE_CHECKED], "not checked")
	}
	if has[commonv1.ElementState_ELEMENT_STATE_EXPANDABLE] {
		say(has[commonv1.ElementState_ELEMENT_STATE_EXPANDED], "expanded")
		say(!has[commonv1.ElementState_ELEMENT_STATE_EXPANDED], "collapsed")
	}
	say(has[commonv1.ElementState_ELEMENT_STATE_PRESSED], "pressed")
	say(has[commonv1.ElementState_ELEMENT_STATE_SELECTED], "selected")
	say(has[commonv1.ElementState_ELEMENT_STATE_FOCUSED], "focused")
	say(has[commonv1.ElementState_ELEMENT_STATE_MODAL], "modal")
	say(has[commonv1.ElementState_ELEMENT_STATE_BUSY], "busy")
	say(has[commonv1.ElementState_ELEMENT_STATE_OFFSCREEN], "not in view")
	say(e.GetValueTruncated(), "value is longer than shown")
	if e.RangeMin != nil && e.RangeMax != nil {
		out = append(out, "range "+number(e.GetRangeMin())+" to "+number(e.GetRangeMax()))
	}
	return out
}

func number(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

func interactive(e *commonv1.Element) bool {
	return len(e.GetActions()) > 0 || e.RangeMin != nil
}

// appendActions lists what can be performed beyond a plain press.
func appendActions(out []string, e *commonv1.Element) []string {
	for _, a := range e.GetActions() {
		if a != commonv1.ElementAction_ELEMENT_ACTION_PRESS {
			out = append(out, actionWords.of(int32(a)))
		}
	}
	return out
}

// notesOf says, in sentences of ours, what the tree does not show (C0.10).
func notesOf(s *executorv1.Snapshot) []string {
	var out []string
	switch s.GetTreeQuality() {
	case commonv1.TreeQuality_TREE_QUALITY_NONE:
		out = append(out, "this application describes no elements here; observe with a picture instead")
	case commonv1.TreeQuality_TREE_QUALITY_NOT_READY:
		out = append(out, "the application has not finished describing this window; observe again shortly")
	}
	if s.GetHidden() {
		out = append(out, "the window is minimised or hidden")
	}
	for _, t := range s.GetTruncations() {
		out = append(out, "cut at the "+truncationWords.of(int32(t.GetKind()))+
			" limit: more elements may exist but are not listed")
	}
	for _, r := range s.GetRelated() {
		if r.GetModal() {
			out = append(out, "a dialog of this application blocks this window; observe the dialog, window id "+
				strconv.FormatUint(r.GetWindow().GetWindowId(), 10))
		}
	}
	return out
}

var truncationWords = wordsOf(commonv1.TruncationKind(0).Descriptor(), "TRUNCATION_KIND_")
