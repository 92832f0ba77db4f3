//go:build linux

package privatedesk

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

const (
	sweepPoll = 20 * time.Millisecond
	// sweepMax bounds the whole sweep: grace, killing, and a program that keeps starting others.
	sweepMax = stopGrace + 3*time.Second
	// A process that is just replacing its program shows no environment, so one look may miss it.
	sweepLooks = 2
)

// identity tells a process from a later one with the same number.
type identity struct {
	pid   int
	start uint64 // clock ticks since boot
}

// process is a line of the process table.
type process struct {
	identity
	parent int
	dead   bool
	marked bool // its environment is the desktop's
}

// sweep finds and ends the processes of a desktop that nobody holds a handle of: services activated by the buses,
// programs left in the background, what a program started before it crashed.
//
// A process belongs to the desktop when its environment names the desktop's runtime directory or authority file (both
// are unique to the desktop), or when an ancestor does. The owner and its ancestors never do.
type sweep struct {
	marks [][]byte
	known map[identity]bool
	spare map[int]bool
}

func newSweep(dir string) *sweep {
	return &sweep{
		marks: [][]byte{
			[]byte("XDG_RUNTIME_DIR=" + runtimeDir(dir)),
			[]byte("XAUTHORITY=" + authorityFile(dir)),
		},
		known: make(map[identity]bool),
	}
}

// census looks at the process table once, adds what belongs to the desktop to what is known, and gives what of it is
// alive. roots are processes that belong to the desktop for certain.
func (s *sweep) census(roots []int) []identity {
	table := s.readTable()
	if s.spare == nil {
		s.spare = ancestors(table, os.Getpid())
	}
	children := make(map[int][]int)
	var queue []int
	for pid, p := range table {
		children[p.parent] = append(children[p.parent], pid)
		if p.marked || s.known[p.identity] {
			queue = append(queue, pid)
		}
	}
	queue = append(queue, roots...)
	seen := make(map[int]bool)
	var alive []identity
	for len(queue) > 0 {
		pid := queue[0]
		queue = queue[1:]
		p, exists := table[pid]
		if seen[pid] || s.spare[pid] || !exists {
			continue
		}
		seen[pid] = true
		s.known[p.identity] = true
		if !p.dead {
			alive = append(alive, p.identity)
		}
		queue = append(queue, children[pid]...)
	}
	return alive
}

// finish ends what is left: SIGTERM to each process when it is first seen, SIGKILL after the grace.
func (s *sweep) finish() error {
	asked := make(map[identity]bool)
	begin := time.Now()
	clean := 0
	for {
		alive := s.census(nil)
		if len(alive) == 0 {
			clean++
		} else {
			clean = 0
		}
		if clean == sweepLooks {
			return nil
		}
		passed := time.Since(begin)
		if passed > sweepMax {
			return &LeftoverError{Count: len(alive)}
		}
		for _, id := range alive {
			switch {
			case passed > stopGrace:
				id.signal(unix.SIGKILL)
			case !asked[id]:
				asked[id] = true
				id.signal(unix.SIGTERM, unix.SIGCONT)
			}
		}
		<-time.After(sweepPoll)
	}
}

// signal sends signals to this very process. The descriptor holds on to the process before its start time is compared,
// so that a number that was given away in between is noticed.
func (id identity) signal(signals ...unix.Signal) {
	fd, err := unix.PidfdOpen(id.pid, 0)
	if err != nil && !errors.Is(err, unix.ENOSYS) {
		return
	}
	if err == nil {
		defer unix.Close(fd)
	}
	p, ok := readProcess(id.pid)
	if !ok || p.identity != id {
		return
	}
	for _, sig := range signals {
		if err == nil {
			_ = unix.PidfdSendSignal(fd, sig, nil, 0)
		} else {
			_ = unix.Kill(id.pid, sig) // kernels before 5.3
		}
	}
}

func (s *sweep) readTable() map[int]process {
	table := make(map[int]process)
	dir, err := os.Open("/proc")
	if err != nil {
		return table
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		p, ok := readProcess(pid)
		if !ok {
			continue
		}
		p.marked = s.isMarked(pid)
		table[pid] = p
	}
	return table
}

// isMarked looks at the environment of a process. Only processes of our own user count, also for root.
func (s *sweep) isMarked(pid int) bool {
	proc := "/proc/" + strconv.Itoa(pid)
	info, err := os.Stat(proc)
	if err != nil || !ownedByUs(info) {
		return false
	}
	environ, err := os.ReadFile(proc + "/environ")
	return err == nil && hasEntry(environ, s.marks)
}

// hasEntry finds a whole entry in a list of entries that end with NUL.
func hasEntry(environ []byte, wanted [][]byte) bool {
	for entry := range bytes.SplitSeq(environ, []byte{0}) {
		for _, w := range wanted {
			if bytes.Equal(entry, w) {
				return true
			}
		}
	}
	return false
}

func readProcess(pid int) (process, bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, false
	}
	return parseStat(pid, stat)
}

// parseStat reads a line of /proc/PID/stat. The program's name comes second and may hold anything, so the fields are
// counted from the last closing parenthesis: state, parent, …, start time as the twentieth.
func parseStat(pid int, stat []byte) (process, bool) {
	_, rest, found := cutLast(stat, ')')
	fields := bytes.Fields(rest)
	const state, parent, start = 0, 1, 19
	if !found || len(fields) <= start {
		return process{}, false
	}
	ppid, errParent := strconv.Atoi(string(fields[parent]))
	ticks, errStart := strconv.ParseUint(string(fields[start]), 10, 64)
	if errParent != nil || errStart != nil {
		return process{}, false
	}
	s := fields[state][0]
	return process{
		identity: identity{pid: pid, start: ticks}, parent: ppid,
		dead: s == 'Z' || s == 'X',
	}, true
}

func cutLast(b []byte, sep byte) (before, after []byte, found bool) {
	i := bytes.LastIndexByte(b, sep)
	if i < 0 {
		return b, nil, false
	}
	return b[:i], b[i+1:], true
}

// ancestors gives a process and those it descends from.
func ancestors(table map[int]process, pid int) map[int]bool {
	out := make(map[int]bool)
	for pid != 0 && !out[pid] {
		out[pid] = true
		pid = table[pid].parent
	}
	return out
}
