package peersock

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// PathMax is the shorter of the platforms' limits on socket paths, less the final zero.
const PathMax = 103

// Why a socket cannot be listened on.
var (
	ErrPathTooLong = errors.New("peersock: socket path is longer than 103 bytes; use a shorter runtime directory")
	ErrInUse       = errors.New("peersock: another instance listens on this socket")
	ErrNotPrivate  = errors.New("peersock: socket directory is not a private directory of this user")
)

// RuntimeDir returns the directory below which the audiences' socket directories
// lie: XDG_RUNTIME_DIR/fairlead, or a private directory of this uid below /tmp.
func RuntimeDir() string {
	if d := os.Getenv("XDG_RUNTIME_DIR"); d != "" {
		return filepath.Join(d, "fairlead")
	}
	return filepath.Join(os.TempDir(), fmt.Sprintf("fairlead-%d", os.Getuid()))
}

// Listen makes the directory private and then listens on a socket in it. The order
// matters: a socket must not exist for a moment in a directory others can enter. A
// socket left by a dead instance is replaced, one of a living instance is not.
func Listen(dir, name string) (net.Listener, error) {
	return listen(filepath.Join(dir, name), private)
}

// ListenShared listens on a socket that other uids can reach, for an agent under an
// account of its own. Who may connect is then said by Credentials alone: everybody
// else is dropped in the handshake. The directory and its parent can be passed
// through, but not read.
func ListenShared(dir, name string) (net.Listener, error) {
	l, err := listen(filepath.Join(dir, name), shared)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(filepath.Dir(dir), shared.dir); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the runtime directory to the agent: %w", err), l.Close())
	}
	return l, nil
}

// modes of a socket and its directory.
type modes struct{ dir, socket os.FileMode }

var (
	private = modes{dir: 0o700, socket: 0o600}
	shared  = modes{dir: 0o711, socket: 0o666}
)

func listen(path string, m modes) (net.Listener, error) {
	if len(path) > PathMax {
		return nil, ErrPathTooLong
	}
	if err := makeDirectory(filepath.Dir(path), m.dir); err != nil {
		return nil, err
	}
	lock, err := takeLock(path + ".lock")
	if err != nil {
		return nil, err
	}
	l, err := bind(path, m.socket)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return &owned{Listener: l, lock: lock}, nil
}

func makeDirectory(dir string, mode os.FileMode) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("making socket directory: %w", ErrNotPrivate)
	}
	st, err := os.Lstat(dir)
	if err != nil || !st.IsDir() || !ownedByUs(st) {
		return ErrNotPrivate
	}
	if err := os.Chmod(dir, mode); err != nil {
		return fmt.Errorf("closing socket directory to others: %w", ErrNotPrivate)
	}
	return nil
}

func takeLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening socket lock: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(ErrInUse, f.Close())
	}
	return f, nil
}

func bind(path string, mode os.FileMode) (net.Listener, error) {
	if st, err := os.Lstat(path); err == nil && st.Mode()&os.ModeSocket != 0 {
		// We hold the lock, so whoever made this socket is gone.
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("removing a dead instance's socket: %w", err)
		}
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("listening: %w", err)
	}
	if err := os.Chmod(path, mode); err != nil {
		return nil, errors.Join(fmt.Errorf("closing socket to others: %w", err), l.Close())
	}
	return l, nil
}

// owned keeps the lock for as long as the listener lives.
type owned struct {
	net.Listener
	lock *os.File
	once sync.Once
	err  error
}

// Close removes the socket and then lets go of the lock. A server and its owner may
// both close a listener; the second time there is nothing left to do.
func (o *owned) Close() error {
	o.once.Do(func() { o.err = errors.Join(o.Listener.Close(), o.lock.Close()) })
	return o.err
}

// Limit lets at most so many connections of a listener live at once. One more is
// accepted and closed: callers of one audience must not use up what another needs.
func Limit(l net.Listener, most int) net.Listener {
	return &limited{Listener: l, free: make(chan struct{}, most)}
}

type limited struct {
	net.Listener
	free chan struct{} // holds one token for each living connection
}

func (l *limited) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		u, ok := c.(*net.UnixConn)
		if !ok {
			return nil, errors.Join(ErrNoPeer, c.Close())
		}
		select {
		case l.free <- struct{}{}:
			return &counted{UnixConn: u, done: sync.OnceFunc(func() { <-l.free })}, nil
		default:
			_ = c.Close() // the caller sees a closed connection; there is nobody to tell
		}
	}
}

// counted gives its place back when it is closed.
type counted struct {
	*net.UnixConn
	done func()
}

// Close closes the connection.
func (c *counted) Close() error {
	defer c.done()
	return c.UnixConn.Close()
}
