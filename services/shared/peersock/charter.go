package peersock

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// The descriptors a process inherits from the launcher. The numbers are the contract
// between the launcher and its children and stand only here.
const (
	// FDCharter is a pipe: the charter, then silence until the launcher ends.
	FDCharter = 3
	// FDLauncher is a link to the launcher: for the host the socket over which links
	// are passed, for policy and executor a gRPC link the launcher calls on.
	FDLauncher = 4
	// FDHost is the link to the host; policy and executor serve on it.
	FDHost = 5
	// FDKey is a pipe with policy's key: 64 private bytes for policy, 32 public bytes
	// for the executor. Keys are never in a file (C9.2).
	FDKey = 6
)

// charterMax bounds the charter.
const charterMax = 64 << 10

// Charter is what a process is told at its start, by the only one who can know.
type Charter struct {
	Role       string   `json:"role"`
	Version    string   `json:"version"`
	Executable string   `json:"executable"`
	SHA256     []byte   `json:"sha256"`
	Attested   bool     `json:"attested"`
	RuntimeDir string   `json:"runtime_dir"`
	StateDir   string   `json:"state_dir"`
	Bundle     string   `json:"bundle,omitempty"`
	AgentUIDs  []uint32 `json:"agent_uids,omitempty"`
	Debug      bool     `json:"debug,omitempty"`
}

// Link describes a link that the launcher passes to the host: one inherited
// descriptor, and what is at its other end.
type Link struct {
	Role       string `json:"role"`
	PID        int    `json:"pid"`
	Version    string `json:"version"`
	Executable string `json:"executable"`
	SHA256     []byte `json:"sha256"`
	Attested   bool   `json:"attested"`
}

// Write sends a charter.
func (c Charter) Write(w io.Writer) error {
	b, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("writing charter: %w", err)
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

// ErrNoCharter means that the process was not started by the launcher.
var ErrNoCharter = errors.New("peersock: not started by fairlead up: no charter on descriptor 3")

// Inherited is what a child holds after reading its charter.
type Inherited struct {
	Charter
	// Gone is closed when the launcher has ended.
	Gone <-chan struct{}
}

// Inherit reads the charter and watches the launcher from then on.
func Inherit() (*Inherited, error) {
	f := os.NewFile(FDCharter, "charter")
	if st, err := f.Stat(); err != nil || st.Mode()&os.ModeNamedPipe == 0 {
		return nil, ErrNoCharter
	}
	r := bufio.NewReader(io.LimitReader(f, charterMax))
	line, err := r.ReadBytes('\n')
	if err != nil {
		return nil, ErrNoCharter
	}
	in := &Inherited{}
	if err := json.Unmarshal(line, &in.Charter); err != nil {
		return nil, ErrNoCharter
	}
	gone := make(chan struct{})
	in.Gone = gone
	go func() {
		// The pipe's end is the launcher's end. This goroutine lives as long as the process.
		_, _ = io.Copy(io.Discard, f)
		close(gone)
	}()
	return in, nil
}

// ReadKey reads exactly n bytes of key from its pipe and closes it.
func ReadKey(n int) ([]byte, error) {
	f := os.NewFile(FDKey, "key")
	b := make([]byte, n)
	_, err := io.ReadFull(f, b)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("reading key: %w", err)
	}
	return b, nil
}

// File returns an inherited descriptor as a file.
func File(fd uintptr) *os.File { return os.NewFile(fd, "link") }
