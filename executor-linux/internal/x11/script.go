package x11

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// interpreterName matches programs that run other programs in their own process, so
// their executable says nothing about what they do. Versions may follow.
var interpreterName = regexp.MustCompile(`^(python|pypy|perl|ruby|node|nodejs|deno|bun|java|php|lua|luajit|tclsh|` +
	`wish|guile|bash|dash|sh|zsh|fish|ksh|mksh|busybox|gjs|gjs-console|qml|qmlscene|mono|mono-sgen|dotnet|electron|` +
	`wine|wine64|wine-preloader|wine64-preloader|Rscript|julia|beam\.smp|bwrap|env)[-0-9.]*[a-z]?$`)

func isInterpreter(exe string) bool { return interpreterName.MatchString(filepath.Base(exe)) }

// scriptUnknown stands for a script that cannot be named.
const scriptUnknown = "unknown"

// options tells how a family of interpreters reads its command line.
type options struct {
	// code are letters of one-dash options whose argument is the program itself.
	code string
	// long are long options like that.
	long []string
	// valued are options that take the next argument as their value.
	valued []string
}

var families = []struct {
	prefix string
	options
}{
	{"python", options{code: "cm", valued: []string{"-W", "-X", "--check-hash-based-pycs"}}},
	{"pypy", options{code: "cm", valued: []string{"-W", "-X"}}},
	{"perl", options{code: "eE", valued: []string{"-I"}}},
	{"ruby", options{code: "e", valued: []string{"-I", "-r", "-C"}}},
	{"node", options{
		code: "ep", long: []string{"--eval", "--print"},
		valued: []string{"-r", "--require", "--import", "--loader", "-C", "--conditions"},
	}},
	{"java", options{valued: []string{"-cp", "-classpath", "--class-path", "-p", "--module-path", "--add-modules"}}},
	{"php", options{code: "rBRE", valued: []string{"-c", "-d", "-z"}}},
	{"lua", options{code: "e", valued: []string{"-l"}}},
	{"gjs", options{code: "c", valued: []string{"-I"}}},
	{"", options{code: "c", valued: []string{"-o", "+o", "-O", "+O", "--rcfile", "--init-file"}}},
}

// scriptOf names the program an interpreter runs, from its arguments. A process can
// rewrite those; this tells honest programs apart and is no proof of anything.
func scriptOf(exe, procDir string) string {
	args := strings.Split(strings.TrimRight(string(readProc(procDir, "cmdline")), "\x00"), "\x00")
	script, isFile := scriptArg(filepath.Base(exe), args[min(1, len(args)):])
	if !isFile {
		return script
	}
	if !filepath.IsAbs(script) {
		cwd, err := os.Readlink(filepath.Join(procDir, "cwd"))
		if err != nil {
			return scriptUnknown
		}
		script = filepath.Join(cwd, script)
	}
	resolved, err := filepath.EvalSymlinks(script)
	if err != nil {
		// Not there: the program changed its directory, or never was a file.
		return scriptUnknown
	}
	return resolved
}

// scriptArg finds the script among the arguments. Without a file it says why: the
// option that carries the code, a class name, or unknown.
func scriptArg(interpreter string, args []string) (script string, isFile bool) {
	var o options
	for _, f := range families {
		if strings.HasPrefix(interpreter, f.prefix) {
			o = f.options
			break
		}
	}
	isJava := strings.HasPrefix(interpreter, "java")
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "--" || isJava && a == "-jar":
			if i+1 < len(args) {
				return args[i+1], true
			}
			return scriptUnknown, false
		case slices.Contains(o.valued, a):
			i++
		case slices.Contains(o.long, a):
			return a, false
		case strings.HasPrefix(a, "--"), a == "", isJava && strings.HasPrefix(a, "-"):
		case strings.HasPrefix(a, "-") && strings.ContainsAny(a[1:], o.code) && len(a) > 1:
			return a, false
		case strings.HasPrefix(a, "-"), strings.HasPrefix(a, "+"):
		case isJava:
			return a, false // a class, not a file
		default:
			return a, true
		}
	}
	return scriptUnknown, false
}
