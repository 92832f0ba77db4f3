//go:build desk

package x11desk

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
)

// saver is a screen saver's service on the session bus.
type saver struct{ says atomic.Pointer[saying] }

type saying struct {
	active bool
	delay  time.Duration
}

// GetActive answers whether the screen is locked.
func (s *saver) GetActive() (bool, *dbus.Error) {
	now := s.says.Load()
	time.Sleep(now.delay)
	return now.active, nil
}

func TestLockIsWhatTheScreenSaverSays(t *testing.T) {
	r := newRig(t, "")
	if r.sample().Locked {
		t.Fatal("a desk without a screen saver is locked")
	}
	bus, err := dbus.Connect(r.desk.cfg.SessionBus)
	if err != nil {
		t.Fatal(err)
	}
	defer bus.Close()
	s := &saver{}
	const name = "org.freedesktop.ScreenSaver"
	if err := bus.Export(s, "/org/freedesktop/ScreenSaver", name); err != nil {
		t.Fatal(err)
	}
	if _, err := bus.RequestName(name, dbus.NameFlagDoNotQueue); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		says saying
		want bool
	}{
		{"unlocked", saying{}, false},
		{"locked", saying{active: true}, true},
		{"silent", saying{delay: 2 * lockMax}, true},
	} {
		s.says.Store(&c.says)
		begin := time.Now()
		if got := r.sample().Locked; got != c.want {
			t.Errorf("%s: locked is %v", c.name, got)
		}
		if took := time.Since(begin); took > 2*lockMax {
			t.Errorf("%s: took %v", c.name, took)
		}
		time.Sleep(c.says.delay)
	}
}

func TestLostAccessibilityBusIsDialledAgain(t *testing.T) {
	r := newRig(t, "")
	need(t, "zenity")
	changes, stop := r.desk.Watch(0)
	defer stop()
	w := r.window(r.start("zenity", "--entry", "--text", "x").PID())
	r.tree(w)
	lost, err := r.desk.ally.get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := lost.Close(); err != nil {
		t.Fatal(err)
	}
	if tree := r.tree(w); len(tree.Nodes) == 0 {
		t.Error("no tree after the bus was lost")
	}
	for _, a := range r.desk.Abilities(t.Context()) {
		if a.Kind == commonv1.AbilityKind_ABILITY_KIND_SEMANTIC && !a.Able {
			t.Errorf("%+v", a)
		}
	}
	r.await(changes, func(c executor.Change) bool { return c.Kind == executor.ChangeAbilities })
	// The events of the new connection are told too.
	time.Sleep(dialEvery + time.Second)
	again, stopAgain := r.desk.Watch(0)
	defer stopAgain()
	entry := r.find(r.tree(w), "entry", func(n *executor.Node) bool { return n.TakesText })
	r.try(w, entry, executor.Performance{Verb: commonv1.Verb_VERB_SET_VALUE, Text: "changed"})
	r.await(again, func(c executor.Change) bool { return c.Kind == executor.ChangeTree })
}
