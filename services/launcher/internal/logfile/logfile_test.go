package logfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEveryLineCarriesItsRole(t *testing.T) {
	dir := t.TempDir()
	l, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	w := l.Writer("host")
	for _, part := range []string{"one\ntw", "o\n", "three"} {
		if _, err := w.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	long := strings.Repeat("x", lineMax+10)
	other := l.Writer("policy")
	if _, err := other.Write([]byte(long + "\n")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(l.Path())
	if err != nil {
		t.Fatal(err)
	}
	want := "host     | one\nhost     | two\n" +
		"policy   | " + long[:lineMax] + "\npolicy   | xxxxxxxxxx\n" + "host     | three\n"
	if string(got) != want {
		t.Errorf("got %d bytes, want %d", len(got), len(want))
	}
	if st, err := os.Stat(l.Path()); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v %v", st.Mode(), err)
	}
}

func TestALogFileIsBoundedAndItsPredecessorKept(t *testing.T) {
	dir := t.TempDir()
	l, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	l.max = 30
	w := l.Writer("host")
	for range 5 {
		if _, err := w.Write([]byte("0123456\n")); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{Name, Name + ".1"} {
		st, err := os.Stat(filepath.Join(dir, name))
		if err != nil || st.Size() > 30 || st.Size() == 0 {
			t.Errorf("%s: %v %v", name, st, err)
		}
	}
}

func TestALinkIsNotWrittenThrough(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(dir, "elsewhere"), filepath.Join(dir, Name)); err != nil {
		t.Fatal(err)
	}
	if l, err := Open(dir); err == nil {
		_ = l.Close()
		t.Error("opened a link")
	}
}
