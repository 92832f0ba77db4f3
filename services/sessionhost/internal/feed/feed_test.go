package feed

import (
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"fairlead.dev/services/shared/refusal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The bounds that the host gives its feeds.
var bounds = Config{Subscribers: 32, PerOwner: 2, Queued: 256}

func all(e int) (int, bool) { return e, true }

func subscribe(t *testing.T, f *Feed[int], owner string, see func(int) (int, bool)) *Subscription[int] {
	t.Helper()
	s, err := f.Subscribe(owner, see)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// read returns what is queued, and whether the subscription has ended after it.
func read(s *Subscription[int]) (got []int, ended bool) {
	for {
		select {
		case e, open := <-s.Events:
			if !open {
				return got, true
			}
			got = append(got, e)
		default:
			return got, false
		}
	}
}

func TestASubscriberSeesWhatItMayInOrder(t *testing.T) {
	f := New[int](bounds)
	everything := subscribe(t, f, "a", all)
	even := subscribe(t, f, "b", func(e int) (int, bool) { return e * 10, e%2 == 0 })
	for e := range 5 {
		f.Publish(e)
	}
	f.End()
	if got, ended := read(everything); !slices.Equal(got, []int{0, 1, 2, 3, 4}) || !ended {
		t.Errorf("got %v, ended %v", got, ended)
	}
	if got, ended := read(even); !slices.Equal(got, []int{0, 20, 40}) || !ended {
		t.Errorf("got %v, ended %v", got, ended)
	}
	if everything.Lagged() || even.Lagged() {
		t.Error("an end is told as a lag")
	}
}

func TestASlowSubscriberIsDroppedNotWaitedFor(t *testing.T) {
	f := New[int](bounds)
	slow, quick := subscribe(t, f, "a", all), subscribe(t, f, "b", all)
	for e := range bounds.Queued {
		f.Publish(e)
		<-quick.Events
	}
	if slow.Lagged() {
		t.Error("a full queue is no lag yet")
	}
	f.Publish(bounds.Queued)
	if got, ended := read(slow); len(got) != bounds.Queued || !ended || !slow.Lagged() {
		t.Errorf("%d events, ended %v, lagged %v", len(got), ended, slow.Lagged())
	}
	if e := <-quick.Events; e != bounds.Queued || quick.Lagged() {
		t.Errorf("the other got %d, lagged %v", e, quick.Lagged())
	}
	slow.Close() // a second end is no end
	if s := subscribe(t, f, "a", all); s.Lagged() {
		t.Error("a new subscription begins lagged")
	}
}

func TestWhatASubscriberMayNotSeeDoesNotFillItsQueue(t *testing.T) {
	f := New[int](bounds)
	s := subscribe(t, f, "a", func(e int) (int, bool) { return e, e == 1 })
	for range 2 * bounds.Queued {
		f.Publish(0)
	}
	f.Publish(1)
	if e := <-s.Events; e != 1 || s.Lagged() {
		t.Errorf("got %d, lagged %v", e, s.Lagged())
	}
}

func TestSubscribersAreBounded(t *testing.T) {
	busy := func(_ *Subscription[int], err error) bool {
		return err != nil && refusal.As(err).Code == refusal.Busy
	}
	f := New[int](bounds)
	subs := make([]*Subscription[int], bounds.Subscribers)
	for i := range subs {
		subs[i] = subscribe(t, f, string(rune('A'+i/bounds.PerOwner)), all)
	}
	if !busy(f.Subscribe("another", all)) {
		t.Error("one more was taken")
	}
	subs[0].Close()
	subscribe(t, f, "another", all)

	f = New[int](bounds)
	for range bounds.PerOwner {
		subs[0] = subscribe(t, f, "a", all)
	}
	if !busy(f.Subscribe("a", all)) {
		t.Error("one owner took more than its share")
	}
	subscribe(t, f, "b", all)
	subs[0].Close()
	subscribe(t, f, "a", all)
}

func TestNobodySubscribesToWhatHasEnded(t *testing.T) {
	f := New[int](bounds)
	f.End()
	f.Publish(1)
	f.End()
	if _, err := f.Subscribe("a", all); err == nil || refusal.As(err).Code != refusal.ServiceUnavailable {
		t.Errorf("Subscribe = %v", err)
	}
}

func TestFeedsMayBeUsedAtOnce(t *testing.T) {
	f := New[int](Config{Subscribers: 8, PerOwner: 8, Queued: 4})
	var work sync.WaitGroup
	for range 4 {
		work.Go(func() {
			for e := range 200 {
				f.Publish(e)
			}
		})
		work.Go(func() {
			for range 50 {
				s, err := f.Subscribe("a", all)
				if err != nil {
					t.Error(err)
					return
				}
				f.Publish(1)
				<-s.Events
				s.Close()
				if got, ended := read(s); len(got) > 4 || !ended {
					t.Errorf("%d events were queued, ended %v", len(got), ended)
				}
			}
		})
	}
	work.Wait()
	f.End()
}
