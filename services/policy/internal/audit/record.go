package audit

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"fairlead.dev/services/shared/ident"
)

// IntentID names an intent.
type IntentID string

// Record is what happened. The set is closed.
type Record interface {
	kind() kind
	encode(*encoder)
}

// kind tells records apart in the bytes that are hashed. A number is never reused.
type kind uint8

const (
	kindBundle       kind = 1
	kindSessionBegun kind = 2
	kindSessionEnded kind = 3
	kindLeaseGiven   kind = 4
	kindLeaseRefused kind = 5
	kindLeaseEnded   kind = 6
	kindDecision     kind = 7
	kindIntent       kind = 8
	kindOutcome      kind = 9
	kindReadPermit   kind = 10
	kindReadRefused  kind = 11
	kindProcess      kind = 12
	kindSessionFact  kind = 13
)

// Number is a member of a vocabulary of the wire, by its number there.
type Number int32

// Scope is what a lease or a permit is about.
type Scope struct {
	// Desk, when it is the desk.
	Desk    bool
	App     string
	Window  ident.Window
	Dialogs bool
}

// BundleLoaded says which rules came into force.
type BundleLoaded struct {
	Generation ident.Generation
	SHA256     [sha256.Size]byte
	// Builtin says that there was no usable bundle.
	Builtin bool
	Rules   int
}

// SessionBegun says that a session began. The name its client gives itself is the
// client's words and is not recorded.
type SessionBegun struct {
	Session        ident.SessionID
	UID            uint32
	Vision, Remote bool
}

// SessionEnded says that a session ended.
type SessionEnded struct {
	Session ident.SessionID
	Leases  int
}

// LeaseGiven says that a lease was given.
type LeaseGiven struct {
	Session ident.SessionID
	Lease   ident.LeaseID
	Class   Number
	Scope   Scope
	Rule    string
	MS      uint64
	// Reason is why the client said it wants the lease.
	Reason Number
}

// LeaseRefused says that a lease was not given.
type LeaseRefused struct {
	Session ident.SessionID
	Class   Number
	Scope   Scope
	Code    Number
	Rule    string
	// Reason is why the client said it wants the lease.
	Reason Number
}

// LeaseEnded says that a lease ended.
type LeaseEnded struct {
	Session ident.SessionID
	Lease   ident.LeaseID
	Cause   Number
}

// Decision says what was answered to one act. Code 0 is yes.
type Decision struct {
	Session    ident.SessionID
	Act        ident.ActID
	Verb       Number
	Scope      Scope
	Code       Number
	Missing    Number
	Rule       string
	Effect     Number
	Generation ident.Generation
	Role       Number
	Secure     bool
	TextLength uint32
	Page       bool
	// Steps is how many steps were decided on as a whole (C3.9); 0 for one act. Nothing may
	// be sent on such a yes: each step has a decision of its own when its turn comes.
	Steps uint32
	// Step is the one that was refused, from 1; 0 when none was.
	Step uint32
}

// Intent says that an act may be sent from now on.
type Intent struct {
	ID       IntentID
	Session  ident.SessionID
	Act      ident.ActID
	Verb     Number
	Class    Number
	Scope    Scope
	Snapshot ident.SnapshotID
	Leases   []ident.LeaseID
	Routes   []Number
	Rule     string
	Effect   Number
}

// Outcome says what became of an intent.
type Outcome struct {
	Intent  IntentID
	Session ident.SessionID
	Outcome Number
	Effect  Number
	Route   Number
	Code    Number
}

// ReadPermit says that a read was permitted.
type ReadPermit struct {
	Session  ident.SessionID
	Class    Number
	Scope    Scope
	Lease    ident.LeaseID
	Rule     string
	Unproven bool
	Remote   bool
}

// ReadRefused says that a read was not permitted.
type ReadRefused struct {
	Session ident.SessionID
	Class   Number
	Scope   Scope
	Code    Number
	Rule    string
}

// Process is a fact of the launcher.
type Process struct {
	Event, Role Number
	Generation  ident.Generation
	SHA256      []byte
}

// SessionFact is a fact of the host.
type SessionFact struct {
	Event   Number
	Session ident.SessionID
}

func (BundleLoaded) kind() kind { return kindBundle }
func (SessionBegun) kind() kind { return kindSessionBegun }
func (SessionEnded) kind() kind { return kindSessionEnded }
func (LeaseGiven) kind() kind   { return kindLeaseGiven }
func (LeaseRefused) kind() kind { return kindLeaseRefused }
func (LeaseEnded) kind() kind   { return kindLeaseEnded }
func (Decision) kind() kind     { return kindDecision }
func (Intent) kind() kind       { return kindIntent }
func (Outcome) kind() kind      { return kindOutcome }
func (ReadPermit) kind() kind   { return kindReadPermit }
func (ReadRefused) kind() kind  { return kindReadRefused }
func (Process) kind() kind      { return kindProcess }
func (SessionFact) kind() kind  { return kindSessionFact }

// encoder writes the one byte form of a record: numbers in fixed width, strings and
// lists behind their length, in the order of the fields.
type encoder struct{ b []byte }

func (e *encoder) number(n Number)            { e.b = binary.BigEndian.AppendUint32(e.b, uint32(n)) }
func (e *encoder) u32(n uint32)               { e.b = binary.BigEndian.AppendUint32(e.b, n) }
func (e *encoder) u64(n uint64)               { e.b = binary.BigEndian.AppendUint64(e.b, n) }
func (e *encoder) gen(g ident.Generation)     { e.u64(uint64(g)) }
func (e *encoder) session(id ident.SessionID) { e.str(string(id)) }
func (e *encoder) lease(id ident.LeaseID)     { e.str(string(id)) }

func (e *encoder) str(s string) {
	e.u64(uint64(len(s)))
	e.b = append(e.b, s...)
}

func (e *encoder) bool(v bool) {
	if v {
		e.b = append(e.b, 1)
		return
	}
	e.b = append(e.b, 0)
}

func (e *encoder) scope(s Scope) {
	e.bool(s.Desk)
	e.str(s.App)
	e.u64(s.Window.ID)
	e.u32(uint32(s.Window.PID))
	e.u64(s.Window.Start)
	e.str(s.Window.App)
	e.u64(s.Window.Birth)
	e.bool(s.Dialogs)
}

func (r BundleLoaded) encode(e *encoder) {
	e.gen(r.Generation)
	e.str(string(r.SHA256[:]))
	e.bool(r.Builtin)
	e.u64(uint64(r.Rules))
}

func (r SessionBegun) encode(e *encoder) {
	e.session(r.Session)
	e.u32(r.UID)
	e.bool(r.Vision)
	e.bool(r.Remote)
}

func (r SessionEnded) encode(e *encoder) {
	e.session(r.Session)
	e.u64(uint64(r.Leases))
}

func (r LeaseGiven) encode(e *encoder) {
	e.session(r.Session)
	e.lease(r.Lease)
	e.number(r.Class)
	e.scope(r.Scope)
	e.str(r.Rule)
	e.u64(r.MS)
	e.number(r.Reason)
}

func (r LeaseRefused) encode(e *encoder) {
	e.session(r.Session)
	e.number(r.Class)
	e.scope(r.Scope)
	e.number(r.Code)
	e.str(r.Rule)
	e.number(r.Reason)
}

func (r LeaseEnded) encode(e *encoder) {
	e.session(r.Session)
	e.lease(r.Lease)
	e.number(r.Cause)
}

func (r Decision) encode(e *encoder) {
	e.session(r.Session)
	e.str(string(r.Act))
	e.number(r.Verb)
	e.scope(r.Scope)
	e.number(r.Code)
	e.number(r.Missing)
	e.str(r.Rule)
	e.number(r.Effect)
	e.gen(r.Generation)
	e.number(r.Role)
	e.bool(r.Secure)
	e.u32(r.TextLength)
	e.bool(r.Page)
	e.u32(r.Steps)
	e.u32(r.Step)
}

func (r Intent) encode(e *encoder) {
	e.str(string(r.ID))
	e.session(r.Session)
	e.str(string(r.Act))
	e.number(r.Verb)
	e.number(r.Class)
	e.scope(r.Scope)
	e.str(string(r.Snapshot))
	e.u64(uint64(len(r.Leases)))
	for _, l := range r.Leases {
		e.lease(l)
	}
	e.u64(uint64(len(r.Routes)))
	for _, n := range r.Routes {
		e.number(n)
	}
	e.str(r.Rule)
	e.number(r.Effect)
}

func (r Outcome) encode(e *encoder) {
	e.str(string(r.Intent))
	e.session(r.Session)
	e.number(r.Outcome)
	e.number(r.Effect)
	e.number(r.Route)
	e.number(r.Code)
}

func (r ReadPermit) encode(e *encoder) {
	e.session(r.Session)
	e.number(r.Class)
	e.scope(r.Scope)
	e.lease(r.Lease)
	e.str(r.Rule)
	e.bool(r.Unproven)
	e.bool(r.Remote)
}

func (r ReadRefused) encode(e *encoder) {
	e.session(r.Session)
	e.number(r.Class)
	e.scope(r.Scope)
	e.number(r.Code)
	e.str(r.Rule)
}

func (r Process) encode(e *encoder) {
	e.number(r.Event)
	e.number(r.Role)
	e.gen(r.Generation)
	e.str(string(r.SHA256))
}

func (r SessionFact) encode(e *encoder) {
	e.number(r.Event)
	e.session(r.Session)
}

const hashDomain = "fairlead audit v1\x00"

func hashOf(entry Entry) Hash {
	e := &encoder{b: []byte(hashDomain)}
	e.b = append(e.b, entry.Prev[:]...)
	e.u64(entry.Seq)
	e.u64(uint64(entry.UnixMS))
	e.b = append(e.b, byte(entry.Record.kind()))
	entry.Record.encode(e)
	return sha256.Sum256(e.b)
}

// ChainError says where a log is broken.
type ChainError struct {
	Seq  uint64
	What string
}

// Error names the record, never what it says.
func (e *ChainError) Error() string { return fmt.Sprintf("audit: record %d: %s", e.Seq, e.What) }
