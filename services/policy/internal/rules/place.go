package rules

import (
	"net/netip"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The floor for destinations (C10.4). Pages of the web are places an agent may be let
// into; everything else a browser can show is not. Three kinds of "else" have answers
// of their own:
//
//   - Blocked: what stands for this machine (file:), for the browser and its settings
//     (chrome:, about:, devtools: and their like), or for code or content that the caller
//     wrote instead of a place (javascript:, data:). An agent that gets there can change
//     what watches it, so the session ends there (C5.1).
//   - Unsupported: every other scheme. What it opens is another program's business, and
//     nobody can say which; it is forbidden, and nothing more.
//   - Unknown: a page of which nobody can say where it is.
//
// Addresses of this machine are not on the floor, also not the one a browser's debugging
// endpoint listens on: which port that is is not known here, and pages of local servers
// are what many people want worked on. A bundle can forbid them.

// Blank is the one destination of the web that is not a server: an empty page.
const Blank = "about:blank"

// blockedSchemes is the list that no bundle can subtract from.
var blockedSchemes = set(
	// This machine.
	"file",
	// The browser itself: its settings, its tools, its extensions.
	"about", "brave", "chrome", "chrome-extension", "chrome-untrusted", "devtools", "edge", "moz-extension",
	"opera", "resource", "view-source", "vivaldi",
	// What the caller wrote, run or shown with the rights of a page.
	"javascript", "data",
)

// webPorts are the schemes of the web with the port that each means without naming it.
var webPorts = map[string]string{"http": "80", "https": "443"}

// Place brings a destination into the one form that rules see, so that one place has one
// name: scheme://host:port in lower case, with the port always there and addresses as
// numbers in their usual form; Blank; or, for a scheme that is none of the web, that
// scheme with its colon and nothing else. No destination is no place. It reports false
// for text that names no place; that is never repaired (C0.11).
func Place(destination string) (string, bool) {
	if destination == "" {
		return "", true
	}
	scheme, rest, ok := strings.Cut(destination, ":")
	scheme = strings.ToLower(scheme)
	if !ok || !ascii(destination) || !schemeForm(scheme) {
		return "", false
	}
	usual, web := webPorts[scheme]
	switch {
	case strings.EqualFold(destination, Blank):
		return Blank, true
	case !web:
		return scheme + ":", true
	}
	authority, ok := strings.CutPrefix(rest, "//")
	if !ok {
		return "", false
	}
	host, port := authority, usual
	// The last colon, and not one inside the brackets of an address.
	if i := strings.LastIndexByte(authority, ':'); i > strings.LastIndexByte(authority, ']') {
		host, port = authority[:i], authority[i+1:]
	}
	host, ok = hostForm(host)
	if !ok || !portForm(port) {
		return "", false
	}
	return scheme + "://" + host + ":" + port, true
}

func schemeForm(s string) bool {
	for i, c := range []byte(s) {
		if c >= 'a' && c <= 'z' {
			continue
		}
		if i == 0 || !strings.ContainsRune("0123456789+-.", rune(c)) {
			return false
		}
	}
	return s != ""
}

// ascii keeps letters out that turn into others when they are put in lower case.
func ascii(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}

func portForm(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n != 0 && strconv.FormatUint(n, 10) == s
}

// Bounds of a host name (RFC 1035).
const (
	hostMax  = 253
	labelMax = 63
)

// hostForm returns a name or an address in its one form. A browser reads a host that
// ends in a number as an address, in many spellings; here only the usual one is an
// address, and the others are nothing.
func hostForm(host string) (string, bool) {
	if inner, ok := strings.CutPrefix(host, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		a, err := netip.ParseAddr(inner)
		if !ok || err != nil || a.Zone() != "" || a.Is4() {
			return "", false
		}
		if a.Is4In6() {
			return a.Unmap().String(), true
		}
		return "[" + a.String() + "]", true
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if a, err := netip.ParseAddr(host); err == nil && a.Is4() {
		return a.String(), true
	}
	labels := strings.Split(host, ".")
	for _, l := range labels {
		if !labelForm(l) {
			return "", false
		}
	}
	return host, len(host) <= hostMax && !number(labels[len(labels)-1])
}

func labelForm(l string) bool {
	for _, c := range []byte(l) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return l != "" && len(l) <= labelMax
}

// number reports whether a browser reads a label as a number.
func number(l string) bool {
	const digits = "0123456789"
	if hex, ok := strings.CutPrefix(l, "0x"); ok {
		return strings.Trim(hex, digits+"abcdef") == ""
	}
	return strings.Trim(l, digits) == ""
}

// PlaceOnFloor answers for a place by the floor alone. An answer that is not Allowed is
// final. No place is for the caller to judge: not everything that is asked about has one.
func PlaceOnFloor(place string) Verdict {
	scheme, _, _ := strings.Cut(place, ":")
	_, web := webPorts[scheme]
	switch {
	case place == "" || place == Blank || web:
		return Verdict{Allowed: true}
	case blockedSchemes[scheme]:
		return Verdict{Rule: FloorBlocked, Blocked: true, Forbidden: true}
	default:
		return Verdict{Rule: FloorUnsupported, Forbidden: true}
	}
}
