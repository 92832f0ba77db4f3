package integration

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/shared/refusal"
	"fairlead.dev/test/harness"
)

var update = flag.Bool("update", false, "rewrite the traces")

// The path of one act as data, for readers; test/testdata/traces shows it. Nothing
// that a person or an agent said is in it, because what is shown is what may leave.
func TestTracesOfOneActAreAsWritten(t *testing.T) {
	for _, tt := range []struct {
		name string
		tell func(*testing.T, *harness.System, *harness.Agent, *harness.Recorder)
	}{
		{"click_ok", func(t *testing.T, _ *harness.System, a *harness.Agent, _ *harness.Recorder) {
			harness.Verified(t, a.Do(press(a, "7")), treeDelta)
		}},
		{"click_window_moved", func(t *testing.T, s *harness.System, a *harness.Agent, r *harness.Recorder) {
			act := press(a, "7")
			_, err := s.Desk.ReplaceWindow(s.Window("Calculator").ID)
			s.Must(err)
			r.Note("another window takes the place of the one that was observed")
			harness.NothingSent(t, a.Do(act), refusal.TargetMissing)
			s.Untouched(t, 0)
		}},
		{"pause", func(t *testing.T, s *harness.System, a *harness.Agent, r *harness.Recorder) {
			user := s.User()
			user.Pause(a.ID())
			r.Note("the user pauses the session")
			harness.NothingSent(t, a.Do(press(a, "7")), refusal.Paused)
			user.Resume(a.ID())
			r.Note("the user resumes it: a look is all it needs")
			harness.NothingSent(t, a.Do(press(a, "7")), refusal.ReobserveRequired)
			harness.Refused(t, a.Look(harness.OfApp(calculator)).GetRefusal(), 0)
			harness.Verified(t, a.Do(press(a, "7")), treeDelta)
		}},
		{"stop", func(t *testing.T, s *harness.System, a *harness.Agent, r *harness.Recorder) {
			user := s.User()
			user.Stop(a.ID())
			r.Note("the user stops the session")
			harness.NothingSent(t, a.Do(press(a, "7")), refusal.UserStopped)
			harness.Refused(t, a.TryBeginTurn(), refusal.UserStopped)
			user.Resume(a.ID())
			r.Note("the user resumes it: the next turn begins without a lease")
			harness.Refused(t, a.TryBeginTurn(), 0)
			harness.Refused(t, a.Look(harness.OfApp(calculator)).GetRefusal(), refusal.LeaseRequired)
			s.Untouched(t, 0)
		}},
		{"keyboard", func(t *testing.T, s *harness.System, a *harness.Agent, r *harness.Recorder) {
			for _, class := range []commonv1.LeaseClass{metadata, semantic, keyboard} {
				harness.Refused(t, a.Acquire(class, harness.App(form)).GetRefusal(), 0)
			}
			a.See(form, "Form")
			harness.NothingSent(t, a.Do(harness.Append("nowhere")), refusal.KeyboardNotOwned)
			harness.Verified(t, a.Do(harness.Focus(a.Element(isText, "Name").GetId())), stateReadback)
			harness.Verified(t, a.Do(harness.Append("here")), textReadback)
			s.Must(s.Desk.UserInput(s.Window("Form").ID))
			user := s.User()
			s.Await("the keyboard is lost", func() bool { return user.Counts().GetKeyboards() == 0 })
			r.Note("the user types into the window")
			harness.NothingSent(t, a.Do(harness.Append("no more")), refusal.KeyboardNotOwned)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := harness.NewRecorder()
			s := harness.Start(t, harness.Options{Traces: r.Traces()})
			a := harness.NewAgent(t, r.Record(s, s.Dial("agent")))
			for _, class := range []commonv1.LeaseClass{metadata, semantic} {
				harness.Refused(t, a.Acquire(class, harness.App(calculator)).GetRefusal(), 0)
			}
			harness.Refused(t, a.Look(harness.OfApp(calculator)).GetRefusal(), 0)
			tt.tell(t, s, a, r)
			compare(t, filepath.Join("../testdata/traces", tt.name+".txt"), r.Text())
		})
	}
}

func compare(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	g, w := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range max(len(g), len(w)) {
		if i >= len(g) || i >= len(w) || g[i] != w[i] {
			t.Fatalf("%s differs from line %d on (go test -update rewrites it):\n%s", path, i+1,
				strings.Join(g[min(i, len(g)):min(i+8, len(g))], "\n"))
		}
	}
}
