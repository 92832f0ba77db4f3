// Package hostile treats fairlead's sockets and links badly: bytes that are no
// protocol, messages with every field out of range, callers of other uids, a host
// that skips policy. Whatever comes, the answer is a clear status or a closed
// connection, no process ends, and a normal act works afterwards.
package hostile
