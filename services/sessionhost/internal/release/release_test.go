package release

import (
	"testing"

	"fairlead.dev/services/shared/ident"
)

func TestASubscriberHearsOfItsOwnSessionOnly(t *testing.T) {
	b := New()
	s, err := b.Subscribe("s-1")
	if err != nil {
		t.Fatal(err)
	}
	b.Publish(Event{Sessions: []ident.SessionID{"s-2"}})
	b.Publish(Event{Sessions: []ident.SessionID{"s-2", "s-1"}, Reason: 4})
	e := <-s.Events
	if len(e.Sessions) != 1 || e.Sessions[0] != "s-1" || e.Reason != 4 {
		t.Errorf("got %+v", e)
	}
	b.End()
	if _, open := <-s.Events; open {
		t.Error("the subscription outlived the broker")
	}
}

func TestASlowSubscriberIsDroppedNotWaitedFor(t *testing.T) {
	b := New()
	s, err := b.Subscribe("s-1")
	if err != nil {
		t.Fatal(err)
	}
	for range queuedMax + 1 {
		b.Publish(Event{Sessions: []ident.SessionID{"s-1"}})
	}
	n := 0
	for range s.Events {
		n++
	}
	if n != queuedMax || !s.Lagged() {
		t.Errorf("%d events, lagged %v", n, s.Lagged())
	}
	s.Close() // a second end is no end
}

func TestSubscribersAreBounded(t *testing.T) {
	b := New()
	for i := range subscribersMax {
		if _, err := b.Subscribe(ident.SessionID(rune('a' + i/perSessionMax))); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Subscribe("z"); err == nil {
		t.Error("one more was taken")
	}
	b = New()
	for range perSessionMax {
		if _, err := b.Subscribe("s"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Subscribe("s"); err == nil {
		t.Error("one session took more than its share")
	}
	if _, err := b.Subscribe("t"); err != nil {
		t.Error("another session was refused for it")
	}
}
