package x11

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// world is a fake machine: programs, desktop files and processes.
type world struct {
	t    *testing.T
	root string
	apps *Apps
}

func newWorld(t *testing.T) *world {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, root: root}
	w.apps = NewApps(AppsConfig{
		Proc: filepath.Join(root, "proc"), DataDirs: []string{filepath.Join(root, "share"), filepath.Join(root, "more")},
		Path: []string{filepath.Join(root, "bin")}, TrustUID: os.Getuid(),
	})
	return w
}

func (w *world) write(name, content string, mode os.FileMode) string {
	w.t.Helper()
	path := filepath.Join(w.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		w.t.Fatal(err)
	}
	return path
}

func (w *world) link(name, target string) {
	w.t.Helper()
	path := filepath.Join(w.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Symlink(target, path); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) program(name string) string { return w.write("bin/"+name, "", 0o755) }

func (w *world) desktop(id, extra string) {
	w.write("share/applications/"+id+".desktop", "[Desktop Entry]\nType=Application\nName="+id+"\n"+extra, 0o644)
}

// process makes process 42, started at 1000.
func (w *world) process(exe, cgroup string, args ...string) {
	w.t.Helper()
	w.write("proc/42/stat", fmt.Sprintf("42 (x) S%s 1000 0", strings.Repeat(" 1", 18)), 0o644)
	w.write("proc/42/cgroup", cgroup, 0o644)
	w.write("proc/42/cmdline", strings.Join(append([]string{exe}, args...), "\x00")+"\x00", 0o644)
	w.link("proc/42/exe", exe)
	w.link("proc/42/cwd", w.root)
}

const slice = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/"

var appIDTests = []struct {
	name  string
	build func(w *world)
	want  string // with ROOT for the world's directory
}{
	{"desktop file by executable", func(w *world) {
		w.desktop("org.a.App", "Exec=app --new %U")
		w.process(w.program("app"), "")
	}, "org.a.App"},
	{"desktop file by symbolic link", func(w *world) {
		w.desktop("org.a.App", "Exec=app-link")
		exe := w.program("app-1.2")
		w.link("bin/app-link", exe)
		w.process(exe, "")
	}, "org.a.App"},
	{"desktop file by TryExec", func(w *world) {
		w.desktop("org.a.App", "Exec=wrapper\nTryExec=app")
		w.process(w.program("app"), "")
	}, "org.a.App"},
	{"behind env", func(w *world) {
		w.desktop("org.a.App", "Exec=env A=b app %f")
		w.process(w.program("app"), "")
	}, "org.a.App"},
	{"in a subdirectory", func(w *world) {
		w.desktop("kde/app", "Exec=app")
		w.process(w.program("app"), "")
	}, "kde-app"},
	{"no desktop file", func(w *world) { w.process(w.program("app"), "") }, "exe:ROOT/bin/app"},
	{"shown in menus first, then shortest", func(w *world) {
		w.desktop("a", "Exec=app\nNoDisplay=true")
		w.desktop("org.long.Name", "Exec=app")
		w.desktop("org.b", "Exec=app")
		w.desktop("org.c", "Exec=app")
		w.process(w.program("app"), "")
	}, "org.b"},
	{"scope decides between claims", func(w *world) {
		w.desktop("org.b", "Exec=app")
		w.desktop("office-calc", "Exec=app --calc")
		w.process(w.program("app"), slice+`app-gnome-office\x2dcalc-1234.scope`)
	}, "office-calc"},
	{"service with instance", func(w *world) {
		w.desktop("org.b", "Exec=app")
		w.desktop("org.calc", "Exec=app --calc")
		w.process(w.program("app"), slice+"app-org.calc@0123.service")
	}, "org.calc"},
	{"scope that the executable contradicts", func(w *world) {
		w.desktop("org.trusted", "Exec=trusted")
		w.program("trusted")
		w.process(w.program("evil"), slice+"app-gnome-org.trusted-1.scope")
	}, "exe:ROOT/bin/evil"},
	{"interpreter with script", func(w *world) {
		w.desktop("python", "Exec=python3.11")
		w.desktop("org.script", "Exec=tool")
		w.process(w.program("python3.11"), slice+"app-org.script-1.scope", "-X", "utf8", "-u", w.program("tool"), "x")
	}, "exe:ROOT/bin/python3.11:ROOT/bin/tool"},
	{"interpreter with relative script", func(w *world) {
		w.program("tool")
		w.process(w.program("perl"), "", "bin/tool")
	}, "exe:ROOT/bin/perl:ROOT/bin/tool"},
	{"interpreter with code", func(w *world) {
		w.process(w.program("bash"), "", "-lc", "evil")
	}, "exe:ROOT/bin/bash:-lc"},
	{"interpreter without arguments", func(w *world) {
		w.process(w.program("node"), "")
	}, "exe:ROOT/bin/node:unknown"},
	{"script that is not there", func(w *world) {
		w.process(w.program("ruby"), "", "/nowhere/x")
	}, "exe:ROOT/bin/ruby:unknown"},
	{"jar", func(w *world) {
		w.process(w.program("java"), "", "-Xmx1g", "-cp", "lib", "-jar", w.program("x.jar"))
	}, "exe:ROOT/bin/java:ROOT/bin/x.jar"},
	{"java class", func(w *world) {
		w.process(w.program("java"), "", "-cp", "lib", "org.Main")
	}, "exe:ROOT/bin/java:org.Main"},
	{"deleted executable", func(w *world) { w.process(filepath.Join(w.root, "bin/app (deleted)"), "") }, "unknown"},
	{"hidden desktop file", func(w *world) {
		w.desktop("org.a", "Exec=app\nHidden=true")
		w.process(w.program("app"), "")
	}, "exe:ROOT/bin/app"},
	{"desktop file others can write", func(w *world) {
		w.desktop("org.a", "Exec=app")
		w.process(w.program("app"), "")
		if err := os.Chmod(filepath.Join(w.root, "share/applications/org.a.desktop"), 0o666); err != nil {
			w.t.Fatal(err)
		}
	}, "exe:ROOT/bin/app"},
	{"directory others can write", func(w *world) {
		w.desktop("org.a", "Exec=app")
		w.process(w.program("app"), "")
		if err := os.Chmod(filepath.Join(w.root, "share/applications"), 0o777); err != nil {
			w.t.Fatal(err)
		}
	}, "exe:ROOT/bin/app"},
	{"flatpak", func(w *world) {
		w.desktop("org.f", "Exec=/usr/bin/flatpak run org.f\nX-Flatpak=org.f")
		w.process("/app/bin/f", slice+"app-flatpak-org.f-99.scope")
		w.write("proc/42/root/.flatpak-info", "[Application]\nname=org.f\n", 0o644)
	}, "org.f"},
	{"flatpak that is not one", func(w *world) {
		w.desktop("org.f", "Exec=/usr/bin/flatpak run org.f\nX-Flatpak=org.f")
		w.process(w.program("evil"), slice+"app-flatpak-org.f-99.scope")
	}, "unknown"},
	{"snap whose executable is elsewhere", func(w *world) {
		w.desktop("s_app", "Exec=/snap/bin/s.app\nX-SnapInstanceName=s")
		w.process(w.program("evil"), slice+"snap.s.app-01234567-0123-0123-0123-0123456789ab.scope")
	}, "exe:ROOT/bin/evil"},
}

func TestApplicationIDs(t *testing.T) {
	for _, tt := range appIDTests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			tt.build(w)
			want := AppID(strings.ReplaceAll(tt.want, "ROOT", w.root))
			if got := w.apps.ID(42, 1000); got != want {
				t.Errorf("id = %q, want %q", got, want)
			}
		})
	}
}

func TestAnotherProcessWithTheSameIDIsUnknown(t *testing.T) {
	w := newWorld(t)
	w.process(w.program("app"), "")
	for _, start := range []uint64{0, 999, 1001} {
		if got := w.apps.ID(42, start); got != AppUnknown {
			t.Errorf("start %d: id = %q", start, got)
		}
	}
	if got := w.apps.ID(43, 1000); got != AppUnknown {
		t.Errorf("id = %q", got)
	}
}

func TestUnits(t *testing.T) {
	for name, want := range map[string]unit{
		"app-org.a.B-12.scope":         {kind: unitApp, id: "org.a.B"},
		"app-gnome-org.a.B-12.scope":   {kind: unitApp, id: "org.a.B"},
		`app-KDE-a\x2db@77.service`:    {kind: unitApp, id: "a-b"},
		"app-flatpak-org.a.B-12.scope": {kind: unitFlatpak, id: "org.a.B"},
		"snap.code.code.service":       {kind: unitSnap, id: "code_code", snap: "code"},
		"snap.a-b.c-d.0123abcd.scope":  {kind: unitSnap, id: "a-b_c-d", snap: "a-b"},
		"app-a-b-c-d-e.scope":          {},
		"app.slice":                    {},
		"app-1.scope":                  {},
		`app-gnome-\x2-1.scope`:        {},
		"session-2.scope":              {},
		"snap..x.scope":                {},
		"dbus.service":                 {},
		"app-gnome--1.scope":           {},
		"snap.s.app-01234567-0123-0123-0123-0123456789ab.scope": {kind: unitSnap, id: "s_app", snap: "s"},
	} {
		if got := parseUnit(name); got != want {
			t.Errorf("%q = %+v, want %+v", name, got, want)
		}
	}
	v1 := "12:cpu:/app-org.no-1.scope\n1:name=systemd:/user.slice/app-org.yes-1.scope\n"
	if got := unitOf([]byte(v1)); got.id != "org.yes" {
		t.Errorf("unit = %+v", got)
	}
}

func TestExecLines(t *testing.T) {
	for line, want := range map[string][]string{
		`app --new %U`:                   {"app", "--new"},
		`app --file=%f %%x`:              {"app", "--file=", "%x"},
		`"/opt/my app/run" "a \"b\"" ""`: {"/opt/my app/run", `a "b"`, ""},
		`app "%u"`:                       {"app"},
		`app "unclosed`:                  nil,
		``:                               nil,
		"  app\t-x ":                     {"app", "-x"},
	} {
		if got := parseExec(line); !slices.Equal(got, want) {
			t.Errorf("%q = %q, want %q", line, got, want)
		}
	}
}

func TestEarlierDirectoryHidesLaterOnes(t *testing.T) {
	w := newWorld(t)
	w.desktop("org.a", "Exec=first")
	w.desktop("org.b", "Exec=gone\nHidden=true")
	for _, id := range []string{"org.a", "org.b", "org.c"} {
		w.write("more/applications/"+id+".desktop", "[Desktop Entry]\nType=Application\nName=C\\sx\nExec=second %F\n", 0o644)
	}
	w.write("more/applications/link.desktop", "[Desktop Entry]\nType=Link\nName=x\nURL=y\n", 0o644)
	apps, err := w.apps.DesktopApps()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range apps {
		got = append(got, a.ID+"="+a.Exec[0])
	}
	if !slices.Equal(got, []string{"org.a=first", "org.c=second"}) || apps[1].Name != "C x" || len(apps[1].Exec) != 1 {
		t.Errorf("apps = %q, %+v", got, apps)
	}
}

func TestChangedDesktopFilesAreReadAgain(t *testing.T) {
	w := newWorld(t)
	w.process(w.program("app"), "")
	if got := w.apps.ID(42, 1000); got != AppID("exe:"+w.root+"/bin/app") {
		t.Fatalf("id = %q", got)
	}
	w.desktop("org.a", "Exec=app")
	w.apps.index.scanned = w.apps.index.scanned.Add(-rescanEvery)
	if got := w.apps.ID(42, 1000); got != "org.a" {
		t.Errorf("id = %q", got)
	}
}

func FuzzParseDesktop(f *testing.F) {
	f.Add([]byte("[Desktop Entry]\nType=Application\nExec=\"a b\" %u\\\\ \\s\nName=x\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if e, ok := parseDesktop(b, "x"); ok && len(e.app.Exec) == 0 {
			t.Error("an application without a command")
		}
		unitOf(b)
	})
}
