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
	const again = "#\nIts agent may open another session. To prevent that: fairlead stop --all"
	const untold = "An act was in flight; its outcome is still told. "
	for _, c := range []struct {
		name   string
		flying bool
		args   []string
		says   string
		heard  []string
	}{
		{"stop", false, []string{"stop", two}, "Stopped; its leases ended. It may do nothing until: fairlead resume " + two + again, []string{"stop " + two}},
		{"stop an act", true, []string{"stop", two}, "Stopped; its leases ended. " + untold + "It may do nothing until: fairlead resume " + two + again, []string{"stop " + two}},
		{"pause", false, []string{"pause", two}, "Paused; it keeps the leases it still has. Let it go on with: fairlead resume " + two, []string{"pause " + two}},
		{"pause an act", true, []string{"pause", two}, "Paused; it keeps the leases it still has. " + untold + "Let it go on with: fairlead resume " + two, []string{"pause " + two}},
		{"take over", false, []string{"takeover", two}, "Taken over; its leases, its keyboard and its menus are given up. Let it go on without them with: fairlead resume " + two, []string{"takeover " + two}},
		{"by the beginning of its id", false, []string{"pause", "s-bbb"}, "Paused; it keeps the leases it still has. Let it go on with: fairlead resume s-bbb", []string{"pause " + two}},
		{"stop all", false, []string{"stop", "--all"}, "Stopped everything: 3 sessions. No session can be opened until: fairlead resume --all", []string{"stop all"}},
		{"stop all acts", true, []string{"stop", "--all"}, "Stopped everything: 3 sessions. In flight: 3 acts; what came of it is still told. No session can be opened until: fairlead resume --all", []string{"stop all"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := serveFake(t, &fakeHost{flying: c.flying}, one1, one2, two)
			code, out, errs := h.run(c.args...)
			where := " --runtime-dir " + h.dir
			if want := strings.ReplaceAll(c.says, "#", where) + where + "\n"; code != 0 || out != want || errs != "" {
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

// step is a command, and how the one or two lines begin that it is answered with.
type step struct {
	args []string
	says []string
}

// walk takes the steps one after the other.
func (h *fakeHost) walk(t *testing.T, steps ...step) {
	t.Helper()
	for _, s := range steps {
		code, out, errs := h.run(s.args...)
		lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
		said := slices.EqualFunc(lines, s.says, strings.HasPrefix)
		if code != 0 || errs != "" || !said {
			t.Fatalf("%q: exit code %d, %q\nsaid %q\nwant %q", s.args, code, errs, lines, s.says)
		}
	}
}

func TestResumeLiftsOneOrAll(t *testing.T) {
	h := serveFake(t, &fakeHost{}, one1, one2, two)
	h.walk(
		t,
		step{[]string{"stop", "--all"}, []string{"Stopped everything: 3 sessions."}},
		step{[]string{"stop", "--all"}, []string{"Every session was stopped already. No session can be opened until: fairlead resume --all"}},
		step{[]string{"resume", "s-b"}, []string{
			"Resumed. The agent looks again before it acts",
			"Your stop of everything still stands: no session can be opened until: fairlead resume --all --runtime-dir " + h.dir,
		}},
		step{[]string{"resume", "--all"}, []string{"Resumed all. Sessions can be opened again"}},
	)
	want := []string{"stop all", "stop all", "resume " + two, "resume "}
	if heard := h.heard(); !slices.Equal(heard, want) {
		t.Errorf("the host heard %q, want %q", heard, want)
	}
}

// TestAWordAfterAnotherSaysWhatIsTrueThen holds the answers to what stands after the word
// (C12.1), not to what the word does alone.
func TestAWordAfterAnotherSaysWhatIsTrueThen(t *testing.T) {
	const (
		keeps    = "Paused; it keeps the leases it still has. Let it go on with: fairlead resume "
		stays    = "It stays stopped; its leases ended with the stop. It may do nothing until: fairlead resume "
		stopped  = "Stopped; its leases ended. It may do nothing until: fairlead resume "
		another  = "Its agent may open another session."
		taken    = "Taken over; its leases, its keyboard and its menus are given up."
		resumed  = "Resumed. The agent looks again before it acts"
		all      = "Stopped everything: 1 session."
		allAgain = "Every session was stopped already."
	)
	stop, pause, takeover := []string{"stop", two}, []string{"pause", two}, []string{"takeover", two}
	resume, stopAll := []string{"resume", two}, []string{"stop", "--all"}
	for _, c := range []struct {
		name  string
		steps []step
	}{
		{"pause after a stop", []step{{stop, []string{stopped, another}}, {pause, []string{stays}}}},
		{"take-over after a stop", []step{{stop, []string{stopped, another}}, {takeover, []string{stays}}}},
		{"pause after a stop of all", []step{{stopAll, []string{all}}, {pause, []string{stays}}}},
		{"pause after a take-over", []step{{takeover, []string{taken}}, {pause, []string{keeps}}}},
		{"stop after a pause", []step{{pause, []string{keeps}}, {stop, []string{stopped, another}}}},
		{"pause after a resumed stop", []step{
			{stop, []string{stopped, another}}, {resume, []string{resumed}}, {pause, []string{keeps}},
		}},
		{"stop after a stop of all", []step{{stopAll, []string{all}}, {stop, []string{stopped}}}},
		{"stop of all after a stop", []step{{stop, []string{stopped, another}}, {stopAll, []string{allAgain}}}},
	} {
		t.Run(c.name, func(t *testing.T) { serveFake(t, &fakeHost{}, two).walk(t, c.steps...) })
	}
	serveFake(t, &fakeHost{}).walk(t, step{stopAll, []string{"Everything is stopped; no session was running."}})
}

// TestAWordThatWasHeardIsToldAlsoWhenNothingElseIs: the word is in force before anything
// is looked at, so a look that fails is no failure, and what is said is true all the same.
func TestAWordThatWasHeardIsToldAlsoWhenNothingElseIs(t *testing.T) {
	h := serveFake(t, &fakeHost{blind: true}, two)
	h.walk(
		t,
		step{[]string{"stop", two}, []string{"Stopped; its leases ended.", "Its agent may open another session."}},
		step{[]string{"pause", two}, []string{"Paused; it keeps the leases it still has."}},
		step{[]string{"stop", "--all"}, []string{"Everything is stopped"}},
		step{[]string{"resume", two}, []string{"Resumed."}},
	)
}

// TestHelpTellsTheWordsApart holds the help to what C12.1 means by each word.
func TestHelpTellsTheWordsApart(t *testing.T) {
	for word, means := range map[string][]string{
		"pause":    {"keeps its leases"},
		"takeover": {"leases", "given up", "without leases"},
		"stop":     {"leases and its turn end", "until you resume it", "may open another session", "kill switch", "none can be opened"},
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
