package attest

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// seals make a memory file unchangeable for ever, also for us.
const seals = unix.F_SEAL_WRITE | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL

// freeze copies a program into a sealed memory file and closes the source.
func freeze(src *os.File, name string) (*Image, error) {
	unusable := &Error{Name: name, Problem: ProblemMemory}
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|unix.MFD_EXEC)
	if errors.Is(err, unix.EINVAL) { // Kernels before 6.3 do not know MFD_EXEC and need no asking.
		fd, err = unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	if err != nil {
		return nil, unusable
	}
	mem := os.NewFile(uintptr(fd), name)
	n, err := io.Copy(mem, io.LimitReader(src, programMax+1))
	if err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals)
	}
	switch {
	case err != nil:
		return nil, errors.Join(unusable, mem.Close())
	case n > programMax: // It grew while it was copied.
		return nil, errors.Join(&Error{Name: name, Problem: ProblemLarge}, mem.Close())
	}
	if err := src.Close(); err != nil {
		return nil, errors.Join(unusable, mem.Close())
	}
	// By our own process id, not "self": the path is opened by the child, whose descriptors
	// have been rearranged by then, and the descriptor is closed there by the exec.
	return &Image{file: mem, path: fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), fd), Attested: true}, nil
}
