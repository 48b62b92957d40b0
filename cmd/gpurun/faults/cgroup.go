package faults

import (
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
)

// cgroup is the folder of a control group.
type cgroup string

// cgroupFiles are the limits of a controller, in version 1 and 2.
var cgroupFiles = map[string][2]string{
	"memory": {"memory.limit_in_bytes", "memory.max"},
	"pids":   {"pids.max", "pids.max"},
}

var cgroups atomic.Int64

// newCgroup makes a group with a limit, of version 1 or else of version 2.
func newCgroup(controller, limit string) (cgroup, error) {
	const root = "/sys/fs/cgroup"
	name := fmt.Sprintf("gpurun-faults-%d-%d", os.Getpid(), cgroups.Add(1))
	folder, file := filepath.Join(root, controller, name), cgroupFiles[controller][0]
	if _, err := os.Stat(filepath.Join(root, controller)); err != nil {
		folder, file = filepath.Join(root, name), cgroupFiles[controller][1]
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		return "", err
	}
	group := cgroup(folder)
	if err := os.WriteFile(filepath.Join(folder, file), []byte(limit), 0o600); err != nil {
		group.remove()
		return "", err
	}
	return group, nil
}

// remove removes the group, once its processes have ended.
func (g cgroup) remove() {
	_ = syscall.Rmdir(string(g)) // a group that is left is empty, and gone with the machine
}

// missingCgroup tells whether groups of a controller can be made.
func missingCgroup(controller string) func(*Room) string {
	return func(*Room) string {
		group, err := newCgroup(controller, "1000000")
		if err != nil {
			return fmt.Sprintf("no control group can be made: %v", err)
		}
		group.remove()
		return ""
	}
}
