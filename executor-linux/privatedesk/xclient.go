//go:build linux

package privatedesk

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"time"
)

// A few bytes of the X protocol, enough to ask a server the two questions a start depends on. A full client library
// would look for the cookie in the caller's environment.

const (
	setupSuccess = 1

	opGetWindowAttributes  = 3
	windowAttributesReply  = 44
	windowAttributesEvents = 32 // offset of the union of all clients' event masks
	substructureRedirect   = 1 << 20

	managerPoll = 10 * time.Millisecond
)

var errProtocol = errors.New("answered something that is not the X protocol")

func serverSocket(display string) string { return "/tmp/.X11-unix/X" + display[1:] }

// dialServer connects to the server of a display. The connection ends with the context.
func dialServer(ctx context.Context, display string) (net.Conn, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", serverSocket(display))
	if err != nil {
		// Linux servers listen on an abstract socket too, also where the directory cannot be written.
		conn, err = dialer.DialContext(ctx, "unix", "@"+serverSocket(display))
	}
	if err != nil {
		return nil, errors.New("cannot be reached")
	}
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	return conn, nil
}

// checkServer finds out, rather than believes, that the server takes the cookie and nobody without it.
func checkServer(ctx context.Context, display string, cookie []byte) error {
	if err := tryServer(ctx, display, nil); err == nil {
		return ErrUnprotected
	} else if !errors.Is(err, errRefused) {
		return err
	}
	return tryServer(ctx, display, cookie)
}

func tryServer(ctx context.Context, display string, cookie []byte) error {
	conn, err := dialServer(ctx, display)
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = setup(conn, cookie)
	return err
}

// setup opens a connection with the server and gives the root window. Without a cookie it names no authorisation.
func setup(conn io.ReadWriter, cookie []byte) (root uint32, err error) {
	if _, err := conn.Write(setupRequest(cookie)); err != nil {
		return 0, err
	}
	head := make([]byte, 8)
	if _, err := io.ReadFull(conn, head); err != nil {
		return 0, err
	}
	body := make([]byte, 4*int(binary.LittleEndian.Uint16(head[6:])))
	if _, err := io.ReadFull(conn, body); err != nil {
		return 0, err
	}
	if head[0] != setupSuccess {
		return 0, errRefused
	}
	return rootWindow(body)
}

func setupRequest(cookie []byte) []byte {
	name := cookieName
	if len(cookie) == 0 {
		name = ""
	}
	out := []byte{'l', 0}
	for _, v := range []int{11, 0, len(name), len(cookie), 0} {
		out = binary.LittleEndian.AppendUint16(out, uint16(v))
	}
	for _, field := range [][]byte{[]byte(name), cookie} {
		out = append(out, field...)
		out = append(out, make([]byte, padding(len(field)))...)
	}
	return out
}

// rootWindow finds the first screen in the body of a successful setup: 32 bytes, vendor, formats of 8 bytes, screens.
func rootWindow(body []byte) (uint32, error) {
	const fixed = 32
	if len(body) < fixed {
		return 0, errProtocol
	}
	vendor := int(binary.LittleEndian.Uint16(body[16:]))
	at := fixed + vendor + padding(vendor) + 8*int(body[21])
	if len(body) < at+4 {
		return 0, errProtocol
	}
	return binary.LittleEndian.Uint32(body[at:]), nil
}

func padding(n int) int { return (4 - n%4) % 4 }

// awaitManager waits until some client redirects the root window's children, which is what makes it the window
// manager whatever other conventions it follows.
func awaitManager(ctx context.Context, display string, cookie []byte, ended <-chan struct{}) error {
	conn, err := dialServer(ctx, display)
	if err != nil {
		return err
	}
	defer conn.Close()
	root, err := setup(conn, cookie)
	if err != nil {
		return err
	}
	tick := time.NewTicker(managerPoll)
	defer tick.Stop()
	for {
		managed, err := redirected(conn, root)
		if managed || err != nil {
			return err
		}
		select {
		case <-ended:
			return ErrEndedEarly
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

func redirected(conn io.ReadWriter, window uint32) (bool, error) {
	request := binary.LittleEndian.AppendUint32([]byte{opGetWindowAttributes, 0, 2, 0}, window)
	if _, err := conn.Write(request); err != nil {
		return false, err
	}
	reply := make([]byte, windowAttributesReply)
	for {
		// Everything that is not a reply is 32 bytes long; a keyboard map change, say, goes to every client.
		if _, err := io.ReadFull(conn, reply[:32]); err != nil {
			return false, err
		}
		if reply[0] == 0 {
			return false, errProtocol
		}
		if reply[0] == 1 {
			break
		}
	}
	if _, err := io.ReadFull(conn, reply[32:]); err != nil {
		return false, err
	}
	return binary.LittleEndian.Uint32(reply[windowAttributesEvents:])&substructureRedirect != 0, nil
}
