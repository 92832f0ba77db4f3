package atspi

import (
	"github.com/godbus/dbus/v5"
)

// unplaced is the lowest coordinate that is believed: GTK3 reports math.MinInt32 for what is not on the screen, and
// nothing honest is that far out.
const unplaced = -1 << 24

// asString reads a lone string answer.
func asString(body []any) (string, bool) {
	if len(body) != 1 {
		return "", false
	}
	s, ok := unwrap(body[0]).(string)
	return s, ok
}

// asUint reads a lone unsigned answer.
func asUint(body []any) (uint32, bool) {
	if len(body) != 1 {
		return 0, false
	}
	u, ok := unwrap(body[0]).(uint32)
	return u, ok
}

// asInt reads a lone signed answer.
func asInt(body []any) (int, bool) {
	if len(body) != 1 {
		return 0, false
	}
	i, ok := unwrap(body[0]).(int32)
	return int(i), ok
}

// asFloat reads a lone floating answer.
func asFloat(body []any) (float64, bool) {
	if len(body) != 1 {
		return 0, false
	}
	f, ok := unwrap(body[0]).(float64)
	return f, ok
}

// asBool reads a lone boolean answer.
func asBool(body []any) (value, ok bool) {
	if len(body) != 1 {
		return false, false
	}
	value, ok = unwrap(body[0]).(bool)
	return value, ok
}

// asBits reads a state set: two words, low first.
func asBits(v any) (uint64, bool) {
	words, ok := v.([]uint32)
	if !ok || len(words) != 2 {
		return 0, false
	}
	return uint64(words[0]) | uint64(words[1])<<32, true
}

// asRef reads one (so) struct.
func asRef(v any) (Ref, bool) {
	pair, ok := unwrap(v).([]any)
	if !ok || len(pair) != 2 {
		return Ref{}, false
	}
	bus, okBus := pair[0].(string)
	path, okPath := pair[1].(dbus.ObjectPath)
	return Ref{Bus: bus, Path: string(path)}, okBus && okPath
}

// asRefs reads an a(so); null references are left out.
func asRefs(v any) ([]Ref, bool) {
	list, ok := v.([][]any)
	if !ok {
		return nil, false
	}
	refs := make([]Ref, 0, len(list))
	for _, one := range list {
		r, ok := asRef(one)
		if !ok {
			return nil, false
		}
		if r.valid() {
			refs = append(refs, r)
		}
	}
	return refs, true
}

// asRect reads an (iiii) struct; a rectangle that is not on the screen reads as not ok.
func asRect(body []any) (Rect, bool) {
	if len(body) != 1 {
		return Rect{}, false
	}
	four, ok := body[0].([]any)
	if !ok || len(four) != 4 {
		return Rect{}, false
	}
	var n [4]int
	for i, v := range four {
		x, ok := v.(int32)
		if !ok {
			return Rect{}, false
		}
		n[i] = int(x)
	}
	r := Rect{X: n[0], Y: n[1], W: n[2], H: n[3]}
	return r, r.X > unplaced && r.Y > unplaced && r.W >= 0 && r.H >= 0
}

// asActionNames reads the first members of an a(sss).
func asActionNames(body []any) ([]string, bool) {
	if len(body) != 1 {
		return nil, false
	}
	list, ok := body[0].([][]any)
	if !ok {
		return nil, false
	}
	names := make([]string, 0, len(list))
	for _, one := range list {
		if len(one) == 0 {
			return nil, false
		}
		name, ok := one[0].(string)
		if !ok {
			return nil, false
		}
		names = append(names, name)
	}
	return names, true
}

// unwrap takes a property answer out of its variant.
func unwrap(v any) any {
	if vv, ok := v.(dbus.Variant); ok {
		return vv.Value()
	}
	return v
}

// cut shortens s to max characters.
func cut(s string, limit int) (short string, wasCut bool) {
	if len(s) <= limit {
		return s, false
	}
	n := 0
	for i := range s {
		if n == limit {
			return s[:i], true
		}
		n++
	}
	return s, false
}
