package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/services/shared/refusal"
)

// What is required, and where it is shown. The page is written from the tables that the
// tests run.
func TestThePageOfRequiredCasesIsAsTheTablesSay(t *testing.T) { compare(t, "README.md", writtenPage()) }

const pageHead = `# What the integration tests show

Whole acts, through policy, host and executor core on the virtual desk. This page is written from the tables that the
tests run (` + "`go test ./integration/ -run ThePage -update`" + `, in ` + "`test`" + `); a test keeps it as they say. Every row
has decoys: a window of the same app that is the same in every respect, and a window of another app. Their journals stay
empty, and so does the target's where nothing was sent.
`

func writtenPage() string {
	var b strings.Builder
	b.WriteString(pageHead)
	b.WriteString("\n## Frames and windows: the cases that document 002 requires\n\n")
	caseTable(&b, "TestSeed002RequiredCases", seed002())
	b.WriteString("\n## Life cycle: the seven defects that document 003 tells of\n\n")
	caseTable(&b, "TestSeed003Defects", seed003())
	b.WriteString("\n## Every refusal code\n\nAll of them in `TestEveryRefusalCodeIsCausedEndToEnd`.\n\n| code | caused by |\n|---|---|\n")
	var rows []string
	how := map[refusal.Code][]string{}
	for _, c := range causes() {
		how[c.code] = append(how[c.code], c.how)
	}
	for code, all := range how {
		rows = append(rows, fmt.Sprintf("| %s | %s |\n", codeWord(code), strings.Join(all, "; ")))
	}
	slices.Sort(rows)
	b.WriteString(strings.Join(rows, ""))
	b.WriteString("\nNot caused here, and why:\n\n")
	var left []string
	for code, why := range notCaused {
		left = append(left, fmt.Sprintf("- %s: %s.\n", codeWord(code), why))
	}
	slices.Sort(left)
	b.WriteString(strings.Join(left, ""))
	return b.String()
}

func caseTable(b *strings.Builder, test string, cases []required) {
	fmt.Fprintf(b, "Each is a subtest of `%s`.\n\n| case | test | code |\n|---|---|---|\n", test)
	for _, c := range cases {
		code := "done"
		if c.code != 0 {
			code = codeWord(c.code)
		}
		if c.departs != "" {
			code += " (" + c.departs + ")"
		}
		fmt.Fprintf(b, "| %s | `%s` | %s |\n", c.says, c.name, code)
	}
}

func codeWord(c refusal.Code) string { return strings.TrimPrefix(c.String(), "REFUSAL_CODE_") }
