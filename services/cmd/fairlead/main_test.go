package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	"fairlead.dev/services/launcher"
)

func TestPlatformIsChosenFromWhatIsThere(t *testing.T) {
	for _, c := range []struct {
		name, goos, display, beside, asked, want string
		wrong                                    bool
	}{
		{name: "X11 with its executor", goos: "linux", display: ":0", beside: "fairlead-executor-linux", want: "x11"},
		{name: "no display", goos: "linux", beside: "fairlead-executor-linux", want: "virtual"},
		{name: "no executor for X11", goos: "linux", display: ":0", want: "virtual"},
		{name: "macOS", goos: "darwin", beside: "fairlead-executor-darwin", want: "macos"},
		{name: "macOS with XQuartz", goos: "darwin", display: ":0", beside: "fairlead-executor-linux", want: "virtual"},
		{name: "another system", goos: "freebsd", display: ":0", want: "virtual"},
		{name: "asked for", goos: "linux", display: ":0", asked: "virtual", want: "virtual"},
		{name: "X11 asked for", goos: "linux", display: ":0", asked: "x11", want: "x11"},
		{name: "X11 asked for without a display", goos: "linux", asked: "x11", wrong: true},
		{name: "unknown", asked: "wayland", wrong: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := surroundings{goos: c.goos, display: c.display, has: func(p string) bool { return p == c.beside }}
			asked := c.asked
			if asked == "" {
				asked = platformAuto
			}
			got, why, err := s.choose(asked)
			if got != c.want || (err != nil) != c.wrong || (err == nil) != (why != "") {
				t.Errorf("%q because %q, %v", got, why, err)
			}
		})
	}
}

func window(elements ...*commonv1.Element) *commonv1.Observation {
	return &commonv1.Observation{Elements: elements}
}

func button(id uint32, name string) *commonv1.Element {
	return &commonv1.Element{Id: id, Role: commonv1.Role_ROLE_BUTTON, Name: name}
}

func TestKeyIsTheOneButtonOfThatName(t *testing.T) {
	label := &commonv1.Element{Id: 9, Role: commonv1.Role_ROLE_LABEL, Name: "7"}
	for _, c := range []struct {
		name string
		o    *commonv1.Observation
		want uint32
	}{
		{"by its name", window(label, button(1, "6"), button(2, "7")), 2},
		{"by its first word", window(label, button(1, "6 6"), button(2, "7 7")), 2},
		{"its name before its first word", window(button(1, "7 to the power"), button(2, "7")), 2},
		{"not by a part of a word", window(button(1, "77")), 0},
		{"not when there are two", window(button(1, "7"), button(2, "7")), 0},
		{"not a label", window(label), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := key(c.o, "7")
			if got != c.want || (err == nil) != (c.want != 0) {
				t.Errorf("%d, %v", got, err)
			}
		})
	}
}

func TestResultIsReadFromValueOrName(t *testing.T) {
	field := &commonv1.Element{Role: commonv1.Role_ROLE_TEXT_FIELD, Name: "Display", Value: "42"}
	label := &commonv1.Element{Role: commonv1.Role_ROLE_LABEL, Name: "7×6 = 42"}
	for _, e := range []*commonv1.Element{field, label} {
		if where, ok := shows(window(button(1, "4"), e), "42"); !ok || !strings.Contains(where, "42") {
			t.Errorf("%q %v", where, ok)
		}
	}
	if _, ok := shows(window(button(1, "4"), button(2, "2")), "42"); ok {
		t.Error("read a result that is not there")
	}
}

func TestMajorVersionOfAPackage(t *testing.T) {
	for in, want := range map[string]string{"1:43.0.1-2": "43", "44": "44", "48~rc-1": "48", "": ""} {
		if got := major(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestPaperReadsWellWithoutColour(t *testing.T) {
	var b bytes.Buffer
	p := newPaper(&b)
	p.begin("Do it.")
	p.ok("done")
	p.begin("Do more.")
	p.refused("STALE_FRAME", "Observe again.")
	p.outline("[1] window \"A\"\n  [2] group\n    [3] button \"B\"\n")
	want := " 1  Do it." + strings.Repeat(" ", sentenceWidth-5) + "ok done\n" +
		" 2  Do more." + strings.Repeat(" ", sentenceWidth-7) + "refused STALE_FRAME\n" +
		"    “Observe again.”\n" +
		"    | [1] window \"A\"\n    |     [3] button \"B\"\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestStatusSaysWhatWorksAndWhatNot(t *testing.T) {
	var b bytes.Buffer
	err := printStatus(&b, &hostv1.GetStatusResponse{
		Processes: []*commonv1.ProcessStatus{{
			Role: commonv1.ProcessRole_PROCESS_ROLE_EXECUTOR, Pid: 7, Version: "1", Sha256: bytes.Repeat([]byte{0xab}, 32),
			Generation: 3, Health: commonv1.Health_HEALTH_DEGRADED, Platform: "x11", Attested: true,
			Abilities: []*commonv1.Ability{
				{Kind: commonv1.AbilityKind_ABILITY_KIND_TREE, Able: true},
				{
					Kind:   commonv1.AbilityKind_ABILITY_KIND_POINTER,
					Reason: commonv1.AbilityReason_ABILITY_REASON_NOT_OFFERED,
				},
			},
		}},
		Limits: &hostv1.Limits{Sessions: 256}, Sessions: 2,
	}, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"executor  7    1        abababababab  3           degraded  yes",
		"On the x11 desktop it can:", "tree       yes", "pointer    no, not offered", "Sessions  2 of 256",
	} {
		if !strings.Contains(b.String(), line) {
			t.Errorf("no %q in\n%s", line, b.String())
		}
	}
}

func TestStatusCountsWhatIsHeldAndInFlight(t *testing.T) {
	status := &hostv1.GetStatusResponse{
		Limits: &hostv1.Limits{}, Frames: 2, Keyboards: 1, ActsInFlight: 3, Subscribers: 4, LanesHeld: 5, LanesWaiting: 6,
		CallsWaiting: 7, StoppedAll: true,
		Holds: []*hostv1.HoldCount{
			{Hold: hostv1.Hold_HOLD_BLOCKED_URL},
			{Hold: hostv1.Hold_HOLD_STOPPED, Sessions: 2},
			{Hold: hostv1.Hold_HOLD_SCREEN_LOCKED, Sessions: 1},
		},
	}
	says := func(lines ...string) {
		t.Helper()
		var b bytes.Buffer
		if err := printStatus(&b, status, " --runtime-dir /r"); err != nil {
			t.Fatal(err)
		}
		for _, line := range lines {
			if !strings.Contains(b.String(), line+"\n") {
				t.Errorf("no %q in\n%s", line, b.String())
			}
		}
	}
	says("Held      2 stopped, 1 screen locked",
		"Stop all  yes: no session can be opened until: fairlead resume --all --runtime-dir /r",
		"Acts      3 in flight", "Frames    2 current, 1 with the keyboard; at most one per session",
		"Streams   4 subscribers", "Windows   5 in use, 6 acts waiting; at most 0 per window",
		"Calls     7 waiting; at most 0 per session and 0 in all")
	status.StoppedAll, status.Holds = false, status.GetHolds()[:1]
	says("Held      none", "Stop all  no")
}

func TestTableOfSessionsShowsWhatHoldsEach(t *testing.T) {
	var b bytes.Buffer
	err := printTable(&b, []*hostv1.OpenSession{
		{
			SessionId: "s-1", ClientName: "a\nb", Uid: 7, Base: hostv1.BaseStatus_BASE_STATUS_REOBSERVE_REQUIRED,
			Holds: []hostv1.Hold{hostv1.Hold_HOLD_PAUSED, hostv1.Hold_HOLD_SCREEN_LOCKED}, AppId: "org.example.App",
		},
		{SessionId: "s-2", Base: hostv1.BaseStatus_BASE_STATUS_ACTIVE, ActInFlight: true, AppId: "exe:/tmp/\x1b[2J"},
	}, "")
	want := `
SESSION  CLIENT  UID  TURN                HELD                   ACT        APP
s-1      "a\nb"  7    reobserve required  paused, screen locked  -          org.example.App
s-2      ""      0    active              -                      in flight  "exe:/tmp/\x1b[2J"

Hold one with: fairlead pause SESSION; stop one with: fairlead stop SESSION
`
	if err != nil || b.String() != want {
		t.Errorf("%v\n%s\nwant\n%s", err, b.String(), want)
	}
	b.Reset()
	if err := printTable(&b, nil, ""); err != nil || b.Len() != 0 {
		t.Errorf("%v, prints %q for no sessions", err, b.String())
	}
}

func TestExitCodesAndSentences(t *testing.T) {
	t.Setenv("DISPLAY", "")
	dir := t.TempDir()
	for _, c := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"help", nil, 0, "fairlead demo"},
		{"version", []string{"version"}, 0, "fairlead dev"},
		{"a command that is none", []string{"dance"}, exitUsage, "try --help"},
		{"a flag that is none", []string{"up", "--fast"}, exitUsage, "try --help"},
		{"a platform that is none", []string{"up", "--platform", "wayland"}, exitUsage, "use auto, x11, virtual or macos"},
		{"no bundle", []string{"up", "--bundle", dir + "/none"}, exitUsage, "cannot be found"},
		{"no display", []string{"up", "--platform", "x11"}, 1, "DISPLAY is not set; try --private-desktop or"},
		{"two desktops", []string{"up", "--private-desktop", "--platform", "virtual"}, exitUsage, "leave --platform"},
		{"stop without a session", []string{"stop"}, exitUsage, "exactly one session"},
		{"nothing runs", []string{"status", "--runtime-dir", dir}, 1, "start fairlead with: fairlead up"},
		{"nothing to stop", []string{"stop", "s-1", "--runtime-dir", dir}, 1, "start fairlead with: fairlead up"},
		{"nothing to stop at all", []string{"stop", "--all", "--runtime-dir", dir}, 1, "start fairlead with: fairlead up"},
		{"nothing to tell", []string{"timeline", "--runtime-dir", dir}, 1, "start fairlead with: fairlead up"},
		{"nothing to describe", []string{"manifest", "write", dir}, 1, "build them first"},
		{"no private desktops", []string{"desktop", "--", "xterm"}, 1, "fairlead-executor-linux"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out, errs bytes.Buffer
			if code := run(c.args, &out, &errs); code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			if all := out.String() + errs.String(); !strings.Contains(all, c.says) {
				t.Errorf("no %q in %q", c.says, all)
			}
		})
	}
}

func TestUntrustedProgramsEndWithTheirOwnCode(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "fairlead-host"), []byte("x"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := launcher.WriteManifest(dir, "1"); err != nil {
		t.Fatal(err)
	}
	l, err := launcher.New(launcher.Options{
		BinDir: dir, RuntimeDir: filepath.Join(dir, "run"), StateDir: filepath.Join(dir, "state"),
	})
	if err != nil {
		t.Fatal(err)
	}
	if code := launcher.ExitCode(l.Run(t.Context())); code != launcher.ExitAttestation {
		t.Errorf("exit code %d", code)
	}
}
