package attest

import "os"

// freeze keeps the file itself: macOS cannot execute a file that has no name. What runs
// is then the file at its path, which its owner could change after the check, so the
// image is not attested and says why (C9.2).
func freeze(src *os.File, _ string) (*Image, error) {
	return &Image{
		file: src, path: src.Name(),
		Reason: "macOS cannot run a sealed memory file; the file at its path was hashed and runs",
	}, nil
}
