//go:build linux

package privatedesk

import (
	"fmt"
	"strconv"
	"strings"
)

// defaultSize is the screen of a desktop when none is asked for.
var defaultSize = Size{Width: 1280, Height: 800}

// Screen bounds: below 64 pixels toolkits misbehave; 16384 keeps a 32-bit framebuffer at one gigabyte.
const (
	sideMin = 64
	sideMax = 16384

	defaultDepth = 24
)

// Size is a screen size in pixels.
type Size struct{ Width, Height int }

// String gives WIDTHxHEIGHT.
func (s Size) String() string { return fmt.Sprintf("%dx%d", s.Width, s.Height) }

// ParseSize reads WIDTHxHEIGHT.
func ParseSize(text string) (Size, error) {
	width, height, found := strings.Cut(text, "x")
	w, errWidth := strconv.Atoi(width)
	h, errHeight := strconv.Atoi(height)
	s := Size{Width: w, Height: h}
	if !found || errWidth != nil || errHeight != nil {
		return Size{}, &OptionError{Option: "size", Problem: "must look like 1280x800"}
	}
	return s, s.check()
}

func (s Size) check() error {
	if s.Width < sideMin || s.Height < sideMin || s.Width > sideMax || s.Height > sideMax {
		return &OptionError{Option: "size", Problem: fmt.Sprintf("each side must be %d to %d pixels", sideMin, sideMax)}
	}
	return nil
}

// complete checks the options and fills in what is absent.
func (o Options) complete() (Options, error) {
	if o.Size == (Size{}) {
		o.Size = defaultSize
	}
	if err := o.Size.check(); err != nil {
		return o, err
	}
	switch o.Depth {
	case 0:
		o.Depth = defaultDepth
	case 16, 24, 30:
	default:
		return o, &OptionError{Option: "depth", Problem: "must be 16, 24 or 30"}
	}
	return o, nil
}
