package atspi

import (
	"math"
	"testing"

	"github.com/godbus/dbus/v5"
)

// obj is an (so) struct as the D-Bus library decodes it.
func obj(path string) []any { return []any{":1.7", dbus.ObjectPath(path)} }

func newForm(path, parent string, index, children int32) []any {
	return []any{
		obj(path), obj("/app"), obj(parent), index, children,
		[]string{spi + "Action", "x.y"},
		"name",
		uint32(43), "description",
		[]uint32{1 << 25, 1 << 9},
	}
}

func oldForm(path, parent string, kids ...[]any) []any {
	return []any{
		obj(path), obj("/app"), obj(parent), kids,
		[]string{spi + "Text"},
		"name", uint32(61), "",
		[]uint32{0, 0},
	}
}

func TestBothFormsOfCacheItemsAreRead(t *testing.T) {
	items, err := decodeItems([]any{[][]any{newForm("/a", "/root", 2, 3)}})
	if err != nil || len(items) != 1 {
		t.Fatalf("%v %v", items, err)
	}
	it := items[0]
	if it.ref != (Ref{":1.7", "/a"}) || it.parent.Path != "/root" || it.index != 2 || it.children != 3 ||
		it.interfaces != HasAction || it.role != 43 || it.bits != 1<<25|1<<41 || it.description != "description" {
		t.Errorf("%+v", it)
	}
	items, err = decodeItems([]any{[][]any{oldForm("/a", "/root", obj("/b"), obj(nullPath))}})
	if err != nil || len(items) != 1 {
		t.Fatalf("%v %v", items, err)
	}
	it = items[0]
	if it.children != 1 || len(it.kids) != 1 || it.kids[0].Path != "/b" || it.interfaces != HasText || it.index != -1 {
		t.Errorf("%+v", it)
	}
	if items, err := decodeItems([]any{[][]any{}}); err != nil || len(items) != 0 {
		t.Errorf("Qt's empty list: %v %v", items, err)
	}
}

func TestMalformedCacheIsRefusedWhole(t *testing.T) {
	with := func(at int, v any) []any {
		f := newForm("/a", "/root", 0, 0)
		f[at] = v
		return f
	}
	for _, tt := range []struct {
		name string
		body []any
	}{
		{"nothing", nil},
		{"two values", []any{[][]any{}, [][]any{}}},
		{"no list", []any{"x"}},
		{"empty struct", []any{[][]any{{}}}},
		{"short struct", []any{[][]any{newForm("/a", "/root", 0, 0)[:8]}}},
		{"long struct", []any{[][]any{append(newForm("/a", "/root", 0, 0), 1)}}},
		{"reference is a string", []any{[][]any{with(0, "x")}}},
		{"reference is short", []any{[][]any{with(0, []any{":1.7"})}}},
		{"reference path is a string", []any{[][]any{with(0, []any{":1.7", "/a"})}}},
		{"parent missing", []any{[][]any{with(2, nil)}}},
		{"index is unsigned", []any{[][]any{with(3, uint32(1))}}},
		{"count is a string", []any{[][]any{with(4, "1")}}},
		{"interfaces are no list", []any{[][]any{with(5, "x")}}},
		{"name is a number", []any{[][]any{with(6, int32(1))}}},
		{"role is a string", []any{[][]any{with(7, "push button")}}},
		{"description is missing", []any{[][]any{with(8, nil)}}},
		{"states are short", []any{[][]any{with(9, []uint32{1})}}},
		{"one bad among good", []any{[][]any{newForm("/a", "/root", 0, 0), with(9, nil)}}},
		{"too many", []any{make([][]any, itemsMax+1)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if items, err := decodeItems(tt.body); err != ErrProtocol || items != nil {
				t.Errorf("%v, %v", items, err)
			}
		})
	}
}

func FuzzDecodeItemNeverPanics(f *testing.F) {
	f.Add(10, 3, int32(1), "x")
	f.Add(9, 3, int32(-1), "")
	f.Fuzz(func(t *testing.T, length, at int, number int32, text string) {
		fields := newForm("/a", "/root", number, number)
		if length == oldItemLen {
			fields = oldForm("/a", "/root", obj("/b"))
		}
		values := []any{nil, number, text, uint32(number), []any{text}, [][]any{{text}}, []string{text}, []uint32{1}}
		for _, v := range values {
			if at >= 0 && at < len(fields) {
				fields[at] = v
			}
			_, _ = decodeItem(fields)
			if length >= 0 && length < len(fields) {
				_, _ = decodeItem(fields[:length])
			}
		}
	})
}

func TestCacheOrderIsBelievedOnlyWhenComplete(t *testing.T) {
	for _, tt := range []struct {
		name  string
		items [][]any
		want  string
		sure  bool
	}{
		{"in order", [][]any{newForm("/r", "/", 0, 2), newForm("/a", "/r", 0, 0), newForm("/b", "/r", 1, 0)}, "/a/b", true},
		{
			"out of order",
			[][]any{newForm("/b", "/r", 1, 0), newForm("/a", "/r", 0, 0), newForm("/r", "/", 0, 2)},
			"/a/b", true,
		},
		{"stale child", [][]any{newForm("/r", "/", 0, 1), newForm("/a", "/r", 0, 0), newForm("/b", "/r", 0, 0)}, "", false},
		{"unknown count", [][]any{newForm("/r", "/", 0, -1), newForm("/a", "/r", 0, 0)}, "", false},
		{"unknown index", [][]any{newForm("/r", "/", 0, 1), newForm("/a", "/r", -1, 0)}, "", false},
		{
			"same index twice",
			[][]any{newForm("/r", "/", 0, 2), newForm("/a", "/r", 1, 0), newForm("/b", "/r", 1, 0)},
			"", false,
		},
		{"index too large", [][]any{newForm("/r", "/", 0, 1), newForm("/a", "/r", 1, 0)}, "", false},
		{"child not cached", [][]any{newForm("/r", "/", 0, 2), newForm("/a", "/r", 0, 0)}, "", false},
		{"old form", [][]any{oldForm("/r", "/", obj("/b"), obj("/a"))}, "/b/a", true},
		{"not cached", [][]any{newForm("/a", "/r", 0, 0)}, "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			items, err := decodeItems([]any{tt.items})
			if err != nil {
				t.Fatal(err)
			}
			kids, sure := newIndex(items).children(Ref{":1.7", "/r"})
			got := ""
			for _, k := range kids {
				got += k.Path
			}
			if got != tt.want || sure != tt.sure {
				t.Errorf("%q %v, not %q %v", got, sure, tt.want, tt.sure)
			}
		})
	}
}

func TestAnswersOfAnotherShapeAreNotRead(t *testing.T) {
	for _, body := range [][]any{nil, {}, {1, 2}, {[]any{}}, {map[string]string{}}, {dbus.MakeVariant(true), 1}} {
		if _, ok := asString(body); ok {
			t.Errorf("string %v", body)
		}
		if _, ok := asUint(body); ok {
			t.Errorf("uint %v", body)
		}
		if _, ok := asFloat(body); ok {
			t.Errorf("float %v", body)
		}
		if _, ok := asBool(body); ok {
			t.Errorf("bool %v", body)
		}
		if _, ok := asRect(body); ok {
			t.Errorf("rect %v", body)
		}
		if _, ok := asActionNames(body); ok {
			t.Errorf("actions %v", body)
		}
	}
	if _, ok := asActionNames([]any{[][]any{{}}}); ok {
		t.Error("an action without a name")
	}
}

func TestWhatIsNotOnTheScreenHasNoPlace(t *testing.T) {
	hidden := []any{[]any{int32(math.MinInt32), int32(math.MinInt32), int32(1), int32(1)}}
	if _, ok := asRect(hidden); ok {
		t.Error("GTK3's hidden menu items have a place")
	}
	if r, ok := asRect([]any{[]any{int32(-5), int32(7), int32(0), int32(9)}}); !ok || r != (Rect{-5, 7, 0, 9}) {
		t.Errorf("%v %v", r, ok)
	}
	if _, ok := asRect([]any{[]any{int32(0), int32(0), int32(-1), int32(-1)}}); ok {
		t.Error("a negative size is a place")
	}
}

func TestCutCountsCharacters(t *testing.T) {
	for _, tt := range []struct {
		in    string
		limit int
		want  string
		cut   bool
	}{
		{"", 3, "", false},
		{"abc", 3, "abc", false},
		{"abcd", 3, "abc", true},
		{"日本語", 3, "日本語", false},
		{"日本語x", 3, "日本語", true},
		{"é✓", 1, "é", true},
	} {
		if got, wasCut := cut(tt.in, tt.limit); got != tt.want || wasCut != tt.cut {
			t.Errorf("%q to %d: %q %v", tt.in, tt.limit, got, wasCut)
		}
	}
}
