package atspi

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
)

func TestLimitsAreBounded(t *testing.T) {
	if got := (Limits{}).normal(); got != (Limits{1500, 64, 500, 20, 6 * time.Second}) {
		t.Errorf("defaults %+v", got)
	}
	huge := Limits{Elements: 1 << 30, Depth: 1 << 30, Text: 1 << 30, Actions: 1 << 30, Time: time.Hour}
	if got := huge.normal(); got != (Limits{5000, 64, 500, 20, 6 * time.Second}) {
		t.Errorf("maxima %+v", got)
	}
	small := Limits{1, 2, 3, 4, time.Second}
	if got := small.normal(); got != small {
		t.Errorf("small %+v", got)
	}
}

func TestDocumentOrderKeepsParentsAndSiblings(t *testing.T) {
	// r(a(c d) b(e)) as found breadth first.
	node := func(name string, parent int) Node { return Node{Name: name, Parent: parent} }
	got := inOrder([]Node{node("r", -1), node("a", 0), node("b", 0), node("c", 1), node("d", 1), node("e", 2)})
	var names strings.Builder
	for i, n := range got {
		names.WriteString(n.Name)
		if n.Parent >= i {
			t.Errorf("%s has parent %d at %d", n.Name, n.Parent, i)
		}
	}
	if names.String() != "racdbe" || got[5].Parent != 4 || got[3].Parent != 1 || got[0].Parent != -1 {
		t.Errorf("%s %+v", names.String(), got)
	}
}

func TestTwoFocusedNodesAreNone(t *testing.T) {
	f := Node{States: StateFocused}
	if i, ok := (&Tree{Nodes: []Node{{}, f}}).Focused(); !ok || i != 1 {
		t.Errorf("one: %d %v", i, ok)
	}
	if _, ok := (&Tree{Nodes: []Node{f, f}}).Focused(); ok {
		t.Error("two claimants are one")
	}
	if _, ok := (&Tree{Nodes: []Node{{}}}).Focused(); ok {
		t.Error("no claimant is one")
	}
}

func TestErrorsDropTheWordsOfApplications(t *testing.T) {
	const secret = "my password"
	for name, want := range map[string]error{
		"ServiceUnknown": ErrGone, "UnknownMethod": errNoMember, "NoReply": ErrUnresponsive, "Failed": ErrAnswered,
		"LimitsExceeded": errNotRouted,
	} {
		err := classify(dbus.Error{Name: "org.freedesktop.DBus.Error." + name, Body: []any{secret}})
		if err != want || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := classify(errors.New(secret)); err != ErrClosed {
		t.Errorf("%v", err)
	}
	if err := classify(context.DeadlineExceeded); err != ErrUnresponsive {
		t.Errorf("%v", err)
	}
}

func TestErrorsOfActsSayWhetherAnythingWasSent(t *testing.T) {
	std := func(name string) error { return dbus.Error{Name: "org.freedesktop.DBus.Error." + name} }
	for _, tt := range []struct {
		name string
		err  error
		sent Sent
		want error
	}{
		{"closed before", dbus.ErrClosed, SentNothing, ErrClosed},
		{"write failed", errWrite, SentNothing, ErrClosed},
		{"not encodable", dbus.FormatError("x"), SentNothing, ErrInvalid},
		{"no such name", std("ServiceUnknown"), SentNothing, ErrGone},
		{"bus refused", std("LimitsExceeded"), SentNothing, ErrClosed},
		{"no such object", std("UnknownObject"), SentDeclined, ErrGone},
		{"application's error", std("Failed"), SentDeclined, ErrAnswered},
		{"application left", std("NoReply"), SentUnanswered, ErrNoAnswer},
		{"time up", context.DeadlineExceeded, SentUnanswered, ErrNoAnswer},
		{"connection lost", io.EOF, SentUnanswered, ErrNoAnswer},
	} {
		if sent, err := sentError(tt.err); sent != tt.sent || err != tt.want {
			t.Errorf("%s: %v, %v", tt.name, sent, err)
		}
	}
}

func TestArgumentsThatCannotBeSentAreRefusedFirst(t *testing.T) {
	// The client has no connection: anything but a refusal would crash.
	c, ctx, r := &Client{}, t.Context(), Ref{":1.1", "/a"}
	for name, act := range map[string]func() (Sent, error){
		"no reference":       func() (Sent, error) { return c.DoAction(ctx, Ref{}, ActionPress) },
		"null reference":     func() (Sent, error) { return c.DoAction(ctx, Ref{":1.1", nullPath}, ActionPress) },
		"bad path":           func() (Sent, error) { return c.DoAction(ctx, Ref{":1.1", "a b"}, ActionPress) },
		"no action":          func() (Sent, error) { return c.DoAction(ctx, r, ActionNone) },
		"action outside":     func() (Sent, error) { return c.DoAction(ctx, r, actionEnd) },
		"not a number":       func() (Sent, error) { return c.SetValue(ctx, r, math.NaN()) },
		"infinity":           func() (Sent, error) { return c.SetValue(ctx, r, math.Inf(1)) },
		"text not UTF-8":     func() (Sent, error) { return c.SetText(ctx, r, "a\xff") },
		"text with NUL":      func() (Sent, error) { return c.SetText(ctx, r, "a\x00b") },
		"text too long":      func() (Sent, error) { return c.SetText(ctx, r, strings.Repeat("x", textActMax+1)) },
		"insert nothing":     func() (Sent, error) { return c.InsertText(ctx, r, 0, "") },
		"insert before text": func() (Sent, error) { return c.InsertText(ctx, r, -1, "x") },
		"negative child":     func() (Sent, error) { return c.SelectChild(ctx, r, -1) },
		"child too far":      func() (Sent, error) { return c.SelectChild(ctx, r, childrenMax+1) },
	} {
		if sent, err := act(); sent != SentNothing || err != ErrInvalid {
			t.Errorf("%s: %v, %v", name, sent, err)
		}
	}
}

func TestOnlyNamesOfConnectionsAreSentTo(t *testing.T) {
	for name, want := range map[string]bool{
		":1.1": true, ":1.4294967295": true, "": false, ":": false, ":1": false, ":1.": false, ":.1": false, "1.1": false,
		":1.a": false, ":1.1 ": false, "org.example.App": false, ":1.1\x00": false, ":1.1.1": false,
		":1." + strings.Repeat("1", nameMax): false,
	} {
		if got := (Ref{name, "/a"}).valid(); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
	if (Ref{":1.1", "/" + strings.Repeat("a", pathMax)}).valid() || (Ref{":1.1", "/a/"}).valid() {
		t.Error("a path that cannot be sent")
	}
}

func TestInsertLengthHasTheUnitOfTheToolkit(t *testing.T) {
	const text = "a€🙂"
	if n, ok := insertLen(ToolkitGTK3, text); n != 8 || !ok {
		t.Errorf("GTK3 %d %v", n, ok)
	}
	if n, ok := insertLen(ToolkitQt, text); n != 4 || !ok {
		t.Errorf("Qt %d %v", n, ok)
	}
	if _, ok := insertLen(ToolkitUnknown, text); ok {
		t.Error("the unit of an unknown toolkit was guessed")
	}
	if n, ok := insertLen(ToolkitUnknown, "abc"); n != 3 || !ok {
		t.Errorf("ASCII %d %v", n, ok)
	}
}

func TestBusAddressesAreRead(t *testing.T) {
	for address, want := range map[string]string{
		"unix:path=/run/user/1000/bus":          "/run/user/1000/bus",
		"unix:path=/tmp/a%20b,guid=00":          "/tmp/a b",
		"unix:abstract=/tmp/dbus-x,guid=0":      "@/tmp/dbus-x",
		"unix:guid=0,path=/x":                   "/x",
		"tcp:host=localhost,port=1":             "",
		"unixexec:path=/bin/sh":                 "",
		"unix:path=":                            "",
		"unix:path=%zz":                         "",
		"":                                      "",
		"unix:dir=/tmp":                         "",
		"autolaunch:":                           "",
		"nonce-tcp:host=x,port=1,noncefile=/x;": "",
	} {
		if got := unixPath(address); got != want {
			t.Errorf("%q: %q, not %q", address, got, want)
		}
	}
}

// rawMessage is a D-Bus message with only the lengths filled in.
func rawMessage(fields, body int) []byte {
	b := make([]byte, headLen+(fields+7)/8*8+body)
	b[0] = 'l'
	binary.LittleEndian.PutUint32(b[4:], uint32(body))
	binary.LittleEndian.PutUint32(b[12:], uint32(fields))
	b[len(b)-1] = 'e'
	return b
}

func TestLinkSkipsOversizedMessagesOnly(t *testing.T) {
	near, far := net.Pipe()
	l := newLink(near)
	defer func() { _ = l.Close() }()
	l.framed.Store(true)
	first, last := rawMessage(13, 40), rawMessage(8, 100_000)
	go func() {
		defer func() { _ = far.Close() }()
		for _, b := range [][]byte{first, rawMessage(8, messageMax), last} {
			if _, err := far.Write(b); err != nil {
				return
			}
		}
	}()
	got, err := io.ReadAll(l)
	if err != nil {
		t.Fatal(err)
	}
	if want := string(first) + string(last); string(got) != want {
		t.Errorf("%d bytes, not %d", len(got), len(want))
	}
}

func TestLinkRefusesWhatIsNoMessage(t *testing.T) {
	near, far := net.Pipe()
	l := newLink(near)
	defer func() { _ = l.Close() }()
	l.framed.Store(true)
	go func() { _, _ = far.Write(make([]byte, 64)); _ = far.Close() }()
	if _, err := io.ReadAll(l); !errors.Is(err, ErrProtocol) {
		t.Errorf("%v", err)
	}
}

func TestLinkClosesAfterAFailedWrite(t *testing.T) {
	near, far := net.Pipe()
	l := newLink(near)
	_ = far.Close()
	if _, err := l.Write([]byte("x")); !errors.Is(err, errWrite) {
		t.Errorf("%v", err)
	}
	if _, err := l.Write([]byte("x")); !errors.Is(err, errWrite) {
		t.Errorf("second write: %v", err)
	}
}

func stateSignal(name string, on int32) *dbus.Signal {
	return &dbus.Signal{Sender: ":1.7", Path: "/a", Body: []any{name, on, int32(0), dbus.MakeVariant(0)}}
}

func TestEventsAreReadWithoutWords(t *testing.T) {
	const object = spi + "Event.Object"
	e, ok := eventOf(object, "StateChanged", stateSignal("checked", 1))
	if !ok || e.Kind != EventState || e.State != StateChecked || !e.On || e.Source != (Ref{":1.7", "/a"}) {
		t.Errorf("%+v %v", e, ok)
	}
	if e, ok := eventOf(object, "StateChanged", &dbus.Signal{Body: []any{1}}); !ok || e.State != 0 {
		t.Errorf("malformed detail: %+v %v", e, ok)
	}
	if _, ok := eventOf(object, "BoundsChanged", stateSignal("", 0)); ok {
		t.Error("bounds changes are events")
	}
	if e, _ := eventOf(spi+"Event.Window", "Create", stateSignal("", 0)); e.Window != WindowCreated {
		t.Errorf("%+v", e)
	}
	gone := &dbus.Signal{Sender: busName, Body: []any{":1.7", ":1.7", ""}}
	if e, ok := eventOf(busName, "NameOwnerChanged", gone); !ok || e.Kind != EventAppGone || e.Source.Bus != ":1.7" {
		t.Errorf("%+v %v", e, ok)
	}
	forged := &dbus.Signal{Sender: ":1.9", Body: gone.Body}
	if _, ok := eventOf(busName, "NameOwnerChanged", forged); ok {
		t.Error("an application can report the end of another")
	}
}

func TestSlowConsumerIsToldAndBlocksNobody(t *testing.T) {
	f := newFanout()
	slow, _ := f.add()
	fast, _ := f.add()
	for range eventsMax + 5 {
		f.DeliverSignal(spi+"Event.Object", "StateChanged", stateSignal("focused", 1))
		if e := <-fast; e.Lagged {
			t.Fatal("the fast consumer is told that it lags")
		}
	}
	for range eventsMax {
		if e := <-slow; e.Lagged {
			t.Fatal("the mark came before the loss")
		}
	}
	f.DeliverSignal(spi+"Event.Object", "StateChanged", stateSignal("focused", 0))
	if e := <-slow; !e.Lagged {
		t.Error("the loss is not marked")
	}
	f.DeliverSignal(spi+"Event.Object", "StateChanged", stateSignal("focused", 0))
	if e := <-slow; e.Lagged {
		t.Error("the mark stays")
	}
	f.remove(slow)
	f.remove(slow)
	if _, open := <-slow; open {
		t.Error("a removed stream is open")
	}
	f.Terminate()
	f.Terminate()
	if _, ok := f.add(); ok {
		t.Error("a stream of a closed connection")
	}
}
