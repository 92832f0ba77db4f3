// Package atspi is a small AT-SPI2 client: it reads the accessibility trees of the applications of one desktop and
// performs semantic acts on single elements, over the accessibility D-Bus, in pure Go.
//
// Contract. Every call has a deadline and every walk has a count limit; hitting one is visible in the result
// (C0.10). Nothing is chosen here: an act names one Ref and one neutral action, value or text, and is refused when
// that element does not offer exactly this (C0.2). An act answers with a Sent value that says whether the
// application can have seen it; nothing is ever repeated after it was written (C0.5, C7.1). The text of secure
// fields is never asked for, and acts on them are refused before anything is sent (C2.10, C10.4). Errors are
// sentinels: the words of applications are data and never appear in an error (C10.6).
//
// Goroutines. The D-Bus library owns one reader per Client and one short goroutine per call in flight; all of them
// end with Close. The package starts one goroutine per application in Applications, joined before it returns.
// A Client may be used by several goroutines. Event delivery never blocks the reader: a slow consumer loses events
// and is told so.
//
// It must never: ask for text beyond the application's own character count (GTK3 crashes), ask for the extents of
// an element without the Component interface (GTK3 logs a critical), call GetChildren on an element that
// manages its descendants or claims more than a thousand (LibreOffice hangs), choose an action by its index (indexes
// differ between versions), grab focus, or use the DeviceEventController (it moves the user's pointer, C0.3).
package atspi
