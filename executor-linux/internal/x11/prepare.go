package x11

import (
	"context"
	"fmt"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"
)

// Names of the extensions that connections ask for, as the server spells them. The
// last group is for users of Call and Extension: the seat and the desk's watch.
const (
	extComposite = "Composite"
	extDamage    = "DAMAGE"
	extRandR     = "RANDR"
	extRes       = "X-Resource"
	extShm       = "MIT-SHM"
	extXFixes    = "XFIXES"
	extXInput    = "XInputExtension"
)

var extensionNames = []string{
	extComposite, extDamage, extRandR, extRes, extShm, extXFixes, extXInput,
	"XTEST", "SHAPE", "SYNC", "MIT-SCREEN-SAVER", "XKEYBOARD",
}

// atomTable holds the atoms this package reads. Atoms never change while the server lives.
type atomTable struct {
	wmState, netWMName, utf8String, gtkFrameExtents xproto.Atom
	netWMWindowType, netWMState, netActiveWindow    xproto.Atom
	netSupportingWMCheck                            xproto.Atom
	stateModal, stateHidden, clipboard              xproto.Atom
	types                                           map[xproto.Atom]Type
}

// prepare asks the server for everything a connection needs, in three round trips.
func (c *Conn) prepare() error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), 3*RoundTrip, ErrTimeout)
	defer cancel()
	var err error
	if c.extensions, err = Call(ctx, c, queryExtensions); err != nil {
		return fmt.Errorf("query x extensions: %w", err)
	}
	if _, err = Call(ctx, c, c.negotiate); err != nil {
		return fmt.Errorf("negotiate x extensions: %w", err)
	}
	if c.atoms, err = Call(ctx, c, internAtoms); err != nil {
		return fmt.Errorf("intern x atoms: %w", err)
	}
	_, err = Call(ctx, c, func(x *xgb.Conn) (struct{}, error) {
		mask := uint32(xproto.EventMaskSubstructureNotify | xproto.EventMaskPropertyChange)
		return struct{}{}, xproto.ChangeWindowAttributesChecked(x, c.Root, xproto.CwEventMask, []uint32{mask}).Check()
	})
	if err != nil {
		return fmt.Errorf("select events on the root window: %w", err)
	}
	return nil
}

func queryExtensions(x *xgb.Conn) (map[string]Extension, error) {
	cookies := make([]xproto.QueryExtensionCookie, len(extensionNames))
	for i, name := range extensionNames {
		cookies[i] = xproto.QueryExtension(x, uint16(len(name)), name)
	}
	out := map[string]Extension{}
	for i, cookie := range cookies {
		r, err := cookie.Reply()
		if err != nil {
			return nil, err
		}
		if r.Present {
			out[extensionNames[i]] = Extension{Major: r.MajorOpcode, FirstEvent: r.FirstEvent, FirstError: r.FirstError}
		}
	}
	return out, nil
}

// negotiate tells the server the versions this client speaks. For XInput it must be
// the first request, or the server hides devices other than the core pair.
func (c *Conn) negotiate(x *xgb.Conn) (struct{}, error) {
	versions := []struct {
		name         string
		minor        byte
		major, small uint32
		bytes        int // size of a version number in the request
	}{
		{extComposite, 0, 0, 4, 4},
		{extDamage, 0, 1, 1, 4},
		{extRandR, 0, 1, 5, 4},
		{extRes, 0, 1, 2, 1},
		{extXFixes, 0, 5, 0, 4},
		{extXInput, 47, 2, 3, 2},
	}
	var cookies []*xgb.Cookie
	for _, v := range versions {
		ext, ok := c.extensions[v.name]
		if !ok {
			continue
		}
		req := make([]byte, 4+2*v.bytes, 12)
		req[0], req[1] = ext.Major, v.minor
		switch v.bytes {
		case 1:
			req[4], req[5] = byte(v.major), byte(v.small)
		case 2:
			le.PutUint16(req[4:], uint16(v.major))
			le.PutUint16(req[6:], uint16(v.small))
		default:
			le.PutUint32(req[4:], v.major)
			le.PutUint32(req[8:], v.small)
		}
		cookies = append(cookies, Send(x, req, true))
	}
	for _, cookie := range cookies {
		if _, err := cookie.Reply(); err != nil {
			return struct{}{}, err
		}
	}
	// What xgb's Init functions would do, without their writes to global tables.
	x.ExtLock.Lock()
	defer x.ExtLock.Unlock()
	for name, ext := range c.extensions {
		x.Extensions[name] = ext.Major
	}
	return struct{}{}, nil
}

func internAtoms(x *xgb.Conn) (atomTable, error) {
	t := atomTable{types: map[xproto.Atom]Type{}}
	named := []struct {
		name string
		to   *xproto.Atom
	}{
		{"WM_STATE", &t.wmState},
		{"_NET_WM_NAME", &t.netWMName},
		{"UTF8_STRING", &t.utf8String},
		{"_GTK_FRAME_EXTENTS", &t.gtkFrameExtents},
		{"_NET_WM_WINDOW_TYPE", &t.netWMWindowType},
		{"_NET_WM_STATE", &t.netWMState},
		{"_NET_ACTIVE_WINDOW", &t.netActiveWindow},
		{"_NET_SUPPORTING_WM_CHECK", &t.netSupportingWMCheck},
		{"_NET_WM_STATE_MODAL", &t.stateModal},
		{"_NET_WM_STATE_HIDDEN", &t.stateHidden},
		{"CLIPBOARD", &t.clipboard},
	}
	intern := func(name string) xproto.InternAtomCookie {
		return xproto.InternAtom(x, false, uint16(len(name)), name)
	}
	cookies := make([]xproto.InternAtomCookie, len(named))
	for i, n := range named {
		cookies[i] = intern(n.name)
	}
	typeCookies := make([]xproto.InternAtomCookie, len(typeNames))
	for i, n := range typeNames {
		typeCookies[i] = intern("_NET_WM_WINDOW_TYPE_" + n.name)
	}
	for i, cookie := range cookies {
		r, err := cookie.Reply()
		if err != nil {
			return t, err
		}
		*named[i].to = r.Atom
	}
	for i, cookie := range typeCookies {
		r, err := cookie.Reply()
		if err != nil {
			return t, err
		}
		t.types[r.Atom] = typeNames[i].is
	}
	return t, nil
}
