//go:build desk

package atspi

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
)

// fakeObject is one accessible of a fake application.
type fakeObject struct {
	role     uint32
	bits     uint64
	ifaces   []string
	name     string
	children int
	kids     []Ref
	// answers overrides answers by method name ("Action.DoAction", "Text.CharacterCount").
	answers map[string][]any
}

// fakeApp is an application made of canned answers, which remembers what it was asked. It shows what real ones
// cannot: what must never be asked, and answers that are late, wrong or missing.
type fakeApp struct {
	conn    *dbus.Conn
	root    Ref
	objects map[string]*fakeObject
	// silent methods are not answered; deadly ones end the connection; failing ones answer with an error.
	silent, deadly, failing string
	mu                      sync.Mutex
	asked                   []string
}

const secretWords = "words of the application"

// startBus runs a bare bus on which the registry and the launcher are fakes too.
func startBus(t *testing.T) *desk {
	t.Helper()
	need(t, "dbus-daemon")
	dir, err := os.MkdirTemp("/tmp", "atspi")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	d := &desk{dir: dir, env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "XDG_RUNTIME_DIR=" + dir}}
	d.bus = d.tell(t, "dbus-daemon", "--session", "--nofork", "--nopidfile", "--nosyslog",
		"--address=unix:path="+filepath.Join(dir, "bus"), "--print-address=3")
	launcher := d.fake(t, "org.a11y.Bus", registryName)
	launcher.objects["/org/a11y/bus"] = &fakeObject{answers: map[string][]any{"org.a11y.Bus.GetAddress": {d.bus}}}
	launcher.objects[registryPath] = &fakeObject{answers: map[string][]any{"Registry.RegisterEvent": {}}}
	launcher.serve(t)
	return d
}

// fake connects a fake application; serve starts it.
func (d *desk) fake(t *testing.T, names ...string) *fakeApp {
	t.Helper()
	conn, err := dbus.Connect(d.bus)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	for _, name := range names {
		if _, err := conn.RequestName(name, 0); err != nil {
			t.Fatal(err)
		}
	}
	a := &fakeApp{conn: conn, objects: make(map[string]*fakeObject)}
	a.root = a.ref(rootPath)
	a.objects[rootPath] = &fakeObject{role: 75, answers: map[string][]any{
		"Application.ToolkitName": {dbus.MakeVariant("gtk")}, "Application.Version": {dbus.MakeVariant("3.24.38")},
	}}
	return a
}

func (a *fakeApp) ref(path string) Ref { return Ref{Bus: a.conn.Names()[0], Path: path} }

// add adds an object.
func (a *fakeApp) add(path string, o *fakeObject) Ref {
	for i, iface := range o.ifaces {
		o.ifaces[i] = spi + iface
	}
	a.objects[path] = o
	return a.ref(path)
}

// serve answers until the connection ends.
func (a *fakeApp) serve(t *testing.T) {
	t.Helper()
	messages := make(chan *dbus.Message, 10_000)
	a.conn.Eavesdrop(messages)
	go func() {
		for m := range messages {
			if m.Type == dbus.TypeMethodCall {
				a.answer(m)
			}
		}
	}()
}

func (a *fakeApp) answer(m *dbus.Message) {
	header := func(f dbus.HeaderField) string { return fmt.Sprint(m.Headers[f].Value()) }
	path := header(dbus.FieldPath)
	name := strings.TrimPrefix(header(dbus.FieldInterface)+"."+header(dbus.FieldMember), spi)
	if strings.HasPrefix(name, properties) && len(m.Body) >= 2 {
		name = strings.TrimPrefix(fmt.Sprint(m.Body[0], ".", m.Body[1]), spi)
	}
	a.mu.Lock()
	a.asked = append(a.asked, fmt.Sprint(path, " ", name, " ", m.Body))
	a.mu.Unlock()
	switch name {
	case a.silent:
		return
	case a.deadly:
		_ = a.conn.Close()
		return
	}
	reply := &dbus.Message{Type: dbus.TypeMethodReply, Headers: map[dbus.HeaderField]dbus.Variant{
		dbus.FieldDestination: m.Headers[dbus.FieldSender], dbus.FieldReplySerial: dbus.MakeVariant(m.Serial()),
	}}
	o := a.objects[path]
	var ok bool
	if o != nil {
		reply.Body, ok = o.reply(name)
	}
	if !ok || name == a.failing {
		reply.Type, reply.Body = dbus.TypeError, []any{secretWords}
		kind := "org.freedesktop.DBus.Error.UnknownMethod"
		if name == a.failing {
			kind = "org.freedesktop.DBus.Error.Failed"
		}
		reply.Headers[dbus.FieldErrorName] = dbus.MakeVariant(kind)
	}
	if len(reply.Body) > 0 {
		reply.Headers[dbus.FieldSignature] = dbus.MakeVariant(dbus.SignatureOf(reply.Body...))
	}
	a.conn.Send(reply, nil)
}

// wireRef is how a Ref is sent.
type wireRef struct {
	Bus  string
	Path dbus.ObjectPath
}

func (o *fakeObject) reply(name string) ([]any, bool) {
	if body, ok := o.answers[name]; ok {
		return body, true
	}
	switch name {
	case "Accessible.GetRole":
		return []any{o.role}, true
	case "Accessible.GetState":
		return []any{[]uint32{uint32(o.bits), uint32(o.bits >> 32)}}, true
	case "Accessible.GetInterfaces":
		return []any{append([]string{spi + "Accessible"}, o.ifaces...)}, true
	case "Accessible.Name":
		return []any{dbus.MakeVariant(o.name)}, true
	case "Accessible.Description", "Accessible.AccessibleId":
		return []any{dbus.MakeVariant("")}, true
	case "Accessible.ChildCount":
		return []any{dbus.MakeVariant(int32(max(o.children, len(o.kids))))}, true
	case "Accessible.Parent":
		return []any{dbus.MakeVariant(wireRef{":1.0", nullPath})}, true
	case "Accessible.GetChildren":
		kids := []wireRef{}
		for _, k := range o.kids {
			kids = append(kids, wireRef{k.Bus, dbus.ObjectPath(k.Path)})
		}
		return []any{kids}, true
	}
	return nil, false
}

// wasAsked says whether any question contains all the words.
func (a *fakeApp) wasAsked(words ...string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.ContainsFunc(a.asked, func(q string) bool {
		return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(q, w) })
	})
}

func (a *fakeApp) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.asked)
}

const usableBits = 1<<24 | 1<<25 | 1<<30

type wireAction struct{ Name, Description, Key string }

func (a *fakeApp) button(path string, raw ...string) Ref {
	answers := map[string][]any{
		"Action.NActions": {dbus.MakeVariant(int32(len(raw)))}, "Action.GetName": {"click"}, "Action.DoAction": {true},
	}
	list := []wireAction{}
	for _, name := range raw {
		list = append(list, wireAction{Name: name})
	}
	answers["Action.GetActions"] = []any{list}
	return a.add(path, &fakeObject{role: 43, bits: usableBits, ifaces: []string{"Action"}, name: "ok", answers: answers})
}

func TestDangerousQuestionsAreNeverAsked(t *testing.T) {
	d := startBus(t)
	a := d.fake(t)
	extents := map[string][]any{"Component.GetExtents": {struct{ X, Y, W, H int32 }{1, 2, 3, 4}}}
	sheet := a.add("/sheet", &fakeObject{role: 55, bits: usableBits | 1<<31, children: math.MaxInt32})
	rows := a.add("/rows", &fakeObject{
		role: 55, bits: usableBits | 1<<31, children: managedMax + 1,
		answers: map[string][]any{"Accessible.GetChildAtIndex": {wireRef{":1.0", nullPath}}},
	})
	wide := a.add("/wide", &fakeObject{role: 31, bits: usableBits, children: childrenMax + 1})
	bare := a.add("/bare", &fakeObject{role: 39, bits: usableBits, answers: extents})
	hidden := a.add("/hidden", &fakeObject{role: 39, bits: 1 << 24, ifaces: []string{"Component"}, answers: extents})
	text := a.add("/text", &fakeObject{
		role: 61, bits: usableBits, ifaces: []string{"Text", "Component"},
		answers: map[string][]any{
			"Text.CharacterCount": {dbus.MakeVariant(int32(3))}, "Text.GetText": {"abc"},
			"Component.GetExtents": extents["Component.GetExtents"],
		},
	})
	secret := a.add("/secret", &fakeObject{role: 40, bits: usableBits, ifaces: []string{"Text", "Value"}})
	foreign := Ref{Bus: ":1.0", Path: "/elsewhere"}
	top := a.add("/top", &fakeObject{role: 23, bits: usableBits})
	a.objects["/top"].kids = []Ref{sheet, rows, wide, bare, hidden, text, secret, foreign, top}
	a.serve(t)
	c := d.dial(t)
	tree := read(t, c, top, Limits{})
	if len(tree.Nodes) != 8 || tree.Cut != CutManaged|CutWide|CutForeign || tree.Cached {
		t.Errorf("%d nodes, cut %q", len(tree.Nodes), tree.Cut)
	}
	for _, words := range [][]string{
		{"/sheet ", "GetChild"},
		{"/rows ", "GetChildren"},
		{"/rows ", fmt.Sprint("[", managedMax, "]")},
		{"/wide ", "GetChildren"},
		{"/bare ", "GetExtents"},
		{"/hidden ", "GetExtents"},
		{"/secret ", " Text."},
		{"/secret ", " Value."},
		{"/elsewhere"},
		{"DeviceEventController"},
		{"GrabFocus"},
	} {
		if a.wasAsked(words...) {
			t.Errorf("was asked %v", words)
		}
	}
	if !a.wasAsked("/text ", "GetText", "[0 3]") {
		t.Error("the text was not asked for up to its count")
	}
	n := find(t, tree, "text", 0, func(n *Node) bool { return n.Ref == text })
	if n.Text != "abc" || n.TextLen != 3 || n.Extents != (Rect{1, 2, 3, 4}) || !n.Placed {
		t.Errorf("%+v", n)
	}
}

func TestOutcomesOfActsAreToldApart(t *testing.T) {
	d := startBus(t)
	c := d.dial(t)
	for _, tt := range []struct {
		name    string
		prepare func(*fakeApp, *fakeObject)
		sent    Sent
		err     error
		asked   bool
	}{
		{"accepted", func(*fakeApp, *fakeObject) {}, SentAccepted, nil, true},
		{
			"declined", func(_ *fakeApp, o *fakeObject) { o.answers["Action.DoAction"] = []any{false} },
			SentDeclined, nil, true,
		},
		{
			"malformed", func(_ *fakeApp, o *fakeObject) { o.answers["Action.DoAction"] = []any{"yes"} },
			SentDeclined, nil, true,
		},
		{"error", func(a *fakeApp, _ *fakeObject) { a.failing = "Action.DoAction" }, SentDeclined, ErrAnswered, true},
		{"silent", func(a *fakeApp, _ *fakeObject) { a.silent = "Action.DoAction" }, SentUnanswered, ErrNoAnswer, true},
		{"died", func(a *fakeApp, _ *fakeObject) { a.deadly = "Action.DoAction" }, SentUnanswered, ErrNoAnswer, true},
		{"defunct", func(_ *fakeApp, o *fakeObject) { o.bits |= 1 << 6 }, SentNothing, ErrGone, false},
		{
			"other action", func(_ *fakeApp, o *fakeObject) { o.answers["Action.GetName"] = []any{"explode"} },
			SentNothing, ErrUnsupported, false,
		},
		{"no interface", func(_ *fakeApp, o *fakeObject) { o.ifaces = nil }, SentNothing, ErrUnsupported, false},
		{
			"hung before", func(a *fakeApp, _ *fakeObject) { a.silent = "Accessible.GetRole" },
			SentNothing, ErrUnresponsive, false,
		},
		{
			"hung at the look", func(a *fakeApp, _ *fakeObject) { a.silent = "Action.NActions" },
			SentNothing, ErrUnresponsive, false,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := d.fake(t)
			ref := a.button("/b", "Klicken")
			tt.prepare(a, a.objects["/b"])
			a.serve(t)
			sent, err := c.DoAction(t.Context(), ref, ActionPress)
			if sent != tt.sent || err != tt.err || a.wasAsked("DoAction") != tt.asked {
				t.Errorf("%v, %v, was asked %v", sent, err, a.wasAsked("DoAction"))
			}
			if err != nil && strings.Contains(err.Error(), secretWords) {
				t.Error("the error has the words of the application")
			}
		})
	}
}

func TestGivingUpAfterTheSendIsUnknown(t *testing.T) {
	d := startBus(t)
	c := d.dial(t)
	a := d.fake(t)
	ref := a.button("/b", "click")
	a.silent = "Action.DoAction"
	a.serve(t)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if sent, err := c.DoAction(ctx, ref, ActionPress); sent != SentUnanswered || err != ErrNoAnswer {
		t.Errorf("%v, %v", sent, err)
	}
	cancel()
	before := a.count()
	if sent, err := c.DoAction(ctx, ref, ActionPress); sent != SentNothing || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, %v", sent, err)
	}
	if a.count() != before {
		t.Error("something was sent for a caller that had given up")
	}
}

func TestTranslatedActionNamesAreLookedUp(t *testing.T) {
	d := startBus(t)
	c := d.dial(t)
	a := d.fake(t)
	top := a.button("/b", "clipboard.copy", "Klicken")
	a.serve(t)
	tree := read(t, c, top, Limits{})
	if n := tree.Nodes[0]; !n.Can(ActionPress) || n.UnknownActions != 1 {
		t.Errorf("%v, unknown %d", n.Actions, n.UnknownActions)
	}
	if a.wasAsked("GetName", "[0]") || !a.wasAsked("GetName", "[1]") {
		t.Error("asked for the names of a group, or not for a translated one")
	}
}

func TestOversizedAnswerHurtsNobodyElse(t *testing.T) {
	d := startBus(t)
	c := d.dial(t)
	a := d.fake(t)
	a.button("/b", "click")
	big := a.add(cachePath, &fakeObject{answers: map[string][]any{"Cache.GetItems": {strings.Repeat("x", messageMax+1)}}})
	a.serve(t)
	if got := c.one(t.Context(), 3*time.Second, method(big, "Cache.GetItems")); got.err != ErrUnresponsive {
		t.Errorf("the oversized answer came: %v", got.err)
	}
	poll(t, "the next call is answered", 10*time.Second, func() bool { return c.Alive(t.Context(), a.root) == nil })
	select {
	case <-c.Done():
		t.Error("the connection is lost")
	default:
	}
}

func TestTreeIsReadWithoutACacheThatDoesNotAnswer(t *testing.T) {
	d := startBus(t)
	c := d.dial(t)
	for name, prepare := range map[string]func(*fakeApp){
		"silent":    func(a *fakeApp) { a.silent = "Cache.GetItems" },
		"failing":   func(a *fakeApp) { a.failing = "Cache.GetItems" },
		"malformed": func(a *fakeApp) { a.objects[cachePath].answers["Cache.GetItems"] = []any{"x"} },
	} {
		t.Run(name, func(t *testing.T) {
			a := d.fake(t)
			top := a.button("/b", "click")
			a.add(cachePath, &fakeObject{answers: map[string][]any{}})
			prepare(a)
			a.serve(t)
			tree := read(t, c, top, Limits{})
			if len(tree.Nodes) != 1 || tree.Cached || tree.Nodes[0].Name != "ok" || tree.Cut != 0 {
				t.Errorf("%+v", tree)
			}
		})
	}
}

func TestApplicationThatStopsHalfwayLeavesAMark(t *testing.T) {
	d := startBus(t)
	c := d.dial(t)
	a := d.fake(t)
	top := a.button("/b", "click")
	a.silent = "Action.GetActions"
	a.serve(t)
	tree := read(t, c, top, Limits{})
	if !tree.Cut.Has(CutUnread) || len(tree.Nodes) != 1 {
		t.Errorf("cut %q", tree.Cut)
	}
	tree = read(t, c, top, Limits{Time: 300 * time.Millisecond})
	if !tree.Cut.Has(CutTime) || tree.Took > time.Second {
		t.Errorf("cut %q after %v", tree.Cut, tree.Took)
	}
	if _, err := c.Reread(t.Context(), top, top); err != ErrUnresponsive {
		t.Errorf("the look before a send accepts a missing field: %v", err)
	}
}

func TestCloseEndsEverything(t *testing.T) {
	d := startBus(t)
	before := runtime.NumGoroutine()
	c, err := Dial(t.Context(), d.bus)
	if err != nil {
		t.Fatal(err)
	}
	events, err := c.Events(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	<-c.Done()
	for range events {
	}
	if err := c.Alive(t.Context(), Ref{Bus: ":1.0", Path: rootPath}); err != ErrClosed {
		t.Errorf("call after Close: %v", err)
	}
	if s, err := c.SetText(t.Context(), Ref{Bus: ":1.0", Path: "/a"}, "x"); s != SentNothing || err != ErrClosed {
		t.Errorf("act after Close: %v, %v", s, err)
	}
	poll(t, "goroutines end", 3*time.Second, func() bool { return runtime.NumGoroutine() <= before })
}

func TestNoBusIsNoBus(t *testing.T) {
	for _, address := range []string{"", "unix:path=/nonexistent/bus", "tcp:host=localhost,port=1"} {
		if _, err := Dial(t.Context(), address); !errors.Is(err, ErrNoBus) {
			t.Errorf("%q: %v", address, err)
		}
	}
}
