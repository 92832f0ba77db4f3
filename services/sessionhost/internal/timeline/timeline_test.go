package timeline

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
)

func TestAnEventCarriesNoContent(t *testing.T) {
	allowed := map[reflect.Type]bool{
		reflect.TypeFor[uint64](): true, reflect.TypeFor[int32](): true, reflect.TypeFor[time.Time](): true,
		reflect.TypeFor[Kind](): true, reflect.TypeFor[refusal.Code](): true,
		reflect.TypeFor[ident.SessionID](): true, reflect.TypeFor[ident.ActID](): true,
	}
	e := reflect.TypeFor[Event]()
	for i := range e.NumField() {
		if f := e.Field(i); !allowed[f.Type] {
			t.Errorf("%s is a %s: only ids, times and numbers may be kept", f.Name, f.Type)
		}
	}
}

func TestEveryKindHasItsOwnWords(t *testing.T) {
	seen := map[string]Kind{Kind(0).String(): 0}
	for k := SessionOpened; k <= SessionEnded; k++ {
		w := k.String()
		if other, twice := seen[w]; w == "" || twice {
			t.Errorf("kind %d is %q, as %d", k, w, other)
		}
		seen[w] = k
	}
	for k, want := range map[Kind]string{
		SessionOpened: "session opened", StoppedAll: "stopped with all", KeyboardRevoked: "keyboard revoked",
		SessionEnded: "session ended", 0: "unknown", kindCount: "unknown", 255: "unknown",
	} {
		if k.String() != want {
			t.Errorf("kind %d is %q, want %q", k, k.String(), want)
		}
	}
}

func TestAFullLineForgetsItsOldestAndSaysHowMany(t *testing.T) {
	var l Log
	l.Add(Event{Session: "s", Kind: SessionOpened})
	for range eventsMax {
		l.Add(Event{Session: "s", Kind: Observed})
	}
	if events, forgotten := l.Of("s"); len(events) != eventsMax+1 || forgotten != 0 {
		t.Errorf("%d events, %d forgotten", len(events), forgotten)
	}
	l.Add(Event{Session: "s", Kind: TurnBegun})
	events, forgotten := l.Of("s")
	if len(events) != eventsMax+1 || forgotten != 1 || events[1].Seq != 3 || events[eventsMax].Kind != TurnBegun {
		t.Errorf("%d events, %d forgotten, from %d to %v", len(events), forgotten, events[1].Seq, events[eventsMax].Kind)
	}
}

// C12.4: no agent can push what the user said, or what it did, out of its line.
func TestTurnsAndLooksPushOutNeitherWordsNorActs(t *testing.T) {
	var l Log
	for _, k := range []Kind{SessionOpened, Stopped, ActSent, ActEnded} {
		l.Add(Event{Session: "s", Kind: k})
	}
	for range 10 * eventsMax {
		l.Add(Event{Session: "s", Kind: TurnBegun})
		l.Add(Event{Session: "s", Kind: Observed})
	}
	events, forgotten := l.Of("s")
	if len(events) != eventsMax+4 || forgotten != 19*eventsMax || events[1].Kind != Stopped || events[3].Kind != ActEnded {
		t.Errorf("%d events, %d forgotten, %v, %v", len(events), forgotten, events[1].Kind, events[3].Kind)
	}
}

func TestWhatIsForgottenAsAWholeIsCounted(t *testing.T) {
	var l Log
	for i := range endedMax + 1 {
		s := ident.SessionID(fmt.Sprint(i))
		l.Add(Event{Session: s, Kind: SessionOpened})
		l.Add(Event{Session: s, Kind: Stopped})
		l.End(s)
	}
	if events, forgotten := l.All(); len(events) != 2*endedMax || forgotten != 2 {
		t.Errorf("%d events, %d forgotten", len(events), forgotten)
	}
}

func TestWhatIsAboutNoSessionIsKept(t *testing.T) {
	var l Log
	l.Add(Event{Kind: StoppedAll})
	for i := range openMax + endedMax {
		l.Add(Event{Session: ident.SessionID(fmt.Sprint(i)), Kind: SessionOpened})
	}
	if events, _ := l.Of(""); len(events) != 1 || events[0].Kind != StoppedAll {
		t.Errorf("%v", events)
	}
}

func TestWhatIsReturnedIsACopy(t *testing.T) {
	var l Log
	l.Add(Event{Session: "s", Kind: SessionOpened})
	events, _ := l.Of("s")
	events[0].Kind = Stopped
	if again, _ := l.Of("s"); again[0].Kind != SessionOpened {
		t.Error("a reader changed the line")
	}
}

func TestNumbersIncreaseOverAllSessions(t *testing.T) {
	var l Log
	for i, s := range []ident.SessionID{"a", "b", "a", "nobody"} {
		if e := l.Add(Event{Seq: 99, Session: s, Kind: SessionOpened}); e.Seq != uint64(i+1) || e.Session != s {
			t.Errorf("event %d is %+v", i, e)
		}
	}
}

func TestALateEventBeginsNoLine(t *testing.T) {
	var l Log
	l.Add(Event{Session: "s", Kind: ActEnded})
	if events, _ := l.Of("s"); events != nil || len(l.lines) != 0 {
		t.Errorf("a session that was never opened has %v", events)
	}
	l.Add(Event{Session: "s", Kind: SessionOpened})
	l.End("s")
	l.Add(Event{Session: "s", Kind: ActEnded})
	if events, _ := l.Of("s"); len(events) != 2 {
		t.Errorf("a session that ended just now has %v", events)
	}
	l.End("s")
	l.End("never opened")
	for i := range endedMax {
		other := ident.SessionID(fmt.Sprint(i))
		l.Add(Event{Session: other, Kind: SessionOpened})
		l.End(other)
	}
	if l.Add(Event{Session: "s", Kind: ActEnded}); len(l.lines) != endedMax {
		t.Errorf("%d lines", len(l.lines))
	}
	if events, _ := l.Of("s"); events != nil {
		t.Errorf("a session that ended long ago has %v", events)
	}
}

func TestOpenSessionsAreBounded(t *testing.T) {
	var l Log
	for i := range openMax + endedMax + 1 {
		l.Add(Event{Session: ident.SessionID(fmt.Sprint(i)), Kind: SessionOpened})
	}
	if len(l.open) != openMax || len(l.ended) != endedMax || len(l.lines) != openMax+endedMax {
		t.Errorf("%d open, %d ended, %d lines", len(l.open), len(l.ended), len(l.lines))
	}
	if events, _ := l.Of("0"); events != nil {
		t.Error("the oldest is still there")
	}
}

// The log against the obvious one: every event ever added, looked through.
func TestALogIsTheLatestEventsOfEachSessionInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l Log
		all := map[ident.SessionID][]Event{}
		var ended []ident.SessionID
		last := uint64(0)
		add := func(t *rapid.T, e Event) {
			got := l.Add(e)
			if got.Seq <= last {
				t.Fatalf("number %d after %d", got.Seq, last)
			}
			last, e.Seq = got.Seq, got.Seq
			if got != e {
				t.Fatalf("%+v was kept as %+v", e, got)
			}
			if all[e.Session] != nil || e.Kind == SessionOpened {
				all[e.Session] = append(all[e.Session], e)
			}
		}
		session := rapid.Custom(func(t *rapid.T) ident.SessionID {
			return ident.SessionID(fmt.Sprint(rapid.IntRange(0, 60).Draw(t, "session")))
		})
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				kind := Kind(rapid.Uint8Range(uint8(SessionOpened), uint8(SessionEnded)).Draw(t, "kind"))
				add(t, Event{Session: session.Draw(t, "session"), Kind: kind, At: time.Unix(int64(last), 0)})
			},
			"many": func(t *rapid.T) {
				s := session.Draw(t, "session")
				for range rapid.IntRange(1, 2*eventsMax).Draw(t, "how many") {
					add(t, Event{Session: s, Kind: Observed, Outcome: int32(last)})
				}
			},
			"come and go": func(t *rapid.T) {
				for range rapid.IntRange(1, endedMax).Draw(t, "how many") {
					s := session.Draw(t, "session")
					add(t, Event{Session: s, Kind: SessionOpened})
					l.End(s)
					if !slices.Contains(ended, s) {
						ended = append(ended, s)
					}
					if len(ended) > endedMax {
						delete(all, ended[0])
						ended = ended[1:]
					}
				}
			},
			"": func(t *rapid.T) {
				if len(l.lines) != len(all) || len(l.ended) != len(ended) || len(l.ended) > endedMax {
					t.Fatalf("%d lines, %d ended; want %d, %d", len(l.lines), len(l.ended), len(all), len(ended))
				}
				for i := range 61 {
					s := ident.SessionID(fmt.Sprint(i))
					want := latest(all[s])
					skip := len(all[s]) - len(want)
					if events, forgotten := l.Of(s); forgotten != skip || !slices.Equal(events, want) {
						t.Fatalf("%s: %d events, %d forgotten, want %d, %d", s, len(events), forgotten, len(want), skip)
					}
				}
			},
		})
	})
}

func TestAllIsTheLatestOfAllLinesInOrder(t *testing.T) {
	var l Log
	const sessions = 20
	for i := range sessions {
		l.Add(Event{Session: ident.SessionID(rune('a' + i)), Kind: SessionOpened})
	}
	for range eventsMax + 9 {
		for i := range sessions {
			l.Add(Event{Session: ident.SessionID(rune('a' + i)), Kind: Observed})
		}
	}
	events, forgotten := l.All()
	if len(events) != allMax || forgotten != sessions*(eventsMax+10)-allMax {
		t.Fatalf("%d events, %d forgotten", len(events), forgotten)
	}
	for i := 1; i < len(events); i++ {
		if events[i].Seq != events[i-1].Seq+1 {
			t.Fatalf("event %d follows %d", events[i].Seq, events[i-1].Seq)
		}
	}
	if events[len(events)-1].Seq != l.seq {
		t.Error("the latest event is missing")
	}
}

// latest is what is left of a line: the latest events of each class, in their order.
func latest(all []Event) (left []Event) {
	var n [classes]int
	for _, e := range slices.Backward(all) {
		if c := e.Kind.class(); n[c] < eventsMax {
			n[c]++
			left = append(left, e)
		}
	}
	slices.Reverse(left)
	return left
}
