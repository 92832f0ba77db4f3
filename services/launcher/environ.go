package launcher

import "strings"

// common are the variables every child gets. Nothing else is passed on: a variable that
// is not here cannot change what a trusted process does (LD_PRELOAD, GODEBUG, proxies).
func common(key string) bool {
	switch key {
	case "PATH", "HOME", "LANG", "XDG_RUNTIME_DIR":
		return true
	default:
		return strings.HasPrefix(key, "OTEL_")
	}
}

// desktop are the variables that lead to a desktop. Policy and host get none of them
// (C9.2: the executor is the only process that touches the desktop).
func desktop(key string) bool {
	switch key {
	case "DISPLAY", "XAUTHORITY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "XDG_CURRENT_DESKTOP",
		"XDG_DATA_HOME", "XDG_DATA_DIRS", "XDG_CONFIG_HOME", "XDG_CONFIG_DIRS",
		"GSK_RENDERER", "GSETTINGS_BACKEND", "GIO_USE_VFS":
		return true
	default:
		return false
	}
}

// environment returns what a child gets of our own environment and of the desktop's. A
// given desktop replaces our own whole: nothing of ours leads its programs elsewhere.
// Where spans go is ours to say, also then.
func environment(r role, own, desk []string) []string {
	out := []string{} // Not nil: to os/exec nil means everything.
	if r != roleExecutor {
		return keep(out, own, common)
	}
	if desk == nil {
		return keep(out, own, func(k string) bool { return common(k) || desktop(k) })
	}
	telemetryOnly := func(k string) bool { return strings.HasPrefix(k, "OTEL_") }
	out = keep(out, own, telemetryOnly)
	return keep(out, desk, func(k string) bool { return !telemetryOnly(k) && (common(k) || desktop(k)) })
}

func keep(out, from []string, allowed func(key string) bool) []string {
	for _, kv := range from {
		if key, _, ok := strings.Cut(kv, "="); ok && allowed(key) {
			out = append(out, kv)
		}
	}
	return out
}
