package x11

import (
	"os"
	"strings"
	"testing"
)

func TestStartTimeIsFoundBehindAnyCommandName(t *testing.T) {
	const rest = " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20 21"
	names := []string{"x", "a b", "a) S 1 2 (b", ")))", "(", "\n", ") R 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 1"}
	for _, comm := range names {
		n, err := parseStart([]byte("42 (" + comm + ")" + rest))
		if err != nil || n != 4711 {
			t.Errorf("%q: start = %d, %v", comm, n, err)
		}
	}
	for _, bad := range []string{"", "42 (x", "42 (x) S 1", "42 (x)" + strings.Replace(rest, "4711", "-1", 1)} {
		if n, err := parseStart([]byte(bad)); err == nil {
			t.Errorf("%q: start = %d, want an error", bad, n)
		}
	}
}

func TestOwnProcessHasAStartAndAnExecutable(t *testing.T) {
	start, err := ProcessStart(os.Getpid())
	if err != nil || start == 0 {
		t.Errorf("start = %d, %v", start, err)
	}
	exe, err := Executable(os.Getpid())
	want, _ := os.Executable()
	if err != nil || exe != want {
		t.Errorf("executable = %q, %v; want %q", exe, err, want)
	}
	if _, err := ProcessStart(0); err == nil {
		t.Error("process 0 has no start")
	}
}
