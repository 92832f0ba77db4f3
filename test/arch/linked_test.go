package arch

import (
	"flag"
	"os"
	"os/exec"
	"sort"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden lists")

// TestLinkedModules keeps a golden list of the modules that each program links: a new
// one is a decision, and a program that suddenly links another room is a mistake.
func TestLinkedModules(t *testing.T) {
	var b strings.Builder
	for _, program := range []string{
		"fairlead.dev/services/cmd/fairlead", "fairlead.dev/services/cmd/fairlead-host", "fairlead.dev/services/cmd/fairlead-policy",
		"fairlead.dev/services/cmd/fairlead-executor-virtual", "fairlead.dev/executor-linux/cmd/fairlead-executor-linux",
	} {
		cmd := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}} {{.Module.Path}}{{end}}", program)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", program, err)
		}
		seen := map[string]bool{}
		for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
			path, module, _ := strings.Cut(line, " ")
			if strings.HasPrefix(path, "fairlead.dev/services/") || strings.HasPrefix(path, "fairlead.dev/executor") {
				module = path // our own rooms one by one
			}
			if module != "" && module != program {
				seen[module] = true
			}
		}
		var list []string
		for m := range seen {
			list = append(list, m)
		}
		sort.Strings(list)
		b.WriteString("# " + program + "\n" + strings.Join(list, "\n") + "\n\n")
	}
	const golden = "testdata/linked.golden"
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != b.String() {
		t.Error("a program links something else than before; run with -update and review the difference")
	}
}
