// Package processtest finds the processes of a test, whatever became of their parents.
package processtest

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"gpurun/worker/process/procfs"
)

// Marked lists the living processes whose environment has the variable mark, as NAME=VALUE.
func Marked(mark string) ([]int, error) {
	all, err := procfs.Processes()
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, p := range all {
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.PID))
		if err == nil && !p.Zombie && slices.Contains(strings.Split(string(env), "\x00"), mark) {
			pids = append(pids, p.PID)
		}
	}
	return pids, nil
}

// Child finds the only child of a process, as the agent of a guard.
func Child(pid int) (int, error) {
	all, err := procfs.Processes()
	if err != nil {
		return 0, err
	}
	for _, p := range all {
		if p.Parent == pid {
			return p.PID, nil
		}
	}
	return 0, fmt.Errorf("process %d has no child", pid)
}
