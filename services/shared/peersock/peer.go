// Package peersock makes and checks the sockets between fairlead's processes and
// tells who is at the other end. Identity comes from the kernel at connect time
// (C1.5): uid, pid and, where there is one, a pidfd that outlives the pid. Links
// between host, policy and executor are socket pairs made by the launcher; holding
// the descriptor is what authenticates them. Nothing here listens on TCP or on an
// abstract socket, which any user of the machine could reach.
package peersock

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
)

// Peer is who is at the other end of a connection, from the kernel.
type Peer struct {
	UID uint32
	PID int32
	// Inherited says that the connection was handed over by the launcher.
	Inherited bool
	// Conn names the connection among all of this process; none is named twice.
	Conn ConnID
}

// ConnID names one connection of this process.
type ConnID uint64

var lastConn atomic.Uint64

// AuthType names the way the peer was identified.
func (Peer) AuthType() string { return "unix-peer" }

// GetCommonAuthInfo says that a Unix socket is private to its two ends.
func (Peer) GetCommonAuthInfo() credentials.CommonAuthInfo {
	return credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity}
}

// ErrNoPeer means that the call did not come over one of our sockets.
var ErrNoPeer = errors.New("peersock: no kernel identity for this connection")

// FromContext returns the peer of the call.
func FromContext(ctx context.Context) (Peer, error) {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return Peer{}, ErrNoPeer
	}
	if id, ok := p.AuthInfo.(identified); ok {
		return id.Peer, nil
	}
	return Peer{}, ErrNoPeer
}

// identified keeps the pidfd open for as long as the connection lives, so that the
// pid cannot be given to another process meanwhile.
type identified struct {
	Peer
	conn *watchedConn
}

// Credentials identifies peers on our sockets. Peers of other uids than the allowed
// are dropped in the handshake: a stranger gets nothing, not even a refusal.
type Credentials struct {
	// Allowed lists the uids that may connect besides our own.
	Allowed []uint32
	// Inherited marks connections that were handed over by the launcher.
	Inherited bool
	// Came is called for each connection that is let in, and Gone once when it has closed.
	// Neither may block.
	Came, Gone func(ConnID)
}

// ErrStranger means that the peer's uid may not connect.
var ErrStranger = errors.New("peersock: this uid may not connect")

// ServerHandshake identifies a connecting client.
func (c Credentials) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return c.identify(conn)
}

// ClientHandshake identifies the server that was connected to.
func (c Credentials) ClientHandshake(
	_ context.Context, _ string, conn net.Conn,
) (net.Conn, credentials.AuthInfo, error) {
	return c.identify(conn)
}

// Info describes the credentials to grpc.
func (Credentials) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "unix-peer"}
}

// Clone returns a copy.
func (c Credentials) Clone() credentials.TransportCredentials { return c }

// OverrideServerName does nothing: there are no names.
func (Credentials) OverrideServerName(string) error { return nil }

func (c Credentials) identify(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	u, ok := conn.(syscall.Conn)
	if !ok {
		return nil, nil, ErrNoPeer
	}
	w, err := readPeer(conn, u)
	if err != nil {
		return nil, nil, fmt.Errorf("identifying peer: %w", err)
	}
	w.peer.Inherited = c.Inherited
	if !c.mayConnect(w.peer.UID) {
		return nil, nil, errors.Join(ErrStranger, w.release())
	}
	w.peer.Conn, w.gone = ConnID(lastConn.Add(1)), c.Gone
	if c.Came != nil {
		c.Came(w.peer.Conn)
	}
	return w, identified{Peer: w.peer, conn: w}, nil
}

func (c Credentials) mayConnect(uid uint32) bool {
	return uid == ownUID() || slices.Contains(c.Allowed, uid)
}

// watchedConn is a connection with its peer's pidfd.
type watchedConn struct {
	net.Conn
	peer  Peer
	pidfd atomic.Int64
	gone  func(ConnID)
	over  sync.Once
}

// noPidfd stands for no descriptor.
const noPidfd = -1

func newWatched(conn net.Conn) *watchedConn {
	w := &watchedConn{Conn: conn}
	w.pidfd.Store(noPidfd)
	return w
}

// Close closes the connection, lets go of the pidfd and tells whoever wants to know.
// Transports close a connection from several goroutines.
func (w *watchedConn) Close() error {
	err := errors.Join(w.Conn.Close(), w.release())
	w.over.Do(func() {
		if w.gone != nil {
			w.gone(w.peer.Conn)
		}
	})
	return err
}
