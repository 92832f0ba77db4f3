package sessionhost

import (
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
	"fairlead.dev/services/sessionhost/internal/outline"
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
	lines := make([]outline.Line, len(s.GetElements()))
	// One list holds the words of all lines.
	said := make([]string, 0, 2*len(lines))
	for i, e := range s.GetElements() {
		facts := len(said)
		said = appendFacts(said, e)
		actions := len(said)
		said = appendActions(said, e)
		lines[i] = outline.Line{
			ID: e.GetId(), Depth: e.GetDepth(), Role: roleWords.of(int32(e.GetRole())), Name: e.GetName(),
			Value: e.GetValue(), Facts: said[facts:actions], Actions: said[actions:],
		}
	}
	return outline.Write(outline.Head{Title: s.GetTitle(), App: s.GetWindow().GetAppId(), Notes: notesOf(s)}, lines)
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
