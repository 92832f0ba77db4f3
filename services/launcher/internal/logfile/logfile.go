// Package logfile is where the children's words go: one file in the state directory,
// each line with the role that wrote it, bounded in size. The one file before it is
// kept. What children may say is their own affair (C10.6); this only keeps it.
package logfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

const (
	// sizeMax is the size at which a new file is begun.
	sizeMax = 16 << 20
	// lineMax bounds what is kept of a line that does not end.
	lineMax = 64 << 10
)

// Name of the file in the state directory.
const Name = "fairlead.log"

// File is an open log file. Its writers may be used by several goroutines.
type File struct {
	mu   sync.Mutex
	path string
	f    *os.File
	size int64
	max  int64
}

// Open opens the log file of a state directory for appending.
func Open(dir string) (*File, error) {
	l := &File{path: filepath.Join(dir, Name), max: sizeMax}
	if err := l.open(); err != nil {
		return nil, err
	}
	return l, nil
}

// Path is where it is.
func (l *File) Path() string { return l.path }

func (l *File) open() error {
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return fmt.Errorf("opening the log file: %w", err)
	}
	st, err := f.Stat()
	if err != nil {
		return errors.Join(fmt.Errorf("opening the log file: %w", err), f.Close())
	}
	l.f, l.size = f, st.Size()
	return nil
}

// rotate begins a new file. When that fails the old one goes on.
func (l *File) rotate() {
	if err := os.Rename(l.path, l.path+".1"); err != nil {
		return
	}
	old := l.f
	if err := l.open(); err == nil {
		_ = old.Close()
	}
}

// Write writes whole lines.
func (l *File) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.size+int64(len(b)) > l.max {
		l.rotate()
	}
	n, err := l.f.Write(b)
	l.size += int64(n)
	return n, err
}

// Close closes the file.
func (l *File) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.f.Close()
}

// Writer returns a writer whose lines carry the role. It never fails: a full disk must
// not end the process that writes.
func (l *File) Writer(role string) io.WriteCloser {
	return &lines{to: l, prefix: fmt.Appendf(nil, "%-8s | ", role)}
}

// lines cuts what is written into lines.
type lines struct {
	to     io.Writer
	prefix []byte
	rest   []byte
}

func (w *lines) Write(b []byte) (int, error) {
	w.rest = append(w.rest, b...)
	for {
		end, next := bytes.IndexByte(w.rest, '\n'), 0
		switch {
		case end >= 0 && end <= lineMax:
			next = end + 1
		case len(w.rest) >= lineMax:
			end, next = lineMax, lineMax
		default:
			return len(b), nil
		}
		w.line(w.rest[:end])
		w.rest = append(w.rest[:0], w.rest[next:]...)
	}
}

func (w *lines) line(line []byte) {
	out := append(append([]byte{}, w.prefix...), line...)
	_, _ = w.to.Write(append(out, '\n'))
}

// Close writes the line that was not ended.
func (w *lines) Close() error {
	if len(w.rest) > 0 {
		w.line(w.rest)
		w.rest = nil
	}
	return nil
}
