package atspi

import (
	"context"
	"math"
	"time"
)

// basic1 is one element as every accessible object can describe itself.
type basic1 struct {
	node Node
	err  error
}

// question is what basics are asked with.
type question struct {
	kit Toolkit
	// patience is how long no answer is an answer; limit is for the characters of a name or description.
	patience time.Duration
	limit    int
}

// basics asks the objects for what needs no interface. An object that is gone or defunct has ErrGone.
func (c *Client) basics(ctx context.Context, q question, refs []Ref) []basic1 {
	if len(refs) == 0 {
		return nil
	}
	per := 6
	if quirkOf(q.kit).id {
		per = 7
	}
	requests := make([]request, 0, per*len(refs))
	for _, r := range refs {
		requests = append(requests, method(r, "Accessible.GetRole"), method(r, "Accessible.GetState"),
			method(r, "Accessible.GetInterfaces"), get(r, "Accessible", "Name"),
			get(r, "Accessible", "Description"), get(r, "Accessible", "ChildCount"))
		if per == 7 {
			requests = append(requests, get(r, "Accessible", "AccessibleId"))
		}
	}
	answers := c.batch(ctx, q.patience, requests)
	out := make([]basic1, len(refs))
	for i, r := range refs {
		out[i] = decodeBasic(q, r, answers[i*per:(i+1)*per])
	}
	return out
}

// decodeBasic reads the answers of basics for one object. Role, states and interfaces must be there; the rest may be
// missing, which reads as empty.
func decodeBasic(q question, ref Ref, a []answer) basic1 {
	n := Node{Ref: ref, Parent: -1, TextLen: -1, Children: -1}
	for _, one := range a[:3] {
		if one.err != nil {
			return basic1{node: n, err: basic(one.err)}
		}
	}
	role, okRole := asUint(a[0].body)
	if !okRole || len(a[1].body) != 1 || len(a[2].body) != 1 {
		return basic1{node: n, err: ErrProtocol}
	}
	bits, okBits := asBits(a[1].body[0])
	names, okNames := a[2].body[0].([]string)
	if !okBits || !okNames {
		return basic1{node: n, err: ErrProtocol}
	}
	n.Role = roleOf(role)
	n.States = statesOf(q.kit, n.Role, bits)
	n.Interfaces = interfacesOf(names)
	text := func(i int) string {
		if i >= len(a) || a[i].err != nil {
			return ""
		}
		s, _ := asString(a[i].body)
		short, wasCut := cut(s, q.limit)
		if wasCut {
			n.Cut |= CutText
		}
		return short
	}
	n.Name, n.Description, n.ID = text(3), text(4), text(6)
	if count, ok := asInt(a[5].body); ok && a[5].err == nil {
		n.Children = count
	}
	if n.States.Has(StateDefunct) {
		return basic1{node: n, err: ErrGone}
	}
	return basic1{node: n}
}

// field is one optional thing that is asked for.
type field uint8

const (
	fieldExtents field = iota
	fieldOrigin
	fieldActions
	fieldActionName
	fieldCurrent
	fieldMin
	fieldMax
	fieldStep
	fieldTextLen
	fieldText
)

// job is what one request of a filler is for.
type job struct {
	node  int
	field field
	// at is the index of an action, or the number of characters of a text.
	at int
}

// filler reads the optional fields of nodes in two pipelined rounds: what the interfaces offer, then what the first
// answers ask for.
type filler struct {
	kit      Toolkit
	limits   Limits
	nodes    []Node
	jobs     []job
	requests []request
	names    map[int][]string
	origin   Rect
	okOrigin bool
	failed   error
}

// fill reads extents, actions, values and texts of nodes whose basics are known. top is their toplevel. The error is
// the first failure; each is also marked at its node.
func (c *Client) fill(ctx context.Context, kit Toolkit, limits Limits, nodes []Node, top Ref) error {
	f := &filler{kit: kit, limits: limits, nodes: nodes, names: make(map[int][]string)}
	if quirkOf(kit).fromScreen && !top.Zero() {
		f.ask(job{node: -1, field: fieldOrigin}, method(top, "Component.GetExtents", uint32(0)))
	}
	for i := range nodes {
		if !nodes[i].Cut.Has(CutUnread) {
			f.first(i)
		}
	}
	f.run(ctx, c)
	f.second()
	f.run(ctx, c)
	f.finish()
	return f.failed
}

func (f *filler) ask(j job, r request) {
	f.jobs = append(f.jobs, j)
	f.requests = append(f.requests, r)
}

// first asks for what the interfaces of node i offer.
func (f *filler) first(i int) {
	n := &f.nodes[i]
	q := quirkOf(f.kit)
	hidden := q.showing && !n.States.Has(StateShowing)
	if n.Interfaces.Has(HasComponent) && q.origin != originNone && !hidden {
		coord := uint32(1)
		if q.fromScreen {
			coord = 0
		}
		f.ask(job{node: i, field: fieldExtents}, method(n.Ref, "Component.GetExtents", coord))
	}
	if n.Interfaces.Has(HasAction) {
		f.ask(job{node: i, field: fieldActions}, method(n.Ref, "Action.GetActions"))
	}
	if n.States.Has(StateSecure) {
		return
	}
	if n.Interfaces.Has(HasValue) {
		f.ask(job{node: i, field: fieldCurrent}, get(n.Ref, "Value", "CurrentValue"))
		f.ask(job{node: i, field: fieldMin}, get(n.Ref, "Value", "MinimumValue"))
		f.ask(job{node: i, field: fieldMax}, get(n.Ref, "Value", "MaximumValue"))
		f.ask(job{node: i, field: fieldStep}, get(n.Ref, "Value", "MinimumIncrement"))
	}
	if n.Interfaces.Has(HasText) && (n.Role.textual() || n.Name == "") {
		f.ask(job{node: i, field: fieldTextLen}, get(n.Ref, "Text", "CharacterCount"))
	}
}

// second asks for texts, never beyond the count just read, and for the plain names of actions whose listed names are
// empty (Chromium) or translated (GTK3, GTK4).
func (f *filler) second() {
	for i := range f.nodes {
		n := &f.nodes[i]
		if n.TextLen > 0 && !n.States.Has(StateSecure) {
			f.ask(job{node: i, field: fieldText, at: n.TextLen},
				method(n.Ref, "Text.GetText", int32(0), int32(min(n.TextLen, f.limits.Text))))
		}
		looked := 0
		for k, name := range f.names[i] {
			if groupName(name) {
				continue
			}
			if looked++; looked > f.limits.Actions {
				break
			}
			if neutral(f.kit, n.Role, n.States, name) == ActionNone {
				f.ask(job{node: i, field: fieldActionName, at: k}, method(n.Ref, "Action.GetName", int32(k)))
			}
		}
	}
}

// run sends what was asked for and stores the answers.
func (f *filler) run(ctx context.Context, c *Client) {
	jobs, requests := f.jobs, f.requests
	f.jobs, f.requests = nil, nil
	for k, a := range c.batch(ctx, callTime, requests) {
		if a.err != nil {
			f.fail(jobs[k], a.err)
			continue
		}
		f.store(jobs[k], a.body)
	}
}

// fail marks what could not be read. An element that lacks what its interfaces promise is not a failure.
func (f *filler) fail(j job, err error) {
	err = optional(err)
	if err == ErrUnsupported || err == ErrAnswered {
		return
	}
	if f.failed == nil {
		f.failed = err
	}
	if j.node < 0 {
		return
	}
	if err == errTimeUp {
		f.nodes[j.node].Cut |= CutTime
		return
	}
	f.nodes[j.node].Cut |= CutUnread
}

// store decodes one answer; what is malformed stays unknown.
func (f *filler) store(j job, body []any) {
	switch j.field {
	case fieldOrigin:
		f.origin, f.okOrigin = asRect(body)
	case fieldExtents:
		n := &f.nodes[j.node]
		n.Extents, n.Placed = asRect(body)
	case fieldActions:
		if names, ok := asActionNames(body); ok {
			f.names[j.node] = names
		}
	case fieldActionName:
		if name, ok := asString(body); ok {
			f.names[j.node][j.at] = name
		}
	case fieldCurrent, fieldMin, fieldMax, fieldStep:
		f.storeValue(j, body)
	case fieldTextLen:
		if count, ok := asInt(body); ok && count >= 0 {
			f.nodes[j.node].TextLen = count
		}
	case fieldText:
		f.storeText(j, body)
	}
}

func (f *filler) storeValue(j job, body []any) {
	x, ok := asFloat(body)
	if !ok || math.IsNaN(x) || math.IsInf(x, 0) {
		return
	}
	n := &f.nodes[j.node]
	if j.field == fieldCurrent {
		n.Value = &Value{Current: x}
	}
	if n.Value == nil {
		return
	}
	switch j.field {
	case fieldMin:
		n.Value.Min = x
	case fieldMax:
		n.Value.Max = x
	case fieldStep:
		n.Value.Step = x
	}
}

func (f *filler) storeText(j job, body []any) {
	s, ok := asString(body)
	if !ok {
		return
	}
	n := &f.nodes[j.node]
	short, wasCut := cut(s, f.limits.Text)
	if wasCut || j.at > f.limits.Text {
		n.Cut |= CutText
	}
	if short == n.Name && !n.Role.textual() {
		return
	}
	n.Text = short
}

// finish turns what was read into the fields of the nodes.
func (f *filler) finish() {
	q := quirkOf(f.kit)
	for i := range f.nodes {
		n := &f.nodes[i]
		if names := f.names[i]; names != nil {
			r := resolve(f.kit, n.Role, n.States, names, f.limits.Actions)
			n.Actions, n.UnknownActions = r.actions, r.unknown
			if r.cut {
				n.Cut |= CutActions
			}
		}
		if n.Placed && q.fromScreen {
			n.Extents.X -= f.origin.X
			n.Extents.Y -= f.origin.Y
			n.Placed = f.okOrigin
		}
		if !n.Placed {
			n.Extents = Rect{}
		}
	}
}

// look reads the basics of one element, with the patience of the probe (C7.7): an application that does not answer
// this is not sent to.
func (c *Client) look(ctx context.Context, ref Ref) (Node, Toolkit, error) {
	kit, err := c.toolkitOf(ctx, aliveTime, ref.Bus)
	if err != nil {
		return Node{}, kit, err
	}
	b := c.basics(ctx, question{kit: kit, patience: aliveTime, limit: textMax}, []Ref{ref})[0]
	if b.err != nil {
		return Node{}, kit, b.err
	}
	states, err := c.around(ctx, kit, &b.node)
	if err != nil {
		return Node{}, kit, err
	}
	b.node.States |= states
	return b.node, kit, nil
}

// Reread reads one element anew, all fields, in two to five round trips (interfaces must be known before what they
// offer may be asked for, counts before texts); it is the look right before a send (C6.2).
// top is the element's toplevel, which some toolkits need for its place. ErrGone says that the object does not exist
// any more or is defunct; a field that was not answered is an error, not a mark.
func (c *Client) Reread(ctx context.Context, top, ref Ref) (Node, error) {
	if !ref.valid() {
		return Node{}, ErrInvalid
	}
	ctx, cancel := context.WithTimeoutCause(ctx, rereadTime, ErrUnresponsive)
	defer cancel()
	n, kit, err := c.look(ctx, ref)
	if err != nil {
		return Node{}, err
	}
	nodes := []Node{n}
	if err := c.fill(ctx, kit, Limits{}.normal(), nodes, top); err != nil {
		return Node{}, err
	}
	return nodes[0], nil
}
