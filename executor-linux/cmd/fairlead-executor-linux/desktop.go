package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"

	"fairlead.dev/executor-linux/privatedesk"
	"fairlead.dev/services/executor/process"
)

// exitMissing means that packages are missing.
const exitMissing = 3

// demoPrograms are what the demo runs on its private desktop, besides what every
// private desktop needs.
func demoPrograms() []string { return []string{"gnome-calculator"} }

// fontPackage brings letters: without any font a desktop shows boxes.
const fontPackage = "fonts-dejavu-core"

// desktop is the command "desktop".
func desktop(args []string, stdout, stderr io.Writer) int {
	switch {
	case len(args) == 1 && args[0] == "--check":
		return check(stdout)
	case len(args) == 1 && args[0] == "--install":
		return install(stdout, stderr)
	default:
		return privatedesk.Main(args, stdout, stderr)
	}
}

// lacking lists the Debian packages that are not there.
func lacking() []string {
	out := privatedesk.Packages(privatedesk.Missing(demoPrograms()...))
	if !haveFont("/usr/share/fonts", "/usr/local/share/fonts") {
		out = append(out, fontPackage)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

var errFound = errors.New("found")

// haveFont reports whether there is any font file.
func haveFont(dirs ...string) bool {
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil {
				return nil // what cannot be read holds no font for us
			}
			switch filepath.Ext(path) {
			case ".ttf", ".otf", ".ttc":
				return errFound
			}
			return nil
		})
		if errors.Is(err, errFound) {
			return true
		}
	}
	return false
}

func check(stdout io.Writer) int {
	packages := lacking()
	for _, p := range packages {
		fmt.Fprintln(stdout, p)
	}
	if len(packages) > 0 {
		return exitMissing
	}
	return 0
}

func install(stdout, stderr io.Writer) int {
	packages := lacking()
	if len(packages) == 0 {
		fmt.Fprintln(stdout, "Everything is installed.")
		return 0
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := privatedesk.Install(ctx, stderr, packages...); err != nil {
		fmt.Fprintf(stderr, "%v\n", err)
		return process.ExitFailure
	}
	if left := lacking(); len(left) > 0 {
		fmt.Fprintf(stderr, "still missing after installing: %v\n", left)
		return exitMissing
	}
	return 0
}
