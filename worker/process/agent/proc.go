package agent

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// process is what /proc/PID/stat says about a process, see proc_pid_stat(5).
type process struct {
	pid, parent, group int
	zombie             bool
}

// parseStat reads a line of /proc/PID/stat. The second field is the command's
// name in parentheses, and may itself contain spaces and parentheses.
func parseStat(text string) (process, error) {
	open, close := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 0 || close < open {
		return process{}, fmt.Errorf("no command name in %q", text)
	}
	fields := strings.Fields(text[close+1:])
	if len(fields) < 3 {
		return process{}, fmt.Errorf("too few fields in %q", text)
	}
	p := process{zombie: fields[0] == "Z" || fields[0] == "X"}
	for _, number := range []struct {
		text  string
		value *int
	}{{strings.TrimSpace(text[:open]), &p.pid}, {fields[1], &p.parent}, {fields[2], &p.group}} {
		value, err := strconv.Atoi(number.text)
		if err != nil {
			return process{}, fmt.Errorf("in %q: %w", text, err)
		}
		*number.value = value
	}
	return p, nil
}

// processes lists all processes that this one can see. Those that end
// meanwhile are left out.
func processes() ([]process, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	var all []process
	for _, entry := range entries {
		if _, err := strconv.Atoi(entry.Name()); err != nil {
			continue
		}
		data, err := os.ReadFile("/proc/" + entry.Name() + "/stat")
		if err != nil {
			continue
		}
		if p, err := parseStat(string(data)); err == nil {
			all = append(all, p)
		}
	}
	return all, nil
}

// checkProc refuses a /proc of another PID namespace: process IDs that are read there are those of strangers here.
func checkProc() error {
	self, err := os.Readlink("/proc/self")
	if err != nil {
		return fmt.Errorf("finding this process in /proc: %w", err)
	}
	if self != strconv.Itoa(os.Getpid()) {
		return errors.New("/proc belongs to another PID namespace, and what workers leave behind could not be told from strangers: mount one for this namespace, as unshare --mount-proc does")
	}
	return nil
}

// groupsAlive reports whether any of the process groups has a member that is
// not a zombie. Where it cannot tell, it says no.
func groupsAlive(groups []int) bool {
	all, err := processes()
	return err == nil && slices.ContainsFunc(all, func(p process) bool {
		return !p.zombie && slices.Contains(groups, p.group)
	})
}

// children lists this process's children. The kernel may leave some out while
// others exit: only wait4(2) can tell that there are none.
func children() ([]int, error) {
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
	all, err := processes()
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, p := range all {
		if p.parent == os.Getpid() {
			pids = append(pids, p.pid)
		}
	}
	return pids, nil
}
