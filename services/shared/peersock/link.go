package peersock

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// Pair makes the two ends of a link. Both are close-on-exec until handed to a child.
func Pair() (near, far *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("making a link: %w", err)
	}
	unix.CloseOnExec(fds[0])
	unix.CloseOnExec(fds[1])
	return os.NewFile(uintptr(fds[0]), "link"), os.NewFile(uintptr(fds[1]), "link"), nil
}

// Conn turns one end of a link into a connection and closes the file.
func Conn(f *os.File) (*net.UnixConn, error) {
	c, err := net.FileConn(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("opening a link: %w", err)
	}
	u, ok := c.(*net.UnixConn)
	if !ok {
		return nil, errors.Join(ErrNoPeer, c.Close())
	}
	return u, nil
}

// One is a listener that accepts exactly the given connections and then waits until
// it is closed: a server on inherited links.
func One(conns ...net.Conn) net.Listener {
	l := &links{queue: make(chan net.Conn, len(conns)), closed: make(chan struct{})}
	for _, c := range conns {
		l.queue <- c
	}
	return l
}

type links struct {
	queue  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *links) Accept() (net.Conn, error) {
	select {
	case c := <-l.queue:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *links) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *links) Addr() net.Addr { return &net.UnixAddr{Net: "unix"} }

// messageMax bounds one message on a passing socket.
const messageMax = 16 << 10

// Send passes a message and descriptors over a link. The caller keeps its files.
func Send(u *net.UnixConn, msg []byte, files ...*os.File) error {
	if len(msg) == 0 || len(msg) > messageMax {
		return errors.New("peersock: message of wrong size")
	}
	fds := make([]int, len(files))
	for i, f := range files {
		fds[i] = int(f.Fd())
	}
	framed := append([]byte{byte(len(msg) >> 8), byte(len(msg))}, msg...)
	if _, _, err := u.WriteMsgUnix(framed, unix.UnixRights(fds...), nil); err != nil {
		return fmt.Errorf("passing descriptors: %w", err)
	}
	return nil
}

// Receive takes one message and its descriptors from a link.
func Receive(u *net.UnixConn) ([]byte, []*os.File, error) {
	var head [2]byte
	oob := make([]byte, unix.CmsgSpace(8*4))
	n, oobn, _, _, err := u.ReadMsgUnix(head[:], oob)
	if err != nil {
		return nil, nil, fmt.Errorf("receiving: %w", err)
	}
	if n != len(head) {
		return nil, nil, errors.New("peersock: the other end closed")
	}
	files, err := descriptors(oob[:oobn])
	if err != nil {
		return nil, nil, err
	}
	size := int(head[0])<<8 | int(head[1])
	if size == 0 || size > messageMax {
		return nil, nil, errors.Join(errors.New("peersock: message of wrong size"), closeAll(files))
	}
	msg := make([]byte, size)
	for read := 0; read < size; {
		n, err := u.Read(msg[read:])
		if err != nil {
			return nil, nil, errors.Join(fmt.Errorf("receiving: %w", err), closeAll(files))
		}
		read += n
	}
	return msg, files, nil
}

func descriptors(oob []byte) ([]*os.File, error) {
	msgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, fmt.Errorf("reading descriptors: %w", err)
	}
	var files []*os.File
	for _, m := range msgs {
		fds, err := unix.ParseUnixRights(&m)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("reading descriptors: %w", err), closeAll(files))
		}
		for _, fd := range fds {
			unix.CloseOnExec(fd)
			files = append(files, os.NewFile(uintptr(fd), "link"))
		}
	}
	return files, nil
}

func closeAll(files []*os.File) error {
	var err error
	for _, f := range files {
		err = errors.Join(err, f.Close())
	}
	return err
}
