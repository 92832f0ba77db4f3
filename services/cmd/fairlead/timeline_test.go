package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
)

// noon is when the events of these tests happened.
var noon = time.Date(2025, time.March, 4, 12, 0, 0, 0, time.Local)

func event(seq uint64, session string, kind hostv1.TimelineKind) *hostv1.TimelineEvent {
	at := noon.Add(time.Duration(seq) * time.Millisecond)
	return &hostv1.TimelineEvent{Seq: seq, UnixMs: uint64(at.UnixMilli()), SessionId: session, Kind: kind}
}

func ended(seq uint64, act string, o commonv1.Outcome, c commonv1.RefusalCode) *hostv1.TimelineEvent {
	e := event(seq, two, hostv1.TimelineKind_TIMELINE_KIND_ACT_ENDED)
	e.ActId, e.Outcome, e.Code = act, o, c
	return e
}

func past() []*hostv1.TimelineEvent {
	keyboard := event(6, two, hostv1.TimelineKind_TIMELINE_KIND_KEYBOARD_REVOKED)
	keyboard.KeyboardLoss = hostv1.KeyboardLoss_KEYBOARD_LOSS_STOP
	return []*hostv1.TimelineEvent{
		event(1, one1, hostv1.TimelineKind_TIMELINE_KIND_SESSION_OPENED),
		event(2, one2, hostv1.TimelineKind_TIMELINE_KIND_SESSION_OPENED),
		event(3, two, hostv1.TimelineKind_TIMELINE_KIND_SESSION_OPENED),
		ended(4, "a1", commonv1.Outcome_OUTCOME_OK, 0),
		ended(5, "a2", commonv1.Outcome_OUTCOME_REFUSED, commonv1.RefusalCode_REFUSAL_CODE_STALE_FRAME),
		keyboard,
	}
}

func TestTimelineIsOneLineForEachEvent(t *testing.T) {
	all := []string{
		"Mar  4 12:00:00.001  " + one1 + "  session opened",
		"Mar  4 12:00:00.002  " + one2 + "  session opened",
		"Mar  4 12:00:00.003  s-bbbbbbbb  session opened",
		"Mar  4 12:00:00.004  s-bbbbbbbb  act ended a1: ok",
		"Mar  4 12:00:00.005  s-bbbbbbbb  act ended a2: refused, stale frame",
		"Mar  4 12:00:00.006  s-bbbbbbbb  keyboard lost: stopped",
	}
	for _, c := range []struct {
		name  string
		args  []string
		want  []string
		notes string
	}{
		{"all", nil, all, "Forgotten: 7 events before these.\n"},
		{"one", []string{two}, all[2:], "Forgotten: 7 events before these.\n"},
		{"one that ended, by the beginning of its id", []string{"s-b"}, all[2:], "Forgotten: 7 events before these.\n"},
		{"one of which nothing is known", []string{"s-d"}, nil, "Forgotten: 7 events before these.\nNothing happened yet.\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := serveFake(t, &fakeHost{events: past(), gone: 7}, "s-dddd")
			code, out, errs := h.run(append([]string{"timeline"}, c.args...)...)
			want := ""
			for _, l := range c.want {
				want += l + "\n"
			}
			if code != 0 || out != want || errs != c.notes {
				t.Errorf("exit code %d, %q\n%s\nwant\n%s", code, errs, out, want)
			}
		})
	}
}

// TestWhatWasSaidToAllNamesNoSession: the user's stop and resume of everything concern no
// one session, and none may look as if they did.
func TestWhatWasSaidToAllNamesNoSession(t *testing.T) {
	h := serveFake(t, &fakeHost{events: []*hostv1.TimelineEvent{
		event(1, "", hostv1.TimelineKind_TIMELINE_KIND_STOPPED_ALL),
		event(2, "", hostv1.TimelineKind_TIMELINE_KIND_RESUMED),
		event(3, two, hostv1.TimelineKind_TIMELINE_KIND_SESSION_OPENED),
	}})
	code, out, errs := h.run("timeline")
	want := "Mar  4 12:00:00.001  all         stopped by the user with --all\n" +
		"Mar  4 12:00:00.002  all         resumed by the user\n" +
		"Mar  4 12:00:00.003  s-bbbbbbbb  session opened\n"
	if code != 0 || out != want || errs != "" {
		t.Errorf("exit code %d, %q\n%s\nwant\n%s", code, errs, out, want)
	}
	if code, out, _ := h.run("timeline", "--json"); code != 0 || strings.Contains(out, `"all"`) {
		t.Errorf("exit code %d; JSON has a session that is none:\n%s", code, out)
	}
}

func TestTheEndOfAnActIsToldOnce(t *testing.T) {
	for want, e := range map[string]*hostv1.TimelineEvent{
		"act ended a: ok":              ended(1, "a", commonv1.Outcome_OUTCOME_OK, 0),
		"act ended a: failed, timeout": ended(1, "a", commonv1.Outcome_OUTCOME_FAILED, commonv1.RefusalCode_REFUSAL_CODE_TIMEOUT),
		"act ended a: outcome unknown": ended(1, "a", commonv1.Outcome_OUTCOME_UNKNOWN, commonv1.RefusalCode_REFUSAL_CODE_OUTCOME_UNKNOWN),
		"act ended a: outcome unknown, timeout": ended(1, "a", commonv1.Outcome_OUTCOME_UNKNOWN,
			commonv1.RefusalCode_REFUSAL_CODE_TIMEOUT),
	} {
		if got := told(e); got != want {
			t.Errorf("told as %q, want %q", got, want)
		}
	}
}

func TestTimelineOfNoSessionIsRefused(t *testing.T) {
	h := serveFake(t, &fakeHost{events: past()})
	for typed, says := range map[string]string{
		"s-x": "there is no such session", "s-a": "more than one session begins like that", "": "name exactly one session",
	} {
		if code, out, errs := h.run("timeline", typed); code == 0 || out != "" || !strings.Contains(errs, says) {
			t.Errorf("%q: exit code %d, %q", typed, code, out+errs)
		}
	}
}

func TestJSONIsOneObjectOnEachLine(t *testing.T) {
	watched := event(7, two, hostv1.TimelineKind_TIMELINE_KIND_RESUMED)
	h := serveFake(t, &fakeHost{
		events: past(), gone: 1, watched: []*hostv1.WatchSessionsResponse{{Event: watched}},
	})
	for _, args := range [][]string{{"timeline", "--json"}, {"timeline", "--json", "--follow"}} {
		code, out, _ := h.run(args...)
		lines := strings.Split(strings.TrimSpace(out), "\n")
		if want := len(args) - 2 + len(past()); code != 0 || len(lines) != want {
			t.Fatalf("%q: exit code %d, %d lines, want %d", args, code, len(lines), want)
		}
		for i, l := range lines {
			var e struct{ Kind, Seq string }
			if err := json.Unmarshal([]byte(l), &e); err != nil || !strings.HasPrefix(e.Kind, "TIMELINE_KIND_") {
				t.Errorf("line %d is %s: %v", i, l, err)
			}
			if strings.Contains(l, " ") {
				t.Errorf("line %d varies: %s", i, l)
			}
		}
	}
}

func TestFollowShowsThePastOnceAndGoesOnUntilTheEnd(t *testing.T) {
	told := past()
	h := serveFake(t, &fakeHost{events: told, watched: []*hostv1.WatchSessionsResponse{
		{Event: told[5]}, // it happened between the subscription and the question for the past
		{Event: event(7, two, hostv1.TimelineKind_TIMELINE_KIND_RESUMED)},
	}})
	code, out, errs := h.run("timeline", "s-b", "--follow")
	if code != 0 || strings.Count(out, "keyboard lost") != 1 || !strings.HasSuffix(out, "resumed by the user\n") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	if errs != "The host has ended, and every session with it.\n" {
		t.Errorf("said %q", errs)
	}
}

func TestFollowSaysWhenItMissedEvents(t *testing.T) {
	h := serveFake(t, &fakeHost{events: past(), watched: []*hostv1.WatchSessionsResponse{
		{Event: event(7, two, hostv1.TimelineKind_TIMELINE_KIND_RESUMED)}, {Lagged: true},
	}})
	code, out, errs := h.run("timeline", "--follow")
	if code != 1 || !strings.HasSuffix(out, "resumed by the user\n") || !strings.Contains(errs, "came faster") {
		t.Errorf("exit code %d, %q:\n%s", code, errs, out)
	}
}

func TestFollowSaysWhenTheHostLetGo(t *testing.T) {
	h := serveFake(t, &fakeHost{watchEnd: errors.New("no more")})
	if code, _, errs := h.run("timeline", "--follow"); code != 1 || !strings.Contains(errs, "let go of the stream") {
		t.Errorf("exit code %d, %q", code, errs)
	}
}

// sink is a writer that tells each line it got.
type sink struct{ lines chan string }

func (s sink) Write(b []byte) (int, error) {
	s.lines <- string(b)
	return len(b), nil
}

func TestFollowEndsWellWhenInterruptedOrWhenFairleadBreaksOff(t *testing.T) {
	for _, c := range []struct {
		name, notes string
		end         func(h *fakeHost, interrupt context.CancelFunc)
	}{
		{"interrupt", "", func(_ *fakeHost, interrupt context.CancelFunc) { interrupt() }},
		{"end", "The host has ended, and every session with it.\n", func(h *fakeHost, _ context.CancelFunc) { h.end() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := serveFake(t, &fakeHost{
				watched: []*hostv1.WatchSessionsResponse{{Event: event(7, two, hostv1.TimelineKind_TIMELINE_KIND_PAUSED)}},
				watchOn: make(chan struct{}),
			})
			ctx, interrupt := context.WithTimeout(t.Context(), callMax)
			defer interrupt()
			var notes bytes.Buffer
			out, result := sink{make(chan string, 1)}, make(chan error, 1)
			go func() { result <- timelineOptions{dir: h.dir, follow: true}.show(ctx, out, &notes, "") }()
			if l := <-out.lines; !strings.HasSuffix(l, "paused by the user\n") {
				t.Errorf("shows %q", l)
			}
			c.end(h, interrupt)
			if err := <-result; err != nil || notes.String() != "Nothing happened yet.\n"+c.notes {
				t.Errorf("%v, said %q", err, notes.String())
			}
		})
	}
}

// TestEveryEventHasItsOwnWords also holds the words to the schema when it grows.
func TestEveryEventHasItsOwnWords(t *testing.T) {
	check := func(values protoreflect.EnumValueDescriptors, words func(protoreflect.EnumNumber) (string, bool)) {
		t.Helper()
		var seen []string
		for i := 1; i < values.Len(); i++ {
			v := values.Get(i)
			w, ok := words(v.Number())
			if !ok || w == "" || slices.Contains(seen, w) {
				t.Errorf("%s is %q, which is no word or another's", v.Name(), w)
			}
			seen = append(seen, w)
		}
	}
	check(hostv1.TimelineKind(0).Descriptor().Values(), func(n protoreflect.EnumNumber) (string, bool) {
		w, ok := happened[hostv1.TimelineKind(n)]
		return w, ok
	})
	check(hostv1.KeyboardLoss(0).Descriptor().Values(), func(n protoreflect.EnumNumber) (string, bool) {
		w, ok := lost[hostv1.KeyboardLoss(n)]
		return w, ok
	})
}

func TestSessionsAreToldApartInAsFewLettersAsItTakes(t *testing.T) {
	for _, c := range []struct {
		seen []string
		want string
	}{
		{nil, "s-bbbbbbbb"},
		{[]string{one1}, "s-bbbbbbbb"},
		{[]string{"s-bbbbbbbbbc"}, "s-bbbbbbbbbb"},
		{[]string{two}, "s-bbbbbbbb"},
	} {
		p := printer{seen: map[string]bool{}}
		for _, s := range c.seen {
			p.seen[s] = true
		}
		if got := p.label(two); got != c.want {
			t.Errorf("beside %q it is %q, want %q", c.seen, got, c.want)
		}
	}
	if p := (printer{out: io.Discard, seen: map[string]bool{}}); p.label("x") != "x" {
		t.Error("a short id is not shown whole")
	}
}

func TestAnIdFromOutsideCannotSteerATerminal(t *testing.T) {
	e := event(1, two, hostv1.TimelineKind_TIMELINE_KIND_ACT_SENT)
	for id, want := range map[string]string{
		"a1":                "act sent a1",
		"\x1b[2Jgone":       `act sent "\x1b[2Jgone"`,
		"a: ok\nMar 4":      `act sent "a: ok\nMar 4"`,
		"\u202eko :dedne":   `act sent "\u202eko :dedne"`,
		"ünïcode/is-fine_1": "act sent ünïcode/is-fine_1",
	} {
		e.ActId = id
		if got := told(e); got != want {
			t.Errorf("%q is told as %q, want %q", id, got, want)
		}
	}
}
