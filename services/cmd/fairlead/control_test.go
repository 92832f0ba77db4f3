package main

import (
	"slices"
	"strings"
	"testing"
)

const (
	one1 = "s-aaaaaaaaaaaaaaaaaaaaaaaaa1"
	one2 = "s-aaaaaaaaaaaaaaaaaaaaaaaaa2"
	two  = "s-bbbbbbbbbbbbbbbbbbbbbbbbbb"
)

func TestEachWordSaysWhatItDidAndWhatCanBeDoneNext(t *testing.T) {
	const untold = "An act was in flight; its outcome is still told. "
	for _, c := range []struct {
		name   string
		flying bool
		args   []string
		says   string
		heard  []string
	}{
		{"stop", false, []string{"stop", two}, "Stopped; its leases ended. It may do nothing until: fairlead resume " + two, []string{"stop " + two}},
		{"stop an act", true, []string{"stop", two}, "Stopped; its leases ended. " + untold + "It may do nothing until: fairlead resume " + two, []string{"stop " + two}},
		{"pause", false, []string{"pause", two}, "Paused; it keeps its leases. Let it go on with: fairlead resume " + two, []string{"pause " + two}},
		{"pause an act", true, []string{"pause", two}, "Paused; it keeps its leases. " + untold + "Let it go on with: fairlead resume " + two, []string{"pause " + two}},
		{"take over", false, []string{"takeover", two}, "Taken over; its leases, its keyboard and its menus are given up. Let it go on without them with: fairlead resume " + two, []string{"takeover " + two}},
		{"by the beginning of its id", false, []string{"pause", "s-bbb"}, "Paused; it keeps its leases. Let it go on with: fairlead resume s-bbb", []string{"pause " + two}},
		{"stop all", false, []string{"stop", "--all"}, "Stopped everything: 3 sessions. No session can be opened until: fairlead resume --all", []string{"stop all"}},
		{"stop all acts", true, []string{"stop", "--all"}, "Stopped everything: 3 sessions. In flight: 3 acts; what came of it is still told. No session can be opened until: fairlead resume --all", []string{"stop all"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := serveFake(t, &fakeHost{flying: c.flying}, one1, one2, two)
			code, out, errs := h.run(c.args...)
			if want := c.says + " --runtime-dir " + h.dir + "\n"; code != 0 || out != want || errs != "" {
				t.Errorf("exit code %d, %q\nsaid %q\nwant %q", code, errs, out, want)
			}
			if !slices.Equal(h.heard(), c.heard) {
				t.Errorf("the host heard %q", h.heard())
			}
		})
	}
}

func TestNoWordReachesASessionThatWasNotMeant(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"stop what is not there", []string{"stop", "s-c"}, 1, "there is no such session; it may have ended already"},
		{"pause what is not there", []string{"pause", "s-c"}, 1, "there is no such session; it may have ended already"},
		{"take over what is not there", []string{"takeover", "s-c"}, 1, "there is no such session"},
		{"resume what is not there", []string{"resume", "s-c"}, 1, "there is no such session"},
		{"stop one of two", []string{"stop", "s-a"}, 1, "more than one session begins like that; type more of its id"},
		{"resume one of two", []string{"resume", "s-a"}, 1, "more than one session begins like that"},
		{"resume what is not held", []string{"resume", two}, 1, "this session is neither stopped nor paused"},
		{"resume all of what is not held", []string{"resume", "--all"}, 1, "nothing is stopped or paused"},
		{"stop nothing", []string{"stop"}, exitUsage, "name exactly one session, or use --all"},
		{"stop an unset variable", []string{"stop", ""}, exitUsage, "name exactly one session, or use --all"},
		{"resume an unset variable", []string{"resume", ""}, exitUsage, "name exactly one session, or use --all"},
		{"pause an unset variable", []string{"pause", ""}, exitUsage, "name exactly one session"},
		{"stop two", []string{"stop", one1, one2}, exitUsage, "name exactly one session, or use --all"},
		{"stop one and all", []string{"stop", two, "--all"}, exitUsage, "name a session or use --all, not both"},
		{"resume one and all", []string{"resume", two, "--all"}, exitUsage, "name a session or use --all, not both"},
		{"pause all", []string{"pause", "--all"}, exitUsage, "try --help"},
		{"take all over", []string{"takeover", "--all"}, exitUsage, "try --help"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := serveFake(t, &fakeHost{}, one1, one2, two)
			code, out, errs := h.run(c.args...)
			if code != c.code || out != "" || !strings.Contains(errs, c.says) {
				t.Errorf("exit code %d, want %d; %q does not say %q", code, c.code, out+errs, c.says)
			}
			if heard := h.heard(); len(heard) != 0 {
				t.Errorf("the host heard %q", heard)
			}
		})
	}
}

func TestResumeLiftsOneOrAll(t *testing.T) {
	h := serveFake(t, &fakeHost{}, one1, one2, two)
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"stop", "--all"}, "Stopped everything: 3 sessions."},
		{[]string{"stop", "--all"}, "Everything is stopped; no session was running."},
		{[]string{"resume", "s-b"}, "Resumed. The agent looks again before it acts"},
		{[]string{"resume", "--all"}, "Resumed all. Sessions can be opened again"},
	} {
		if code, out, errs := h.run(c.args...); code != 0 || !strings.HasPrefix(out, c.says) || strings.Count(out, "\n") != 1 {
			t.Errorf("%q: exit code %d, %q is not one line that says %q", c.args, code, out+errs, c.says)
		}
	}
	want := []string{"stop all", "stop all", "resume " + two, "resume "}
	if heard := h.heard(); !slices.Equal(heard, want) {
		t.Errorf("the host heard %q, want %q", heard, want)
	}
}

// TestHelpTellsTheWordsApart holds the help to what C12.1 means by each word.
func TestHelpTellsTheWordsApart(t *testing.T) {
	for word, means := range map[string][]string{
		"pause":    {"keeps its leases"},
		"takeover": {"leases", "given up", "without leases"},
		"stop":     {"leases and its turn end", "until you resume it", "kill switch", "none can be opened"},
		"resume":   {"begin a new turn", "without leases", "opened again"},
	} {
		h := fakeHost{}
		code, out, _ := h.run(word, "--help")
		out = strings.Join(strings.Fields(out), " ")
		for _, m := range means {
			if code != 0 || !strings.Contains(out, m) {
				t.Errorf("%s --help (%d) does not say %q:\n%s", word, code, m, out)
			}
		}
	}
}
