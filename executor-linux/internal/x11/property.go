package x11

import (
	"strings"
	"unicode/utf8"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"
)

// titleMax is how much of a title is read, in bytes.
const titleMax = 1024

// card32 is one 32 bit element of a property, zero when there is none. Properties
// are written by applications, so format and length are checked each time.
func card32(r *xproto.GetPropertyReply, i int) uint32 {
	if r == nil || r.Format != 32 || i >= int(r.ValueLen) || len(r.Value) < 4*(i+1) {
		return 0
	}
	return le.Uint32(r.Value[4*i:])
}

func hasAtom(r *xproto.GetPropertyReply, a xproto.Atom) bool {
	if r == nil {
		return false
	}
	for i := range int(r.ValueLen) {
		if xproto.Atom(card32(r, i)) == a {
			return true
		}
	}
	return false
}

// windowType is the first type in the application's list that is known (EWMH).
func (c *Conn) windowType(r *xproto.GetPropertyReply) Type {
	for i := range int(r.ValueLen) {
		if t, ok := c.atoms.types[xproto.Atom(card32(r, i))]; ok {
			return t
		}
	}
	return TypeUnknown
}

// shadow reads _GTK_FRAME_EXTENTS; extents that do not fit into the window are a lie.
func shadow(r *xproto.GetPropertyReply, g *xproto.GetGeometryReply) Extents {
	e := [4]uint32{card32(r, 0), card32(r, 1), card32(r, 2), card32(r, 3)}
	w, h := uint64(e[0])+uint64(e[1]), uint64(e[2])+uint64(e[3])
	if w >= uint64(g.Width) || h >= uint64(g.Height) {
		return Extents{}
	}
	return Extents{Left: int(e[0]), Right: int(e[1]), Top: int(e[2]), Bottom: int(e[3])}
}

// title prefers _NET_WM_NAME, which is UTF-8, to WM_NAME, which mostly is Latin-1.
func title(name, oldName *xproto.GetPropertyReply, utf8String xproto.Atom) string {
	if name.Format == 8 && len(name.Value) > 0 {
		return cleanUTF8(name.Value)
	}
	if oldName.Format != 8 {
		return ""
	}
	if oldName.Type == utf8String || oldName.Type != xproto.AtomString && utf8.Valid(oldName.Value) {
		return cleanUTF8(oldName.Value)
	}
	var b strings.Builder
	for _, c := range oldName.Value {
		b.WriteRune(rune(c))
	}
	return cleanUTF8([]byte(b.String()))
}

// cleanUTF8 cuts to titleMax, ends at a NUL, and replaces what is not UTF-8; a rune
// cut in half at the end is dropped.
func cleanUTF8(v []byte) string {
	s, _, _ := strings.Cut(string(v), "\x00")
	if len(s) >= titleMax {
		s = s[:titleMax]
		for range utf8.UTFMax - 1 {
			if r, size := utf8.DecodeLastRuneInString(s); r != utf8.RuneError || size != 1 {
				break
			}
			s = s[:len(s)-1]
		}
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// X-Resource 1.2: QueryClientIds with the mask for the pid the kernel reported.
const (
	resQueryClientIDs = 4
	resLocalClientPID = 2
)

// askPID asks for the process of the client that owns w; nil without X-Resource.
func (c *Conn) askPID(x *xgb.Conn, w xproto.Window) *xgb.Cookie {
	ext, ok := c.extensions[extRes]
	if !ok {
		return nil
	}
	req := make([]byte, 16)
	req[0], req[1] = ext.Major, resQueryClientIDs
	le.PutUint32(req[4:], 1)
	le.PutUint32(req[8:], uint32(w))
	le.PutUint32(req[12:], resLocalClientPID)
	return Send(x, req, true)
}

// readPID reads the answer; zero when the server does not know the process.
func readPID(cookie *xgb.Cookie) (int, error) {
	if cookie == nil {
		return 0, nil
	}
	r, err := cookie.Reply()
	if err != nil {
		return 0, err
	}
	// 32 bytes of head; then client, mask, length in bytes, value.
	if len(r) < 48 || le.Uint32(r[8:]) != 1 || le.Uint32(r[36:]) != resLocalClientPID || le.Uint32(r[40:]) != 4 {
		return 0, nil
	}
	return int(le.Uint32(r[44:])), nil
}
