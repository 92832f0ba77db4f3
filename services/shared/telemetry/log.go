package telemetry

import (
	"context"
	"io"
	"log/slog"
	"time"

	"fairlead.dev/services/shared/ident"
)

// The keys a log line may carry. A key that is not here is dropped by the handler,
// whoever made the attribute.
const (
	keyRole       = "role"
	keyVersion    = "version"
	keySession    = "session_id"
	keyAct        = "act_id"
	keyMethod     = "rpc.method"
	keyStatus     = "rpc.status"
	keyCode       = "code"
	keyGeneration = "generation"
	keyCount      = "count"
	keyMillis     = "ms"
	keyPID        = "pid"
	keyUID        = "uid"
	keyKind       = "kind"
)

var logKeys = map[string]bool{
	keyRole: true, keyVersion: true, keySession: true, keyAct: true, keyMethod: true, keyStatus: true, keyCode: true,
	keyGeneration: true, keyCount: true, keyMillis: true, keyPID: true, keyUID: true, keyKind: true,
	slog.TimeKey: true, slog.LevelKey: true, slog.MessageKey: true,
}

// Role names a process.
func Role(role string) slog.Attr { return slog.String(keyRole, role) }

// Version names a build.
func Version(v string) slog.Attr { return slog.String(keyVersion, v) }

// SessionID names a session.
func SessionID(id ident.SessionID) slog.Attr { return slog.String(keySession, string(id)) }

// ActID names an act.
func ActID(id ident.ActID) slog.Attr { return slog.String(keyAct, string(id)) }

// Method names an RPC.
func Method(m string) slog.Attr { return slog.String(keyMethod, m) }

// Status names an RPC status code.
func Status(code string) slog.Attr { return slog.String(keyStatus, code) }

// Enum names a member of a closed vocabulary.
func Enum(code interface{ String() string }) slog.Attr { return slog.String(keyCode, code.String()) }

// Kind names what a line is about, from a closed set of constants of our own.
func Kind(kind string) slog.Attr { return slog.String(keyKind, kind) }

// Generation is a generation.
func Generation(g ident.Generation) slog.Attr { return slog.Uint64(keyGeneration, uint64(g)) }

// Count is a number of things.
func Count(n int) slog.Attr { return slog.Int(keyCount, n) }

// Took is a duration in milliseconds.
func Took(d time.Duration) slog.Attr {
	return slog.Float64(keyMillis, float64(d.Microseconds())/1000)
}

// PID is a process id.
func PID(pid int) slog.Attr { return slog.Int(keyPID, pid) }

// UID is a user id.
func UID(uid uint32) slog.Attr { return slog.Uint64(keyUID, uint64(uid)) }

// NewLogger returns a logger that writes JSON lines with allow-listed keys only.
func NewLogger(w io.Writer, role string) *slog.Logger {
	h := slog.NewJSONHandler(w, &slog.HandlerOptions{ReplaceAttr: allowedOnly})
	return slog.New(h).With(Role(role))
}

func allowedOnly(_ []string, a slog.Attr) slog.Attr {
	if !logKeys[a.Key] {
		return slog.Attr{}
	}
	return a
}

// Discard returns a logger that writes nothing.
func Discard() *slog.Logger { return slog.New(discard{}) }

type discard struct{}

func (discard) Enabled(context.Context, slog.Level) bool  { return false }
func (discard) Handle(context.Context, slog.Record) error { return nil }
func (d discard) WithAttrs([]slog.Attr) slog.Handler      { return d }
func (d discard) WithGroup(string) slog.Handler           { return d }
