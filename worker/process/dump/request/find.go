package request

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"gpurun/worker/process/guard"
	"gpurun/worker/process/orphans"
	"gpurun/worker/process/procfs"
)

// FindAgent finds the agent of a job by the process ID of the gpurun that the user sees, of the agent, or of any
// process that the job has started.
func FindAgent(pid int) (agentPID int, err error) {
	mark, _, err := jobOf(pid)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("there is no process %d", pid)
	}
	if err != nil {
		return 0, fmt.Errorf("reading the environment of process %d: %w; only its user may ask for a dump", pid, err)
	}
	all, err := procfs.Processes()
	if err != nil {
		return 0, err
	}
	for _, p := range all {
		of, isAgent, err := jobOf(p.PID)
		if err != nil || !isAgent {
			continue
		}
		if mark != "" && of == mark || mark == "" && p.Parent == pid {
			return p.PID, nil
		}
	}
	return 0, fmt.Errorf("process %d is neither a gpurun that runs a program nor one of its workers", pid)
}

// jobOf reads the mark of a process's job, which is empty for a guard, and whether the process is the agent.
func jobOf(pid int) (mark string, isAgent bool, err error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return "", false, err
	}
	for entry := range strings.SplitSeq(string(text), "\x00") {
		name, value, _ := strings.Cut(entry, "=")
		switch name {
		case orphans.Variable:
			mark = value
		case guard.LifelineVariable:
			isAgent = true
		}
	}
	return mark, isAgent, nil
}
