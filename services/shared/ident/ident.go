// Package ident holds the ids and identities that travel between fairlead's rooms.
// They are plain comparable values without behaviour of their own: an id is a
// reference, never authority (C1.5). Random ids are unguessable.
package ident

import (
	"crypto/rand"
	"encoding/base32"
	"strings"
)

// SessionID names a session.
type SessionID string

// TurnID names a turn of a session.
type TurnID string

// ActID is the caller's idempotency key for one act.
type ActID string

// FrameID names a registered observation.
type FrameID string

// SnapshotID names a snapshot or a resolution kept by an executor.
type SnapshotID string

// PictureID names one picture of a frame: the model copy or a zoom (C2.2).
type PictureID string

// LeaseID names a lease.
type LeaseID string

// Epoch counts the frames of a session; it only grows.
type Epoch uint64

// Generation is one of the four generations of a fence (C1.1).
type Generation uint64

// Frame quotes one frame.
type Frame struct {
	ID    FrameID
	Epoch Epoch
}

// Fence is the set of generations a message was sent under. Zero asserts nothing.
type Fence struct {
	Host, Executor, Policy, Session Generation
}

// Holds reports whether every generation that f asserts is the current one (C1.2).
func (f Fence) Holds(current Fence) bool {
	return agrees(f.Host, current.Host) && agrees(f.Executor, current.Executor) &&
		agrees(f.Policy, current.Policy) && agrees(f.Session, current.Session)
}

func agrees(asserted, current Generation) bool {
	return asserted == 0 || asserted == current
}

// Window is everything that makes a window the same window (C1.3).
type Window struct {
	ID    uint64
	PID   int32
	Start uint64
	App   string
	Birth uint64
}

// Page identifies a web page in addition to its window (C1.4).
type Page struct {
	Endpoint, Target, Document string
}

// UnknownApp is the id of a process the system cannot name. It is denied by default.
const UnknownApp = "unknown"

// Secret is the 128-bit authority of a session.
type Secret [16]byte

// NewSecret returns a random secret.
func NewSecret() Secret {
	var s Secret
	fill(s[:])
	return s
}

// ActKey is the key of a session's act digests (C3.2).
type ActKey [32]byte

// NewActKey returns a random key.
func NewActKey() ActKey {
	var k ActKey
	fill(k[:])
	return k
}

// Incarnation is an executor incarnation's own random id.
type Incarnation [16]byte

// NewIncarnation returns a random incarnation.
func NewIncarnation() Incarnation {
	var i Incarnation
	fill(i[:])
	return i
}

// Digest is a keyed content digest of an element, truncated to 128 bits.
type Digest [16]byte

// Token names an element inside exactly one snapshot.
type Token [16]byte

// Object is a keyed hash of an element's own object in its application.
type Object uint64

var alphabet = base32.StdEncoding.WithPadding(base32.NoPadding)

// New returns a random id of 128 bits with a one-letter prefix that says what it names.
func New(prefix string) string {
	var b [16]byte
	fill(b[:])
	return prefix + "-" + strings.ToLower(alphabet.EncodeToString(b[:]))
}

func fill(b []byte) {
	if _, err := rand.Read(b); err != nil {
		panic("ident: the system has no randomness")
	}
}
