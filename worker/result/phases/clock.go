package phases

import (
	"os"
	"time"

	"golang.org/x/sys/unix"

	"gpurun/worker/process/procfs"
)

// now is the time since boot.
func now() time.Duration {
	var t unix.Timespec
	// The call fails only for a clock that does not exist. This one exists since Linux 2.6.39.
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &t)
	return time.Duration(t.Nano())
}

// Now is the time since the machine's boot.
func Now() time.Duration { return now() }

// SinceBoot is the time from the machine's boot to t.
func SinceBoot(t time.Time) time.Duration { return now() - time.Since(t) }

// OfAgent returns the recorder of the agent, whose first phase begins with the start of
// its parent, the guard. Where /proc does not tell when the two were started, in that
// order, the recorder begins now.
func OfAgent() *Recorder {
	r := NewRecorder()
	guard, guardErr := procfs.Read(os.Getppid())
	agent, agentErr := procfs.Read(os.Getpid())
	if guardErr == nil && agentErr == nil && 0 < guard.Started && guard.Started <= agent.Started &&
		agent.Started <= now() {
		r.begin(Guard, guard.Started)
		r.begin(Agent, agent.Started)
	}
	r.Begin(Plan)
	return r
}
