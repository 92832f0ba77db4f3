package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fairlead.dev/services/executor/process"
)

// asProgram makes the test executable behave as the program.
const asProgram = "FAIRLEAD_EXECUTOR_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(run(os.Args[1:]))
	}
	os.Exit(m.Run())
}

func TestCommandLine(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"version", []string{"--version"}, 0, "fairlead-executor-linux dev\n"},
		{"help", []string{"--help"}, 0, "desktop --check"},
		{"by hand", nil, process.ExitByHand, "is started by \"fairlead up\""},
		{"nonsense", []string{"--dance"}, process.ExitByHand, "--version"},
		{"desktop help", []string{"desktop", "--help"}, 0, "private desktop"},
		{"desktop nonsense", []string{"desktop", "--dance"}, 2, "--help"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], c.args...)
			cmd.Env = append(os.Environ(), asProgram+"=1")
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			err := cmd.Run()
			var ended *exec.ExitError
			code := 0
			if errors.As(err, &ended) {
				code = ended.ExitCode()
			}
			if code != c.code || !strings.Contains(out.String(), c.says) {
				t.Errorf("exit code %d, says %q", code, out.String())
			}
			if c.name == "by hand" && strings.Count(out.String(), "\n") != 1 {
				t.Errorf("more than one sentence: %q", out.String())
			}
		})
	}
}

func TestCheckPrintsOnePackageALine(t *testing.T) {
	var out bytes.Buffer
	code := desktop([]string{"--check"}, &out, &out)
	lines := strings.Fields(out.String())
	switch {
	case code == 0 && len(lines) == 0, code == exitMissing && len(lines) == strings.Count(out.String(), "\n"):
	default:
		t.Errorf("exit code %d, says %q", code, out.String())
	}
}

func TestFontIsFoundAnywhereBelow(t *testing.T) {
	dir := t.TempDir()
	if haveFont(dir, filepath.Join(dir, "none")) {
		t.Error("a font where there is none")
	}
	below := filepath.Join(dir, "truetype", "x")
	if err := os.MkdirAll(below, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(below, "a.ttf"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if !haveFont(dir) {
		t.Error("no font where there is one")
	}
}
