package x11

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
)

var le = binary.LittleEndian

const (
	// replyMax is the longest reply let through: a 50 megapixel picture and room.
	replyMax = 4*PixelsMax + 1<<20
	// outboxMax bounds requests written but not yet accepted by the socket.
	outboxMax = 1 << 20
	// genericEvent is the code of events longer than 32 bytes (XGE).
	genericEvent = 35
	// sentEvent marks an event made by another client with SendEvent. Those are
	// claims of that client, never facts of the server.
	sentEvent = 0x80
)

var errStream = errors.New("x stream is broken")

// stream stands between the socket and xgb, and makes xgb 1.1.1 safe:
//
//   - xgb reads 32 bytes for every event, so one longer generic event would
//     desynchronise it for good; the stream takes all events out and gives them to
//     onEvent, in order, before it passes on the next reply;
//   - xgb's own setup request carries a cookie looked up for the wrong display; the
//     handshake is done here and xgb is given its recorded answer;
//   - xgb writes every request with a syscall of its own; the outbox joins them.
//
// Read is called by one goroutine (xgb's reader), Write by one (xgb's sender).
type stream struct {
	net.Conn
	in      *bufio.Reader
	ready   []byte // bytes that xgb may have now
	pass    int    // bytes of a reply's body still to be passed on unread
	onEvent func([]byte)
	onError func([]byte)
	setup   bool // xgb's setup request was swallowed
	out     outbox
}

func newStream(nc net.Conn, onEvent, onError func([]byte)) *stream {
	s := &stream{Conn: nc, in: bufio.NewReaderSize(nc, 1<<16), onEvent: onEvent, onError: onError}
	s.out.changed.L = &s.out.mu
	return s
}

// handshake authenticates and keeps the server's setup answer for xgb.
func (s *stream) handshake(name string, data []byte) error {
	pad := func(n int) int { return (n + 3) &^ 3 }
	req := make([]byte, 12+pad(len(name))+pad(len(data)))
	req[0] = 'l'
	le.PutUint16(req[2:], 11)
	le.PutUint16(req[6:], uint16(len(name)))
	le.PutUint16(req[8:], uint16(len(data)))
	copy(req[12:], name)
	copy(req[12+pad(len(name)):], data)
	if _, err := s.Conn.Write(req); err != nil {
		return fmt.Errorf("write x setup: %w", err)
	}
	head := make([]byte, 8)
	if _, err := io.ReadFull(s.in, head); err != nil {
		return fmt.Errorf("read x setup: %w", err)
	}
	answer := make([]byte, 8+4*int(le.Uint16(head[6:])))
	copy(answer, head)
	if _, err := io.ReadFull(s.in, answer[8:]); err != nil {
		return fmt.Errorf("read x setup: %w", err)
	}
	if head[0] != 1 {
		return ErrRefused
	}
	if le.Uint16(head[2:]) != 11 || len(answer) < 40 {
		return errStream
	}
	s.ready = answer
	return nil
}

// Read gives xgb the setup answer, replies and errors; never an event.
func (s *stream) Read(p []byte) (int, error) {
	for {
		if len(s.ready) > 0 {
			n := copy(p, s.ready)
			s.ready = s.ready[n:]
			return n, nil
		}
		if s.pass > 0 {
			n, err := s.in.Read(p[:min(len(p), s.pass)])
			s.pass -= n
			return n, err
		}
		if err := s.next(); err != nil {
			return 0, err
		}
	}
}

// next reads the head of one message and decides where it goes.
func (s *stream) next() error {
	head := make([]byte, 32)
	if _, err := io.ReadFull(s.in, head); err != nil {
		return err
	}
	size := 4 * int64(le.Uint32(head[4:]))
	switch code := head[0]; {
	case code == 0:
		s.onError(head)
		s.ready = head
	case code == 1:
		if size > replyMax {
			return fmt.Errorf("reply: %w", errStream)
		}
		s.ready, s.pass = head, int(size)
	case code&^sentEvent == genericEvent:
		if size > replyMax {
			return fmt.Errorf("event: %w", errStream)
		}
		ev := append(head, make([]byte, size)...)
		if _, err := io.ReadFull(s.in, ev[32:]); err != nil {
			return err
		}
		s.onEvent(ev)
	default:
		s.onEvent(head)
	}
	return nil
}

// Write queues a request. The first one is xgb's setup, which was done already.
func (s *stream) Write(p []byte) (int, error) {
	if !s.setup {
		s.setup = true
		return len(p), nil
	}
	return s.out.put(p)
}

// Close ends both directions; it may be called more than once.
func (s *stream) Close() error {
	s.out.end(net.ErrClosed)
	return s.Conn.Close()
}

// outbox joins requests that are written faster than the socket takes them. It
// needs no flush call: its goroutine writes whatever is there.
type outbox struct {
	mu      sync.Mutex
	changed sync.Cond
	buf     []byte
	err     error
}

func (o *outbox) put(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.err == nil && len(o.buf) > 0 && len(o.buf)+len(p) > outboxMax {
		o.changed.Wait()
	}
	if o.err != nil {
		return 0, o.err
	}
	o.buf = append(o.buf, p...)
	o.changed.Broadcast()
	return len(p), nil
}

func (o *outbox) end(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.err = err
	}
	o.changed.Broadcast()
}

// run writes until the outbox ends or the socket fails.
func (o *outbox) run(w io.Writer) {
	var spare []byte
	for {
		o.mu.Lock()
		for len(o.buf) == 0 && o.err == nil {
			o.changed.Wait()
		}
		if o.err != nil {
			o.mu.Unlock()
			return
		}
		batch := o.buf
		o.buf = spare[:0]
		o.changed.Broadcast()
		o.mu.Unlock()
		if _, err := w.Write(batch); err != nil {
			o.end(err)
			return
		}
		spare = batch
	}
}
