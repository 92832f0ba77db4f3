package arch

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../.."

type pkg struct {
	ImportPath string
	Dir        string
	Doc        string
	Imports    []string
	GoFiles    []string
	Name       string
	Module     struct{ Path string }
}

func packages(t *testing.T, args ...string) []pkg {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json"}, args...)...)
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []pkg
	for dec := json.NewDecoder(strings.NewReader(string(out))); dec.More(); {
		var p pkg
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if len(all) < 15 {
		t.Fatalf("only %d packages were found", len(all))
	}
	return all
}

// rule says who may not import what, and why.
type rule struct {
	name      string
	importer  func(string) bool
	forbidden func(string) bool
	except    map[string]string // importer -> reason
}

func prefix(ps ...string) func(string) bool {
	return func(s string) bool {
		for _, p := range ps {
			if s == p || strings.HasPrefix(s, p+"/") {
				return true
			}
		}
		return false
	}
}

func leaf(s string) bool {
	return strings.HasPrefix(s, "fairlead.dev/services/") && strings.Contains(s, "/internal/")
}

var rules = []rule{
	{
		name: "leaves import no generated code and no gRPC", importer: leaf,
		forbidden: prefix("fairlead.dev/gen", "google.golang.org/grpc", "fairlead.dev/services/shared/rpc"),
		except: map[string]string{
			"fairlead.dev/services/sessionhost/internal/executorlink": "it is the link",
			"fairlead.dev/services/sessionhost/internal/policylink":   "it is the link",
		},
	},
	{
		name: "host and policy never import each other", importer: prefix("fairlead.dev/services/sessionhost"),
		forbidden: prefix("fairlead.dev/services/policy", "fairlead.dev/services/executor", "fairlead.dev/services/launcher"),
	},
	{
		name: "policy imports no other room", importer: prefix("fairlead.dev/services/policy"),
		forbidden: prefix("fairlead.dev/services/sessionhost", "fairlead.dev/services/executor", "fairlead.dev/services/launcher"),
	},
	{
		name: "executors import only gen, executor and shared", importer: prefix("fairlead.dev/executor-linux", "fairlead.dev/executor-darwin"),
		forbidden: prefix("fairlead.dev/services/sessionhost", "fairlead.dev/services/policy", "fairlead.dev/services/launcher",
			"fairlead.dev/services/virtualdesk"),
	},
	{
		name: "only refusal and rpc speak gRPC statuses", importer: prefix("fairlead.dev/services", "fairlead.dev/executor-linux", "fairlead.dev/executor-darwin"),
		forbidden: prefix("google.golang.org/grpc/status", "google.golang.org/grpc/codes"),
		except: map[string]string{
			"fairlead.dev/services/shared/refusal": "it is the one place",
			"fairlead.dev/services/shared/rpc":     "it is the one place",
		},
	},
	{
		name: "only telemetry builds an OpenTelemetry SDK", importer: prefix("fairlead.dev/services", "fairlead.dev/executor-linux", "fairlead.dev/executor-darwin"),
		forbidden: prefix("go.opentelemetry.io/otel/sdk", "go.opentelemetry.io/otel/exporters"),
		except:    map[string]string{"fairlead.dev/services/shared/telemetry": "it wraps the exporter"},
	},
	{
		name: "nobody imports the tests", importer: prefix("fairlead.dev/services", "fairlead.dev/executor-linux", "fairlead.dev/gen"),
		forbidden: prefix("fairlead.dev/test"),
	},
	{
		name: "shared packages import no room", importer: prefix("fairlead.dev/services/shared"),
		forbidden: func(s string) bool {
			return strings.HasPrefix(s, "fairlead.dev/services/") && !strings.HasPrefix(s, "fairlead.dev/services/shared/")
		},
	},
}

func TestImportRules(t *testing.T) {
	all := packages(t, "work")
	for _, r := range rules {
		for _, p := range all {
			if !r.importer(p.ImportPath) || r.except[p.ImportPath] != "" {
				continue
			}
			for _, i := range p.Imports {
				if r.forbidden(i) {
					t.Errorf("%s imports %s: %s", p.ImportPath, i, r.name)
				}
			}
		}
	}
}

func TestLeavesOfOneRoomDoNotKnowEachOther(t *testing.T) {
	for _, p := range packages(t, "work") {
		for _, i := range p.Imports {
			if leaf(p.ImportPath) && leaf(i) {
				t.Errorf("%s imports the leaf %s", p.ImportPath, i)
			}
		}
	}
}

func TestThereAreExactlySixSharedPackages(t *testing.T) {
	n := 0
	for _, p := range packages(t, "work") {
		if strings.HasPrefix(p.ImportPath, "fairlead.dev/services/shared/") {
			n++
		}
	}
	if n != 6 {
		t.Errorf("%d shared packages", n)
	}
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	for _, p := range packages(t, "work") {
		if strings.HasPrefix(p.ImportPath, "fairlead.dev/gen") || len(p.GoFiles) == 0 {
			continue
		}
		if len(p.Doc) < 20 {
			t.Errorf("%s has no package doc", p.ImportPath)
		}
	}
}

// eachSource visits hand-written Go files.
func eachSource(t *testing.T, f func(path string, src string)) {
	t.Helper()
	for _, dir := range []string{"services", "executor-linux", "executor-darwin", "test"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
				return err
			}
			b, err := os.ReadFile(path)
			f(path, string(b))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestFunctionsAreShort(t *testing.T) {
	const most = 70
	eachSource(t, func(path, src string) {
		if strings.HasSuffix(path, "_test.go") {
			return // tables of cases are long and easy to read
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, src, 0)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			return
		}
		for _, d := range file.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := set.Position(fn.End()).Line - set.Position(fn.Pos()).Line + 1; n > most {
				t.Errorf("%s: %s has %d lines", path, fn.Name.Name, n)
			}
		}
	})
}

func TestLinesAreNotLong(t *testing.T) {
	const most = 120
	eachSource(t, func(path, src string) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		for i, line := range strings.Split(src, "\n") {
			if n := len([]rune(strings.ReplaceAll(line, "\t", "  "))); n > most {
				t.Errorf("%s:%d has %d columns", path, i+1, n)
			}
		}
	})
}

func TestOnlySiblingsAreReplaced(t *testing.T) {
	for _, m := range []string{"gen", "services", "executor-linux", "executor-darwin", "test"} {
		b, err := os.ReadFile(filepath.Join(root, m, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(string(b), "\n") {
			if strings.Contains(line, "=>") && !strings.Contains(line, "=> ../") {
				t.Errorf("%s/go.mod: %s", m, strings.TrimSpace(line))
			}
		}
	}
}
