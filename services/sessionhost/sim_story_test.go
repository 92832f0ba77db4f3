package sessionhost

import (
	"embed"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
)

// The order of an act's stages stands in one place, where it is told: the simulation
// reads it from there. A stage that is taken out of the story is not simulated either,
// and what it was for is then not held.
//
//go:embed act.go launch.go
var stories embed.FS

// stage is one thing a story does before anything else may happen, and what the story
// does when it fails.
type stage struct {
	name string
	// givesUp ends the claim, settles closes the intent, fails moves the session.
	givesUp, settles, fails bool
}

// The stages of each story, as they are called in its source. Generation is the look at
// the executor's generation, GetWindowId the one at a launch's hint.
var (
	actStages = []string{
		"claim", "lane", "leave", "still", "policyLink", "Generation", "Decide", "pictureAfter", "dispatching",
		"Dispatch", "conclude", "settle", "endElsewhere",
	}
	launchStages = []string{
		"recorded", "looking", "lane", "leave", "GetWindowId", "ResolveApp", "still", "Decide", "launching", "Launch",
		"launched", "settle",
	}
)

// readStory returns the stages that a function goes through when nothing fails, in the
// order of its source.
func readStory(file, function string, known []string) ([]stage, error) {
	src, err := stories.ReadFile(file)
	if err != nil {
		return nil, err
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), file, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, d := range parsed.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == function {
			r := reader{known: known}
			for _, s := range f.Body.List {
				r.statement(s)
			}
			return r.stages, nil
		}
	}
	return nil, fmt.Errorf("%s has no %s", file, function)
}

func mustRead(file, function string, known []string) []stage {
	s, err := readStory(file, function, known)
	if err != nil {
		panic(err)
	}
	return s
}

// reader collects stages.
type reader struct {
	known  []string
	stages []stage
	judged int // stages before it have their error looked at
}

func (r *reader) statement(s ast.Stmt) {
	branch, ok := s.(*ast.IfStmt)
	if !ok {
		r.stages = append(r.stages, r.in(s)...)
		return
	}
	if branch.Init != nil {
		r.stages = append(r.stages, r.in(branch.Init)...)
	}
	r.stages = append(r.stages, r.in(branch.Cond)...)
	if _, returns := branch.Body.List[len(branch.Body.List)-1].(*ast.ReturnStmt); !returns {
		return
	}
	for ; r.judged < len(r.stages); r.judged++ {
		one := &r.stages[r.judged]
		one.givesUp, one.settles = calls(branch.Body, "giveUp"), calls(branch.Body, "settle")
		one.fails = calls(branch.Body, "failed")
	}
}

// in returns the known stages in a piece of source, in its order.
func (r *reader) in(n ast.Node) (out []stage) {
	for _, name := range names(n) {
		if slices.Contains(r.known, name) {
			out = append(out, stage{name: name})
		}
	}
	return out
}

func calls(n ast.Node, name string) bool { return slices.Contains(names(n), name) }

// names returns what is called or compared in a piece of source.
func names(n ast.Node) (out []string) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.CallExpr:
			if f, ok := x.Fun.(*ast.SelectorExpr); ok {
				out = append(out, f.Sel.Name)
			} else if f, ok := x.Fun.(*ast.Ident); ok && f.Name == "leave" {
				out = append(out, f.Name)
			}
		case *ast.BinaryExpr:
			if f, ok := x.X.(*ast.SelectorExpr); ok && x.Op == token.NEQ {
				out = append(out, f.Sel.Name)
			}
		}
		return true
	})
	return out
}
