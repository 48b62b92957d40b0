// Package procfs reads which processes there are, and how they are related, from
// /proc: see proc(5).
package procfs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
)

// Processes lists all processes that this one can see. Processes that end
// meanwhile are left out.
func Processes() ([]Process, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	var all []Process
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if p, err := Read(pid); err == nil {
			all = append(all, p)
		}
	}
	return all, nil
}

// ErrNotMounted is why a process does not find itself in /proc.
var ErrNotMounted = errors.New("gpurun needs /proc; mount it, as by mount -t proc proc /proc")

// CheckNamespace refuses a /proc of another PID namespace: the process IDs in it
// belong to other processes here.
func CheckNamespace() error {
	self, err := os.Readlink("/proc/self")
	if err != nil {
		return fmt.Errorf("finding this process: %w: %w", ErrNotMounted, err)
	}
	if self != strconv.Itoa(os.Getpid()) {
		return errors.New("/proc belongs to another PID namespace, so gpurun cannot find the processes that workers leave " +
			"behind: mount a /proc for this namespace, as unshare --mount-proc does")
	}
	return nil
}

// GroupsAlive reports whether any of the process groups has a member that is
// not a zombie. It is false where /proc cannot be read.
func GroupsAlive(groups []int) bool {
	all, err := Processes()
	return err == nil && slices.ContainsFunc(all, func(p Process) bool {
		return !p.Zombie && slices.Contains(groups, p.Group)
	})
}

// Children lists this process's children. The kernel may leave some out while
// others exit: only wait4(2) can tell that there are none.
func Children() ([]int, error) {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return nil, fmt.Errorf("listing threads: %w", err)
	}
	var pids []int
	for _, task := range tasks {
		data, err := os.ReadFile("/proc/self/task/" + task.Name() + "/children")
		if err != nil {
			if _, gone := os.Stat("/proc/self/task/" + task.Name()); gone != nil {
				continue
			}
			return childrenByParent() // a kernel without CONFIG_PROC_CHILDREN
		}
		for _, field := range bytes.Fields(data) {
			pid, err := strconv.Atoi(string(field))
			if err != nil {
				return nil, fmt.Errorf("listing children: %w", err)
			}
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// childrenByParent finds this process's children among all processes.
func childrenByParent() ([]int, error) {
	all, err := Processes()
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, p := range all {
		if p.Parent == os.Getpid() {
			pids = append(pids, p.PID)
		}
	}
	return pids, nil
}

// Below lists the processes below one among all, parents first.
func Below(root int, all []Process) (below []Process) {
	children := map[int][]Process{}
	for _, p := range all {
		children[p.Parent] = append(children[p.Parent], p)
	}
	below = slices.Clone(children[root])
	for i := 0; i < len(below); i++ {
		below = append(below, children[below[i].PID]...)
	}
	return below
}
