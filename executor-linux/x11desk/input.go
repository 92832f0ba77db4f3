package x11desk

import (
	"context"
	"encoding/binary"
	"errors"
	"sync/atomic"

	"github.com/jezek/xgb"

	"fairlead.dev/executor-linux/internal/x11"
)

// inputCounter counts the input that reaches the display. This executor produces none,
// so every event is somebody else's and explains a change of the desk (C12.5). It
// learns that there was input, never which.
type inputCounter struct {
	extension atomic.Uint32
	seen      atomic.Uint64
}

// The parts of XInput 2.1 that are needed: raw events, which come also while another
// client holds a grab.
const (
	extXInput         = "XInputExtension"
	genericEvent      = 35
	xiSelectEvents    = 46
	xiQueryVersion    = 47
	xiAllMasters      = 1
	rawKeyPress       = 13
	rawButtonPress    = 15
	rawButtonRelease  = 16
	rawMotion         = 17
	rawMask           = 1<<rawKeyPress | 1<<rawButtonPress | 1<<rawButtonRelease | 1<<rawMotion
	eventTypeAt       = 8
	genericEventBytes = 10
)

var errNoXInput = errors.New("x11desk: no XInput 2")

// listen asks for the raw events of all master devices.
func (c *inputCounter) listen(ctx context.Context, x *x11.Conn) error {
	ext, ok := x.Extension(extXInput)
	if !ok {
		return errNoXInput
	}
	version := make([]byte, 8)
	version[0], version[1] = ext.Major, xiQueryVersion
	binary.LittleEndian.PutUint16(version[4:], 2)
	binary.LittleEndian.PutUint16(version[6:], 2)
	choose := make([]byte, 20)
	choose[0], choose[1] = ext.Major, xiSelectEvents
	binary.LittleEndian.PutUint32(choose[4:], uint32(x.Root))
	binary.LittleEndian.PutUint16(choose[8:], 1)
	binary.LittleEndian.PutUint16(choose[12:], xiAllMasters)
	binary.LittleEndian.PutUint16(choose[14:], 1)
	binary.LittleEndian.PutUint32(choose[16:], rawMask)
	c.extension.Store(uint32(ext.Major))
	_, err := x11.Call(ctx, x, func(conn *xgb.Conn) (struct{}, error) {
		if _, err := x11.Send(conn, version, true).Reply(); err != nil {
			return struct{}{}, err
		}
		return struct{}{}, x11.Send(conn, choose, false).Check()
	})
	if err != nil {
		c.extension.Store(0)
		return err
	}
	c.seen.Add(1) // zero means that input cannot be told
	return nil
}

// note looks at every event of the server, on the connection's reader.
func (c *inputCounter) note(event []byte) {
	if len(event) < genericEventBytes || event[0]&0x7f != genericEvent || uint32(event[1]) != c.extension.Load() {
		return
	}
	switch binary.LittleEndian.Uint16(event[eventTypeAt:]) {
	case rawKeyPress, rawButtonPress, rawButtonRelease, rawMotion:
		c.seen.Add(1)
	}
}

func (c *inputCounter) count() uint64 { return c.seen.Load() }
