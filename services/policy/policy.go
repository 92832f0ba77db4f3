// Package policy is the process without which nobody acts: it decides by rule who may
// hold a lease and which act may go, puts the intent on record, and only then signs the
// permit that the executor asks for (C10). It calls nobody. The host reaches it over one
// inherited link, the launcher over another on which it may only report facts.
//
// What it decides on is facts the host resolved, never words the agent chose, and it
// never sees typed text, titles, values or pictures. The story of one act is told in
// decide.go from top to bottom.
//
// Serve owns every goroutine of the package and returns when all of them have ended. The
// package must never sign without a record, answer yes to what no rule permits, or wait
// for a subscriber.
package policy

import (
	"crypto/ed25519"
	"errors"
	"log/slog"
	"sync"
	"time"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	policyv1 "fairlead.dev/gen/fairlead/policy/v1"
	"fairlead.dev/services/policy/internal/audit"
	"fairlead.dev/services/policy/internal/lease"
	"fairlead.dev/services/policy/internal/rules"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/permit"
	"fairlead.dev/services/shared/refusal"
	"fairlead.dev/services/shared/telemetry"
)

// sessionsMax bounds the sessions (protocol.md, Limits).
const sessionsMax = 256

// Config is what a policy process needs.
type Config struct {
	// Version it was built as, for the handshake.
	Version string
	// Key signs permits. Required.
	Key ed25519.PrivateKey
	// Generation is this start's policy generation (C1.1), from NextGeneration. Required.
	Generation ident.Generation
	// Bundle is the path of the rules. Without a usable one the built-in rules are in force.
	Bundle string
	// Log takes one line per call and per change of state. Required.
	Log *slog.Logger
	// Boot is the clock that leases and permits live by; permit.BootClock when nil.
	Boot func() time.Duration
}

// record is the log of records as policy needs it. One that cannot take a record says
// so, and what would have been recorded then does not happen (C10.10).
type record interface {
	// Append takes all of the records or none.
	Append(at time.Time, records ...audit.Record) error
	// Settle closes an intent once; false when it was not open.
	Settle(at time.Time, o audit.Outcome) (bool, error)
	// Open counts intents without an outcome of sessions that do not run.
	Open(running func(ident.SessionID) bool) int
}

// Policy decides, signs and records.
type Policy struct {
	version    string
	generation ident.Generation
	rules      *rules.Rules
	record     record
	log        *slog.Logger
	boot       func() time.Duration
	// ways are the routes of the schema with what rules call them.
	ways []way
	// sign is the one place where a permit comes into being.
	sign func(*commonv1.PermitClaims) *commonv1.Permit
	// wake tells the expiry goroutine that a lease was given.
	wake chan struct{}

	mu       sync.Mutex
	host     ident.Generation
	sessions map[ident.SessionID]*session
	leases   *lease.Store
	watchers map[*watcher]struct{}
	closed   bool
}

// session is what policy knows of a session.
type session struct {
	uid            uint32
	client         string
	vision, remote bool
	holds          holds
}

// Why a policy process cannot be built.
var (
	errKey        = errors.New("policy: the signing key is not an Ed25519 key")
	errGeneration = errors.New("policy: there is no generation")
	errLog        = errors.New("policy: there is no logger")
)

// New loads the rules and builds the process. A bundle that cannot be used is not an
// error: it is logged and recorded, and the built-in rules are in force.
func New(cfg Config) (*Policy, error) {
	return build(cfg, audit.New(audit.DefaultMax))
}

func build(cfg Config, rec record) (*Policy, error) {
	switch {
	case !validKey(cfg.Key):
		return nil, errKey
	case cfg.Generation == 0:
		return nil, errGeneration
	case cfg.Log == nil:
		return nil, errLog
	}
	p := &Policy{
		version:    cfg.Version,
		generation: cfg.Generation,
		rules:      loadRules(cfg.Bundle, cfg.Log),
		record:     rec,
		log:        cfg.Log,
		boot:       cfg.Boot,
		sign:       func(c *commonv1.PermitClaims) *commonv1.Permit { return permit.Sign(cfg.Key, c) },
		wake:       make(chan struct{}, 1),
		sessions:   map[ident.SessionID]*session{},
		leases:     lease.New(),
		watchers:   map[*watcher]struct{}{},
	}
	p.ways = routes()
	if p.boot == nil {
		p.boot = permit.BootClock
	}
	p.note(audit.BundleLoaded{
		Generation: p.generation,
		SHA256:     p.rules.Digest(),
		Builtin:    p.rules.Builtin(),
		Rules:      p.rules.Len(),
	})
	return p, nil
}

// validKey checks that the two halves of the key belong together: a wrong public half
// would make signatures that leak the private one.
func validKey(k ed25519.PrivateKey) bool {
	return len(k) == ed25519.PrivateKeySize && k.Equal(ed25519.NewKeyFromSeed(k.Seed()))
}

func loadRules(path string, log *slog.Logger) *rules.Rules {
	v := vocabulary()
	r, err := rules.Load(path, v)
	if err == nil {
		log.Info("the policy bundle is in force", telemetry.Count(r.Len()))
		return r
	}
	fault := &rules.Error{}
	if !errors.As(err, &fault) {
		fault.Fault = rules.FaultUnreadable
	}
	// Zero is no line: the fault is one of the file.
	log.Error("the policy bundle has a fault, only listing the desk is allowed; count is its line",
		telemetry.Kind(string(fault.Fault)), telemetry.Count(fault.Line))
	return rules.Builtin(v)
}

// Generation returns the policy generation.
func (p *Policy) Generation() ident.Generation { return p.generation }

// fence returns the current fence: of the four generations the two that policy knows.
func (p *Policy) fence() *commonv1.Fence {
	p.mu.Lock()
	defer p.mu.Unlock()
	return &commonv1.Fence{Host: uint64(p.host), Policy: uint64(p.generation)}
}

// holds reports whether what a request of the host asserts is current (C1.2). The first
// host generation the link asserts is the host's; there is one host for each policy.
func (p *Policy) holds(f *commonv1.Fence) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	asserted := ident.Fence{Host: ident.Generation(f.GetHost()), Policy: ident.Generation(f.GetPolicy())}
	if p.host == 0 {
		p.host = asserted.Host
	}
	return asserted.Holds(ident.Fence{Host: p.host, Policy: p.generation})
}

// beginSession takes a session, or says why not. Begun twice with the same facts it is
// the same session.
func (p *Policy) beginSession(id ident.SessionID, s session) (openIntents int, code refusal.Code) {
	p.mu.Lock()
	if had, ok := p.sessions[id]; ok {
		same := had.uid == s.uid && had.client == s.client && had.vision == s.vision && had.remote == s.remote
		p.mu.Unlock()
		if !same {
			return 0, refusal.InvalidBinding
		}
		return p.openIntents(), 0
	}
	if len(p.sessions) >= sessionsMax {
		p.mu.Unlock()
		return 0, refusal.Busy
	}
	p.mu.Unlock()
	if !p.note(audit.SessionBegun{Session: id, UID: s.uid, Vision: s.vision, Remote: s.remote}) {
		return 0, refusal.ServiceUnavailable
	}
	p.mu.Lock()
	if p.sessions[id] == nil {
		p.sessions[id] = &s
	}
	p.mu.Unlock()
	p.log.Info("session begun", telemetry.SessionID(id), telemetry.UID(s.uid))
	return p.openIntents(), 0
}

// openIntents counts what nobody closed: acts of sessions that are gone (C10.10).
func (p *Policy) openIntents() int {
	p.mu.Lock()
	running := make(map[ident.SessionID]bool, len(p.sessions))
	for id := range p.sessions {
		running[id] = true
	}
	p.mu.Unlock()
	return p.record.Open(func(id ident.SessionID) bool { return running[id] })
}

// endSession ends a session and its leases.
func (p *Policy) endSession(id ident.SessionID) int {
	p.mu.Lock()
	_, known := p.sessions[id]
	delete(p.sessions, id)
	ended := p.endAll(id, policyv1.LeaseEndCause_LEASE_END_CAUSE_SESSION_ENDED)
	p.mu.Unlock()
	if !known {
		return 0
	}
	p.note(append(ended, audit.SessionEnded{Session: id, Leases: len(ended)})...)
	p.log.Info("session ended", telemetry.SessionID(id), telemetry.Count(len(ended)))
	return len(ended)
}

// revoke ends one lease of a session, or all of them. It never waits for a record:
// authority is taken away first and written down after.
func (p *Policy) revoke(id ident.SessionID, which ident.LeaseID) int {
	p.mu.Lock()
	var ended []audit.Record
	if which == "" {
		ended = p.endAll(id, policyv1.LeaseEndCause_LEASE_END_CAUSE_REVOKED)
	} else if l, ok := p.leases.Revoke(id, which, p.boot()); ok {
		ended = append(ended, p.ended(l, policyv1.LeaseEndCause_LEASE_END_CAUSE_REVOKED))
	}
	p.mu.Unlock()
	p.note(ended...)
	return len(ended)
}

// endAll ends the leases of a session. The caller holds the lock.
func (p *Policy) endAll(id ident.SessionID, cause policyv1.LeaseEndCause) []audit.Record {
	var out []audit.Record
	for _, l := range p.leases.RevokeAll(id, p.boot()) {
		out = append(out, p.ended(l, cause))
	}
	return out
}

// ended tells the watchers of one ended lease. The caller holds the lock.
func (p *Policy) ended(l lease.Lease, cause policyv1.LeaseEndCause) audit.Record {
	p.publish(change{ended: &policyv1.LeaseEnded{
		SessionId: string(l.Session), LeaseId: string(l.ID), Cause: cause,
	}})
	return audit.LeaseEnded{Session: l.Session, Lease: l.ID, Cause: audit.Number(cause)}
}

// expire ends the leases that have run out and returns how long until the next does.
func (p *Policy) expire() time.Duration {
	p.mu.Lock()
	now := p.boot()
	var ended []audit.Record
	for _, l := range p.leases.Expire(now) {
		ended = append(ended, p.ended(l, policyv1.LeaseEndCause_LEASE_END_CAUSE_EXPIRED))
	}
	wait := expiryWaitMax
	if next, ok := p.leases.Next(); ok {
		wait = min(next-now, expiryWaitMax)
	}
	p.mu.Unlock()
	p.note(ended...)
	return wait
}

// note puts records on the log. It reports whether they are there; who needs them
// there must not go on without.
func (p *Policy) note(records ...audit.Record) bool {
	if len(records) == 0 {
		return true
	}
	if err := p.record.Append(time.Now(), records...); err != nil {
		p.log.Error("a record could not be taken", telemetry.Count(len(records)))
		return false
	}
	return true
}
