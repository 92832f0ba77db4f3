package main

import (
	"fmt"
	"io"
	"os"
	"strings"
)

const (
	// sentenceWidth is the column where results begin.
	sentenceWidth = 64
	// outlineMax is how many lines of an outline are shown.
	outlineMax = 48
	// lineMax is how much of a line of it is shown.
	lineMax = 100
)

// paper is what the demo is written on. It reads well without colour; colour is only
// for a terminal.
type paper struct {
	w      io.Writer
	colour bool
	step   int
}

func newPaper(w io.Writer) *paper {
	f, ok := w.(*os.File)
	colour := ok && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	if colour {
		st, err := f.Stat()
		colour = err == nil && st.Mode()&os.ModeCharDevice != 0
	}
	return &paper{w: w, colour: colour}
}

// The colours of results.
const (
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	red    = "\x1b[31m"
	faint  = "\x1b[2m"
	plain  = "\x1b[0m"
)

func (p *paper) paint(colour, s string) string {
	if !p.colour {
		return s
	}
	return colour + s + plain
}

// begin writes a numbered sentence; ok, refused or failed ends its line.
func (p *paper) begin(sentence string) {
	p.step++
	fmt.Fprintf(p.w, "%2d  %-*s ", p.step, sentenceWidth, sentence)
}

func (p *paper) ok(what string) { fmt.Fprintln(p.w, p.paint(green, "ok"), what) }

// refused writes a no that belongs there, and its sentence below.
func (p *paper) refused(code, sentence string) {
	fmt.Fprintln(p.w, p.paint(yellow, "refused"), code)
	p.below("“" + sentence + "”")
}

func (p *paper) failed() { fmt.Fprintln(p.w, p.paint(red, "failed")) }

// below writes an indented line.
func (p *paper) below(line string) { fmt.Fprintf(p.w, "    %s\n", line) }

// outline shows the text an agent reads: the lines of it that name something, which are
// the ones a person reads too.
func (p *paper) outline(text string) {
	shown, left := 0, 0
	for l := range strings.Lines(text) {
		if l = strings.TrimRight(l, "\n"); !strings.Contains(l, `"`) {
			continue
		}
		if shown++; shown > outlineMax {
			left++
			continue
		}
		if r := []rune(l); len(r) > lineMax {
			l = string(r[:lineMax]) + "…"
		}
		p.below(p.paint(faint, "| "+l))
	}
	if left > 0 {
		p.below(p.paint(faint, fmt.Sprintf("| … and %d more lines", left)))
	}
}
