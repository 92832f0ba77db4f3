package x11

import (
	"errors"
	"fmt"
	"io"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"
)

// The conditions a caller decides on. Errors of this package never contain titles,
// paths of users' files or other content.
var (
	// ErrTimeout: the server did not answer in time. The connection stays usable;
	// what was asked may still be carried out later.
	ErrTimeout = errors.New("x server does not answer")
	// ErrClosed: the connection ended; a new one is a new incarnation (C1.3).
	ErrClosed = errors.New("x connection closed")
	// ErrRefused: the server refused the connection setup (no or wrong cookie).
	ErrRefused = errors.New("x server refused the connection")
	// ErrDisplay: the display name is not that of a local display.
	ErrDisplay = errors.New("not a local x display")
	// ErrUnsupported: the server lacks an extension, visual or pixel format that is needed.
	ErrUnsupported = errors.New("not supported by the x server")
	// ErrGone: the window does not exist (any more).
	ErrGone = errors.New("window is gone")
	// ErrHidden: the window is not mapped, so it has no pixels.
	ErrHidden = errors.New("window is hidden")
	// ErrLimit: the answer would be larger than this package allows.
	ErrLimit = errors.New("limit exceeded")
	// ErrUnsettled: the window's pixels or geometry could not be proven to be its
	// own and of one moment.
	ErrUnsettled = errors.New("window content is not settled")
)

// rawError is an X error with a code that xgb has no type for.
type rawError struct {
	code  byte
	seq   uint16
	value uint32
	major byte
	minor uint16
}

func newRawError(buf []byte) xgb.Error {
	e := rawError{code: buf[1], seq: le.Uint16(buf[2:]), value: le.Uint32(buf[4:])}
	e.minor, e.major = le.Uint16(buf[8:]), buf[10]
	return e
}

func (e rawError) SequenceId() uint16 { return e.seq }
func (e rawError) BadId() uint32      { return e.value }
func (e rawError) Error() string {
	return fmt.Sprintf("x error %d in request %d.%d", e.code, e.major, e.minor)
}

// rawEvent is an event with a code that xgb has no type for. The stream takes all
// events out before xgb sees them, so it exists for xgb's completeness only.
type rawEvent struct{ buf []byte }

func (e rawEvent) Bytes() []byte  { return e.buf }
func (e rawEvent) String() string { return "x event" }

// classify turns xgb's errors into this package's.
func classify(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, io.EOF) {
		return ErrClosed
	}
	var badWindow xproto.WindowError
	var badDrawable xproto.DrawableError
	if errors.As(err, &badWindow) || errors.As(err, &badDrawable) {
		return fmt.Errorf("%w: %w", ErrGone, err)
	}
	return err
}
