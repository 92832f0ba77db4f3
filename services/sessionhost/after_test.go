package sessionhost

import (
	"errors"
	"testing"

	"google.golang.org/protobuf/proto"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/permit"
)

// changed is the answer that says: element 1 of the base changed, the rest stayed.
func changed(key ident.ActKey, base *seenWindow) *executorv1.Snapshot {
	s := snapshot(len(base.objects))
	s.SnapshotId, s.BaseSnapshotId = "n-2", base.snap.GetSnapshotId()
	s.Elements[1].Name = "new"
	digest := permit.TreeDigest(key, s.Elements, s.Digests, s.Objects)
	s.TreeDigest = digest[:]
	s.Elements, s.Kept = s.Elements[1:2], []uint32{1, 0, 3}
	return s
}

func TestAChangeMakesTheWholeTreeOrIsNotTaken(t *testing.T) {
	key := ident.NewActKey()
	base, err := readSnapshot(snapshot(3))
	if err != nil {
		t.Fatal(err)
	}
	base.number([]uint32{7, 8, 9})
	seen, err := readAfter(changed(key, base), base, key)
	if err != nil {
		t.Fatal(err)
	}
	if n := seen.snap.GetElements(); len(n) != 3 || n[1].GetName() != "new" || n[0] != base.snap.GetElements()[0] {
		t.Errorf("the tree is %v", n)
	}
	for name, tc := range map[string]struct {
		spoil func(*executorv1.Snapshot)
		whole bool // the whole is asked for, instead of a violation
	}{
		"another tree":     {func(s *executorv1.Snapshot) { s.Elements[0].Name = "other" }, true},
		"another order":    {func(s *executorv1.Snapshot) { s.Kept = []uint32{3, 0, 1} }, true},
		"no digest":        {func(s *executorv1.Snapshot) { s.TreeDigest = nil }, true},
		"another base":     {func(s *executorv1.Snapshot) { s.BaseSnapshotId = "n-9" }, false},
		"beyond the base":  {func(s *executorv1.Snapshot) { s.Kept[0] = 4 }, false},
		"one too many":     {func(s *executorv1.Snapshot) { s.Kept = append(s.Kept, 0) }, false},
		"one left over":    {func(s *executorv1.Snapshot) { s.Kept = []uint32{1, 3} }, false},
		"an element twice": {func(s *executorv1.Snapshot) { s.Kept = []uint32{1, 0, 1} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := changed(key, base)
			tc.spoil(s)
			_, err := readAfter(s, base, key)
			if err == nil || errors.Is(err, errNotTheWhole) != tc.whole {
				t.Errorf("%v", err)
			}
		})
	}
	if _, err := readAfter(changed(key, base), nil, key); err == nil {
		t.Error("a change without a base was taken")
	}
}

// An element that went to a client with an earlier answer is never written to again.
func TestNumberingLeavesWhatWasSentAlone(t *testing.T) {
	w, _ := readSnapshot(snapshot(2))
	w.number([]uint32{1, 2})
	sent := w.snap.GetElements()[1]
	w.number([]uint32{1, 5})
	if sent.GetId() != 2 || w.snap.GetElements()[1].GetId() != 5 {
		t.Errorf("sent %d, now %d", sent.GetId(), w.snap.GetElements()[1].GetId())
	}
}

// FuzzAfter: whatever an executor answers about the tree an act left, the host takes it
// whole or not at all.
func FuzzAfter(f *testing.F) {
	key := ident.ActKey{1}
	base, _ := readSnapshot(snapshot(3))
	base.number([]uint32{7, 8, 9})
	for _, s := range []*executorv1.Snapshot{changed(key, base), snapshot(2), {BaseSnapshotId: "n-1"}} {
		b, err := proto.Marshal(s)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s := &executorv1.Snapshot{}
		if proto.Unmarshal(b, s) != nil {
			return
		}
		w, err := readAfter(s, base, key)
		if err != nil {
			return
		}
		if len(w.snap.GetElements()) != len(w.objects) {
			t.Fatal("a tree without its objects")
		}
		ids := make([]uint32, len(w.objects))
		for i := range ids {
			ids[i] = uint32(i + 1)
		}
		w.observation(ident.Frame{}, ids, commonv1.Render_RENDER_CHANGES, base, ident.Frame{})
	})
}

// FuzzNormalised: an act that is decoded twice is the same act.
func FuzzNormalised(f *testing.F) {
	for _, a := range []*commonv1.Act{
		{Act: &commonv1.Act_PressKeys{PressKeys: &commonv1.PressKeys{Keys: "ctrl+shift+s"}}},
		{Act: &commonv1.Act_TypeText{TypeText: &commonv1.TypeText{Text: "[withheld: secure field]"}}},
		{Act: &commonv1.Act_ClickElement{ClickElement: &commonv1.ClickElement{ElementId: 1}}},
		{},
	} {
		b, err := proto.Marshal(a)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		a := &commonv1.Act{}
		if proto.Unmarshal(b, a) != nil {
			return
		}
		once, err := normalised(a)
		if err != nil {
			return
		}
		first, _ := proto.Clone(once).(*commonv1.Act)
		twice, err := normalised(once)
		if err != nil || !proto.Equal(first, twice) {
			t.Fatalf("%v, then %v (%v)", first, twice, err)
		}
	})
}
