package atspi

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/godbus/dbus/v5"
)

const (
	// messageMax bounds what one message may make this process hold. D-Bus allows 128 MiB; the largest honest
	// answer, Cache.GetItems of a big browser, is a few MiB.
	messageMax = 16 << 20
	// writeTime bounds a write to the bus daemon, which reads at once unless it is stopped itself.
	writeTime = 2 * time.Second
	// headLen is the fixed part of a D-Bus message header.
	headLen = 16
	// keepMax is the largest message buffer kept for the next message.
	keepMax = 64 << 10
)

// errWrite is what a failed write returns: the message did not reach the daemon whole, so it was not routed.
var errWrite = errors.New("atspi: write to the bus failed")

// link is the socket under the D-Bus library. It bounds writes in time and messages in size: an oversized message is
// skipped, so that its caller runs into its deadline and nobody else is hurt.
type link struct {
	sock    net.Conn
	in      *bufio.Reader
	framed  atomic.Bool
	message []byte
	rest    []byte
}

func newLink(sock net.Conn) *link {
	return &link{sock: sock, in: bufio.NewReaderSize(sock, keepMax)}
}

// Write sends b whole or closes the socket: half a message would be completed by the bytes of the next one.
func (l *link) Write(b []byte) (int, error) {
	if err := l.sock.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return 0, errWrite
	}
	// The authentication is lines; from this one on, before the library starts to read, everything is messages.
	if !l.framed.Load() && bytes.Equal(b, []byte("BEGIN\r\n")) {
		l.framed.Store(true)
	}
	n, err := l.sock.Write(b)
	if err != nil {
		_ = l.sock.Close()
		return n, errWrite
	}
	return n, nil
}

// Read hands out the stream, message by message once the authentication is over.
func (l *link) Read(b []byte) (int, error) {
	if !l.framed.Load() {
		return l.in.Read(b)
	}
	for len(l.rest) == 0 {
		if err := l.next(); err != nil {
			return 0, err
		}
	}
	n := copy(b, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// next reads one message, or skips it when it is too large.
func (l *link) next() error {
	head, err := l.in.Peek(headLen)
	if err != nil {
		return err
	}
	size, err := messageSize(head)
	if err != nil {
		return err
	}
	if size > messageMax {
		_, err = io.CopyN(io.Discard, l.in, size)
		return err
	}
	if cap(l.message) < int(size) || cap(l.message) > keepMax {
		l.message = make([]byte, max(int(size), 4096))
	}
	l.rest = l.message[:size]
	if _, err = io.ReadFull(l.in, l.rest); err != nil {
		l.rest = nil
	}
	return err
}

// messageSize computes the length of the message that starts with head.
func messageSize(head []byte) (int64, error) {
	var order binary.ByteOrder
	switch head[0] {
	case 'l':
		order = binary.LittleEndian
	case 'B':
		order = binary.BigEndian
	default:
		return 0, ErrProtocol
	}
	body, fields := int64(order.Uint32(head[4:])), int64(order.Uint32(head[12:]))
	return headLen + (fields+7)/8*8 + body, nil
}

// Close closes the socket.
func (l *link) Close() error { return l.sock.Close() }

// connect opens an authenticated connection to the first usable address of a D-Bus address list.
func connect(ctx context.Context, address string, sub dbus.SignalHandler) (*dbus.Conn, error) {
	sock, err := dialAddress(ctx, address)
	if err != nil {
		return nil, err
	}
	if d, ok := ctx.Deadline(); ok {
		_ = sock.SetReadDeadline(d)
	}
	conn, err := dbus.NewConn(newLink(sock), dbus.WithSignalHandler(sub))
	if err != nil {
		_ = sock.Close()
		return nil, ErrNoBus
	}
	// Cancelling ctx must end the authentication too, whose reads know nothing of contexts.
	stop := context.AfterFunc(ctx, func() { _ = sock.SetReadDeadline(time.Unix(1, 0)) })
	err = conn.Auth(nil)
	if err == nil {
		err = conn.Hello()
	}
	if !stop() || err != nil {
		_ = conn.Close()
		return nil, errors.Join(ErrNoBus, context.Cause(ctx))
	}
	_ = sock.SetReadDeadline(time.Time{})
	return conn, nil
}

// dialAddress tries the unix addresses of a list such as "unix:path=/run/user/1000/bus,guid=…;unix:abstract=…".
func dialAddress(ctx context.Context, address string) (net.Conn, error) {
	var d net.Dialer
	for one := range strings.SplitSeq(address, ";") {
		path := unixPath(one)
		if path == "" {
			continue
		}
		if sock, err := d.DialContext(ctx, "unix", path); err == nil {
			return sock, nil
		}
	}
	return nil, errors.Join(ErrNoBus, context.Cause(ctx))
}

// unixPath is the socket that one address names, in Go's notation, or "".
func unixPath(address string) string {
	rest, ok := strings.CutPrefix(address, "unix:")
	if !ok {
		return ""
	}
	for pair := range strings.SplitSeq(rest, ",") {
		key, value, _ := strings.Cut(pair, "=")
		plain, err := dbus.UnescapeBusAddressValue(value)
		if err != nil || plain == "" {
			continue
		}
		switch key {
		case "path":
			return plain
		case "abstract":
			return "@" + plain
		}
	}
	return ""
}
