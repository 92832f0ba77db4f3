package arch

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
)

const (
	fencesPage  = "../../services/README.md"
	fencesBegin = "<!-- Which call checks which generation. Written by test/arch from the schema: begin -->\n"
	fencesEnd   = "<!-- end of the calls -->\n"
)

func checkOf(m protoreflect.MethodDescriptor) commonv1.FenceCheck {
	c, _ := proto.GetExtension(m.Options(), commonv1.E_FenceCheck).(commonv1.FenceCheck)
	return c
}

// C1.2: every call says which generations of its fence it looks at; the page people read
// is written from what the calls say. That the host does as it says is tried in
// test/integration, call by call.
func TestEveryCallSaysWhichGenerationsItChecks(t *testing.T) {
	said := map[commonv1.FenceCheck][]string{}
	eachMethod(func(m protoreflect.MethodDescriptor) {
		c := checkOf(m)
		if c == commonv1.FenceCheck_FENCE_CHECK_UNSPECIFIED {
			t.Errorf("%s does not say", m.FullName())
		}
		room, _, _ := strings.Cut(strings.TrimPrefix(string(m.FullName()), "fairlead."), ".")
		said[c] = append(said[c], room+" "+string(m.Name()))
	})
	var b strings.Builder
	b.WriteString("| checks | calls |\n|---|---|\n")
	for _, row := range []struct {
		check commonv1.FenceCheck
		words string
	}{
		{commonv1.FenceCheck_FENCE_CHECK_ASSERTED, "host and session must be asserted; every generation that is must be current"},
		{commonv1.FenceCheck_FENCE_CHECK_HOST, "a host generation that is asserted must be current"},
		{commonv1.FenceCheck_FENCE_CHECK_INTERNAL, "between processes: all that apply are asserted and must be current"},
		{commonv1.FenceCheck_FENCE_CHECK_IGNORED, "never looked at: it takes authority away, reports or closes books"},
	} {
		slices.Sort(said[row.check])
		fmt.Fprintf(&b, "| %s | %s |\n", row.words, strings.Join(said[row.check], ", "))
	}
	samePage(t, b.String())
}

// samePage compares a part of the page with what the schema says, or rewrites it.
func samePage(t *testing.T, want string) {
	t.Helper()
	page, err := os.ReadFile(fencesPage)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(page), fencesBegin)
	part, after, ended := strings.Cut(rest, fencesEnd)
	if !found || !ended {
		t.Fatal("the page has no place for the table")
	}
	if part == want {
		return
	}
	if !*update {
		t.Error("the page says something else than the schema; run with -update and review the difference")
		return
	}
	if err := os.WriteFile(fencesPage, []byte(before+fencesBegin+want+fencesEnd+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
