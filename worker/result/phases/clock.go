package phases

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// now is the time since boot.
func now() time.Duration {
	var t unix.Timespec
	// It fails for clocks that do not exist alone, and this one has since Linux 2.6.39.
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &t)
	return time.Duration(t.Nano())
}

// Now is the time since the machine's boot.
func Now() time.Duration { return now() }

// At is when t was, since the machine's boot.
func At(t time.Time) time.Duration { return now() - time.Since(t) }

// A process's start is counted in ticks, of which a second has 100 on every
// architecture that Go knows.
const tick = 10 * time.Millisecond

// StartOf is when a process was started, to within 10 ms before it: see
// proc_pid_stat(5).
func StartOf(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("reading when process %d was started: %w", pid, err)
	}
	return parseStart(text)
}

// parseStart finds field 22. The second field is a name in parentheses, with whatever
// characters it likes.
func parseStart(stat []byte) (time.Duration, error) {
	const starttime, state = 22, 3
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) <= starttime-state {
		return 0, fmt.Errorf("there are too few fields in %q", stat)
	}
	ticks, err := strconv.ParseInt(string(fields[starttime-state]), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("reading when a process was started: %w", err)
	}
	return time.Duration(ticks) * tick, nil
}

// OfAgent returns the recorder of the agent, which begins with the start of its
// parent, the guard. Where the kernel does not tell when that was, or tells what cannot
// be, it begins now.
func OfAgent() *Recorder {
	r := NewRecorder()
	guard, guardErr := StartOf(os.Getppid())
	agent, agentErr := StartOf(os.Getpid())
	if guardErr == nil && agentErr == nil && 0 < guard && guard <= agent && agent <= now() {
		r.begin(Guard, guard)
		r.begin(Agent, agent)
	}
	r.Begin(Plan)
	return r
}
