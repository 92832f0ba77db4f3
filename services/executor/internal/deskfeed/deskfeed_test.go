package deskfeed

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/services/shared/ident"
)

var a, b = ident.Window{ID: 1}, ident.Window{ID: 2}

func TestEventsAreToldInOrder(t *testing.T) {
	var f Feed
	want := []Event{{Input, a}, {Ended, b}, {Input, b}, {Locked, ident.Window{}}}
	for _, e := range want {
		f.Add(e)
	}
	if d, due := f.Due(0); !due || d != 0 {
		t.Fatal("nothing is due")
	}
	if got := f.Take(0); cmp.Diff(want, got) != "" {
		t.Fatal(cmp.Diff(want, got))
	}
	if _, due := f.Due(0); due || len(f.Take(0)) != 0 {
		t.Fatal("told twice")
	}
}

func TestInputIntoOneWindowIsToldOnceUntilItIsRead(t *testing.T) {
	var f Feed
	for range 2 * QueueMax {
		f.Add(Event{Input, a})
	}
	if got := f.Take(0); len(got) != 1 {
		t.Fatalf("got %v", got)
	}
	f.Add(Event{Input, a})
	if got := f.Take(0); len(got) != 1 {
		t.Fatal("input after it was told is new input")
	}
}

// A reader that is too slow hears the worst case once, and how the lock stands.
func TestWhatDoesNotFitIsToldAsTheWorstCase(t *testing.T) {
	var f Feed
	f.Add(Event{Kind: Locked})
	for i := range QueueMax {
		f.Add(Event{Ended, ident.Window{ID: uint64(i + 1)}})
	}
	f.Add(Event{Kind: Unlocked})
	for i := range 10 * QueueMax {
		f.Add(Event{Ended, ident.Window{ID: uint64(i + 1)}})
	}
	f.Add(Event{Input, a})
	want := []Event{{Kind: Input}, {Kind: Ended}, {Kind: Unlocked}, {Kind: Content}}
	if got := f.Take(0); cmp.Diff(want, got) != "" {
		t.Fatal(cmp.Diff(want, got))
	}
	f.Add(Event{Ended, a})
	if got := f.Take(0); cmp.Diff([]Event{{Ended, a}}, got) != "" {
		t.Fatal("it goes on as before")
	}
}

// Input is told as lost where it was among what is lost, wherever in it, and only there.
func TestLossKnowsWhetherInputWasLost(t *testing.T) {
	for name, at := range map[string]int{"none": -1, "first": 0, "last that fits": QueueMax - 1, "first that does not": QueueMax} {
		t.Run(name, func(t *testing.T) {
			var f Feed
			for i := range QueueMax + 1 {
				kind := Ended
				if i == at {
					kind = Input
				}
				f.Add(Event{kind, ident.Window{ID: uint64(i + 1)}})
			}
			got := f.Take(0)
			if told := got[0].Kind == Input; told != (at >= 0) || len(got) > 3 {
				t.Fatalf("got %v", got)
			}
		})
	}
}

func TestLossAloneSaysNothingAboutTheLock(t *testing.T) {
	var f Feed
	f.Lose(true)
	want := []Event{{Kind: Input}, {Kind: Ended}, {Kind: Content}}
	if got := f.Take(0); cmp.Diff(want, got) != "" {
		t.Fatal(cmp.Diff(want, got))
	}
}

func TestContentOfAWindowIsToldAtMostOnceAtATime(t *testing.T) {
	var f Feed
	told := map[ident.Window]int{}
	for now := time.Duration(0); now < 10*ContentEvery; now += time.Millisecond {
		f.Add(Event{Content, a})
		if now%(10*time.Millisecond) == 0 {
			f.Add(Event{Content, b})
		}
		for _, e := range f.Take(now) {
			told[e.Window]++
		}
	}
	if told[a] != 10 || told[b] != 10 {
		t.Fatalf("told %v", told)
	}
	f.Add(Event{Content, b})
	d, due := f.Due(10*ContentEvery - 1)
	if !due || d != 1 {
		t.Fatalf("due in %v, %v", d, due)
	}
	if got := f.Take(10 * ContentEvery); len(got) != 2 {
		t.Fatalf("the last change is not told: %v", got)
	}
}

func TestContentOfTooManyWindowsMayBeAny(t *testing.T) {
	var f Feed
	for i := range 2 * WindowsMax {
		f.Add(Event{Content, ident.Window{ID: uint64(i + 1)}})
	}
	if got := f.Take(0); cmp.Diff([]Event{{Kind: Content}}, got) != "" {
		t.Fatalf("got %v", got)
	}
	f.Add(Event{Kind: Content})
	f.Add(Event{Content, a})
	if got := f.Take(ContentEvery); cmp.Diff([]Event{{Kind: Content}}, got) != "" {
		t.Fatalf("got %v", got)
	}
}
