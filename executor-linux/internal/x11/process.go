package x11

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"
)

var errStat = errors.New("malformed process stat")

// parseStart takes the start time, field 22, from /proc/PID/stat. The command name
// in field 2 may hold anything, spaces and parentheses too, so fields are counted
// from the last parenthesis.
func parseStart(stat []byte) (uint64, error) {
	end := bytes.LastIndexByte(stat, ')')
	if end < 0 {
		return 0, errStat
	}
	// Field 3 is the first after the parenthesis.
	fields := bytes.Fields(stat[end+1:])
	if len(fields) < 20 {
		return 0, errStat
	}
	n, err := strconv.ParseUint(string(fields[19]), 10, 64)
	if err != nil {
		return 0, errStat
	}
	return n, nil
}

// ProcessStart is the start time of a process in clock ticks since boot. A process
// id alone is never an identity, because it is used again (C1.3).
func ProcessStart(pid int) (uint64, error) { return processStart("/proc", pid) }

func processStart(proc string, pid int) (uint64, error) {
	if pid <= 0 {
		return 0, errStat
	}
	// Plain system calls: os.ReadFile costs three times as much, fifty windows a time.
	fd, err := unix.Open(proc+"/"+strconv.Itoa(pid)+"/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("open process stat: %w", err)
	}
	var buf [1024]byte // the kernel gives a stat line, about 350 bytes, in one read
	n, err := unix.Read(fd, buf[:])
	if err = errors.Join(err, unix.Close(fd)); err != nil {
		return 0, fmt.Errorf("read process stat: %w", err)
	}
	return parseStart(buf[:n])
}

func startOrZero(pid int) uint64 {
	start, err := ProcessStart(pid)
	if err != nil {
		return 0
	}
	return start
}
