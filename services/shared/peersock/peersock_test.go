package peersock

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// shortDir is a directory with a path short enough for a socket.
func shortDir(t *testing.T) string {
	t.Helper()
	d, err := os.MkdirTemp("/tmp", "ps")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(d) })
	return d
}

func TestADirectoryIsPrivateBeforeItsSocketExists(t *testing.T) {
	dir := filepath.Join(shortDir(t), "agent")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	l, err := Listen(dir, "host.sock")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for path, want := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, "host.sock"): 0o600} {
		st, err := os.Lstat(path)
		if err != nil || st.Mode().Perm() != want {
			t.Errorf("%s is %v, %v", path, st.Mode(), err)
		}
	}
}

func TestASecondInstanceIsToldSo(t *testing.T) {
	dir := shortDir(t)
	l, err := Listen(dir, "s.sock")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := Listen(dir, "s.sock"); !errors.Is(err, ErrInUse) {
		t.Errorf("got %v", err)
	}
	for range 2 {
		if err := l.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	}
}

func TestASocketOfADeadInstanceIsReplaced(t *testing.T) {
	dir := shortDir(t)
	dead, err := net.Listen("unix", filepath.Join(dir, "s.sock"))
	if err != nil {
		t.Fatal(err)
	}
	u, _ := dead.(*net.UnixListener)
	u.SetUnlinkOnClose(false)
	if err := dead.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := Listen(dir, "s.sock")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
}

func TestALinkInPlaceOfTheDirectoryIsRefused(t *testing.T) {
	dir := shortDir(t)
	if err := os.Mkdir(filepath.Join(dir, "real"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "real"), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(filepath.Join(dir, "link"), "s.sock"); !errors.Is(err, ErrNotPrivate) {
		t.Errorf("got %v", err)
	}
}

func TestALongPathIsRefusedWithASentence(t *testing.T) {
	_, err := Listen("/tmp/"+strings.Repeat("x", 120), "s.sock")
	if !errors.Is(err, ErrPathTooLong) {
		t.Errorf("got %v", err)
	}
}

func TestThePeerIsWhoTheKernelSays(t *testing.T) {
	dir := shortDir(t)
	l, err := Listen(dir, "s.sock")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := net.Dial("unix", filepath.Join(dir, "s.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	conn, info, err := Credentials{}.ServerHandshake(server)
	if err != nil {
		t.Fatal(err)
	}
	id, _ := info.(identified)
	if id.UID != uint32(os.Getuid()) || id.PID != int32(os.Getpid()) || id.Inherited {
		t.Errorf("got %+v", id.Peer)
	}
	if id.conn.pidfd.Load() == noPidfd {
		t.Error("no pidfd on a kernel that has them")
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	if err := conn.Close(); err == nil || id.conn.pidfd.Load() != noPidfd {
		t.Error("a second close let go of something again")
	}
}

func TestOnlyOurOwnUIDAndTheListedOnesMayConnect(t *testing.T) {
	own := uint32(os.Getuid())
	for _, tc := range []struct {
		name    string
		allowed []uint32
		uid     uint32
		want    bool
	}{
		{"our own", nil, own, true},
		{"our own beside a listed one", []uint32{own + 1}, own, true},
		{"a listed one", []uint32{own + 1}, own + 1, true},
		{"a stranger", nil, own + 1, false},
		{"a stranger beside a listed one", []uint32{own + 1}, own + 2, false},
	} {
		if got := (Credentials{Allowed: tc.allowed}).mayConnect(tc.uid); got != tc.want {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
}

func TestASharedSocketCanBePassedToButNotListed(t *testing.T) {
	run := shortDir(t)
	l, err := ListenShared(filepath.Join(run, "agent"), "host.sock")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for path, want := range map[string]os.FileMode{
		run: 0o711, filepath.Join(run, "agent"): 0o711, filepath.Join(run, "agent", "host.sock"): 0o666,
	} {
		if st, err := os.Lstat(path); err != nil || st.Mode().Perm() != want {
			t.Errorf("%s is %v, %v", path, st.Mode(), err)
		}
	}
}

func TestDescriptorsTravelWithTheirMessage(t *testing.T) {
	a, b, err := Pair()
	if err != nil {
		t.Fatal(err)
	}
	from, err := Conn(a)
	if err != nil {
		t.Fatal(err)
	}
	to, err := Conn(b)
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	// Two messages back to back must not run into each other.
	for _, msg := range []string{"first", strings.Repeat("x", messageMax)} {
		if err := Send(from, []byte(msg), w); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"first", strings.Repeat("x", messageMax)} {
		got, files, err := Receive(to)
		if err != nil || string(got) != want || len(files) != 1 {
			t.Fatalf("%d bytes, %d files, %v", len(got), len(files), err)
		}
		_, _ = files[0].WriteString("!")
		_ = files[0].Close()
	}
	_ = w.Close()
	if all, _ := io.ReadAll(r); !bytes.Equal(all, []byte("!!")) {
		t.Errorf("the pipe carried %q", all)
	}
	_ = from.Close()
	if _, _, err := Receive(to); err == nil {
		t.Error("a closed link received something")
	}
	if err := Send(from, nil); err == nil {
		t.Error("an empty message was sent")
	}
}

func TestAContextWithoutAPeerHasNone(t *testing.T) {
	if _, err := FromContext(context.Background()); !errors.Is(err, ErrNoPeer) {
		t.Errorf("got %v", err)
	}
}

func TestOneAcceptsEachConnectionOnce(t *testing.T) {
	c1, c2 := net.Pipe()
	l := One(c1, c2)
	for range 2 {
		if _, err := l.Accept(); err != nil {
			t.Fatal(err)
		}
	}
	go func() { _ = l.Close() }()
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v", err)
	}
	_ = l.Close()
}

func TestConnectionsBeyondTheLimitAreClosedAndTheirPlaceComesBack(t *testing.T) {
	dir := shortDir(t)
	raw, err := Listen(dir, "s.sock")
	if err != nil {
		t.Fatal(err)
	}
	l := Limit(raw, 2)
	defer l.Close()
	accepted := make(chan net.Conn, 8)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- c
		}
	}()
	dial := func() net.Conn {
		c, err := net.Dial("unix", filepath.Join(dir, "s.sock"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	dial()
	dial()
	first := <-accepted
	<-accepted
	if _, err := dial().Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("one too many: %v", err)
	}
	conn, _, err := Credentials{}.ServerHandshake(first)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	_ = conn.Close()
	dial()
	<-accepted
}
