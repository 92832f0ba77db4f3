package attest

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
)

// Wanted is the program to run.
type Wanted struct {
	Name string
	Role string
	// Version it must have; empty takes the manifest's.
	Version string
}

// Image is a program that passed: exactly the bytes that were hashed.
type Image struct {
	// Name of the program.
	Name string
	// Version as the manifest says.
	Version string
	// Executable is the file the bytes were taken from.
	Executable string
	// SHA256 of the bytes.
	SHA256 []byte
	// Attested says that Path leads to the hashed bytes and to nothing else.
	Attested bool
	// Reason says why it is not attested.
	Reason string

	file *os.File
	path string
}

// Path is what to execute. It is good for as long as the image is open.
func (i *Image) Path() string { return i.path }

// Close lets go of the bytes; processes that run them keep them.
func (i *Image) Close() error { return i.file.Close() }

// Open attests one program of a directory.
func (m Manifest) Open(dir string, w Wanted) (_ *Image, err error) {
	entry, err := m.find(w)
	if err != nil {
		return nil, err
	}
	if err := examineDirectory(dir); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, w.Name)
	src, err := open(path, programMax)
	if err != nil {
		return nil, err
	}
	img, err := freeze(src, w.Name)
	if err != nil {
		return nil, errors.Join(err, src.Close())
	}
	img.Name, img.Version, img.Executable = w.Name, entry.Version, path
	if err := img.compare(entry.SHA256); err != nil {
		return nil, errors.Join(err, img.Close())
	}
	return img, nil
}

// compare hashes the copy and compares it with the manifest.
func (i *Image) compare(want string) error {
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(i.file, 0, programMax)); err != nil {
		return &Error{Name: i.Name, Problem: ProblemUnread}
	}
	i.SHA256 = h.Sum(nil)
	digest, err := hex.DecodeString(want)
	if err != nil || subtle.ConstantTimeCompare(digest, i.SHA256) != 1 {
		return &Error{Name: i.Name, Problem: ProblemDigest}
	}
	return nil
}
