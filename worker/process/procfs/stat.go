package procfs

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Process is what /proc/PID/stat says about a process, see proc_pid_stat(5).
type Process struct {
	PID, Parent, Group int
	Session            int
	Zombie             bool
	Stopped            bool // by a signal such as SIGSTOP, and not by a debugger
	// Started is the time from the machine's boot to the start of the process, rounded
	// down to 10 ms.
	Started time.Duration
}

// Linux counts a process's start in ticks. Every architecture that Go knows has 100
// ticks a second.
const tick = 10 * time.Millisecond

// Read reads what there is about one process.
func Read(pid int) (Process, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Process{}, fmt.Errorf("looking for process %d: %w", pid, err)
	}
	return parseStat(string(text))
}

// The fields of a line of /proc/PID/stat that follow the command's name. proc(5) counts the
// first of them as field 3.
const (
	stateField     = 0
	parentField    = 1
	groupField     = 2
	sessionField   = 3
	startTimeField = 19
)

// parseStat reads a line of /proc/PID/stat. The second field is the command's
// name in parentheses, and may itself contain spaces and parentheses.
func parseStat(text string) (Process, error) {
	open, close := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 0 || close < open {
		return Process{}, fmt.Errorf("no command name in %q", text)
	}
	fields := strings.Fields(text[close+1:])
	if len(fields) <= startTimeField {
		return Process{}, fmt.Errorf("too few fields in %q", text)
	}
	state := fields[stateField]
	p := Process{Zombie: state == "Z" || state == "X", Stopped: state == "T"}
	var ticks int
	for _, number := range []struct {
		text  string
		value *int
	}{
		{strings.TrimSpace(text[:open]), &p.PID},
		{fields[parentField], &p.Parent},
		{fields[groupField], &p.Group},
		{fields[sessionField], &p.Session},
		{fields[startTimeField], &ticks},
	} {
		value, err := strconv.Atoi(number.text)
		if err != nil {
			return Process{}, fmt.Errorf("in %q: %w", text, err)
		}
		*number.value = value
	}
	p.Started = time.Duration(ticks) * tick
	return p, nil
}
