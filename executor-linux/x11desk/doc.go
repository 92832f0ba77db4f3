// Package x11desk is the Linux executor's Platform: real windows of an X display, read
// and acted on through the accessibility bus (executor.Platform over internal/x11 and
// internal/atspi).
//
// Contract. Every answer is about the desktop as it is now (C0.9): the accessible
// application of a window is remembered as a hint only and proven again, by the
// kernel's process id and the window's title, size and place, at each call. An act is
// one step: the application is probed (C7.7), the element read again, the executor's
// check asked, and one call sent (C6.2). Nothing else moves: no pointer, key, raise or
// map request exists in this package, and one for the focus, which gives the user's
// back when a launched program took it (C0.3, guard.go).
//
// Space. X11 has one plane of pixels and no logical points, so points are root pixels
// and the scale of every window, display and picture is 1. What a toolkit reports in
// pixels of its own (GDK_SCALE) is converted with the scale that its match with the
// window proved; without proof an element has no place (C2.2).
//
// What is listed (C0.10). All elements that the toolkit shows. Elements that it says are
// not showing are left out, except menu items, which act without their menu being
// open, and the contents of a scrolled area in view, which are listed OFFSCREEN. A
// toolkit that never says what shows (GTK4) is listed whole. Everything cut by a limit
// is a Truncation.
//
// What is not offered. focus_element: the accessibility call for it (GrabFocus) may raise
// or activate a window. SHOW_MENU, and presses that would open a menu or list: toolkits
// grab the user's pointer for them. Menu items and options are acted on directly
// instead. Pointer, keys and pages.
//
// Goroutines. Two pumps carry events to watchers, and one guards the focus for at most
// ten seconds after a launch; Close ends them. One per launched program waits for its
// end, because a launched program outlives the desk.
//
// It must never put a title, text, path or place into an error or a log line (C10.6).
package x11desk
