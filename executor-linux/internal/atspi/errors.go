package atspi

import (
	"context"
	"errors"

	"github.com/godbus/dbus/v5"
)

// Errors a caller decides on. They carry no words of an application (C10.6).
var (
	// ErrGone says that the object, or the whole application, no longer exists, or that the object is defunct.
	ErrGone = errors.New("atspi: accessible object is gone")
	// ErrUnresponsive says that the application did not answer a read in time.
	ErrUnresponsive = errors.New("atspi: application does not answer")
	// ErrNoAnswer says that an act was sent and not answered: its outcome is unknown, it may still happen (C7.7).
	ErrNoAnswer = errors.New("atspi: act was not answered")
	// ErrUnsupported says that the element does not offer the interface, action or property.
	ErrUnsupported = errors.New("atspi: element does not support this")
	// ErrSecure says that the element is a secure field, which is neither read nor acted on.
	ErrSecure = errors.New("atspi: element is a secure field")
	// ErrInvalid says that an argument cannot be sent.
	ErrInvalid = errors.New("atspi: argument is not valid")
	// ErrAnswered says that the application answered with an error of its own.
	ErrAnswered = errors.New("atspi: application answered with an error")
	// ErrProtocol says that an answer does not have the shape that AT-SPI prescribes.
	ErrProtocol = errors.New("atspi: malformed answer")
	// ErrClosed says that the connection to the accessibility bus is closed.
	ErrClosed = errors.New("atspi: connection is closed")
	// ErrNoBus says that there is no accessibility bus at the given session bus.
	ErrNoBus = errors.New("atspi: no accessibility bus")
)

// errNoMember is internal: the peer has no such object, interface, method or property. What that means depends on
// the call: gone for the basic ones, unsupported for the optional ones.
var errNoMember = errors.New("atspi: no such member")

// errNotRouted is internal: the bus itself refused the message, so that no application has seen it.
var errNotRouted = errors.New("atspi: message was not routed")

// classify turns what the D-Bus library reports into one of the sentinels; the original is dropped on purpose
// because its text comes from the application.
func classify(err error) error {
	if err == nil {
		return nil
	}
	var de dbus.Error
	if errors.As(err, &de) {
		return classifyName(de.Name)
	}
	var format dbus.FormatError
	var message dbus.InvalidMessageError
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return ErrUnresponsive
	case errors.As(err, &format), errors.As(err, &message):
		return ErrInvalid
	case errors.Is(err, dbus.ErrClosed):
		return errNotRouted
	}
	return ErrClosed
}

func classifyName(name string) error {
	const std = "org.freedesktop.DBus.Error."
	switch name {
	case std + "ServiceUnknown", std + "NameHasNoOwner":
		return ErrGone
	case std + "UnknownObject", std + "UnknownMethod", std + "UnknownInterface", std + "UnknownProperty":
		return errNoMember
	case std + "NoReply", std + "Timeout", std + "TimedOut", std + "Disconnected":
		return ErrUnresponsive
	case std + "LimitsExceeded", std + "NoMemory":
		return errNotRouted
	}
	return ErrAnswered
}

// basic maps the internal errors of a call that every accessible object must answer.
func basic(err error) error {
	switch {
	case errors.Is(err, errNoMember):
		return ErrGone
	case errors.Is(err, errNotRouted):
		return ErrClosed
	}
	return err
}

// optional maps the internal errors of a call that an object may lack.
func optional(err error) error {
	if errors.Is(err, errNoMember) {
		return ErrUnsupported
	}
	return basic(err)
}
