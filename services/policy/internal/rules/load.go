package rules

import (
	"fmt"
	"io"
	"os"
	"syscall"
)

// BundleMax is the largest bundle. A person has to be able to read what is allowed.
const BundleMax = 256 << 10

// Fault is what is wrong with a bundle. Closed, so that it can be logged.
type Fault string

// Every fault of a bundle.
const (
	FaultMissing    Fault = "missing"
	FaultUnreadable Fault = "unreadable"
	FaultLink       Fault = "a link"
	FaultNotFile    Fault = "not a regular file"
	FaultOwner      Fault = "owned by another user"
	FaultWritable   Fault = "writable by group or others"
	FaultTooLarge   Fault = "larger than 256 KiB"
	FaultEmpty      Fault = "without a rule"
	FaultSyntax     Fault = "not Cedar"
	FaultID         Fault = "a rule id that cannot be used"
	FaultDuplicate  Fault = "a rule id used twice"
	FaultAction     Fault = "an action that does not exist"
	FaultEntity     Fault = "an entity type that does not exist"
	FaultAnnotation Fault = "@sensitive or @code on a rule that permits, or both on one"
	FaultCode       Fault = "a @code that does not exist"
)

// Error says why a bundle is not in force. It never carries text of the bundle.
type Error struct {
	Fault Fault
	// Line of the bundle, counted from 1; 0 when the fault is none of a line.
	Line int
}

// Error names the fault and the line.
func (e *Error) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("policy bundle: line %d: %s", e.Line, string(e.Fault))
	}
	return "policy bundle: " + string(e.Fault)
}

// Load reads a bundle. A file that someone else could have changed is not believed.
func Load(path string, v Vocabulary) (*Rules, error) {
	b, err := read(path)
	if err != nil {
		return nil, err
	}
	return Parse(b, v)
}

func read(path string) ([]byte, error) {
	if path == "" {
		return nil, &Error{Fault: FaultMissing}
	}
	// Not blocking, so that a pipe in the bundle's place cannot hold the process.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, &Error{Fault: openFault(path, err)}
	}
	// Closing a file that was only read cannot lose anything.
	defer func() { _ = f.Close() }()
	// What is checked is the open file, not its name.
	st, err := f.Stat()
	switch {
	case err != nil:
		return nil, &Error{Fault: FaultUnreadable}
	case !st.Mode().IsRegular():
		return nil, &Error{Fault: FaultNotFile}
	case !trusted(st):
		return nil, &Error{Fault: FaultOwner}
	case st.Mode().Perm()&0o022 != 0:
		return nil, &Error{Fault: FaultWritable}
	case st.Size() > BundleMax:
		return nil, &Error{Fault: FaultTooLarge}
	}
	b, err := io.ReadAll(io.LimitReader(f, BundleMax+1))
	switch {
	case err != nil:
		return nil, &Error{Fault: FaultUnreadable}
	case len(b) > BundleMax:
		return nil, &Error{Fault: FaultTooLarge}
	}
	return b, nil
}

// trusted reports whether a file belongs to root or to us. Its owner can change it
// whatever its mode says.
func trusted(st os.FileInfo) bool {
	s, ok := st.Sys().(*syscall.Stat_t)
	return ok && (s.Uid == 0 || s.Uid == uint32(os.Geteuid()))
}

func openFault(path string, err error) Fault {
	if os.IsNotExist(err) {
		return FaultMissing
	}
	if st, lerr := os.Lstat(path); lerr == nil && st.Mode()&os.ModeSymlink != 0 {
		return FaultLink
	}
	return FaultUnreadable
}
