//go:build linux

package privatedesk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
)

// Part names a piece of a desktop in errors.
type Part string

// The parts of a desktop, in the order they start.
const (
	PartDirectory     Part = "directory"
	PartKeeper        Part = "keeper"
	PartServer        Part = "X server"
	PartBus           Part = "session bus"
	PartAccessibility Part = "accessibility bus"
	PartManager       Part = "window manager"
	PartProgram       Part = "program"
)

var (
	// ErrClosed is returned for a program that should start on a desktop that is closed or closing.
	ErrClosed = errors.New("the private desktop is closed")
	// ErrNotReady means that a part did not become ready in time.
	ErrNotReady = errors.New("not ready in time")
	// ErrEndedEarly means that a part ended before it was ready.
	ErrEndedEarly = errors.New("ended before it was ready")
	// ErrUnprotected means that the X server let in a client that had no cookie.
	ErrUnprotected = errors.New("lets in clients without the cookie")
	// ErrDirectory means that the wanted directory is not one a desktop can own.
	ErrDirectory = errors.New("must be new, or empty, private and short enough for sockets")
	// ErrMounted means that a file system is mounted inside the directory, which is therefore not removed.
	ErrMounted = errors.New("a file system is still mounted in the directory of the private desktop")

	errRefused = errors.New("refused the cookie")
)

// StartError says which part could not be started, and why.
type StartError struct {
	Part Part
	Err  error
}

// Error implements error.
func (e *StartError) Error() string { return fmt.Sprintf("starting the %s: %v", e.Part, e.Err) }

// Unwrap gives the reason.
func (e *StartError) Unwrap() error { return e.Err }

// DiedError says which part of a running desktop died.
type DiedError struct{ Part Part }

// Error implements error.
func (e *DiedError) Error() string { return fmt.Sprintf("the %s has died", e.Part) }

// LeftoverError says how many processes could not be ended.
type LeftoverError struct{ Count int }

// Error implements error.
func (e *LeftoverError) Error() string {
	return fmt.Sprintf("%d processes of the private desktop could not be ended", e.Count)
}

// OptionError says which option is wrong.
type OptionError struct{ Option, Problem string }

// Error implements error.
func (e *OptionError) Error() string { return fmt.Sprintf("option %s: %s", e.Option, e.Problem) }

// MissingError lists the programs that are not installed.
type MissingError struct{ Requirements []Requirement }

// Error says in plain words what is missing and how to install it.
func (e *MissingError) Error() string {
	var names []string
	for _, r := range e.Requirements {
		names = append(names, r.String())
	}
	text := "not installed: " + strings.Join(names, ", ")
	if packages := Packages(e.Requirements); len(packages) > 0 {
		text += "; to install: " + InstallCommand(packages...)
	}
	return text
}

// plain takes the paths out of the errors of the os and exec packages: what went wrong matters to the reader, and a
// path may name the user.
func plain(err error) error {
	var pathErr *fs.PathError
	var linkErr *os.LinkError
	var execErr *exec.Error
	switch {
	case errors.As(err, &pathErr):
		return fmt.Errorf("%s: %w", pathErr.Op, pathErr.Err)
	case errors.As(err, &linkErr):
		return fmt.Errorf("%s: %w", linkErr.Op, linkErr.Err)
	case errors.As(err, &execErr):
		return execErr.Err
	default:
		return err
	}
}
