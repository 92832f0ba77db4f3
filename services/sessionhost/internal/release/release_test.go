package release

import (
	"reflect"
	"testing"

	"fairlead.dev/services/shared/ident"
)

func TestASubscriberSeesItsOwnSessionOnly(t *testing.T) {
	e := Event{
		Executor: 3, GenerationReleased: true, Sessions: []ident.SessionID{"s-2", "s-1", "s-3"},
		Reason: 4, Cause: 5, OutcomesUnknown: true,
	}
	want := e
	want.Sessions = []ident.SessionID{"s-1"}
	if got, ok := e.For("s-1"); !ok || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, ok)
	}
	if len(e.Sessions) != 3 || e.Sessions[0] != "s-2" {
		t.Errorf("the event itself became %+v", e)
	}
}

func TestAnEventThatDoesNotListTheSessionIsNotSeen(t *testing.T) {
	for _, e := range []Event{{}, {Sessions: []ident.SessionID{"s-2"}, GenerationReleased: true, Executor: 1}} {
		if got, ok := e.For("s-1"); ok || !reflect.DeepEqual(got, Event{}) {
			t.Errorf("%+v is seen as %+v, %v", e, got, ok)
		}
	}
}
