package guard

import (
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"gpurun/worker/process/procfs"
)

// catchSuspend catches SIGTSTP, which a terminal sends on Ctrl-Z. The function undoes it.
func catchSuspend() (<-chan os.Signal, func()) {
	caught := make(chan os.Signal, 1)
	if !signal.Ignored(syscall.SIGTSTP) {
		signal.Notify(caught, syscall.SIGTSTP)
	}
	return caught, func() { signal.Stop(caught) }
}

// suspend stops the job and this process, and continues the job when this process is continued. The job gets SIGSTOP:
// the kernel discards SIGTSTP of workers, because each is in a session of its own. If this process is killed meanwhile,
// the agent gets SIGCONT, see startAgent, and ends its workers.
func (w *watch) suspend() {
	all, err := procfs.Processes()
	if err != nil {
		w.notify(fmt.Sprintf("the job is not stopped: %v", err))
		return
	}
	if orphaned(all, syscall.Getpgrp()) {
		return
	}
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	stopped := stopDescendants(os.Getpid())
	select {
	case <-continued: // while others were being stopped
	default:
		// To this very thread, which Run has locked: kill(2) could return before another thread has stopped the process.
		_ = unix.Tgkill(os.Getpid(), unix.Gettid(), syscall.SIGSTOP) // returns when this process is continued
	}
	signal.Stop(continued)
	for _, pid := range slices.Backward(stopped) {
		_ = syscall.Kill(pid, syscall.SIGCONT) // a process that was killed needs none
	}
	select {
	case <-w.suspends: // one that came before the stop, which SIGCONT discards
	default:
	}
}

// orphaned reports whether nobody would continue a process group, because no member's parent is in another group of the
// session. The kernel then discards SIGTSTP, unless it is caught.
func orphaned(all []procfs.Process, group int) bool {
	byPID := map[int]procfs.Process{}
	for _, p := range all {
		byPID[p.PID] = p
	}
	return !slices.ContainsFunc(all, func(p procfs.Process) bool {
		parent, known := byPID[p.Parent]
		return known && p.Group == group && parent.Group != group && parent.Session == p.Session
	})
}

// stopDescendants stops all processes below one, parents first, and returns those that it has stopped. A process may
// fork before it stops: the search ends when it finds nothing new.
func stopDescendants(root int) (stopped []int) {
	for {
		all, err := procfs.Processes()
		found := false
		for _, p := range procfs.Below(root, all) {
			if p.Stopped || p.Zombie || slices.Contains(stopped, p.PID) || syscall.Kill(p.PID, syscall.SIGSTOP) != nil {
				continue
			}
			stopped, found = append(stopped, p.PID), true
		}
		if err != nil || !found {
			return stopped
		}
	}
}
