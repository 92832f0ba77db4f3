package peersock

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestAnInheritedConnectionIsMarked(t *testing.T) {
	a, b, err := Pair()
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	c, err := Conn(a)
	if err != nil {
		t.Fatal(err)
	}
	conn, info, err := Credentials{Inherited: true}.ServerHandshake(c)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if id, _ := info.(identified); !id.Inherited {
		t.Errorf("got %+v", id.Peer)
	}
}

func TestALinkInPlaceOfTheLockIsRefused(t *testing.T) {
	dir := shortDir(t)
	if err := os.Symlink(filepath.Join(dir, "elsewhere"), filepath.Join(dir, "s.sock.lock")); err != nil {
		t.Fatal(err)
	}
	if l, err := Listen(dir, "s.sock"); err == nil {
		t.Error("listens with a lock that is a link", l.Close())
	}
	if _, err := os.Lstat(filepath.Join(dir, "elsewhere")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file was made where the link leads: %v", err)
	}
}

// A directory of somebody else stays theirs to change, whatever its mode is now.
func TestADirectoryOfAnotherUserIsRefused(t *testing.T) {
	dir := "/" // is root's
	if os.Getuid() == 0 {
		dir = filepath.Join(shortDir(t), "theirs")
		if err := errors.Join(os.Mkdir(dir, 0o700), os.Chown(dir, 1, 1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := makeDirectory(dir, private.dir); !errors.Is(err, ErrNotPrivate) {
		t.Errorf("got %v", err)
	}
}
