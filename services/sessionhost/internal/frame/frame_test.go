package frame

import (
	"testing"

	"fairlead.dev/services/shared/refusal"
)

func code(e *refusal.Error) refusal.Code {
	if e == nil {
		return 0
	}
	return e.Code
}

func TestAStepBindsToExactlyOneEnabledElement(t *testing.T) {
	const button, field = 7, 8
	f := &Frame{Elements: map[uint32]Element{
		1: {Role: button, Name: "Save", Enabled: true},
		2: {Role: button, Name: "Open", Enabled: true},
		3: {Role: field, Name: "Open", Enabled: true},
		4: {Role: button, Name: "Open"},
		5: {Role: button, Name: "Close", Enabled: true},
		6: {Role: button, Name: "Close", Enabled: true},
		7: {Role: button, Name: "Close", Enabled: true},
		8: {Role: button, Name: "Print"},
	}}
	for _, tc := range []struct {
		name       string
		role       int32
		text       string
		id         uint32
		want       refusal.Code
		candidates uint32
	}{
		{name: "one", role: button, text: "Save", id: 1},
		{name: "the disabled twin does not count", role: button, text: "Open", id: 2},
		{name: "another role is another element", role: field, text: "Open", id: 3},
		{name: "only a disabled one", role: button, text: "Print", want: refusal.TargetMissing},
		{name: "no such name", role: button, text: "Quit", want: refusal.TargetMissing},
		{name: "part of a name", role: button, text: "Sav", want: refusal.TargetMissing},
		{name: "another case", role: button, text: "save", want: refusal.TargetMissing},
		{name: "more than a name", role: button, text: "Save ", want: refusal.TargetMissing},
		{name: "several", role: button, text: "Close", want: refusal.TargetAmbiguous, candidates: 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			id, why := f.Unique(tc.role, tc.text)
			if id != tc.id || code(why) != tc.want {
				t.Fatalf("got %d, %v, want %d, %v", id, code(why), tc.id, tc.want)
			}
			if why != nil && why.Detail.GetCandidates() != tc.candidates {
				t.Errorf("%d candidates, want %d", why.Detail.GetCandidates(), tc.candidates)
			}
		})
	}
}

func TestTwoFocusedElementsAreNone(t *testing.T) {
	for _, tc := range []struct {
		name    string
		focused []uint32
		id      uint32
		ok      bool
	}{
		{"none", nil, 0, false},
		{"one", []uint32{2}, 2, true},
		{"two", []uint32{1, 3}, 0, false},
		{"three", []uint32{1, 2, 3}, 0, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := &Frame{Elements: map[uint32]Element{1: {}, 2: {}, 3: {}}}
			for _, id := range tc.focused {
				f.Elements[id] = Element{Focused: true}
			}
			if id, ok := f.Focus(); id != tc.id || ok != tc.ok {
				t.Errorf("got %d, %v", id, ok)
			}
		})
	}
}
