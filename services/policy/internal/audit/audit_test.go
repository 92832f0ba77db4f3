package audit

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"fairlead.dev/services/shared/ident"
)

var at = time.UnixMilli(1_700_000_000_000)

// every holds one record of each kind.
var every = []Record{
	BundleLoaded{},
	SessionBegun{},
	SessionEnded{},
	LeaseGiven{},
	LeaseRefused{},
	LeaseEnded{},
	Decision{},
	Intent{},
	Outcome{},
	ReadPermit{},
	ReadRefused{},
	Process{},
	SessionFact{},
}

func filled(t *testing.T) *Log {
	t.Helper()
	l := New(64)
	for _, r := range every {
		if _, ok := r.(Outcome); ok {
			continue
		}
		if err := l.Append(at, r); err != nil {
			t.Fatal(err)
		}
	}
	if closed, err := l.Settle(at, Outcome{}); !closed || err != nil {
		t.Fatalf("Settle = %v, %v", closed, err)
	}
	return l
}

func TestVerifyFindsEveryKindOfChange(t *testing.T) {
	whole := filled(t).Entries(0, 64)
	if err := Verify(whole, Hash{}); err != nil {
		t.Fatalf("the log as written: %v", err)
	}
	if err := Verify(whole[3:], whole[2].Hash); err != nil {
		t.Fatalf("a part of the log: %v", err)
	}
	tests := []struct {
		name   string
		change func([]Entry) []Entry
		seq    uint64
	}{
		{"a record", func(e []Entry) []Entry { e[2].Record = SessionEnded{Leases: 1}; return e }, 3},
		{"a record of another kind", func(e []Entry) []Entry { e[2].Record = SessionFact{}; return e }, 3},
		{"no record", func(e []Entry) []Entry { e[2].Record = nil; return e }, 3},
		{"a time", func(e []Entry) []Entry { e[2].UnixMS++; return e }, 3},
		{"a number", func(e []Entry) []Entry { e[2].Seq = 9; return e }, 9},
		{"a hash", func(e []Entry) []Entry { e[2].Hash[0]++; return e }, 3},
		{"one missing", func(e []Entry) []Entry { return append(e[:2:2], e[3:]...) }, 4},
		{"two swapped", func(e []Entry) []Entry { e[2], e[3] = e[3], e[2]; return e }, 4},
		{"the first missing", func(e []Entry) []Entry { return e[1:] }, 2},
		{"one changed with its hash", func(e []Entry) []Entry {
			e[2].Record = SessionEnded{Leases: 1}
			e[2].Hash = hashOf(e[2])
			return e
		}, 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var broken *ChainError
			err := Verify(tt.change(filled(t).Entries(0, 64)), Hash{})
			if !errors.As(err, &broken) || broken.Seq != tt.seq {
				t.Errorf("Verify = %v, want record %d", err, tt.seq)
			}
		})
	}
}

// A field that is not hashed could be changed by anybody, so each field of each record,
// also inside scopes, has to change the hash.
func TestEveryFieldOfEveryRecordIsHashed(t *testing.T) {
	kinds := map[kind]bool{}
	for _, r := range every {
		if kinds[r.kind()] {
			t.Errorf("%T shares its kind", r)
		}
		kinds[r.kind()] = true
		seen := map[Hash]string{hashOf(Entry{Record: r}): "nothing"}
		eachField(reflect.TypeOf(r), nil, func(index []int, name string) {
			v := reflect.New(reflect.TypeOf(r)).Elem()
			change(v.FieldByIndex(index))
			changed, _ := v.Interface().(Record)
			h := hashOf(Entry{Record: changed})
			if same, ok := seen[h]; ok {
				t.Errorf("%T: changing %s hashes like changing %s", r, name, same)
			}
			seen[h] = name
		})
	}
	if len(every) != int(kindSessionFact) {
		t.Error("a kind of record is not in this test")
	}
}

func eachField(typ reflect.Type, index []int, f func([]int, string)) {
	for i := range typ.NumField() {
		field := typ.Field(i)
		at := append(append([]int(nil), index...), i)
		if field.Type.Kind() == reflect.Struct {
			eachField(field.Type, at, f)
			continue
		}
		f(at, field.Name)
	}
}

func change(v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString("x")
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		v.SetUint(7)
	case reflect.Array:
		change(v.Index(0))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		change(v.Index(0))
	default:
		panic("audit: a field of a kind without a form")
	}
}

func TestFullLogTakesNothingButOutcomes(t *testing.T) {
	l := New(4)
	if err := l.Append(at, Decision{}, Intent{ID: "i", Session: "s"}); err != nil {
		t.Fatal(err)
	}
	if err := l.Append(at, SessionFact{}); err != nil {
		t.Fatal(err)
	}
	// Three records and the place of one outcome.
	if err := l.Append(at, SessionFact{}); !errors.Is(err, ErrFull) {
		t.Fatalf("Append = %v, want ErrFull", err)
	}
	if closed, err := l.Settle(at, Outcome{Intent: "i", Session: "s"}); !closed || err != nil {
		t.Fatalf("Settle = %v, %v", closed, err)
	}
	if n, _ := l.Head(); n != 4 {
		t.Errorf("%d records", n)
	}
}

func TestIntentIsRefusedWithoutRoomForItsOutcome(t *testing.T) {
	l := New(2)
	if err := l.Append(at, Decision{}, Intent{ID: "i"}); !errors.Is(err, ErrFull) {
		t.Fatalf("Append = %v, want ErrFull", err)
	}
	if n, _ := l.Head(); n != 0 {
		t.Errorf("%d records of a refused batch were taken", n)
	}
}

func TestSettleClosesAnIntentOnce(t *testing.T) {
	l := New(64)
	if err := l.Append(at, Intent{ID: "i", Session: "s"}, Intent{ID: "j", Session: "t"}); err != nil {
		t.Fatal(err)
	}
	if err := l.Append(at, Intent{ID: "i", Session: "s"}); !errors.Is(err, ErrIntent) {
		t.Errorf("the same intent again: %v", err)
	}
	none := func(ident.SessionID) bool { return false }
	if n := l.Open(none); n != 2 {
		t.Errorf("%d open", n)
	}
	if n := l.Open(func(id ident.SessionID) bool { return id == "s" }); n != 1 {
		t.Errorf("%d open of sessions that are gone", n)
	}
	steps := []struct {
		outcome Outcome
		closed  bool
	}{
		{Outcome{Intent: "x", Session: "s"}, false},
		{Outcome{Intent: "i", Session: "t"}, false},
		{Outcome{Intent: "i", Session: "s"}, true},
		{Outcome{Intent: "i", Session: "s"}, false},
	}
	for i, s := range steps {
		if closed, err := l.Settle(at, s.outcome); closed != s.closed || err != nil {
			t.Errorf("step %d: Settle = %v, %v", i, closed, err)
		}
	}
	if n := l.Open(none); n != 1 {
		t.Errorf("%d open after one was settled", n)
	}
	if n, _ := l.Head(); n != 3 {
		t.Errorf("%d records, want 3", n)
	}
}

func TestEntriesPages(t *testing.T) {
	l := filled(t)
	n, head := l.Head()
	if first := l.Entries(0, 2); len(first) != 2 || first[1].Seq != 2 {
		t.Errorf("the first page: %d entries", len(first))
	}
	if last := l.Entries(n-1, 9); len(last) != 1 || last[0].Hash != head {
		t.Errorf("the last page: %d entries", len(last))
	}
	if l.Entries(n, 9) != nil || l.Entries(0, 0) != nil {
		t.Error("a page of nothing")
	}
}
