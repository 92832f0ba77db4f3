package peersock

import (
	"errors"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func ownUID() uint32 { return uint32(os.Getuid()) }

// readPeer asks the kernel who connected. The pidfd is taken first: from then on the
// pid cannot be reused unnoticed. Kernels before 6.5 have none; the uid is the
// boundary either way, the pid is only shown.
func readPeer(conn net.Conn, u syscall.Conn) (*watchedConn, error) {
	raw, err := u.SyscallConn()
	if err != nil {
		return nil, err
	}
	w := newWatched(conn)
	var cred *unix.Ucred
	var credErr error
	err = raw.Control(func(fd uintptr) {
		if p, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PEERPIDFD); err == nil {
			w.pidfd.Store(int64(p))
		}
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err = errors.Join(err, credErr); err != nil {
		return nil, errors.Join(err, w.release())
	}
	w.peer = Peer{UID: cred.Uid, PID: cred.Pid}
	return w, nil
}

// release lets go of the pidfd once: transports close a connection from several
// goroutines, and a second close could hit a descriptor that is somebody else's by then.
func (w *watchedConn) release() error {
	fd := w.pidfd.Swap(noPidfd)
	if fd == noPidfd {
		return nil
	}
	return unix.Close(int(fd))
}
