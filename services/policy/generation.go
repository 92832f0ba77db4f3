package policy

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"fairlead.dev/services/shared/ident"
)

// generationFile holds the last generation below the state directory.
const generationFile = "policy-generation"

// NextGeneration returns the generation of this start: Unix milliseconds, but always
// above the last one the state directory remembers, so that a clock set back never makes
// an old generation current again (C1.1). A state directory that cannot be used costs
// that protection and nothing else.
func NextGeneration(stateDir string, now time.Time) ident.Generation {
	g := ident.Generation(max(now.UnixMilli(), 1))
	if stateDir == "" {
		return g
	}
	path := filepath.Join(stateDir, generationFile)
	if b, err := os.ReadFile(path); err == nil {
		if last, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 63); err == nil {
			g = max(g, ident.Generation(last)+1)
		}
	}
	// Written beside and renamed, so that there is always one whole number to read.
	tmp := path + ".new"
	if os.WriteFile(tmp, []byte(strconv.FormatUint(uint64(g), 10)+"\n"), 0o600) == nil {
		// A failed rename leaves the last generation in place: see above.
		_ = os.Rename(tmp, path)
	}
	return g
}
