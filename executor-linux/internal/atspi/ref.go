package atspi

import (
	"strings"

	"github.com/godbus/dbus/v5"
)

const (
	spi          = "org.a11y.atspi."
	properties   = "org.freedesktop.DBus.Properties."
	busName      = "org.freedesktop.DBus"
	busPath      = "/org/freedesktop/DBus"
	registryName = "org.a11y.atspi.Registry"
	registryPath = "/org/a11y/atspi/registry"
	rootPath     = "/org/a11y/atspi/accessible/root"
	nullPath     = "/org/a11y/atspi/null"
	cachePath    = "/org/a11y/atspi/cache"
)

// Ref names one accessible object: the unique bus name of its application's connection and its path there. Bus names
// are never given out twice while the bus lives; paths may be reused by the application.
type Ref struct {
	Bus  string
	Path string
}

// Zero says whether r names nothing, which is also what AT-SPI's null reference reads as.
func (r Ref) Zero() bool { return r.Bus == "" || r.Path == "" || r.Path == nullPath }

// valid says whether r can be put into a message. References come from applications, and the bus daemon ends the
// connection of whoever sends to a name that cannot exist.
func (r Ref) valid() bool {
	return !r.Zero() && uniqueName(r.Bus) && len(r.Path) <= pathMax && dbus.ObjectPath(r.Path).IsValid()
}

const (
	// nameMax is the limit of D-Bus for names; pathMax is ours, honest paths have some fifty bytes.
	nameMax = 255
	pathMax = 1024
)

// uniqueName says whether name is one that a bus daemon gives to connections, such as ":1.42".
func uniqueName(name string) bool {
	rest, ok := strings.CutPrefix(name, ":")
	major, minor, two := strings.Cut(rest, ".")
	if !ok || !two || len(name) > nameMax || major == "" || minor == "" {
		return false
	}
	return strings.Trim(major, "0123456789") == "" && strings.Trim(minor, "0123456789") == ""
}

// Rect is a rectangle in the pixels of whoever reported it.
type Rect struct{ X, Y, W, H int }

// Empty says whether r covers no pixel.
func (r Rect) Empty() bool { return r.W <= 0 || r.H <= 0 }
