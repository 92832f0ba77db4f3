package x11

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Address families of an Xauthority entry (X11/Xauth.h).
const (
	familyLocal = 256
	familyWild  = 65535
)

const cookieProtocol = "MIT-MAGIC-COOKIE-1"

// authFileMax bounds the Xauthority file; real ones are below a kilobyte.
const authFileMax = 1 << 20

var errAuthFormat = errors.New("malformed xauthority file")

// authEntry is one record of an Xauthority file.
type authEntry struct {
	family  uint16
	address string
	display string
	name    string
	data    []byte
}

// parseAuth reads all entries. Entries before damage are returned with the error.
func parseAuth(b []byte) ([]authEntry, error) {
	var out []authEntry
	for len(b) > 0 {
		if len(b) < 2 {
			return out, errAuthFormat
		}
		e := authEntry{family: binary.BigEndian.Uint16(b)}
		b = b[2:]
		var fields [4][]byte
		for i := range fields {
			if len(b) < 2 {
				return out, errAuthFormat
			}
			n := int(binary.BigEndian.Uint16(b))
			if len(b)-2 < n {
				return out, errAuthFormat
			}
			fields[i], b = b[2:2+n], b[2+n:]
		}
		e.address, e.display, e.name = string(fields[0]), string(fields[1]), string(fields[2])
		e.data = append([]byte(nil), fields[3]...)
		out = append(out, e)
	}
	return out, nil
}

// pickAuth chooses the cookie for a local display. An entry for this display number
// wins over one with an empty number (which matches any), and this host's entry over
// a wild one; so a stale catch-all entry does not hide the right cookie.
func pickAuth(entries []authEntry, host, number string) (authEntry, bool) {
	best, score := authEntry{}, 0
	for _, e := range entries {
		if e.name != cookieProtocol || len(e.data) == 0 {
			continue
		}
		s := 0
		switch {
		case e.family == familyLocal && e.address == host:
			s = 2
		case e.family == familyWild:
			s = 1
		default:
			continue
		}
		switch e.display {
		case number:
			s += 2
		case "":
		default:
			continue
		}
		if s > score {
			best, score = e, s
		}
	}
	return best, score > 0
}

// loadAuth finds the cookie for a display in a file. No file and no entry mean that
// the connection is tried without one: a server may admit by uid alone.
func loadAuth(path, number string) (name string, data []byte, err error) {
	st, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil, nil
	}
	if err != nil {
		return "", nil, fmt.Errorf("stat xauthority: %w", err)
	}
	if st.Size() > authFileMax {
		return "", nil, fmt.Errorf("xauthority file: %w", ErrLimit)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "", nil, fmt.Errorf("read xauthority: %w", err)
	}
	host, err := os.Hostname()
	if err != nil {
		return "", nil, fmt.Errorf("host name: %w", err)
	}
	entries, perr := parseAuth(b)
	e, ok := pickAuth(entries, host, number)
	if ok {
		return e.name, e.data, nil
	}
	return "", nil, perr
}
