package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// tiny is a whole product: one rule, one test that holds it, and one that cannot.
var tiny = map[string]string{
	"go.mod": "module tiny\n\ngo 1.26\n",
	"may.go": `package tiny

// May reports whether a guest may enter.
func May(age int) bool {
	return age >= 18
}

// Count is looked at by nobody.
func Count() int {
	return 1
}
`,
	"may_test.go": `package tiny

import "testing"

func TestMay(t *testing.T) {
	t.Run("a child", func(t *testing.T) {
		if May(17) {
			t.Error("entered")
		}
	})
}

func TestNever(t *testing.T) { t.Error("never") }

func TestSkipped(t *testing.T) { t.Skip() }
`,
}

// header is a header whose tests are those that match run.
func header(run string) string {
	return "# rule: A child may not enter.\n# clause: C1.1\n# package: .\n# run: " + run + "\n"
}

// diff changes one line of May to another.
func diff(was, is string) string {
	return strings.Join([]string{
		"--- a/may.go", "+++ b/may.go", "@@ -2,5 +2,5 @@", " ",
		" // May reports whether a guest may enter.", " func May(age int) bool {",
		"-" + was, "+" + is, " }", " ", "",
	}, "\n")
}

const rule = "\treturn age >= 18"

func newTiny(t *testing.T) *runner {
	t.Helper()
	t.Setenv("GOWORK", "off")
	root := t.TempDir()
	for name, text := range tiny {
		write(t, filepath.Join(root, name), text)
	}
	return newRunner(root, t.TempDir())
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestOnlyAMutantThatItsTestsNoticeIsCaught(t *testing.T) {
	r := newTiny(t)
	cases := []struct {
		name  string
		patch string
		want  verdict
		by    string
	}{
		{"the rule is gone", header("^TestMay$") + diff(rule, "\treturn true"), caught, ". TestMay/a_child"},
		{"the rule holds", header("^TestMay$") + diff(rule, "\treturn age > 17"), survived, ""},
		{"other tests are named", header("^TestNever$") + diff(rule, "\treturn true"), unsound, ""},
		{"no test is named", header("^TestGone$") + diff(rule, "\treturn true"), unsound, ""},
		{"the test is skipped", header("^TestSkipped$") + diff(rule, "\treturn true"), unsound, ""},
		{"the line is another", header("^TestMay$") + diff("\treturn age >= 21", "\treturn true"), doesNotApply, ""},
		{
			"the context is another",
			header("^TestMay$") + strings.Replace(diff(rule, "\treturn true"), "a guest", "anybody", 1),
			doesNotApply, "",
		},
		{
			"the file is gone",
			header("^TestMay$") + strings.ReplaceAll(diff(rule, "\treturn true"), "may.go", "might.go"), doesNotApply, "",
		},
		{"it is no Go", header("^TestMay$") + diff(rule, "\treturn 18"), doesNotBuild, ""},
		{"it panics", header("^TestMay$") + diff(rule, "\tpanic(age)"), crashed, ""},
		{"it has no header", diff(rule, "\treturn true"), malformed, ""},
		{"it is nothing else", header("^TestMay$"), doesNotApply, ""},
		{
			"it changes a test",
			header("^TestMay$") + strings.ReplaceAll(diff(rule, "\treturn true"), "may.go", "may_test.go"), malformed, "",
		},
		{
			"it changes much",
			header("^TestMay$") + strings.Replace(diff(rule, strings.Repeat("\n+", linesMax)+"\treturn true"),
				"+2,5 @@", fmt.Sprintf("+2,%d @@", 5+linesMax), 1), malformed, "",
		},
	}
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "m.patch")
			write(t, file, tt.patch)
			got := r.try(t.Context(), file)
			if got.verdict != tt.want || tt.want == caught && got.by != tt.by || tt.want != caught && got.said == "" {
				t.Errorf("%s by %q, want %s by %q:\n%s", got.verdict, got.by, tt.want, tt.by, got.said)
			}
		})
	}
	for name, text := range tiny {
		if b, err := os.ReadFile(filepath.Join(r.root, name)); err != nil || string(b) != text {
			t.Errorf("%s was changed", name)
		}
	}
	if all, err := os.ReadDir(r.root); err != nil || len(all) != len(tiny) {
		t.Errorf("the tree has %d files, and had %d", len(all), len(tiny))
	}
}

func TestMutantThatHangsIsNotCaught(t *testing.T) {
	r := newTiny(t)
	r.mutantMax = 3 * time.Second
	file := filepath.Join(t.TempDir(), "m.patch")
	write(t, file, header("^TestMay$")+strings.Replace(diff(rule, "\tfor {\n+\t}"), "@@ -2,5 +2,5", "@@ -2,5 +2,6", 1))
	if got := r.try(t.Context(), file); got.verdict != timedOut || got.took > time.Minute {
		t.Errorf("%s after %v:\n%s", got.verdict, got.took, got.said)
	}
}

func TestHeaderSaysEachThingOnce(t *testing.T) {
	good := header("^TestMay$")
	cases := map[string]string{
		"no rule":            strings.Replace(good, "# rule: A child may not enter.\n", "", 1),
		"no clause":          strings.Replace(good, "# clause: C1.1\n", "", 1),
		"no package":         strings.Replace(good, "# package: .\n", "", 1),
		"no tests":           strings.Replace(good, "# run: ^TestMay$\n", "", 1),
		"an empty value":     strings.Replace(good, "C1.1", "", 1),
		"two clauses":        good + "# clause: C1.2\n",
		"a key of no use":    good + "# author: nobody\n",
		"a line of no key":   good + "# hello\n",
		"no comment":         good + "hello: you\n",
		"no such clause":     strings.Replace(good, "C1.1", "C1", 1),
		"a package outside":  strings.Replace(good, "package: .", "package: ../other", 1),
		"an absolute one":    strings.Replace(good, "package: .", "package: /tmp", 1),
		"a new file, by git": good + "diff --git a/x.go b/x.go\n",
	}
	file := filepath.Join(t.TempDir(), "m.patch")
	for name, text := range cases {
		write(t, file, text+diff(rule, "\treturn true"))
		if m, err := readMutant(file); err == nil {
			t.Errorf("%s: read as %+v", name, m)
		}
	}
	write(t, file, good+diff(rule, "\treturn true"))
	want := mutant{rule: "A child may not enter.", clause: "C1.1", tests: tests{pkg: ".", run: "^TestMay$"}}
	if got, err := readMutant(file); err != nil || got != want {
		t.Errorf("read %+v, %v", got, err)
	}
}

func TestRunFailsUnlessEveryMutantIsCaughtAndThereAreEnough(t *testing.T) {
	cases := []struct {
		name    string
		results []verdict
		patches int
		ok      bool
	}{
		{"all caught", []verdict{caught, caught}, floor, true},
		{"one survived", []verdict{caught, survived}, floor, false},
		{"one does not apply", []verdict{doesNotApply, caught}, floor, false},
		{"too few", []verdict{caught}, floor - 1, false},
		{"none", nil, 0, false},
	}
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			results := make(chan result, len(tt.results))
			for _, v := range tt.results {
				results <- result{name: "m", verdict: v}
			}
			close(results)
			var out strings.Builder
			if err := report(&out, results, tt.patches); (err == nil) != tt.ok {
				t.Errorf("%v:\n%s", err, out.String())
			}
			if n := strings.Count(out.String(), "\n"); n < len(tt.results)+1 {
				t.Errorf("%d lines:\n%s", n, out.String())
			}
		})
	}
}

func TestResultsComeInTheOrderOfThePatches(t *testing.T) {
	r := newTiny(t)
	dir := t.TempDir()
	var files []string
	for i := range 3 * atOnce {
		files = append(files, filepath.Join(dir, fmt.Sprintf("%d.patch", i)))
		write(t, files[i], "# hello\n")
	}
	var got []string
	for res := range r.tryAll(t.Context(), files) {
		got = append(got, res.name)
	}
	if !slices.IsSorted(got) || len(got) != len(files) {
		t.Errorf("got %v", got)
	}
}

func TestChoosingAPatchThatIsNotThereIsAnError(t *testing.T) {
	files := []string{"d/a.patch", "d/b.patch"}
	if got, err := choose(files, []string{"b"}); err != nil || !slices.Equal(got, files[1:]) {
		t.Errorf("chose %v, %v", got, err)
	}
	if got, err := choose(files, nil); err != nil || !slices.Equal(got, files) {
		t.Errorf("chose %v, %v", got, err)
	}
	if got, err := choose(files, []string{"c"}); err == nil {
		t.Errorf("chose %v", got)
	}
}
