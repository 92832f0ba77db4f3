package executor

import "testing"

func TestWhatDoesNotFitIsToldAsLostAndContentNeverIsTheCause(t *testing.T) {
	ch := make(chan Change, 8)
	for range 100 {
		Offer(ch, 0, Change{Kind: ChangeTree, PID: 1})
	}
	if len(ch) != 4 {
		t.Fatalf("%d changes of content", len(ch))
	}
	for range 100 {
		Offer(ch, 0, Change{Kind: ChangeInput, PID: 1})
	}
	var last Change
	for range 8 {
		last = <-ch
	}
	if len(ch) != 0 || last.Kind != ChangeLost {
		t.Errorf("%d left, the last is %v", len(ch), last.Kind)
	}
}

func TestASubscriberToOneProcessHearsOfItAndOfWhatIsEverybodys(t *testing.T) {
	ch := make(chan Change, 8)
	for _, pid := range []int32{1, 2, 0} {
		Offer(ch, 1, Change{Kind: ChangeWindows, PID: pid})
	}
	if len(ch) != 2 || (<-ch).PID != 1 || (<-ch).PID != 0 {
		t.Error("it heard of another process, or not of its own")
	}
}
