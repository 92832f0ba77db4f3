package launcher

import (
	"errors"
	"fmt"

	"fairlead.dev/services/launcher/internal/attest"
	"fairlead.dev/services/launcher/internal/budget"
)

// Exit codes between the launcher and its children, and of `fairlead up` itself (C9.2).
const (
	// ExitAttestation means that a program is not the one it should be. Never retried.
	ExitAttestation = 77
	// ExitProtocol means that two processes do not understand each other.
	ExitProtocol = 76
)

// ErrRunning means that the runtime directory is taken.
var ErrRunning = errors.New(
	"fairlead is already running in this runtime directory; use it, stop it, or name another with --runtime-dir")

// AttestationError says which file is not trusted, and why.
type AttestationError = attest.Error

// MismatchError means that a process itself found that something is not what the
// launcher attested.
type MismatchError struct{ Role string }

// Error is a sentence that ends with what to do.
func (e *MismatchError) Error() string {
	return fmt.Sprintf("The %s process found that it is not what it should be, so everything was stopped; "+
		"build or install fairlead again.", e.Role)
}

// GivenUpError means that a process is not started again.
type GivenUpError struct {
	Role string
	// Protocol is set when it last ended because it was not understood.
	Protocol bool
	// Log is the file that says more.
	Log string
}

// Error is a sentence that ends with what to do.
func (e *GivenUpError) Error() string {
	why := "so everything was stopped"
	if e.Protocol {
		why = "because it and another process do not understand each other, so everything was stopped"
	}
	return fmt.Sprintf("The %s process ended %d times in a row, %s; read %s, then start fairlead again.",
		e.Role, budget.Restarts+1, why, e.Log)
}

// NotReadyError means that the processes run but did not find each other in time.
type NotReadyError struct{ Log string }

// Error is a sentence that ends with what to do.
func (e *NotReadyError) Error() string {
	return fmt.Sprintf("The processes started but did not become ready in time, so everything was stopped; "+
		"read %s, then start fairlead again.", e.Log)
}

// ExitCode is the exit code of a program that ends with what Run returned.
func ExitCode(err error) int {
	var untrusted *AttestationError
	var mismatch *MismatchError
	var givenUp *GivenUpError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &untrusted), errors.As(err, &mismatch):
		return ExitAttestation
	case errors.As(err, &givenUp) && givenUp.Protocol:
		return ExitProtocol
	default:
		return 1
	}
}
