// Package virtualdesk is a desktop made of Go values: an executor.Platform without a
// display, and the tool with which every other room proves its rules.
//
// Purpose. It is the embedded default where no window system is there, and it holds a
// small world that behaves: a calculator that computes, a form with every usual
// control, a log, a note pad that can be launched, two displays of different scale; and,
// where they are asked for, a browser, a workbench for pointers and keys, and a canvas
// that has pixels and no elements. The agent has a pointer and a keyboard of its own.
// Pictures are really drawn, and whatever can go wrong on a real desktop goes wrong
// here on demand (faults.go and its sisters), so that a test can see a refusal for
// the reason it exists.
//
// Contract. Everything lies under one mutex; each method is one step of the desk.
// Perform reads the element, asks its check and changes the desk without letting go
// of that mutex (C6.2), and so do Manage and each part of Deliver (C6.1), so a check must
// not call the desk. Between two parts of an input nothing is locked. Identities are process,
// start, window, app and birth (C1.3); nothing is found by title. Acts never change
// what belongs to the user (C0.3) unless a fault says so. Every act that reached an
// application is one event of its journal, and nothing else is: a test proves
// "nothing else was touched" by reading it. Inputs tells what pointer and keys did in
// detail; what is down is always released (C7.4), and Held is empty between deliveries.
//
// Goroutines. The package starts none, except the one a timer runs when a delayed
// effect (Delay) is due; Close stops those timers and waits for the ones that run.
//
// It must never return the value of a secure field, by any method, in any picture or
// error (C2.10); never block a watcher; never touch a real desktop, a file or a socket.
package virtualdesk
