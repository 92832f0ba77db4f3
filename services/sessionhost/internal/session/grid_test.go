package session

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/services/shared/ident"
)

var update = flag.Bool("update", false, "rewrite the golden grid and the table in the documentation")

const (
	gridPath  = "testdata/grid.golden"
	docsPath  = "../../../README.md"
	docsBegin = "<!-- The session's states. Written by the golden test of sessionhost/internal/session: begin -->\n"
	docsEnd   = "<!-- end -->\n"

	gridHead = `# What every event does in every base under every one of the 32 sets of holds.
# event base | under which holds: next base, +holds set, -holds lifted, r and g where revision and generation move.
# "nothing" means that it is no transition. A difference here is a design review.
`
)

// outcome is what an event does, apart from the holds.
type outcome struct {
	base     Base
	revision uint64
	gen      ident.Generation
}

// cell is what an event does in a base under a group of hold sets.
type cell struct {
	when      string
	outcome   outcome
	set, lift Holds
}

func (c cell) String() string {
	if c.outcome.revision == 0 {
		return c.when + ": nothing"
	}
	s := c.when + ": " + c.outcome.base.String()
	for _, name := range strings.Fields(c.set.String()) {
		s += " +" + name
	}
	for _, name := range strings.Fields(c.lift.String()) {
		s += " -" + name
	}
	s += strings.Repeat(" r", int(c.outcome.revision)) + strings.Repeat(" g", int(c.outcome.gen))
	return s
}

// conditions are the words for a group of hold sets.
var conditions = func() map[string]func(Holds) bool {
	all := map[string]func(Holds) bool{
		"always":  func(Holds) bool { return true },
		"no hold": func(h Holds) bool { return h == 0 }, "any hold": func(h Holds) bool { return h != 0 },
	}
	for m := Holds(1); m < AllHolds; m++ {
		names := strings.Join(strings.Fields(m.String()), " or ")
		all[names] = func(h Holds) bool { return h&m != 0 }
		all["not "+names] = func(h Holds) bool { return h&m == 0 }
	}
	return all
}()

// when finds the words for a group.
func when(t *testing.T, group map[Holds]bool) string {
	t.Helper()
	for words, applies := range conditions {
		same := true
		for h := range AllHolds + 1 {
			same = same && applies(h) == group[h]
		}
		if same {
			return words
		}
	}
	t.Fatalf("no words for the holds %v", group)
	return ""
}

// cells does an event in a base under every set of holds, and groups what it does.
func cells(t *testing.T, e Event, b Base) []cell {
	t.Helper()
	var order []outcome
	groups := map[outcome]map[Holds]bool{}
	set, lift := map[outcome]Holds{}, map[outcome]Holds{}
	for h := range AllHolds + 1 {
		next := Step(State{Base: b, Holds: h}, e)
		o := outcome{next.Base, next.Revision, next.Generation}
		if groups[o] == nil {
			groups[o] = map[Holds]bool{}
			order = append(order, o)
		}
		groups[o][h] = true
		set[o] |= next.Holds &^ h
		lift[o] |= h &^ next.Holds
	}
	var row []cell
	for _, o := range order {
		row = append(row, cell{when(t, groups[o]), o, set[o], lift[o]})
	}
	return row
}

func grid(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(gridHead)
	for _, e := range Events() {
		for _, base := range Bases() {
			var row []string
			for _, c := range cells(t, e, base) {
				row = append(row, c.String())
			}
			fmt.Fprintf(&b, "%-18s %-18s | %s\n", e, base, strings.Join(row, "; "))
		}
	}
	return b.String()
}

// golden returns a file, after writing it where that was asked for.
func golden(t *testing.T, path, content string) string {
	t.Helper()
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestTheGridIsTheGoldenGrid(t *testing.T) {
	now := grid(t)
	if diff := cmp.Diff(golden(t, gridPath, now), now); diff != "" {
		t.Errorf("the grid changed; run with -update and review the difference (-golden +now):\n%s", diff)
	}
}

// reading is what one line of the golden grid says about one cell.
func reading(t *testing.T, says string, from State) State {
	t.Helper()
	if says == "nothing" {
		return from
	}
	words := strings.Fields(says)
	next := from
	for _, b := range Bases() {
		if b.String() == words[0] {
			next.Base = b
		}
	}
	for _, w := range words[1:] {
		switch {
		case w == "r":
			next.Revision++
		case w == "g":
			next.Generation++
		case w[0] == '+':
			next.Holds |= holdNamed(t, w[1:])
		case w[0] == '-':
			next.Holds &^= holdNamed(t, w[1:])
		default:
			t.Fatalf("%q is not in the grid's language", w)
		}
	}
	return next
}

func holdNamed(t *testing.T, name string) Holds {
	t.Helper()
	for h := Holds(1); h <= AllHolds; h <<= 1 {
		if h.String() == name {
			return h
		}
	}
	t.Fatalf("%q is no hold", name)
	return 0
}

// TestEveryCellIsAsTheGoldenGridSays reads the golden grid as words, without the code
// that wrote it, and compares all bases x hold sets x events with what Step does.
func TestEveryCellIsAsTheGoldenGridSays(t *testing.T) {
	b, err := os.ReadFile(gridPath)
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string]string{}
	for _, line := range strings.Split(string(b), "\n") {
		if where, says, ok := strings.Cut(line, " | "); ok && line[0] != '#' {
			lines[strings.Join(strings.Fields(where), " ")] = says
		}
	}
	compared := 0
	for _, e := range Events() {
		for _, base := range Bases() {
			says := strings.Split(lines[e.String()+" "+base.String()], "; ")
			for h := range AllHolds + 1 {
				from := State{Base: base, Holds: h, Revision: 40, Generation: 20}
				var found []string
				for _, s := range says {
					words, does, _ := strings.Cut(s, ": ")
					if applies := conditions[words]; applies != nil && applies(h) {
						found = append(found, does)
					}
				}
				if len(found) != 1 {
					t.Fatalf("%s in %s under [%s]: the grid says %q", e, base, h, found)
				}
				compared++
				if want, got := reading(t, found[0], from), Step(from, e); got != want {
					t.Errorf("%s in %s under [%s]: %+v, the grid says %+v", e, base, h, got, want)
				}
			}
		}
	}
	if want := 16 * 6 * 32; compared != want {
		t.Errorf("%d cells of %d", compared, want)
	}
}

// docs writes the table for the documentation from the same data.
func docs() string {
	var b strings.Builder
	b.WriteString("| event | turn | holds | generation |\n|---|---|---|---|\n")
	for _, e := range Events() {
		row := table[e]
		name, gen := "`"+row.name+"`", ""
		if row.unheld {
			name += ", under no hold"
		}
		if row.authority {
			gen = "moves"
		}
		var holds []string
		for _, n := range strings.Fields(row.set.String()) {
			holds = append(holds, "set "+n)
		}
		for _, n := range strings.Fields(row.lift.String()) {
			holds = append(holds, "lift "+n)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", name, arrows(row.base), strings.Join(holds, ", "), gen)
	}
	b.WriteString("\n| shown: the first that applies | observe | act |\n|---|---|---|\n")
	for _, r := range statuses {
		kind := "turn"
		if r.hold != 0 {
			kind = "hold"
		}
		answer := func(no fmt.Stringer, given bool) string {
			if given {
				return "ticket"
			}
			return "`" + strings.TrimPrefix(no.String(), "REFUSAL_CODE_") + "`"
		}
		fmt.Fprintf(&b, "| %s (%s) | %s | %s |\n", r.name, kind, answer(r.observe, r.observe == 0), answer(r.act, r.act == 0))
	}
	return b.String()
}

// arrows shows where an event leads the bases that it lists.
func arrows(m moves) string {
	var list, stay []string
	for _, to := range Bases()[1:] {
		if m == running(to) {
			return "running → " + to.String()
		}
		var from []string
		for _, b := range Bases() {
			switch {
			case m[b] == to && b == to:
				stay = append(stay, b.String())
			case m[b] == to:
				from = append(from, b.String())
			}
		}
		if len(from) == len(Bases())-1 && m[to] == to {
			return "any → " + to.String()
		}
		if from != nil {
			list = append(list, strings.Join(from, ", ")+" → "+to.String())
		}
	}
	if stay != nil {
		list = append(list, strings.Join(stay, ", ")+" stay")
	}
	return strings.Join(list, "; ")
}

// TestTheDocumentationShowsThisTable keeps code, grid and page one table (C5.7).
func TestTheDocumentationShowsThisTable(t *testing.T) {
	b, err := os.ReadFile(docsPath)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begun := strings.Cut(string(b), docsBegin)
	_, after, ended := strings.Cut(rest, docsEnd)
	if !begun || !ended {
		t.Fatal("the page has no place for the table")
	}
	want := before + docsBegin + docs() + docsEnd + after
	if diff := cmp.Diff(golden(t, docsPath, want), want); diff != "" {
		t.Errorf("the page shows another table; run with -update (-page +table):\n%s", diff)
	}
}
