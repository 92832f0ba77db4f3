//go:build linux

package privatedesk

import (
	"encoding/binary"
	"os"
)

const (
	// cookieName is the only authorisation in use: a shared secret.
	cookieName = "MIT-MAGIC-COOKIE-1"
	cookieSize = 16

	// Families of authority entries (X11/Xauth.h).
	familyLocal = 256
	familyWild  = 65535
)

// authority gives the content of an X authority file with one cookie.
//
// The file must exist before the server chooses its display number, so the number is left empty, which matches every
// display. The wild entry is what libXau and xcb take; the local one is for clients that look for their host name.
func authority(host string, cookie []byte) []byte {
	var out []byte
	for _, entry := range []struct {
		family  uint16
		address string
	}{{familyWild, ""}, {familyLocal, host}} {
		out = binary.BigEndian.AppendUint16(out, entry.family)
		for _, field := range [][]byte{[]byte(entry.address), nil, []byte(cookieName), cookie} {
			out = binary.BigEndian.AppendUint16(out, uint16(len(field)))
			out = append(out, field...)
		}
	}
	return out
}

// writeAuthority writes an authority file for its owner only.
func writeAuthority(file string, cookie []byte) error {
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.Write(authority(host, cookie)); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}
