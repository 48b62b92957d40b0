package procfs

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// SignalState is what /proc/PID/status says about one signal.
type SignalState struct {
	Caught  bool // the process has a handler for it
	Pending bool // for the process or its main thread
	Blocked bool // in the main thread, as it is while the thread runs the handler
}

// Signal reads what there is about a signal of a process.
func Signal(pid int, signal syscall.Signal) (s SignalState, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return s, fmt.Errorf("looking for process %d: %w", pid, err)
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		switch name {
		case "SigCgt":
			s.Caught = contains(value, signal)
		case "SigPnd", "ShdPnd":
			s.Pending = s.Pending || contains(value, signal)
		case "SigBlk":
			s.Blocked = contains(value, signal)
		}
	}
	return s, nil
}

// contains reports whether a mask of signals in hexadecimal has a signal.
func contains(mask string, signal syscall.Signal) bool {
	bits, err := strconv.ParseUint(strings.TrimSpace(mask), 16, 64)
	return err == nil && signal > 0 && bits>>(signal-1)&1 == 1
}
