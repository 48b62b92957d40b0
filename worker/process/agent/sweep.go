package agent

import (
	"fmt"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// becomeSubreaper makes every orphan below this process its child.
func becomeSubreaper() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("becoming a subreaper: %w", err)
	}
	return nil
}

// sweep kills and reaps all children of this process, and the orphans that this
// gives it, until there are none: in a subreaper, that ends everything below.
// Nobody else may wait for a child meanwhile.
func sweep(bound time.Duration) error {
	const longestPause = 20 * time.Millisecond
	deadline := time.Now().Add(bound)
	for pause := time.Millisecond; ; pause = min(2*pause, longestPause) {
		if !reap(-1) {
			return nil
		}
		pids, err := children()
		if err != nil {
			return fmt.Errorf("ending leftover processes: %w", err)
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("processes %v did not die of SIGKILL within %v: the kernel or a driver holds them", pids, bound)
		}
		for _, pid := range pids {
			// A failure shows in the next round: the child is still there.
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		time.Sleep(pause)
	}
}

// reap reaps the children that have exited, or only the one with that pid, and
// reports whether any live on.
func reap(pid int) bool {
	for {
		reaped, err := syscall.Wait4(pid, nil, syscall.WNOHANG|unix.WALL, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil: // ECHILD
			return false
		case reaped == 0:
			return true
		}
	}
}

// reapOrphans reaps children that have exited, but for the given ones.
func reapOrphans(except []int) {
	pids, err := children()
	if err != nil {
		return // the sweep at the end reports it
	}
	for _, pid := range pids {
		if !slices.Contains(except, pid) {
			reap(pid)
		}
	}
}
