// Package privacy plants marked strings wherever a person's words are (typed text,
// titles, names and values of elements, secrets, a client's name, an application's
// errors) and then reads everything that leaves the three processes beside the answers:
// log lines, spans, error statuses. None may hold a marked string (C10.6).
package privacy
