// Package subreaper finds, ends and reaps the orphans below a process.
//
// A process that has called [Become] is a child subreaper, see
// PR_SET_CHILD_SUBREAPER(2const): a process below it whose parent dies becomes its
// child, whatever session or process group the orphan has moved to.
package subreaper

import (
	"fmt"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"gpurun/worker/process/procfs"
)

// Become makes this process a child subreaper.
func Become() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("becoming a subreaper: %w", err)
	}
	return nil
}

// KillDescendants kills and reaps all children of this process, and the orphans that
// become its children, until there are none. In a subreaper, no process below is left.
// Nothing else may wait for a child meanwhile.
func KillDescendants(bound time.Duration) error {
	const longestPause = 20 * time.Millisecond
	deadline := time.Now().Add(bound)
	for pause := time.Millisecond; ; pause = min(2*pause, longestPause) {
		if !reap(anyChild) {
			return nil
		}
		pids, err := procfs.Children()
		if err != nil {
			return fmt.Errorf("ending leftover processes: %w", err)
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("processes %v did not die of SIGKILL within %v: the kernel or a driver holds them", pids, bound)
		}
		for _, pid := range pids {
			// A failure shows in the next pass: the child is still there.
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		time.Sleep(pause)
	}
}

// anyChild is what wait4(2) takes for all children.
const anyChild = -1

// reap reaps the children that have exited, or only the one with that pid, and
// reports whether any of these children still runs.
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

// reapExited reaps the children that have exited, except the given ones.
func reapExited(except []int) {
	pids, err := procfs.Children()
	if err != nil {
		return // KillDescendants reports it at the end
	}
	for _, pid := range pids {
		if !slices.Contains(except, pid) {
			reap(pid)
		}
	}
}
