// Package x11 is the Linux executor's view of an X display: which windows there
// are, whose they are, what they look like, and what the user is doing.
//
// Contract. Everything here reads. A current-state question is answered by asking
// the server now (C0.9); nothing is cached except atoms, desktop files and the
// birth numbers of C1.3, which can only be counted, never asked for. Every call is
// bounded: a server that does not answer within RoundTrip gives ErrTimeout, a lost
// server gives ErrClosed, and lists beyond their named limits are refused with
// ErrLimit rather than cut in silence (C0.10).
//
// Goroutines. A Conn owns five plus xgb's own: the reader (inside xgb, through
// stream), the writer (outbox), the drain of xgb's error queue, the watcher that
// asks for destroy events, and one per call in flight (at most maxCalls). All end
// when the connection ends; Close waits for the drain. Births and events are
// decoded in the reader, in the server's order and before any later reply reaches
// its caller: that order is what makes birth numbers exact.
//
// A Capturer has a connection of its own, because a 30 MB picture in the core
// connection's reply stream would delay the desk's events.
//
// It must never move a pointer, focus, raise, map or configure a window, grab a
// device, write a property, own a selection or send an event. It knows nothing of
// protos, sessions, AT-SPI or input; the agent's seat is built on Call and Send.
package x11
