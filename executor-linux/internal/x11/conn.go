package x11

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"
)

const (
	// RoundTrip is how long a call waits for the server. A desk that takes longer
	// is one an agent must not act on.
	RoundTrip = 2 * time.Second
	// maxCalls bounds calls in flight, so a server that hangs cannot collect
	// goroutines: the next call gets ErrTimeout.
	maxCalls = 16
	// watchMax bounds requests for destroy events that wait to be sent.
	watchMax = 1024
)

// Options are the rarely needed settings of a connection.
type Options struct {
	// Display is a local display such as ":0"; empty means $DISPLAY.
	Display string
	// Xauthority is the cookie file; empty means $XAUTHORITY, else ~/.Xauthority.
	Xauthority string
	// OnEvent gets every event of the server as its bytes, generic ones too, in the
	// reader's goroutine. It must not block, keep the slice or send a request.
	OnEvent func(event []byte)
}

// Extension holds the codes the server gave to an extension.
type Extension struct {
	Major      byte
	FirstEvent byte
	FirstError byte
}

// Conn is one incarnation of a connection to an X server. It is safe for concurrent use.
type Conn struct {
	// Root is the root window of the first screen.
	Root xproto.Window
	// Width and Height are the size of the root window at connect.
	Width, Height int

	x          *xgb.Conn
	stream     *stream
	setup      *xproto.SetupInfo
	extensions map[string]Extension
	atoms      atomTable
	onEvent    func([]byte)
	calls      chan struct{}
	watchQueue chan xproto.Window
	done       chan struct{}
	hub        hub

	mu     sync.Mutex // guards births
	births births
}

var registerOnce sync.Once

// register fills xgb's process-wide tables, once and before the first connection:
// an error code without a constructor is dropped by xgb and its request waits for
// ever. The tables are only read afterwards, which is why the Init functions of
// xgb's extension packages, which write to them, must never be called.
func register() {
	xgb.Logger = log.New(io.Discard, "", 0)
	for code := range 256 {
		if _, ok := xgb.NewErrorFuncs[code]; !ok {
			xgb.NewErrorFuncs[code] = newRawError
		}
	}
	for code := 2; code < 128; code++ {
		if _, ok := xgb.NewEventFuncs[code]; !ok {
			xgb.NewEventFuncs[code] = func(b []byte) xgb.Event { return rawEvent{b} }
		}
	}
}

// Dial connects to a local display. See Options for what empty arguments mean.
func Dial(display, xauthority string) (*Conn, error) {
	return DialWith(Options{Display: display, Xauthority: xauthority})
}

// DialWith is Dial with all settings. It returns within a few RoundTrips.
func DialWith(o Options) (*Conn, error) {
	registerOnce.Do(register)
	number, socket, err := localDisplay(o.Display)
	if err != nil {
		return nil, err
	}
	authName, authData, err := loadAuth(authPath(o.Xauthority), number)
	if err != nil {
		return nil, err
	}
	nc, err := (&net.Dialer{Timeout: RoundTrip}).Dial("unix", socket)
	if err != nil {
		return nil, fmt.Errorf("connect to x server: %w", err)
	}
	c := &Conn{
		onEvent:    o.OnEvent,
		calls:      make(chan struct{}, maxCalls),
		watchQueue: make(chan xproto.Window, watchMax),
		done:       make(chan struct{}),
		births:     newBirths(),
	}
	c.stream = newStream(nc, c.take, c.fail)
	if err := c.open(authName, authData); err != nil {
		return nil, errors.Join(err, c.stream.Close())
	}
	if err := c.prepare(); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// open does the handshake under a deadline and starts the goroutines.
func (c *Conn) open(authName string, authData []byte) error {
	if err := c.stream.SetDeadline(time.Now().Add(RoundTrip)); err != nil {
		return fmt.Errorf("x deadline: %w", err)
	}
	if err := c.stream.handshake(authName, authData); err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return ErrTimeout
		}
		return err
	}
	if err := c.stream.SetDeadline(time.Time{}); err != nil {
		return fmt.Errorf("x deadline: %w", err)
	}
	// xgb parses the setup answer here; the root must be known before the first
	// event, and no event comes before it is asked for.
	x, err := xgb.NewConnNet(c.stream)
	if err != nil {
		return fmt.Errorf("start x connection: %w", err)
	}
	c.x = x
	go c.stream.out.run(c.stream.Conn)
	go c.drain()
	go c.watch()
	c.setup = xproto.Setup(x)
	if len(c.setup.Roots) == 0 {
		c.Close()
		return errStream
	}
	screen := c.setup.Roots[0]
	c.Root, c.Width, c.Height = screen.Root, int(screen.WidthInPixels), int(screen.HeightInPixels)
	return nil
}

// drain empties xgb's queue, into which only errors of unchecked requests come, and
// notices the end of the connection.
func (c *Conn) drain() {
	for {
		if e, err := c.x.WaitForEvent(); e == nil && err == nil {
			c.stream.out.end(ErrClosed)
			c.hub.close()
			close(c.done)
			return
		}
	}
}

// watch asks for the destroy events of windows that were just created. Errors need
// no handling here: the stream sees them in order (fail).
func (c *Conn) watch() {
	for {
		select {
		case w := <-c.watchQueue:
			xproto.ChangeWindowAttributes(c.x, w, xproto.CwEventMask, []uint32{xproto.EventMaskStructureNotify})
		case <-c.done:
			return
		}
	}
}

// Done is closed when the connection has ended, by Close or because the server went
// away. A new connection is a new incarnation.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Close ends the connection and waits for its reader.
func (c *Conn) Close() {
	// The socket is closed rather than asking xgb: its own Close can wait for a
	// server that does not read. The error has no reader.
	_ = c.stream.Close()
	<-c.done
}

// own says whether an id belongs to this connection, so is not to be observed.
func (c *Conn) own(w xproto.Window) bool {
	return uint32(w)&^c.setup.ResourceIdMask == c.setup.ResourceIdBase
}

// Call runs fn, which may use x through xproto and Send, and waits for it at most
// RoundTrip. fn works on values of its own and returns them: after ErrTimeout it is
// still running, until the server answers or the connection ends.
func Call[T any](ctx context.Context, c *Conn, fn func(x *xgb.Conn) (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	var none T
	timer := time.NewTimer(RoundTrip)
	defer timer.Stop()
	select {
	case c.calls <- struct{}{}:
	case <-c.done:
		return none, ErrClosed
	case <-ctx.Done():
		return none, context.Cause(ctx)
	case <-timer.C:
		return none, ErrTimeout
	}
	answer := make(chan outcome, 1)
	go func() {
		defer func() { <-c.calls }()
		v, err := fn(c.x)
		answer <- outcome{v, classify(err)}
	}()
	select {
	case o := <-answer:
		return o.value, o.err
	case <-ctx.Done():
		return none, context.Cause(ctx)
	case <-timer.C:
		return none, ErrTimeout
	}
}

// Send writes one request made by hand, for extensions xgb does not know; the length
// field is filled in. With reply the cookie's Reply gives the answer's bytes, else
// Check its success. Use it inside Call.
func Send(x *xgb.Conn, request []byte, reply bool) *xgb.Cookie {
	for len(request)%4 != 0 {
		request = append(request, 0)
	}
	le.PutUint16(request[2:], uint16(len(request)/4))
	cookie := x.NewCookie(true, reply)
	x.NewRequest(request, cookie)
	return cookie
}

// Extension tells the codes of an extension, if the server has it.
func (c *Conn) Extension(name string) (Extension, bool) {
	e, ok := c.extensions[name]
	return e, ok
}

func authPath(path string) string {
	if path == "" {
		path = os.Getenv("XAUTHORITY")
	}
	if path == "" {
		path = filepath.Join(os.Getenv("HOME"), ".Xauthority")
	}
	return path
}

// localDisplay accepts ":N" and "unix:N", with a screen that must be 0.
func localDisplay(display string) (number, socket string, err error) {
	if display == "" {
		display = os.Getenv("DISPLAY")
	}
	rest, ok := strings.CutPrefix(strings.TrimPrefix(display, "unix"), ":")
	if !ok {
		return "", "", ErrDisplay
	}
	number, screen, _ := strings.Cut(rest, ".")
	if screen != "" && screen != "0" {
		return "", "", ErrDisplay
	}
	n, err := strconv.ParseUint(number, 10, 16)
	if err != nil {
		return "", "", ErrDisplay
	}
	number = strconv.FormatUint(n, 10)
	return number, "/tmp/.X11-unix/X" + number, nil
}
