package permit

import (
	"time"

	"golang.org/x/sys/unix"
)

// BootClock returns the time since boot, sleep included: the clock that permits
// live by. Wall time can be set, and every process of one machine shares this one.
func BootClock() time.Duration {
	var ts unix.Timespec
	// On macOS CLOCK_MONOTONIC goes on while the system sleeps.
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic("permit: no boot clock")
	}
	return time.Duration(ts.Nano())
}
