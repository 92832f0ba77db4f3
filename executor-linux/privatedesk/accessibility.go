//go:build linux

package privatedesk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/godbus/dbus/v5"
)

const (
	busName   = "org.a11y.Bus"
	busPath   = "/org/a11y/bus"
	getAddr   = "org.a11y.Bus.GetAddress"
	setProp   = "org.freedesktop.DBus.Properties.Set"
	getProp   = "org.freedesktop.DBus.Properties.Get"
	statusAPI = "org.a11y.Status"
	isEnabled = "IsEnabled"
)

// startAccessibility activates the accessibility bus and switches accessibility on. It must come before any program:
// Chromium looks at IsEnabled only when it starts.
func (d *Desktop) startAccessibility(ctx context.Context) error {
	conn, err := dbus.Dial(d.busAddress, dbus.WithContext(ctx))
	if err != nil {
		return errors.New("cannot reach the session bus")
	}
	defer conn.Close()
	if err := conn.Auth([]dbus.Auth{dbus.AuthExternal(strconv.Itoa(os.Getuid()))}); err != nil {
		return errors.New("cannot log in to the session bus")
	}
	if err := conn.Hello(); err != nil {
		return named("Hello", err)
	}
	obj := conn.Object(busName, busPath)
	if err := obj.CallWithContext(ctx, getAddr, 0).Store(&d.accessibility); err != nil {
		return named("GetAddress", err)
	}
	if err := obj.CallWithContext(ctx, setProp, 0, statusAPI, isEnabled, dbus.MakeVariant(true)).Err; err != nil {
		return named("setting IsEnabled", err)
	}
	var enabled dbus.Variant
	if err := obj.CallWithContext(ctx, getProp, 0, statusAPI, isEnabled).Store(&enabled); err != nil {
		return named("getting IsEnabled", err)
	}
	if on, ok := enabled.Value().(bool); !ok || !on {
		return errors.New("accessibility could not be switched on")
	}
	return nil
}

// named keeps the D-Bus error name, which is a closed word, and drops its text, which may hold paths.
func named(what string, err error) error {
	var remote dbus.Error
	if errors.As(err, &remote) {
		return fmt.Errorf("%s: %s", what, remote.Name)
	}
	return fmt.Errorf("%s: no answer", what)
}
