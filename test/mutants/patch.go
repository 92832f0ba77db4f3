package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// mutant is what the header of a patch says.
type mutant struct {
	// rule is the rule that the patch breaks, as a sentence; clause is where it stands.
	rule, clause string
	// tests have to fail.
	tests tests
}

// tests are the tests of one package whose names match an expression.
type tests struct {
	// pkg is the package's directory below the root, run what -run takes.
	pkg, run string
}

func (t tests) String() string { return t.pkg + " " + t.run }

// nameOf is the name of the mutant in a patch file.
func nameOf(file string) string { return strings.TrimSuffix(filepath.Base(file), ".patch") }

var clauseForm = regexp.MustCompile(`^C\d+\.\d+$`)

// readMutant reads the header of a patch: lines "# key: value" above the diff, each of
// the four keys once, and no other line.
func readMutant(file string) (mutant, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return mutant{}, fmt.Errorf("reading the patch: %w", err)
	}
	var m mutant
	fields := map[string]*string{
		"rule": &m.rule, "clause": &m.clause, "package": &m.tests.pkg, "run": &m.tests.run,
	}
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "--- a/") {
			break
		}
		comment, _ := strings.CutPrefix(line, "# ")
		key, value, ok := strings.Cut(comment, ": ")
		if !ok || comment == line || fields[key] == nil || *fields[key] != "" {
			return mutant{}, fmt.Errorf("the header has a line it must not have: %q", line)
		}
		*fields[key] = value
	}
	for key, value := range fields {
		if *value == "" {
			return mutant{}, fmt.Errorf("the header has no %s", key)
		}
	}
	if !clauseForm.MatchString(m.clause) {
		return mutant{}, errors.New("the clause is none, such as C6.2")
	}
	if !filepath.IsLocal(m.tests.pkg) {
		return mutant{}, errors.New("the package is not a directory below the root")
	}
	return m, nil
}

// mayMutate reports whether a patch may change a file: only source of the product, for
// a test that was changed proves nothing.
func mayMutate(path string) bool {
	return filepath.IsLocal(path) && strings.HasSuffix(path, ".go") &&
		!strings.HasSuffix(path, "_test.go") && !strings.HasPrefix(path, "test/")
}
