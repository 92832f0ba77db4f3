package peersock

import (
	"errors"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func ownUID() uint32 { return uint32(os.Getuid()) }

// readPeer asks the kernel who connected. macOS has no pidfd.
func readPeer(conn net.Conn, u syscall.Conn) (*watchedConn, error) {
	raw, err := u.SyscallConn()
	if err != nil {
		return nil, err
	}
	w := newWatched(conn)
	var cred *unix.Xucred
	var pid int
	var credErr, pidErr error
	err = raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
		pid, pidErr = unix.GetsockoptInt(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERPID)
	})
	if err = errors.Join(err, credErr, pidErr); err != nil {
		return nil, err
	}
	w.peer = Peer{UID: cred.Uid, PID: int32(pid)}
	return w, nil
}

func (w *watchedConn) release() error { return nil }
