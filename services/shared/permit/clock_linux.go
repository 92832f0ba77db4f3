package permit

import (
	"time"

	"golang.org/x/sys/unix"
)

// BootClock returns the time since boot, suspend included: the clock that permits
// live by. Wall time can be set, and every process of one machine shares this one.
func BootClock() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		panic("permit: no boot clock")
	}
	return time.Duration(ts.Nano())
}
